//! From `[network.detection]` to what overrules the marking curves.

use paceline_congestion::detect::tcd::{self, Variant};
use paceline_fabric::spec::{Detection, FlowControl, PacketFormat, Tcd};
use paceline_kernel::Span;
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::schema::{self, DetectionKind, Fidelity, OrAuto, TcdKind};
use crate::topology::Net;

use super::Cx;
use super::fill::{fill_at, fill_value};

/// The thesis's ε.
const EPSILON: f64 = 0.05;

/// After flow control; without the section the curves alone.
pub(super) fn resolve(
    cx: &mut Cx<'_>,
    n: &mut schema::Network,
    net: &Net,
    packet: &PacketFormat,
    flow_control: FlowControl,
) -> Result<Detection, Problem> {
    let Some(spanned) = n.detection.as_mut() else {
        return Ok(Detection::Red);
    };
    let place = cx.texts.of_value(spanned);
    let section = spanned.get_mut();
    let Some(kind) = section.kind.clone() else {
        let message = "`[network.detection]` has no `kind`: expected `red`, `np-ecn` or `tcd`";
        return Err(Problem::new(message).at(&place));
    };
    let at = cx.texts.of_value(&kind);
    let kind = *kind.get_ref();
    if kind == DetectionKind::Red {
        return Ok(Detection::Red);
    }
    if cx.fidelity == Fidelity::BoltNs3 {
        let message = "the simulator of Bolt's authors has no detectors beside thresholds";
        return Err(Problem::new(message).at(&at));
    }
    if flow_control == FlowControl::None {
        let message = "this detector goes by pauses, and without flow control there are none";
        return Err(Problem::new(message)
            .at(&at)
            .help("set `network.flow_control = \"pfc\"`, or `kind = \"red\"`"));
    }
    match kind {
        DetectionKind::Tcd => ternary(cx, section, net, packet).map(Detection::Tcd),
        _ => Ok(Detection::NpEcn),
    }
}

fn ternary(
    cx: &Cx<'_>,
    section: &mut schema::Detection,
    net: &Net,
    packet: &PacketFormat,
) -> Result<Tcd, Problem> {
    let epsilon = fill_at(&mut section.epsilon, EPSILON);
    if !(*epsilon.get_ref() > 0.0 && *epsilon.get_ref() <= 0.5) {
        let message = format!(
            "epsilon is {}: expected more than 0, and at most 0.5 (two senders that share a port bring no more than \
             half of its rate too much)",
            epsilon.get_ref()
        );
        return Err(Problem::new(message).at(&cx.texts.of_value(&epsilon)));
    }
    let max_ton = fill_at(&mut section.max_ton, OrAuto(None));
    check_max_ton(cx, &max_ton, net, packet)?;
    let variant = match fill_value(&mut section.variant, TcdKind::Thesis) {
        TcdKind::Thesis => Variant::Thesis,
        TcdKind::AsCoded => Variant::AsCoded,
        TcdKind::Adaptive => {
            let times = fill_at(&mut section.times, 2.0);
            if !(*times.get_ref() >= 1.0 && *times.get_ref() <= 1e6) {
                let message = format!("times is {}: expected 1 to 1e6", times.get_ref());
                return Err(Problem::new(message).at(&cx.texts.of_value(&times)));
            }
            Variant::Adaptive(*times.get_ref())
        }
    };
    Ok(Tcd {
        variant,
        epsilon: *epsilon.get_ref(),
        max_ton: max_ton.get_ref().0,
    })
}

/// A port must be undetermined for at least as long as a pause takes to come back.
fn check_max_ton(
    cx: &Cx<'_>,
    max_ton: &Spanned<OrAuto<Span>>,
    net: &Net,
    packet: &PacketFormat,
) -> Result<(), Problem> {
    let Some(own) = max_ton.get_ref().0 else {
        return Ok(());
    };
    let full = packet.mtu + packet.data_header;
    let slowest = net
        .topology
        .links
        .iter()
        .map(|link| tcd::response_time(link.rate, full, link.delay))
        .max();
    let Some(slowest) = slowest.filter(|slowest| own < *slowest) else {
        return Ok(());
    };
    let message = format!(
        "max-ton is {own}, and a pause takes up to {slowest} to come back on a link of this network: ports would \
         never be undetermined there"
    );
    Err(Problem::new(message)
        .at(&cx.texts.of_value(max_ton))
        .help("write `max-ton = \"auto\"` for each port's own"))
}

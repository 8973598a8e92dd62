//! Conversion of `[network.detection]` to detectors that override the marking curves.

use std::ops::Range;

use paceline_congestion::detect::tcd::{self, Variant};
use paceline_congestion::registry::SchemeConfig;
use paceline_fabric::spec::{Binding, Detection, FlowControl, PacketFormat, SwitchSpec, Tcd};
use paceline_kernel::sorted::SortedSet;
use paceline_kernel::{Bytes, Span};
use toml::Spanned;

use crate::diagnostics::{Location, Problem};
use crate::schema::{self, DetectionKind, ExitKind, OrAuto, TcdKind};
use crate::topology::Net;

use super::Cx;
use super::fill::{fill_at, filled};

/// Network around the switches: its links, the format of packets, and the classes of flows.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub(super) net: &'a Net,
    pub(super) packet: &'a PacketFormat,
    pub(super) classes: &'a SortedSet<u8>,
    /// Credits of the links; `None` if they have none.
    pub(super) credits: Option<Credits>,
}

/// Credits of a network's links.
#[derive(Clone, Copy)]
pub(super) struct Credits {
    pub(super) binding: Binding,
    /// Size of the longest packet including all headers.
    pub(super) full: Bytes,
}

/// Sets the default of `scheme` if the scenario has no section; called before [`resolve`].
pub(super) fn by_default(
    cx: &Cx<'_>,
    n: &mut schema::Network,
    flow_control: FlowControl,
    scheme: &SchemeConfig,
) {
    let possible = flow_control != FlowControl::None && cx.profile().has_detectors;
    if n.detection.is_none() && possible && scheme.ternary_detection() {
        let section = schema::Detection {
            kind: Some(Spanned::new(0..0, DetectionKind::Tcd)),
            ..schema::Detection::default()
        };
        n.detection = Some(Spanned::new(0..0, section));
    }
}

/// Resolves the detectors, after flow control and lossless classes, on which they depend. Without the section, only
/// the curves mark.
pub(super) fn resolve(
    cx: &mut Cx<'_>,
    n: &mut schema::Network,
    around: Around<'_>,
    switch: &mut SwitchSpec,
) -> Result<(), Problem> {
    let Some(spanned) = n.detection.as_mut() else {
        return Ok(());
    };
    let (index, span) = (cx.texts.of_value(spanned), spanned.span());
    let section = spanned.get_mut();
    if let Some(priority) = &section.priority {
        let message = "`priority` is of a single class, and this detector is that of all";
        let help = "write `class = [{ priority = .., kind = .. }]` for one class";
        return Err(Problem::new(message).at(&cx.texts.of_value(priority)).help(help));
    }
    switch.detection = of_section(cx, section, &index, around, switch.flow_control)?;
    let mut classes = section.class.take().unwrap_or_default();
    for class in &mut classes {
        let detection = of_class(cx, class, around, switch)?;
        switch.class_detection.push(detection);
    }
    section.class = (!classes.is_empty()).then_some(classes);
    never_paused(cx, &span, around.classes, switch);
    Ok(())
}

/// Resolves the detector of one section.
fn of_section(
    cx: &mut Cx<'_>,
    section: &mut schema::Detection,
    location: &Location,
    around: Around<'_>,
    flow_control: FlowControl,
) -> Result<Detection, Problem> {
    let Some(kind) = section.kind.clone() else {
        let message = "`[network.detection]` has no `kind`: expected `red`, `np-ecn` or `tcd`";
        return Err(Problem::new(message).at(location));
    };
    let at = cx.texts.of_value(&kind);
    let kind = *kind.get_ref();
    // RED observes no pauses, so none of the requirements below applies to it.
    if kind == DetectionKind::Red {
        return Ok(Detection::Red);
    }
    if !cx.profile().has_detectors {
        let message = "the simulator of Bolt's authors has no detectors, only thresholds";
        return Err(Problem::new(message).at(&at));
    }
    if flow_control == FlowControl::None {
        let message = "this detector observes pauses, and without flow control there are none";
        return Err(Problem::new(message)
            .at(&at)
            .help("set `network.flow-control = \"pfc\"`, or `kind = \"red\"`"));
    }
    match kind {
        DetectionKind::Tcd => ternary(cx, section, around).map(Detection::Tcd),
        _ => Ok(Detection::NpEcn),
    }
}

/// Resolves the detector of a single class, which must be lossless and listed once.
fn of_class(
    cx: &mut Cx<'_>,
    class: &mut Spanned<schema::Detection>,
    around: Around<'_>,
    switch: &SwitchSpec,
) -> Result<(u8, Detection), Problem> {
    let location = cx.texts.of_value(class);
    let section = class.get_mut();
    if section.class.is_some() {
        return Err(Problem::new("a class has no classes").at(&location));
    }
    let Some(written) = section.priority.clone() else {
        let message = "this detector has no `priority`: expected the class that it is for, 1 to 7";
        return Err(Problem::new(message).at(&location));
    };
    let (priority, at) = (*written.get_ref(), cx.texts.of_value(&written));
    if !(1..8).contains(&priority) {
        return Err(Problem::new(format!("class {priority} is not one of 1 to 7")).at(&at));
    }
    if switch.class_detection.iter().any(|&(known, _)| known == priority) {
        return Err(Problem::new(format!("class {priority} has two detectors")).at(&at));
    }
    let detection = of_section(cx, section, &location, around, switch.flow_control)?;
    if detection != Detection::Red && switch.loss.lossless >> priority & 1 == 0 {
        let message = format!(
            "class {priority} is lossy and never paused, and this detector observes pauses ({})",
            lossless(switch)
        );
        let help = format!("add {priority} to `network.lossless`, or write `kind = \"red\"`");
        return Err(Problem::new(message).at(&at).help(help));
    }
    if !around.classes.is_empty() && !around.classes.contains(&priority) {
        let what = format!("the detector of class {priority}");
        cx.idle(Some(written.span()), &what, "no flow is in it");
    }
    Ok((priority, detection))
}

fn lossless(switch: &SwitchSpec) -> String {
    let classes = (1..8).filter(|class| switch.loss.lossless >> class & 1 == 1);
    let classes: Vec<String> = classes.map(|class: u8| class.to_string()).collect();
    format!("`network.lossless` is [{}]", classes.join(", "))
}

/// Warns of a detector that depends on pauses if no class of a flow is ever paused.
fn never_paused(cx: &mut Cx<'_>, span: &Range<usize>, classes: &SortedSet<u8>, switch: &SwitchSpec) {
    let detects = !switch.detectors().is_empty();
    let is_paused = |class: &u8| switch.loss.lossless >> class & 1 == 1;
    // No warning about a default: nobody wrote the setting.
    if span.is_empty() || !detects || classes.is_empty() || classes.iter().any(is_paused) {
        return;
    }
    let names: Vec<String> = classes.iter().map(u8::to_string).collect();
    let why = format!(
        "it observes pauses, and the flows' classes ({}) are lossy: {}",
        names.join(", "),
        lossless(switch)
    );
    cx.idle(Some(span.clone()), "network.detection", &why);
}

fn ternary(cx: &mut Cx<'_>, section: &mut schema::Detection, around: Around<'_>) -> Result<Tcd, Problem> {
    let Around {
        net, packet, credits, ..
    } = around;
    let epsilon = filled!(section.epsilon: Detection);
    if !(*epsilon.get_ref() > 0.0 && *epsilon.get_ref() <= 0.5) {
        let message = format!(
            "epsilon is {}: expected more than 0, and at most 0.5 (two senders that share a port bring no more than \
             half of its rate too much)",
            epsilon.get_ref()
        );
        return Err(Problem::new(message).at(&cx.texts.of_value(&epsilon)));
    }
    let max_ton = filled!(section.max_ton: Detection);
    check_max_ton(cx, &max_ton, net, packet)?;
    let variant = match filled!(section.variant: Detection).into_inner() {
        TcdKind::Thesis => Variant::Thesis,
        TcdKind::AsCoded => Variant::AsCoded,
        TcdKind::Adaptive => {
            let times = filled!(section.times: Detection);
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
        max_ton: match (max_ton.get_ref().0, credits) {
            (None, None) => None,
            (None, Some(credits)) => Some(exit(cx, section, credits, *epsilon.get_ref(), net)?),
            (own, _) => own,
        },
    })
}

/// Returns the longest interval for which any port under credits sends without interruption; packets have at most
/// `full` bytes including all headers.
fn exit(
    cx: &mut Cx<'_>,
    section: &mut schema::Detection,
    credits: Credits,
    epsilon: f64,
    net: &Net,
) -> Result<Span, Problem> {
    let Credits { binding, full } = credits;
    let links = net.topology.links.iter();
    let period = match binding {
        Binding::Ib { period, .. } => Some(period),
        Binding::Cbfc { .. } => None,
    };
    let default = match period {
        Some(_) => ExitKind::Periods,
        None => ExitKind::Formula,
    };
    let kind = fill_at(&mut section.exit, default);
    Ok(match (kind.get_ref(), period) {
        (ExitKind::Periods, Some(period)) => {
            let periods = filled!(section.periods: Detection);
            if !(*periods.get_ref() > 0.0 && *periods.get_ref() <= 1e6) {
                let message = format!(
                    "periods is {}: expected more than 0, and at most 1e6",
                    periods.get_ref()
                );
                return Err(Problem::new(message).at(&cx.texts.of_value(&periods)));
            }
            Span::from_ps((period.as_ps() as f64 * periods.get_ref()).round() as u64)
        }
        (ExitKind::Periods, None) => {
            let message = "event-driven credits (`cbfc`) have no periods";
            return Err(Problem::new(message)
                .at(&cx.texts.of_value(&kind))
                .help("write `exit = \"formula\"`, or `max-ton`"));
        }
        (ExitKind::Formula, Some(period)) => {
            let packets = links.map(|link| link.rate.time_to_send(full) * 2).max();
            let got = Span::from_ps((period.as_ps() as f64 / (1.0 + 2.0 * epsilon)).round() as u64);
            got + packets.unwrap_or(Span::ZERO)
        }
        // A port resumes when it has credits for one packet.
        (ExitKind::Formula, None) => {
            let own = links.map(|link| tcd::max_ton(epsilon, full, link.rate, full, link.delay));
            own.max().unwrap_or(Span::ZERO)
        }
    })
}

/// Checks that a port stays undetermined at least as long as a pause takes to return.
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
        "max-ton is {own}, and a pause round trip takes up to {slowest} on a link of this network: its ports would \
         never be undetermined"
    );
    Err(Problem::new(message)
        .at(&cx.texts.of_value(max_ton))
        .help("write `max-ton = \"auto\"` for each port's own"))
}

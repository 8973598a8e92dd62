//! What schemes ask of switches beside marks and telemetry, and of the network around them.

use paceline_congestion::SwitchPart;
use paceline_congestion::registry::SchemeConfig;
use paceline_fabric::spec::AssistPorts;
use paceline_kernel::Bytes;
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::schema::{self, Ack, AssistKind, AssistPortsKind, FlowControlKind};

use super::Cx;
use super::fill::{fill_at, fill_value};

/// Which ports help; refused if none does and a scheme needs it. After the rest of `[network]`.
pub(super) fn resolve<'a>(
    cx: &mut Cx<'_>,
    n: &mut schema::Network,
    schemes: impl Iterator<Item = &'a SchemeConfig>,
) -> Result<Option<AssistPorts>, Problem> {
    let assist = fill_at(&mut n.assist, AssistKind::Auto);
    let ports = match fill_value(&mut n.assist_ports, AssistPortsKind::Switches) {
        AssistPortsKind::Switches => AssistPorts::Switches,
        AssistPortsKind::BetweenSwitches => AssistPorts::BetweenSwitches,
    };
    for scheme in schemes {
        let Some(part) = scheme.switch_part() else {
            continue;
        };
        let title = scheme.scheme().title;
        if *assist.get_ref() == AssistKind::None {
            return Err(Problem::new(format!(
                "{title} needs switches that do their part of it, and these do not"
            ))
            .at(&cx.texts.of_value(&assist))
            .label("no scheme's part")
            .help(format!(
                "write `assist = \"auto\"`, or choose a scheme that does without, instead of `{}`",
                scheme.label()
            )));
        }
        match part {
            SwitchPart::Bolt(_) => bolt(cx, n)?,
            SwitchPart::NonPausedEcn => pcn(cx, n)?,
            SwitchPart::Qcn(_) => {}
        }
    }
    Ok((*assist.get_ref() == AssistKind::Auto).then_some(ports))
}

/// Switches that PCN cannot work with: it judges flows by marks, and spares what pauses held back.
fn pcn(cx: &mut Cx<'_>, n: &schema::Network) -> Result<(), Problem> {
    if let Some(ecn) = &n.ecn
        && ecn.get_ref().curves.as_ref().is_some_and(Vec::is_empty)
    {
        return Err(unfit(
            cx,
            ecn,
            "PCN judges flows by their marks, and no switch marks",
            "leave out `network.ecn.curves`, or list a curve for each rate",
        ));
    }
    if n.flow_control == Some(FlowControlKind::None) {
        cx.warnings.push(
            "PCN is made for networks with pauses; without PFC its marks are those of plain ECN".to_string(),
        );
    }
    Ok(())
}

/// Hosts that Bolt cannot work with.
fn bolt(cx: &Cx<'_>, n: &schema::Network) -> Result<(), Problem> {
    let whole_packet = n.mtu.as_ref().map_or(Bytes::ZERO, |mtu| *mtu.get_ref());
    if let Some(ack) = &n.ack
        && match *ack.get_ref() {
            Ack::EveryPackets(packets) => packets.get() > 1,
            Ack::EveryBytes(bytes) => bytes > whole_packet,
        }
    {
        return Err(unfit(
            cx,
            ack,
            "Bolt's tokens come back packet by packet, and ACKs for several at once lose all but one",
            "write `ack.every-packets = 1`",
        ));
    }
    if let Some(chunk) = &n.back_to_chunk
        && chunk.get_ref().0.is_some()
    {
        return Err(unfit(
            cx,
            chunk,
            "Bolt's window may be less than a chunk, which counts as in flight until all of it has arrived",
            "write `back-to-chunk = \"off\"`",
        ));
    }
    if let Some(pacing) = &n.pacing
        && !pacing.get_ref()
    {
        return Err(unfit(
            cx,
            pacing,
            "Bolt keeps windows below one packet by pacing, and pacing is off",
            "write `pacing = true`",
        ));
    }
    Ok(())
}

fn unfit<T>(cx: &Cx<'_>, value: &Spanned<T>, message: &str, help: &str) -> Problem {
    Problem::new(message).at(&cx.texts.of_value(value)).help(help)
}

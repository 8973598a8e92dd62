//! What schemes ask of switches beside marks and telemetry, and of the network around them.

use paceline_congestion::SwitchPart;
use paceline_congestion::registry::SchemeConfig;
use paceline_fabric::spec::AssistPorts;
use paceline_kernel::Bytes;
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::schema::{self, Ack, AssistKind, AssistPortsKind};

use super::Cx;
use super::fill::{fill_at, fill_value};

/// Which ports help; refused if none does and a scheme needs it. After the rest of `[network]`.
pub(super) fn resolve<'a>(
    cx: &Cx<'_>,
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
        if let SwitchPart::Bolt(_) = part {
            bolt(cx, n)?;
        }
    }
    Ok((*assist.get_ref() == AssistKind::Auto).then_some(ports))
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

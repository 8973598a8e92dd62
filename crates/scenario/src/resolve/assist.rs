//! Features that schemes need from switches beyond marks and telemetry, and from the network around them.

use paceline_congestion::detect::Detector;
use paceline_congestion::misfits::{LinkLayer, Misfit};
use paceline_congestion::registry::{Incompatible, NetworkFacts, SchemeConfig, Setting};
use paceline_fabric::spec::{AssistPorts, FlowControl, SwitchSpec};
use paceline_kernel::Bytes;
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::schema::{self, Ack, AssistKind, AssistPortsKind, FlowControlKind};
use crate::warning::WarningKind;

use super::Cx;
use super::fill::filled;

/// Returns the ports that support such features, or an error if none does and a scheme needs it. Resolved after the
/// rest of `[network]`, on which it depends.
pub(super) fn resolve<'a>(
    cx: &mut Cx<'_>,
    n: &mut schema::Network,
    schemes: impl Iterator<Item = &'a SchemeConfig>,
    switch: &SwitchSpec,
) -> Result<Option<AssistPorts>, Problem> {
    let assist = filled!(n.assist: Network);
    let ports = match filled!(n.assist_ports: Network).into_inner() {
        AssistPortsKind::Switches => AssistPorts::Switches,
        AssistPortsKind::BetweenSwitches => AssistPorts::BetweenSwitches,
    };
    let facts = facts(n, switch);
    let layer = match switch.flow_control {
        FlowControl::None => LinkLayer::Drops,
        FlowControl::Pfc(_) => LinkLayer::Pfc,
        FlowControl::Credits => LinkLayer::Credits,
    };
    for scheme in schemes {
        if scheme.switch_part().is_some() && *assist.get_ref() == AssistKind::None {
            let title = scheme.scheme().title;
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
        // The warning states the scheme's thresholds, which depend on the network.
        if cx.profile().is_exact
            && let Some(found) = Misfit::find(scheme, layer)
            && !found.traffic.is_empty()
        {
            cx.warn(WarningKind::Misfit, None, found.to_string());
        }
        for incompatible in scheme.incompatible(&facts) {
            match incompatible {
                Incompatible::Refused {
                    setting,
                    why,
                    instead,
                } => return Err(refused(cx, n, setting, why, instead)),
                Incompatible::Doubtful(why) => cx.warn(WarningKind::SchemeAndNetwork, None, why),
            }
        }
    }
    Ok((*assist.get_ref() == AssistKind::Auto).then_some(ports))
}

/// Collects the properties of the network that a scheme may be incompatible with.
fn facts(n: &schema::Network, switch: &SwitchSpec) -> NetworkFacts {
    let whole_packet = n.mtu.as_ref().map_or(Bytes::ZERO, |mtu| *mtu.get_ref());
    let acks_each = |ack: &Spanned<Ack>| match *ack.get_ref() {
        Ack::EveryPackets(packets) => packets.get() <= 1,
        Ack::EveryBytes(bytes) => bytes <= whole_packet,
    };
    let no_curves = |ecn: &Spanned<schema::Ecn>| ecn.get_ref().curves.as_ref().is_some_and(Vec::is_empty);
    NetworkFacts {
        acks_each_packet: n.ack.as_ref().is_none_or(acks_each),
        chunks: (n.back_to_chunk.as_ref()).is_some_and(|chunk| chunk.get_ref().0.is_some()),
        pacing: n.pacing.as_ref().is_none_or(|pacing| *pacing.get_ref()),
        marks: !n.ecn.as_ref().is_some_and(no_curves),
        pauses: n.flow_control != Some(FlowControlKind::None),
        credits: switch.flow_control == FlowControl::Credits,
        undetermined: (switch.detectors().iter())
            .any(|(_, detector)| matches!(detector, Detector::Ternary(_))),
    }
}

fn refused(cx: &Cx<'_>, n: &schema::Network, setting: Setting, why: &str, instead: &str) -> Problem {
    fn at<T>(cx: &Cx<'_>, value: Option<&Spanned<T>>, problem: Problem) -> Problem {
        match value {
            Some(value) => problem.at(&cx.texts.of_value(value)),
            None => problem,
        }
    }
    let problem = Problem::new(why);
    let problem = match setting {
        Setting::Ack => at(cx, n.ack.as_ref(), problem),
        Setting::Chunk => at(cx, n.back_to_chunk.as_ref(), problem),
        Setting::Pacing => at(cx, n.pacing.as_ref(), problem),
        Setting::Marks => at(cx, n.ecn.as_ref(), problem),
    };
    problem.help(instead)
}

//! Congestion notifications that switches make.

use paceline_congestion::registry::SchemeConfig;
use paceline_fabric::spec::{FastCnp, FlowControl, NodeId, NodeKind, NoticePause, NoticeTrigger};
use paceline_kernel::{Bytes, Span};
use toml::Spanned;

use super::Cx;
use super::fill::filled;
use super::numbers::check_within;
use crate::diagnostics::{Problem, suggestion};
use crate::schema::{self, AutoTime, NoticeKind};
use crate::topology::Net;
use crate::warning::WarningKind;

/// Returns the notifications of switches, if they make any.
pub(super) fn resolve<'a>(
    cx: &mut Cx<'_>,
    n: &mut schema::Network,
    net: &Net,
    tiers: &[(String, Vec<NodeId>)],
    (flow_control, mut schemes): (FlowControl, impl Iterator<Item = &'a SchemeConfig>),
) -> Result<Option<FastCnp>, Problem> {
    let Some(written) = n.fast_cnp.as_mut() else {
        return Ok(None);
    };
    let trigger = filled!(written.trigger: FastCnp);
    let kind = match trigger.get_ref() {
        NoticeKind::Off => return Ok(None),
        NoticeKind::Queue => NoticeTrigger::Queue,
        NoticeKind::Mark => NoticeTrigger::Mark,
        NoticeKind::Above => NoticeTrigger::Above(filled!(written.threshold: FastCnp).get_ref().0),
    };
    let place = cx.texts.of_value(&trigger);
    if cx.profile().own_network || flow_control == FlowControl::Credits {
        let message = "switches notify senders in networks of the engine (`exact`, `ns3-hpcc`, `simai`), without credits";
        return Err(Problem::new(message).at(&place));
    }
    let list = filled!(written.switches: FastCnp);
    let switches = named(cx, &list, net, tiers)?;
    let table = filled!(written.table: FastCnp);
    check_within(
        cx,
        &table,
        "the number of flows that a switch knows",
        &(1..=1 << 24),
    )?;
    let size = filled!(written.size: FastCnp);
    check_within(
        cx,
        &size,
        "the size of a notification",
        &(Bytes::new(1)..=Bytes::new(65_000)),
    )?;
    let interval = *filled!(written.interval: FastCnp).get_ref();
    let delay: Span = filled!(written.delay: FastCnp);
    let takes = |scheme: &SchemeConfig| scheme.receiver_half().is_some() || scheme.name() == "dcqcn";
    let pause = filled!(written.pause: FastCnp);
    let shown = filled!(written.shown: FastCnp);
    if !shown.get_ref() && *pause.get_ref() == AutoTime::Off {
        let message = "notifications are neither shown to schemes nor do they pause: they would do nothing";
        return Err(Problem::new(message)
            .at(&cx.texts.of_value(&shown))
            .help("set `network.fast-cnp.pause`, for example to `auto`"));
    }
    if *shown.get_ref() && *pause.get_ref() == AutoTime::Off && !schemes.any(takes) {
        let text = "no flow's scheme takes CNPs: what switches notify of changes nothing but the load";
        cx.warn(WarningKind::SchemeAndNetwork, &place, text);
    }
    Ok(Some(FastCnp {
        trigger: kind,
        switches,
        interval,
        delay,
        keep_mark: filled!(written.keep_mark: FastCnp),
        table: *table.get_ref(),
        size: *size.get_ref(),
        key: filled!(written.key: FastCnp),
        pause: match pause.into_inner() {
            AutoTime::Off => NoticePause::Off,
            AutoTime::Auto => NoticePause::Drain,
            AutoTime::Of(span) => NoticePause::For(span),
        },
        shown: shown.into_inner(),
    }))
}

/// Returns the switches that a list names.
fn named(
    cx: &Cx<'_>,
    list: &Spanned<Vec<String>>,
    net: &Net,
    tiers: &[(String, Vec<NodeId>)],
) -> Result<Vec<NodeId>, Problem> {
    let kinds = (0..).zip(&net.topology.nodes);
    let all = kinds.filter(|(_, kind)| **kind == NodeKind::Switch);
    let all: Vec<NodeId> = all.map(|(node, _)| NodeId(node)).collect();
    let mut found = Vec::new();
    for name in list.get_ref() {
        if name == "all" {
            return Ok(all);
        }
        if let Some((_, members)) = tiers.iter().find(|(tier, _)| tier == name) {
            found.extend(members);
            continue;
        }
        match cx.names.node(name).filter(|node| all.contains(node)) {
            Some(node) => found.push(node),
            None => {
                let names = tiers.iter().map(|(tier, _)| tier.as_str()).chain(["all"]);
                let message = format!("this network has neither a tier of switches nor a switch `{name}`");
                return Err(Problem::new(message)
                    .at(&cx.texts.of_value(list))
                    .label(suggestion(name, names)));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

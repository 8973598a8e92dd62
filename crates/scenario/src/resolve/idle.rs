//! What is written and does nothing, since something else that is written says so.

use std::ops::Range;

use paceline_fabric::spec::Quirks;
use toml::Spanned;

use crate::schema::{
    self, AdaptivePer, Balancing, DropKind, FlowControlKind, PfcModeKind, RecoveryKind, SchedulingKind,
};
use crate::warning::WarningKind;

use super::Cx;

/// The bytes of which multiples are acknowledged, which a resolved scenario has whatever its receivers do.
pub(super) const ACK_CHUNK: paceline_kernel::Bytes = paceline_kernel::Bytes::new(4000);

/// The resume offset of a dynamic threshold, which a resolved scenario has whatever its threshold.
pub(super) const RESUME_OFFSET: paceline_kernel::Bytes = paceline_kernel::Bytes::new(3072);

/// Tells each such thing. (To be asked before defaults are filled in. What a resolved scenario has alongside what does
/// something are defaults: these are not told.)
pub(super) fn tell(cx: &mut Cx<'_>, n: &schema::Network, quirks: &Quirks) {
    recovery(cx, n);
    scheduling(cx, n);
    balancing(cx, n);
    let default = cx.profile().flow_control;
    let without_pfc = n.flow_control.unwrap_or(default) != FlowControlKind::Pfc;
    pfc(cx, n, without_pfc);
    drops(cx, n, without_pfc);
    of_reference(cx, n, quirks);
    late(cx, n);
}

/// Keys that only the simulator of HPCC's authors acts by.
fn of_reference(cx: &mut Cx<'_>, n: &schema::Network, quirks: &Quirks) {
    if let (Some(multi), false) = (value(&n.int_multi), quirks.int_wire_precision)
        && multi != 1
    {
        let why = "telemetry is exact; it is a factor of the units with quirks.int-wire-precision, as in `ns3-hpcc`, only";
        cx.idle(span(&n.int_multi), "network.int-multi", why);
    }
    if let (Some(chunk), false) = (value(&n.ack_chunk), quirks.ack_threshold)
        && chunk != ACK_CHUNK
    {
        let why = "network.ack says when receivers acknowledge; chunks count with quirks.ack-threshold, as in `ns3-hpcc`, only";
        cx.idle(span(&n.ack_chunk), "network.ack-chunk", why);
    }
}

fn span<T>(value: &Option<Spanned<T>>) -> Option<Range<usize>> {
    value.as_ref().map(Spanned::span).filter(|span| !span.is_empty())
}

fn value<T: Copy>(slot: &Option<Spanned<T>>) -> Option<T> {
    slot.as_ref().map(|value| *value.get_ref())
}

impl Cx<'_> {
    /// Says that `what`, written there, does nothing, and why.
    pub(super) fn idle(&mut self, span: Option<Range<usize>>, what: &str, why: &str) {
        let place = span.map(|span| self.texts.at(span));
        let text = format!("{what} has no effect: {why}");
        self.warn(WarningKind::UnusedSetting, place.as_ref(), text);
    }
}

fn recovery(cx: &mut Cx<'_>, n: &schema::Network) {
    if let Some(irn) = &n.irn
        && value(&n.recovery).unwrap_or(RecoveryKind::GoBackN) == RecoveryKind::GoBackN
    {
        let at = span(&irn.rto_low)
            .or(span(&irn.rto_high))
            .or(span(&irn.reordering));
        cx.idle(at, "[network.irn]", "network.recovery is `go-back-n`");
    }
}

fn scheduling(cx: &mut Cx<'_>, n: &schema::Network) {
    let name = match value(&n.qp_scheduling) {
        Some(SchedulingKind::Quantum) => return,
        Some(SchedulingKind::MaxMin) => "max-min",
        None | Some(SchedulingKind::RoundRobin) => "round-robin",
    };
    if n.qp_quantum.is_some() {
        let why = format!("network.qp-scheduling is `{name}`");
        cx.idle(span(&n.qp_quantum), "network.qp-quantum", &why);
    }
}

fn balancing(cx: &mut Cx<'_>, n: &schema::Network) {
    let (kind, name) = match value(&n.load_balancing) {
        None | Some(Balancing::Ecmp) => (Balancing::Ecmp, "ecmp"),
        Some(Balancing::Flowlet) => (Balancing::Flowlet, "flowlet"),
        Some(Balancing::Spray) => (Balancing::Spray, "spray"),
        Some(Balancing::Adaptive) => (Balancing::Adaptive, "adaptive"),
    };
    let per = n.adaptive.as_ref().and_then(|adaptive| value(&adaptive.per));
    let why = format!("network.load-balancing is `{name}`");
    if let Some(adaptive) = &n.adaptive
        && kind != Balancing::Adaptive
    {
        cx.idle(span(&adaptive.per), "[network.adaptive]", &why);
    }
    let Some(flowlet) = &n.flowlet else { return };
    let at = span(&flowlet.gap).or(span(&flowlet.entries));
    match kind {
        Balancing::Flowlet => {}
        Balancing::Adaptive if per == Some(AdaptivePer::Flowlet) => {}
        Balancing::Adaptive => cx.idle(at, "[network.flowlet]", "network.adaptive.per is `packet`"),
        Balancing::Ecmp | Balancing::Spray => cx.idle(at, "[network.flowlet]", &why),
    }
}

fn pfc(cx: &mut Cx<'_>, n: &schema::Network, without_pfc: bool) {
    let Some(pfc) = &n.pfc else { return };
    let at = span(&pfc.fixed).or(span(&pfc.pause));
    if without_pfc {
        let why = match n.flow_control {
            Some(FlowControlKind::Credits) => "network.flow-control is `credits`",
            _ => "network.flow-control is `none`",
        };
        return cx.idle(at, "[network.pfc]", why);
    }
    if pfc.pause.is_some() && pfc.mode.unwrap_or(PfcModeKind::OnOff) == PfcModeKind::OnOff {
        cx.idle(
            span(&pfc.pause),
            "network.pfc.pause",
            "network.pfc.mode is `on-off`",
        );
    }
    if let Some(offset) = pfc.resume_offset
        && pfc.fixed.is_some()
        && offset != RESUME_OFFSET
    {
        let why = "the threshold is network.pfc.static, which has an xon of its own";
        cx.idle(None, &format!("network.pfc.resume-offset = {offset}"), why);
    }
}

fn drops(cx: &mut Cx<'_>, n: &schema::Network, without_pfc: bool) {
    let Some(drop) = &n.drop else { return };
    let all = |list: &Spanned<Vec<u8>>| (1..8).all(|class| list.get_ref().contains(&class));
    let policy = value(&drop.policy);
    let some = drop.limit.is_some() || drop.packets.is_some() || drop.alpha.is_some();
    let some = some || policy.is_some_and(|policy| policy != DropKind::Shared);
    if n.flow_control == Some(FlowControlKind::Credits) {
        let why = "with network.flow-control `credits` nothing is dropped";
        if some {
            cx.idle(span(&drop.policy), "[network.drop]", why);
        }
        return;
    }
    if !without_pfc && n.lossless.as_ref().is_none_or(all) {
        if some {
            let at = span(&drop.policy)
                .or(span(&drop.limit))
                .or(span(&drop.packets))
                .or(span(&drop.alpha));
            let why =
                "with network.flow-control `pfc` and all classes in network.lossless nothing is dropped";
            cx.idle(at, "[network.drop]", why);
        }
        return;
    }
    let name = match policy {
        None => return,
        Some(DropKind::Shared) => "shared",
        Some(DropKind::Tail) => "tail",
        Some(DropKind::Dynamic) => "dynamic",
    };
    let why = format!("network.drop.policy is `{name}`");
    if name != "tail" {
        for (key, at) in [("limit", span(&drop.limit)), ("packets", span(&drop.packets))] {
            if at.is_some() {
                cx.idle(at, &format!("network.drop.{key}"), &why);
            }
        }
    }
    if name != "dynamic" && drop.alpha.is_some() {
        cx.idle(span(&drop.alpha), "network.drop.alpha", &why);
    }
    if drop.headers.is_some() && !value(&drop.trim).unwrap_or(false) {
        cx.idle(
            span(&drop.headers),
            "network.drop.headers",
            "network.drop.trim is false",
        );
    }
}

/// What happens after the end of the run.
fn late(cx: &mut Cx<'_>, n: &schema::Network) {
    let failures = n
        .failure
        .iter()
        .flatten()
        .map(|one| ("the failure", &one.get_ref().at));
    let storms = n
        .pause_storm
        .iter()
        .flatten()
        .map(|one| ("the pause storm", &one.get_ref().at));
    let late: Vec<_> = failures
        .chain(storms)
        .filter_map(|(what, at)| Some((what, at.as_ref()?)))
        .filter(|(_, at)| *at.get_ref() >= cx.stop)
        .map(|(what, at)| (format!("{what} at {}", at.get_ref()), at.span()))
        .collect();
    let why = format!("the run ends at {}", cx.stop);
    for (what, span) in late {
        cx.idle(Some(span), &what, &why);
    }
}

//! Thresholds that cannot take effect: marking above the limit set by pauses or drops, and headroom too small for its
//! link.

use std::ops::Range;

use paceline_fabric::spec::{
    DropPolicy, EcnCurve, FlowControl, Headroom, LinkSpec, NodeId, PfcThreshold, RunSpec, SwitchTier,
};
use paceline_kernel::{BitRate, Bytes};

use crate::names::NodeNames;
use crate::warning::WarningKind;

use super::Cx;

/// Switch with the properties that its thresholds depend on.
struct Switch<'a> {
    node: NodeId,
    tier: Option<&'a SwitchTier>,
    links: Vec<&'a LinkSpec>,
    /// Bytes shared by all its ports.
    pool: u64,
}

/// Limit of an egress port's queue.
#[derive(Clone, Copy, PartialEq)]
enum Bound {
    /// Buffer shared by the ports of a switch.
    Pool(u64),
    /// Queue at which an ingress port sends a pause.
    Pause { at: u64, shift: Option<i32> },
    /// Queue at which packets are dropped.
    Drop(u64),
}

/// Warns once of each kind of such a threshold, for the worst case. `written` holds the positions of the marking
/// thresholds and of the headroom.
pub(super) fn warn(cx: &mut Cx<'_>, run: &RunSpec, written: [Option<Range<usize>>; 2]) {
    if !cx.profile().judges_thresholds || run.is_under_credits() {
        return;
    }
    let [ecn, room] = written.map(|span| {
        let span = span.filter(|span| !span.is_empty());
        span.map(|span| cx.texts.at(span))
    });
    let switches = switches(run);
    if let Some(text) = marks(run, &switches, &cx.names) {
        cx.warn(WarningKind::Threshold, ecn.as_ref(), text);
    }
    if let Some(text) = headroom(run, &switches, &cx.names) {
        cx.warn(WarningKind::Threshold, room.as_ref(), text);
    }
}

fn switches(run: &RunSpec) -> Vec<Switch<'_>> {
    let is_switch = |node: NodeId| run.nodes[node.0 as usize] == paceline_fabric::spec::NodeKind::Switch;
    let mut of_node: Vec<Vec<&LinkSpec>> = vec![Vec::new(); run.nodes.len()];
    for link in &run.links {
        for end in [link.a, link.b].into_iter().filter(|end| is_switch(*end)) {
            of_node[end.0 as usize].push(link);
        }
    }
    let of_node = (0..).map(NodeId).zip(of_node);
    of_node
        .filter(|(_, links)| !links.is_empty())
        .map(|(node, links)| {
            let tiers = &run.switch.tiers;
            let tier = tiers.iter().find(|tier| tier.switches.contains(&node));
            let kept = |link: &&LinkSpec| kept(run, tier, link).saturating_add(run.switch.reserve.get());
            let buffer = tier.map_or(run.switch.buffer, |tier| tier.buffer);
            let on_top = tier.map_or(run.switch.headroom_on_top, |tier| tier.headroom_on_top);
            let kept = match on_top {
                true => 0,
                false => links.iter().map(kept).fold(0, u64::saturating_add),
            };
            Switch {
                node,
                tier,
                links,
                pool: buffer.get().saturating_sub(kept),
            }
        })
        .collect()
}

/// Returns the headroom of a link's port, in bytes.
fn kept(run: &RunSpec, tier: Option<&SwitchTier>, link: &LinkSpec) -> u64 {
    if !matches!(run.switch.flow_control, FlowControl::Pfc(_)) {
        return 0;
    }
    match tier.map_or(run.switch.headroom, |tier| tier.headroom) {
        Headroom::Fixed(bytes) => bytes.get(),
        Headroom::PerLink { factor, extra } => {
            let unheeded = link.rate.bytes_in(run.switch.longest_response()).get();
            (factor * link.rate.bytes_in(link.delay).get() as f64) as u64 + extra.get() + unheeded
        }
    }
}

/// Returns two flags: whether flows use lossless classes, and whether they use lossy ones.
fn classes(run: &RunSpec) -> (bool, bool) {
    let mask = match run.switch.flow_control {
        FlowControl::Pfc(_) => run.switch.loss.lossless,
        FlowControl::None | FlowControl::Credits => 0,
    };
    let mut found = (false, false);
    for class in run.flow_classes() {
        match mask >> class & 1 {
            1 => found.0 = true,
            _ => found.1 = true,
        }
    }
    found
}

/// Returns the first limit that a port's queue reaches if all traffic comes from one other port.
fn bound(run: &RunSpec, switch: &Switch<'_>, lossless: bool) -> Bound {
    if lossless && let FlowControl::Pfc(pfc) = run.switch.flow_control {
        let own = switch.tier.and_then(|tier| tier.threshold);
        return match own.unwrap_or(pfc.threshold) {
            PfcThreshold::Static { xoff, .. } => Bound::Pause {
                at: xoff.get(),
                shift: None,
            },
            PfcThreshold::Dynamic {
                shift,
                reference_rate,
            } => {
                let fastest = switch.links.iter().map(|link| link.rate).max();
                let times = fastest.map_or(1, |rate| rate.as_bps() / reference_rate.as_bps().max(1));
                let shift = PfcThreshold::shift_at(shift, times.max(1).ilog2());
                // A single port takes its share of the memory that it leaves free: P / (2^shift + 1).
                let (above, below) = powers(shift);
                let at = u128::from(switch.pool) * below / (above + below);
                Bound::Pause {
                    at: at as u64,
                    shift: Some(shift),
                }
            }
        };
    }
    match run.switch.loss.drop {
        DropPolicy::Shared => Bound::Pool(switch.pool),
        // A limit above the pool is never reached.
        DropPolicy::Tail(limit) if limit.get() < switch.pool => Bound::Drop(limit.get()),
        DropPolicy::Tail(_) => Bound::Pool(switch.pool),
        DropPolicy::Dynamic { alpha } => Bound::Drop((switch.pool as f64 * alpha / (1.0 + alpha)) as u64),
    }
}

/// Returns 2^shift as a fraction.
fn powers(shift: i32) -> (u128, u128) {
    let power = 1 << shift.unsigned_abs();
    if shift < 0 { (1, power) } else { (power, 1) }
}

/// Returns the number of ports needed to fill a queue to `kmin` bytes, or `None` if no number is enough.
fn ports_needed(kmin: u64, pool: u64, at: u64, shift: Option<i32>) -> Option<u64> {
    if kmin >= pool {
        return None;
    }
    match shift {
        None => Some(kmin / at.max(1) + 1),
        // N ports take N P / (2^shift + N) together.
        Some(shift) => {
            let (above, below) = powers(shift);
            Some((u128::from(kmin) * above / (u128::from(pool - kmin) * below)) as u64 + 1)
        }
    }
}

/// Returns a warning about ports that mark only above the limit of their queues.
fn marks(run: &RunSpec, switches: &[Switch<'_>], names: &NodeNames) -> Option<String> {
    let mut schemes = run.schemes.iter();
    let reads_marks =
        schemes.any(|scheme| scheme.config.reads_curves()) || !run.switch.detectors().is_empty();
    if !reads_marks {
        return None;
    }
    let (lossless, lossy) = classes(run);
    let kinds = [(true, lossless), (false, lossy)].into_iter();
    let kinds: Vec<bool> = kinds
        .filter(|&(_, is_used)| is_used)
        .map(|(kind, _)| kind)
        .collect();
    let mut worst: Option<(u64, String)> = None;
    for switch in switches {
        let curves = switch.tier.map_or(&run.switch.ecn, |tier| &tier.ecn);
        let here =
            |curve: &&EcnCurve| curve.pmax > 0.0 && switch.links.iter().any(|link| link.rate == curve.rate);
        for curve in curves.iter().filter(here) {
            for &lossless in &kinds {
                let bound = bound(run, switch, lossless);
                let (Bound::Pool(at) | Bound::Drop(at) | Bound::Pause { at, .. }) = bound;
                let missing = curve.kmin.get().saturating_sub(at);
                let is_worse = worst.as_ref().is_none_or(|(known, _)| missing > *known);
                if curve.kmin.get() >= at && is_worse {
                    worst = Some((missing, got(switch, curve, bound, names)));
                }
            }
        }
    }
    worst.map(|(_, text)| text)
}

fn got(switch: &Switch<'_>, curve: &EcnCurve, bound: Bound, names: &NodeNames) -> String {
    let (kmin, pool) = (curve.kmin.get(), Bytes::new(switch.pool));
    let marks = format!(
        "{}: ports of {} mark above {} (network.ecn)",
        names.numbered(switch.node.0),
        curve.rate,
        curve.kmin
    );
    let others = switch.links.len().saturating_sub(1) as u64;
    match bound {
        Bound::Pool(_) => {
            format!(
                "{marks}, and the ports share {pool} (network.buffer): packets are dropped before any is marked"
            )
        }
        Bound::Drop(at) => format!(
            "{marks}, and packets are dropped above {} (network.drop): none is marked before",
            Bytes::new(at)
        ),
        Bound::Pause { at, shift } => {
            let pause = format!(
                "{marks}, and a port that alone fills one asks for a pause at {} (network.pfc)",
                Bytes::new(at)
            );
            match ports_needed(kmin, switch.pool, at, shift).filter(|&ports| ports <= others) {
                Some(ports) => format!(
                    "{pause}: senders are paused before any packet is marked, unless {ports} ports or more fill a queue \
                     together"
                ),
                None => format!(
                    "{pause}: senders are paused before any packet is marked, however many of the {others} other ports \
                     fill a queue together"
                ),
            }
        }
    }
}

/// Returns a warning about the port whose headroom lacks most of the data in flight while a pause takes effect.
fn headroom(run: &RunSpec, switches: &[Switch<'_>], names: &NodeNames) -> Option<String> {
    let (lossless, _) = classes(run);
    if !matches!(run.switch.flow_control, FlowControl::Pfc(_)) || !lossless {
        return None;
    }
    let needs = run.schemes.iter().map(|scheme| scheme.config.needs());
    let packet = run.packet.longest(needs, Bytes::ZERO).get();
    let response = run.switch.longest_response();
    let needed = |link: &LinkSpec| {
        // One round trip, and the packets whose transmission had started at either end.
        link.rate.bytes_in(link.delay * 2 + response).get() + 2 * packet
    };
    // A tier that asks for no pauses needs no headroom.
    let pauses = |switch: &&Switch<'_>| switch.tier.is_none_or(|tier| tier.pauses);
    let all = switches
        .iter()
        .filter(pauses)
        .flat_map(|switch| switch.links.iter().map(move |&link| (switch, link)));
    let lacking = all.filter_map(|(switch, link)| {
        let (has, needs) = (kept(run, switch.tier, link), needed(link));
        (has < needs).then(|| (needs - has, switch.node, link, has, needs))
    });
    // Of equal ports that of the first switch is named, so that the text never changes.
    let (_, node, link, has, needs) =
        lacking.max_by_key(|&(missing, node, ..)| (missing, std::cmp::Reverse(node)))?;
    let rate: BitRate = link.rate;
    Some(format!(
        "{}: a port's headroom is {} (network.headroom), and up to {} arrive before a pause takes effect on its link \
         of {rate} and {} (twice the delay{}, and a packet at either end): lossless packets can be dropped \
         (`paceline explain headroom`)",
        names.numbered(node.0),
        Bytes::new(has),
        Bytes::new(needs),
        link.delay,
        match response.as_ps() {
            0 => "",
            _ => ", the response",
        }
    ))
}

//! Timeouts and timers compared with the network's round trip: defaults grow with it, and settings that are too short
//! cause a warning.

use paceline_fabric::spec::{LinkChange, NodeKind, Recovery, RunSpec};
use paceline_kernel::Span;
use paceline_kernel::sorted::SortedMap;
use toml::Spanned;

use crate::schema::{self, OrOff};
use crate::warning::WarningKind;

use super::Cx;

/// Timeout of loss recovery.
struct Timeout {
    key: &'static str,
    value: Span,
    /// Round trips that it should last; those beyond the first allow for queueing.
    trips: u64,
    /// Consequence of a timeout below a round trip.
    effect: &'static str,
}

const SENT_AGAIN: &str = "senders take packets that are still under way for lost and send them again";

/// Adapts default timeouts to the network. Warns of user-set timeouts, timers of schemes and the watchdog if they
/// expire before a response can arrive.
pub(super) fn finish(cx: &mut Cx<'_>, n: &mut schema::Network, run: &mut RunSpec) {
    if run.model.is_some() {
        // Other simulators have their own timers.
        return;
    }
    // The watchdog is compared with single links, which the bound below does not cover.
    warn_of_watchdog(cx, run);
    let timeouts = timeouts(run);
    let reactions = run
        .schemes
        .iter()
        .flat_map(|scheme| scheme.config.reaction_times());
    // In most runs, this bound suffices: exact round trips need a search from every host.
    let most = bound(run);
    let fits = timeouts
        .iter()
        .all(|timeout| times(most, timeout.trips) <= timeout.value)
        && reactions.map(|reaction| reaction.span).all(|span| most <= span);
    if fits {
        return;
    }
    // An invalid network is reported when it is built.
    let Ok(empty) = paceline_fabric::longest_round_trip(run) else {
        return;
    };
    let empty = empty + at_hosts(run);
    let longest = rounded(empty + on_slow_links(run));
    for timeout in timeouts {
        let needed = rounded(times(longest, timeout.trips));
        let written = cx.place_of(timeout.key);
        // Only an exact run's default is adapted: written values and other simulators' defaults stay, with a warning.
        if written.is_none() && cx.profile().is_exact {
            if needed > timeout.value {
                fit(timeout.key, needed, n, run);
            }
        } else if timeout.value < longest {
            let Some(whose) = whose(run, timeout.value, empty) else {
                continue;
            };
            let text = format!(
                "`{}` is {}, and {whose}: {}; {needed} would leave room for queues",
                timeout.key, timeout.value, timeout.effect
            );
            let location = written.map(|span| cx.texts.at(span));
            cx.warn(WarningKind::TimeConstant, location.as_ref(), text);
        }
    }
    warn_of_reactions(cx, run, empty);
}

/// Returns the timeouts that apply to this run.
fn timeouts(run: &RunSpec) -> Vec<Timeout> {
    let timeout = |key, value, trips, effect| Timeout {
        key,
        value,
        trips,
        effect,
    };
    match run.nic.recovery {
        Recovery::GoBackN => {
            let rto = run.nic.rto.map(|rto| timeout("network.rto", rto, 3, SENT_AGAIN));
            let repeated =
                "receivers ask again for what is already being sent again, and senders go back once more";
            let nack = timeout("network.nack-interval", run.nic.nack_interval, 2, repeated);
            rto.into_iter().chain([nack]).collect()
        }
        Recovery::SelectiveRepeat(irn) => vec![
            timeout("network.irn.rto-low", irn.rto_low, 3, SENT_AGAIN),
            timeout("network.irn.rto-high", irn.rto_high, 10, SENT_AGAIN),
        ],
        Recovery::Rud(rud) => vec![timeout("network.rud.rto", rud.rto, 3, SENT_AGAIN)],
    }
}

/// Sets a default timeout in the run and in the resolved scenario.
fn fit(key: &str, value: Span, n: &mut schema::Network, run: &mut RunSpec) {
    let spanned = Spanned::new(0..0, value);
    match (key, &mut run.nic.recovery) {
        ("network.nack-interval", _) => {
            run.nic.nack_interval = value;
            n.nack_interval = Some(value);
        }
        ("network.irn.rto-low", Recovery::SelectiveRepeat(irn)) => {
            irn.rto_low = value;
            n.irn.get_or_insert_default().rto_low = Some(spanned);
        }
        ("network.irn.rto-high", Recovery::SelectiveRepeat(irn)) => {
            irn.rto_high = value;
            n.irn.get_or_insert_default().rto_high = Some(spanned);
        }
        (_, Recovery::Rud(rud)) => {
            rud.rto = value;
            n.rud.get_or_insert_default().rto = Some(spanned);
        }
        _ => {
            run.nic.rto = Some(value);
            n.rto = Some(Spanned::new(0..0, OrOff(Some(value))));
        }
    }
}

fn times(span: Span, factor: u64) -> Span {
    Span::from_ps(span.as_ps().saturating_mul(factor))
}

/// Rounds up to three digits, for readability.
fn rounded(span: Span) -> Span {
    let ps = span.as_ps();
    let digits = ps.checked_ilog10().map_or(0, |log| log + 1);
    let unit = 10u64.pow(digits.saturating_sub(3));
    Span::from_ps(ps.div_ceil(unit).saturating_mul(unit))
}

/// Returns the time that receiving hosts add to a round trip.
fn at_hosts(run: &RunSpec) -> Span {
    let added =
        |endpoint: paceline_fabric::spec::Endpoint| endpoint.delay + endpoint.per_packet + endpoint.jitter;
    run.nic.endpoint.map_or(Span::ZERO, added)
}

/// Returns the time that links add at most to a round trip while their delay is longer than as built.
fn on_slow_links(run: &RunSpec) -> Span {
    let longer = |change: &LinkChange| {
        let built = run.links[change.link].delay.as_ps();
        Some((change.link, change.delay?.as_ps().saturating_sub(built)))
    };
    let mut added: SortedMap<usize, u64> = SortedMap::new();
    for (link, longer) in run.link_changes.iter().filter_map(longer) {
        let most = added.entry(link).or_default();
        *most = longer.max(*most);
    }
    let mut added: Vec<u64> = added.into_values().collect();
    // In the worst case, a path consists of the links that slow down most.
    added.sort_unstable_by(|a, b| b.cmp(a));
    let on_a_path = added.into_iter().take(hops(run) as usize);
    times(Span::from_ps(on_a_path.fold(0, u64::saturating_add)), 2)
}

/// Returns an upper bound of the empty network's round trips, without a search from every host.
fn bound(run: &RunSpec) -> Span {
    let mtu = run.packet.mtu;
    let link = run
        .links
        .iter()
        .map(|link| times(link.delay, 2) + link.rate.time_to_send(mtu));
    times(link.max().unwrap_or(Span::ZERO), hops(run)) + on_slow_links(run) + at_hosts(run)
}

/// Returns an upper bound of the number of links on a shortest path between two hosts.
fn hops(run: &RunSpec) -> u64 {
    let is_switch = |node: u32| run.nodes[node as usize] == NodeKind::Switch;
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); run.nodes.len()];
    for link in &run.links {
        let (a, b) = (link.a.0, link.b.0);
        if is_switch(a) && is_switch(b) {
            neighbours[a as usize].push(b);
            neighbours[b as usize].push(a);
        }
    }
    // From any switch of a component, twice the distance to the farthest one is a bound.
    let mut depth = vec![None; run.nodes.len()];
    let mut deepest = 0;
    for first in 0..run.nodes.len() as u32 {
        if depth[first as usize].is_some() || neighbours[first as usize].is_empty() {
            continue;
        }
        depth[first as usize] = Some(0u64);
        let mut queue = std::collections::VecDeque::from([first]);
        while let Some(node) = queue.pop_front() {
            let next = depth[node as usize].unwrap_or(0) + 1;
            for &peer in &neighbours[node as usize] {
                if depth[peer as usize].is_none() {
                    depth[peer as usize] = Some(next);
                    deepest = deepest.max(next);
                    queue.push_back(peer);
                }
            }
        }
    }
    2 * deepest + 2
}

/// Describes the flows whose round trips in the empty network exceed `limit`; `None` if there are none. Traces choose
/// pairs of hosts as they run, so they count with `empty`, the longest round trip in the network.
fn whose(run: &RunSpec, limit: Span, empty: Span) -> Option<String> {
    let takes = |longest| {
        format!(
            "a round trip of the empty network takes up to {}",
            rounded(longest)
        )
    };
    if !run.programs.is_empty() {
        return Some(takes(empty));
    }
    let added = at_hosts(run);
    let (mut over, mut all, mut longest) = (0, 0, Span::ZERO);
    for scheme in 0..run.schemes.len() {
        for trip in paceline_fabric::round_trips(run, scheme as u16).ok()? {
            all += trip.flows;
            if trip.rtt + added > limit {
                over += trip.flows;
                longest = longest.max(trip.rtt + added);
            }
        }
    }
    match over {
        0 => None,
        _ if over == all => Some(takes(longest)),
        _ => Some(format!("{} for {over} of {all} flows", takes(longest))),
    }
}

/// Warns of timers of schemes that expire again before their last reaction has an effect. Trace-driven jobs count
/// with `empty`, the longest round trip in the network.
fn warn_of_reactions(cx: &mut Cx<'_>, run: &RunSpec, empty: Span) {
    for (scheme, number) in run.schemes.iter().zip(0..) {
        let config = &scheme.config;
        let reactions = config.reaction_times();
        if reactions.is_empty() {
            continue;
        }
        let longest = match run.programs.is_empty() {
            true => paceline_fabric::round_trips(run, number)
                .ok()
                .and_then(|trips| trips.iter().map(|trip| trip.rtt + at_hosts(run)).max()),
            false => Some(empty),
        };
        let Some(longest) = longest.map(rounded) else {
            continue;
        };
        for reaction in reactions.iter().filter(|reaction| reaction.span < longest) {
            let (name, param) = (config.name(), reaction.param);
            let location = cx.parameter(name, param);
            let is = if location.is_some() { "" } else { " by default" };
            let per_trip = longest.as_ps() / reaction.span.as_ps().max(1);
            let text = format!(
                "{name}: {} every {}{is} (`{param}`), and a round trip of the empty network takes up to {longest}: \
                 {per_trip} times before its first effect can be seen",
                reaction.event, reaction.span
            );
            cx.warn(WarningKind::TimeConstant, location.as_ref(), text);
        }
    }
}

/// Warns of a watchdog that mistakes an ordinary pause for a storm: data in flight when a pause is sent keeps the
/// buffer full for a round trip of the link.
fn warn_of_watchdog(cx: &mut Cx<'_>, run: &RunSpec) {
    let Some(watchdog) = run.switch.watchdog else {
        return;
    };
    let full = run.packet.mtu + run.packet.data_header;
    let pause = |link: &paceline_fabric::spec::LinkSpec| {
        times(link.delay, 2) + times(link.rate.time_to_send(full), 2)
    };
    let Some(longest) = run.links.iter().map(pause).max() else {
        return;
    };
    let longest = rounded(longest + run.switch.longest_response());
    for (key, value, effect) in [
        (
            "detection",
            watchdog.detection,
            "an ordinary pause is taken for a storm",
        ),
        (
            "restoration",
            watchdog.restoration,
            "a storm is over between two of its frames",
        ),
    ] {
        if value < longest {
            let key = format!("network.pfc.watchdog.{key}");
            let location = cx.place_of(&key).map(|span| cx.texts.at(span));
            let text = format!(
                "`{key}` is {value}, and a pause takes {longest} to act and to end on the longest link: {effect}"
            );
            cx.warn(WarningKind::TimeConstant, location.as_ref(), text);
        }
    }
}

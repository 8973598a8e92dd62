//! Changes of links and hosts during a run: failures, other link changes, slow hosts, and the PFC watchdog.

use std::cell::LazyCell;

use paceline_fabric::spec::{
    Endpoint, HostChange, LinkChange, LinkFailure, NodeId, PfcWatchdog, ReceiveBuffer, WatchdogAction,
};
use paceline_kernel::{Bytes, Span, Time};
use toml::Spanned;

use super::fill::{fill_at, filled};
use super::numbers::above_zero;
use super::{Cx, hosts};
use crate::diagnostics::{Location, Problem};
use crate::schema::{self, Ends, WatchdogKind};
use crate::topology::{Net, ends};
use crate::warning::WarningKind;

/// Rejects such changes in the networks of other simulators, which do not model them.
pub(super) fn refuse_in_models(cx: &Cx<'_>, n: &schema::Network) -> Result<(), Problem> {
    if !cx.profile().own_network {
        return Ok(());
    }
    let links = n
        .link_change
        .iter()
        .flatten()
        .map(|one| ("links do not change", one.span()));
    let slow = n
        .slow_host
        .iter()
        .flatten()
        .map(|one| ("hosts are not slow", one.span()));
    match links.chain(slow).next() {
        None => Ok(()),
        Some((what, span)) => Err(Problem::new(format!("{what} in fidelity {}", cx.fidelity.name()))
            .at(&cx.texts.at(span))
            .help("use fidelity = \"exact\"")),
    }
}

/// Name of a table in messages, and its position.
struct About<'a> {
    what: &'a str,
    location: &'a Location,
}

impl About<'_> {
    /// Returns the start and the end of the change, checked against each other.
    fn times(
        &self,
        cx: &Cx<'_>,
        at: Option<&Spanned<Time>>,
        until: Option<&Spanned<Time>>,
    ) -> Result<(Time, Option<Time>), Problem> {
        let Some(at) = at.map(|at| *at.get_ref()) else {
            return Err(Problem::new(format!("{} has no time `at`", self.what)).at(self.location));
        };
        match until {
            Some(until) if *until.get_ref() <= at => {
                let message = format!(
                    "{} ends at {}, no later than it begins ({at})",
                    self.what,
                    until.get_ref()
                );
                Err(Problem::new(message).at(&cx.texts.of_value(until)))
            }
            until => Ok((at, until.map(|until| *until.get_ref()))),
        }
    }
}

/// Finds links by number, or by their ends.
struct Links<'a, 'b> {
    cx: &'a Cx<'b>,
    net: &'a Net,
}

impl Links<'_, '_> {
    fn find(
        &self,
        about: &About<'_>,
        link: Option<&Spanned<usize>>,
        nodes: Option<&Spanned<Ends>>,
        by_ends: impl Fn((NodeId, NodeId)) -> Option<usize>,
    ) -> Result<usize, Problem> {
        let texts = self.cx.texts;
        match (link, nodes) {
            (Some(link), None) => {
                let count = self.net.topology.links.len();
                if *link.get_ref() < count {
                    return Ok(*link.get_ref());
                }
                let last = count.max(1) - 1;
                let message = format!("there is no link {}: links are 0 to {last}", link.get_ref());
                Err(Problem::new(message).at(&texts.of_value(link)))
            }
            (None, Some(nodes)) => {
                let (a, b) = hosts::ends(self.cx, nodes)?;
                by_ends(ends(a, b)).ok_or_else(|| {
                    let [a, b] = [a, b].map(|node| self.cx.names.numbered(node.0));
                    Problem::new(format!("there is no link between {a} and {b}")).at(&texts.of_value(nodes))
                })
            }
            _ => {
                let message = format!("{} names either `link` or `nodes`", about.what);
                Err(Problem::new(message).at(about.location))
            }
        }
    }
}

/// Resolves the failures of links.
pub(super) fn failures(cx: &Cx<'_>, n: &schema::Network, net: &Net) -> Result<Vec<LinkFailure>, Problem> {
    let mut failures = Vec::new();
    // Of parallel links only the last one is known, as in the original simulator.
    let known = LazyCell::new(|| net.topology.links_by_ends());
    for spanned in n.failure.iter().flatten() {
        let location = cx.texts.of_value(spanned);
        let about = About {
            what: "the failure",
            location: &location,
        };
        let failure = spanned.get_ref();
        let by_ends = |ends| known.get(&ends).copied();
        let link = Links { cx, net }.find(&about, failure.link.as_ref(), failure.nodes.as_ref(), by_ends)?;
        let (at, until) = about.times(cx, failure.at.as_ref(), failure.until.as_ref())?;
        failures.push(LinkFailure { link, at, until });
    }
    Ok(failures)
}

/// Resolves the other changes of links.
pub(super) fn links(cx: &mut Cx<'_>, n: &schema::Network, net: &Net) -> Result<Vec<LinkChange>, Problem> {
    let mut changes: Vec<(LinkChange, Location)> = Vec::new();
    // Built for the first change that names nodes, since most name links or none.
    let known = LazyCell::new(|| net.topology.links_by_ends());
    for spanned in n.link_change.iter().flatten() {
        let location = cx.texts.of_value(spanned);
        let about = About {
            what: "the change of a link",
            location: &location,
        };
        let written = spanned.get_ref();
        let by_ends = |ends| known.get(&ends).copied();
        let link = Links { cx, net }.find(&about, written.link.as_ref(), written.nodes.as_ref(), by_ends)?;
        let (at, until) = about.times(cx, written.at.as_ref(), written.until.as_ref())?;
        if let Some(rate) = written.rate.as_ref().filter(|rate| rate.get_ref().as_bps() == 0) {
            return Err(Problem::new("the rate of a link is zero")
                .at(&cx.texts.of_value(rate))
                .help("a link that carries nothing for a time is a [[network.failure]]"));
        }
        if let Some(error_rate) = &written.error_rate {
            super::numbers::probability(cx, error_rate, "the error rate")?;
        }
        let change = LinkChange {
            link,
            at,
            until,
            rate: written.rate.as_ref().map(|rate| *rate.get_ref()),
            delay: written.delay.as_ref().map(|delay| *delay.get_ref()),
            error_rate: written.error_rate.as_ref().map(|rate| *rate.get_ref()),
        };
        if (change.rate, change.delay, change.error_rate) == (None, None, None) {
            let message = "the change of a link changes nothing";
            return Err(Problem::new(message)
                .at(&location)
                .label("expected `rate`, `delay` or `error-rate`"));
        }
        for (other, there) in changes.iter().filter(|(other, _)| other.link == link) {
            if let Some(what) = change.clash(other) {
                let message = format!("two changes set the {what} of link {link} at the same time");
                return Err(Problem::new(message).at(&location).see(there, "the other one"));
            }
        }
        warn_of_headroom(cx, n, net, &change, &location);
        changes.push((change, location));
    }
    Ok(changes.into_iter().map(|(change, _)| change).collect())
}

/// Warns if a link becomes faster or longer than it was built: its headroom does not cover the additional data that
/// arrives after a pause.
fn warn_of_headroom(
    cx: &mut Cx<'_>,
    n: &schema::Network,
    net: &Net,
    change: &LinkChange,
    location: &Location,
) {
    let built = &net.topology.links[change.link];
    let more = change.rate.is_some_and(|rate| rate > built.rate)
        || change.delay.is_some_and(|delay| delay > built.delay);
    let pauses = n.flow_control.unwrap_or(cx.profile().flow_control) == schema::FlowControlKind::Pfc;
    if more && pauses {
        let text = format!(
            "while link {} is faster or longer, more arrives after a pause than its headroom is for ({}, {}): switches may drop packets",
            change.link, built.rate, built.delay
        );
        cx.warn(WarningKind::Threshold, location, text);
    }
}

/// Resolves the hosts that are slow for a time.
pub(super) fn slow_hosts(cx: &Cx<'_>, n: &schema::Network, net: &Net) -> Result<Vec<HostChange>, Problem> {
    let mut changes: Vec<(HostChange, Location)> = Vec::new();
    for spanned in n.slow_host.iter().flatten() {
        let location = cx.texts.of_value(spanned);
        let about = About {
            what: "the slow host",
            location: &location,
        };
        let written = spanned.get_ref();
        let Some(set) = &written.hosts else {
            return Err(Problem::new("the slow host has no `hosts`").at(&location));
        };
        let (at, until) = about.times(cx, written.at.as_ref(), written.until.as_ref())?;
        if let Some(factor) = &written.compute
            && !(factor.get_ref().is_finite() && *factor.get_ref() > 0.0 && *factor.get_ref() <= FACTOR_MAX)
        {
            let message = format!(
                "the factor of computing is {}: expected more than zero, and at most {FACTOR_MAX}",
                factor.get_ref()
            );
            return Err(Problem::new(message).at(&cx.texts.of_value(factor)));
        }
        if let Some(rate) = written
            .receive_rate
            .as_ref()
            .filter(|rate| rate.get_ref().as_bps() == 0)
        {
            return Err(
                Problem::new("the rate at which hosts take packets is zero").at(&cx.texts.of_value(rate))
            );
        }
        if written.compute.is_none() && written.receive_rate.is_none() {
            let problem = Problem::new("the slow host is slow at nothing").at(&location);
            return Err(problem.label("expected `compute` or `receive-rate`"));
        }
        for node in hosts::set(cx, net, set, hosts::Holds::Hosts)? {
            let change = HostChange {
                node,
                at,
                until,
                compute: written.compute.as_ref().map(|factor| *factor.get_ref()),
                receive_rate: written.receive_rate.as_ref().map(|rate| *rate.get_ref()),
            };
            // Compared host by host, since two sets may have only some hosts in common.
            for (other, there) in changes.iter().filter(|(other, _)| other.node == node) {
                if let Some(what) = change.clash(other) {
                    let message = format!("two changes set the {what} of host {} at the same time", node.0);
                    return Err(Problem::new(message).at(&location).see(there, "the other one"));
                }
            }
            changes.push((change, location.clone()));
        }
    }
    Ok(changes.into_iter().map(|(change, _)| change).collect())
}

/// Upper limit of a slowdown factor, beyond any useful one.
const FACTOR_MAX: f64 = 1e9;

/// Returns the model of receiving hosts. If only slow hosts need one, hosts process packets instantly at other times.
pub(super) fn endpoint(written: Option<Endpoint>, changes: &[HostChange]) -> Option<Endpoint> {
    let at_once = Endpoint {
        delay: Span::ZERO,
        per_packet: Span::ZERO,
        rate: None,
        jitter: Span::ZERO,
    };
    let some = changes.iter().any(|change| change.receive_rate.is_some());
    written.or_else(|| some.then_some(at_once))
}

/// Returns the receive buffer of NICs; it has an effect only if hosts take time to process packets.
pub(super) fn receive_buffer(
    cx: &Cx<'_>,
    n: &mut schema::Network,
    takes_time: bool,
) -> Result<Option<ReceiveBuffer>, Problem> {
    let Some(written) = n.receive_buffer.as_mut().filter(|_| takes_time) else {
        return Ok(None);
    };
    let size = filled!(written.size: ReceiveBuffer);
    let Some(bytes) = size.get_ref().0 else {
        return Ok(None);
    };
    if bytes == Bytes::ZERO {
        let problem = Problem::new("the receive buffer is zero").at(&cx.texts.of_value(&size));
        return Err(problem.label("expected more than zero, or \"off\""));
    }
    let xoff = fill_at(&mut written.xoff, Bytes::new(bytes.get() / 2));
    let xon = fill_at(&mut written.xon, Bytes::new(xoff.get_ref().get() / 2));
    for (low, high, what) in [(&xoff, bytes, "size"), (&xon, *xoff.get_ref(), "xoff")] {
        if *low.get_ref() > high {
            let message = format!(
                "a threshold of {} is above the buffer's {what} ({high})",
                low.get_ref()
            );
            return Err(Problem::new(message).at(&cx.texts.of_value(low)));
        }
    }
    Ok(Some(ReceiveBuffer {
        size: bytes,
        xoff: *xoff.get_ref(),
        xon: *xon.get_ref(),
    }))
}

/// Returns the watchdog, which needs PFC.
pub(super) fn watchdog(cx: &Cx<'_>, n: &mut schema::Network) -> Result<Option<PfcWatchdog>, Problem> {
    let is_pfc = n.flow_control == Some(schema::FlowControlKind::Pfc) && !cx.profile().own_network;
    let watchdog = n.pfc.as_mut().and_then(|pfc| pfc.watchdog.as_mut());
    let Some(written) = watchdog.filter(|_| is_pfc) else {
        return Ok(None);
    };
    let detection = filled!(written.detection: Watchdog);
    let zero = detection.get_ref().0 == Some(Span::ZERO);
    if zero {
        let problem = Problem::new("the detection time is zero").at(&cx.texts.of_value(&detection));
        return Err(problem.label("expected more than zero, or \"off\""));
    }
    let Some(detection) = detection.get_ref().0 else {
        return Ok(None);
    };
    let twice = Span::from_ps(detection.as_ps().saturating_mul(2));
    let restoration = fill_at(&mut written.restoration, twice);
    Ok(Some(PfcWatchdog {
        detection,
        restoration: above_zero(cx, &restoration, "the restoration time")?,
        action: match filled!(written.action: Watchdog) {
            WatchdogKind::Drop => WatchdogAction::Drop,
            WatchdogKind::Forward => WatchdogAction::Forward,
            WatchdogKind::Alert => WatchdogAction::Alert,
        },
    }))
}

/// Returns the delay until routes follow a failed link; zero if no link fails or routes follow at once.
pub(super) fn reconvergence(
    n: &mut schema::Network,
    failures: &[LinkFailure],
    follows_at_once: bool,
) -> Span {
    let written = filled!(n.reconvergence: Network);
    match failures.is_empty() || follows_at_once {
        true => Span::ZERO,
        false => written,
    }
}

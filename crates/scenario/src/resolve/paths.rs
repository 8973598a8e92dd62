//! Conversion of `[[network.pause-storm]]` and `[[network.route]]` to pause storms and next hops.

use std::cell::LazyCell;

use paceline_fabric::spec::{NodeId, NodeKind, PauseStorm, StaticRoute};
use paceline_kernel::sorted::{SortedMap, SortedSet};
use toml::Spanned;

use crate::diagnostics::{Location, Problem};
use crate::schema::{self, FlowControlKind, NodeItem};
use crate::topology::{Net, Topology, ends};
use crate::warning::WarningKind;

use super::Cx;
use super::fill::filled;
use super::hosts::{self, Holds};

/// Returns the node that `slot` names, checked to be of `kind`.
fn node(
    cx: &Cx<'_>,
    net: &Net,
    slot: &Option<Spanned<NodeItem>>,
    kind: Option<NodeKind>,
    missing: impl Fn() -> Problem,
) -> Result<u32, Problem> {
    let written = slot.as_ref().ok_or_else(missing)?;
    let location = cx.texts.of_value(written);
    let node = hosts::node(cx, written.get_ref(), &location)?;
    let name = || cx.names.numbered(node.0);
    match (kind, net.topology.nodes[node.0 as usize]) {
        (Some(NodeKind::Switch), NodeKind::Host) => {
            Err(Problem::new(format!("{} is a host: expected a switch", name())).at(&location))
        }
        (Some(NodeKind::Host), NodeKind::Switch) => {
            Err(Problem::new(format!("{} is a switch: expected a host", name())).at(&location))
        }
        _ => Ok(node.0),
    }
}

/// Resolves the pause storms: NICs that send pause frames forever.
pub(super) fn storms(cx: &Cx<'_>, n: &mut schema::Network, net: &Net) -> Result<Vec<PauseStorm>, Problem> {
    let without_pfc = n.flow_control.is_some_and(|kind| kind != FlowControlKind::Pfc);
    let mut storms = Vec::new();
    for spanned in n.pause_storm.iter_mut().flatten() {
        let location = cx.texts.of_value(spanned);
        let storm = spanned.get_mut();
        let missing = |what: &str| Problem::new(format!("the pause storm has no {what}")).at(&location);
        if without_pfc {
            let message = "a pause storm in a network without PFC: pauses have no effect";
            return Err(Problem::new(message).at(&location));
        }
        let host = hosts::one(cx, net, storm.node.as_ref().ok_or_else(|| missing("`node`"))?)?;
        let storm_peer = storm.peer.clone();
        let priority = filled!(storm.priority: PauseStorm);
        if !(1..=7).contains(priority.get_ref()) {
            let message = format!("priority {} is not one of 1 to 7", priority.get_ref());
            return Err(Problem::new(message).at(&cx.texts.of_value(&priority)));
        }
        let at = *storm.at.as_ref().ok_or_else(|| missing("time `at`"))?.get_ref();
        if let Some(until) = &storm.until
            && *until.get_ref() <= at
        {
            let message = format!(
                "the storm ends at {}, no later than it begins ({at})",
                until.get_ref()
            );
            return Err(Problem::new(message).at(&cx.texts.of_value(until)));
        }
        let storm = PauseStorm {
            node: host,
            link: None,
            class: priority.into_inner(),
            at,
            until: storm.until.as_ref().map(|until| *until.get_ref()),
        };
        match stormy_links(cx, &storm_peer, host, net)? {
            None => storms.push(storm),
            Some(links) => storms.extend(links.into_iter().map(|link| PauseStorm {
                link: Some(link),
                ..storm.clone()
            })),
        }
    }
    Ok(storms)
}

/// Returns the links that a storm pauses, or `None` for all links of its host. NICs pause, not links inside a server.
fn stormy_links(
    cx: &Cx<'_>,
    peer: &Option<Spanned<NodeItem>>,
    host: NodeId,
    net: &Net,
) -> Result<Option<Vec<usize>>, Problem> {
    let topology = &net.topology;
    let links = || {
        let links = topology.links.iter().enumerate();
        links.filter_map(|(i, link)| match host {
            host if host == link.a => Some((i, link.b)),
            host if host == link.b => Some((i, link.a)),
            _ => None,
        })
    };
    if let Some(peer) = peer {
        let location = cx.texts.of_value(peer);
        let node = hosts::node(cx, peer.get_ref(), &location)?;
        let to_peer: Vec<usize> = links()
            .filter(|(_, other)| *other == node)
            .map(|(link, _)| link)
            .collect();
        if to_peer.is_empty() {
            let peers: Vec<String> = links().map(|(_, other)| cx.names.numbered(other.0)).collect();
            let message = format!("host {} has no link to {}", host.0, cx.names.numbered(node.0));
            return Err(Problem::new(message)
                .at(&location)
                .help(format!("its links lead to {}", peers.join(", "))));
        }
        return Ok(Some(to_peer));
    }
    let inside = |node: &NodeId| topology.inner.binary_search(node).is_ok();
    let outside: Vec<usize> = links()
        .filter(|(_, other)| !inside(other))
        .map(|(link, _)| link)
        .collect();
    let is_some = !outside.is_empty() && outside.len() < links().count();
    Ok(is_some.then_some(outside))
}

/// Resolves the static routes.
pub(super) fn routes(
    cx: &mut Cx<'_>,
    n: &mut schema::Network,
    net: &Net,
) -> Result<Vec<StaticRoute>, Problem> {
    let mut routes = Vec::new();
    let links = LazyCell::new(|| net.topology.links_by_ends());
    let mut known = SortedSet::new();
    let mut by_nic = None;
    for spanned in n.route.iter_mut().flatten() {
        let location = cx.texts.of_value(spanned);
        let route = spanned.get_mut();
        let missing = |what: &str| Problem::new(format!("the route has no `{what}`")).at(&location);
        let switch = node(cx, net, &route.node, Some(NodeKind::Switch), || missing("node"))?;
        let via = node(cx, net, &route.via, None, || missing("via"))?;
        if !links.contains_key(&ends(NodeId(switch), NodeId(via))) {
            let [switch, via] = [switch, via].map(|node| cx.names.numbered(node));
            let message = format!("there is no link between {switch} and {via}");
            return Err(Problem::new(message).at(&location));
        }
        let to = route.to.as_ref().ok_or_else(|| missing("to"))?;
        let to_place = cx.texts.of_value(to);
        for host in hosts::set(cx, net, to, Holds::Hosts)? {
            let route = StaticRoute {
                node: NodeId(switch),
                to: host,
                via: NodeId(via),
            };
            check_route(cx, net, &mut known, route, &to_place)?;
            routes.push(route);
            if by_nic.is_none() && cx.hosts_by_nic.contains(&host) {
                by_nic = Some((host, to_place.clone()));
            }
        }
    }
    if let Some((host, location)) = by_nic {
        let text = format!(
            "a trace names the NICs of host {}, but packets on static routes arrive by any of its links",
            host.0
        );
        cx.warn(WarningKind::Reading, &location, text);
    }
    routes.extend(inside_servers(&net.topology));
    Ok(routes)
}

/// Returns routes that let hosts of one server reach each other through the switch inside it, even if another switch
/// is equally near.
fn inside_servers(topology: &Topology) -> Vec<StaticRoute> {
    if topology.inner.is_empty() {
        return Vec::new();
    }
    let mut switches: SortedMap<NodeId, SortedSet<NodeId>> = SortedMap::new();
    for link in &topology.links {
        for (host, switch) in [(link.a, link.b), (link.b, link.a)] {
            if topology.is_host(host) && !topology.is_host(switch) {
                switches.entry(host).or_default().insert(switch);
            }
        }
    }
    let mut inside: SortedMap<NodeId, Vec<NodeId>> = SortedMap::new();
    for (&host, at) in &switches {
        for &switch in at
            .iter()
            .filter(|switch| topology.inner.binary_search(switch).is_ok())
        {
            inside.entry(switch).or_default().push(host);
        }
    }
    let mut routes = Vec::new();
    for (via, hosts) in inside {
        for &node in &hosts {
            // Without another common switch, hosts use the switch inside their server anyway.
            let near = |to: &NodeId| switches[&node].intersection(&switches[to]).any(|&at| at != via);
            let others = hosts.iter().copied().filter(|to| *to != node && near(to));
            routes.extend(others.map(|to| StaticRoute { node, to, via }));
        }
    }
    routes
}

/// Checks a switch's next hop to a host, which must not be in `known` yet.
fn check_route(
    cx: &Cx<'_>,
    net: &Net,
    known: &mut SortedSet<(NodeId, NodeId)>,
    route: StaticRoute,
    location: &Location,
) -> Result<(), Problem> {
    let StaticRoute { node, to, via } = route;
    if net.topology.nodes[via.0 as usize] == NodeKind::Host && via != to {
        let message = format!(
            "the route to host {} goes via host {}: hosts do not forward",
            to.0, via.0
        );
        return Err(Problem::new(message).at(location));
    }
    if !known.insert((node, to)) {
        let switch = cx.names.numbered(node.0);
        let message = format!("there is another route from {switch} to host {}", to.0);
        return Err(Problem::new(message).at(location));
    }
    Ok(())
}

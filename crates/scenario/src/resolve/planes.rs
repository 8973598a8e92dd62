//! Networks of several planes: hosts with a link into each.

use paceline_fabric::spec::{NodeKind, SchemeSpec};

use super::Cx;
use crate::diagnostics::Problem;
use crate::groups;
use crate::schema::{self, Network};
use crate::topology::{Net, Topology};

/// Most planes that a network may have.
const MAX: u32 = 16;

/// Builds a generated network once for each plane, or checks that the hosts of a given one have a link into each.
pub(super) fn apply(
    cx: &Cx<'_>,
    written: &mut Network,
    topology: Option<&schema::Topology>,
    net: &mut Net,
) -> Result<(), Problem> {
    let Some(planes) = written.planes.as_ref() else {
        return Ok(());
    };
    let (count, place) = (*planes.get_ref(), cx.texts.of_value(planes));
    if !count.is_power_of_two() || count > MAX {
        return Err(Problem::new(format!("{count} planes"))
            .at(&place)
            .label(format!("expected a power of two from 1 to {MAX}")));
    }
    if count == 1 {
        return Ok(());
    }
    let on_credit = written.flow_control == Some(schema::FlowControlKind::Credits);
    if !cx.profile().is_exact || on_credit {
        let message = "hosts have links into several planes in fidelity `exact`, without credits";
        return Err(Problem::new(message).at(&place));
    }
    let is_given = topology.is_some_and(|t| t.file.is_some() || t.graph.is_some());
    if is_given {
        return check_links(&net.topology, count).map_err(|problem| problem.at(&place));
    }
    if !net.topology.inner.is_empty() {
        let message = "GPUs with links inside their server have one link into the network";
        return Err(Problem::new(message).at(&place).help(
            "write `server-rate = \"off\"`, or give the network as a file with a link into each plane",
        ));
    }
    copy(&mut net.topology, count);
    Ok(())
}

/// Refuses schemes whose receivers pace what arrives by one link.
pub(super) fn check(cx: &Cx<'_>, written: &Network, schemes: &[SchemeSpec]) -> Result<(), Problem> {
    let Some(planes) = written.planes.as_ref().filter(|planes| *planes.get_ref() > 1) else {
        return Ok(());
    };
    match schemes.iter().find(|scheme| scheme.config.needs().grants) {
        None => Ok(()),
        Some(scheme) => {
            let name = scheme.config.name();
            let message = format!("receivers of {name} pace their grants by the rate of one link");
            Err(Problem::new(message)
                .at(&cx.texts.of_value(planes))
                .help("write `network.planes = 1`, or choose another scheme"))
        }
    }
}

/// Checks that every host has `planes` links.
fn check_links(topology: &Topology, planes: u32) -> Result<(), Problem> {
    let mut links = vec![0; topology.nodes.len()];
    for link in &topology.links {
        for end in [link.a, link.b] {
            links[end.0 as usize] += 1;
        }
    }
    let wrong = topology.hosts().find(|host| links[host.0 as usize] != planes);
    match wrong {
        None => Ok(()),
        Some(host) => {
            let count = links[host.0 as usize];
            let links = if count == 1 { "link" } else { "links" };
            let message = format!(
                "host {} has {count} {links}, and there are {planes} planes",
                host.0
            );
            Err(Problem::new(message)
                .help("in a given network, the links of a host lead into plane 0, 1, ... in their order"))
        }
    }
}

/// Builds the switches and links of a network `planes` times over, for the same hosts. Plane by plane, so that a host's
/// links are in the order of the planes.
fn copy(topology: &mut Topology, planes: u32) {
    // Every copy has the same leaves and pods, which stay groups of hosts.
    for (kind, _) in groups::KINDS {
        let is_known = topology.groups.iter().any(|(known, _)| *known == kind);
        if let Some(sets) = groups::sets(topology, kind).filter(|_| !is_known) {
            topology.groups.push((kind, sets));
        }
    }
    let (nodes, links) = (topology.nodes.clone(), topology.links.clone());
    for _ in 1..planes {
        let mut number: Vec<u32> = (0..nodes.len() as u32).collect();
        for (node, _) in nodes
            .iter()
            .enumerate()
            .filter(|&(_, &kind)| kind == NodeKind::Switch)
        {
            number[node] = topology.nodes.len() as u32;
            topology.nodes.push(NodeKind::Switch);
        }
        for link in &links {
            let [a, b] = [link.a, link.b].map(|end| number[end.0 as usize]);
            topology.link(a, b, link.rate, link.delay);
        }
    }
}

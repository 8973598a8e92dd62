//! Checks of hosts, for flows from lists, streams and programs alike.

use paceline_run::spec::{FlowSpec, NodeId, NodeKind, RunSpec};

/// Checks a node that is to send or receive. `degree` is each node's number of links.
pub(super) fn check_host(spec: &RunSpec, host: NodeId, degree: &[u32]) -> Result<(), String> {
    let node = host.0 as usize;
    match spec.nodes.get(node) {
        None => Err(format!("node {node} does not exist")),
        Some(NodeKind::Switch) => Err(format!("node {node} is a switch")),
        Some(NodeKind::Host) if degree[node] == 0 => Err(format!("host {node} has no link")),
        Some(NodeKind::Host) => Ok(()),
    }
}

/// Checks the priority and the scheme of flows.
pub(super) fn check_class_and_scheme(spec: &RunSpec, class: u8, scheme: u16) -> Result<(), String> {
    if !(1..=7).contains(&class) {
        return Err(format!("priority {class} is not one of 1 to 7"));
    }
    if usize::from(scheme) >= spec.schemes.len() {
        return Err(format!("scheme {scheme} of {}", spec.schemes.len()));
    }
    Ok(())
}

/// Checks that hosts have the links that a flow names.
pub(super) fn check_nics(spec: &RunSpec, flow: &FlowSpec, degree: &[u32]) -> Result<(), String> {
    if flow.nics.are_any() {
        return Ok(());
    }
    if let Some(model) = &spec.model {
        return Err(format!("it names a NIC, and hosts of {} have one", model.name()));
    }
    for (host, nic) in [(flow.src, flow.nics.src()), (flow.dst, flow.nics.dst())] {
        let count = degree[host.0 as usize];
        if let Some(nic) = nic.filter(|&nic| u32::from(nic) >= count) {
            return Err(format!(
                "it names NIC {nic} of host {}, which has {count}",
                host.0
            ));
        }
    }
    Ok(())
}

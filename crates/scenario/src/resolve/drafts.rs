//! Flows before they have ports: checks and the numbering of ports.

use std::collections::BTreeMap;

use paceline_fabric::spec::{FlowSpec, NodeId};
use paceline_kernel::Bytes;

use crate::diagnostics::{Place, Problem};
use crate::topology::Net;
use crate::traffic::Message;

use super::Cx;
use super::reach::Reach;

/// A flow without its ports, and where it was written.
pub(super) struct Draft {
    pub(super) message: Message,
    pub(super) class: u8,
    pub(super) dport: u16,
    pub(super) label: u16,
    pub(super) scheme: u16,
    pub(super) place: Place,
}

/// The source port counts the flows of a pair of hosts, as in the original simulator.
pub(super) fn with_ports(drafts: &[Draft]) -> Vec<FlowSpec> {
    let mut counts: BTreeMap<(NodeId, NodeId), u64> = BTreeMap::new();
    let flows = drafts.iter().map(|draft| {
        let Message {
            src,
            dst,
            size,
            start,
        } = draft.message;
        let count = counts.entry((src, dst)).or_default();
        let sport = (10_000 + *count) as u16;
        *count += 1;
        FlowSpec {
            src,
            dst,
            size,
            start,
            class: draft.class,
            sport,
            dport: draft.dport,
            label: draft.label,
            scheme: draft.scheme,
        }
    });
    flows.collect()
}

/// Every flow goes from a host to another one that it can reach.
pub(super) fn check(cx: &Cx<'_>, drafts: &[Draft], net: &Net) -> Result<(), Problem> {
    let reach = Reach::of(&net.topology);
    for draft in drafts {
        let Message { src, dst, size, .. } = draft.message;
        let wrong = |message: String| Err(Problem::new(message).at(&draft.place));
        for node in [src, dst] {
            if let Some(message) = not_a_host(node, net) {
                return wrong(message);
            }
        }
        if src == dst {
            return wrong(format!("the flow goes from host {} to itself", src.0));
        }
        if size == Bytes::ZERO {
            return wrong("a flow of no bytes".to_string());
        }
        if !reach.connected(src, dst) {
            let lonely = [src, dst].into_iter().find(|&host| !reach.has_link(host));
            let problem = Problem::new(match lonely {
                Some(host) => format!("host {} has no link", host.0),
                None => format!("there is no path from host {} to host {}", src.0, dst.0),
            })
            .at(&draft.place);
            return Err(match &net.note {
                Some(note) => problem.help(note),
                None => problem,
            });
        }
    }
    let late = drafts
        .iter()
        .filter(|draft| draft.message.start >= cx.stop)
        .count();
    if late > 0 && late == drafts.len() {
        let first = &drafts[0];
        return Err(Problem::new(format!(
            "every flow starts after the end of the run at {}: the first here at {}",
            cx.stop, first.message.start
        ))
        .at(&first.place));
    }
    Ok(())
}

/// What is wrong with a node that should be a host, if something is.
pub(super) fn not_a_host(node: NodeId, net: &Net) -> Option<String> {
    let count = net.topology.nodes.len();
    if net.topology.is_host(node) {
        return None;
    }
    if node.0 as usize >= count {
        return Some(format!(
            "there is no node {}: nodes are 0 to {}",
            node.0,
            count.max(1) - 1
        ));
    }
    let hosts = match (net.topology.hosts().next(), net.topology.hosts().last()) {
        (Some(first), Some(last)) => format!("nodes {} to {}", first.0, last.0),
        _ => "there are none".to_string(),
    };
    Some(format!(
        "node {} is a switch: flows are between hosts ({hosts})",
        node.0
    ))
}

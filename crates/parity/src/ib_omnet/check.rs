//! Requirements of a network under credits.

use paceline_fabric::spec::{NodeKind, RunSpec, TieOrder};
use paceline_kernel::Span;
use paceline_kernel::ids::Id;

use crate::ib_omnet::spec::{Control, CreditSpec};

/// Maximum number of ports of a switch: an arbiter's mask has one bit per port.
const MOST_PORTS: usize = 64;

/// Checks a run against the requirements of a network under credits.
pub(super) fn check(spec: &RunSpec, credits: &CreditSpec) -> Result<(), String> {
    let bad = |why: String| Err(why);
    if spec.ties != TieOrder::Insertion {
        return bad("events of one instant have to run in the order in which they were scheduled".into());
    }
    if !spec.failures.is_empty() || spec.links.iter().any(|link| link.error_rate > 0.0) {
        return bad("links that fail or lose packets are not simulated under credits".into());
    }
    if spec.links.iter().any(|link| link.delay != Span::ZERO) {
        return bad("links take no time in this network: their delays have to be zero".into());
    }
    if spec.arrivals.is_some() || !spec.dependencies.is_empty() {
        return bad("hosts send messages of sources, one after the other; nothing else waits".into());
    }
    check_numbers(credits)?;
    let mut degree = vec![0; spec.nodes.len()];
    for node in spec.links.iter().flat_map(|link| [link.a, link.b]) {
        degree[node.index()] += 1;
    }
    for (node, (&kind, &links)) in spec.nodes.iter().zip(&degree).enumerate() {
        match kind {
            NodeKind::Host if links != 1 => {
                return bad(format!("host {node} has {links} links; a host has one"));
            }
            NodeKind::Switch if links > MOST_PORTS => {
                return bad(format!(
                    "switch {node} has {links} ports; there may be {MOST_PORTS}"
                ));
            }
            _ => {}
        }
    }
    check_sources(spec, credits)
}

fn check_numbers(credits: &CreditSpec) -> Result<(), String> {
    let bad = |why: String| Err(why);
    if !(1..=15).contains(&credits.lanes) {
        return bad(format!("{} virtual lanes; there may be 1 to 15", credits.lanes));
    }
    if credits.weights.len() != usize::from(credits.lanes) || credits.weights.contains(&0) {
        let (lanes, weights) = (credits.lanes, credits.weights.len());
        return bad(format!(
            "{weights} weights for {lanes} lanes; each lane has one, above 0"
        ));
    }
    if credits.buffer == 0 {
        return bad("input buffers hold no packet: nothing could be sent".into());
    }
    if credits.fifo < 2 {
        return bad(format!(
            "an output's queue of {} packets; one place stays free, so 2 is the least",
            credits.fifo
        ));
    }
    if credits.host_queue == 0 {
        return bad("hosts' queues hold no packet: nothing could be sent".into());
    }
    let spans = [
        ("the period of flow control", credits.period),
        ("a switch's arbitration", credits.switch_arbitration),
        ("a host's arbitration", credits.host_arbitration),
        ("a host's time for a packet", credits.host_packet),
    ];
    if let Some((what, _)) = spans.into_iter().find(|(_, span)| *span == Span::ZERO) {
        return bad(format!("{what} takes no time"));
    }
    if let Control::Ibcc(params) = credits.control
        && (params.timer == Span::ZERO || params.at == 0)
    {
        return bad("the timer of the index, and the index of the delay, are above zero".into());
    }
    Ok(())
}

fn check_sources(spec: &RunSpec, credits: &CreditSpec) -> Result<(), String> {
    let bad = |why: String| Err(why);
    let mut next = 0;
    let mut sends = vec![false; spec.nodes.len()];
    for (i, source) in credits.sources.iter().enumerate() {
        let (first, count) = (source.first as usize, source.count as usize);
        if first != next || count == 0 || first + count > spec.flows.len() {
            let flows = spec.flows.len();
            return bad(format!(
                "source {i} has flows {first} to {}, of {flows}; {next} comes next",
                first + count
            ));
        }
        next = first + count;
        let flows = &spec.flows[first..next];
        let ends = (flows[0].src, flows[0].dst);
        if flows.iter().any(|flow| (flow.src, flow.dst) != ends) {
            return bad(format!("source {i}: its messages go between different hosts"));
        }
        if std::mem::replace(&mut sends[ends.0.index()], true) {
            return bad(format!("host {} has two sources; a host has one", ends.0.0));
        }
    }
    if next != spec.flows.len() {
        return bad(format!("flow {next} belongs to no source"));
    }
    let notified = credits.notified.iter().flatten();
    for node in credits.controlled.iter().chain(notified) {
        if spec.nodes.get(node.index()) != Some(&NodeKind::Host) {
            return bad(format!("node {} is to control its rate, and is no host", node.0));
        }
    }
    Ok(())
}

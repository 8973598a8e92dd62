//! Checks of links and hosts that change during a run.

use paceline_kernel::ids::Id;
use paceline_run::spec::{LinkChange, NodeKind, ReceiveBuffer, RunSpec};

/// Checks that changes make sense and do not contradict each other.
pub(super) fn check_changes(spec: &RunSpec) -> Result<(), String> {
    let bad = |why: &str| Err(why.to_string());
    let some = !(spec.link_changes.is_empty() && spec.host_changes.is_empty());
    if spec.model.is_some() && (some || !spec.reconvergence.is_zero() || spec.switch.watchdog.is_some()) {
        return bad(
            "in the networks of other simulators links and hosts do not change, and there is no watchdog",
        );
    }
    if !spec.reconvergence.is_zero() && (spec.lanes.is_some() || spec.quirks.gentle_failures) {
        return bad("routes follow failures at once under credits, and where failures lose nothing");
    }
    let reads = spec.nic.receive_buffer.is_some()
        || (spec.host_changes.iter()).any(|change| change.receive_rate.is_some());
    if reads && spec.nic.endpoint.is_none() {
        return bad("a receive buffer, or a rate at which a host receives, asks for hosts that take time");
    }
    if let Some(ReceiveBuffer { size, xoff, xon }) = spec.nic.receive_buffer
        && !(xon <= xoff && xoff <= size)
    {
        return bad("a receive buffer's xon, xoff and size are not in ascending order");
    }
    for (i, change) in spec.link_changes.iter().enumerate() {
        check_link_change(spec, change).map_err(|why| format!("change {i} of a link: {why}"))?;
        // Two changes of one property at the same time would leave its value open.
        let before = spec.link_changes[..i]
            .iter()
            .filter(|other| other.link == change.link);
        if let Some(what) = before.clone().find_map(|other| change.clash(other)) {
            let why = format!(
                "change {i} of a link sets the {what} of link {} while another does",
                change.link
            );
            return Err(why);
        }
    }
    for (i, change) in spec.host_changes.iter().enumerate() {
        let bad = |why: &str| Err(format!("change {i} of a host: {why}"));
        if spec.nodes.get(change.node.index()) != Some(&NodeKind::Host) {
            return bad("there is no such host");
        }
        if change.until.is_some_and(|until| until <= change.at) {
            return bad("it ends no later than it begins");
        }
        if change
            .compute
            .is_some_and(|factor| !(factor.is_finite() && factor > 0.0))
        {
            return bad("its factor is not above zero");
        }
        if change.receive_rate.is_some_and(|rate| rate.as_bps() == 0) {
            return bad("its rate is zero");
        }
        let before = spec.host_changes[..i]
            .iter()
            .filter(|other| other.node == change.node);
        if let Some(what) = before.clone().find_map(|other| change.clash(other)) {
            let why = format!(
                "change {i} of a host sets the {what} of node {} while another does",
                change.node.0
            );
            return Err(why);
        }
    }
    Ok(())
}

fn check_link_change(spec: &RunSpec, change: &LinkChange) -> Result<(), String> {
    if change.link >= spec.links.len() {
        return Err(format!(
            "it names link {}; links are 0 to {}",
            change.link,
            spec.links.len().saturating_sub(1)
        ));
    }
    if change.until.is_some_and(|until| until <= change.at) {
        return Err("it ends no later than it begins".into());
    }
    if change.rate.is_some_and(|rate| rate.as_bps() == 0) {
        return Err("its rate is zero".into());
    }
    if change.error_rate.is_some_and(|rate| !(0.0..=1.0).contains(&rate)) {
        return Err("its error rate is not a probability".into());
    }
    Ok(())
}

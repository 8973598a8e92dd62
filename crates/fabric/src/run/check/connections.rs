//! Checks of persistent connections.

use crate::run::check::BuildError;
use paceline_run::spec::{FlowSpec, Recovery, RunSpec};

/// Checks that the flows of a connection share all properties that their packets state about it, and that its sender
/// can number their packets.
pub(super) fn check_connections(spec: &RunSpec) -> Result<(), BuildError> {
    if spec.flows.iter().all(|flow| flow.connection.is_none()) {
        return Ok(());
    }
    check_hosts(spec)?;
    let most = match spec.nic.recovery {
        Recovery::SelectiveRepeat(_) | Recovery::Rud(_) => u64::from(u32::MAX / 2),
        Recovery::GoBackN => u64::MAX / 4 / spec.packet.mtu.get().max(1),
    };
    let mut first: Vec<Option<(usize, u64)>> = vec![None; spec.flows.len()];
    for (i, flow) in spec.flows.iter().enumerate() {
        let bad = |why: String| Err(BuildError::BadFlow { flow: i, why });
        let Some(number) = flow.connection else { continue };
        let Some(known) = first.get_mut(number.get() as usize - 1) else {
            return bad(format!(
                "it is of connection {number}; connections are numbered 1 to {} at most",
                spec.flows.len()
            ));
        };
        // Counted in packets, since each message takes whole ones.
        let (before, packets) = known.get_or_insert((i, 0));
        *packets = packets.saturating_add(flow.size.get().div_ceil(spec.packet.mtu.get().max(1)));
        if *packets > most {
            return bad(format!(
                "connection {number} carries more packets than its sender can number ({most})"
            ));
        }
        if let Some(what) = differs(flow, &spec.flows[*before]) {
            return bad(format!(
                "it goes over the connection of flow {before}, and {what}"
            ));
        }
    }
    Ok(())
}

/// Checks that hosts can have connections.
fn check_hosts(spec: &RunSpec) -> Result<(), BuildError> {
    let quirks = &spec.quirks;
    let others = [
        ("lazy-qp-removal", quirks.lazy_qp_removal),
        ("wakeup-suppression", quirks.wakeup_suppression),
        ("receiver-forgets", quirks.receiver_forgets),
        ("ack-threshold", quirks.ack_threshold),
        ("ignore-duplicates", quirks.ignore_duplicates),
        ("unsigned-in-flight", quirks.unsigned_in_flight),
        ("hpcc-divides-by-window", quirks.hpcc_divides_by_window),
    ];
    if let Some((name, _)) = others.iter().find(|(_, on)| *on) {
        return Err(BuildError::BadHost(format!(
            "persistent connections are not for hosts with the quirk {name}, which have a queue pair for each flow"
        )));
    }
    if let Some(model) = &spec.model {
        let why = format!(
            "persistent connections are not for hosts of {}, which have none",
            model.name()
        );
        return Err(BuildError::BadHost(why));
    }
    if spec.nic.back_to_chunk.is_some() {
        let why =
            "persistent connections number packets, and go-back-N is to go back to the start of a chunk";
        return Err(BuildError::BadHost(why.into()));
    }
    Ok(())
}

/// Returns the difference between a flow and the first of its connection, if there is one.
fn differs(flow: &FlowSpec, first: &FlowSpec) -> Option<&'static str> {
    let checks = [
        ((flow.src, flow.dst) == (first.src, first.dst), "has other hosts"),
        (
            (flow.sport, flow.dport) == (first.sport, first.dport),
            "has other ports",
        ),
        (flow.class == first.class, "has another priority"),
        (flow.scheme == first.scheme, "has another scheme"),
    ];
    let other = checks.into_iter().find(|(same, _)| !same);
    other.map(|(_, what)| what)
}

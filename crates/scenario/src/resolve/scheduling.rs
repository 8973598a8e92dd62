//! Conversion of `qp-scheduling` and `qp-quantum` to the NIC's choice of the next queue pair.

use paceline_fabric::spec::{PacketFormat, Scheduling};
use paceline_kernel::Bytes;

use crate::diagnostics::Problem;
use crate::schema::{self, FlowControlKind, SchedulingKind};

use super::Cx;
use super::fill::{fill_at, filled};

/// Default quantum: the few packets that a NIC fetches from a host's memory for one queue pair before the next.
const QUANTUM: Bytes = Bytes::new(16_000);

/// Returns the scheduling of all NICs.
pub(super) fn scheduling(
    cx: &Cx<'_>,
    n: &mut schema::Network,
    packet: &PacketFormat,
) -> Result<Scheduling, Problem> {
    let kind = filled!(n.qp_scheduling: Network);
    if *kind.get_ref() == SchedulingKind::RoundRobin {
        return Ok(Scheduling::RoundRobin);
    }
    let refuse = |message: String| {
        Err(Problem::new(message)
            .at(&cx.texts.of_value(&kind))
            .label("expected `round-robin`"))
    };
    if !cx.profile().is_exact {
        let fidelity = cx.fidelity.name();
        return refuse(format!(
            "in the fidelity `{fidelity}` queue pairs go as in that simulator"
        ));
    }
    if n.flow_control == Some(FlowControlKind::Credits) {
        return refuse("under credits the queue pairs of a lane are served round robin".into());
    }
    if *kind.get_ref() == SchedulingKind::MaxMin {
        return Ok(Scheduling::MaxMin);
    }
    let least = packet.largest();
    let quantum = fill_at(&mut n.qp_quantum, QUANTUM.max(least));
    if *quantum.get_ref() < least {
        let message = format!("a quantum of {} is less than a full packet", quantum.get_ref());
        return Err(Problem::new(message)
            .at(&cx.texts.of_value(&quantum))
            .label(format!("expected {least} at least, a payload and all headers")));
    }
    Ok(Scheduling::Quantum(*quantum.get_ref()))
}

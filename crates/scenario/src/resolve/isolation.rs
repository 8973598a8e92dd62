//! Isolation of flows that congest a port.

use paceline_fabric::spec::{FlowControl, Isolation};
use paceline_kernel::Bytes;

use super::Cx;
use super::fill::{fill, filled};
use super::numbers::check_within;
use crate::diagnostics::Problem;
use crate::schema::{self, MarkedQueues};

/// Returns the isolation of flows, if switches isolate any; `used` has the priorities of flows and acknowledgements.
pub(super) fn resolve(
    cx: &mut Cx<'_>,
    n: &mut schema::Network,
    flow_control: FlowControl,
    used: &[u8],
) -> Result<Option<Isolation>, Problem> {
    let Some(written) = n.isolation.as_mut() else {
        return Ok(None);
    };
    let detect = filled!(written.detect: Isolation);
    let Some(threshold) = detect.get_ref().0 else {
        return Ok(None);
    };
    let place = cx.texts.of_value(&detect);
    if !cx.profile().is_exact || flow_control == FlowControl::Credits {
        let message = "switches isolate flows in fidelity `exact`, without credits";
        return Err(Problem::new(message).at(&place));
    }
    let from = filled!(written.priority: Isolation);
    let to = filled!(written.isolated_priority: Isolation);
    for priority in [&from, &to] {
        check_within(cx, priority, "a priority", &(1..=7))?;
    }
    if from.get_ref() == to.get_ref() || used.contains(to.get_ref()) {
        let message = format!(
            "isolated packets would have priority {}, which others have",
            to.get_ref()
        );
        let free = (1..=7)
            .rev()
            .find(|priority| priority != from.get_ref() && !used.contains(priority));
        let help = free.map_or_else(
            || "all priorities are taken: isolation needs one of its own".into(),
            |free| format!("priority {free} is free: `network.isolation.isolated-priority = {free}`"),
        );
        return Err(Problem::new(message).at(&cx.texts.of_value(&to)).help(help));
    }
    if !used.contains(from.get_ref()) {
        let message = format!("no flow has priority {}, which is watched", from.get_ref());
        return Err(Problem::new(message).at(&cx.texts.of_value(&from)));
    }
    let flows = filled!(written.flows: Isolation);
    check_within(
        cx,
        &flows,
        "the number of flows that a switch can isolate",
        &(1..=1 << 24),
    )?;
    Ok(Some(Isolation {
        from: *from.get_ref(),
        to: *to.get_ref(),
        detect: threshold,
        tell: fill(&mut written.tell, threshold),
        release: fill(&mut written.release, Bytes::new(threshold.get() / 2)),
        hold: filled!(written.hold: Isolation),
        interval: filled!(written.interval: Isolation).into_inner(),
        flows: flows.into_inner(),
        marks_isolated: filled!(written.marks: Isolation) == MarkedQueues::Isolated,
    }))
}

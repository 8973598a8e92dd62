//! From `[record]` to what is recorded.

use paceline_fabric::spec::{Accounted, NodeId, RecordSpec};
use paceline_kernel::{Span, Time};

use crate::diagnostics::Problem;
use crate::schema::{self, Accounts, Fidelity, Nodes, OrOff};

use super::Cx;
use super::fill::{fill, fill_at, fill_value};

/// What to record, and whether to write traced packets as a capture file.
pub(super) fn resolve(
    cx: &mut Cx<'_>,
    record: &mut schema::Record,
    nodes: usize,
    flows: usize,
) -> Result<(RecordSpec, bool), Problem> {
    let from = fill_value(&mut record.queue_from, Time::ZERO);
    let to = fill_at(&mut record.queue_to, cx.stop);
    if from > *to.get_ref() {
        let message = format!(
            "queue sampling ends at {}, before it begins ({from})",
            to.get_ref()
        );
        return Err(Problem::new(message).at(&cx.texts.of_value(&to)));
    }
    let pcap = fill(&mut record.pcap, false);
    // A capture file without nodes to trace would be empty.
    let default = if pcap { Nodes::All } else { Nodes::List(Vec::new()) };
    let trace = fill_at(&mut record.trace, default);
    let trace_nodes = match trace.get_ref() {
        Nodes::All => (0..nodes as u32).map(NodeId).collect(),
        Nodes::List(list) => {
            if let Some(unknown) = list.iter().find(|&&node| node as usize >= nodes) {
                let message = format!(
                    "there is no node {unknown} to trace: nodes are 0 to {}",
                    nodes.max(1) - 1
                );
                return Err(Problem::new(message).at(&cx.texts.of_value(&trace)));
            }
            list.iter().copied().map(NodeId).collect()
        }
    };
    let spec = RecordSpec {
        queue_every: period(&mut record.queue, "queue")?,
        queue_window: (from, to.into_inner()),
        queue_dump_every: period(&mut record.queue_dump, "queue-dump")?,
        rate_every: period(&mut record.rates, "rates")?,
        trace_nodes,
        rtt_samples: fill(&mut record.rtt_samples, false),
        accounts: accounts(cx, record, flows)?,
    };
    Ok((spec, pcap))
}

/// Whose time to account for, of `flows` flows.
fn accounts(cx: &Cx<'_>, record: &mut schema::Record, flows: usize) -> Result<Accounted, Problem> {
    let default = match cx.fidelity {
        Fidelity::Exact => Accounts::Auto,
        Fidelity::Ns3Hpcc => Accounts::Off,
    };
    let written = fill_at(&mut record.accounts, default);
    if let Accounts::List(list) = written.get_ref()
        && let Some(unknown) = list.iter().find(|&&flow| flow as usize >= flows)
    {
        let message = match flows {
            0 => format!("there is no flow {unknown} to account for: there are no flows"),
            _ => format!(
                "there is no flow {unknown} to account for: flows are 0 to {}",
                flows - 1
            ),
        };
        return Err(Problem::new(message).at(&cx.texts.of_value(&written)));
    }
    Ok(written.get_ref().of(flows))
}

/// A period, which is not zero.
fn period(slot: &mut Option<OrOff<Span>>, key: &str) -> Result<Option<Span>, Problem> {
    match fill(slot, OrOff(None)).0 {
        Some(Span::ZERO) => {
            let help = "write \"off\" to record nothing";
            Err(Problem::new(format!("record.{key} is a period of zero")).help(help))
        }
        period => Ok(period),
    }
}

//! The flows that the topology view lists: the slowest of them, and some of the others.

use serde::Serialize;

use crate::report::data::RunData;
use crate::results::{FlowRow, FlowState};

/// The slowest flows that are listed.
const SLOWEST: usize = 1_000;
/// Of the others, so many, evenly spread from slow to fast.
const OTHERS: usize = 500;

/// Flows, slowest first.
#[derive(Debug, Serialize)]
pub(super) struct Listed {
    /// How many the run had.
    total: usize,
    /// Labels and schemes, which flows name by their places.
    names: Vec<String>,
    flows: Vec<Flow>,
}

#[derive(Debug, Serialize)]
struct Flow {
    id: u32,
    label: usize,
    scheme: usize,
    src: u32,
    dst: u32,
    size: u64,
    start_ps: u64,
    fct_ps: Option<u64>,
    slowdown: Option<f64>,
    status: FlowState,
}

/// The flows of a run to list.
pub(super) fn listed(run: &RunData) -> Listed {
    let mut names: Vec<String> = run
        .flows
        .iter()
        .flat_map(|flow| [&flow.label, &flow.scheme])
        .map(|name| name.to_string())
        .collect();
    names.sort_unstable();
    names.dedup();
    let place = |name: &str| names.partition_point(|other| other.as_str() < name);
    let flow = |row: &FlowRow<'_>| Flow {
        id: row.flow_id,
        label: place(&row.label),
        scheme: place(&row.scheme),
        src: row.src,
        dst: row.dst,
        size: row.size_bytes,
        start_ps: row.start_ps,
        fct_ps: row.fct_ps,
        slowdown: row.slowdown.map(|slowdown| (slowdown * 1e3).round() / 1e3),
        status: row.status,
    };
    Listed {
        total: run.flows.len(),
        flows: chosen(&run.flows).into_iter().map(flow).collect(),
        names,
    }
}

/// Flows that did not finish, longest under way first, then by falling slowdown: the first of them,
/// and an even choice of the rest.
fn chosen<'a, 'b>(flows: &'a [FlowRow<'b>]) -> Vec<&'a FlowRow<'b>> {
    let mut order: Vec<&FlowRow<'_>> = flows.iter().collect();
    order.sort_by(|a, b| {
        let slowdown = |flow: &FlowRow<'_>| flow.slowdown.unwrap_or(f64::INFINITY);
        slowdown(b)
            .total_cmp(&slowdown(a))
            .then(a.start_ps.cmp(&b.start_ps))
            .then(a.flow_id.cmp(&b.flow_id))
    });
    if order.len() > SLOWEST + OTHERS {
        let rest = order.split_off(SLOWEST);
        order.extend((0..OTHERS).map(|k| rest[k * (rest.len() - 1) / (OTHERS - 1)]));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_slowest_come_first_and_the_fastest_is_there() {
        let (input, outcome) = sample::incast();
        let mut run = RunData::new(&input, &sample::finished(&input, outcome));
        let ids: Vec<u32> = listed(&run).flows.iter().map(|flow| flow.id).collect();
        // Flow 2 did not finish; slowdowns of 0 and 1 are 2 and 1.
        assert_eq!(ids, [2, 0, 1]);
        let one = run.flows[0].clone();
        let flow = |k: u32| FlowRow {
            flow_id: k,
            slowdown: Some(1.0 + f64::from(k * 37 % 10_007)),
            ..one.clone()
        };
        run.flows = (0..10_007).map(flow).collect();
        let found = listed(&run);
        assert_eq!((found.total, found.flows.len()), (10_007, SLOWEST + OTHERS));
        let slowdowns: Vec<f64> = found.flows.iter().filter_map(|flow| flow.slowdown).collect();
        assert_eq!(
            (slowdowns[0], slowdowns[999], slowdowns[1000]),
            (10_007.0, 9_008.0, 9_007.0)
        );
        assert_eq!(slowdowns.last(), Some(&1.0));
        assert!(slowdowns.windows(2).all(|pair| pair[0] > pair[1]));
    }
}

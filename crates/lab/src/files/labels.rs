//! `labels.csv`: statistics of the flows of each label of each scheme.

use std::io::{self, Write};

use paceline_fabric::RunSpec;
use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;
use paceline_scenario::csv_cell;

use crate::results::{FlowRows, Group, Summary, labels_of};
use crate::text::natural_order;

/// Name of a column, and the function that reads its value.
type Column = (&'static str, fn(&Group) -> Option<f64>);

const COLUMNS: [Column; 21] = [
    ("flows", |of| Some(of.flows.total as f64)),
    ("completed", |of| Some(of.flows.completed as f64)),
    ("not_started", |of| Some(of.not_started as f64)),
    ("size_bytes", |of| Some(of.size_bytes as f64)),
    ("fct_slowdown_mean", |of| of.fct_slowdown.mean),
    ("fct_slowdown_p50", |of| of.fct_slowdown.p50),
    ("fct_slowdown_p95", |of| of.fct_slowdown.p95),
    ("fct_slowdown_p99", |of| of.fct_slowdown.p99),
    ("fct_slowdown_max", |of| of.fct_slowdown.max),
    ("fct_us_mean", |of| of.fct_us.mean),
    ("fct_us_p50", |of| of.fct_us.p50),
    ("fct_us_p95", |of| of.fct_us.p95),
    ("fct_us_p99", |of| of.fct_us.p99),
    ("fct_us_max", |of| of.fct_us.max),
    ("rate_while_active_gbps", |of| of.rate_while_active_gbps),
    ("jain", |of| of.jain),
    ("retransmitted_bytes", |of| Some(of.retransmitted_bytes as f64)),
    ("unscheduled_bytes", |of| {
        of.unscheduled.map(|unscheduled| unscheduled.bytes as f64)
    }),
    ("ce_packets", |of| Some(of.marks.ce_packets as f64)),
    ("ue_packets", |of| Some(of.marks.ue_packets as f64)),
    ("ce_flows", |of| Some(of.marks.ce_flows as f64)),
];

/// Writes a row per label, in natural order. Groups are taken from the summary if it has all labels, and computed from
/// the flows otherwise.
pub(super) fn write(
    out: &mut impl Write,
    spec: &RunSpec,
    summary: &Summary,
    flows: &FlowRows,
) -> io::Result<()> {
    let of_summary = |group: &Group| group.labels.clone();
    let groups = &summary.schemes;
    let labels: SortedMap<_, _> = match groups.values().all(|group| group.more_labels == 0) {
        true => (groups
            .iter()
            .map(|(scheme, group)| (scheme.clone(), of_summary(group))))
        .collect(),
        false => labels_of(spec, flows),
    };
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(
        ["scheme", "label"]
            .into_iter()
            .chain(COLUMNS.map(|(name, _)| name)),
    )?;
    for (scheme, labels) in labels {
        let mut labels: Vec<_> = labels.into_iter().collect();
        labels.order_by(|a, b| natural_order(&a.0, &b.0));
        for (label, group) in labels {
            let names = [&scheme, &label].map(|name| csv_cell(name).into_owned());
            let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
            let numbers = COLUMNS.iter().map(|(_, of)| number(of(&group)));
            csv.write_record(names.into_iter().chain(numbers))?;
        }
    }
    csv.flush()
}

//! Slowest flows of a run on its page, each with the command that explains it.

use serde::Serialize;

use paceline_lab::files::RunData;
use paceline_lab::text::{duration_us, number, short_bytes};
use paceline_lab::why::slowest;

/// Number of flows listed.
const LISTED: usize = 10;

/// Slow flow in the list.
#[derive(Serialize)]
pub(super) struct Row {
    flow: u32,
    ends: String,
    size: String,
    took: String,
    slowdown: String,
    /// Cause of most of its time; empty if the run did not account for it.
    main: String,
    /// Port at which its packets waited longest.
    port: String,
}

pub(super) fn rows(run: &RunData) -> Vec<Row> {
    slowest(run.flows.firsts(), run.tables.rows(), LISTED, "RUN", &run.names)
        .into_iter()
        .map(|slow| Row {
            flow: slow.flow.flow_id,
            ends: format!("{} → {}", slow.flow.src, slow.flow.dst),
            size: short_bytes(slow.flow.size_bytes),
            took: match slow.flow.fct_ps {
                Some(ps) => duration_us(Some(ps as f64 / 1e6)),
                None => "unfinished".into(),
            },
            slowdown: number(slow.flow.slowdown),
            main: slow.main.as_ref().map_or_else(String::new, |main| {
                format!("{:.0} % {}", 100.0 * main.share, main.words())
            }),
            port: slow.main.map_or_else(String::new, |main| main.at),
        })
        .collect()
}

//! Times to the first token, and of transfers of caches, of the requests of services.

use std::borrow::Cow;

use super::per_flow::{Curve, Distributed, cdf};
use super::{Chart, Named};
use crate::palette::COLORS;
use paceline_lab::results::RequestRow;
use paceline_lab::stats::Samples;

/// Time of a request in ps, if it has one.
type OfRequest = fn(&RequestRow) -> Option<u64>;

/// Returns the charts of services; none without services.
pub(super) fn services(runs: &[Named<'_>]) -> Vec<Chart> {
    let first_token = Distributed {
        title: "Time to the first token",
        note: "Cumulative share of the requests that got a token.",
        time: "time to first token",
        of: "requests",
    };
    let cache = Distributed {
        title: "Transfers of caches",
        note: "Cumulative share of the requests whose cache has arrived.",
        time: "transfer of a cache",
        of: "requests",
    };
    let all: [(Distributed, OfRequest); 2] = [
        (first_token, |row| row.first_token_ps?.checked_sub(row.arrival_ps)),
        (cache, |row| row.kv_end_ps?.checked_sub(row.kv_start_ps?)),
    ];
    let charts = all
        .iter()
        .filter_map(|(what, of)| cdf(runs, curves(runs, *of), what));
    charts.collect()
}

/// Returns a curve for each service of each run.
fn curves<'a>(runs: &[Named<'a>], of: OfRequest) -> Vec<Curve<'a>> {
    let mut all = Vec::new();
    for run in runs {
        for (index, service) in run.data.summary.services.iter().enumerate() {
            let rows = run.data.tables.rows::<RequestRow>();
            let own = rows.iter().filter(|row| row.service == service.label);
            let times: Samples = own.filter_map(of).map(|ps| (ps as f64, 1)).collect();
            let name: Cow<'a, str> = match runs.len() {
                1 => Cow::Borrowed(&service.label),
                _ if run.data.summary.services.len() == 1 => run.name.to_string().into(),
                _ => format!("{}: {}", run.name, service.label).into(),
            };
            let color = if runs.len() == 1 {
                run.color + index
            } else {
                run.color
            };
            all.push((name, color % COLORS, run.dash, times.ascending()));
        }
    }
    all.retain(|(.., times)| times.count() > 1);
    all
}

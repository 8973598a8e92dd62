//! Conversion of data to charts: plain descriptions that the page draws.

mod chart;
mod iterations;
mod limits;
mod over_seeds;
mod over_time;
mod per_flow;
mod services;

pub(crate) use chart::unit_of_time;
pub use chart::{Axis, Chart, ChartKind, Line, Source, Width};
pub(super) use chart::{Named, round};
pub(crate) use iterations::iterations;
pub(crate) use limits::limit;
pub(super) use over_seeds::{Seeds, over_seeds};
pub(crate) use over_time::{Clock, credits, pauses, queues, rates_in_one, states};
pub(crate) use per_flow::{QUANTILES, size_groups};

/// Largest size of all tracks on a page, in characters.
const TEXT_MAX: usize = 2 << 20;

/// Packs all tracks of a page. If they are too large together, the longest get wider bins.
pub fn pack_tracks<'a>(charts: impl IntoIterator<Item = &'a mut Chart>) {
    pack(charts, TEXT_MAX);
}

/// Packs all tracks. As long as they take more than `most` characters, the longest get wider bins.
fn pack<'a>(charts: impl IntoIterator<Item = &'a mut Chart>, most: usize) {
    let lines = charts.into_iter().flat_map(|chart| &mut chart.lines);
    let mut lines: Vec<&mut Line> = lines.filter(|line| line.source.is_some()).collect();
    lines.iter_mut().for_each(|line| line.pack());
    let size = |line: &&mut Line| line.track.as_ref().map_or(0, |track| track.data.len());
    while lines.iter().map(size).sum::<usize>() > most {
        let longest = lines.iter().map(size).max().unwrap_or(0);
        for line in lines.iter_mut().filter(|line| 2 * size(line) > longest) {
            if let Some(source) = &mut line.source {
                source.track = source.track.wider();
            }
            line.pack();
        }
    }
}

/// Largest number of runs for which each gets a small chart of the queue.
const SIDE_BY_SIDE_MAX: usize = 12;

/// Returns every chart that the runs have data for.
pub(super) fn charts(runs: &[Named<'_>]) -> Vec<Chart> {
    // Where a run has jobs, their iterations are its result.
    let has_jobs = runs.iter().any(|run| !run.data.summary.jobs.is_empty());
    let clock = Clock::of(runs);
    let mut charts: Vec<Chart> = match has_jobs {
        true => iterations::iterations(runs, &clock).into_iter().collect(),
        false => Vec::new(),
    };
    charts.extend(services::services(runs));
    charts.extend(per_flow::slowdown_by_size(runs));
    charts.extend(per_flow::fct_cdf(runs));
    charts.extend(over_time_with(runs, charts.len(), !has_jobs));
    fill_rows(&mut charts);
    charts
}

/// Returns the charts over time; the first of them is chart `first` of the page.
pub(super) fn over_time_of(runs: &[Named<'_>], first: usize) -> Vec<Chart> {
    over_time_with(runs, first, true)
}

fn over_time_with(runs: &[Named<'_>], first: usize, iterations: bool) -> Vec<Chart> {
    let mut charts = over_time(runs, first, iterations);
    fill_rows(&mut charts);
    pack_tracks(&mut charts);
    charts
}

fn over_time(runs: &[Named<'_>], first: usize, iterations: bool) -> Vec<Chart> {
    let clock = Clock::of(runs);
    let mut charts = Vec::new();
    let queues = over_time::queues(runs, &clock);
    // Two lines hardly hide each other, and too many small charts would fill the page.
    let several = queues
        .as_ref()
        .filter(|chart| (3..=SIDE_BY_SIDE_MAX).contains(&chart.lines.len()));
    let index = first + charts.len();
    let alone = several
        .filter(|_| runs.len() > 1)
        .map(|chart| over_time::side_by_side(chart, index, &clock));
    charts.extend(queues);
    charts.extend(alone.into_iter().flatten());
    charts.extend(over_time::states(runs, &clock));
    charts.extend(over_time::credits(runs, &clock));
    charts.extend(over_time::rates(runs, &clock));
    charts.extend(iterations.then(|| iterations::iterations(runs, &clock)).flatten());
    charts.extend(over_time::pauses(runs, &clock));
    charts.extend(limits::limits(runs, &clock));
    charts
}

/// Widens single charts of half width, so that none has an empty space next to it.
fn fill_rows(charts: &mut [Chart]) {
    for halves in charts
        .chunk_by_mut(|a, b| a.width == b.width)
        .filter(|part| part[0].width == Width::Half)
    {
        if halves.len() % 2 == 1 {
            halves[halves.len() - 1].width = Width::Full;
        }
    }
}

#[cfg(test)]
mod tests;

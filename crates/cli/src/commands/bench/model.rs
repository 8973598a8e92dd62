//! `paceline bench --model`: the cost of a partitioned run by component, and its predicted time with a processor per
//! part.
//!
//! Counts are exact and depend on the workload alone. Times are measured on this machine: per event on one thread,
//! per packet that crosses between parts (all parts in turn on one thread, so no idle processor is needed), and per
//! nearly empty window on as many threads as there are processors.

use paceline_fabric::WindowCounts;
use paceline_kernel::Span;
use paceline_scenario::{Overrides, Resolved};
use serde::Serialize;

use super::{BenchArgs, Measured, Split, Workload, check_digests, chosen, measure_in_process, name};
use crate::failure::{Done, Ended, Failure};
use crate::{output, text};

/// Default workloads: large networks with many events at a time.
const LARGE: [&str; 2] = ["fat320-hadoop30-2ms", "permutation-k16"];
/// Default numbers of parts.
const PARTS: [usize; 4] = [2, 4, 16, 64];

/// Name of the workload with nearly empty windows.
pub(super) const EMPTY_WINDOWS: &str = "empty-windows";

/// Builds that workload: one slow flow between the first two of many leaves.
pub(super) fn empty_windows(leaves: usize) -> Result<Resolved, Failure> {
    let text = format!(
        "name = \"{EMPTY_WINDOWS}\"\nduration = \"1s\"\n\
         [topology.leaf-spine]\nleaves = {leaves}\nspines = 1\nhosts-per-leaf = 1\nrate = \"1Gbps\"\ndelay = \"1us\"\n\
         [[workload]]\nincast = {{ senders = [0], receiver = 1, size = \"2MB\" }}\n\
         [cc]\nscheme = \"none\"\n\
         [record]\nports = \"off\"\nrates = \"off\"\nqueue = \"off\"\nflows = \"off\"\naccounts = \"off\"\n"
    );
    Ok(paceline_scenario::load_text(
        EMPTY_WINDOWS,
        &text,
        &Overrides::default(),
    )?)
}

/// Synchronisation cost by number of threads, measured with a processor per thread.
#[derive(Debug, Serialize)]
struct Waiting {
    /// Seconds per window on two, three and more threads.
    measured_s: Vec<f64>,
    /// Additional seconds per window for each further thread, extrapolated.
    per_thread_s: f64,
}

impl Waiting {
    fn measure(args: &BenchArgs, runs: u32) -> Result<Self, Failure> {
        let least = |split: Split| -> Result<(f64, u64), Failure> {
            let mut best = (f64::INFINITY, 0);
            // The least of at least three runs: other load of the machine only adds time.
            for _ in 0..runs.max(3) {
                let one = measure_in_process(EMPTY_WINDOWS, None, args, split)?;
                best = (
                    best.0.min(one.run_s),
                    one.windows.map_or(0, |counts| counts.windows),
                );
            }
            Ok(best)
        };
        let mut measured_s = Vec::new();
        for threads in 2..=paceline_lab::run::cores() {
            // The same parts on one thread: their work is not part of the waiting time.
            let alone = least(Split {
                parts: threads,
                threads: Some(1),
            })?;
            let (s, windows) = least(Split::of(threads))?;
            // Noise may turn the difference negative.
            measured_s.push((s - alone.0).max(0.0) / windows.max(1) as f64);
        }
        let steps = measured_s.len().saturating_sub(1);
        let rise = measured_s.last().zip(measured_s.first());
        let per_thread_s = match rise {
            Some((last, first)) if steps > 0 => (last - first).max(0.0) / steps as f64,
            Some((last, _)) => *last,
            None => 0.0,
        };
        Ok(Self {
            measured_s,
            per_thread_s,
        })
    }

    /// Returns the waiting time for a number of threads: measured, or extrapolated linearly.
    fn of(&self, threads: usize) -> f64 {
        let Some(last) = self.measured_s.last() else {
            return 0.0;
        };
        let index = threads.saturating_sub(2);
        let beyond = (index + 1).saturating_sub(self.measured_s.len());
        let measured = self.measured_s.get(index).unwrap_or(last);
        measured + beyond as f64 * self.per_thread_s
    }
}

/// A row of the table: one workload in a number of parts.
#[derive(Debug, Serialize)]
struct Row {
    workload: String,
    packet_hops: u64,
    parts: usize,
    counts: WindowCounts,
    /// Processor time on one thread, s: of the whole process, and of building alone.
    one_thread_s: f64,
    building_s: f64,
    /// Cost of a packet that crosses between parts, and of an event, s.
    crossing_s: f64,
    event_s: f64,
    /// Waiting time per window, s.
    waiting_s: f64,
    /// Predicted time with a processor per part, s.
    predicted_s: f64,
    /// Predicted times of ranks on different machines, s, for each latency that was asked for.
    ranks_s: Vec<f64>,
}

/// Counts, measures and predicts all chosen workloads, and prints a table.
pub(super) fn bench(args: &BenchArgs, runs: u32) -> Ended {
    let large = LARGE.map(str::to_string);
    let only = match args.only.is_empty() {
        true => &large[..],
        false => &args.only,
    };
    let asked = match args.threads {
        Some(parts) => vec![parts as usize],
        None => PARTS.to_vec(),
    };
    let workloads = chosen(only)?;
    let waiting = Waiting::measure(args, runs)?;
    let mut rows: Vec<Row> = Vec::new();
    for workload in workloads {
        let one = measured(workload, args, runs, Split::of(1))?;
        for &parts in &asked {
            // On one thread the cost of cutting is measured without any waiting.
            let split = Split {
                parts,
                threads: Some(1),
            };
            let cut = measured(workload, args, runs, split)?;
            check_digests(workload, one.iter().chain(&cut))?;
            rows.extend(row(name(workload, args), &one, &cut, &waiting, &args.latency));
        }
    }
    if args.say.json {
        output::print_json(&rows)?;
    } else {
        output::print(&table(&rows, &args.latency))?;
        output::print(&said(&waiting))?;
    }
    Ok(Done::All)
}

fn measured(
    workload: &Workload,
    args: &BenchArgs,
    runs: u32,
    split: Split,
) -> Result<Vec<Measured>, Failure> {
    let one = |run| {
        if !args.say.quiet {
            say!("{} in {} parts ({run} of {runs})", workload.name, split.parts);
        }
        measure_in_process(workload.name, Some(workload), args, split)
    };
    (1..=runs).map(one).collect()
}

/// Returns the row of a workload, or `None` if it cannot be partitioned. All ranks send a message in each window, at the
/// same time, so a window takes as long as one message more.
fn row(
    workload: &str,
    one: &[Measured],
    cut: &[Measured],
    waiting: &Waiting,
    latencies: &[Span],
) -> Option<Row> {
    let counts = cut[0].windows?;
    // The minimum is the cost of the work; anything above it is other load of the machine.
    let least =
        |runs: &[Measured], of: fn(&Measured) -> f64| runs.iter().map(of).fold(f64::INFINITY, f64::min);
    let run = |measured: &Measured| measured.cpu_s - measured.building_s;
    let (alone, in_turn) = (least(one, run), least(cut, run));
    let building_s = least(cut, |measured| measured.building_s);
    let parts = cut[0].parts;
    let event_s = alone / one[0].events.max(1) as f64;
    let crossing_s = (in_turn - alone).max(0.0) / counts.crossed.max(1) as f64;
    let waiting_s = waiting.of(parts);
    let work_s =
        building_s + counts.busiest as f64 * event_s + counts.crossed as f64 / parts as f64 * crossing_s;
    let with = |wait_s: f64| work_s + counts.windows as f64 * wait_s;
    Some(Row {
        workload: workload.to_string(),
        packet_hops: one[0].packet_hops,
        parts,
        counts,
        one_thread_s: least(one, |measured| measured.cpu_s),
        building_s,
        crossing_s,
        event_s,
        waiting_s,
        predicted_s: with(waiting_s),
        ranks_s: latencies
            .iter()
            .map(|latency| with(latency.as_secs_f64()))
            .collect(),
    })
}

fn table(rows: &[Row], latencies: &[Span]) -> String {
    let mut head = [
        "workload",
        "parts",
        "windows",
        "events each",
        "largest part",
        "busiest",
        "hops that cross",
        "ns an event",
        "ns to cross",
        "1 thread s",
        "building s",
        "predicted s",
        "times as fast",
    ]
    .map(str::to_string)
    .to_vec();
    head.extend(latencies.iter().map(|latency| format!("ranks {latency} apart s")));
    let cells = |row: &Row| {
        let counts = &row.counts;
        let share = |part: u64, of: u64| format!("{:.1}%", 100.0 * part as f64 / of.max(1) as f64);
        let mut cells = vec![
            row.workload.clone(),
            row.parts.to_string(),
            counts.windows.to_string(),
            (counts.events / counts.windows.max(1)).to_string(),
            share(counts.largest_part, counts.events),
            share(counts.busiest, counts.events),
            share(counts.crossed, row.packet_hops),
            format!("{:.0}", row.event_s * 1e9),
            format!("{:.0}", row.crossing_s * 1e9),
            format!("{:.2}", row.one_thread_s),
            format!("{:.2}", row.building_s),
            format!("{:.2}", row.predicted_s),
            format!("{:.1}", row.one_thread_s / row.predicted_s),
        ];
        cells.extend(row.ranks_s.iter().map(|s| format!("{s:.2}")));
        cells
    };
    let rows: Vec<_> = std::iter::once(head).chain(rows.iter().map(cells)).collect();
    text::table(&rows)
}

fn said(waiting: &Waiting) -> String {
    let each = waiting.measured_s.iter().zip(2..);
    let each: Vec<String> = each
        .map(|(s, threads)| format!("{:.2} µs on {threads} threads", s * 1e6))
        .collect();
    if each.is_empty() {
        return "there is one processor: what waiting takes is not known\n".to_string();
    }
    format!(
        "waiting in a window: {}; taken to grow by {:.2} µs with each further thread\n",
        each.join(", "),
        waiting.per_thread_s * 1e6
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_beyond_what_was_measured_grows_in_a_line() {
        let waiting = Waiting {
            measured_s: vec![1.0, 2.0, 3.5],
            per_thread_s: 1.25,
        };
        let of = [2, 3, 4, 5, 16].map(|threads| waiting.of(threads));
        assert_eq!(of, [1.0, 2.0, 3.5, 4.75, 18.5]);
    }
}

//! `paceline bench --threads N`: speed-up by partitioned runs on this machine.

use serde::Serialize;

use super::{BenchArgs, Measured, Split, Workload, check_digests, chosen, measure_in_process, name};
use crate::failure::{Done, Ended, Failure};
use crate::{output, text};

/// Default workloads: large networks with many events at a time, which threads are for.
const LARGE: [&str; 2] = ["fat320-hadoop30-2ms", "permutation-k16"];

/// A row of the table: one workload on one thread and on several.
#[derive(Debug, Serialize)]
struct Row {
    workload: String,
    runs: usize,
    packet_hops: u64,
    /// Number of parts, each on a thread.
    parts: usize,
    one_thread: Elapsed,
    threads: Elapsed,
    /// Ratio of the median elapsed times.
    speedup: f64,
}

/// Elapsed times of repeated runs, s.
#[derive(Clone, Copy, Debug, Serialize)]
struct Elapsed {
    median: f64,
    min: f64,
    max: f64,
}

/// Measures all chosen workloads on one thread and on `threads`, and prints a table.
pub(super) fn bench(args: &BenchArgs, runs: u32, threads: usize) -> Ended {
    let large = LARGE.map(str::to_string);
    let only = if args.only.is_empty() {
        &large[..]
    } else {
        &args.only
    };
    let mut rows = Vec::new();
    for workload in chosen(only)? {
        let (mut one, mut several) = (Vec::new(), Vec::new());
        // Alternating, so that other load of the machine affects both.
        for run in 1..=runs {
            if !args.say.quiet {
                say!("{} ({run} of {runs})", workload.name);
            }
            let measure = |split| measure_in_process(workload.name, Some(workload), args, split);
            one.push(measure(Split::of(1))?);
            several.push(measure(Split::of(threads))?);
        }
        rows.push(row(workload, args, &one, &several)?);
    }
    if args.say.json {
        output::print_json(&rows)?;
    } else {
        output::print(&table(&rows, threads))?;
    }
    Ok(Done::All)
}

fn row(
    workload: &Workload,
    args: &BenchArgs,
    one: &[Measured],
    several: &[Measured],
) -> Result<Row, Failure> {
    check_digests(workload, one.iter().chain(several))?;
    let (alone, cut) = (Elapsed::of(one), Elapsed::of(several));
    Ok(Row {
        workload: name(workload, args).to_string(),
        runs: one.len(),
        packet_hops: one[0].packet_hops,
        parts: several[0].parts,
        one_thread: alone,
        threads: cut,
        speedup: alone.median / cut.median.max(f64::MIN_POSITIVE),
    })
}

impl Elapsed {
    /// Computes the statistics of at least one run.
    fn of(measured: &[Measured]) -> Self {
        let mut seconds: Vec<f64> = measured.iter().map(|one| one.wall_s).collect();
        seconds.sort_by(f64::total_cmp);
        Self {
            median: seconds[seconds.len() / 2],
            min: seconds[0],
            max: seconds[seconds.len() - 1],
        }
    }
}

fn table(rows: &[Row], threads: usize) -> String {
    let head = [
        "workload",
        "packet-hops",
        "parts",
        "1 thread s",
        "(min, max)",
        &format!("{threads} threads s"),
        "(min, max)",
        "speedup",
    ];
    let cells = |row: &Row| {
        let range = |elapsed: Elapsed| format!("({:.3}, {:.3})", elapsed.min, elapsed.max);
        vec![
            row.workload.clone(),
            row.packet_hops.to_string(),
            row.parts.to_string(),
            format!("{:.3}", row.one_thread.median),
            range(row.one_thread),
            format!("{:.3}", row.threads.median),
            range(row.threads),
            format!("{:.2}", row.speedup),
        ]
    };
    let head = head.map(str::to_string).to_vec();
    let rows: Vec<_> = std::iter::once(head).chain(rows.iter().map(cells)).collect();
    text::table(&rows)
}

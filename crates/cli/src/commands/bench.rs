//! `paceline bench`: speed of the simulator on this machine.
//!
//! Each measurement runs in a separate process (this program, with a hidden command), so that processor time and
//! memory are those of the workload alone.

use std::process::{Command, Stdio};
use std::time::Instant;

use clap::Args;
use paceline_fabric::WindowCounts;
use paceline_kernel::order::Sort as _;
use paceline_kernel::{Span, memory};
use paceline_scenario::{Overrides, Resolved};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::args::SayArgs;
use crate::failure::{Done, Ended, Failure};
use crate::{output, text};

mod decisions;
mod model;
mod scale;
mod threads;
mod workloads;

use workloads::{Peer, WORKLOADS, Workload};

#[derive(Debug, Args)]
pub(super) struct BenchArgs {
    /// Number of runs per workload; the median is reported [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: Option<u32>,
    /// Run smaller workloads, once each [unless --runs is given]
    #[arg(long)]
    quick: bool,
    /// Run only these workloads, by number or name
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    only: Vec<String>,
    /// Measure this scenario or config.txt instead of fat320-hadoop30-2ms
    #[arg(long, value_name = "INPUT")]
    input: Option<String>,
    /// Measure the speed-up with N threads [default workloads: fat320-hadoop30-2ms, permutation-k16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    threads: Option<u32>,
    /// Predict the speed-up with 2, 4, 16 and 64 partitions [or --threads], with window and balance statistics
    #[arg(long)]
    model: bool,
    /// With --model: predict ranks on different machines, for these times that a message takes [try 2us,20us,100us]
    #[arg(long, value_name = "TIME,..", value_delimiter = ',', requires = "model")]
    latency: Vec<Span>,
    /// Measure time and memory by number of flows and hosts; --quick omits the largest
    #[arg(long, conflicts_with_all = ["threads", "model", "only", "input", "runs"])]
    scale: bool,
    #[command(flatten)]
    say: SayArgs,
}

#[derive(Debug, Args)]
pub(super) struct BenchWorkloadArgs {
    name: String,
    #[arg(long)]
    quick: bool,
    #[arg(long)]
    input: Option<String>,
    #[arg(long, default_value_t = 1)]
    parts: usize,
    #[arg(long)]
    threads: Option<usize>,
    #[arg(long)]
    scale: bool,
}

/// Partitioning of a measured run: number of parts, and of threads (one per core if `None`).
#[derive(Clone, Copy, Debug)]
struct Split {
    parts: usize,
    threads: Option<usize>,
}

impl Split {
    const fn of(parts: usize) -> Self {
        Self { parts, threads: None }
    }
}

const RUNS: u32 = 5;
/// Number of events between two checks for interruption.
const SLICE: u64 = 1 << 20;

/// Measurements of one process.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Measured {
    packet_hops: u64,
    /// Hops of data packets alone, without acknowledgements and flow control, which carry no payload.
    data_hops: u64,
    events: u64,
    /// Number of decisions made outside the run, for workloads with an external agent.
    decisions: Option<u64>,
    /// User and system time of the process's first thread for reading, building and running, s.
    cpu_s: f64,
    /// Elapsed time for the same, s.
    wall_s: f64,
    /// Part of `cpu_s` for reading and building.
    building_s: f64,
    /// Part of `wall_s` for running.
    run_s: f64,
    /// Number of parts, and statistics of their windows.
    parts: usize,
    windows: Option<WindowCounts>,
    peak_rss_bytes: u64,
    digest: String,
}

/// A row of the table: one workload.
#[derive(Debug, Serialize)]
struct Row {
    workload: String,
    runs: usize,
    packet_hops: u64,
    data_hops: u64,
    events: u64,
    events_per_hop: Option<f64>,
    /// Median, minimum and maximum of the processor time, s.
    cpu_s: f64,
    cpu_s_min: f64,
    cpu_s_max: f64,
    packet_hops_per_s: f64,
    data_hops_per_s: f64,
    events_per_s: f64,
    peak_rss_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    decisions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decisions_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<Peer>,
}

/// Measures all chosen workloads and prints a table.
pub(super) fn bench(args: &BenchArgs) -> Ended {
    if args.scale {
        return scale::bench(args);
    }
    let runs = args.runs.unwrap_or(if args.quick { 1 } else { RUNS });
    if args.model {
        return model::bench(args, runs);
    }
    if let Some(threads) = args.threads {
        return threads::bench(args, runs, threads as usize);
    }
    let mut rows = Vec::new();
    for workload in chosen(&args.only)? {
        let mut measured = Vec::new();
        for run in 1..=runs {
            if !args.say.quiet {
                say!("{} ({run} of {runs})", workload.name);
            }
            measured.push(measure_in_process(
                workload.name,
                Some(workload),
                args,
                Split::of(1),
            )?);
        }
        rows.push(row(workload, args, &mut measured)?);
    }
    if args.say.json {
        output::print_json(&rows)?;
    } else {
        output::print(&format!("{}{}", table(&rows), peers(&rows)))?;
    }
    Ok(Done::All)
}

/// Describes the published costs of other simulators' workloads, and differences to ours.
fn peers(rows: &[Row]) -> String {
    let peers = rows.iter().filter_map(|row| row.peer.map(|peer| (row, peer)));
    peers
        .map(|(row, peer)| {
            format!(
                "\n{}: {}\n  there: {}\n  differs: {}\n",
                row.workload, peer.name, peer.cost, peer.differs
            )
        })
        .collect()
}

fn chosen(only: &[String]) -> Result<Vec<&'static Workload>, Failure> {
    let find = |name: &String| {
        // Numbers count from 1; 0 wraps to an index that no workload has.
        let number = name
            .parse::<usize>()
            .ok()
            .and_then(|n| WORKLOADS.get(n.wrapping_sub(1)));
        let named = || WORKLOADS.iter().find(|workload| workload.name == name);
        number.or_else(named).ok_or_else(|| {
            let names = WORKLOADS.iter().map(|workload| workload.name);
            Failure::arguments(format!(
                "--only: there is no workload `{name}`: {}",
                crate::text::among_many(name, names)
            ))
        })
    };
    if only.is_empty() {
        return Ok(WORKLOADS.iter().filter(|workload| !workload.long).collect());
    }
    only.iter().map(find).collect()
}

fn measure_in_process(
    name: &str,
    workload: Option<&Workload>,
    args: &BenchArgs,
    split: Split,
) -> Result<Measured, Failure> {
    let parts = split.parts.to_string();
    let threads = split.threads.map(|threads| threads.to_string());
    let mut arguments = vec!["bench-workload", name, "--parts", &parts];
    if let Some(threads) = &threads {
        arguments.extend(["--threads", threads]);
    }
    if args.quick {
        arguments.push("--quick");
    }
    let replaceable = workload.is_some_and(|workload| workload.replaceable);
    if let Some(input) = args.input.as_ref().filter(|_| replaceable) {
        arguments.extend(["--input", input]);
    }
    measure_by(&arguments, name)
}

/// Runs this program with these arguments and parses its output, to measure `name`.
fn measure_by<T: DeserializeOwned>(arguments: &[&str], name: &str) -> Result<T, Failure> {
    let failed = |what: &dyn std::fmt::Display| Failure::run(format!("measuring {name}: {what}"));
    // A process of its own, since peak memory and the allocator's state would carry over to the next workload.
    let program = std::env::current_exe().map_err(|error| failed(&error))?;
    let output = Command::new(program)
        .args((!memory::wants_huge_pages()).then_some("--no-huge-pages"))
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| failed(&error))?;
    if !output.status.success() {
        return Err(match output.status.code() {
            Some(2) => Failure::arguments(format!("measuring {name}: the input is wrong")),
            _ => failed(&output.status),
        });
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(&error))
}

fn row(workload: &Workload, args: &BenchArgs, measured: &mut [Measured]) -> Result<Row, Failure> {
    // Times compare only if the runs had the same events.
    check_digests(workload, measured.iter())?;
    // For the median, which one disturbed run does not move.
    measured.order_by(|a, b| a.cpu_s.total_cmp(&b.cpu_s));
    let middle = &measured[measured.len() / 2];
    let per_s = |count: u64| {
        if middle.cpu_s > 0.0 {
            count as f64 / middle.cpu_s
        } else {
            0.0
        }
    };
    Ok(Row {
        workload: name(workload, args).to_string(),
        runs: measured.len(),
        packet_hops: middle.packet_hops,
        data_hops: middle.data_hops,
        events: middle.events,
        events_per_hop: (middle.packet_hops > 0).then(|| middle.events as f64 / middle.packet_hops as f64),
        cpu_s: middle.cpu_s,
        cpu_s_min: measured[0].cpu_s,
        cpu_s_max: measured[measured.len() - 1].cpu_s,
        packet_hops_per_s: per_s(middle.packet_hops),
        data_hops_per_s: per_s(middle.data_hops),
        events_per_s: per_s(middle.events),
        peak_rss_bytes: middle.peak_rss_bytes,
        decisions: middle.decisions,
        decisions_per_s: middle.decisions.map(per_s),
        peer: workload.peer,
    })
}

/// Checks that all runs of a workload have the same digest.
fn check_digests<'a>(
    workload: &Workload,
    mut measured: impl Iterator<Item = &'a Measured>,
) -> Result<(), Failure> {
    let Some(first) = measured.next() else {
        return Ok(());
    };
    match measured.find(|other| other.digest != first.digest) {
        None => Ok(()),
        Some(other) => Err(Failure::run(format!(
            "{}: two runs are different (digests {} and {}): please report this",
            workload.name, first.digest, other.digest
        ))),
    }
}

/// Returns the name of the workload, or of the input that replaces it.
fn name<'a>(workload: &'a Workload, args: &'a BenchArgs) -> &'a str {
    let own = args.input.as_ref().filter(|_| workload.replaceable);
    own.map_or(workload.name, String::as_str)
}

fn table(rows: &[Row]) -> String {
    let head = [
        "workload",
        "packet-hops",
        "events",
        "per hop",
        "CPU s",
        "(min, max)",
        "M hops/s",
        "of data",
        "M events/s",
        "peak MB",
    ];
    let decided = rows.iter().any(|row| row.decisions.is_some());
    let cells = |row: &Row| {
        let mut cells = vec![
            row.workload.clone(),
            row.packet_hops.to_string(),
            row.events.to_string(),
            row.events_per_hop
                .map_or_else(|| "-".to_string(), |ratio| format!("{ratio:.2}")),
            format!("{:.3}", row.cpu_s),
            format!("({:.3}, {:.3})", row.cpu_s_min, row.cpu_s_max),
            format!("{:.2}", row.packet_hops_per_s / 1e6),
            format!("{:.2}", row.data_hops_per_s / 1e6),
            format!("{:.2}", row.events_per_s / 1e6),
            format!("{:.0}", row.peak_rss_bytes as f64 / 1e6),
        ];
        cells.extend(row.decisions_per_s.map(|rate| format!("{rate:.0}")));
        if decided && row.decisions.is_none() {
            cells.push("-".to_string());
        }
        cells
    };
    let mut head = head.map(str::to_string).to_vec();
    if decided {
        head.push("decisions/s".to_string());
    }
    let rows: Vec<_> = std::iter::once(head).chain(rows.iter().map(cells)).collect();
    text::table(&rows)
}

/// Measures one workload in this process, and prints JSON for [`bench()`].
pub(super) fn measure(args: &BenchWorkloadArgs) -> Ended {
    if args.scale {
        return scale::measure(args);
    }
    let wall = Instant::now();
    let decided = WORKLOADS
        .iter()
        .find(|workload| workload.decided && workload.name == args.name);
    if let Some(workload) = decided {
        return measure_decisions(workload, args.quick, wall);
    }
    let resolved = resolve(args)?;
    let mut simulation = paceline_fabric::Simulation::new(resolved.run).map_err(Failure::arguments)?;
    let parts = simulation.cut(args.parts).unwrap_or_else(|why| {
        say!("{} goes on one thread: {why}", args.name);
        1
    });
    if let Some(threads) = args.threads {
        simulation.set_threads(threads);
    }
    // Building is measured apart: it happens once, and would dominate short runs.
    let (building_s, running) = (cpu_s(), Instant::now());
    while !simulation.advance(SLICE).done {}
    let run_s = running.elapsed().as_secs_f64();
    let windows = simulation.window_counts();
    let outcome = simulation.finish();
    output::print_json(&Measured {
        packet_hops: outcome.counters.packet_hops(),
        data_hops: outcome.counters.data_hops,
        events: outcome.counters.events,
        decisions: None,
        cpu_s: cpu_s(),
        wall_s: wall.elapsed().as_secs_f64(),
        building_s,
        run_s,
        parts,
        windows,
        peak_rss_bytes: peak_rss_bytes(),
        digest: format!("{:016x}", outcome.digest),
    })?;
    Ok(Done::All)
}

/// Measures a run with an external agent in this process.
fn measure_decisions(workload: &Workload, quick: bool, wall: Instant) -> Ended {
    let (building_s, decided) = decisions::run(workload.name, workload.overrides(quick))?;
    let counters = &decided.outcome.counters;
    output::print_json(&Measured {
        packet_hops: counters.packet_hops(),
        data_hops: counters.data_hops,
        events: counters.events,
        decisions: Some(decided.decisions),
        cpu_s: cpu_s(),
        wall_s: wall.elapsed().as_secs_f64(),
        building_s,
        run_s: decided.run_s,
        parts: 1,
        windows: None,
        peak_rss_bytes: peak_rss_bytes(),
        digest: format!("{:016x}", decided.outcome.digest),
    })?;
    Ok(Done::All)
}

fn resolve(args: &BenchWorkloadArgs) -> Result<Resolved, Failure> {
    if let Some(input) = &args.input {
        return Ok(paceline_lab::load(input, &Overrides::default())?);
    }
    if args.name == model::EMPTY_WINDOWS {
        return model::empty_windows(args.parts);
    }
    let workload = WORKLOADS.iter().find(|workload| workload.name == args.name);
    let workload =
        workload.ok_or_else(|| Failure::arguments(format!("there is no workload `{}`", args.name)))?;
    Ok(workload.resolve(args.quick)?)
}

/// Returns the processor time of the process's first thread, s; 0 on systems other than Linux.
fn cpu_s() -> f64 {
    // The first number is the time on a processor, ns.
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = text
        .split_whitespace()
        .next()
        .and_then(|word| word.parse::<u64>().ok());
    nanoseconds.unwrap_or(0) as f64 / 1e9
}

/// Returns the maximum resident memory of this process, bytes; 0 on systems other than Linux.
fn peak_rss_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

//! Time and memory of large programs. Run in release, each alone: `cargo test --release --test it -- --ignored
//! --nocapture scale`.
#![expect(clippy::disallowed_macros, reason = "what was measured is the result")]

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use paceline_traces::check::check;
use paceline_traces::explain::{Costs, explain};
use paceline_traces::goal;
use paceline_traces::loggops::{Parameters, Variant, run};
use paceline_traces::program::Program as _;

/// Writes iterations of compute, send right, receive from the left, until the text has `bytes` bytes.
pub(crate) fn generate(path: &Path, ranks: u32, bytes: u64) {
    let mut out = std::io::BufWriter::with_capacity(1 << 20, std::fs::File::create(path).unwrap());
    writeln!(out, "num_ranks {ranks}").unwrap();
    let iterations = bytes / u64::from(ranks) / 150;
    for rank in 0..ranks {
        let (right, left) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        writeln!(out, "rank {rank} {{").unwrap();
        for i in 0..iterations {
            writeln!(out, "c{i}: calc {}", 1000 + u64::from(rank) * 7 % 13 + i % 5).unwrap();
            if i > 0 {
                let j = i - 1;
                writeln!(out, "c{i} requires s{j}\nc{i} requires r{j}").unwrap();
            }
            writeln!(
                out,
                "s{i}: send 4096b to {right} tag {}\ns{i} requires c{i}",
                i % 1000
            )
            .unwrap();
            writeln!(
                out,
                "r{i}: recv 4096b from {left} tag {}\nr{i} requires c{i}",
                i % 1000
            )
            .unwrap();
        }
        writeln!(out, "}}").unwrap();
    }
    out.flush().unwrap();
}

/// Returns the peak resident memory in MB, on systems that report it.
pub(crate) fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? / 1024)
}

/// Returns seconds of processor time on systems that report it, since other programs do not affect it; otherwise of
/// real time.
fn seconds(since: Instant) -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = stat.rsplit(") ").next().map(|rest| {
        rest.split(' ')
            .skip(11)
            .take(2)
            .filter_map(|t| t.parse::<f64>().ok())
    });
    let ticks: f64 = ticks.into_iter().flatten().sum();
    if ticks > 0.0 {
        ticks / 100.0
    } else {
        since.elapsed().as_secs_f64()
    }
}

/// Reads and runs a text of this many MB; prints the cost of each step per operation.
fn measure(megabytes: u64) -> (f64, Option<u64>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.goal");
    generate(&path, 256, megabytes << 20);
    let length = std::fs::metadata(&path).unwrap().len();
    let begun = Instant::now();
    let mut last = seconds(begun);
    let (program, _) = goal::read(&path).unwrap();
    let operations: u64 = (0..256).map(|r| u64::from(program.operations(r))).sum();
    let mut each = || {
        let now = seconds(begun);
        let passed = now - last;
        last = now;
        passed * 1e6 / operations as f64
    };
    let read = each();
    println!(
        "{} MB, {operations} operations: read {read:.3} us each, {:?} MB",
        length >> 20,
        peak()
    );
    let mut whole = read;
    for variant in [Variant::LogGopSim, Variant::Atlahs] {
        let outcome = run(&program, variant, &Parameters::default()).unwrap();
        assert!(outcome.stuck.is_none() && outcome.done == operations);
        let took = each();
        println!("{variant:?}: {took:.3} us each, {:?} MB", peak());
        whole = whole.max(read + took);
    }
    let report = check(&program, Parameters::default().eager);
    assert!(
        report.errors.is_empty() && report.cautions.is_empty(),
        "{}",
        report.text()
    );
    println!("check: {:.3} us each, {:?} MB", each(), peak());
    let it = explain(&program, &Costs::loggp(2500, 1500, 6.0)).unwrap();
    println!("explain: {:.3} us each, {:?} MB\n{}", each(), peak(), it.text());
    (whole, peak())
}

#[test]
#[ignore = "1 GB of text"]
fn scale_of_a_gigabyte() {
    let (each, peak) = measure(1024);
    assert!(each < 2.0, "{each} us for an operation");
    assert!(peak.is_none_or(|mb| mb < 1024), "{peak:?} MB");
}

#[test]
#[ignore = "40 MB of text"]
fn scale_of_what_fits_into_memory() {
    let (each, _) = measure(40);
    assert!(each < 2.0, "{each} us for an operation");
}

/// Every rank sends to all others at once: all free operations wait for the same clocks.
#[test]
#[ignore = "half a million operations"]
fn scale_of_an_all_to_all() {
    let ranks = 512;
    let mut text = format!("num_ranks {ranks}\n");
    for rank in 0..ranks {
        text += &format!("rank {rank} {{\n");
        for other in (0..ranks).filter(|other| *other != rank) {
            text += &format!("send 4096b to {other}\nrecv 4096b from {other}\n");
        }
        text += "}\n";
    }
    let (program, _) = goal::read_bytes("x.goal", text.as_bytes()).unwrap();
    for variant in [Variant::LogGopSim, Variant::Atlahs] {
        let begun = seconds(Instant::now());
        let outcome = run(&program, variant, &Parameters::default()).unwrap();
        let each = (seconds(Instant::now()) - begun) * 1e6 / outcome.done as f64;
        println!("{variant:?}: {each:.3} us each");
        // ATLAHS leaves ties to its heap, so all elements have to pass through it.
        assert!(
            variant == Variant::Atlahs || each < 2.0,
            "{each} us for an operation"
        );
    }
}

/// Builds and checks a step of DeepSeek-V3 on 2,048 ranks, as its authors trained it: 16 stages, experts on 64 ranks.
#[test]
#[ignore = "measures"]
fn deepseek_on_2048_ranks() {
    use paceline_traces::model::{
        Gpu, Granularity, Parallel, Plan, Precision, Schedule, Training, preset, program,
    };
    let parallel = Parallel {
        pipeline: 16,
        data: 128,
        expert: 64,
        ..Parallel::ONE
    };
    let training = Training {
        // 15,360 sequences, in micro-batches of one.
        global_batch: 15_360,
        micro_batch: 1,
        sequence: 4096,
        schedule: Schedule::ZeroBubble,
        interleave: 1,
        stages: [vec![4; 15], vec![1]].concat(),
        overlap: true,
        bucket: 160_000_000,
        optimizer_sharding: true,
        sequence_parallel: true,
        precision: Precision::Fp8,
        granularity: Granularity::Layer,
        experts_skew: 0.0,
        experts_seed: 0,
        like_aicb: false,
        gpu: Gpu {
            flops: 989e12,
            memory: 3.35e12,
            efficiency: 0.5,
            forward_ns: [None; 4],
        },
    };
    let begun = Instant::now();
    let before = seconds(begun);
    let plan = Plan::new(preset("deepseek-v3").unwrap(), parallel, training).unwrap();
    let job = program(&plan);
    let built = seconds(begun);
    println!("built: {:.3} s, peak {:?} MB", built - before, peak());
    let report = check(&job, u64::MAX);
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    println!(
        "checked {} operations: {:.3} s, peak {:?} MB",
        report.operations,
        seconds(begun) - built,
        peak()
    );
}

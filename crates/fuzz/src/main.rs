//! Fuzzer that feeds every reader of Paceline damaged and hostile input, and counts the outcomes. A reader may accept
//! an input, or reject it with a message. Nothing else.
//!
//! Inputs are a seed corpus (`corpus.rs`), damaged deterministically by seed (`mutate.rs`), random scenarios
//! (`grammar.rs`), and earlier faults (`regressions/`). The resolved text of every accepted scenario has to result in
//! the same run (`oracle.rs`). Readers (`targets.rs`) run in separate processes (`worker.rs`), which may die or hang
//! (`supervise.rs`).

#![allow(clippy::disallowed_macros, reason = "the table is its result")]

mod corpus;
mod grammar;
#[cfg(feature = "guided")]
mod guided;
mod mutate;
mod oracle;
mod outcome;
mod supervise;
mod targets;
mod worker;

use std::alloc::System;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use cap::Cap;
use clap::Parser;

use outcome::{Counts, Line, Outcome};
use supervise::Portion;
use targets::{TARGETS, Target};
use worker::Source;

/// Memory limit of a reader in bytes: undamaged inputs of these sizes need a hundredth of it.
const MEMORY: usize = 1 << 30;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Damaged and hostile input for every reader of Paceline
#[derive(Debug, Parser)]
struct Args {
    /// Targets [default: all]
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Damaged inputs of each target, in addition to the regressions
    #[arg(long, value_name = "N", default_value_t = 500)]
    inputs: u64,
    /// Seed of the first; the others follow
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
    /// Processes side by side [default: one per core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Seconds that an input may take
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,
    /// Print the input of this seed, and what comes of it
    #[arg(long)]
    show: bool,
    /// Also print why inputs are refused, most often first
    #[arg(long)]
    refusals: bool,
    /// Go on with further seeds for so many hours
    #[arg(long, value_name = "H", default_value_t = 0.0)]
    hours: f64,
    /// Only inputs that broke a reader once; `seed` is the index of the first
    #[arg(long)]
    regressions: bool,
    /// Damage one target as libFuzzer guides it, and keep here what reaches new code
    #[cfg(feature = "guided")]
    #[arg(long, value_name = "DIR")]
    guided: Option<std::path::PathBuf>,
    /// Arguments of libFuzzer, such as `-max_total_time=60`
    #[cfg(feature = "guided")]
    #[arg(last = true, value_name = "ARGUMENT")]
    libfuzzer: Vec<String>,
    /// Read as a process of its own
    #[arg(long, hide = true, value_name = "TARGET")]
    worker: Option<String>,
}

fn main() -> Result<ExitCode> {
    paceline_parity::install();
    let args = Args::parse();
    let source = if args.regressions {
        Source::Regression
    } else {
        Source::Seed
    };
    let numbers = args.seed..args.seed.saturating_add(args.inputs);
    if let Some(name) = &args.worker {
        // In workers only: an input that exceeds the limit ends its worker, not the whole program.
        ALLOCATOR
            .set_limit(MEMORY)
            .ok()
            .context("the limit is above what is held")?;
        worker::work(named(name)?, source, numbers)?;
        return Ok(ExitCode::SUCCESS);
    }
    let chosen: Vec<&'static Target> = match args.targets.as_slice() {
        [] => TARGETS.iter().collect(),
        names => names.iter().map(|name| named(name)).collect::<Result<_>>()?,
    };
    #[cfg(feature = "guided")]
    if let Some(kept) = &args.guided {
        let [target] = chosen[..] else {
            anyhow::bail!("--guided damages one target");
        };
        return guided::run(target, kept, &args.libfuzzer).map(|()| ExitCode::SUCCESS);
    }
    if args.show {
        for target in chosen {
            worker::show(target, source, args.seed)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let until = Instant::now() + Duration::from_secs_f64(args.hours.max(0.0) * 3600.0);
    // The first seeds are read in any case, however short the time.
    let mut counts = read(&chosen, &args, args.seed, None)?;
    let mut seed = args.seed;
    while Instant::now() < until && !args.regressions {
        seed = seed.saturating_add(args.inputs.max(1));
        for ((_, own), (_, more)) in counts.iter_mut().zip(read(&chosen, &args, seed, Some(until))?) {
            own.join(more);
        }
    }
    if args.refusals {
        print_refusals(&counts);
    }
    Ok(print(&counts))
}

fn named(name: &str) -> Result<&'static Target> {
    let names = || {
        TARGETS
            .iter()
            .map(|target| target.name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    targets::named(name).with_context(|| format!("there is no target `{name}`: expected one of {}", names()))
}

/// Returns the outcomes of each target from a seed on, including the regressions with the first seed. Starts nothing
/// after `until`.
fn read(
    chosen: &[&'static Target],
    args: &Args,
    seed: u64,
    until: Option<Instant>,
) -> Result<Vec<(&'static str, Counts)>> {
    let mut portions = Vec::new();
    for &target in chosen {
        let portion = |source, numbers| Portion {
            target,
            source,
            numbers,
        };
        if seed == args.seed {
            portions
                .extend(portion(Source::Regression, 0..worker::regressions(target)?.len() as u64).split());
        }
        if !args.regressions {
            let seeds = seed..seed.saturating_add(args.inputs);
            portions.extend(portion(Source::Seed, seeds).split());
        }
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let limit = Duration::from_secs(args.seconds);
    let counts = supervise::all(&portions, args.jobs.unwrap_or(cores), limit, until)?;
    let mut all: Vec<(&str, Counts)> = chosen
        .iter()
        .map(|target| (target.name, Counts::default()))
        .collect();
    for (portion, counts) in portions.iter().zip(counts) {
        let own = all.iter_mut().find(|(name, _)| *name == portion.target.name);
        own.context("every portion is of a chosen target")?.1.join(counts);
    }
    Ok(all)
}

/// Prints the reasons why inputs of each target are rejected.
fn print_refusals(all: &[(&str, Counts)]) {
    for (name, counts) in all {
        let mut refusals: Vec<(&String, &u64)> = counts.refusals.iter().collect();
        refusals.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (message, count) in refusals {
            println!("{name} {count}: {message}");
        }
    }
}

/// Prints the counts and the faults.
fn print(all: &[(&str, Counts)]) -> ExitCode {
    let heads = Outcome::ALL.map(|outcome| format!("{:>9}", outcome.name()));
    println!("{:<20}{}{:>9}", "target", heads.concat(), "ran");
    let mut sum = Counts::default();
    for (name, counts) in all {
        println!("{}", Line(name, counts));
        sum.join(counts.clone());
    }
    println!("{}", Line("all", &sum));
    for (name, counts) in all {
        for ((outcome, message), (times, seed)) in &counts.faults {
            println!(
                "{name}: {} x{times}, first --seed {seed}: {message}",
                outcome.name()
            );
        }
    }
    match sum.faults.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

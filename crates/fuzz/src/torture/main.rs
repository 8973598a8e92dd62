//! Torture test of the `paceline` command with the faults of users and machines: it is killed at any instant, started
//! twice, given a full disk and odd paths, and run in odd environments. After each attack, the user's files have to
//! be unchanged, and the command's results complete, marked as partial, or absent; the same command then has to
//! produce the complete result.
//!
//! Commands and their inputs are in `cases.rs`, attacks in `attacks.rs`, and the checks of folders in `state.rs`.

#![allow(clippy::disallowed_macros, reason = "the table is its result")]

mod attacks;
mod cases;
mod state;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::Parser;
use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use attacks::{ATTACKS, Attack, Known};
use cases::Bench;

/// Kills, crowds, full disks, odd places and odd surroundings for every command that writes
#[derive(Debug, Parser)]
struct Args {
    /// Attacks: kills, crowds, disks, places, surroundings [default: all]
    #[arg(value_name = "ATTACK")]
    attacks: Vec<String>,
    /// Rounds of each attack
    #[arg(long, value_name = "N", default_value_t = 20)]
    rounds: u64,
    /// Seed of the first; the others follow
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
    /// Go on with further seeds for so many hours
    #[arg(long, value_name = "H", default_value_t = 0.0)]
    hours: f64,
    /// The command [default: `paceline` next to this program]
    #[arg(long, value_name = "FILE")]
    command: Option<PathBuf>,
    /// Print what is done in each round
    #[arg(long)]
    show: bool,
}

/// Random numbers of a round.
pub(crate) struct Chance(Xoshiro256PlusPlus);

impl Chance {
    fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Returns a number below `n`, which must be at least 1.
    fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }

    /// Returns a number from 0 to 1.
    fn share(&mut self) -> f64 {
        self.below(1_000_000) as f64 / 1e6
    }

    fn one<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Outcomes of an attack's rounds.
#[derive(Default)]
struct Counts {
    rounds: u64,
    outcomes: BTreeMap<&'static str, u64>,
    findings: u64,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let command = match &args.command {
        Some(command) => command.clone(),
        None => std::env::current_exe()?.with_file_name("paceline"),
    };
    let command = command
        .canonicalize()
        .with_context(|| format!("{}: build it first (cargo build -p paceline)", command.display()))?;
    let chosen = chosen(&args.attacks)?;
    let bench = Bench::new(command)?;
    let until = Instant::now() + Duration::from_secs_f64(args.hours.max(0.0) * 3600.0);
    let (mut counts, mut known) = (BTreeMap::<&str, Counts>::new(), Known::default());
    let mut seed = args.seed;
    while seed < args.seed.saturating_add(args.rounds) || Instant::now() < until {
        for attack in &chosen {
            let mut said = String::new();
            let outcome = attack.round(&bench, seed, &mut known, &mut said)?;
            let own = counts.entry(attack.name).or_default();
            own.rounds += 1;
            if args.show {
                println!("{} --seed {seed}: {said}: {outcome:?}", attack.name);
            }
            match outcome {
                Ok(state) => *own.outcomes.entry(state).or_default() += 1,
                Err(fault) => {
                    own.findings += 1;
                    println!(
                        "{fault}\n  {said}\n  again: paceline-torture {} --seed {seed} --rounds 1",
                        attack.name
                    );
                }
            }
        }
        seed += 1;
    }
    Ok(print(&counts))
}

fn chosen(names: &[String]) -> Result<Vec<&'static Attack>> {
    if names.is_empty() {
        return Ok(ATTACKS.iter().collect());
    }
    let find = |name: &String| {
        let known: Vec<&str> = ATTACKS.iter().map(|attack| attack.name).collect();
        let found = ATTACKS.iter().find(|attack| attack.name == name);
        found.with_context(|| {
            format!(
                "there is no attack `{name}`: expected one of {}",
                known.join(", ")
            )
        })
    };
    names.iter().map(find).collect()
}

/// Prints the outcomes of each attack; fails if there were findings.
fn print(counts: &BTreeMap<&str, Counts>) -> ExitCode {
    println!(
        "{:<14}{:>7}{:>10}  what was there after it",
        "attack", "rounds", "findings"
    );
    for attack in &ATTACKS {
        let Some(own) = counts.get(attack.name) else {
            continue;
        };
        let outcomes = own.outcomes.iter().map(|(name, count)| format!("{count} {name}"));
        let outcomes = outcomes.collect::<Vec<_>>().join(", ");
        println!(
            "{:<14}{:>7}{:>10}  {outcomes}",
            attack.name, own.rounds, own.findings
        );
    }
    match counts.values().all(|own| own.findings == 0) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

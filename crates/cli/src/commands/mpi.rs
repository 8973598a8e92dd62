//! `paceline mpi`: the MPI library, and the cost of a round.

use std::time::{Duration, Instant};

use clap::Args;
use paceline_fabric::{Exchange as _, gather};
use paceline_mpi::find;

use crate::failure::{Done, Ended, Failure};
use crate::output;
use crate::ranks;

const EXAMPLES: &str = "\
Examples:
  paceline mpi                   the library that is found here
  mpirun -n 2 paceline mpi       with two ranks: what a round costs between them
  mpirun -n 2 paceline run fat320-hadoop30-2ms";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct MpiArgs {
    /// Bytes that each rank sends to each other in a round
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    bytes: usize,
}

/// Number of rounds that are measured.
const ROUNDS: usize = 2_000;

/// Prints the library, and under a launcher the ranks and the time of a round.
pub(super) fn mpi(args: &MpiArgs) -> Ended {
    let Some(ranks) = ranks::connect()? else {
        let (file, version) = find().map_err(Failure::arguments)?;
        output::print(&format!(
            "library   {}\nversion   {version}\nranks     1: `mpirun -n 2 paceline mpi` shows what a round costs\n",
            file.display()
        ))?;
        return Ok(Done::All);
    };
    let mpi = ranks.mpi();
    let to = vec![vec![0; args.bytes]; mpi.ranks()];
    let mut from = vec![Vec::new(); mpi.ranks()];
    let mut round = || {
        let begun = Instant::now();
        mpi.exchange(&to, &mut from);
        begun.elapsed()
    };
    // The first rounds open connections.
    let mut times: Vec<Duration> = (0..ROUNDS + ROUNDS / 10)
        .map(|_| round())
        .skip(ROUNDS / 10)
        .collect();
    times.sort_unstable();
    let own = (
        times[ROUNDS / 2].as_nanos() as u64,
        times[ROUNDS * 99 / 100].as_nanos() as u64,
    );
    let all = gather(mpi, own);
    if ranks.rank() == 0 {
        let (file, version) = mpi.library();
        let us = |ns: u64| ns as f64 / 1000.0;
        let slowest = |of: fn(&(u64, u64)) -> u64| us(all.iter().map(of).max().unwrap_or(0));
        output::print(&format!(
            "library   {}\nversion   {version}\nranks     {}\nround     {:.1} us (median), {:.1} us (99 %), {} bytes to \
             each rank\n",
            file.display(),
            mpi.ranks(),
            slowest(|time| time.0),
            slowest(|time| time.1),
            args.bytes
        ))?;
    }
    Ok(Done::All)
}

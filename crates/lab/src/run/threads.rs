//! How many threads runs have: cores go to runs first, and only what is left to parts of runs.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use paceline_fabric::Simulation;
use paceline_scenario::Resolved;

/// In how many parts a run goes, or why in one.
pub type Cut = Result<usize, &'static str>;

/// What a run may use of the machine.
#[derive(Clone, Copy)]
pub struct Resources<'a> {
    /// How many threads: it is cut into as many parts, where that can be done.
    pub threads: usize,
    /// Told what came of that before the run begins, if it may have several.
    pub on_cut: &'a dyn Fn(Cut),
    /// A folder on a disk, for what does not fit in memory; the system's for temporary files if there is none.
    pub scratch: Option<&'a Path>,
}

impl Resources<'_> {
    /// A run in one piece.
    pub const ONE_THREAD: Self = Self {
        threads: 1,
        on_cut: &|_| {},
        scratch: None,
    };
}

/// Cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The threads of each of `runs` runs that may have `asked`, where `jobs` of them go side by side: a run alone has
/// what is asked for, alongside others no more than its share of the cores.
pub fn threads_each(asked: usize, runs: usize, jobs: usize) -> usize {
    share(asked, runs, jobs, cores())
}

fn share(asked: usize, runs: usize, jobs: usize, cores: usize) -> usize {
    match jobs.min(runs) {
        0 | 1 => asked,
        side_by_side => asked.min(cores / side_by_side).max(1),
    }
}

/// In how many parts `input` could go on `threads` threads: 1 if it cannot be cut. Builds the network for that, and
/// lists flows that come as a stream, if they are few enough that this is nothing to think of.
pub fn parts_possible(input: &Resolved, threads: usize) -> usize {
    const FEW: usize = 1_000_000;
    let run = match input.run.arrivals {
        Some(_) if input.run.flow_count() > FEW => return 1,
        _ => input.run.listed().map_or_else(|| input.run.clone(), Arc::new),
    };
    let built = Simulation::new(run).ok();
    built.and_then(|mut run| run.cut(threads).ok()).unwrap_or(1)
}

/// Cores that had nothing to do during the last minute, by the system's load; where that is unknown (elsewhere than
/// on Linux), all but one.
pub fn idle_cores() -> usize {
    let load = fs::read_to_string("/proc/loadavg").ok();
    let load = load.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    cores().saturating_sub((load.unwrap_or(0.0).round() as usize).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_go_to_runs_first() {
        // A run that is alone has what is asked for, also more than there are cores.
        assert_eq!(share(16, 1, 4, 4), 16);
        assert_eq!(share(4, 8, 1, 4), 4);
        // As many runs as cores: each has one.
        assert_eq!(share(4, 4, 4, 4), 1);
        assert_eq!(share(4, 9, 4, 4), 1);
        // Fewer runs than cores share the rest.
        assert_eq!(share(16, 2, 8, 8), 4);
        assert_eq!(share(3, 2, 8, 8), 3);
        assert_eq!(share(16, 3, 8, 8), 2);
        // More jobs than cores.
        assert_eq!(share(4, 9, 8, 4), 1);
        assert_eq!(share(4, 0, 8, 4), 4);
    }
}

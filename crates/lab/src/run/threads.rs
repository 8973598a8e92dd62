//! Assignment of threads: cores go to runs first, and only remaining ones to parts of runs.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use paceline_fabric::{Exchange, Simulation};
use paceline_scenario::Resolved;

/// Number of parts of a run, or the reason why it cannot be cut.
pub type Cut = Result<usize, &'static str>;

/// Resources of the machine that a run may use.
#[derive(Clone, Copy)]
pub struct Resources<'a> {
    /// Number of threads; the run is cut into as many parts if possible.
    pub threads: usize,
    /// Called before the run starts with the result of cutting it, if it may have several threads.
    pub on_cut: &'a dyn Fn(Cut),
    /// Ranks among which the run is divided, with `threads` parts each. This is the first; the others call
    /// [`super::assist`].
    pub ranks: Option<&'a Arc<dyn Exchange>>,
    /// Folder on disk for data that does not fit in memory; by default the system's folder for temporary files.
    pub scratch: Option<&'a Path>,
}

impl Resources<'_> {
    /// Resources of a run that is not cut.
    pub const ONE_THREAD: Self = Self {
        threads: 1,
        on_cut: &|_| {},
        ranks: None,
        scratch: None,
    };
}

/// Returns the number of cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Returns the number of threads of each of `runs` runs, `jobs` of which run in parallel: a single run gets all that it
/// asks for, one of several no more than its share of the cores.
pub fn threads_each(asked: usize, runs: usize, jobs: usize) -> usize {
    share(asked, runs, jobs, cores())
}

fn share(asked: usize, runs: usize, jobs: usize, cores: usize) -> usize {
    match jobs.min(runs) {
        0 | 1 => asked,
        side_by_side => asked.min(cores / side_by_side).max(1),
    }
}

/// Returns the number of parts into which `input` can be cut for `threads` threads; 1 if it cannot be cut. Builds the
/// network, and lists flows of a stream if there are few enough for this to be cheap.
pub fn parts_possible(input: &Resolved, threads: usize) -> usize {
    const FEW: usize = 1_000_000;
    let run = match input.run.arrivals {
        Some(_) if input.run.flow_count() > FEW => return 1,
        _ => input.run.listed().map_or_else(|| input.run.clone(), Arc::new),
    };
    let built = Simulation::new(run).ok();
    built.and_then(|mut run| run.cut(threads).ok()).unwrap_or(1)
}

/// Returns the number of idle cores during the last minute, from the system's load; all but one if it is unknown (only
/// Linux reports it).
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
        // A single run gets the threads that it asks for, even more than there are cores.
        assert_eq!(share(16, 1, 4, 4), 16);
        assert_eq!(share(4, 8, 1, 4), 4);
        // With as many runs as cores, each has one thread.
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

//! Options for reading a trace.

use std::path::PathBuf;

use super::file::GZIP_LIMIT;

/// Treatment of control dependencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ControlDeps {
    /// Kept if all of them exist without a cycle; otherwise all are dropped, with a caution.
    #[default]
    Auto,
    /// Kept; a missing parent or a cycle is an error.
    Keep,
    /// Dropped from all nodes.
    Drop,
}

/// Repairs of incomplete traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// True to drop data dependencies on missing nodes, with a caution.
    pub drop_missing: bool,
    /// True to run the kernels of one `stream` (or `tid`, without such an attribute) in the order of their ids.
    pub chain_streams: bool,
}

/// Rates that convert the work of a kernel (`num_ops`, `tensor_size`) to time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Roofline {
    /// Operations per second; `None` if unknown.
    pub flops: Option<f64>,
    /// Memory bandwidth in bytes per second.
    pub memory: Option<f64>,
}

impl Roofline {
    /// Returns the duration of a kernel in ns: the longer of its operations and its memory traffic. `None` if a
    /// required rate is missing.
    pub fn ns(&self, ops: f64, bytes: f64) -> Option<u64> {
        let compute = match (ops > 0.0, self.flops) {
            (false, _) => 0.0,
            (true, Some(rate)) => ops / rate,
            (true, None) => return None,
        };
        let memory = match (bytes > 0.0, self.memory) {
            (false, _) => 0.0,
            (true, Some(rate)) => bytes / rate,
            // The operations alone determine a duration.
            (true, None) if ops > 0.0 => 0.0,
            (true, None) => return None,
        };
        Some((compute.max(memory) * 1e9) as u64)
    }
}

/// Choice of the duration for a kernel that has both a recorded one and work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernels {
    /// Recorded duration, if there is one.
    #[default]
    Recorded,
    /// Duration by the [`Roofline`].
    Roofline,
}

/// Options for reading a trace.
#[derive(Clone, Debug)]
pub struct Options {
    /// Treatment of control dependencies.
    pub control_deps: ControlDeps,
    /// Repairs of incomplete traces.
    pub repair: Repair,
    /// File of groups: `{"1": [0, 1], ...}`.
    pub groups: Option<PathBuf>,
    /// Limit of a decompressed file, in bytes.
    pub gzip_limit: u64,
    /// True if the trace is the algorithm of a collective: its nodes occupy no lane.
    pub is_algorithm: bool,
    /// Rates for kernels without a duration.
    pub roofline: Roofline,
    /// Choice of the duration for kernels that have both a recorded one and work.
    pub kernels: Kernels,
    /// True to use ASTRA-sim's durations: a broadcast takes its recorded duration and sends nothing, and a kernel
    /// without a duration takes 1 ns. Otherwise broadcasts use the network, and missing durations are errors.
    pub as_astra_sim: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            control_deps: ControlDeps::Auto,
            repair: Repair::default(),
            groups: None,
            gzip_limit: GZIP_LIMIT,
            is_algorithm: false,
            roofline: Roofline::default(),
            kernels: Kernels::Recorded,
            as_astra_sim: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in `Workload::issue_comp` of ASTRA-sim: n operations on s bytes take n / min(bandwidth * n / s, peak).
    #[test]
    fn a_kernel_takes_the_longer_of_operations_and_memory() {
        let both = Roofline {
            flops: Some(400e12),
            memory: Some(3e12),
        };
        assert_eq!(both.ns(1e15, 1e9), Some(2_500_000_000));
        assert_eq!(both.ns(1e9, 3e9), Some(1_000_000));
        assert_eq!(both.ns(0.0, 6e6), Some(2_000));
        let flops = Roofline {
            flops: Some(1e12),
            memory: None,
        };
        assert_eq!(flops.ns(1e9, 1e9), Some(1_000_000));
        assert_eq!(flops.ns(0.0, 1e9), None);
        assert_eq!(Roofline::default().ns(1.0, 0.0), None);
    }
}

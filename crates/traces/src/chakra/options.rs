//! How a trace is read.

use std::path::PathBuf;

use super::file::GZIP_LIMIT;

/// What becomes of control dependencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ControlDeps {
    /// Kept if all are there and no cycle arises; otherwise all are dropped, and a caution counts them.
    #[default]
    Auto,
    /// Kept; it is an error if one is not there or a cycle arises.
    Keep,
    /// Dropped.
    Drop,
}

/// What may be mended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// Data dependencies on nodes that are not there are dropped, with a caution.
    pub drop_missing: bool,
    /// Kernels of one `stream` (`tid`, if there is no such attribute) wait for each other in the order of their ids.
    pub chain_streams: bool,
}

/// Rates that turn the work of a kernel (`num_ops`, `tensor_size`) into time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Roofline {
    /// Operations per second.
    pub flops: Option<f64>,
    /// Bytes of memory per second.
    pub memory: Option<f64>,
}

impl Roofline {
    /// Returns the time of a kernel in ns: the longer of its operations and its memory traffic. `None` if the rate that it
    /// needs is missing.
    pub fn ns(&self, ops: f64, bytes: f64) -> Option<u64> {
        let compute = match (ops > 0.0, self.flops) {
            (false, _) => 0.0,
            (true, Some(rate)) => ops / rate,
            (true, None) => return None,
        };
        let memory = match (bytes > 0.0, self.memory) {
            (false, _) => 0.0,
            (true, Some(rate)) => bytes / rate,
            // Operations alone give a time.
            (true, None) if ops > 0.0 => 0.0,
            (true, None) => return None,
        };
        Some((compute.max(memory) * 1e9) as u64)
    }
}

/// Which time counts for a kernel that has both a duration and work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernels {
    /// Its duration.
    #[default]
    Recorded,
    /// That of the [`Roofline`].
    Roofline,
}

/// How a trace is read.
#[derive(Clone, Debug)]
pub struct Options {
    /// Control dependencies.
    pub control_deps: ControlDeps,
    /// What may be mended.
    pub repair: Repair,
    /// A file of groups: `{"1": [0, 1], ...}`.
    pub groups: Option<PathBuf>,
    /// What a packed file may unpack to, in bytes.
    pub gzip_limit: u64,
    /// Whether the trace is the algorithm of a collective: its nodes occupy nothing.
    pub is_algorithm: bool,
    /// Rates for kernels without a duration.
    pub roofline: Roofline,
    /// Which time counts for kernels that have a duration and work.
    pub kernels: Kernels,
    /// True for the times that ASTRA-sim gives nodes: a broadcast lasts as long as it was recorded and sends nothing, and a
    /// kernel without a duration takes 1 ns. Otherwise broadcasts are sent, and missing durations are errors.
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

//! Estimates of the memory that flows take, for warnings before a run starts.

use std::fs;

use paceline_kernel::order::Sort as _;
use paceline_scenario::Resolved;

use crate::results::FlowRows;

/// Memory of a listed flow during a run, in bytes; measured: 310 MB in total for a million.
const LISTED: u64 = 220;
/// Memory of a flow's record in each further part of a run that is cut.
const PART: u64 = 90;
/// Memory of a dependency, in bytes.
const DEPENDENCY: u64 = 40;
/// Largest memory of a flow while the summary is computed: see [`crate::results::Buckets::of`].
const SUMMED_UP: u64 = 36;

/// Estimates the memory of a run's flows, in bytes: during the run, and mostly also while its results are held.
pub fn memory_of_flows(input: &Resolved) -> u64 {
    let run = &input.run;
    (LISTED + PART * (input.threads as u64 - 1)) * run.flows.len() as u64
        + DEPENDENCY * run.dependencies.len() as u64
        + FlowRows::memory(run.flow_count())
        + SUMMED_UP * run.flow_count() as u64
}

/// Returns the memory that is available to programs, in bytes; `None` if unknown (only Linux reports it).
pub fn free_memory() -> Option<u64> {
    parse_available(&fs::read_to_string("/proc/meminfo").ok()?)
}

/// Parses the line `MemAvailable:   123 kB`.
fn parse_available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Returns a warning if the flows of the `held` largest runs, which are in memory at a time, take most of the `free`
/// memory.
pub fn memory_warning(inputs: &[&Resolved], held: usize, free: u64) -> Option<String> {
    let mut each: Vec<(u64, &Resolved)> = inputs
        .iter()
        .map(|input| (memory_of_flows(input), *input))
        .collect();
    each.order_by_key(|&(bytes, _)| std::cmp::Reverse(bytes));
    let needed: u64 = each.iter().take(held).map(|&(bytes, _)| bytes).sum();
    let (_, largest) = *each.first()?;
    // A quarter is left for everything but flows.
    if needed <= free / 4 * 3 {
        return None;
    }
    let gigabytes = |bytes: u64| format!("{:.1} GB", bytes as f64 / 1e9);
    let runs = match held.min(each.len()) {
        1 => "the run".to_string(),
        several => format!("{several} runs at a time"),
    };
    let advice = if largest.run.arrivals.is_some() {
        "flows are streamed already; use fewer runs at a time"
    } else {
        "exact runs with only Poisson arrivals, one thread and no packet trace stream their flows, and need little \
         memory"
    };
    Some(format!(
        "{} flows: {runs} will take about {} of memory, and {} are free: {advice}",
        largest.run.flow_count(),
        gigabytes(needed),
        gigabytes(free),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn what_does_not_fit_is_told_with_numbers() {
        let (mut input, _) = sample::incast();
        let flow = input.run.flows[0];
        input.run_mut().flows = vec![flow; 1000];
        assert_eq!(memory_of_flows(&input), 256_000 + FlowRows::memory(1000));
        input.threads = 3;
        assert_eq!(memory_of_flows(&input), 436_000 + FlowRows::memory(1000));
        input.threads = 1;
        let two = [&input, &input];
        assert_eq!(memory_warning(&two, 2, 1_000_000), None);
        assert_eq!(memory_warning(&two, 1, 500_000), None);
        let text = memory_warning(&two, 2, 600_000).unwrap();
        assert!(
            text.starts_with(
                "1000 flows: 2 runs at a time will take about 0.0 GB of memory, and 0.0 GB are free: "
            ),
            "{text}"
        );
        assert_eq!(memory_warning(&[], 1, 0), None);
    }

    #[test]
    fn reads_what_is_available() {
        let text = "MemTotal: 8 kB\nMemFree:  1 kB\nMemAvailable:       3 kB\n";
        assert_eq!(parse_available(text), Some(3072));
        assert_eq!(parse_available("MemTotal: 8 kB\n"), None);
    }
}

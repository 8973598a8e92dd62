//! Resource usage of this thread and process from the operating system: Linux only, 0 elsewhere.

use std::fs;

/// Processor time at a point of the run.
pub(super) struct Cpu {
    thread_s: f64,
    process_s: f64,
}

impl Cpu {
    pub(super) fn now() -> Self {
        Self {
            thread_s: thread_cpu_s(),
            process_s: process_cpu_s(),
        }
    }

    /// Returns the seconds since this point for a run in `parts` parts. For several it is the time of the whole
    /// process, since each part has its own thread; other work in the process counts, too.
    pub(super) fn since(&self, parts: usize) -> f64 {
        let now = Self::now();
        let seconds = match parts {
            1 => now.thread_s - self.thread_s,
            _ => now.process_s - self.process_s,
        };
        seconds.max(0.0)
    }
}

/// Returns the processor time of all threads of this process, including ended ones, in seconds.
fn process_cpu_s() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").ok();
    stat.and_then(|text| parse_stat(&text)).unwrap_or(0.0)
}

/// Sums user and system time, in Linux's units of 1/100 s: the 14th and 15th word, of which the second is a name in
/// parentheses.
fn parse_stat(stat: &str) -> Option<f64> {
    let mut words = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || words.next()?.parse::<u64>().ok();
    Some((ticks()? + ticks()?) as f64 / 100.0)
}

/// Returns the processor time of the calling thread, in seconds.
fn thread_cpu_s() -> f64 {
    // The first of three numbers is nanoseconds on a processor.
    let nanoseconds = fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    nanoseconds.unwrap_or(0) as f64 / 1e9
}

/// Returns the largest resident memory of this process so far, in bytes.
pub(super) fn peak_rss_bytes() -> u64 {
    fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|text| parse_high_water_mark(&text))
        .unwrap_or(0)
}

/// Parses the line `VmHWM:   123 kB`.
fn parse_high_water_mark(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_time_of_all_threads() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194304 120 0 0 0 250 31 0 0 20 0 1 0 100 2 3";
        assert_eq!(parse_stat(stat), Some(2.81));
        assert_eq!(parse_stat("7 (a"), None);
    }

    #[test]
    fn reads_the_high_water_mark() {
        assert_eq!(
            parse_high_water_mark("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n"),
            Some(2 << 20)
        );
        assert_eq!(parse_high_water_mark("Name:\tx\n"), None);
    }
}

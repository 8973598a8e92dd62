//! What the operating system says about this thread and process: Linux only, 0 elsewhere.

use std::fs;

/// Processor time of the calling thread, in seconds.
pub(super) fn thread_cpu_s() -> f64 {
    // The first of three numbers is nanoseconds on a processor.
    let nanoseconds = fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    nanoseconds.unwrap_or(0) as f64 / 1e9
}

/// Largest resident memory of this process so far, in bytes.
pub(super) fn peak_rss_bytes() -> u64 {
    fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|text| parse_high_water_mark(&text))
        .unwrap_or(0)
}

/// The line `VmHWM:   123 kB`.
fn parse_high_water_mark(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_high_water_mark() {
        assert_eq!(
            parse_high_water_mark("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n"),
            Some(2 << 20)
        );
        assert_eq!(parse_high_water_mark("Name:\tx\n"), None);
    }
}

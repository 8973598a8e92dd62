//! Runs one workload of the benchmarks, to count instructions. `packet_hops NAME [PARTS [THREADS]]` prints its
//! packet-hops and events, the time that the run took (elapsed, and on Linux the processor's), and the statistics of
//! its windows. Without a name it lists the names. With `SMALL_PAGES` in the environment no memory is requested in huge
//! pages. `NAME+ports`, `NAME+accounts` and `NAME+ports+accounts` add these recorders.

#![allow(clippy::disallowed_macros, reason = "the counts are its result")]

#[path = "../benches/workloads/mod.rs"]
mod workloads;

#[global_allocator]
static ALLOCATOR: paceline_kernel::memory::HugePages = paceline_kernel::memory::HugePages;

use paceline_fabric::Simulation;
use workloads::{WORKLOADS, simulate};

/// Returns the processor time of this thread in ns; 0 if the system does not report it.
fn processor_ns() -> u64 {
    let stats = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = stats.split_whitespace().next();
    first.and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn main() {
    let Some(wanted) = std::env::args().nth(1) else {
        WORKLOADS.iter().for_each(|(name, _)| println!("{name}"));
        return;
    };
    let Some(spec) = workloads::find(&wanted) else {
        eprintln!("there is no workload `{wanted}`");
        std::process::exit(2);
    };
    if std::env::var_os("SMALL_PAGES").is_some() {
        paceline_kernel::memory::without_huge_pages();
    }
    let mut simulation = Simulation::new(spec).expect("a network that can be built");
    let number = |place| {
        std::env::args()
            .nth(place)
            .map(|text| text.parse().expect("a number"))
    };
    let mut parts = 1;
    if let Some(asked) = number(2) {
        match simulation.cut(asked) {
            Ok(found) => parts = found,
            Err(why) => eprintln!("in one piece: {why}"),
        }
    }
    if let Some(threads) = number(3) {
        simulation.set_threads(threads);
    }
    let (begin, begun) = (std::time::Instant::now(), processor_ns());
    let (hops, events) = simulate(&mut simulation);
    let (took, busy) = (begin.elapsed(), (processor_ns() - begun) as f64 / 1e9);
    println!("{hops} {events}");
    eprintln!(
        "{parts} parts, {:.3} s, {busy:.3} s of this thread's processor: {:.2} million packet-hops per second",
        took.as_secs_f64(),
        hops as f64 / 1e6 / busy,
    );
    if let Some(counts) = simulation.window_counts() {
        eprintln!("{counts:?}");
    }
}

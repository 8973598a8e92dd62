//! Runs one workload of the benchmarks, for instruction counts: `packet_hops NAME [PARTS [THREADS]]` prints its
//! packet-hops and events, how long that took, and what its windows were; without a name, the names.
//! `NAME+ports`, `NAME+accounts`, `NAME+ports+accounts` is the same with these recorders.

#[path = "../benches/workloads/mod.rs"]
mod workloads;

use paceline_fabric::Simulation;
use workloads::{WORKLOADS, simulate};

fn main() {
    let Some(wanted) = std::env::args().nth(1) else {
        WORKLOADS.iter().for_each(|(name, _)| println!("{name}"));
        return;
    };
    let Some(spec) = workloads::find(&wanted) else {
        eprintln!("there is no workload `{wanted}`");
        std::process::exit(2);
    };
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
    let begin = std::time::Instant::now();
    let (hops, events) = simulate(&mut simulation);
    let took = begin.elapsed();
    println!("{hops} {events}");
    eprintln!("{parts} parts, {:.3} s", took.as_secs_f64());
    if let Some(counts) = simulation.window_counts() {
        eprintln!("{counts:?}");
    }
}

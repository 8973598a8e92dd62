//! Runs one workload of the benchmarks, for instruction counts: `packet_hops NAME [PARTS]` prints its
//! packet-hops and events, and how long that took; without a name, the names.

#[path = "../benches/workloads/mod.rs"]
mod workloads;

use paceline_fabric::Simulation;
use workloads::{WORKLOADS, simulate};

fn main() {
    let Some(wanted) = std::env::args().nth(1) else {
        WORKLOADS.iter().for_each(|(name, _)| println!("{name}"));
        return;
    };
    let Some((_, spec)) = WORKLOADS.iter().find(|(name, _)| *name == wanted) else {
        eprintln!("there is no workload `{wanted}`");
        std::process::exit(2);
    };
    let mut simulation = Simulation::new(spec()).expect("a network that can be built");
    if let Some(parts) = std::env::args().nth(2) {
        let parts = parts.parse().expect("a number of parts");
        if let Err(why) = simulation.cut(parts) {
            eprintln!("in one piece: {why}");
        }
    }
    let begin = std::time::Instant::now();
    let (hops, events) = simulate(&mut simulation);
    let took = begin.elapsed();
    println!("{hops} {events}");
    eprintln!("{} parts, {:.3} s", simulation.part_count(), took.as_secs_f64());
}

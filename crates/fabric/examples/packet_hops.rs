//! Runs one workload of the benchmarks, for instruction counts: `packet_hops NAME` prints its
//! packet-hops and events; without a name, the names.

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
    let (hops, events) = simulate(&mut simulation);
    println!("{hops} {events}");
}

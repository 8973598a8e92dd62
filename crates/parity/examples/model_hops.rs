//! Runs one network of another simulator, for instruction counts. `model_hops NAME` prints its packet hops and
//! events; without a name, it prints the names.

#![allow(clippy::disallowed_macros, reason = "the counts are its result")]

#[path = "../../fabric/tests/it/common/mod.rs"]
mod common;
#[path = "../tests/it/networks_ib.rs"]
mod networks_ib;

use networks_ib::{Variant, demo};
use paceline_fabric::{RunSpec, Simulation};
use paceline_kernel::Span;
use paceline_parity::ib_omnet::Control;

/// Returns a network of two switches under credits, with two permanent senders and bursts from fifteen others.
fn infiniband_demo() -> RunSpec {
    RunSpec {
        check: false,
        ..demo(Variant::Messages, Control::None, Span::from_us(10))
    }
}

/// A workload's name and the function that builds its run.
type Workload = (&'static str, fn() -> RunSpec);

const WORKLOADS: [Workload; 1] = [("infiniband-demo/cbfc", infiniband_demo)];

/// The code whose instructions are counted.
mod workloads {
    use paceline_fabric::Simulation;

    /// Runs to the end and returns packet hops and events.
    #[inline(never)]
    pub(crate) fn simulate(simulation: &mut Simulation) -> (u64, u64) {
        loop {
            let progress = simulation.advance(1 << 20);
            if progress.done {
                return (progress.packet_hops, progress.events);
            }
        }
    }
}

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
    let (hops, events) = workloads::simulate(&mut simulation);
    println!("{hops} {events}");
}

//! After warm-up, a run allocates nothing per packet.

#[path = "it/common/mod.rs"]
mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use common::{G100, add_flow, kb, link, natural, scheme, star, static_pfc};
use paceline_fabric::Simulation;
use paceline_fabric::spec::*;
use paceline_kernel::Span;

/// The system's allocator, with a count of its calls.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged.
#[expect(unsafe_code, reason = "an allocator cannot be written without")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: see above.
        unsafe { System.alloc(layout) }
    }
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: see above.
        unsafe { System.realloc(old, layout, size) }
    }
    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: see above.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the number of allocations in 100000 events of a steady run, after four times as many to warm up, and the
/// pauses so far.
fn allocations(spec: &RunSpec) -> (u64, u64) {
    let (warm_up, events) = (400_000, 100_000);
    let mut simulation = Simulation::new(spec.clone()).unwrap();
    assert!(!simulation.advance(warm_up).done);
    let before = ALLOCATIONS.load(Relaxed);
    let progress = simulation.advance(events);
    let during = ALLOCATIONS.load(Relaxed) - before;
    assert!(
        !progress.done && progress.completed == 0,
        "a steady state, without beginnings and ends"
    );
    (during, simulation.finish().counters.pauses)
}

/// Sixteen long flows to one host.
fn incast(mut spec: RunSpec) -> RunSpec {
    for host in 1..=16 {
        add_flow(&mut spec, host, 17, 100_000_000, 0);
    }
    spec.check = false;
    spec
}

/// A single test, so that nothing else in the process allocates meanwhile.
#[test]
fn packets_allocate_nothing() {
    for name in [
        "none",
        "dcqcn",
        "dcqcn-paper",
        "dctcp",
        "timely",
        "hpcc",
        "hpcc-pint",
        "qcn",
        "pcn",
    ] {
        let mut recorded = incast(natural(star(17, scheme(name))));
        recorded.record.port_bin = Some(Span::from_us(1));
        (recorded.record.flow_every, recorded.record.flows_max) = (Some(Span::from_us(1)), 8);
        for (mode, spec) in [
            ("exact", incast(natural(star(17, scheme(name))))),
            ("ns-3", incast(star(17, scheme(name)))),
            ("recorded", recorded),
        ] {
            let (count, _) = allocations(&spec);
            assert!(count <= 4, "{name} {mode}: {count} allocations in 100000 events");
        }
    }

    // Blame is charged as time passes: nothing is stored per packet.
    for blame in [Blame::Labels, Blame::Hosts] {
        let mut blamed = incast(natural(star(17, scheme("dctcp"))));
        blamed.record.blame = blame;
        let (count, pauses) = allocations(&blamed);
        assert!(pauses == 0 && count <= 4, "{blame:?}: {count}, {pauses} pauses");
    }

    // Every packet chooses a path.
    for policy in [
        LoadBalancing::Spray,
        LoadBalancing::AdaptiveFlowlet(Flowlets {
            gap: Span::from_us(1),
            entries: 64,
        }),
    ] {
        let mut spread = natural(star(3, scheme("dctcp")));
        spread.nodes.extend([NodeKind::Switch, NodeKind::Host]);
        spread.links.push(link(4, 5, G100));
        spread.links.extend((0..4).map(|_| link(0, 4, G100)));
        spread.load_balancing = policy;
        spread.check = false;
        for src in 1..=3 {
            add_flow(&mut spread, src, 5, 100_000_000, 0);
        }
        let (count, _) = allocations(&spread);
        assert!(count <= 4, "{policy:?}: {count}");
    }

    // Two switches, losses and timeouts. Pauses are recorded one by one, so there are none.
    let mut chain = natural(star(3, scheme("dctcp")));
    chain.nodes.extend([NodeKind::Switch, NodeKind::Host]);
    chain.links.push(link(0, 4, G100));
    chain.links.push(link(4, 5, G100));
    chain.links.iter_mut().for_each(|link| link.error_rate = 1e-3);
    chain.switch.ecn[0].kmin = kb(100);
    chain.switch.ecn[0].kmax = kb(100);
    for src in 1..=3 {
        add_flow(&mut chain, src, 5, 100_000_000, 0);
    }
    chain.check = false;
    let (count, _) = allocations(&chain);
    assert!(count <= 4, "{count}");

    // Selective repeat and trimmed packets: bitmaps grow to the packets in flight.
    let irn = Irn {
        rto_low: Span::from_us(100),
        rto_high: Span::from_us(320),
        low_packets: 3,
        bdp_cap: false,
        reordering: 0,
    };
    chain.nic.recovery = Recovery::SelectiveRepeat(irn);
    let (count, _) = allocations(&chain);
    assert!(count <= 4, "{count}");
    chain.switch.flow_control = FlowControl::None;
    chain.switch.loss.drop = DropPolicy::Tail(kb(50));
    chain.switch.loss.trim = Some(Trim { queue: kb(20) });
    let (count, _) = allocations(&chain);
    assert!(count <= 4, "{count}");

    // Pauses all the time: only their list grows, by doubling.
    let mut paused = incast(natural(star(17, scheme("none"))));
    static_pfc(&mut paused, 20_000, 18_000, 60_000);
    paused.nic.rto = Some(Span::from_us(10_000));
    let (count, pauses) = allocations(&paused);
    assert!(pauses > 1000 && count <= 4, "{count} {pauses}");
}

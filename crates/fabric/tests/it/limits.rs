//! Edge cases: all classes at once, buffers that are too small, runs cut short, flows that start while their path is
//! down.

use crate::common::{add_flow, assert_complete, link, natural, run, scheme, star, static_pfc};
use paceline_fabric::Simulation;
use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span, Time};

/// The seven priorities that flows can have, ACKs in class 0, and PFC frames: nine queues.
#[test]
fn all_priorities_at_once() {
    let mut spec = natural(star(9, scheme("none")));
    for (host, class) in (1..=7).zip(1..=7) {
        add_flow(&mut spec, host, 8 + host % 2, 200_000, 0);
        spec.flows.last_mut().unwrap().class = class;
    }
    static_pfc(&mut spec, 40_000, 38_000, 60_000);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert_eq!(outcome.counters.buffer_drops, 0);
    let paused: Vec<u8> = (1..=7)
        .filter(|&class| outcome.pfc.iter().any(|event| event.class == class))
        .collect();
    assert_eq!(paused, [1, 2, 3, 4, 5, 6, 7]);
}

/// Static thresholds may add up to more than the buffer: then the end of the buffer decides.
#[test]
fn static_thresholds_do_not_exceed_the_buffer() {
    let mut spec = natural(star(9, scheme("none")));
    static_pfc(&mut spec, 100_000, 98_000, 40_000);
    spec.switch.buffer = Bytes::new(9 * (40_000 + 4096) + 200_000);
    for host in 1..=8 {
        add_flow(&mut spec, host, 9, 500_000, 0);
    }
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert!(outcome.queue_max <= spec.switch.buffer, "{}", outcome.queue_max);
    assert_eq!(
        outcome.counters.buffer_drops, 0,
        "headroom takes what comes after the pause"
    );
}

/// Without flow control too, each (port, class) has its reserve, however full the pool is.
#[test]
fn reserves_are_kept_when_the_pool_is_full() {
    let mut spec = natural(star(4, scheme("none")));
    spec.switch.flow_control = FlowControl::None;
    spec.switch.buffer = Bytes::new(4 * 4096 + 50_000);
    spec.switch.ecn.clear();
    // Two overload host 3 and fill the pool; the third sends less than its reserve to it.
    add_flow(&mut spec, 1, 3, 1_000_000, 0);
    add_flow(&mut spec, 2, 3, 1_000_000, 0);
    add_flow(&mut spec, 4, 3, 3000, 60_000);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert!(outcome.counters.buffer_drops > 0);
    assert_eq!(outcome.flows[2].retransmitted, Bytes::ZERO);
}

/// Invariants hold for a run that ends with packets in the network.
#[test]
fn checks_hold_wherever_a_run_ends() {
    for stop in (0..6_000).step_by(50) {
        let mut spec = natural(star(2, scheme("none")));
        spec.nic.rto = None;
        spec.stop = Time::from_ns(stop);
        add_flow(&mut spec, 1, 2, 1500, 0);
        let outcome = run(spec);
        let done = outcome.flows[0].status == FlowStatus::Completed;
        // 83.84 + 1000 + 83.84 + 43.84 + 1000 ns there, twice 4.8 + 1000 back.
        assert_eq!(done, stop >= 4_222, "stop at {stop} ns");
        assert!(outcome.end <= Time::from_ns(stop));
    }
}

/// A flow that starts while its path is down has an ideal completion time all the same.
#[test]
fn a_flow_that_waits_for_its_path() {
    let mut spec = natural(star(2, scheme("dcqcn")));
    spec.failures.push(LinkFailure {
        link: 1,
        at: Time::from_ns(0),
        until: Some(Time::from_ns(5_000_000)),
    });
    add_flow(&mut spec, 1, 2, 100_000, 1000);
    add_flow(&mut spec, 1, 2, 100_000, 9_000_000);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert_eq!(outcome.flows[0].ideal, outcome.flows[1].ideal);
    // It waits for the link alone: no timeout runs while nothing is in flight.
    let waited = Span::from_ps(5_000_000_000 - 1_000_000);
    assert_eq!(outcome.flows[0].fct, outcome.flows[1].fct + waited);
    assert_eq!(outcome.counters.timeouts, 0);
    assert_eq!(outcome.counters.retransmitted_bytes, 0);
}

/// A link that fails twice, the second time while it is down, comes up when both failures are over.
#[test]
fn overlapping_failures() {
    let mut spec = natural(star(2, scheme("none")));
    for (at, until) in [(10_000, 30_000), (20_000, 50_000)] {
        spec.failures.push(LinkFailure {
            link: 0,
            at: Time::from_ns(at),
            until: Some(Time::from_ns(until)),
        });
    }
    spec.nic.rto = Some(Span::from_us(10));
    add_flow(&mut spec, 1, 2, 1_000_000, 0);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    // Of the 83.84 us that it takes, 10 are over when the link goes down.
    let fct = outcome.flows[0].fct.as_ns();
    assert!(fct > 50_000 + 73_000, "{fct}");
}

/// Flow control that could never work is refused.
#[test]
fn impossible_flow_control() {
    let reason = |mode, threshold| {
        let mut spec = natural(star(2, scheme("none")));
        spec.switch.flow_control = FlowControl::Pfc(Pfc {
            threshold,
            resume_offset: Bytes::ZERO,
            mode,
            response: PfcResponse::NONE,
        });
        Simulation::new(spec).err().map(|error| error.to_string())
    };
    let fixed = |xoff, xon| PfcThreshold::Static {
        xoff: Bytes::new(xoff),
        xon: Bytes::new(xon),
    };
    let timed = |pause| PfcMode::Quanta { pause };
    assert_eq!(reason(timed(Span::from_us(1)), fixed(10_000, 9000)), None);
    for error in [
        reason(timed(Span::ZERO), fixed(10_000, 9000)),
        reason(PfcMode::OnOff, fixed(10_000, 11_000)),
        reason(PfcMode::OnOff, fixed(10_000, 0)),
    ] {
        assert!(error.unwrap().contains("flow control"));
    }
}

/// Timeouts of zero are refused, and so are control packets too large for 16 bits.
#[test]
fn impossible_hosts() {
    let refused = |change: fn(&mut RunSpec)| {
        let mut spec = natural(star(2, scheme("none")));
        change(&mut spec);
        Simulation::new(spec).err().map(|error| error.to_string())
    };
    assert_eq!(refused(|_| ()), None);
    assert!(
        refused(|spec| spec.nic.rto = Some(Span::ZERO))
            .unwrap()
            .contains("timeout")
    );
    assert!(
        refused(|spec| spec.packet.pfc_frame = Bytes::new(65_600))
            .unwrap()
            .contains("65.6KB")
    );
    assert!(
        refused(|spec| spec.packet.mtu = Bytes::new(65_500))
            .unwrap()
            .contains("65.5KB")
    );
}

/// Switches write digests in one base: senders that would read another are refused.
#[test]
fn one_base_for_all_digests() {
    let built = |base: &str| {
        let mut spec = natural(star(2, scheme("hpcc-pint")));
        spec.schemes.push(scheme("dcqcn"));
        spec.schemes.push(scheme("hpcc-pint"));
        spec.schemes[2].config.set("log-base", base).unwrap();
        Simulation::new(spec).is_ok()
    };
    assert!(built("1.05") && !built("1.01"));
}

/// ACKs in their flows' own classes: a pause of one class does not hold back the other's.
#[test]
fn acknowledgements_of_classes_are_paused_apart() {
    let fct = |paused: bool| {
        let mut spec = natural(star(5, scheme("none")));
        spec.nic.ack_class = None;
        spec.switch.ecn.clear();
        static_pfc(&mut spec, 20_000, 18_000, 60_000);
        spec.links[2].rate = BitRate::from_gbps(10);
        // Host 1 is paused in class 3 most of the time because of its data to host 3. It receives in class 3 from host
        // 4 and in class 5 from host 5.
        let mut classes = vec![5];
        add_flow(&mut spec, 5, 1, 100_000, 0);
        if paused {
            add_flow(&mut spec, 1, 3, 1_000_000, 0);
            add_flow(&mut spec, 4, 1, 100_000, 0);
            classes.extend([3, 3]);
        }
        for (flow, class) in spec.flows.iter_mut().zip(classes) {
            flow.class = class;
        }
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        outcome.flows[0].fct.as_ns()
    };
    let (alone, beside) = (fct(false), fct(true));
    // Half of the link for as long as host 4 sends, and no pause.
    assert!(beside < 2 * alone, "{beside} {alone}");
}

/// A path back through the port that packets came from, and a failure while it has sent pauses.
#[test]
fn failures_on_the_way_back() {
    // Host 5 - 0 - {1, 2} - 3 - host 4. Packets at 1 turn back to 0 when 1 - 3 fails, and 0 - 1 fails while they wait.
    let mut spec = natural(star(2, scheme("none")));
    spec.nodes = [vec![NodeKind::Switch; 4], vec![NodeKind::Host; 3]].concat();
    let g = BitRate::from_gbps;
    spec.links = vec![
        link(0, 1, g(100)),
        link(0, 2, g(100)),
        link(1, 3, g(100)),
        link(2, 3, g(100)),
        link(3, 4, g(100)),
        link(0, 5, g(400)),
        link(0, 6, g(400)),
    ];
    // About 60 KB are on the long cable when their path ends, and 0 soon pauses packets that come back.
    spec.links[0].delay = Span::from_us(5);
    static_pfc(&mut spec, 5_000, 3_000, 200_000);
    for k in 0..8 {
        add_flow(&mut spec, 5 + k % 2, 4, 300_000, 0);
    }
    for at in (3_000..40_000).step_by(700) {
        let mut spec = spec.clone();
        for (link, delay) in [(2, 0), (0, 11_000)] {
            spec.failures.push(LinkFailure {
                link,
                at: Time::from_ns(at + delay),
                until: Some(Time::from_ns(at + 30_000)),
            });
        }
        assert_complete(&spec, &run(spec.clone()));
    }
}

#[test]
fn instants_beyond_the_end_of_time() {
    let mut spec = natural(star(2, scheme("hpcc")));
    add_flow(&mut spec, 1, 2, 100_000, 0);
    spec.stop = Time::from_ns(7 * 86_400 * 1_000_000_000);
    let error = Simulation::new(spec.clone()).err().unwrap().to_string();
    assert_eq!(error, "the run would stop at 604800s; runs stop before 576461 s");
    // A timeout beyond the end of time never comes.
    spec.stop = Time::from_ns(1_000_000_000);
    spec.nic.rto = Some(Span::from_ps(u64::MAX / 2));
    assert_complete(&spec, &run(spec.clone()));
}

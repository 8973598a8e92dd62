use super::*;

const T: Span = Span::from_us(100);

fn rule(variant: Variant) -> Rule {
    Rule {
        variant,
        max_ton: T,
        threshold: 5000,
    }
}

fn us(us: u64) -> Time {
    Time::from_ns(us * 1000)
}

/// State machine under test, driven by departures.
struct Port {
    rule: Rule,
    machine: Machine,
}

impl Port {
    fn new(variant: Variant) -> Self {
        Self {
            rule: rule(variant),
            machine: Machine::default(),
        }
    }

    fn leaves(&mut self, at: Time, left: u32) -> (Verdict, PortState) {
        let verdict = self.machine.on_departure(&self.rule, at, left);
        (verdict, self.machine.state(&self.rule, at, left))
    }
}

use PortState::{Checking, Congested, NotCongested, Undetermined};
use Verdict::{Congested as Root, Curve, Spared, Undetermined as Ue};

/// Table of the thesis for several links, ε = 0.05 (with the MTUs that it gives).
#[test]
fn equation_3_3() {
    let ns = |gbps, delay_us, mtu| {
        let (rate, mtu) = (BitRate::from_gbps(gbps), Bytes::new(mtu));
        let gap = Bytes::new(2 * mtu.get());
        max_ton(0.05, gap, rate, mtu, Span::from_us(delay_us)).as_ps() as f64 / 1e6
    };
    let close = |found: f64, printed: f64| assert!((found - printed).abs() < 0.06, "{found} {printed}");
    close(ns(40, 4, 1000), 100.4);
    close(ns(100, 1, 1000), 27.0);
    close(ns(100, 2, 1030), 49.1);
    close(ns(200, 1, 4096), 32.2);
    close(ns(400, 1, 4096), 27.1);
}

#[test]
fn without_pauses_it_is_the_curve() {
    for variant in [Variant::Thesis, Variant::AsCoded, Variant::Adaptive(2.0)] {
        let mut port = Port::new(variant);
        assert_eq!(port.leaves(us(1), 4000), (Curve, NotCongested));
        assert_eq!(port.leaves(us(2), 6000), (Curve, Congested));
        assert_eq!(port.leaves(us(3), 5000), (Curve, NotCongested));
    }
}

/// (3), (6), and the exit by a queue that drains, (4).
#[test]
fn a_victim_is_undetermined_then_free() {
    let mut port = Port::new(Variant::Thesis);
    assert_eq!(port.leaves(us(10), 90_000), (Curve, Congested));
    port.machine.on_resume(us(50), 300_000);
    assert_eq!(port.leaves(us(51), 299_000), (Ue, Undetermined));
    // Paused again: T counts from the last resume.
    port.machine.on_resume(us(140), 320_000);
    assert_eq!(port.leaves(us(240), 200_000), (Ue, Undetermined));
    assert_eq!(port.leaves(us(241), 199_000), (Spared, Checking));
    assert_eq!(port.leaves(us(300), 210_000), (Spared, Checking), "not due");
    assert_eq!(
        port.leaves(us(341), 120_000),
        (Spared, Checking),
        "less than at 241 us"
    );
    assert_eq!(port.leaves(us(400), 5000), (Spared, NotCongested));
    assert_eq!(port.leaves(us(401), 6000), (Curve, Congested));
}

/// (5): at once if the queue is not shorter than at the resume; after a period if it shrank only at first.
#[test]
fn a_queue_that_does_not_shrink_is_congested() {
    let mut port = Port::new(Variant::Thesis);
    port.machine.on_resume(us(50), 300_000);
    assert_eq!(port.leaves(us(60), 299_000), (Ue, Undetermined));
    assert_eq!(port.leaves(us(151), 300_000), (Root, Congested));
    let mut port = Port::new(Variant::Thesis);
    port.machine.on_resume(us(50), 300_000);
    assert_eq!(port.leaves(us(60), 299_000), (Ue, Undetermined));
    assert_eq!(port.leaves(us(151), 250_000), (Spared, Checking));
    assert_eq!(port.leaves(us(250), 250_000), (Spared, Checking));
    assert_eq!(port.leaves(us(251), 250_000), (Root, Congested));
}

/// Differences of the public code: whole microseconds, the queue's first 1030 bytes, tolerated growth per
/// period, and its drained threshold.
#[test]
fn as_coded_is_another_machine() {
    let at = |ps| Time::from_ps(ps);
    let both = |left: &[(Time, u32)]| {
        [Variant::Thesis, Variant::AsCoded].map(|variant| {
            let mut port = Port::new(variant);
            port.machine.on_resume(at(50_900_000), 300_000);
            let states = left.iter().map(|&(at, left)| port.leaves(at, left));
            states.last().expect("there are packets")
        })
    };
    // 100.05 us after the resume: 150 - 50 whole microseconds are 100.
    let late = (at(150_950_000), 300_000);
    assert_eq!(both(&[late]), [(Curve, Congested), (Ue, Undetermined)]);
    let begin = (at(60_000_000), 299_000);
    assert_eq!(both(&[begin, late]), [(Root, Congested), (Ue, Undetermined)]);
    // A queue of constant length counts as shrinking in the public code.
    let stays = [begin, (at(152_000_000), 200_000), (at(252_000_000), 200_899)];
    assert_eq!(both(&stays), [(Root, Congested), (Spared, Checking)]);
    let grows = [begin, (at(152_000_000), 200_000), (at(252_000_000), 200_900)];
    assert_eq!(both(&grows), [(Root, Congested); 2]);
    // 3090 bytes are 2060 plus the first 1030.
    let drains = |left| both(&[begin, (at(152_000_000), 200_000), (at(160_000_000), left)]);
    assert_eq!(drains(5000), [(Spared, NotCongested), (Spared, Checking)]);
    assert_eq!(drains(3091), [(Spared, NotCongested), (Spared, Checking)]);
    assert_eq!(drains(3090), [(Spared, NotCongested); 2]);
}

/// Runs of 30 us: ON-OFF mode ends after 60 us, unless (3.3) is shorter.
#[test]
fn adaptive_goes_by_what_was_seen() {
    let mut port = Port::new(Variant::Adaptive(2.0));
    for i in 0..3 {
        port.machine.on_resume(us(100 * i), 300_000);
        assert_eq!(port.leaves(us(100 * i + 29), 299_000), (Ue, Undetermined));
        port.machine.on_pause(&port.rule, us(100 * i + 30), 0);
    }
    port.machine.on_resume(us(300), 300_000);
    assert_eq!(port.leaves(us(360), 299_000), (Ue, Undetermined));
    assert_eq!(port.leaves(us(361), 280_000), (Spared, Checking));
    let mut port = Port::new(Variant::Adaptive(20.0));
    port.machine.on_resume(us(0), 300_000);
    port.machine.on_pause(&port.rule, us(30), 0);
    port.machine.on_resume(us(50), 300_000);
    assert_eq!(port.leaves(us(151), 4000), (Curve, NotCongested));
}

/// A queue that grows during a port's first pause is not congestion of the port.
#[test]
fn a_paused_port_is_what_it_was() {
    let mut port = Port::new(Variant::Thesis);
    let state = |port: &Port, at, queue| port.machine.state(&port.rule, us(at), queue);
    assert_eq!(state(&port, 1, 6000), Congested);
    port.machine.on_pause(&port.rule, us(10), 2000);
    assert_eq!(state(&port, 20, 300_000), NotCongested);
    port.machine.on_resume(us(50), 300_000);
    assert_eq!(port.leaves(us(51), 299_000), (Ue, Undetermined));
    port.machine.on_pause(&port.rule, us(60), 299_000);
    assert_eq!(state(&port, 70, 400_000), Undetermined);
}

/// A port with nothing to send leaves ON-OFF mode by time alone.
#[test]
fn an_idle_port_is_free_in_time() {
    let mut port = Port::new(Variant::Thesis);
    port.machine.on_resume(us(50), 3000);
    port.leaves(us(51), 0);
    let state = |at, queue| port.machine.state(&port.rule, us(at), queue);
    assert_eq!(state(150, 0), Undetermined);
    assert_eq!(state(151, 0), NotCongested);
    assert_eq!(state(151, 1000), Undetermined);
}

/// The curve decides for a port that was never paused, or has left ON-OFF mode, until a pause ends.
#[test]
fn what_rests_would_say_nothing_new() {
    for variant in [Variant::Thesis, Variant::AsCoded] {
        let mut port = Port::new(variant);
        let is_inactive = |port: &Port, at| port.machine.is_inactive(&port.rule, us(at));
        assert!(is_inactive(&port, 10));
        port.machine.on_resume(us(50), 300_000);
        assert!(!is_inactive(&port, 50));
        port.leaves(us(51), 299_000);
        assert!(
            !is_inactive(&port, 51) && !is_inactive(&port, 200),
            "a packet has to leave first"
        );
        assert_eq!(port.leaves(us(200), 299_000), (Spared, Checking));
        assert!(!is_inactive(&port, 200));
        assert_eq!(port.leaves(us(201), 0), (Spared, NotCongested));
        assert!(is_inactive(&port, 201));
    }
}

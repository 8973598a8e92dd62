//! ACC in a network: what senders stop for is the queue, and it drains once.

mod common;

use std::sync::{Arc, Mutex};

use common::{add_flow, assert_complete, kb, natural, run, run_with, scheme, star};
use paceline_congestion::acc::{Acc, Params};
use paceline_congestion::registry::Maker;
use paceline_congestion::{AckInfo, CongestionControl, Ctx, Outgoing, SendLimits};
use paceline_fabric::Outcome;
use paceline_fabric::spec::*;
use paceline_kernel::{Bytes, Span, Time};

/// When each sender first stopped, and what for, in bytes.
type Stops = Arc<Mutex<Vec<(Time, u64)>>>;

/// A sender that tells when it stops for the first time.
#[derive(Clone)]
struct Watched {
    sender: Acc,
    has_stopped: bool,
    stops: Stops,
}

impl CongestionControl for Watched {
    fn limits(&self) -> SendLimits {
        self.sender.limits()
    }
    fn tag(&mut self, cx: &mut Ctx<'_>, packet: &Outgoing) -> u8 {
        self.sender.tag(cx, packet)
    }
    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        self.sender.on_ack(cx, ack);
        if let Some(until) = self.sender.stopped_until()
            && !self.has_stopped
        {
            self.has_stopped = true;
            self.stops.lock().unwrap().push((cx.now, until - ack.seq));
        }
    }
    fn on_timeout(&mut self, cx: &mut Ctx<'_>) {
        self.sender.on_timeout(cx);
    }
}

/// So many hosts send to one from one instant, at 100 Gbit/s and 1 us per link, steps of marks at 20 KB.
fn incast(flows: u32) -> RunSpec {
    let mut spec = natural(star(flows + 1, scheme("acc")));
    for curve in &mut spec.switch.ecn {
        (curve.kmin, curve.kmax, curve.pmax) = (kb(20), kb(20), 1.0);
    }
    for host in 1..=flows {
        add_flow(&mut spec, host, flows + 1, 1_000_000, 0);
    }
    spec.record.queue_every = Some(Span::from_ns(100));
    spec
}

/// The queue of the congested port over time, in bytes.
fn queue(outcome: &Outcome) -> Vec<(Time, u64)> {
    let busiest = outcome.queues.iter().max_by_key(|queue| queue.max).unwrap();
    busiest.series.bins().map(|bin| (bin.at, bin.last)).collect()
}

/// The sum of what all senders stop for is the queue, a packet per flow more or less; then the queue falls to a packet
/// per flow, while the port keeps sending.
#[test]
fn the_sum_of_excesses_is_the_queue() {
    for flows in [2, 8, 32] {
        let spec = incast(flows);
        let stops = Stops::default();
        let all = Arc::clone(&stops);
        let make = move |path: &paceline_congestion::PathInfo| -> Box<dyn CongestionControl> {
            Box::new(Watched {
                sender: Acc::new(&Params::default(), path),
                has_stopped: false,
                stops: Arc::clone(&all),
            })
        };
        let outcome = run_with(spec.clone(), &Maker::new(make));
        assert_complete(&spec, &outcome);
        let stops = stops.lock().unwrap();
        assert_eq!(stops.len() as u32, flows);
        let (first, excess) = (stops[0].0, stops.iter().map(|stop| stop.1).sum::<u64>());
        let queue = queue(&outcome);
        let (_, then) = *queue.iter().rev().find(|(at, _)| *at <= first).unwrap();
        // Of payload.
        let then = then * 1000 / 1048;
        assert!(
            then.abs_diff(excess) <= u64::from(flows) * 1000,
            "{flows}: {then} {excess}"
        );
        let packets = u64::from(flows) * 1048;
        let (gone, _) = *queue
            .iter()
            .find(|(at, bytes)| *at > first && *bytes <= packets)
            .expect("the queue drains");
        // At 12.5 bytes per ns.
        let least = then * 1048 / 12_500;
        let took = (gone - first).as_ns();
        assert!(took < least + 10_000, "{flows}: {took} ns for {least}");
        assert_eq!(outcome.counters.pauses, 0);
    }
}

/// The same senders by themselves, and as the list of schemes has them.
#[test]
fn the_link_stays_busy() {
    for flows in [2, 8, 32] {
        let spec = incast(flows);
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        let first = outcome.flows.iter().map(|flow| flow.fct).min().unwrap();
        let arrived: u64 = outcome.flows.iter().map(|flow| flow.delivered.get()).sum();
        assert_eq!(arrived, u64::from(flows) * 1_000_000);
        // All of it takes no longer than 8 % above the link's time: what ends last ends alone.
        let last = outcome.flows.iter().map(|flow| flow.fct).max().unwrap();
        let least = arrived as f64 * 1048.0 / 1000.0 / 12.5;
        assert!(
            first < last && (last.as_ns() as f64) < 1.15 * least + 10_000.0,
            "{flows}: {last}"
        );
    }
}

/// Beside a scheme that is deaf: it takes what the others leave, and nothing stands still.
#[test]
fn it_shares_with_one_that_does_not_listen() {
    let mut spec = incast(3);
    spec.schemes.push(scheme("none"));
    spec.flows[2].scheme = 1;
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert!(outcome.flows[2].fct < outcome.flows[0].fct);
    assert_eq!(outcome.counters.buffer_drops, 0);
}

/// Losses are survived: a quarter of a buffer, and no pauses.
#[test]
fn losses_are_repaired() {
    let mut spec = incast(8);
    spec.switch.flow_control = FlowControl::None;
    spec.switch.buffer = Bytes::new(200_000);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert!(outcome.counters.buffer_drops > 0);
}

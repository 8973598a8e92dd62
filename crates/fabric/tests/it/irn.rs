//! IRN: which packets are retransmitted, when, and which wait.

use std::sync::{Arc, Mutex};

use crate::common::{add_flow, assert_complete, natural, run, run_with, scheme_with, star, traced};
use paceline_congestion::registry::{SchemeFactory, WindowMode};
use paceline_congestion::{AckInfo, CongestionControl, Ctx, PathInfo, SendLimits};
use paceline_fabric::outcome::{FlowStatus, Outcome, PacketKind, TraceKind};
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span, Time};

/// The paper's settings: 100 and 320 us, fewer than 3 packets, in order.
const IRN: Irn = Irn {
    rto_low: Span::from_us(100),
    rto_high: Span::from_us(320),
    low_packets: 3,
    bdp_cap: true,
    reordering: 0,
};

/// Times in ps of a packet and of an acknowledgement at 100 Gbit/s, and of a cable.
const DATA: u64 = 83_840;
const ACK: u64 = 4_800;
const CABLE: u64 = 1_000_000;

/// A flow of `packets` from host 1 to host 2 at line rate; link 0 leads to host 1, link 1 to host 2.
fn flow(packets: u64) -> RunSpec {
    let mut spec = natural(star(2, scheme_with("none", WindowMode::Off, &[])));
    spec.switch.ecn.clear();
    spec.nic.recovery = Recovery::SelectiveRepeat(IRN);
    add_flow(&mut spec, 1, 2, 1000 * packets, 0);
    spec.record.trace_nodes = vec![NodeId(1), NodeId(2)];
    spec.record.accounts = Accounted::All;
    spec
}

/// Loses everything on `link` at `ns`.
fn lose(spec: &mut RunSpec, link: usize, ns: u64) {
    spec.failures.push(LinkFailure {
        link,
        at: Time::from_ns(ns),
        until: Some(Time::from_ns(ns + 1)),
    });
}

fn sent(outcome: &Outcome) -> Vec<u64> {
    let events = traced(outcome, 1, TraceKind::Dequeue);
    events.map(|e| e.seq / 1000).collect()
}

/// Returns the start of each transmission of packet `number`, in ps.
fn sent_at(outcome: &Outcome, number: u64) -> Vec<u64> {
    let events = traced(outcome, 1, TraceKind::Dequeue);
    events
        .filter(|e| e.seq == 1000 * number)
        .map(|e| e.at.as_ps())
        .collect()
}

/// At 2 us packets 11 to 22 and part of 23 are on the first link: twelve and a half, all lost. They are retransmitted
/// in order, once, as soon as a NACK arrives; packets that had arrived are not.
#[test]
fn a_burst_of_losses() {
    let mut spec = flow(200);
    lose(&mut spec, 0, 2_000);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let order = sent(&outcome);
    let back = order.windows(2).position(|w| w[1] < w[0]).unwrap() + 1;
    let lost: Vec<u64> = (11..11 + outcome.counters.link_drops).collect();
    assert!((12..=13).contains(&lost.len()), "{}", lost.len());
    assert_eq!(order[..back], (0..back as u64).collect::<Vec<_>>());
    assert_eq!(order[back..back + lost.len()], lost);
    assert_eq!(order[back + lost.len()..], (back as u64..200).collect::<Vec<_>>());
    assert_eq!(
        outcome.flows[0].retransmitted,
        Bytes::new(1000 * lost.len() as u64)
    );
    // The first packet behind the gap takes two hops, its NACK two more.
    let behind = sent_at(&outcome, 11 + lost.len() as u64)[0];
    let again = sent_at(&outcome, 11)[1];
    let nack = behind + 2 * (DATA + CABLE) + 2 * (ACK + CABLE);
    assert!((nack..nack + DATA).contains(&again), "{nack} {again}");
    // Every packet beyond the gap is reported, until the gap is filled.
    let nacks: Vec<_> = traced(&outcome, 2, TraceKind::Dequeue)
        .filter(|e| e.kind == PacketKind::Nack)
        .collect();
    assert_eq!(nacks.len() as u64, outcome.counters.nacks);
    let gaps: Vec<u64> = nacks.iter().map(|e| e.seq / 1000).collect();
    assert!(gaps.len() > 30 && gaps.iter().all(|&gap| gap == 11), "{gaps:?}");
    assert_eq!(outcome.counters.timeouts, 0);
}

/// The retransmission is lost as well: it is repeated when the higher timeout has run from then on.
#[test]
fn a_retransmission_is_lost() {
    let mut spec = flow(200);
    lose(&mut spec, 1, 1_350);
    let once = run(spec.clone());
    let lost = once.counters.link_drops;
    assert!(lost > 0 && once.counters.timeouts == 0);
    let first = sent(&once).windows(2).find(|w| w[1] < w[0]).unwrap()[1];
    let again = sent_at(&once, first)[1];
    // Its first bit has just left.
    lose(&mut spec, 0, again / 1000 + 10);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let times = sent_at(&outcome, first);
    assert_eq!(times.len(), 3);
    assert_eq!(outcome.counters.timeouts, 1);
    let waited = times[2] - again;
    assert!(
        (320_000_000..320_000_000 + 2 * DATA).contains(&waited),
        "{waited}"
    );
}

/// One packet, two packets: the lower timeout. Three: the higher one, and one round trip for each that follows.
#[test]
fn the_tail_is_lost() {
    for (packets, timeout) in [(1, 100), (2, 100), (3, 320)] {
        let mut spec = flow(packets);
        lose(&mut spec, 0, 900);
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        assert_eq!(outcome.counters.link_drops, packets);
        assert_eq!(outcome.counters.timeouts, 1, "{packets}");
        let round_trip = 2 * (DATA + CABLE) + 2 * (ACK + CABLE);
        for number in 0..packets {
            let times = sent_at(&outcome, number);
            assert_eq!(times.len(), 2);
            assert_eq!(
                times[1],
                timeout * 1_000_000 + number * round_trip,
                "{packets} {number}"
            );
        }
    }
}

/// Later acknowledgements make up for lost ones; for the last one a timeout does, after which the receiver, which has
/// everything, acknowledges again.
#[test]
fn acknowledgements_are_lost() {
    // The first acknowledgements are on the path back from 2.17 us on.
    let mut spec = flow(200);
    lose(&mut spec, 1, 2_600);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let acks = traced(&outcome, 2, TraceKind::Dequeue).count() as u64;
    let back = traced(&outcome, 1, TraceKind::Receive).count() as u64;
    assert!(acks > back, "acknowledgements were lost");
    let data = outcome.counters.link_drops - (acks - back);
    assert_eq!(outcome.counters.retransmitted_bytes, 1000 * data);

    let mut spec = flow(1);
    lose(&mut spec, 0, 4_100);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert_eq!(sent_at(&outcome, 0), [0, 100_000_000]);
    assert_eq!(
        (outcome.counters.timeouts, outcome.counters.data_received),
        (1, 2)
    );
}

/// A bandwidth-delay product of packets leaves before the first acknowledgement is back; without BDP-FC there is no
/// limit.
#[test]
fn bdp_cap() {
    let in_flight = |bdp_cap: bool| {
        let mut spec = flow(500);
        spec.nic.recovery = Recovery::SelectiveRepeat(Irn { bdp_cap, ..IRN });
        // Half a round trip of waiting that is not part of the product.
        spec.links[1].delay = Span::from_us(1);
        spec.nic.ack = AckPolicy::EveryPackets(16);
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        assert_eq!(outcome.counters.retransmitted_bytes, 0);
        let first = traced(&outcome, 1, TraceKind::Receive).next().unwrap().at;
        let before = traced(&outcome, 1, TraceKind::Dequeue).filter(|e| e.at < first);
        (before.count() as u64, outcome.bdp.get() / 1000)
    };
    let (capped, product) = in_flight(true);
    assert_eq!(capped, product);
    let (open, _) = in_flight(false);
    // Sixteen packets and a round trip, in packets.
    assert!(open > product + 10, "{open} {product}");
}

/// Only packets that found no room in buffers are retransmitted: without reordering and with every acknowledgement, IRN
/// repeats exactly the lost ones.
#[test]
fn only_what_was_lost() {
    let mut spec = natural(star(9, scheme_with("none", WindowMode::Off, &[])));
    spec.switch.flow_control = FlowControl::None;
    spec.switch.buffer = Bytes::new(200_000);
    spec.nic.recovery = Recovery::SelectiveRepeat(Irn {
        rto_low: Span::from_us(1000),
        rto_high: Span::from_us(1000),
        ..IRN
    });
    for host in 1..=8 {
        add_flow(&mut spec, host, 9, 300_000, 0);
    }
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert!(outcome.counters.buffer_drops > 100, "{:?}", outcome.counters);
    assert_eq!(
        outcome.counters.retransmitted_bytes,
        1000 * outcome.counters.buffer_drops,
        "{:?}",
        outcome.counters
    );
}

/// A slot that one flow leaves serves the next, without any packets of the first.
#[test]
fn slots_are_used_again() {
    let mut spec = flow(50);
    spec.links.iter_mut().for_each(|link| link.error_rate = 0.02);
    for i in 1..40 {
        add_flow(&mut spec, 1, 2, 1000 + 777 * i, i * 700_000);
    }
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert!(
        outcome
            .flows
            .iter()
            .all(|flow| flow.status == FlowStatus::Completed)
    );
}

/// Values of each acknowledgement: the highest byte, bytes delivered, bytes in flight, newly acknowledged bytes.
type Seen = Arc<Mutex<Vec<[u64; 4]>>>;

/// Sends at line rate and logs acknowledgements.
#[derive(Clone, Debug)]
struct Listener(Seen);

impl CongestionControl for Listener {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: BitRate::from_gbps(100),
            window: Bytes::MAX,
        }
    }
    fn on_ack(&mut self, _: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        let seen = [ack.highest, ack.delivered, ack.in_flight(), ack.newly_acked];
        self.0.lock().unwrap().push(seen);
    }
}

/// Schemes see a gap: bytes beyond it are delivered, and those in it are not and count as in flight.
#[test]
fn a_gap_is_not_delivered() {
    let mut spec = flow(200);
    lose(&mut spec, 0, 2_000);
    let seen = Seen::default();
    let shared = Arc::clone(&seen);
    let make = move |_: &PathInfo| -> Box<dyn CongestionControl> { Box::new(Listener(Arc::clone(&shared))) };
    let outcome = run_with(spec.clone(), &SchemeFactory::new(make));
    assert_complete(&spec, &outcome);
    let seen = seen.lock().unwrap();
    let mut total = 0;
    for &[highest, delivered, _, newly] in seen.iter() {
        total += newly;
        assert_eq!(delivered, total, "as many as were acknowledged");
        assert!(delivered <= highest && highest <= 200_000);
    }
    assert_eq!(seen.last().unwrap()[..3], [200_000, 200_000, 0]);
    let gap = 1000 * outcome.counters.link_drops;
    let widest = seen
        .iter()
        .map(|[highest, delivered, ..]| highest - delivered)
        .max();
    assert_eq!(widest, Some(gap));
}

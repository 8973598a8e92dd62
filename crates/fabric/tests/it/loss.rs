//! Losses: drop policies, trimming, lossy next to lossless classes; every kind of recovery repairs them.

use crate::common::{add_flow, assert_complete, natural, run, scheme, scheme_with, star, static_pfc, traced};
use paceline_congestion::registry::WindowMode;
use paceline_fabric::outcome::{FlowStatus, Outcome, PacketKind, TraceKind};
use paceline_fabric::spec::*;
use paceline_fabric::{BuildError, Simulation};
use paceline_kernel::{Bytes, Span};
use proptest::prelude::*;

const IRN: Irn = Irn {
    rto_low: Span::from_us(1000),
    rto_high: Span::from_us(1000),
    low_packets: 3,
    bdp_cap: true,
    reordering: 0,
};

const RECOVERIES: [Recovery; 2] = [Recovery::GoBackN, Recovery::SelectiveRepeat(IRN)];

/// Bytes of eight full packets on the wire.
const EIGHT: u64 = 8 * 1048;

/// Hosts 1 to `senders` send `packets` each to the next one at line rate, through a lossy switch.
fn incast(senders: u32, packets: u64, recovery: Recovery) -> RunSpec {
    let mut spec = natural(star(senders + 1, scheme_with("none", WindowMode::Off, &[])));
    spec.switch.ecn.clear();
    spec.switch.flow_control = FlowControl::None;
    spec.nic.recovery = recovery;
    for host in 1..=senders {
        add_flow(&mut spec, host, senders + 1, 1000 * packets, 0);
    }
    spec.record.trace_nodes = vec![NodeId(senders + 1)];
    spec.record.accounts = Accounted::All;
    spec
}

fn trimming(senders: u32, packets: u64, recovery: Recovery) -> RunSpec {
    let mut spec = incast(senders, packets, recovery);
    spec.switch.loss.drop = DropPolicy::Tail(Bytes::new(EIGHT));
    spec.switch.loss.trim = Some(Trim {
        queue: Bytes::new(100_000),
    });
    spec
}

/// Two packets arrive for each that leaves: behind the ninth the queue is full, and the next one loses its payload. Its
/// headers overtake the queue. IRN's NACK leaves the instant they arrive. Go-back-N's leaves when the packets that they
/// overtook have arrived: before that nothing is missing.
#[test]
fn headers_overtake() {
    for recovery in RECOVERIES {
        let spec = trimming(2, 60, recovery);
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        let counters = outcome.counters;
        assert!(counters.trimmed > 10, "{counters:?}");
        assert_eq!((counters.buffer_drops, counters.timeouts), (0, 0), "{recovery:?}");
        let headers: Vec<_> = traced(&outcome, 3, TraceKind::Receive)
            .filter(|e| e.kind == PacketKind::Data && e.payload == 0)
            .collect();
        assert_eq!(headers.len() as u64, counters.trimmed);
        assert!(headers.iter().all(|e| (e.wire, e.class) == (48, 0)));
        // The header had to wait for one packet at most.
        let first = headers[0];
        let (data, header, cable) = (83_840, 3_840, 1_000_000);
        let sent = first.seq / 1000 * data;
        let least = sent + data + cable + header + cable;
        let late = first.at.as_ps() - least;
        assert!(late <= data, "{late}");
        let nack = traced(&outcome, 3, TraceKind::Dequeue)
            .find(|e| e.kind == PacketKind::Nack && e.flow == first.flow)
            .unwrap();
        if recovery == Recovery::GoBackN {
            assert_eq!(nack.seq, first.seq);
            let waits = nack.at.as_ps() - first.at.as_ps();
            assert!(waits > 0 && waits < 9 * data, "{waits}");
        } else {
            // Behind an acknowledgement that is leaving.
            assert!(nack.at.as_ps() - first.at.as_ps() <= 4_800);
        }
        if recovery != Recovery::GoBackN {
            // Trimmed packets are retransmitted, and no others.
            assert_eq!(counters.retransmitted_bytes, 1000 * counters.trimmed);
        }
    }
}

/// Go-back-N sends a NACK for each trimmed transmission of the next expected packet: no minimum interval of NACKs
/// delays it.
#[test]
fn trimmed_again_and_again() {
    let mut spec = trimming(8, 40, Recovery::GoBackN);
    spec.nic.nack_interval = Span::from_us(100_000);
    spec.nic.rto = Some(Span::from_us(100_000));
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let last = outcome.flows.iter().map(|flow| flow.fct).max().unwrap();
    assert!(last < Span::from_us(100_000), "{last}");
}

/// Headers have a separate limit. Beyond it they are dropped, and later packets reveal the loss.
#[test]
fn headers_are_dropped() {
    for recovery in RECOVERIES {
        let mut spec = trimming(16, 60, recovery);
        spec.switch.loss.trim = Some(Trim {
            queue: Bytes::new(4 * 48),
        });
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        assert!(outcome.counters.trimmed > 0 && outcome.counters.buffer_drops > 0);
    }
}

/// A queue never holds more than its limit. A dynamic limit is `alpha` times the free buffer.
#[test]
fn limits_of_queues() {
    let queue_max = |drop: DropPolicy| {
        let mut spec = incast(16, 200, Recovery::SelectiveRepeat(IRN));
        spec.switch.buffer = Bytes::new(200_000 + 17 * 4096);
        spec.switch.loss.drop = drop;
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        assert!(outcome.counters.buffer_drops > 0);
        assert_eq!(
            outcome.counters.retransmitted_bytes,
            1000 * outcome.counters.buffer_drops
        );
        outcome.queue_max.get()
    };
    let tail = queue_max(DropPolicy::Tail(Bytes::new(EIGHT)));
    assert_eq!(tail, EIGHT);
    // All of the pool, and of the reserves of 16 ports.
    let shared = queue_max(DropPolicy::Shared);
    assert!((200_000..=200_000 + 16 * 4096).contains(&shared), "{shared}");
    // The reserves of the senders' ports are used first. Then q = a (200000 - (q - 65536)).
    let quarter = queue_max(DropPolicy::Dynamic { alpha: 0.25 });
    let balance = 0.25 * (200_000.0 + 65_536.0) / 1.25;
    assert!(
        (quarter as f64 - balance).abs() < 2.0 * 1048.0 + 65_536.0 * 0.25,
        "{quarter} {balance}"
    );
    assert!(quarter > 40_000 && quarter <= 54_000, "{quarter}");
}

/// Class 3 is lossless, class 5 is lossy. Through one port, class 3 is paused and loses nothing, class 5 is dropped and
/// pauses nobody.
#[test]
fn lossy_beside_lossless() {
    let mut spec = incast(8, 300, Recovery::SelectiveRepeat(IRN));
    static_pfc(&mut spec, 20_000, 18_000, 60_000);
    spec.switch.buffer = Bytes::new(9 * (60_000 + 4096) + 300_000);
    spec.switch.loss = LossSpec {
        lossless: 1 << 3,
        drop: DropPolicy::Dynamic { alpha: 0.5 },
        trim: None,
    };
    for flow in spec.flows.iter_mut().filter(|flow| flow.src.0 > 4) {
        flow.class = 5;
    }
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let counters = outcome.counters;
    assert!(counters.buffer_drops > 0 && counters.pauses > 0, "{counters:?}");
    assert_eq!(counters.lossless_drops, 0);
    assert!(outcome.pfc.iter().all(|frame| frame.class == 3));
    for (flow, spec) in outcome.flows.iter().zip(&spec.flows) {
        if spec.class == 3 {
            assert_eq!(flow.retransmitted, Bytes::ZERO);
        }
    }
}

/// Settings that contradict each other are refused.
#[test]
fn refused() {
    let why = |change: &dyn Fn(&mut RunSpec)| {
        let mut spec = incast(2, 10, Recovery::SelectiveRepeat(IRN));
        change(&mut spec);
        match Simulation::new(spec) {
            Err(error @ (BuildError::BadHost(_) | BuildError::BadFlowControl(_))) => error.to_string(),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("accepted"),
        }
    };
    let irn = |irn: Irn| why(&move |spec| spec.nic.recovery = Recovery::SelectiveRepeat(irn));
    let low = Irn {
        rto_low: Span::ZERO,
        ..IRN
    };
    assert_eq!(irn(low), "hosts: IRN: its lower timeout is zero");
    let high = Irn {
        rto_high: Span::from_us(999),
        ..IRN
    };
    assert_eq!(irn(high), "hosts: IRN: its higher timeout is below the lower one");
    assert_eq!(
        why(&|spec| spec.nic.back_to_chunk = Some(Bytes::new(4000))),
        "hosts: IRN: it repeats packets, not chunks"
    );
    assert_eq!(
        why(&|spec| {
            static_pfc(spec, 20_000, 18_000, 60_000);
            spec.switch.loss.trim = Some(Trim { queue: Bytes::ZERO });
        }),
        "flow control: switches are to trim packets, and every flow's class is lossless"
    );
    assert_eq!(
        why(&|spec| spec.switch.loss.drop = DropPolicy::Tail(Bytes::ZERO)),
        "flow control: lossy queues hold zero bytes"
    );
    assert_eq!(
        why(&|spec| spec.switch.loss.drop = DropPolicy::Dynamic { alpha: f64::NAN }),
        "flow control: the share of a lossy queue is not a number above zero"
    );
}

const SCHEMES: [&str; 6] = ["none", "dcqcn", "dctcp", "timely", "hpcc", "swift"];

#[derive(Clone, Debug)]
struct Case {
    scheme: &'static str,
    recovery: Recovery,
    lossy: Option<(DropPolicy, bool)>,
    error_rate: f64,
    flows: Vec<(u32, u32, u64, u64)>,
    coalesce: u32,
    shuffle: u64,
    seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let irn =
        (1u32..6, any::<bool>(), 0u32..6, 20u64..200).prop_map(|(low_packets, bdp_cap, reordering, us)| {
            Recovery::SelectiveRepeat(Irn {
                rto_low: Span::from_us(us),
                rto_high: Span::from_us(3 * us),
                low_packets,
                bdp_cap,
                reordering,
            })
        });
    let drop = prop_oneof![
        Just(DropPolicy::Shared),
        (1u64..30).prop_map(|packets| DropPolicy::Tail(Bytes::new(packets * 1048 + 200))),
        (0.1f64..4.0).prop_map(|alpha| DropPolicy::Dynamic { alpha }),
    ];
    let flow = (1u32..8, 1u32..7, 1u64..120_000, 0u64..60_000);
    (
        0..SCHEMES.len(),
        prop_oneof![1 => Just(Recovery::GoBackN), 2 => irn],
        prop::option::weighted(0.7, (drop, any::<bool>())),
        prop_oneof![1 => Just(0.0), 3 => 0.0001f64..0.05],
        prop::collection::vec(flow, 1..20),
        prop_oneof![3 => Just(1), 1 => 2u32..20],
        any::<u64>(),
        any::<u64>(),
    )
        .prop_map(
            |(which, recovery, lossy, error_rate, flows, coalesce, shuffle, seed)| Case {
                scheme: SCHEMES[which],
                recovery,
                lossy,
                error_rate,
                flows,
                coalesce,
                shuffle,
                seed,
            },
        )
}

fn build(case: &Case) -> RunSpec {
    let mut spec = natural(star(7, scheme(case.scheme)));
    spec.links
        .iter_mut()
        .for_each(|link| link.error_rate = case.error_rate);
    spec.nic.recovery = case.recovery;
    spec.nic.nack_interval = Span::from_us(20);
    spec.nic.ack = AckPolicy::EveryPackets(case.coalesce);
    if let Some((drop, trim)) = case.lossy {
        spec.switch.flow_control = FlowControl::None;
        spec.switch.buffer = Bytes::new(60_000);
        spec.switch.loss.drop = drop;
        spec.switch.loss.trim = trim.then_some(Trim {
            queue: Bytes::new(2_000),
        });
    }
    spec.ties = TieOrder::Shuffled(case.shuffle);
    spec.seed = case.seed;
    spec.record.accounts = Accounted::All;
    let mut flows = case.flows.clone();
    flows.sort_by_key(|flow| flow.3);
    for (src, offset, size, start) in flows {
        add_flow(&mut spec, src, 1 + (src - 1 + offset) % 7, size, start);
    }
    spec
}

/// Returns the bytes that IRN retransmitted beyond those lost.
fn in_vain(outcome: &Outcome) -> u64 {
    let lost = outcome.counters.buffer_drops + outcome.counters.trimmed;
    outcome.counters.retransmitted_bytes.saturating_sub(1000 * lost)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(400), ..ProptestConfig::default() })]

    /// With links that lose up to 5 % of all packets and switches that drop or trim more, no flow hangs, with any
    /// recovery, and every byte arrives once. Invariants of the state are checked during the run.
    #[test]
    fn no_flow_hangs(case in case()) {
        let spec = build(&case);
        let outcome = run(spec.clone());
        for (i, flow) in outcome.flows.iter().enumerate() {
            prop_assert_eq!(flow.status, FlowStatus::Completed, "flow {}: {:?}", i, outcome.counters);
            prop_assert_eq!(flow.delivered, spec.flows[i].size);
        }
        for account in &outcome.accounts {
            prop_assert_eq!(account.total(), outcome.flows[account.flow as usize].fct);
        }
        // In order, with every acknowledgement back and no timeout, nothing is retransmitted in vain.
        let selective = matches!(case.recovery, Recovery::SelectiveRepeat(_));
        if selective && case.error_rate == 0.0 && outcome.counters.timeouts == 0 {
            prop_assert_eq!(in_vain(&outcome), 0, "{:?}", outcome.counters);
        }
    }
}

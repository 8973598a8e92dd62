//! Persistent connections: the state that persists from message to message, and the state that does not.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use crate::common::{add_flow, natural, run, run_with, scheme, star};
use paceline_congestion::PathInfo;
use paceline_congestion::registry::SchemeFactory;
use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::spec::*;
use paceline_fabric::{BuildError, Simulation};
use paceline_kernel::{Bytes, Span, Time};

/// Three hosts send to one over a connection each: 200 KB, and 10 KB long after that is complete.
fn twice() -> RunSpec {
    let mut spec = natural(star(4, scheme("hpcc")));
    for (start, size) in [(0, 200_000), (300_000, 10_000)] {
        (1..=3).for_each(|host| add_flow(&mut spec, host, 4, size, start));
    }
    for (place, flow) in spec.flows.iter_mut().enumerate() {
        flow.connection = NonZeroU32::new(1 + place as u32 % 3);
        flow.sport = 10_000;
    }
    spec.record.flow_every = Some(Span::from_us(1));
    spec.record.flows_max = 8;
    spec
}

/// The scheme of a connection keeps its state; after a pause that is long enough, it starts again.
#[test]
fn a_scheme_lives_on() {
    let fct = |spec: RunSpec| {
        let outcome = run(spec);
        assert!(
            outcome
                .flows
                .iter()
                .all(|flow| flow.status == FlowStatus::Completed)
        );
        outcome.flows[3].fct
    };
    let kept = fct(twice());
    let mut reset = twice();
    reset.nic.idle_reset = Some(Span::from_us(100));
    let mut late = twice();
    late.nic.idle_reset = Some(Span::from_us(1000));
    let mut alone = twice();
    for (place, flow) in alone.flows.iter_mut().enumerate() {
        flow.connection = None;
        flow.sport = 10_000 + place as u16;
    }
    let [reset, late, alone] = [reset, late, alone].map(fct);
    assert_eq!((reset, late), (alone, kept));
    assert_ne!(kept, alone);
}

/// A scheme knows the data to send at its start: a flow's size, or the first message of a connection that starts or
/// starts again.
#[test]
fn a_scheme_is_told_the_first_message() {
    let told = |spec: RunSpec| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (shared, config) = (Arc::clone(&seen), spec.schemes[0].config.clone());
        let factory = SchemeFactory::new(move |path: &PathInfo| {
            shared.lock().unwrap().push(path.first_message.get());
            config.build(path)
        });
        let needs = spec.schemes[0].config.needs();
        run_with(spec, &factory.needing(needs));
        let seen = seen.lock().unwrap();
        (seen.iter().filter(|&&bytes| bytes == 200_000).count(), seen.len())
    };
    let mut reset = twice();
    reset.nic.idle_reset = Some(Span::from_us(100));
    let mut alone = twice();
    alone.flows.iter_mut().for_each(|flow| flow.connection = None);
    assert_eq!(told(twice()), (3, 3));
    assert_eq!(told(reset), (3, 6));
    assert_eq!(told(alone), (3, 6));
}

/// Series belong to queue pairs: one for each connection, over both messages and the time between them.
#[test]
fn series_are_the_queue_pairs() {
    let outcome = run(twice());
    let flows: Vec<u32> = outcome.flow_series.iter().map(|series| series.flow).collect();
    assert_eq!(flows, [0, 1, 2]);
    for (series, second) in outcome.flow_series.iter().zip(&outcome.flows[3..]) {
        let last = series.rate.bins().last().unwrap().at;
        let first = series.rate.bins().next().unwrap().at;
        assert!(first == Time::ZERO && last >= second.start, "{last}");
    }
}

/// The last packet of a message is lost: the first of the next message, which is posted meanwhile, reveals it.
#[test]
fn the_next_message_shows_that_a_tail_is_lost() {
    let mut spec = natural(star(2, scheme("none")));
    for start in [0, 500] {
        add_flow(&mut spec, 1, 2, 5_000, start);
    }
    for flow in &mut spec.flows {
        (flow.connection, flow.sport) = (NonZeroU32::new(1), 10_000);
    }
    // Packets on the second link, or arriving at it, between the fifth packet and the sixth.
    spec.links[1].error_rate = 0.3;
    let mut shown = 0;
    for seed in 1..40 {
        spec.seed = seed;
        let outcome = run(spec.clone());
        let (timeouts, lost) = (outcome.counters.timeouts, outcome.counters.link_drops);
        let first = outcome.flows[0];
        shown += u32::from(timeouts == 0 && lost > 0 && first.retransmitted > Bytes::ZERO);
        assert_eq!(outcome.flows[1].delivered, Bytes::new(5_000));
        assert!(first.fct <= outcome.flows[1].fct + Span::from_ns(500));
    }
    assert!(shown > 0);
}

/// The bytes of messages that have arrived at the end of a run are recorded for each.
#[test]
fn a_run_that_ends_in_a_message() {
    let mut spec = natural(star(2, scheme("none")));
    for size in [3_500, 100_000, 5_000] {
        add_flow(&mut spec, 1, 2, size, 0);
    }
    for flow in &mut spec.flows {
        (flow.connection, flow.sport) = (NonZeroU32::new(1), 10_000);
    }
    spec.stop = Time::from_ns(5_000);
    let outcome = run(spec);
    let got = |flow: usize| (outcome.flows[flow].status, outcome.flows[flow].delivered.get());
    assert_eq!(got(0), (FlowStatus::Completed, 3_500));
    assert_eq!(got(2), (FlowStatus::Unfinished, 0));
    let (status, delivered) = got(1);
    assert_eq!(status, FlowStatus::Unfinished);
    assert!(
        delivered > 0 && delivered < 100_000 && delivered % 1_000 == 0,
        "{delivered}"
    );
    assert!(outcome.flows[1].sent.get() > delivered);
}

/// Flows that cannot share a connection are refused, and so are hosts without connections.
#[test]
fn what_is_refused() {
    let refused = |change: fn(&mut RunSpec)| {
        let mut spec = twice();
        change(&mut spec);
        Simulation::new(spec).err()
    };
    let of_flow = |change| match refused(change) {
        Some(BuildError::BadFlow { flow, why }) => format!("{flow}: {why}"),
        other => format!("{other:?}"),
    };
    let text = of_flow(|spec| spec.flows[4].class = 2);
    assert_eq!(
        text,
        "4: it goes over the connection of flow 1, and has another priority"
    );
    let text = of_flow(|spec| spec.flows[4].connection = NonZeroU32::new(9));
    assert_eq!(
        text,
        "4: it is of connection 9; connections are numbered 1 to 6 at most"
    );
    let chunks = refused(|spec| spec.nic.back_to_chunk = Some(Bytes::new(4000)));
    assert!(matches!(chunks, Some(BuildError::BadHost(why)) if why.contains("a chunk")));
    let quirk = refused(|spec| spec.quirks.lazy_qp_removal = true);
    assert!(matches!(quirk, Some(BuildError::BadHost(why)) if why.contains("lazy-qp-removal")));
}

const IRN: Irn = Irn {
    rto_low: Span::from_us(100),
    rto_high: Span::from_us(320),
    low_packets: 3,
    bdp_cap: true,
    reordering: 0,
};

/// Goodput is recorded for each message, regardless of its connection's number, even if packets are lost.
#[test]
fn goodput_is_of_messages() {
    for (recovery, error_rate) in [
        (Recovery::GoBackN, 0.0),
        (Recovery::GoBackN, 0.01),
        (Recovery::SelectiveRepeat(IRN), 0.01),
    ] {
        let mut spec = twice();
        spec.nic.recovery = recovery;
        spec.links
            .iter_mut()
            .for_each(|link| link.error_rate = error_rate);
        spec.record.rate_every = Some(Span::from_us(1));
        let outcome = run(spec.clone());
        let delivered: Vec<(u32, u64)> = outcome
            .rates
            .iter()
            .map(|record| (record.flow, record.bytes.iter().sum()))
            .collect();
        let sizes: Vec<(u32, u64)> = (0..).zip(spec.flows.iter().map(|flow| flow.size.get())).collect();
        assert_eq!(delivered, sizes, "{recovery:?}, {error_rate}");
    }
}

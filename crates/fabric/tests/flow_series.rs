//! Rate, window and round-trip time of flows over time.

mod common;

use common::{G100, add_flow, natural, run, scheme, scheme_with, star};
use paceline_congestion::registry::WindowMode;
use paceline_fabric::outcome::{FlowPoint, FlowSeries};
use paceline_kernel::{BitRate, Bytes, Span, Time};

/// Alone, nothing changes but that a round trip is known once there was one: two packets of 83.84 ns,
/// two of 4.8 ns, four links of 1 us.
#[test]
fn a_flow_alone() {
    let mut spec = natural(star(2, scheme_with("none", WindowMode::Fixed, &[])));
    add_flow(&mut spec, 1, 2, 1_000_000, 300);
    (spec.record.flow_every, spec.record.flows_max) = (Some(Span::from_us(1)), 10);
    let outcome = run(spec);
    let point = |ns, rtt_ps| FlowPoint {
        at: Time::from_ns(ns),
        rate: G100,
        window: outcome.bdp,
        rtt: Span::from_ps(rtt_ps),
    };
    let [FlowSeries { flow: 0, points }] = &outcome.flow_series[..] else {
        panic!("{:?}", outcome.flow_series)
    };
    assert_eq!(points[..2], [point(300, 0), point(5000, 4_177_280)]);
}

/// Eight flows of a scheme that moves all the time: few points, in order, the first ones only.
#[test]
fn points_are_few_and_in_order() {
    let mut spec = natural(star(9, scheme("timely")));
    for host in 1..=8 {
        add_flow(&mut spec, host, 9, 1_000_000, 100 * u64::from(host));
    }
    (spec.record.flow_every, spec.record.flows_max) = (Some(Span::from_ps(1)), 5);
    let outcome = run(spec.clone());
    let flows: Vec<u32> = outcome.flow_series.iter().map(|series| series.flow).collect();
    assert_eq!(flows, [0, 1, 2, 3, 4]);
    // Every acknowledgement brings another round-trip time; there are 1000 per flow.
    spec.record.flow_every = Some(Span::from_us(10));
    let coarse = run(spec);
    for (fine, coarse) in outcome.flow_series.iter().zip(&coarse.flow_series) {
        let start = Time::from_ns(100 * (u64::from(fine.flow) + 1));
        assert!(fine.points.len() > 300 && fine.points.len() <= FlowSeries::POINTS_MAX);
        assert!(coarse.points.len() > 10 && coarse.points.len() <= 100);
        for series in [fine, coarse] {
            assert_eq!((series.points[0].at, series.points[0].rtt), (start, Span::ZERO));
            assert!(series.points.windows(2).all(|pair| pair[0].at < pair[1].at));
            assert!(series.points.iter().any(|point| point.rate < G100));
            assert!(
                series
                    .points
                    .iter()
                    .all(|point| point.rate > BitRate::from_bps(0))
            );
            assert!(series.points.iter().all(|point| point.window > Bytes::ZERO));
        }
        assert!(
            coarse.points[1..]
                .iter()
                .all(|point| point.at.as_ps().is_multiple_of(10_000_000))
        );
    }
}

/// What is too much is thinned out, from the beginning to the end.
#[test]
fn long_flows_are_thinned() {
    let mut spec = natural(star(3, scheme("timely")));
    for host in 1..=2 {
        add_flow(&mut spec, host, 3, 10_000_000, 0);
    }
    (spec.record.flow_every, spec.record.flows_max) = (Some(Span::from_ns(50)), 2);
    let outcome = run(spec);
    for (series, flow) in outcome.flow_series.iter().zip(&outcome.flows) {
        let points = &series.points;
        assert!(points.len() > FlowSeries::POINTS_MAX / 2 && points.len() <= FlowSeries::POINTS_MAX);
        assert_eq!(points[0].at, Time::ZERO);
        let end = points.last().unwrap().at.as_ps();
        assert!(end > flow.fct.as_ps() * 9 / 10 && end < flow.fct.as_ps());
    }
}

#[test]
fn the_list_of_pauses_can_be_left_out() {
    let mut spec = natural(star(9, scheme("none")));
    common::static_pfc(&mut spec, 40_000, 38_000, 60_000);
    for host in 1..=8 {
        add_flow(&mut spec, host, 9, 200_000, 0);
    }
    let whole = run(spec.clone());
    spec.record.omit_pfc = true;
    let without = run(spec);
    assert!(whole.counters.pauses > 0 && without.pfc.is_empty());
    assert_eq!(
        whole.pfc.iter().filter(|event| event.pause).count() as u64,
        whole.counters.pauses
    );
    assert_eq!((whole.counters, whole.digest), (without.counters, without.digest));
}

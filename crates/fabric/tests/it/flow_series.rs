//! Rate, window and round-trip time of flows over time.

use crate::common;

use crate::common::{G100, add_flow, natural, run, scheme, scheme_with, star};
use paceline_congestion::registry::WindowMode;
use paceline_fabric::outcome::{Bin, Binned, FlowSeries, Outcome};
use paceline_fabric::spec::RunSpec;
use paceline_kernel::{Span, Time};

/// A flow alone: nothing changes, except that the round trip is known once there was one: two packets of 83.84 ns, two
/// of 4.8 ns, four links of 1 us.
#[test]
fn a_flow_alone() {
    let mut spec = natural(star(2, scheme_with("none", WindowMode::Fixed, &[])));
    add_flow(&mut spec, 1, 2, 1_000_000, 300);
    (spec.record.flow_every, spec.record.flows_max) = (Some(Span::from_us(1)), 10);
    let outcome = run(spec);
    let [
        FlowSeries {
            flow: 0,
            rate,
            window,
            rtt,
        },
    ] = &outcome.flow_series[..]
    else {
        panic!("{:?}", outcome.flow_series)
    };
    // The flow ends between 10 and 90 us: the last sample shows how long the values hold.
    let values = |series: &Binned| -> Vec<u64> { series.bins().map(|bin| bin.last).collect() };
    assert_eq!(rate.bins().next().unwrap().at, Time::from_ns(300));
    assert_eq!(values(rate), [G100.as_bps(); 2]);
    assert_eq!(values(window), [outcome.bdp.get(); 2]);
    let first = rtt.bins().next().unwrap();
    assert_eq!((first.at, first.last), (Time::from_ns(5000), 4_177_280));
    let end = rate.bins().last().unwrap().at;
    let over = Time::from_ns(300) + outcome.flows[0].fct;
    assert!(end <= over && over < end + Span::from_us(1), "{end} {over}");
}

/// Eight flows of a scheme that changes all the time: samples are in order, and only of the first flows.
#[test]
fn samples_are_in_order() {
    let mut spec = natural(star(9, scheme("timely")));
    for host in 1..=8 {
        add_flow(&mut spec, host, 9, 1_000_000, 100 * u64::from(host));
    }
    (spec.record.flow_every, spec.record.flows_max) = (Some(Span::from_us(10)), 5);
    let outcome = run(spec);
    let flows: Vec<u32> = outcome.flow_series.iter().map(|series| series.flow).collect();
    assert_eq!(flows, [0, 1, 2, 3, 4]);
    for series in &outcome.flow_series {
        let start = Time::from_ns(100 * (u64::from(series.flow) + 1));
        assert_eq!(series.rate.bins().next().unwrap().at, start);
        let bins: Vec<Bin> = series.rtt.bins().collect();
        assert!(bins.len() > 10 && bins.len() <= 100, "{}", bins.len());
        assert!(bins.windows(2).all(|pair| pair[0].at < pair[1].at));
        assert!(
            bins[1..]
                .iter()
                .all(|bin| bin.at.as_ps().is_multiple_of(10_000_000))
        );
        assert!(series.rate.bins().all(|bin| bin.min > 0));
        assert!(series.rate.bins().any(|bin| bin.min < G100.as_bps()));
        assert!(series.window.bins().all(|bin| bin.min > 0));
    }
}

/// Runs the scenario with records of the first `flows` flows only.
fn alone(mut spec: RunSpec, flows: u32) -> Outcome {
    spec.record.flows_max = flows;
    run(spec)
}

/// With many flows each has fewer bins, which summarise the samples in them.
#[test]
fn long_flows_are_thinned() {
    let mut spec = natural(star(65, scheme("timely")));
    spec.check = false;
    for host in 1..=64 {
        add_flow(&mut spec, host, 65, 5_000_000, 0);
    }
    spec.record.flow_every = Some(Span::from_ns(100));
    let (many, one) = (alone(spec.clone(), 64), alone(spec, 1));
    let pick = |outcome: &Outcome| outcome.flow_series[0].clone();
    let (many, one) = (pick(&many), pick(&one));
    assert!(many.rtt.width() > many.rtt.period(), "thinned");
    for (thinned, exact) in [(&many.rate, &one.rate), (&many.rtt, &one.rtt)] {
        assert_eq!(exact.width(), exact.period());
        let factor = thinned.width().as_ps() / thinned.period().as_ps();
        let held: Vec<Bin> = exact.bins().collect();
        let first = held[0].at.as_ps();
        let (width, period) = (thinned.width().as_ps(), thinned.period().as_ps());
        let last = held[held.len() - 1].at.as_ps();
        for bin in thinned.bins() {
            // The samples in the bin, from the value held at each.
            let begin = bin.at.as_ps() / width * width;
            let taken = (0..factor).map(|k| begin + k * period);
            let taken: Vec<u64> = taken
                .map(|at| if at / period == first / period { first } else { at })
                .filter(|&at| (first..=last).contains(&at))
                .map(|at| held[held.partition_point(|held| held.at.as_ps() <= at) - 1].last)
                .collect();
            let sum: u128 = taken.iter().map(|&value| u128::from(value)).sum();
            assert_eq!(
                (bin.min, bin.max, bin.last),
                (
                    *taken.iter().min().unwrap(),
                    *taken.iter().max().unwrap(),
                    taken[taken.len() - 1]
                )
            );
            assert!((bin.mean - sum as f64 / taken.len() as f64).abs() <= 1e-12 * bin.mean);
        }
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
        whole.counters.pause_frames
    );
    assert_eq!((whole.counters, whole.digest), (without.counters, without.digest));
}

/// The records of a flow do not depend on events elsewhere: samples that no event made due have the values that they
/// would have had with events of others.
#[test]
fn others_events_take_no_samples() {
    let mut spec = natural(star(4, scheme("timely")));
    add_flow(&mut spec, 1, 2, 40_000, 300);
    add_flow(&mut spec, 1, 2, 30_000, 150_000);
    spec.record.flow_every = Some(Span::from_ns(300));
    spec.record.port_bin = Some(Span::from_ns(700));
    spec.record.flows_max = 2;
    let alone = run(spec.clone());
    add_flow(&mut spec, 3, 4, 2_000_000, 150_000);
    let busy = run(spec);
    assert_eq!(alone.flow_series, busy.flow_series);
    let (alone, busy) = (alone.ports.unwrap(), busy.ports.unwrap());
    assert_eq!(alone.bin, busy.bin);
    for port in 0..4 {
        assert!(alone.of_port(port).eq(busy.of_port(port).take(alone.bins())));
    }
}

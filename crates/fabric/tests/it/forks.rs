//! Runs that fork: after the fork, either continues as it would have done alone.

use crate::networks;

use crate::common::{add_flow, assert_forks, natural, run, scheme, scheme_with, star, to_the_end};
use crate::networks::{build, case, known::known, schemes};
use paceline_congestion::registry::WindowMode;
use paceline_fabric::Simulation;
use paceline_fabric::spec::*;
use paceline_kernel::Span;
use proptest::prelude::*;

/// Turns on everything that can be recorded.
fn record(spec: &mut RunSpec) {
    networks::record(spec);
    spec.record.flow_probes = (0..spec.flows.len() as u32).step_by(3).collect();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(500), ..ProptestConfig::default() })]

    #[test]
    fn a_fork_ends_as_the_run_that_never_forked(
        case in case(&schemes()),
        steps in prop::collection::vec(0u64..4000, 1..4),
        recorded in any::<bool>(),
    ) {
        let mut spec = build(&case);
        if recorded {
            record(&mut spec);
        }
        assert_forks(&spec, &steps);
    }
}

#[test]
fn known_runs_fork() {
    for case in known() {
        let mut spec = build(&case);
        assert_forks(&spec, &[300, 1, 2304]);
        record(&mut spec);
        assert_forks(&spec, &[2304, 38]);
    }
}

/// A star in which 8 hosts send to one.
fn incast(scheme: SchemeSpec) -> RunSpec {
    let mut spec = star(9, scheme);
    for host in 1..=8 {
        add_flow(&mut spec, host, 9, 100_000, u64::from(host) * 31);
    }
    spec
}

/// The reference's mode has special generators, clocks and orders.
#[test]
fn runs_of_reference_fidelity_fork() {
    for name in ["dcqcn", "hpcc", "timely", "dctcp"] {
        let mut spec = incast(scheme(name));
        record(&mut spec);
        spec.links[2].error_rate = 0.001;
        spec.nic.rto = Some(Span::from_us(200));
        assert_forks(&spec, &[700, 2000, 1]);
    }
}

/// Hosts that take time, decisions that take time, and a sender with foresight.
#[test]
fn runs_whose_hosts_take_time_fork() {
    let settings = [("predictor", "oracle"), ("decision-latency", "2us")];
    let mut spec = natural(incast(scheme_with("lstm-pid", WindowMode::Off, &settings)));
    record(&mut spec);
    spec.nic.endpoint = Some(Endpoint {
        delay: Span::from_ns(700),
        per_packet: Span::from_ns(90),
        rate: None,
        jitter: Span::from_ns(200),
    });
    let outcome = assert_forks(&spec, &[1500, 1500]);
    assert!(outcome.decisions.is_some_and(|decisions| decisions.made > 100));
}

#[test]
fn a_fork_goes_elsewhere_without_disturbing_the_run() {
    let spec = natural(incast(scheme("hpcc")));
    let alone = run(spec.clone());
    let mut simulation = Simulation::new(spec).unwrap();
    simulation.advance(1000);
    let before = simulation.progress();
    let mut ended = simulation.clone();
    ended.advance(500);
    // A run that is ended early keeps the results so far.
    let partial = ended.finish();
    assert!(partial.counters.events < alone.counters.events && partial.digest != alone.digest);
    assert_eq!(simulation.progress(), before);
    assert_eq!(to_the_end(simulation), alone);
}

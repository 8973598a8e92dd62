//! Properties of any run in the Bolt authors' simulator.

use crate::common::{add_flow, assert_forks, natural, run, scheme, scheme_with, star};
use paceline_congestion::registry::WindowMode;
use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::spec::*;
use paceline_kernel::{Bytes, Span, Time};
use paceline_parity::bolt_ns3::BoltNs3Spec;

/// Turns `spec` into a network of that simulator.
fn as_the_authors(spec: &mut RunSpec) {
    spec.quirks = paceline_parity::bolt_ns3::quirks();
    spec.model = Some(Model::new(BoltNs3Spec::default()));
}

#[test]
fn runs_fork() {
    for name in ["bolt", "swift"] {
        let mut spec = star(9, scheme(name));
        for host in 1..=8 {
            add_flow(&mut spec, host, 9, 100_000, u64::from(host) * 31);
        }
        as_the_authors(&mut spec);
        spec.nic.rto = Some(Span::from_us(200));
        assert_forks(&spec, &[700, 2000, 1]);
    }
}

/// A sender gives up after five consecutive timeouts. The flow reports it, bytes that arrived count as delivered, and
/// other flows are not affected.
#[test]
fn a_flow_without_answers_is_given_up() {
    let ends = |cut: bool| {
        let mut spec = natural(star(3, scheme_with("bolt", WindowMode::Off, &[])));
        as_the_authors(&mut spec);
        spec.switch.flow_control = FlowControl::None;
        spec.switch.ecn.clear();
        add_flow(&mut spec, 1, 3, 2_000_000, 0);
        add_flow(&mut spec, 2, 3, 100_000, 0);
        if cut {
            spec.failures.push(LinkFailure {
                link: 0,
                at: Time::from_ns(50_000),
                until: None,
            });
        }
        run(spec)
    };
    let whole = ends(false);
    assert!(
        whole
            .flows
            .iter()
            .all(|flow| flow.status == FlowStatus::Completed)
    );
    let cut = ends(true);
    let (gone, other) = (&cut.flows[0], &cut.flows[1]);
    assert_eq!(gone.status, FlowStatus::GivenUp);
    assert_eq!((gone.fct, gone.received), (Span::ZERO, None));
    assert!(gone.delivered > Bytes::ZERO && gone.delivered < Bytes::new(2_000_000));
    assert_eq!(cut.counters.timeouts, u64::from(BoltNs3Spec::default().strikes));
    assert_eq!(other.status, FlowStatus::Completed);
}

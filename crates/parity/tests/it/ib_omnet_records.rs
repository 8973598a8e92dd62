//! Records of networks under credits: credits over time, ports that wait for them, and accounts of messages' time.

use crate::networks_ib::*;
use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::spec::*;
use paceline_fabric::{Outcome, RunSpec, Simulation};
use paceline_kernel::{Span, Time};
use paceline_parity::ib_omnet::*;

fn run(spec: RunSpec) -> Outcome {
    let mut simulation = Simulation::new(spec).unwrap();
    while !simulation.advance(u64::MAX).done {}
    simulation.finish()
}

/// Credit recorders agree with the steps, and do not change the run.
#[test]
fn credits_are_recorded_as_they_are() {
    let mut spec = demo(Variant::Messages, Control::None, Span::from_us(10));
    spec.stop = Time::from_ns(10_400_000);
    CreditSpec::of_mut(&mut spec).unwrap().trace = vec![(Time::ZERO, spec.stop)];
    let bare = run(spec.clone());
    spec.record.credit_every = Some(Span::from_us(1));
    spec.record.port_bin = Some(Span::from_us(1));
    let seen = run(spec);
    assert_eq!((bare.digest, &bare.flows), (seen.digest, &seen.flows));
    let credits = CreditOutcome::of(&seen).unwrap();
    assert_eq!(CreditOutcome::of(&bare).unwrap().trace, credits.trace);
    // The uplink is interface 3 of the two hosts' switch. Its arbiter's credits change with updates and with grants.
    let uplink = |node: NodeId, interface: u32| (node, interface) == (NodeId(20), 3);
    let of_uplink = |series: &&paceline_fabric::outcome::StateRecord| {
        uplink(series.port.node, series.port.interface) && series.priority == 0
    };
    let series = seen.credit_series.iter().find(of_uplink).unwrap();
    assert_eq!(series.series.width(), Span::from_us(1));
    let changes: Vec<(Time, u32)> = credits
        .trace
        .iter()
        .filter(|event| uplink(event.node, u32::from(event.interface) + 1))
        .filter_map(|event| match event.what {
            CreditStep::Credits { credits } | CreditStep::Granted { credits, .. } => {
                Some((event.at, credits))
            }
            _ => None,
        })
        .collect();
    let mut compared = 0;
    for bin in series
        .series
        .bins()
        .filter(|bin| bin.at > Time::from_ns(10_000_000))
    {
        let before = changes.iter().rev().find(|(at, _)| *at < bin.at).unwrap().1;
        assert_eq!(bin.last, u64::from(before), "{}", bin.at);
        compared += 1;
    }
    // Only the first of equal samples is kept.
    assert!(compared > 30, "{compared}");
    // During the bursts it waits all the time, because its packets are queued behind interface 4 of the other switch.
    let ports = seen.ports.as_ref().unwrap();
    let index = ports
        .ports
        .iter()
        .position(|port| uplink(port.node, port.interface))
        .unwrap();
    let late = |n: &usize| ports.begin(*n) >= Time::from_ns(10_200_000);
    let bins: Vec<usize> = (0..ports.bins()).filter(late).collect();
    let shares: Vec<f64> = ports.of_port(index).map(|bin| f64::from(bin.paused)).collect();
    let mean = bins.iter().map(|&n| shares[n]).sum::<f64>() / bins.len() as f64;
    assert!((0.99..=1.0).contains(&mean), "{mean}");
    let causes: Vec<u16> = ports.paused_for(index).collect();
    assert!(bins.iter().any(|&n| causes[n] == 4) && bins.iter().all(|&n| [0, 4].contains(&causes[n])));
}

/// Accounts cover the whole time of messages, credits are accounted at ports that lacked them, and the run does not
/// change.
#[test]
fn the_time_of_messages_is_accounted_for() {
    let mut spec = demo(Variant::Messages, Control::None, Span::from_us(10));
    spec.stop = Time::from_ns(12_000_000);
    let bare = run(spec.clone());
    spec.record.accounts = Accounted::All;
    let seen = run(spec.clone());
    assert_eq!((bare.digest, &bare.flows), (seen.digest, &seen.flows));
    let mut completed = 0;
    let mut credit = Span::ZERO;
    for account in &seen.accounts {
        let record = &seen.flows[account.flow as usize];
        match record.status {
            FlowStatus::Completed => {
                completed += 1;
                assert_eq!(account.total(), record.fct, "flow {}", account.flow);
                // The two hops are the host, and the switch next to the receiver.
                assert_eq!(account.data.len(), 2);
                let (of_host, of_switch) = (account.data[0], account.data[1]);
                credit += of_host.paused;
                // The receiver consumes at line rate, so the port to it always has credits.
                assert_eq!((of_switch.port.node, of_switch.paused), (NodeId(19), Span::ZERO));
            }
            _ => assert_eq!(
                account.total(),
                spec.stop.saturating_since(record.start),
                "flow {}",
                account.flow
            ),
        }
    }
    assert!(completed > 1000, "{completed}");
    assert!(credit > Span::from_us(10_000), "{credit}");
    let victim = &seen.accounts[0];
    // The victim's packets wait for credits at the uplink of node 20, although its own receiver is idle.
    let uplink = victim
        .hops
        .iter()
        .find(|hop| hop.port.node == NodeId(20))
        .unwrap();
    assert!(uplink.packets > 1000 && uplink.paused > Span::ZERO, "{uplink:?}");
}

/// Stalls are counted with and without recorders, and agree with the steps of the arbiter.
#[test]
fn stalls_are_counted() {
    let mut spec = demo(Variant::Messages, Control::None, Span::from_us(10));
    spec.stop = Time::from_ns(10_400_000);
    let stop = spec.stop;
    let bare = run(spec.clone());
    spec.record.accounts = Accounted::All;
    spec.record.port_bin = Some(Span::from_us(1));
    let seen = run(spec);
    assert_eq!(bare.stalls, seen.stalls);
    // Bins hold the share of time in which ports waited; here a port waits for one lane only.
    let ports = seen.ports.as_ref().unwrap();
    // The last bin ends with the run, and its share refers to its actual length.
    let length = |n: usize| ports.bin.as_ps().min(stop.as_ps() - ports.begin(n).as_ps()) as f64;
    let shares = (0..ports.ports.len()).flat_map(|index| ports.of_port(index).enumerate());
    let waited: f64 = shares.map(|(n, bin)| f64::from(bin.paused) * length(n)).sum();
    let counted = bare.stalls.time.as_ps() as f64;
    assert!(
        bare.stalls.count > 100 && (waited / counted - 1.0).abs() < 1e-3,
        "{waited} {counted}"
    );
}

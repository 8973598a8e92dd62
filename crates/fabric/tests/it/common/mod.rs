//! Networks for tests: small, explicit, with the reference's settings.
#![allow(dead_code, unreachable_pub, reason = "each test uses what it needs")]

use paceline_congestion::registry::{SchemeConfig, SchemeFactory, SchemeParams, WindowMode};
use paceline_fabric::spec::*;
use paceline_fabric::{Factories, Outcome, Simulation};
use paceline_kernel::{BitRate, Bytes, Span, Time};

pub const G100: BitRate = BitRate::from_gbps(100);
pub const G400: BitRate = BitRate::from_gbps(400);

pub fn kb(n: u64) -> Bytes {
    Bytes::new(n * 1000)
}

/// Returns a scheme with the reference's parameters at 100 Gbit/s.
pub fn scheme(name: &str) -> SchemeSpec {
    SchemeParams::default().configure(name).unwrap().into()
}

pub fn scheme_with(name: &str, window: WindowMode, settings: &[(&str, &str)]) -> SchemeSpec {
    let mut config: SchemeConfig = SchemeParams::default().configure(name).unwrap();
    for (key, value) in settings {
        config.set(key, value).unwrap();
    }
    SchemeSpec { config, window }
}

/// Returns `hosts` hosts (nodes 1 to `hosts`) around switch 0, at 100 Gbit/s and 1 µs, with the reference's quirks.
pub fn star(hosts: u32, scheme: SchemeSpec) -> RunSpec {
    let dctcp = scheme.config.name() == "dctcp";
    let curve = |rate: BitRate, min: u64, max: u64, pmax| EcnCurve {
        rate,
        kmin: kb(min),
        kmax: kb(max),
        pmax,
    };
    let ecn = if dctcp {
        vec![curve(G100, 300, 300, 1.0), curve(G400, 1200, 1200, 1.0)]
    } else {
        vec![curve(G100, 400, 1600, 0.2), curve(G400, 1600, 6400, 0.2)]
    };
    RunSpec {
        nodes: (0..=hosts)
            .map(|n| if n == 0 { NodeKind::Switch } else { NodeKind::Host })
            .collect(),
        links: (1..=hosts).map(|host| link(0, host, G100)).collect(),
        switch: SwitchSpec {
            ecn,
            assist: Some(AssistPorts::Switches),
            ..SwitchSpec::default()
        },
        nic: NicSpec {
            ack: AckPolicy::EveryBytes(Bytes::new(1)),
            ..NicSpec::default()
        },
        packet: PacketFormat {
            pfc_frame: Bytes::new(43),
            ..PacketFormat::default()
        },
        int_multi: 4,
        schemes: vec![scheme],
        labels: vec!["normal".into()],
        quirks: Quirks::ns3_hpcc(),
        ties: TieOrder::Insertion,
        ..RunSpec::default()
    }
}

/// Returns the network without quirks: exact times, ACKs in the control class, timeouts.
pub fn natural(mut spec: RunSpec) -> RunSpec {
    spec.quirks = Quirks::default();
    spec.ties = TieOrder::Structural;
    spec.packet = PacketFormat::default();
    spec.nic.ack = AckPolicy::EveryPackets(1);
    spec.nic.ack_class = Some(0);
    spec.nic.rto = Some(Span::from_us(1000));
    spec.check = true;
    spec
}

pub fn link(a: u32, b: u32, rate: BitRate) -> LinkSpec {
    LinkSpec {
        a: NodeId(a),
        b: NodeId(b),
        rate,
        delay: Span::from_us(1),
        error_rate: 0.0,
    }
}

/// Adds a flow that starts at `start_ns`. Flows must be added in order of start.
pub fn add_flow(spec: &mut RunSpec, src: u32, dst: u32, size: u64, start_ns: u64) {
    let before = spec
        .flows
        .iter()
        .filter(|flow| (flow.src.0, flow.dst.0) == (src, dst))
        .count();
    spec.flows.push(FlowSpec {
        src: NodeId(src),
        dst: NodeId(dst),
        size: Bytes::new(size),
        start: Time::from_ns(start_ns),
        class: 3,
        sport: 10000 + before as u16,
        dport: 100,
        label: 0,
        scheme: 0,
        connection: None,
        nics: Nics::ANY,
    });
}

pub fn run(spec: RunSpec) -> Outcome {
    let mut simulation = Simulation::new(spec).unwrap();
    while !simulation.advance(1 << 20).done {}
    simulation.finish()
}

/// Runs `spec` with senders of `factory` for the first scheme.
pub fn run_with(spec: RunSpec, factory: &SchemeFactory) -> Outcome {
    let mut simulation = build_with(spec, factory);
    while !simulation.advance(1 << 20).done {}
    simulation.finish()
}

pub fn build_with(spec: RunSpec, factory: &SchemeFactory) -> Simulation {
    Simulation::with_factories(spec, Factories::from([(0, factory.clone())])).unwrap()
}

/// Returns completion times in ns, in the order of the flows.
pub fn fcts(outcome: &Outcome) -> Vec<u64> {
    outcome.flows.iter().map(|flow| flow.fct.as_ns()).collect()
}

/// Returns events of one kind at one node, in order of time.
pub fn traced(
    outcome: &Outcome,
    node: u32,
    event: paceline_fabric::outcome::TraceKind,
) -> impl Iterator<Item = &paceline_fabric::outcome::TraceEvent> {
    let events = outcome.trace.iter();
    events.filter(move |e| e.node == NodeId(node) && e.event == event)
}

/// Sets static PFC thresholds, pauses until a resume, and `headroom` bytes per port.
pub fn static_pfc(spec: &mut RunSpec, xoff: u64, xon: u64, headroom: u64) {
    spec.switch.headroom = Headroom::Fixed(Bytes::new(headroom));
    spec.switch.flow_control = FlowControl::Pfc(Pfc {
        threshold: PfcThreshold::Static {
            xoff: Bytes::new(xoff),
            xon: Bytes::new(xon),
        },
        resume_offset: Bytes::ZERO,
        mode: PfcMode::OnOff,
        response: PfcResponse::NONE,
    });
}

/// Asserts that every flow completed, and delivered its bytes once.
pub fn assert_complete(spec: &RunSpec, outcome: &Outcome) {
    assert_eq!(
        outcome.completions.len(),
        spec.flows.len(),
        "{:?}",
        outcome.counters
    );
    for (i, (flow, asked)) in outcome.flows.iter().zip(&spec.flows).enumerate() {
        assert_eq!(
            flow.status,
            paceline_fabric::outcome::FlowStatus::Completed,
            "flow {i}"
        );
        assert_eq!(flow.delivered, asked.size, "flow {i}");
    }
}

pub fn to_the_end(mut simulation: Simulation) -> Outcome {
    while !simulation.advance(1 << 20).done {}
    simulation.finish()
}

/// Runs `spec` and forks it after each of these numbers of events. Forks are run to their ends between steps of the
/// original run. Every copy, including copies of copies, ends like the run that never forked.
pub fn assert_forks(spec: &RunSpec, steps: &[u64]) -> Outcome {
    let alone = run(spec.clone());
    let mut simulation = Simulation::new(spec.clone()).unwrap();
    let mut waits = simulation.clone();
    for &events in steps {
        simulation.advance(events);
        let mut fork = simulation.clone();
        waits = fork.clone();
        assert_eq!(fork.progress(), simulation.progress());
        fork.advance(events / 2);
        assert_eq!(to_the_end(fork.clone()), alone);
        assert_eq!(to_the_end(fork), alone);
    }
    assert_eq!(to_the_end(simulation), alone);
    assert_eq!(to_the_end(waits), alone);
    alone
}

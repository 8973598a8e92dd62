//! Runs of different kinds and their digests: which changes may affect them, and which may not.

#![allow(clippy::disallowed_macros, reason = "a test says what it measured")]

use crate::common;

use crate::common::{G100, add_flow, assert_complete, fcts, link, natural, run, scheme, star, static_pfc};
use paceline_fabric::Outcome;
use paceline_fabric::spec::*;
use paceline_kernel::rng::mix;
use paceline_kernel::{Bytes, Span, Time};

fn incast(mut spec: RunSpec, senders: u32, size: u64) -> RunSpec {
    for host in 1..=senders {
        add_flow(&mut spec, host, senders + 1, size, 2_000 * u64::from(host % 3));
    }
    spec.flows.sort_by_key(|flow| flow.start);
    spec
}

/// Four leaves of four hosts under two spines, flows of mixed sizes.
fn leaf_spine(scheme: SchemeSpec) -> RunSpec {
    let mut spec = natural(star(2, scheme));
    spec.nodes = [vec![NodeKind::Switch; 6], vec![NodeKind::Host; 16]].concat();
    spec.links.clear();
    for leaf in 0..4 {
        spec.links
            .extend((4..6).map(|spine| link(leaf, spine, common::G400)));
        spec.links
            .extend((0..4).map(|host| link(leaf, 6 + 4 * leaf + host, G100)));
    }
    for n in 0..60 {
        let (src, hop) = (n % 16, 1 + (n * 7) % 15);
        let size = 1000 << (n % 8);
        add_flow(&mut spec, 6 + src, 6 + (src + hop) % 16, size, 500 * u64::from(n));
    }
    spec
}

fn with_losses(mut spec: RunSpec) -> RunSpec {
    spec.links.iter_mut().for_each(|link| link.error_rate = 1e-3);
    spec
}

fn with_failure(mut spec: RunSpec) -> RunSpec {
    spec.failures.push(LinkFailure {
        link: 0,
        at: Time::from_ns(20_000),
        until: Some(Time::from_ns(70_000)),
    });
    spec
}

fn with_timed_pauses(mut spec: RunSpec) -> RunSpec {
    static_pfc(&mut spec, 40_000, 36_000, 60_000);
    let FlowControl::Pfc(pfc) = &mut spec.switch.flow_control else {
        unreachable!("just set")
    };
    pfc.mode = PfcMode::Quanta {
        pause: Span::from_us(2),
    };
    spec
}

fn runs() -> Vec<(&'static str, RunSpec)> {
    vec![
        (
            "ns-3, dcqcn, incast",
            incast(star(17, scheme("dcqcn")), 16, 200_000),
        ),
        ("ns-3, hpcc, incast", incast(star(9, scheme("hpcc")), 8, 200_000)),
        (
            "ns-3, hpcc-pint, incast",
            incast(star(9, scheme("hpcc-pint")), 8, 200_000),
        ),
        ("hpcc, leaf-spine", leaf_spine(scheme("hpcc"))),
        (
            "dcqcn-paper, losses",
            with_losses(leaf_spine(scheme("dcqcn-paper"))),
        ),
        ("dctcp, failure", with_failure(leaf_spine(scheme("dctcp")))),
        (
            "timely, timed pauses",
            with_timed_pauses(incast(natural(star(9, scheme("timely"))), 8, 200_000)),
        ),
    ]
}

/// Returns a digest of the run's results, independent of its events.
fn results(outcome: &Outcome) -> u64 {
    let c = &outcome.counters;
    let flows = outcome
        .flows
        .iter()
        .flat_map(|f| [f.fct.as_ps(), f.ideal.as_ps(), f.retransmitted.get()]);
    let totals = [
        c.data_hops,
        c.ack_hops,
        c.control_hops,
        c.marked,
        c.pause_frames,
        c.paused_ps,
        c.link_drops,
    ];
    flows.chain(totals).fold(0, |digest, x| mix(digest ^ x))
}

/// Change only with a reason. The first number is the digest of all events: an optimisation that needs fewer events may
/// change it. The second is that of the results: only a change of the simulated behaviour may change it.
const GOLDEN: [(u64, u64); 7] = [
    (0xad05_4134_9bf7_6e4b, 0x7a35_f054_2d31_feaf),
    (0x274a_360a_20fb_2b25, 0x5896_0dc1_4021_cbbe),
    (0xeae1_374f_910a_d081, 0xd20a_620c_7d25_bea8),
    (0xd809_ced7_78ee_cccf, 0x8c6c_768e_5ac0_6840),
    (0xd058_e1f6_97c9_c960, 0x9455_be6c_65f8_e4bc),
    (0xa66b_deef_ad91_b76f, 0xfc2b_61cd_9862_a210),
    (0xf1f9_44bc_042c_40d0, 0xdd48_537e_39e2_f9cd),
];

#[test]
fn runs_are_what_they_were() {
    let found: Vec<(u64, u64)> = runs()
        .into_iter()
        .map(|(name, spec)| {
            let outcome = run(spec.clone());
            assert_complete(&spec, &outcome);
            println!("{name}: ({:#018x}, {:#018x}),", outcome.digest, results(&outcome));
            (outcome.digest, results(&outcome))
        })
        .collect();
    let results = |all: &[(u64, u64)]| all.iter().map(|pair| pair.1).collect::<Vec<_>>();
    assert_eq!(results(&found), results(&GOLDEN), "what is simulated has changed");
    assert_eq!(found, GOLDEN, "the events have changed, the results have not");
}

#[test]
fn runs_repeat() {
    for (name, spec) in runs() {
        let (one, two) = (run(spec.clone()), run(spec));
        assert_eq!(one.digest, two.digest, "{name}");
        assert_eq!(
            (one.counters, one.completions),
            (two.counters, two.completions),
            "{name}"
        );
    }
}

/// Running in small steps changes nothing.
#[test]
fn steps_do_not_matter() {
    for (name, spec) in runs() {
        let whole = run(spec.clone());
        let mut simulation = paceline_fabric::Simulation::new(spec).unwrap();
        let mut step = 1;
        while !simulation.advance(step).done {
            step = step % 97 + 1;
        }
        assert_eq!(simulation.finish().digest, whole.digest, "{name}");
    }
}

/// Another seed draws other numbers, and shuffled ties order events that have no order in reality: other runs, but
/// every flow completes. Without random numbers and ties that matter, the results stay.
#[test]
fn seeds_and_ties() {
    for (name, spec) in runs().into_iter().skip(3) {
        let base = run(spec.clone());
        let mut seeded = spec.clone();
        seeded.seed = 2;
        let mut shuffled = spec.clone();
        shuffled.ties = TieOrder::Shuffled(7);
        let mut other = spec.clone();
        other.ties = TieOrder::Shuffled(8);
        let outcomes = [&seeded, &shuffled, &other].map(|spec| {
            let outcome = run(spec.clone());
            assert_complete(spec, &outcome);
            outcome
        });
        assert_ne!(outcomes[1].digest, base.digest, "{name}");
        assert_ne!(outcomes[1].digest, outcomes[2].digest, "{name}");
        if spec.nodes.len() > 10 {
            assert_ne!(outcomes[0].digest, base.digest, "{name}: paths follow the seed");
        }
    }
    let mut spec = natural(star(2, scheme("hpcc")));
    add_flow(&mut spec, 1, 2, 1_000_000, 0);
    let base = run(spec.clone());
    for ties in [TieOrder::Shuffled(1), TieOrder::Insertion] {
        spec.ties = ties;
        spec.seed += 1;
        assert_eq!(fcts(&run(spec.clone())), fcts(&base));
    }
}

/// Recording a run does not change it.
#[test]
fn recorders_change_nothing() {
    for (name, spec) in runs() {
        let plain = run(spec.clone());
        let mut recorded = spec.clone();
        recorded.record = RecordSpec {
            halves: true,
            drops: spec.model.is_none(),
            queue_every: Some(Span::from_ns(100)),
            queue_window: (Time::from_ns(0), Time::from_ns(10_000_000)),
            queue_dump_every: Some(Span::from_us(100)),
            rate_every: Some(Span::from_us(10)),
            port_bin: Some(Span::from_ns(100)),
            state_every: Some(Span::from_ns(300)),
            credit_every: None,
            flow_every: Some(Span::from_ns(700)),
            flows_max: 9,
            omit_pfc: true,
            trace_nodes: (0..spec.nodes.len() as u32).map(NodeId).collect(),
            trace_ports: Vec::new(),
            trace_window: None,
            rtt_samples: true,
            latency: true,
            accounts: Accounted::All,
            flow_probes: vec![0],
            blame: Blame::Off,
        };
        let seen = run(recorded);
        assert_eq!(results(&plain), results(&seen), "{name}");
        assert_eq!(plain.completions, seen.completions, "{name}");
        assert_eq!(plain.rtt_per_ack.sum_ps, seen.rtt_per_ack.sum_ps, "{name}");
        // Nor do accounts alone, and they add up to the flows' times.
        let mut accounted = spec.clone();
        accounted.record.accounts = Accounted::All;
        let accounted = run(accounted);
        assert_eq!(results(&plain), results(&accounted), "{name}");
        assert_eq!(plain.digest, accounted.digest, "{name}");
        for (account, flow) in accounted.accounts.iter().zip(&plain.flows) {
            assert_eq!(account.total(), flow.fct, "{name} flow {}", account.flow);
        }
        assert_eq!(accounted.accounts.len(), spec.flows.len(), "{name}");
        // And the records add up.
        let acked: u64 = seen.rates.iter().flat_map(|rate| &rate.bytes).sum();
        let sizes: Bytes = spec
            .flows
            .iter()
            .map(|flow| flow.size)
            .fold(Bytes::ZERO, |a, b| a + b);
        assert_eq!(acked, sizes.get(), "{name}");
        assert_eq!(
            seen.rtt_samples.len() as u64,
            seen.rtt_per_round_trip.samples,
            "{name}"
        );
        assert!(
            seen.queues.iter().all(|queue| queue.max <= seen.queue_max),
            "{name}"
        );
        assert!(
            seen.trace.windows(2).all(|pair| pair[0].at <= pair[1].at),
            "{name}"
        );
    }
}

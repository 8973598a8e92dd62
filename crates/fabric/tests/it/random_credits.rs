//! Invariants of credits under random networks, traffic, losses and failures.

#![allow(clippy::disallowed_macros, reason = "a test says what it measured")]

use std::cell::Cell;

use crate::causes::{assert_same_flows, by_entity, with_a_later_flow, with_records};
use crate::common::run;
use crate::networks::{Case, build, case, without_choice};
use paceline_fabric::Outcome;
use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::spec::*;
use paceline_kernel::{Bytes, Span};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// Schemes that need only marks and telemetry from switches.
const SCHEMES: [&str; 10] = [
    "none",
    "dcqcn",
    "dcqcn-paper",
    "dctcp",
    "timely",
    "hpcc",
    "hpcc-pint",
    "pcn",
    "ibcc",
    "rrcc",
];

fn binding() -> impl Strategy<Value = Binding> {
    let period = (1u64..9_000_000).prop_map(Span::from_ps);
    let phase = || prop_oneof![Just(Phase::Aligned), Just(Phase::PerPort)];
    prop_oneof![
        (period, phase()).prop_map(|(period, phase)| Binding::Ib { period, phase }),
        cbfc().prop_map(Binding::Cbfc),
    ]
}

fn cbfc() -> impl Strategy<Value = Cbfc> {
    let distances = (prop_oneof![Just(8u64), 9u64..7_000], 0u64..70_000);
    let phase = prop_oneof![Just(Phase::Aligned), Just(Phase::PerPort)];
    let scope = prop_oneof![2 => Just(Scope::Lane), 1 => Just(Scope::Port)];
    (-16i16..128, distances, 1u64..12_000_000, phase, scope).prop_map(
        |(overhead, (cf_min, more), cc_timer, phase, scope)| Cbfc {
            overhead,
            cf_min: Bytes::new(cf_min),
            cf_max: Bytes::new(cf_min + more),
            cc_timer: Span::from_ps(cc_timer),
            phase,
            scope,
        },
    )
}

/// Returns any lanes, buffers from a packet on, tables, and forwarding.
pub(crate) fn lanes() -> impl Strategy<Value = LaneSpec> {
    let tables = (
        prop::collection::vec((0u8..7, any::<u8>()), 0..6),
        prop::collection::vec((0u8..7, 1u8..=255), 0..6),
        any::<u8>(),
    );
    let forwarding = prop_oneof![
        Just(Forwarding::StoreAndForward),
        (1u64..200).prop_map(|header| Forwarding::CutThrough {
            header: Bytes::new(header)
        })
    ];
    let release = prop_oneof![Just(Release::Start), Just(Release::End)];
    (
        binding(),
        16u64..300,
        prop::collection::vec(2_500u32..60_000, 1..8),
        any::<[u8; 8]>(),
        (forwarding, release),
        tables,
        1u64..100,
    )
        .prop_map(
            |(binding, unit, bytes, lane_of, (forwarding, release), tables, update)| {
                let count = bytes.len() as u8;
                let bytes_of_first = bytes[0];
                let is_shared = matches!(binding, Binding::Cbfc(cbfc) if cbfc.scope == Scope::Port);
                let (high, low, limit) = tables;
                let within = |list: Vec<(u8, u8)>| -> Vec<(u8, u8)> {
                    list.into_iter()
                        .map(|(lane, weight)| (lane % count, weight))
                        .collect()
                };
                // Each lane is somewhere in the low table, so that none is left out.
                let mut low = within(low);
                low.extend((0..count).map(|lane| (lane, 1)));
                LaneSpec {
                    binding,
                    unit: Bytes::new(unit),
                    // Packets that count for more than their size need a larger buffer.
                    buffers: bytes
                        .iter()
                        .map(|bytes| {
                            (if is_shared { &bytes_of_first } else { bytes } + 200) / unit as u32 + 1
                        })
                        .collect(),
                    lane_of: lane_of.map(|lane| lane % count),
                    update: Bytes::new(update),
                    first_header: Bytes::new([0, 16, 2 * update][update as usize % 3]),
                    forwarding,
                    release,
                    arbitration: Arbitration {
                        high: within(high),
                        low,
                        limit,
                    },
                }
            },
        )
}

/// Returns any lanes with event-driven credits.
fn by_event() -> impl Strategy<Value = LaneSpec> {
    (lanes(), cbfc()).prop_map(|(lanes, cbfc)| LaneSpec {
        binding: match lanes.binding {
            Binding::Ib { .. } => Binding::Cbfc(Cbfc {
                scope: Scope::Lane,
                ..cbfc
            }),
            got => got,
        },
        ..lanes
    })
}

fn under(case: &Case, lanes: &LaneSpec) -> RunSpec {
    let mut spec = build(case);
    without_choice(&mut spec);
    spec.switch.flow_control = FlowControl::Credits;
    spec.nic.scheduling = Scheduling::RoundRobin;
    spec.nic.ack_class = spec.nic.ack_class.filter(|&class| class > 0);
    spec.record.flow_probes.clear();
    spec.lanes = Some(Box::new(lanes.clone()));
    spec
}

/// Nothing is dropped for lack of room, and packets that links do not lose arrive once.
fn holds(case: &Case, outcome: &Outcome) -> Result<(), TestCaseError> {
    prop_assert_eq!(outcome.counters.buffer_drops, 0);
    if outcome.deadlock.is_some() {
        // Networks with cycles can deadlock under any lossless flow control.
        return Ok(());
    }
    for (i, flow) in outcome.flows.iter().enumerate() {
        prop_assert_eq!(
            flow.status,
            FlowStatus::Completed,
            "flow {}: {:?}",
            i,
            outcome.counters
        );
    }
    if case.failures.is_empty() && case.error_rate == 0.0 {
        prop_assert_eq!(outcome.counters.link_drops, 0);
    }
    for account in &outcome.accounts {
        prop_assert_eq!(account.total(), outcome.flows[account.flow as usize].fct);
    }
    Ok(())
}

/// Credits add up (checked in the run itself), nothing is sent without credit, nothing is dropped, every flow
/// completes, and the run repeats bit for bit. The number of events is printed.
#[test]
fn credits_add_up() {
    const TOLD_EVERY: u64 = 100_000_000;
    let config = ProptestConfig {
        cases: paceline_testkit::cases(400),
        source_file: Some(file!()),
        test_name: Some(concat!(module_path!(), "::credits_add_up")),
        ..ProptestConfig::default()
    };
    let (runs, events) = (Cell::new(0u64), Cell::new(0u64));
    let mut runner = TestRunner::new(config);
    let result = runner.run(&(case(&SCHEMES), lanes()), |(case, lanes)| {
        let outcome = run(under(&case, &lanes));
        holds(&case, &outcome)?;
        let again = run(under(&case, &lanes));
        prop_assert_eq!(outcome.digest, again.digest);
        prop_assert_eq!(outcome.counters, again.counters);
        let (before, of_both) = (events.get(), outcome.counters.events + again.counters.events);
        runs.set(runs.get() + 2);
        events.set(before + of_both);
        if before / TOLD_EVERY != events.get() / TOLD_EVERY {
            println!("{} runs, {} events so far", runs.get(), events.get());
        }
        Ok(())
    });
    println!("{} runs, {} events", runs.get(), events.get());
    if let Err(error) = result {
        panic!("{error}\n{runner}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(paceline_testkit::cases(150)))]

    /// RRCC and DCQCN under event-driven credits: RRCC was designed for periodic credits and DCQCN for pauses.
    #[test]
    fn rates_are_controlled_over_credits_by_event(case in case(&["rrcc", "dcqcn", "dcqcn-paper"]), lanes in by_event()) {
        let outcome = run(under(&case, &lanes));
        holds(&case, &outcome)?;
        prop_assert_eq!(outcome.digest, run(under(&case, &lanes)).digest);
    }

    #[test]
    fn later_flows_and_records_change_nothing(
        case in case(&SCHEMES),
        lanes in lanes(),
        ends in any::<[u8; 2]>(),
        size in 1u64..50_000,
    ) {
        let spec = by_entity(under(&case, &lanes));
        let (alone, more) = with_a_later_flow(&spec, ends, size);
        assert_same_flows(&alone, &more);
        let (recorded, alone) = with_records(spec);
        assert_same_flows(&alone, &recorded);
        prop_assert_eq!(alone.digest, recorded.digest);
        prop_assert_eq!(alone.counters, recorded.counters);
    }
}

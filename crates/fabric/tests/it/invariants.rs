//! Invariants under random networks, traffic, pauses, losses and failures.

use crate::common::run;
use crate::networks::{build, case};
use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::spec::*;
use paceline_kernel::Span;
use proptest::prelude::*;

const SCHEMES: [&str; 12] = [
    "none",
    "dcqcn",
    "dcqcn-paper",
    "dctcp",
    "timely",
    "hpcc",
    "hpcc-pint",
    "bolt",
    "qcn",
    "pcn",
    "nscc",
    "nscc-rccc",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(1000), ..ProptestConfig::default() })]

    /// Every flow completes, nothing is lost or delivered twice, buffers are conserved (checked in the run itself),
    /// lossless classes lose nothing in switches, and the run repeats bit for bit.
    #[test]
    fn everything_arrives_once(case in case(&SCHEMES)) {
        let outcome = run(build(&case));
        for (i, flow) in outcome.flows.iter().enumerate() {
            prop_assert_eq!(flow.status, FlowStatus::Completed, "flow {}: {:?}", i, outcome.counters);
        }
        prop_assert_eq!(&outcome.deadlock, &None);
        // Pauses by quanta may end before the queue has drained: only on/off pauses guarantee no loss.
        let lossless = matches!(case.flow_control, FlowControl::Pfc(Pfc { mode: PfcMode::OnOff, .. }));
        if lossless && case.failures.is_empty() && case.error_rate == 0.0 {
            prop_assert_eq!(outcome.counters.buffer_drops, 0);
            // With coalesced ACKs a window that shrinks may have to wait for a timeout; packets that overtake each
            // other look like losses.
            let in_order = build(&case).has_one_way_per_flow();
            if case.ack == AckPolicy::EveryPackets(1) && in_order {
                prop_assert_eq!(outcome.counters.retransmitted_bytes, 0);
            }
            prop_assert_eq!(outcome.counters.pause_frames, outcome.counters.resume_frames);
        }
        // The parts of each flow's time add up to it, and every packet's path is accounted for.
        prop_assert_eq!(outcome.accounts.len(), outcome.flows.len());
        for account in &outcome.accounts {
            prop_assert_eq!(account.total(), outcome.flows[account.flow as usize].fct);
        }
        // The times waited for other flows add up to the whole wait.
        let lost = outcome.counters.buffer_drops + outcome.counters.link_drops + outcome.counters.trimmed;
        for look in outcome.flow_probes.iter().filter(|_| lost == 0) {
            let account = &outcome.accounts[look.flow as usize];
            for hop in account.hops.iter().filter(|hop| !hop.back && hop.queueing + hop.paused > Span::ZERO) {
                let found = look.shared.iter().find(|shared| shared.port == hop.port);
                prop_assert!(found.is_some() || hop.port.node == build(&case).flows[look.flow as usize].src);
                if let Some(shared) = found {
                    let waited = shared.flows.iter().fold(shared.idle, |sum, of| sum + of.waited);
                    prop_assert_eq!((waited, shared.paused), (hop.queueing, hop.paused));
                }
            }
        }
        let mut without = build(&case);
        without.record.flow_probes.clear();
        without.record.accounts = Accounted::None;
        prop_assert_eq!(run(without).digest, outcome.digest);
        let again = run(build(&case));
        prop_assert_eq!(outcome.digest, again.digest);
        prop_assert_eq!(outcome.counters, again.counters);
    }
}

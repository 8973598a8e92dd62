//! Accounts of flows' time, compared with computation by hand.

use crate::common::{add_flow, natural, run, scheme, scheme_with, star, static_pfc};
use paceline_congestion::registry::WindowMode;
use paceline_fabric::account::{FlowAccount, HopTime, HopTotals, SenderTime};
use paceline_fabric::outcome::Outcome;
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Span, Time};

/// Times in ps of data packets of 1048 B and ACKs of 60 B at 100 Gbit/s, of data packets at 40 Gbit/s, and of a cable.
const TX: u64 = 83_840;
const TX_ACK: u64 = 4_800;
const TX40: u64 = 209_600;
const CABLE: u64 = 1_000_000;

fn accounted(mut spec: RunSpec) -> Outcome {
    spec.record.accounts = Accounted::All;
    let outcome = run(spec);
    for (account, flow) in outcome.accounts.iter().zip(&outcome.flows) {
        assert_eq!(account.total(), flow.fct);
    }
    outcome
}

/// Returns serialisation, propagation, queueing and pause of each hop.
fn hops(way: &[HopTime]) -> Vec<[u64; 4]> {
    let parts =
        |hop: &HopTime| [hop.serialisation, hop.propagation, hop.queueing, hop.paused].map(Span::as_ps);
    way.iter().map(parts).collect()
}

fn totals(account: &FlowAccount, node: u32, back: bool) -> HopTotals {
    let of = |hop: &&HopTotals| hop.port.node == NodeId(node) && hop.back == back;
    *account.hops.iter().find(of).expect("packets left there")
}

#[test]
fn alone_it_is_serialisation_and_propagation() {
    let mut spec = natural(star(2, scheme("none")));
    add_flow(&mut spec, 1, 2, 10_000, 500);
    let outcome = accounted(spec);
    let account = &outcome.accounts[0];
    assert!(account.completed);
    let sender = SenderTime {
        sending: Span::from_ps(9 * TX),
        ..SenderTime::default()
    };
    assert_eq!(account.sender, sender);
    assert_eq!(hops(&account.data), [[TX, CABLE, 0, 0]; 2]);
    assert_eq!(hops(&account.ack), [[TX_ACK, CABLE, 0, 0]; 2]);
    assert_eq!(outcome.flows[0].ideal, account.total());
    let last_hop = totals(account, 0, false);
    assert_eq!((last_hop.packets, last_hop.queueing_max), (10, Span::ZERO));
    assert_eq!((last_hop.port.peer, last_hop.port.interface), (NodeId(2), 2));
}

/// Two flows of a host take turns; the second's first packet leaves a packet's time later.
#[test]
fn a_shared_nic() {
    let mut spec = natural(star(3, scheme("none")));
    add_flow(&mut spec, 1, 2, 100_000, 0);
    add_flow(&mut spec, 1, 3, 100_000, 0);
    let outcome = accounted(spec);
    for (account, nic) in outcome.accounts.iter().zip([99 * TX, 100 * TX]) {
        let sender = SenderTime {
            sending: Span::from_ps(99 * TX),
            nic: Span::from_ps(nic),
            ..SenderTime::default()
        };
        assert_eq!(account.sender, sender, "flow {}", account.flow);
    }
}

/// Two senders with a window of one bandwidth-delay product each wait for the window, and their packets wait at the
/// switch's port to the receiver.
#[test]
fn an_incast_under_a_window() {
    let mut spec = natural(star(3, scheme_with("none", WindowMode::Fixed, &[])));
    for host in [1, 2] {
        add_flow(&mut spec, host, 3, 200_000, 0);
    }
    let outcome = accounted(spec);
    for account in &outcome.accounts {
        let sender = account.sender;
        assert_eq!(sender.sending, Span::from_ps(199 * TX));
        assert_eq!(sender.total(), sender.sending + sender.window);
        // 52 packets are in flight, about 48 of them in the queue that both share.
        let hop = totals(account, 0, false);
        let mean = hop.queueing.as_ps() / hop.packets;
        assert_eq!((hop.packets, hop.paused), (200, Span::ZERO));
        assert!((40 * TX..55 * TX).contains(&mean), "{mean}");
        assert!(hop.queueing_max.as_ps() < 56 * TX);
    }
    // 400 packets pass the last link one after another.
    let last = outcome.flows.iter().map(|flow| flow.fct.as_ps()).max().unwrap();
    assert_eq!(last, 400 * TX + TX + 2 * CABLE + 2 * (CABLE + TX_ACK));
}

#[test]
fn an_incast_under_pacing() {
    let mut spec = natural(star(3, scheme("dcqcn")));
    for host in [1, 2] {
        add_flow(&mut spec, host, 3, 5_000_000, 0);
    }
    let outcome = accounted(spec);
    for account in &outcome.accounts {
        let sender = account.sender;
        assert_eq!(sender.sending, Span::from_ps(4999 * TX));
        assert_eq!(sender.total(), sender.sending + sender.pacing + sender.nic);
        // CNPs and ACKs do not leave these hosts, so nothing else delays data.
        assert_eq!(sender.nic, Span::ZERO);
        assert!(sender.pacing > Span::from_us(100));
    }
}

/// Into a slow link, without a window: only pauses hold the sender back.
#[test]
fn a_sender_that_is_paused() {
    let mut spec = natural(star(2, scheme("none")));
    spec.switch.ecn.clear();
    spec.links[1].rate = BitRate::from_gbps(40);
    static_pfc(&mut spec, 40_000, 38_000, 60_000);
    spec.nic.rto = None;
    add_flow(&mut spec, 1, 2, 2_000_000, 0);
    let outcome = accounted(spec);
    let sender = outcome.accounts[0].sender;
    assert_eq!(sender.sending, Span::from_ps(1999 * TX));
    assert_eq!(sender.total(), sender.sending + sender.paused);
    assert!(sender.paused.as_ps() <= outcome.counters.paused_ps);
    let [_, down] = hops(&outcome.accounts[0].data)[..] else {
        panic!("two hops")
    };
    assert_eq!((down[0], down[3]), (TX40, 0), "the switch itself is not paused");
    // All unsent data waits for the queue, so the slow link's time is the total.
    assert_eq!(
        outcome.flows[0].fct.as_ps(),
        2000 * TX40 + TX + 2 * CABLE + 2 * CABLE + TX_ACK + TX_ACK * 5 / 2
    );
}

/// The receiver's NIC pauses its switch for 20 us, and packets that arrive meanwhile wait for the resume.
#[test]
fn a_switch_that_is_paused() {
    let mut spec = natural(star(2, scheme("none")));
    spec.storms.push(PauseStorm {
        node: NodeId(2),
        link: None,
        class: 3,
        at: Time::from_ns(0),
        until: Some(Time::from_ns(20_000)),
    });
    add_flow(&mut spec, 1, 2, 2_000, 0);
    let outcome = accounted(spec);
    let account = &outcome.accounts[0];
    // The first packet arrives at TX + 1 us, the resume at 20 us + its 5120 ps + 1 us.
    let resumed = 20_000_000 + 5_120 + CABLE;
    let waited = resumed - (TX + CABLE);
    let hop = totals(account, 0, false);
    assert_eq!((hop.packets, hop.paused_max.as_ps()), (2, waited));
    // The second packet arrives one packet time later, and leaves one after the first.
    assert_eq!(hop.paused.as_ps(), waited + waited - TX);
    assert_eq!(hop.queueing.as_ps(), TX);
    assert_eq!(hops(&account.data)[1], [TX, CABLE, TX, waited - TX]);
    assert_eq!(account.sender.paused, Span::ZERO);
}

/// The last packet is lost on a broken link, and the sender waits for its timeout.
#[test]
fn a_timeout() {
    let mut spec = natural(star(2, scheme("none")));
    spec.nic.rto = Some(Span::from_us(100));
    add_flow(&mut spec, 1, 2, 3_000, 0);
    spec.failures.push(LinkFailure {
        link: 1,
        at: Time::from_ns(1_100),
        until: Some(Time::from_ns(50_000)),
    });
    let outcome = accounted(spec);
    let sender = outcome.accounts[0].sender;
    assert!(
        sender.recovery > Span::ZERO && sender.unreachable > Span::from_us(40),
        "{sender:?}"
    );
    assert!(sender.resending > Span::ZERO);
    assert_eq!(sender.window + sender.pacing + sender.paused, Span::ZERO);
}

/// Only the requested flows have accounts; an unfinished one is accounted for until the end.
#[test]
fn a_list_of_flows_and_an_end() {
    let mut spec = natural(star(3, scheme("none")));
    for host in [1, 2] {
        add_flow(&mut spec, host, 3, 1_000_000, 100);
    }
    spec.stop = Time::from_ns(10_100);
    spec.record.accounts = Accounted::Flows(vec![1]);
    let outcome = run(spec);
    let [account] = &outcome.accounts[..] else {
        panic!("one account")
    };
    assert_eq!((account.flow, account.completed), (1, false));
    assert_eq!(account.total(), Span::from_ns(10_000));
    assert_eq!(account.sender.sending, account.total());
    assert!(account.data.is_empty() && totals(account, 0, false).packets > 40);
}

//! Comparison of the scheduler with a search of all queue pairs, and with a list without empty entries.

use std::collections::BTreeMap;

use paceline_kernel::{Bytes, Span, Time};
use paceline_run::spec::{
    Arbitration, FlowControl, Irn, LinkFailure, NodeId, PfcThreshold, Recovery, RunSpec,
};

use super::*;
use crate::common::{self, add_flow, assert_complete, natural, scheme, star, static_pfc};
use crate::common_lanes as lanes;
use crate::host::Hosts;
use crate::ids::FlowId;
use crate::run::simulation::Simulation;

const IRN: Irn = Irn {
    rto_low: Span::from_us(100),
    rto_high: Span::from_us(320),
    low_packets: 3,
    bdp_cap: true,
    reordering: 0,
};

/// Returns the index that a search of all queue pairs would choose.
fn choose_by_looking(list: &Nic, qps: &List<QpId, Qp>, now: u64, paused: u16) -> Option<usize> {
    let (slots, start) = (&list.slots, list.served + 1);
    let may_go = |index: &usize| {
        let qp = qps.get(slots[*index]);
        qp.is_some_and(|qp| !qp.is_blocked(paused) && qp.pacing.next_avail <= now)
    };
    (start..slots.len()).chain(0..start.min(slots.len())).find(may_go)
}

/// Hundreds of flows of two senders, with windows, pacing, pauses, losses and a failure: after every event the tree
/// agrees with each queue pair, and the choice with that of a search of all.
#[test]
fn the_array_is_what_looking_would_find() {
    let mut held = 0;
    for (name, recovery) in [
        ("bolt", Recovery::GoBackN),
        ("hpcc", Recovery::SelectiveRepeat(IRN)),
        ("dcqcn", Recovery::GoBackN),
    ] {
        let mut spec = natural(star(3, scheme(name)));
        spec.check = false;
        spec.nic.recovery = recovery;
        if let FlowControl::Pfc(pfc) = &mut spec.switch.flow_control {
            let (xoff, xon) = (Bytes::new(20_000), Bytes::new(15_000));
            pfc.threshold = PfcThreshold::Static { xoff, xon };
        }
        for flow in 0..60 {
            add_flow(
                &mut spec,
                1 + flow % 2,
                3,
                9_000 + u64::from(flow) * 100,
                u64::from(flow / 40) * 7000,
            );
        }
        for link in &mut spec.links {
            link.error_rate = 0.002;
        }
        spec.failures.push(LinkFailure {
            link: 0,
            at: Time::from_ns(15_000),
            until: Some(Time::from_ns(25_000)),
        });
        let mut simulation = Simulation::new(spec.clone()).unwrap();
        let mut chosen = 0;
        while !simulation.advance(1).done {
            let Simulation { core, hosts, .. } = &mut simulation;
            hosts.verify_schedule();
            for nic in hosts.scheduler.nics.ids() {
                let (now, paused) = (core.now(), core.ports[hosts.scheduler.nics[nic].port].paused);
                if !hosts.scheduler.gather(nic, &mut hosts.qps) {
                    continue;
                }
                let list = &hosts.scheduler.nics[nic];
                let found = list.next_due(now, paused);
                assert_eq!(found, choose_by_looking(list, &hosts.qps, now, paused), "{name}");
                chosen += u32::from(found.is_some());
                held += u32::from(paused != 0);
            }
        }
        assert!(chosen > 300, "{name}: {chosen}");
        assert_complete(&spec, &simulation.finish());
    }
    assert!(held > 0, "never paused");
}

/// Whichever queue pairs go to another port, those that stay keep their order, and turns go on where they were.
#[test]
fn turns_go_on_where_others_have_left() {
    for stay in 0_u32..1 << 9 {
        for served in 0..9 {
            let mut nic = Nic::new(PortId(0));
            nic.slots = (0..9).map(QpId).collect();
            (nic.served, nic.served_of_lane) = (served, vec![served]);
            let stays = |slot: &QpId| stay >> slot.0 & 1 == 1;
            let turns = (served + 1..9).chain(0..=served).map(|slot| QpId(slot as u32));
            let expected: Vec<QpId> = turns.filter(stays).collect();
            nic.retain(stays);
            for served in [nic.served, nic.served_of_lane[0]] {
                let (before, after) = nic.slots.split_at(nic.slots.len().min(served + 1));
                assert_eq!([after, before].concat(), expected, "{stay:b} {served}");
            }
        }
    }
}

/// A list that is closed up whenever a queue pair leaves, and the index served last: of the NIC, or of each lane.
#[derive(Default)]
struct Closed {
    list: Vec<FlowId>,
    served: BTreeMap<u8, usize>,
}

impl Closed {
    /// Applies the changes of one event: which flows have left or are new, and which has sent.
    fn follow(&mut self, live: &[FlowId], sent: Option<(FlowId, u8)>) {
        for index in (0..self.list.len()).rev() {
            if live.contains(&self.list[index]) {
                continue;
            }
            self.list.remove(index);
            for served in self.served.values_mut().filter(|served| index <= **served) {
                *served = (served.checked_sub(1)).unwrap_or(self.list.len().saturating_sub(1));
            }
        }
        let known = self.list.len();
        self.list.extend(&live[known..]);
        if let Some((flow, lane)) = sent {
            let index = self.list.iter().position(|&other| other == flow).unwrap();
            for lower in 0..lane {
                self.served.entry(lower).or_insert(0);
            }
            self.served.insert(lane, index);
        }
    }
}

/// Returns the class and the next byte of each queue pair of a NIC.
fn sent(hosts: &Hosts, list: &Nic) -> BTreeMap<FlowId, (u8, u64)> {
    let qps = list.live().map(|slot| &hosts.qps[slot]);
    qps.map(|qp| (qp.flow, (qp.class, qp.progress.snd_nxt))).collect()
}

/// Runs the flows of node 1. Returns how often its list had empty entries, and how often it was closed up.
fn compare(spec: RunSpec, by_lane: bool) -> (usize, usize) {
    let mut simulation = Simulation::new(spec).unwrap();
    let (mut closed, mut before) = (Closed::default(), BTreeMap::new());
    if !by_lane {
        closed.served.insert(0, 0);
    }
    let (mut sparse, mut closings, mut gone) = (0, 0, 0);
    while !simulation.advance(1).done {
        let Simulation { core, hosts, .. } = &simulation;
        hosts.verify_schedule();
        let of_sender = |nic: &NicId| core.ports[hosts.scheduler.nics[*nic].port].node == NodeId(1);
        let list = &hosts.scheduler.nics[hosts.scheduler.nics.ids().find(of_sender).unwrap()];
        let live: Vec<FlowId> = list.live().map(|slot| hosts.qps[slot].flow).collect();
        let after = sent(hosts, list);
        let moved = |&(flow, &(_, next)): &(&FlowId, &(u8, u64))| {
            next > before.get(flow).map_or(0, |&(_, before)| before)
        };
        let sender = after.iter().find(moved);
        let lane = |class: u8| if by_lane { class } else { 0 };
        closed.follow(&live, sender.map(|(&flow, &(class, _))| (flow, lane(class))));
        assert_eq!(live, closed.list);
        let rank = |served: usize| {
            let up_to = list.slots.iter().take(served + 1);
            up_to
                .filter(|&&slot| slot != QpId::NONE)
                .count()
                .saturating_sub(1)
        };
        match by_lane {
            false => assert_eq!(rank(list.served), closed.served[&0]),
            true => {
                let ranks = list.served_of_lane.iter().map(|&served| rank(served));
                assert!(ranks.eq(closed.served.values().copied()));
            }
        }
        sparse += usize::from(list.gone > 0);
        closings += usize::from(gone > 0 && list.gone == 0);
        (before, gone) = (after, list.gone);
    }
    assert_eq!(
        simulation
            .finish()
            .flows
            .iter()
            .filter(|flow| flow.received.is_none())
            .count(),
        0
    );
    (sparse, closings)
}

/// Hundreds of flows of several sizes, in two classes; some start while others end.
fn crowded(mut spec: RunSpec) -> RunSpec {
    add_flow(&mut spec, 3, 2, 1_000_000, 0);
    for flow in 0..500_u64 {
        let size = 1 + flow * 7919 % 4000;
        add_flow(
            &mut spec,
            1,
            2,
            size,
            flow / 200 * 9_000 + 20 * flow.saturating_sub(350),
        );
        spec.flows.last_mut().unwrap().class = if flow % 3 == 0 { 5 } else { 3 };
    }
    spec.check = false;
    spec
}

#[test]
fn empty_places_do_not_change_whose_turn_it_is() {
    let mut spec = crowded(natural(common::star(3, scheme("dcqcn"))));
    static_pfc(&mut spec, 20_000, 15_000, 100_000);
    let (sparse, closings) = compare(spec, false);
    assert!(sparse > 500 && closings > 2, "{sparse} {closings}");
    let mut two = lanes::ib(400);
    two.buffers = vec![400; 2];
    two.lane_of[5] = 1;
    two.arbitration = Arbitration::fair(2);
    let (sparse, closings) = compare(crowded(lanes::star(3, two)), true);
    assert!(sparse > 500 && closings > 2, "{sparse} {closings}");
}

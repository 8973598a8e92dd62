//! What is told of a network under credits.

use std::cmp::Reverse;

use paceline_kernel::Time;
use paceline_kernel::ids::Id;

use crate::core::Core;
use crate::ib::{InfiniBand, Net};
use crate::ids::{PacketId, PortId};
use crate::outcome::credits::{CreditEvent, CreditOutcome, CreditStep, PortTotals};

impl InfiniBand {
    #[cold]
    pub(super) fn write(&mut self, net: &Net<'_>, port: PortId, what: CreditStep) {
        self.record.write(CreditEvent {
            at: Time::from_ps(net.core.now()),
            node: net.core.ports[port].node,
            interface: u16::from(self.ports[port].place),
            what,
        });
    }

    /// What became of each port and source.
    pub(crate) fn close(&mut self, net: &Net<'_>) -> CreditOutcome {
        let totals = |&port: &PortId| {
            let p = &self.ports[port];
            PortTotals {
                node: net.core.ports[port].node,
                interface: u16::from(p.place),
                packets: p.packets,
                marked: p.marked,
                updates: p.updates,
            }
        };
        let (injected, trace) = self.record.take();
        CreditOutcome {
            ports: self.places.iter().map(totals).collect(),
            sources: self.sources.iter().map(|source| source.totals).collect(),
            injected,
            trace,
            series: Vec::new(),
        }
    }

    /// Takes the samples of credits that are due before the event at `at`.
    pub(crate) fn sample_credits(&self, core: &mut Core, at: u64, is_over: bool) {
        let credits = &mut core.watch.recorder.credits;
        while credits.due() <= at {
            credits.sample(is_over, |port, lane, _| {
                u64::from(self.lanes[(port, lane)].credits())
            });
        }
    }

    /// Tells whether a lane of a port has a packet and no credit for it, and behind what that stands at the other end.
    #[cold]
    pub(super) fn note_wait(&self, net: &mut Net<'_>, port: PortId) {
        let mut waiting = self.lanes.row(port).iter();
        let lane = waiting.position(|lane| lane.filled != 0 && lane.credits() == 0);
        let now = net.core.now();
        let ports = &mut net.core.watch.recorder.ports;
        ports.paused(port, lane.is_some(), now);
        let peer = self.ports[port].peer;
        let Some(lane) = lane.filter(|_| !self.ports[peer].is_host && ports.asks_why(peer)) else {
            return;
        };
        if let Some(output) = self.longest_behind(net, peer, lane as u8) {
            let recorder = &mut net.core.watch.recorder;
            let interface = recorder.interface(output);
            recorder.ports.stands_behind(peer, interface);
        }
    }

    /// The output of a switch at which most of what an input holds of a lane stands, if it holds any.
    fn longest_behind(&self, net: &Net<'_>, input: PortId, lane: u8) -> Option<PortId> {
        let place = self.ports[input].place;
        let first = self.ports[input].first as usize;
        let node = net.core.ports[input].node;
        let outputs = self.places[first..].iter().copied();
        let outputs = outputs.take_while(|&output| net.core.ports[output].node == node);
        let held = outputs.map(|output| (self.held_for(net, output, place, lane), output));
        let most = held.max_by_key(|&(packets, output)| (packets, Reverse(output)));
        most.filter(|(packets, _)| *packets > 0).map(|(_, output)| output)
    }

    /// Packets that an input holds for an output.
    fn held_for(&self, net: &Net<'_>, output: PortId, input: u8, lane: u8) -> u32 {
        let slot = &self.slots[self.slot_of(output, input, lane)];
        let mut packets = u32::from(slot.held != PacketId::NONE);
        let mut next = slot.head;
        while next != PacketId::NONE {
            packets += 1;
            next = net.core.packets.get(next).next;
        }
        packets
    }
}

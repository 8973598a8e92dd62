//! Fingerprints of the state of ports and packets: all that matters for the future.

use crate::core::Core;
use crate::core::event::Event;
use crate::core::packet::Packet;
use crate::core::port::{ClassQueue, LinkState, Port};
use crate::core::print::{Part, StateHash};
use crate::ids::{FlowId, PacketId, PortId};
use paceline_kernel::ids::Id;

impl Core {
    /// Notes the state of ports that hold nothing. Returns false if a packet exists, or if a port pauses or is paused.
    pub(crate) fn is_at_rest(&self, print: &mut StateHash) -> bool {
        if self.packets.live() > 0 {
            return false;
        }
        for port in &self.ports {
            let is_idle = port.ready | port.paused | port.asked == 0 && !port.is_busy(self.now, self.tie);
            if !is_idle || port.link != LinkState::Open {
                return false;
            }
            // The round robin goes on from here, so two idle ports may serve differently.
            print.note(u64::from(port.served));
        }
        let is_empty = |queue: &ClassQueue| queue.bytes | queue.ingress | queue.headroom == 0;
        if !self.queues.numbered().all(|(_, queue)| is_empty(queue)) {
            return false;
        }
        print.begin(Part::Streams);
        self.shared_rng.note(print);
        self.pauses.note(self.now, print)
    }

    /// Notes all ports with their packets, or returns why they cannot be compared.
    pub(crate) fn note_ports(&self, print: &mut StateHash) -> Result<(), &'static str> {
        for (id, port) in self.ports.numbered() {
            let &Port {
                free_at,
                queued,
                ready,
                paused,
                asked,
                served,
                link,
                done_pending,
                ..
            } = port;
            match link {
                LinkState::Open => {}
                LinkState::OnCredit => return Err("links send on credit"),
                LinkState::Retry => return Err("links send frames again"),
                LinkState::Plane => return Err("senders choose among links"),
                LinkState::Down => return Err("a link is down"),
            }
            print.note(u64::from(queued) << 32 | u64::from(ready) << 16 | u64::from(paused));
            print.note(u64::from(asked) << 16 | u64::from(served) << 1 | u64::from(done_pending));
            // Times that have passed do not matter, however long ago they were.
            print.note_deadline(free_at);
            for class in 0..self.class_count as u8 {
                let ClassQueue {
                    head,
                    bytes,
                    ingress,
                    headroom,
                    ..
                } = self.queues[(id, class)];
                print.note(u64::from(bytes) << 32 | u64::from(ingress));
                print.note(u64::from(headroom));
                if paused >> class & 1 == 1 {
                    print.note_time(self.pauses.since[(id, class)]);
                }
                print.note_deadline(self.pauses.applied_at[(id, class)]);
                if head != PacketId::NONE {
                    for packet in self.packets.linked(head) {
                        self.note_packet(packet, print);
                    }
                }
            }
        }
        print.begin(Part::Streams);
        self.shared_rng.note(print);
        self.pauses.note(u64::MAX, print);
        Ok(())
    }

    /// Notes a packet without telemetry. Slots do not matter, so `next` and `qp` are left out.
    fn note_packet(&self, id: PacketId, print: &mut StateHash) {
        let &Packet {
            next: _,
            flow,
            qp: _,
            ingress,
            path,
            seq,
            sent_at,
            wire,
            payload,
            pint,
            epoch,
            kind,
            class,
            mark,
            hops,
            flags,
            tag,
            note_port,
            note,
            answers,
        } = self.packets.get(id);
        if flow != FlowId::NONE {
            print.note_flow(flow);
        }
        print.note(path);
        print.note(seq);
        print.note_time(sent_at);
        print.note(u64::from(ingress.0) << 32 | u64::from(wire) << 16 | u64::from(payload));
        let small = [kind as u8, class, mark as u8, hops, flags, tag];
        print.note(
            small
                .into_iter()
                .fold(0, |word, byte| word << 8 | u64::from(byte)),
        );
        print.note(u64::from(pint) << 32 | u64::from(epoch) << 16 | u64::from(note_port.0));
        print.note(u64::from(note) << 32 | u64::from(answers));
    }

    /// Returns a hash of a few of the values that [`Self::note_ports`] notes, in much less time.
    pub(crate) fn glance(&self) -> u64 {
        let mut print = StateHash::new(self.now, 0);
        for port in &self.ports {
            print.note(u64::from(port.queued));
            print.note_deadline(port.free_at);
        }
        print.finish() as u64
    }

    /// Notes the pending events that matter, and the times at which ports are free again, in chronological order.
    /// `others` are more entries: time, tie, words. `note` notes an event, or returns false if it does not matter.
    pub(crate) fn note_pending(
        &self,
        print: &mut StateHash,
        others: Vec<(u64, u64, [u64; 2])>,
        note: impl Fn(Event, &mut StateHash) -> bool,
    ) {
        enum Pending {
            Event(Event),
            Words([u64; 2]),
        }
        let mut all: Vec<(u64, u64, Pending)> = Vec::new();
        self.agenda.queue.for_each(|entry| {
            all.push((entry.at, entry.tie, Pending::Event(Event::decode(entry.what))));
        });
        for (at, tie, words) in others {
            all.push((at, tie, Pending::Words(words)));
        }
        // A transmission whose end is no event still delays what comes next.
        for (id, port) in self.ports.numbered() {
            if !port.done_pending && port.is_busy(self.now, self.tie) {
                all.push((port.free_at, port.free_tie, Pending::Words([u64::from(id.0), 1])));
            }
        }
        all.sort_unstable_by_key(|&(at, tie, _)| (at, tie));
        for (at, _, what) in all {
            match what {
                Pending::Words([a, b]) => {
                    print.note_time(at);
                    print.note(a);
                    print.note(b);
                }
                Pending::Event(event) => {
                    let before = *print;
                    print.note_time(at);
                    let matters = match event {
                        Event::Arrive { port, packet } => {
                            print.note(u64::from(port.0));
                            self.note_packet(packet, print);
                            true
                        }
                        Event::TxDone { port: PortId(port) } => {
                            print.note(u64::from(port) << 8 | 2);
                            true
                        }
                        event => note(event, print),
                    };
                    if !matters {
                        // The time was noted before the event turned out not to matter.
                        *print = before;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common;
    use crate::run::simulation::Simulation;

    /// The reason why ports cannot be compared is the true one.
    #[test]
    fn ports_say_why_they_cannot_be_compared() {
        let mut simulation = Simulation::new(common::star(2, common::scheme("none"))).unwrap();
        let mut says = |link| {
            simulation.core.ports[PortId(0)].link = link;
            simulation.core.note_ports(&mut StateHash::new(0, 0))
        };
        assert_eq!(says(LinkState::Open), Ok(()));
        assert_eq!(says(LinkState::Down), Err("a link is down"));
        assert_eq!(says(LinkState::OnCredit), Err("links send on credit"));
    }
}

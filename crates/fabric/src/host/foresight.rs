//! Foresight: the round-trip time that a data packet would have if it left a sender now, as far as the
//! present state of the network decides it ([`paceline_congestion::CongestionControl::on_foresight`]).
//!
//! All packets that are under way, and a probe behind what its NIC has on the wire, are copied and moved on
//! to their ends, by the rules of [`crate::switch::pipeline`] and [`crate::core::link`], until the probe's
//! acknowledgement is back: queues drain, links deliver, receivers answer, classes have their order, and
//! nobody sends anything new. So of what the probe meets all is counted that is on links or in queues
//! now, wherever that is, and nothing that leaves a sender from now on. Where all paths to the bottleneck
//! take equally long (an incast through one switch) nothing of the latter can come before the probe, and
//! the result is exact, but for packets that leave or arrive at the very same instant.
//!
//! # Limits
//! * What other senders send later does count where it joins the path after less time than the probe
//!   takes to come there: senders nearer to a bottleneck, cross traffic behind the first switch.
//! * A class that is paused now goes on at once, and no new pause comes; nothing is lost, marked, trimmed or
//!   notified of. Every data packet is answered at once, whatever the policy of acknowledgements.
//! * Where switches choose among next hops packet by packet, and behind a link that has failed, packets
//!   take the way that ECMP gives their flow.
//! * Jitter of hosts that take time counts with its mean.
//! * Packets that reach a port at the same instant are served in structural order.
//!
//! Nothing of this touches the state of the run, and only senders that ask pay for it: some microseconds
//! for each hundred packets that are under way, at every acknowledgement.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use paceline_kernel::Span;

use crate::core::Core;
use crate::core::event::Event;
use crate::core::packet::NONE;
use crate::core::port::{Port, STRICT};
use crate::host::Hosts;
use crate::host::engine::Line;
use crate::host::flow_path::FlowPath;
use crate::outcome::PacketKind;
use crate::world::World;
use crate::world::routing::FlowKey;

/// Copies of what is under way; kept from call to call for its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Foresight {
    packets: Vec<PacketCopy>,
    /// Ports that something came to in this call, and where each port's copy is among them.
    ports: Vec<PortCopy>,
    place_of: Vec<u32>,
    /// Queues of the copied ports, `class_count` for each: first and last packet.
    queues: Vec<(u32, u32)>,
    /// What is to happen: (time, [`Step`]); steps of one instant in the order of [`Event`]s.
    pending: BinaryHeap<Reverse<(u64, u64)>>,
    /// Hosts that take time: when packets that are in them are data, and the hosts' receive engines.
    host_done: Vec<(u64, u32)>,
    lines: Vec<Line>,
    probe: Probe,
}

/// The packet in question.
#[derive(Clone, Copy, Debug, Default)]
struct Probe {
    port: u32,
    waits: bool,
    started: u64,
}

/// The probe's place among the copied packets.
const PROBE: u32 = 0;

#[derive(Clone, Copy, Debug)]
struct PacketCopy {
    next: u32,
    flow: u32,
    qp: u32,
    path: u64,
    wire: u16,
    epoch: u16,
    kind: PacketKind,
    class: u8,
}

#[derive(Clone, Copy, Debug)]
struct PortCopy {
    id: u32,
    port: Port,
    /// Whether the end of its transmission is among the steps.
    awaited: bool,
}

/// What happens to copies, in 64 bits that have the order of [`Event`]s.
enum Step {
    TxDone { port: u32 },
    Arrive { port: u32, packet: u32 },
    Answer { nic: u32, packet: u32 },
}

impl Step {
    fn encode(&self) -> u64 {
        let (kind, a, b) = match *self {
            Self::TxDone { port } => (7, port, 0),
            Self::Arrive { port, packet } => (9, port, packet),
            Self::Answer { nic, packet } => (12, nic, packet),
        };
        kind << 60 | u64::from(a) << 32 | u64::from(b)
    }

    fn decode(bits: u64) -> Self {
        let (a, b) = ((bits >> 32 & 0xfff_ffff) as u32, bits as u32);
        match bits >> 60 {
            7 => Self::TxDone { port: a },
            9 => Self::Arrive { port: a, packet: b },
            _ => Self::Answer { nic: a, packet: b },
        }
    }
}

impl Foresight {
    fn clear(&mut self, ports: usize) {
        for copy in &self.ports {
            self.place_of[copy.id as usize] = NONE;
        }
        self.place_of.resize(ports, NONE);
        self.packets.clear();
        self.ports.clear();
        self.queues.clear();
        self.pending.clear();
        self.host_done.clear();
    }

    fn push(&mut self, at: u64, step: &Step) {
        self.pending.push(Reverse((at, step.encode())));
    }

    fn append(&mut self, place: usize, classes: usize, class: u8, packet: u32) {
        self.packets[packet as usize].next = NONE;
        let (head, tail) = &mut self.queues[place * classes + usize::from(class)];
        if *head == NONE {
            *head = packet;
        } else {
            self.packets[*tail as usize].next = packet;
        }
        *tail = packet;
        self.ports[place].port.ready |= 1 << class;
    }
}

impl Hosts {
    /// Tells the scheme of a queue pair what its next packet would meet.
    #[cold]
    pub(crate) fn tell_foresight(&mut self, world: &World, core: &mut Core, slot: u32) {
        let mut copies = self.foresight.take().unwrap_or_default();
        if let Some(rtt) = self.foresee(world, core, &mut copies, slot) {
            self.qps[slot as usize].scheme.on_foresight(rtt);
        }
        self.foresight = Some(copies);
    }

    /// The round-trip time of a data packet of `slot` that leaves now; `None` if it would not come back.
    fn foresee(&self, world: &World, core: &Core, f: &mut Foresight, slot: u32) -> Option<Span> {
        let qp = &self.qps[slot as usize];
        if !qp.reachable {
            return None;
        }
        f.clear(core.ports.len());
        let left = match qp.size - qp.snd_nxt {
            0 => u64::MAX,
            left => left,
        };
        f.packets.push(PacketCopy {
            next: NONE,
            flow: qp.flow,
            qp: slot,
            path: qp.route,
            wire: world.spec.packet.mtu.get().min(left) as u16 + qp.data_header,
            epoch: qp.data_epoch,
            kind: PacketKind::Data,
            class: qp.class,
        });
        f.probe = Probe {
            port: qp.port,
            waits: true,
            started: 0,
        };
        let place = self.copy_port(world, core, f, qp.port);
        self.copy_queues(world, core, f);
        self.copy_pending(core, f);
        await_copy(f, place, core.now);
        while let Some(Reverse((at, step))) = f.pending.pop() {
            match Step::decode(step) {
                Step::TxDone { port } => {
                    let place = self.copy_port(world, core, f, port);
                    f.ports[place].awaited = false;
                    self.send_copy(world, f, place, at);
                }
                Step::Answer { packet, .. } => self.answer_copy(world, core, f, packet, at),
                Step::Arrive { port, packet } => {
                    if packet == PROBE
                        && f.packets[PROBE as usize].kind == PacketKind::Ack
                        && core.ports[port as usize].is_host
                    {
                        return Some(Span::from_ps(at - f.probe.started));
                    }
                    self.arrive_copy(world, core, f, port, packet, at);
                }
            }
        }
        None
    }

    /// The place of a port's copy.
    fn copy_port(&self, world: &World, core: &Core, f: &mut Foresight, id: u32) -> usize {
        let known = f.place_of[id as usize];
        if known != NONE {
            return known as usize;
        }
        let place = f.ports.len();
        f.place_of[id as usize] = place as u32;
        let port = Port {
            ready: 0,
            paused: 0,
            ..core.ports[id as usize]
        };
        f.ports.push(PortCopy {
            id,
            port,
            awaited: false,
        });
        f.queues.resize(f.queues.len() + world.class_count, (NONE, NONE));
        place
    }

    fn copy_packet(&self, core: &Core, f: &mut Foresight, id: u32) -> u32 {
        let packet = core.packets.get(id);
        f.packets.push(PacketCopy {
            next: NONE,
            flow: packet.flow,
            qp: packet.qp,
            path: packet.path,
            wire: packet.wire,
            epoch: packet.epoch,
            kind: packet.kind,
            class: packet.class,
        });
        f.packets.len() as u32 - 1
    }

    /// What waits in queues.
    fn copy_queues(&self, world: &World, core: &Core, f: &mut Foresight) {
        for (id, port) in core.ports.iter().enumerate().filter(|(_, port)| port.ready != 0) {
            let place = self.copy_port(world, core, f, id as u32);
            for class in (0..world.class_count).filter(|class| port.ready >> class & 1 == 1) {
                let mut next = core.queues[id * world.class_count + class].head;
                while next != NONE {
                    let packet = self.copy_packet(core, f, next);
                    f.append(place, world.class_count, class as u8, packet);
                    next = core.packets.get(next).next;
                }
            }
            await_copy(f, place, core.now);
        }
    }

    /// What links carry, and what is in hosts that take time.
    fn copy_pending(&self, core: &Core, f: &mut Foresight) {
        core.agenda
            .queue
            .for_each(|entry| match Event::decode(entry.what) {
                Event::Arrive { port, packet } => {
                    let packet = self.copy_packet(core, f, packet);
                    f.push(entry.at, &Step::Arrive { port, packet });
                }
                Event::HostDone { nic } => f.host_done.push((entry.at, nic)),
                _ => {}
            });
        let Some(endpoints) = &self.endpoints else {
            return;
        };
        f.lines.clear();
        f.lines
            .extend((0..self.nics.len()).map(|nic| endpoints.line(nic as u32)));
        f.host_done.sort_unstable();
        let done = std::mem::take(&mut f.host_done);
        for nic in 0..self.nics.len() as u32 {
            let mut inside = endpoints.first_inside(nic);
            for &(at, _) in done.iter().filter(|&&(_, of)| of == nic) {
                if inside == NONE {
                    break;
                }
                let packet = self.copy_packet(core, f, inside);
                f.push(at, &Step::Answer { nic, packet });
                inside = core.packets.get(inside).next;
            }
        }
        f.host_done = done;
    }

    /// A packet's last bit arrives.
    fn arrive_copy(&self, world: &World, core: &Core, f: &mut Foresight, port: u32, packet: u32, at: u64) {
        let copied = f.packets[packet as usize];
        let p = &core.ports[port as usize];
        match copied.kind {
            PacketKind::Pause | PacketKind::Resume => {}
            PacketKind::Data if p.is_host => {
                let nic = p.owner;
                match &self.endpoints {
                    Some(endpoints) => {
                        let at = endpoints.expect(&mut f.lines[nic as usize], at, copied.wire);
                        f.push(at, &Step::Answer { nic, packet });
                    }
                    None => self.answer_copy(world, core, f, packet, at),
                }
            }
            _ if p.is_host => {}
            _ => {
                let Some(egress) = self.egress_of(world, core, &mut f.packets[packet as usize], p) else {
                    return;
                };
                let place = self.copy_port(world, core, f, egress);
                self.queue_copy(world, f, place, copied.class, packet, at);
            }
        }
    }

    /// The way of a packet through a switch.
    fn egress_of(&self, world: &World, core: &Core, packet: &mut PacketCopy, entry: &Port) -> Option<u32> {
        if packet.epoch == world.epoch {
            return Some(world.routing.follow(entry, &mut packet.path));
        }
        if self.qps[packet.qp as usize].flow != packet.flow {
            return None;
        }
        let flow = world.spec.flows[packet.flow as usize];
        let key = FlowKey::of(&flow);
        let (dst, key) = if packet.kind == PacketKind::Data {
            (flow.dst.0, key)
        } else {
            (flow.src.0, key.reversed())
        };
        world.routing.next_hop(&core.ports, entry.node, dst, key)
    }

    /// The receiver answers.
    fn answer_copy(&self, world: &World, core: &Core, f: &mut Foresight, packet: u32, at: u64) {
        let copied = &mut f.packets[packet as usize];
        let qp = &self.qps[copied.qp as usize];
        if qp.flow != copied.flow || qp.done && packet != PROBE {
            return;
        }
        copied.kind = PacketKind::Ack;
        let way = match self.receivers.find(copied.flow) {
            Some(place) => self.receivers.list[place as usize].path,
            None => FlowPath::of(world, core, copied.flow, copied.qp),
        };
        (copied.path, copied.epoch) = (way.ack_route, way.ack_epoch);
        (copied.wire, copied.class) = (way.ack_wire, way.ack_class);
        let (port, class) = (way.ack_port, world.ack_queue(way.ack_class));
        let place = self.copy_port(world, core, f, port);
        self.queue_copy(world, f, place, class, packet, at);
    }

    fn queue_copy(&self, world: &World, f: &mut Foresight, place: usize, class: u8, packet: u32, at: u64) {
        if f.ports[place].port.up {
            f.append(place, world.class_count, class, packet);
            await_copy(f, place, at);
        }
    }

    /// Sends the next packet of a port that is free; the probe after all others of its NIC.
    fn send_copy(&self, world: &World, f: &mut Foresight, place: usize, at: u64) {
        let copy = &mut f.ports[place];
        let (id, profile) = (copy.id, &world.profiles[usize::from(copy.port.profile)]);
        let probe_waits = f.probe.waits && f.probe.port == id;
        let packet = match copy.port.next_class() {
            Some(class) => {
                let (head, _) = &mut f.queues[place * world.class_count + usize::from(class)];
                let packet = *head;
                *head = f.packets[packet as usize].next;
                if *head == NONE {
                    copy.port.ready &= !(1 << class);
                }
                if class > STRICT {
                    copy.port.served = class;
                }
                packet
            }
            None if probe_waits => {
                f.probe.waits = false;
                f.probe.started = at;
                PROBE
            }
            None => return,
        };
        let tx = profile.serialise(f.packets[packet as usize].wire).tx;
        let (peer, delay) = (copy.port.peer, profile.delay);
        copy.port.free_at = at + tx;
        let more = copy.port.ready != 0 || f.probe.waits && f.probe.port == id;
        f.push(at + tx + delay, &Step::Arrive { port: peer, packet });
        if more {
            await_copy(f, place, at);
        }
    }
}

/// Something waits at a port: it sends now, or at the end of its transmission.
fn await_copy(f: &mut Foresight, place: usize, at: u64) {
    let copy = &mut f.ports[place];
    if copy.awaited {
        return;
    }
    copy.awaited = true;
    let (at, port) = (copy.port.free_at.max(at), copy.id);
    f.push(at, &Step::TxDone { port });
}

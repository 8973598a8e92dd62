//! Time that a receiver's host takes before it answers: the model of [`paceline_run::spec::Endpoint`].
//!
//! Data packets that arrive at a host port enter its receive engine, which serves one after another. Then each takes
//! the fixed delay and a random jitter, without overtaking. After that it is delivered: the receiver takes it and
//! answers. Acknowledgements and notifications are handled by the NIC.
//!
//! A NIC with a receive buffer drops packets that do not fit. Under PFC it pauses its switch before the buffer is full.
//! A packet is in the buffer until it is delivered.

use paceline_kernel::ids::{Id, List};
use paceline_kernel::queue::LaneId;
use paceline_kernel::rng::{Purpose, Rng};
use paceline_kernel::{BitRate, Span};

use crate::core::cx::Cx;
use crate::core::event::Event;
use crate::core::lost::Lost;
use crate::core::packet::{Packet, PacketSlab};
use crate::core::port::ClassQueue;
use crate::host::Hosts;
use crate::ids::{NicId, PacketId, PortId, ProfileId};
use crate::traffic::Traffic;
use crate::world::classes::LINK_CONTROL;
use paceline_run::spec::{Endpoint, FlowControl, NodeId, ReceiveBuffer, RunSpec};

/// Receive engines of all hosts, by NIC.
#[derive(Clone, Debug)]
pub(super) struct Endpoints {
    model: Endpoint,
    buffer: Option<ReceiveBuffer>,
    /// True if a NIC may pause its switch.
    pauses: bool,
    hosts: List<NicId, Host>,
}

#[derive(Clone, Debug)]
struct Host {
    line: Line,
    /// Packets in the host, in order of arrival.
    inside: ClassQueue,
    /// Bits of the classes that the host has paused because its buffer is full.
    paused: u16,
    /// Changes of the reading rate: times in ps and rates, in order of time; empty if the rate is always the model's.
    rates: Vec<(u64, Option<BitRate>)>,
    rng: Rng,
}

/// Progress of a receive engine: the time in ps at which it has served what it holds, and at which the last of that is
/// delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    free_at: u64,
    data_at: u64,
}

impl Line {
    /// Takes the sample of recorded flows that is due before the event at `at`.
    fn enter(
        &mut self,
        model: &Endpoint,
        rates: &[(u64, Option<BitRate>)],
        (now, wire): (u64, u16),
        jitter: impl FnOnce() -> u64,
    ) -> u64 {
        let begins = self.free_at.max(now);
        let changed = rates.iter().rev().find(|(from, _)| *from <= begins);
        let rate = changed.map_or(model.rate, |&(_, rate)| rate);
        self.free_at = begins + model.service_at(rate, wire);
        let mut at = self.free_at + model.delay.as_ps();
        if model.jitter > Span::ZERO {
            at += jitter();
        }
        // Jitter must not reorder packets: a receiver would take that for loss.
        self.data_at = self.data_at.max(at);
        self.data_at
    }
}

/// Returns the changes of a host's reading rate.
fn rates_of(spec: &RunSpec, node: NodeId, model: &Endpoint) -> Vec<(u64, Option<BitRate>)> {
    let changes = spec.host_changes.iter();
    let own: Vec<_> = changes
        .filter(|change| change.node == node && change.receive_rate.is_some())
        .collect();
    let mut rates: Vec<_> = own
        .iter()
        .map(|change| (change.at.as_ps(), change.receive_rate))
        .collect();
    let ends = own.iter().filter_map(|change| change.until);
    // A change that starts when another ends replaces it, so the end must not restore the model's rate.
    let ends = ends.filter(|until| own.iter().all(|change| change.at != *until));
    rates.extend(ends.map(|until| (until.as_ps(), model.rate)));
    rates.sort_unstable_by_key(|&(from, _)| from);
    rates
}

impl Endpoints {
    /// Creates the receive engines of a network with these NICs' ports; `None` if hosts take no time.
    pub(super) fn of(spec: &RunSpec, nics: &[PortId]) -> Option<Box<Self>> {
        let model = spec.nic.endpoint?;
        let node = |port: PortId| {
            let link = &spec.links[port.link().index()];
            [link.a, link.b][port.end()]
        };
        let host = |(nic, &port): (u64, &PortId)| Host {
            line: Line::default(),
            inside: ClassQueue::EMPTY,
            paused: 0,
            rates: rates_of(spec, node(port), &model),
            rng: Rng::stream(spec.seed, Purpose::Endpoint, nic),
        };
        let hosts = (0..).zip(nics).map(host).collect();
        Some(Box::new(Self {
            model,
            buffer: spec.nic.receive_buffer,
            pauses: matches!(spec.switch.flow_control, FlowControl::Pfc(_)),
            hosts,
        }))
    }

    /// Returns the streams of all hosts.
    pub(super) fn rngs(&self) -> impl Iterator<Item = &Rng> {
        self.hosts.iter().map(|host| &host.rng)
    }

    /// Returns the time at which a packet that arrives at `now` is delivered.
    fn admit(&mut self, nic: NicId, now: u64, wire: u16) -> u64 {
        let (model, host) = (&self.model, &mut self.hosts[nic]);
        let Host { line, rng, rates, .. } = host;
        line.enter(model, rates, (now, wire), || {
            (model.jitter.as_ps() as f64 * rng.next_f64()) as u64
        })
    }

    fn pop(&mut self, nic: NicId, packets: &PacketSlab) -> PacketId {
        self.hosts[nic].inside.pop(packets).0
    }
}

impl Hosts {
    /// Takes in a data packet that arrived at a host's NIC.
    #[inline(never)]
    pub(super) fn enter_host(&mut self, cx: &mut Cx<'_>, port: PortId, id: PacketId) {
        let now = cx.core.now();
        let nic = cx.core.ports[port].nic();
        let Some(endpoints) = &mut self.endpoints else {
            return;
        };
        let packet = cx.core.packets.get_mut(id);
        let class = packet.class;
        let held = endpoints.hosts[nic].inside.bytes + u32::from(packet.wire);
        if endpoints
            .buffer
            .is_some_and(|buffer| u64::from(held) > buffer.size.get())
        {
            cx.core.counters.lossless_drops += u64::from(cx.world.is_lossless(class));
            return cx.core.discard(cx.world, port, id, Lost::Buffer);
        }
        let at = endpoints.admit(nic, now, packet.wire);
        let inside = Span::from_ps(at - now);
        // The note goes back in the ACK, so that the sender can subtract the host's time from the round trip. A
        // switch's report has precedence.
        if packet.note_port == ProfileId::NONE {
            packet.note = u32::try_from(inside.as_ns()).unwrap_or(u32::MAX);
        }
        endpoints.hosts[nic].inside.push(&mut cx.core.packets, id);
        if cx.core.watch.accounts.on() {
            cx.core.account_host(id, inside);
        }
        cx.core.schedule(LaneId::WHEEL, at, Event::HostDone { nic });
        let is_full = endpoints
            .buffer
            .is_some_and(|buffer| u64::from(held) > buffer.xoff.get());
        // Paused at `xoff`, below the size: what is on the wire until the switch stops still has to fit.
        if is_full && endpoints.pauses && cx.world.is_lossless(class) {
            self.ask_for_pause(cx, port, class);
        }
    }

    /// Pauses a class because a NIC's buffer fills, unless the class is paused already.
    #[cold]
    fn ask_for_pause(&mut self, cx: &mut Cx<'_>, port: PortId, class: u8) {
        let Some(endpoints) = &mut self.endpoints else {
            return;
        };
        if cx.core.ports[port].asked & 1 << class == 0
            && let Some(frame) = cx.core.pfc_frame(cx.world, port, class, true)
        {
            endpoints.hosts[cx.core.ports[port].nic()].paused |= 1 << class;
            cx.core.push(cx.world, port, LINK_CONTROL, frame);
            self.try_send(cx, port);
        }
    }

    /// Resumes the classes that a NIC has paused, after its buffer has emptied to `xon`.
    #[cold]
    fn end_pauses(&mut self, cx: &mut Cx<'_>, nic: NicId) {
        let Some(endpoints) = &mut self.endpoints else {
            return;
        };
        let paused = std::mem::take(&mut endpoints.hosts[nic].paused);
        let ports = self.ports_of(nic).to_vec();
        for class in (0..cx.core.class_count() as u8).filter(|class| paused >> class & 1 == 1) {
            for &port in &ports {
                if let Some(frame) = cx.core.pfc_frame(cx.world, port, class, false) {
                    cx.core.push(cx.world, port, LINK_CONTROL, frame);
                    self.try_send(cx, port);
                }
            }
        }
    }

    /// Delivers the first packet in a host to its receiver.
    #[inline(never)]
    pub(crate) fn host_done(&mut self, cx: &mut Cx<'_>, traffic: &mut Traffic, nic: NicId) {
        let Some(endpoints) = &mut self.endpoints else {
            return;
        };
        let id = endpoints.pop(nic, &cx.core.packets);
        let host = &endpoints.hosts[nic];
        let has_room =
            (endpoints.buffer).is_some_and(|buffer| u64::from(host.inside.bytes) <= buffer.xon.get());
        if host.paused != 0 && has_room {
            self.end_pauses(cx, nic);
        }
        self.receive_data(cx, traffic, id);
    }

    /// Returns the time that the receiver's host took, as the acknowledgement reports it: in whole ns.
    #[inline]
    pub(super) fn endpoint_delay(&self, ack: &Packet) -> Span {
        if self.endpoints.is_none() || ack.note_port != ProfileId::NONE {
            return Span::ZERO;
        }
        Span::from_ns(u64::from(ack.note))
    }
}

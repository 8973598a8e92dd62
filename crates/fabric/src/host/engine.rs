//! What a receiver's host takes before it answers: the model of [`paceline_run::spec::Endpoint`].
//!
//! Data packets that arrive at a host port enter its receive engine, which serves one after another;
//! then each takes the fixed delay and its share of the jitter, without overtaking. At the end of
//! that it is data: the receiver looks at it and answers. Acknowledgements and notices end in the NIC.

use paceline_kernel::Span;
use paceline_kernel::ids::{Id, List};
use paceline_kernel::queue::LaneId;
use paceline_kernel::rng::{Purpose, Rng};

use crate::core::Core;
use crate::core::event::Event;
use crate::core::packet::{Packet, PacketSlab};
use crate::core::port::ClassQueue;
use crate::host::Hosts;
use crate::ids::{NicId, PacketId, PortId, ProfileId};
use crate::traffic::Traffic;
use crate::world::World;
use paceline_run::spec::{Endpoint, RunSpec};

/// The receiving half of the hosts, by NIC.
#[derive(Clone, Debug)]
pub(super) struct Endpoints {
    model: Endpoint,
    hosts: List<NicId, Host>,
}

#[derive(Clone, Debug)]
struct Host {
    line: Line,
    /// What is in the host, in order.
    inside: ClassQueue,
    rng: Rng,
}

/// What a host's receive engine has to do: when it has served what it holds, and when the last of that is
/// data, in ps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    free_at: u64,
    data_at: u64,
}

impl Line {
    /// When a packet that arrives at `now` is data, with so much jitter of its own.
    fn enter(&mut self, model: &Endpoint, now: u64, wire: u16, jitter: impl FnOnce() -> u64) -> u64 {
        self.free_at = self.free_at.max(now) + model.service(wire);
        let mut at = self.free_at + model.delay.as_ps();
        if model.jitter > Span::ZERO {
            at += jitter();
        }
        self.data_at = self.data_at.max(at);
        self.data_at
    }
}

impl Endpoints {
    /// Of a network with so many NICs, where hosts take time.
    pub(super) fn of(spec: &RunSpec, nics: usize) -> Option<Box<Self>> {
        let model = spec.nic.endpoint?;
        let host = |nic: usize| Host {
            line: Line::default(),
            inside: ClassQueue::EMPTY,
            rng: Rng::stream(spec.seed, Purpose::Endpoint, nic as u64),
        };
        let hosts = (0..nics).map(host).collect();
        Some(Box::new(Self { model, hosts }))
    }

    /// Takes over a host of another part.
    pub(super) fn take_over(&mut self, other: &mut Self, nic: NicId, mine: &mut Core, theirs: &mut Core) {
        self.hosts.exchange(&mut other.hosts, nic);
        let inside = &mut self.hosts[nic].inside;
        *inside = mine.adopt_queue(theirs, inside);
    }

    /// The streams of all hosts.
    pub(super) fn rngs(&self) -> impl Iterator<Item = &Rng> {
        self.hosts.iter().map(|host| &host.rng)
    }

    /// When a packet that arrives at `now` is data.
    fn admit(&mut self, nic: NicId, now: u64, wire: u16) -> u64 {
        let (model, Host { line, rng, .. }) = (&self.model, &mut self.hosts[nic]);
        line.enter(model, now, wire, || {
            (model.jitter.as_ps() as f64 * rng.next_f64()) as u64
        })
    }

    fn pop(&mut self, nic: NicId, packets: &PacketSlab) -> PacketId {
        self.hosts[nic].inside.pop(packets).0
    }
}

impl Hosts {
    /// A data packet arrived at a host's NIC.
    #[inline(never)]
    pub(super) fn enter_host(&mut self, core: &mut Core, port: PortId, id: PacketId) {
        let now = core.now();
        let Some(endpoints) = &mut self.endpoints else {
            return;
        };
        let nic = core.ports[port].nic();
        let packet = core.packets.get_mut(id);
        let at = endpoints.admit(nic, now, packet.wire);
        let inside = Span::from_ps(at - now);
        if packet.note_port == ProfileId::NONE {
            packet.note = u32::try_from(inside.as_ns()).unwrap_or(u32::MAX);
        }
        endpoints.hosts[nic].inside.push(&mut core.packets, id);
        if core.watch.accounts.on() {
            core.account_host(id, inside);
        }
        core.schedule(LaneId::WHEEL, at, Event::HostDone { nic });
    }

    /// The first packet in a host is data now.
    #[inline(never)]
    pub(crate) fn host_done(&mut self, world: &World, core: &mut Core, traffic: &mut Traffic, nic: NicId) {
        if let Some(endpoints) = &mut self.endpoints {
            let id = endpoints.pop(nic, &core.packets);
            self.receive_data(world, core, traffic, id);
        }
    }

    /// How long the receiver's host took, as an acknowledgement tells it: in whole ns.
    #[inline]
    pub(super) fn endpoint_delay(&self, ack: &Packet) -> Span {
        if self.endpoints.is_none() || ack.note_port != ProfileId::NONE {
            return Span::ZERO;
        }
        Span::from_ns(u64::from(ack.note))
    }
}

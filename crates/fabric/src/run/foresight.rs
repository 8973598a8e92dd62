//! Foresight: the round-trip time that a data packet would have if it left a sender now, as far as the present state of
//! the network decides it ([`paceline_congestion::CongestionControl::on_foresight`]).
//!
//! The run forks. In the fork, senders send nothing any more except the packet in question: a probe behind what its NIC
//! has to send of others. Everything else goes on by the rules of the run, with its random streams: queues drain, links
//! deliver and lose, switches mark, pause and drop, and receivers answer, until the probe's acknowledgement is back.
//! The probe meets everything that is on links or in queues now, and nothing that leaves a sender later. If all paths
//! to the bottleneck take equally long (an incast through one switch), later packets cannot get ahead of the probe, and
//! the result is exact, except for packets that leave or arrive at the very same instant.
//!
//! # Limits
//! * Packets that other senders send later do matter if they join the path sooner than the probe: from senders nearer
//!   to a bottleneck, as cross traffic behind the first switch, or while a pause holds the probe back.
//! * After now, links do not fail or come back, and storms do not start or end.
//! * A probe that is lost, or that its receiver does not answer, gives no result.
//!
//! A fork has all packets, ports, queues and pending events, switches and receivers, and the progress of flows. It has
//! no senders and no recorders. Nothing in it affects the state of the run, and only senders that ask for foresight
//! cost time.

use paceline_congestion::registry::ActiveScheme;
use paceline_kernel::Span;

use crate::core::Core;
use crate::core::event::Event;
use crate::core::packet::Packet;
use crate::core::port::Ports;
use crate::host::Hosts;
use crate::ids::{PacketId, PortId, QpId};
use crate::run::simulation::{Foresight, Simulation};
use crate::switch::Switches;
use crate::traffic::Traffic;
use crate::watch::Watch;
use crate::world::classes::Classes;
use crate::world::links::Profiles;
use paceline_run::outcome::PacketKind;
use paceline_run::spec::{RecordSpec, RunSpec};

/// State of a fork, exchanged with the run's while the fork goes on.
#[derive(Clone)]
struct Fork {
    core: Core,
    switches: Switches,
    hosts: Hosts,
    traffic: Traffic,
}

/// The packet in question, in the fork.
struct Probe {
    id: PacketId,
    port: PortId,
    class: u8,
    sent: bool,
}

impl Foresight {
    /// Creates the foresight of a run whose schemes ask for it.
    pub(super) fn of(
        spec: &RunSpec,
        schemes: &[ActiveScheme],
        ports: &Ports,
        profiles: &Profiles,
        classes: &Classes,
    ) -> Option<Self> {
        let asked = schemes.iter().any(|scheme| scheme.needs().foresight);
        asked.then(|| {
            let unrecorded = RunSpec {
                record: RecordSpec::default(),
                ..spec.clone()
            };
            Self(Box::new(Watch::of(&unrecorded, ports, profiles, classes, 0)))
        })
    }
}

impl Simulation {
    /// Passes the round-trip time of its next packet to the sender that acknowledgement `id` reaches, if it asks for
    /// foresight.
    #[cold]
    pub(super) fn notify_foresight(&mut self, id: PacketId) {
        let packet = self.core.packets.get(id);
        let slot = packet.qp;
        let reported = is_acknowledgement(packet)
            && self.hosts.is_current(&self.world, &self.core, id)
            && self.hosts.qp(slot).needs().foresight
            && self.hosts.qp(slot).is_reachable();
        if reported && let Some(rtt) = self.foresee(slot) {
            self.hosts.qp_mut(slot).foresee(rtt);
        }
    }

    /// Returns the round-trip time of a data packet of `slot` that leaves now; `None` if it would not come back.
    fn foresee(&mut self, slot: QpId) -> Option<Span> {
        let watch = self.foresight.take()?;
        let packet = self.hosts.probe(&self.world, slot);
        let mut fork = self.fork(watch);
        // The fork's state is put into the run, so that the same code runs it.
        self.swap(&mut fork);
        let probe = Probe {
            id: self.core.packets.insert(packet),
            port: fork.hosts.qp(slot).port(),
            class: packet.class,
            sent: false,
        };
        let rtt = self.run_until_back(probe);
        self.swap(&mut fork);
        let mut watch = fork.core.watch;
        // Frames are recorded in forks too, where they are never read.
        watch.recorder.pfc.clear();
        self.foresight = Some(Foresight(Box::new(watch)));
        rtt
    }

    /// Returns a copy of the run that goes on without senders.
    fn fork(&self, Foresight(watch): Foresight) -> Box<Fork> {
        Box::new(Fork {
            core: self.core.fork(*watch),
            switches: self.switches.clone(),
            hosts: self.hosts.without_senders(),
            // Receivers need to know which flows are over; nothing starts when they are.
            traffic: self.traffic.without_starts(),
        })
    }

    /// Exchanges the states of run and fork. The world serves both.
    fn swap(&mut self, fork: &mut Fork) {
        std::mem::swap(&mut self.core, &mut fork.core);
        std::mem::swap(&mut self.switches, &mut fork.switches);
        std::mem::swap(&mut self.hosts, &mut fork.hosts);
        std::mem::swap(&mut self.traffic, &mut fork.traffic);
    }

    /// Runs until the probe's acknowledgement reaches its sender.
    fn run_until_back(&mut self, mut probe: Probe) -> Option<Span> {
        let end = self.world.spec.stop.as_ps() + 1;
        self.send_probe(&mut probe);
        while let Some(event) = self.core.next_uncounted(end) {
            match event {
                Event::Arrive { port, packet } => {
                    // The fork has no senders that could take the packet.
                    if self.comes_back(port, packet) {
                        let sent_at = self.core.packets.get(packet).sent_at;
                        let lost = self.core.ports[port].needs_slow_path
                            && self.core.is_lost(&self.world, port, packet);
                        if packet == probe.id {
                            return (!lost).then(|| Span::from_ps(self.core.now() - sent_at));
                        }
                        self.core.packets.remove(packet);
                    } else {
                        self.arrive(port, packet);
                    }
                }
                event @ (Event::TxDone { .. }
                | Event::HostDone { .. }
                | Event::PauseEnd { .. }
                | Event::PauseRenew { .. }
                | Event::Watchdog { .. }
                | Event::ReceiverTimer { .. }
                | Event::GrantDue { .. }) => self.dispatch(event),
                // Actions of senders, starts of flows, and changes of links.
                Event::Wake { .. }
                | Event::Timer { .. }
                | Event::Timeout { .. }
                | Event::ProbeDue { .. }
                | Event::Decided { .. }
                | Event::Special { .. }
                | Event::FlowDue { .. }
                | Event::FlowStart { .. }
                | Event::Program { .. }
                | Event::Sent { .. }
                | Event::Topology { .. }
                | Event::Storm { .. }
                | Event::Sample => {}
            }
            if !probe.sent {
                self.send_probe(&mut probe);
            }
        }
        None
    }

    /// Returns true if a packet arrives at a sender.
    fn comes_back(&self, port: PortId, packet: PacketId) -> bool {
        let for_receivers = [PacketKind::Data, PacketKind::Pause, PacketKind::Resume];
        let kind = self.core.packets.get(packet).kind;
        self.core.ports[port].is_host && !for_receivers.contains(&kind)
    }

    /// Sends the probe once its port is free and no other packet may leave first.
    fn send_probe(&mut self, probe: &mut Probe) {
        let port = &self.core.ports[probe.port];
        if self.core.is_busy(probe.port) {
            return self.core.await_transmission(probe.port);
        }
        let held = port.paused >> probe.class & 1 != 0 || !port.is_up();
        if held || port.ready != 0 && self.world.next_ack(port).is_some() {
            return;
        }
        probe.sent = true;
        self.core.packets.get_mut(probe.id).sent_at = self.core.now();
        let more = port.ready != 0;
        self.core
            .start_transmission(&self.world, probe.port, probe.id, more);
    }
}

fn is_acknowledgement(packet: &Packet) -> bool {
    matches!(packet.kind, PacketKind::Ack | PacketKind::Nack)
}

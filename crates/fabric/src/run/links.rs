//! Arrivals at the end of a link, and pauses.

use crate::core::cx::Cx;
use crate::core::event::Event;
use crate::core::lost::Lost;
use crate::core::packet::Packet;
use crate::core::port::LinkState;
use crate::core::retry::Brought;
use crate::ids::{PacketId, PortId};
use crate::run::kind::NetworkKind;
use crate::run::simulation::Simulation;
use crate::watch::probe::Sight;
use crate::world::classes::LINK_CONTROL;
use paceline_kernel::Time;
use paceline_kernel::queue::LaneId;
use paceline_run::outcome::{PacketKind, PfcEvent, TraceKind};
use paceline_run::spec::{FlowControl, PfcMode, PfcResponse};

impl Simulation {
    #[inline(always)]
    pub(super) fn transmission_done(&mut self, port: PortId) {
        let p = &self.core.ports[port];
        // A link that failed and came back may have started another transmission since. Equal times with another tie:
        // what ended then is not this transmission.
        if !self.core.is_end(p) {
            return;
        }
        let p = &mut self.core.ports[port];
        p.done_pending = false;
        if !self.kind.is_own() || p.link == LinkState::Retry {
            self.transmission_done_elsewhere(port);
        } else if p.is_host {
            self.hosts
                .nic_send(&mut Cx::new(&self.world, &mut self.core), port);
        } else if p.is_up() && p.ready != 0 {
            self.switches
                .switch_send(&mut Cx::new(&self.world, &mut self.core), port);
        }
    }

    /// Handles the end of a transmission on a link with retry, or in another kind of network.
    #[inline(never)]
    fn transmission_done_elsewhere(&mut self, port: PortId) {
        if self.core.has_retry(port) {
            self.core.line_is_free(&self.world, port);
        }
        match self.kind.is_own() {
            true => self.try_send(port),
            false => self.notify_kind(Event::TxDone { port }),
        }
    }

    /// Handles an event of a link with retry.
    #[inline(never)]
    pub(super) fn retry_event(&mut self, kind: u8, port: PortId, b: u32) {
        if self.core.retry_event(&self.world, kind, port, b) {
            self.try_send(port);
        }
    }

    /// Handles what has arrived on a link with retry, unless it is link control.
    fn arrive_on_retry(&mut self, port: PortId, id: PacketId) {
        match self.core.receive_on_retry(&self.world, port, id) {
            Brought::Nothing => {}
            Brought::Packet(packet, waited) => {
                if waited > 0 {
                    self.core.account_retry(packet, waited);
                }
                self.pass_on(port, packet);
            }
            // The device that receives it sees that it was damaged, and drops it.
            Brought::Poisoned(packet) => self.core.discard(&self.world, port, packet, Lost::Link),
        }
    }

    /// Handles the arrival of a packet's last bit.
    #[inline(always)]
    pub(super) fn arrive(&mut self, port: PortId, id: PacketId) {
        let p = &self.core.ports[port];
        if p.needs_slow_path || self.core.packets.get(id).kind.is_pfc() {
            return self.arrive_oddly(port, id);
        }
        self.split().1.receive(port, id);
    }

    /// Handles the arrival of a pause frame, or of any packet where packets can be lost or are traced.
    #[inline(never)]
    fn arrive_oddly(&mut self, port: PortId, id: PacketId) {
        if self.core.packets.get(id).flags & Packet::HEARD != 0 {
            return self.heed_later(port, id);
        }
        let kind = self.core.packets.get(id).kind;
        if !kind.is_link_control() && self.core.has_retry(port) {
            let wire = self.core.packets.get(id).wire;
            return match self.core.is_cut_off(&self.world, port, wire) {
                true if kind == PacketKind::Llr => self.core.packets.remove(id),
                true => self.core.discard(&self.world, port, id, Lost::Link),
                false => self.arrive_on_retry(port, id),
            };
        }
        // A frame that waits for its reaction time was checked when it arrived.
        if self.core.is_lost(&self.world, port, id) {
            if self.core.packets.get(id).kind == PacketKind::Credit {
                // Credits announced in the lost packet would be missing for good, so they are announced again.
                self.core.lost_update(port, self.core.packets.get(id).class);
            }
            return self.core.discard(&self.world, port, id, Lost::Link);
        }
        match kind {
            PacketKind::Isolate => {
                let cx = &mut Cx::new(&self.world, &mut self.core);
                self.switches.hear_isolation(cx, port, id);
            }
            kind if kind.is_pfc() => self.receive_pfc(port, id),
            _ => self.pass_on(port, id),
        }
    }

    /// Passes on a packet that a link has brought.
    fn pass_on(&mut self, port: PortId, id: PacketId) {
        if self.core.watch.recorder.tracing {
            self.trace(port, TraceKind::Receive, id, 0);
        }
        if self.foresight.is_some() && self.core.ports[port].is_host {
            self.notify_foresight(id);
        }
        let (kind, mut net) = self.split();
        kind.receive(&mut net, port, id);
    }

    /// Receives a pause frame, which takes effect now or after the port's reaction time.
    #[cold]
    fn receive_pfc(&mut self, port: PortId, id: PacketId) {
        let packet = *self.core.packets.get(id);
        if self.core.watch.recorder.tracing {
            self.trace(port, TraceKind::Receive, id, 0);
        }
        let pause = packet.kind == PacketKind::Pause;
        self.record_frame(port, &packet, pause);
        if pause {
            self.core.counters.pause_frames += 1;
        } else {
            self.core.counters.resume_frames += 1;
        }
        let response = match self.world.spec.switch.flow_control {
            FlowControl::Pfc(pfc) => pfc.response,
            FlowControl::None | FlowControl::Credits => PfcResponse::NONE,
        };
        // The frame arrives a second time after the reaction time. Until then the port goes on sending, into the
        // headroom at the other end.
        if let Some(at) = self.core.applied_at(response, port, packet.class) {
            self.core.packets.get_mut(id).flags |= Packet::HEARD;
            let event = Event::Arrive { port, packet: id };
            return self.core.schedule(LaneId::WHEEL, at, event);
        }
        self.apply_pause(port, id);
    }

    /// Applies a frame after the port's reaction time.
    #[cold]
    fn heed_later(&mut self, port: PortId, id: PacketId) {
        match self.core.is_forgotten(port, id) {
            true => self.core.packets.remove(id),
            false => self.apply_pause(port, id),
        }
    }

    /// Applies a pause or a resume.
    fn apply_pause(&mut self, port: PortId, id: PacketId) {
        let packet = *self.core.packets.get(id);
        self.core.packets.remove(id);
        let pause = packet.kind == PacketKind::Pause;
        if let (NetworkKind::Foreign(model), mut net) = self.split() {
            return model.receive_frame(&mut net, port, packet.class, pause);
        }
        if !pause {
            self.pause_is_over(port, packet.class);
            return self.unpause(port, packet.class);
        }
        // A pause that the watchdog ignores in a storm still renews the timer below.
        if self.heeds_pause(port, packet.class) {
            self.settle_port(port, packet.class, true);
            if self.core.pause(port, packet.class) {
                self.switches
                    .pause_began(&Cx::new(&self.world, &mut self.core), port, packet.class);
            }
        }
        if let FlowControl::Pfc(pfc) = self.world.spec.switch.flow_control
            && let PfcMode::Quanta { pause } = pfc.mode
        {
            // Each frame moves the end of the pause, as its quanta replace those of the frame before.
            let until = self.core.now() + pause.as_ps();
            self.core.pause_until(port, packet.class, until);
        }
    }

    fn record_frame(&mut self, port: PortId, packet: &Packet, pause: bool) {
        if self.world.spec.record.omit_pfc {
            return;
        }
        let p = &self.core.ports[port];
        self.core.watch.recorder.pfc.push(PfcEvent {
            at: Time::from_ps(self.core.now()),
            node: p.node,
            is_switch: !p.is_host,
            interface: self.core.watch.recorder.interface(port),
            class: self.world.classes.priority(packet.class),
            pause,
        });
    }

    /// Ends a pause, if there is one, and sends what waited.
    pub(super) fn unpause(&mut self, port: PortId, class: u8) {
        if self.core.ports[port].paused & 1 << class != 0 {
            self.settle_port(port, class, false);
            self.core.resume(port, class);
            self.switches
                .pause_ended(&Cx::new(&self.world, &mut self.core), port, class);
        }
        self.try_send(port);
    }

    pub(super) fn pause_end(&mut self, port: PortId, class: u8) {
        if matches!(self.kind, NetworkKind::Foreign(_)) {
            return self.notify_kind(Event::PauseEnd { port, class });
        }
        // A later frame has moved the end: its own event comes then.
        if self.core.is_pause_over(port, class) {
            self.pause_is_over(port, class);
            self.unpause(port, class);
        }
    }

    pub(super) fn pause_renew(&mut self, port: PortId, class: u8) {
        if self.core.must_renew(port, class) {
            self.send_pfc(port, class, true);
        }
    }

    /// Sends a PFC frame about `class` out of `port`.
    pub(super) fn send_pfc(&mut self, port: PortId, class: u8, pause: bool) {
        if let Some(id) = self.core.pfc_frame(&self.world, port, class, pause) {
            self.enqueue(port, LINK_CONTROL, id);
        }
    }

    /// Sends from a port if it is idle and has packets.
    #[inline]
    pub(super) fn try_send(&mut self, port: PortId) {
        if self.core.ports[port].is_host {
            self.hosts
                .try_send(&mut Cx::new(&self.world, &mut self.core), port);
        } else if let (NetworkKind::Lanes(lanes), mut net) = self.split() {
            net.with_lanes(|net| lanes.try_send(net, port));
        } else {
            self.switches
                .try_send(&mut Cx::new(&self.world, &mut self.core), port);
        }
    }

    /// Appends a packet to a port's queue, and sends if the port is idle.
    #[inline]
    pub(super) fn enqueue(&mut self, port: PortId, class: u8, id: PacketId) {
        self.core.push(&self.world, port, class, id);
        self.try_send(port);
    }
}

/// Observation of links and topology changes, at hosts and switches alike.
impl Simulation {
    pub(super) fn trace(&mut self, port: PortId, event: TraceKind, id: PacketId, queue_bytes: u32) {
        self.hosts.trace(
            &mut Cx::new(&self.world, &mut self.core),
            port,
            event,
            id,
            queue_bytes,
        );
    }
    pub(super) fn settle_port(&mut self, port: PortId, class: u8, pause: bool) {
        if self.core.watch.probes.on() {
            self.core.show(&self.world, port, Sight::Pause(class, pause));
        }
        self.hosts.settle_port(&mut self.core, port, class, pause);
    }
    pub(super) fn settle_all(&mut self) {
        self.hosts.settle_all(&mut self.core);
    }
}

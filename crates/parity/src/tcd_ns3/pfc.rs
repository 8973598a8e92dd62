//! Pauses: requested by each packet that arrives in a class above its threshold, and renewed every half of their
//! duration while it is. They end by a frame or by expiry.
//!
//! The egress port of the packet renews the pause, so several ports of a switch may watch the same ingress class.

use paceline_fabric::model::{LINK_CONTROL, Net, Packet, PortId, Ports, STRICT};
use paceline_fabric::outcome::PacketKind;
use paceline_fabric::spec::{FlowControl, PfcMode, PfcThreshold, RunSpec};
use paceline_kernel::ids::List;
use paceline_kernel::queue::LaneId;

use crate::tcd_ns3::buffer::{CELL, GUARANTEED, POOL};
use crate::tcd_ns3::outcome::Change;
use crate::tcd_ns3::spec::TcdNs3Spec;
use crate::tcd_ns3::{TcdNs3, recheck_of};

/// Bytes of a port above which all its classes are paused, and below which they resume.
const PORT_LIMITS: (u32, u32) = (2 * 4800 * CELL, 2 * 4700 * CELL);
/// Dynamic thresholds: factor of the free pool bytes, and the offset for resuming, bytes.
const DYNAMIC: (f64, f64) = (10.0, 16.0);

/// Thresholds and durations of pauses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    dynamic: bool,
    /// Static thresholds of a class to pause and to resume, bytes.
    limits: (u32, u32),
    /// Duration of a pause, and interval until the next check, ps.
    span: u64,
    again: u64,
}

impl Rules {
    pub(super) fn of(spec: &RunSpec, own: &TcdNs3Spec) -> Self {
        const US: u64 = 1_000_000;
        let small = |bytes: paceline_kernel::Bytes| u32::try_from(bytes.get()).unwrap_or(u32::MAX);
        let (mut limits, mut span) = ((u32::MAX, 0), 0);
        if let FlowControl::Pfc(pfc) = spec.switch.flow_control {
            if let PfcThreshold::Static { xoff, xon } = pfc.threshold {
                limits = (small(xoff), small(xon));
            }
            if let PfcMode::Quanta { pause } = pfc.mode {
                span = pause.as_ps();
            }
        }
        Self {
            dynamic: own.dynamic_pfc,
            limits,
            span,
            again: span / US / 2 * US,
        }
    }
}

/// Generations of the timers by which egress ports watch ingress classes.
#[derive(Clone)]
pub(super) struct Rechecks {
    classes: usize,
    generations: List<PortId, Box<[u16]>>,
}

impl Rechecks {
    pub(super) fn new(ports: &Ports, classes: usize) -> Self {
        let mut degrees = std::collections::BTreeMap::<_, usize>::new();
        for port in ports {
            *degrees.entry(port.node).or_default() += 1;
        }
        let of = |count: usize| vec![0; count * classes].into_boxed_slice();
        let sizes = ports.iter().map(|port| match port.is_host {
            true => 0,
            false => degrees[&port.node],
        });
        Self {
            classes,
            generations: sizes.map(of).collect(),
        }
    }

    fn setting(&mut self, port: PortId, index: u16, class: u8) -> &mut u16 {
        &mut self.generations[port][usize::from(index) * self.classes + usize::from(class)]
    }
}

impl TcdNs3 {
    /// Checks all classes of an ingress port after an arrival or a timer: sends pauses and resumes.
    pub(super) fn observe_ingress(&mut self, net: &mut Net<'_>, egress: PortId, ingress: PortId, class: u8) {
        let classes = STRICT..net.cx.world.class_count as u8;
        for other in classes.clone() {
            if self.must_pause(net, ingress, class, other) {
                self.send_frame(net, ingress, other, PacketKind::Pause);
                self.look_again(net, egress, ingress, other);
            }
        }
        for other in classes {
            if self.queues[(ingress, other)].ingress.asked && self.may_resume(net, ingress, other) {
                self.send_frame(net, ingress, other, PacketKind::Resume);
                let index = net.cx.core.ports[ingress].index;
                let setting = self.rechecks.setting(egress, index, other);
                // Timers that were set before hold the old number, and have no effect any more.
                *setting = setting.wrapping_add(1);
            }
        }
    }

    /// Returns true if `other` must be paused after an arrival in `class`.
    fn must_pause(&self, net: &Net<'_>, ingress: PortId, class: u8, other: u8) -> bool {
        let bytes = self.queues[(ingress, other)].ingress.bytes;
        if self.pauses.dynamic {
            let shared = f64::from(bytes) - f64::from(2 * GUARANTEED);
            return shared > 0.0 && shared > DYNAMIC.0 * self.free(net, ingress, class);
        }
        self.buffers.of_port(ingress) > PORT_LIMITS.0 || other == class && bytes > self.pauses.limits.0
    }

    fn may_resume(&self, net: &Net<'_>, ingress: PortId, class: u8) -> bool {
        let bytes = self.queues[(ingress, class)].ingress.bytes;
        if self.pauses.dynamic {
            let shared = f64::from(bytes) - f64::from(2 * GUARANTEED);
            return shared < DYNAMIC.0 * (self.free(net, ingress, class) - DYNAMIC.1);
        }
        bytes < self.pauses.limits.1 && self.buffers.of_port(ingress) < PORT_LIMITS.1
    }

    /// Returns the free bytes of a class's pool.
    fn free(&self, net: &Net<'_>, ingress: PortId, class: u8) -> f64 {
        let is_ack = net.cx.world.classes.priority(class) == 1;
        let switch = net.cx.core.ports[ingress].switch();
        f64::from(POOL) - f64::from(self.buffers.pool(switch, is_ack))
    }

    /// Sends a PFC frame. Its IP identification consumes a random stream.
    fn send_frame(&mut self, net: &mut Net<'_>, port: PortId, class: u8, kind: PacketKind) {
        self.streams.skip();
        self.queues[(port, class)].ingress.asked = kind == PacketKind::Pause;
        let id = net.cx.core.packets.insert(Packet {
            wire: net.cx.world.packet.pfc_frame.get() as u16,
            epoch: net.cx.world.epoch,
            kind,
            class,
            ..Packet::EMPTY
        });
        self.switch_enqueue(net, port, LINK_CONTROL, id);
    }

    fn look_again(&mut self, net: &mut Net<'_>, egress: PortId, ingress: PortId, class: u8) {
        let index = net.cx.core.ports[ingress].index;
        let setting = self.rechecks.setting(egress, index, class);
        *setting = setting.wrapping_add(1);
        let event = recheck_of(egress, index, class, *setting);
        let at = net.cx.core.now() + self.pauses.again;
        net.cx.core.schedule(LaneId::WHEEL, at, event);
    }

    /// Handles an expired watch timer.
    pub(super) fn recheck(
        &mut self,
        net: &mut Net<'_>,
        egress: PortId,
        index: u16,
        class: u8,
        generation: u16,
    ) {
        if *self.rechecks.setting(egress, index, class) == generation {
            let ways = net.cx.core.ports[egress].ways;
            let ingress = net.cx.world.routing.port_at(ways, index.into());
            self.observe_ingress(net, egress, ingress, class);
        }
    }

    /// Applies a received PFC frame to a port.
    pub(super) fn frame_takes_effect(&mut self, net: &mut Net<'_>, port: PortId, class: u8, pause: bool) {
        self.log.frame(port, pause);
        let paused = net.cx.core.ports[port].paused & 1 << class != 0;
        if !pause {
            if paused {
                self.resume(net, port, class, false);
            }
            return;
        }
        if !paused {
            net.cx.core.pause(port, class);
            self.log_change(net, port, class, Change::Pause);
            self.log.paused(port, net.cx.core.now());
        }
        let until = net.cx.core.now() + self.pauses.span;
        net.cx.core.pause_until(port, class, until);
    }

    /// Ends a pause if it has expired.
    pub(super) fn pause_expires(&mut self, net: &mut Net<'_>, port: PortId, class: u8) {
        let paused = net.cx.core.ports[port].paused & 1 << class != 0;
        if paused && net.cx.core.is_pause_over(port, class) {
            self.resume(net, port, class, true);
        }
    }

    fn resume(&mut self, net: &mut Net<'_>, port: PortId, class: u8, expired: bool) {
        let since = net.cx.core.paused_since(port, class);
        net.cx.core.resume(port, class);
        self.log.resumed(port, net.cx.core.now() - since);
        self.log_change(net, port, class, Change::Resume { expired });
        if !net.cx.core.ports[port].is_host {
            self.marking_resumes(net.cx.core.now(), port, class);
        }
        self.send(net, port);
    }
}

//! Marking at dequeue: RED, with NP-ECN or TCD on top.

use paceline_congestion::Mark;
use paceline_congestion::detect::PortState;
use paceline_congestion::detect::tcd::{Rule, Verdict};
use paceline_fabric::model::{Core, Net, PacketId, PortId};
use paceline_fabric::outcome::PacketKind;
use paceline_fabric::spec::{Detection, RunSpec};
use paceline_kernel::{BitRate, Span, Time};

use crate::tcd_ns3::TcdNs3;
use crate::tcd_ns3::buffer::CELL;
use crate::tcd_ns3::outcome::Change;

/// Marking curve of acknowledgements, whose ramp reaches 1. Nobody evaluates these marks, but their random draws
/// still have to happen.
const OF_ACKS: Curve = Curve {
    kmin: 40 * CELL,
    kmax: 400 * CELL,
    pmax: 1.0,
};

/// A marking curve; thresholds in bytes.
#[derive(Clone, Copy, Debug)]
struct Curve {
    kmin: u32,
    kmax: u32,
    pmax: f64,
}

impl Curve {
    /// Returns true if a packet that leaves `left` bytes behind is marked. `draw` returns a number from 0 to 1.
    fn marks(&self, left: u32, draw: impl FnOnce() -> f64) -> bool {
        if left > self.kmax {
            return true;
        }
        left > self.kmin && {
            let part = f64::from(left - self.kmin) / f64::from(self.kmax - self.kmin);
            draw() < part * self.pmax
        }
    }
}

/// Marking rules of a network.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// Marking curves by port rate.
    curves: Vec<(BitRate, Curve)>,
    spares: bool,
    /// TCD's rule; `None` without TCD.
    rule: Option<Rule>,
}

impl Rules {
    pub(super) fn of(spec: &RunSpec) -> Self {
        let small = |bytes: paceline_kernel::Bytes| u32::try_from(bytes.get()).unwrap_or(u32::MAX);
        let curves = spec.switch.ecn.iter().map(|curve| {
            let own = Curve {
                kmin: small(curve.kmin),
                kmax: small(curve.kmax),
                pmax: curve.pmax,
            };
            (curve.rate, own)
        });
        let rule = match spec.switch.detection {
            Detection::Tcd(tcd) => Some(Rule {
                variant: tcd.variant,
                max_ton: tcd.max_ton.unwrap_or(Span::ZERO),
                threshold: 2 * CELL,
            }),
            _ => None,
        };
        Self {
            curves: curves.collect(),
            spares: spec.switch.detection == Detection::NpEcn,
            rule,
        }
    }

    fn curve(&self, rate: BitRate) -> Option<&Curve> {
        let mut curves = self.curves.iter();
        curves.find(|(of, _)| *of == rate).map(|(_, curve)| curve)
    }
}

impl TcdNs3 {
    /// Marks a packet that has left its queue.
    pub(super) fn mark(&mut self, net: &mut Net<'_>, port: PortId, class: u8, id: PacketId) {
        let packet = net.cx.core.packets.get(id);
        let (is_data, before) = (packet.kind == PacketKind::Data, packet.mark);
        let rate = net.cx.world.profiles[net.cx.core.ports[port].profile].rate;
        let left = self.queues[(port, class)].occupancy.shared;
        let curve = match is_data {
            true => self.rules.curve(rate),
            false => Some(&OF_ACKS),
        };
        let streams = &mut self.streams;
        // Acknowledgements draw, too, although their marks have no effect: later draws depend on it.
        let red = curve.is_some_and(|curve| curve.marks(left, || streams.next_f64()));
        if !is_data {
            return;
        }
        let verdict = self.judge(net, port, class, red);
        self.log
            .departed(port, net.cx.core.queue_bytes(port, class), before, verdict);
        net.cx.core.mark(port, id, verdict);
    }

    fn judge(&mut self, net: &Net<'_>, port: PortId, class: u8, red: bool) -> Mark {
        let queue = &mut self.queues[(port, class)];
        if self.rules.spares {
            return Mark::congested_if(red && queue.held_back == 0);
        }
        let Some(rule) = &self.rules.rule else {
            return Mark::congested_if(red);
        };
        let now = net.cx.core.now();
        let left = seen(queue.occupancy.shared);
        // In states that depend on the curve, the random draw for this packet decides.
        let (mark, new) = match queue.machine.on_departure(rule, Time::from_ps(now), left) {
            Verdict::Undetermined => (Mark::Undetermined, PortState::Undetermined),
            Verdict::Spared => (Mark::None, queue.machine.found().unwrap_or_default()),
            Verdict::Curve if !red => (Mark::None, PortState::NotCongested),
            Verdict::Congested | Verdict::Curve => (Mark::congested_if(red), PortState::Congested),
        };
        let old = std::mem::replace(&mut queue.state, new);
        if new != old {
            self.log_change(net, port, class, Change::State(old, new));
        }
        mark
    }

    /// Updates the detectors of a switch port after a pause.
    pub(super) fn marking_resumes(&mut self, now: u64, port: PortId, class: u8) {
        let queue = &mut self.queues[(port, class)];
        queue.held_back = queue.packets;
        let left = seen(queue.occupancy.shared);
        queue.machine.on_resume(Time::from_ps(now), left);
    }

    /// Records the samples of port states that are due before the event at `at`. A state is that at the last
    /// departure.
    pub(super) fn sample_ports(&self, core: &mut Core, at: u64, is_over: bool) {
        core.sample_classes(at, is_over, |port, class| self.queues[(port, class)].state as u64);
    }

    /// Logs a change of a port's class.
    pub(super) fn log_change(&mut self, net: &Net<'_>, port: PortId, class: u8, what: Change) {
        let queue = net.cx.core.queue_bytes(port, class);
        let class = net.cx.world.classes.priority(class);
        self.log.changed(net.cx.core.now(), port, class, queue, what);
    }
}

/// Adds the reserved cell that TCD's machine subtracts; `shared` does not contain it.
const fn seen(shared: u32) -> u32 {
    shared.saturating_add(CELL)
}

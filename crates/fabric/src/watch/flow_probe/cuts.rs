//! Cuts of a sender's limits: the feedback before each, and the port that it came from.

use super::{Cause, Cut, ITSELF, Limits, Trigger, watched};
use crate::core::Core;
use crate::host::Qp;
use crate::host::read_cnp;
use crate::ids::{PacketId, PortId, ProfileId};
use crate::world::World;
use paceline_congestion::PathInfo;
use paceline_kernel::ids::Id;
use paceline_kernel::{Bytes, Span, Time};
use paceline_run::outcome::PacketKind;

impl Core {
    /// Compares a sender's limits with those at the last call, before an event that may change them. The last such
    /// event has caused the change.
    pub(in crate::watch) fn observe_limits(&mut self, qp: &Qp) {
        for index in self.watch.flow_probes.of(qp.flow()) {
            self.observe_limits_of(index, qp);
        }
    }

    fn observe_limits_of(&mut self, index: usize, qp: &Qp) {
        let after = limits_of(qp);
        let (int, pint) = (qp.needs().int, qp.needs().pint);
        let look = &mut self.watch.flow_probes.looks[index];
        let trigger = std::mem::replace(&mut look.trigger, ITSELF);
        let before = std::mem::replace(&mut look.limits, after);
        // Only reductions are cuts: an increase needs no cause in the network.
        if after.rate >= before.rate && after.window >= before.window {
            return;
        }
        // A loss or a notification names its cause. For others the marks since the last cut decide, if there were any.
        let (cause, port) = match (trigger.cause, look.most_marks()) {
            (Cause::Loss | Cause::Timeout | Cause::Notice | Cause::Report, _) => {
                (trigger.cause, trigger.port)
            }
            (Cause::Delay, _) if int => (Cause::Telemetry, trigger.port),
            (Cause::Delay, _) if pint => (Cause::Digest, trigger.port),
            (_, Some(port)) => (look.pending_told, port),
            (cause, None) => (cause, trigger.port),
        };
        look.pending.clear();
        let cut = Cut {
            at: Time::from_ps(trigger.at),
            cause,
            port: self.known_port(port),
            before,
            after,
            rtt: trigger.rtt.map(Span::from_ps),
        };
        self.watch.flow_probes.looks[index].cut(cut, port);
    }

    /// Notes a timer or a decision of a sender's scheme, or a timeout.
    pub(crate) fn observe_timer(&mut self, qp: &Qp, cause: Cause) {
        let now = self.now();
        for index in self.watch.flow_probes.of(qp.flow()) {
            let look = &mut self.watch.flow_probes.looks[index];
            // The round-trip time that a decision is based on is not known here, so the port where the last packet
            // waited is taken.
            let port = if cause == Cause::Delay {
                look.waited_at
            } else {
                PortId::NONE
            };
            look.trigger = Trigger {
                at: now,
                cause,
                port,
                rtt: None,
            };
        }
    }

    /// Notes an answer that reaches its sender, which is about to react.
    pub(crate) fn observe_answer(&mut self, world: &World, qp: &Qp, id: PacketId) {
        for index in self.watch.flow_probes.of(qp.flow()) {
            self.observe_answer_to(index, world, qp, id);
        }
    }

    fn observe_answer_to(&mut self, index: usize, world: &World, qp: &Qp, id: PacketId) {
        let now = self.now();
        let packet = *self.packets.get(id);
        let seen = *self.watch.flow_probes.seen(id);
        let known = seen.flow == packet.flow;
        let echoes = qp.needs().ecn && qp.echo_notifies();
        let busiest = self.busiest_hop(index, qp.path(), id);
        let look = &mut self.watch.flow_probes.looks[index];
        let mut trigger = Trigger {
            at: now,
            cause: Cause::Delay,
            port: if known { seen.longest.0 } else { PortId::NONE },
            rtt: None,
        };
        let told_by = if known { seen.told_by } else { PortId::NONE };
        match packet.kind {
            PacketKind::Cnp if read_cnp(&packet).rate.is_some() => {
                (trigger.cause, trigger.port) = (Cause::Report, told_by)
            }
            PacketKind::Signal => (trigger.cause, trigger.port) = (Cause::Notice, told_by),
            PacketKind::Cnp => {
                look.pending_told = Cause::Cnp;
                watched::count(&mut look.pending, told_by);
                (trigger.cause, trigger.port) = (Cause::Cnp, told_by);
            }
            PacketKind::Nack => trigger.cause = Cause::Loss,
            _ => {
                trigger.rtt = Some(now - packet.sent_at);
                let noted = packet.note_port != ProfileId::NONE
                    && told_by != PortId::NONE
                    && world.nic.endpoint.is_none();
                if noted {
                    (trigger.cause, trigger.port) = (Cause::Notice, told_by);
                } else if packet.mark.is_set() && echoes {
                    // The echo may be that of an earlier packet, which was not answered.
                    let port = if told_by == PortId::NONE {
                        look.last_marked
                    } else {
                        told_by
                    };
                    look.pending_told = Cause::Mark;
                    watched::count(&mut look.pending, port);
                }
                let digest_by = if known { seen.digest.1 } else { PortId::NONE };
                if !noted && let Some(port) = busiest.or((digest_by != PortId::NONE).then_some(digest_by)) {
                    trigger.port = port;
                }
                look.waited_at = if known { seen.longest.0 } else { PortId::NONE };
            }
        }
        look.trigger = trigger;
    }

    /// Returns the port on the data packet's path with the largest utilisation between the telemetry of this
    /// acknowledgement and of the last: HPCC's equation (2).
    fn busiest_hop(&mut self, index: usize, path: &PathInfo, id: PacketId) -> Option<PortId> {
        let samples = self.packets.hops(id).to_vec();
        let look = &mut self.watch.flow_probes.looks[index];
        let last = std::mem::replace(&mut look.samples, samples);
        if last.len() != look.samples.len() {
            return None;
        }
        let utilisation = |i: usize| {
            let (old, new) = (&last[i], &look.samples[i]);
            let seconds = path.int.time_between(old.at_ps, new.at_ps).as_ns_f64() * 1e-9;
            let rate = path.hop_rates.get(i).unwrap_or(&path.line_rate).as_bps() as f64;
            let sent = path.int.bytes_between(old.tx_bytes, new.tx_bytes) as f64 * 8.0 / seconds.max(1e-12);
            let queue = f64::from(new.queue_bytes.min(old.queue_bytes)) * 8.0;
            sent / rate + queue / (rate * path.base_rtt.as_ns_f64() * 1e-9).max(1.0)
        };
        let busiest =
            (0..last.len()).max_by(|&a, &b| utilisation(a).total_cmp(&utilisation(b)).then(b.cmp(&a)))?;
        look.way
            .get(busiest)
            .copied()
            .filter(|&port| port != PortId::NONE)
    }
}

pub(super) fn limits_of(qp: &Qp) -> Limits {
    Limits {
        rate: qp.rate(),
        window: Bytes::new(qp.window()),
    }
}

//! The ways of flows, so that packets write down only where they waited.
//!
//! Where nothing is lost on links, all of a flow's packets go one way, and so do their acknowledgements: which, is known
//! when the flow starts, and how long each port takes a packet that does not wait. So packets of the usual size are
//! *quiet*: they write down the ports where they waited, and where nothing is written they left when they came. What
//! ends before it comes back, or goes on where the way is not known, is *told*: all of it is written down.

use super::Accounts;
use super::hop_log::{ARRIVED, LONG, PAUSED, Step, port_of};
use super::totals::Totals;
use crate::ids::PacketId;
use paceline_run::spec::{Forwarding, RunSpec};

/// A port of a flow's way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    key: u32,
    /// Its place among the flow's ports.
    place: usize,
    /// From the beginning of its transmission to the next port.
    flight: u64,
}

/// How far a packet has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Upto {
    /// It left this port: see [`super::hop_log::key_of`].
    Left(u32),
    /// It reached the receiver.
    Receiver,
    /// Its acknowledgement reached the sender.
    Sender,
}

/// Whether all packets of a flow go one way, and none is lost on it.
pub(super) fn are_fixed(spec: &RunSpec) -> bool {
    let lossless = spec.links.iter().all(|link| link.error_rate == 0.0);
    let stores = (spec.lanes.as_ref()).is_none_or(|lanes| lanes.forwarding == Forwarding::StoreAndForward);
    lossless
        && stores
        && spec.failures.is_empty()
        && spec.link_changes.is_empty()
        && spec.has_one_way_per_flow()
        && spec.nic.endpoint.is_none()
}

impl Hop {
    pub(super) const fn key(&self) -> u32 {
        self.key
    }
}

impl Totals {
    /// The flow's packets are going to leave this port, after those before.
    pub(super) fn add_hop(&mut self, key: u32, flight: u64) {
        let place = self.place(key);
        self.way.push(Hop { key, place, flight });
    }

    /// Adds a packet that has gone the whole way and started to do so at `start`.
    #[inline]
    pub(super) fn add_quiet(&mut self, start: u64, steps: &[Step]) {
        self.quiet += 1;
        let (mut ready, mut paused) = (start, 0);
        let mut hops = self.way.iter();
        for step in steps {
            if step.key >= ARRIVED {
                paused = if step.key == PAUSED { step.left } else { paused };
                continue;
            }
            for hop in hops.by_ref() {
                if hop.key == step.key & !LONG {
                    let port = &mut self.ports[hop.place];
                    port.add_queueing(step.left - ready - paused);
                    if paused > 0 {
                        port.add_pause(std::mem::take(&mut paused));
                    }
                    ready = step.left + hop.flight;
                    break;
                }
                ready += hop.flight;
            }
        }
    }

    /// Quiet packets were at every port of the way: so does each port count.
    pub(super) fn count_quiet(&mut self) {
        let packets = std::mem::take(&mut self.quiet);
        for hop in &self.way {
            self.ports[hop.place].packets += packets;
        }
    }
}

impl Accounts {
    /// Writes down all that a quiet packet met.
    pub(super) fn notify(&mut self, packet: PacketId, upto: Upto) {
        let hop_log = self.hop_logs.get_mut(packet);
        let Some((head, _)) = hop_log.read().filter(|(head, _)| head.is_quiet) else {
            return;
        };
        let (mut ready, way) = (head.start, &self.totals[head.place].way);
        let steps = hop_log.begin_anew();
        let mut steps = steps.iter().filter(|step| step.key != ARRIVED).peekable();
        let (mut paused, mut last) = (0, PAUSED);
        for hop in way {
            let beyond = match upto {
                Upto::Left(end) => last == end,
                Upto::Receiver => port_of(hop.key).1,
                Upto::Sender => false,
            };
            if beyond {
                break;
            }
            if let Some(pause) = steps.next_if(|step| step.key == PAUSED) {
                paused = pause.left;
            }
            let waited = steps.next_if(|step| step.key & !LONG == hop.key);
            if waited.is_some() && paused > 0 {
                hop_log.push(Step::other(PAUSED, std::mem::take(&mut paused)));
            }
            let left = waited.map_or(ready, |step| step.left);
            ready = left + hop.flight;
            hop_log.leave(hop.key, left, ready);
            last = hop.key;
        }
    }
}

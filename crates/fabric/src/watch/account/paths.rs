//! Known paths of flows, with which packets log only the ports where they waited.
//!
//! If links lose nothing, all packets of a flow take one path, and so do their acknowledgements. The paths are known
//! when the flow starts, and so is the time of a packet that does not wait at each port. Packets of the usual size are
//! therefore *quiet*: they log the ports where they waited, and left all others when they arrived. A packet that ends
//! early, or continues on a path that is not known, is *traced*: all of its hops are logged.

use super::Accounts;
use super::hop_log::{ARRIVED, LONG, PAUSED, Step, port_of};
use super::totals::Totals;
use crate::ids::{AccountId, PacketId, PortId};
use paceline_run::spec::{Forwarding, RunSpec};
use serde::{Deserialize, Serialize};

/// A port of a flow's path.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Hop {
    key: u32,
    /// Index among the flow's ports.
    position: usize,
    /// Time from the start of a transmission to the arrival at the next port, in ps.
    flight: u64,
}

/// Path of an account's quiet packets, for another part of the network.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Way {
    account: AccountId,
    hops: Vec<Hop>,
}

/// How far a packet has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// Departure from this port, as [`super::hop_log::key_of`] encodes it.
    Left(u32),
    /// Arrival at the receiver.
    Receiver,
    /// Arrival of the acknowledgement at the sender.
    Sender,
}

/// Returns true if all packets of a flow take one path, and none is lost on it.
pub(super) fn are_fixed(spec: &RunSpec) -> bool {
    let lossless = spec.links.iter().all(|link| link.error_rate == 0.0);
    let stores = (spec.lanes.as_ref()).is_none_or(|lanes| lanes.forwarding == Forwarding::StoreAndForward);
    lossless
        && spec.noise.is_empty()
        && spec.retries.is_empty()
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
    /// Appends a port to the path that the flow's packets will take.
    pub(super) fn add_hop(&mut self, key: u32, flight: u64) {
        let position = self.position(key);
        self.way.push(Hop {
            key,
            position,
            flight,
        });
    }

    /// Adds a quiet packet that has taken the whole path, from `start` on.
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
            // Ports without a step were passed without a wait.
            for hop in hops.by_ref() {
                if hop.key == step.key & !LONG {
                    let port = &mut self.ports[hop.position];
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

    /// Counts quiet packets at every port of the path.
    pub(super) fn count_quiet(&mut self) {
        let packets = std::mem::take(&mut self.quiet);
        for hop in &self.way {
            self.ports[hop.position].packets += packets;
        }
    }
}

impl Accounts {
    /// Returns the ports of an account's path; none if it is not known.
    pub(crate) fn way(&self, account: AccountId) -> impl Iterator<Item = PortId> {
        self.totals[account].way.iter().map(|hop| port_of(hop.key).0)
    }

    /// Notes that another part has to learn the path of an account.
    pub(crate) fn announce(&mut self, account: AccountId, part: u8) {
        let hops = self.totals[account].way.clone();
        self.ways_out.push((part, Way { account, hops }));
    }

    /// Removes and returns the announcements that were not sent yet, each with the part that it is for.
    pub(crate) fn take_ways(&mut self) -> impl Iterator<Item = (u8, Way)> {
        self.ways_out.drain(..)
    }

    /// Stores a path that another part has announced.
    pub(crate) fn learn(&mut self, way: Way) {
        let totals = &mut self.totals[way.account];
        for hop in way.hops {
            totals.add_hop(hop.key, hop.flight);
        }
    }

    /// Expands the log of a quiet packet to all its hops so far.
    pub(super) fn notify(&mut self, packet: PacketId, upto: Reached) {
        let hop_log = self.hop_logs.get_mut(packet);
        let Some((head, _)) = hop_log.read().filter(|(head, _)| head.is_quiet) else {
            return;
        };
        let (mut ready, way) = (head.start, &self.totals[head.position].way);
        let steps = hop_log.begin_anew();
        let mut steps = steps.iter().filter(|step| step.key != ARRIVED).peekable();
        let (mut paused, mut last) = (0, PAUSED);
        for hop in way {
            // The packet has not come this far.
            let beyond = match upto {
                Reached::Left(end) => last == end,
                Reached::Receiver => port_of(hop.key).1,
                Reached::Sender => false,
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

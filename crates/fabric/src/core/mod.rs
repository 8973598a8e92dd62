//! The clock, the packets and the links: what switches and hosts stand on.

pub(crate) mod event;
pub(crate) mod flow_table;
pub(crate) mod flows;
pub(crate) mod link;
pub(crate) mod packet;
pub(crate) mod parts;
pub(crate) mod paths;
pub(crate) mod port;
pub(crate) mod random;

use std::sync::Arc;

use paceline_kernel::queue::{Entry, EventQueue, LaneId};

use crate::core::event::Event;
use crate::core::link::Agenda;
use crate::core::packet::PacketSlab;
use crate::core::port::{ClassQueue, Ports};
use crate::ids::{LinkId, PortId};
use crate::outcome::Counters;
use crate::spec::NodeId;
use crate::watch::Watch;
use paceline_kernel::ids::{Grid, List};

/// The clock, the packets and the links: what switches and hosts stand on.
#[derive(Clone)]
pub(crate) struct Core {
    /// The current instant in ps, and the place of the running event in it.
    pub(crate) now: u64,
    pub(crate) tie: u64,
    pub(crate) agenda: Agenda,
    pub(crate) class_count: usize,
    pub(crate) packets: PacketSlab,
    pub(crate) ports: Ports,
    /// Queues of all ports, by class.
    pub(crate) queues: Grid<PortId, ClassQueue>,
    pub(crate) link_down_at: List<LinkId, u64>,
    pub(crate) link_errors: crate::core::random::LinkErrors,
    pub(crate) shared_rng: crate::core::random::SharedRandom,
    /// When each (port, class) was paused, and, with timed pauses, until when.
    pub(crate) paused_since: Grid<PortId, u64>,
    pub(crate) paused_until: Grid<PortId, u64>,
    /// With timed pauses: when each (port, class) renews the one that it asked for.
    pub(crate) renew_at: Grid<PortId, u64>,
    pub(crate) counters: Counters,
    pub(crate) digest: u64,
    pub(crate) done: bool,
    pub(crate) watch: Watch,
    /// What of a run that is cut is here; `None` for all.
    pub(crate) share: Option<Share>,
    pub(crate) described: crate::core::flows::Described,
}

/// What an event adds to a run's digest: it hangs on its time, its kind and whose it is. The digest is the sum, so
/// it does not hang on the order of events of the same instant in different places.
#[inline(always)]
const fn mark(at: u64, what: u64) -> u64 {
    let mixed = (at ^ (what >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ mixed >> 32
}

/// One part of a run that is cut ([`crate::run::cut`]).
#[derive(Clone, Debug)]
pub(crate) struct Share {
    /// Which part it is.
    pub(crate) part: u8,
    /// The part of each node.
    pub(crate) of_node: Arc<List<NodeId, u8>>,
}

impl Core {
    /// Whether what happens at a node happens here.
    #[inline]
    pub(crate) fn has(&self, node: NodeId) -> bool {
        match &self.share {
            None => true,
            Some(share) => share.of_node[node] == share.part,
        }
    }

    /// The node at the other end of a port's link.
    pub(crate) fn peer_node(&self, port: PortId) -> NodeId {
        self.ports[self.ports[port].peer].node
    }

    /// Whether this part counts what happens to all at once.
    pub(crate) fn is_first(&self) -> bool {
        self.share.as_ref().is_none_or(|share| share.part == 0)
    }

    /// An event happens.
    #[inline(always)]
    pub(crate) fn count_event(&mut self, at: u64, what: u64) {
        self.counters.events += 1;
        self.digest = self.digest.wrapping_add(mark(at, what));
    }

    /// The event that happens is none of the network's: how many of its kind there are hangs on how the run is
    /// arranged.
    #[cold]
    pub(crate) fn discount_event(&mut self, event: Event) {
        self.counters.events -= 1;
        self.digest = self.digest.wrapping_sub(mark(self.now, event.encode()));
    }

    /// Schedules `event` for `at`, in `lane`. Every run stops before the end of time, so what would
    /// come later may as well come there.
    #[inline]
    pub(crate) fn schedule(&mut self, lane: LaneId, at: u64, event: Event) {
        let at = at.min(EventQueue::END_OF_TIME - 1);
        let what = event.encode();
        let tie = self.agenda.ties.next(what);
        self.agenda.queue.push(lane, Entry { at, tie, what });
    }
}

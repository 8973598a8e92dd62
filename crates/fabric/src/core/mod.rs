//! Clock, packets and links: the base of switches and hosts.

mod clock;
pub(crate) mod credits;
pub(crate) mod cx;
pub(crate) mod digest;
pub(crate) mod event;
pub(crate) mod flow_table;
pub(crate) mod flows;
pub(crate) mod isolated;
pub(crate) mod link;
pub(crate) mod lost;
pub(crate) mod noise;
pub(crate) mod order;
mod ordered_sets;
pub(crate) mod packet;
pub(crate) mod parts;
pub(crate) mod paths;
mod pauses;
pub(crate) mod port;
pub(crate) mod print;
pub(crate) mod random;
mod rest;
pub(crate) mod retry;
pub(crate) mod wire;

use std::sync::Arc;

use paceline_kernel::queue::EventQueue;

use crate::core::credits::Credits;
use crate::core::digest::Digest;
use crate::core::event::Ties;
use crate::core::flows::Described;
use crate::core::link::{EventSchedule, Sent};
use crate::core::noise::Noises;
use crate::core::packet::PacketSlab;
use crate::core::pauses::Pauses;
use crate::core::port::{ClassQueue, Ports};
use crate::core::random::{LinkErrors, SharedRandom};
use crate::core::retry::state::Retry;
use crate::ids::{FlowId, LinkId, PortId};
use crate::watch::Watch;
use paceline_kernel::ids::{Grid, List};
use paceline_run::outcome::Counters;
use paceline_run::spec::{FlowSpec, NodeId, RunSpec};

/// Clock, packets and links: the base of switches and hosts.
#[derive(Clone)]
pub struct Core {
    /// Current instant in ps, and the position of the running event in it.
    now: u64,
    tie: u64,
    pub(crate) agenda: EventSchedule,
    class_count: usize,
    /// Packets in the network, by slot.
    pub packets: PacketSlab,
    /// Ends of all links.
    pub ports: Ports,
    /// Queues of all ports, by class.
    pub(crate) queues: Grid<PortId, ClassQueue>,
    link_down_at: List<LinkId, u64>,
    /// Share of packets that each link loses at present.
    error_rates: List<LinkId, f64>,
    link_errors: LinkErrors,
    pub(crate) shared_rng: SharedRandom,
    pauses: Pauses,
    /// `None` unless the network is under credits.
    credits: Option<Box<Credits>>,
    /// `None` unless a link has errors of another kind than a share of lost packets.
    noise: Option<Box<Noises>>,
    /// `None` unless a link has link-level retry.
    retry: Option<Box<Retry>>,
    /// True if hosts choose among their links.
    has_planes: bool,
    /// Counters of the run, so far.
    pub counters: Counters,
    digest: Digest,
    done: bool,
    pub(crate) watch: Watch,
    /// The part of a run in several parts that this is; `None` if it is the whole run.
    share: Option<Share>,
    described: Described,
}

/// One part of a run that is cut ([`crate::run::cut`]).
#[derive(Clone, Debug)]
struct Share {
    /// Number of this part.
    part: u8,
    /// Part of each node.
    of_node: Arc<List<NodeId, u8>>,
}

impl Core {
    /// Creates the state of a run that has not started.
    pub(crate) fn new(
        spec: &RunSpec,
        class_count: usize,
        queue: EventQueue,
        ports: Ports,
        packets: PacketSlab,
        credits: Option<Box<Credits>>,
        watch: Watch,
    ) -> Self {
        Self {
            now: 0,
            tie: 0,
            agenda: EventSchedule {
                queue,
                ties: Ties::new(spec.ties, spec.seed),
                sent: Sent::default(),
                outboxes: Vec::new(),
                trays: Vec::new(),
                spare: Vec::new(),
            },
            class_count,
            packets,
            queues: Grid::of(ports.len(), class_count, ClassQueue::EMPTY),
            link_down_at: List::of(spec.links.len(), u64::MAX),
            error_rates: spec.links.iter().map(|link| link.error_rate).collect(),
            link_errors: LinkErrors::of(spec),
            shared_rng: SharedRandom::of(spec),
            pauses: Pauses::new(spec, ports.len(), class_count),
            credits,
            noise: Noises::of(spec),
            retry: None,
            has_planes: spec.chooses_links(),
            counters: Counters::default(),
            digest: Digest::default(),
            done: false,
            share: None,
            described: Described::default(),
            ports,
            watch,
        }
    }

    /// Gives links their retry, before the run starts.
    pub(crate) fn set_retry(&mut self, retry: Option<Box<Retry>>) {
        self.retry = retry;
    }

    /// Returns a copy that goes on from here and is recorded in `watch`, with all counters at zero.
    pub(crate) fn fork(&self, watch: Watch) -> Self {
        Self {
            share: None,
            // Runs with streams and foresight at once are refused.
            described: Described::default(),
            now: self.now,
            tie: self.tie,
            agenda: self.agenda.clone(),
            class_count: self.class_count,
            packets: self.packets.without_journals(),
            ports: self.ports.clone(),
            queues: self.queues.clone(),
            link_down_at: self.link_down_at.clone(),
            error_rates: self.error_rates.clone(),
            link_errors: self.link_errors.clone(),
            shared_rng: self.shared_rng.clone(),
            pauses: self.pauses.clone(),
            credits: self.credits.clone(),
            noise: self.noise.clone(),
            retry: self.retry.clone(),
            has_planes: self.has_planes,
            counters: Counters::default(),
            digest: Digest::default(),
            done: false,
            watch,
        }
    }

    /// Returns the number of dense classes, including those without accounts.
    pub(crate) fn class_count(&self) -> usize {
        self.class_count
    }

    /// Returns true if this is the whole network, not one part of it.
    pub(crate) fn is_whole(&self) -> bool {
        self.share.is_none()
    }

    /// Notes that a link fails now: packets on it are lost.
    pub(crate) fn link_fails(&mut self, link: LinkId) {
        self.link_down_at[link] = self.now;
    }

    /// Sets the share of packets that a link loses from now on.
    pub(crate) fn set_error_rate(&mut self, link: LinkId, rate: f64) {
        self.error_rates[link] = rate;
    }

    /// Returns true if links, or ports that apply pauses, have drawn from a stream of the seed: see `run/chance.rs`.
    pub(crate) fn have_links_drawn(&self) -> bool {
        let by_noise = self.noise.as_ref().is_some_and(|noise| noise.have_drawn());
        self.link_errors.have_drawn() || self.pauses.have_drawn() || by_noise
    }

    /// Stores the description of a stream's flow that starts.
    pub(crate) fn describe(&mut self, flow: FlowId, spec: FlowSpec) {
        self.described.begin(flow, spec);
    }

    /// Notes that a stream's flow is over. `asks` returns true if a flow's receiver may still ask for its description.
    pub(crate) fn flow_is_over(&mut self, flow: FlowId, asks: impl Fn(FlowId) -> bool) {
        self.described.end(flow, &self.packets, asks);
    }

    /// Returns the most flows of a stream that were described at a time.
    pub(crate) fn most_described(&self) -> usize {
        self.described.most()
    }

    /// Returns true if events of the node happen in this part.
    #[inline]
    pub(crate) fn has(&self, node: NodeId) -> bool {
        match &self.share {
            None => true,
            Some(share) => share.of_node[node] == share.part,
        }
    }

    /// Returns the node at the other end of a port's link.
    pub fn peer_node(&self, port: PortId) -> NodeId {
        self.ports[self.ports[port].peer].node
    }

    /// Returns the number of this part; 0 for the whole network.
    pub(crate) fn part(&self) -> u8 {
        self.share.as_ref().map_or(0, |share| share.part)
    }

    /// Returns true for the part that counts events that concern all parts.
    pub(crate) fn is_first(&self) -> bool {
        self.share.as_ref().is_none_or(|share| share.part == 0)
    }
}

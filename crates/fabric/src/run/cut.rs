//! A run cut into parts, each with some of the nodes, that run at the same time.
//!
//! A part is a simulation of its own that has everything and uses what belongs to its nodes: their ports, queues,
//! queue pairs, streams, and the events that happen there. Parts have nothing in common but what does not change.
//! A packet that leaves for a node of another part is copied there ([`crate::core::parts`]); the link takes
//! its time for it, and for so long the parts cannot hear of each other ([`super::parallel`]).
//!
//! An event's place among those of its instant depends on its kind and on whose it is, and events of one instant in
//! different nodes do nothing to each other. So each node sees the same events in the same order, into however many
//! parts the run is cut, and what is written down is sorted where it comes together.

use std::sync::Arc;

use crate::core::Core;
use crate::core::event::Event;
use crate::ids::PortId;
use crate::run::partition::{Partition, partition};
use crate::run::simulation::{OtherPart, Parts, Simulation};
use crate::run::windows::{WindowCounts, Windows};
use crate::world::World;
use paceline_kernel::ids::List;
use paceline_run::spec::NodeId;

impl Simulation {
    /// Cuts a run that has not started into at most so many parts, which then run at the same time. Results do not hang
    /// on it.
    ///
    /// # Errors
    /// Why this run goes in one piece.
    pub fn cut(&mut self, parts: usize) -> Result<usize, &'static str> {
        if parts <= 1 || self.parts.is_some() {
            return Ok(self.part_count());
        }
        if let Some(why) = self.is_whole() {
            return Err(why);
        }
        let Some(Partition {
            of_node,
            parts,
            lookahead,
        }) = partition(&self.world, &self.core, parts)
        else {
            return Err("no cut of this network leaves hosts on both sides and takes a packet time to cross");
        };
        let of_node: Arc<List<NodeId, u8>> = of_node.into();
        let mut others: Vec<OtherPart> = (1..parts).map(|_| OtherPart(self.clone())).collect();
        for (part, other) in (1..).zip(&mut others) {
            other.become_part(part, parts, of_node.clone());
        }
        self.become_part(0, parts, of_node);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        self.parts = Some(Box::new(Parts {
            others,
            windows: Windows::new(parts, lookahead),
            threads: parts.min(processors),
        }));
        Ok(parts)
    }

    /// Takes the parts of a run that is cut through their windows on so many threads, at most one for each. Unless this
    /// is said they are as many as there are processors.
    pub fn set_threads(&mut self, threads: usize) {
        if let Some(parts) = &mut self.parts {
            parts.threads = threads.clamp(1, 1 + parts.others.len());
        }
    }

    /// What the windows of a run that is cut have been so far; `None` if it is not.
    pub fn window_counts(&self) -> Option<WindowCounts> {
        let of_parts = self.parts.as_ref().map(|parts| parts.windows.counts());
        of_parts.or(self.window_counts)
    }

    /// Parts that the run is cut into; 1 if it is not.
    pub fn part_count(&self) -> usize {
        self.parts.as_ref().map_or(1, |parts| 1 + parts.others.len())
    }

    /// All parts: this one, and the others.
    pub(super) fn all_parts(&self) -> impl Iterator<Item = &Self> {
        let others = self
            .parts
            .iter()
            .flat_map(|parts| &parts.others)
            .map(|other| &**other);
        std::iter::once(self).chain(others)
    }

    /// Why the run cannot be cut, if so.
    fn is_whole(&self) -> Option<&'static str> {
        let spec = &self.world.spec;
        if !spec.ties.is_by_entity() {
            return Some("events of one instant run in the order of a single thread");
        }
        if spec.quirks.ns3_random || !self.kind.has_own_hosts() {
            return Some("the simulator that it is like has one order of all events");
        }
        if spec.lanes.is_some() {
            return Some("its links are under credits");
        }
        if !spec.record.flow_probes.is_empty() {
            return Some("flows are looked at closely");
        }
        if self.core.watch.probes.on() {
            return Some("what happens at its ports is recorded in one order");
        }
        if spec.arrivals.is_some() {
            return Some("its flows come as a stream");
        }
        if !spec.programs.is_empty() {
            return Some("its flows follow from what becomes of others");
        }
        let mut needs = self.world.schemes.iter().map(|scheme| scheme.needs());
        if needs.any(|needs| needs.foresight || needs.decisions.is_some_and(|asked| asked.outside)) {
            return Some("a scheme asks for what lies outside its part of the network");
        }
        (self.core.counters.events > 0).then_some("it has begun")
    }

    /// Keeps what belongs to the nodes of one part.
    fn become_part(&mut self, part: u8, parts: usize, of_node: Arc<List<NodeId, u8>>) {
        let world = &self.world;
        self.core.become_part(world, part, parts, of_node, |core, event| {
            is_here(world, core, event)
        });
    }

    /// Makes the parts of a run one again, to end it: records are closed.
    pub(super) fn join(&mut self) {
        let Some(mut parts) = self.parts.take() else {
            return;
        };
        self.window_counts = Some(parts.windows.counts());
        self.close_records(&mut parts.others);
        self.core.notify_all();
        for mut other in parts.others {
            other.core.notify_all();
            let Self {
                mut core,
                mut switches,
                mut traffic,
                hosts,
                world,
                ..
            } = other.0;
            self.world.routing.also_chose(&world.routing);
            self.switches.take_over(&mut switches, &core);
            self.traffic.take_over(&mut traffic, &self.world, &core);
            self.hosts
                .take_over(hosts, &self.world, &mut self.core, &mut core);
            self.core.take_over(&mut core);
            let theirs: List<PortId, bool> = core.ports.iter().map(|port| core.has(port.node)).collect();
            self.core.merge_records(core, &|port| theirs[port]);
        }
        self.hosts.notify_places(&self.world, &mut self.core);
        self.core.become_whole();
    }

    /// All parts take their last samples, at the same instant.
    fn close_records(&mut self, others: &mut [OtherPart]) {
        let all = || std::iter::once(&*self).chain(others.iter().map(|other| &**other));
        let now = all().map(|part| part.core.now()).max().unwrap_or(0);
        let completed: u64 = all().map(|part| part.traffic.completed()).sum();
        let all_done = completed == self.world.spec.flow_count() as u64;
        let is_over = all_done && all().all(|part| part.core.packets.live() == 0);
        let others = others.iter_mut().map(|other| &mut **other);
        for part in std::iter::once(self).chain(others) {
            part.core.set_clock(now);
            part.take_last_samples(all_done, is_over);
        }
    }
}

/// Whether an event that is known before the run happens in this part.
fn is_here(world: &World, core: &Core, event: Event) -> bool {
    let spec = &world.spec;
    match event {
        Event::FlowStart { flow } => core.has(world.flow(core, flow).src),
        Event::Storm { storm, .. } => core.has(spec.storms[storm as usize].node),
        // Topology changes for all, and each finds its own flows among all that are due.
        _ => true,
    }
}

//! Cutting of a run into parts, each with some of the nodes, that run at the same time.
//!
//! A part is a complete simulation that uses what belongs to its nodes: their ports, queues, queue pairs and streams,
//! and the events that happen there. Parts share only what never changes. A packet that leaves for a node of another
//! part is copied there ([`crate::core::parts`]). The link takes time to carry it, and for that long the parts cannot
//! affect each other ([`super::parallel`]).
//!
//! An event's position among those of its instant depends on its kind and its owner, and events of one instant at
//! different nodes do not affect each other. So each node sees the same events in the same order, regardless of the
//! number of parts, and records are sorted when they are merged.

use std::sync::Arc;

use crate::core::Core;
use crate::core::cx::Cx;
use crate::core::event::Event;
use crate::ids::PortId;
use crate::run::partition::{Partition, partition};
use crate::run::simulation::{OtherPart, Parts, Simulation};
use crate::run::windows::{WindowCounts, Windows};
use crate::world::World;
use paceline_kernel::ids::List;
use paceline_run::spec::NodeId;

impl Simulation {
    /// Cuts a run that has not started into at most `parts` parts, which then run at the same time. Results do not
    /// depend on it.
    ///
    /// # Errors
    /// The reason why this run cannot be cut.
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
        // Copied while this is still the whole run, since each part keeps only its own events of all.
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

    /// Sets the number of threads that run the parts, at most one for each. By default there are as many as processors.
    pub fn set_threads(&mut self, threads: usize) {
        if let Some(parts) = &mut self.parts {
            parts.threads = threads.clamp(1, 1 + parts.others.len());
        }
    }

    /// Returns the statistics of windows so far; `None` if the run is not cut.
    pub fn window_counts(&self) -> Option<WindowCounts> {
        let of_parts = self.parts.as_ref().map(|parts| parts.windows.counts());
        of_parts.or(self.window_counts)
    }

    /// Returns the number of parts; 1 if the run is not cut.
    pub fn part_count(&self) -> usize {
        self.parts.as_ref().map_or(1, |parts| 1 + parts.others.len())
    }

    /// Returns this part and all others.
    pub(super) fn all_parts(&self) -> impl Iterator<Item = &Self> {
        let others = self
            .parts
            .iter()
            .flat_map(|parts| &parts.others)
            .map(|other| &**other);
        std::iter::once(self).chain(others)
    }

    /// Returns the reason why the run cannot be cut, if there is one.
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

    /// Keeps the events that belong to the nodes of one part.
    fn become_part(&mut self, part: u8, parts: usize, of_node: Arc<List<NodeId, u8>>) {
        let world = &self.world;
        self.core.become_part(world, part, parts, of_node, |core, event| {
            is_here(world, core, event)
        });
    }

    /// Merges the parts at the end of a run, and closes the records.
    pub(super) fn join(&mut self) {
        let Some(mut parts) = self.parts.take() else {
            return;
        };
        self.window_counts = Some(parts.windows.counts());
        // Closed first, while each part still has its own clock and samples.
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
            // Noted before the merge, which takes over the part's core.
            let theirs: List<PortId, bool> = core.ports.iter().map(|port| core.has(port.node)).collect();
            self.core.merge_records(core, &|port| theirs[port]);
        }
        self.hosts
            .notify_places(&mut Cx::new(&self.world, &mut self.core));
        self.core.become_whole();
    }

    /// Takes the last samples of all parts, at the same instant.
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

/// Returns true if an event that is scheduled before the run happens in this part.
fn is_here(world: &World, core: &Core, event: Event) -> bool {
    let spec = &world.spec;
    match event {
        Event::FlowStart { flow } => core.has(world.flow(core, flow).src),
        Event::Storm { storm, .. } => core.has(spec.storms[storm as usize].node),
        // Topology changes concern all parts, and each part finds its own flows among all that are due.
        _ => true,
    }
}

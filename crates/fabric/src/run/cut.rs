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

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::core::Core;
use crate::core::event::Event;
use crate::ids::PortId;
use crate::run::partition::{Partition, partition};
use crate::run::simulation::{OtherPart, Parts, Simulation};
use crate::run::team::{Exchange, Team};
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
        if parts <= 1 {
            return Ok(self.part_count());
        }
        self.divide(parts, None)
    }

    /// Cuts a run that has not started into parts for several ranks, with at most `threads` parts for each. All ranks
    /// have to call this with the same number.
    ///
    /// # Errors
    /// The reason why this run cannot be cut into as many parts as there are ranks.
    pub fn cut_among(&mut self, ranks: Arc<dyn Exchange>, threads: usize) -> Result<usize, &'static str> {
        let parts = ranks.ranks() * threads.max(1);
        match ranks.ranks() {
            1 => self.cut(parts),
            _ => self.divide(parts, Some(Team::new(ranks))),
        }
    }

    fn divide(&mut self, parts: usize, team: Option<Team>) -> Result<usize, &'static str> {
        if self.parts.is_some() {
            return Ok(self.part_count());
        }
        if let Some(why) = self.is_whole() {
            return Err(why);
        }
        let chose = self.world.routing.has_chosen();
        let partition = partition(&self.world, &self.core, parts);
        if !chose {
            // The paths that were looked up for the partition are not the run's.
            Arc::make_mut(&mut self.world).routing.forget_choices();
        }
        let Some(Partition {
            of_node,
            parts,
            lookahead,
        }) = partition
        else {
            return Err("no cut of this network leaves hosts on both sides and takes a packet time to cross");
        };
        let own = match &team {
            None => 0..parts,
            Some(team) if team.ranks() > parts => {
                return Err("it cannot be cut into as many parts as there are ranks");
            }
            Some(team) => parts_of_rank(parts, team, team.rank()),
        };
        let of_node: Arc<List<NodeId, u8>> = of_node.into();
        // Copied while this is still the whole run, since each part keeps only its own events of all.
        let mut others: Vec<OtherPart> = own.clone().skip(1).map(|_| OtherPart(self.clone())).collect();
        for (part, other) in own.clone().skip(1).zip(&mut others) {
            other.become_part(part as u8, parts, of_node.clone());
        }
        self.become_part(own.start as u8, parts, of_node);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        self.parts = Some(Box::new(Parts {
            others,
            windows: Windows::new(parts, lookahead),
            threads: own.len().min(processors),
            count: parts,
            team,
            heard: None,
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
        self.parts.as_ref().map(|parts| parts.windows.counts())
    }

    /// Returns the number of parts; 1 if the run is not cut.
    pub fn part_count(&self) -> usize {
        self.parts.as_ref().map_or(1, |parts| parts.count)
    }

    /// Asks all parts of the run, those of other ranks too. Returns their answers put together by `and`.
    pub(super) fn reduce_all<T: Serialize + DeserializeOwned>(
        &self,
        ask: impl Fn(&Self) -> T,
        and: impl Fn(T, T) -> T,
    ) -> T {
        let others = self.all_parts().skip(1).map(&ask);
        let own = others.fold(ask(self), &and);
        match self.parts.as_ref().and_then(|parts| parts.team.as_ref()) {
            None => own,
            Some(team) => team
                .gather(own)
                .into_iter()
                .reduce(and)
                .expect("this rank is one"),
        }
    }

    /// Asks all parts of the run, those of other ranks too. Returns their answers in the order of parts.
    pub(super) fn ask_all<T: Serialize + DeserializeOwned>(&self, ask: impl Fn(&Self) -> T) -> Vec<T> {
        let own: Vec<T> = self.all_parts().map(ask).collect();
        match self.parts.as_ref().and_then(|parts| parts.team.as_ref()) {
            None => own,
            Some(team) => team.gather(own).into_iter().flatten().collect(),
        }
    }

    /// Returns this part and all others of this process.
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
}

/// Returns the parts that a rank runs, of `parts` in all.
pub(super) fn parts_of_rank(parts: usize, team: &Team, rank: usize) -> Range<usize> {
    rank * parts / team.ranks()..(rank + 1) * parts / team.ranks()
}

/// Returns true if an event that is scheduled before the run happens in this part.
fn is_here(world: &World, core: &Core, event: Event) -> bool {
    let spec = &world.spec;
    match event {
        Event::FlowStart { flow } => core.has(world.flow(core, flow).src),
        Event::Storm { storm, .. } => core.has(spec.storms[storm as usize].node),
        Event::Special { a, .. } => core.has(core.ports[PortId(a)].node),
        // Topology changes concern all parts, and each part finds its own flows among all that are due.
        _ => true,
    }
}

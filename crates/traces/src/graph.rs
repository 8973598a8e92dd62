//! Programs that are held in memory.

use std::collections::HashMap;
use std::fmt::Debug;

use crate::program::{Collective, Lanes, NO_LANE, Operation, OperationId, Program, Rank, Work};

/// Names of operations for users.
pub trait Names: Debug + Send + Sync {
    /// Returns the name of an operation, with its position in the trace.
    fn name(&self, rank: Rank, number: OperationId) -> String;

    /// Renames the files of the trace, if names of operations contain them.
    fn rename(&mut self, _name: &dyn Fn(&str) -> String) {}
}

/// Operation packed into 24 bytes.
#[derive(Clone, Copy, Debug)]
struct Packed {
    /// Size in bytes or duration in ns.
    size: u64,
    waits_for: u32,
    /// Other rank, or index of the collective.
    peer: u32,
    tag: u32,
    kind: WorkKind,
    lane: u8,
    nic: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum WorkKind {
    Nothing,
    Compute,
    Send,
    Receive,
    ReceiveAnySource,
    ReceiveAnyTag,
    ReceiveAny,
    Collective,
}

impl Packed {
    fn new(work: Work, lane: u8, nic: u8) -> Self {
        let (kind, size, peer, tag) = match work {
            Work::Nothing => (WorkKind::Nothing, 0, 0, 0),
            Work::Compute { ns } => (WorkKind::Compute, ns, 0, 0),
            Work::Send { to, bytes, tag } => (WorkKind::Send, bytes, to, tag),
            Work::Receive { from, bytes, tag } => {
                // Two options instead of four kinds would not fit into the 24 bytes.
                let kind = match (from, tag) {
                    (Some(_), Some(_)) => WorkKind::Receive,
                    (None, Some(_)) => WorkKind::ReceiveAnySource,
                    (Some(_), None) => WorkKind::ReceiveAnyTag,
                    (None, None) => WorkKind::ReceiveAny,
                };
                (kind, bytes, from.unwrap_or(0), tag.unwrap_or(0))
            }
            Work::Collective(index) => (WorkKind::Collective, 0, index, 0),
        };
        Self {
            size,
            waits_for: 0,
            peer,
            tag,
            kind,
            lane,
            nic,
        }
    }

    fn operation(&self) -> Operation {
        let receive = |from: bool, tag: bool| Work::Receive {
            from: from.then_some(self.peer),
            bytes: self.size,
            tag: tag.then_some(self.tag),
        };
        let work = match self.kind {
            WorkKind::Nothing => Work::Nothing,
            WorkKind::Compute => Work::Compute { ns: self.size },
            WorkKind::Send => Work::Send {
                to: self.peer,
                bytes: self.size,
                tag: self.tag,
            },
            WorkKind::Receive => receive(true, true),
            WorkKind::ReceiveAnySource => receive(false, true),
            WorkKind::ReceiveAnyTag => receive(true, false),
            WorkKind::ReceiveAny => receive(false, false),
            WorkKind::Collective => Work::Collective(self.peer),
        };
        Operation {
            work,
            lane: self.lane,
            nic: self.nic,
            waits_for: self.waits_for,
        }
    }
}

/// Adjacency lists: for each operation, those that wait for it.
#[derive(Clone, Debug, Default)]
struct Edges {
    /// Start of each operation's list; empty if there are no edges.
    starts: Vec<u32>,
    after: Vec<OperationId>,
}

impl Edges {
    /// Creates lists from pairs (before, after), which keep their order.
    fn new(operations: usize, pairs: &[(OperationId, OperationId)]) -> Self {
        if pairs.is_empty() {
            return Self::default();
        }
        let mut starts = vec![0_u32; operations + 1];
        for &(before, _) in pairs {
            starts[before as usize + 1] += 1;
        }
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        let mut next = starts.clone();
        let mut after = vec![0; pairs.len()];
        for &(before, later) in pairs {
            let index = &mut next[before as usize];
            after[*index as usize] = later;
            *index += 1;
        }
        Self { starts, after }
    }

    fn of(&self, number: OperationId) -> &[OperationId] {
        let number = number as usize;
        match (self.starts.get(number), self.starts.get(number + 1)) {
            (Some(&from), Some(&to)) => &self.after[from as usize..to as usize],
            _ => &[],
        }
    }
}

#[derive(Clone, Debug, Default)]
struct RankGraph {
    operations: Vec<Packed>,
    after_end: Edges,
    after_start: Edges,
}

/// Program in memory: 24 bytes per operation, 4 bytes per edge, and 4 bytes per operation of a rank that has edges.
#[derive(Debug)]
pub struct Graph {
    ranks: Vec<RankGraph>,
    lanes: Lanes,
    collectives: Vec<Collective>,
    groups: Vec<Vec<Rank>>,
    names: Box<dyn Names>,
}

impl Graph {
    /// Starts building a program of `ranks` ranks with the same lanes.
    pub fn builder(ranks: Rank, lanes: Lanes) -> Builder {
        Builder {
            ranks: vec![RankBuilder::default(); ranks as usize],
            sealed: vec![None; ranks as usize],
            lanes,
            collectives: Vec::new(),
            collective_places: HashMap::new(),
            groups: Vec::new(),
            group_places: HashMap::new(),
        }
    }

    fn packed(&self, rank: Rank, number: OperationId) -> Option<&Packed> {
        self.ranks.get(rank as usize)?.operations.get(number as usize)
    }
}

impl Program for Graph {
    fn ranks(&self) -> Rank {
        self.ranks.len() as Rank
    }

    fn operations(&self, rank: Rank) -> u32 {
        self.ranks
            .get(rank as usize)
            .map_or(0, |r| r.operations.len() as u32)
    }

    fn lanes(&self) -> &Lanes {
        &self.lanes
    }

    fn roots(&self, rank: Rank, out: &mut Vec<OperationId>) {
        if let Some(graph) = self.ranks.get(rank as usize) {
            let free = graph.operations.iter().zip(0..);
            out.extend(free.filter(|(op, _)| op.waits_for == 0).map(|(_, n)| n));
        }
    }

    fn operation(&self, rank: Rank, number: OperationId) -> Operation {
        self.packed(rank, number).map_or(
            Operation {
                work: Work::Nothing,
                lane: NO_LANE,
                nic: 0,
                waits_for: 0,
            },
            Packed::operation,
        )
    }

    fn after_end(&self, rank: Rank, number: OperationId, out: &mut Vec<OperationId>) {
        if let Some(graph) = self.ranks.get(rank as usize) {
            out.extend_from_slice(graph.after_end.of(number));
        }
    }

    fn after_start(&self, rank: Rank, number: OperationId, out: &mut Vec<OperationId>) {
        if let Some(graph) = self.ranks.get(rank as usize) {
            out.extend_from_slice(graph.after_start.of(number));
        }
    }

    fn collectives(&self) -> &[Collective] {
        &self.collectives
    }

    fn groups(&self) -> &[Vec<Rank>] {
        &self.groups
    }

    fn name(&self, rank: Rank, number: OperationId) -> String {
        self.names.name(rank, number)
    }

    fn rename(&mut self, name: &dyn Fn(&str) -> String) {
        self.names.rename(name);
    }
}

#[derive(Clone, Debug, Default)]
struct RankBuilder {
    operations: Vec<Packed>,
    after_end: Vec<(OperationId, OperationId)>,
    after_start: Vec<(OperationId, OperationId)>,
}

/// Builder of a [`Graph`].
#[derive(Debug)]
pub struct Builder {
    ranks: Vec<RankBuilder>,
    /// Ranks that are complete.
    sealed: Vec<Option<RankGraph>>,
    lanes: Lanes,
    collectives: Vec<Collective>,
    collective_places: HashMap<Collective, u32>,
    groups: Vec<Vec<Rank>>,
    group_places: HashMap<Vec<Rank>, u32>,
}

impl Builder {
    /// Returns the number of ranks, complete or not.
    pub(crate) fn ranks(&self) -> Rank {
        self.ranks.len() as Rank
    }

    /// Returns the index of the group with these members in this order, adding it if it is new.
    pub fn group(&mut self, members: &[Rank]) -> u32 {
        if let Some(&index) = self.group_places.get(members) {
            return index;
        }
        let index = self.groups.len() as u32;
        self.groups.push(members.to_vec());
        self.group_places.insert(members.to_vec(), index);
        index
    }

    /// Returns the groups added so far.
    pub fn groups(&self) -> &[Vec<Rank>] {
        &self.groups
    }

    /// Returns the work of a collective. Equal collectives share an index.
    pub fn collective(&mut self, collective: Collective) -> Work {
        let next = self.collectives.len() as u32;
        let index = *self.collective_places.entry(collective).or_insert(next);
        if index == next {
            self.collectives.push(collective);
        }
        Work::Collective(index)
    }

    /// Adds an operation to an existing rank; returns its number.
    pub fn operation(&mut self, rank: Rank, work: Work, lane: u8, nic: u8) -> OperationId {
        let operations = &mut self.ranks[rank as usize].operations;
        operations.push(Packed::new(work, lane, nic));
        (operations.len() - 1) as OperationId
    }

    /// Makes an operation wait for the end of another one of its rank. Both must exist when the graph is finished.
    pub fn after_end(&mut self, rank: Rank, before: OperationId, after: OperationId) {
        self.ranks[rank as usize].after_end.push((before, after));
    }

    /// Makes an operation wait for the start of another one of its rank. Both must exist when the graph is finished.
    pub fn after_start(&mut self, rank: Rank, before: OperationId, after: OperationId) {
        self.ranks[rank as usize].after_start.push((before, after));
    }

    /// Completes a rank, which halves the memory of its edges. Nothing may be added to it afterwards.
    pub fn seal(&mut self, rank: Rank) {
        let RankBuilder {
            mut operations,
            after_end,
            after_start,
        } = std::mem::take(&mut self.ranks[rank as usize]);
        for &(_, after) in after_end.iter().chain(&after_start) {
            operations[after as usize].waits_for += 1;
        }
        operations.shrink_to_fit();
        self.sealed[rank as usize] = Some(RankGraph {
            after_end: Edges::new(operations.len(), &after_end),
            after_start: Edges::new(operations.len(), &after_start),
            operations,
        });
    }

    /// Returns the finished graph.
    pub fn finish(mut self, names: Box<dyn Names>) -> Graph {
        for rank in 0..self.ranks.len() {
            if self.sealed[rank].is_none() {
                self.seal(rank as Rank);
            }
        }
        let ranks = self.sealed.into_iter().flatten();
        Graph {
            ranks: ranks.collect(),
            lanes: self.lanes,
            collectives: self.collectives,
            groups: self.groups,
            names,
        }
    }
}

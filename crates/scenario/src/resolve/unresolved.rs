//! Flows before they have ports: checks, and the numbering of ports.

use std::num::NonZeroU32;

use paceline_fabric::spec::{ArrivalPattern, ArrivalSource, Arrivals, Dependency, FlowSpec, Nics, NodeId};
use paceline_fabric::stream::source_port;
use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;
use paceline_kernel::{Bytes, Span, Time};

use crate::diagnostics::{Location, Problem};
use crate::schema;
use crate::topology::Net;
use crate::traffic::{Message, PacedSource};

use super::Cx;
use super::listed::Collective;
use super::offered::{Demand, Drawn};
use super::reach::Reach;

/// Flow without ports. A run may have millions, so its size matters.
pub(super) struct Draft {
    message: Message,
    /// Index of the block in [`UnresolvedFlows::blocks`].
    block: u32,
    /// Number of the connection; flows of one block and one pair of hosts with the same number share their ports.
    /// [`Draft::ALONE`] shares with none.
    connection: u32,
}

const _: () = assert!(size_of::<Draft>() == 32);

impl Draft {
    const ALONE: u32 = u32::MAX;
}

/// Properties shared by flows that were written together, with their position.
#[derive(Clone)]
pub(super) struct Block {
    /// Number of the workload.
    pub(super) workload: u64,
    pub(super) class: u8,
    pub(super) dport: u16,
    pub(super) label: u16,
    pub(super) scheme: u16,
    pub(super) connections: Connections,
    pub(super) location: Location,
    /// Gap between messages that a host sends one after the other, in networks with credits.
    pub(super) paced: Option<Paced>,
}

/// Timing of a host's messages.
#[derive(Clone, Copy)]
pub(super) struct Paced {
    pub(super) gap: Span,
    pub(super) until: Option<Time>,
}

/// Queue pairs that the flows of a block use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Connections {
    /// New queue pair for each flow.
    PerMessage,
    /// Persistent queue pair for flows with the same connection and hosts.
    Persistent,
    /// Persistent queue pair, shared with other blocks of the workload that use this variant.
    OfWorkload,
}

impl From<schema::Connections> for Connections {
    fn from(written: schema::Connections) -> Self {
        match written {
            schema::Connections::PerMessage | schema::Connections::SamePorts => Self::PerMessage,
            schema::Connections::Persistent => Self::Persistent,
        }
    }
}

/// All flows without ports; everything refers to them by index.
#[derive(Default)]
pub(super) struct UnresolvedFlows {
    list: Vec<Draft>,
    blocks: Vec<Block>,
    pub(super) dependencies: Vec<Dependency>,
    pub(super) collectives: Vec<Collective>,
    /// True to stream flows: `sources` then generates them, and the list holds only those written one by one, until
    /// [`UnresolvedFlows::arrivals`] takes them.
    pub(super) streams: bool,
    pub(super) sources: Vec<(ArrivalSource, Location)>,
    /// First workload whose arrivals start after the end of the run.
    pub(super) late: Option<Location>,
    /// Workloads with random flows during the run, even if none happens to be generated.
    pub(super) drawn: Vec<Drawn>,
}

/// Number of flows from which a file has a meaningful rate: fewer may be a few bursts.
const MANY_FLOWS: usize = 1000;

impl UnresolvedFlows {
    /// Returns the number of listed flows.
    pub(super) const fn len(&self) -> usize {
        self.list.len()
    }

    /// Adds flows of a block, each with its own connection unless `connections` gives numbers.
    pub(super) fn add(
        &mut self,
        block: Block,
        messages: impl IntoIterator<Item = Message>,
        connections: &[u32],
    ) {
        let number = self.begin(block);
        self.extend(number, messages, connections);
    }

    /// Adds a block; returns its number.
    pub(super) fn begin(&mut self, block: Block) -> u32 {
        self.blocks.push(block);
        self.blocks.len() as u32 - 1
    }

    /// Adds flows to the block `number`.
    pub(super) fn extend(
        &mut self,
        number: u32,
        messages: impl IntoIterator<Item = Message>,
        connections: &[u32],
    ) {
        let new = messages.into_iter().enumerate().map(|(i, message)| Draft {
            message,
            block: number,
            connection: connections.get(i).copied().unwrap_or(Draft::ALONE),
        });
        self.list.extend(new);
    }

    fn block(&self, draft: &Draft) -> &Block {
        &self.blocks[draft.block as usize]
    }

    /// Adds dependencies whose indices count from `first`.
    pub(super) fn wait(&mut self, first: usize, dependencies: &[Dependency]) {
        let first = first as u32;
        self.dependencies
            .extend(dependencies.iter().map(|dependency| Dependency {
                flow: first + dependency.flow,
                after: first + dependency.after,
                ..*dependency
            }));
    }

    /// Moves the flows of all sources into the list.
    pub(super) fn list_sources(&mut self, seed: u64) {
        for (source, location) in std::mem::take(&mut self.sources) {
            let block = Block {
                workload: source.workload,
                class: source.class,
                dport: source.dport,
                label: source.label,
                scheme: source.scheme,
                connections: Connections::PerMessage,
                location,
                paced: None,
            };
            self.add(block, source.messages(seed), &[]);
        }
        // Sorted as if all flows had been listed at once.
        let blocks = &self.blocks;
        self.list
            .sort_by_key(|draft| blocks[draft.block as usize].workload);
        self.streams = false;
    }

    /// Returns the stream, if flows are streamed. Listed flows must have been checked and sorted by start.
    pub(super) fn arrivals(&mut self, cx: &Cx<'_>) -> Option<Arrivals> {
        if !self.streams || self.sources.is_empty() {
            return None;
        }
        let mut sources: Vec<ArrivalSource> = self.sources.drain(..).map(|(source, _)| source).collect();
        let mut got: SortedMap<u64, (Block, Vec<Message>)> = SortedMap::new();
        for draft in self.list.drain(..) {
            let block = &self.blocks[draft.block as usize];
            let of_workload = got.entry(block.workload);
            let (_, messages) = of_workload.or_insert_with(|| (block.clone(), Vec::new()));
            messages.push(draft.message);
        }
        sources.extend(
            got.into_iter()
                .map(|(workload, (block, messages))| ArrivalSource {
                    workload,
                    window: (Time::ZERO, cx.stop),
                    class: block.class,
                    dport: block.dport,
                    label: block.label,
                    scheme: block.scheme,
                    pattern: ArrivalPattern::Told { messages },
                }),
        );
        // Flows that start together are ordered by workload.
        sources.order_by_key(|source| source.workload);
        Some(Arrivals::of(sources, cx.seed))
    }

    /// Returns the load offered by flows from files with many flows; `files` maps workload numbers to positions.
    pub(super) fn offered_by_files(&self, files: &SortedMap<u64, Location>) -> Vec<Drawn> {
        if files.is_empty() {
            return Vec::new();
        }
        let mut of_file: SortedMap<u64, Vec<&Message>> = SortedMap::new();
        for draft in &self.list {
            let workload = self.blocks[draft.block as usize].workload;
            if files.contains_key(&workload) {
                of_file.entry(workload).or_default().push(&draft.message);
            }
        }
        let many = of_file
            .into_iter()
            .filter(|(_, messages)| messages.len() >= MANY_FLOWS);
        let drawn = many.filter_map(|(workload, messages)| {
            let starts = || messages.iter().map(|message| message.start);
            let window = (starts().min()?, starts().max()?);
            let seconds = (window.1 - window.0).as_secs_f64();
            let mut pairs: SortedMap<(NodeId, NodeId), f64> = SortedMap::new();
            for message in &messages {
                *pairs.entry((message.src, message.dst)).or_default() += message.size.get() as f64;
            }
            let rates = pairs
                .into_iter()
                .map(|((src, dst), bytes)| (src, dst, 8.0 * bytes / seconds));
            // Flows that all start at once offer no rate.
            (seconds > 0.0).then(|| Drawn {
                demand: Demand::Pairs(rates.collect()),
                window,
                location: files[&workload].clone(),
            })
        });
        drawn.collect()
    }

    /// Returns the current indices in the order of the flows' starts.
    pub(super) fn order_of_starts(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.list.len() as u32).collect();
        order.sort_by_key(|&i| self.list[i as usize].message.start);
        order
    }

    /// Returns the position of a host's messages that are sent one after the other, if it has any.
    pub(super) fn paced_from(&self, src: NodeId) -> Option<&Location> {
        let mut list = self.list.iter();
        let draft = list.find(|draft| draft.message.src == src && self.block(draft).paced.is_some());
        draft.map(|draft| &self.block(draft).location)
    }

    /// Returns each host's messages in networks with credits, in the flows' order; an error if there is any other
    /// traffic.
    pub(super) fn paced(&self) -> Result<Vec<PacedSource>, Problem> {
        let mut sources: Vec<(u32, PacedSource)> = Vec::new();
        for (flow, draft) in (0..).zip(&self.list) {
            let block = self.block(draft);
            let Some(Paced { gap, until }) = block.paced else {
                let message = "under credits hosts send `messages`, one after the other, and nothing else";
                return Err(Problem::new(message).at(&block.location));
            };
            // A host's messages share a block and a start, so they stay adjacent when flows are sorted.
            match sources.last_mut() {
                Some((number, source)) if *number == draft.block => source.count += 1,
                _ => sources.push((
                    draft.block,
                    PacedSource {
                        first: flow,
                        count: 1,
                        start: draft.message.start,
                        gap,
                        until,
                    },
                )),
            }
        }
        Ok(sources.into_iter().map(|(_, source)| source).collect())
    }

    /// Sorts the flows by start. `others` are indices of flows kept elsewhere, which are updated.
    pub(super) fn sort<'a>(&mut self, others: impl Iterator<Item = &'a mut u32>) {
        let start = |draft: &Draft| draft.message.start;
        // Without dependencies and collectives, nothing refers to flows by index.
        if self.dependencies.is_empty() && self.collectives.is_empty() {
            return self.list.sort_by_key(start);
        }
        // Both sorts are stable, so the indices match the sorted flows.
        let order = self.order_of_starts();
        self.list.sort_by_key(start);
        let mut index = vec![0; order.len()];
        for (new, &old) in (0u32..).zip(&order) {
            index[old as usize] = new;
        }
        for dependency in &mut self.dependencies {
            dependency.flow = index[dependency.flow as usize];
            dependency.after = index[dependency.after as usize];
        }
        let iterations = self
            .collectives
            .iter_mut()
            .flat_map(|collective| &mut collective.iterations);
        for flow in iterations.flatten() {
            *flow = index[*flow as usize];
        }
        for flow in others {
            *flow = index[*flow as usize];
        }
    }

    /// Returns the flows with ports. The source port counts the connections of a pair of hosts, as in the original
    /// simulator.
    pub(super) fn with_ports(&self) -> Vec<FlowSpec> {
        let mut counts: SortedMap<(NodeId, NodeId), u64> = SortedMap::new();
        let mut known: SortedMap<_, (u16, Option<NonZeroU32>)> = SortedMap::new();
        let mut last = 0;
        let flows = self.list.iter().map(|draft| {
            let Message {
                src,
                dst,
                size,
                start,
            } = draft.message;
            let block = self.block(draft);
            let mut next = || {
                let count = counts.entry((src, dst)).or_default();
                *count += 1;
                source_port(*count - 1)
            };
            let (sport, connection) = match draft.connection {
                Draft::ALONE => (next(), None),
                connection => {
                    let within = match block.connections {
                        Connections::OfWorkload => (block.workload, u32::MAX),
                        _ => (block.workload, draft.block),
                    };
                    let stays = block.connections != Connections::PerMessage;
                    // A connection keeps the source port of its first message.
                    *known.entry((src, dst, within, connection)).or_insert_with(|| {
                        last += u32::from(stays);
                        (next(), NonZeroU32::new(last).filter(|_| stays))
                    })
                }
            };
            FlowSpec {
                src,
                dst,
                size,
                start,
                class: block.class,
                sport,
                dport: block.dport,
                label: block.label,
                scheme: block.scheme,
                connection,
                nics: Nics::ANY,
            }
        });
        flows.collect()
    }

    /// Checks that every flow goes from a host to another one that it can reach.
    pub(super) fn check(&self, cx: &Cx<'_>, net: &Net) -> Result<(), Problem> {
        let reach = Reach::of(&net.topology);
        // Streamed flows are not listed yet, so all hosts of a source have to reach each other.
        for (source, index) in &self.sources {
            let hosts: Vec<NodeId> = source.pattern.hosts().collect();
            if let Some((src, dst)) = reach.apart(&hosts) {
                return Err(no_path(&reach, net, src, dst, index));
            }
        }
        let drawn = !self.drawn.is_empty();
        if let Some(index) = self.late.as_ref().filter(|_| self.list.is_empty() && !drawn) {
            return Err(all_late(cx, cx.stop, index));
        }
        check(cx, self, net, &reach, drawn)
    }
}

/// Checks the listed flows; `drawn` is true if there are also random ones.
fn check(
    cx: &Cx<'_>,
    unresolved: &UnresolvedFlows,
    net: &Net,
    reach: &Reach,
    drawn: bool,
) -> Result<(), Problem> {
    for draft in &unresolved.list {
        let location = &unresolved.block(draft).location;
        let Message { src, dst, size, .. } = draft.message;
        let wrong = |message: String| Err(Problem::new(message).at(location));
        for node in [src, dst] {
            if let Some(message) = not_a_host(node, net) {
                return wrong(message);
            }
        }
        // In networks with credits, packets from a host to itself pass through its switch.
        if src == dst && unresolved.block(draft).paced.is_none() {
            return wrong(format!("the flow goes from host {} to itself", src.0));
        }
        if size == Bytes::ZERO {
            return wrong("a flow of no bytes".to_string());
        }
        if !reach.connected(src, dst) {
            return Err(no_path(reach, net, src, dst, location));
        }
    }
    // Late flows are an error only if nothing else happens in the run.
    let late = |draft: &Draft| draft.message.start >= cx.stop;
    match unresolved.list.first() {
        Some(first) if !drawn && unresolved.list.iter().all(late) => Err(all_late(
            cx,
            first.message.start,
            &unresolved.block(first).location,
        )),
        _ => Ok(()),
    }
}

/// Returns the problem of flows between hosts that cannot reach each other.
fn no_path(reach: &Reach, net: &Net, src: NodeId, dst: NodeId, location: &Location) -> Problem {
    let lonely = [src, dst].into_iter().find(|&host| !reach.has_link(host));
    let problem = Problem::new(match lonely {
        Some(host) => format!("host {} has no link", host.0),
        None => format!("there is no path from host {} to host {}", src.0, dst.0),
    })
    .at(location);
    match &net.note {
        Some(note) => problem.help(note),
        None if Reach::connected_through_hosts(&net.topology, src, dst) => problem.help(
            "links lead there through other hosts, but hosts do not forward: put a switch between them",
        ),
        None => problem,
    }
}

/// Returns the problem of a scenario whose flows all start after the end of the run.
fn all_late(cx: &Cx<'_>, first: Time, location: &Location) -> Problem {
    let here = if first > cx.stop {
        format!("the first here at {first}")
    } else {
        "none here before".to_string()
    };
    Problem::new(format!(
        "every flow starts after the end of the run at {}: {here}",
        cx.stop
    ))
    .at(location)
}

/// Returns the reason why a node is not a host, or `None` if it is one.
pub(super) fn not_a_host(node: NodeId, net: &Net) -> Option<String> {
    let count = net.topology.nodes.len();
    if net.topology.is_host(node) {
        return None;
    }
    if node.0 as usize >= count {
        return Some(format!(
            "there is no node {}: nodes are 0 to {}",
            node.0,
            count.max(1) - 1
        ));
    }
    let hosts = match (net.topology.hosts().next(), net.topology.hosts().last()) {
        (Some(first), Some(last)) => format!("nodes {} to {}", first.0, last.0),
        _ => "there are none".to_string(),
    };
    Some(format!(
        "node {} is a switch: flows are between hosts ({hosts})",
        node.0
    ))
}

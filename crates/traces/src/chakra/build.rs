//! Construction of a graph from the traces of all ranks.

use super::brief::{COMMUNICATION, NodeWork, Source};
use super::groups::{self, Groups};
use super::options::{ControlDeps, Options};
use super::rank::{Interned, RankTrace};
use super::sizes;
use super::tally::{Reason, Tally};
use crate::cycle::Edges;
use crate::graph::{Builder, Graph, Names};
use crate::program::{Collective, CollectiveKind, Lanes, NO_LANE, OperationId, Order, Rank, Work};
use crate::trouble::{Caution, Trouble};

/// Names of nodes, such as `trace.3.et: node 17 (AllReduce)`.
#[derive(Debug)]
struct NodeNames {
    names: Vec<String>,
    /// For each rank: its file, and for each node its id and the index of its name.
    ranks: Vec<(String, Vec<(u64, u32)>)>,
}

impl Names for NodeNames {
    fn name(&self, rank: Rank, number: OperationId) -> String {
        let found = self
            .ranks
            .get(rank as usize)
            .and_then(|(file, nodes)| Some((file, nodes.get(number as usize)?)));
        match found {
            Some((file, (id, name))) => {
                let name = self.names.get(*name as usize).map_or("", String::as_str);
                format!("{file}: node {id} ({name})")
            }
            None => format!("node number {number} of rank {rank}"),
        }
    }

    fn rename(&mut self, name: &dyn Fn(&str) -> String) {
        for (file, _) in &mut self.ranks {
            *file = name(file);
        }
    }
}

/// Builds the graph of `count` traces, which are read one after another to save memory.
pub(super) fn graph(
    count: usize,
    sources: impl Iterator<Item = Result<(String, Vec<u8>), Trouble>>,
    groups: Option<(String, String)>,
    options: &Options,
) -> Result<(Graph, Vec<Caution>), Trouble> {
    let ranks = Rank::try_from(count)
        .map_err(|_| Trouble::at("chakra", format!("{count} files, expected at most 2^32 - 1")))?;
    let groups = match groups {
        Some((file, text)) => groups::parse(&file, &text, ranks)?,
        None => Groups::new(),
    };
    // Names repeat across ranks, so all traces share one table.
    let mut names = Interned::default();
    let mut traces = Vec::new();
    let mut tally = Tally::default();
    for (rank, source) in (0..ranks).zip(sources) {
        let (file, bytes) = source?;
        let source = Source {
            file: &file,
            rank,
            ranks,
            options,
        };
        traces.push(RankTrace::read(source, &bytes, &mut names, &mut tally)?);
    }
    // Nodes without a duration count 0 ns so far, so they are refused before a graph is built.
    tally.check(&options.roofline)?;
    let mut cautions = Vec::new();
    dropped_dependencies(&traces, &mut cautions);
    // Recorded cycles first: a cycle found after chaining is then due to the chains alone.
    control(&mut traces, &names, options, &mut cautions)?;
    if options.repair.chain_streams {
        for trace in &mut traces {
            trace.chain_streams();
            // Chains in the order of ids may contradict recorded dependencies.
            let pairs = trace.data.iter().chain(&trace.control);
            let edges = Edges::new(trace.nodes.len(), pairs.copied());
            if let Some((nodes, _)) = edges.shortest_cycle() {
                let trouble = cycle(trace, &names, &nodes);
                return Err(trouble.help("Without `repair = \"stream\"` there is no such cycle"));
            }
        }
    } else if !options.is_algorithm {
        loose_kernels(&traces, &mut cautions);
    }
    // The program of a collective has no lanes: its operations start as soon as they are free.
    let lanes = Lanes {
        orders: if options.is_algorithm {
            Vec::new()
        } else {
            vec![Order::Number; 3]
        },
    };
    // Receives only match messages of their own size, so sizes have to agree before operations are created.
    sizes::equalize(&mut traces, &names, &mut cautions);
    let mut builder = Graph::builder(ranks, lanes);
    let mut collectives = Vec::new();
    for (rank, trace) in (0..ranks).zip(&traces) {
        let found = resolve(rank, trace, &names, &groups, &mut builder)?;
        for (index, collective) in &found {
            if builder.groups()[collective.group as usize].len() == 1 && collective.bytes > 0 {
                tally.add(Reason::Alone, &trace.place(&names, *index), collective.bytes, 0);
            }
        }
        collectives.push(found);
    }
    cautions.splice(0..0, tally.cautions());
    empty_collectives(&traces, &names, &collectives, &mut cautions);
    let mut named = Vec::new();
    // By value: a trace is freed as soon as its operations are in the graph.
    for ((rank, trace), collectives) in (0..ranks).zip(traces).zip(&collectives) {
        fill(rank, &trace, collectives, options, &mut builder);
        let ids = trace.nodes.iter().map(|n| (n.id, n.name)).collect();
        named.push((trace.file, ids));
    }
    let names = NodeNames {
        names: names.all,
        ranks: named,
    };
    Ok((builder.finish(Box::new(names)), cautions))
}

fn caution(text: String, cautions: &mut Vec<Caution>) {
    cautions.push(Caution { text });
}

fn dropped_dependencies(traces: &[RankTrace], cautions: &mut Vec<Caution>) {
    let sum: u64 = traces.iter().map(|t| t.dropped).sum();
    if let Some(first) = traces.iter().find(|t| t.dropped > 0) {
        caution(
            format!(
                "{sum} data dependencies on nodes that are not there are dropped, the first in {}.",
                first.file
            ),
            cautions,
        );
    }
}

/// Describes a cycle for an error message.
fn cycle(trace: &RankTrace, names: &Interned, nodes: &[u32]) -> Trouble {
    let first = nodes.first().copied().unwrap_or(0);
    let mut chain: Vec<String> = nodes
        .iter()
        .take(8)
        .map(|&n| {
            let node = &trace.nodes[n as usize];
            format!("{} ({})", node.id, names.name(node.name))
        })
        .collect();
    if nodes.len() > 8 {
        chain.push(format!("{} more", nodes.len() - 8));
    }
    Trouble::at(
        trace.place(names, first),
        format!(
            "nodes wait for each other: {} before {} again",
            chain.join(" before "),
            trace.nodes.get(first as usize).map_or(0, |n| n.id)
        ),
    )
}

/// Keeps or drops control dependencies, for all ranks alike, and reports cycles.
fn control(
    traces: &mut [RankTrace],
    names: &Interned,
    options: &Options,
    cautions: &mut Vec<Caution>,
) -> Result<(), Trouble> {
    let mut in_cycles = 0_u64;
    for trace in traces.iter() {
        let count = trace.nodes.len();
        let both = Edges::new(count, trace.data.iter().chain(&trace.control).copied());
        let never_free = both.never_free();
        if never_free == 0 {
            continue;
        }
        let data = Edges::new(count, trace.data.iter().copied());
        // Dropping control dependencies would leave a cycle of data dependencies.
        if let Some((nodes, _)) = data.shortest_cycle() {
            return Err(cycle(trace, names, &nodes));
        }
        if options.control_deps == ControlDeps::Keep
            && let Some((nodes, _)) = both.shortest_cycle()
        {
            return Err(cycle(trace, names, &nodes)
                .help("`control-deps = \"auto\"` drops all control dependencies then"));
        }
        in_cycles += never_free as u64;
    }
    let missing: u64 = traces.iter().map(|t| t.missing_control).sum();
    if missing == 0 && in_cycles == 0 {
        return Ok(());
    }
    let kept: u64 = traces.iter().map(|t| t.control.len() as u64).sum();
    let nodes: u64 = traces.iter().map(|t| t.nodes.len() as u64).sum();
    let mut reasons = Vec::new();
    let first = traces
        .iter()
        .find_map(|t| Some((&t.file, t.first_missing_control?)));
    if let Some((file, (child, parent))) = first {
        reasons.push(format!(
            "{missing} of them name nodes that are not there (the first is that of node {child} on node {parent} in {file})"
        ));
    }
    if in_cycles > 0 {
        reasons.push(format!(
            "with them {in_cycles} of {nodes} nodes are in cycles or behind them"
        ));
    }
    caution(
        format!(
            "All {} control dependencies are dropped: {}.",
            kept + missing,
            reasons.join(", and ")
        ),
        cautions,
    );
    for trace in traces {
        trace.control = Vec::new();
    }
    Ok(())
}

/// Warns of kernels that nothing depends on, if a rank has more than one: a single one may be its end.
fn loose_kernels(traces: &[RankTrace], cautions: &mut Vec<Caution>) {
    let loose: Vec<(u64, u64)> = traces.iter().map(RankTrace::loose_kernels).collect();
    if loose.iter().all(|(count, _)| *count <= 1) {
        return;
    }
    let count: u64 = loose.iter().map(|l| l.0).sum();
    let ns: u64 = loose.iter().fold(0, |sum, l| sum.saturating_add(l.1));
    let all = traces
        .iter()
        .fold(0_u64, |sum, t| sum.saturating_add(t.kernel_ns()));
    let share = if all > 0 {
        100.0 * ns as f64 / all as f64
    } else {
        0.0
    };
    caution(
        format!(
            "{count} kernels have no successor: nothing waits for {share:.1} % of the computing time of kernels. \
             `repair = \"stream\"` chains the kernels of each stream."
        ),
        cautions,
    );
}

/// Returns the collectives of a rank with their groups, by node index.
fn resolve(
    rank: Rank,
    trace: &RankTrace,
    names: &Interned,
    groups: &Groups,
    builder: &mut Builder,
) -> Result<Vec<(u32, Collective)>, Trouble> {
    let mut found = Vec::new();
    let all: Vec<Rank> = (0..builder.ranks()).collect();
    for (index, node) in (0..).zip(&trace.nodes) {
        let NodeWork::Collective {
            kind,
            bytes,
            group,
            root,
        } = &node.what
        else {
            continue;
        };
        let group = names.name(*group);
        // Groups that the rank's own trace defines have precedence over the file's.
        let members = match trace.groups.get(group).or_else(|| groups.get(group)) {
            Some(members) => members,
            None if group.is_empty() || group == "0" => &all,
            None => {
                let known: Vec<&str> = groups
                    .keys()
                    .chain(trace.groups.keys())
                    .map(String::as_str)
                    .collect();
                let known = if known.is_empty() {
                    "none is defined; `groups` names a file of them".to_string()
                } else {
                    format!("expected one of {}", known.join(", "))
                };
                return Err(Trouble::at(
                    trace.place(names, index),
                    format!("unknown group `{group}`: {known}"),
                ));
            }
        };
        if !members.contains(&rank) {
            return Err(Trouble::at(
                trace.place(names, index),
                format!("rank {rank} is not in group `{group}`, which has the ranks {members:?}"),
            ));
        }
        let root = match root {
            Some(root) if members.contains(root) => *root,
            Some(root) => {
                return Err(Trouble::at(
                    trace.place(names, index),
                    format!("its root, rank {root}, is not in group `{group}`"),
                ));
            }
            None => members.first().copied().unwrap_or(0),
        };
        found.push((
            index,
            Collective {
                kind: *kind,
                bytes: *bytes,
                group: builder.group(members),
                // Without a root, the field must be equal at all members.
                root: if kind.has_root() { root } else { 0 },
            },
        ));
    }
    Ok(found)
}

/// Adds one caution that lists all collectives of 0 bytes.
fn empty_collectives(
    traces: &[RankTrace],
    names: &Interned,
    collectives: &[Vec<(u32, Collective)>],
    cautions: &mut Vec<Caution>,
) {
    // Limits the length of the caution, not the count in it.
    const MOST: usize = 64;
    let mut indices = Vec::new();
    let mut count = 0_usize;
    for (trace, collectives) in traces.iter().zip(collectives) {
        for (index, collective) in collectives {
            if collective.bytes == 0 && collective.kind != CollectiveKind::Barrier {
                count += 1;
                if indices.len() < MOST {
                    indices.push(trace.place(names, *index));
                }
            }
        }
    }
    if count > 0 {
        let more = if count > indices.len() {
            format!(", and {} more", count - indices.len())
        } else {
            String::new()
        };
        let noun = if count == 1 {
            "collective of 0 bytes is"
        } else {
            "collectives of 0 bytes are"
        };
        caution(
            format!("{count} {noun} done at once: {}{more}.", indices.join(", ")),
            cautions,
        );
    }
}

/// Adds the operations and edges of a rank to the graph.
fn fill(
    rank: Rank,
    trace: &RankTrace,
    collectives: &[(u32, Collective)],
    options: &Options,
    builder: &mut Builder,
) {
    let mut collectives = collectives.iter();
    for node in &trace.nodes {
        let (work, lane) = match &node.what {
            NodeWork::Nothing => (Work::Nothing, NO_LANE),
            NodeWork::Lasts { ns, lane } => (Work::Compute { ns: *ns }, *lane),
            &NodeWork::Send { to, bytes, tag } => (Work::Send { to, bytes, tag }, COMMUNICATION),
            // A posted receive would block its lane until the message arrives.
            &NodeWork::Receive { from, bytes, tag } => (
                Work::Receive {
                    from: Some(from),
                    bytes,
                    tag: Some(tag),
                },
                NO_LANE,
            ),
            NodeWork::Collective { .. } => match collectives.next() {
                Some((_, collective)) => (builder.collective(*collective), COMMUNICATION),
                None => (Work::Nothing, NO_LANE),
            },
        };
        let lane = if options.is_algorithm { NO_LANE } else { lane };
        builder.operation(rank, work, lane, 0);
    }
    for &(before, after) in trace.data.iter().chain(&trace.control) {
        builder.after_end(rank, before, after);
    }
    builder.seal(rank);
}

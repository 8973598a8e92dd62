//! Links that bound the messages of a critical path.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};

use paceline_fabric::Outcome;
use paceline_fabric::account::{FlowAccount, HopTotals};
use paceline_fabric::outcome::PortRef;
use paceline_fabric::spec::{NodeId, NodeKind};
use paceline_jobs::{TraceActivity, TraceOutcome, TracePath};
use paceline_kernel::BitRate;
use paceline_kernel::sorted::SortedMap;
use paceline_scenario::{Job, Resolved};

use super::super::rows::FlowRows;

/// Relative extra time above which the link where a message waited bounds it, not the slowest link of its path.
const CONTENTION: f64 = 0.1;

/// Link that bounds messages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bound {
    pub(super) tier: String,
    pub(super) rate: BitRate,
    /// Node numbers of the two ends.
    ends: (u32, u32),
    /// Name of the link, for readers.
    pub(super) name: String,
}

impl Bound {
    pub(super) fn nodes(&self) -> String {
        format!("{}-{}", self.ends.0, self.ends.1)
    }
}

/// Bound of a message and its contention.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) bound: Option<Bound>,
    /// Extra time of its flow compared with an empty network.
    pub(super) contention_ps: u64,
}

/// Key of a message's flow: sender, receiver, start in ps, bytes.
pub(super) type Key = (u32, u32, u64, u64);

/// Predecessor of each node, and the link from it; `None` for the root and unreachable nodes.
type Tree = Vec<Option<(NodeId, usize)>>;

/// Finds the links that bound the messages of paths.
pub(super) struct Bounds<'a> {
    input: &'a Resolved,
    /// Flows of messages: completion time, and that alone, in ps; account.
    flows: HashMap<Key, (u64, u64, Option<&'a FlowAccount>)>,
    /// Links of each node: neighbour and index of the link.
    links: Vec<Vec<(NodeId, usize)>>,
    /// Cached search trees by sender.
    trees: RefCell<SortedMap<NodeId, Tree>>,
}

/// Returns the messages on the paths of jobs by traces.
pub(super) fn messages<'a>(
    paths: &'a [(&'a Job, &'a TraceOutcome, &'a TracePath)],
) -> impl Iterator<Item = Key> + 'a {
    let steps = paths
        .iter()
        .flat_map(|(job, _, path)| path.steps.iter().map(move |step| (job, step)));
    steps.filter_map(|(job, step)| {
        let TraceActivity::Message {
            from,
            to,
            bytes,
            left,
            ..
        } = step.what
        else {
            return None;
        };
        let host = |rank: u32| job.hosts[rank as usize].0;
        Some((host(from), host(to), left.as_ps(), bytes))
    })
}

impl<'a> Bounds<'a> {
    pub(super) fn of_messages(
        input: &'a Resolved,
        outcome: &'a Outcome,
        flows: &FlowRows,
        messages: impl Iterator<Item = Key>,
    ) -> Self {
        // Only messages on a path are looked up, so that memory depends on the paths and not on the number of flows.
        let mut wanted: HashMap<Key, (u64, u64, Option<&FlowAccount>)> =
            messages.map(|key| (key, (0, 0, None))).collect();
        let accounts: SortedMap<u32, &FlowAccount> = outcome
            .accounts
            .iter()
            .map(|account| (account.flow, account))
            .collect();
        for row in flows.rows() {
            let key = (row.src, row.dst, row.start_ps, row.size_bytes);
            if let (Some(fct), Some(found)) = (row.fct_ps, wanted.get_mut(&key)) {
                *found = (fct, row.ideal_fct_ps, accounts.get(&row.flow_id).copied());
            }
        }
        // Messages of cost models have no flow, and unfinished flows have no completion time.
        wanted.retain(|_, (fct, ..)| *fct > 0);
        let mut links = vec![Vec::new(); input.run.nodes.len()];
        for (index, link) in input.run.links.iter().enumerate() {
            links[link.a.0 as usize].push((link.b, index));
            links[link.b.0 as usize].push((link.a, index));
        }
        Self {
            input,
            flows: wanted,
            links,
            trees: RefCell::default(),
        }
    }

    /// Returns the bound of a message that left at `left_ps`.
    pub(super) fn of(&self, from: NodeId, to: NodeId, left_ps: u64, bytes: u64) -> Found {
        let flow = self.flows.get(&(from.0, to.0, left_ps, bytes)).copied();
        // A cost model's messages are no flows.
        let Some((fct, alone, account)) = flow else {
            return Found::default();
        };
        let contention_ps = fct.saturating_sub(alone);
        // Without contention a faster slowest link helps; with it, the link with the queue does.
        let waits = contention_ps as f64 > CONTENTION * alone as f64;
        let link = account
            .filter(|_| waits)
            .and_then(|account| self.where_it_waited(account, from))
            .or_else(|| self.slowest(account, from, to));
        Found {
            bound: link.map(|index| self.bound(index)),
            contention_ps,
        }
    }

    fn bound(&self, index: usize) -> Bound {
        let link = &self.input.run.links[index];
        let ends = (link.a.0.min(link.b.0), link.a.0.max(link.b.0));
        Bound {
            tier: self.input.link_tiers.name(index).to_string(),
            rate: link.rate,
            name: self.input.names.link(ends.0, ends.1),
            ends,
        }
    }

    /// Returns the link on which its packets waited longest on average; its NIC's if other flows of its host went
    /// first.
    fn where_it_waited(&self, account: &FlowAccount, from: NodeId) -> Option<usize> {
        let data = account.hops.iter().filter(|hop| !hop.back);
        let waited = |hop: &HopTotals| (hop.queueing.as_ps() + hop.paused.as_ps()) / hop.packets.max(1);
        let most = data.max_by_key(|hop| waited(hop)).filter(|hop| waited(hop) > 0);
        // Waiting at the NIC for other flows of the host counts like a queue in front of the first link.
        let nic = account.sender.nic.as_ps();
        match most {
            Some(hop) if waited(hop) >= nic => self.of_port(&hop.port),
            _ if nic > 0 => self.links[from.0 as usize].first().map(|&(_, index)| index),
            _ => None,
        }
    }

    fn of_port(&self, port: &PortRef) -> Option<usize> {
        let mut at = self.links.get(port.node.0 as usize)?.iter();
        at.find(|(peer, _)| *peer == port.peer).map(|&(_, index)| index)
    }

    /// Returns the slowest link of its path; the first of equally slow ones.
    fn slowest(&self, account: Option<&FlowAccount>, from: NodeId, to: NodeId) -> Option<usize> {
        let hops = account.into_iter().flat_map(|account| &account.hops);
        let known: Vec<usize> = hops
            .filter(|hop| !hop.back)
            .filter_map(|hop| self.of_port(&hop.port))
            .collect();
        let way = match known.is_empty() {
            true => self.shortest(from, to),
            false => known,
        };
        let rate = |index: &usize| self.input.run.links[*index].rate;
        way.into_iter().min_by_key(rate)
    }

    /// Returns the links of a shortest path; ECMP may have taken another of equal length.
    fn shortest(&self, from: NodeId, to: NodeId) -> Vec<usize> {
        let mut trees = self.trees.borrow_mut();
        let tree = trees.entry(from).or_insert_with(|| self.tree(from));
        let mut way = Vec::new();
        let mut at = to;
        while at != from {
            let Some((before, index)) = tree[at.0 as usize] else {
                return Vec::new();
            };
            way.push(index);
            at = before;
        }
        way.reverse();
        way
    }

    /// Searches breadth-first from a host; other hosts do not forward.
    fn tree(&self, from: NodeId) -> Tree {
        let nodes = &self.input.run.nodes;
        let mut tree = vec![None; nodes.len()];
        let mut next = VecDeque::from([from]);
        while let Some(node) = next.pop_front() {
            if node != from && nodes[node.0 as usize] == NodeKind::Host {
                continue;
            }
            for &(peer, index) in &self.links[node.0 as usize] {
                if peer != from && tree[peer.0 as usize].is_none() {
                    tree[peer.0 as usize] = Some((node, index));
                    next.push_back(peer);
                }
            }
        }
        tree
    }
}

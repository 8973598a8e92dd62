//! Trace of a rank, parsed and resolved.

use std::collections::HashMap;

use super::brief::{Brief, NodeWork, Source, brief, place};
use super::file::each_node;
use super::groups::{Groups, of_metadata};
use super::node::Node;
use super::options::{ControlDeps, Options};
use super::tally::Tally;
use crate::trouble::Trouble;

/// Interned names of nodes.
#[derive(Debug, Default)]
pub(super) struct Interned {
    pub(super) all: Vec<String>,
    indices: HashMap<String, u32>,
}

impl Interned {
    /// Returns the name with this index.
    pub(super) fn name(&self, index: u32) -> &str {
        self.all.get(index as usize).map_or("", String::as_str)
    }

    pub(super) fn place(&mut self, name: &str) -> u32 {
        if let Some(&index) = self.indices.get(name) {
            return index;
        }
        let index = self.all.len() as u32;
        self.all.push(name.to_string());
        self.indices.insert(name.to_string(), index);
        index
    }
}

/// Trace of a rank; nodes are sorted by id, and edges go from parents to children, as indices.
#[derive(Debug, Default)]
pub(super) struct RankTrace {
    pub(super) file: String,
    pub(super) nodes: Vec<Brief>,
    pub(super) data: Vec<(u32, u32)>,
    pub(super) control: Vec<(u32, u32)>,
    /// Number of missing control parents, and the first (child, parent).
    pub(super) missing_control: u64,
    pub(super) first_missing_control: Option<(u64, u64)>,
    /// Number of missing data parents that were dropped.
    pub(super) dropped: u64,
    pub(super) groups: Groups,
}

/// Ids of the nodes' parents in file order, until all ids are known.
#[derive(Default)]
struct Parents {
    ids: Vec<u64>,
    /// End of each node's parents in `ids`.
    ends: Vec<usize>,
}

impl Parents {
    fn push(&mut self, parents: &[u64]) {
        self.ids.extend_from_slice(parents);
        self.ends.push(self.ids.len());
    }

    /// Returns pairs of a child, by its number in the file, and a parent.
    fn pairs(&self) -> impl Iterator<Item = (usize, u64)> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ranges = starts.zip(&self.ends).enumerate();
        ranges.flat_map(|(child, (from, &to))| self.ids[from..to].iter().map(move |&id| (child, id)))
    }
}

impl RankTrace {
    /// Returns the position of a node for messages.
    pub(super) fn place(&self, names: &Interned, node: u32) -> String {
        let node = &self.nodes[node as usize];
        let name = names.name(node.name);
        format!("{}: node {} ({name})", self.file, node.id)
    }

    /// Reads the trace of a rank.
    pub(super) fn read(
        source: Source<'_>,
        bytes: &[u8],
        names: &mut Interned,
        tally: &mut Tally,
    ) -> Result<Self, Trouble> {
        let Source { file, options, .. } = source;
        let mut trace = Self {
            file: file.to_string(),
            ..Self::default()
        };
        let mut data = Parents::default();
        let mut control = Parents::default();
        each_node(file, bytes, &mut |node: &Node<'_>| {
            let brief = brief(source, node, names, tally)?;
            if trace
                .nodes
                .last()
                .is_some_and(|before: &Brief| before.id == brief.id)
            {
                return Err(Trouble::at(place(file, node), "the node before has this id, too"));
            }
            if options.is_algorithm && matches!(brief.what, NodeWork::Collective { .. }) {
                return Err(Trouble::at(
                    place(file, node),
                    "a collective within the algorithm of a collective, expected sends, receives and COMP",
                ));
            }
            // Kind 1 is METADATA, the only one that defines groups.
            if node.kind == 1 {
                of_metadata(
                    &place(file, node),
                    node.inputs.values,
                    source.ranks,
                    &mut trace.groups,
                )?;
            }
            trace.nodes.push(brief);
            // A parent may come later in the file, so parents are resolved once all ids are known.
            data.push(&node.data);
            if options.control_deps != ControlDeps::Drop {
                control.push(&node.control);
            }
            Ok(())
        })?;
        trace.resolve(names, &data, &control, options)?;
        Ok(trace)
    }

    /// Sorts nodes by id and resolves parents to indices.
    fn resolve(
        &mut self,
        names: &Interned,
        data: &Parents,
        control: &Parents,
        options: &Options,
    ) -> Result<(), Trouble> {
        // Free nodes are tried in ascending order of ids, so indices have to follow the ids.
        let mut order: Vec<u32> = (0..self.nodes.len() as u32).collect();
        order.sort_by_key(|&n| self.nodes[n as usize].id);
        let mut indices = vec![0_u32; order.len()];
        for (index, &n) in (0..).zip(&order) {
            indices[n as usize] = index;
        }
        self.nodes.sort_by_key(|n| n.id);
        let twice = self.nodes.windows(2).position(|p| p[0].id == p[1].id);
        if let Some(at) = twice {
            let id = self.nodes[at].id;
            return Err(Trouble::at(
                self.place(names, at as u32),
                format!(
                    "there are two nodes {id}: this one and {}",
                    self.place(names, at as u32 + 1)
                ),
            ));
        }
        let find = |id: u64| self.nodes.binary_search_by_key(&id, |n| n.id).ok();
        let mut found = Vec::new();
        let mut dropped = 0;
        for (child, parent) in data.pairs() {
            let child = indices[child];
            match find(parent) {
                Some(parent) => found.push((parent as u32, child)),
                None if options.repair.drop_missing => dropped += 1,
                None => {
                    return Err(Trouble::at(
                        self.place(names, child),
                        format!("waits for node {parent}, which is not there"),
                    )
                    .help("`repair = \"drop\"` drops such dependencies"));
                }
            }
        }
        let mut kept = Vec::new();
        let mut missing = 0;
        let mut first = None;
        for (child, parent) in control.pairs() {
            let child = indices[child];
            match find(parent) {
                Some(parent) => kept.push((parent as u32, child)),
                None if options.control_deps == ControlDeps::Keep => {
                    return Err(Trouble::at(
                        self.place(names, child),
                        format!("has the control parent {parent}, which is not there"),
                    )
                    .help("`control-deps = \"auto\"` drops all control dependencies then"));
                }
                None => {
                    // Counted, since all control dependencies of all ranks are then dropped together.
                    missing += 1;
                    first.get_or_insert((self.nodes[child as usize].id, parent));
                }
            }
        }
        self.data = found;
        self.control = kept;
        self.dropped = dropped;
        self.missing_control = missing;
        self.first_missing_control = first;
        Ok(())
    }

    /// Adds dependencies between the kernels of each stream, in the order of their ids.
    pub(super) fn chain_streams(&mut self) {
        let mut last: HashMap<i64, u32> = HashMap::new();
        for (index, node) in (0..).zip(&self.nodes) {
            let Some(stream) = node.stream.filter(|_| node.is_kernel) else {
                continue;
            };
            if let Some(before) = last.insert(stream, index) {
                self.data.push((before, index));
            }
        }
    }

    /// Returns the number of kernels that nothing depends on, and their total duration in ns.
    pub(super) fn loose_kernels(&self) -> (u64, u64) {
        let mut has_child = vec![false; self.nodes.len()];
        for &(parent, _) in self.data.iter().chain(&self.control) {
            has_child[parent as usize] = true;
        }
        let loose = self.nodes.iter().zip(has_child);
        let loose = loose.filter(|(node, has_child)| node.computes && !has_child);
        loose.fold((0, 0_u64), |(count, sum), (node, _)| {
            (count + 1, sum.saturating_add(node.lasts_ns()))
        })
    }

    /// Returns the total duration of the rank's kernels, in ns.
    pub(super) fn kernel_ns(&self) -> u64 {
        let kernels = self.nodes.iter().filter(|n| n.computes);
        kernels.fold(0, |sum: u64, node| sum.saturating_add(node.lasts_ns()))
    }
}

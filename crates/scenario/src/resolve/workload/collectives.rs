//! Collectives, from their blocks to messages with dependencies.

use paceline_kernel::{Bytes, Span, Time};
use toml::Spanned;

use crate::collective::Algorithm;
use crate::diagnostics::{Problem, suggestion};
use crate::resolve::fill::{fill, fill_at};
use crate::schema::{self, Nodes};

use super::{Made, MadeCollective, Maker};

/// A collective as it is written.
pub(super) enum Operation<'a> {
    AllToAll(&'a mut schema::AllToAll),
    AllReduce(&'a mut schema::AllReduce),
    Ring(&'a mut schema::Ring, Algorithm),
}

/// What all collectives say.
pub(super) struct Common<'a> {
    pub(super) hosts: &'a mut Option<Spanned<Nodes>>,
    pub(super) size: &'a mut Option<Spanned<Bytes>>,
    pub(super) iterations: &'a mut Option<Spanned<u32>>,
    pub(super) compute: &'a mut Option<Span>,
    pub(super) start: &'a mut Option<Time>,
    pub(super) connections: &'a mut Option<schema::Connections>,
}

macro_rules! common {
    ($block:ident) => {
        Common {
            hosts: &mut $block.hosts,
            size: &mut $block.size,
            iterations: &mut $block.iterations,
            compute: &mut $block.compute,
            start: &mut $block.start,
            connections: &mut $block.connections,
        }
    };
}

impl Operation<'_> {
    pub(super) fn common(&mut self) -> Common<'_> {
        match self {
            Self::AllToAll(block) => common!(block),
            Self::AllReduce(block) => common!(block),
            Self::Ring(block, _) => common!(block),
        }
    }
}

impl Maker<'_, '_> {
    /// A collective of hosts that the block names.
    pub(super) fn collective(&mut self, mut block: Operation<'_>) -> Result<Made, Problem> {
        let common = block.common();
        let hosts = self.hosts(common.hosts)?;
        let count = hosts.len() as u32;
        if count < 2 {
            let place = common.hosts.as_ref().map(|hosts| self.cx.texts.of_value(hosts));
            let place = place.filter(|place| !place.text().is_empty());
            return Err(
                Problem::new(format!("a collective over {count} host: expected at least two"))
                    .at(&place.unwrap_or_else(|| self.place.clone())),
            );
        }
        let (algorithm, size) = self.operation(&mut block, count)?;
        let common = block.common();
        let iterations = self.count(common.iterations, 1, "iterations")?;
        self.affordable(algorithm.messages(count) * f64::from(iterations))?;
        let start = fill(common.start, Time::ZERO);
        let compute = fill(common.compute, Span::ZERO);
        let stays = self.collective_connections(common.connections)?;
        let plan = algorithm.plan(&hosts, size, start, iterations, compute);
        Ok(Made {
            // One connection for each pair of hosts.
            connections: vec![0; plan.messages.len()],
            stays,
            dependencies: plan.dependencies,
            collective: Some(MadeCollective {
                hosts: count,
                size: algorithm.counted_bytes(count, size),
                bus_factor: algorithm.bus_factor(count),
                per_iteration: plan.per_iteration,
            }),
            ..plan.messages.into()
        })
    }

    /// How `count` hosts carry it out, and over how many bytes.
    pub(super) fn operation(
        &mut self,
        block: &mut Operation<'_>,
        count: u32,
    ) -> Result<(Algorithm, Bytes), Problem> {
        let algorithm = match block {
            Operation::AllToAll(block) => {
                match self.algorithm(&mut block.algorithm, &["linear", "pairwise"])? {
                    0 => Algorithm::LinearAllToAll,
                    _ => Algorithm::PairwiseAllToAll,
                }
            }
            Operation::AllReduce(block) => self.all_reduce(block, count)?,
            Operation::Ring(_, algorithm) => *algorithm,
        };
        let common = block.common();
        let size = self.size(&fill_at(common.size, Bytes::new(1_000_000)))?;
        let is_split = algorithm.counted_bytes(count, size) == size;
        if is_split && size.get() < u64::from(count) {
            return Err(Problem::new(format!(
                "{size} over {count} hosts: some of them would have nothing to send"
            ))
            .at(&common
                .size
                .as_ref()
                .map_or_else(|| self.place.clone(), |size| self.cx.texts.of_value(size)))
            .label("expected at least a byte for each host"));
        }
        Ok((algorithm, size))
    }

    fn all_reduce(&mut self, block: &mut schema::AllReduce, hosts: u32) -> Result<Algorithm, Problem> {
        let names = ["ring", "hierarchical", "halving-doubling"];
        let chosen = self.algorithm(&mut block.algorithm, &names)?;
        let wrong = |message: String| Err(Problem::new(message).at(&self.place));
        let group = block
            .group_size
            .as_ref()
            .map(|group| (*group.get_ref(), self.cx.texts.of_value(group)));
        match (chosen, &group) {
            (0 | 2, Some((_, at))) => {
                Err(Problem::new("`group-size` is for `algorithm = \"hierarchical\"`").at(at))
            }
            (0, None) => Ok(Algorithm::RingAllReduce),
            (2, None) if hosts.is_power_of_two() => Ok(Algorithm::HalvingDoubling),
            (2, None) => wrong(format!(
                "halving and doubling over {hosts} hosts: expected a power of two"
            )),
            (_, None) => wrong("a hierarchical all-reduce has no `group-size`".to_string()),
            (_, Some((group, at))) => {
                if *group > 1 && *group < hosts && hosts.is_multiple_of(*group) {
                    return Ok(Algorithm::HierarchicalAllReduce { group: *group });
                }
                Err(Problem::new(format!(
                    "groups of {group} of {hosts} hosts: expected several equal groups of several hosts"
                ))
                .at(at))
            }
        }
    }

    /// What a collective's messages go over. Collective libraries open their queue pairs once, so that is the default
    /// wherever hosts can have it.
    pub(super) fn collective_connections(
        &self,
        written: &mut Option<schema::Connections>,
    ) -> Result<schema::Connections, Problem> {
        let default = match self.cx.hosts_keep_connections {
            true => schema::Connections::Persistent,
            false => schema::Connections::PerMessage,
        };
        let stays = fill(written, default);
        self.check_connections(stays)?;
        Ok(stays)
    }

    /// The place in `names` of the algorithm that is named; the first where none is.
    fn algorithm(
        &self,
        slot: &mut Option<Spanned<String>>,
        names: &[&'static str],
    ) -> Result<usize, Problem> {
        let named = fill_at(slot, names[0].to_string());
        let place = names.iter().position(|name| name == named.get_ref());
        place.ok_or_else(|| {
            Problem::new(format!("unknown algorithm `{}`", named.get_ref()))
                .at(&self.cx.texts.of_value(&named))
                .label("no such algorithm")
                .help(suggestion(named.get_ref(), names.iter().copied()))
        })
    }
}

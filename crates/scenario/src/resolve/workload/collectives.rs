//! Conversion of collectives to messages with dependencies.

use paceline_fabric::spec::NodeId;
use paceline_kernel::{Bytes, Span, Time};
use toml::Spanned;

use crate::diagnostics::{Problem, suggestion};
use crate::groups;
use crate::resolve::fill::{fill, fill_at};
use crate::schema::{self, Nodes};
use paceline_jobs::collective::{Algorithm, Forwarding, Layout, Options, Stage};

use super::maker::{Made, MadeCollective, Maker};

/// Block of a collective.
pub(super) enum Operation<'a> {
    AllToAll(&'a mut schema::AllToAll),
    AllReduce(&'a mut schema::AllReduce),
    Ring(&'a mut schema::Ring, Algorithm),
}

/// Keys that all collectives share.
pub(super) struct Common<'a> {
    pub(super) hosts: &'a mut Option<Spanned<Nodes>>,
    pub(super) size: &'a mut Option<Spanned<Bytes>>,
    pub(super) iterations: &'a mut Option<Spanned<u32>>,
    pub(super) compute: &'a mut Option<Span>,
    pub(super) start: &'a mut Option<Time>,
    pub(super) connections: &'a mut Option<schema::Connections>,
}

/// Algorithm of a collective, and its number of bytes.
pub(super) struct Chosen {
    pub(super) algorithm: Algorithm,
    pub(super) size: Bytes,
    pub(super) options: Options,
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
    /// Creates a collective of the hosts that the block names.
    pub(super) fn collective(&mut self, mut block: Operation<'_>) -> Result<Made, Problem> {
        let common = block.common();
        let hosts = self.hosts(common.hosts)?;
        let count = hosts.len() as u32;
        if count < 2 {
            let location = common.hosts.as_ref().map(|hosts| self.cx.texts.of_value(hosts));
            let location = location.filter(|location| !location.text().is_empty());
            return Err(
                Problem::new(format!("a collective over {count} host: expected at least two"))
                    .at(&location.unwrap_or_else(|| self.location.clone())),
            );
        }
        let groups = vec![(0..count).collect()];
        let layouts = self.layouts(&hosts, &groups);
        let Chosen {
            algorithm,
            size,
            options,
        } = self.operation(&mut block, &layouts)?;
        let common = block.common();
        let iterations = self.count(common.iterations, 1, "iterations")?;
        // Checked before the plan is built, whose messages might exhaust memory.
        self.affordable(algorithm.messages_with(count, size, &options) * f64::from(iterations))?;
        let start = fill(common.start, Time::ZERO);
        let compute = fill(common.compute, Span::ZERO);
        let stays = self.collective_connections(common.connections)?;
        let stage = Stage::with(algorithm, groups, size, &options, &layouts);
        let plan = stage.repeated(&hosts, start, iterations, compute);
        Ok(Made {
            // One connection for each pair of hosts and channel.
            connections: plan.channels,
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

    /// Returns the servers and rails of the hosts of each group, by rank.
    pub(super) fn layouts(&self, hosts: &[NodeId], groups: &[Vec<u32>]) -> Vec<Layout> {
        let of = |kind: &str| {
            let mut indices = vec![None; self.net.topology.nodes.len()];
            let sets = groups::sets(&self.net.topology, kind).unwrap_or_default();
            for (index, set) in (0u32..).zip(sets) {
                set.iter().for_each(|host| indices[host.0 as usize] = Some(index));
            }
            indices
        };
        let (servers, rails) = (of("server"), of("rail"));
        let count = servers.len() as u32;
        let index = |&rank: &u32| {
            let host = hosts[rank as usize].0 as usize;
            // A host without a server counts as a server by itself.
            let server = servers[host].unwrap_or(count + rank);
            (server, rails[host].unwrap_or(0))
        };
        let layout = |group: &Vec<u32>| Layout::of(group.iter().map(index));
        groups.iter().map(layout).collect()
    }

    /// Returns the algorithm for groups with these layouts, all of one size.
    pub(super) fn operation(
        &mut self,
        block: &mut Operation<'_>,
        layouts: &[Layout],
    ) -> Result<Chosen, Problem> {
        let count = layouts[0].ranks();
        let (algorithm, mut options) = match block {
            Operation::AllToAll(block) => {
                let algorithm = match self.algorithm(&mut block.algorithm, &["linear", "pairwise"])? {
                    0 => Algorithm::LinearAllToAll,
                    _ => Algorithm::PairwiseAllToAll,
                };
                let options = Options {
                    forwarding: self.forwarding(block)?,
                    ..Options::default()
                };
                (algorithm, options)
            }
            Operation::AllReduce(block) => {
                let by_server = self.is_by_server(block)?;
                let algorithm = self.all_reduce(block, layouts)?;
                let mut options = self.options(&mut block.channels, &block.chunk, &mut block.slots)?;
                options.by_server = by_server;
                (algorithm, options)
            }
            Operation::Ring(block, algorithm) => (
                *algorithm,
                self.options(&mut block.channels, &block.chunk, &mut block.slots)?,
            ),
        };
        let common = block.common();
        let size = self.size(&fill_at(common.size, Bytes::new(1_000_000)))?;
        // A chunk as large as the data divides nothing.
        if options.chunk.is_some_and(|chunk| chunk >= size) {
            options.chunk = None;
        }
        let least = algorithm.least_bytes(count, size, &options);
        if size.get() < least {
            let location = match common.size {
                Some(size) => self.cx.texts.of_value(size),
                None => self.location.clone(),
            };
            let problem = match least == u64::from(count) {
                true => Problem::new(format!(
                    "{size} over {count} hosts: some of them would have nothing to send"
                )),
                false => Problem::new(format!(
                    "{size} over {count} hosts, {} channels and chunks: some messages would have no bytes",
                    options.channels
                )),
            };
            let label = match least == u64::from(count) {
                true => "expected at least a byte for each host".to_string(),
                false => format!("expected at least {least}B, fewer channels, or larger chunks"),
            };
            return Err(problem.at(&location).label(label));
        }
        Ok(Chosen {
            algorithm,
            size,
            options,
        })
    }

    fn options(
        &self,
        channels: &mut Option<Spanned<u32>>,
        chunk: &Option<Spanned<Bytes>>,
        slots: &mut Option<Spanned<u32>>,
    ) -> Result<Options, Problem> {
        let mut options = Options::default();
        if channels.is_some() {
            options.channels = self.count(channels, 1, "channels")?;
        }
        if slots.is_some() {
            options.slots = self.count(slots, 1, "slots")?;
        }
        if let Some(chunk) = chunk {
            if *chunk.get_ref() == Bytes::ZERO {
                return Err(Problem::new("a chunk of no bytes")
                    .at(&self.cx.texts.of_value(chunk))
                    .label("expected more than zero"));
            }
            options.chunk = Some(*chunk.get_ref());
        }
        Ok(options)
    }

    fn forwarding(&self, block: &schema::AllToAll) -> Result<Forwarding, Problem> {
        let Some(pxn) = block.pxn.as_ref().filter(|pxn| *pxn.get_ref()) else {
            return Ok(Forwarding::None);
        };
        if self.net.topology.inner.is_empty() {
            return Err(
                Problem::new("`pxn` forwards inside servers: this network has no links there")
                    .at(&self.cx.texts.of_value(pxn))
                    .label("for `topology.rail` with a `server-rate`"),
            );
        }
        Ok(match block.aggregate {
            Some(true) => Forwarding::Collected,
            _ => Forwarding::Each,
        })
    }

    /// Returns true if groups of hosts are servers.
    fn is_by_server(&self, block: &schema::AllReduce) -> Result<bool, Problem> {
        let Some(group) = &block.group else {
            return Ok(false);
        };
        let wrong = |problem: Problem| Err(problem.at(&self.cx.texts.of_value(group)));
        if group.get_ref() != "server" {
            let problem = Problem::new(format!("unknown group `{}`", group.get_ref()));
            return wrong(problem.help(suggestion(group.get_ref(), ["server"])));
        }
        if block.group_size.is_some() {
            return wrong(Problem::new(
                "a group is either a `server`, or has a `group-size`",
            ));
        }
        if groups::sets(&self.net.topology, "server").is_none() {
            let problem = Problem::new("this network has no servers");
            return wrong(problem.label("for `topology.rail`"));
        }
        Ok(true)
    }

    fn all_reduce(
        &mut self,
        block: &mut schema::AllReduce,
        layouts: &[Layout],
    ) -> Result<Algorithm, Problem> {
        let hosts = layouts[0].ranks();
        let names = ["ring", "hierarchical", "halving-doubling", "tree"];
        let chosen = self.algorithm(&mut block.algorithm, &names)?;
        let wrong = |message: String| Err(Problem::new(message).at(&self.location));
        let written = block.group_size.as_ref();
        let mut group = written.map(|group| (*group.get_ref(), self.cx.texts.of_value(group)));
        if let Some(server) = &block.group {
            let at = self.cx.texts.of_value(server);
            let each = layouts[0].per_server();
            if chosen == 1 && (each.is_none() || layouts.iter().any(|layout| layout.per_server() != each)) {
                return Err(Problem::new("servers with unequal numbers of ranks")
                    .at(&at)
                    .label("expected as many ranks in each server"));
            }
            group = Some((each.unwrap_or(0), at));
        }
        match (chosen, &group) {
            (0 | 2 | 3, Some((_, at))) => {
                let key = if block.group.is_some() {
                    "group"
                } else {
                    "group-size"
                };
                Err(Problem::new(format!("`{key}` is for `algorithm = \"hierarchical\"`")).at(at))
            }
            (0, None) => Ok(Algorithm::RingAllReduce),
            (3, None) => Ok(Algorithm::DoubleTree),
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

    /// Returns the connections for a collective's messages. Collective libraries open their queue pairs once, so
    /// persistent ones are the default if hosts support them.
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

    /// Returns the index in `names` of the chosen algorithm; the first one by default.
    fn algorithm(
        &self,
        slot: &mut Option<Spanned<String>>,
        names: &[&'static str],
    ) -> Result<usize, Problem> {
        let named = fill_at(slot, names[0].to_string());
        let index = names.iter().position(|name| name == named.get_ref());
        index.ok_or_else(|| {
            Problem::new(format!("unknown algorithm `{}`", named.get_ref()))
                .at(&self.cx.texts.of_value(&named))
                .label("no such algorithm")
                .help(suggestion(named.get_ref(), names.iter().copied()))
        })
    }
}

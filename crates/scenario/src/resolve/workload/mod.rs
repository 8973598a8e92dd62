//! Conversion of `[[workload]]` to flows.

mod bursts;
mod collectives;
mod files;
mod incast;
mod jobs;
mod labels;
mod maker;
mod messages;
mod placement;
mod random;
mod requests;
mod services;
mod single;
mod sizes;
mod steps;
mod traces;

use paceline_fabric::spec::{ArrivalSource, Arrivals, Dependency, FlowSpec, Program};
use paceline_kernel::Span;
use paceline_kernel::sorted::{SortedMap, SortedSet};
use toml::Spanned;

use crate::diagnostics::{Location, Problem};
use crate::schema;
use crate::topology::Net;
use crate::traffic::{self, Message, PacedSource, Seeds};
use crate::warning::WarningKind;
use paceline_jobs::collective::Algorithm;

use super::Cx;
use super::fill::{fill, fill_value, filled, only_block};
use super::offered::{self, Drawn};
use super::schemes::Schemes;
use super::unresolved::{Block, UnresolvedFlows};
use crate::resolve::listed::Collective;
use collectives::Operation;
use labels::Labels;
use maker::{Made, Maker, destination_port};

pub use jobs::{Job, Local};
pub use services::Inference;

/// Flows, their dependencies, and their labels.
pub(super) struct Traffic {
    pub(super) flows: Vec<FlowSpec>,
    pub(super) arrivals: Option<Arrivals>,
    pub(super) dependencies: Vec<Dependency>,
    pub(super) collectives: Vec<Collective>,
    pub(super) jobs: Vec<Job>,
    pub(super) services: Vec<Inference>,
    pub(super) programs: Vec<Program>,
    pub(super) labels: Vec<String>,
    /// Labels whose flows keep to one path.
    pub(super) one_path: Vec<u16>,
    /// Indices of flows in the order in which they were written, for simulators that depend on it.
    pub(super) written: Vec<u32>,
    /// Messages of each host, in networks with credits.
    pub(super) sources: Vec<PacedSource>,
    /// Workloads with random flows, or with flows from files.
    pub(super) drawn: Vec<Drawn>,
}

impl Traffic {
    /// Returns the number of flows, including streamed ones and those of traces.
    pub(super) fn count(&self) -> usize {
        let streamed = self
            .arrivals
            .as_ref()
            .map_or(0, |arrivals| arrivals.flows as usize);
        let of_programs = self.programs.iter().map(|program| program.flows as usize);
        self.flows.len() + streamed + of_programs.sum::<usize>()
    }

    /// Returns the flows' priority classes.
    pub(super) fn classes(&self) -> SortedSet<u8> {
        let sources = self.arrivals.iter().flat_map(|arrivals| &arrivals.sources);
        let streamed = sources.map(|source| source.class);
        let of_programs = self.programs.iter().map(|program| program.class);
        let described = self.flows.iter().map(|flow| flow.class).chain(streamed);
        described.chain(of_programs).collect()
    }
}

/// Tables of a scenario that have flows.
pub(super) struct Written<'a> {
    pub(super) workloads: &'a mut [Spanned<schema::Workload>],
    pub(super) jobs: &'a mut [Spanned<schema::Job>],
    pub(super) services: &'a mut [Spanned<schema::Inference>],
}

/// Creates the flows of all workloads, jobs and services.
pub(super) fn resolve(
    cx: &mut Cx<'_>,
    written: Written<'_>,
    net: &Net,
    schemes: &mut Schemes<'_>,
) -> Result<Traffic, Problem> {
    let Written {
        workloads,
        jobs,
        services,
    } = written;
    let mut unresolved = UnresolvedFlows::default();
    // A stream cannot express flows that wait for others, as those of jobs do.
    unresolved.streams = cx.streams && jobs.is_empty() && services.is_empty() && may_stream(workloads);
    let files = workloads.iter().enumerate().filter_map(|(number, workload)| {
        let file = workload.get_ref().file.as_ref()?;
        Some((number as u64, cx.texts.of_value(file)))
    });
    let files: SortedMap<u64, Location> = files.collect();
    let mut labels = Labels::default();
    let mut given = SortedMap::new();
    for (i, spanned) in workloads.iter_mut().enumerate() {
        let location = cx.texts.of_value(spanned);
        let written = spanned.get_mut();
        let scheme = schemes.index(cx, written.scheme.as_ref())?;
        if let Some(label) = written.label.as_deref()
            && let Some(other) = given.insert(label.to_string(), location.clone())
        {
            let text =
                format!("another workload has the label `{label}` ({other}): results show both as one");
            cx.warn(WarningKind::SharedLabel, &location, text);
        }
        labels.keeps_to_path = filled!(written.one_path: Workload);
        // Random numbers depend on the workload's index, so other workloads do not change its flows.
        let seeds = Seeds {
            seed: cx.seed,
            workload: i as u64,
        };
        let mut factory = Maker {
            cx: &mut *cx,
            net,
            location,
            seeds,
            labels: &mut labels,
            scheme,
        };
        factory.make(written, schemes, &mut unresolved)?;
    }
    let traces = jobs::read(cx, jobs, net)?;
    let first = workloads.len() + jobs.len();
    let mut wanted = jobs::wanted(cx, jobs, workloads.len());
    wanted.extend(services::wanted(cx, services, first));
    let mut placed = placement::places(cx, net, wanted)?.into_iter();
    let found = placed.by_ref().take(jobs.len()).zip(traces).collect();
    let to = jobs::Target {
        unresolved: &mut unresolved,
        labels: &mut labels,
        workloads: workloads.len(),
    };
    let (mut jobs, mut programs) = jobs::resolve(cx, jobs, found, net, schemes, to)?;
    let to = services::Target {
        labels: &mut labels,
        programs: &mut programs,
        first,
    };
    let services = services::resolve(cx, services, &placed.collect::<Vec<_>>(), net, schemes, to)?;
    labels.check()?;
    if schemes.all().any(|scheme| scheme.needs().foresight) {
        unresolved.list_sources(cx.seed);
    }
    unresolved.check(cx, net)?;
    let offered = unresolved.offered_by_files(&files);
    unresolved.drawn.extend(offered);
    let written = match cx.profile().keeps_order {
        true => unresolved.order_of_starts(),
        false => Vec::new(),
    };
    // Sorting renumbers the flows that the ends of iterations refer to.
    let tails = jobs.iter_mut().flat_map(|job| job.tails.iter_mut().flatten());
    unresolved.sort(tails.map(|tail| &mut tail.after));
    let sources = match cx.profile().paced_messages {
        true => unresolved.paced()?,
        false => Vec::new(),
    };
    Ok(Traffic {
        written,
        sources,
        drawn: std::mem::take(&mut unresolved.drawn),
        // Before `flows`: a stream drains the list that these come from.
        arrivals: unresolved.arrivals(cx),
        flows: unresolved.with_ports(),
        dependencies: unresolved.dependencies,
        collectives: unresolved.collectives,
        jobs,
        services,
        programs,
        labels: labels.names,
        one_path: labels.one_path.into_iter().collect(),
    })
}

/// Returns true if some flows are random and none is moved afterwards, while the others have no dependencies and only
/// properties that a stream can express.
fn may_stream(workloads: &[Spanned<schema::Workload>]) -> bool {
    let is_drawn = |written: &schema::Workload| written.poisson.is_some() || written.incast_poisson.is_some();
    let is_told = |written: &schema::Workload| {
        written.flows.is_some() || written.incast.is_some() || written.permutation.is_some()
    };
    let stays = |written: &schema::Workload| written.start_jitter.is_none_or(|jitter| jitter == Span::ZERO);
    let mut all = workloads.iter().map(Spanned::get_ref);
    all.clone().any(is_drawn) && all.all(|written| is_told(written) || is_drawn(written) && stays(written))
}

/// Returns the name of the only block present, or an error.
fn block_of(written: &schema::Workload) -> Result<&'static str, Problem> {
    let present = [
        ("flows", written.flows.is_some()),
        ("file", written.file.is_some()),
        ("trace", written.trace.is_some()),
        ("incast", written.incast.is_some()),
        ("poisson", written.poisson.is_some()),
        ("incast-poisson", written.incast_poisson.is_some()),
        ("bursts", written.bursts.is_some()),
        ("permutation", written.permutation.is_some()),
        ("closed-loop", written.closed_loop.is_some()),
        ("messages", written.messages.is_some()),
        ("all-to-all", written.all_to_all.is_some()),
        ("all-reduce", written.all_reduce.is_some()),
        ("reduce-scatter", written.reduce_scatter.is_some()),
        ("all-gather", written.all_gather.is_some()),
    ];
    only_block(&present, "a workload").map_err(|problem| {
        problem.help(format!(
            "the blocks are {}",
            present.map(|(name, _)| name).join(", ")
        ))
    })
}

impl Maker<'_, '_> {
    fn make(
        &mut self,
        written: &mut schema::Workload,
        schemes: &mut Schemes<'_>,
        unresolved: &mut UnresolvedFlows,
    ) -> Result<(), Problem> {
        let name = block_of(written).map_err(|problem| problem.at(&self.location))?;
        match name {
            "file" => return self.file(written, unresolved),
            "trace" => return self.trace(written, schemes, unresolved),
            "messages" => return self.messages(written, unresolved),
            _ => {}
        }
        let class = self.class(written)?.unwrap_or(3);
        fill_value(&mut written.priority, class);
        let label = fill(&mut written.label, name.to_string());
        let mut made = self.block(name, written)?;
        let jitter = filled!(written.start_jitter: Workload);
        if let Some((pattern, window)) = made.arrivals.take() {
            if window.0 == window.1 {
                unresolved.late.get_or_insert(self.location.clone());
            } else if let Some(demand) = offered::demand(&pattern) {
                unresolved.drawn.push(Drawn {
                    demand,
                    window,
                    location: self.location.clone(),
                });
            }
            let source = ArrivalSource {
                workload: self.seeds.workload,
                window,
                class,
                dport: destination_port(name),
                label: self.labels.index(&label),
                scheme: self.scheme,
                pattern,
            };
            // Streamed flows are drawn during the run, so none is listed here.
            if unresolved.streams {
                unresolved.sources.push((source, self.location.clone()));
                return Ok(());
            }
            made.messages = source.messages(self.seeds.seed).collect();
        }
        traffic::jitter(&mut made.messages, &made.dependencies, jitter, self.seeds);
        self.add(made, name, &label, class, unresolved);
        Ok(())
    }

    /// Returns the flows of a permutation, random or with a stride.
    fn permutation(&mut self, block: &mut schema::Permutation) -> Result<Vec<Message>, Problem> {
        let (size, start) = self.size_and_start(&mut block.size, &mut block.start)?;
        let hosts = self.hosts(&mut block.hosts)?;
        let Some(stride) = &block.stride else {
            return Ok(traffic::permutation(&hosts, size, start, self.seeds));
        };
        let most = hosts.len().saturating_sub(1);
        match *stride.get_ref() as usize {
            own if own == 0 || own > most => {
                let message = format!(
                    "a stride of {own} among {} hosts; expected 1 to {most}: a host does not send to itself",
                    hosts.len()
                );
                Err(Problem::new(message).at(&self.cx.texts.of_value(stride)))
            }
            stride => Ok(traffic::stride(&hosts, stride, size, start)),
        }
    }

    /// Creates the messages of the block `name`.
    fn block(&mut self, name: &str, written: &mut schema::Workload) -> Result<Made, Problem> {
        Ok(match name {
            "flows" => self.flows(written.flows.get_or_insert_default())?,
            "incast" => self.incast(written.incast.get_or_insert_default())?.into(),
            "poisson" => self.poisson(written.poisson.get_or_insert_default())?,
            "incast-poisson" => self.incast_poisson(written.incast_poisson.get_or_insert_default())?,
            "bursts" => self.bursts(written.bursts.get_or_insert_default())?.into(),
            "permutation" => self
                .permutation(written.permutation.get_or_insert_default())?
                .into(),
            "closed-loop" => self.closed_loop(written.closed_loop.get_or_insert_default())?,
            "all-to-all" => {
                self.collective(Operation::AllToAll(written.all_to_all.get_or_insert_default()))?
            }
            "all-reduce" => {
                self.collective(Operation::AllReduce(written.all_reduce.get_or_insert_default()))?
            }
            "reduce-scatter" => self.collective(Operation::Ring(
                written.reduce_scatter.get_or_insert_default(),
                Algorithm::ReduceScatter,
            ))?,
            _ => self.collective(Operation::Ring(
                written.all_gather.get_or_insert_default(),
                Algorithm::AllGather,
            ))?,
        })
    }

    /// Adds the messages of the block `name` to the flows.
    fn add(&mut self, made: Made, name: &str, label: &str, class: u8, unresolved: &mut UnresolvedFlows) {
        let dport = destination_port(name);
        let first = unresolved.len();
        if let Some(collective) = made.collective {
            let iterations = (0..made.messages.len() / collective.per_iteration).map(|i| {
                let from = first + i * collective.per_iteration;
                (from as u32..(from + collective.per_iteration) as u32).collect()
            });
            unresolved.collectives.push(Collective {
                label: label.to_string(),
                hosts: collective.hosts,
                size: collective.size,
                bus_factor: collective.bus_factor,
                iterations: iterations.collect(),
            });
        }
        unresolved.wait(first, &made.dependencies);
        let label = self.labels.index(label);
        let block = |location: &Location| Block {
            workload: self.seeds.workload,
            class,
            dport,
            label,
            scheme: self.scheme,
            connections: made.stays.into(),
            location: location.clone(),
            paced: None,
        };
        if made.locations.is_empty() {
            return unresolved.add(block(&self.location), made.messages, &made.connections);
        }
        for (message, location) in made.messages.into_iter().zip(&made.locations) {
            unresolved.add(block(location), [message], &[]);
        }
    }
}

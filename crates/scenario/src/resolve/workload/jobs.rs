//! From `[[job]]` to hosts, and the collectives that these carry out.

use std::collections::BTreeSet;

use paceline_fabric::spec::{NodeId, Program};
use paceline_kernel::rng::Purpose;
use paceline_kernel::{Bytes, Span, Time};
use toml::Spanned;

use crate::collective::{Algorithm, Chain, Stage};
use crate::diagnostics::{Place, Problem};
use crate::resolve::fill::{fill, fill_value, filled, only_block};
use crate::resolve::hosts::{self, Holds};
use crate::resolve::unresolved::{Block, UnresolvedFlows};
use crate::resolve::{Cx, schemes::Schemes};
use crate::schema::{self};
use crate::topology::Net;
use crate::traffic::{SHARED, Seeds};

use super::collectives::Operation;
use super::placement::place;
use super::traces::{self, Trace};
use super::{Collective, Labels, Maker, destination_port};

/// A training job: iterations of some collectives with computing in between, by the same hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its label.
    pub label: String,
    /// Its hosts, by rank.
    pub hosts: Vec<NodeId>,
    /// When it begins to compute.
    pub start: Time,
    /// What a host computes in an iteration.
    pub compute: Span,
    /// Its collectives, in the order in which they are carried out: places in the run's list.
    pub collectives: Vec<usize>,
    /// What a job by a trace has instead of collectives in the list.
    pub trace: Option<ByTrace>,
}

/// A job by a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByTrace {
    /// The place of its program in the run.
    pub program: usize,
    /// How often the trace is run.
    pub repeats: u32,
}

/// Makes the flows of all jobs.
pub(super) fn resolve(
    cx: &mut Cx<'_>,
    jobs: &mut [Spanned<schema::Job>],
    net: &Net,
    schemes: &mut Schemes<'_>,
    (unresolved, labels, workloads): (&mut UnresolvedFlows, &mut Labels, usize),
) -> Result<(Vec<Job>, Vec<Program>), Problem> {
    let read = |job: &mut Spanned<schema::Job>| traces::read(cx, job, net);
    let traces: Vec<Option<Trace>> = jobs.iter_mut().map(read).collect::<Result<_, _>>()?;
    for (job, trace) in jobs.iter_mut().zip(&traces) {
        let (span, job) = (job.span(), job.get_mut());
        if let (Some(trace), None, None) = (trace, &job.hosts, &job.ranks) {
            job.ranks = Some(Spanned::new(span, trace.ranks()));
        }
    }
    let placed = places(cx, jobs, net, workloads)?;
    let (mut all, mut known) = (Vec::with_capacity(jobs.len()), BTreeSet::new());
    let mut programs = Vec::new();
    for (i, ((spanned, hosts), trace)) in jobs.iter_mut().zip(placed).zip(traces).enumerate() {
        let place = cx.texts.of_value(spanned);
        let written = spanned.get_mut();
        let scheme = schemes.index(cx, written.scheme.as_ref())?;
        let seeds = seeds(cx.seed, workloads + i);
        let mut factory = Maker {
            cx: &mut *cx,
            net,
            place,
            seeds,
            labels: &mut *labels,
            scheme,
        };
        let label = fill(&mut written.label, format!("job-{i}"));
        if !known.insert(label.clone()) {
            return Err(Problem::new(format!("a second job called `{label}`")).at(&factory.place));
        }
        all.push(match trace {
            None => factory.job(written, label, hosts, unresolved)?,
            Some(trace) => {
                let (job, program) = factory.trace_job(written, label, hosts, &trace, programs.len())?;
                programs.push(program);
                job
            }
        });
    }
    Ok((all, programs))
}

/// Jobs come behind workloads.
const fn seeds(seed: u64, place: usize) -> Seeds {
    Seeds {
        seed,
        workload: place as u64,
    }
}

/// The hosts of every job by rank: first of those that name them, then of those that say how many they want.
fn places(
    cx: &Cx<'_>,
    jobs: &mut [Spanned<schema::Job>],
    net: &Net,
    workloads: usize,
) -> Result<Vec<Vec<NodeId>>, Problem> {
    let mut taken = Taken {
        owners: vec![None; net.topology.nodes.len()],
        places: jobs.iter().map(|job| cx.texts.of_value(job)).collect(),
        labels: (jobs
            .iter()
            .map(|job| job.get_ref().label.clone().unwrap_or_default()))
        .collect(),
    };
    let mut found = vec![Vec::new(); jobs.len()];
    for (i, job) in jobs.iter_mut().enumerate() {
        let job = job.get_mut();
        let share = filled!(job.share_hosts: Job);
        let named = match (&job.hosts, &job.ranks) {
            (Some(named), None) => named,
            (None, Some(_)) => continue,
            _ => {
                let message = "a job has either `hosts`, or `ranks` and a `placement`";
                return Err(Problem::new(message).at(&taken.places[i]));
            }
        };
        let at = cx.texts.of_value(named);
        if job.placement.is_some() || job.among.is_some() {
            let message = "`placement` and `among` are for jobs that say how many `ranks` they have";
            return Err(Problem::new(message).at(&at));
        }
        found[i] = hosts::set(cx, net, named, Holds::Hosts)?;
        taken.claim(i, &found[i], &at, share)?;
    }
    for (i, job) in jobs
        .iter_mut()
        .enumerate()
        .filter(|(_, job)| job.get_ref().hosts.is_none())
    {
        let mut draws = seeds(cx.seed, workloads + i).stream(Purpose::Workload, SHARED);
        let job = job.get_mut();
        let ranks = job.ranks.clone().expect("it has no hosts");
        let among = filled!(job.among: Job);
        let mut free = hosts::set(cx, net, &among, Holds::Hosts)?;
        let all = free.len();
        free.retain(|host| job.share_hosts == Some(true) || taken.owners[host.0 as usize].is_none());
        let count = *ranks.get_ref() as usize;
        if count > free.len() {
            let among = if all == free.len() {
                "hosts"
            } else {
                "hosts that no other job has"
            };
            return Err(
                Problem::new(format!("{count} ranks: there are {} {among}", free.len()))
                    .at(&cx.texts.of_value(&ranks))
                    .label(format!("expected at most {}", free.len())),
            );
        }
        let placement = filled!(job.placement: Job);
        let placed = place(&net.topology, &free, count, *placement.get_ref(), &mut draws);
        found[i] = placed.ok_or_else(|| {
            Problem::new("this network has no rails to place ranks along")
                .at(&cx.texts.of_value(&placement))
                .label("for `topology.rail`")
        })?;
        taken.claim(i, &found[i], &taken.places[i].clone(), true)?;
    }
    Ok(found)
}

/// Which job each host is in.
struct Taken {
    owners: Vec<Option<usize>>,
    places: Vec<Place>,
    labels: Vec<String>,
}

impl Taken {
    fn claim(&mut self, job: usize, hosts: &[NodeId], at: &Place, share: bool) -> Result<(), Problem> {
        for host in hosts {
            let owner = self.owners[host.0 as usize].get_or_insert(job);
            if *owner == job || share {
                continue;
            }
            let shared = hosts
                .iter()
                .filter(|host| self.owners[host.0 as usize].is_some_and(|of| of != job));
            let other = self.owners[host.0 as usize].expect("it has one");
            let message = format!(
                "host {} is in the job `{}` too, one of {} such hosts",
                host.0,
                self.labels[other],
                shared.count()
            );
            return Err(Problem::new(message)
                .at(at)
                .see(&self.places[other], "the other job is here")
                .help("`share-hosts = true` in this job if that is meant"));
        }
        Ok(())
    }
}

/// A step of a job.
struct JobStep {
    label: String,
    compute: Span,
    ranks: u32,
    algorithm: Algorithm,
    size: Bytes,
    stage: Stage,
}

impl Maker<'_, '_> {
    fn job(
        &mut self,
        written: &mut schema::Job,
        label: String,
        hosts: Vec<NodeId>,
        unresolved: &mut UnresolvedFlows,
    ) -> Result<Job, Problem> {
        let place = self.place.clone();
        if hosts.len() < 2 {
            let problem = Problem::new("a job over 1 host: expected at least two").at(&place);
            return Err(problem.help("`ranks = 16` asks for 16 hosts, `hosts` names them"));
        }
        let class = self.checked_class(&written.priority)?.unwrap_or(3);
        fill_value(&mut written.priority, class);
        let start = fill(&mut written.start, Time::ZERO);
        let iterations = self.count(&mut written.iterations, 1, "iterations")?;
        let stays = self.collective_connections(&mut written.connections)?;
        let mut steps: Vec<JobStep> = Vec::new();
        for spanned in written.step.iter_mut().flatten() {
            self.place = self.cx.texts.of_value(spanned);
            let step = self.step(spanned.get_mut(), hosts.len() as u32)?;
            if steps.iter().any(|known| known.label == step.label) {
                let message = format!("a second step called `{}`", step.label);
                return Err(Problem::new(message).at(&self.place).help("give it a `label`"));
            }
            steps.push(step);
        }
        self.place = place;
        if steps.is_empty() {
            return Err(Problem::new("the job has no effect: it has no steps")
                .at(&self.place)
                .help("add `[[job.step]]` with a collective, such as `all-reduce = { size = \"8MB\" }`"));
        }
        let messages: usize = steps.iter().map(|step| step.stage.messages()).sum();
        self.affordable(messages as f64 * f64::from(iterations))?;
        let collectives = self.add_job(
            (&label, &hosts),
            (start, iterations),
            &steps,
            (class, stays),
            unresolved,
        );
        Ok(Job {
            compute: Span::from_ps(
                steps
                    .iter()
                    .fold(0, |sum: u64, step| sum.saturating_add(step.compute.as_ps())),
            ),
            label,
            hosts,
            start,
            collectives,
            trace: None,
        })
    }

    fn step(&mut self, written: &mut schema::JobStep, ranks: u32) -> Result<JobStep, Problem> {
        let present = [
            ("all-to-all", written.all_to_all.is_some()),
            ("all-reduce", written.all_reduce.is_some()),
            ("reduce-scatter", written.reduce_scatter.is_some()),
            ("all-gather", written.all_gather.is_some()),
        ];
        let name = only_block(&present, "a job's step").map_err(|problem| {
            let blocks = present.map(|(name, _)| name).join(", ");
            problem.at(&self.place).help(format!("the blocks are {blocks}"))
        })?;
        let groups = self.groups(written, ranks)?;
        let count = groups[0].len() as u32;
        let mut block = match name {
            "all-to-all" => Operation::AllToAll(written.all_to_all.get_or_insert_default()),
            "all-reduce" => Operation::AllReduce(written.all_reduce.get_or_insert_default()),
            "reduce-scatter" => Operation::Ring(
                written.reduce_scatter.get_or_insert_default(),
                Algorithm::ReduceScatter,
            ),
            _ => Operation::Ring(written.all_gather.get_or_insert_default(), Algorithm::AllGather),
        };
        let common = block.common();
        let strange = [
            ("hosts", common.hosts.is_some(), "the job's `hosts`"),
            (
                "iterations",
                common.iterations.is_some(),
                "the job's `iterations`",
            ),
            ("start", common.start.is_some(), "the job's `start`"),
            (
                "connections",
                common.connections.is_some(),
                "the job's `connections`",
            ),
            (
                "compute",
                common.compute.is_some(),
                "the step's `compute`, beside this block",
            ),
        ];
        if let Some((key, _, instead)) = strange.iter().find(|(_, present, _)| *present) {
            let message = format!("`{key}` in a collective of a job");
            return Err(Problem::new(message)
                .at(&self.place)
                .help(format!("that is {instead}")));
        }
        let (algorithm, size) = self.operation(&mut block, count)?;
        Ok(JobStep {
            label: fill_value(&mut written.label, name.to_string()),
            compute: fill(&mut written.compute, Span::ZERO),
            ranks: count,
            algorithm,
            size,
            stage: Stage::new(algorithm, groups, size),
        })
    }

    /// Which ranks are together in a step: all, those next to each other, or those at the same place of such.
    fn groups(&self, written: &schema::JobStep, ranks: u32) -> Result<Vec<Vec<u32>>, Problem> {
        let (slot, is_across) = match (&written.within, &written.across) {
            (None, None) => return Ok(vec![(0..ranks).collect()]),
            (Some(within), None) => (within, false),
            (None, Some(across)) => (across, true),
            (Some(_), Some(across)) => {
                let message = "a step is either `within` groups of ranks or `across` them";
                return Err(Problem::new(message).at(&self.cx.texts.of_value(across)));
            }
        };
        let of = *slot.get_ref();
        let fits = of > 0 && ranks.is_multiple_of(of);
        let size = if is_across {
            ranks.checked_div(of).unwrap_or(0)
        } else {
            of
        };
        if !fits || size < 2 {
            let what = if is_across { "across" } else { "within" };
            let message = format!("{ranks} ranks, {what} groups of {of}");
            return Err(Problem::new(message)
                .at(&self.cx.texts.of_value(slot))
                .label("expected equal groups, and at least two ranks to talk to each other"));
        }
        Ok(if is_across {
            (0..of)
                .map(|place| (place..ranks).step_by(of as usize).collect())
                .collect()
        } else {
            (0..ranks / of)
                .map(|group| (group * of..(group + 1) * of).collect())
                .collect()
        })
    }

    /// Puts a job's flows to the rest; gives the places of its collectives.
    fn add_job(
        &mut self,
        (job, hosts): (&str, &[NodeId]),
        (start, iterations): (Time, u32),
        steps: &[JobStep],
        (class, stays): (u8, schema::Connections),
        unresolved: &mut UnresolvedFlows,
    ) -> Vec<usize> {
        let first = unresolved.len();
        let mut chain = Chain::new(hosts, start);
        let name = |step: &JobStep| format!("{job}/{}", step.label);
        let block = |step: &JobStep| Block {
            workload: self.seeds.workload,
            class,
            dport: destination_port("job"),
            label: self.labels.index(&name(step)),
            scheme: self.scheme,
            connections: stays.into(),
            place: self.place.clone(),
            paced: None,
        };
        let blocks: Vec<Block> = steps.iter().map(block).collect();
        let blocks: Vec<u32> = blocks.into_iter().map(|block| unresolved.begin(block)).collect();
        let mut flows = vec![Vec::new(); steps.len()];
        for _ in 0..iterations {
            for ((step, &block), flows) in steps.iter().zip(&blocks).zip(&mut flows) {
                let from = chain.messages.len();
                chain.add(&step.stage, step.compute);
                let new = &chain.messages[from..];
                flows.push(((first + from) as u32..(first + from + new.len()) as u32).collect());
                // One connection for each pair of hosts and step.
                unresolved.extend(block, new.iter().copied(), &vec![0; new.len()]);
            }
        }
        unresolved.wait(first, &chain.dependencies);
        let collective = |(step, iterations): (&JobStep, Vec<Vec<u32>>)| Collective {
            label: name(step),
            hosts: step.ranks,
            size: step.algorithm.counted_bytes(step.ranks, step.size),
            bus_factor: step.algorithm.bus_factor(step.ranks),
            iterations,
        };
        let known = unresolved.collectives.len();
        unresolved
            .collectives
            .extend(steps.iter().zip(flows).map(collective));
        (known..unresolved.collectives.len()).collect()
    }
}

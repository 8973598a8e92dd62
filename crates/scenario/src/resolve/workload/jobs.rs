//! Conversion of `[[job]]` to hosts and their collectives.

use std::sync::Arc;

use paceline_fabric::spec::{NodeId, Program, slowness};
use paceline_kernel::sorted::SortedSet;
use paceline_kernel::{BitRate, Span, Time};
use paceline_traces::inside::Inside;
use paceline_traces::model::Plan;
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::resolve::fill::{fill, fill_value, filled};
use crate::resolve::unresolved::{Block, UnresolvedFlows};
use crate::resolve::{Cx, schemes::Schemes};
use crate::schema::{self};
use crate::topology::Net;
use crate::warning::WarningKind;
use paceline_jobs::collective::{Chain, Tail};

use super::labels::Labels;
use super::maker::{Maker, destination_port};
use super::placement::{Wanted, seeds};
use super::steps::JobStep;
use super::traces;
pub(super) use super::traces::Trace;
use crate::resolve::listed::Collective;

/// Training job: iterations of collectives with computation in between, by the same hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Label of its flows in results.
    pub label: String,
    /// Hosts of the job, by rank.
    pub hosts: Vec<NodeId>,
    /// Start of the first computation.
    pub start: Time,
    /// Computation per host and iteration.
    pub compute: Span,
    /// Collectives in execution order, as indices into the run's list.
    pub collectives: Vec<usize>,
    /// Computation by hosts at the end of each iteration, after its last message. Empty if there is none.
    pub tails: Vec<Vec<Tail>>,
    /// Program of a trace-driven job, which has no collectives in the list.
    pub trace: Option<ByTrace>,
    /// Model that the job trains, if it names one.
    pub model: Option<Arc<Plan>>,
    /// Prices of its messages inside servers, if they send no packets.
    pub local: Option<Local>,
}

/// Prices of a job's messages inside servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    /// Rate of a rank's link, in each direction.
    pub rate: BitRate,
    /// Time from the departure of a byte to its arrival.
    pub latency: Span,
    /// Messages of an iteration.
    pub messages: Inside,
}

/// Program of a trace-driven job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByTrace {
    /// Index of its program in the run.
    pub program: usize,
    /// Number of times that the trace runs.
    pub repeats: u32,
    /// True if a cost model carries all of its messages: it then has no flows.
    pub is_priced: bool,
}

/// Lists that the flows of jobs are added to.
pub(super) struct Target<'a> {
    pub(super) unresolved: &'a mut UnresolvedFlows,
    pub(super) labels: &'a mut Labels,
    /// Number of workloads, after which jobs are numbered.
    pub(super) workloads: usize,
}

/// Job whose flows are to be added.
struct JobFlows<'a> {
    label: &'a str,
    hosts: &'a [NodeId],
    start: Time,
    iterations: u32,
    steps: &'a [JobStep],
    class: u8,
    stays: schema::Connections,
}

/// Reads the traces of all jobs, since they determine numbers of ranks.
pub(super) fn read(
    cx: &mut Cx<'_>,
    jobs: &mut [Spanned<schema::Job>],
    net: &Net,
) -> Result<Vec<Option<Trace>>, Problem> {
    let read = |(index, job): (usize, &mut Spanned<schema::Job>)| traces::read(cx, job, index, net);
    let traces: Vec<Option<Trace>> = jobs.iter_mut().enumerate().map(read).collect::<Result<_, _>>()?;
    for (job, trace) in jobs.iter_mut().zip(&traces) {
        let (span, job) = (job.span(), job.get_mut());
        if let (Some(trace), None, None) = (trace, &job.hosts, &job.ranks) {
            job.ranks = Some(Spanned::new(span, trace.ranks()));
        }
    }
    Ok(traces)
}

/// Returns the hosts that each job asks for.
pub(super) fn wanted<'a>(
    cx: &Cx<'_>,
    jobs: &'a mut [Spanned<schema::Job>],
    workloads: usize,
) -> Vec<Wanted<'a>> {
    let of = |(i, job): (usize, &'a mut Spanned<schema::Job>)| {
        let location = cx.texts.of_value(job);
        let job = job.get_mut();
        Wanted {
            what: "job",
            label: job.label.clone().unwrap_or_default(),
            location,
            share: filled!(job.share_hosts: Job),
            seeds: seeds(cx.seed, workloads + i),
            hosts: &job.hosts,
            ranks: &job.ranks,
            placement: &mut job.placement,
            among: &mut job.among,
        }
    };
    jobs.iter_mut().enumerate().map(of).collect()
}

/// Creates the flows of all jobs, on the hosts that were found for them.
pub(super) fn resolve(
    cx: &mut Cx<'_>,
    jobs: &mut [Spanned<schema::Job>],
    found: Vec<(Vec<NodeId>, Option<Trace>)>,
    net: &Net,
    schemes: &mut Schemes<'_>,
    to: Target<'_>,
) -> Result<(Vec<Job>, Vec<Program>), Problem> {
    let Target {
        unresolved,
        labels,
        workloads,
    } = to;
    let (mut all, mut known) = (Vec::with_capacity(jobs.len()), SortedSet::new());
    let mut programs = Vec::new();
    for (i, (spanned, (hosts, trace))) in jobs.iter_mut().zip(found).enumerate() {
        let location = cx.texts.of_value(spanned);
        let written = spanned.get_mut();
        let scheme = schemes.index(cx, written.scheme.as_ref())?;
        labels.keeps_to_path = filled!(written.one_path: Job);
        let seeds = seeds(cx.seed, workloads + i);
        let mut factory = Maker {
            cx: &mut *cx,
            net,
            location,
            seeds,
            labels: &mut *labels,
            scheme,
        };
        let label = fill(&mut written.label, format!("job-{i}"));
        if !known.insert(label.clone()) {
            return Err(Problem::new(format!("a second job called `{label}`")).at(&factory.location));
        }
        all.push(match trace {
            None => factory.job(written, label, hosts, unresolved)?,
            Some(trace) => {
                let (job, program) = factory.trace_job(written, label, hosts, trace, programs.len())?;
                programs.push(program);
                job
            }
        });
    }
    Ok((all, programs))
}

impl Maker<'_, '_> {
    fn job(
        &mut self,
        written: &mut schema::Job,
        label: String,
        hosts: Vec<NodeId>,
        unresolved: &mut UnresolvedFlows,
    ) -> Result<Job, Problem> {
        let location = self.location.clone();
        if hosts.len() < 2 {
            let problem = Problem::new("a job over 1 host: expected at least two").at(&location);
            return Err(problem.help("`ranks = 16` asks for 16 hosts, `hosts` names them"));
        }
        let class = self.checked_class(&written.priority)?.unwrap_or(3);
        fill_value(&mut written.priority, class);
        let start = fill(&mut written.start, Time::ZERO);
        let iterations = self.count(&mut written.iterations, 1, "iterations")?;
        let stays = self.collective_connections(&mut written.connections)?;
        let mut steps: Vec<JobStep> = Vec::new();
        for spanned in written.step.iter_mut().flatten() {
            self.location = self.cx.texts.of_value(spanned);
            let step = self.step(spanned.get_mut(), &hosts, &steps)?;
            let same = |known: &&JobStep| known.work.is_some() && known.label == step.label;
            if step.work.is_some() && steps.iter().any(|known| same(&known)) {
                let message = format!("a second step called `{}`", step.label);
                return Err(Problem::new(message).at(&self.location).help("give it a `label`"));
            }
            steps.push(step);
        }
        self.location = location;
        self.warn_of_overlap(written);
        if steps.iter().all(|step| step.work.is_none()) {
            return Err(Problem::new("the job has no effect: it has no steps")
                .at(&self.location)
                .help("add `[[job.step]]` with a collective, such as `all-reduce = { size = \"8MB\" }`"));
        }
        // Checked before the messages are created, which might exhaust memory.
        let messages: f64 = steps.iter().map(|step| step.messages(hosts.len() as u32)).sum();
        self.affordable(messages * f64::from(iterations))?;
        let flows = JobFlows {
            label: &label,
            hosts: &hosts,
            start,
            iterations,
            steps: &steps,
            class,
            stays,
        };
        let (collectives, tails) = self.add_job(flows, unresolved);
        Ok(Job {
            compute: (steps.iter()).fold(Span::ZERO, |sum, step| sum.saturating_add(step.computes())),
            label,
            hosts,
            start,
            collectives,
            tails,
            trace: None,
            model: None,
            local: None,
        })
    }

    /// Warns of an overlapped step at the end: hosts wait for it anyway.
    fn warn_of_overlap(&mut self, written: &schema::Job) {
        let last = written.step.iter().flatten().last();
        let overlap = last.and_then(|step| step.get_ref().overlap.as_ref());
        if let Some(overlap) = overlap.filter(|overlap| *overlap.get_ref()) {
            let location = self.cx.texts.of_value(overlap);
            let text =
                "`overlap` has no effect in the last step: hosts wait for it at the end of the iteration";
            self.cx.warn(WarningKind::UnusedSetting, &location, text);
        }
    }

    /// Adds a job's flows; returns the indices of its collectives, and the hosts' computation at the ends of
    /// iterations.
    fn add_job(
        &mut self,
        job: JobFlows<'_>,
        unresolved: &mut UnresolvedFlows,
    ) -> (Vec<usize>, Vec<Vec<Tail>>) {
        let JobFlows {
            label,
            hosts,
            start,
            iterations,
            steps,
            class,
            stays,
        } = job;
        let first = unresolved.len();
        let slow = hosts.iter().map(|&host| slowness(&self.cx.slow_hosts, host));
        let mut chain = Chain::new(hosts, start).slowed(slow.collect());
        let name = |step: &JobStep| format!("{label}/{}", step.label);
        // A block per step, so that all iterations use the same connections.
        let mut blocks = Vec::with_capacity(steps.len());
        for step in steps {
            blocks.push(step.work.as_ref().map(|_| {
                unresolved.begin(Block {
                    workload: self.seeds.workload,
                    class,
                    dport: destination_port("job"),
                    label: self.labels.index(&name(step)),
                    scheme: self.scheme,
                    connections: stays.into(),
                    location: self.location.clone(),
                    paced: None,
                })
            }));
        }
        let mut flows = vec![Vec::new(); steps.len()];
        let mut tails = Vec::new();
        for _ in 0..iterations {
            for (number, step) in steps.iter().enumerate() {
                let from = chain.messages.len();
                step.add(&mut chain, number, hosts.len() as u32);
                let new = from..chain.messages.len();
                flows[number].push(((first + new.start) as u32..(first + new.end) as u32).collect());
                if let Some(block) = blocks[number] {
                    // One connection for each pair of hosts, step and channel.
                    let messages = chain.messages[new.clone()].iter().copied();
                    unresolved.extend(block, messages, &chain.channels[new]);
                }
            }
            let mut of_iteration = chain.end();
            for tail in &mut of_iteration {
                tail.after += first as u32;
            }
            tails.push(of_iteration);
        }
        if tails.iter().all(Vec::is_empty) {
            tails.clear();
        }
        unresolved.wait(first, &chain.dependencies);
        let known = unresolved.collectives.len();
        for (step, iterations) in steps.iter().zip(flows) {
            unresolved
                .collectives
                .extend(step.work.as_ref().map(|work| Collective {
                    label: name(step),
                    hosts: work.ranks,
                    size: work.counted.0,
                    bus_factor: work.counted.1,
                    iterations,
                }));
        }
        ((known..unresolved.collectives.len()).collect(), tails)
    }
}

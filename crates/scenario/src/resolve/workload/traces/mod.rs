//! Trace-driven jobs: GOAL, Chakra, SimAI; and models, whose programs run like traces.

mod chakra;
mod files;
mod found;
mod local;
mod model;
mod nics;
mod refused;
mod rules;

use paceline_fabric::spec::{self, NodeId, State, slowness};
use paceline_kernel::{Slowness, Span, Time};
use paceline_traces::check::{Extent, check};
use paceline_traces::executor::Executor;
use paceline_traces::trouble::Caution;

use paceline_jobs::{Carrier, Common};
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::resolve::Cx;
use crate::resolve::fill::{fill, fill_value, filled};
use crate::schema;
use crate::topology::Net;
use crate::warning::WarningKind;
use paceline_jobs::Priced;

pub(super) use found::Trace;
use found::{Format, Network, problem};

use super::jobs::{ByTrace, Job};
use super::labels::Labels;
use super::maker::{Maker, choice, destination_port};

/// Largest number of iteration ends over all ranks of a job: each is stored until the run ends.
const MOST_ITERATIONS: u64 = 10_000_000;

/// Reads the trace of a job, if it has one.
pub(super) fn read(
    cx: &mut Cx<'_>,
    job: &mut Spanned<schema::Job>,
    index: usize,
    net: &Net,
) -> Result<Option<Trace>, Problem> {
    let (span, job) = (job.span(), job.get_mut());
    let model = job
        .model
        .as_ref()
        .map(|model| Spanned::new(model.span(), String::new()));
    let written = [
        (Format::Goal, job.goal.clone()),
        (Format::Chakra, job.chakra.clone()),
        (Format::SimAi, job.simai.clone()),
        (Format::Model, model),
    ];
    let mut present = written
        .into_iter()
        .filter_map(|(format, path)| Some((format, path?)));
    let Some((format, path)) = present.next() else {
        let of_traces = [
            ("network", job.network.as_ref().map(Spanned::span)),
            ("local", job.local.as_ref().map(Spanned::span)),
            ("compute-scale", job.compute_scale.as_ref().map(Spanned::span)),
            ("rules", job.rules.as_ref().map(|_| span)),
        ];
        let written = of_traces.into_iter().find_map(|(key, span)| Some((key, span?)));
        if let Some((key, span)) = written {
            let message =
                format!("`{key}` is for jobs by a trace or model: `goal`, `chakra`, `simai` or `model`");
            return Err(Problem::new(message).at(&cx.texts.at(span)));
        }
        return model::refuse_tables(cx, job).map(|()| None);
    };
    let location = cx.texts.of_value(&path);
    if let Some((other, second)) = present.next() {
        let message = format!("a job by `{}` and by `{}`", format.name(), other.name());
        return Err(Problem::new(message)
            .at(&cx.texts.of_value(&second))
            .help("use a job for each trace"));
    }
    if job.step.is_some() {
        let message = format!(
            "a job by a trace or model (`{}`) has no steps of its own",
            format.name()
        );
        return Err(Problem::new(message).at(&location));
    }
    if job.connections == Some(schema::Connections::Persistent) {
        let message = "messages of a trace or model have a queue pair each: `connections = \"persistent\"` is for steps";
        return Err(Problem::new(message)
            .at(&location)
            .help("`same-ports` keeps the ports, and with them the path, of each connection"));
    }
    if format != Format::Model {
        model::refuse_tables(cx, job)?;
    }
    let known =
        [Network::Packets, Network::LogGops, Network::Chunks].map(|network| (network.name(), network));
    let written = filled!(job.network: Job);
    let at = cx.texts.of_value(&written);
    let network = choice(cx, written, &known)?;
    if network == Network::LogGops && format != Format::Goal
        || network == Network::Chunks && matches!(format, Format::Goal | Format::Model)
    {
        let message = format!(
            "a job by `{}` on this network: `loggops` is for GOAL, `chunks` for Chakra",
            format.name()
        );
        return Err(Problem::new(message).at(&at));
    }
    let rules = job.rules.get_or_insert_default();
    refused::refuse_others(cx, rules, format, network, &location)?;
    local::refuse_elsewhere(cx, job, format, network)?;
    let rules = job.rules.get_or_insert_default();
    let (mut system, mut plan) = (None, None);
    let file = files::TraceFile {
        path: &path,
        location: &location,
    };
    let read = match format {
        Format::Goal => files::goal(cx, &path, &location)?,
        Format::Chakra => {
            system = files::system(cx, rules, &location)?;
            chakra::read(cx, file, rules, system.as_ref(), network)?
        }
        Format::SimAi => files::simai(
            cx,
            file,
            files::JobSize {
                has_hosts: job.hosts.is_some(),
                ranks: job.ranks.as_ref().map(|ranks| *ranks.get_ref()),
            },
            rules,
            net,
        )?,
        Format::Model => {
            let (read, found) = model::read(cx, job, index, net, &location)?;
            plan = Some(found);
            read
        }
    };
    for Caution { text } in read.cautions {
        cx.warn(WarningKind::Reading, &location, read.names.in_text(&text));
    }
    // The resolved scenario names the copies of the trace's files.
    let slot = match format {
        Format::Goal => &mut job.goal,
        Format::Chakra => &mut job.chakra,
        Format::SimAi => &mut job.simai,
        Format::Model => &mut None,
    };
    if let Some(slot) = slot {
        *slot.get_mut() = read.names.kept.clone();
    }
    Ok(Some(Trace {
        program: read.program,
        names: read.names,
        format,
        network,
        location,
        system,
        plan,
    }))
}

impl Maker<'_, '_> {
    /// Creates a trace-driven job and the program that executes it.
    pub(super) fn trace_job(
        &mut self,
        written: &mut schema::Job,
        label: String,
        hosts: Vec<NodeId>,
        mut trace: Trace,
        number: usize,
    ) -> Result<(Job, spec::Program), Problem> {
        if hosts.len() != trace.ranks() as usize {
            let message = format!(
                "a trace of {} ranks on {} hosts: expected a host for each rank",
                trace.ranks(),
                hosts.len()
            );
            return Err(Problem::new(message).at(&trace.location));
        }
        let class = self.checked_class(&written.priority)?.unwrap_or(3);
        fill_value(&mut written.priority, class);
        let start = fill(&mut written.start, Time::ZERO);
        let iterations = self.count(&mut written.iterations, 1, "iterations")?;
        let ends = u64::from(iterations) * u64::from(trace.ranks());
        if let Some(written) = written.iterations.as_ref().filter(|_| ends > MOST_ITERATIONS) {
            let message = format!(
                "{iterations} iterations of {} ranks: expected at most {MOST_ITERATIONS} of all ranks together",
                trace.ranks()
            );
            return Err(Problem::new(message)
                .at(&self.cx.texts.of_value(written))
                .label(format!(
                    "expected at most {}",
                    MOST_ITERATIONS / u64::from(trace.ranks())
                )));
        }
        let connections = fill(&mut written.connections, schema::Connections::PerMessage);
        let mut rules = trace.rules(self.cx, written, start, iterations)?;
        let slow = hosts.iter().map(|&host| slowness(&self.cx.slow_hosts, host));
        rules.slow = slow.collect();
        // An empty list says that no host is slow, which LogGOPS requires.
        if rules.slow.iter().all(Slowness::is_none) {
            rules.slow.clear();
        }
        let report = check(&*trace.program, rules.point.eager_bytes);
        let mut extent = report.extent.clone();
        for text in report
            .into_result()
            .map_err(|trouble| problem(trouble, &trace.location))?
        {
            let text = trace.names.in_text(&text);
            self.cx.warn(WarningKind::Reading, &trace.location, text);
        }
        let model = trace.model(self.cx, written, &rules)?;
        let local = self.local(written, &trace, &hosts, &rules)?;
        if model.is_some() && connections == schema::Connections::SamePorts {
            let message = format!(
                "`connections = \"same-ports\"` on the network `{}`: a cost model has no ports",
                trace.network.name()
            );
            return Err(Problem::new(message)
                .at(&trace.location)
                .help("it is for `network = \"packets\"`"));
        }
        let nics = match model {
            Some(_) => Vec::new(),
            None => trace.nics(self.cx, self.net, &hosts, &extent)?,
        };
        if model.is_some() {
            // Messages that a cost model carries are not flows.
            extent = Extent {
                digest: extent.digest,
                ..Extent::default()
            };
        }
        if let Some((_, known)) = &local {
            extent.messages = known.messages.between.messages;
        }
        let most = u64::from(u32::MAX >> 6);
        let flows = extent.messages.saturating_mul(u64::from(iterations)).min(most) as u32;
        let of = |labels: &mut Labels, name: &str| labels.index(&format!("{label}/{name}"));
        let common = Common {
            class,
            scheme: self.scheme,
            dport: destination_port("job"),
            send: of(self.labels, "send"),
            collectives: extent
                .kinds
                .iter()
                .map(|&kind| (kind, of(self.labels, kind.name())))
                .collect(),
            same_ports: connections == schema::Connections::SamePorts,
            nics,
            hosts: hosts.clone(),
        };
        let is_priced = model.is_some() || local.is_some() && flows == 0;
        let (links, local) = local.unzip();
        let plan = trace.plan.take();
        trace.rename();
        let mut digest = format!("{:x} {rules:?} {common:?} {model:?}", extent.digest);
        if let Some(links) = &links {
            digest += &format!(" {links:?}");
        }
        let state = match model {
            None => State::new(Carrier::new(Executor::new(trace.program, rules), common, links)),
            Some(model) => State::new(Priced::new(trace.program, model)),
        };
        let program = spec::Program {
            digest,
            start,
            hosts: hosts.clone(),
            class,
            scheme: self.scheme,
            flows,
            largest: extent.largest,
            state,
        };
        let job = Job {
            label,
            hosts,
            start,
            compute: Span::ZERO,
            collectives: Vec::new(),
            tails: Vec::new(),
            trace: Some(ByTrace {
                program: number,
                repeats: iterations,
                is_priced,
            }),
            model: plan,
            local,
        };
        Ok((job, program))
    }
}

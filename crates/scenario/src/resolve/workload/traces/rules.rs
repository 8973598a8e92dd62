//! Rules for executing a trace.

use paceline_kernel::{Span, Time};
use paceline_traces::chunks::Links;
use paceline_traces::collective::{Algorithm, CollectiveRules, Rings};
use paceline_traces::executor::{PointRules, Rules};
use paceline_traces::loggops::{Parameters, Variant};
use toml::Spanned;

use crate::diagnostics::{Location, Problem};
use crate::resolve::Cx;
use crate::resolve::fill::{fill, filled};
use crate::schema;
use crate::warning::WarningKind;
use paceline_jobs::Model;

use super::super::maker::choice;
use super::files::{absolute, keep};
use super::found::{Format, Network, Trace, problem};

/// Returns a span in nanoseconds, which must be whole.
fn ns(span: Span, what: &str, location: &Location) -> Result<u64, Problem> {
    match span.as_ps() % 1000 {
        0 => Ok(span.as_ps() / 1000),
        _ => Err(Problem::new(format!("{what} is {span}: expected whole nanoseconds")).at(location)),
    }
}

impl Trace {
    pub(super) fn rules(
        &self,
        cx: &mut Cx<'_>,
        job: &mut schema::Job,
        start: Time,
        repeats: u32,
    ) -> Result<Rules, Problem> {
        let scale = filled!(job.compute_scale: Job);
        if !(scale.get_ref().is_finite() && *scale.get_ref() >= 0.0) {
            let message = format!("compute-scale is {}: expected 0 or more", scale.get_ref());
            return Err(Problem::new(message).at(&cx.texts.of_value(&scale)));
        }
        let written = job.rules.get_or_insert_default();
        let mut rules = match self.format {
            // The LogGOPS model has its own overheads and gaps: see below.
            Format::Goal if self.network == Network::LogGops => Rules {
                point: PointRules {
                    eager_bytes: filled!(written.eager: TraceRules).get(),
                    ..PointRules::GOAL
                },
                ..Rules::default()
            },
            Format::Goal => Rules {
                point: PointRules {
                    overhead_ns: ns(
                        fill(&mut written.overhead, Span::ZERO),
                        "the overhead",
                        &self.location,
                    )?,
                    gap_ns: ns(fill(&mut written.gap, Span::ZERO), "the gap", &self.location)?,
                    eager_bytes: filled!(written.eager: TraceRules).get(),
                    ..PointRules::GOAL
                },
                ..Rules::default()
            },
            Format::SimAi => Rules {
                collectives: self.simai(cx, written)?,
                ..Rules::default()
            },
            Format::Model => Rules {
                collectives: CollectiveRules {
                    rings: match &written.gpus_per_server {
                        Some(gpus) => Rings::PerServer {
                            ranks: *gpus.get_ref(),
                            one_inside: job.local.is_some(),
                        },
                        None => Rings::One,
                    },
                    gather_size_is_part: false,
                    ..collectives(cx, written)?
                },
                // A message of a pipeline may differ in size from its successor, so tags alone match.
                point: PointRules {
                    match_size: false,
                    ..PointRules::CHAKRA
                },
                ..Rules::default()
            },
            Format::Chakra => Rules {
                collectives: match &self.system {
                    Some(system) => system.collectives.clone(),
                    None => collectives(cx, written)?,
                },
                point: match self.network {
                    Network::Packets => {
                        let known = [
                            ("overlap", PointRules::CHAKRA),
                            ("in-turn", PointRules::ASTRA_SIM),
                        ];
                        choice(cx, filled!(written.sends: TraceRules), &known)?
                    }
                    // On `chunks`, the network of ASTRA-sim, sends are as there.
                    Network::LogGops | Network::Chunks => PointRules::ASTRA_SIM,
                },
                ..paceline_traces::chakra::rules()
            },
        };
        rules.start = start;
        rules.repeats = repeats;
        rules.compute_scale = *scale.get_ref();
        // Memory for the path does not grow with the run, so it is always kept.
        rules.keep.path = true;
        rules.keep.path_of = cx.path_of;
        rules.keep.operations = cx.operations;
        paceline_traces::executor::check(&rules, &self.program)
            .map_err(|message| Problem::new(message).at(&self.location))?;
        Ok(rules)
    }

    /// Returns the rules of collectives in SimAI.
    fn simai(&self, cx: &mut Cx<'_>, written: &mut schema::TraceRules) -> Result<CollectiveRules, Problem> {
        let latency = filled!(written.send_latency: TraceRules);
        let gpus = written.gpus_per_server.as_ref().map_or(8, |gpus| *gpus.get_ref());
        let rules = CollectiveRules {
            relays: filled!(written.pxn: TraceRules),
            ..CollectiveRules::simai(gpus, ns(latency, "the send latency", &self.location)?)
        };
        if rules.relays && !rules.has_relays(&*self.program) {
            let text = "rules.pxn has no effect: no all-reduce or reduce-scatter has rings with several GPUs of several servers";
            cx.warn(WarningKind::UnusedSetting, &self.location, text);
        }
        Ok(rules)
    }

    /// Returns the cost model that carries its messages; `None` if the network does.
    pub(super) fn model(
        &self,
        cx: &mut Cx<'_>,
        job: &mut schema::Job,
        rules: &Rules,
    ) -> Result<Option<Model>, Problem> {
        let written = job.rules.get_or_insert_default();
        match self.network {
            Network::Packets => Ok(None),
            Network::LogGops => {
                if rules.repeats != 1 || rules.compute_scale != 1.0 {
                    let message = "`iterations` and `compute-scale` are for the other networks: LogGOPS runs a trace once, as it is";
                    return Err(Problem::new(message).at(&self.location));
                }
                if !rules.slow.is_empty() {
                    let message =
                        "LogGOPS runs a trace as it is: no [[network.slow-host]] computes more slowly";
                    return Err(Problem::new(message).at(&self.location));
                }
                if cx.operations {
                    let text = "record.operations has no effect: LogGOPS computes the ends of ranks only";
                    cx.warn(WarningKind::UnusedSetting, &self.location, text);
                }
                let known = [("loggopsim", Variant::LogGopSim), ("atlahs", Variant::Atlahs)];
                let variant = choice(cx, filled!(written.variant: TraceRules), &known)?;
                let overhead = fill(&mut written.overhead, Span::from_ns(1500));
                let gap = fill(&mut written.gap, Span::from_ns(1000));
                let parameters = Parameters {
                    latency: ns(
                        filled!(written.latency: TraceRules),
                        "the latency",
                        &self.location,
                    )?,
                    overhead: ns(overhead, "the overhead", &self.location)?,
                    gap: ns(gap, "the gap", &self.location)?,
                    gap_per_byte: *filled!(written.gap_per_byte: TraceRules).get_ref(),
                    overhead_per_byte: filled!(written.overhead_per_byte: TraceRules),
                    eager: rules.point.eager_bytes,
                };
                Ok(Some(Model::LogGops(variant, parameters)))
            }
            Network::Chunks => {
                let Some(links) = &mut written.links else {
                    let message = "a job on `chunks` needs `links`, a network file of ASTRA-sim";
                    return Err(Problem::new(message).at(&self.location));
                };
                let at = cx.texts.of_value(links);
                let found = cx.files.on_disk(links.get_ref(), "the network file", &at)?;
                let read = Links::read(&found.path).map_err(|trouble| problem(trouble, &at))?;
                let kept = keep(cx, "links", &[("yml".to_string(), found.path.clone())]);
                if kept.is_some() {
                    cx.files.note_copies([(links.get_ref().clone(), &*found.path)]);
                }
                let links = written.links.as_mut().expect("it is present");
                *links.get_mut() = kept.map_or_else(|| absolute(&found.path), |stem| format!("{stem}.yml"));
                Ok(Some(Model::Chunks {
                    links: read,
                    aware: filled!(written.waits: TraceRules),
                    rules: Box::new(Rules {
                        start: Time::ZERO,
                        ..rules.clone()
                    }),
                }))
            }
        }
    }
}

fn collectives(cx: &mut Cx<'_>, written: &mut schema::TraceRules) -> Result<CollectiveRules, Problem> {
    let algorithm = filled!(written.algorithm: TraceRules);
    let known = [
        ("ring", Algorithm::Ring),
        ("direct", Algorithm::Direct),
        ("binomial", Algorithm::Binomial),
        ("double-binary", Algorithm::DoubleBinary),
    ];
    let all_reduce = choice(cx, algorithm, &known)?;
    let positive = |slot: &Spanned<u32>, what: &str| match *slot.get_ref() {
        0 => Err(Problem::new(format!("`{what}` is 0: expected at least 1")).at(&cx.texts.of_value(slot))),
        count => Ok(count),
    };
    let splits = filled!(written.splits: TraceRules);
    let active = filled!(written.active: TraceRules);
    // Trees are for all-reduce, and a binomial one also for broadcast and reduce: the other operations send directly.
    let others = match all_reduce {
        Algorithm::Ring => Algorithm::Ring,
        _ => Algorithm::Direct,
    };
    let rooted = match all_reduce {
        Algorithm::Ring => Algorithm::Ring,
        Algorithm::Direct => Algorithm::Direct,
        _ => Algorithm::Binomial,
    };
    Ok(CollectiveRules {
        all_reduce,
        all_gather: others.clone(),
        reduce_scatter: others,
        all_to_all: Algorithm::Direct,
        rooted,
        splits: u64::from(positive(&splits, "splits")?),
        active: positive(&active, "active")?,
        ..CollectiveRules::default()
    })
}

//! `paceline compare`: the same flows and seed under several schemes.

use std::path::Path;

use paceline_lab::files::{Writing, repeat_names, write_comparison, write_repeats};
use paceline_lab::repeats::{Part, Repeats};
use paceline_lab::reproduce;
use paceline_lab::results::{Buckets, FlowRow, Summary, flow_rows};
use paceline_lab::run::{self, Finished};
use paceline_lab::table;
use paceline_scenario::Resolved;

use crate::args::{Beside, CompareArgs, SayArgs};
use crate::failure::{Done, Ended, Failure};
use crate::progress::Meter;
use crate::{input, interrupt, output};

/// Runs a scenario under each scheme; prints one table.
pub(super) fn compare(args: &CompareArgs) -> Ended {
    let buckets = args.buckets.asked(args.say)?;
    let inputs = inputs(args)?;
    let first = &inputs[0];
    let folder = (args.output.out.clone())
        .unwrap_or_else(|| output::default_folder(&first.name, "compare", first.seed));
    let beside = match args.beside {
        Some(Beside::ThesisTable6) => true,
        Some(Beside::None) => false,
        None => reproduce::in_thesis_table6(&first.name),
    };
    let comparison = Comparison {
        inputs,
        folder: &folder,
        writing: args.output.writing(),
        jobs: args.jobs.count(),
        say: args.say,
        beside,
        buckets,
    };
    let done = comparison.run()?;
    if !args.say.quiet {
        eprintln!(
            "results in {}, with a report to look at: {}",
            folder.display(),
            folder.join("report.html").display()
        );
    }
    Ok(done)
}

/// The runs: scheme by scheme, each with the same seeds.
fn inputs(args: &CompareArgs) -> Result<Vec<Resolved>, Failure> {
    let mut inputs = Vec::new();
    for scheme in input::schemes(&args.schemes)? {
        let mut changes = args.changes.clone();
        for _ in 0..args.repeats {
            let input = paceline_lab::load(&args.input, &changes.overrides(Some(scheme)))?;
            changes.seed = Some(input.seed.saturating_add(1));
            inputs.push(input);
        }
    }
    Ok(inputs)
}

/// Runs that belong together, and where they go.
pub(super) struct Comparison<'a> {
    pub(super) inputs: Vec<Resolved>,
    pub(super) folder: &'a Path,
    pub(super) writing: Writing,
    pub(super) jobs: usize,
    pub(super) say: SayArgs,
    /// Whether to show published values of the 20-to-1 incast beside ours.
    pub(super) beside: bool,
    /// How to show slowdown by size.
    pub(super) buckets: Option<&'a Buckets>,
}

impl Comparison<'_> {
    /// Runs all, writes what came of them, prints the table.
    pub(super) fn run(&self) -> Ended {
        output::check_folder(self.folder, self.writing.force)?;
        if !self.say.quiet {
            output::odd_inputs(&self.inputs);
        }
        interrupt::listen();
        let meter = Meter::new(&self.inputs, self.say);
        let results = run::compare(&self.inputs, self.jobs, &|i, now| {
            meter.update(i, now);
            interrupt::control()
        });
        drop(meter);
        let mut finished: Vec<(&Resolved, Finished)> = Vec::new();
        let mut failure = None;
        for (input, result) in self.inputs.iter().zip(results) {
            match result {
                Ok(run) => finished.push((input, run)),
                // The first is the one to tell.
                Err(error) => failure = failure.or(Some(Failure::from(error))),
            }
        }
        if !finished.is_empty() {
            let runs: Vec<_> = finished.iter().map(|(input, run)| (*input, run)).collect();
            let repeats = repeats(&runs);
            match &repeats {
                Some(repeats) => write_repeats(self.folder, &runs, repeats, self.writing)?,
                None => write_comparison(self.folder, &runs, self.writing)?,
            }
            self.show(&finished, repeats.as_ref())?;
        }
        let runs: Vec<&Finished> = finished.iter().map(|(_, run)| run).collect();
        failure.map_or_else(|| Ok(super::run::ending(&runs)), Err)
    }

    fn show(&self, runs: &[(&Resolved, Finished)], repeats: Option<&Repeats>) -> Result<(), Failure> {
        let summaries: Vec<&Summary> = runs.iter().map(|(_, run)| &run.summary).collect();
        let width = output::stdout_width();
        match repeats {
            Some(repeats) if self.say.json => output::print_json(repeats)?,
            None if self.say.json => output::print_json(&summaries)?,
            _ => {
                let mut text = match repeats {
                    Some(repeats) => table::repeats(repeats, width),
                    None => table::comparison(&summaries, width),
                };
                text.push_str(&self.by_size(runs, repeats));
                // Published values are of single runs.
                if self.beside && repeats.is_none() {
                    text.push_str(&reproduce::beside_thesis_table6(&summaries));
                }
                output::print(&text)?;
            }
        }
        if !self.say.quiet {
            let about_repeats = repeats.map_or_else(Vec::new, Repeats::warnings);
            eprint!("{}", output::warnings(&summaries, &about_repeats));
        }
        Ok(())
    }

    /// Slowdown by size under each scheme, of all its repeats together.
    fn by_size(&self, runs: &[(&Resolved, Finished)], repeats: Option<&Repeats>) -> String {
        if self.buckets.is_none() {
            return String::new();
        }
        let together = repeats.map_or(1, |repeats| repeats.repeats);
        let summaries: Vec<&Summary> = runs
            .iter()
            .step_by(together)
            .map(|(_, run)| &run.summary)
            .collect();
        let flows: Vec<Vec<FlowRow<'_>>> = runs
            .chunks(together)
            .map(|part| {
                part.iter()
                    .flat_map(|(input, run)| flow_rows(input, &run.outcome))
                    .collect()
            })
            .collect();
        output::by_size(self.buckets, &table::row_names(&summaries), &flows)
    }
}

/// What runs tell together, if they are repeats.
fn repeats(runs: &[(&Resolved, &Finished)]) -> Option<Repeats> {
    let names = repeat_names(runs).into_iter();
    let parts: Vec<Part<'_>> = names
        .zip(runs)
        .map(|(folder, (input, run))| Part {
            folder,
            summary: &run.summary,
            flows: flow_rows(input, &run.outcome).collect(),
        })
        .collect();
    Repeats::of(&parts)
}

/// The end of every comparison, for commands that add hints of their own.
pub(super) const fn interrupted(done: Done) -> bool {
    matches!(done, Done::Interrupted)
}

//! `paceline compare`: the same flows and seed under several schemes.

use std::path::Path;

use paceline_lab::files::{Writing, write_comparison};
use paceline_lab::reproduce;
use paceline_lab::results::Summary;
use paceline_lab::run::{self, Finished};
use paceline_lab::table;
use paceline_scenario::Resolved;

use crate::args::{Beside, CompareArgs, SayArgs};
use crate::failure::{Done, Ended, Failure};
use crate::progress::Meter;
use crate::{input, interrupt, output};

/// Runs a scenario under each scheme; prints one table.
pub(super) fn compare(args: &CompareArgs) -> Ended {
    let load = |scheme: &&str| paceline_lab::load(&args.input, &args.changes.overrides(Some(scheme)));
    let schemes = input::schemes(&args.schemes)?;
    let inputs: Vec<Resolved> = schemes.iter().map(load).collect::<Result<_, _>>()?;
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

/// Runs that belong together, and where they go.
pub(super) struct Comparison<'a> {
    pub(super) inputs: Vec<Resolved>,
    pub(super) folder: &'a Path,
    pub(super) writing: Writing,
    pub(super) jobs: usize,
    pub(super) say: SayArgs,
    /// Whether to show published values of the 20-to-1 incast beside ours.
    pub(super) beside: bool,
}

impl Comparison<'_> {
    /// Runs all, writes what came of them, prints the table.
    pub(super) fn run(&self) -> Ended {
        output::check_folder(self.folder, self.writing.force)?;
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
            write_comparison(self.folder, &runs, self.writing)?;
            self.show(&finished)?;
        }
        let runs: Vec<&Finished> = finished.iter().map(|(_, run)| run).collect();
        failure.map_or_else(|| Ok(super::run::ending(&runs)), Err)
    }

    fn show(&self, runs: &[(&Resolved, Finished)]) -> Result<(), Failure> {
        let summaries: Vec<&Summary> = runs.iter().map(|(_, run)| &run.summary).collect();
        if self.say.json {
            output::print_json(&summaries)?;
        } else {
            let mut text = table::comparison(&summaries, output::stdout_width());
            if self.beside {
                text.push_str(&reproduce::beside_thesis_table6(&summaries));
            }
            output::print(&text)?;
        }
        if !self.say.quiet {
            eprint!("{}", output::warnings(&summaries));
        }
        Ok(())
    }
}

/// The end of every comparison, for commands that add hints of their own.
pub(super) const fn interrupted(done: Done) -> bool {
    matches!(done, Done::Interrupted)
}

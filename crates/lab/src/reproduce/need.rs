//! Which runs reproductions need, and what came of them.

use paceline_fabric::Outcome;
use paceline_scenario::{Diagnostics, Fidelity, Overrides, Resolved};

use super::reference::Reference;
use crate::results::{RunStatus, Summary};
use crate::run::Finished;

/// What a run is made from. All run in `ns3-hpcc` fidelity: the publications used that simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A scenario that ships, with a seed.
    Shipped(&'static str, u64),
    /// A reference run of HPCC's ns-3 simulator: its own configuration and flows.
    Reference(&'static Reference),
}

/// A run that a reproduction needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// What it is made from.
    pub input: Input,
    /// Under which scheme.
    pub scheme: &'static str,
    /// Whether its flows will do, without running it.
    pub flows_only: bool,
}

impl Need {
    /// A run of `input` under each of `schemes`.
    pub fn each(input: Input, schemes: &[&'static str]) -> Vec<Self> {
        let one = |&scheme: &&'static str| Self {
            input,
            scheme,
            flows_only: false,
        };
        schemes.iter().map(one).collect()
    }

    /// A name that a folder can have; different for different runs.
    pub fn name(&self) -> String {
        match self.input {
            Input::Shipped(name, seed) => format!("{name}-{}-{seed}", self.scheme),
            Input::Reference(reference) => format!("{}-{}", reference.name, self.scheme),
        }
    }

    /// Reads its input.
    ///
    /// # Errors
    /// What is wrong with it: a fault of the program.
    pub fn load(&self) -> Result<Resolved, Diagnostics> {
        match self.input {
            Input::Shipped(name, seed) => {
                let overrides = Overrides {
                    scheme: Some(self.scheme.to_string()),
                    seed: Some(seed),
                    fidelity: Some(Fidelity::Ns3Hpcc),
                    ..Overrides::default()
                };
                paceline_scenario::load_shipped(name, &overrides)
            }
            Input::Reference(reference) => reference.load(self.scheme),
        }
    }
}

/// The runs that several reproductions need, each once.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The runs, in order of first need.
    pub needs: Vec<Need>,
}

impl Plan {
    /// Of `needs`, with repetitions.
    pub fn of(needs: impl IntoIterator<Item = Need>) -> Self {
        let mut unique: Vec<Need> = Vec::new();
        for need in needs {
            let same = |known: &&mut Need| known.input == need.input && known.scheme == need.scheme;
            match unique.iter_mut().find(same) {
                // What one needs run, others need not load again.
                Some(known) => known.flows_only &= need.flows_only,
                None => unique.push(need),
            }
        }
        Self { needs: unique }
    }
}

/// A run, or its input alone.
#[derive(Clone, Debug)]
pub struct DoneRun {
    /// What was asked for.
    pub need: Need,
    /// Its input.
    pub input: Resolved,
    /// What came of it, if it was run.
    pub finished: Option<Finished>,
}

/// What came of a plan.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// The runs, in the plan's order; those that failed are missing.
    pub runs: Vec<DoneRun>,
}

impl Done {
    fn find(&self, input: Input, scheme: &str) -> Option<&DoneRun> {
        let this = |run: &&DoneRun| run.need.input == input && run.need.scheme == scheme;
        self.runs.iter().find(this)
    }

    /// The input of a run.
    pub(super) fn input(&self, input: Input, scheme: &str) -> Option<&Resolved> {
        self.find(input, scheme).map(|run| &run.input)
    }

    /// A run that ended by itself: the numbers of others stand for nothing.
    pub(super) fn run(&self, input: Input, scheme: &str) -> Option<(&Resolved, &Finished)> {
        let run = self.find(input, scheme)?;
        let finished = run.finished.as_ref()?;
        (finished.summary.status == RunStatus::Completed).then_some((&run.input, finished))
    }

    /// The summary of such a run.
    pub(super) fn summary(&self, input: Input, scheme: &str) -> Option<&Summary> {
        self.run(input, scheme).map(|(_, finished)| &finished.summary)
    }

    /// The outcome of such a run, with its input.
    pub(super) fn outcome(&self, input: Input, scheme: &str) -> Option<(&Resolved, &Outcome)> {
        self.run(input, scheme)
            .map(|(input, finished)| (input, &finished.outcome))
    }
}

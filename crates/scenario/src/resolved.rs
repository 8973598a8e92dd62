//! A run, ready to be built.

use std::sync::Arc;

use paceline_fabric::spec::RunSpec;

use crate::decisions::Decisions;
use crate::link_tiers::LinkTiers;
use crate::ns3::format::InputFormat;
use crate::resolve::{Collective, Job};
use crate::schema::Fidelity;
use crate::sweep::Grid;
use crate::warning::Warning;

/// What kind of input a run came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A scenario in TOML.
    Toml,
    /// A `config.txt` of HPCC's ns-3 simulator.
    Ns3Config,
}

/// Whether phases of a run that come again are taken from memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memoise {
    /// Where there can be any.
    #[default]
    On,
    /// All phases are simulated.
    Off,
    /// A tenth of those that could be taken are simulated, and compared with what would have been taken.
    Check,
}

/// A run, ready to be built.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The scenario's name, fit for a folder.
    pub name: String,
    /// What the scenario says of itself.
    pub description: String,
    /// The scheme of `[cc]`, as it was named.
    pub scheme: String,
    /// The names of [`RunSpec::schemes`], the first the same as `scheme`.
    pub schemes: Vec<String>,
    /// Seed of every random stream.
    pub seed: u64,
    /// Whose behaviour the run has.
    pub fidelity: Fidelity,
    /// Threads that it may have. Results do not depend on it, so it is neither in `run` nor in `toml`.
    pub threads: usize,
    /// Whether phases that come again are taken from memory; never changes results.
    pub memoise: Memoise,
    /// The run, shared with whoever runs it.
    pub run: Arc<RunSpec>,
    /// Which flows make up which collective.
    pub collectives: Vec<Collective>,
    /// Training jobs.
    pub jobs: Vec<Job>,
    /// Links by the tiers that they join.
    pub link_tiers: LinkTiers,
    /// The same as a scenario, every parameter with its value: [`crate::load`] gives an equal run.
    pub toml: String,
    /// Files that `toml` refers to, to be written alongside it: name (a relative path) and content.
    pub files: Vec<(String, Vec<u8>)>,
    /// What is decided for flows under [`crate::EXTERNAL`], where that is known before the run.
    pub decisions: Option<Arc<Decisions>>,
    /// What looks wrong and may be meant, in the order in which it was found.
    pub warnings: Vec<Warning>,
    /// What kind of input this was.
    pub origin: Origin,
    /// The program whose configuration this is, or is made of.
    pub input_format: Option<InputFormat>,
    /// Whether traced packets are to be written as a capture file.
    pub pcap: bool,
    /// Sets of measures that are computed when the run ends.
    pub measures: Vec<String>,
    /// What a sweep of it varies, if it says so.
    pub sweep: Option<Grid>,
}

impl Resolved {
    /// Of a configuration: whose it was taken for, in a sentence.
    pub fn read_as(&self) -> Option<String> {
        let format = self.input_format.filter(|_| self.origin == Origin::Ns3Config)?;
        Some(format!(
            "{} is read as an input of {} (input-format {format})",
            self.name,
            format.program()
        ))
    }

    /// The run, to be changed: a copy of its own if it is shared.
    pub fn run_mut(&mut self) -> &mut RunSpec {
        Arc::make_mut(&mut self.run)
    }

    /// The same run, whose results call a scheme `name`.
    pub fn calling(mut self, scheme: &str, name: &str) -> Self {
        let all = self.schemes.iter_mut().chain(std::iter::once(&mut self.scheme));
        for known in all.filter(|known| *known == scheme) {
            *known = name.to_string();
        }
        self
    }

    /// The same run with what was decided in it, which its folder then has.
    pub fn decided(mut self, decisions: Decisions) -> Self {
        let taken = |name: &String| self.files.iter().any(|(known, _)| known == name);
        let mut names = (1..).map(|i| match i {
            1 => "decisions.csv".to_string(),
            i => format!("decisions-{i}.csv"),
        });
        let name = names.find(|name| !taken(name)).unwrap_or_default();
        // Behind the comment, which is the first line.
        let start = self.toml.find('\n').map_or(0, |end| end + 1);
        self.toml.insert_str(start, &format!("decisions = \"{name}\"\n"));
        self.files.push((name, decisions.text().into_bytes()));
        self.decisions = Some(Arc::new(decisions));
        self
    }
}

//! Fully resolved run, ready to be built.

use std::sync::Arc;

use paceline_fabric::spec::RunSpec;

use crate::decisions::Decisions;
use crate::files::NamedFile;
use crate::link_tiers::LinkTiers;
use crate::names::NodeNames;
use crate::ns3::format::InputFormat;
use crate::resolve::{Collective, Inference, Job};
use crate::schema::Fidelity;
use crate::sweep::Grid;
use crate::warning::Warning;

/// Kind of input that a run came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Scenario file or text in TOML.
    Toml,
    /// Configuration `config.txt` of HPCC's ns-3 simulator, or of a relative.
    Ns3Config,
}

/// Reuse of earlier results for phases of a run that repeat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memoise {
    /// Enabled if the run can have such phases.
    #[default]
    On,
    /// Disabled: all phases are simulated.
    Off,
    /// Verification: a tenth of the reusable phases are simulated, and compared with the stored results.
    Check,
}

/// Fully resolved run, ready to be built.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Name of the scenario, valid as a folder name.
    pub name: String,
    /// Description from the scenario.
    pub description: String,
    /// Scheme of `[cc]`, as written.
    pub scheme: String,
    /// Names of [`RunSpec::schemes`]; the first equals `scheme`.
    pub schemes: Vec<String>,
    /// Seed of every random stream.
    pub seed: u64,
    /// Simulator whose behaviour the run reproduces.
    pub fidelity: Fidelity,
    /// Largest number of threads. Results do not depend on it, so it is neither in `run` nor in `toml`.
    pub threads: usize,
    /// Reuse of results for repeated phases; never changes results.
    pub memoise: Memoise,
    /// Description of the run, shared with its engine.
    pub run: Arc<RunSpec>,
    /// Collectives, with the flows that belong to each.
    pub collectives: Vec<Collective>,
    /// Training jobs of the run.
    pub jobs: Vec<Job>,
    /// Services of models to users.
    pub services: Vec<Inference>,
    /// Links by the tiers that they join.
    pub link_tiers: LinkTiers,
    /// Names of nodes, as results show them.
    pub names: NodeNames,
    /// Equivalent scenario with a value for every parameter: [`crate::load`] turns it into an equal run.
    pub toml: String,
    /// Files that `toml` refers to, to be written next to it: name (a relative path) and content.
    pub files: Vec<(String, Vec<u8>)>,
    /// Files that the input named, whether or not `toml` has copies of them.
    pub named: Vec<NamedFile>,
    /// Decisions for flows under [`crate::EXTERNAL`], if they are known before the run.
    pub decisions: Option<Arc<Decisions>>,
    /// Settings and inputs that may be mistakes, in the order in which they were found.
    pub warnings: Vec<Warning>,
    /// Kind of the input.
    pub origin: Origin,
    /// Program whose configuration the input is, or was made from.
    pub input_format: Option<InputFormat>,
    /// True if traced packets are to be written as a capture file.
    pub pcap: bool,
    /// Sets of measures that are computed when the run ends.
    pub measures: Vec<String>,
    /// Grid of the sweep, if the scenario has one.
    pub sweep: Option<Grid>,
}

impl Resolved {
    /// Returns a sentence on the program that a configuration is assumed to be for; `None` for other inputs.
    pub fn read_as(&self) -> Option<String> {
        let format = self.input_format.filter(|_| self.origin == Origin::Ns3Config)?;
        Some(format!(
            "{} is read as an input of {} (input-format {format})",
            self.name,
            format.program()
        ))
    }

    /// Returns the run for modification, as a private copy if it is shared.
    pub fn run_mut(&mut self) -> &mut RunSpec {
        Arc::make_mut(&mut self.run)
    }

    /// Renames a scheme in the results of the run.
    pub fn calling(mut self, scheme: &str, name: &str) -> Self {
        let all = self.schemes.iter_mut().chain(std::iter::once(&mut self.scheme));
        for known in all.filter(|known| *known == scheme) {
            *known = name.to_string();
        }
        self
    }

    /// Adds the decisions made during the run, which its folder then holds.
    pub fn decided(mut self, decisions: Decisions) -> Self {
        let taken = |name: &String| self.files.iter().any(|(known, _)| known == name);
        let mut names = (1..).map(|i| match i {
            1 => "decisions.csv".to_string(),
            i => format!("decisions-{i}.csv"),
        });
        let name = names.find(|name| !taken(name)).unwrap_or_default();
        // Where the key stands when the file is read and written again: after the comment and the format.
        let start = self.toml.find("\nname = ").or(self.toml.find('\n'));
        let start = start.map_or(0, |end| end + 1);
        self.toml.insert_str(start, &format!("decisions = \"{name}\"\n"));
        self.files.push((name, decisions.text().into_bytes()));
        self.decisions = Some(Arc::new(decisions));
        self
    }
}

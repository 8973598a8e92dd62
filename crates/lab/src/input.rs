//! What a run starts from.

use paceline_fabric::RunSpec;

/// Which kind of file a run was read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A scenario.
    Scenario,
    /// A configuration of HPCC's ns-3 simulator: its packet trace is written in that simulator's format.
    Ns3,
}

/// A scenario with every default filled in.
#[derive(Clone, Debug)]
pub struct RunInput {
    /// The scenario's name.
    pub name: String,
    /// What it shows, in a sentence or two; may be empty.
    pub description: String,
    /// The name of the run's scheme, as the user knows it (an alias keeps its name).
    pub scheme: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// What is simulated.
    pub run: RunSpec,
    /// The scenario as a file: running it gives the same bytes.
    pub toml: String,
    /// Files that `toml` names, with relative paths: (path, content).
    pub files: Vec<(String, String)>,
    /// What the reader of the input found worth a warning.
    pub warnings: Vec<String>,
    /// Which kind of file this was read from.
    pub origin: Origin,
    /// Whether to write traced packets as `trace.pcapng`.
    pub pcap: bool,
}

impl RunInput {
    /// The names of [`RunSpec::schemes`], in their order and all different: a name that comes
    /// again gets a number. A run's only scheme has the name that the user gave.
    pub fn scheme_names(&self) -> Vec<String> {
        if self.run.schemes.len() == 1 {
            return vec![self.scheme.clone()];
        }
        let mut names: Vec<String> = Vec::new();
        for scheme in &self.run.schemes {
            let base = scheme.config.name();
            let name = (1..)
                .map(|n| {
                    if n == 1 {
                        base.to_string()
                    } else {
                        format!("{base}#{n}")
                    }
                })
                .find(|name| !names.contains(name));
            names.extend(name);
        }
        names
    }
}

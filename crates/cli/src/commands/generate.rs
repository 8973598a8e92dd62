//! `paceline generate`: topology and flow files from generators.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use paceline_kernel::Span;
use paceline_lab::files::OutFile;
use paceline_scenario::builtin::Entry;
use paceline_scenario::topology::Topology;
use paceline_scenario::{Overrides, Resolved, builtin, generate as write};

use crate::failure::{Done, Ended, Failure};
use crate::{output, text};

#[derive(Debug, Args)]
pub(super) struct GenerateArgs {
    #[command(subcommand)]
    what: Generated,
}

const TOPOLOGY_EXAMPLES: &str = "\
Examples:
  paceline generate topology fat-tree k=8 rate=200Gbps -o fat8.txt
  paceline generate topology incast-20 --format toml        the topology of a scenario";

const FLOWS_EXAMPLES: &str = "\
Examples:
  paceline generate flows poisson sizes=websearch load=0.5 to=10ms --topology hpcc-fat -o flow.txt
  paceline generate flows all-reduce size=8MB --topology star,hosts=8 -o ring.csv
  paceline generate flows incast receiver=16 fan-in=15 size=1MB --topology star,hosts=16
  paceline generate flows fat320-hadoop30-2ms --seed 7 -o flow7.txt   the flows of a scenario";

#[derive(Debug, Subcommand)]
enum Generated {
    /// Write a topology
    #[command(after_help = TOPOLOGY_EXAMPLES)]
    Topology {
        /// A generator (`paceline list topologies`), or a scenario
        name: String,
        #[command(flatten)]
        parameters: ParameterArgs,
        #[command(flatten)]
        file: FileArgs,
    },
    /// Write flows
    #[command(after_help = FLOWS_EXAMPLES)]
    Flows {
        /// A generator (`paceline list workloads`), or a scenario
        name: String,
        #[command(flatten)]
        parameters: ParameterArgs,
        /// Topology generator and its parameters
        #[arg(long, value_name = "NAME[,KEY=VALUE,..]", default_value = "star")]
        topology: String,
        /// Seed of all random streams
        #[arg(long, value_name = "N")]
        seed: Option<u64>,
        /// Latest start time of a flow
        #[arg(long, value_name = "TIME")]
        duration: Option<Span>,
        #[command(flatten)]
        file: FileArgs,
    },
}

/// Parameters of a generator.
#[derive(Clone, Debug, Args)]
pub(super) struct ParameterArgs {
    /// Parameters of the generator (`paceline explain NAME`)
    #[arg(value_name = "KEY=VALUE")]
    parameters: Vec<String>,
    /// The same, as an option
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// Where a generated file goes.
#[derive(Clone, Debug, Args)]
pub(super) struct FileArgs {
    /// Format; csv is for flows only, and keeps dependencies; infragraph is for topologies only [default: by FILE's
    /// extension, else ns3]
    #[arg(long, value_enum)]
    format: Option<FileFormat>,
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

/// Formats of topologies and flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FileFormat {
    Ns3,
    Toml,
    Csv,
    Infragraph,
}

/// Default time window in which generated flows start.
const DURATION: &str = "10ms";
/// Scenarios need a scheme, although topologies and flows do not depend on it.
const ANY_SCHEME: &str = "cc.scheme = \"none\"\n";
/// Blocks without a generator: those that list everything, and messages, whose times depend on the run.
const WRITTEN_OUT: [&str; 6] = ["graph", "infragraph", "flows", "file", "trace", "messages"];

/// Writes a topology or flows.
pub(super) fn generate(args: &GenerateArgs) -> Ended {
    match &args.what {
        Generated::Topology {
            name,
            parameters,
            file,
        } => {
            let inputs = [Path::new(name)];
            // Refuses an existing file before anything is generated.
            file.file(&inputs)?;
            let resolved = topology(name, parameters)?;
            let topology = Topology::of(&resolved.run);
            let text = match file.format() {
                FileFormat::Ns3 => write::topology_text(&topology),
                FileFormat::Toml => write::topology_toml(&topology),
                FileFormat::Infragraph => write::topology_infragraph(&topology),
                FileFormat::Csv => {
                    let message =
                        "--format csv is for flows: topologies are written as ns3, toml or infragraph";
                    return Err(Failure::arguments(message));
                }
            };
            file.write(&inputs, &text)?;
        }
        Generated::Flows {
            name,
            parameters,
            topology,
            seed,
            duration,
            file,
        } => {
            let inputs = [Path::new(name), Path::new(topology)];
            file.file(&inputs)?;
            let run = flows(name, parameters, topology, *seed, *duration)?.run;
            let format = file.format();
            if format != FileFormat::Csv && !run.dependencies.is_empty() {
                let message = "these flows wait for one another, which only a trace can say: \
                               write one with --format csv";
                return Err(Failure::arguments(message));
            }
            let text = match format {
                FileFormat::Ns3 => write::flows_text(&run.flows),
                FileFormat::Toml => write::flows_toml(&run.flows, &run.labels),
                FileFormat::Csv => write::flows_csv(&run),
                FileFormat::Infragraph => {
                    let message =
                        "--format infragraph is for topologies: flows are written as ns3, toml or csv";
                    return Err(Failure::arguments(message));
                }
            };
            file.write(&inputs, &text)?;
        }
    }
    Ok(Done::All)
}

/// Builds a scenario with only this topology, or loads the scenario of this name.
fn topology(name: &str, parameters: &ParameterArgs) -> Result<Resolved, Failure> {
    if is_generator(name, builtin::topologies()) {
        let text = format!(
            "name = \"generated\"
{ANY_SCHEME}[topology.{name}]
"
        );
        let overrides = Overrides {
            set: parameters.below(&format!("topology.{name}"))?,
            ..Overrides::default()
        };
        return Ok(paceline_scenario::load_text(
            "the generated topology",
            &text,
            &overrides,
        )?);
    }
    scenario(
        name,
        "topology",
        builtin::topologies(),
        parameters,
        Overrides::default(),
    )
}

/// Builds a scenario with only this workload, or loads the scenario of this name.
fn flows(
    name: &str,
    parameters: &ParameterArgs,
    topology: &str,
    seed: Option<u64>,
    duration: Option<Span>,
) -> Result<Resolved, Failure> {
    let mut overrides = Overrides {
        seed,
        duration,
        ..Overrides::default()
    };
    if !is_generator(name, builtin::workloads()) {
        return scenario(name, "workload", builtin::workloads(), parameters, overrides);
    }
    let mut parts = topology.split(',');
    let network = parts.next().unwrap_or_default();
    if !is_generator(network, builtin::topologies()) {
        let message = format!("--topology: there is no topology generator `{network}`");
        return Err(Failure::arguments(with_names(
            &message,
            network,
            builtin::topologies(),
        )));
    }
    let of_topology = ParameterArgs {
        parameters: parts.map(str::to_string).collect(),
        set: Vec::new(),
    };
    overrides.set = of_topology.below(&format!("topology.{network}"))?;
    overrides
        .set
        .extend(parameters.below(&format!("workload.0.{name}"))?);
    let text = format!(
        "name = \"generated\"
duration = \"{DURATION}\"
{ANY_SCHEME}[topology.{network}]
[[workload]]
{name} = {{}}
"
    );
    Ok(paceline_scenario::load_text(
        "the generated flows",
        &text,
        &overrides,
    )?)
}

fn is_generator(name: &str, entries: &[Entry]) -> bool {
    !WRITTEN_OUT.contains(&name) && entries.iter().any(|entry| entry.name == name)
}

/// Loads scenario `name`, of which the user wants `part`.
fn scenario(
    name: &str,
    part: &str,
    entries: &[Entry],
    parameters: &ParameterArgs,
    overrides: Overrides,
) -> Result<Resolved, Failure> {
    let is_built_in = builtin::scenarios().iter().any(|built_in| built_in.name == name);
    if !is_built_in && !Path::new(name).exists() {
        let message = format!("`{name}` is neither a {part} generator nor a scenario");
        return Err(Failure::arguments(with_names(&message, name, entries)));
    }
    let mut set = parameters.set.clone();
    set.extend(parameters.parameters.iter().cloned());
    Ok(paceline_lab::load(name, &Overrides { set, ..overrides })?)
}

fn with_names(message: &str, name: &str, entries: &[Entry]) -> String {
    let names = || {
        entries
            .iter()
            .map(|entry| entry.name)
            .filter(|name| !WRITTEN_OUT.contains(name))
    };
    match text::nearest(name, names()) {
        Some(near) => format!("{message}: did you mean `{near}`?"),
        None => format!(
            "{message}; generators: {}",
            names().collect::<Vec<_>>().join(", ")
        ),
    }
}

impl ParameterArgs {
    /// Returns all parameters as settings below `path`.
    fn below(&self, path: &str) -> Result<Vec<String>, Failure> {
        let all = self.parameters.iter().chain(&self.set);
        all.map(|setting| match setting.split_once('=') {
            Some(_) => Ok(format!("{path}.{setting}")),
            None => Err(Failure::arguments(format!(
                "`{setting}` is not a parameter: expected key=value, such as rate=200Gbps"
            ))),
        })
        .collect()
    }
}

impl FileArgs {
    fn format(&self) -> FileFormat {
        let ending = self.out.as_deref().and_then(Path::extension);
        self.format.unwrap_or_else(|| match ending {
            Some(ending) if ending == "toml" => FileFormat::Toml,
            Some(ending) if ending == "csv" => FileFormat::Csv,
            Some(ending) if ending == "yaml" || ending == "yml" => FileFormat::Infragraph,
            _ => FileFormat::Ns3,
        })
    }

    /// Checks the output file before `inputs` are processed.
    fn file(&self, inputs: &[&Path]) -> Result<Option<OutFile>, Failure> {
        let file = |path: &PathBuf| OutFile::new(path, self.force, inputs);
        Ok(self.out.as_ref().map(file).transpose()?)
    }

    fn write(&self, inputs: &[&Path], text: &str) -> Result<(), Failure> {
        let (Some(path), Some(file)) = (&self.out, self.file(inputs)?) else {
            return output::print_raw(text);
        };
        file.write(|out| out.write_all(text.as_bytes()))?;
        say!("wrote {}: {} lines", path.display(), text.lines().count());
        Ok(())
    }
}

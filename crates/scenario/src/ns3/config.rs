//! Conversion of `config.txt` to a scenario.

use crate::diagnostics::{Diagnostics, Problems, Source};
use crate::files::Files;
use crate::schema::{EXACT, Scenario};
use crate::warning::{Warning, WarningKind};

use super::changes::Changes;
use super::flows::{self, Columns};
use super::format::InputFormat;
use super::keys::Config;
use super::lists::Keys;
use super::topology;
use crate::document::Places;

/// Configuration converted to a scenario.
pub(crate) struct Read {
    pub(crate) scenario: Scenario,
    pub(crate) locations: Places,
    /// Columns of its flow file.
    pub(crate) columns: Columns,
}

/// Converts a configuration to a scenario. Its problems are reported together with those of the files that it names.
pub(crate) fn scenario(
    source: &Source,
    files: &Files,
    changes: Changes<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<Read, Diagnostics> {
    let mut problems = Problems::default();
    let keys = Keys::of(source, changes.format)?;
    let mut config = Config::read(source, keys, &mut problems, warnings);
    for key in ["TOPOLOGY_FILE", "FLOW_FILE", "TRACE_FILE", "WORKLOAD_FILE"] {
        let name = config.text(key).and_then(|path| files.beside(path));
        if let Some(name) = name {
            warnings.push(
                Warning::new(
                    WarningKind::Reading,
                    format!(
                        "{key} is `{}`, which does not exist; using `{name}` next to the configuration instead",
                        config.text(key).unwrap_or_default()
                    ),
                )
                .at(&config.source.at(config.span(key))),
            );
            config.rename(key, name);
        }
    }
    // Simulators with the same keys may differ in the first line of the topology.
    if changes.format.is_none()
        && let Some(source) = named(&config, files, "TOPOLOGY_FILE", "the topology file")
    {
        config.distinguish_by(topology::Header::of(&source));
        if topology::has_loops(&source) {
            config.distinguish_by_loops();
        }
    }
    for key in ["TOPOLOGY_FILE", "FLOW_FILE"] {
        let instead = key == "FLOW_FILE" && config.given("WORKLOAD_FILE");
        if !config.given(key) && !problems.mention(key) && !instead {
            problems.push(config.missing(key));
        }
    }
    let format = config.format();
    let columns = match format {
        InputFormat::TcdNs3 => Columns::WithStop,
        InputFormat::Ns3Rdma => Columns::Packets(config.int("PACKET_PAYLOAD_SIZE", 1000)),
        InputFormat::Conweave => Columns::Five,
        _ => Columns::WithPort,
    };
    let mut own = Vec::new();
    let read = problems.or(()).and_then(|()| match format {
        InputFormat::TcdNs3 => super::tcd::scenario(&config, files, changes, &mut own),
        InputFormat::Ns3Rdma => super::rdma::scenario(&config, files, changes, &mut own),
        _ => super::hpcc::scenario(&config, files, changes, &mut own),
    });
    warnings.append(&mut own);
    match read {
        Ok((mut scenario, locations)) => {
            scenario.input_format = Some(format);
            if format.fidelity() == EXACT {
                warnings.push(
                    Warning::new(
                        WarningKind::Reading,
                        format!(
                            "an input of {}; Paceline runs the \
                 experiment in its own model, not packet by packet like that simulator",
                            format.program()
                        ),
                    )
                    .of_file(source),
                );
            }
            Ok(Read {
                scenario,
                locations,
                columns,
            })
        }
        Err(found) => Err(with_files(found, &config, files, columns, changes)),
    }
}

/// Returns the file that a key of the configuration names, if it can be read.
fn named(config: &Config, files: &Files, key: &str, what: &str) -> Option<Source> {
    let location = config.source.at(config.span(key));
    files.read(config.text(key)?, what, &location).ok()
}

/// Adds the problems of the network and the flows to those of the configuration.
fn with_files(
    found: Diagnostics,
    config: &Config,
    files: &Files,
    columns: Columns,
    changes: Changes<'_>,
) -> Diagnostics {
    let fidelity = changes.fidelity.unwrap_or(config.format().fidelity());
    let mut all = Problems::default();
    all.take_all::<()>(Err(found));
    let mut file = |key: &str, what: &str, read: &dyn Fn(&Source) -> Option<Diagnostics>| {
        let Some(path) = config.text(key) else { return };
        if key == "FLOW_FILE" && config.given("WORKLOAD_FILE") {
            return;
        }
        let location = config.source.at(config.span(key));
        match files.read(path, what, &location) {
            Err(problem) => all.push(problem),
            Ok(source) => {
                if let Some(wrong) = read(&source) {
                    all.take_all::<()>(Err(wrong));
                }
            }
        }
    };
    file("TOPOLOGY_FILE", "the topology file", &|source| {
        crate::topology::read_file(
            source,
            fidelity,
            crate::infragraph::LinkDefaults::default(),
            &mut Vec::new(),
        )
        .err()
    });
    file("FLOW_FILE", "the flow file", &|source| {
        flows::read(source, columns, fidelity, &mut Vec::new()).err()
    });
    // The conversion may have read a file before, and reported the same problem.
    all.distinct()
}

/// Returns true if a text looks like a configuration rather than TOML: its first line starts with a key in capitals
/// whose value follows without `=`.
pub(crate) fn looks_like_config(text: &str) -> bool {
    let lines = text.lines().map(str::trim);
    let Some(line) = lines
        .into_iter()
        .find(|line| !line.is_empty() && !line.starts_with('#'))
    else {
        return false;
    };
    let mut words = line.split_whitespace();
    let key = words.next().unwrap_or_default();
    let capitals = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let is_key = key.starts_with(|c: char| c.is_ascii_uppercase()) && key.chars().all(capitals);
    (is_key || key.starts_with(super::lists::NAMESPACE)) && !words.next().unwrap_or_default().starts_with('=')
}

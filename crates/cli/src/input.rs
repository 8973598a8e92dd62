//! From the scenario crate's runs to the laboratory's.

use paceline_lab::RunInput;
use paceline_scenario::{Origin, Overrides, Resolved};

use crate::failure::Failure;

/// Reads `input` with changes.
pub(crate) fn load(input: &str, overrides: &Overrides) -> Result<RunInput, Failure> {
    Ok(run_input(paceline_scenario::load(input, overrides)?))
}

/// As the laboratory takes it.
pub(crate) fn run_input(resolved: Resolved) -> RunInput {
    RunInput {
        name: resolved.name,
        description: resolved.description,
        scheme: resolved.scheme,
        seed: resolved.seed,
        run: resolved.run,
        toml: resolved.toml,
        files: resolved.files,
        warnings: resolved.warnings,
        origin: match resolved.origin {
            Origin::Toml => paceline_lab::Origin::Scenario,
            Origin::Ns3Config => paceline_lab::Origin::Ns3,
        },
        pcap: resolved.pcap,
    }
}

/// `schemes` as they are named, each once.
///
/// # Errors
/// If one is unknown or named twice.
pub(crate) fn schemes(schemes: &[String]) -> Result<Vec<&str>, Failure> {
    let mut names: Vec<&str> = Vec::new();
    for name in schemes.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
        paceline_congestion::registry::find(name)
            .map_err(|error| Failure::arguments(format!("--schemes: {error}")))?;
        if names.contains(&name) {
            return Err(Failure::arguments(format!("--schemes: `{name}` is named twice")));
        }
        names.push(name);
    }
    if names.is_empty() {
        return Err(Failure::arguments("--schemes: no scheme is named"));
    }
    Ok(names)
}

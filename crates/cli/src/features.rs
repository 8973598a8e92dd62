//! Features of this build: guests, and messages about those that are missing.

use paceline_lab::measures;
use paceline_scenario::guest::Extension;

use crate::failure::Failure;

/// Adds the guests of this build and the program's extension.
pub(crate) fn add(own: Extension) -> Result<(), Failure> {
    guests().and(own).add().map_err(Failure::arguments)?;
    let taken = |what: &str, name: Option<&str>| match name {
        Some(name) => Err(Failure::arguments(format!(
            "there is a {what} called `{name}` already"
        ))),
        None => Ok(()),
    };
    taken("set of measures", measures::taken())?;
    taken("table", paceline_query::taken())
}

/// Returns the guests of this build.
#[cfg(feature = "parity")]
fn guests() -> Extension {
    paceline_parity::extension()
}

/// Returns messages about the guests that this build lacks.
#[cfg(not(feature = "parity"))]
fn guests() -> Extension {
    Extension {
        left_out: PARITY.map(|name| (name, without("parity"))).into(),
        ..Extension::default()
    }
}

/// Names of fidelities, sets of measures and tables that need the feature `parity`.
#[cfg(any(test, not(feature = "parity")))]
const PARITY: [&str; 13] = [
    "bolt-ns3",
    "tcd-ns3",
    "ib-omnet",
    "uet-htsim",
    "ib-steps",
    "ib-equal",
    "ib_steps",
    "ib_messages",
    "ib_ports",
    "ib_sources",
    "tcd_flows",
    "tcd_bins",
    "tcd_changes",
];

/// Returns the message about a feature that this build lacks.
#[cfg(not(all(feature = "parity", feature = "training")))]
pub(crate) fn without(feature: &str) -> String {
    format!(
        "this paceline was built without `{feature}`: `cargo install --path crates/cli --features {feature}` builds one \
         that has it"
    )
}

#[cfg(all(test, feature = "parity"))]
mod tests;

//! Features of this build: guests, and messages about those that are missing.

use paceline_scenario::guest::Extension;

/// Returns the guests of this build.
#[cfg(feature = "parity")]
pub(crate) fn guests() -> Extension {
    paceline_parity::extension()
}

/// Returns messages about the guests that this build lacks.
#[cfg(not(feature = "parity"))]
pub(crate) fn guests() -> Extension {
    Extension {
        left_out: SIMULATORS.map(|name| (name, without("parity"))).into(),
        ..Extension::default()
    }
}

/// Fidelities of simulators that come with the feature `parity`.
#[cfg(not(feature = "parity"))]
const SIMULATORS: [&str; 4] = ["bolt-ns3", "tcd-ns3", "ib-omnet", "uet-htsim"];

/// Returns the message about a feature that this build lacks.
#[cfg(not(all(feature = "parity", feature = "training")))]
pub(crate) fn without(feature: &str) -> String {
    format!(
        "this paceline was built without `{feature}`: `cargo install --path crates/cli --features {feature}` builds one \
         that has it"
    )
}

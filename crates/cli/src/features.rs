//! What this program was built with, and what to say of the rest.

use paceline_scenario::guest::Extension;

/// What this program was built with that its crates below do not have.
#[cfg(feature = "parity")]
pub(crate) fn guests() -> Extension {
    paceline_parity::extension()
}

/// What this program was built without.
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

/// What to say of something that this program was built without.
#[cfg(not(all(feature = "parity", feature = "training")))]
pub(crate) fn without(feature: &str) -> String {
    format!(
        "this paceline was built without `{feature}`: `cargo install --path crates/cli --features {feature}` builds one \
         that has it"
    )
}

//! Network models of other simulators, event by event. Under fidelities of their own, the engine runs them instead of
//! its ports and hosts.
//!
//! Each has a folder with a [`paceline_fabric::model::NetworkModel`], the keys of its table in scenarios (`keys.rs`),
//! and their resolution into a run (`resolve.rs`). [`extension`] returns what a program has to add.

pub mod bolt_ns3;
pub mod ib_omnet;
pub mod tcd_ns3;
pub mod uet_htsim;

use std::sync::Once;

use paceline_scenario::guest::Extension;

/// Returns the extension that holds all four models.
pub fn extension() -> Extension {
    Extension {
        guests: vec![
            bolt_ns3::resolve::guest(),
            tcd_ns3::resolve::guest(),
            ib_omnet::resolve::guest(),
            uet_htsim::resolve::guest(),
        ],
        measures: vec![ib_omnet::measures::STEPS, ib_omnet::measures::EQUAL],
        tables: [&ib_omnet::tables::ALL[..], &tcd_ns3::tables::ALL].concat(),
        code: Some(env!("PACELINE_CODE").into()),
        ..Extension::default()
    }
}

/// Adds all models to the program, once. For programs without extensions of their own.
///
/// # Panics
/// If fidelities were looked up before.
pub fn install() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        let added = extension().add();
        added.expect("nothing was looked up before");
    });
}

/// Returns the value of a key, or the default with which `Keys` declares it: `filled!(table.key: Keys)`.
macro_rules! filled {
    ($table:ident . $key:ident : $declared:ident) => {
        paceline_scenario::guest::fill_declared(&mut $table.$key, &$declared::declared().$key)
    };
}
pub(crate) use filled;

//! Networks of other simulators, event by event: what the engine runs in place of its own ports and hosts, under fidelities
//! of their own.
//!
//! Each has a folder: a [`paceline_fabric::model::NetworkModel`], the keys of its table in scenarios (`keys.rs`), and what
//! becomes of them (`resolve.rs`). [`extension`] is what a program is handed.

pub mod bolt_ns3;
pub mod ib_omnet;
pub mod tcd_ns3;
pub mod uet_htsim;

use std::sync::Once;

use paceline_scenario::guest::Extension;

/// All of them.
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

/// Adds all of them to what a program has, once: a program without extensions of its own.
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

/// `filled!(table.key: Keys)`: the value of the key, or that with which `Keys` declares it.
macro_rules! filled {
    ($table:ident . $key:ident : $declared:ident) => {
        paceline_scenario::guest::fill_declared(&mut $table.$key, &$declared::declared().$key)
    };
}
pub(crate) use filled;

//! Schema of a scenario: every key of a TOML file, each with its position.
//!
//! No enum here is untagged, flattened or internally tagged: those lose the position of an error. [`crate::resolve`]
//! fills in absent values and returns a [`Scenario`] in which nothing is absent.

mod accounts;
mod changes;
pub mod declare;
mod detection;
mod facts;
mod fidelity;
mod inference;
mod isolation;
mod job;
mod lanes;
mod links;
mod messages;
mod model;
mod network;
mod nodes;
mod notices;
mod parity;
mod quirks;
mod record;
mod recovery;
mod scheduling;
mod topology;
mod values;
mod workload;

use std::num::NonZeroU32;

use paceline_congestion::registry::WindowMode;
use paceline_kernel::Span;
use paceline_kernel::format::FileFormat;
use paceline_kernel::sorted::SortedMap;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use toml::Spanned;

use crate::cc::Blocks;
use crate::ns3::format::InputFormat;
use crate::sweep::Grid;

pub(crate) use accounts::Accounts;
pub(crate) use changes::*;
use declare::{described, tables};
pub(crate) use detection::{DetectionKind, TcdKind};
use facts::OWN;
pub(crate) use facts::fact;
pub(crate) use fidelity::add as add_fidelities;
pub use fidelity::{Clock, EXACT, Fidelity, Formula, NS3_HPCC, Profile, REPRODUCED, SIMAI, SwitchDefaults};
pub(crate) use inference::*;
pub(crate) use isolation::*;
pub(crate) use job::*;
pub(crate) use lanes::*;
pub(crate) use links::*;
pub(crate) use messages::*;
pub(crate) use model::*;
pub(crate) use network::*;
pub(crate) use nodes::Ends;
pub use nodes::{NodeItem, Nodes};
pub(crate) use notices::*;
pub(crate) use parity::add as add_tables;
pub(crate) use parity::table_rows;
pub use parity::{OwnTable, Parity, TableRow};
pub(crate) use quirks::Quirks;
pub(crate) use record::Record;
pub(crate) use recovery::{ArrivalOrder, DropKind, RecoveryKind};
pub(crate) use scheduling::SchedulingKind;
pub(crate) use topology::*;
pub use values::{Ack, AckClass, FlowControlKind, OrAuto, OrEvery, OrOff};
pub(crate) use values::{
    AdaptivePer, AssistKind, AssistPortsKind, AutoTime, Balancing, Buffer, ExitKind, Headroom, PfcModeKind,
    Ratio,
};
pub(crate) use workload::*;

described! {
    /// The keys before the first table.
    struct Scenario derive(Clone, Debug, Default, Serialize, Deserialize) serde(deny_unknown_fields, rename_all = "kebab-case", default) {
        /// number of this format; a file with another number is refused; written by runs
        #[serde(skip_serializing_if = "Option::is_none")]
        format: Option<FileFormat<1>> => "1";
        /// in the folder of a run with flows under `external`: the file of recorded decisions, which are replayed
        #[serde(skip_serializing_if = "Option::is_none")]
        decisions: Option<Spanned<String>>;
        /// name of the scenario, part of the results' folder
        name: String => "the file's name";
        /// one-line description
        description: String;
        /// seed of all random streams
        #[serde(skip_serializing_if = "Option::is_none")]
        seed: Option<u64> = "1";
        /// simulated time at which the run ends at the latest
        #[serde(skip_serializing_if = "Option::is_none")]
        duration: Option<Spanned<Span>> = "1s";
        /// simulate exactly (`exact`), or bug-for-bug like HPCC's ns-3 simulator (`ns3-hpcc`), SimAI's (`simai`), that of
        /// Bolt's authors (`bolt-ns3`), that of TCD's authors (`tcd-ns3`), an InfiniBand simulator on OMNeT++ (`ib-omnet`), or
        /// that of Ultra Ethernet's transport (`uet-htsim`)
        #[serde(skip_serializing_if = "Option::is_none")]
        fidelity: Option<Fidelity> = "exact";
        /// simulator of the `config.txt` that this scenario was converted from: `ns3-hpcc`, `tcd-ns3`, `ns3-rdma`,
        /// `conweave`, `ns3-datacenter`, `simai`, `ns3-alibabacloud`; written by runs, without effect
        #[serde(skip_serializing_if = "Option::is_none")]
        input_format: Option<InputFormat>;
        /// order of simultaneous events: `structural` (by the component that scheduled them), `drawn` (the same, with
        /// arrivals in a random order of each instant, so that no sender always loses) or `insertion` (like ns-3)
        #[serde(skip_serializing_if = "Option::is_none")]
        ties: Option<Ties> => "structural (lossy classes: drawn)";
        /// seed of a random order of simultaneous events
        #[serde(skip_serializing_if = "Option::is_none")]
        shuffle_ties: Option<u64>;
        /// check all invariants while running
        #[serde(skip_serializing_if = "Option::is_none")]
        check: Option<bool> = "false";
        /// number of threads, and of partitions of the network if it can be partitioned; never changes results, and is
        /// not written to the run's folder
        #[serde(skip_serializing)]
        threads: Option<NonZeroU32> = "1";
        /// the network: one block
        #[serde(skip_serializing_if = "Option::is_none")]
        topology: Option<Spanned<Topology>>;
        /// named sets of hosts
        #[serde(skip_serializing_if = "SortedMap::is_empty")]
        hosts: SortedMap<String, Spanned<Nodes>>;
        /// the flows: one or more tables with one block each
        #[serde(skip_serializing_if = "Vec::is_empty")]
        workload: Vec<Spanned<Workload>>;
        /// training jobs: one or more tables
        #[serde(skip_serializing_if = "Vec::is_empty")]
        job: Vec<Spanned<Job>>;
        /// services of models to users: one or more tables
        #[serde(skip_serializing_if = "Vec::is_empty")]
        inference: Vec<Spanned<Inference>>;
        /// packets, NICs, switches, failures
        network: Network;
        /// settings of other simulators: `bolt-ns3`, `tcd-ns3`, `ib-omnet`, `uet-htsim`, one table per simulator
        #[serde(skip_serializing_if = "Parity::is_empty")]
        parity: Parity;
        /// congestion control
        cc: Cc;
        #[serde(skip_serializing)]
        cc_blocks: Blocks;
        /// data to record
        record: Record;
        /// behaviour of the reference simulator that real networks do not have, one switch per quirk
        quirks: Quirks;
        /// the grid of a sweep
        #[serde(skip_serializing)]
        sweep: Option<Grid>;
    }
}

/// Order of simultaneous events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ties {
    Structural,
    Drawn,
    Insertion,
}

described! {
    /// Congestion control. The parameters of each scheme are in a table of its name, such as [cc.dcqcn]. An alias may
    /// have its own table, such as [cc.dcqcn-paper], which inherits from the scheme's.
    struct Cc derive(Clone, Debug, Default, Deserialize) serde(deny_unknown_fields, default) {
        /// the scheme, or an alias
        scheme: Option<Spanned<String>>;
        /// limit of bytes in flight: `off`, `fixed` (bandwidth-delay product) or `variable` (that times rate over line
        /// rate)
        window: Option<Spanned<WindowMode>> => "the scheme's", only(&[&[OWN]]);
        /// the window per scheme, if several share the network
        windows: Option<Spanned<SortedMap<String, WindowMode>>>;
        /// in files written by runs: the values that came with the scheme, see `[cc.defaults]`
        defaults: Option<CcDefaults>;
        #[serde(skip)]
        explicit: toml::Table;
    }
}

described! {
    /// In files written by runs: the values that came with the scheme. Another scheme replaces them by its own.
    /// Without this table, all values of the file apply.
    struct CcDefaults derive(Clone, Debug, Deserialize, Serialize) serde(deny_unknown_fields) {
        /// the scheme
        of: String;
        /// paths of keys that the scenario did not set: "cc.window", "network.detection", "network.ecn"
        keys: Vec<String>;
    }
}

impl Serialize for Cc {
    /// Writes the schemes' blocks next to the other keys, as in a file.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(scheme) = &self.scheme {
            map.serialize_entry("scheme", scheme)?;
        }
        if let Some(window) = &self.window {
            map.serialize_entry("window", window)?;
        }
        if let Some(windows) = &self.windows {
            map.serialize_entry("windows", windows)?;
        }
        if let Some(defaults) = &self.defaults {
            map.serialize_entry("defaults", defaults)?;
        }
        for (name, block) in &self.explicit {
            map.serialize_entry(name, block)?;
        }
        map.end()
    }
}

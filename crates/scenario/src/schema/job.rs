//! `[[job]]` and its steps.

use paceline_kernel::{Span, Time};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::{AllReduce, AllToAll, Connections, Nodes, Ring, tables};

tables! {
    /// `[[job]]`: hosts, named or placed, and what they do in each iteration.
    struct Job {
        label: String,
        scheme: Spanned<String>,
        priority: Spanned<u8>,
        hosts: Spanned<Nodes>,
        ranks: Spanned<u32>,
        placement: Spanned<Placement>,
        among: Spanned<Nodes>,
        share_hosts: bool,
        start: Time,
        iterations: Spanned<u32>,
        connections: Connections,
        step: Vec<Spanned<JobStep>>,
    }
    /// `[[job.step]]`: one of the collectives, and what goes before it.
    struct JobStep {
        label: Spanned<String>,
        compute: Span,
        within: Spanned<u32>,
        across: Spanned<u32>,
        all_to_all: AllToAll,
        all_reduce: AllReduce,
        reduce_scatter: Ring,
        all_gather: Ring,
    }
}

/// How hosts are chosen for a job that says only how many it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Placement {
    Packed,
    Spread,
    Random,
    Rail,
}

//! `[[job]]` and its steps.

use paceline_kernel::{Span, Time};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::{AllReduce, AllToAll, Connections, Nodes, Ring, tables};

tables! {
    /// A training job. Its ranks are hosts that repeat the same steps in every iteration. A host finishes each step
    /// before it starts the next; there is no barrier between hosts. Flows are labelled `label/step`.
    struct Job {
        /// name of the job in results
        label: String => "job-0, job-1, ..";
        /// congestion control of its flows
        scheme: Spanned<String> => "that of [cc]";
        /// priority class, 1 to 7
        priority: Spanned<u8> = "3";
        /// hosts by rank: a set of hosts
        hosts: Spanned<Nodes>;
        /// instead of `hosts`: number of ranks, placed on hosts without a job
        ranks: Spanned<u32>;
        /// with `ranks`: `packed` (leaf by leaf), `spread` (one host per leaf in turn), `random` (by seed) or `rail`
        /// (along one rail after another). In `topology.rail`, the first three place whole servers, pod by pod or one
        /// per pod in turn
        placement: Spanned<Placement> = "packed";
        /// with `ranks`: the set of hosts to choose from
        among: Spanned<Nodes> = "all";
        /// allow hosts of other jobs
        share_hosts: bool = "false";
        /// start of the first iteration
        start: Time = "0s";
        /// number of iterations
        iterations: Spanned<u32> = "1";
        /// `persistent`: one queue pair per peer, reused. `per-message`: one queue pair per message; the default of
        /// fidelities other than `exact`
        connections: Connections => "persistent";
        /// the steps of an iteration: a list of tables
        step: Vec<Spanned<JobStep>>;
    }
    /// A step of a job: computation, then one collective (all-to-all, all-reduce, reduce-scatter or all-gather). It
    /// has the keys of the workload of that name, except `hosts`, `iterations`, `compute` and `start`.
    struct JobStep {
        /// name of the step in results
        label: Spanned<String> => "the collective's name";
        /// computation time of a host before the collective
        compute: Span = "0s";
        /// run the collective separately in each group of this many consecutive ranks (tensor parallelism)
        within: Spanned<u32> => "all ranks";
        /// run the collective separately among the ranks at the same position of each group of this size (data
        /// parallelism)
        across: Spanned<u32> => "all ranks";
        all_to_all: AllToAll;
        all_reduce: AllReduce;
        reduce_scatter: Ring;
        all_gather: Ring;
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

//! `[[job]]` and its steps.

use paceline_congestion::params::is_not;
use paceline_kernel::{BitRate, Bytes, Span, Time};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::facts::OWN;
use super::{AllReduce, AllToAll, Connections, ModelChoice, ModelTraining, Nodes, Parallelism, Ring, tables};

tables! {
    /// A training job: steps that its hosts repeat, a trace, or a model. A host finishes each step before it starts the next; there
    /// is no barrier between hosts. Flows are labelled `label/step`, those of a trace or model `label/send` and `label/all-reduce`.
    struct Job {
        /// name of the job in results
        label: String => "job-0, job-1, ..";
        /// congestion control of its flows
        scheme: Spanned<String> => "that of [cc]";
        /// priority class, 1 to 7
        priority: Spanned<u8> = "3";
        /// keep each flow to one path, chosen by hash, while network.load-balancing spreads the others
        one_path: bool = "false", only(&[&[OWN, is_not("network.load-balancing", &["ecmp"])]]);
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
        /// a GOAL trace, text or binary, instead of steps: its path. If it names several NICs, `nic k` is link k of the rank's
        /// host, from 0 in the order of the topology, without links inside servers
        goal: Spanned<String>;
        /// Chakra traces, instead of steps: PREFIX of the files PREFIX.0.et, PREFIX.1.et, ..
        chakra: Spanned<String>;
        /// a SimAI workload, instead of steps: its path
        simai: Spanned<String>;
        /// a model's training, instead of steps: `gpt-13b`, `gpt-175b`, `llama-3-8b`, `llama-3-70b`, `llama-3-405b`,
        /// `mixtral-8x7b`, `deepseek-v3`, or a table
        model: Spanned<ModelChoice>;
        /// with `model`: degrees of parallelism
        parallel: Spanned<Parallelism>;
        /// with `model`: batch, schedule and rates
        training: Spanned<ModelTraining>;
        /// number of iterations; of a trace or model, how often it is run
        iterations: Spanned<u32> = "1";
        /// `persistent`: one queue pair per peer, reused. `per-message`: one queue pair per message; the default of
        /// fidelities other than `exact`, and of traces and models. `same-ports`, for traces and models: one queue pair
        /// per message, but all messages between two ranks, of one communicator and one channel, have the same ports, so
        /// that ECMP sends them over one path
        connections: Connections => "persistent";
        /// what carries the messages of a trace: `packets`, the network of this scenario; `loggops`, the cost model of
        /// LogGOPSim and ATLAHS; `chunks`, that of ASTRA-sim's analytical network
        network: Spanned<String> = "packets";
        /// with a trace or model on packets: prices of messages inside servers, which then send no packets: a table
        local: Spanned<LocalPrices>;
        /// factor on computing times of a trace or model
        compute_scale: Spanned<f64> = "1.0";
        /// how a trace or model is carried out
        rules: TraceRules;
        /// the steps of an iteration: a list of tables
        step: Vec<Spanned<JobStep>>;
    }
    /// Prices of messages between ranks of one server. A message takes the time of its bytes on a port of its sender and on
    /// one of its receiver, each of which carries one message after another, and the latency in between. Ranks share a
    /// server if their hosts do, or by `rules.gpus-per-server` in a network without servers.
    struct LocalPrices {
        /// rate of a rank's link inside its server, in each direction
        rate: Spanned<BitRate>;
        /// time from the departure of a byte to its arrival
        latency: Span = "1us";
    }
    /// A step of a job: computation, then one collective (all-to-all, all-reduce, reduce-scatter or all-gather), `send` or
    /// `pipeline`; or computation only. A collective has the keys of the workload of that name, except `hosts`,
    /// `iterations`, `compute` and `start`.
    struct JobStep {
        /// name of the step in results
        label: Spanned<String> => "the collective's name";
        /// computation time of a host before the collective
        compute: Span = "0s";
        /// run the collective separately in each group of this many consecutive ranks (tensor parallelism)
        within: Spanned<u32> => "all ranks";
        /// run the collective separately among the ranks at the same position of each group of this size (data
        /// parallelism); with `within`, of the groups of this size in each of those
        across: Spanned<u32> => "all ranks";
        /// hosts go on with the next step while the collective is under way. They wait for it at the end of the iteration,
        /// or at a step with `wait`. A host starts one overlapped collective after another
        overlap: Spanned<bool> = "false";
        /// before the step, wait for the overlapped step with this label
        wait: Spanned<String>;
        /// ranks send to others: a table
        send: SendStep;
        /// pipeline parallelism: a table
        pipeline: PipelineStep;
        all_to_all: AllToAll;
        all_reduce: AllReduce;
        reduce_scatter: Ring;
        all_gather: Ring;
    }
    /// A step in which every rank sends a message to the rank some places further on, and waits for the one that it
    /// receives. With `within` or `across`, places are those of the group.
    struct SendStep {
        /// how many places further on the receiver is; negative for back
        distance: Spanned<i32> = "1";
        /// payload
        size: Spanned<Bytes> = "1MB";
        /// the first rank follows the last; otherwise, ranks without a receiver send nothing
        ring: bool = "false";
    }
    /// A step in which the ranks are stages of a pipeline. A stage is ranks in a row. Each rank computes a microbatch
    /// forward when its activations have arrived, and sends the result to the same place of the next stage; backward, it
    /// does the same in the other direction. Sending does not hold up a rank.
    struct PipelineStep {
        /// number of stages, each of as many ranks
        stages: Spanned<u32> = "2";
        /// microbatches of an iteration
        microbatches: Spanned<u32> = "4";
        /// computation time of a rank for a microbatch forward
        forward: Span = "100us";
        /// computation time of a rank for a microbatch backward
        backward: Span => "twice forward";
        /// activations, or gradients, that a rank passes on for a microbatch
        size: Spanned<Bytes> = "1MB";
        /// `1f1b`: forward and backward in turn as soon as possible. `gpipe`: all forward, then all backward
        schedule: Spanned<String> = "1f1b";
    }
}

tables! {
    /// How the trace or model of a job is carried out. Keys of one format are refused in jobs of another.
    struct TraceRules {
        /// GOAL's o: time that a send or a receive takes its processor
        overhead: Span => "0s; under loggops 1.5us";
        /// GOAL's g: time between two messages of a host
        gap: Span => "0s; under loggops 1us";
        /// GOAL's S: larger messages wait for their receive
        eager: Bytes = "65535B";
        /// under loggops, the program to follow: `loggopsim` or `atlahs`
        variant: Spanned<String> = "loggopsim";
        /// under loggops, L: latency of the network
        latency: Span = "2.5us";
        /// under loggops, G: nanoseconds for each byte of a message but the first
        gap_per_byte: Spanned<f64> = "6.0";
        /// under loggops, O: nanoseconds of a processor for each byte but the first
        overhead_per_byte: u64 = "0";
        /// Chakra: ASTRA-sim's system file (JSON), which says how collectives are carried out
        system: Spanned<String>;
        /// under chunks: ASTRA-sim's network file (YAML)
        links: Spanned<String>;
        /// under chunks: messages wait for links that are busy
        waits: bool = "true";
        /// Chakra: file with the members of communicator groups, as JSON: {"1": [0, 1, 2]}
        groups: Spanned<String>;
        /// Chakra: wait for control dependencies: `auto` (if none is missing and none makes a cycle), `true`, `false`
        control_deps: Spanned<String> = "auto";
        /// Chakra: `drop` dependencies on nodes that are not there; `stream`: run kernels of one stream in order
        repair: Spanned<String> => "refuse";
        /// Chakra: operations per second of a GPU, such as `"400T"`. Kernels that have `num_ops` and no duration take as long
        /// as the operations or the memory traffic (`tensor_size` over `memory`), whichever is longer
        flops: Spanned<String>;
        /// Chakra: bytes per second of a GPU's memory, such as `"3TB/s"`; see `flops`
        memory: Spanned<String>;
        /// Chakra: time of kernels that have both a duration and `num_ops` or `tensor_size`: `recorded` (the duration) or
        /// `roofline` (see `flops`)
        kernels: Spanned<String> = "recorded";
        /// Chakra: end of a send. `overlap`: when it has left the NIC, so that the rank's next send follows at once.
        /// `in-turn`: when it has been received, as in ASTRA-sim; the rank's next one waits until then
        sends: Spanned<String> = "overlap";
        /// algorithm of collectives: `ring`, `direct`, `binomial` or `double-binary`
        algorithm: Spanned<String> = "ring";
        /// Chakra, model: parts into which a collective is split
        splits: Spanned<u32> = "1";
        /// Chakra, model: parts of a collective under way at a time
        active: Spanned<u32> = "1";
        /// SimAI: time between two messages of a ring
        send_latency: Span = "6us";
        /// SimAI: in rings over several servers, a server's last GPU sends to the next server by way of its first, which is on
        /// the rail of the receiver (`AS_PXN_ENABLE`). Of all-reduce and reduce-scatter only, as in SimAI
        pxn: bool = "false";
        /// SimAI, model: GPUs of a server, which the rings of a collective visit one server after another; with
        /// `local`: ranks that share a server, where the network has none
        gpus_per_server: Spanned<u32> => "that of the topology";
    }
}

/// Choice of hosts for a job that only gives their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Placement {
    Packed,
    Spread,
    Random,
    Rail,
}

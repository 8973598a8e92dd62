//! Inputs of policies: names, order and number, as in model cards. Schemes measure in this order.

/// Inputs of a rate law: w, and counters since the last decision; times in base round trips.
pub(crate) const LAW_FEATURES: [&str; 7] = [
    "w[t-1]",
    "mean RTT",
    "newest RTT",
    "r[t-1]",
    "elapsed",
    "nacks / acks",
    "silence",
];

/// Inputs of Aurora per monitor interval.
pub const AURORA_ONCE: usize = 3;
/// Monitor intervals that Aurora reads.
pub const AURORA_HISTORY: usize = 10;
/// Inputs of Aurora's network.
pub const AURORA_INPUTS: usize = AURORA_ONCE * AURORA_HISTORY;

/// Names of Aurora's inputs, for each of the last ten monitor intervals.
pub(crate) const AURORA_FEATURES: [&str; AURORA_INPUTS] = [
    "growth[t-9]",
    "latency[t-9]",
    "sent[t-9]",
    "growth[t-8]",
    "latency[t-8]",
    "sent[t-8]",
    "growth[t-7]",
    "latency[t-7]",
    "sent[t-7]",
    "growth[t-6]",
    "latency[t-6]",
    "sent[t-6]",
    "growth[t-5]",
    "latency[t-5]",
    "sent[t-5]",
    "growth[t-4]",
    "latency[t-4]",
    "sent[t-4]",
    "growth[t-3]",
    "latency[t-3]",
    "sent[t-3]",
    "growth[t-2]",
    "latency[t-2]",
    "sent[t-2]",
    "growth[t-1]",
    "latency[t-1]",
    "sent[t-1]",
    "growth[t]",
    "latency[t]",
    "sent[t]",
];

/// Units of SPINE's trunk; its own last outputs are its first inputs.
pub const SPINE_HIDDEN: usize = 32;
/// Inputs of SPINE's trunk.
pub const SPINE_INPUTS: usize = SPINE_HIDDEN + SPINE_FEATURES.len();
/// Outputs of SPINE's heads: the trigger, then one per parameter.
pub const SPINE_OUTPUTS: usize = 5;

/// Measurements of SPINE, in the order in which its trunk reads them.
pub const SPINE_FEATURES: [&str; 12] = [
    "growth",
    "queue",
    "log2(delivered)",
    "log2(w / BDP)",
    "log2(w)",
    "loss",
    "log2(elapsed)",
    "alpha",
    "beta",
    "gamma / 2",
    "delta",
    "log2(intervals since the trigger)",
];

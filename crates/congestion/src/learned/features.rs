//! What policies read, in order, as cards have it, and how much of it: schemes measure by this.

/// What a rate law reads: w, and what was counted since the last decision, times in base round trips.
pub(crate) const LAW_FEATURES: [&str; 7] = [
    "w[t-1]",
    "mean RTT",
    "newest RTT",
    "r[t-1]",
    "elapsed",
    "nacks / acks",
    "silence",
];

/// Numbers that Aurora reads of an interval.
pub const AURORA_ONCE: usize = 3;
/// Intervals that Aurora sees.
pub const AURORA_HISTORY: usize = 10;
/// Numbers that Aurora reads.
pub const AURORA_INPUTS: usize = AURORA_ONCE * AURORA_HISTORY;

/// What Aurora reads: of each of the last ten monitor intervals.
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

/// Units of SPINE's trunk, which reads its own last outputs first.
pub const SPINE_HIDDEN: usize = 32;
/// Numbers that SPINE's trunk reads.
pub const SPINE_INPUTS: usize = SPINE_HIDDEN + SPINE_FEATURES.len();
/// What SPINE's heads give: the trigger's number, then one for each parameter.
pub const SPINE_OUTPUTS: usize = 5;

/// What SPINE measures, in the order in which its trunk reads it.
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

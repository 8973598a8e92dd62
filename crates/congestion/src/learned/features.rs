//! The names of what policies read, in order, as cards have them.

/// What a rate law reads: w, and what was counted since the last decision, times in base round trips.
pub(super) const LAW_FEATURES: [&str; 7] = [
    "w[t-1]",
    "mean RTT",
    "newest RTT",
    "r[t-1]",
    "elapsed",
    "nacks / acks",
    "silence",
];

/// What Aurora reads: of each of the last ten monitor intervals.
pub(super) const AURORA_FEATURES: [&str; crate::aurora::INPUTS] = [
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

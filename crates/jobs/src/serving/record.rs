//! Results of a service.

use paceline_kernel::Time;

/// Course of a request: each time is `None` until it is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestRecord {
    /// Number of its prefill instance.
    pub prefill: Option<u32>,
    /// Number of its decode instance.
    pub decode: Option<u32>,
    /// Start of its prompt's computation.
    pub prefill_start: Option<Time>,
    /// End of its prompt's computation.
    pub prefill_end: Option<Time>,
    /// Time at which decode had room for it.
    pub admitted: Option<Time>,
    /// Start of the transfer of its cache.
    pub kv_start: Option<Time>,
    /// Arrival of the last byte of its cache.
    pub kv_end: Option<Time>,
    /// Time of its first token.
    pub first_token: Option<Time>,
    /// Time of its last token.
    pub end: Option<Time>,
}

/// Outcome of a service: the course of each of its requests, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServingOutcome {
    /// Course of each request.
    pub requests: Vec<RequestRecord>,
}

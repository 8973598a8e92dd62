//! Settings of a service: its requests, its two pools, and the transfers between them.

use paceline_kernel::{Span, Time};
use paceline_run::spec::NodeId;

/// Request of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Time of its arrival.
    pub arrival: Time,
    /// Length of its prompt, in tokens.
    pub prompt: u32,
    /// Tokens that it gets as answer, at least 1.
    pub output: u32,
}

/// Choice of an instance for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// The instance with the fewest tokens in it and in its queue.
    Least,
    /// One instance after another.
    Turns,
}

/// Pool that computes prompts. An instance takes one prompt after another.
#[derive(Clone, Debug)]
pub struct Prefill {
    /// GPUs of each instance.
    pub instances: Vec<Vec<NodeId>>,
    /// Tokens per second of an instance.
    pub rate: u64,
    /// Time of a prompt beyond its tokens'.
    pub overhead: Span,
    /// Tokens whose cache an instance can hold until it is transferred.
    pub room: u64,
}

/// Pool that generates answers, a token of each running sequence per step.
#[derive(Clone, Debug)]
pub struct Decode {
    /// GPUs of each instance.
    pub instances: Vec<Vec<NodeId>>,
    /// Time of a step of an empty batch.
    pub step: Span,
    /// Time of a step for each running sequence.
    pub per_sequence: Span,
    /// Time of a step for each token in the caches of running sequences.
    pub per_token: Span,
    /// Sequences that run at the same time.
    pub running: u32,
    /// Tokens of the cache of an instance.
    pub room: u64,
    /// Tokens of a block, the unit in which the cache is reserved.
    pub block: u32,
}

/// Transfer of caches from prefill to decode.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// True if prefill sends what it has computed; otherwise decode asks for the whole cache when it has been computed.
    pub push: bool,
    /// Parts of the prompt's computation after which a part of the cache is sent.
    pub layers: u32,
    /// Largest message, in bytes.
    pub message: u64,
    /// Messages under way between two GPUs for one request.
    pub outstanding: u32,
}

/// Service of one model.
#[derive(Clone, Debug)]
pub struct Service {
    /// Requests in the order of their arrivals.
    pub requests: Vec<Request>,
    /// Bytes of a token's cache.
    pub token_bytes: u64,
    /// Instances that compute prompts.
    pub prefill: Prefill,
    /// Instances that generate answers.
    pub decode: Decode,
    /// Transfers between the pools.
    pub transfer: Transfer,
    /// Choice of an instance for a request.
    pub routing: Routing,
    /// True if prefill answers the first token; otherwise decode does, after the transfer.
    pub prefill_answers: bool,
}

impl Service {
    /// Returns the time that a prompt takes in prefill.
    pub fn prefill_time(&self, prompt: u32) -> Span {
        let ps = u128::from(prompt) * 1_000_000_000_000 / u128::from(self.prefill.rate.max(1));
        (self.prefill.overhead).saturating_add(Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX)))
    }

    /// Returns the tokens that a request reserves in decode: whole blocks for its prompt and its answer.
    pub fn reserves(&self, request: &Request) -> u64 {
        let tokens = u64::from(request.prompt) + u64::from(request.output);
        tokens.next_multiple_of(u64::from(self.decode.block.max(1)))
    }

    /// Returns the steps of decode that a request takes.
    pub(super) fn steps(&self, request: &Request) -> u64 {
        u64::from(request.output) - u64::from(self.prefill_answers)
    }

    /// Returns the number of streams of a transfer: with instances of different sizes, each GPU of the larger one has
    /// a stream of its own.
    pub fn streams(&self) -> usize {
        let gpus = |pool: &[Vec<NodeId>]| pool.first().map_or(1, Vec::len);
        gpus(&self.prefill.instances).max(gpus(&self.decode.instances))
    }

    /// Returns the bytes of a part of something that is divided as evenly as whole bytes allow.
    pub(super) fn part(whole: u64, number: u64, of: u64) -> u64 {
        let until = |number: u64| (u128::from(whole) * u128::from(number) / u128::from(of)) as u64;
        until(number + 1) - until(number)
    }

    /// Returns the approximate number of messages of all requests, and the bytes of the largest.
    pub fn extent(&self) -> (u64, u64) {
        let streams = self.streams() as u64;
        let (mut messages, mut largest) = (0u64, 0);
        for request in &self.requests {
            let share = (u64::from(request.prompt) * self.token_bytes).div_ceil(streams);
            let part = share.div_ceil(u64::from(self.transfer.layers));
            let pieces = part.div_ceil(self.transfer.message) * u64::from(self.transfer.layers);
            let asks = u64::from(!self.transfer.push);
            messages = messages.saturating_add(streams * (pieces + asks));
            largest = largest.max(share.min(self.transfer.message));
        }
        (messages, largest)
    }
}

//! Decode instances: room for caches, and steps that give each running sequence a token.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use paceline_kernel::Span;

use super::service::{Decode, Service};

/// State of a decode instance.
#[derive(Clone, Debug, Default)]
pub(super) struct DecodeInstance {
    /// Requests that wait for room, in order.
    waiting: VecDeque<u32>,
    /// Tokens reserved by requests that were admitted.
    reserved: u64,
    /// Tokens of all requests that are here or wait.
    pub(super) demand: u64,
    /// Requests whose cache is here, and that wait for their turn to run.
    ready: VecDeque<u32>,
    /// Running sequences with the number of their last step.
    batch: BinaryHeap<Reverse<(u64, u32)>>,
    /// Sequences whose first step is under way.
    joined: Vec<u32>,
    /// Number of steps so far.
    steps: u64,
    /// Tokens in the caches of running sequences.
    context: u64,
    /// True while a step is under way.
    pub(super) is_busy: bool,
}

impl DecodeInstance {
    /// Enters a request that wants room.
    pub(super) fn wait(&mut self, request: u32, tokens: u64) {
        self.waiting.push_back(request);
        self.demand += tokens;
    }

    /// Returns the next request that has room now, and reserves it.
    pub(super) fn admit(&mut self, service: &Service) -> Option<u32> {
        let &request = self.waiting.front()?;
        let tokens = service.reserves(&service.requests[request as usize]);
        if self.reserved + tokens > service.decode.room {
            return None;
        }
        self.reserved += tokens;
        self.waiting.pop_front()
    }

    /// Gives back what a request reserved.
    pub(super) fn release(&mut self, tokens: u64) {
        self.reserved -= tokens;
        self.demand -= tokens;
    }

    /// Enters a request whose cache has arrived.
    pub(super) fn arrive(&mut self, request: u32) {
        self.ready.push_back(request);
    }

    /// Starts a step, if there are sequences to run; returns its duration.
    pub(super) fn start_step(&mut self, service: &Service) -> Option<Span> {
        let Decode {
            step,
            per_sequence,
            per_token,
            running,
            ..
        } = service.decode;
        while self.batch.len() < running as usize
            && let Some(request) = self.ready.pop_front()
        {
            let of = &service.requests[request as usize];
            self.batch
                .push(Reverse((self.steps + service.steps(of), request)));
            self.joined.push(request);
            self.context += u64::from(of.prompt);
        }
        self.is_busy = !self.batch.is_empty();
        let sequences = times(per_sequence, self.batch.len() as u64);
        let tokens = times(per_token, self.context);
        (self.is_busy).then(|| step.saturating_add(sequences).saturating_add(tokens))
    }

    /// Ends a step; calls `first` for sequences that got their first token here, then `last` for those that ended.
    pub(super) fn end_step(
        &mut self,
        service: &Service,
        mut first: impl FnMut(u32),
        mut last: impl FnMut(u32),
    ) {
        self.is_busy = false;
        self.steps += 1;
        self.context += self.batch.len() as u64;
        self.joined.drain(..).for_each(&mut first);
        while let Some(&Reverse((step, request))) = self.batch.peek()
            && step == self.steps
        {
            self.batch.pop();
            let of = &service.requests[request as usize];
            self.context -= u64::from(of.prompt) + service.steps(of);
            self.release(service.reserves(of));
            last(request);
        }
    }
}

/// Returns a multiple of a time, at most the longest there is.
fn times(span: Span, count: u64) -> Span {
    Span::from_ps(span.as_ps().saturating_mul(count))
}

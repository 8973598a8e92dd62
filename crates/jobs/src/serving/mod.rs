//! Inference with a pool of GPUs for prompts (prefill) and one for answers (decode).
//!
//! A request waits for a prefill instance, which computes its prompt; its cache of keys and values (KV) goes over the
//! network to a decode instance with room for it; there it runs in a batch whose steps give each sequence a token.

mod decode;
mod divided;
mod record;
mod service;
mod transfer;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use paceline_kernel::sorted::SortedMap;
use paceline_kernel::{BitRate, Bytes, Span, Time};
use paceline_run::outcome::ModelOutcome;
use paceline_run::spec::{Asks, Awaited, Behaviour, FlowSpec, Nics, NodeId};

use crate::ports::Ports;

pub use record::{RequestRecord, ServingOutcome};
pub use service::{Decode, Prefill, Request, Routing, Service, Transfer};

use decode::DecodeInstance;
use divided::Divided;
use transfer::{Piece, Transfers};

/// Properties shared by the flows of a service.
#[derive(Clone, Debug)]
pub struct ServingFlows {
    /// Priority class of all flows.
    pub class: u8,
    /// Index of the flows' scheme.
    pub scheme: u16,
    /// Destination port of all flows.
    pub dport: u16,
    /// Label of the messages that carry caches.
    pub kv: u16,
    /// Label of the messages that ask for caches.
    pub pull: u16,
}

/// Purposes of a call of the program: the upper half of a token.
mod token {
    /// Arrival of the next request.
    pub(super) const ARRIVAL: u64 = 0;
    /// End of a layer in a prefill instance.
    pub(super) const LAYER: u64 = 1;
    /// End of a step in a decode instance.
    pub(super) const STEP: u64 = 2;
    /// End of a transfer in the simple model.
    pub(super) const DIVIDED: u64 = 3;

    /// Returns the token of a call, with a number of its own.
    pub(super) const fn of(kind: u64, number: u32) -> u64 {
        kind << 32 | number as u64
    }
}

/// Prompt under way in a prefill instance.
#[derive(Clone, Copy, Debug)]
struct Computing {
    request: u32,
    since: Time,
    layers: u32,
}

/// State of a prefill instance.
#[derive(Clone, Debug, Default)]
struct PrefillInstance {
    queue: VecDeque<u32>,
    /// Tokens of the prompts in the queue and under way.
    demand: u64,
    /// Tokens whose caches are here: under way, or not yet transferred.
    held: u64,
    computing: Option<Computing>,
}

/// Service and its progress.
#[derive(Clone, Debug)]
pub struct Serving {
    service: Arc<Service>,
    flows: ServingFlows,
    records: Vec<RequestRecord>,
    /// Number of requests that have arrived.
    arrived: u32,
    /// Number of requests that are over.
    over: u32,
    prefill: Vec<PrefillInstance>,
    decode: Vec<DecodeInstance>,
    /// Requests that were routed, to prefill and to decode.
    routed: [u32; 2],
    transfers: Transfers,
    /// Messages under way by their numbers; `None` for those that are acknowledged.
    messages: Vec<Option<Piece>>,
    /// Numbers of messages that can be used again.
    free: Vec<u32>,
    ports: Ports,
    /// Simple model that carries the messages instead of the network.
    divided: Option<Divided>,
}

impl Serving {
    /// Creates a service that has not started. With `rates`, those of the GPUs' links, its messages take the time of
    /// the simple model that divides these rates; otherwise they are flows.
    pub fn new(service: Service, flows: ServingFlows, rates: Option<SortedMap<NodeId, BitRate>>) -> Self {
        Self {
            records: vec![RequestRecord::default(); service.requests.len()],
            prefill: vec![PrefillInstance::default(); service.prefill.instances.len()],
            decode: vec![DecodeInstance::default(); service.decode.instances.len()],
            service: Arc::new(service),
            flows,
            arrived: 0,
            over: 0,
            routed: [0; 2],
            transfers: Transfers::default(),
            messages: Vec::new(),
            free: Vec::new(),
            ports: Ports::default(),
            divided: rates.map(Divided::new),
        }
    }

    /// Returns the instance for the next request, and counts it.
    fn route(&mut self, pool: usize, demands: &[u64]) -> usize {
        let turn = self.routed[pool] as usize % demands.len();
        self.routed[pool] += 1;
        match self.service.routing {
            Routing::Turns => turn,
            Routing::Least => (0..demands.len()).min_by_key(|&one| demands[one]).unwrap_or(0),
        }
    }

    /// Handles all requests that arrive now, and asks to be called for the next.
    fn arrivals(&mut self, asks: &mut dyn Asks) {
        while let Some(request) = self.service.requests.get(self.arrived as usize) {
            if request.arrival > asks.now() {
                asks.wake(request.arrival, token::of(token::ARRIVAL, 0));
                return;
            }
            self.arrived += 1;
            match self.service.transfer.push {
                true => self.ask_for_room(self.arrived - 1, asks),
                false => self.queue_for_prefill(self.arrived - 1, asks),
            }
        }
    }

    fn queue_for_prefill(&mut self, request: u32, asks: &mut dyn Asks) {
        let demands: Vec<u64> = self.prefill.iter().map(|one| one.demand).collect();
        let chosen = self.route(0, &demands);
        self.records[request as usize].prefill = Some(chosen as u32);
        self.prefill[chosen].queue.push_back(request);
        self.prefill[chosen].demand += u64::from(self.service.requests[request as usize].prompt);
        self.start_prefill(chosen, asks);
    }

    /// Starts the next prompt of an instance, if it is idle and has room for its cache.
    fn start_prefill(&mut self, number: usize, asks: &mut dyn Asks) {
        let instance = &mut self.prefill[number];
        let Some(&request) = instance.queue.front().filter(|_| instance.computing.is_none()) else {
            return;
        };
        let prompt = self.service.requests[request as usize].prompt;
        if instance.held + u64::from(prompt) > self.service.prefill.room {
            return;
        }
        instance.queue.pop_front();
        instance.held += u64::from(prompt);
        instance.computing = Some(Computing {
            request,
            since: asks.now(),
            layers: 0,
        });
        self.records[request as usize].prefill_start = Some(asks.now());
        if self.service.transfer.push {
            self.open_transfer(request);
        }
        self.next_layer(number, asks);
    }

    /// Asks to be called when the layer that an instance computes is done.
    fn next_layer(&self, number: usize, asks: &mut dyn Asks) {
        let computing = self.prefill[number].computing.expect("a prompt is under way");
        let service = &self.service;
        let prompt = service.requests[computing.request as usize].prompt;
        let whole = u128::from(service.prefill_time(prompt).as_ps());
        let until = whole * u128::from(computing.layers + 1) / u128::from(service.transfer.layers);
        let at = computing.since.saturating_add(Span::from_ps(until as u64));
        asks.wake(at, token::of(token::LAYER, number as u32));
    }

    fn layer_done(&mut self, number: usize, asks: &mut dyn Asks) {
        let service = self.service.clone();
        let instance = &mut self.prefill[number];
        let computing = instance.computing.as_mut().expect("a prompt is under way");
        computing.layers += 1;
        let (request, layers) = (computing.request, computing.layers);
        let of = service.requests[request as usize];
        let is_last = layers == service.transfer.layers;
        if is_last {
            instance.computing = None;
            instance.demand -= u64::from(of.prompt);
            let record = &mut self.records[request as usize];
            record.prefill_end = Some(asks.now());
            if service.prefill_answers {
                record.first_token = Some(asks.now());
            }
        }
        if service.transfer.push {
            let pieces = self.transfers.computed(&service.transfer, request, layers - 1);
            self.records[request as usize].kv_start.get_or_insert(asks.now());
            self.send(pieces, asks);
        } else if is_last && service.steps(&of) == 0 {
            // Nothing is left to decode, so the cache stays where it is.
            self.prefill[number].held -= u64::from(of.prompt);
            self.finish(request, asks.now());
        } else if is_last {
            self.ask_for_room(request, asks);
        }
        if is_last {
            self.start_prefill(number, asks);
        } else {
            self.next_layer(number, asks);
        }
    }

    /// Chooses a decode instance, and queues there for room.
    fn ask_for_room(&mut self, request: u32, asks: &mut dyn Asks) {
        let demands: Vec<u64> = self.decode.iter().map(|one| one.demand).collect();
        let chosen = self.route(1, &demands);
        self.records[request as usize].decode = Some(chosen as u32);
        let tokens = self.service.reserves(&self.service.requests[request as usize]);
        self.decode[chosen].wait(request, tokens);
        self.admit(chosen, asks);
    }

    /// Admits the requests for which a decode instance has room.
    fn admit(&mut self, number: usize, asks: &mut dyn Asks) {
        while let Some(request) = self.decode[number].admit(&self.service) {
            self.records[request as usize].admitted = Some(asks.now());
            if self.service.transfer.push {
                self.queue_for_prefill(request, asks);
                continue;
            }
            self.records[request as usize].kv_start = Some(asks.now());
            self.open_transfer(request);
            let service = self.service.clone();
            for layer in 0..service.transfer.layers {
                // Nothing leaves before the messages that ask have arrived.
                self.transfers.computed(&service.transfer, request, layer);
            }
            let pulls = self.transfers.pulls(request);
            self.send(pulls, asks);
        }
    }

    fn open_transfer(&mut self, request: u32) {
        let record = &self.records[request as usize];
        let number = |instance: Option<u32>| instance.expect("it was routed") as usize;
        let from = &self.service.prefill.instances[number(record.prefill)];
        let to = &self.service.decode.instances[number(record.decode)];
        self.transfers.open(&self.service, request, from, to);
    }

    fn send(&mut self, pieces: Vec<Piece>, asks: &mut dyn Asks) {
        let mut is_new = false;
        for piece in pieces {
            let number = self.free.pop().unwrap_or_else(|| {
                self.messages.push(None);
                self.messages.len() as u32 - 1
            });
            self.messages[number as usize] = Some(piece);
            is_new = true;
            match &mut self.divided {
                Some(divided) => {
                    divided.advance(asks.now());
                    divided.start(number, (piece.from, piece.to), piece.bytes);
                }
                None => asks.send(number, self.flow(&piece, asks.now())),
            }
        }
        if is_new {
            self.predict(asks);
        }
    }

    fn flow(&mut self, piece: &Piece, start: Time) -> FlowSpec {
        FlowSpec {
            src: piece.from,
            dst: piece.to,
            size: Bytes::new(piece.bytes),
            start,
            class: self.flows.class,
            sport: self.ports.next(piece.from, piece.to),
            dport: self.flows.dport,
            label: if piece.is_pull {
                self.flows.pull
            } else {
                self.flows.kv
            },
            scheme: self.flows.scheme,
            connection: None,
            nics: Nics::ANY,
        }
    }

    /// Asks to be called when the next transfer of the simple model ends.
    fn predict(&mut self, asks: &mut dyn Asks) {
        if let Some(divided) = &mut self.divided
            && let Some(at) = divided.next_end()
        {
            asks.wake(at, token::of(token::DIVIDED, divided.version));
        }
    }

    fn message_arrived(&mut self, message: u32, asks: &mut dyn Asks) {
        let piece = self.messages[message as usize].expect("it is under way");
        let service = self.service.clone();
        let (pieces, is_over) = self.transfers.arrived(&service.transfer, &piece);
        self.send(pieces, asks);
        if is_over {
            self.transferred(piece.request, asks);
        }
    }

    /// Handles the end of a transfer: prefill has room again, and decode may run the sequence.
    fn transferred(&mut self, request: u32, asks: &mut dyn Asks) {
        let record = &mut self.records[request as usize];
        record.kv_end = Some(asks.now());
        let (prefill, decode) = (
            record.prefill.expect("it was routed") as usize,
            record.decode.expect("it was routed") as usize,
        );
        let answered = record.first_token;
        let of = self.service.requests[request as usize];
        self.prefill[prefill].held -= u64::from(of.prompt);
        self.start_prefill(prefill, asks);
        if self.service.steps(&of) == 0 {
            self.decode[decode].release(self.service.reserves(&of));
            self.finish(request, answered.unwrap_or(asks.now()));
            self.admit(decode, asks);
            return;
        }
        self.decode[decode].arrive(request);
        if !self.decode[decode].is_busy {
            self.start_step(decode, asks);
        }
    }

    fn start_step(&mut self, number: usize, asks: &mut dyn Asks) {
        if let Some(time) = self.decode[number].start_step(&self.service) {
            let at = asks.now().saturating_add(time);
            asks.wake(at, token::of(token::STEP, number as u32));
        }
    }

    fn step_done(&mut self, number: usize, asks: &mut dyn Asks) {
        let now = asks.now();
        let mut ended = Vec::new();
        let records = &mut self.records;
        self.decode[number].end_step(
            &self.service,
            |request| {
                records[request as usize].first_token.get_or_insert(now);
            },
            |request| ended.push(request),
        );
        for request in ended {
            self.finish(request, now);
        }
        self.admit(number, asks);
        if !self.decode[number].is_busy {
            self.start_step(number, asks);
        }
    }

    fn finish(&mut self, request: u32, now: Time) {
        self.records[request as usize].end = Some(now);
        self.over += 1;
    }
}

impl Behaviour for Serving {
    fn begin(&mut self, asks: &mut dyn Asks) {
        self.arrivals(asks);
    }

    fn woken(&mut self, token: u64, asks: &mut dyn Asks) {
        let number = token as u32;
        match token >> 32 {
            token::ARRIVAL => self.arrivals(asks),
            token::LAYER => self.layer_done(number as usize, asks),
            token::STEP => self.step_done(number as usize, asks),
            _ => {
                let Some(divided) = self.divided.as_mut().filter(|one| one.version == number) else {
                    return;
                };
                divided.advance(asks.now());
                for message in divided.ended() {
                    self.message_arrived(message, asks);
                    self.heard(message, Awaited::Acknowledged, asks);
                }
                self.predict(asks);
            }
        }
    }

    fn heard(&mut self, message: u32, what: Awaited, asks: &mut dyn Asks) {
        match what {
            Awaited::Started => {}
            Awaited::Received => self.message_arrived(message, asks),
            // Only now is the number free: the acknowledgement comes under it too.
            Awaited::Acknowledged => {
                self.messages[message as usize] = None;
                self.free.push(message);
            }
        }
    }

    fn is_done(&self) -> bool {
        self.over as usize == self.service.requests.len()
    }

    fn close(&self) -> ModelOutcome {
        ModelOutcome::new(ServingOutcome {
            requests: self.records.clone(),
        })
    }
}

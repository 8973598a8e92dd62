//! Transport of a trace-driven job's messages over the packet network. Inside servers they may have a price instead.

use std::collections::BTreeMap;
use std::sync::Arc;

use paceline_kernel::{Bytes, Time};
use paceline_run::outcome::ModelOutcome;
use paceline_run::spec::{Asks, Awaited, Behaviour, FlowSpec, Nics, NodeId};
use paceline_traces::executor::Executor;
use paceline_traces::network::{Message, MessageId, Network};
use paceline_traces::program::CollectiveKind;

use crate::local::{Local, LocalLinks, Progress};
use crate::outcome::TraceOutcome;
use crate::ports::{Connection, Ports};

/// Properties shared by the flows of a job.
#[derive(Clone, Debug)]
pub struct Common {
    /// Hosts of the job, by rank.
    pub hosts: Vec<NodeId>,
    /// Priority class of all flows.
    pub class: u8,
    /// Index of the flows' scheme.
    pub scheme: u16,
    /// Destination port of all flows.
    pub dport: u16,
    /// Label of messages between two ranks.
    pub send: u16,
    /// Labels of collectives' messages, by kind.
    pub collectives: BTreeMap<CollectiveKind, u16>,
    /// True if messages between two ranks, of one communicator and channel, have the same ports.
    pub same_ports: bool,
    /// NICs of each rank; empty if messages do not name theirs.
    pub nics: Vec<RankNics>,
}

/// NICs of a rank's host.
#[derive(Clone, Debug)]
pub struct RankNics {
    /// Link of each NIC, by its number: see [`Nics`].
    pub links: Vec<u8>,
    /// Switch inside the host's server, which carries messages to other hosts of the server without a NIC.
    pub server: Option<NodeId>,
}

impl Common {
    /// Returns the NICs of a message.
    fn nics(&self, message: &Message) -> Nics {
        let rank = |rank: u32| self.nics.get(rank as usize);
        let (Some(from), Some(to)) = (rank(message.from), rank(message.to)) else {
            return Nics::ANY;
        };
        if from.server.is_some() && from.server == to.server {
            return Nics::ANY;
        }
        let link = |of: &RankNics, nic: u8| of.links.get(usize::from(nic)).copied();
        Nics::of(link(from, message.from_nic), link(to, message.to_nic))
    }
}

/// Trace-driven job and its progress.
#[derive(Clone, Debug)]
pub struct Carrier {
    executor: Executor,
    common: Arc<Common>,
    ports: Ports,
    /// Messages inside servers, if they have a price.
    local: Option<Local>,
    /// Messages of the current call; empty between calls.
    messages: Vec<Message>,
}

/// Network for the executor during a call. Messages are collected until the call ends, because their labels can only
/// be looked up then.
struct Over<'a> {
    asks: &'a mut dyn Asks,
    messages: &'a mut Vec<Message>,
}

impl Network for Over<'_> {
    fn now(&self) -> Time {
        self.asks.now()
    }

    fn wake(&mut self, at: Time, token: u64) {
        self.asks.wake(at, token);
    }

    fn send(&mut self, message: Message) {
        self.messages.push(message);
    }
}

impl Carrier {
    /// Creates a job that has not started. With `local`, messages inside servers have a price, and are no flows.
    pub fn new(executor: Executor, common: Common, local: Option<LocalLinks>) -> Self {
        Self {
            executor,
            common: Arc::new(common),
            ports: Ports::default(),
            local: local.map(Local::new),
            messages: Vec::new(),
        }
    }

    fn call(&mut self, asks: &mut dyn Asks, call: impl FnOnce(&mut Executor, &mut Over<'_>)) {
        let mut messages = std::mem::take(&mut self.messages);
        let mut over = Over {
            asks: &mut *asks,
            messages: &mut messages,
        };
        call(&mut self.executor, &mut over);
        for message in messages.drain(..) {
            if let Some(local) = self.local.as_mut().filter(|local| local.carries(&message)) {
                local.send(&message, asks);
                continue;
            }
            let flow = self.flow(&message, asks.now());
            asks.send(message.id.0, flow);
        }
        self.messages = messages;
    }

    fn flow(&mut self, message: &Message, start: Time) -> FlowSpec {
        let common = &self.common;
        let (src, dst) = (
            common.hosts[message.from as usize],
            common.hosts[message.to as usize],
        );
        let collective = self.executor.label(message.label);
        let label = match collective {
            Some(collective) => common.collectives[&collective.kind],
            None => common.send,
        };
        let sport = match common.same_ports {
            false => self.ports.next(src, dst),
            true => self.ports.of(Connection {
                src,
                dst,
                ranks: [message.from, message.to],
                nics: [message.from_nic, message.to_nic],
                group: collective.map(|collective| collective.group),
                channel: message.channel,
            }),
        };
        FlowSpec {
            src,
            dst,
            size: Bytes::new(message.bytes),
            start,
            class: common.class,
            sport,
            dport: common.dport,
            label,
            scheme: common.scheme,
            connection: None,
            nics: common.nics(message),
        }
    }
}

impl Behaviour for Carrier {
    fn begin(&mut self, asks: &mut dyn Asks) {
        self.call(asks, |executor, over| executor.start(over));
    }

    fn woken(&mut self, token: u64, asks: &mut dyn Asks) {
        let Some(local) = self.local.as_mut().filter(|_| Local::is_own(token)) else {
            return self.call(asks, |executor, over| executor.woken(token, over));
        };
        match local.woken(token, asks) {
            Progress::Left(id) => self.call(asks, |executor, over| executor.sent(id, over)),
            // Nothing acknowledges a priced message: its sender knows at once.
            Progress::Arrived(id) => self.call(asks, |executor, over| {
                executor.received(id, over);
                executor.acknowledged(id, over);
            }),
        }
    }

    fn heard(&mut self, message: u32, what: Awaited, asks: &mut dyn Asks) {
        let id = MessageId(message);
        self.call(asks, |executor, over| match what {
            Awaited::Started => {}
            Awaited::Received => executor.received(id, over),
            Awaited::Acknowledged => executor.acknowledged(id, over),
        });
    }

    fn left(&mut self, message: u32, asks: &mut dyn Asks) {
        self.call(asks, |executor, over| executor.sent(MessageId(message), over));
    }

    fn is_done(&self) -> bool {
        self.executor.is_done()
    }

    fn iterations(&self) -> Option<(u32, u32)> {
        let (over, all) = self.executor.iterations();
        (all > 1).then_some((over, all))
    }

    fn has_operations(&self) -> bool {
        true
    }

    fn close(&self) -> ModelOutcome {
        ModelOutcome::new(TraceOutcome {
            local: self.local.as_ref().map(Local::sent),
            ..TraceOutcome::of(&self.executor)
        })
    }
}

//! Carries the messages of a job by a trace over the packet network.

use std::collections::BTreeMap;
use std::sync::Arc;

use paceline_fabric::outcome::ModelOutcome;
use paceline_fabric::spec::{Asks, Awaited, Behaviour, FlowSpec, NodeId};
use paceline_fabric::stream::source_port;
use paceline_kernel::{Bytes, Time};
use paceline_traces::executor::{CollectiveRecord, Executor, RankRecord, Results, Stuck};
use paceline_traces::network::{Message, MessageId, Network};
use paceline_traces::program::CollectiveKind;

/// What flows of a job have in common.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    /// Hosts by rank.
    pub(crate) hosts: Vec<NodeId>,
    pub(crate) class: u8,
    pub(crate) scheme: u16,
    pub(crate) dport: u16,
    /// Label of messages between two ranks.
    pub(crate) send: u16,
    /// Labels of messages of collectives.
    pub(crate) collectives: BTreeMap<CollectiveKind, u16>,
}

/// A job by a trace, and how far it is.
#[derive(Clone, Debug)]
pub(crate) struct Carrier {
    executor: Executor,
    common: Arc<Common>,
    /// How many flows each pair of hosts has had.
    pairs: BTreeMap<(NodeId, NodeId), u16>,
    /// Messages of the call that is under way; empty between calls.
    messages: Vec<Message>,
}

/// What a job by a trace leaves behind, in [`paceline_fabric::Outcome::programs`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceOutcome {
    /// Ranks, by number.
    pub ranks: Vec<RankRecord>,
    /// Its collectives.
    pub collectives: Vec<TraceCollective>,
    /// Whether all of it has been carried out.
    pub is_done: bool,
    /// If not: who waits for whom, the first of them.
    pub stuck: Vec<Stuck>,
    /// What its user should know.
    pub cautions: Vec<String>,
}

/// A collective of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceCollective {
    /// What the trace calls it where its first member stands.
    pub name: String,
    /// What it is.
    pub kind: CollectiveKind,
    /// The place of its group in the trace.
    pub group: u32,
    /// How many members that has.
    pub members: u32,
    /// Its size in bytes, as the trace counts it.
    pub bytes: u64,
    /// When its first member started.
    pub start: Time,
    /// When its last member was done; nothing if one was not.
    pub end: Option<Time>,
}

/// What the executor asks for during a call. Messages are kept until it is over: only then can their labels be asked for.
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
    pub(crate) fn new(executor: Executor, common: Common) -> Self {
        Self {
            executor,
            common: Arc::new(common),
            pairs: BTreeMap::new(),
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
        let label = match self.executor.label(message.label) {
            Some(collective) => common.collectives[&collective.kind],
            None => common.send,
        };
        let count = self.pairs.entry((src, dst)).or_default();
        let sport = source_port(u64::from(*count));
        *count = count.wrapping_add(1);
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
        }
    }
}

impl Behaviour for Carrier {
    fn begin(&mut self, asks: &mut dyn Asks) {
        self.call(asks, |executor, over| executor.start(over));
    }

    fn woken(&mut self, token: u64, asks: &mut dyn Asks) {
        self.call(asks, |executor, over| executor.woken(token, over));
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

    fn close(&self) -> ModelOutcome {
        ModelOutcome::new(TraceOutcome::of(&self.executor))
    }
}

impl TraceOutcome {
    /// What an executor has come to.
    pub(crate) fn of(executor: &Executor) -> Self {
        let Results {
            ranks, collectives, ..
        } = executor.results();
        let program = executor.program();
        let trouble = program.trouble();
        let collective = |record: CollectiveRecord| {
            let (rank, operation) = record.first;
            let members = program.groups()[record.group as usize].len() as u32;
            TraceCollective {
                name: program.name(rank, operation),
                kind: record.kind,
                group: record.group,
                members,
                bytes: record.bytes,
                start: record.first_start,
                end: (record.done == members).then_some(record.last_end),
            }
        };
        Self {
            ranks,
            collectives: collectives.into_iter().map(collective).collect(),
            is_done: executor.is_done() && trouble.is_none(),
            stuck: match trouble {
                Some(trouble) => vec![Stuck {
                    rank: 0,
                    text: trouble.to_string(),
                }],
                None => executor.stuck(),
            },
            cautions: match executor.is_done() {
                true => executor.unclaimed().into_iter().map(|one| one.text).collect(),
                false => Vec::new(),
            },
        }
    }
}

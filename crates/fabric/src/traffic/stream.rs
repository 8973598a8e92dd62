//! Flows drawn one after another: what [`Arrivals`] tells.
//!
//! Each host that sends by itself draws from streams of its own, and so does each source of incasts: these are the
//! lanes, of each of which the next flow is known. The stream takes the earliest of them; at the same time that of
//! the first lane, as a list sorted by start would have it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use paceline_kernel::rng::{Purpose, Rng};
use paceline_kernel::{Bytes, Span, Time};

use crate::spec::{ArrivalPattern, ArrivalSource, Arrivals, FlowSpec, NodeId, size_at};

/// A flow before it has its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Sender.
    pub src: NodeId,
    /// Receiver.
    pub dst: NodeId,
    /// Payload bytes.
    pub size: Bytes,
    /// When the sender starts.
    pub start: Time,
}

/// The stream of what does not belong to one source.
pub const SHARED: u64 = (1 << 40) - 1;

/// The random stream of a workload and one that sends in it.
pub fn random_stream(seed: u64, purpose: Purpose, workload: u64, entity: u64) -> Rng {
    Rng::stream(seed, purpose, workload << 40 | entity)
}

/// The source port of a pair's flow number `count`, from 0, as in the simulator of HPCC's authors.
pub const fn source_port(count: u64) -> u16 {
    (10_000 + count) as u16
}

/// One that draws flows by itself.
#[derive(Clone, Debug, PartialEq)]
struct Lane {
    /// Place in [`Arrivals::sources`].
    source: u32,
    arrivals: Rng,
    choices: Rng,
    /// Time since the window's begin at which the last one came, in ps.
    elapsed: f64,
    drawer: Drawer,
}

#[derive(Clone, Debug, PartialEq)]
enum Drawer {
    /// A host, by its place in the source's list.
    Host(usize),
    /// The hosts in the order last drawn, its receiver first, and how many of its senders have still to come.
    Incasts { order: Vec<NodeId>, left: usize },
}

impl Lane {
    fn new(source: u32, of: &ArrivalSource, seed: u64, entity: u64, drawer: Drawer) -> Self {
        let stream = |purpose| random_stream(seed, purpose, of.workload, entity);
        Self {
            source,
            arrivals: stream(Purpose::Arrival),
            choices: stream(Purpose::Workload),
            elapsed: 0.0,
            drawer,
        }
    }

    /// All lanes of a source.
    fn all(source: u32, of: &ArrivalSource, seed: u64) -> Vec<Self> {
        match &of.pattern {
            ArrivalPattern::Poisson { hosts, .. } if hosts.len() < 2 => Vec::new(),
            ArrivalPattern::Poisson { hosts, .. } => {
                let hosts = hosts.iter().enumerate();
                hosts
                    .map(|(i, (host, _))| Self::new(source, of, seed, u64::from(host.0), Drawer::Host(i)))
                    .collect()
            }
            ArrivalPattern::Incasts { hosts, .. } => {
                let order = hosts.clone();
                let drawer = Drawer::Incasts { order, left: 0 };
                vec![Self::new(source, of, seed, SHARED, drawer)]
            }
        }
    }

    /// The next arrival, if it comes before the window is over.
    fn next_arrival(&mut self, mean_ps: f64, window: (Time, Time)) -> Option<Time> {
        self.elapsed += self.arrivals.next_exponential() * mean_ps;
        self.latest(window)
    }

    /// The last arrival.
    fn latest(&self, window: (Time, Time)) -> Option<Time> {
        let at = window.0.saturating_add(Span::from_ps(self.elapsed as u64));
        (at < window.1).then_some(at)
    }

    /// Draws the next flow.
    fn draw(&mut self, of: &ArrivalSource) -> Option<Message> {
        match (&of.pattern, &self.drawer) {
            (ArrivalPattern::Poisson { hosts, sizes }, &Drawer::Host(i)) => {
                let (src, mean_ps) = hosts[i];
                let start = self.next_arrival(mean_ps, of.window)?;
                let other = self.choices.below(hosts.len() as u64 - 1) as usize;
                let (dst, _) = hosts[if other < i { other } else { other + 1 }];
                let size = size_at(sizes, self.choices.next_f64());
                Some(Message {
                    src,
                    dst,
                    size,
                    start,
                })
            }
            (
                &ArrivalPattern::Incasts {
                    mean_ps,
                    fan_in,
                    size,
                    ..
                },
                &Drawer::Incasts { left, .. },
            ) => {
                let start = match left {
                    0 => self.next_arrival(mean_ps, of.window)?,
                    _ => self.latest(of.window)?,
                };
                let Drawer::Incasts { order, left } = &mut self.drawer else {
                    return None;
                };
                if *left == 0 {
                    self.choices.shuffle(order);
                    *left = fan_in as usize;
                }
                let (src, dst) = (order[1 + fan_in as usize - *left], order[0]);
                *left -= 1;
                Some(Message {
                    src,
                    dst,
                    size,
                    start,
                })
            }
            _ => None,
        }
    }
}

/// Flows as they are drawn.
#[derive(Clone, Debug)]
pub(crate) struct FlowStream {
    lanes: Vec<Lane>,
    /// The next flow of each lane that has one.
    heads: BinaryHeap<Reverse<(Time, usize)>>,
    next: Vec<Option<Message>>,
    /// How many flows each pair of hosts has had.
    pairs: BTreeMap<(u32, u32), u16>,
}

impl FlowStream {
    pub(crate) fn new(arrivals: &Arrivals, seed: u64) -> Self {
        let sources = (0..).zip(&arrivals.sources);
        let mut lanes: Vec<Lane> = sources.flat_map(|(i, of)| Lane::all(i, of, seed)).collect();
        let draw = |lane: &mut Lane| lane.draw(&arrivals.sources[lane.source as usize]);
        let next: Vec<Option<Message>> = lanes.iter_mut().map(draw).collect();
        let heads = next.iter().enumerate();
        let heads = heads.filter_map(|(lane, next)| Some(Reverse((next.as_ref()?.start, lane))));
        Self {
            heads: heads.collect(),
            lanes,
            next,
            pairs: BTreeMap::new(),
        }
    }

    /// When the next flow starts.
    pub(crate) fn next_start(&self) -> Option<Time> {
        self.heads.peek().map(|&Reverse((start, _))| start)
    }

    /// The next flow.
    pub(crate) fn draw(&mut self, arrivals: &Arrivals) -> Option<FlowSpec> {
        let Reverse((_, lane)) = self.heads.pop()?;
        let source = &arrivals.sources[self.lanes[lane].source as usize];
        let message = self.next[lane].take()?;
        self.next[lane] = self.lanes[lane].draw(source);
        if let Some(next) = &self.next[lane] {
            self.heads.push(Reverse((next.start, lane)));
        }
        let count = self.pairs.entry((message.src.0, message.dst.0)).or_default();
        let sport = source_port(u64::from(*count));
        *count = count.wrapping_add(1);
        Some(FlowSpec {
            src: message.src,
            dst: message.dst,
            size: message.size,
            start: message.start,
            class: source.class,
            sport,
            dport: source.dport,
            label: source.label,
            scheme: source.scheme,
        })
    }
}

impl ArrivalSource {
    /// All that it gives in a run with this seed, one that draws after another.
    pub fn messages(&self, seed: u64) -> impl Iterator<Item = Message> {
        let lanes = Lane::all(0, self, seed);
        lanes
            .into_iter()
            .flat_map(move |mut lane| std::iter::from_fn(move || lane.draw(self)))
    }
}

impl Arrivals {
    /// What these sources give in a run with this seed: counts it.
    pub fn of(sources: Vec<ArrivalSource>, seed: u64) -> Self {
        let (mut flows, mut first, mut last) = (0, Time::MAX, Time::ZERO);
        for message in sources.iter().flat_map(|source| source.messages(seed)) {
            flows += 1;
            first = first.min(message.start);
            last = last.max(message.start);
        }
        Self {
            flows,
            first: first.min(last),
            last,
            sources,
        }
    }

    /// The flows in the order of their starts.
    pub fn flows(&self, seed: u64) -> impl Iterator<Item = FlowSpec> {
        let mut stream = FlowStream::new(self, seed);
        std::iter::from_fn(move || stream.draw(self))
    }
}

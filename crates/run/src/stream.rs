//! Generator of the flows that [`Arrivals`] describes, one after another.
//!
//! Each independently sending host, and each source of incasts, has its own random streams. These are the
//! lanes; the next flow of each lane is known. The generator takes the earliest of them, and of simultaneous
//! ones that of the first lane, as in a list sorted by start.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use paceline_kernel::rng::{Purpose, Rng};
use paceline_kernel::{Span, Time};

use crate::spec::{ArrivalPattern, ArrivalSource, Arrivals, FlowSpec, Message, Nics, NodeId, size_at};

/// Entity number of streams that do not belong to one host.
pub const SHARED: u64 = (1 << 40) - 1;

/// Returns the random stream of a workload and one of its senders.
pub fn random_stream(seed: u64, purpose: Purpose, workload: u64, entity: u64) -> Rng {
    Rng::stream(seed, purpose, workload << 40 | entity)
}

/// Returns the source port of flow number `count`, from 0, of a pair of hosts, as in the simulator of HPCC's
/// authors.
pub const fn source_port(count: u64) -> u16 {
    (10_000 + count) as u16
}

/// Independent generator of flows: a host, or a source of incasts.
#[derive(Clone, Debug, PartialEq)]
struct Lane {
    /// Index of its source in [`Arrivals::sources`].
    source: u32,
    arrivals: Rng,
    choices: Rng,
    /// Time of the last arrival since the start of the window, in ps.
    elapsed: f64,
    /// Index in the source's list: of the host itself, or of the next listed message.
    index: usize,
    /// Hosts of an incast in the order last drawn; `receiver` and `left` are its receiver and the number of
    /// senders still to come.
    order: Vec<NodeId>,
    receiver: NodeId,
    left: usize,
}

impl Lane {
    fn new(source: u32, of: &ArrivalSource, seed: u64, entity: u64) -> Self {
        let stream = |purpose| random_stream(seed, purpose, of.workload, entity);
        Self {
            source,
            arrivals: stream(Purpose::Arrival),
            choices: stream(Purpose::Workload),
            elapsed: 0.0,
            index: 0,
            order: Vec::new(),
            receiver: NodeId(0),
            left: 0,
        }
    }

    /// Creates all lanes of a source.
    fn all(source: u32, of: &ArrivalSource, seed: u64) -> Vec<Self> {
        match &of.pattern {
            // A single host has no other to which it could send.
            ArrivalPattern::Poisson { hosts, receivers, .. } if hosts.len() < 2 && receivers.is_empty() => {
                Vec::new()
            }
            ArrivalPattern::Poisson { hosts, .. } => {
                let lane = |(index, (host, _)): (usize, &(NodeId, f64))| Self {
                    index,
                    ..Self::new(source, of, seed, u64::from(host.0))
                };
                hosts.iter().enumerate().map(lane).collect()
            }
            ArrivalPattern::Incasts { hosts, .. } => vec![Self {
                order: hosts.clone(),
                ..Self::new(source, of, seed, SHARED)
            }],
            ArrivalPattern::Told { .. } => vec![Self::new(source, of, seed, SHARED)],
        }
    }

    /// Draws the next flow.
    fn draw(&mut self, of: &ArrivalSource) -> Option<Message> {
        match &of.pattern {
            ArrivalPattern::Poisson {
                hosts,
                receivers,
                sizes,
            } => {
                let (src, mean_ps) = hosts[self.index];
                let start = self.next_arrival(mean_ps, of)?;
                let dst = if receivers.is_empty() {
                    hosts[self.other(hosts.len(), Some(self.index))].0
                } else {
                    let own = receivers.iter().position(|&host| host == src);
                    receivers[self.other(receivers.len(), own)]
                };
                let size = size_at(sizes, self.choices.next_f64());
                Some(Message {
                    src,
                    dst,
                    size,
                    start,
                })
            }
            ArrivalPattern::Incasts {
                receivers,
                mean_ps,
                fan_in,
                size,
                ..
            } => {
                // The previous incast has all its senders: draw the next one.
                if self.left == 0 {
                    self.next_arrival(*mean_ps, of)?;
                    self.choices.shuffle(&mut self.order);
                    self.receiver = match receivers.len() {
                        0 => self.order[0],
                        count => receivers[self.choices.below(count as u64) as usize],
                    };
                    if let Some(own) = self.order.iter().position(|&host| host == self.receiver) {
                        self.order.swap(0, own);
                    }
                    self.left = *fan_in as usize;
                }
                let first = usize::from(self.order.first() == Some(&self.receiver));
                // The receiver does not send; it is first in the order if it is one of the hosts.
                let src = self.order[first + *fan_in as usize - self.left];
                self.left -= 1;
                let size = *size;
                Some(Message {
                    src,
                    dst: self.receiver,
                    size,
                    // All senders of an incast start together.
                    start: self.last_arrival(of)?,
                })
            }
            ArrivalPattern::Told { messages } => {
                let next = messages.get(self.index)?;
                self.index += 1;
                Some(*next)
            }
        }
    }

    /// Returns a random index below `count` other than `own`.
    fn other(&mut self, count: usize, own: Option<usize>) -> usize {
        let other = self.choices.below((count - usize::from(own.is_some())) as u64) as usize;
        // Skips `own` instead of drawing again.
        other + usize::from(own.is_some_and(|own| other >= own))
    }

    /// Draws the next arrival; `None` if it lies after the window of its source.
    fn next_arrival(&mut self, mean_ps: f64, of: &ArrivalSource) -> Option<Time> {
        self.elapsed += self.arrivals.next_exponential() * mean_ps;
        self.last_arrival(of)
    }

    /// Returns the last arrival; `None` if it lies after the window of its source.
    fn last_arrival(&self, of: &ArrivalSource) -> Option<Time> {
        let (from, until) = of.window;
        let at = from.saturating_add(Span::from_ps(self.elapsed as u64));
        (at < until).then_some(at)
    }
}

/// Generator of flows in the order of their starts.
#[derive(Clone, Debug)]
pub struct FlowStream {
    lanes: Vec<Lane>,
    /// Start of the next flow of each lane that has one.
    heads: BinaryHeap<Reverse<(Time, usize)>>,
    next: Vec<Option<Message>>,
    /// Number of flows so far of each pair of hosts.
    pairs: BTreeMap<(u32, u32), u16>,
}

impl FlowStream {
    /// Creates the generator at its first flow.
    pub fn new(arrivals: &Arrivals, seed: u64) -> Self {
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

    /// Returns the start of the next flow.
    pub fn next_start(&self) -> Option<Time> {
        self.heads.peek().map(|&Reverse((start, _))| start)
    }

    /// Returns the next flow.
    pub fn draw(&mut self, arrivals: &Arrivals) -> Option<FlowSpec> {
        let Reverse((_, lane)) = self.heads.pop()?;
        let source = &arrivals.sources[self.lanes[lane].source as usize];
        let message = self.next[lane].take()?;
        // The lane's next flow is drawn before this one is used, so that the heap always holds the next start
        // of every lane.
        self.next[lane] = self.lanes[lane].draw(source);
        if let Some(next) = &self.next[lane] {
            self.heads.push(Reverse((next.start, lane)));
        }
        let count = self.pairs.entry((message.src.0, message.dst.0)).or_default();
        let sport = source_port(u64::from(*count));
        // Ports repeat after 65 536 flows of a pair.
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
            connection: None,
            nics: Nics::ANY,
        })
    }
}

impl ArrivalSource {
    /// Iterates over all flows of the source in a run with this seed, lane after lane.
    pub fn messages(&self, seed: u64) -> impl Iterator<Item = Message> {
        let lanes = Lane::all(0, self, seed);
        lanes
            .into_iter()
            .flat_map(move |mut lane| std::iter::from_fn(move || lane.draw(self)))
    }
}

impl Arrivals {
    /// Upper limit of the count: no run can number more flows.
    const MOST: usize = 1 << 28;

    /// Creates the arrivals of these sources in a run with this seed, and counts them.
    pub fn of(sources: Vec<ArrivalSource>, seed: u64) -> Self {
        let (mut flows, mut first, mut last) = (0, Time::MAX, Time::ZERO);
        let messages = sources.iter().flat_map(|source| source.messages(seed));
        for message in messages.take(Self::MOST) {
            flows += 1;
            first = first.min(message.start);
            last = last.max(message.start);
        }
        Self {
            flows,
            // Without flows the first start would be after the last one.
            first: first.min(last),
            last,
            sources,
        }
    }

    /// Iterates over the flows in the order of their starts.
    pub fn flows(&self, seed: u64) -> impl Iterator<Item = FlowSpec> {
        let mut stream = FlowStream::new(self, seed);
        std::iter::from_fn(move || stream.draw(self))
    }
}

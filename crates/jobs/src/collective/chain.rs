//! Collectives one after another: who begins what when which messages have arrived.
//!
//! The time at which a rank goes on is the latest of some events, each plus the time that the rank has computed since. It is
//! kept as the list of these, which is what its next message waits for.

use std::rc::Rc;

use paceline_kernel::{Bytes, Slowness, Span, Time};
use paceline_run::spec::{Awaited, Dependency, NodeId};

use paceline_run::spec::Message;

use super::graph::{Graph, Wait};
use super::{Algorithm, Layout, Options};

/// A collective that groups of hosts carry out, each group by itself.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Places in the chain's list of hosts, by rank, and what they do; all groups are of one size.
    groups: Vec<(Vec<u32>, Rc<Graph>)>,
}

impl Stage {
    /// Of `groups`, which are of one size and have at least two ranks.
    ///
    /// # Panics
    /// As [`Algorithm::steps`].
    pub fn new(algorithm: Algorithm, groups: Vec<Vec<u32>>, size: Bytes) -> Self {
        let layout = Layout::flat(groups[0].len() as u32);
        let layouts = vec![layout; groups.len()];
        Self::with(algorithm, groups, size, &Options::default(), &layouts)
    }

    /// The same with options, and a layout of each group.
    ///
    /// # Panics
    /// As [`Algorithm::steps`].
    pub fn with(
        algorithm: Algorithm,
        groups: Vec<Vec<u32>>,
        size: Bytes,
        options: &Options,
        layouts: &[Layout],
    ) -> Self {
        let mut known: Vec<(&Layout, Rc<Graph>)> = Vec::new();
        let mut graph = |layout| {
            if let Some((_, graph)) = known.iter().find(|(of, _)| *of == layout) {
                return Rc::clone(graph);
            }
            let ranks = groups[0].len() as u32;
            let graph = Rc::new(algorithm.graph(ranks, size, options, layout));
            known.push((layout, Rc::clone(&graph)));
            graph
        };
        let graphs: Vec<_> = layouts.iter().map(&mut graph).collect();
        Self {
            groups: groups.into_iter().zip(graphs).collect(),
        }
    }

    /// How many messages it has.
    pub fn messages(&self) -> usize {
        self.groups.iter().map(|(_, graph)| graph.parts.len()).sum()
    }
}

/// When a rank goes on.
#[derive(Clone, Debug, Default)]
struct Clock {
    /// Each with the time that the rank computes after it.
    events: Vec<(Wait, Span)>,
    /// Not before this time from the start on.
    earliest: Span,
}

impl Clock {
    fn at(events: impl IntoIterator<Item = Wait>) -> Self {
        Self {
            events: events.into_iter().map(|event| (event, Span::ZERO)).collect(),
            earliest: Span::ZERO,
        }
    }

    fn compute(&mut self, time: Span) {
        for (_, after) in &mut self.events {
            *after = after.saturating_add(time);
        }
        if self.events.is_empty() || self.earliest > Span::ZERO {
            self.earliest = self.earliest.saturating_add(time);
        }
    }

    fn wait(&mut self, events: &[Wait]) {
        self.events
            .extend(events.iter().map(|&event| (event, Span::ZERO)));
    }
}

/// What a rank has begun and does not wait for yet: the place of the step, and what ends it.
type Pending = Vec<(usize, Vec<Wait>)>;

/// A host that computes at the end of an iteration: `delay` from what it has waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// The host.
    pub host: NodeId,
    /// The flow that it waits for.
    pub after: u32,
    /// For what of that.
    pub awaited: Awaited,
    /// The time that it computes after it.
    pub delay: Span,
}

/// What some hosts do, one collective after another. A host begins the next when it is done with the last, and
/// has computed; there is no barrier.
#[derive(Clone, Debug)]
pub struct Chain<'a> {
    hosts: &'a [NodeId],
    /// When each host computes slowly; empty if none does.
    slow: Vec<Slowness>,
    start: Time,
    /// The messages, collective by collective, group by group.
    pub messages: Vec<Message>,
    /// The channel of each message.
    pub channels: Vec<u32>,
    /// What waits for what.
    pub dependencies: Vec<Dependency>,
    clocks: Vec<Clock>,
    /// Overlapped collectives of each rank, in the order in which it issued them.
    pending: Vec<Pending>,
}

impl<'a> Chain<'a> {
    /// Of `hosts`, which begin at `start`.
    pub fn new(hosts: &'a [NodeId], start: Time) -> Self {
        Self {
            hosts,
            slow: Vec::new(),
            start,
            messages: Vec::new(),
            channels: Vec::new(),
            dependencies: Vec::new(),
            clocks: vec![Clock::default(); hosts.len()],
            pending: vec![Vec::new(); hosts.len()],
        }
    }

    /// The same where some hosts compute slowly.
    pub fn slowed(self, slow: Vec<Slowness>) -> Self {
        Self { slow, ..self }
    }

    /// Every host computes.
    pub fn compute(&mut self, time: Span) {
        for clock in &mut self.clocks {
            clock.compute(time);
        }
    }

    /// One host computes.
    pub(super) fn compute_at(&mut self, host: u32, time: Span) {
        self.clocks[host as usize].compute(time);
    }

    /// One host waits for a message.
    pub(super) fn receive_at(&mut self, host: u32, message: u32) {
        self.clocks[host as usize].wait(&[(message, Awaited::Received)]);
    }

    /// One host sends a message to another, and goes on at once.
    pub(super) fn send(&mut self, from: u32, to: u32, bytes: u64) -> u32 {
        let message = self.message(from, to, (bytes, 0));
        self.follow(message, from);
        self.clocks[from as usize] = Clock::at([(message, Awaited::Started)]);
        message
    }

    /// Every rank of a group sends to the one `distance` places further on, if there is one, and waits for what it receives.
    /// In a `ring`, the first comes after the last.
    pub fn shift(&mut self, groups: &[Vec<u32>], bytes: Bytes, distance: i32, ring: bool) {
        for group in groups {
            let size = group.len() as i64;
            let mut received = Vec::new();
            for (place, &from) in (0i64..).zip(group) {
                let mut place = place + i64::from(distance);
                if ring {
                    place = place.rem_euclid(size);
                }
                if let Some(&to) = usize::try_from(place).ok().and_then(|place| group.get(place)) {
                    received.push((to, self.send(from, to, bytes.get())));
                }
            }
            for (to, message) in received {
                self.receive_at(to, message);
            }
        }
    }

    /// Hosts wait for the overlapped collective of a step of this iteration.
    pub fn wait(&mut self, step: usize) {
        for (clock, pending) in self.clocks.iter_mut().zip(&mut self.pending) {
            if let Some(place) = pending.iter().position(|(known, _)| *known == step) {
                // Those before it ended before.
                clock.wait(&pending[place].1);
                pending.drain(..=place);
            }
        }
    }

    /// The end of an iteration: hosts wait for all that they have begun. Gives those that compute then.
    pub fn end(&mut self) -> Vec<Tail> {
        for (clock, pending) in self.clocks.iter_mut().zip(&mut self.pending) {
            if let Some((_, last)) = std::mem::take(pending).last() {
                clock.wait(last);
            }
        }
        let clocks = self.clocks.iter().zip(self.hosts);
        let tails = clocks.flat_map(|(clock, &host)| {
            let events = clock.events.iter().filter(|(_, delay)| *delay > Span::ZERO);
            events.map(move |&((after, awaited), delay)| Tail {
                host,
                after,
                awaited,
                delay,
            })
        });
        tails.collect()
    }

    /// Adds a collective. One that is `overlapped`, by the place of its step, starts after those before it and does not hold
    /// its hosts up.
    pub fn collective(&mut self, stage: &Stage, overlapped: Option<usize>) {
        for (group, graph) in &stage.groups {
            let first = self.messages.len() as u32;
            for part in &graph.parts {
                let (from, to) = (group[part.from as usize], group[part.to as usize]);
                self.message(from, to, (part.bytes, part.channel));
            }
            self.enter(group, graph, first, overlapped.is_some());
            for place in 0..graph.parts.len() {
                for &(after, awaited) in graph.waits(place) {
                    self.depend(first + place as u32, (first + after, awaited), Span::ZERO);
                }
            }
            for (&host, done) in group.iter().zip(&graph.done) {
                let done = done.iter().map(|&(part, awaited)| (first + part, awaited));
                match overlapped {
                    Some(step) => self.pending[host as usize].push((step, done.collect())),
                    None => self.clocks[host as usize] = Clock::at(done),
                }
            }
        }
    }

    /// Messages wait until their senders begin the collective: of each rank the first, and the others for that.
    fn enter(&mut self, group: &[u32], graph: &Graph, first: u32, overlapped: bool) {
        let mut entering = vec![Vec::new(); group.len()];
        for (place, part) in (0u32..).zip(&graph.parts) {
            if part.enters {
                entering[part.from as usize].push(place);
            }
        }
        for (&host, parts) in group.iter().zip(entering) {
            let before = self.pending[host as usize].last().filter(|_| overlapped);
            let before = before.map_or_else(Vec::new, |(_, before)| before.clone());
            if self.clocks[host as usize].events.is_empty() && before.is_empty() {
                continue;
            }
            let leads = |&&place: &&u32| graph.waits(place as usize).is_empty();
            let lead = parts.iter().find(leads).copied();
            for place in parts {
                match lead.filter(|&lead| lead != place) {
                    Some(lead) => self.depend(first + place, (first + lead, Awaited::Started), Span::ZERO),
                    None => {
                        self.follow(first + place, host);
                        for &wait in &before {
                            self.depend(first + place, wait, Span::ZERO);
                        }
                    }
                }
            }
        }
    }

    fn message(&mut self, from: u32, to: u32, (bytes, channel): (u64, u32)) -> u32 {
        // Of those that wait for others, the earliest possible one.
        let computed = self.clocks[from as usize].earliest;
        let start = match self.slow.get(from as usize) {
            Some(slow) => Time::from_ps(slow.end(self.start.as_ps(), computed.as_ps())),
            None => self.start.saturating_add(computed),
        };
        self.messages.push(Message {
            src: self.hosts[from as usize],
            dst: self.hosts[to as usize],
            size: Bytes::new(bytes),
            start,
        });
        self.channels.push(channel);
        self.messages.len() as u32 - 1
    }

    fn depend(&mut self, flow: u32, (after, awaited): Wait, delay: Span) {
        self.dependencies.push(Dependency {
            flow,
            after,
            awaited,
            delay,
        });
    }

    /// `flow` waits until its host goes on.
    fn follow(&mut self, flow: u32, host: u32) {
        let events = self.clocks[host as usize].events.iter();
        let waits = events.map(|&((after, awaited), delay)| Dependency {
            flow,
            after,
            awaited,
            delay,
        });
        self.dependencies.extend(waits);
    }
}

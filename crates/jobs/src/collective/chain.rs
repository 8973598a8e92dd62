//! Sequences of collectives: the dependencies that let each rank begin.
//!
//! The time at which a rank continues is the latest of some events, each plus the time that the rank has computed
//! since. It is stored as the list of these events, which become the dependencies of the rank's next message.

use std::rc::Rc;

use paceline_kernel::{Bytes, Slowness, Span, Time};
use paceline_run::spec::{Awaited, Dependency, NodeId};

use paceline_run::spec::Message;

use super::graph::{Graph, Wait};
use super::{Algorithm, Layout, Options};

/// Collective executed by groups of hosts, each group by itself.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Indices in the chain's list of hosts, by rank, with the messages of each group; all groups have the same size.
    groups: Vec<(Vec<u32>, Rc<Graph>)>,
}

impl Stage {
    /// Creates a collective of `groups`, which have the same size and at least two ranks.
    ///
    /// # Panics
    /// As [`Algorithm::steps`].
    pub fn new(algorithm: Algorithm, groups: Vec<Vec<u32>>, size: Bytes) -> Self {
        let layout = Layout::flat(groups[0].len() as u32);
        let layouts = vec![layout; groups.len()];
        Self::with(algorithm, groups, size, &Options::default(), &layouts)
    }

    /// Creates a collective with options and a layout of each group.
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

    /// Returns the number of messages.
    pub fn messages(&self) -> usize {
        self.groups.iter().map(|(_, graph)| graph.parts.len()).sum()
    }
}

/// Time at which a rank continues.
#[derive(Clone, Debug, Default)]
struct Clock {
    /// Events, each with the rank's computation after it.
    events: Vec<(Wait, Span)>,
    /// Earliest time after the start.
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

/// Overlapped steps that a rank has started and not waited for: the index of the step, and the events that end it.
type Pending = Vec<(usize, Vec<Wait>)>;

/// Computation of a host at the end of an iteration, after its last dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// Host that is busy with the computation.
    pub host: NodeId,
    /// Flow that it waits for.
    pub after: u32,
    /// Event of that flow.
    pub awaited: Awaited,
    /// Duration of the computation.
    pub delay: Span,
}

/// Sequence of collectives by some hosts. A host begins the next one when it has completed the last and computed;
/// there is no barrier.
#[derive(Clone, Debug)]
pub struct Chain<'a> {
    hosts: &'a [NodeId],
    /// Slow intervals of each host; empty if there are none.
    slow: Vec<Slowness>,
    start: Time,
    /// Messages by collective and group.
    pub messages: Vec<Message>,
    /// Channel of each message.
    pub channels: Vec<u32>,
    /// Dependencies of messages on earlier ones, with the delays between them.
    pub dependencies: Vec<Dependency>,
    clocks: Vec<Clock>,
    /// Overlapped collectives of each rank, in the order in which it issued them.
    pending: Vec<Pending>,
}

impl<'a> Chain<'a> {
    /// Creates a sequence of `hosts`, which begin at `start`.
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

    /// Sets the slow intervals of hosts.
    pub fn slowed(self, slow: Vec<Slowness>) -> Self {
        Self { slow, ..self }
    }

    /// Adds a computation by every host.
    pub fn compute(&mut self, time: Span) {
        for clock in &mut self.clocks {
            clock.compute(time);
        }
    }

    /// Adds a computation by one host.
    pub(super) fn compute_at(&mut self, host: u32, time: Span) {
        self.clocks[host as usize].compute(time);
    }

    /// Makes one host wait for a message.
    pub(super) fn receive_at(&mut self, host: u32, message: u32) {
        self.clocks[host as usize].wait(&[Wait::received(message)]);
    }

    /// Adds a message between two hosts; the sender continues at once. Returns the index of the message.
    pub(super) fn send(&mut self, from: u32, to: u32, bytes: u64) -> u32 {
        let message = self.message(from, to, bytes, 0);
        self.follow(message, from);
        self.clocks[from as usize] = Clock::at([Wait::started(message)]);
        message
    }

    /// Lets every rank of a group send to the one `distance` positions further on, if there is one, and wait for the
    /// data that it receives. In a `ring`, the first follows the last.
    pub fn shift(&mut self, groups: &[Vec<u32>], bytes: Bytes, distance: i32, ring: bool) {
        for group in groups {
            let size = group.len() as i64;
            let mut received = Vec::new();
            for (rank, &from) in (0i64..).zip(group) {
                let mut target = rank + i64::from(distance);
                if ring {
                    target = target.rem_euclid(size);
                }
                if let Some(&to) = usize::try_from(target).ok().and_then(|target| group.get(target)) {
                    received.push((to, self.send(from, to, bytes.get())));
                }
            }
            for (to, message) in received {
                self.receive_at(to, message);
            }
        }
    }

    /// Makes hosts wait for the overlapped collective of a step in this iteration.
    pub fn wait(&mut self, step: usize) {
        for (clock, pending) in self.clocks.iter_mut().zip(&mut self.pending) {
            if let Some(index) = pending.iter().position(|(known, _)| *known == step) {
                // A rank's overlapped collectives run in order, so earlier ones have ended too.
                clock.wait(&pending[index].1);
                pending.drain(..=index);
            }
        }
    }

    /// Ends an iteration: hosts wait for everything that they have started. Returns their computations at the end.
    pub fn end(&mut self) -> Vec<Tail> {
        for (clock, pending) in self.clocks.iter_mut().zip(&mut self.pending) {
            if let Some((_, last)) = std::mem::take(pending).last() {
                clock.wait(last);
            }
        }
        let clocks = self.clocks.iter().zip(self.hosts);
        let tails = clocks.flat_map(|(clock, &host)| {
            let events = clock.events.iter().filter(|(_, delay)| *delay > Span::ZERO);
            events.map(move |&(wait, delay)| Tail {
                host,
                after: wait.after,
                awaited: wait.awaited,
                delay,
            })
        });
        tails.collect()
    }

    /// Adds a collective. If `overlapped`, with the index of its step, it starts after earlier overlapped ones and
    /// does not block its hosts.
    pub fn collective(&mut self, stage: &Stage, overlapped: Option<usize>) {
        for (group, graph) in &stage.groups {
            let first = self.messages.len() as u32;
            for part in &graph.parts {
                let (from, to) = (group[part.from as usize], group[part.to as usize]);
                self.message(from, to, part.bytes, part.channel);
            }
            self.enter(group, graph, first, overlapped.is_some());
            for index in 0..graph.parts.len() {
                for wait in graph.waits(index) {
                    self.depend(first + index as u32, wait.behind(first));
                }
            }
            for (&host, done) in group.iter().zip(&graph.done) {
                let done = done.iter().map(|wait| wait.behind(first));
                match overlapped {
                    Some(step) => self.pending[host as usize].push((step, done.collect())),
                    None => self.clocks[host as usize] = Clock::at(done),
                }
            }
        }
    }

    /// Adds the messages' dependencies on the start of the collective at their senders: the first message of each
    /// rank waits for the rank, and its others for that message.
    fn enter(&mut self, group: &[u32], graph: &Graph, first: u32, overlapped: bool) {
        let mut entering = vec![Vec::new(); group.len()];
        for (index, part) in (0u32..).zip(&graph.parts) {
            if part.enters {
                entering[part.from as usize].push(index);
            }
        }
        for (&host, parts) in group.iter().zip(entering) {
            let before = self.pending[host as usize].last().filter(|_| overlapped);
            let before = before.map_or_else(Vec::new, |(_, before)| before.clone());
            // A rank that waits for nothing begins at its messages' start times.
            if self.clocks[host as usize].events.is_empty() && before.is_empty() {
                continue;
            }
            // If all messages waited for the rank itself, there would be a dependency for each of them and each
            // event.
            let leads = |&&index: &&u32| graph.waits(index as usize).is_empty();
            let lead = parts.iter().find(leads).copied();
            for index in parts {
                match lead.filter(|&lead| lead != index) {
                    Some(lead) => self.depend(first + index, Wait::started(first + lead)),
                    None => {
                        self.follow(first + index, host);
                        for &wait in &before {
                            self.depend(first + index, wait);
                        }
                    }
                }
            }
        }
    }

    fn message(&mut self, from: u32, to: u32, bytes: u64, channel: u32) -> u32 {
        // A message with dependencies gets its earliest possible start.
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

    fn depend(&mut self, flow: u32, wait: Wait) {
        self.dependencies.push(Dependency {
            flow,
            after: wait.after,
            awaited: wait.awaited,
            delay: Span::ZERO,
        });
    }

    /// Makes `flow` wait until its host continues.
    fn follow(&mut self, flow: u32, host: u32) {
        let events = self.clocks[host as usize].events.iter();
        let waits = events.map(|&(wait, delay)| Dependency {
            flow,
            after: wait.after,
            awaited: wait.awaited,
            delay,
        });
        self.dependencies.extend(waits);
    }
}

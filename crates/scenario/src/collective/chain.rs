//! Collectives one after another: who begins what when which messages have arrived.

use paceline_fabric::spec::{Awaited, Dependency, NodeId};
use paceline_kernel::{Bytes, Span, Time};

use crate::traffic::Message;

use super::{Algorithm, Step};

/// A collective that groups of hosts carry out, each group by itself.
#[derive(Clone, Debug)]
pub struct Stage {
    algorithm: Algorithm,
    /// Places in the chain's list of hosts, by rank; all groups are of one size.
    groups: Vec<Vec<u32>>,
    steps: Vec<Step>,
    /// For each step, the rank that each rank receives from.
    froms: Vec<Vec<u32>>,
}

impl Stage {
    /// Of `groups`, which are of one size and have at least two ranks.
    ///
    /// # Panics
    /// As [`Algorithm::steps`].
    pub fn new(algorithm: Algorithm, groups: Vec<Vec<u32>>, size: Bytes) -> Self {
        let steps = algorithm.steps(groups[0].len() as u32, size);
        let inverse = |to: &[u32]| {
            let mut from = vec![0; to.len()];
            for (rank, &other) in (0u32..).zip(to) {
                from[other as usize] = rank;
            }
            from
        };
        Self {
            froms: steps.iter().map(|step| inverse(&step.to)).collect(),
            algorithm,
            groups,
            steps,
        }
    }

    /// How many messages it has.
    pub fn messages(&self) -> usize {
        self.groups.len() * self.groups[0].len() * self.steps.len()
    }
}

/// What some hosts do, one collective after another. A host begins the next when it is done with the last, and
/// has computed; there is no barrier.
#[derive(Clone, Debug)]
pub struct Chain<'a> {
    hosts: &'a [NodeId],
    start: Time,
    /// The messages, collective by collective, group by group, step by step, rank by rank.
    pub messages: Vec<Message>,
    /// What waits for what.
    pub dependencies: Vec<Dependency>,
    /// What each host's next message waits for.
    done: Vec<Vec<(u32, Awaited)>>,
}

impl<'a> Chain<'a> {
    /// Of `hosts`, which begin at `start`.
    pub fn new(hosts: &'a [NodeId], start: Time) -> Self {
        Self {
            hosts,
            start,
            messages: Vec::new(),
            dependencies: Vec::new(),
            done: vec![Vec::new(); hosts.len()],
        }
    }

    /// Adds a collective, before which every host computes for `compute`.
    pub fn add(&mut self, stage: &Stage, compute: Span) {
        for group in &stage.groups {
            let first = self.messages.len() as u32;
            for step in &stage.steps {
                let message = |(rank, &host): (usize, &u32)| Message {
                    src: self.hosts[host as usize],
                    dst: self.hosts[group[step.to[rank] as usize] as usize],
                    size: Bytes::new(step.bytes[rank]),
                    // Of those that wait for others, the earliest possible one.
                    start: self.start.saturating_add(if self.done[host as usize].is_empty() {
                        compute
                    } else {
                        Span::ZERO
                    }),
                };
                self.messages.extend(group.iter().enumerate().map(message));
            }
            if stage.algorithm == Algorithm::LinearAllToAll {
                self.at_once(stage, group, first, compute);
            } else {
                self.step_by_step(stage, group, first, compute);
            }
        }
    }

    /// `flow` waits for what its host has to have done, and then computes.
    fn follow(&mut self, flow: u32, host: u32, compute: Span) {
        let waits = self.done[host as usize]
            .iter()
            .map(|&(after, awaited)| Dependency {
                flow,
                after,
                awaited,
                delay: compute,
            });
        self.dependencies.extend(waits);
    }

    /// A rank's step waits for what it receives in the step before, and does not overtake its own:
    /// that has started or, where both directions are waited for, is acknowledged.
    fn step_by_step(&mut self, stage: &Stage, group: &[u32], first: u32, compute: Span) {
        let own = if stage.algorithm == Algorithm::PairwiseAllToAll {
            Awaited::Acknowledged
        } else {
            Awaited::Started
        };
        let ranks = group.len() as u32;
        for (step, froms) in (0u32..).zip(&stage.froms) {
            for (rank, &host) in (0u32..).zip(group) {
                self.follow(
                    first + step * ranks + rank,
                    host,
                    if step == 0 { compute } else { Span::ZERO },
                );
            }
            for (rank, &host) in (0u32..).zip(group) {
                let message = |rank: u32| first + step * ranks + rank;
                let done = &mut self.done[host as usize];
                done.clear();
                done.push((message(froms[rank as usize]), Awaited::Received));
                done.push((message(rank), own));
            }
        }
    }

    /// A rank's first message waits for all of the collective before, the others for the first.
    fn at_once(&mut self, stage: &Stage, group: &[u32], first: u32, compute: Span) {
        let ranks = group.len() as u32;
        for (rank, &host) in (0u32..).zip(group) {
            let message = |step: u32, rank: u32| first + step * ranks + rank;
            let steps = || (0u32..).zip(&stage.froms);
            let flow = message(0, rank);
            self.follow(flow, host, compute);
            let done = &mut self.done[host as usize];
            if !done.is_empty() {
                let others = steps().skip(1).map(|(step, _)| Dependency {
                    flow: message(step, rank),
                    after: flow,
                    awaited: Awaited::Started,
                    delay: Span::ZERO,
                });
                self.dependencies.extend(others);
            }
            done.clear();
            for (step, froms) in steps() {
                done.push((message(step, froms[rank as usize]), Awaited::Received));
                done.push((message(step, rank), Awaited::Acknowledged));
            }
        }
    }
}

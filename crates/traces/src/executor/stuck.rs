//! Explanation of a deadlock: operations and what they wait for.

use super::Executor;
use crate::program::{OperationId, Rank};
use crate::waiting::ANY;

/// Operation that waits for an event which will never happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Rank of the operation.
    pub rank: Rank,
    /// Sentence for users, with names of operations.
    pub text: String,
}

/// Number of operations that are listed.
const MOST: usize = 10;

impl Stuck {
    pub(super) fn new(rank: Rank, text: String) -> Self {
        Self { rank, text }
    }
}

/// Lists the first of many ranks.
fn some(all: &[Rank]) -> String {
    let first: Vec<String> = all.iter().take(8).map(ToString::to_string).collect();
    let more = if all.len() > 8 {
        format!(" and {} more", all.len() - 8)
    } else {
        String::new()
    };
    let noun = if all.len() == 1 { "rank" } else { "ranks" };
    format!("{noun} {}{more}", first.join(", "))
}

impl Executor {
    /// Returns the first ten waiting operations if nothing is in flight and operations remain; otherwise none.
    pub fn stuck(&self) -> Vec<Stuck> {
        if self.is_done() || !self.is_idle() {
            return Vec::new();
        }
        let mut found = self.misfits.clone();
        self.stuck_collectives(&mut found);
        for rank in 0..self.ranks.len() as Rank {
            if found.len() >= MOST {
                break;
            }
            self.stuck_messages(rank, &mut found);
        }
        // Operations that have not started are listed only if no started one explains the deadlock.
        for rank in 0..self.ranks.len() as Rank {
            if found.len() >= MOST {
                break;
            }
            self.not_started(rank, &mut found);
        }
        found.truncate(MOST);
        found
    }

    /// Returns the first ten arrived messages that no receive has taken. Once all ranks have ended, none will.
    pub fn unclaimed(&self) -> Vec<Stuck> {
        let arrived = (0..self.program.ranks()).flat_map(|rank| self.arrived.of_rank(rank));
        let found = arrived.map(|(key, _)| {
            let text = format!(
                "a message of rank {} with tag {} has come to rank {}, and no receive has taken it",
                key.source, key.tag, key.rank
            );
            Stuck::new(key.rank, text)
        });
        found.take(MOST).collect()
    }

    fn name(&self, rank: Rank, op: OperationId) -> String {
        format!("{} of rank {rank}", self.program.name(rank, op))
    }

    fn stuck_collectives(&self, found: &mut Vec<Stuck>) {
        for instance in self.instances.iter() {
            let members = &self.groups[instance.group as usize].members;
            let started = instance.members.iter().zip(members.iter());
            let absent: Vec<Rank> = started
                .clone()
                .filter(|(m, _)| m.job.is_none())
                .map(|(_, &r)| r)
                .collect();
            let Some((job, inner)) = started
                .filter(|(m, _)| !m.done)
                .find_map(|(m, _)| m.job)
                .map(|job| (job, &instance.inner))
            else {
                continue;
            };
            let what = format!(
                "{} waits in {:?} number {} of group {}",
                self.name(job.rank, job.op),
                instance.kind,
                instance.number,
                instance.group
            );
            let why = if absent.is_empty() {
                let within = inner.as_ref().map(|inner| inner.stuck()).unwrap_or_default();
                match within.first() {
                    Some(first) => format!("whose own program is stuck: {}", first.text),
                    None => "which no member can go on with".to_string(),
                }
            } else {
                format!("for {}, not in it yet", some(&absent))
            };
            found.push(Stuck::new(job.rank, format!("{what} {why}")));
            if found.len() >= MOST {
                return;
            }
        }
    }

    fn stuck_messages(&self, rank: Rank, found: &mut Vec<Stuck>) {
        for (key, request) in self.arrived.of_rank(rank) {
            if let Some(send) = request {
                found.push(Stuck::new(
                    send.rank,
                    format!(
                        "{} waits for a receive of rank {rank} with tag {}",
                        self.name(send.rank, send.op),
                        key.tag
                    ),
                ));
            }
        }
        for (posted, op) in self.posted.of_rank(rank) {
            let from = match posted.source {
                ANY => "any rank".to_string(),
                source => format!("rank {source}"),
            };
            let tag = match posted.tag {
                ANY => "any tag".to_string(),
                tag => format!("tag {tag}"),
            };
            // A message that fits no receive is often the cause: a wrong tag or size.
            let mut arrived = self.arrived.of_rank(rank).map(|(key, _)| key);
            let other = arrived.find(|key| posted.source == ANY || posted.source == key.source);
            let other = other.map_or(String::new(), |key| {
                let size = match key.size {
                    0 => String::new(),
                    size => format!(" and {size} B"),
                };
                format!(
                    " (a message of rank {} with tag {}{size} has come and fits no receive)",
                    key.source, key.tag
                )
            });
            found.push(Stuck::new(
                rank,
                format!(
                    "{} waits for a message of {from} with {tag}{other}",
                    self.name(rank, op)
                ),
            ));
        }
    }

    fn not_started(&self, rank: Rank, found: &mut Vec<Stuck>) {
        let state = &self.ranks[rank as usize];
        if state.ended {
            return;
        }
        for op in state.queued() {
            found.push(Stuck::new(
                rank,
                format!("{} waits for its turn", self.name(rank, op)),
            ));
            if found.len() >= MOST {
                return;
            }
        }
        for op in state.half_free() {
            let left = state.remaining.get(&op).copied().unwrap_or(0);
            found.push(Stuck::new(
                rank,
                format!(
                    "{} waits for {left} more of the operations that it depends on",
                    self.name(rank, op)
                ),
            ));
            if found.len() >= MOST {
                return;
            }
        }
        if found.is_empty() && state.left() > 0 {
            found.push(Stuck::new(
                rank,
                format!(
                    "{} operations of rank {rank} never became free: they wait for each other",
                    state.left()
                ),
            ));
        }
    }
}

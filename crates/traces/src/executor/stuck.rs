//! Who waits for whom when nothing goes on.

use super::Executor;
use crate::program::{OperationId, Rank, Work};

/// An operation that waits for something that never comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Its rank.
    pub rank: Rank,
    /// A sentence for people, with names.
    pub text: String,
}

/// How many are listed.
const MOST: usize = 10;

impl Stuck {
    pub(super) fn new(rank: Rank, text: String) -> Self {
        Self { rank, text }
    }
}

/// The first of many, for people.
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
    /// The first ten of those that wait, if nothing is under way and operations remain; otherwise none.
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
        // What has not started is worth a line only where nothing that has started says more.
        for rank in 0..self.ranks.len() as Rank {
            if found.len() >= MOST {
                break;
            }
            self.not_started(rank, &mut found);
        }
        found.truncate(MOST);
        found
    }

    /// The first ten messages that have come and that no receive has taken: when all ranks have ended, no receive will.
    pub fn unclaimed(&self) -> Vec<Stuck> {
        let ranks = (0..).zip(&self.ranks);
        let arrived = ranks.flat_map(|(rank, state)| {
            let arrived = state.matching.arrived();
            arrived.into_iter().map(move |arrival| (rank, arrival.key))
        });
        let found = arrived.map(|(rank, key)| {
            let text = format!(
                "a message of rank {} with tag {} has come to rank {rank}, and no receive has taken it",
                key.from, key.tag
            );
            Stuck::new(rank, text)
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
        let matching = &self.ranks[rank as usize].matching;
        for arrival in matching.arrived() {
            if let Some(send) = arrival.waiting_send {
                let from = arrival.key.from;
                found.push(Stuck::new(
                    from,
                    format!(
                        "{} waits for a receive of rank {rank} with tag {}",
                        self.name(from, send),
                        arrival.key.tag
                    ),
                ));
            }
        }
        for posted in matching.posted() {
            let from = posted
                .from
                .map_or("any rank".to_string(), |f| format!("rank {f}"));
            let tag = posted.tag.map_or("any tag".to_string(), |t| format!("tag {t}"));
            let other: Vec<String> = matching
                .arrived()
                .iter()
                .filter(|a| posted.from.is_none_or(|f| f == a.key.from))
                .take(1)
                .map(|a| {
                    let size = match a.key.size {
                        0 => String::new(),
                        size => format!(" and {size} B"),
                    };
                    format!(
                        " (a message of rank {} with tag {}{size} has come and fits no receive)",
                        a.key.from, a.key.tag
                    )
                })
                .collect();
            found.push(Stuck::new(
                rank,
                format!(
                    "{} waits for a message of {from} with {tag}{}",
                    self.name(rank, posted.op),
                    other.concat()
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
            let what = match self.program.operation(rank, op).work {
                Work::Collective(_) => "waits for its turn, or for the other members to issue it",
                _ => "waits for its turn",
            };
            found.push(Stuck::new(rank, format!("{} {what}", self.name(rank, op))));
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

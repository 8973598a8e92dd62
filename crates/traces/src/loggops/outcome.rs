//! Results of a model, and the explanation of a deadlock.

use super::element::Element;
use super::model::{LAST, Model};
use super::{Outcome, Stuck};
use crate::trouble::{Caution, Trouble};
use crate::waiting::ANY;

/// Largest number of waits that are listed.
const TOLD: usize = 10;

impl Model<'_> {
    /// Returns the ends of all ranks, with the waiting operations if any remain.
    pub(super) fn outcome(self) -> Result<Outcome, Trouble> {
        let program = self.program;
        let all: u64 = (0..program.ranks())
            .map(|rank| u64::from(program.operations(rank)))
            .sum();
        let ends: Vec<u64> = self
            .cpu
            .0
            .iter()
            .map(|clocks| clocks.iter().copied().max().unwrap_or(0))
            .collect();
        if let Some(rank) = ends.iter().position(|end| *end > LAST) {
            let message = format!("is not over at {LAST} ns (213 days), the last time there is");
            return Err(Trouble::at(format_args!("rank {rank}"), message));
        }
        // A send that never ends only blocks the operations that wait for it.
        let stuck = (self.done + (self.endless.len() as u64) < all).then(|| Stuck {
            remaining: all - self.done,
            waits: self.waits(),
        });
        let cautions = self.cautions();
        Ok(Outcome {
            ends,
            done: self.done,
            stuck,
            cautions,
        })
    }

    /// Describes receives without a message, and sends without a receive.
    fn waits(&self) -> Vec<String> {
        let receives = self.posted.values();
        let sends = self.arrived.values();
        let waiting = |element: &Element| element.size > self.parameters.eager;
        let sends: Vec<&Element> = sends
            .iter()
            .map(|slot| &self.elements[*slot as usize])
            .filter(|e| waiting(e))
            .collect();
        let mut waits = Vec::new();
        for send in sends.iter().take(TOLD) {
            waits.push(format!(
                "{} sends {} bytes (more than {}) and waits for rank {} to post a receive with tag {}",
                self.program.name(send.peer, send.number),
                send.size,
                self.parameters.eager,
                send.rank,
                send.tag
            ));
        }
        for (send, receive) in self.endless.iter().take(TOLD - waits.len()) {
            waits.push(format!(
                "{} sends {} bytes (more than {}) and is never done: {}, which has found its message, expects {}",
                self.program.name(send.peer, send.number),
                send.size,
                self.parameters.eager,
                self.program.name(receive.rank, receive.number),
                receive.size
            ));
        }
        for slot in receives.iter().take(TOLD - waits.len()) {
            let receive = &self.elements[*slot as usize];
            let source = if receive.peer == ANY {
                "any rank".into()
            } else {
                format!("rank {}", receive.peer)
            };
            let tag = if receive.tag == ANY {
                "any tag".into()
            } else {
                format!("tag {}", receive.tag)
            };
            waits.push(format!(
                "{} waits for a message from {source} with {tag}",
                self.program.name(receive.rank, receive.number)
            ));
        }
        let more = sends.len() + self.endless.len() + receives.len() - waits.len();
        if more > 0 {
            waits.push(format!("and {more} more"));
        }
        if waits.is_empty() {
            waits.push("no operation that remains was ever free: they wait for each other in a cycle".into());
        }
        waits
    }

    fn cautions(&self) -> Vec<Caution> {
        let name = |at: (u32, u32)| self.program.name(at.0, at.1);
        let mut cautions = Vec::new();
        if let (count, Some(first)) = self.early {
            cautions.push(format!(
                "{count} operations start before what they wait for is over, on another cpu, as in LogGOPSim: {} first",
                name(first)
            ));
        }
        if let (count, Some((message, receive))) = &self.unequal {
            cautions.push(format!(
                "{count} receives expect another size than their message has; that of the one which finds the other counts: {} sends \
                 {} bytes, {} expects {} first",
                name((message.peer, message.number)),
                message.size,
                name((receive.rank, receive.number)),
                receive.size
            ));
        }
        if let Some((send, receive)) = self.endless.first() {
            cautions.push(format!(
                "{} sends never end, as in both programs: the receive that finds a message of more than {} bytes expects no more \
                 than these: {} sends {} bytes, {} expects {} first",
                self.endless.len(),
                self.parameters.eager,
                name((send.peer, send.number)),
                send.size,
                name((receive.rank, receive.number)),
                receive.size
            ));
        }
        let unreceived = self.arrived.values();
        let eager = |slot: &&u32| self.elements[**slot as usize].size <= self.parameters.eager;
        if let Some(first) = unreceived.iter().find(eager) {
            let count = unreceived.iter().filter(eager).count();
            let message = &self.elements[*first as usize];
            cautions.push(format!(
                "{count} messages arrive and are never received: {} first, at rank {}",
                name((message.peer, message.number)),
                message.rank
            ));
        }
        cautions.into_iter().map(|text| Caution { text }).collect()
    }
}

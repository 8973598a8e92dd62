//! Pipeline parallelism: stages that pass microbatches on.

use paceline_kernel::{Bytes, Span};

use super::chain::Chain;

/// In which order a stage works on microbatches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Forward and backward in turn, once the stages after it have something to work on (1F1B).
    OneForwardOneBackward,
    /// All forward, then all backward (GPipe).
    AllForward,
}

/// A pipeline of the ranks of a job. A stage is as many consecutive ranks as every other; each passes on to the rank at the
/// same place of the next stage, and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// The stages.
    pub stages: u32,
    /// The microbatches of an iteration.
    pub microbatches: u32,
    /// The time that a rank computes for a microbatch forward.
    pub forward: Span,
    /// The same backward.
    pub backward: Span,
    /// What a rank passes on for each, in either direction.
    pub size: Bytes,
    /// The order.
    pub schedule: Schedule,
}

/// What a stage does with a microbatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    Forward(u32),
    Backward(u32),
}

impl Pipeline {
    /// The time that a rank computes in an iteration.
    pub fn compute(&self) -> Span {
        let once = self.forward.as_ps().saturating_add(self.backward.as_ps());
        Span::from_ps(once.saturating_mul(u64::from(self.microbatches)))
    }

    /// How many messages `ranks` ranks send in an iteration.
    pub fn messages(&self, ranks: u32) -> f64 {
        let links = f64::from(self.stages - 1) * f64::from(ranks / self.stages);
        2.0 * links * f64::from(self.microbatches)
    }

    /// What a stage does, in order.
    fn passes(&self, stage: u32) -> Vec<Pass> {
        let all = self.microbatches;
        // Forward so many times before the first backward.
        let ahead = match self.schedule {
            Schedule::OneForwardOneBackward => (self.stages - stage).min(all),
            Schedule::AllForward => all,
        };
        let mut passes: Vec<Pass> = (0..ahead).map(Pass::Forward).collect();
        for done in 0..all {
            passes.push(Pass::Backward(done));
            passes.extend((ahead + done < all).then_some(Pass::Forward(ahead + done)));
        }
        passes
    }

    /// Adds an iteration of it. A rank waits for what it needs, computes, passes the result on and goes on at once.
    ///
    /// # Panics
    /// If stages are unequal.
    pub fn add(&self, chain: &mut Chain<'_>, ranks: u32) {
        assert!(ranks.is_multiple_of(self.stages));
        let width = ranks / self.stages;
        let passes: Vec<Vec<Pass>> = (0..self.stages).map(|stage| self.passes(stage)).collect();
        let mut next = vec![0; self.stages as usize];
        // What each rank has been sent for a microbatch, by the direction.
        let none = vec![vec![None; self.microbatches as usize]; ranks as usize];
        let (mut activations, mut gradients) = (none.clone(), none);
        // A stage goes on as far as its neighbours have come; the first and the last stage always do at some time.
        while let Some(stage) = (0..self.stages).find(|&stage| {
            let Some(pass) = passes[stage as usize].get(next[stage as usize]) else {
                return false;
            };
            let rank = (stage * width) as usize;
            match *pass {
                Pass::Forward(batch) => stage == 0 || activations[rank][batch as usize].is_some(),
                Pass::Backward(batch) => {
                    stage + 1 == self.stages || gradients[rank][batch as usize].is_some()
                }
            }
        }) {
            let pass = passes[stage as usize][next[stage as usize]];
            next[stage as usize] += 1;
            for rank in stage * width..(stage + 1) * width {
                let (received, batch, time, to) = match pass {
                    Pass::Forward(batch) => (&activations, batch, self.forward, rank.checked_add(width)),
                    Pass::Backward(batch) => (&gradients, batch, self.backward, rank.checked_sub(width)),
                };
                if let Some(message) = received[rank as usize][batch as usize] {
                    chain.receive_at(rank, message);
                }
                chain.compute_at(rank, time);
                if let Some(to) = to.filter(|&to| to < ranks) {
                    let message = Some(chain.send(rank, to, self.size.get()));
                    let sent = match pass {
                        Pass::Forward(_) => &mut activations,
                        Pass::Backward(_) => &mut gradients,
                    };
                    sent[to as usize][batch as usize] = message;
                }
            }
        }
    }
}

//! Pipeline parallelism: stages that pass on microbatches.

use paceline_kernel::{Bytes, Span};

use super::chain::Chain;

/// Order in which a stage processes microbatches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Alternating forward and backward passes, once later stages have work (1F1B).
    OneForwardOneBackward,
    /// All forward passes, then all backward passes (GPipe).
    AllForward,
}

/// Pipeline of a job's ranks. Each stage has the same number of consecutive ranks; each rank exchanges data with the
/// ranks of the same index in the next and the previous stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// Number of stages, which divides the number of ranks.
    pub stages: u32,
    /// Number of microbatches per iteration.
    pub microbatches: u32,
    /// Computation of a rank in the forward pass of a microbatch.
    pub forward: Span,
    /// Computation of a rank in the backward pass of a microbatch.
    pub backward: Span,
    /// Data that a rank passes on per microbatch, in each direction.
    pub size: Bytes,
    /// Order of the passes.
    pub schedule: Schedule,
}

/// Pass of a microbatch through a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    Forward(u32),
    Backward(u32),
}

impl Pipeline {
    /// Returns a rank's computation in an iteration.
    pub fn compute(&self) -> Span {
        let once = self.forward.as_ps().saturating_add(self.backward.as_ps());
        Span::from_ps(once.saturating_mul(u64::from(self.microbatches)))
    }

    /// Returns the number of messages that `ranks` ranks send in an iteration.
    pub fn messages(&self, ranks: u32) -> f64 {
        let links = f64::from(self.stages - 1) * f64::from(ranks / self.stages);
        2.0 * links * f64::from(self.microbatches)
    }

    /// Returns the passes of a stage, in order.
    fn passes(&self, stage: u32) -> Vec<Pass> {
        let all = self.microbatches;
        // Number of forward passes before the first backward pass.
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

    /// Adds an iteration. A rank waits for its input, computes, passes the result on and continues at once.
    ///
    /// # Panics
    /// If stages have different sizes.
    pub fn add(&self, chain: &mut Chain<'_>, ranks: u32) {
        assert!(ranks.is_multiple_of(self.stages));
        let width = ranks / self.stages;
        let passes: Vec<Vec<Pass>> = (0..self.stages).map(|stage| self.passes(stage)).collect();
        let mut next = vec![0; self.stages as usize];
        // Last message to each rank for a microbatch, by direction.
        let none = vec![vec![None; self.microbatches as usize]; ranks as usize];
        let (mut activations, mut gradients) = (none.clone(), none);
        // A stage proceeds as far as its neighbours allow. The first and the last stage always can at some time, so
        // the loop ends.
        while let Some(stage) = (0..self.stages).find(|&stage| {
            let Some(pass) = passes[stage as usize].get(next[stage as usize]) else {
                return false;
            };
            // All ranks of a stage proceed alike, so the first one decides.
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

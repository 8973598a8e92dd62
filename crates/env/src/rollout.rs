//! The actions of an episode, with which it can be made again.

use paceline_fabric::spec::RecordSpec;

use crate::batch::Batch;
use crate::environment::Environment;
use crate::error::Error;

/// The actions of an episode: what happened follows from them, the scenario and the seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rollout {
    /// The seed of the episode.
    pub seed: u64,
    /// For each poll how many agents waited.
    pub polls: Vec<u32>,
    /// Those agents, poll after poll.
    pub agents: Vec<u32>,
    /// Their actions.
    pub actions: Vec<f32>,
    /// Whether the run went on behind the last of them.
    pub polled: bool,
}

impl Rollout {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            ..Self::default()
        }
    }

    pub(crate) fn push(&mut self, agents: &[u32], actions: &[f32]) {
        self.polled = false;
        self.polls.push(agents.len() as u32);
        self.agents.extend_from_slice(agents);
        self.actions.extend_from_slice(actions);
    }

    /// Makes the episode again, in a copy of an environment, up to where the actions end. What `record` says is recorded;
    /// that moves nothing.
    ///
    /// # Errors
    /// The actions are not of such an environment.
    pub fn replay(
        &self,
        environment: &Environment,
        record: Option<RecordSpec>,
    ) -> Result<Environment, Error> {
        let mut again = environment.beginning(self.seed, record)?;
        let mut batch = Batch::default();
        let (mut from, polls) = (0, self.polls.iter().enumerate());
        for (poll, &count) in polls {
            again.poll(&mut batch)?;
            let until = from + count as usize;
            let wrong = |message: String| Error::Rollout {
                poll: poll + 1,
                message,
            };
            let (Some(agents), Some(actions)) = (self.agents.get(from..until), self.actions.get(from..until))
            else {
                return Err(wrong("it ends early".to_string()));
            };
            if batch.agents != agents {
                return Err(wrong(format!(
                    "agents {:?} wait, and it has actions for {agents:?}",
                    batch.agents
                )));
            }
            again.submit(actions)?;
            from = until;
        }
        if self.polled {
            again.poll(&mut batch)?;
        }
        Ok(again)
    }
}

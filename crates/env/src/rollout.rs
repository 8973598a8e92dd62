//! Actions of an episode, for replay.

use paceline_fabric::spec::RecordSpec;

use crate::batch::Batch;
use crate::environment::Environment;
use crate::error::Error;

/// Actions of an episode. Together with the scenario and the seed they determine it completely.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rollout {
    /// Seed of the episode.
    pub seed: u64,
    /// Number of waiting agents at each poll.
    pub polls: Vec<u32>,
    /// Waiting agents of all polls in order.
    pub agents: Vec<u32>,
    /// Actions of these agents.
    pub actions: Vec<f32>,
    /// True if the run was advanced after the last actions.
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

    /// Repeats the episode in a copy of an environment, up to the last actions. `record` selects the records
    /// and does not influence the run.
    ///
    /// # Errors
    /// The actions do not fit the environment.
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
            // The same scenario and seed would give the same agents.
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

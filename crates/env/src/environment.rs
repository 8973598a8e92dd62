//! Run whose flows ask for actions, as repeated episodes.

use paceline_congestion::agent::{Action, Feature};
use paceline_congestion::external::Feedback;
use paceline_congestion::params::ParamValue as _;
use paceline_fabric::spec::RecordSpec;
use paceline_fabric::{Progress, Simulation};
use paceline_kernel::Span;
use paceline_lab::run::{Finished, patience};
use paceline_scenario::{EXTERNAL, Resolved};

use crate::agents::{Agents, Roster};
use crate::batch::{Batch, Left};
use crate::config::{Config, Source};
use crate::episode::{Episode, Stage};
use crate::error::Error;
use crate::rollout::Rollout;

/// Run whose flows ask for actions, as repeated episodes.
#[derive(Clone)]
pub struct Environment {
    source: Source,
    config: Config,
    input: Resolved,
    /// Lower limit of the decision latency.
    latency: Span,
    roster: Roster,
    /// State of the run before its first event, from which each episode starts.
    pristine: Simulation,
    episode: Option<Episode>,
    rollout: Rollout,
}

impl Environment {
    /// Makes an environment of a scenario. If no flow is under the scheme `external`, it replaces the scheme
    /// in `[cc]`.
    ///
    /// # Errors
    /// The scenario is wrong, it has no agents, or the configuration does not fit.
    pub fn new(source: Source, config: Config) -> Result<Self, Error> {
        config.check()?;
        let input = source.resolve(None)?;
        let latency = check(&input, &config)?;
        let (roster, pristine) = build(&input, &config)?;
        let rollout = Rollout::new(input.seed);
        let mut environment = Self {
            source,
            config,
            input,
            latency,
            roster,
            pristine,
            episode: None,
            rollout,
        };
        environment.begin();
        Ok(environment)
    }

    /// Returns the configuration of observations, actions and rewards.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the scenario of the present episode.
    pub fn scenario(&self) -> &Resolved {
        &self.input
    }

    /// Returns the upper limit of agents in this episode.
    pub fn agents(&self) -> usize {
        self.roster.len()
    }

    /// Starts a new episode, in any state of the old one, with another seed if one is given.
    ///
    /// # Errors
    /// The environment is closed, or the scenario has become invalid.
    pub fn reset(&mut self, seed: Option<u64>) -> Result<(), Error> {
        self.open()?;
        if let Some(seed) = seed.filter(|&seed| seed != self.input.seed) {
            let input = self.source.resolve(Some(seed))?;
            self.latency = check(&input, &self.config)?;
            (self.roster, self.pristine) = build(&input, &self.config)?;
            self.input = input;
        }
        self.begin();
        Ok(())
    }

    /// Returns a copy at the start of an episode with this seed and these records.
    pub(crate) fn beginning(&self, seed: u64, record: Option<RecordSpec>) -> Result<Self, Error> {
        let mut input = self.source.resolve(Some(seed))?;
        if let Some(record) = record {
            input.run_mut().record = record;
        }
        let latency = check(&input, &self.config)?;
        let (roster, pristine) = build(&input, &self.config)?;
        let mut anew = Self {
            source: self.source.clone(),
            config: self.config.clone(),
            rollout: Rollout::new(seed),
            episode: None,
            input,
            latency,
            roster,
            pristine,
        };
        anew.begin();
        Ok(anew)
    }

    fn begin(&mut self) {
        self.rollout = Rollout::new(self.input.seed);
        let (simulation, width) = (self.pristine.clone(), self.config.width());
        self.episode = Some(Episode::new(simulation, &self.roster, width));
    }

    /// Releases the simulation. All later calls except accessors of the configuration return errors.
    pub fn close(&mut self) {
        self.episode = None;
    }

    /// Returns the progress of the episode's run.
    ///
    /// # Errors
    /// The environment is closed.
    pub fn progress(&self) -> Result<Progress, Error> {
        Ok(self.open()?.simulation.progress())
    }

    fn open(&self) -> Result<&Episode, Error> {
        self.episode.as_ref().ok_or(Error::Closed)
    }

    /// Returns true if the episode is over.
    ///
    /// # Errors
    /// The environment is closed.
    pub fn is_over(&self) -> Result<bool, Error> {
        Ok(self.open()?.stage == Stage::Over)
    }

    /// Advances the run until actions are needed or the episode ends; does nothing while actions are awaited.
    /// Returns the number of waiting agents; 0 if the episode is over.
    ///
    /// # Errors
    /// The environment is closed.
    pub fn advance(&mut self) -> Result<usize, Error> {
        let episode = self.episode.as_mut().ok_or(Error::Closed)?;
        if episode.stage == Stage::Running {
            episode.advance(&self.config, &self.roster, self.latency);
            self.rollout.polled = true;
        }
        Ok(episode.waiting.len())
    }

    /// Appends the rows of waiting agents to `batch`, with the environment's index `number`.
    pub(crate) fn append(&mut self, number: u32, batch: &mut Batch) {
        let Some(episode) = &mut self.episode else {
            return;
        };
        let width = self.config.width();
        for (index, &agent) in episode.waiting.iter().enumerate() {
            let known = &episode.agents[agent as usize];
            batch.environments.push(number);
            batch.agents.push(agent);
            batch.times.push(known.asked_at);
            batch.rewards.push(known.reward);
            batch.firsts.push(known.first);
            if self.config.measures {
                batch.measured.push(episode.measured[index].0);
            }
            let from = agent as usize * width;
            batch
                .observations
                .extend_from_slice(&episode.seen[from..from + width]);
        }
        for left in episode.left.drain(..) {
            batch.left.push(Left {
                environment: number,
                ..left
            });
        }
        if episode.stage == Stage::Over {
            batch.over.push(number);
        }
    }

    /// Advances the run until actions are needed and fills `batch` with the waiting agents, their
    /// observations and rewards, and the agents that have left. If it has no rows, the episode is over.
    ///
    /// # Errors
    /// The environment is closed.
    pub fn poll(&mut self, batch: &mut Batch) -> Result<(), Error> {
        self.advance()?;
        batch.clear(self.config.width());
        self.append(0, batch);
        Ok(())
    }

    /// Applies an action for each waiting agent, in the order of the poll.
    ///
    /// # Errors
    /// No agent waits, the number of actions is wrong, or one is not finite; the state is unchanged then.
    pub fn submit(&mut self, actions: &[f32]) -> Result<(), Error> {
        self.check_actions(actions)?;
        self.act(actions);
        Ok(())
    }

    /// Returns an error if the actions do not fit the waiting agents.
    pub(crate) fn check_actions(&self, actions: &[f32]) -> Result<(), Error> {
        let episode = self.asked()?;
        if actions.len() != episode.waiting.len() {
            return Err(Error::Shape {
                found: actions.len(),
                expected: episode.waiting.len(),
            });
        }
        let wrong = (episode.waiting.iter().zip(actions)).find(|(_, action)| !action.is_finite());
        match wrong {
            Some((&agent, &value)) => Err(Error::NotANumber {
                agent,
                value,
                low: Action::RANGE.0,
                high: Action::RANGE.1,
            }),
            None => Ok(()),
        }
    }

    /// Applies actions for the named agents, in any order.
    ///
    /// # Errors
    /// As [`Self::submit`]; in addition an agent does not wait, is named twice, or is missing.
    pub fn submit_for(&mut self, agents: &[u32], actions: &[f32]) -> Result<(), Error> {
        let episode = self.asked()?;
        let mut ordered = vec![f32::NAN; episode.waiting.len()];
        let mut named = vec![false; ordered.len()];
        for (&agent, &action) in agents.iter().zip(actions) {
            let refuse = |why| Err(Error::NotWaiting { agent, why });
            let Some(known) = episode.agents.get(agent as usize) else {
                return refuse("does not exist");
            };
            let Some(index) = (known.index as usize).checked_sub(1) else {
                return refuse(
                    match (
                        known.begun,
                        known.complete == self.roster.queue_pairs[agent as usize],
                    ) {
                        (false, _) => "has not asked yet",
                        (true, true) => "has left",
                        (true, false) => "does not wait for an action",
                    },
                );
            };
            if std::mem::replace(&mut named[index], true) {
                return refuse("is named twice");
            }
            ordered[index] = action;
        }
        if agents.len() != ordered.len() || actions.len() != ordered.len() {
            return Err(Error::Shape {
                found: agents.len().min(actions.len()),
                expected: ordered.len(),
            });
        }
        self.submit(&ordered)
    }

    fn asked(&self) -> Result<&Episode, Error> {
        let episode = self.open()?;
        match episode.stage {
            Stage::Asked => Ok(episode),
            Stage::Running => Err(Error::NotPolled),
            Stage::Over => Err(Error::Over {
                now: episode.simulation.progress().now,
            }),
        }
    }

    /// Applies actions that have been checked.
    pub(crate) fn act(&mut self, actions: &[f32]) {
        if let Some(episode) = &mut self.episode {
            self.rollout.push(&episode.waiting, actions);
            episode.act(&self.config, &self.roster, actions);
        }
    }

    /// Returns the actions of this episode up to now.
    pub fn rollout(&self) -> &Rollout {
        &self.rollout
    }

    /// Returns the scenario of this episode with all decisions up to now. A run of it repeats the episode.
    ///
    /// # Errors
    /// The environment is closed.
    pub fn decided(&self) -> Result<Resolved, Error> {
        Ok(self.input.clone().decided(self.open()?.decisions()))
    }

    /// Ends the episode at the present time and returns its run as a result of the laboratory. A reset starts
    /// the next one.
    ///
    /// # Errors
    /// The environment is closed, or the run violated an invariant.
    pub fn finish(&mut self) -> Result<Finished, Error> {
        Ok(self.finish_as(EXTERNAL)?.1)
    }

    /// Ends the episode like [`Self::finish`], and also returns the scenario of [`Self::decided`]. Results
    /// show `name` as the scheme that decided.
    ///
    /// # Errors
    /// As [`Self::finish`].
    pub fn finish_as(&mut self, name: &str) -> Result<(Resolved, Finished), Error> {
        let input = self.decided()?.calling(EXTERNAL, name);
        let simulation = self.open()?.simulation.clone();
        let finished = paceline_lab::run::conclude(&input, simulation)?;
        if let Some(episode) = &mut self.episode {
            episode.stage = Stage::Over;
            episode.waiting.clear();
        }
        Ok((input, finished))
    }
}

fn build(input: &Resolved, config: &Config) -> Result<(Roster, Simulation), Error> {
    let simulation = Simulation::new(input.run.clone()).map_err(|source| Error::Build {
        scenario: input.name.clone(),
        source,
    })?;
    Ok((Roster::new(&input.run, config.agents), simulation))
}

/// Checks scenario and configuration, and returns the lower limit of the decision latency.
fn check(input: &Resolved, config: &Config) -> Result<Span, Error> {
    let run = &input.run;
    let no_agents = |why: String| Error::NoAgents {
        scenario: input.name.clone(),
        why,
    };
    if input.fidelity.has_own_network() || run.model.is_some() {
        let why = format!("in the fidelity `{}` senders ask nobody", input.fidelity.name());
        return Err(no_agents(why));
    }
    let of_flows = |index: usize| run.flows.iter().any(|flow| usize::from(flow.scheme) == index);
    let mut asking = (run.schemes.iter().enumerate())
        .filter(|(index, scheme)| scheme.config.name() == EXTERNAL && of_flows(*index))
        .map(|(_, scheme)| &scheme.config)
        .peekable();
    // A scheme that no flow uses would leave the learner waiting for a first question that never comes.
    if asking.peek().is_none() {
        let why = match run.flows.len() {
            0 => "it has no flows".to_string(),
            flows => format!("its {flows} flows are under {}", input.schemes.join(", ")),
        };
        return Err(no_agents(why));
    }
    for scheme in asking {
        let values = scheme.values();
        let is =
            |wanted: (&str, &str)| (values.iter()).any(|(key, value)| key == wanted.0 && value == wanted.1);
        let unknown = |feature: &&&Feature| {
            feature.feedback != Feedback::Ack && !is(("feedback", &feature.feedback.show()))
        };
        if let Some(feature) = config.features.iter().find(unknown) {
            return Err(Error::Config {
                key: "observation",
                message: format!(
                    "`{}` is what switches tell; expected `cc.external.feedback = \"{}\"` in the scenario",
                    feature.name,
                    feature.feedback.show()
                ),
            });
        }
        if config.agents == Agents::Receiver && !is(("clock", "aligned")) {
            return Err(Error::Config {
                key: "agents",
                message: "`receiver` needs flows that ask at the same instants; expected \
                          `cc.external.clock = \"aligned\"` and an interval in the scenario"
                    .to_string(),
            });
        }
    }
    Ok(patience(run))
}

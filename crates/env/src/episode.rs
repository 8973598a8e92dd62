//! State of an episode: the run, the waiting agents, and their observations.

use paceline_congestion::agent::{Action, Measured};
use paceline_fabric::{Question, Simulation, Until};
use paceline_kernel::Span;
use paceline_scenario::{Decision, Decisions};

use crate::agents::{NOBODY, Roster};
use crate::batch::Left;
use crate::config::Config;
use crate::reward::Course;

/// State of an episode.
#[derive(Clone)]
pub(crate) struct Episode {
    pub(crate) simulation: Simulation,
    pub(crate) agents: Vec<Agent>,
    /// Observations of all agents: `history` rows for each.
    pub(crate) seen: Vec<f32>,
    /// Window of each flow, for actions on windows.
    windows: Vec<f64>,
    courses: Vec<Course>,
    /// Flows whose queue pairs have asked and are not complete, in the order of their first questions; and
    /// marks of all that have asked.
    under_way: Vec<u32>,
    entered: Vec<bool>,
    /// Agents that wait for an action, in the order of the poll.
    pub(crate) waiting: Vec<u32>,
    /// Mean measurements of each waiting agent's flows, and their number.
    pub(crate) measured: Vec<(Measured, usize)>,
    /// Common reward of each bottleneck with a waiting agent.
    common: Vec<(u32, f32)>,
    pub(crate) stage: Stage,
    completed: u64,
    pub(crate) left: Vec<Left>,
    /// All decisions of the episode, and the number of stops of the run up to now.
    decided: Vec<Decision>,
    stops: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The run can advance.
    Running,
    /// Agents wait for actions after a poll.
    Asked,
    /// The run has ended.
    Over,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Agent {
    /// True after the agent's first question.
    pub(crate) begun: bool,
    /// True if its last question was its first.
    pub(crate) first: bool,
    action: f32,
    /// Number of its completed queue pairs.
    pub(crate) complete: u32,
    /// Position among the waiting agents, from 1; 0 if it does not wait.
    pub(crate) index: u32,
    pub(crate) asked_at: u64,
    pub(crate) reward: f32,
}

impl Episode {
    pub(crate) fn new(simulation: Simulation, roster: &Roster, width: usize) -> Self {
        let agents = roster.len();
        Self {
            simulation,
            agents: vec![Agent::default(); agents],
            seen: vec![0.0; agents * width],
            windows: vec![0.0; roster.of_flow.len()],
            courses: vec![Course::default(); agents],
            under_way: Vec::new(),
            entered: vec![false; roster.of_flow.len()],
            waiting: Vec::new(),
            measured: Vec::new(),
            common: Vec::new(),
            stage: Stage::Running,
            completed: 0,
            left: Vec::new(),
            decided: Vec::new(),
            stops: 0,
        }
    }

    pub(crate) fn advance(&mut self, config: &Config, roster: &Roster, latency: Span) {
        // Stops at which no agent waits are skipped.
        let now = loop {
            let now = self.simulation.advance_to(Until::Due(latency));
            self.stops += 1;
            self.take_questions(config, roster);
            if now.done || !self.waiting.is_empty() {
                break now;
            }
        };
        if now.completed != self.completed || now.done {
            self.completed = now.completed;
            self.see_who_left(roster, now.done);
        }
        self.stage = if now.done { Stage::Over } else { Stage::Asked };
        if now.done {
            self.waiting.clear();
        }
    }

    /// Collects the questions of the run's last stop: waiting agents, their observations and their rewards.
    fn take_questions(&mut self, config: &Config, roster: &Roster) {
        for agent in self.waiting.drain(..) {
            self.agents[agent as usize].index = 0;
        }
        let mut sums = std::mem::take(&mut self.measured);
        sums.clear();
        for Question { flow, report, path } in self.simulation.questions() {
            let agent = roster.of_flow[flow as usize];
            let Some(report) = report.filter(|_| agent != NOBODY) else {
                continue;
            };
            let known = &mut self.agents[agent as usize];
            let measured = Measured::new(report, path, known.action);
            // A connection that restarts after a pause counts its questions from 1 again, but is not new.
            if report.asked == 1 && !std::mem::replace(&mut self.entered[flow as usize], true) {
                self.under_way.push(flow);
            }
            if known.index == 0 {
                self.waiting.push(agent);
                known.index = self.waiting.len() as u32;
                known.asked_at = report.at.as_ps();
                sums.push((measured, 1));
            } else if roster.queue_pairs[agent as usize] > 1 {
                // An agent with a single queue pair can ask twice if its sender restarted in between. Only
                // the first question counts.
                let (sum, count) = &mut sums[known.index as usize - 1];
                sum.add(&measured);
                *count += 1;
            }
        }
        for (index, (measured, count)) in sums.iter_mut().enumerate() {
            if *count > 1 {
                measured.over(*count);
            }
            self.see(config, self.waiting[index], measured);
        }
        self.measured = sums;
        for &agent in &self.waiting {
            let known = &mut self.agents[agent as usize];
            known.first = !known.begun;
        }
        self.reward(config, roster);
    }

    /// Appends a row to an agent's observation history and updates its reward.
    fn see(&mut self, config: &Config, agent: u32, measured: &Measured) {
        let (once, width) = (config.features.len(), config.width());
        let from = agent as usize * width;
        let seen = &mut self.seen[from..from + width];
        let known = &mut self.agents[agent as usize];
        // The oldest row is dropped at the front.
        seen.copy_within(once.., 0);
        for (value, feature) in seen[width - once..].iter_mut().zip(&config.features) {
            *value = feature.value(measured);
        }
        if !known.begun {
            for row in 0..config.history - 1 {
                seen.copy_within(width - once.., row * once);
            }
        }
        if config.reward.is_common() {
            self.courses[agent as usize].push(measured);
        } else if known.begun {
            known.reward = config.reward.of(measured);
        }
    }

    /// Computes the common rewards of bottlenecks.
    fn reward(&mut self, config: &Config, roster: &Roster) {
        if !config.reward.is_common() {
            for &agent in &self.waiting {
                self.agents[agent as usize].begun = true;
            }
            return;
        }
        let mut known = std::mem::take(&mut self.common);
        known.clear();
        for &agent in &self.waiting {
            let bottleneck = roster.bottleneck[agent as usize];
            let found = known.iter().find(|(other, _)| *other == bottleneck);
            let value = match found {
                Some(&(_, value)) => value,
                None => {
                    let members = roster.members[bottleneck as usize].iter();
                    let present = members.filter(|&&member| {
                        let known = &self.agents[member as usize];
                        self.courses[member as usize].has_begun()
                            && known.complete < roster.queue_pairs[member as usize]
                            && (!roster.persist || known.index > 0 || self.is_busy(roster, member))
                    });
                    let courses = present.map(|&member| &self.courses[member as usize]);
                    let value = config.reward.of_all(courses);
                    known.push((bottleneck, value));
                    value
                }
            };
            let agent = &mut self.agents[agent as usize];
            agent.reward = if agent.begun { value } else { 0.0 };
            agent.begun = true;
        }
        self.common = known;
    }

    /// Returns true if an agent has data to send. An idle queue pair between two messages must not count with
    /// its old measurements. (Agents with several queue pairs always count.)
    fn is_busy(&self, roster: &Roster, agent: u32) -> bool {
        roster.queue_pairs[agent as usize] > 1 || self.simulation.has_work(roster.first[agent as usize])
    }

    /// Records agents whose flows are all complete, and at the end of the episode all others.
    fn see_who_left(&mut self, roster: &Roster, over: bool) {
        let simulation = &self.simulation;
        let (agents, left) = (&mut self.agents, &mut self.left);
        self.under_way.retain(|&flow| {
            // A flow that is complete has no sender, so it has no report.
            if simulation.report(flow).is_some() {
                return true;
            }
            let agent = roster.of_flow[flow as usize];
            let known = &mut agents[agent as usize];
            known.complete += 1;
            if known.complete == roster.queue_pairs[agent as usize] {
                left.push(Left {
                    environment: 0,
                    agent,
                    complete: true,
                });
            }
            false
        });
        if over {
            let complete = self.completed == roster.of_flow.len() as u64;
            let stays = |agent: &u32| {
                let known = &agents[*agent as usize];
                known.begun && known.complete < roster.queue_pairs[*agent as usize]
            };
            let those = (0..agents.len() as u32).filter(stays);
            left.extend(those.map(|agent| Left {
                environment: 0,
                agent,
                complete,
            }));
        }
    }

    /// Returns all decisions up to now, with which the laboratory can repeat the run.
    pub(crate) fn decisions(&self) -> Decisions {
        let now = self.simulation.progress();
        Decisions {
            made: self.decided.clone(),
            ended: (!now.done).then_some((self.stops, now.now.as_ps())),
        }
    }

    /// Applies the agents' actions to each of their waiting flows.
    pub(crate) fn act(&mut self, config: &Config, roster: &Roster, actions: &[f32]) {
        for (&agent, action) in self.waiting.iter().zip(actions) {
            self.agents[agent as usize].action = action.clamp(Action::RANGE.0, Action::RANGE.1);
        }
        let (agents, windows, decided) = (&self.agents, &mut self.windows, &mut self.decided);
        let (stop, at_ps) = (self.stops, self.simulation.progress().now.as_ps());
        self.simulation.answer(|Question { flow, report, path }| {
            let agent = roster.of_flow[flow as usize];
            let report = report.filter(|_| agent != NOBODY)?;
            let action = agents[agent as usize].action;
            let window = &mut windows[flow as usize];
            let limits = config.action.apply(action, config.step, report, path, window);
            decided.push(Decision {
                stop,
                at_ps,
                flow,
                limits,
            });
            Some(limits)
        });
        for agent in self.waiting.drain(..) {
            self.agents[agent as usize].index = 0;
        }
        self.stage = Stage::Running;
    }
}

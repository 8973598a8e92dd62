//! Runs with external decisions: live ones by a controller, and replays of recorded decisions.

use std::sync::Arc;

use paceline_fabric::spec::RunSpec;
use paceline_fabric::{Outcome, Progress, Simulation, Until};
use paceline_kernel::Span;
use paceline_scenario::{Decision, Decisions, EXTERNAL, Resolved};

use super::{Control, Cut, Engine, Finished, Resources, RunError, drive};

/// Ends a simulation that a controller has advanced up to now, and returns its results.
pub fn conclude(input: &Resolved, simulation: Simulation) -> Result<Finished, RunError> {
    let stop = if simulation.progress().done {
        Control::Continue
    } else {
        Control::Stop
    };
    drive(input, || Ok(Led(simulation)), Resources::ONE_THREAD, &mut |_| {
        stop
    })
}

/// Simulation that does not advance any further.
struct Led(Simulation);

impl Engine for Led {
    fn cut(&mut self, _parts: usize) -> Cut {
        Ok(1)
    }
    fn advance(&mut self, _events: u64) -> Progress {
        self.0.progress()
    }
    fn finish(self) -> Outcome {
        self.0.finish()
    }
}

/// Reason why an engine stops.
#[derive(Clone, Debug)]
pub(super) enum Halt {
    /// The controller ended the run at this point.
    Early,
    /// The recorded decisions belong to another run.
    Other(String),
}

/// Returns the smallest latency of external decisions: the simulation may continue this long after one request before
/// it has to stop for answers.
pub fn patience(run: &RunSpec) -> Span {
    let asks = |flow_scheme: usize| {
        run.flows
            .iter()
            .any(|flow| usize::from(flow.scheme) == flow_scheme)
    };
    let schemes = run.schemes.iter().enumerate();
    let asking = schemes.filter(|(index, scheme)| scheme.config.name() == EXTERNAL && asks(*index));
    let latencies = asking.map(|(_, scheme)| {
        let decisions = scheme.config.needs().decisions;
        decisions.map_or(Span::ZERO, |decisions| decisions.latency)
    });
    latencies.min().unwrap_or(Span::ZERO)
}

/// Simulation that gets its recorded decisions at the recorded stops.
pub(super) struct Decided {
    simulation: Simulation,
    decisions: Arc<Decisions>,
    patience: Span,
    /// Number of stops so far.
    stops: u64,
    /// Number of recorded decisions that were applied.
    taken: usize,
    halt: Option<Halt>,
}

impl Decided {
    pub(super) fn new(simulation: Simulation, run: &RunSpec, decisions: Arc<Decisions>) -> Self {
        Self {
            simulation,
            decisions,
            patience: patience(run),
            stops: 0,
            taken: 0,
            halt: None,
        }
    }

    /// Answers the flows that wait at this stop.
    fn answer(&mut self) -> Option<Halt> {
        let now_ps = self.simulation.progress().now.as_ps();
        let rest = &self.decisions.made[self.taken..];
        let here = rest.iter().take_while(|decision| decision.stop == self.stops);
        let here = &rest[..here.count()];
        let ends = self.decisions.ended.is_some_and(|(stop, _)| stop == self.stops);
        let asked = self.simulation.questions().next().is_some();
        let known_ps = match (here.first(), self.decisions.ended) {
            (Some(decision), _) => Some(decision.at_ps),
            (None, Some((_, at_ps))) if ends => Some(at_ps),
            (None, _) => None,
        };
        // The times are compared first: with other code or another scenario a stop may have the same number at another
        // time, and the recorded decisions would be applied to the wrong state.
        match known_ps {
            Some(at_ps) if at_ps != now_ps => {
                return Some(other(format!(
                    "they were made at {at_ps} ps, and this run stops for them at {now_ps} ps"
                )));
            }
            None if asked => {
                return Some(other(format!(
                    "flows ask at {now_ps} ps, and nothing is decided there"
                )));
            }
            _ => {}
        }
        // Decisions are recorded in the order of the questions, so one iterator serves them in order.
        let mut open = here.iter();
        self.simulation.answer(|question| {
            let mut rest = open.clone();
            let Decision { limits, .. } = rest.next().filter(|decision| decision.flow == question.flow)?;
            open = rest;
            Some(*limits)
        });
        // A decision without a question means that this run has diverged from the recorded one.
        if let Some(Decision { flow, .. }) = open.next() {
            return Some(other(format!(
                "flow {flow} was decided for at {now_ps} ps, and does not ask there"
            )));
        }
        self.taken += here.len();
        None
    }
}

fn other(message: String) -> Halt {
    Halt::Other(format!(
        "{message}: they were made in another run. Take out `decisions`, and flows keep their first rate, or decide again"
    ))
}

impl Engine for Decided {
    fn cut(&mut self, _parts: usize) -> Cut {
        Err("its flows are decided for outside")
    }

    fn advance(&mut self, events: u64) -> Progress {
        let until = self.simulation.progress().events.saturating_add(events);
        loop {
            if self.decisions.ended.is_some_and(|(stop, _)| stop == self.stops) {
                self.halt = Some(Halt::Early);
                return self.simulation.progress();
            }
            let now = self.simulation.advance_to(Until::Due(self.patience));
            self.stops += 1;
            if now.done {
                return now;
            }
            self.halt = self.answer();
            if self.halt.is_some() || now.events >= until {
                return now;
            }
        }
    }

    fn halt(&self) -> Option<Halt> {
        self.halt.clone()
    }

    fn finish(self) -> Outcome {
        self.simulation.finish()
    }
}

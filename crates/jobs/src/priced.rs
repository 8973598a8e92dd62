//! Trace-driven jobs whose messages use a cost model instead of the packet network.

use std::sync::Arc;

use paceline_kernel::Time;
use paceline_run::outcome::ModelOutcome;
use paceline_run::spec::{Asks, Awaited, Behaviour};
use paceline_traces::chunks::{Chunks, Links};
use paceline_traces::executor::{Executor, RankRecord, Rules, Stuck};
use paceline_traces::loggops::{self, Parameters, Variant};
use paceline_traces::program::Program;

use crate::outcome::TraceOutcome;

/// Cost model that replaces the packet network.
#[derive(Clone, Debug)]
pub enum Model {
    /// LogGOPS, in a variant.
    LogGops(Variant, Parameters),
    /// Links that transfer whole messages.
    Chunks {
        /// Topology and properties of the links.
        links: Links,
        /// True if messages wait for busy links.
        aware: bool,
        /// Rules for executing operations.
        rules: Box<Rules>,
    },
}

/// Job with a cost model. It is computed completely when it begins, and ends with its last rank.
#[derive(Clone, Debug)]
pub struct Priced {
    program: Arc<dyn Program>,
    model: Model,
    outcome: TraceOutcome,
    is_over: bool,
}

impl Priced {
    /// Creates a job that has not started.
    pub fn new(program: Arc<dyn Program>, model: Model) -> Self {
        Self {
            program,
            model,
            outcome: TraceOutcome::default(),
            is_over: false,
        }
    }

    /// Returns its results as if it had started at 0.
    fn carry_out(&self) -> TraceOutcome {
        match &self.model {
            Model::LogGops(variant, parameters) => match loggops::run(&*self.program, *variant, parameters) {
                Ok(outcome) => of_loggops(outcome),
                Err(trouble) => TraceOutcome::refused(trouble.to_string()),
            },
            Model::Chunks { links, aware, rules } => {
                let mut executor = Executor::new(self.program.clone(), (**rules).clone());
                match Chunks::new(*links, *aware).run(&mut executor) {
                    Ok(()) => TraceOutcome::of(&executor),
                    Err(message) => TraceOutcome::refused(message),
                }
            }
        }
    }
}

fn of_loggops(outcome: loggops::Outcome) -> TraceOutcome {
    let rank = |&ns: &u64| {
        let end = Time::from_ps(ns.saturating_mul(1000));
        RankRecord {
            end,
            iterations: vec![end],
            ..RankRecord::default()
        }
    };
    let waits = outcome.stuck.iter().flat_map(|stuck| &stuck.waits);
    TraceOutcome {
        ranks: outcome.ends.iter().map(rank).collect(),
        is_done: outcome.stuck.is_none(),
        stuck: waits
            .map(|text| Stuck {
                rank: 0,
                text: text.clone(),
            })
            .collect(),
        cautions: outcome.cautions.into_iter().map(|caution| caution.text).collect(),
        ..TraceOutcome::default()
    }
}

impl TraceOutcome {
    /// Creates the results of a job that could not start.
    fn refused(why: String) -> Self {
        Self {
            stuck: vec![Stuck { rank: 0, text: why }],
            ..Self::default()
        }
    }
}

impl Behaviour for Priced {
    fn begin(&mut self, asks: &mut dyn Asks) {
        let since = asks.now().saturating_since(Time::ZERO);
        self.outcome = self.carry_out().later(since);
        let end = self.outcome.ranks.iter().map(|rank| rank.end).max();
        if end == Some(Time::MAX) {
            self.outcome = TraceOutcome::refused(
                "the job is not over at the last time there is (2^64 ps, 213 days)".into(),
            );
        }
        if self.outcome.is_done {
            asks.wake(end.unwrap_or_default(), 0);
        }
    }

    fn woken(&mut self, _: u64, _: &mut dyn Asks) {
        self.is_over = true;
    }

    fn heard(&mut self, _: u32, _: Awaited, _: &mut dyn Asks) {}

    fn is_done(&self) -> bool {
        self.is_over
    }

    fn has_operations(&self) -> bool {
        true
    }

    fn close(&self) -> ModelOutcome {
        ModelOutcome::new(self.outcome.clone())
    }
}

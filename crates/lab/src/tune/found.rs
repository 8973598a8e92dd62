//! Result of a search: the content of `summary.json`.

use serde::{Deserialize, Serialize};

use super::Plan;
use crate::stats::Interval;

/// Result of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Search as it was planned.
    pub plan: Plan,
    /// Counts of candidates by their standing.
    pub counts: Counts,
    /// Conclusion from the held-out seeds.
    pub verdict: Verdict,
    /// True if the candidates found no value of the objective on which the seeds agree.
    pub flat: bool,
    /// Kendall's coefficient of concordance of the seeds on the order of candidates, 0 to 1; null for one seed.
    pub agreement: Option<f64>,
    /// Best candidate's number; 0 is the scenario as written.
    pub best: usize,
    /// Objective of the best over that as written on the seeds of the search, with its 95 % interval.
    pub search: Option<Interval>,
    /// Results on the seeds that the search never had.
    pub held_out: HeldOut,
    /// Parameters in the order of the plan.
    pub parameters: Vec<ParameterResult>,
    /// Reasons for caution, as sentences.
    pub warnings: Vec<String>,
    /// Scenario as written, and all candidates; they are in `trials.csv`.
    #[serde(skip)]
    pub trials: Vec<Trial>,
}

impl Found {
    /// Returns the geometric mean of a candidate's objective over the seeds, by which the search ranks.
    pub fn mean(&self, trial: &Trial) -> Option<f64> {
        let written = &self.trials.first()?.objective;
        let logarithms: f64 = written.iter().map(|value| libm::log(*value)).sum();
        let mean = libm::exp(logarithms / written.len() as f64);
        Some(mean * trial.ratio(self.plan.objective.maximise)?)
    }
}

/// Counts of candidates by their standing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All candidates of the search, without the scenario as written.
    pub trials: usize,
    /// Generations of the search.
    pub generations: usize,
    /// Candidates over a limit.
    pub over_limit: usize,
    /// Candidates whose scenario was refused.
    pub refused: usize,
    /// Candidates of which a run failed.
    pub failed: usize,
    /// True if the search ended because its candidates did not differ any more.
    pub converged: bool,
}

/// Comparison of the best candidate with the scenario as written, on the held-out seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    /// Objective as written, by seed.
    pub written: Vec<f64>,
    /// Objective of the best candidate, by seed.
    pub best: Vec<f64>,
    /// Ratio of best to written with its 95 % interval.
    pub ratio: Option<Interval>,
    /// Ratio in the second measure, with its 95 % interval.
    pub against: Option<Interval>,
    /// Mean of each limit's measure as written and of the best, and true if the best keeps the limit.
    pub limits: Vec<(f64, f64, bool)>,
    /// Completed flows of all seeds, as written and of the best.
    pub completed: (u64, u64),
    /// True if the seed changes no packet, so that all seeds are one run.
    pub fixed: bool,
}

/// Parameter with its best value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParameterResult {
    /// Keys, as `--over` names them.
    pub name: String,
    /// Value in the scenario as written, if known.
    pub written: Option<String>,
    /// Best value of the search.
    pub best: String,
    /// End of the range at which the best value lies: `lower` or `upper`.
    pub edge: Option<String>,
    /// True if no other value in the profile differs from the best one; false if more than half of them cannot run.
    pub flat: bool,
    /// Objective along the parameter with all others at their best, on the held-out seeds.
    pub profile: Vec<ProfilePoint>,
}

/// Value in a profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfilePoint {
    /// Value of the parameter.
    pub value: String,
    /// Position in the range, 0 to 1.
    pub at: f64,
    /// Objective over the best candidate's, with an interval that holds for all points of the profile together with
    /// 95 %; null if it has no result.
    pub ratio: Option<Interval>,
    /// True if the ratio differs from 1.
    pub differs: bool,
    /// True if it is over a limit.
    pub over_limit: bool,
    /// Reason for the missing result.
    pub message: Option<String>,
}

/// Standing of a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It ran and keeps all limits.
    Feasible,
    /// It ran and is over limits by this sum of relative excesses.
    OverLimit(f64),
    /// Refused scenario, with the reason.
    Refused(String),
    /// One of its runs failed, for this reason.
    Failed(String),
}

/// Candidate with its results.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Generation, from 1; 0 for the scenario as written.
    pub generation: usize,
    /// Value of each parameter; empty texts where the scenario as written has none that is known.
    pub values: Vec<String>,
    /// Standing in the order of candidates.
    pub standing: Standing,
    /// Mean over the seeds of the logarithm of the ratio to the scenario as written, negative if it is better; `None`
    /// without results.
    pub score: Option<f64>,
    /// Objective by seed; empty without results.
    pub objective: Vec<f64>,
    /// Mean of the second measure; `None` without results.
    pub against: Option<f64>,
    /// Mean of each limit's measure; empty without results.
    pub limits: Vec<f64>,
}

impl Trial {
    /// Returns the geometric mean of the objective's ratios to the scenario as written.
    pub fn ratio(&self, maximise: bool) -> Option<f64> {
        let score = self.score?;
        Some(libm::exp(if maximise { -score } else { score }))
    }
}

/// Conclusion from the held-out seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval of the ratio lies on the better side of 1.
    Better,
    /// The interval of the ratio contains 1.
    NoDifference,
    /// The interval of the ratio lies on the worse side of 1.
    Worse,
}

impl Verdict {
    /// Returns the conclusion from a ratio. Without an interval all seeds agree exactly: if the seed changes nothing
    /// (`fixed`), the one run decides.
    pub(super) fn of(ratio: Option<Interval>, maximise: bool, fixed: bool) -> Self {
        let Some(ratio) = ratio else {
            return Self::NoDifference;
        };
        let clear = match ratio.ends() {
            Some(_) => ratio.excludes(1.0),
            None => fixed && ratio.mean != 1.0,
        };
        match (clear, (ratio.mean > 1.0) == maximise) {
            (false, _) => Self::NoDifference,
            (true, true) => Self::Better,
            (true, false) => Self::Worse,
        }
    }

    /// Returns the conclusion in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::NoDifference => "no difference shown",
            Self::Worse => "worse",
        }
    }
}

//! Arguments of the training of the rate controller's gains.

use clap::{Args, ValueEnum};
use paceline_kernel::Span;

use super::CommonArgs;
use super::line::CommandLine;

/// Options of `paceline train pidnn`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Training")]
pub(in crate::commands::train) struct GainsArgs {
    /// Scenario to train in [default: that of the thesis]
    #[arg(long, value_name = "SCENARIO")]
    pub(in crate::commands::train) scenario: Option<String>,
    /// Set one key of --scenario; may be repeated
    #[arg(long, value_name = "PATH.TO.KEY=VALUE", requires = "scenario")]
    pub(in crate::commands::train) set: Vec<String>,
    /// Units of the gradient: as in the thesis, or normalised [default: seed]
    #[arg(long, value_enum, value_name = "UNITS")]
    pub(in crate::commands::train) units: Option<Units>,
    /// Initial gains [default: -0.2,-0.05,0.1]
    #[arg(long, value_name = "P,I,D", allow_hyphen_values = true, value_parser = gains)]
    pub(in crate::commands::train) start: Option<[f64; 3]>,
    /// Sign of the derivative gain [default: free]
    #[arg(long, value_enum, value_name = "SIGN")]
    pub(in crate::commands::train) damping: Option<Damping>,
    /// Sample after a decision that measures its effect [default: 3; thesis: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(in crate::commands::train) lag: Option<u32>,
    /// Number of final episodes in normalised units [default: 11 of 40]
    #[arg(long, value_name = "N")]
    pub(in crate::commands::train) settle: Option<u32>,
    /// Maximum number of episodes [default: 40]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(in crate::commands::train) episodes: Option<u32>,
    /// Target RTT of the controller [default: the scenario's]
    #[arg(long, value_name = "TIME")]
    pub(in crate::commands::train) target: Option<Span>,
    #[command(flatten)]
    pub(in crate::commands::train) common: CommonArgs,
}

/// Units of the gradient of gains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::commands::train) enum Units {
    /// µs and Gbit/s, as in the thesis
    Seed,
    /// Shares of the target and of the line rate
    Norm,
}

/// The sign of the derivative gain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::commands::train) enum Damping {
    /// At least 0, as in the thesis
    Kept,
    /// Any
    Free,
}

impl GainsArgs {
    /// Adds the options that the gains depend on.
    pub(super) fn add_to(&self, line: &mut CommandLine) {
        line.option("--scenario", self.scenario.as_ref());
        self.set.iter().for_each(|set| line.option("--set", Some(set)));
        line.option("--seed", self.common.seed);
        line.choice("--units", self.units);
        let start = self
            .start
            .map(|gains| gains.map(|gain| gain.to_string()).join(","));
        line.option("--start", start);
        line.choice("--damping", self.damping);
        line.option("--lag", self.lag);
        line.option("--settle", self.settle);
        line.option("--episodes", self.episodes);
        line.option("--target", self.target);
    }
}

fn gains(text: &str) -> Result<[f64; 3], String> {
    let expected = "expected three numbers such as -0.2,-0.05,0.1";
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse()).collect();
    match numbers.as_deref() {
        Ok(&[p, i, d]) if [p, i, d].iter().all(|gain: &f64| gain.is_finite()) => Ok([p, i, d]),
        _ => Err(expected.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_three_numbers() {
        assert_eq!(gains("-0.2, -0.05,0.1"), Ok([-0.2, -0.05, 0.1]));
        for wrong in ["", "1,2", "1,2,3,4", "1,2,x", "1,2,inf"] {
            assert!(gains(wrong).is_err(), "{wrong}");
        }
    }
}

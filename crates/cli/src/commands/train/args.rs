//! The arguments of `paceline train`.

mod decc;
mod gains;
mod line;
mod network;
mod policy;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use paceline_kernel::Span;

pub(super) use decc::{CloneArgs, CompressArgs, ResidualAlgorithm};
pub(super) use decc::{
    ContinualArgs, DeccTrainee, Deploy, PaperArgs, PaperVariant, RefineArgs, ResidualArgs,
};
pub(super) use gains::{Damping, GainsArgs, Units};
pub(super) use network::{DataArgs, NetworkArgs};
pub(super) use policy::PolicyArgs;

use line::CommandLine;

use crate::args::SayArgs;

const EXAMPLES: &str = "\
Examples:
  paceline train lstm             retrain the built-in predictor of round-trip times
  paceline train pidnn            tune the controller's gains in the simulator
  paceline train adpg             retrain the built-in policy
  paceline train decc law         search for DECC's rate law
  paceline train lstm --help      the options of one training
The same command gives the same weights, bit for bit, on the same machine.
Ctrl-C keeps the work done so far, marked partial. Repeat the command to resume from the last
checkpoint; the result is the same as without the interruption.
Exit status: 0 done, 1 a run failed or output cannot be written, 2 input or arguments are wrong,
130 interrupted.";

const NETWORK_EXAMPLES: &str = "\
Examples:
  paceline train lstm                        retrain the built-in predictor
  paceline train lstm --compare              compare with GRU, RNN, AR(3) and persistence
  paceline train ar3 --on-policy 2           retrain twice with the predictor in the loop
  paceline train gru --scenarios my.toml --schemes timely,pidnn --rounds 30
  paceline train lstm --data results/train-lstm/dataset.parquet --seed 2
  paceline train lstm --scenarios my.toml --resume results/train-lstm/checkpoints/round-07
Data are RTT samples of senders. --scenarios runs and records scenarios; --data reads a
dataset.parquet or folders of runs with record.rtt-samples = true.
The folder has the model (.safetensors and its card .json), dataset.parquet, checkpoints,
training.json and report.html. Use a model with
  --scheme lstm-pid --set cc.lstm-pid.model=results/train-lstm/rtt-lstm.safetensors";

const GAINS_EXAMPLES: &str = "\
Examples:
  paceline train pidnn
  paceline train pidnn --units norm --start=-0.1,-0.05,0 --target 6us";

const DECC_EXAMPLES: &str = "\
Examples:
  paceline train decc law                 search for a rate law
  paceline train decc residual            train a residual network on top of the law
  paceline train decc paper               train the policy as the paper prints it
  paceline train decc clone decc-law      clone the law into a network
  paceline train decc compress decc-net   prune and quantise that network
  paceline train decc refine decc-law --experience experience
                                          refine the law in networks that runs met
  paceline train decc continual my.toml   run, upload, refine and redeploy, five times
  paceline train decc continual my.toml --every 5s --deploy trees";

#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TrainArgs {
    #[command(subcommand)]
    pub(super) trainee: Trainee,
}

/// A model to train, with its options.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum Trainee {
    /// Train the predictor of the thesis: an LSTM of 16 units over 3 steps
    #[command(after_help = NETWORK_EXAMPLES)]
    Lstm(NetworkArgs),
    /// Train a GRU of the same size
    #[command(after_help = NETWORK_EXAMPLES)]
    Gru(NetworkArgs),
    /// Train a simple recurrent network of the same size
    #[command(after_help = NETWORK_EXAMPLES)]
    Rnn(NetworkArgs),
    /// Train a linear predictor of the last three features
    #[command(after_help = NETWORK_EXAMPLES)]
    Ar3(NetworkArgs),
    /// Train the gains of the rate controller, while it runs
    #[command(after_help = GAINS_EXAMPLES)]
    Pidnn(GainsArgs),
    /// Train the policy of ADPG (RL-CC), while it decides
    #[command(mut_arg("rounds", policy::rounds("1000")))]
    Adpg(PolicyArgs),
    /// Train the policy of Aurora (PCC-RL), each flow for itself, by PPO
    #[command(mut_arg("rounds", policy::rounds("200")))]
    Aurora(PolicyArgs),
    /// Train the watcher and policy generator of SPINE, by PPO
    #[command(mut_arg("rounds", policy::rounds("90")))]
    Spine(PolicyArgs),
    /// Train a rate law or a network of DECC
    #[command(subcommand, after_help = DECC_EXAMPLES)]
    Decc(DeccTrainee),
    /// Search for the parameters of Swift, as a baseline of learned schemes
    #[command(mut_arg("rounds", policy::rounds("60")))]
    Swift(PolicyArgs),
}

/// Options that all trainings take.
#[derive(Clone, Debug, Args)]
pub(super) struct CommonArgs {
    /// Seed of all random draws [default: 1]
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub(super) seed: Option<u64>,
    /// Checkpoint interval; repeat the command to resume [default: 30s]
    #[arg(long, value_name = "TIME", help_heading = "Training")]
    pub(super) checkpoint_every: Option<Span>,
    /// Folder for the results [default: results/train-NAME; a suffix is added if it exists]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub(super) out: Option<PathBuf>,
    /// Replace the folder of an earlier training
    #[arg(long, help_heading = "Output")]
    pub(super) force: bool,
    #[command(flatten)]
    pub(super) say: SayArgs,
}

impl Trainee {
    /// Returns the subcommands that select the training.
    pub(super) const fn path(&self) -> &'static [&'static str] {
        match self {
            Self::Lstm(_) => &["lstm"],
            Self::Gru(_) => &["gru"],
            Self::Rnn(_) => &["rnn"],
            Self::Ar3(_) => &["ar3"],
            Self::Pidnn(_) => &["pidnn"],
            Self::Adpg(_) => &["adpg"],
            Self::Aurora(_) => &["aurora"],
            Self::Spine(_) => &["spine"],
            Self::Swift(_) => &["swift"],
            Self::Decc(DeccTrainee::Law(_)) => &["decc", "law"],
            Self::Decc(DeccTrainee::Residual(_)) => &["decc", "residual"],
            Self::Decc(DeccTrainee::Paper(_)) => &["decc", "paper"],
            Self::Decc(DeccTrainee::Clone(_)) => &["decc", "clone"],
            Self::Decc(DeccTrainee::Compress(_)) => &["decc", "compress"],
            Self::Decc(DeccTrainee::Refine(_)) => &["decc", "refine"],
            Self::Decc(DeccTrainee::Continual(_)) => &["decc", "continual"],
        }
    }

    /// Returns the options that every training has.
    pub(super) const fn common(&self) -> &CommonArgs {
        match self {
            Self::Lstm(args) | Self::Gru(args) | Self::Rnn(args) | Self::Ar3(args) => &args.common,
            Self::Pidnn(args) => &args.common,
            Self::Adpg(args) | Self::Aurora(args) | Self::Spine(args) | Self::Swift(args) => &args.common,
            Self::Decc(trainee) => trainee.common(),
        }
    }

    /// Returns the number of runs in parallel. The gains are trained one run after the other.
    pub(super) fn threads(&self) -> usize {
        match self {
            Self::Lstm(args) | Self::Gru(args) | Self::Rnn(args) | Self::Ar3(args) => args.jobs.count(),
            Self::Pidnn(_) => 1,
            Self::Adpg(args) | Self::Aurora(args) | Self::Spine(args) | Self::Swift(args) => {
                args.jobs.count()
            }
            Self::Decc(trainee) => trainee.threads(),
        }
    }

    /// Returns true if all networks are compared, which does not change the model.
    pub(super) const fn compares(&self) -> bool {
        match self {
            Self::Lstm(args) | Self::Gru(args) | Self::Rnn(args) | Self::Ar3(args) => args.compare,
            _ => false,
        }
    }

    /// Returns the command that reproduces the model, without options for output, machine and comparison.
    pub(super) fn command(&self) -> String {
        let mut line = CommandLine::new(self.path());
        match self {
            Self::Lstm(args) | Self::Gru(args) | Self::Rnn(args) | Self::Ar3(args) => args.add_to(&mut line),
            Self::Pidnn(args) => args.add_to(&mut line),
            Self::Adpg(args) | Self::Aurora(args) | Self::Spine(args) | Self::Swift(args) => {
                args.add_to(&mut line)
            }
            Self::Decc(trainee) => trainee.add_to(&mut line),
        }
        line.text()
    }
}

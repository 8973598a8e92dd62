//! The arguments of `paceline train`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use paceline_kernel::Span;

use crate::args::{JobArgs, SayArgs};
use crate::commands::sweep::shell;
use crate::failure::Failure;

/// Help heading of options for policies.
const POLICIES: &str = "Policies (adpg, aurora, spine, decc, swift)";

const EXAMPLES: &str = "\
Examples:
  paceline train lstm                        retrain the built-in predictor
  paceline train lstm --compare              compare with GRU, RNN, AR(3) and persistence
  paceline train ar3 --on-policy 2           retrain twice with the predictor in the loop
  paceline train gru --scenarios my.toml --schemes timely,pidnn --rounds 30
  paceline train lstm --data results/train-lstm/dataset.parquet --seed 2
  paceline train lstm --scenarios my.toml --resume results/train-lstm/checkpoints/round-07
  paceline train pidnn                       tune the controller's gains in the simulator
  paceline train pidnn --units norm --start=-0.1,-0.05,0 --target 6us
  paceline train adpg                        retrain the built-in policy
  paceline train aurora                      the same of Aurora, by PPO
  paceline train spine                       SPINE's watcher and generator, the same way
  paceline train decc                        search for DECC's rate law
  paceline train decc --algorithm td3        train a residual network on top of the law
  paceline train decc --algorithm paper      train the policy as the paper prints it
  paceline train decc --clone decc-law       clone the law into a network
  paceline train decc --compress decc-net    prune and quantise that network
  paceline train decc --continue decc-law --experience experience
                                             refine the law in networks that runs met
  paceline train decc --continual my.toml    run, upload, refine and redeploy, five times
  paceline train decc --continual my.toml --every 5s --deploy trees
  paceline train swift                       tune Swift's parameters by the same search

Data are RTT samples of senders. --scenarios runs and records scenarios; --data reads a
dataset.parquet or folders of runs with record.rtt-samples = true. The same command gives the same
weights, bit for bit, on the same machine.

The folder has the model (.safetensors and its card .json), dataset.parquet, checkpoints,
training.json and report.html. Use a model with
  --scheme lstm-pid --set cc.lstm-pid.model=results/train-lstm/rtt-lstm.safetensors
Ctrl-C keeps the work done so far, marked partial. Repeat the command to resume from the last
checkpoint; the result is the same as without the interruption.

Exit status: 0 done, 1 a run failed or output cannot be written, 2 input or arguments are wrong,
130 interrupted.";

/// What can be trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Trainee {
    /// The predictor of the thesis: an LSTM of 16 units over 3 steps
    Lstm,
    /// A GRU of the same size
    Gru,
    /// A simple recurrent network of the same size
    Rnn,
    /// A linear predictor of the last three features
    Ar3,
    /// The gains of the rate controller, while it runs
    Pidnn,
    /// The policy of ADPG (RL-CC), while it decides
    Adpg,
    /// The policy of Aurora (PCC-RL), each flow for itself
    Aurora,
    /// The watcher and policy generator of SPINE, the same way
    Spine,
    /// The policy of DECC: a rate law or a network
    Decc,
    /// The parameters of Swift, as a baseline of learned schemes
    Swift,
}

#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TrainArgs {
    /// What to train
    #[arg(value_enum, value_name = "NAME")]
    pub(crate) what: Trainee,

    /// Scenarios to run and record
    /// [default: those of the shipped model]
    #[arg(long, value_name = "A,B,..", value_delimiter = ',', help_heading = "Data")]
    pub(crate) scenarios: Vec<String>,
    /// Schemes to run each scenario with [default: each scenario's]
    #[arg(
        long,
        value_name = "A,B,..",
        value_delimiter = ',',
        help_heading = "Data",
        requires = "scenarios"
    )]
    pub(crate) schemes: Vec<String>,
    /// Set one key of all --scenarios, or of --continual's; may be repeated
    #[arg(long, value_name = "PATH.TO.KEY=VALUE", help_heading = "Data")]
    pub(crate) set: Vec<String>,
    /// Train on a dataset.parquet or a recorded run; may be repeated
    #[arg(
        long,
        value_name = "PATH",
        help_heading = "Data",
        conflicts_with = "scenarios"
    )]
    pub(crate) data: Vec<PathBuf>,
    /// Number of training pairs, half of them from transients
    /// [default: 19058, as in the thesis; 60000 with --on-policy]
    #[arg(long, value_name = "N", help_heading = "Data")]
    pub(crate) pairs: Option<usize>,

    /// Training rounds [default: 19; adpg 1000, aurora 200, spine 90, swift 60; decc 25, with td3 or ppo 60, paper 80,
    /// with --clone 10, with --continue 25, of an episode with --continual 20]
    #[arg(long, value_name = "N", help_heading = "Training", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) rounds: Option<u32>,
    /// Batch size [default: 10]
    #[arg(long, value_name = "N", help_heading = "Training", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch: Option<u32>,
    /// Learning rate of Adam [default: 0.001]
    #[arg(long, value_name = "RATE", help_heading = "Training", value_parser = crate::args::positive)]
    pub(crate) learning_rate: Option<f64>,
    /// Seed of sampling, initial weights and recorded scenarios [default: 1]
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub(crate) seed: Option<u64>,
    /// Compare all networks and baselines on the same pairs
    #[arg(long, help_heading = "Training")]
    pub(crate) compare: bool,
    /// Retraining rounds on data collected with the predictor in the loop
    #[arg(
        long,
        value_name = "ROUNDS",
        help_heading = "Training",
        conflicts_with = "data",
        value_parser = clap::value_parser!(u32).range(1..=50)
    )]
    pub(crate) on_policy: Option<u32>,
    /// Start from the weights of a model, training folder or checkpoint
    #[arg(
        long,
        value_name = "PATH",
        help_heading = "Training",
        conflicts_with_all = ["compare", "on_policy"]
    )]
    pub(crate) resume: Option<PathBuf>,
    /// Checkpoint interval; repeat the command to resume [default: 30s]
    #[arg(long, value_name = "TIME", help_heading = "Training")]
    pub(crate) checkpoint_every: Option<Span>,

    /// Smoke test: train for a few seconds
    #[arg(long, help_heading = POLICIES)]
    pub(crate) quick: bool,
    /// Learning algorithm of decc [default: cma-es]
    #[arg(
        long,
        value_enum,
        value_name = "NAME",
        help_heading = POLICIES,
        conflicts_with_all = ["clone", "compress"]
    )]
    pub(crate) algorithm: Option<Learner>,
    /// Rate law that td3 and ppo refine, or first model of --continual
    /// [default: decc-law; decc-tree-300 with --deploy trees]
    #[arg(
        long,
        value_name = "MODEL",
        help_heading = POLICIES,
        conflicts_with_all = ["clone", "compress"]
    )]
    pub(crate) from: Option<String>,
    /// Clone a rate law of decc, and its residual network, into one network
    #[arg(
        long,
        value_name = "MODEL",
        help_heading = POLICIES,
        conflicts_with = "compress"
    )]
    pub(crate) clone: Option<String>,
    /// Prune, quantise and fine-tune a network of decc
    #[arg(
        long,
        value_name = "MODEL",
        help_heading = POLICIES
    )]
    pub(crate) compress: Option<String>,

    /// Refine a rate law of decc by --experience; `none` searches from nothing
    #[arg(
        long = "continue",
        value_name = "MODEL",
        help_heading = POLICIES,
        requires = "experience",
        conflicts_with_all = ["clone", "compress", "algorithm", "from"]
    )]
    pub(crate) refine: Option<String>,
    /// Folder with experience, from `paceline run --upload`
    #[arg(
        long,
        value_name = "DIR",
        help_heading = POLICIES,
        requires = "refine"
    )]
    pub(crate) experience: Option<PathBuf>,
    /// Run a scenario under decc, refine the law by its experience, redeploy, and again
    #[arg(
        long,
        value_name = "SCENARIO",
        help_heading = POLICIES,
        conflicts_with_all = ["refine", "clone", "compress", "algorithm"]
    )]
    pub(crate) continual: Option<String>,
    /// Simulated time of an episode of --continual [default: the scenario's; the paper: 5s]
    #[arg(
        long,
        value_name = "TIME",
        help_heading = POLICIES,
        requires = "continual"
    )]
    pub(crate) every: Option<Span>,
    /// What --continual deploys [default: law]
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        help_heading = POLICIES,
        requires = "continual"
    )]
    pub(crate) deploy: Option<Deploy>,

    /// Units of the gradient: as in the thesis, or normalised
    /// [default: seed]
    #[arg(long, value_enum, value_name = "UNITS", help_heading = "Gains (pidnn)")]
    pub(crate) units: Option<Units>,
    /// Initial gains [default: -0.2,-0.05,0.1]
    #[arg(
        long,
        value_name = "P,I,D",
        help_heading = "Gains (pidnn)",
        allow_hyphen_values = true,
        value_parser = gains
    )]
    pub(crate) start: Option<[f64; 3]>,
    /// Sign of the derivative gain [default: free]
    #[arg(long, value_enum, value_name = "SIGN", help_heading = "Gains (pidnn)")]
    pub(crate) damping: Option<Damping>,
    /// Sample after a decision that measures its effect [default: 3; thesis: 1]
    #[arg(long, value_name = "N", help_heading = "Gains (pidnn)", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) lag: Option<u32>,
    /// Number of final episodes in normalised units [default: 11 of 40]
    #[arg(long, value_name = "N", help_heading = "Gains (pidnn)")]
    pub(crate) settle: Option<u32>,
    /// Maximum number of episodes of pidnn [default: 40]; episodes of --continual [default: 5]
    #[arg(long, value_name = "N", help_heading = "Training", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) episodes: Option<u32>,
    /// Target RTT of the controller [default: the scenario's]
    #[arg(long, value_name = "TIME", help_heading = "Gains (pidnn)")]
    pub(crate) target: Option<Span>,

    /// Folder for the results [default: results/train-NAME; a suffix is added if it exists]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the folder of an earlier training
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) say: SayArgs,
    #[command(flatten)]
    pub(crate) jobs: JobArgs,
}

/// Units of the gradient of gains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Units {
    /// µs and Gbit/s, as in the thesis
    Seed,
    /// Shares of the target and of the line rate
    Norm,
}

/// By what DECC's policy learns: a rate law by the first, a network by the others, once it has cloned a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Learner {
    /// Direct search for a rate law
    CmaEs,
    /// MADDPG with TD3's extensions, for a residual network
    Td3,
    /// PPO with a central critic, for a residual network
    Ppo,
    /// MADDPG with the paper's network, state and rewards, from nothing
    Paper,
    /// The same without the network's memory
    PaperNoMemory,
    /// The same with a reward of each flow's own
    PaperOwnReward,
}

/// What runs after an episode of `--continual`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Deploy {
    /// The refined law
    Law,
    /// Trees distilled from a compressed clone of it
    Trees,
}

/// The sign of the derivative gain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Damping {
    /// At least 0, as in the thesis
    Kept,
    /// Any
    Free,
}

impl TrainArgs {
    /// Returns the seed of all random draws.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// Returns the folder of the training.
    pub(crate) fn folder(&self) -> PathBuf {
        let name = self.what.to_possible_value();
        let name = name.as_ref().map_or("network", |value| value.get_name());
        self.out
            .clone()
            .unwrap_or_else(|| Path::new("results").join(format!("train-{name}")))
    }

    /// Returns the command that reproduces the model, without options for output, machine and comparison.
    pub(crate) fn command(&self) -> String {
        let name = self.what.to_possible_value();
        let name = name.as_ref().map_or("network", |value| value.get_name());
        let mut words = ["paceline", "train", name].map(String::from).to_vec();
        let mut add = |option: &str, value: Option<String>| {
            words.extend(value.into_iter().map(|value| format!("{option}={value}")));
        };
        let list = |all: &[String]| (!all.is_empty()).then(|| all.join(","));
        let text = |path: &PathBuf| path.display().to_string();
        add("--scenarios", list(&self.scenarios));
        add("--schemes", list(&self.schemes));
        self.set.iter().for_each(|set| add("--set", Some(set.clone())));
        self.data.iter().for_each(|path| add("--data", Some(text(path))));
        add("--pairs", self.pairs.map(|pairs| pairs.to_string()));
        add("--rounds", self.rounds.map(|rounds| rounds.to_string()));
        add("--batch", self.batch.map(|batch| batch.to_string()));
        add("--learning-rate", self.learning_rate.map(|rate| rate.to_string()));
        add("--seed", self.seed.map(|seed| seed.to_string()));
        add("--on-policy", self.on_policy.map(|rounds| rounds.to_string()));
        add("--resume", self.resume.as_ref().map(text));
        let units = self.units.and_then(|units| units.to_possible_value());
        add("--units", units.map(|units| units.get_name().to_string()));
        add(
            "--start",
            self.start
                .map(|gains| gains.map(|gain| gain.to_string()).join(",")),
        );
        let damping = self.damping.and_then(|damping| damping.to_possible_value());
        add("--damping", damping.map(|damping| damping.get_name().to_string()));
        add("--lag", self.lag.map(|lag| lag.to_string()));
        add("--settle", self.settle.map(|settle| settle.to_string()));
        add("--episodes", self.episodes.map(|episodes| episodes.to_string()));
        add("--target", self.target.map(|target| target.to_string()));
        words.extend(self.quick.then(|| "--quick".to_string()));
        let algorithm = self.algorithm.and_then(|algorithm| algorithm.to_possible_value());
        words.extend(algorithm.map(|one| format!("--algorithm={}", one.get_name())));
        words.extend(self.from.iter().map(|model| format!("--from={model}")));
        words.extend(self.clone.iter().map(|model| format!("--clone={model}")));
        words.extend(self.compress.iter().map(|model| format!("--compress={model}")));
        words.extend(self.refine.iter().map(|model| format!("--continue={model}")));
        let experience = self.experience.iter();
        words.extend(experience.map(|folder| format!("--experience={}", folder.display())));
        words.extend(
            self.continual
                .iter()
                .map(|scenario| format!("--continual={scenario}")),
        );
        words.extend(self.every.iter().map(|time| format!("--every={time}")));
        let deploy = self.deploy.and_then(|deploy| deploy.to_possible_value());
        words.extend(deploy.map(|one| format!("--deploy={}", one.get_name())));
        shell(&words)
    }

    /// Returns the command that resumes this training.
    pub(crate) fn same_again(&self) -> String {
        let compare = if self.compare { " --compare" } else { "" };
        let out = shell(&[self.folder().display().to_string()]);
        format!("{}{compare} --out {out}", self.command())
    }

    /// Returns true if DECC's rate law is to be searched for, rather than a network trained or compressed.
    pub(crate) fn searches(&self) -> bool {
        self.clone.is_none()
            && self.compress.is_none()
            && matches!(self.algorithm, None | Some(Learner::CmaEs))
    }

    /// Rejects options that do not apply to what is trained.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let of_gains = [
            ("--units", self.units.is_some()),
            ("--start", self.start.is_some()),
            ("--damping", self.damping.is_some()),
            ("--lag", self.lag.is_some()),
            ("--settle", self.settle.is_some()),
            ("--episodes", self.episodes.is_some()),
            ("--target", self.target.is_some()),
        ];
        let of_networks = [
            ("--schemes", !self.schemes.is_empty()),
            ("--data", !self.data.is_empty()),
            ("--pairs", self.pairs.is_some()),
            ("--rounds", self.rounds.is_some()),
            ("--batch", self.batch.is_some()),
            ("--learning-rate", self.learning_rate.is_some()),
            ("--compare", self.compare),
            ("--on-policy", self.on_policy.is_some()),
            ("--resume", self.resume.is_some()),
        ];
        let of_policies = [("--quick", self.quick)];
        let of_decc = [
            ("--clone", self.clone.is_some()),
            ("--algorithm", self.algorithm.is_some()),
            ("--from", self.from.is_some()),
            ("--compress", self.compress.is_some()),
            ("--continue", self.refine.is_some()),
            ("--experience", self.experience.is_some()),
            ("--continual", self.continual.is_some()),
            ("--every", self.every.is_some()),
            ("--deploy", self.deploy.is_some()),
        ];
        let of_runs = [("--scenarios", !self.scenarios.is_empty())];
        let given = |options: &[(&'static str, bool)]| {
            let found = options.iter().find(|(_, given)| *given);
            found.map(|&(option, _)| option)
        };
        if !self.set.is_empty() && self.scenarios.is_empty() && self.continual.is_none() {
            return Err(Failure::arguments("--set goes with --scenarios or --continual"));
        }
        let (wrong, about) = match self.what {
            Trainee::Adpg | Trainee::Aurora | Trainee::Spine | Trainee::Swift => (
                (given(&of_gains).or_else(|| given(&of_decc)))
                    .or_else(|| given(&of_networks.map(|(option, is)| (option, is && option != "--rounds"))))
                    .or_else(|| given(&of_runs)),
                "is not about policies: `train adpg`, `train aurora`, `train spine` and `train swift` take --seed, --rounds and --quick",
            ),
            Trainee::Decc => {
                let rounds = self.compress.is_none().then_some("--rounds");
                let episodes = self.continual.is_some().then_some("--episodes");
                let of_gains = of_gains.map(|(option, is)| (option, is && Some(option) != episodes));
                let wrong = given(&of_gains).or_else(|| {
                    given(&of_networks.map(|(option, is)| (option, is && Some(option) != rounds)))
                });
                let refines = matches!(self.algorithm, Some(Learner::Td3 | Learner::Ppo));
                let takes = refines || self.continual.is_some();
                let from = (self.from.is_some() && !takes).then_some("--from");
                (
                    wrong.or_else(|| given(&of_runs)).or(from),
                    "is not about this: `train decc` takes --seed, --quick, --algorithm, --clone, --compress, --continue and \
                     --continual, --rounds but to compress, --episodes with --continual, and --from with that or --algorithm td3 \
                     or ppo",
                )
            }
            _ if given(&of_decc).is_some() => (given(&of_decc), "goes with `train decc`"),
            _ if self.quick => (
                given(&of_policies),
                "goes with `train adpg`, `train aurora`, `train spine`, `train decc` and `train swift`",
            ),
            Trainee::Pidnn => (
                given(&of_networks),
                "is about networks, and `train pidnn` trains the gains of the controller",
            ),
            _ => (
                given(&of_gains),
                "is about the gains of the controller: it goes with `train pidnn`",
            ),
        };
        match wrong {
            Some(option) => Err(Failure::arguments(format!("{option} {about}"))),
            None => Ok(()),
        }
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

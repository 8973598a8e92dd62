//! Arguments of the trainings of DECC's policies.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use paceline_kernel::Span;

use super::CommonArgs;
use super::line::CommandLine;
use super::policy::{self, PolicyArgs};
use crate::args::JobArgs;

/// A model of DECC, or a step that makes one from another.
#[derive(Clone, Debug, Subcommand)]
pub(in crate::commands::train) enum DeccTrainee {
    /// Search for a rate law, without derivatives (CMA-ES)
    #[command(mut_arg("rounds", policy::rounds("25")))]
    Law(PolicyArgs),
    /// Train a residual network on top of a rate law
    #[command(mut_arg("rounds", policy::rounds("60")))]
    Residual(ResidualArgs),
    /// Train the policy as the paper prints it, from nothing (MADDPG)
    #[command(mut_arg("rounds", policy::rounds("80")))]
    Paper(PaperArgs),
    /// Clone a rate law, and its residual network, into one network
    #[command(mut_arg("rounds", policy::rounds("10")))]
    Clone(CloneArgs),
    /// Prune, quantise and fine-tune a network
    Compress(CompressArgs),
    /// Refine a rate law in the networks that runs met
    #[command(mut_arg("rounds", policy::rounds("25")))]
    Refine(RefineArgs),
    /// Run a scenario, refine the law by its experience, redeploy, and again
    #[command(mut_arg("rounds", policy::rounds("20 of each episode")))]
    Continual(ContinualArgs),
}

/// Options of `paceline train decc residual`.
#[derive(Clone, Debug, Args)]
pub(in crate::commands::train) struct ResidualArgs {
    /// Learning algorithm [default: td3]
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Training")]
    pub(in crate::commands::train) algorithm: Option<ResidualAlgorithm>,
    /// Rate law that the network corrects [default: decc-law]
    #[arg(long, value_name = "MODEL", help_heading = "Training")]
    pub(in crate::commands::train) from: Option<String>,
    #[command(flatten)]
    pub(in crate::commands::train) policy: PolicyArgs,
}

/// Learning algorithm of a residual network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::commands::train) enum ResidualAlgorithm {
    /// MADDPG with TD3's extensions
    Td3,
    /// PPO with a central critic
    Ppo,
}

/// Options of `paceline train decc paper`.
#[derive(Clone, Debug, Args)]
pub(in crate::commands::train) struct PaperArgs {
    /// One difference from the paper, to measure what it is worth [default: none]
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Training")]
    pub(in crate::commands::train) variant: Option<PaperVariant>,
    #[command(flatten)]
    pub(in crate::commands::train) policy: PolicyArgs,
}

/// A difference from the printed policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::commands::train) enum PaperVariant {
    /// A network without memory
    NoMemory,
    /// A separate reward for each flow
    OwnReward,
}

/// Options of `paceline train decc clone`.
#[derive(Clone, Debug, Args)]
pub(in crate::commands::train) struct CloneArgs {
    /// Rate law or residual network to clone
    #[arg(value_name = "MODEL")]
    pub(in crate::commands::train) model: String,
    #[command(flatten)]
    pub(in crate::commands::train) policy: PolicyArgs,
}

/// Options of `paceline train decc compress`.
#[derive(Clone, Debug, Args)]
pub(in crate::commands::train) struct CompressArgs {
    /// Network to compress
    #[arg(value_name = "MODEL")]
    pub(in crate::commands::train) model: String,
    /// Smoke test: train for a few seconds
    #[arg(long, help_heading = "Training")]
    pub(in crate::commands::train) quick: bool,
    #[command(flatten)]
    pub(in crate::commands::train) common: CommonArgs,
    #[command(flatten)]
    pub(in crate::commands::train) jobs: JobArgs,
}

/// Options of `paceline train decc refine`.
#[derive(Clone, Debug, Args)]
pub(in crate::commands::train) struct RefineArgs {
    /// Rate law, or a model cloned from one; `none` searches from nothing
    #[arg(value_name = "MODEL")]
    pub(in crate::commands::train) model: String,
    /// Folder with experience, from `paceline run --upload`
    #[arg(long, value_name = "DIR", help_heading = "Training")]
    pub(in crate::commands::train) experience: PathBuf,
    #[command(flatten)]
    pub(in crate::commands::train) policy: PolicyArgs,
}

/// Options of `paceline train decc continual`.
#[derive(Clone, Debug, Args)]
pub(in crate::commands::train) struct ContinualArgs {
    /// Scenario that the episodes run
    #[arg(value_name = "SCENARIO")]
    pub(in crate::commands::train) scenario: String,
    /// Set one key of the scenario; may be repeated
    #[arg(long, value_name = "PATH.TO.KEY=VALUE", help_heading = "Scenario")]
    pub(in crate::commands::train) set: Vec<String>,
    /// Simulated time of an episode [default: the scenario's; the paper: 5s]
    #[arg(long, value_name = "TIME", help_heading = "Scenario")]
    pub(in crate::commands::train) every: Option<Span>,
    /// Number of episodes [default: 5]
    #[arg(long, value_name = "N", help_heading = "Training", value_parser = clap::value_parser!(u32).range(1..))]
    pub(in crate::commands::train) episodes: Option<u32>,
    /// Model of the first episode [default: decc-law; decc-tree-300 with --deploy trees]
    #[arg(long, value_name = "MODEL", help_heading = "Training")]
    pub(in crate::commands::train) from: Option<String>,
    /// Model that later episodes run [default: law]
    #[arg(long, value_enum, value_name = "KIND", help_heading = "Training")]
    pub(in crate::commands::train) deploy: Option<Deploy>,
    #[command(flatten)]
    pub(in crate::commands::train) policy: PolicyArgs,
}

/// Model that runs after an episode of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::commands::train) enum Deploy {
    /// The refined law
    Law,
    /// Trees distilled from a compressed clone of it
    Trees,
}

impl DeccTrainee {
    /// Returns the options that every training has.
    pub(super) const fn common(&self) -> &CommonArgs {
        match self {
            Self::Compress(args) => &args.common,
            Self::Law(policy)
            | Self::Residual(ResidualArgs { policy, .. })
            | Self::Paper(PaperArgs { policy, .. })
            | Self::Clone(CloneArgs { policy, .. })
            | Self::Refine(RefineArgs { policy, .. })
            | Self::Continual(ContinualArgs { policy, .. }) => &policy.common,
        }
    }

    /// Returns the number of runs in parallel.
    pub(super) fn threads(&self) -> usize {
        match self {
            Self::Compress(args) => args.jobs.count(),
            Self::Law(policy)
            | Self::Residual(ResidualArgs { policy, .. })
            | Self::Paper(PaperArgs { policy, .. })
            | Self::Clone(CloneArgs { policy, .. })
            | Self::Refine(RefineArgs { policy, .. })
            | Self::Continual(ContinualArgs { policy, .. }) => policy.jobs.count(),
        }
    }

    /// Adds the options that the model depends on.
    pub(super) fn add_to(&self, line: &mut CommandLine) {
        match self {
            Self::Law(policy) => policy.add_to(line),
            Self::Residual(args) => {
                args.policy.add_to(line);
                line.choice("--algorithm", args.algorithm);
                line.option("--from", args.from.as_ref());
            }
            Self::Paper(args) => {
                args.policy.add_to(line);
                line.choice("--variant", args.variant);
            }
            Self::Clone(args) => {
                line.value(&args.model);
                args.policy.add_to(line);
            }
            Self::Compress(args) => {
                line.value(&args.model);
                line.option("--seed", args.common.seed);
                line.flag("--quick", args.quick);
            }
            Self::Refine(args) => {
                line.value(&args.model);
                line.option("--experience", Some(args.experience.display()));
                args.policy.add_to(line);
            }
            Self::Continual(args) => {
                line.value(&args.scenario);
                args.set.iter().for_each(|set| line.option("--set", Some(set)));
                args.policy.add_to(line);
                line.option("--episodes", args.episodes);
                line.option("--from", args.from.as_ref());
                line.option("--every", args.every);
                line.choice("--deploy", args.deploy);
            }
        }
    }
}

//! Learned congestion control: datasets from recorded runs, training, and the files of trained models.
//!
//! Its environments are runs of [`paceline_lab`]. Inference inside a run is the task of
//! [`paceline_congestion`], which does not depend on training.
//!
//! 1. [`dataset::record`] runs scenarios and keeps the round-trip times that senders measured
//!    ([`dataset::Trace`]); [`dataset::Trace::from_folder`] takes them from the folder of an earlier run.
//! 2. [`dataset::Dataset::draw`] makes pairs of three features and the next sample, stratified so that
//!    constant and changing periods have similar weight.
//! 3. [`train::train`] fits a network to the pairs, round by round.
//! 4. [`write()`] makes the files of its model; [`page`] renders the report of a training.
//!
//! Each training stores its state on disk ([`Checkpoints`]) and can resume from it.
//!
//! [`mod@continual`] alternates runs and refinements. [`adpg`], [`aurora`], [`spine`] and [`decc`] train
//! policies in environments ([`paceline_env`]), and [`mod@distill`] converts one into a forest. [`evaluate`]
//! compares predictors with recorded runs. [`pidnn::train`] needs no dataset: it trains the controller's
//! gains while it controls.

pub mod adpg;
pub mod aurora;
mod chance;
mod checkpoint;
pub mod continual;
mod course;
pub mod dataset;
pub mod decc;
pub mod distill;
mod error;
pub mod evaluate;
pub mod experience;
mod identity;
pub mod judge;
pub mod on_policy;
pub mod page;
mod pass;
pub mod pidnn;
mod policy;
mod ppo;
mod rng;
pub mod rounds;
pub mod search;
pub mod spine;
pub mod train;
mod write;

pub use checkpoint::{Checkpoints, EVERY, Slot};
pub use error::Error;
pub use identity::version;
pub use write::{ModelFiles, Snapshot, read, write};

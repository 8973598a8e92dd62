//! Learned congestion control: datasets from recorded runs, training, and the files of trained models.
//!
//! Runs of [`paceline_lab`] are its environment. What decides inside a run is not here: inference is
//! code of [`paceline_congestion`], which knows nothing of training.
//!
//! 1. [`dataset::record`] runs scenarios and keeps the round-trip times that senders measured
//!    ([`dataset::Trace`]); [`dataset::Trace::from_folder`] takes them from the folder of an earlier run.
//! 2. [`dataset::Dataset::draw`] makes pairs of them: three features and what came next, drawn so that
//!    calm and restless moments are about equally many.
//! 3. [`train::train`] fits a network to the pairs, round by round.
//! 4. [`write()`] makes the files of a model of it; [`page`] is what a reader sees of a training.
//!
//! Each of these trainings keeps where it is on disk ([`Checkpoints`]), and goes on from there.
//!
//! [`mod@continual`] is the loop of runs and refinements; [`adpg`], [`aurora`], [`spine`] and [`decc`] train policies in environments ([`paceline_env`]), [`mod@distill`] makes a forest of one. [`evaluate`] holds predictors against recorded runs. [`pidnn::train`] needs no dataset: the gains of the controller are trained while it controls.

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

pub use checkpoint::{Checkpoints, EVERY};
pub use error::Error;
pub use identity::version;
pub use write::{ModelFiles, read, write};

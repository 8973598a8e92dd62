//! Learned congestion control: datasets from recorded runs, training, and the files of trained models.
//!
//! Runs of [`paceline_lab`] are its environment. What decides inside a run is not here: inference is
//! code of [`paceline_congestion`], which knows nothing of training.

pub mod reproduce;

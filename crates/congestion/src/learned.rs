//! Shared parts of learned controllers: networks that decide inside a run, and their model files.
//!
//! Decisions open no file and allocate nothing. The same inputs give the same bits on every machine: sums
//! have a fixed order, multiplications and additions are not fused (no FMA), and activation functions use
//! basic operations only.

pub mod activation;
pub mod card;
pub mod dense;
mod error;
pub(crate) mod features;
pub mod forest;
mod hash;
pub mod inside;
pub mod kind;
pub mod layers;
pub mod mlp;
pub mod model;
pub mod recurrent;
pub mod reference;
pub mod shipped;
pub mod stack;
pub mod whole;

pub use card::Card;
pub use error::ModelError;
pub use hash::sha256;
pub use kind::ModelKind;
pub use model::Model;
pub use reference::{ModelHash, ModelRef};

//! What learned controllers share: networks that decide inside a run, and the files they come from.
//!
//! Nothing here opens a file or allocates in a decision. The same inputs give the same bits on every
//! machine: sums have one order, multiplications and additions stay apart (no FMA), and the activation
//! functions are of basic operations only.

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
pub use kind::Kind;
pub use model::Model;
pub use reference::{ModelHash, ModelRef};

//! Boosted oblivious trees as policies: training and import, proofs, and export.
//!
//! Inference inside a run is [`paceline_congestion::learned::forest`]; this crate contains everything else.
//!
//! 1. [`mod@train`] fits a forest to rows of features and targets; [`catboost`] imports one that CatBoost
//!    trained.
//! 2. [`mod@distill`] converts a good but slow policy into a forest, with data from the forest's own
//!    decisions.
//! 3. [`mod@prove`] proves or refutes claims about a forest.
//! 4. [`c`] exports it as C.

pub mod c;
pub mod catboost;
pub mod distill;
pub mod prove;
pub mod train;

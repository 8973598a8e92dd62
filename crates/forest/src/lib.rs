//! Boosted oblivious trees as policies: where they come from, what can be proved of them, and where they go.
//!
//! What decides inside a run is [`paceline_congestion::learned::forest`]; this is everything around it.
//!
//! 1. [`mod@train`] fits a forest to rows of features and what should come of them; [`catboost`] takes one that CatBoost
//!    trained.
//! 2. [`mod@distill`] makes a forest of a policy that decides well but slowly, going where the forest leads.
//! 3. [`mod@prove`] proves or refutes what is said of a forest.
//! 4. [`c`] writes it as C.

pub mod c;
pub mod catboost;
pub mod distill;
pub mod prove;
pub mod train;

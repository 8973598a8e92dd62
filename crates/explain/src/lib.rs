//! Pages about everything with a name: schemes, topologies, workloads, distributions, mechanisms, sections of a
//! scenario, built-in scenarios and models. They are generated from the documentation in `congestion` and `scenario`.

mod example;
mod index;
mod learning;
pub mod list;
mod measures;
mod mechanisms;
mod models;
mod page;
mod terms;
mod vendor;

pub use example::setting;
pub use index::index;
pub use page::explain;
pub use terms::{Term, terms};

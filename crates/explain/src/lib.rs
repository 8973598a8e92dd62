//! Pages about what has a name: schemes, topologies, workloads, distributions, mechanisms, sections of a scenario,
//! scenarios and models that ship. They are made of what `congestion` and `scenario` document.

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

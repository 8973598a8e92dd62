//! Paceline from Python: `paceline._native`, which the package `paceline` shows.
//!
//! What is done here is what the `paceline` command does, by the same functions of `lab`, `report` and `explain`. A
//! call that takes long works on a thread of its own while the caller waits without the interpreter's lock
//! ([`watch`]); tables are Arrow's ([`table`]); whatever goes wrong is an exception ([`failure`]).

use pyo3::prelude::*;

mod batch;
mod compare;
mod dispatch;
mod environment;
mod failure;
mod input;
mod json;
mod names;
mod policy;
mod run;
mod sweep;
mod table;
mod watch;
mod why;

/// Large networks lie in huge pages.
#[global_allocator]
static ALLOCATOR: paceline_kernel::memory::HugePages = paceline_kernel::memory::HugePages;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::batch::Batch;
    #[pymodule_export]
    use super::compare::{Comparison, compare};
    #[pymodule_export]
    use super::dispatch::{_block, Dispatched};
    #[pymodule_export]
    use super::environment::{Environment, Rollout};
    #[pymodule_export]
    use super::failure::_fault;
    #[pymodule_export]
    use super::names::{check, explain, scenarios, schemes};
    #[pymodule_export]
    use super::policy::decide;
    #[pymodule_export]
    use super::run::{Run, read, run};
    #[pymodule_export]
    use super::sweep::{Sweep, sweep};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::watch::{_abandon, Progress};
    #[pymodule_export]
    use super::why::{Why, why};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::failure::listen();
        paceline_parity::install();
        module.add("__version__", paceline_lab::version())
    }
}

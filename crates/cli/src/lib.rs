//! The `paceline` command, as a library: a program of your own has it with schemes of your own.
//!
//! ```no_run
//! # mod my_scheme { pub use paceline_congestion::example::Params; }
//! fn main() -> std::process::ExitCode {
//!     paceline::main_with(paceline::Extension::new().with::<my_scheme::Params>())
//! }
//! ```
//!
//! [`scheme`] has all that such a scheme is made of. It is then like one that ships: scenarios and options name it and its
//! parameters, and every command, page and file has it.
//!
//! A file of `commands` has one command: its arguments, and its work (`args` has arguments that several share),
//! `failure` says what went wrong and with which exit status. Results go to standard output (`output`), everything
//! else to standard error (`say`).

#![cfg_attr(
    not(feature = "training"),
    allow(dead_code, unused_imports, reason = "trainings share it with nothing else")
)]

#[macro_use]
mod say;

mod args;
mod commands;
mod destination;
mod failure;
mod features;
mod input;
mod interrupt;
mod names;
mod output;
mod progress;
mod ranks;
pub mod scheme;
mod text;

use std::process::ExitCode;

pub use paceline_scenario::guest::Extension;

/// Allocator that uses huge pages, which speed up large networks.
#[global_allocator]
static ALLOCATOR: paceline_kernel::memory::HugePages = paceline_kernel::memory::HugePages;

/// Runs the command line with all built-in parts and the program's own extension. It is meant as the whole `main`.
/// Errors in the extension are reported like invalid arguments.
pub fn main_with(own: Extension) -> ExitCode {
    failure::guarded(|| match features::add(own).and_then(|()| commands::dispatch()) {
        Ok(done) => done.into(),
        Err(failure) => failure.print(),
    })
}

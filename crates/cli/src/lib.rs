//! The `paceline` command, as a library: a program of your own has it with schemes of your own.
//!
//! ```no_run
//! # mod my_scheme { pub use paceline_congestion::example::Params; }
//! fn main() -> std::process::ExitCode {
//!     paceline::Schemes::new().with::<my_scheme::Params>().main()
//! }
//! ```
//!
//! [`scheme`] has all that such a scheme is made of. It is then like one that ships: scenarios and options name it and its
//! parameters, and every command, page and file has it.
//!
//! A file of `commands` says what each may be told and does it (`args` has what several may be told),
//! `failure` says what went wrong and with which exit status. Results go to standard output (`output`), everything
//! else to standard error (`say`).

#[macro_use]
mod say;

mod args;
mod commands;
mod failure;
mod input;
mod interrupt;
mod output;
mod place;
mod progress;
pub mod scheme;
mod text;

use std::process::ExitCode;

/// Large networks lie in huge pages.
#[global_allocator]
static ALLOCATOR: paceline_kernel::memory::HugePages = paceline_kernel::memory::HugePages;

use paceline_congestion::registry::{Addition, add};

/// The schemes of a program: those that ship, and those that it adds.
#[derive(Debug, Default)]
pub struct Schemes(Vec<Addition>);

impl Schemes {
    /// Those that ship.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, and the scheme whose parameters these are.
    #[must_use]
    pub fn with<P: scheme::OwnScheme>(mut self) -> Self {
        self.0.push(Addition::of::<P>());
        self
    }

    /// Does what the command line says: a program's whole `main`. Wrong names of schemes are told like wrong arguments.
    pub fn main(self) -> ExitCode {
        failure::guarded(|| {
            let added = add(self.0).map_err(failure::Failure::arguments);
            match added.and_then(|()| commands::dispatch()) {
                Ok(done) => done.into(),
                Err(failure) => failure.print(),
            }
        })
    }
}

//! The `paceline` command.
//!
//! A file of [`commands`] says what each may be told and does it ([`args`] has what several may be told),
//! [`failure`] says what went wrong and with which exit status. Results go to standard output ([`output`]), everything
//! else to standard error ([`say`]).

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
mod text;

use std::process::ExitCode;

fn main() -> ExitCode {
    failure::guarded(|| match commands::dispatch() {
        Ok(done) => done.into(),
        Err(failure) => failure.print(),
    })
}

//! The `paceline` command.
//!
//! [`args`] says what can be asked for, a file of [`commands`] does each, [`failure`] says what went
//! wrong and with which exit status. Results go to standard output, everything else to standard
//! error.

mod args;
mod commands;
mod failure;
mod input;
mod interrupt;
mod output;
mod progress;
mod text;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    failure::guarded(|| match commands::dispatch(args::Cli::parse().command) {
        Ok(done) => done.into(),
        Err(failure) => failure.tell(),
    })
}

//! Pages in a headless Chromium, as a reader of a report uses them.
//!
//! Without a browser, and without permission to install one, the tests are skipped with a message. The standard test
//! harness would hide that message, so this target has its own `main`. With `PACELINE_SCREENSHOTS=folder`, the tests
//! keep their pictures in that folder.

#![allow(clippy::disallowed_macros, reason = "a test says that it was skipped")]

mod chrome;
#[path = "../it/common/mod.rs"]
mod common;
mod controls;
mod devtools;
mod export;
mod harness;
mod page;
mod pages;
mod repeats;
mod report;
mod sweep;
mod topology;
mod tracks;
mod view;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};

use devtools::Browser;
use page::Page;

/// A test: its name, and its function.
type Test = (&'static str, fn(&Browser));

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // The tests share one window and one mouse.
    arguments.test_threads = Some(1);
    let tests: Vec<Test> = [
        harness::TESTS,
        report::TESTS,
        repeats::TESTS,
        sweep::TESTS,
        topology::TESTS,
        tracks::TESTS,
        controls::TESTS,
        export::TESTS,
        view::TESTS,
    ]
    .concat();
    let asked = arguments.include_ignored || arguments.ignored;
    let browser = match (arguments.list, asked) {
        (true, _) => Err("only listed".to_string()),
        (_, false) => Err("`cargo test --workspace -- --include-ignored` runs them".to_string()),
        (_, true) => chrome::start().map(Arc::new),
    };
    if browser.is_err() {
        (arguments.include_ignored, arguments.ignored) = (false, false);
    }
    let trial = |&(name, test): &Test| match &browser {
        Ok(browser) => {
            let browser = Arc::clone(browser);
            Trial::test(name, move || {
                test(&browser);
                Ok(())
            })
        }
        Err(why) => {
            let why = why.clone();
            Trial::test(name, || Err(why.into())).with_ignored_flag(!arguments.list)
        }
    };
    let conclusion = libtest_mimic::run(&arguments, tests.iter().map(trial).collect());
    match &browser {
        _ if arguments.list => {}
        Ok(browser) => {
            let version = browser.version().unwrap_or_else(|_| "?".into());
            println!(
                "browser tests: {} run in {version}",
                conclusion.num_passed + conclusion.num_failed
            );
        }
        Err(why) => println!("browser tests: SKIPPED, all {}: {why}", tests.len()),
    }
    pages::remove();
    // Returning from `main` ends the browser; `exit` would leave it running.
    drop(browser);
    if conclusion.has_failed() {
        ExitCode::from(101)
    } else {
        ExitCode::SUCCESS
    }
}

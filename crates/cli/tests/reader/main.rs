//! Every command that a reader types works: those of the README, of each page of the book and of each command's help,
//! and the demo's suggestions, one after the other in the same folder. That takes minutes, so they run with
//! `--include-ignored` only.

#![allow(clippy::disallowed_macros, reason = "a test says that it was skipped")]

#[path = "../it/common/mod.rs"]
mod common;
mod guide;
mod hints;
mod own_scheme;
#[path = "../../../../examples/own-scheme/src"]
#[allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "it is of another crate, and its tests are not run here"
)]
mod own_scheme_src {
    pub(crate) mod bcn;
}
mod shell;
mod sources;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// If this variable is set, the test program acts as the program of `examples/own-scheme`.
const AS_OWN_SCHEME: &str = "PACELINE_TEST_AS_OWN_SCHEME";

fn main() -> ExitCode {
    if std::env::var_os(AS_OWN_SCHEME).is_some() {
        return paceline::main_with(paceline::Extension::new().with::<own_scheme_src::bcn::Params>());
    }
    let trial = |page: sources::Page| {
        Trial::test(page.name.clone(), move || {
            let reader = shell::Reader::of(&page.name);
            for (name, text) in &page.scenarios {
                let path = reader.folder().join(name);
                std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                std::fs::write(path, text).expect("a file");
            }
            let shown = reader.types(&page.commands);
            if let Some(file) = &page.file {
                guide::keep(file, &shown, reader.folder());
            }
            Ok(())
        })
        .with_ignored_flag(true)
    };
    let pages = sources::pages();
    let count: usize = pages.iter().map(|page| page.commands.len()).sum();
    let mut trials: Vec<Trial> = pages.into_iter().map(trial).collect();
    trials.push(Trial::test("hints of the demo", || {
        hints::those_of_the_demo_work();
        Ok(())
    }));
    trials.push(Trial::test(
        "a change that is suggested changes something",
        || {
            hints::a_suggested_change_changes_something();
            Ok(())
        },
    ));
    for (name, test) in own_scheme::TESTS {
        trials.push(Trial::test(name, move || {
            test();
            Ok(())
        }));
    }
    trials.push(Trial::test("commands are found", move || {
        assert!(count > 60, "{count} commands are found");
        Ok(())
    }));
    let arguments = Arguments::from_args();
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !arguments.list && conclusion.num_ignored > 0 {
        println!(
            "commands of {} pages: SKIPPED: `cargo test --workspace -- --include-ignored` runs them",
            conclusion.num_ignored
        );
    }
    conclusion.exit_code()
}

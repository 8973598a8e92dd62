//! Tasks of contributors. `cargo xtask update [PACKAGE..]` runs the tests that compare output with files of the project
//! (snapshots, help, tables of the book, the README), and has them write these files instead. `cargo xtask code` prints
//! the identities that packaged crates need.

use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Tests that compare output with files.
struct Comparison {
    package: &'static str,
    arguments: &'static [&'static str],
}

const fn all_of(package: &'static str) -> Comparison {
    Comparison {
        package,
        arguments: &[],
    }
}

const COMPARISONS: [Comparison; 8] = [
    all_of("paceline-congestion"),
    all_of("paceline-forest"),
    all_of("paceline-scenario"),
    all_of("paceline-lab"),
    all_of("paceline-report"),
    all_of("paceline-reproduce"),
    Comparison {
        package: "paceline",
        arguments: &[
            "--test",
            "it",
            "--",
            "book",
            "help",
            "errors",
            "list",
            "reproduce",
            "readme",
        ],
    },
    // The book has copies of other files, so its tests run again after the others have written.
    Comparison {
        package: "paceline",
        arguments: &["--test", "it", "--", "book"],
    },
];

/// Crates whose versions say which code decided their results.
const WITH_CODE: [&str; 4] = ["lab", "learn", "parity", "reproduce"];

const USAGE: &str = "usage: cargo xtask update [PACKAGE..]
       cargo xtask code

update rewrites snapshots, help texts, tables of the book and output in the README. PACKAGE: paceline, paceline-lab, ..
code prints the identity of the code of each crate that has one.";

fn main() -> ExitCode {
    let mut words = env::args().skip(1);
    let packages: Vec<String> = match words.next().as_deref() {
        Some("update") => words.collect(),
        Some("code") => return print_codes(),
        _ => return fail(USAGE),
    };
    let known = |name: &String| COMPARISONS.iter().any(|one| one.package == name);
    if let Some(unknown) = packages.iter().find(|name| !known(name)) {
        return fail(&format!(
            "xtask: no tests of `{unknown}` compare output with files\n{USAGE}"
        ));
    }
    let mut failed = Vec::new();
    for Comparison { package, arguments } in COMPARISONS {
        if !packages.is_empty() && !packages.iter().any(|name| name == package) {
            continue;
        }
        let mut test = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        test.args(["test", "--quiet", "--package", package])
            .args(arguments);
        test.envs([
            ("UPDATE_BOOK", "1"),
            ("UPDATE_README", "1"),
            ("INSTA_UPDATE", "always"),
        ]);
        if !test.status().is_ok_and(|status| status.success()) && !failed.contains(&package) {
            failed.push(package);
        }
    }
    // A test that wrote a file may have failed for it: whoever reads the difference decides.
    let _ = Command::new("git").args(["status", "--short"]).status();
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    fail(&format!(
        "xtask: tests failed in {}: run them again to see whether they still do",
        failed.join(", ")
    ))
}

/// Prints the identity of each crate that has one.
#[expect(clippy::disallowed_macros, reason = "its output is for scripts")]
fn print_codes() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in WITH_CODE {
        println!("{name} {}", paceline_identity::of_crate(&root, name).hash);
    }
    ExitCode::SUCCESS
}

#[expect(clippy::disallowed_macros, reason = "it says one line and ends")]
fn fail(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(2)
}

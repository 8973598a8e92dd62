//! Trace samples, compared with the programs of their formats. `VALIDATION.md` has the results, and a wrong end is a
//! fault.

use std::fs;
use std::path::Path;

use crate::command::traces;

#[test]
fn cost_models_come_to_what_the_validation_says() {
    let verdict = traces::on_cost_models(&traces::shipped());
    assert!(verdict.faults.is_empty(), "{:#?}", verdict.faults);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../VALIDATION.md");
    let page = fs::read_to_string(page).unwrap();
    assert!(
        page.contains(&verdict.page),
        "VALIDATION.md does not have:\n{}",
        verdict.page
    );
}

/// A fault is reported if one rank ends a nanosecond later than in the program.
#[test]
fn a_wrong_end_is_a_fault() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("goal")).unwrap();
    fs::create_dir_all(at("chakra")).unwrap();
    let shipped = traces::shipped();
    fs::copy(shipped.join("goal/ping.goal"), at("goal/ping.goal")).unwrap();
    let answers = fs::read_to_string(shipped.join("goal/answers.csv")).unwrap();
    let ping = answers
        .lines()
        .find(|line| line.starts_with("ping,default,loggopsim,"))
        .unwrap();
    let faults = |line: &str| {
        fs::write(at("goal/answers.csv"), format!("\n{line}\n")).unwrap();
        fs::write(at("chakra/answers.csv"), "\n").unwrap();
        traces::on_cost_models(folder.path()).faults
    };
    assert_eq!(faults(ping), [""; 0]);
    let (start, last) = ping.rsplit_once(' ').unwrap();
    let later = last.parse::<u64>().unwrap() + 1;
    assert_eq!(faults(&format!("{start} {later}")).len(), 1);
}

//! Random inputs pass the readers and are executed.

use std::process::Command;

/// Targets with a grammar, and the smallest share of their inputs, in percent, that must be executed: about three
/// quarters of the measured share.
const SHARES: [(&str, u64); 10] = [
    ("random-goal", 69),
    ("random-goal-binary", 48),
    ("random-chakra", 31),
    ("random-chakra-json", 33),
    ("random-simai", 38),
    ("random-simai-conf", 58),
    ("random-matrix", 38),
    ("random-uet", 46),
    ("random-policy", 35),
    ("random-experiment", 36),
];

#[test]
fn random_inputs_reach_what_carries_them_out() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline-fuzz"));
    command
        .args(SHARES.map(|(name, _)| name))
        .args(["--inputs", "100"]);
    let output = command.output().expect("the program starts");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    for (name, least) in SHARES {
        let line = said
            .lines()
            .find(|line| line.split_whitespace().next() == Some(name));
        let ran = line.and_then(|line| line.split_whitespace().last()?.parse::<u64>().ok());
        assert!(
            ran >= Some(least),
            "{name}: fewer than {least} of 100 were carried out\n{said}"
        );
    }
}

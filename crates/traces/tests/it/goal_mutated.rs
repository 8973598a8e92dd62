//! GOAL samples with random changes: every function that takes a program returns an error or a value, and never
//! panics.

use std::path::Path;

use paceline_traces::check::check;
use paceline_traces::explain::{Costs, explain};
use paceline_traces::goal;
use paceline_traces::loggops::{Parameters, Variant, run};

#[test]
fn changed_samples_are_errors_or_values() {
    let mut state = 1u64;
    let mut random = |n: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/goal");
    let (mut programs, mut errors) = (0, 0);
    for name in [
        "irequires.goal",
        "wildcards.goal",
        "nics.goal",
        "mixed_03.goal",
        "irequires.bin",
        "wildcards.bin",
        "mixed_03.bin",
    ] {
        let whole = std::fs::read(folder.join(name)).unwrap();
        for _ in 0..400 {
            let mut bytes = whole.clone();
            for _ in 0..=random(2) {
                let at = random(bytes.len());
                match random(12) {
                    0 => bytes[at] = random(256) as u8,
                    1 => bytes[at] = b"0123456789 -\n}:b"[random(16)],
                    // Another digit, or another number in a binary.
                    5.. => {
                        let digit = (at..bytes.len()).find(|i| bytes[*i].is_ascii_digit() || bytes[*i] == 1);
                        if let Some(digit) = digit {
                            bytes[digit] = if bytes[digit] == 1 {
                                2
                            } else {
                                b'0' + random(10) as u8
                            };
                        }
                    }
                    2 => drop(bytes.remove(at)),
                    3 => bytes.insert(at, b"0123456789\nab /"[random(15)]),
                    // A copy of a line or a piece at another position.
                    _ => {
                        let end = (at + random(40)).min(bytes.len());
                        let piece = bytes[at..end].to_vec();
                        let index = random(bytes.len());
                        bytes.splice(index..index, piece);
                    }
                }
            }
            let Ok((program, _)) = goal::read_bytes("x.goal", &bytes) else {
                errors += 1;
                continue;
            };
            programs += 1;
            let report = check(&program, 65_535);
            explain(&program, &Costs::loggp(2500, 1500, 6.0)).unwrap();
            for variant in [Variant::LogGopSim, Variant::Atlahs] {
                for parameters in [Parameters::default(), Parameters::ALPS] {
                    let Ok(outcome) = run(&program, variant, &parameters) else {
                        continue;
                    };
                    // A program that no network can complete is not executed here.
                    let sound =
                        report.errors.is_empty() || outcome.stuck.is_some() || !outcome.cautions.is_empty();
                    assert!(
                        sound,
                        "{report:?} {outcome:?}\n{}",
                        String::from_utf8_lossy(&bytes)
                    );
                }
            }
        }
    }
    assert!(programs > 500 && errors > 1000, "{programs} {errors}");
}

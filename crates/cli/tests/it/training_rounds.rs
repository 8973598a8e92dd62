//! `paceline train`: on-policy rounds, and interrupted trainings.

use crate::common;

use std::fs;
use std::process::Stdio;

use crate::common::{TRAIN, command, folder_with, interrupt, json, stdout};
use serde_json::Value;

fn folder() -> tempfile::TempDir {
    folder_with("tiny.toml", common::TINY)
}

/// Arguments of a training with on-policy rounds.
const OWN: [&str; 12] = [
    "train",
    "gru",
    "--scenarios",
    "tiny.toml",
    "--on-policy",
    "2",
    "--pairs",
    "1000",
    "--rounds",
    "4",
    "-q",
    "--out",
];

/// Runs use the predictor so far, and their samples train the next one.
#[test]
fn a_predictor_learns_from_runs_that_it_predicts_in() {
    let folder = folder();
    let path = folder.path();
    let table = stdout(path, &[&OWN[..], &["own"]].concat());
    assert!(
        table.contains("error by course") && table.contains("on-policy rounds"),
        "{table}"
    );
    let own = path.join("own");
    let training = json(&own.join("training.json"));
    let rounds = training["on_policy"].as_array().unwrap();
    assert_eq!(rounds.len(), 3);
    let card = |round: usize| json(&own.join(format!("checkpoints/on-policy-{round}/rtt-gru.json")));
    for (number, round) in rounds.iter().enumerate() {
        assert_eq!(round["loop"]["runs"], 2, "{round}");
        assert!(round["loop"]["rtt_p99_us"].as_f64().unwrap() > 4.0, "{round}");
        assert_eq!(round["rounds"].as_array().unwrap().len(), 4);
        // Each round has two runs, with the model of the previous round.
        let card = card(number);
        let sources = card["data"]["sources"].as_array().unwrap();
        assert_eq!(sources.len(), [1, 2, 4][number]);
        for (index, source) in sources.iter().enumerate().filter(|_| number > 0) {
            assert_eq!(source["scheme"], "lstm-pid");
            let earlier = self::json(&own.join(format!("checkpoints/on-policy-{}/rtt-gru.json", index / 2)));
            assert_eq!(source["model_sha256"], earlier["weights_sha256"]);
        }
        let mut orders: Vec<_> = sources.iter().map(|source| source["order"].as_u64()).collect();
        orders.dedup();
        assert_eq!(orders.len(), sources.len());
    }
    let courses = training["courses"].as_array().unwrap();
    let named = |course: &Value| {
        (
            course["course"].as_str().unwrap().to_string(),
            course["unseen"] == true,
        )
    };
    assert_eq!(
        courses.iter().map(named).collect::<Vec<_>>(),
        [
            ("tiny under lstm-pid".to_string(), false),
            ("tiny under timely".to_string(), true),
            ("tiny under lstm-pid".to_string(), true)
        ]
    );
    let page = fs::read_to_string(own.join("report.html")).unwrap();
    assert!(page.contains("On-policy rounds") && page.contains("Errors by course"));
    assert_eq!(
        card(2)["weights_sha256"],
        json(&own.join("rtt-gru.json"))["weights_sha256"]
    );
}

/// A training that would take a minute is interrupted after its first round.
#[cfg(unix)]
#[test]
fn an_interrupted_training_keeps_its_rounds() {
    use std::io::{BufRead as _, BufReader};

    let folder = folder();
    let path = folder.path();
    let args = [
        &TRAIN[..8],
        &["--rounds", "3", "--batch", "1", "--out", "trained"],
    ]
    .concat();
    let mut training = command(path)
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(training.stderr.take().unwrap()).lines();
    let mut asked = false;
    let mut rest = String::new();
    for line in lines {
        let line = line.unwrap();
        if !asked && line.starts_with("    1 ") {
            interrupt(&training);
            asked = true;
        }
        rest.push_str(&line);
    }
    assert!(asked, "{rest}");
    assert_eq!(training.wait().unwrap().code(), Some(130), "{rest}");
    let training = json(&path.join("trained/training.json"));
    assert_eq!(training["status"], "partial");
    let rounds = training["predictors"][0]["rounds"].as_array().unwrap().len();
    assert!((1..3).contains(&rounds), "{rounds}");
    assert!(path.join("trained/rtt-lstm.safetensors").is_file());
}

//! DECC's continual loop: runs upload what they met, a training goes on there, and runs use what it found.

use std::fs;
use std::path::Path;

use crate::common::{TINY, folder_with, json, run, said, stdout};
use serde_json::Value;

const UPLOAD: [&str; 7] = ["run", "tiny.toml", "--scheme", "decc", "--upload", "met", "-q"];
const TRAIN: [&str; 8] = [
    "train",
    "decc",
    "--quick",
    "--continue",
    "decc-law",
    "--experience",
    "met",
    "-q",
];

/// The files of a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn runs_teach_a_law_that_runs_use() {
    let folder = folder_with("tiny.toml", TINY);
    let path = folder.path();
    stdout(path, &UPLOAD);
    // The same run again replaces its own, whether it is run or was; another one adds.
    stdout(path, &UPLOAD);
    stdout(path, &[&UPLOAD[..], &["--out", "elsewhere"]].concat());
    assert_eq!(names(&path.join("met")).len(), 1);
    stdout(
        path,
        &[
            &UPLOAD[..],
            &["--seed", "2", "--set", "topology.star.rate=400Gbps"],
        ]
        .concat(),
    );
    let met = names(&path.join("met"));
    assert!(
        met.len() == 2 && met[0].starts_with("tiny-decc-1-") && met[1].starts_with("tiny-decc-2-"),
        "{met:?}"
    );
    let experience = json(&path.join("met").join(&met[1]));
    assert_eq!(experience["network"]["gbps"], 400.0, "{experience}");
    assert_eq!(experience["network"]["flows"]["max"], 4, "{experience}");
    assert_eq!(experience["model"]["name"], "decc-law", "{experience}");

    let training: Value = serde_json::from_str(&stdout(path, &[&TRAIN[..], &["--json"]].concat())).unwrap();
    assert_eq!(training["experience"].as_array().unwrap().len(), 2);
    let of = |what: &str, when: &str, networks: &str| training[what][when][networks].as_f64().unwrap();
    // What is kept was no worse in trials where runs were, and forgot 2 % at most.
    assert!(
        of("trials", "after", "experience") <= of("trials", "before", "experience"),
        "{training}"
    );
    assert!(
        of("trials", "after", "old") <= 1.02 * of("trials", "before", "old"),
        "{training}"
    );
    let trained = path.join("results/train-decc");
    let card = json(&trained.join("decc-refined.json"));
    let page = fs::read_to_string(trained.join("report.html")).unwrap();
    let forgotten = training["judged"]["forgotten_percent"].as_f64().unwrap();
    let forgotten = format!("(forgetting {forgotten:.1} %)");
    for text in [card["training"]["loss"].as_str().unwrap(), &page] {
        assert!(text.contains(&forgotten), "{forgotten}: {text}");
    }
    assert_eq!(card["data"]["sources"].as_array().unwrap().len(), 3, "{card}");

    // What was found decides, and its runs are experience for the next time.
    let model = "cc.decc.model=results/train-decc/decc-refined";
    stdout(path, &[&UPLOAD[..], &["--set", model, "--seed", "3"]].concat());
    let met = names(&path.join("met"));
    assert_eq!(
        json(&path.join("met").join(&met[2]))["model"]["name"],
        "decc-refined"
    );
    let again = [
        "train",
        "decc",
        "--quick",
        "--rounds",
        "1",
        "--continue",
        "results/train-decc/decc-refined",
    ];
    stdout(path, &[&again[..], &["--experience", "met", "-q"]].concat());
    // From nothing, in the networks that were met alone.
    let nothing = [
        "train",
        "decc",
        "--quick",
        "--rounds",
        "2",
        "--continue",
        "none",
        "--experience",
        "met",
        "-q",
    ];
    let nothing: Value = serde_json::from_str(&stdout(path, &[&nothing[..], &["--json"]].concat())).unwrap();
    assert_eq!(nothing["law"], Value::Null);
}

/// Refused with what was found and what was expected; nothing is left behind.
#[test]
fn what_nothing_is_learned_from_is_refused() {
    let folder = folder_with("tiny.toml", TINY);
    let path = folder.path();
    fs::create_dir(path.join("empty")).unwrap();
    fs::create_dir(path.join("damaged")).unwrap();
    fs::create_dir(path.join("blank")).unwrap();
    fs::create_dir(path.join("older")).unwrap();
    fs::write(path.join("damaged/run.json"), "{\"format\": 1, \"version\"").unwrap();
    fs::write(path.join("blank/run.json"), "").unwrap();
    fs::write(
        path.join("older/run.json"),
        r#"{"format": 1, "version": "0.0.1", "run": {"scenario": "mine"}}"#,
    )
    .unwrap();
    stdout(path, &UPLOAD);
    let good = names(&path.join("met")).remove(0);
    let good = fs::read_to_string(path.join("met").join(good)).unwrap();
    for (folder, from, to) in [
        ("nan", "\"gbps\": 100.0", "\"gbps\": NaN"),
        ("below", "\"gbps\": 100.0", "\"gbps\": -3.5"),
        ("features", "\"silence\"", "\"noise\""),
    ] {
        assert!(good.contains(from), "{from}: {good}");
        fs::create_dir(path.join(folder)).unwrap();
        fs::write(path.join(folder).join("run.json"), good.replace(from, to)).unwrap();
    }
    let left = || [names(path), names(&path.join("results"))];
    let before = left();
    let train = |model: &'static str, folder: &'static str| {
        vec!["train", "decc", "--continue", model, "--experience", folder]
    };
    for (args, expected) in [
        (
            vec!["run", "tiny.toml", "--upload", "new"],
            "--upload: the scheme of `tiny` is `timely`; expected `decc`",
        ),
        (
            vec!["run", "tiny.toml", "--scheme", "decc", "--upload", "tiny.toml"],
            "--upload: tiny.toml exists and is not a folder",
        ),
        (
            vec!["train", "decc", "--continue", "decc-law"],
            "--experience <DIR>",
        ),
        (vec!["train", "decc", "--experience", "met"], "--continue <MODEL>"),
        (
            vec![
                "train",
                "decc",
                "--clone",
                "decc-law",
                "--continue",
                "decc-law",
                "--experience",
                "met",
            ],
            "cannot be used with",
        ),
        (
            vec!["train", "swift", "--continue", "decc-law", "--experience", "met"],
            "--continue is not about policies",
        ),
        (
            vec!["train", "lstm", "--continue", "decc-law", "--experience", "met"],
            "--continue goes with `train decc`",
        ),
        (
            train("decc-lav", "met"),
            "there is no model `decc-lav` (did you mean `decc-law`?)",
        ),
        (
            train("decc-net", "met"),
            "`decc-net` is of kind decc; expected a rate law (kind law). Refine the law, then clone it again",
        ),
        (
            train("decc-law", "empty"),
            "empty has no experience; expected files (.json)",
        ),
        (train("decc-law", "nowhere"), "cannot read nowhere"),
        (
            train("decc-law", "damaged"),
            "damaged/run.json is not experience: EOF while parsing",
        ),
        (
            train("decc-law", "blank"),
            "blank/run.json is not experience: it is empty",
        ),
        (
            train("decc-law", "older"),
            "older/run.json was recorded by version 0.0.1",
        ),
        (
            train("decc-law", "nan"),
            "nan/run.json is not experience: expected value at line",
        ),
        (
            train("decc-law", "below"),
            "below/run.json is not experience: `network.gbps` is -3.5; expected 0.001 to 100000",
        ),
        (
            train("decc-law", "features"),
            "features/run.json is not experience: its model `decc-law` sees",
        ),
    ] {
        let said = said(path, &args);
        assert!(said.contains("exit status: 2"), "{said}");
        assert!(said.contains(expected), "{expected}: {said}");
        assert_eq!(left(), before, "{args:?} left something");
    }
    // What is to replace an earlier file, and cannot, is told.
    fs::remove_dir_all(path.join("met")).unwrap();
    stdout(path, &UPLOAD);
    let file = path.join("met").join(names(&path.join("met")).remove(0));
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let output = run(path, &UPLOAD);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("exists and is not a file"), "{said}");
}

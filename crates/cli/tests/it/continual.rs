//! DECC's continual loop: runs upload experience, a training refines the law, and runs use the result.

use std::fs;
use std::path::Path;

use crate::common::{TINY, folder_with, json, run, said, stdout};
use serde_json::Value;

const UPLOAD: [&str; 7] = ["run", "tiny.toml", "--scheme", "decc", "--upload", "met", "-q"];
const TRAIN: [&str; 8] = [
    "train",
    "decc",
    "refine",
    "decc-law",
    "--quick",
    "--experience",
    "met",
    "-q",
];

/// Lists the files of a folder.
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
    // Repeating a run replaces its experience, whether it is executed or reused; another run adds to it.
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
    // The result is no worse in trials in the experience's networks, and forgets at most 2 %.
    assert!(
        of("trials", "after", "experience") <= of("trials", "before", "experience"),
        "{training}"
    );
    assert!(
        of("trials", "after", "old") <= 1.02 * of("trials", "before", "old"),
        "{training}"
    );
    let trained = path.join("results/train-decc-refine");
    let card = json(&trained.join("decc-refined.json"));
    let page = fs::read_to_string(trained.join("report.html")).unwrap();
    let forgotten = training["judged"]["forgotten_percent"].as_f64().unwrap();
    let forgotten = format!("(forgetting {forgotten:.1} %)");
    for text in [card["training"]["loss"].as_str().unwrap(), &page] {
        assert!(text.contains(&forgotten), "{forgotten}: {text}");
    }
    assert_eq!(card["data"]["sources"].as_array().unwrap().len(), 3, "{card}");

    // Runs use the result, and their experience can be refined again.
    let model = "cc.decc.model=results/train-decc-refine/decc-refined";
    stdout(path, &[&UPLOAD[..], &["--set", model, "--seed", "3"]].concat());
    let met = names(&path.join("met"));
    assert_eq!(
        json(&path.join("met").join(&met[2]))["model"]["name"],
        "decc-refined"
    );
    let again = [
        "train",
        "decc",
        "refine",
        "results/train-decc-refine/decc-refined",
        "--quick",
        "--rounds",
        "1",
    ];
    stdout(path, &[&again[..], &["--experience", "met", "-q"]].concat());
    // A search without a law, in the experience's networks alone.
    let nothing = [
        "train",
        "decc",
        "refine",
        "none",
        "--quick",
        "--rounds",
        "2",
        "--experience",
        "met",
        "-q",
    ];
    let nothing: Value = serde_json::from_str(&stdout(path, &[&nothing[..], &["--json"]].concat())).unwrap();
    assert_eq!(nothing["law"], Value::Null);
}

/// Experience of any of DECC's models can refine a law, and the run prints the command.
#[test]
fn any_model_of_decc_uploads_what_refines_a_law() {
    let folder = folder_with("tiny.toml", TINY);
    let path = folder.path();
    for model in ["decc-tree-300", "decc-net", "decc-net-q4", "decc-law"] {
        let set = format!("cc.decc.model={model}");
        let upload = [
            "run",
            "tiny.toml",
            "--scheme",
            "decc",
            "--set",
            &set,
            "--upload",
            "met",
        ];
        let said = said(path, &upload);
        assert!(
            said.contains(&format!("`{model}` decided at cost"))
                && said.contains(&format!("paceline train decc refine {model} --experience met")),
            "{said}"
        );
    }
    let train = |model: &'static str| {
        let words = [
            "train",
            "decc",
            "refine",
            model,
            "--quick",
            "--rounds",
            "1",
            "--experience",
            "met",
            "--json",
            "--force",
        ];
        let text = stdout(path, &[&words[..], &["--out", "of"]].concat());
        serde_json::from_str::<Value>(&text).unwrap()
    };
    for model in ["decc-tree-300", "decc-net", "decc-law", "none"] {
        let training = train(model);
        let met = training["experience"].as_array().unwrap();
        assert_eq!(met.len(), 4, "{training}");
    }
    // Trees are refined through their law, so the search starts from the same values.
    let costs = |training: &Value| training["trials"]["before"].clone();
    assert_eq!(costs(&train("decc-tree-300")), costs(&train("decc-law")));
    // A residual network belongs to the law next to it.
    stdout(
        path,
        &[
            "train",
            "decc",
            "residual",
            "--quick",
            "--algorithm",
            "ppo",
            "--rounds",
            "1",
            "-q",
            "--out",
            "residual",
        ],
    );
    let model = "cc.decc.model=residual/decc-residual";
    stdout(path, &[&UPLOAD[..], &["--set", model, "--seed", "9"]].concat());
    let refused = said(
        path,
        &[
            "train",
            "decc",
            "refine",
            "residual/decc-residual",
            "--experience",
            "met",
        ],
    );
    assert!(
        refused.contains("exit status: 2")
            && refused.contains("is of kind residual: its network fits the law next to it"),
        "{refused}"
    );
    assert_eq!(train("decc-law")["experience"].as_array().unwrap().len(), 5);
}

/// Episodes run, upload, refine and deploy, all in one folder.
#[test]
fn a_loop_goes_on_by_itself() {
    let folder = folder_with("tiny.toml", TINY);
    let path = folder.path();
    let train = [
        "train",
        "decc",
        "continual",
        "tiny.toml",
        "--quick",
        "--out",
        "loop",
        "--json",
    ];
    let training: Value = serde_json::from_str(&stdout(path, &train)).unwrap();
    let episodes = training["episodes"].as_array().unwrap();
    assert_eq!(episodes.len(), 2);
    let at = path.join("loop");
    assert_eq!(names(&at.join("experience")).len(), 2);
    let mut runs = "decc-law".to_string();
    for (episode, number) in episodes.iter().zip(1..) {
        assert_eq!(episode["experience"]["model"]["name"], *runs, "{episode}");
        let folder = at.join(format!("episode-{number}"));
        assert_eq!(json(&folder.join("run/summary.json"))["seed"], number);
        runs = episode["deployed"].as_str().unwrap().to_string();
        for made in episode["models"].as_array().unwrap() {
            let card = json(&folder.join(format!("{}.json", made.as_str().unwrap())));
            assert_eq!(card["name"], *made);
        }
        // Trials in the experience's networks do not get worse, and at most 2 % is forgotten relative to the first
        // law.
        let of = |when: &str, networks: &str| episode["trials"][when][networks].as_f64().unwrap();
        assert!(
            of("after", "experience") <= of("before", "experience"),
            "{episode}"
        );
        let first = episodes[0]["trials"]["before"]["old"].as_f64().unwrap();
        assert!(of("after", "old") <= 1.02 * first, "{episode}");
        assert!(episode["forgotten_percent"].is_number());
    }
    let page = fs::read_to_string(at.join("report.html")).unwrap();
    assert!(page.contains("Forgotten in the old networks"));
    assert!(!at.join("unfinished").exists());
    // Other commands can read the parts of the folder.
    let last = format!("cc.decc.model=loop/episode-2/{runs}");
    if episodes[1]["models"].as_array().unwrap().is_empty() {
        assert_eq!(runs, episodes[0]["deployed"]);
    } else {
        stdout(
            path,
            &["run", "tiny.toml", "--scheme", "decc", "--set", &last, "-q"],
        );
    }
    stdout(path, &["run", "loop/episode-2/run", "--out", "again", "-q"]);
    assert_eq!(
        json(&path.join("again/summary.json"))["digest"],
        json(&at.join("episode-2/run/summary.json"))["digest"]
    );
    stdout(
        path,
        &[
            "train",
            "decc",
            "refine",
            "decc-law",
            "--quick",
            "--rounds",
            "1",
            "--experience",
            "loop/experience",
            "-q",
        ],
    );
}

/// A loop that cannot continue is rejected before anything runs.
#[test]
fn a_loop_that_cannot_go_on_is_refused() {
    let folder = folder_with("tiny.toml", TINY);
    let path = folder.path();
    fs::write(
        path.join("credits.toml"),
        TINY.to_string() + "[network]\nflow-control = \"credits\"\n",
    )
    .unwrap();
    for (args, expected) in [
        (vec!["continual", "tony.toml"], "there is no file `tony.toml`"),
        (
            vec!["continual", "tiny.toml", "--from", "adpg"],
            "has no rate law",
        ),
        (
            vec!["continual", "tiny.toml", "--from", "decc-lav"],
            "did you mean `decc-law`?",
        ),
        (vec!["continual", "tiny.toml", "--set", "seeed=1"], "seeed"),
        (
            vec!["continual", "credits.toml"],
            "`tiny` is a network under credits",
        ),
        (
            vec!["continual", "tiny.toml", "--lag", "2"],
            "unexpected argument '--lag'",
        ),
        (vec!["continual", "--deploy", "trees"], "<SCENARIO>"),
        (vec!["law", "--episodes", "5"], "unexpected argument '--episodes'"),
        (vec!["law", "--set", "seed=1"], "unexpected argument '--set'"),
    ] {
        let said = said(path, &[&["train", "decc"][..], &args].concat());
        assert!(said.contains("exit status: 2"), "{said}");
        assert!(said.contains(expected), "{expected}: {said}");
        assert_eq!(names(&path.join("results")), [""; 0], "{args:?} left something");
    }
}

/// Errors describe the offending and the expected value, and leave nothing behind.
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
    ] {
        assert!(good.contains(from), "{from}: {good}");
        fs::create_dir(path.join(folder)).unwrap();
        fs::write(path.join(folder).join("run.json"), good.replace(from, to)).unwrap();
    }
    let left = || [names(path), names(&path.join("results"))];
    let before = left();
    let train = |model: &'static str, folder: &'static str| {
        vec!["train", "decc", "refine", model, "--experience", folder]
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
        (vec!["train", "decc", "refine", "decc-law"], "--experience <DIR>"),
        (vec!["train", "decc", "refine", "--experience", "met"], "<MODEL>"),
        (
            train("decc-lav", "met"),
            "there is no model `decc-lav` (did you mean `decc-law`?)",
        ),
        (
            train("adpg", "met"),
            "`adpg` is of kind adpg and has no rate law; expected one of DECC's",
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
    ] {
        let said = said(path, &args);
        assert!(said.contains("exit status: 2"), "{said}");
        assert!(said.contains(expected), "{expected}: {said}");
        assert_eq!(left(), before, "{args:?} left something");
    }
    // An error is reported if an earlier file cannot be replaced.
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

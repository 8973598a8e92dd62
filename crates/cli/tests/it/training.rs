//! `paceline train`: from scenarios to a model that a run uses, and invalid arguments.

use std::fs;
use std::path::Path;

use crate::common::{TINY, TRAIN, assert_same, folder_with, json, run, said, stdout};
use insta::assert_snapshot;
use serde_json::Value;

fn folder() -> tempfile::TempDir {
    folder_with("tiny.toml", TINY)
}

#[test]
fn a_training_learns_and_leaves_its_folder() {
    let folder = folder();
    let path = folder.path();
    let said = run(path, &[&TRAIN[..], &["--compare"]].concat());
    let (table, progress) = (
        String::from_utf8(said.stdout).unwrap(),
        String::from_utf8(said.stderr).unwrap(),
    );
    assert_eq!(said.status.code(), Some(0), "{progress}");
    for name in ["LSTM", "GRU", "simple RNN", "AR(3)", "persistence"] {
        assert!(table.contains(&format!("\n{name} ")), "{table}");
    }
    assert!(
        progress.contains("training GRU: 4 rounds, 2000 pairs"),
        "{progress}"
    );

    let trained = path.join("trained");
    let training = json(&trained.join("training.json"));
    assert_eq!(training["status"], "completed");
    let rounds = training["predictors"][0]["rounds"].as_array().unwrap();
    let loss = |round: &Value| round["loss"].as_f64().unwrap();
    assert!(loss(&rounds[3]) < 0.7 * loss(&rounds[0]), "{rounds:?}");
    let page = fs::read_to_string(trained.join("report.html")).unwrap();
    assert!(page.contains("Predictors beside each other"));
    for file in [
        "dataset.parquet",
        "rtt-lstm.safetensors",
        "rtt-lstm.json",
        "checkpoints/round-04/rtt-lstm.safetensors",
    ] {
        assert!(trained.join(file).is_file(), "{file}");
    }
    assert_eq!(
        fs::read(trained.join("rtt-lstm.safetensors")).unwrap(),
        fs::read(trained.join("checkpoints/round-04/rtt-lstm.safetensors")).unwrap()
    );
}

#[test]
fn a_run_uses_the_model() {
    let folder = folder();
    let path = folder.path();
    stdout(path, &[&TRAIN[..], &["--quiet"]].concat());
    let model = "cc.lstm-pid.model=trained/rtt-lstm.safetensors";
    let with = |model, out| {
        let args = [
            "run",
            "tiny.toml",
            "--scheme",
            "lstm-pid",
            "--set",
            "cc.lstm-pid.predictor=lstm",
            "--set",
            model,
            "--out",
            out,
            "-q",
        ];
        stdout(path, &args)
    };
    with(model, "mine");
    // The resolved scenario includes the model, so it gives the same run.
    stdout(path, &["run", "mine", "--out", "again", "-q"]);
    assert_same(&path.join("mine"), &path.join("again"));
    let again = fs::read_to_string(path.join("mine/scenario.toml")).unwrap();
    assert!(again.contains("model-hash"), "{again}");
    // Another model gives another run.
    with("cc.lstm-pid.model=rtt-lstm", "shipped");
    let digest = |run: &str| json(&path.join(run).join("summary.json"))["digest"].clone();
    assert_ne!(digest("mine"), digest("shipped"));
}

#[test]
fn gains_are_trained_and_used() {
    let folder = folder();
    let path = folder.path();
    let train = ["train", "pidnn", "--scenario", "tiny.toml", "--episodes", "3"];
    let table = stdout(
        path,
        &[&train[..], &["--lag", "2", "--damping", "kept", "-q"]].concat(),
    );
    for gain in ["K_p", "K_i", "K_d"] {
        assert!(table.contains(&format!("\n{gain} ")), "{table}");
    }
    let trained = path.join("results/train-pidnn");
    let training = json(&trained.join("training.json"));
    let [first, last] =
        ["/options/start/k_p", "/gains/k_p"].map(|place| training.pointer(place).unwrap().as_f64().unwrap());
    assert!(last < first, "{first} {last}");
    assert_eq!(training["options"]["settle"], 0);
    assert!(training["history"].as_array().unwrap().len() > 100);
    let page = fs::read_to_string(trained.join("report.html")).unwrap();
    assert!(page.contains("Gains over time"));

    // Its output is a part of a scenario.
    let gains = fs::read_to_string(trained.join("gains.toml")).unwrap();
    fs::write(path.join("with.toml"), format!("{TINY}{gains}")).unwrap();
    let run = ["run", "with.toml", "--scheme", "pidnn", "-q", "--out", "with"];
    stdout(path, &run);
    let resolved = fs::read_to_string(path.join("with/scenario.toml")).unwrap();
    assert!(resolved.contains(&format!("k-p = {last:?}")), "{last} {resolved}");
}

#[test]
fn a_training_goes_on_from_a_checkpoint() {
    let folder = folder();
    let path = folder.path();
    stdout(path, &[&TRAIN[..], &["-q"]].concat());
    stdout(path, &on(&["-q", "--resume", "trained/checkpoints/round-04"]));
    let loss = |folder: &str| {
        let training = json(&path.join(folder).join("training.json"));
        training["predictors"][0]["rounds"][0]["loss"].as_f64().unwrap()
    };
    assert!(
        loss("on") < 0.8 * loss("trained"),
        "{} {}",
        loss("on"),
        loss("trained")
    );
    let page = stdout(path, &["explain", "on/rtt-lstm.safetensors"]);
    assert!(page.contains("--resume=trained/checkpoints/round-04"), "{page}");

    stdout(
        path,
        &["train", "ar3", "--data", "trained", "--out", "other", "-q"],
    );
    let other = said(path, &on(&["--resume", "other/rtt-ar3.safetensors"]));
    assert_snapshot!("a_model_of_another_kind", other);
    let weights = trained_weights(path);
    fs::write(
        path.join("trained/rtt-lstm.safetensors"),
        &weights[..weights.len() - 1],
    )
    .unwrap();
    assert_snapshot!("a_damaged_model", said(path, &on(&["--resume", "trained"])));
    assert_snapshot!("no_model", said(path, &on(&["--resume", "trained/checkpoints"])));
}

/// Returns the arguments of a training with the data of another.
fn on<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let args = [
        "train", "lstm", "--data", "trained", "--rounds", "4", "--out", "on", "--force",
    ];
    [&args[..], more].concat()
}

fn trained_weights(path: &Path) -> Vec<u8> {
    fs::read(path.join("trained/rtt-lstm.safetensors")).unwrap()
}

#[test]
fn the_same_data_give_the_same_weights() {
    let folder = folder();
    let path = folder.path();
    let to = |out: &str, args: &[&str]| {
        let args = [args, &["--out", out, "--quiet"]].concat();
        stdout(path, &args);
        fs::read(path.join(out).join("rtt-lstm.safetensors")).unwrap()
    };
    let first = to("first", &TRAIN[..12]);
    assert_eq!(to("second", &TRAIN[..12]), first);
    assert_same(&path.join("first"), &path.join("second"));
    let common = &TRAIN[8..12];
    let of = |data, seed| [&["train", "lstm", "--data", data, "--seed", seed], common].concat();
    assert_eq!(to("third", &of("first/dataset.parquet", "1")), first);
    assert_eq!(to("fourth", &of("first", "1")), first);
    assert_ne!(to("fifth", &of("first", "2")), first);
}

#[test]
fn recorded_runs_are_data() {
    let folder = folder();
    let path = folder.path();
    let recorded = [
        "run",
        "tiny.toml",
        "--set",
        "record.rtt-samples=true",
        "-q",
        "--out",
    ];
    stdout(path, &[&recorded[..], &["runs/a"]].concat());
    stdout(path, &[&recorded[..], &["runs/b", "--scheme", "dctcp"]].concat());
    let args = [
        "train", "ar3", "--data", "runs", "--pairs", "2000", "--json", "-q",
    ];
    let training: Value = serde_json::from_str(&stdout(path, &args)).unwrap();
    let origins = training["data"]["origins"].as_array().unwrap();
    let schemes: Vec<&str> = origins.iter().filter_map(|one| one["scheme"].as_str()).collect();
    assert_eq!(schemes, ["timely", "dctcp"]);
    assert!(path.join("results/train-ar3/rtt-ar3.json").is_file());

    stdout(path, &["run", "tiny.toml", "-q", "--out", "silent"]);
    assert_snapshot!(
        "a_run_without_samples",
        said(path, &["train", "ar3", "--data", "silent", "--out", "none"])
    );
}

#[test]
fn wrong_arguments() {
    let folder = folder();
    let path = folder.path();
    let short = TINY.replace("10MB", "2KB");
    fs::write(path.join("short.toml"), short).unwrap();
    let even = TINY.replace("fan-in = 4", "fan-in = 1");
    fs::write(path.join("even.toml"), even).unwrap();
    fs::write(path.join("data.parquet"), "not a dataset").unwrap();
    for (name, args) in [
        ("unknown_network", &["train", "lstn"][..]),
        ("rounds_of_gains", &["train", "pidnn", "--rounds", "5"]),
        (
            "settled_before_it_runs",
            &["train", "pidnn", "--episodes", "2", "--settle", "3"],
        ),
        ("units_of_a_network", &["train", "lstm", "--units", "norm"]),
        ("two_gains", &["train", "pidnn", "--start", "1,2"]),
        ("own_runs_of_gains", &["train", "pidnn", "--on-policy", "2"]),
        (
            "set_twice",
            &[
                "train",
                "lstm",
                "--scenarios",
                "tiny.toml",
                "--set",
                "shuffle-ties=3",
                "--set",
                "shuffle-ties=7",
            ],
        ),
        (
            "rounds_of_decc",
            &["train", "decc", "compress", "decc-net", "--rounds", "5"],
        ),
        ("nothing_to_resume", &["train", "lstm", "--resume", "nowhere"]),
        ("no_data", &["train", "lstm", "--data", "nowhere"]),
        ("damaged_data", &["train", "lstm", "--data", "data.parquet"]),
        (
            "unknown_scenario",
            &["train", "lstm", "--scenarios", "incast-200"],
        ),
        (
            "unknown_scheme",
            &["train", "lstm", "--scenarios", "tiny.toml", "--schemes", "timley"],
        ),
        (
            "no_samples",
            &["train", "lstm", "--scenarios", "short.toml", "-q"],
        ),
        (
            "even_runs",
            &[
                "train",
                "lstm",
                "--scenarios",
                "even.toml",
                "--schemes",
                "none",
                "-q",
            ],
        ),
        (
            "too_few_pairs",
            &[
                "train",
                "lstm",
                "--scenarios",
                "tiny.toml",
                "--pairs",
                "1000000",
                "-q",
            ],
        ),
        (
            "too_many_rounds",
            &[
                "train",
                "lstm",
                "--scenarios",
                "tiny.toml",
                "--pairs",
                "100",
                "--rounds",
                "40",
                "-q",
            ],
        ),
    ] {
        assert_snapshot!(name, said(path, args));
    }
    let left = fs::read_dir(path.join("results")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "nothing is left behind");
}

#[test]
fn an_earlier_training_is_replaced_only_when_told() {
    let folder = folder();
    let path = folder.path();
    let args = ["train", "ar3", "--scenarios", "tiny.toml", "--pairs", "300", "-q"];
    let status = |more: &[&str]| run(path, &[&args[..], more].concat()).status.code();
    let trained = || fs::read_dir(path.join("results")).map_or(0, Iterator::count);
    assert_eq!((status(&[]), trained()), (Some(0), 1));
    // With the default folder, results go to a new one.
    assert_eq!((status(&[]), trained()), (Some(0), 2));
    assert_eq!((status(&["--force"]), trained()), (Some(0), 2));
    let there = ["--out", "model"];
    assert_eq!(status(&there), Some(0));
    assert_eq!(status(&there), Some(2));
    assert_eq!(status(&[&there[..], &["--force"]].concat()), Some(0));
    fs::write(path.join("file"), "").unwrap();
    assert_snapshot!(
        "training_nowhere",
        said(path, &[&args[..], &["--out", "file/inside"]].concat())
    );
}

/// A run uses the policy that `--quick` trains for Aurora, and the page agrees with the record.
#[test]
fn a_policy_learns_by_its_own_reward() {
    let folder = folder();
    let path = folder.path();
    let train = ["train", "aurora", "--quick", "-q", "--json"];
    let training: Value = serde_json::from_str(&stdout(path, &train)).unwrap();
    let updates = training["updates"].as_array().unwrap();
    let last = updates.last().unwrap();
    // The critic initially explains hardly any of the variance of returns.
    assert!(last["unexplained"].as_f64().unwrap() < 0.7, "{last}");
    let trials = updates.iter().filter_map(|update| update["trial"].as_f64());
    let best = trials.fold(f64::NEG_INFINITY, f64::max);
    assert_eq!(last["best"], best);
    let page = fs::read_to_string(path.join("results/train-aurora/report.html")).unwrap();
    assert!(page.contains(&format!("{best:.3}")), "{best}");
    let model = "cc.aurora.model=results/train-aurora/aurora";
    let run = [
        "run",
        "tiny.toml",
        "--scheme",
        "aurora",
        "--set",
        model,
        "-q",
        "--json",
    ];
    let summary: Value = serde_json::from_str(&stdout(path, &run)).unwrap();
    assert_eq!(summary["scheme"], "aurora", "{summary}");
}

/// A run uses the policy that `--quick` trains for SPINE, and its summary counts triggers. The page agrees with the
/// record.
#[test]
fn an_agent_learns_when_to_make_a_policy() {
    let folder = folder();
    let path = folder.path();
    let training = stdout(path, &["train", "spine", "--quick", "-q", "--json"]);
    let training: Value = serde_json::from_str(&training).unwrap();
    let updates = training["updates"].as_array().unwrap();
    let trials = updates.iter().filter_map(|update| update["trial"].as_f64());
    let best = trials.fold(f64::NEG_INFINITY, f64::max);
    assert_eq!(updates.last().unwrap()["best"], best);
    let triggered = updates[1]["triggered"].as_f64().unwrap();
    assert!(triggered > 0.6 && triggered < 0.95, "{triggered}");
    let page = fs::read_to_string(path.join("results/train-spine/report.html")).unwrap();
    assert!(page.contains(&format!("{best:.3}")), "{best}");
    let model = "cc.spine.model=results/train-spine/spine";
    let run = [
        "run",
        "tiny.toml",
        "--scheme",
        "spine",
        "--set",
        model,
        "-q",
        "--json",
    ];
    let summary: Value = serde_json::from_str(&stdout(path, &run)).unwrap();
    let decisions = &summary["decisions"];
    let counts = [&decisions["triggers"], &decisions["made"]].map(|count| count.as_u64().unwrap());
    // The first interval of each flow always triggers.
    assert!(counts[0] > 0 && counts[0] <= counts[1], "{decisions}");
}

/// A run uses the law found in a short search, and the page shows the result.
#[test]
fn a_law_is_searched_for_and_used() {
    let folder = folder();
    let path = folder.path();
    let train = ["train", "decc", "law", "--quick", "-q", "--json"];
    let training: Value = serde_json::from_str(&stdout(path, &train)).unwrap();
    let (cost, lines) = (training["cost"].as_f64().unwrap(), &training["lines"]);
    assert!(cost <= lines["start"].as_f64().unwrap(), "{training}");
    assert!(cost > 1.0, "the oracle's: {training}");
    let page = fs::read_to_string(path.join("results/train-decc-law/report.html")).unwrap();
    assert!(page.contains(&format!("{cost:.2}")), "{cost}");
    let rate = run_of(path, "decc", "results/train-decc-law/decc-law");
    assert_eq!(rate["scheme"], "decc", "{rate}");
    let train = ["train", "swift", "--quick", "-q", "--rounds", "1", "--json"];
    let training: Value = serde_json::from_str(&stdout(path, &train)).unwrap();
    assert_eq!(training["updates"].as_array().unwrap().len(), 1, "{training}");
    let values = fs::read_to_string(path.join("results/train-swift/values.txt")).unwrap();
    assert!(values.starts_with("base-delay = "), "{values}");
}

/// A run uses the network that `--quick` trains.
#[test]
fn a_network_of_decc_is_trained_and_used() {
    let folder = folder();
    let path = folder.path();
    let train = ["train", "decc", "clone", "decc-law", "--quick", "-q", "--json"];
    let training: Value = serde_json::from_str(&stdout(path, &train)).unwrap();
    let last = training["rounds"].as_array().unwrap().last().unwrap();
    assert!(last["off"].as_f64().unwrap() < 0.1, "{training}");
    assert_eq!(
        run_of(path, "decc", "results/train-decc-clone/decc-net")["scheme"],
        "decc"
    );
    let train = [
        "train",
        "decc",
        "residual",
        "--algorithm",
        "ppo",
        "--quick",
        "-q",
        "--json",
        "--out",
        "beside",
    ];
    let training: Value = serde_json::from_str(&stdout(path, &train)).unwrap();
    assert!(
        training["cost"].as_f64().unwrap() <= training["cost_of_law"].as_f64().unwrap(),
        "{training}"
    );
    assert_eq!(run_of(path, "decc", "beside/decc-residual")["scheme"], "decc");
    let train = ["train", "decc", "compress", "beside/decc-residual", "-q"];
    let refused = said(path, &train);
    assert!(
        refused.contains("is of kind residual; expected a network of DECC (kind decc)"),
        "{refused}"
    );
}

/// Returns the summary of a run with a model.
fn run_of(path: &Path, scheme: &str, model: &str) -> Value {
    let model = format!("cc.{scheme}.model={model}");
    let run = [
        "run",
        "tiny.toml",
        "--scheme",
        scheme,
        "--set",
        &model,
        "-q",
        "--json",
    ];
    serde_json::from_str(&stdout(path, &run)).unwrap()
}

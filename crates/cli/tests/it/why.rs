//! `why` and `diff`: breakdown of a flow's time, and differences between two runs.

use std::fs;

use crate::common::{SMALL, folder_with, run, said, stdout};
use insta::assert_snapshot;

fn small() -> tempfile::TempDir {
    let folder = folder_with("my.toml", SMALL);
    stdout(folder.path(), &["run", "my.toml", "--out", "a"]);
    folder
}

/// Returns the error of a command with invalid arguments.
fn refused(folder: &tempfile::TempDir, args: &[&str]) -> String {
    let output = run(folder.path(), args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert!(output.stdout.is_empty(), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn why_of_a_run() {
    let folder = small();
    let got = said(folder.path(), &["why", "a", "1"]);
    assert_snapshot!(got);
    // A run without accounts, and the scenario itself, give the same answer; both are run for it.
    let off = ["run", "my.toml", "--set", "record.accounts=off", "--out", "off"];
    stdout(folder.path(), &off);
    assert!(!folder.path().join("off/flow_time.csv").exists());
    let kept = stdout(folder.path(), &["why", "a", "1"]);
    assert_eq!(stdout(folder.path(), &["why", "off", "1"]), kept);
    assert_eq!(stdout(folder.path(), &["why", "my.toml", "1"]), kept);
    let error = String::from_utf8(run(folder.path(), &["why", "off", "0"]).stderr).unwrap();
    assert!(error.contains("running its scenario again"), "{error}");
    let json: serde_json::Value =
        serde_json::from_str(&stdout(folder.path(), &["why", "a", "1", "--json"])).unwrap();
    let parts = json["parts"].as_array().unwrap().iter();
    let sum: u64 = parts.map(|part| part["time_ps"].as_u64().unwrap()).sum();
    assert_eq!(json["flow"]["fct_ps"], sum);
}

/// The second query about a flow is answered from the run's folder, with equal bytes. Stored answers of another run,
/// and damaged ones, are ignored.
#[test]
fn close_looks_are_kept() {
    let folder = small();
    let path = folder.path();
    let args = ["why", "a", "1"];
    let first = run(path, &args);
    let json = [&args[..], &["--json"]].concat();
    let kept = path.join("a/why/1.json");
    assert!(kept.is_file() && path.join("a/why/1.csv").is_file());
    let second = run(path, &args);
    assert_eq!(first.stdout, second.stdout);
    let said = |output: &std::process::Output| String::from_utf8(output.stderr.clone()).unwrap();
    assert!(
        said(&first).contains("running the scenario again"),
        "{}",
        said(&first)
    );
    assert_eq!(said(&second), "as kept in a/why/1.json\n");
    // The JSON output is equal, stored or not.
    let of_kept = run(path, &json).stdout;
    fs::remove_dir_all(path.join("a/why")).unwrap();
    assert_eq!(run(path, &json).stdout, of_kept);
    let text = fs::read_to_string(&kept).unwrap();
    for damaged in ["{", &text.replace("\"digest\": \"", "\"digest\": \"0")] {
        fs::write(&kept, damaged).unwrap();
        let again = run(path, &args);
        assert!(
            said(&again).contains("running the scenario again"),
            "{}",
            said(&again)
        );
        assert_eq!(again.stdout, first.stdout);
        assert_eq!(fs::read_to_string(&kept).unwrap(), text);
    }
}

/// In the fidelity of Bolt's simulator, time is not accounted for. A message says so, and no numbers are made up.
#[cfg(feature = "parity")]
#[test]
fn what_bolts_simulator_does_not_account_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let bolt = [
        "run",
        "incast-16",
        "--scheme",
        "bolt",
        "--fidelity",
        "bolt-ns3",
        "--out",
        "b",
    ];
    stdout(path, &bolt);
    let list = said(path, &["why", "b", "--top", "2"]);
    assert!(
        list.contains("not accounted for") && !list.contains("again"),
        "{list}"
    );
    assert_snapshot!("of_bolts_simulator", said(path, &["why", "b", "3"]));
    let json: serde_json::Value = serde_json::from_str(&stdout(path, &["why", "b", "3", "--json"])).unwrap();
    assert_eq!(json["total_ps"], json["flow"]["fct_ps"]);
    assert_eq!(json["parts"], serde_json::json!([]));
    // The resolved scenario, which is run for it, gives the same answer.
    let scenario = stdout(path, &["why", "b/scenario.toml", "3"]);
    assert_eq!(scenario, stdout(path, &["why", "b", "3"]));
}

/// Runs without accounts only differ by the missing accounts.
#[test]
fn accounts_move_nothing() {
    let folder = small();
    for (name, value) in [("off", "off"), ("all", "all"), ("one", "[1]")] {
        let set = format!("record.accounts={value}");
        stdout(folder.path(), &["run", "my.toml", "--set", &set, "--out", name]);
        for file in ["flows.csv", "fct.txt", "pfc.txt", "qlen.txt"] {
            let read = |run: &str| fs::read(folder.path().join(run).join(file)).unwrap();
            assert!(read(name) == read("a"), "{name} {file}");
        }
    }
    let one = fs::read_to_string(folder.path().join("one/flow_time.csv")).unwrap();
    assert!(one.lines().skip(1).all(|line| line.starts_with("1,")), "{one}");
}

/// Without a flow, the slowest are listed with their largest part, whose share agrees with `flow_time.csv`.
#[test]
fn the_slowest_flows() {
    let folder = small();
    let list = stdout(folder.path(), &["why", "a"]);
    assert_snapshot!(list);
    let json: serde_json::Value =
        serde_json::from_str(&stdout(folder.path(), &["why", "a", "--json", "--top", "1"])).unwrap();
    let [slow] = &json.as_array().unwrap()[..] else {
        panic!("one flow");
    };
    let id = slow["flow"]["flow_id"].to_string();
    assert_eq!(slow["command"], format!("paceline why a {id}"));
    let times = fs::read_to_string(folder.path().join("a/flow_time.csv")).unwrap();
    let rows: Vec<Vec<&str>> = times
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    let of_flow = || rows.iter().filter(|row| row[0] == id);
    let total: u64 = of_flow().map(|row| row[4].parse::<u64>().unwrap()).sum();
    let main = &slow["main"];
    let (stage, part) = (main["stage"].as_str().unwrap(), main["part"].as_str().unwrap());
    let same = of_flow().filter(|row| row[1] == stage && row[3] == part);
    let time: u64 = same.map(|row| row[4].parse::<u64>().unwrap()).sum();
    assert_eq!(main["time_ps"], time);
    assert!((main["share"].as_f64().unwrap() - time as f64 / total as f64).abs() < 1e-9);
    // The page lists the same flows with their commands.
    let page = fs::read_to_string(folder.path().join("a/report.html")).unwrap();
    assert!(page.contains(&format!(
        "<code class=\"why\" data-flow=\"{id}\">paceline why RUN {id}</code>"
    )));
    // A run without accounts, and the scenario.
    let off = ["run", "my.toml", "--set", "record.accounts=off", "--out", "off"];
    stdout(folder.path(), &off);
    let renamed =
        |name: &str| stdout(folder.path(), &["why", name]).replace(&format!("why {name} "), "why a ");
    assert_eq!(renamed("off"), list);
    assert_eq!(renamed("my.toml"), list);
}

/// With `[record] accounts = "auto"`, the sample may lack the slowest flows. A second, identical run accounts for
/// them.
#[test]
fn the_slowest_flows_are_accounted_for() {
    let many = r#"name = "many"
duration = "20ms"
[topology.star]
hosts = 6
[[workload]]
label = "background"
poisson = { sizes = "google-rpc", load = 0.6, to = "200us" }
[cc]
scheme = "dctcp"
"#;
    let folder = folder_with("many.toml", many);
    let path = folder.path();
    stdout(path, &["run", "many.toml", "--out", "a"]);
    stdout(
        path,
        &["run", "many.toml", "--set", "record.accounts=all", "--out", "all"],
    );
    let ids = |run: &str| {
        let times = fs::read_to_string(path.join(run).join("flow_time.csv")).unwrap();
        let mut ids: Vec<u32> = times
            .lines()
            .skip(1)
            .map(|line| line.split(',').next().unwrap().parse().unwrap())
            .collect();
        ids.dedup();
        ids
    };
    let total = ids("all").len();
    assert!(total > 1100, "{total} flows");
    let kept = ids("a");
    assert!((1000..=1020).contains(&kept.len()), "{}", kept.len());
    let list: serde_json::Value =
        serde_json::from_str(&stdout(path, &["why", "all", "--json", "--top", "20"])).unwrap();
    let sampled = |id: u32| (0..1000).any(|i| i * total / 1000 == id as usize);
    let slowest: Vec<u32> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["flow"]["flow_id"].as_u64().unwrap() as u32)
        .collect();
    assert!(
        slowest.iter().any(|&id| !sampled(id)),
        "the test needs a slow flow that the sample has not"
    );
    assert!(slowest.iter().all(|id| kept.contains(id)), "{slowest:?}");
    // Their rows equal those of a run with all accounts.
    let rows = |run: &str| {
        let times = fs::read_to_string(path.join(run).join("flow_time.csv")).unwrap();
        let of_slow =
            |line: &&str| slowest.contains(&line.split(',').next().unwrap().parse().unwrap_or(u32::MAX));
        times
            .lines()
            .filter(of_slow)
            .map(str::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(rows("a"), rows("all"));
}

/// In a chain, each flow waits for the previous one, and the answer lists all of them.
#[test]
fn whom_a_flow_waited_for() {
    let ring = r#"name = "ring"
duration = "20ms"
[topology.star]
hosts = 4
[[workload]]
label = "ring"
all-reduce = { algorithm = "ring", size = "400KB" }
[cc]
scheme = "none"
"#;
    let folder = folder_with("ring.toml", ring);
    let path = folder.path();
    stdout(path, &["run", "ring.toml", "--out", "a"]);
    let flows = fs::read_to_string(path.join("a/flows.csv")).unwrap();
    let starts: Vec<u64> = flows
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(7).unwrap().parse().unwrap())
        .collect();
    let last = (0..starts.len()).max_by_key(|&i| starts[i]).unwrap();
    let json: serde_json::Value =
        serde_json::from_str(&stdout(path, &["why", "a", &last.to_string(), "--json"])).unwrap();
    let chain = json["deeper"]["waited_for"].as_array().unwrap();
    // A ring of 4 hosts has 6 steps: the last one waits for the five before it.
    assert_eq!(chain.len(), 5, "{chain:?}");
    let number = |row: &serde_json::Value, key: &str| row[key].as_u64().unwrap();
    let mut at = last as u64;
    for row in chain {
        assert_eq!(
            (number(row, "flow_id"), row["until"].as_str()),
            (at, Some("received"))
        );
        at = number(row, "waited_for");
        // It started exactly when the previous data had arrived.
        assert_eq!(
            number(row, "start_ps"),
            number(row, "at_ps") + number(row, "delay_ps")
        );
        assert_eq!(number(row, "start_ps"), starts[number(row, "flow_id") as usize]);
    }
    assert_eq!(starts[at as usize], starts.iter().copied().min().unwrap());
}

#[test]
fn why_refuses() {
    let folder = small();
    let many = ["compare", "my.toml", "--schemes", "hpcc,dcqcn", "--out", "c"];
    stdout(folder.path(), &many);
    let mut got = String::new();
    for args in [
        ["why", "a", "7"],
        ["why", "my.toml", "7"],
        ["why", "c", "0"],
        ["why", "nowhere", "0"],
        ["why", "a", "one"],
    ] {
        got.push_str(&format!("{}\n{}\n", args.join(" "), refused(&folder, &args)));
    }
    assert_snapshot!(got);
    fs::write(
        folder.path().join("a/flow_time.csv"),
        "flow_id,stage\n0,nowhere\n",
    )
    .unwrap();
    let error = refused(&folder, &["why", "a", "0"]);
    assert!(
        error.contains("flow_time.csv is not what a run writes"),
        "{error}"
    );
    fs::write(folder.path().join("a/summary.json"), "{").unwrap();
    let error = refused(&folder, &["why", "a", "0"]);
    assert!(error.contains("summary.json is not what a run writes"), "{error}");
    let error = refused(&folder, &["diff", "a", "c/hpcc"]);
    assert!(error.contains("summary.json is not what a run writes"), "{error}");
    let error = refused(&folder, &["diff", "c", "nowhere"]);
    assert!(error.contains("c is not the folder of a run"), "{error}");
}

#[test]
fn differences() {
    let folder = small();
    stdout(folder.path(), &["run", "my.toml", "--out", "again"]);
    assert_snapshot!("the_same", stdout(folder.path(), &["diff", "a", "again"]));
    let many = ["compare", "my.toml", "--schemes", "hpcc,dcqcn", "--out", "c"];
    stdout(folder.path(), &many);
    assert_snapshot!(stdout(folder.path(), &["diff", "c/hpcc", "c/dcqcn"]));
    let json = stdout(folder.path(), &["diff", "c/hpcc", "c/dcqcn", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["flows"]["both"], 2);
    let inputs = json["inputs"].as_array().unwrap();
    assert!(inputs.iter().any(|input| input["key"] == "cc.scheme"));
}

/// A deadlock is detected, described, and ends the run. A pause storm is reported with its victims.
#[test]
fn standstills_are_told() {
    let folder = tempfile::tempdir().unwrap();
    assert_snapshot!(
        "deadlock",
        said(folder.path(), &["run", "pfc-deadlock", "--check"])
    );
    let summary = fs::read_to_string(folder.path().join("results/pfc-deadlock-none-1/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["status"], "deadlock");
    assert_eq!(
        summary["deadlock"]["cycles"][0]["nodes"],
        serde_json::json!([0, 1, 2, 3])
    );
    assert!(summary["simulated_s"].as_f64().unwrap() < 0.02);
    // With short queues, the same ring may be free of deadlock.
    stdout(
        folder.path(),
        &["run", "pfc-deadlock", "--scheme", "hpcc", "--check", "--out", "h"],
    );
    let storm = stdout(folder.path(), &["run", "pfc-storm", "--json", "--check"]);
    let storm: serde_json::Value = serde_json::from_str(&storm).unwrap();
    assert_eq!(storm["deadlock"]["storms"], serde_json::json!([0]));
    assert!(storm["deadlock"]["pauses"].as_array().unwrap().len() > 4);
    // A stuck flow is accounted for until the end.
    let why = stdout(folder.path(), &["why", "results/pfc-deadlock-none-1", "0"]);
    assert!(why.contains("had not finished when the run ended"), "{why}");
}

/// Lists the slowest flows of a label. For an unknown label, existing ones are suggested.
#[test]
fn why_of_a_label() {
    let text = SMALL.replacen("[[workload]]", "[[workload]]\nlabel = \"mine\"", 1);
    let folder = folder_with("my.toml", &text);
    stdout(folder.path(), &["run", "my.toml", "--out", "a"]);
    let got = stdout(folder.path(), &["why", "a", "mine"]);
    assert!(got.contains("of mine, the slowest first"), "{got}");
    assert!(refused(&folder, &["why", "a", "mime"]).contains("did you mean `mine`?"));
    // The order of arguments does not matter, but --top cannot be combined with a flow.
    let got = stdout(folder.path(), &["why", "a", "mine", "--top", "1"]);
    assert!(got.starts_with("the slowest of 2 flows of mine"), "{got}");
    assert!(refused(&folder, &["why", "a", "0", "--top", "1"]).contains("flow 0 is one flow"));
    // The folder of a sweep is recognised.
    let sweep = ["sweep", "my.toml", "--over=cc.scheme=hpcc,dcqcn", "--out=s", "-q"];
    stdout(folder.path(), &sweep);
    assert!(refused(&folder, &["why", "s"]).contains("it is a sweep's"));
    assert!(refused(&folder, &["diff", "s", "a"]).contains("a sweep's"));
}

/// A job includes its steps, whose flows have separate labels.
#[test]
fn why_of_a_job() {
    let text = SMALL.replacen(
        "[[workload]]",
        "[[job]]\nlabel = \"llm\"\nranks = 3\n\n[[job.step]]\nlabel = \"sum\"\nall-reduce = { algorithm = \"ring\", size = \"30KB\" }\n\n\
         [[job.step]]\nlabel = \"swap\"\nall-to-all = { size = \"10KB\" }\n\n[[workload]]\nlabel = \"llm2\"",
        1,
    );
    let folder = folder_with("my.toml", &text);
    stdout(folder.path(), &["run", "my.toml", "--out", "a"]);
    let got = stdout(folder.path(), &["why", "a", "llm", "--top", "3"]);
    // 12 transfers of the ring, and 6 of the exchange.
    assert!(got.starts_with("the 3 slowest of 18 flows of llm"), "{got}");
    let step = stdout(folder.path(), &["why", "a", "llm/swap"]);
    assert!(step.starts_with("all 6 flows of llm/swap"), "{step}");
    let refused = refused(&folder, &["why", "a", "training"]);
    assert!(refused.contains(": llm, llm/sum, llm/swap, llm2"), "{refused}");
}

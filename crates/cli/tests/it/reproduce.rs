//! Published numbers next to ours: output, files and exit status.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::common::{command, run, said, stdout};
use insta::assert_snapshot;
use serde_json::Value;

#[test]
fn an_incast_and_its_differences() {
    let folder = tempfile::tempdir().unwrap();
    let args = [
        "reproduce",
        "thesis-table6",
        "thesis-table5",
        "--strict",
        "--out",
        "here",
        "-q",
    ];
    let text = said(folder.path(), &args);
    assert_snapshot!(text);
    // Differing values are in the page, and in the JSON output.
    let at = |name: &str| folder.path().join("here").join(name);
    let page = fs::read_to_string(at("index.html")).unwrap();
    assert!(page.contains("id=\"thesis-table6\"") && page.contains("runs/b_incast20-timely/report.html"));
    assert!(at("runs/b_incast20-timely/report.html").is_file());
    let records: Vec<Value> =
        serde_json::from_str(&fs::read_to_string(at("reproductions.json")).unwrap()).unwrap();
    let max = |record: &&Value| record["case"] == "dctcp" && record["metric"] == "max RTT";
    let max = records.iter().find(max).unwrap();
    let text = r#"{"id":"thesis-table6","case":"dctcp","metric":"max RTT","unit":"µs","paper":86.32,"ours":86.32,"tolerance":"exact","ok":true,"kind":"published","source":"paper"}"#;
    assert_eq!(max.to_string(), text);
    // An earlier folder is only replaced with --force.
    assert_eq!(run(folder.path(), &args).status.code(), Some(2));
}

#[test]
fn programs_get_a_list_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["reproduce", "thesis-table7", "--json", "--strict"];
    let records: Vec<Value> = serde_json::from_str(&stdout(folder.path(), &args)).unwrap();
    let of = |kind: &str| records.iter().filter(|record| record["kind"] == kind).count();
    assert_eq!((of("published"), of("shown"), of("choice")), (20, 1, 1));
    let published = records.iter().filter(|record| record["kind"] == "published");
    assert!(published.clone().all(|record| record["ok"] == true));
    let others = records.iter().filter(|record| record["kind"] != "published");
    assert!(others.clone().all(|record| record["ok"].is_null()));
    assert!(folder.path().join("results/reproduce/index.html").is_file());
    // With --force, the command's own folder is replaced.
    stdout(folder.path(), &[&args[..], &["--force", "--quiet"]].concat());
    // Without an id, the list of experiments is printed.
    let list: Vec<Value> = serde_json::from_str(&stdout(folder.path(), &["reproduce", "--json"])).unwrap();
    assert_eq!(list.len(), 118);
    assert_eq!(list[2]["cases"][0]["paper"], 4.3223);
    assert!(stdout(folder.path(), &["reproduce"]).contains("hpcc-fct"));
}

/// Creates a new experiment in the folder `mine`.
const NEW: [&str; 7] = [
    "reproduce",
    "--new",
    "mine",
    "--from",
    "incast-16",
    "--schemes",
    "dctcp,hpcc",
];

/// An alias that overrides a setting is reported by the check and by the run.
#[test]
fn an_alias_that_overrules_a_setting_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let new = NEW.map(|word| {
        if word == "dctcp,hpcc" {
            "bolt-paper,bolt"
        } else {
            word
        }
    });
    said(path, &new);
    let file = path.join("mine/experiment.toml");
    let text = fs::read_to_string(&file).unwrap();
    let set = "seeds = 1\nset = { \"cc.bolt.pace\" = true }";
    let at = text.find("seeds = 3").unwrap();
    fs::write(
        &file,
        format!("{}{set}{}", &text[..at], &text[at + "seeds = 3".len()..]),
    )
    .unwrap();
    for command in [&["reproduce", "--check", "mine"][..], &["reproduce", "mine"][..]] {
        let said = said(path, command);
        let expected =
            "cc.bolt.pace = `true` has no effect: the alias bolt-paper is bolt with pace = `false`";
        assert!(said.contains(expected) && said.contains("(in a run)"), "{said}");
    }
}

/// A user's experiment is created, checked, run and recorded, and saved from a comparison and from a sweep.
#[test]
fn an_experiment_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    assert!(said(path, &NEW).contains("mine/experiment.toml is ready"));
    assert_eq!(run(path, &NEW).status.code(), Some(2), "it is there already");
    let check = said(path, &["reproduce", "--check", "mine"]);
    assert!(
        check.contains("mine: 6 runs, 9 values: 1 property, 8 shown"),
        "{check}"
    );
    assert!(check.contains("no outcome.json"), "{check}");
    let text = stdout(path, &["reproduce", "mine", "--record", "--markdown", "--quiet"]);
    assert!(
        text.contains("| mean slowdown, × |") && text.contains("### Claims"),
        "{text}"
    );
    let recorded: Value =
        serde_json::from_str(&fs::read_to_string(path.join("mine/outcome.json")).unwrap()).unwrap();
    assert_eq!(recorded["version"], paceline_reproduce::version());
    assert_eq!(recorded["runs"].as_object().unwrap().len(), 6);
    let check = said(path, &["reproduce", "--check", "mine"]);
    assert!(check.contains("; recorded: properties: "), "{check}");

    let compared = [
        "compare",
        "incast-16",
        "--schemes",
        "dctcp,hpcc",
        "--repeats",
        "2",
    ];
    let swept = [
        "sweep",
        "incast-16",
        "--over",
        "network.buffer=2MB,8MB",
        "--over",
        "cc.scheme=dctcp,hpcc",
    ];
    stdout(
        path,
        &[&compared[..], &["--save-experiment", "compared"]].concat(),
    );
    stdout(path, &[&swept[..], &["--save-experiment", "swept"]].concat());
    let text = stdout(
        path,
        &["reproduce", "compared", "--quiet", "--out", "a", "--json"],
    );
    let saved: Vec<Value> = serde_json::from_str(&text).unwrap();
    let direct: Vec<Value> = serde_json::from_str(&stdout(
        path,
        &[
            "compare",
            "incast-16",
            "--schemes",
            "dctcp,hpcc",
            "--json",
            "--quiet",
        ],
    ))
    .unwrap();
    let makespan = |scheme: &str| {
        let found = saved
            .iter()
            .find(|record| record["case"] == scheme && record["metric"] == "makespan");
        found.unwrap()["ours"].as_f64().unwrap()
    };
    assert_eq!(saved.len(), 16);
    for run in direct {
        assert_eq!(
            makespan(run["scheme"].as_str().unwrap()),
            run["makespan_us"].as_f64().unwrap()
        );
    }
    let check = said(path, &["reproduce", "--check", "swept"]);
    assert!(check.contains("swept: 4 runs, 32 values"), "{check}");
    // Shards of one folder, then the rest: pages and figures are those of one process.
    let shard = |number: &str| {
        let said = said(
            path,
            &["reproduce", "swept", "--out", "shards", "--shard", number],
        );
        assert!(
            said.contains(&format!("shard {number}: 2 runs in shards")),
            "{said}"
        );
    };
    shard("2/2");
    shard("1/2");
    assert!(!path.join("shards/index.html").exists());
    let rest = said(path, &["reproduce", "swept", "--out", "shards"]);
    assert!(rest.contains("4 of 4 runs are there"), "{rest}");
    stdout(path, &["reproduce", "swept", "--quiet", "--out", "whole"]);
    // Three measures are drawn over the buffer.
    let figures: Vec<_> = fs::read_dir(path.join("whole/figures"))
        .unwrap()
        .flatten()
        .collect();
    assert_eq!(figures.len(), 3);
    for figure in figures {
        let content = fs::read(figure.path()).unwrap();
        assert!(content.starts_with(b"%PDF"));
        assert!(fs::read(path.join("shards/figures").join(figure.file_name())).unwrap() == content);
    }
}

/// Errors in an experiment have a position and a suggestion.
#[test]
fn an_experiment_with_mistakes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    stdout(path, &NEW);
    let file = path.join("mine/experiment.toml");
    let right = fs::read_to_string(&file).unwrap();
    fs::write(path.join("mine/wide.csv"), "row,dctcp,hpccc\nmean slowdown,1,2\n").unwrap();
    fs::write(path.join("mine/stray.csv"), "row,dctcp,hpcc\nmean slowdwn,1,2\n").unwrap();
    fs::write(
        path.join("mine/text.csv"),
        "row,dctcp,hpcc\nmean slowdown,1,fast\n",
    )
    .unwrap();
    let published = |name: &str| format!("columns = \"case\"\npublished = \"{name}\"");
    let claim = "fct_slowdown.p99['hpcc'] / fct_slowdown.p99['dctcp']";
    let mistakes = [
        (
            "\"pfc.pauses\"",
            "\"pfc.pause\"".to_string(),
            "unknown measure `pfc.pause`",
        ),
        (claim, "fct_slowdown.p99['hpc'] / 2".into(), "unknown case `hpc`"),
        (
            claim,
            "fct_slowdown.p99".into(),
            "`fct_slowdown.p99` needs a case of `case`",
        ),
        (claim, "fct_slowdown.p99['hpcc'] / 0".into(), "divides by zero"),
        (claim, "2 / 3".into(), "this is a constant"),
        (
            claim,
            "fct_slowdown.p99['hpcc'] +".into(),
            "expected a number, a measure or a function, found the end",
        ),
        (
            claim,
            "maxx(fct_slowdown.p99[*])".into(),
            "unknown function `maxx`",
        ),
        (
            "cite = \"Authors, Title, Venue Year\", short = \"Name\"",
            "paper = \"hpc\"".into(),
            "unknown paper `hpc`",
        ),
        (
            "scheme = \"hpcc\"",
            "scheme = \"hpc\"".into(),
            "unknown scheme `hpc`",
        ),
        (
            "scenario = \"incast-16\"",
            "scenario = \"incast-61\"".into(),
            "unknown scenario `incast-61`",
        ),
        (
            "columns = \"case\"",
            "columns = \"cases\"".into(),
            "unknown axis `cases`",
        ),
        (
            "columns = \"case\"",
            published("wide.csv"),
            "unknown column `hpccc`",
        ),
        (
            "columns = \"case\"",
            published("stray.csv"),
            "unknown row `mean slowdwn`",
        ),
        (
            "columns = \"case\"",
            published("text.csv"),
            "`fast` is not a number",
        ),
        (
            "columns = \"case\"",
            published("none.csv"),
            "there is no file `none.csv`",
        ),
        (
            "at-least = 1.0,",
            "at-least = 1.0, at-most = 2.0,".into(),
            "say one of `exact`",
        ),
        (
            "at-least = 1.0,",
            "atleast = 1.0,".into(),
            "unknown key `atleast`",
        ),
        (
            "says = \"paper\",",
            "says = \"paper\", quote = \"nowhere\",".into(),
            "unknown quotation `nowhere`",
        ),
        (
            "at-least = 1.0,",
            "as = \"other\", at-least = 1.0,".into(),
            "next to `as` there may be `where` and `quote` alone",
        ),
        (
            "says = \"paper\",",
            "says = \"us\", quote = \"nowhere\",".into(),
            "a `quote` is of what the paper says",
        ),
        (
            "title =",
            "quotes.words = { where = \"p. 1\", text = \"..\" }\ntitle =".into(),
            "`means`",
        ),
        (
            "seeds = 3",
            "seeds = 3\nset = { \"network.bufer\" = \"4MB\" }".into(),
            "`bufer`",
        ),
        ("[[table]]", "[[tabel]]".into(), "unknown key `tabel`"),
        (
            "title =",
            "steps = [\"folow\"]\ntitle =".into(),
            "unknown step `folow`",
        ),
        (
            "title =",
            "choices = [\"lost\"]\ntitle =".into(),
            "unknown shared choice `lost`",
        ),
        (
            "title =",
            "define.half = \"1 / 2\"\ntitle =".into(),
            "no expression has `{half}`",
        ),
        (
            "title =",
            "define.case = \"1 / 2\"\ntitle =".into(),
            "`case` is an axis, too",
        ),
        (
            "title =",
            "common = [\"none.toml\"]\ntitle =".into(),
            "there is no file `none.toml`",
        ),
    ];
    for (from, to, expected) in mistakes {
        assert!(right.contains(from), "{from}");
        fs::write(&file, right.replace(from, &to)).unwrap();
        for command in [&["reproduce", "--check", "mine"][..], &["reproduce", "mine"][..]] {
            let output = run(path, command);
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(
                (output.status.code(), error.contains(expected)),
                (Some(2), true),
                "{to}: {error}"
            );
            assert!(!path.join("results").exists(), "{to}: nothing is written");
        }
    }
    // A criterion that judges nothing.
    fs::write(
        &file,
        right
            .replace(", because = \"the figure's order\"", "")
            .replace("says = \"paper\"", "says = \"us\""),
    )
    .unwrap();
    let output = run(path, &["reproduce", "--check", "mine"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stdout).contains("has no reason"));
    // Division by a measure that is 0: the claim is missed, and the reason is reported.
    fs::write(
        &file,
        right.replace("p99['dctcp']", "p99['hpcc'] / pfc.pauses['hpcc']"),
    )
    .unwrap();
    let text = said(path, &["reproduce", "mine"]);
    assert!(
        text.contains("is not a number: it divides by zero") && text.contains("inf"),
        "{text}"
    );
}

#[test]
fn names_that_are_nearly_right() {
    let folder = tempfile::tempdir().unwrap();
    assert_snapshot!(
        "nearly",
        said(folder.path(), &["reproduce", "thesis-table6", "hpcc-fkt"])
    );
    assert_snapshot!("unknown", said(folder.path(), &["reproduce", "figure"]));
}

/// Lists the files of a folder, if it exists.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| !path.file_name().unwrap().to_string_lossy().starts_with('.'));
    files.sort();
    files
}

/// A killed reproduction resumes: finished runs are reused, and results are equal in every digit. Runs of other code
/// or other tables are not reused.
#[test]
fn what_is_stopped_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let args = ["reproduce", "thesis-table5", "--jobs", "1"];
    let whole = stdout(path, &[&args[..], &["--out", "whole", "--quiet"]].concat());
    let (here, unfinished) = (
        path.join("results/reproduce"),
        path.join("results/reproduce/unfinished"),
    );
    let mut child = command(path)
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while files(&unfinished.join("rows")).len() < 2 {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it is over before it is killed"
        );
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let rows = files(&unfinished.join("rows"));

    let refused = |what: &str| {
        let output = run(path, &args);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            (output.status.code(), error.contains(what)),
            (Some(2), true),
            "{error}"
        );
    };
    let edited = |file: &Path| {
        let text = fs::read_to_string(file).unwrap();
        // The digest line is renamed, too, since an edit would be detected by the row's digest.
        let other = (text.replace("{\n  \"digest\"", "{\n  \"former\""))
            .replace(&format!("\"{}\"", paceline_reproduce::version()), "\"0.0.1\"");
        assert_ne!(other, text);
        fs::write(file, other).unwrap();
        text
    };
    for file in [&rows[0], &unfinished.join("plan.json")] {
        let text = edited(file);
        refused("by version 0.0.1, this is");
        fs::write(file, text).unwrap();
    }
    let other = run(
        path,
        &["reproduce", "thesis-table7", "--out", "results/reproduce"],
    );
    assert_eq!(other.status.code(), Some(2), "another table");
    // A number changed by hand.
    let text = fs::read_to_string(&rows[0]).unwrap();
    fs::write(&rows[0], text.replacen("\"run\": \"", "\"run\": \"x", 1)).unwrap();
    refused("was edited");
    // A damaged row is run again.
    fs::write(&rows[0], "{").unwrap();

    let output = run(path, &args);
    let (said, shown) = (
        String::from_utf8_lossy(&output.stderr),
        String::from_utf8_lossy(&output.stdout),
    );
    assert_eq!(output.status.code(), Some(0), "{said}");
    let there = format!("{} of ", rows.len() - 1);
    assert!(
        said.starts_with(&there) && said.contains("results in results/reproduce,"),
        "{said}"
    );
    assert_eq!(shown, whole);
    assert!(!unfinished.exists());
    let read = |at: &Path| fs::read_to_string(at.join("reproductions.json")).unwrap();
    assert_eq!(read(&here), read(&path.join("whole")));
    let names = |at: &Path| {
        let runs = files(&at.join("runs")).into_iter();
        runs.map(|run| (run.file_name().unwrap().to_owned(), files(&run).len()))
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&here), names(&path.join("whole")));
    assert!(!names(&here).is_empty());
}

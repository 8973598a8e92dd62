//! `why --job`: what an iteration of a job by a trace took its time from.

use std::fs;
use std::path::PathBuf;

use crate::common::{folder_with, run, said, stdout};
use insta::assert_snapshot;

/// A halo exchange of 16 ranks in a network of two tiers.
fn solver(more: &str) -> tempfile::TempDir {
    let text = format!(
        "duration = '10ms'\n[topology.leaf-spine]\nleaves = 4\nspines = 2\nhosts-per-leaf = 4\nspine-rate = '25Gbps'\n\
         [cc]\nscheme = 'dcqcn'\n{more}\n[[job]]\nlabel = 'solver'\ngoal = 'app.goal'\niterations = 2\n"
    );
    let folder = folder_with("my.toml", &text);
    let traces = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../traces/tests/data");
    fs::copy(traces.join("goal/halo_4x4.goal"), folder.path().join("app.goal")).unwrap();
    folder
}

#[test]
fn the_path_of_a_job() {
    let folder = solver("");
    let path = folder.path();
    stdout(path, &["run", "my.toml", "-q", "--out", "a"]);
    assert_snapshot!("of_a_job", said(path, &["why", "a", "--job", "solver"]));
    let list = stdout(path, &["why", "a"]);
    assert!(
        list.ends_with("critical path of job `solver`: paceline why a --job solver\n"),
        "{list}"
    );
    // The same of the scenario, which is run for it.
    let of_scenario = stdout(path, &["why", "my.toml", "--job", "solver"]);
    let of_folder = stdout(path, &["why", "a", "--job", "solver"]);
    assert_eq!(of_scenario.replace("why my.toml", "why a"), of_folder);
    assert_snapshot!(
        "faster",
        said(path, &["why", "a", "--job", "solver", "--faster", "leaf-spine=4"])
    );
    // The command that is printed is the run with that setting.
    let faster = stdout(
        path,
        &["why", "a", "--job", "solver", "--faster", "host", "--json"],
    );
    let faster: serde_json::Value = serde_json::from_str(&faster).unwrap();
    let set = [
        "run",
        "my.toml",
        "-q",
        "--set",
        "network.rate-factor.host=2",
        "--out",
        "b",
    ];
    stdout(path, &set);
    let summary: serde_json::Value =
        serde_json::from_slice(&fs::read(path.join("b/summary.json")).unwrap()).unwrap();
    let of_run = &summary["jobs"][0]["path"];
    for key in ["time_us", "sums", "links"] {
        assert_eq!(faster["after"][key], of_run[key], "{key}");
    }
    // A factor that is there already counts.
    let twice = stdout(
        path,
        &["why", "b", "--job", "solver", "--faster", "host=0.5", "--json"],
    );
    let twice: serde_json::Value = serde_json::from_str(&twice).unwrap();
    assert_eq!(twice["after"]["time_us"], faster["before"]["time_us"]);
}

#[test]
fn the_page_shows_it() {
    let folder = solver("");
    let path = folder.path();
    stdout(path, &["run", "my.toml", "-q", "--out", "a"]);
    let page = fs::read_to_string(path.join("a/report.html")).unwrap();
    for part in [
        "Critical path of solver",
        "<svg class=\"path\"",
        "messages bound by",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // The same of the folder.
    stdout(path, &["report", "a", "-o", "page.html"]);
    assert_eq!(fs::read_to_string(path.join("page.html")).unwrap(), page);
}

#[test]
fn operations_are_listed_on_request() {
    let folder = solver("[record]\noperations = true");
    let path = folder.path();
    stdout(path, &["run", "my.toml", "-q", "--out", "a"]);
    let text = fs::read_to_string(path.join("a/operations.csv")).unwrap();
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("job,iteration,rank,name,kind,free_ps,start_ps,end_ps,began_by,after")
    );
    assert_eq!(lines.next().unwrap().split(',').nth(8), Some("iteration"));
    assert!(text.contains(",end,app.goal:4 (c0 of rank 0)\n"), "{text}");
    assert_eq!(lines.count() + 1, 2 * 16 * 27);
    // Where there is no such job it is told.
    let other = folder_with("my.toml", crate::common::SMALL);
    let set = ["run", "my.toml", "--set", "record.operations=true", "--out", "a"];
    let output = run(other.path(), &set);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("record.operations"), "{error}");
    assert!(error.contains("no job is by a trace"), "{error}");
}

#[test]
fn a_cost_model_has_a_path_without_links() {
    let folder = solver("");
    let path = folder.path();
    let job = "[topology.star]\nhosts = 8\n[cc]\nscheme = 'none'\n[[job]]\nlabel = 'ring'\nnetwork = 'chunks'\n\
               chakra = 'DATA/microbenchmarks/all_reduce/8npus_1MB/all_reduce'\n\
               rules = { system = 'DATA/systems/rt_template.json', links = 'DATA/networks/Ring_8npus.yml' }\n";
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../traces/tests/data/chakra");
    let data = data.canonicalize().unwrap().display().to_string();
    fs::write(path.join("ring.toml"), job.replace("DATA", &data)).unwrap();
    let text = stdout(path, &["why", "ring.toml", "--job", "ring"]);
    assert!(
        text.starts_with("Iteration 0 of job `ring` took 117.8 µs."),
        "{text}"
    );
    assert!(!text.contains("--faster"), "{text}");
    let output = run(path, &["why", "ring.toml", "--job", "ring", "--faster", "host"]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("faster links change nothing"), "{error}");
}

#[test]
fn questions_without_an_answer() {
    let folder = solver("[[workload]]\nlabel = 'more'\nincast = { receiver = 0, fan-in = 2, size = '10KB' }");
    let path = folder.path();
    stdout(path, &["run", "my.toml", "-q", "--out", "a"]);
    let refused = |args: &[&str]| {
        let output = run(path, &[&["why", "a"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    for (args, part) in [
        (&["--job", "sover"][..], "did you mean `solver`?"),
        (
            &["--job", "solver", "--faster", "spine"],
            "neither a tier of links nor a link `spine`",
        ),
        (
            &["--job", "solver", "--faster", "host=fast"],
            "expected LINK or LINK=N",
        ),
        (&["--faster", "host"], "--job"),
        (&["--job", "solver", "7"], "cannot be used with"),
    ] {
        let error = refused(args);
        assert!(error.contains(part), "{args:?}: {error}");
    }
}

/// The list of slow flows suggests a closer look at one of them: it is given for messages of jobs by traces, too.
#[test]
fn a_message_of_a_job_is_looked_at_closely() {
    let folder = solver("");
    let path = folder.path();
    stdout(path, &["run", "my.toml", "-q", "--out", "a"]);
    let list = stdout(path, &["why", "a"]);
    let suggested = list
        .lines()
        .find_map(|line| line.strip_prefix("more on one of them: paceline "))
        .unwrap();
    let words: Vec<&str> = suggested.split(' ').collect();
    let text = stdout(path, &words);
    assert!(text.contains("shared") && text.contains("→"), "{text}");
    let flow = words[2];
    assert!(path.join(format!("a/why/{flow}.json")).is_file(), "{text}");
    // The run has fewer flows than the job might start.
    let none = run(path, &["why", "a", "100000"]);
    assert_eq!(none.status.code(), Some(2));
}

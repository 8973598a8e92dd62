//! `why --job`: the critical path of an iteration of a job by a trace.

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
    // The scenario gives the same answer; it is run first.
    let of_scenario = stdout(path, &["why", "my.toml", "--job", "solver"]);
    let of_folder = stdout(path, &["why", "a", "--job", "solver"]);
    assert_eq!(of_scenario.replace("why my.toml", "why a"), of_folder);
    assert_snapshot!(
        "faster",
        said(path, &["why", "a", "--job", "solver", "--faster", "leaf-spine=4"])
    );
    // The printed command is the run with that setting.
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
    // An existing factor is taken into account.
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
    // The page rendered from the folder is equal.
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
    assert!(text.contains(",end,trace.goal:4 (c0 of rank 0)\n"), "{text}");
    assert_eq!(lines.count() + 1, 2 * 16 * 27);
    // An error is reported if there is no such job.
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

/// The command that the list of slow flows suggests also works for messages of jobs by traces.
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

/// Five iterations, the third of which is disturbed. Each message above a byte is two flows, so there are more flows
/// than sends in the trace.
fn disturbed() -> tempfile::TempDir {
    let folder = solver(
        "[[workload]]\nlabel = 'noise'\nincast = { receiver = 5, fan-in = 8, size = '100KB', start = '300us' }",
    );
    let path = folder.path().join("my.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        text.replace("iterations = 2", "iterations = 5\nrules = { eager = '1B' }"),
    )
    .unwrap();
    folder
}

#[test]
fn the_slowest_iteration_is_explained_or_the_one_that_is_asked_for() {
    let folder = disturbed();
    let path = folder.path();
    stdout(path, &["run", "my.toml", "-q", "--out", "a"]);
    let job = &crate::common::json(&path.join("a/summary.json"))["jobs"][0];
    let times: Vec<f64> = job["iterations_us"]
        .as_array()
        .unwrap()
        .iter()
        .map(|us| us.as_f64().unwrap())
        .collect();
    let slowest = (0..5).max_by(|&a, &b| times[a].total_cmp(&times[b])).unwrap();
    assert!(slowest == 2 && times[2] > 2.0 * times[3], "{times:?}");
    let of = |run: &str, more: &[&str]| -> serde_json::Value {
        let args = [&["why", run, "--job", "solver", "--json"], more].concat();
        serde_json::from_str(&stdout(path, &args)).unwrap()
    };
    assert_eq!(of("a", &[])["path"]["iteration"], 2);
    assert_eq!(of("a", &[])["path"], job["path"]);
    // Each iteration has its own path with the length of the iteration, from the folder and from the scenario.
    for (number, time) in times.iter().enumerate() {
        let number = number.to_string();
        let found = of("a", &["--iteration", &number]);
        let took = found["path"]["time_us"].as_f64().unwrap();
        assert!((took - time).abs() < 1e-6, "{number}: {took} {time}");
        assert_eq!(found["path"]["iteration"].to_string(), number);
    }
    let [of_folder, of_scenario] = ["a", "my.toml"].map(|run| of(run, &["--iteration", "3"]));
    for key in ["time_us", "links", "after_lane"] {
        assert_eq!(of_folder["path"][key], of_scenario["path"][key], "{key}");
    }
    let text = stdout(path, &["why", "a", "--job", "solver"]);
    assert!(
        text.starts_with("Iteration 2 of job `solver` took 278.6 µs, the longest of 5."),
        "{text}"
    );
    // With faster links, the same iteration is shown, even if another is now the slowest.
    let faster = of("a", &["--iteration", "3", "--faster", "host"]);
    assert_eq!(
        (&faster["before"]["iteration"], &faster["after"]["iteration"]),
        (&3.into(), &3.into())
    );
    let output = run(path, &["why", "a", "--job", "solver", "--iteration", "5"]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("has no iteration 5: expected 0 to 4"), "{error}");
}

/// Only the run shows how many flows a job has. The last one is known all the same, and slow ones have accounts.
#[test]
fn flows_of_later_iterations_are_known() {
    let folder = disturbed();
    let path = folder.path();
    stdout(path, &["run", "my.toml", "-q", "--out", "a"]);
    let flows = fs::read_to_string(path.join("a/flows.csv"))
        .unwrap()
        .lines()
        .count()
        - 1;
    assert!(flows > 1500, "{flows}");
    let last = (flows - 1).to_string();
    let text = stdout(path, &["why", "a", &last]);
    assert!(text.starts_with(&format!("Flow {last} (")), "{text}");
    assert!(path.join(format!("a/why/{last}.json")).is_file());
    let output = run(path, &["why", "a", &flows.to_string()]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains(&format!("the run has {flows}, 0 to {last}")),
        "{error}"
    );
}

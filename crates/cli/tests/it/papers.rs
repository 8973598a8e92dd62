//! Named cases, recipes of figures, and tables for papers.

use std::fs;
use std::path::Path;

use crate::common::{SMALL, folder_with, said, stdout};

const CASES: &str = r#"
[[sweep.case]]
label = "few"
"workload.0.incast.fan-in" = 1
"workload.0.incast.size" = "50KB"
[[sweep.case]]
label = "many"
"workload.0.incast.fan-in" = 2
"workload.0.incast.size" = "100KB"
[sweep.cc]
scheme = ["hpcc", "dctcp"]
"#;

fn swept() -> tempfile::TempDir {
    let folder = folder_with("small.toml", format!("{SMALL}{CASES}"));
    let sweep = ["sweep", "small.toml", "--out", "grid", "--repeats", "2", "-q"];
    stdout(folder.path(), &sweep);
    folder
}

/// Checks that a command ends with status 2, and says `expected`.
fn refused(folder: &Path, args: &[&str], expected: &str) {
    let said = said(folder, args);
    assert!(
        said.contains("exit status: 2") && said.contains(expected),
        "{said}"
    );
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn cases_have_their_labels_in_tables_and_figures() {
    let folder = swept();
    let path = folder.path();
    stdout(
        path,
        &[
            "table",
            "grid",
            "-o",
            "t.csv",
            "--what",
            "fct_us.mean,drops",
            "--order",
            "many, dctcp",
        ],
    );
    let table = text(&path.join("t.csv"));
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    let names: Vec<String> = rows[1..].iter().map(|row| row[..2].join(" ")).collect();
    assert_eq!(
        names,
        ["many dctcp", "few hpcc", "few dctcp", "many hpcc"],
        "{table}"
    );
    // The numbers are those of points.csv.
    let points = text(&path.join("grid/points.csv"));
    let of_points = points
        .lines()
        .filter(|line| line.starts_with("many,dctcp,fct_us.mean,"))
        .map(|line| line.split(',').nth(4).unwrap().parse::<f64>().unwrap());
    let value: f64 = rows[1][2].trim_matches('"').parse().unwrap_or(f64::NAN);
    let value = if value.is_nan() {
        rows[1][3].parse().unwrap()
    } else {
        value
    };
    assert_eq!(of_points.collect::<Vec<_>>(), [value], "{table}{points}");
    // A curve for each point, as `plot` of the runs draws it.
    stdout(path, &["plot", "grid", "--what", "fct-cdf", "-o", "all.csv"]);
    let all = text(&path.join("all.csv"));
    let mut curves: Vec<&str> = all
        .lines()
        .skip(1)
        .map(|line| line.rsplitn(5, ',').last().unwrap())
        .collect();
    curves.dedup();
    assert_eq!(
        curves,
        [
            "\"few, hpcc\"",
            "\"few, dctcp\"",
            "\"many, hpcc\"",
            "\"many, dctcp\""
        ],
        "{all}"
    );
    refused(
        path,
        &["plot", "grid", "--what", "queue", "-o", "q.csv"],
        "it is about single runs",
    );
    // One case of the two.
    stdout(
        path,
        &["sweep", "small.toml", "--over", "case=many", "--out", "one", "-q"],
    );
    assert!(text(&path.join("one/results.csv")).contains("many"));
    // An experiment of the same cases checks; what a case leaves out is the scenario's.
    stdout(
        path,
        &[
            "sweep",
            "small.toml",
            "--save-experiment",
            "paper",
            "--set",
            "network.mtu=500B",
        ],
    );
    stdout(path, &["reproduce", "--check", "paper"]);
    let experiment = text(&path.join("paper/experiment.toml"));
    assert!(
        experiment.contains("name = \"few\"\nset = { \"workload.0.incast.fan-in\" = 1, \"workload.0.incast.size\" = \"50KB\" }"),
        "{experiment}"
    );
}

#[test]
fn a_recipe_draws_the_same_figure_from_any_folder() {
    let folder = swept();
    let path = folder.path();
    fs::create_dir(path.join("paper")).unwrap();
    let plot = [
        "plot",
        "grid",
        "--what",
        "fct_us.mean",
        "--over",
        "case",
        "-o",
        "paper/fig.pdf",
        "--names",
        "hpcc=HPCC,dctcp=DCTCP",
        "--order",
        "dctcp",
        "--height",
        "50",
        "--title=Two cases",
        "--save",
        "paper/fig.toml",
    ];
    stdout(path, &plot);
    let first = fs::read(path.join("paper/fig.pdf")).unwrap();
    let recipe = text(&path.join("paper/fig.toml"));
    assert!(
        recipe.contains("runs = [\"../grid\"]") && recipe.contains("out = \"fig.pdf\""),
        "{recipe}"
    );
    let again = ["plot", "--from", "fig.toml", "-o", "again.pdf"];
    stdout(&path.join("paper"), &again);
    assert_eq!(first, fs::read(path.join("paper/again.pdf")).unwrap());
    // Nothing is replaced that is there.
    refused(path, &["plot", "--from", "paper/fig.toml"], "--force");
    stdout(path, &["plot", "--from", "paper/fig.toml", "--force"]);
    // Mistakes are those of the file.
    fs::write(
        path.join("bad.toml"),
        "runs = [\"grid\"]\nwhat = \"drops\"\nwidht = 3\n",
    )
    .unwrap();
    refused(
        path,
        &["plot", "--from", "bad.toml", "-o", "x.svg"],
        "bad.toml:3:9: unknown key `widht`: did you mean `width`?",
    );
    fs::write(
        path.join("bad.toml"),
        "runs = [\"grid\"]\nwhat = \"drops\"\nwidth = 3\n",
    )
    .unwrap();
    refused(
        path,
        &["plot", "--from", "bad.toml", "-o", "x.svg"],
        "bad.toml:3:9: invalid value '3' for '--width <WIDTH>'",
    );
    refused(
        path,
        &["plot", "--from", "small.toml", "--what", "queue", "-o", "x.svg"],
        "cannot be used with",
    );
}

#[test]
fn runs_of_a_report_have_the_names_that_are_asked_for() {
    let folder = folder_with("small.toml", SMALL);
    let path = folder.path();
    for (out, scheme) in [("a", "hpcc"), ("b", "dctcp")] {
        stdout(
            path,
            &["run", "small.toml", "--scheme", scheme, "--out", out, "-q"],
        );
    }
    stdout(path, &["report", "a", "b", "--names", "hpcc=before,dctcp=after"]);
    let page = text(&path.join("report.html"));
    assert!(page.contains("before") && page.contains("after"));
    refused(
        path,
        &["report", "a", "b", "--names", "one"],
        "--names: 1 names for 2: hpcc, dctcp",
    );
    stdout(
        path,
        &[
            "table",
            "a",
            "b",
            "-o",
            "t.tex",
            "--names",
            "hpcc=HPCC,drops=lost, too",
            "--caption",
            "A & B",
        ],
    );
    let tex = text(&path.join("t.tex"));
    assert!(
        tex.contains("\\caption{A \\& B}")
            && tex.contains("HPCC &")
            && tex.contains("{\\shortstack{lost\\\\too}}"),
        "{tex}"
    );
    refused(
        path,
        &["table", "a", "--what", "fct_slowdown.p98"],
        "did you mean `fct_slowdown.p95`",
    );
    refused(path, &["table", "a", "--caption", "x"], "expected -o FILE.tex");
    refused(
        path,
        &["table", "a", "-o", "x.pdf"],
        "expected a name that ends in .tex, .md or .csv",
    );
}

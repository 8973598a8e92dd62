//! Figures of experiments: recipes that `reproduce` draws.

use std::fs;
use std::path::Path;

use crate::common::{SMALL, folder_with, run, said, stdout};

const CASES: &str = r#"
[[sweep.case]]
label = "few"
"workload.0.incast.fan-in" = 1
[[sweep.case]]
label = "many"
"workload.0.incast.fan-in" = 2
[sweep]
"cc.scheme" = ["hpcc", "dcqcn"]
"network.ecn.kmin, network.ecn.kmax" = [["5KB", "50KB"], ["10KB", "100KB"]]
"workload.0.incast.size" = ["100KB", "200KB"]
"#;

/// Returns an experiment of the small incast with some figures.
fn experiment(path: &Path, figures: &str) {
    let text = format!(
        r#"title = "Figures"
source = {{ where = "nobody has published it" }}
about = "A small incast."
[runs]
scenario = "small.toml"
seeds = 2
[[case]]
name = "HPCC"
scheme = "hpcc"
[[case]]
name = "DCTCP"
scheme = "dctcp"
[[table]]
columns = "case"
rows = ["fct_slowdown.mean"]
{figures}"#
    );
    fs::create_dir_all(path.join("paper")).unwrap();
    fs::write(path.join("paper/small.toml"), SMALL).unwrap();
    fs::write(path.join("paper/experiment.toml"), text).unwrap();
}

/// Saved experiments draw what `plot` draws of the sweep: axes of a key, of keys in step and of named cases.
#[test]
fn a_saved_sweep_has_the_figures_of_the_sweep() {
    let folder = folder_with("small.toml", format!("{SMALL}{CASES}"));
    let path = folder.path();
    let sweep = ["sweep", "small.toml", "--repeats", "2", "-q"];
    stdout(path, &[&sweep[..], &["--out", "grid"]].concat());
    stdout(path, &[&sweep[..], &["--save-experiment", "paper"]].concat());
    let file = path.join("paper/experiment.toml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("[[figure]]\nout = \"fct_us.p99.pdf\"\nover = \"size\"\nwhat = \"fct_us.p99\"\n"),
        "{text}"
    );
    let more = "[[figure]]\nout = \"cases.svg\"\nwhat = \"fct_us.mean\"\nover = \"case\"\nstyle = \"page\"\n\
                [[figure]]\nout = \"steps.pdf\"\nwhat = \"fct_us.mean\"\nover = \"kmin-kmax\"\nlegend = \"right\"\n\
                [[figure]]\nout = \"flows.csv\"\nwhat = \"fct-cdf\"\n";
    fs::write(&file, format!("{text}{more}")).unwrap();
    stdout(path, &["reproduce", "paper", "--out", "results", "-q"]);
    let plots = [
        ("fct_us.p99.pdf", "fct_us.p99", "size", ["--dpi", "300"]),
        ("cases.svg", "fct_us.mean", "case", ["--style", "page"]),
        (
            "steps.pdf",
            "fct_us.mean",
            "network.ecn.kmin,network.ecn.kmax",
            ["--legend", "right"],
        ),
    ];
    for (name, what, over, style) in plots {
        stdout(
            path,
            &[
                &["plot", "grid", "--what", what, "--over", over, "-o", name],
                &style[..],
            ]
            .concat(),
        );
    }
    stdout(path, &["plot", "grid", "--what", "fct-cdf", "-o", "flows.csv"]);
    for name in ["fct_us.p99.pdf", "cases.svg", "steps.pdf", "flows.csv"] {
        let drawn = fs::read(path.join("results/figures").join(format!("paper-{name}"))).unwrap();
        assert!(drawn == fs::read(path.join(name)).unwrap(), "{name}");
    }
}

/// One folder for a colleague: a sweep from elsewhere with its figure, which comes out as it was.
#[test]
fn a_figure_is_saved_with_its_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::create_dir(path.join("mine")).unwrap();
    let scenario = SMALL.replace("incast = {", "label = \"in\"\nincast = {");
    let file = "[[workload]]\nlabel = \"file\"\ntrace = { file = \"../flows.csv\" }\n";
    let flows = "start_us,src,dst,size_bytes\n0,3,1,100000\n5,2,1,70000\n";
    fs::write(path.join("flows.csv"), flows).unwrap();
    fs::write(
        path.join("mine/small.toml"),
        scenario.replace("[cc]\n", &format!("{file}[cc]\n")),
    )
    .unwrap();
    let sweep = "sweep mine/small.toml --over cc.scheme=hpcc,dctcp --over workload.in.incast.size=50KB,100KB,200KB \
                 --repeats 2 --set network.mtu=2KB -o grid -q";
    stdout(path, &sweep.split(' ').collect::<Vec<_>>());
    let plot = "plot grid --what fct_slowdown.p99 --over size -o mine/fig.pdf --names hpcc=HPCC,dctcp=DCTCP --style slide \
                --save mine/fig.toml --save-experiment mail";
    stdout(path, &plot.split(' ').collect::<Vec<_>>());
    let cdf = "plot grid --what slowdown-cdf -o mine/cdf.svg --save-experiment cdf --legend off";
    stdout(path, &cdf.split(' ').collect::<Vec<_>>());
    let png = "plot --from mine/fig.toml -o mine/fig.png --save-experiment png";
    stdout(path, &png.split(' ').collect::<Vec<_>>());
    refused(
        path,
        "plot grid/runs --what queue -o q.pdf --save-experiment no",
        "is not the folder of a run",
    );
    fs::rename(path.join("grid"), path.join("hidden")).unwrap();
    fs::remove_file(path.join("flows.csv")).unwrap();
    fs::remove_file(path.join("mine/small.toml")).unwrap();
    for (experiment, name) in [("mail", "fig.pdf"), ("cdf", "cdf.svg"), ("png", "fig.png")] {
        let results = format!("of-{experiment}");
        stdout(path, &["reproduce", experiment, "--out", &results, "-q"]);
        let drawn = path.join(results).join(format!("figures/{experiment}-{name}"));
        assert!(
            fs::read(drawn).unwrap() == fs::read(path.join("mine").join(name)).unwrap(),
            "{name}"
        );
    }
    let text = fs::read_to_string(path.join("mail/experiment.toml")).unwrap();
    assert_eq!(text.matches("[[figure]]").count(), 1, "{text}");
    // A run is no sweep.
    let id = fs::read_dir(path.join("hidden/runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let run = id.path().display().to_string();
    let args = [
        "plot",
        &run,
        "--what",
        "fct-cdf",
        "-o",
        "x.pdf",
        "--save-experiment",
        "no",
    ];
    refused(
        path,
        &args.join(" "),
        "--save-experiment: expected the folder of one sweep",
    );
}

/// Checks that a command ends with status 2, and says `expected`.
fn refused(path: &Path, command: &str, expected: &str) {
    let said = said(path, &command.split(' ').collect::<Vec<_>>());
    assert!(
        said.contains("exit status: 2") && said.contains(expected),
        "{said}"
    );
}

/// Figures of single runs and of questions are drawn, too, and stand on the page.
#[test]
fn figures_of_runs_and_questions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let figures = r#"
[[figure]]
what = "queue"
out = "queue.pdf"
[[figure]]
sql = "SELECT size_bytes, fct_ps FROM flows"
out = "flows.png"
title = "Flows <of> each run"
[[figure]]
what = "fct_slowdown.mean"
out = "mean.pdf"
names = ["a", "b"]
"#;
    experiment(path, &figures.replace("names = [\"a\", \"b\"]\n", ""));
    stdout(path, &["reproduce", "paper", "--out", "results", "-q"]);
    let at = |name: &str| fs::read(path.join("results/figures").join(name)).unwrap();
    assert!(at("paper-queue.pdf").starts_with(b"%PDF") && at("paper-mean.pdf").starts_with(b"%PDF"));
    assert!(at("paper-flows.png").starts_with(b"\x89PNG"));
    let page = fs::read_to_string(path.join("results/index.html")).unwrap();
    assert_eq!(page.matches("<figure><svg").count(), 3, "{page}");
    assert!(page.contains("href=\"figures/paper-queue.pdf\"") && page.contains("&lt;of&gt;"));
    assert!(!page.contains("font/ttf"));
    // Names of curves are known after the runs: everything else is written.
    experiment(path, figures);
    let said = said(path, &["reproduce", "paper", "--out", "again", "-q"]);
    assert!(
        said.contains("exit status: 2") && said.contains("experiment.toml:27:9: --names: 2 names for 1"),
        "{said}"
    );
    assert!(path.join("again/figures/paper-queue.pdf").is_file() && path.join("again/index.html").is_file());
}

#[test]
fn mistakes_in_figures_have_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for (figure, expected) in [
        (
            "what = \"drops\"",
            "a figure needs the name of its file: out = \"NAME.pdf\"",
        ),
        (
            "what = \"drops\"\nout = \"a.pdff\"",
            "18:7: -o a.pdff: expected a name that ends in",
        ),
        (
            "what = \"drops\"\nout = \"a/b.pdf\"",
            "18:7: `a/b.pdf`: expected a name without a folder",
        ),
        (
            "what = \"drops\"\nout = \"a.pdf\"\nwidht = 80",
            "19:9: unknown key `widht`: did you mean `width`?",
        ),
        (
            "what = \"drops\"\nout = \"a.pdf\"\nwidth = 3",
            "19:9: invalid value '3' for '--width <WIDTH>'",
        ),
        (
            "what = \"drop\"\nout = \"a.pdf\"",
            "17:8: unknown figure or measure `drop`",
        ),
        (
            "what = \"drops\"\nout = \"a.pdf\"\nover = \"casse\"",
            "19:8: unknown axis `casse`",
        ),
        (
            "what = \"drops\"\nout = \"a.pdf\"\nruns = \"others\"",
            "19:8: unknown grid of runs `others`",
        ),
        ("sql = \"SELECT fct FROM flows\"\nout = \"a.pdf\"", "17:7: "),
        ("out = \"a.pdf\"", "--what <WHAT>"),
    ] {
        experiment(path, &format!("[[figure]]\n{figure}\n"));
        for command in [&["reproduce", "--check", "paper"][..], &["reproduce", "paper"]] {
            let output = run(path, command);
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(
                output.status.code() == Some(2)
                    && error.contains("paper/experiment.toml:")
                    && error.contains(expected),
                "{figure}: {error}"
            );
            assert!(!path.join("results").exists(), "{figure}");
        }
    }
}

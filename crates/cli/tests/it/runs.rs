//! Runs: equal inputs give equal bytes, and messages appear where expected.

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{SMALL, assert_same, command, folder_with, run, said, stdout};
use insta::assert_snapshot;

fn small() -> tempfile::TempDir {
    folder_with("my.toml", SMALL)
}

fn ns3_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/incast16")
}

#[test]
fn one_run() {
    let folder = small();
    assert_snapshot!(said(folder.path(), &["run", "my.toml"]));
    let mut names: Vec<_> = common::files(&folder.path().join("results/small-hpcc-1"))
        .into_keys()
        .map(|name| name.display().to_string())
        .collect();
    names.sort();
    assert_snapshot!("one_run_files", names.join("\n"));
}

/// Suspicious inputs are reported before the run, and not at all with `--quiet`.
#[test]
fn an_odd_input_is_told() {
    let folder = small();
    let args = [
        "run",
        "my.toml",
        "--scheme",
        "lstm-pid",
        "--set",
        "cc.lstm-pid.target=1us",
        "--force",
    ];
    let stderr = |args: &[&str]| {
        let output = run(folder.path(), args);
        String::from_utf8(output.stderr).unwrap()
    };
    let loud = stderr(&args);
    let warning = loud
        .lines()
        .find(|line| line.starts_with("warning: ") && line.contains("lstm-pid"));
    assert_snapshot!(warning.unwrap());
    assert_eq!(stderr(&[&args[..], &["--quiet"]].concat()), "");
}

/// Blocks of unused schemes are reported; in a comparison, those that no run uses.
#[test]
fn unused_schemes_are_told() {
    let folder = small();
    let mut text = fs::read_to_string(folder.path().join("my.toml")).unwrap();
    text.push_str("\n[cc.dctcp]\ng = 0.1\n\n[cc.timely]\nhai-after = 3\n");
    fs::write(folder.path().join("my.toml"), text).unwrap();
    let got = |args: &[&str]| {
        let stderr = String::from_utf8(run(folder.path(), args).stderr).unwrap();
        let warnings = stderr.lines().filter(|line| line.starts_with("warning: "));
        warnings.map(str::to_string).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!("unused_run", got(&["run", "my.toml", "--scheme", "hpcc"]));
    assert_snapshot!(
        "unused_compare",
        got(&["compare", "my.toml", "--schemes", "hpcc,dctcp"])
    );
}

/// Traces a single port: packets of both directions, and their events at its queue. Without `pcap` the trace is a
/// table.
#[test]
fn a_single_port_is_captured() {
    let folder = small();
    let trace = |args: &[&str]| {
        let before = [
            "run",
            "my.toml",
            "--force",
            "--quiet",
            "--set",
            "record.trace-ports=[[0, 3]]",
        ];
        let output = run(folder.path(), &[&before, args].concat());
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let size = |name: &str| {
            let file = folder.path().join("results/small-hpcc-1").join(name);
            fs::metadata(file).map(|file| file.len()).unwrap_or(0)
        };
        (size("trace.parquet"), size("trace.pcapng"))
    };
    let (table, capture) = trace(&["--set", "record.pcap=true"]);
    assert!(table > 1000 && capture > 100_000, "{table} and {capture} bytes");
    assert_eq!(trace(&[]), (table, 0));
    assert_eq!(trace(&["--set", "record.trace-ports=[]"]), (0, 0));
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let folder = small();
    let path = folder.path();
    stdout(path, &["run", "my.toml", "--out", "a"]);
    stdout(path, &["run", "my.toml", "--out", "b", "--threads", "2"]);
    assert_same(&path.join("a"), &path.join("b"));
    // The resolved scenario in a run's folder gives the same run.
    stdout(path, &["run", "a", "--out", "c"]);
    assert_same(&path.join("a"), &path.join("c"));
    // The report of its folder is equal, too.
    let report = fs::read(path.join("a/report.html")).unwrap();
    stdout(path, &["report", "a", "--out", "again.html"]);
    assert!(fs::read(path.join("again.html")).unwrap() == report);
}

/// Recording of ports, flows and pauses does not affect the other files of a run.
#[test]
fn watching_changes_the_series_alone() {
    let folder = small();
    let path = folder.path();
    for (fidelity, out) in [("exact", "exact"), ("ns3-hpcc", "ns3")] {
        let run = |ports: &str, flows: &str, out: &str| {
            let (ports, flows) = (format!("record.ports={ports}"), format!("record.flows={flows}"));
            let args = [
                "run",
                "my.toml",
                "--fidelity",
                fidelity,
                "--set",
                &ports,
                "--set",
                &flows,
            ];
            stdout(path, &[&args[..], &["--out", out]].concat());
            let mut files = common::files(&path.join(out));
            let series = files.remove(Path::new("series.parquet"));
            files.retain(|name, _| !["scenario.toml", "report.html"].contains(&&*name.to_string_lossy()));
            // The only number that is derived from the series of ports.
            let summary = files.get_mut(Path::new("summary.json")).unwrap();
            let mut numbers: serde_json::Value = serde_json::from_slice(summary.as_ref()).unwrap();
            assert_eq!(numbers["utilisation"].is_null(), out.ends_with("-off"));
            numbers["utilisation"].take();
            *summary = numbers.to_string().into();
            (files, series)
        };
        let (off, without) = run("off", "off", &format!("{out}-off"));
        let (on, with) = run("auto", "1us", &format!("{out}-on"));
        assert!(off.len() > 4 && off == on, "{fidelity}");
        assert!(with.unwrap().len() > without.unwrap().len());
    }
}

/// Flows as Parquet have the same rows, so the report is equal except for the command.
#[test]
fn flows_as_parquet() {
    let folder = small();
    let path = folder.path();
    stdout(path, &["run", "my.toml", "--out", "a"]);
    stdout(path, &["run", "my.toml", "--out", "b", "--format", "parquet"]);
    let (a, b) = (common::files(&path.join("a")), common::files(&path.join("b")));
    let (csv, parquet) = (Path::new("flows.csv"), Path::new("flows.parquet"));
    assert!(a.contains_key(csv) && !a.contains_key(parquet));
    assert!(b.contains_key(parquet) && !b.contains_key(csv));
    stdout(path, &["report", "b", "--out", "again.html"]);
    let report = fs::read(path.join("a/report.html")).unwrap();
    assert!(fs::read(path.join("again.html")).unwrap() == report);
}

#[test]
fn jobs_do_not_matter() {
    let folder = small();
    let path = folder.path();
    let compare = |jobs: &str, out: &str| {
        let args = [
            "compare",
            "my.toml",
            "--schemes",
            "hpcc,dcqcn,timely,dctcp",
            "--jobs",
            jobs,
            "--out",
            out,
        ];
        stdout(path, &args)
    };
    assert_eq!(compare("1", "a"), compare("2", "b"));
    assert_same(&path.join("a"), &path.join("b"));
    // A run in a comparison equals a single run. (A single run under a scheme other than HPCC warns about HPCC's
    // block.)
    stdout(path, &["run", "my.toml", "--scheme", "hpcc", "--out", "alone"]);
    assert_same(&path.join("a/hpcc"), &path.join("alone"));
    let report = fs::read_to_string(path.join("a/report.html")).unwrap();
    stdout(path, &["report", "a", "--out", "a/again.html"]);
    assert!(fs::read_to_string(path.join("a/again.html")).unwrap() == report);
    // Only a page next to the runs links to their pages.
    stdout(path, &["report", "a", "--out", "elsewhere.html"]);
    let elsewhere = fs::read_to_string(path.join("elsewhere.html")).unwrap();
    let link = "href=\"./dcqcn/report.html\"";
    assert!(report.contains(link) && !elsewhere.contains(link));
}

#[test]
fn settings_change_the_run() {
    let folder = small();
    let summary = |args: &[&str]| -> serde_json::Value {
        let args = [&["run", "my.toml", "--json", "--force"], args].concat();
        serde_json::from_str(&stdout(folder.path(), &args)).unwrap()
    };
    let plain = summary(&[]);
    assert_eq!(plain["scheme"], "hpcc");
    assert_eq!(plain["status"], "completed");
    let slower = summary(&["--set", "topology.star.rate=10Gbps"]);
    assert!(slower["fct_us"]["mean"].as_f64() > plain["fct_us"]["mean"].as_f64());
    let other = summary(&["--scheme", "dcqcn", "--seed", "9"]);
    assert_eq!((&other["scheme"], &other["seed"]), (&"dcqcn".into(), &9.into()));
    assert_ne!(other["digest"], plain["digest"]);
    let checked = summary(&["--check"]);
    assert_eq!(checked["digest"], plain["digest"]);
    let short = summary(&["--duration", "10us"]);
    assert_eq!(short["flows"]["completed"], 0);
}

#[test]
fn quiet_and_json_say_nothing_else() {
    let folder = small();
    let output = run(folder.path(), &["run", "my.toml", "--json", "--quiet"]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(serde_json::from_slice::<serde_json::Value>(&output.stdout).is_ok());
}

#[test]
fn an_ns3_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let config = ns3_folder().join("config.txt");
    let args = [
        "compare",
        config.to_str().unwrap(),
        "--schemes",
        "hpcc,dcqcn,timely,dctcp",
        "-q",
    ];
    assert_snapshot!(stdout(folder.path(), &args));
    assert!(
        folder
            .path()
            .join("results/incast16-compare-1/timely/fct.txt")
            .is_file()
    );
}

#[test]
fn published_values_stand_beside_ours() {
    let folder = tempfile::tempdir().unwrap();
    let args = [
        "compare",
        "incast-20",
        "--schemes",
        "hpcc,dctcp",
        "--fidelity",
        "ns3-hpcc",
        "-q",
    ];
    let table = stdout(folder.path(), &args);
    let start = table
        .find("published")
        .expect("the scenario has published values");
    assert_snapshot!(&table[start..]);
    let without = stdout(
        folder.path(),
        &[&args[..], &["--published", "none", "--force"]].concat(),
    );
    assert!(!without.contains("published"));
}

#[test]
fn a_demo_works_anywhere_and_again() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["demo", "--scale", "0.01"];
    assert_snapshot!(said(folder.path(), &args));
    assert!(run(folder.path(), &args).status.success());
    let page = fs::read_to_string(folder.path().join("results/demo/report.html")).unwrap();
    assert!(page.contains("timely"));
}

#[test]
fn generated_files_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    stdout(
        path,
        &[
            "generate",
            "topology",
            "leaf-spine",
            "leaves=2",
            "spines=2",
            "-o",
            "net.txt",
        ],
    );
    let flows = [
        "generate",
        "flows",
        "poisson",
        "sizes=fb-hadoop",
        "load=0.3",
        "to=100us",
    ];
    let on = ["--topology", "leaf-spine,leaves=2,spines=2", "--seed", "3"];
    stdout(path, &[&flows[..], &on[..], &["-o", "flow.txt"]].concat());
    stdout(path, &[&flows[..], &on[..], &["-o", "flow.toml"]].concat());
    let head = "name = \"again\"\ncc.scheme = \"hpcc\"\ntopology.file = \"net.txt\"\n";
    let by_file = format!("{head}[[workload]]\nlabel = \"poisson\"\nfile = \"flow.txt\"\n");
    fs::write(path.join("by-file.toml"), by_file).unwrap();
    let by_text = fs::read_to_string(path.join("flow.toml")).unwrap();
    fs::write(path.join("by-text.toml"), format!("{head}{by_text}")).unwrap();
    stdout(path, &["run", "by-file.toml", "--out", "a"]);
    stdout(path, &["run", "by-text.toml", "--out", "b"]);
    let (a, b) = (common::files(&path.join("a")), common::files(&path.join("b")));
    let flows = Path::new("flows.csv");
    let text = String::from_utf8_lossy(&a[flows]);
    assert!(text.lines().count() > 10, "{text}");
    assert_eq!(text, String::from_utf8_lossy(&b[flows]));
    // Files are not overwritten without --force.
    let again = run(path, &["generate", "topology", "star", "-o", "net.txt"]);
    assert_eq!(again.status.code(), Some(2));
}

/// Neither threads nor recorders change a run: its files have equal bytes, except for host measurements.
#[test]
fn neither_threads_nor_recorders_move_a_run() {
    let text = "name = \"four\"\n[topology.leaf-spine]\nleaves = 2\nspines = 2\nhosts-per-leaf = 3\n[[workload]]\n\
                permutation = { size = \"200KB\" }\n[cc]\nscheme = \"dcqcn\"\n";
    let folder = folder_with("my.toml", text);
    let path = folder.path();
    let all = [
        "queue=1us",
        "ports=1us",
        "flows=1us",
        "rates=5us",
        "rtt-samples=true",
        "accounts=all",
        "trace=all",
        "pcap=true",
    ];
    let none = [
        "queue=off",
        "ports=off",
        "flows=off",
        "rates=off",
        "pfc=true",
        "accounts=off",
    ];
    let made = |out: &str, threads: &str, record: &[&str]| {
        let mut command = command(path);
        command.args(["run", "my.toml", "--quiet", "--out", out, "--threads", threads]);
        for setting in record {
            command.args(["--set", &format!("record.{setting}")]);
        }
        assert!(command.output().unwrap().status.success());
        path.join(out)
    };
    for (name, record) in [("all", &all[..]), ("none", &none)] {
        let one = made(&format!("{name}-1"), "1", record);
        assert_same(&one, &made(&format!("{name}-again"), "1", record));
        assert_same(&one, &made(&format!("{name}-2"), "2", record));
    }
    // Additional files of an earlier run are removed when its folder is replaced.
    for format in ["parquet", "perfetto"] {
        let again = [
            "run", "all-1", "--quiet", "--out", "replaced", "--force", "--format", format,
        ];
        assert!(command(path).args(again).output().unwrap().status.success());
    }
    assert!(path.join("replaced/timeline.pftrace").exists());
    let forced = command(path)
        .args(["run", "none-1", "--quiet", "--out", "replaced", "--force"])
        .output();
    assert!(forced.unwrap().status.success());
    assert_same(&path.join("none-1"), &path.join("replaced"));
    let (a, b) = (path.join("all-1"), path.join("none-1"));
    for file in ["flows.csv", "fct.txt", "pfc.txt", "topology.txt"] {
        assert_eq!(
            fs::read(a.join(file)).unwrap(),
            fs::read(b.join(file)).unwrap(),
            "{file}"
        );
    }
    let summary = |folder: &Path| common::json(&folder.join("summary.json"));
    for key in [
        "digest",
        "events",
        "packet_hops",
        "flows",
        "fct_slowdown",
        "rtt_per_ack_us",
    ] {
        assert_eq!(summary(&a)[key], summary(&b)[key], "{key}");
    }
}

/// A run with two names of the same scheme: its folder gives the same run, and `diff` and `why` work on it.
#[test]
fn a_folder_is_the_run_whatever_names_share_it() {
    let text = |first: &str, second: &str| {
        format!(
            "duration = \"20ms\"\n[topology.star]\nhosts = 9\n[[workload]]\nlabel = \"a\"\n\
             incast = {{ fan-in = 4, receiver = 9, size = \"500KB\" }}\n[[workload]]\nlabel = \"b\"\n\
             scheme = \"{second}\"\npriority = 4\n\
             incast = {{ senders = [5, 6, 7, 8], receiver = 9, size = \"500KB\" }}\n[cc]\nscheme = \"{first}\"\n"
        )
    };
    for (first, second) in [("dcqcn", "dcqcn-paper"), ("dcqcn-tcd", "dcqcn")] {
        let folder = folder_with("s.toml", text(first, second));
        stdout(folder.path(), &["run", "s.toml", "--out", "a", "--quiet"]);
        stdout(folder.path(), &["run", "a", "--out", "b", "--quiet"]);
        assert_same(&folder.path().join("a"), &folder.path().join("b"));
        let diff = stdout(folder.path(), &["diff", "a", "b"]);
        assert!(diff.contains("are the same: inputs, results"), "{diff}");
        let why = run(folder.path(), &["why", "a", "7"]);
        let got = String::from_utf8(why.stderr).unwrap();
        assert!(
            why.status.success() && !got.contains("not the run of the folder"),
            "{got}"
        );
    }
}

/// Model files are copied to the folder of the run, which therefore works without the originals.
#[test]
fn a_folder_has_the_models_of_its_run() {
    let folder = folder_with("my.toml", SMALL);
    let shipped = paceline_congestion::learned::shipped::SHIPPED;
    let model = shipped.iter().find(|model| model.name == "rtt-lstm").unwrap();
    fs::create_dir(folder.path().join("trained")).unwrap();
    let files = ["json", "safetensors"].map(|ending| folder.path().join(format!("trained/mine.{ending}")));
    fs::write(&files[0], model.card()).unwrap();
    fs::write(&files[1], model.weights).unwrap();
    let args = [
        "run",
        "my.toml",
        "--scheme",
        "lstm-pid",
        "--set",
        "cc.lstm-pid.model=trained/mine",
    ];
    stdout(folder.path(), &[&args[..], &["--out", "a", "--quiet"]].concat());
    fs::remove_dir_all(folder.path().join("trained")).unwrap();
    stdout(folder.path(), &["run", "a", "--out", "b", "--quiet"]);
    assert_same(&folder.path().join("a"), &folder.path().join("b"));
    let moved = fs::rename(folder.path().join("a"), folder.path().join("c"));
    moved.unwrap();
    stdout(folder.path(), &["run", "c", "--out", "b", "--quiet", "--force"]);
    assert_same(&folder.path().join("c"), &folder.path().join("b"));
}

//! Each invalid input gets a message with its position, and the right exit status.

#![allow(clippy::disallowed_macros, reason = "a test says that it was skipped")]

use crate::common;

use std::fs;
use std::path::Path;

use crate::common::{SMALL, command, folder_with, run, said, stdout};
use insta::assert_snapshot;

/// Returns the output for a scenario text and further arguments.
fn said_of(text: impl AsRef<[u8]>, args: &[&str]) -> String {
    let folder = folder_with("my.toml", text);
    said(folder.path(), &[&["run", "my.toml"], args].concat())
}

#[test]
fn unknown_key() {
    assert_snapshot!(said_of(SMALL.replace("eta", "etaa"), &[]));
}

#[test]
fn several_topologies() {
    assert_snapshot!(said_of(format!("{SMALL}[topology.dumbbell]\n"), &[]));
}

#[test]
fn misspelt_scheme() {
    assert_snapshot!(said_of(SMALL.replace("\"hpcc\"", "\"hpc\""), &[]));
}

#[test]
fn misspelt_scheme_option() {
    assert_snapshot!(said_of(SMALL, &["--scheme", "timley"]));
}

#[test]
fn wrong_unit() {
    assert_snapshot!(said_of(SMALL.replace("100KB", "100Gbps"), &[]));
}

#[test]
fn wrong_setting() {
    assert_snapshot!(said_of(SMALL, &["--set", "cc.hpcc.rate-ai=fast"]));
}

#[test]
fn setting_without_value() {
    assert_snapshot!(said_of(SMALL, &["--set", "seed"]));
}

#[test]
fn out_of_range() {
    assert_snapshot!(said_of(SMALL.replace("0.9", "1.5"), &[]));
}

#[test]
fn not_utf8() {
    assert_snapshot!(said_of(b"name = \"caf\xe9\"\n", &[]));
}

#[test]
fn not_toml() {
    assert_snapshot!(said_of("name = \n[topology\n", &[]));
}

#[test]
fn headroom_above_buffer() {
    assert_snapshot!(said_of(format!("{SMALL}[network]\nbuffer = \"100KB\"\n"), &[]));
}

#[test]
fn missing_file() {
    let folder = tempfile::tempdir().unwrap();
    assert_snapshot!(said(folder.path(), &["run", "nowhere.toml"]));
    assert_snapshot!("misspelt_scenario", said(folder.path(), &["run", "incast20"]));
}

#[test]
fn missing_flow_file() {
    let workload = r#"incast = { fan-in = 2, receiver = 3, size = "100KB" }"#;
    assert_snapshot!(said_of(SMALL.replace(workload, "file = \"flows.txt\""), &[]));
}

#[test]
fn wrong_arguments() {
    for (name, args) in [
        ("no_threads", &["run", "incast-16", "--threads", "0"][..]),
        ("no_unit", &["run", "incast-16", "--duration", "5"]),
        ("no_schemes", &["compare", "incast-16", "--schemes", ","]),
        (
            "scheme_twice",
            &["compare", "incast-16", "--schemes", "hpcc,dctcp,hpcc"],
        ),
        (
            "misspelt_schemes",
            &["compare", "incast-16", "--schemes", "hpcc,dcqn"],
        ),
        ("misspelt_command", &["ruun", "incast-16"]),
        ("no_scale", &["demo", "--scale", "0"]),
        ("unknown_name", &["explain", "pcf"]),
        ("unknown_generator", &["generate", "topology", "fattree"]),
        ("odd_fat_tree", &["generate", "topology", "fat-tree", "k=3"]),
        ("unknown_benchmark", &["bench", "--only", "70"]),
    ] {
        assert_snapshot!(name, said(Path::new("."), args));
    }
}

#[test]
fn an_existing_folder_is_kept() {
    let folder = folder_with("my.toml", SMALL);
    let path = folder.path();
    fs::create_dir(path.join("thesis")).unwrap();
    fs::write(path.join("thesis/chapter1.tex"), "years of work").unwrap();
    assert_snapshot!(
        "existing_folder",
        said(path, &["run", "my.toml", "--out", "thesis"])
    );
    assert_snapshot!(
        "existing_folder_force",
        said(path, &["run", "my.toml", "--out", "thesis", "--force"])
    );
    assert_eq!(
        fs::read_to_string(path.join("thesis/chapter1.tex")).unwrap(),
        "years of work"
    );
}

#[test]
fn an_earlier_run_is_replaced_only_when_told() {
    let folder = folder_with("my.toml", SMALL);
    let path = folder.path();
    let status = |args: &[&str]| {
        run(path, &[&["run", "my.toml", "-q"], args].concat())
            .status
            .code()
    };
    assert_eq!(status(&[]), Some(0));
    let summary = || fs::read_to_string(path.join("results/small-hpcc-1/summary.json")).unwrap();
    let first = summary();
    assert_eq!(status(&[]), Some(0));
    assert_eq!(summary(), first, "it was not run again");
    assert_eq!(status(&["--force"]), Some(0));
    assert_ne!(summary(), first, "processor time at least");
    let elsewhere = ["--out", "results/small-hpcc-1"];
    assert_eq!(status(&elsewhere), Some(0));
    assert_eq!(status(&[&elsewhere[..], &["--seed", "2"]].concat()), Some(2));
}

/// A repeated command prints the same output, and reports that the results existed.
#[test]
fn the_same_command_shows_the_same() {
    let folder = folder_with("my.toml", SMALL);
    let path = folder.path();
    let compare = ["compare", "my.toml", "--schemes", "hpcc,dctcp"];
    for args in [
        &["run", "my.toml"][..],
        &["run", "my.toml", "--json"],
        &["run", "my.toml", "--buckets", "2"],
        &["run", "my.toml", "--out", "mine", "--format", "parquet"],
        &compare,
        &[&compare[..], &["--json"]].concat(),
        &[&compare[..], &["--repeats", "2", "--out", "two"]].concat(),
    ] {
        let (first, again) = (run(path, args), run(path, args));
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        assert!(again.status.success(), "{args:?}: {}", text(&again.stderr));
        assert_eq!(text(&first.stdout), text(&again.stdout), "{args:?}");
        let got = text(&again.stderr);
        assert!(
            got.contains("of the same command earlier; --force runs it again"),
            "{args:?}: {got}"
        );
    }
    // A command that needs other files is a different one.
    let other = run(path, &["run", "my.toml", "--format", "perfetto"]);
    assert!(other.status.success() && path.join("results/small-hpcc-1-2/timeline.pftrace").is_file());
}

#[test]
fn a_folder_that_cannot_be_made() {
    let folder = folder_with("my.toml", SMALL);
    fs::write(folder.path().join("file"), "").unwrap();
    assert_snapshot!(said(
        folder.path(),
        &["run", "my.toml", "-q", "--out", "file/inside"]
    ));
}

/// Uses a file system of 64 KB in a mount namespace. Nothing is left behind.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    use std::process::Command;

    let folder = folder_with("my.toml", SMALL);
    let path = folder.path();
    fs::create_dir(path.join("disk")).unwrap();
    let within = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", script]).current_dir(path);
        command.output()
    };
    let mount = "mount -t tmpfs -o size=64k tmpfs disk";
    if !within(mount).is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: this system lets nobody mount a small file system");
        return;
    }
    let program = env!("CARGO_BIN_EXE_paceline");
    let output = within(&format!(
        "{mount} && '{program}' run my.toml -q --out disk/run; s=$?; ls -A disk; exit $s"
    ));
    let output = output.unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.starts_with("error: cannot write "), "{error}");
    assert!(error.contains("No space left on device"), "{error}");
    assert!(error.contains("disk/run/"), "{error}");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "",
        "nothing is left behind"
    );
}

/// An endless file in a run's folder is an error that names it, and takes no memory.
#[cfg(unix)]
#[cfg(feature = "training")]
#[test]
fn what_has_no_end_is_refused() {
    let folder = folder_with("my.toml", SMALL);
    let path = folder.path();
    common::stdout(path, &["run", "my.toml", "-q", "--out", "a"]);
    for name in [
        "summary.json",
        "scenario.toml",
        "flows.csv",
        "flow_time.csv",
        "pfc.txt",
        "topology.txt",
        "series.parquet",
    ] {
        let (file, aside) = (path.join("a").join(name), path.join("aside"));
        fs::rename(&file, &aside).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
        let output = command(path)
            .args(["report", "a", "-o", "page.html"])
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {error}");
        assert!(error.contains(name), "{name}: {error}");
        fs::remove_file(&file).unwrap();
        fs::rename(&aside, &file).unwrap();
    }
    let output = command(path)
        .args(["forest", "prove", "/dev/zero"])
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("it is a device or a pipe, not a file"), "{error}");
    let made = std::process::Command::new("mkfifo")
        .arg(path.join("pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    for arguments in [
        &["run", "pipe"][..],
        &["forest", "prove", "pipe"],
        &["check", "pipe"],
    ] {
        let output = command(path).args(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    }
}

/// An output path that cannot be written is reported before anything runs.
#[cfg(unix)]
#[cfg(feature = "training")]
#[test]
fn a_link_to_nowhere_is_told_at_once() {
    let folder = folder_with("long.toml", SMALL.replace("100KB", "20GB"));
    let path = folder.path();
    std::os::unix::fs::symlink("gone", path.join("link")).unwrap();
    for words in [
        "run long.toml --duration 10s --out link",
        "run long.toml --duration 10s --out link/run",
        "compare long.toml --duration 10s --schemes hpcc,dctcp --out link",
        "sweep long.toml --duration 10s --over cc.scheme=hpcc,dctcp --out link",
        "train pidnn --scenario long.toml --out link",
        "reproduce thesis-table6 --out link",
    ] {
        let output = command(path).args(words.split(' ')).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words}: {error}");
        assert!(
            error.contains("is a link to gone, which does not exist"),
            "{words}: {error}"
        );
    }
    assert!(!path.join("gone").exists());
}

/// File contents never move the cursor or change colours.
#[test]
fn what_would_act_on_a_terminal_is_shown() {
    let text = SMALL.replace("incast = {", "label = \"=\\u001b[31mred\\u0007\"\nincast = {");
    let folder = folder_with("my.toml", text);
    let more = "\n[network]\n\"\\u001b]0;title\\u0007\" = 1\n";
    fs::write(folder.path().join("odd.toml"), SMALL.to_string() + more).unwrap();
    for arguments in [
        &["run", "my.toml", "--out", "a", "--buckets", "2"][..],
        &["run", "odd.toml"],
        &["run", "\u{1b}[31m.toml"],
        &["why", "a"],
        &["report", "a"],
    ] {
        let output = command(folder.path()).args(arguments).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let acts = |byte: &u8| byte.is_ascii_control() && *byte != b'\n';
        assert!(
            !said.iter().any(acts),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&said)
        );
    }
    let flows = fs::read_to_string(folder.path().join("a/flows.csv")).unwrap();
    assert!(flows.contains(",'=\u{1b}[31mred"), "{flows}");
}

#[test]
fn of_many_errors_the_first_are_told() {
    let folder = folder_with("my.toml", "a = = 1\n".repeat(20_000));
    let said = command(folder.path()).args(["run", "my.toml"]).output().unwrap();
    let text = String::from_utf8(said.stderr).unwrap();
    assert_eq!(text.lines().count(), 21, "{text}");
    assert!(
        text.lines().next().unwrap().starts_with("error: my.toml:1:5:"),
        "{text}"
    );
    assert!(text.lines().last().unwrap().starts_with("and "), "{text}");
}

/// A huge number of seeds would exhaust the memory of most machines before the first run.
#[test]
fn too_many_repeats() {
    let folder = folder_with("my.toml", SMALL);
    let args = [
        "compare",
        "my.toml",
        "--schemes",
        "hpcc",
        "--repeats",
        "4000000000",
    ];
    let text = said(folder.path(), &args);
    assert!(
        text.contains("expected a number of seeds from 1 to 10000"),
        "{text}"
    );
}

/// Typical mistakes of new users: each is reported once, with a suggestion.
#[cfg(feature = "training")]
#[test]
fn first_steps() {
    let folder = folder_with("my.toml", SMALL);
    let path = folder.path();
    let made = [
        &["run", "my.toml", "--out", "one"][..],
        &["compare", "my.toml", "--schemes", "hpcc,dctcp", "--out", "two"],
        &["sweep", "my.toml", "--over=cc.scheme=hpcc,dctcp", "--out", "grid"],
    ];
    for args in made {
        assert!(run(path, &[args, &["-q"]].concat()).status.success(), "{args:?}");
    }
    fs::write(path.join("table.csv"), "a,b,c\n1,2,3\n").unwrap();
    fs::write(
        path.join("job.toml"),
        SMALL.replace(
            "[[workload]]\n",
            "[job]\nlabel = \"a\"\n[job.step]\ncompute = \"1us\"\n[[workload]]\n",
        ),
    )
    .unwrap();
    fs::write(
        path.join("step.toml"),
        SMALL.replace(
            "[[workload]]\n",
            "[[job]]\nlabel = \"a\"\n[job.step]\ncompute = \"1us\"\n[[workload]]\n",
        ),
    )
    .unwrap();
    let host = "name = \"ring\"\n[topology.graph]\nnodes = 4\nswitches = [0]\nlinks = [{ a = 0, b = 1 }, { a = 1, b = 2 }, { a = 2, b = 3 }]\n\
                [[workload]]\nflows = [{ src = 1, dst = 3, size = \"1KB\" }]\n[cc]\nscheme = \"hpcc\"\n";
    fs::write(path.join("chained-hosts.toml"), host).unwrap();
    for (line, expected) in [
        ("run incats-16", "did you mean `incast-16`, `incast-20` or"),
        ("run zzz", "the nearest are"),
        (
            "run myy.toml",
            "there is no file `myy.toml` (did you mean `my.toml`?)",
        ),
        (
            "run other/thing.toml",
            "there is no file `other/thing.toml` (`paceline list scenarios`",
        ),
        ("run one/summary.json", "is JSON: expected a scenario"),
        ("run table.csv", "is a table of CSV: expected a scenario"),
        ("run one/report.html", "is a page: expected a scenario"),
        ("run two", "it is a comparison's, whose runs have folders in it"),
        (
            "run my.toml --seed -1",
            "invalid value '-1' for '--seed <N>': expected a whole number, not below zero",
        ),
        ("run my.toml --seed x", "expected a whole number, not below zero"),
        (
            "run my.toml --duration -5us",
            "invalid value '-5us' for '--duration <TIME>'",
        ),
        (
            "run my.toml --scheme dcqcn,hpcc",
            "`paceline compare INPUT --schemes dcqcn,hpcc` runs several",
        ),
        ("run my.toml --set hpcc.eta=0.9", "did you mean `cc.hpcc`?"),
        ("run my.toml --set ecn.kmin=1KB", "did you mean `network.ecn`?"),
        ("run my.toml --set kmin=1KB", "did you mean `network.ecn.kmin`?"),
        ("run my.toml --set cc.dcqcn.gg=0.1", "did you mean `g`?"),
        (
            "run job.toml",
            "expected a list, found one table (there may be several: write `[[job]]`)",
        ),
        (
            "run step.toml",
            "expected a list, found one table (there may be several: write `[[job.step]]`)",
        ),
        (
            "run chained-hosts.toml",
            "there is no path from host 1 to host 3 (links lead there through other hosts, but hosts do not forward",
        ),
        ("report nosuch", "there is no folder nosuch"),
        ("report onee", "there is no folder onee: did you mean one?"),
        (
            "report my.toml",
            "my.toml is a file: expected the folder of a run",
        ),
        ("plot onee --what queue -o a.svg", "did you mean one?"),
        ("diff one onee", "did you mean one?"),
        (
            "merge gridd",
            "is not the folder of a sweep: there is no sweep.json in it: did you mean grid?",
        ),
        (
            "merge one",
            "is not the folder of a sweep: there is no sweep.json in it",
        ),
        ("explain network.ecn.kminn", "did you mean `network.ecn.kmin`"),
        (
            "forest export adpg",
            "`adpg` is a neural network, not a forest: built-in forests: adpg-tree-100",
        ),
        ("forest export adpg-tree-10", "did you mean `adpg-tree-100`?"),
        ("reproduce zzz", "`paceline list reproductions` has all"),
        ("bench --only incast-2", "did you mean `incast-20`"),
        (
            "sweep my.toml --over topology.star.rate={from=100Gbps,to=200GB,steps=3}",
            "the ends of a range have one unit: found `Gbps` and `GB`",
        ),
        (
            "sweep my.toml --over cc.hpcc.eta={from=0.5,too=0.9,steps=3}",
            "did you mean `to`?",
        ),
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        let output = run(path, &args);
        let got = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {got}");
        assert!(got.contains(expected), "{line}: {got}");
        assert_eq!(got.matches("error: ").count(), 1, "{line}: {got}");
    }
    // Ranges accept values with units.
    let grid = "sweep my.toml --over topology.star.rate={from=100Gbps,to=400Gbps,steps=3} --out rates";
    let got = stdout(path, &grid.split(' ').collect::<Vec<_>>());
    assert!(
        ["100Gbps", "250Gbps", "400Gbps"]
            .iter()
            .all(|rate| got.contains(rate)),
        "{got}"
    );
}

//! Schemes with parameters in their names.

use std::fs;

use crate::common::{SMALL, folder_with, json, run, said, stdout};

const SCHEMES: &str = "dcqcn,dcqcn:g=0.5:increase-timer=55us,hpcc:eta=0.8";

#[test]
fn variants_stand_beside_their_scheme_by_their_names() {
    let folder = folder_with("small.toml", SMALL);
    let path = folder.path();
    let compare = ["compare", "small.toml", "--schemes", SCHEMES, "--out", "three"];
    let table = stdout(path, &compare);
    for name in SCHEMES.split(',') {
        assert!(table.contains(name), "{table}");
    }
    let has = |run: &str, scheme: &str, line: &str| {
        let text = fs::read_to_string(path.join("three").join(run).join("scenario.toml")).unwrap();
        let block = text
            .split(&format!("[cc.{scheme}]\n"))
            .nth(1)
            .unwrap_or_else(|| panic!("{text}"));
        let block = block.split("\n[").next().unwrap();
        assert!(block.lines().any(|written| written == line), "{line}: {block}");
    };
    let long = "dcqcn:g=0.5:increase-timer=55us";
    let short = "dcqcn-g-0.5-increase-timer-55us";
    has(short, "\"dcqcn:g=0.5:increase-timer=55us\"", "g = 0.5");
    has(
        short,
        "\"dcqcn:g=0.5:increase-timer=55us\"",
        "increase-timer = \"55us\"",
    );
    has("dcqcn", "dcqcn", "g = 0.00390625");
    // The scenario's own block has eta = 0.9.
    has("hpcc-eta-0.8", "\"hpcc:eta=0.8\"", "eta = 0.8");
    // The written scenario gives the same run.
    let scenario = format!("three/{short}/scenario.toml");
    stdout(path, &["run", &scenario, "--out", "again"]);
    let read = |run: &str, file: &str| fs::read_to_string(path.join(run).join(file)).unwrap();
    let first = format!("three/{short}");
    for file in ["scenario.toml", "flows.csv"] {
        assert_eq!(read(&first, file), read("again", file), "{file}");
    }
    assert_eq!(json(&path.join("again/summary.json"))["scheme"], long);
    assert!(
        fs::read_to_string(path.join("three/report.html"))
            .unwrap()
            .contains(long)
    );
    stdout(path, &["plot", "three", "--what", "fct-cdf", "-o", "t.csv"]);
    assert!(
        fs::read_to_string(path.join("t.csv"))
            .unwrap()
            .contains("hpcc:eta=0.8,")
    );
    let shown = run(path, &compare);
    assert!(String::from_utf8_lossy(&shown.stderr).contains("of the same command earlier"));
}

#[test]
fn the_same_parameters_are_the_same_run() {
    let folder = folder_with("small.toml", SMALL);
    let path = folder.path();
    stdout(
        path,
        &["run", "small.toml", "--scheme", "dcqcn:g=0.5", "--out", "a"],
    );
    let set = [
        "run",
        "small.toml",
        "--scheme",
        "dcqcn",
        "--set",
        "cc.dcqcn.g=0.5",
        "--out",
        "b",
    ];
    stdout(path, &set);
    let flows = |run: &str| {
        let text = fs::read_to_string(path.join(run).join("flows.csv")).unwrap();
        text.replace("dcqcn:g=0.5", "dcqcn")
    };
    assert_eq!(flows("a"), flows("b"));
}

#[test]
fn sweeps_take_variants() {
    let folder = folder_with("small.toml", SMALL);
    let path = folder.path();
    let over = "cc.scheme=hpcc:eta=0.8,dcqcn:g=0.5";
    stdout(path, &["sweep", "small.toml", "--over", over, "--out", "grid"]);
    let points = fs::read_to_string(path.join("grid/points.csv")).unwrap();
    assert!(
        points.contains("hpcc:eta=0.8") && points.contains("dcqcn:g=0.5"),
        "{points}"
    );
}

#[test]
fn mistakes_are_told_before_anything_is_written() {
    let folder = folder_with("small.toml", SMALL);
    let path = folder.path();
    for (schemes, words) in [
        (
            "hpcc,dcqcn:timer=5us",
            "dcqcn has no parameter `timer`: did you mean `increase-timer`?",
        ),
        ("dcqcn:g", "`g` sets nothing: write for example `dcqcn:"),
        ("dcqcn:g=much", "`much` is not a number"),
        ("dcqcn:g=7", "7 is out of range"),
        ("hpcc,dcqn:g=0.1", "did you mean `dcqcn`?"),
        ("dcqcn:g=0.1,dcqcn:g=0.1", "`dcqcn:g=0.1` is named twice"),
        (
            "dcqcn:g=0.1,dcqcn:g=0.10",
            "`dcqcn:g=0.10` is the same as `dcqcn:g=0.1`",
        ),
    ] {
        let compare = ["compare", "small.toml", "--schemes", schemes, "--out", "none"];
        let said = said(path, &compare);
        assert!(said.contains("exit status: 2") && said.contains(words), "{said}");
        assert!(!path.join("none").exists(), "{schemes}");
    }
    let said = said(
        path,
        &["run", "small.toml", "--scheme", "hpcc:etta=1", "--out", "none"],
    );
    assert!(
        said.contains("exit status: 2") && said.contains("did you mean `eta`?"),
        "{said}"
    );
}

#[test]
fn settings_that_change_nothing_are_told() {
    let folder = folder_with("small.toml", SMALL);
    for (schemes, words) in [
        (
            "hpcc,hpcc:eta=0.9",
            "`hpcc:eta=0.9`: eta has no effect: it is `0.9` without it",
        ),
        (
            "hpcc,dcqcn:byte-counter=1MB",
            "`dcqcn:byte-counter=1MB`: byte-counter has no effect: cc.dcqcn.flavour is `nic`",
        ),
    ] {
        let compare = ["compare", "small.toml", "--schemes", schemes];
        let said = said(folder.path(), &compare);
        assert!(said.contains("exit status: 0") && said.contains(words), "{said}");
    }
}

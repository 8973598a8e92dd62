//! `paceline forest`: CatBoost to C, policies to runs with `distill`, and pages.

use crate::common;

use std::fs;
use std::process::Command;

use crate::common::{run, said, stdout};
use insta::assert_snapshot;

const CATBOOST: &str = include_str!("../../../forest/tests/catboost/model.json");

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("catboost.json"), CATBOOST).unwrap();
    folder
}

/// The claims in DECC's built-in trees are proved, and a false claim is refuted.
#[test]
fn built_in_trees_are_proved() {
    let folder = tempfile::tempdir().unwrap();
    for trees in ["decc-tree-100", "decc-tree-300"] {
        let proved = stdout(folder.path(), &["forest", "prove", trees]);
        assert_eq!(proved.matches("  holds  ").count(), 4, "{proved}");
    }
    let refuted = run(
        folder.path(),
        &["forest", "prove", "decc-tree-300", "--claim", "..-0.1"],
    );
    assert_eq!(refuted.status.code(), Some(1));
}

#[test]
fn from_catboost_to_c() {
    let folder = folder();
    let path = folder.path();
    stdout(
        path,
        &[
            "forest",
            "import",
            "catboost.json",
            "--fraction",
            "12",
            "-o",
            "forest.json",
        ],
    );
    stdout(path, &["forest", "export", "forest.json", "-o", "policy.h"]);
    fs::write(
        path.join("policy.c"),
        "#include \"policy.h\"\nint main(void) { return 0; }\n",
    )
    .unwrap();
    let compiled = Command::new("cc")
        .args(["-std=c99", "-Wall", "-pedantic", "-c", "policy.c"])
        .current_dir(path)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{compiled:?}");
    let proved = stdout(
        path,
        &[
            "forest",
            "prove",
            "forest.json",
            "--claim",
            "-0.7..0.7",
            "--falling",
            "latency",
            "--claim",
            "latency=..0.25 => -0.2..",
        ],
    );
    assert_eq!(proved.matches("  holds  ").count(), 3, "{proved}");
    let refuted = run(
        path,
        &[
            "forest",
            "prove",
            "forest.json",
            "--claim",
            "-0.1..",
            "--falling",
            "log2(in flight)",
        ],
    );
    assert_eq!(refuted.status.code(), Some(1));
    let table = String::from_utf8(refuted.stdout).unwrap();
    assert_eq!(table.matches("  refuted  ").count(), 2, "{table}");
    let json: serde_json::Value = serde_json::from_slice(
        &run(
            path,
            &["forest", "prove", "forest.json", "--claim", "-0.1..", "--json"],
        )
        .stdout,
    )
    .unwrap();
    let found = &json[0]["counterexample"][0];
    assert!(
        found["output"].as_f64().unwrap() < -0.1 && found["features"]["latency"].is_number(),
        "{json}"
    );
}

#[test]
fn refusals() {
    let folder = folder();
    let path = folder.path();
    stdout(path, &["forest", "import", "catboost.json", "-o", "float.json"]);
    let good = fs::read_to_string(path.join("float.json")).unwrap();
    fs::write(
        path.join("changed.json"),
        good.replacen("\"leaves\": [", "\"leaves\": [1", 1),
    )
    .unwrap();
    fs::write(
        path.join("short.json"),
        good.replacen("\"leaves\": [", "\"leaves\": [7,", 1),
    )
    .unwrap();
    let all = [
        said(path, &["forest", "export", "float.json"]),
        said(path, &["forest", "export", "changed.json"]),
        said(path, &["forest", "export", "short.json"]),
        said(path, &["forest", "export", "catboost.json"]),
        said(path, &["forest", "export", "absent.json"]),
        said(path, &["forest", "import", "float.json"]),
        said(path, &["forest", "import", "catboost.json", "--fraction", "16"]),
        said(path, &["forest", "import", "catboost.json", "-o", "float.json"]),
        said(path, &["forest", "prove", "float.json"]),
        said(path, &["forest", "prove", "float.json", "--falling", "latncy"]),
        said(path, &["forest", "prove", "float.json", "--claim", "loss => 1.."]),
        said(path, &["forest", "distill", "adgp"]),
        said(path, &["forest", "distill", "rtt-lstm"]),
        said(path, &["forest", "distill", "float.json"]),
        said(path, &["explain", "adpg", "--page", "page.html"]),
        said(path, &["run", "rl-cc", "--set", "cc.adpg.model=float.json"]),
    ];
    assert_snapshot!(all.join("\n"));
}

/// Trees distilled from a policy: a run uses them, their claims are proved, and they have C code and a page.
#[test]
fn from_a_policy_to_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let distil = [
        "forest", "distill", "adpg", "--quick", "--trees", "20", "--rounds", "1", "-o", "mine",
    ];
    let table = stdout(path, &distil);
    assert!(
        table.contains("forest, kept") && table.contains("16 flows to one host"),
        "{table}"
    );
    let model = "mine/adpg-tree-20.json";
    let proved = stdout(path, &["forest", "prove", model]);
    assert_eq!(proved.matches("  holds  ").count(), 3, "{proved}");
    let header = stdout(path, &["forest", "export", model]);
    assert!(header.contains("#define ADPG_TREE_20_FEATURES 4"), "{header}");
    let said = stdout(path, &["explain", model]);
    for expected in [
        "distilled from",
        "adpg",
        "no stall",
        "paceline forest distill adpg --trees=20",
        "[cc.adpg]",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    stdout(path, &["explain", model, "--page", "page.html"]);
    let [own, again] =
        ["mine/report.html", "page.html"].map(|page| fs::read_to_string(path.join(page)).unwrap());
    for page in [own, again] {
        assert!(page.contains("Which feature decides") && page.contains("a[t] along z[t]"));
        assert!(page.contains("128 that it met") && page.contains("no stall"));
    }
    let set = format!("cc.adpg.model={model}");
    let run = [
        "run",
        "rl-cc",
        "--duration",
        "1ms",
        "--set",
        &set,
        "--set",
        "cc.adpg.decision-latency=1530ns",
    ];
    stdout(path, &[&run[..], &["-o", "run", "-q"]].concat());
    stdout(path, &["run", "run", "-o", "again", "-q"]);
    common::assert_same(&path.join("run"), &path.join("again"));
}

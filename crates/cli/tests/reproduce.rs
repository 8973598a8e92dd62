//! Published numbers beside ours: what is said where, what is written, how it ends.

mod common;

use std::fs;

use common::{run, said, stdout};
use insta::assert_snapshot;
use serde_json::Value;

#[test]
fn an_incast_and_its_differences() {
    let folder = tempfile::tempdir().unwrap();
    let args = [
        "reproduce",
        "thesis-table6",
        "thesis-table5",
        "--check",
        "--out",
        "here",
        "-q",
    ];
    let text = said(folder.path(), &args);
    assert_snapshot!(text);
    // What differs is not lost: the page is there, and what programs read.
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
    // An earlier one is replaced only when told.
    assert_eq!(run(folder.path(), &args).status.code(), Some(2));
}

#[test]
fn programs_get_a_list_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["reproduce", "thesis-table7", "--json", "--check"];
    let records: Vec<Value> = serde_json::from_str(&stdout(folder.path(), &args)).unwrap();
    let of = |kind: &str| records.iter().filter(|record| record["kind"] == kind).count();
    assert_eq!((of("published"), of("shown"), of("choice")), (20, 1, 1));
    let published = records.iter().filter(|record| record["kind"] == "published");
    assert!(published.clone().all(|record| record["ok"] == true));
    let others = records.iter().filter(|record| record["kind"] != "published");
    assert!(others.clone().all(|record| record["ok"].is_null()));
    assert!(folder.path().join("results/reproduce/index.html").is_file());
    // Again, over its own folder.
    stdout(folder.path(), &[&args[..], &["--force", "--quiet"]].concat());
    // Without a name: the registry.
    let list: Vec<Value> = serde_json::from_str(&stdout(folder.path(), &["reproduce", "--json"])).unwrap();
    assert_eq!(list.len(), 71);
    assert_eq!(list[2]["cases"][0]["paper"], 4.3223);
    assert!(stdout(folder.path(), &["reproduce"]).contains("hpcc-fct"));
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

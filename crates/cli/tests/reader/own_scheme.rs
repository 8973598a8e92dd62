//! A user's scheme is available like a built-in one wherever schemes have names.

use std::fs;

use crate::shell::Reader;

pub(crate) const TESTS: [(&str, fn()); 4] = [
    ("an own scheme is listed and explained", is_listed_and_explained),
    (
        "an own scheme runs, and what a run writes is the same run",
        runs_and_runs_again,
    ),
    (
        "mistakes about an own scheme are told like others",
        mistakes_are_told,
    ),
    ("an own scheme is swept and compared", is_swept_and_compared),
];

/// Returns exit status, standard output and standard error.
fn types(reader: &Reader, line: &str) -> (i32, String, String) {
    let output = reader.types_line(line);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    let code = output.status.code().expect("it ends by itself");
    (code, text(output.stdout), text(output.stderr))
}

fn says(reader: &Reader, line: &str) -> String {
    let (code, said, error) = types(reader, line);
    assert_eq!(code, 0, "`{line}`\n{error}");
    said
}

fn is_listed_and_explained() {
    let reader = Reader::of_own_scheme();
    let list = says(&reader, "paceline list schemes");
    assert!(list.contains("bcn ") && list.contains("dcqcn "), "{list}");
    assert!(says(&reader, "paceline list schemes --json").contains("\"name\": \"bcn\""));
    assert!(says(&reader, "paceline explain").contains("\n  bcn "));
    let page = says(&reader, "paceline explain bcn");
    for part in [
        "bcn - BCN",
        "q-eq",
        "40KB",
        "[cc.bcn]",
        "# Equations",
        "Bergamasco",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(says(&reader, "paceline explain bcn.gd").contains("strongest signal takes"));
    let both = says(&reader, "paceline explain min-rate");
    assert!(
        both.contains("cc.bcn.min-rate") && both.contains("cc.dcqcn.min-rate"),
        "{both}"
    );
    // The built-in command does not know the scheme.
    let (code, _, error) = types(&Reader::new(), "paceline run my.toml --scheme bcn");
    assert!(code == 2 && error.contains("unknown scheme `bcn`"), "{error}");
}

fn runs_and_runs_again() {
    let reader = Reader::of_own_scheme();
    let run = "paceline run my.toml --scheme bcn --quiet --check";
    says(
        &reader,
        &format!("{run} --set cc.bcn.gd=0.25 --set cc.bcn.sample=50KB --out first"),
    );
    says(&reader, "paceline run first/scenario.toml --quiet --out second");
    let read = |name: &str| fs::read_to_string(reader.folder().join(name)).expect("a file");
    let resolved = read("first/scenario.toml");
    for line in [
        "[cc.bcn]",
        "gd = 0.25",
        "sample = \"50KB\"",
        "w = 2.0",
        "period = \"50us\"",
    ] {
        assert!(resolved.contains(line), "{line}: {resolved}");
    }
    assert_eq!(resolved, read("second/scenario.toml"));
    assert_eq!(read("first/flows.csv"), read("second/flows.csv"));
    says(&reader, &format!("{run} --out defaults"));
    assert_ne!(read("first/flows.csv"), read("defaults/flows.csv"));
    let summary: serde_json::Value = serde_json::from_str(&read("first/summary.json")).expect("JSON");
    assert!(summary.to_string().contains("\"bcn\""));
    assert!(says(&reader, "paceline why first").contains("flow"));
    says(&reader, "paceline report first --out page.html");
}

fn mistakes_are_told() {
    let reader = Reader::of_own_scheme();
    let refused = |options: &str| {
        let (code, _, error) = types(&reader, &format!("paceline run my.toml {options}"));
        assert_eq!(code, 2, "{options}: {error}");
        error
    };
    assert!(refused("--scheme bcm").contains("did you mean `bcn`?"));
    assert!(refused("--scheme bcn --set cc.bcn.q_qe=1KB").contains("`q-eq`"));
    assert!(refused("--scheme bcn --set cc.bcm.gd=0.5").contains("`bcn`"));
    assert!(refused("--scheme bcn --set cc.bcn.gd=2").contains("from 0 to 1"));
    let text = refused("--scheme bcn --set cc.bcn.gd=much");
    let shipped = refused("--scheme dctcp --set cc.dctcp.g=much");
    assert_eq!(text, shipped.replace("1:12", "1:11"), "as of one that ships");
    let unit = refused("--scheme bcn --set cc.bcn.ai=much");
    assert!(unit.contains("is not a rate"), "{unit}");
    let place = refused("--scheme bcn --set cc.bcn.sample=0B");
    assert!(place.contains("bcn: parameter `sample`"), "{place}");
    let none = refused("--scheme bcn --set network.assist=none");
    assert!(none.contains("BCN needs switches"), "{none}");
}

fn is_swept_and_compared() {
    let reader = Reader::of_own_scheme();
    let over = "--over cc.scheme=bcn,dcqcn --over cc.bcn.gd=0.25,0.5";
    let swept = says(
        &reader,
        &format!("paceline sweep my.toml {over} --quiet --out grid"),
    );
    assert!(swept.contains("bcn"), "{swept}");
    let compared = says(
        &reader,
        "paceline compare my.toml --schemes bcn,dcqcn --quiet --out both",
    );
    assert!(
        compared.contains("bcn") && compared.contains("dcqcn"),
        "{compared}"
    );
}

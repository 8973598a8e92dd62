//! Verdicts, and their display in tables: on a terminal, in the list for programs and on the page.

use std::fs;
use std::path::Path;

use paceline_reproduce::{
    Cell, Column, Count, Criterion, Done, Evidence, Panel, Reproduction, Row, Source, Tolerance, entries,
    read_folder, text, write,
};

fn cell(paper: f64, ours: f64, tolerance: Tolerance) -> Cell {
    Cell {
        paper: Some(paper),
        ours: Some(ours),
        criterion: Criterion {
            kind: Evidence::Published,
            tolerance,
            ..Criterion::default()
        },
    }
}

#[test]
fn tolerances() {
    let verdict = |paper, ours, tolerance| cell(paper, ours, tolerance).verdict(3);
    assert_eq!(verdict(4.56, 4.560_4, Tolerance::Exact), Some(true));
    assert_eq!(verdict(4.56, 4.560_6, Tolerance::Exact), Some(false));
    assert_eq!(verdict(2.0, 2.5, Tolerance::Within(0.25)), Some(true));
    assert_eq!(verdict(2.0, 1.49, Tolerance::Within(0.25)), Some(false));
    assert_eq!(verdict(50.0, 50.5, Tolerance::Near(0.5)), Some(true));
    assert_eq!(verdict(50.0, 49.4, Tolerance::Near(0.5)), Some(false));
    assert_eq!(verdict(1.0, 9.0, Tolerance::Shown), None);
    // Bounds apply to our value alone.
    let bounded = |ours, tolerance| {
        let cell = Cell {
            paper: None,
            ours: Some(ours),
            criterion: Criterion {
                kind: Evidence::Property,
                source: Source::Us,
                tolerance,
                because: String::new(),
                quote: None,
            },
        };
        cell.verdict(3)
    };
    assert_eq!(bounded(2.0, Tolerance::AtMost(2.0)), Some(true));
    assert_eq!(bounded(2.1, Tolerance::AtMost(2.0)), Some(false));
    assert_eq!(bounded(1.9, Tolerance::AtLeast(2.0)), Some(false));
    assert_eq!(bounded(0.5, Tolerance::Between(0.5, 2.5)), Some(true));
    assert_eq!(bounded(f64::NAN, Tolerance::Between(0.5, 2.5)), Some(false));
    // Without a published value or a run, there is no verdict.
    for (paper, ours) in [(None, Some(1.0)), (Some(1.0), None)] {
        let mut cell = cell(1.0, 1.0, Tolerance::Exact);
        (cell.paper, cell.ours) = (paper, ours);
        assert_eq!(cell.verdict(3), None);
    }
    assert_eq!(verdict(2.0, f64::NAN, Tolerance::Within(0.25)), Some(false));
}

/// Values that are equal in the paper may have any order; equal values of ours do not confirm an order.
#[test]
fn orders_hold_where_what_is_smaller_is_smaller() {
    let column = |name: &str| Column {
        name: name.to_string(),
        scheme: name.to_string(),
        published: "paper".to_string(),
    };
    let of = |paper: [f64; 3], ours: [f64; 3]| {
        let cells = paper.iter().zip(ours);
        let panel = Panel {
            columns: ["a", "b", "c"].map(column).to_vec(),
            rows: vec![Row {
                label: String::new(),
                metric: "m".to_string(),
                unit: String::new(),
                decimals: 1,
                x: None,
            }],
            cells: vec![
                cells
                    .map(|(&paper, ours)| cell(paper, ours, Tolerance::Shown))
                    .collect(),
            ],
            ordered: true,
            ..Panel::default()
        };
        panel.orderings().remove(0)
    };
    let tie = of([1.0, 1.0, 2.0], [1.5, 1.0, 2.0]);
    assert_eq!((tie.paper.as_str(), tie.ok), ("a = b < c", Some(true)));
    assert_eq!(of([1.0, 1.0, 2.0], [2.5, 1.0, 2.0]).ok, Some(false));
    assert_eq!(of([1.0, 2.0, 3.0], [1.0, 2.0, 2.0]).ok, Some(false));
}

/// Reads an experiment with these files.
fn read(folder: &Path, files: &[(&str, &str)]) -> Reproduction {
    let folder = folder.join("synthetic");
    fs::create_dir_all(&folder).unwrap();
    for (name, content) in files {
        fs::write(folder.join(name), content).unwrap();
    }
    read_folder(&folder).unwrap()
}

/// Returns an experiment with rows of two sizes: the order of hpcc and dctcp agrees with the paper's in the first row
/// only.
fn synthetic(folder: &Path) -> Reproduction {
    let text = r#"
title = "A table"
source = { where = "Nobody et al., table 1" }
about = "Nothing is run."
notes = ["A note on <known> differences, which is long enough to be broken into lines on a terminal."]
choices = [{ what = "a constant of 3", tried = "2 and 4", changed = "the value of 10 MB by a tenth" }]

[quotes.table]
where = "table 1"
text = "表1"
means = "Table 1."

[axis]
scheme = [{ name = "hpcc", scheme = "hpcc" }, { name = "dctcp", scheme = "dctcp" }, { name = "dcqcn", scheme = "dcqcn" }]
size = [{ name = "300 B", with = { size = 300 } }, { name = "10 MB", with = { size = 10_000_000 } }]

[[table]]
title = "Slowdown"
head = "size"
columns = "scheme"
ordered = true
published = "published.csv"
expect = [{ where = { scheme = "hpcc" }, within = "25%", quote = "table" }, { where = { scheme = "dctcp" }, exact = true }, { shown = true }]
rows = [{ each = "size", value = "at(file('{scheme}.csv'), size)", what = "p95 of slowdown", unit = "×", digits = 2 }]
"#;
    let files = [
        ("experiment.toml", text),
        (
            "published.csv",
            "size,hpcc,dctcp,dcqcn\n300 B,1.0,2.0,8.0\n10 MB,1.5,1.75,6.0\n",
        ),
        ("hpcc.csv", "size,ours\n300,1.1\n10000000,1.75\n"),
        ("dctcp.csv", "size,ours\n300,2.0\n10000000,1.25\n"),
        ("dcqcn.csv", "size,ours\n300,7.0\n10000000,6.0\n"),
    ];
    read(folder, &files)
}

#[test]
fn orders_are_told_row_by_row() {
    let tmp = tempfile::tempdir().unwrap();
    let panels = synthetic(tmp.path()).panels(&Done::default());
    let [first, second] = &panels[0].orderings()[..] else {
        panic!("two rows")
    };
    assert_eq!(
        (first.paper.as_str(), first.ok),
        ("hpcc < dctcp < dcqcn", Some(true))
    );
    assert_eq!(second.ours.as_deref(), Some("dctcp < hpcc < dcqcn"));
    assert_eq!(second.ok, Some(false));
}

#[test]
fn lists_for_programs() {
    let tmp = tempfile::tempdir().unwrap();
    let all = entries(&[&synthetic(tmp.path())], &Done::default());
    insta::assert_snapshot!("records", serde_json::to_string_pretty(&all).unwrap());
}

#[test]
fn texts_for_terminals() {
    let tmp = tempfile::tempdir().unwrap();
    let one = synthetic(tmp.path());
    let wide = text(&one, &Done::default(), 100);
    let narrow = text(&one, &Done::default(), 64);
    assert!(narrow.lines().all(|line| line.chars().count() <= 64), "{narrow}");
    insta::assert_snapshot!("text", format!("{wide}\n{narrow}"));
}

/// A list contains the cases that have a value, or requires all: if one is missing then, there is no mean.
#[test]
fn a_list_of_every_case_needs_all() {
    let text = r#"
title = "Means"
source = { where = "nobody" }
about = "Nothing is run."
axis.size = [{ name = "300 B", with = { size = 300 } }, { name = "10 MB", with = { size = 10_000_000 } }]

[[table]]
columns = [{ name = "ours", scheme = "hpcc" }]
rows = [
    { value = "mean(each(size, at(file('part.csv'), size)))", what = "those that are there" },
    { value = "mean(every(size, at(file('part.csv'), size)))", what = "all, of a part" },
    { value = "mean(every(size, at(file('whole.csv'), size)))", what = "all" },
]
"#;
    let files = [
        ("experiment.toml", text),
        ("part.csv", "size,ours\n300,1\n"),
        ("whole.csv", "size,ours\n300,1\n10000000,3\n"),
    ];
    let tmp = tempfile::tempdir().unwrap();
    let panels = read(tmp.path(), &files).panels(&Done::default());
    let ours = panels[0].cells.iter().map(|cells| cells[0].ours);
    assert_eq!(ours.collect::<Vec<_>>(), [Some(1.0), None, Some(2.0)]);
}

/// Returns the page about an experiment.
fn page(one: &Reproduction, folder: &Path) -> String {
    let folder = folder.join("results");
    write(&folder, &[one], &Done::default(), &[], true).unwrap();
    fs::read_to_string(folder.join("index.html")).unwrap()
}

/// Every sample is on the page, in a track: nothing is left out in advance.
#[test]
fn long_curves_are_tracks() {
    let tmp = tempfile::tempdir().unwrap();
    let text = r#"
title = "A curve of more points than a screen has"
source = { where = "nobody" }
about = "Nothing is run."

[[chart]]
title = "RTT"
x = ["time", "ms"]
y = ["RTT", "µs"]
curves = [{ name = "node 1", scheme = "dctcp", value = "file('long.csv')" }]
"#;
    let points = (0..5_000).map(|k| format!("{},{}\n", f64::from(k) * 0.005, k % 97));
    let curve = "ms,us\n".to_string() + &points.collect::<String>();
    let one = read(tmp.path(), &[("experiment.toml", text), ("long.csv", &curve)]);
    let page = page(&one, tmp.path());
    for part in ["\"kind\":\"track\"", "\"width_ps\":5000000,", "\"begin\":0.0"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn a_page_stands_alone() {
    let tmp = tempfile::tempdir().unwrap();
    let page = page(&synthetic(tmp.path()), tmp.path());
    for attribute in ["src=", "href=\"http", "@import", "url("] {
        assert!(!page.contains(attribute), "{attribute}");
    }
    assert!(page.contains("&lt;known&gt;") && !page.contains("<known>"));
    // Orderings are not published values, so they are counted separately.
    for count in [
        "as published: <b class=\"bad\">3 of 4</b>",
        "properties: <b class=\"bad\">1 of 2</b>",
    ] {
        assert!(page.contains(count), "{count}: {page}");
    }
    assert!(page.contains("<td>a constant of 3</td><td>2 and 4</td><td>the value of 10 MB by a tenth</td>"));
    assert!(page.contains("class=\"differs\" title=\"differs\">-28.6% ✗"));
}

#[test]
fn counts() {
    assert_eq!(Count::of([Some(true), None, Some(true)]).text(), "all 2");
    assert_eq!(Count::of([Some(true), Some(false)]).text(), "1 of 2");
    assert_eq!(Count::of([None]).text(), "none judged");
}

//! Figures agree with the data in the folders.

use std::fs;
use std::path::Path;

use crate::common::{SMALL, folder_with, said, stdout};
use paceline_lab::files::{QUEUE, RunData, Series};

/// Reads a table without its header: the curve's name, and numbers.
fn rows(file: &Path) -> Vec<(String, Vec<f64>)> {
    let text = fs::read_to_string(file).unwrap();
    let row = |line: &str| {
        let mut cells = line.split(',');
        let name = cells.next().unwrap().to_string();
        (name, cells.filter_map(|cell| cell.parse().ok()).collect())
    };
    text.lines().skip(1).map(row).collect()
}

/// Reads a column of a run's `flows.csv`.
fn flows(run: &Path, column: &str) -> Vec<f64> {
    let text = fs::read_to_string(run.join("flows.csv")).unwrap();
    let place = text
        .lines()
        .next()
        .unwrap()
        .split(',')
        .position(|name| name == column);
    let cell = |line: &str| line.split(',').nth(place.unwrap()).unwrap().parse::<f64>();
    text.lines().skip(1).map(|line| cell(line).unwrap()).collect()
}

/// Compares two schemes with four flows of two sizes.
fn compared() -> tempfile::TempDir {
    let folder = folder_with(
        "small.toml",
        SMALL.replace("hosts = 3", "hosts = 5").replace(
            r#"fan-in = 2, receiver = 3, size = "100KB""#,
            r#"fan-in = 4, receiver = 5, sizes = ["50KB", "50KB", "200KB", "200KB"]"#,
        ),
    );
    stdout(
        folder.path(),
        &[
            "compare",
            "small.toml",
            "--schemes",
            "hpcc,dctcp",
            "--out",
            "two",
            "-q",
        ],
    );
    folder
}

#[test]
fn distributions_are_those_of_the_flows() {
    let folder = compared();
    let path = folder.path();
    for (what, column, unit) in [("fct-cdf", "fct_ps", 1e6), ("slowdown-cdf", "slowdown", 1.0)] {
        stdout(path, &["plot", "two", "--what", what, "-o", "t.csv", "--force"]);
        let rows = rows(&path.join("t.csv"));
        for scheme in ["hpcc", "dctcp"] {
            let mut values = flows(&path.join("two").join(scheme), column);
            values.sort_by(f64::total_cmp);
            let expected: Vec<Vec<f64>> = (1..)
                .zip(&values)
                .map(|(rank, value)| vec![value / unit, f64::from(rank) / values.len() as f64 * 100.0])
                .collect();
            let drawn: Vec<Vec<f64>> = rows
                .iter()
                .filter(|(name, _)| name == scheme)
                .map(|(_, row)| row.clone())
                .collect();
            assert_eq!(drawn, expected, "{what} of {scheme}");
        }
    }
}

#[test]
fn slowdowns_by_size_are_percentiles_of_the_flows() {
    let folder = compared();
    let path = folder.path();
    stdout(
        path,
        &["plot", "two/hpcc", "--what", "slowdown", "-o", "t.csv", "--force"],
    );
    let run = path.join("two/hpcc");
    let (sizes, slowdowns) = (flows(&run, "size_bytes"), flows(&run, "slowdown"));
    let rows = rows(&path.join("t.csv"));
    assert_eq!(rows.len(), 6);
    for size in [50_000.0, 200_000.0] {
        let pairs = sizes.iter().zip(&slowdowns).filter(|(of, _)| **of == size);
        let mut two: Vec<f64> = pairs.map(|(_, slowdown)| *slowdown).collect();
        two.sort_by(f64::total_cmp);
        for (name, p) in [
            ("median", 0.5),
            ("95th percentile", 0.95),
            ("99th percentile", 0.99),
        ] {
            let expected = two[0] + (two[1] - two[0]) * p;
            let drawn = rows
                .iter()
                .find(|(of, row)| of == name && row[0] == size)
                .unwrap();
            assert!(
                (drawn.1[1] - expected).abs() < 1e-9,
                "{name} {size}: {drawn:?} {expected}"
            );
        }
    }
}

#[test]
fn queues_are_those_that_were_recorded_and_pictures_have_their_points() {
    let folder = compared();
    let path = folder.path();
    for file in ["q.csv", "q.svg", "q.pdf"] {
        stdout(path, &["plot", "two/hpcc", "--what", "queue", "-o", file]);
    }
    let rows = rows(&path.join("q.csv"));
    let data = RunData::read(&path.join("two/hpcc")).unwrap();
    let filled = |series: &&Series| series.metric == QUEUE && series.points.iter().any(|point| point.1 > 0.0);
    let queues: Vec<&Series> = data.series.iter().filter(filled).collect();
    assert_eq!(queues.len(), 1, "one port is filled");
    // There is one row per change, within a microsecond of its sample.
    let start = data.flows.rows().map(|flow| flow.start_ps).min().unwrap() as f64 / 1e6;
    let mut changes = queues[0].points.clone();
    changes.dedup_by_key(|point| point.1);
    assert_eq!(rows.len(), changes.len());
    for (&(at, bytes), (_, row)) in changes.iter().zip(&rows) {
        assert!((row[1] * 1e3 - bytes).abs() < 1e-6, "{at}: {row:?}, not {bytes}");
        assert!((row[0] - (at as f64 / 1e6 - start)).abs() <= 1.0, "{at}: {row:?}");
    }
    // The longest path of both pictures has two corners per change except the first, and the end.
    let corners = 2 * rows.len();
    let svg = fs::read_to_string(path.join("q.svg")).unwrap();
    let most = svg
        .lines()
        .filter(|line| line.starts_with("<path"))
        .map(|line| line.matches('L').count() + line.matches('M').count());
    assert_eq!(most.max(), Some(corners));
    let pdf = fs::read(path.join("q.pdf")).unwrap();
    let text = String::from_utf8_lossy(&pdf);
    let paths = text
        .split("S\n")
        .map(|part| part.matches(" l\n").count() + part.matches(" m\n").count());
    assert_eq!(paths.max(), Some(corners));
    // Objects start at the offsets in the table.
    let head = b"xref\n0 8\n";
    let table = pdf.windows(head.len()).rposition(|part| part == head).unwrap() + head.len();
    let table = String::from_utf8_lossy(&pdf[table..]).into_owned();
    for (number, line) in table.lines().skip(1).take(7).enumerate() {
        let place: usize = line[..10].parse().unwrap();
        assert!(pdf[place..].starts_with(format!("{} 0 obj", number + 1).as_bytes()));
    }
}

#[test]
fn a_sweeps_figure_has_the_means_of_its_rows() {
    let folder = folder_with("small.toml", SMALL);
    let path = folder.path();
    let over = [
        "--over",
        "cc.scheme=hpcc,dctcp",
        "--over",
        "topology.star.rate=50Gbps,100Gbps",
    ];
    let jitter = [
        "--set",
        "workload.0.start-jitter=10us",
        "--repeats",
        "3",
        "--out",
        "s",
        "-q",
    ];
    stdout(path, &[&["sweep", "small.toml"], &over[..], &jitter[..]].concat());
    stdout(path, &["plot", "s", "--what", "fct_slowdown.mean", "-o", "s.csv"]);
    let drawn = rows(&path.join("s.csv"));
    let results = fs::read_to_string(path.join("s/results.csv")).unwrap();
    let head: Vec<&str> = results.lines().next().unwrap().split(',').collect();
    let column = |name: &str| head.iter().position(|known| *known == name).unwrap();
    let places = ["cc.scheme", "topology.star.rate", "fct_slowdown.mean"].map(column);
    for (scheme, row) in &drawn {
        let rate = format!("{}Gbps", row[0]);
        let of = |line: &&str| {
            let cells: Vec<&str> = line.split(',').collect();
            cells[places[0]] == scheme && cells[places[1]] == rate
        };
        let values: Vec<f64> = (results.lines().filter(of))
            .map(|line| line.split(',').nth(places[2]).unwrap().parse().unwrap())
            .collect();
        assert_eq!(values.len(), 3);
        let mean = values.iter().sum::<f64>() / 3.0;
        assert!((row[1] - mean).abs() < 1e-12, "{row:?} {mean}");
        assert!(row[2] < mean && mean < row[3], "{row:?}");
        // points.csv has the same row, with deviation and count.
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let sd = (squares / 2.0).sqrt();
        let points = fs::read_to_string(path.join("s/points.csv")).unwrap();
        let known = format!("{scheme},{rate},fct_slowdown.mean,3,");
        let line = points.lines().find(|line| line.starts_with(&known)).unwrap();
        let cells: Vec<f64> = line[known.len()..]
            .split(',')
            .take(4)
            .map(|cell| cell.parse().unwrap())
            .collect();
        assert!((cells[1] - sd).abs() < 1e-12 && cells[2..] == row[2..], "{line}");
    }
    assert_eq!(drawn.len(), 4);
    assert!(path.join("s/points.parquet").is_file());
}

#[test]
fn answers_are_drawn() {
    let folder = compared();
    let path = folder.path();
    let sql = "SELECT part, sum(time_ps) / 1e6 AS us FROM flow_time GROUP BY part ORDER BY part";
    stdout(path, &["plot", "two", "--sql", sql, "-o", "parts.csv"]);
    let drawn = fs::read_to_string(path.join("parts.csv")).unwrap();
    let asked = ["two/hpcc", "two/dctcp"].map(|run| stdout(path, &["query", run, sql, "--format", "csv"]));
    let names = ["hpcc", "dctcp"];
    let lines = names
        .iter()
        .zip(&asked)
        .flat_map(|(name, csv)| csv.lines().skip(1).map(move |line| format!("{name},{line},,")));
    let mut expected: Vec<String> = lines.collect();
    let mut drawn: Vec<&str> = drawn.lines().collect();
    assert_eq!(drawn.remove(0), "curve,part,us,low,high");
    drawn.sort_unstable();
    expected.sort_unstable();
    assert_eq!(drawn, expected);
    // One curve per label, over numbers.
    let sql = "SELECT size_bytes, max(slowdown), label FROM flows GROUP BY label, size_bytes";
    stdout(path, &["plot", "two/hpcc", "--sql", sql, "-o", "sizes.csv"]);
    let sizes = rows(&path.join("sizes.csv"));
    assert_eq!(
        sizes.iter().map(|(_, row)| row[0]).collect::<Vec<_>>(),
        [50_000.0, 200_000.0]
    );
    let got = |sql: &str| said(path, &["plot", "two/hpcc", "--sql", sql, "-o", "a.svg"]);
    assert!(got("SELECT 1").contains("expected two or three columns"));
    assert!(got("SELECT 1, label FROM flows").contains("column `label`: expected a number, found a text"));
    assert!(got("SELECT flow, 1 FROM flows").contains("no such column: flow"));
    assert!(got("SELECT flow_id, 1 FROM flows LIMIT 0").contains("no rows"));
}

#[test]
fn what_cannot_be_drawn_is_said() {
    let folder = compared();
    let path = folder.path();
    let got = |args: &[&str]| {
        let said = said(path, &[&["plot"], args].concat());
        assert!(said.contains("exit status: 2"), "{said}");
        said
    };
    assert!(got(&["two", "--what", "queues", "-o", "a.svg"]).contains("did you mean `queue`?"));
    assert!(got(&["two", "--what", "queue", "-o", "a.eps"]).contains(".pdf, .svg, .png, .pgf or .csv"));
    assert!(got(&["two", "--what", "pauses", "-o", "a.svg"]).contains("there was no pause"));
    assert!(got(&["two/hpcc", "--what", "rtt", "-o", "a.svg"]).contains("record.flows=1us"));
    assert!(got(&["nowhere", "--what", "queue", "-o", "a.svg"]).contains("nowhere"));
    assert!(!path.join("a.svg").exists());
}

#[test]
fn every_format_has_its_font() {
    let folder = compared();
    let path = folder.path();
    for file in ["f.pdf", "f.svg", "f.png", "f.pgf"] {
        stdout(path, &["plot", "two", "--what", "fct-cdf", "-o", file]);
    }
    let pdf = fs::read(path.join("f.pdf")).unwrap();
    let pdf = String::from_utf8_lossy(&pdf);
    // The font is embedded as TrueType, which is Type 42.
    for part in ["/Subtype /TrueType", "/FontFile2 7 0 R", "/Length1 "] {
        assert!(pdf.contains(part), "{part}");
    }
    assert!(!pdf.contains("/Type1"));
    let svg = fs::read_to_string(path.join("f.svg")).unwrap();
    assert!(svg.contains("@font-face") && svg.contains("clip-path"));
    let png = fs::read(path.join("f.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG"));
    // 85 mm at 300 pixels per inch.
    let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    assert_eq!([side(16), side(20)], [1004, 622]);
    let pgf = fs::read_to_string(path.join("f.pgf")).unwrap();
    assert!(
        pgf.contains("{pgfpicture}") && pgf.contains("flows (\\%)"),
        "{pgf}"
    );
    for scope in ["pgfscope", "pgfpicture"] {
        let count = |what: &str| pgf.matches(&format!("\\{what}{{{scope}}}")).count();
        assert_eq!(count("begin"), count("end"));
    }
}

#[test]
fn options_change_labels_axes_and_names() {
    let folder = compared();
    let path = folder.path();
    let plot = |args: &[&str]| {
        stdout(
            path,
            &[
                &["plot", "two", "--what", "slowdown-cdf", "-o", "o.svg", "--force"],
                args,
            ]
            .concat(),
        );
        fs::read_to_string(path.join("o.svg")).unwrap()
    };
    let plain = plot(&[]);
    assert!(
        plain.contains(">FCT slowdown<") && plain.contains(">flows (%)<"),
        "{plain}"
    );
    let svg = plot(&[
        "--xlabel",
        "slowdown of a flow",
        "--ylabel",
        "share",
        "--title",
        "Incast",
        "--names",
        "one,two",
        "--legend",
        "right",
        "--xlim",
        "1:3",
        "--palette",
        "grey",
        "--style",
        "page",
        "--log",
        "off",
    ]);
    for text in ["slowdown of a flow", "share", "Incast", "one", "two", "1.4"] {
        assert!(svg.contains(&format!(">{text}<")), "{text}: {svg}");
    }
    assert!(
        svg.contains("width=\"504.57pt\"") && svg.contains("#5a5a5a"),
        "{svg}"
    );
    assert!(!plot(&["--legend", "off"]).contains(">hpcc<"));
}

#[test]
fn seeds_are_pooled_with_their_interval() {
    let folder = folder_with("small.toml", SMALL);
    let path = folder.path();
    let compare = [
        "compare",
        "small.toml",
        "--schemes",
        "hpcc,dctcp",
        "--repeats",
        "3",
        "--set",
        "workload.0.start-jitter=10us",
        "--out",
        "three",
        "-q",
    ];
    stdout(path, &compare);
    let plot = |how: &str| {
        stdout(
            path,
            &[
                "plot", "three", "--what", "fct-cdf", "-o", "t.csv", "--force", "--seeds", how,
            ],
        );
        rows(&path.join("t.csv"))
    };
    let apart = plot("apart");
    assert_eq!(apart.len(), 12, "two flows of three seeds of two schemes");
    let pooled = plot("pooled");
    let of = |rows: &[(String, Vec<f64>)], scheme: &str| -> Vec<f64> {
        let of = rows.iter().filter(|(name, _)| name.starts_with(scheme));
        let mut all: Vec<f64> = of.map(|(_, row)| row[0]).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    for scheme in ["hpcc", "dctcp"] {
        assert_eq!(of(&pooled, scheme), of(&apart, scheme));
    }
    for (name, row) in &pooled {
        assert!(name == "hpcc" || name == "dctcp");
        // There is no interval if all runs have the same share.
        let is_whole = row[1] == 100.0 && row.len() == 2;
        assert!(
            is_whole || row.len() == 4 && row[2] <= row[1] && row[1] <= row[3],
            "{row:?}"
        );
    }
}

#[test]
fn wrong_looks_are_said() {
    let folder = compared();
    let path = folder.path();
    for (args, words) in [
        (&["--xlim", "3:1"][..], "the first end must be below the second"),
        (&["--xlim", "3"], "expected FROM:TO"),
        (&["--ylim", "a:b"], "expected FROM:TO"),
        (
            &["--log", "x", "--xlim", "0:5"],
            "a logarithmic axis has no place for 0",
        ),
        (&["--names", "one"], "1 names for 2: hpcc, dctcp"),
        (&["--palette", "rainbow"], "colour, ordered, grey"),
        (&["--style", "poster"], "column, page, slide"),
        (&["--dpi", "5"], "30..=1200"),
    ] {
        let plot = [
            &["plot", "two", "--what", "slowdown-cdf", "-o", "w.svg", "--force"],
            args,
        ]
        .concat();
        let said = said(path, &plot);
        assert!(said.contains("exit status: 2") && said.contains(words), "{said}");
    }
    assert!(!path.join("w.svg").exists());
}

//! Repeats, intervals, and slowdown by flow size, on the command line.

use crate::common;

use std::fs;
use std::path::Path;

use crate::common::{assert_same, folder_with, json, run, said, stdout};
use insta::assert_snapshot;
use serde_json::Value;

/// Random traffic, so that seeds make a difference.
const RANDOM: &str = r#"name = "random"
duration = "20ms"
[topology.star]
hosts = 4
[[workload]]
label = "background"
poisson = { sizes = "fb-hadoop", load = 0.4, to = "1ms" }
[cc]
scheme = "hpcc"
[record]
rates = "10us"
"#;

fn random() -> tempfile::TempDir {
    folder_with("my.toml", RANDOM)
}

#[test]
fn repeats() {
    let folder = random();
    let path = folder.path();
    let compare = [
        "compare",
        "my.toml",
        "--schemes",
        "hpcc,dctcp",
        "--repeats",
        "3",
        "--seed",
        "5",
    ];
    assert_snapshot!(said(
        path,
        &[&compare[..], &["--out", "a", "--jobs", "1"]].concat()
    ));
    stdout(path, &[&compare[..], &["--out", "b", "--jobs", "3"]].concat());
    assert_same(&path.join("a"), &path.join("b"));
    // A repeat equals the single run with its scheme and seed.
    stdout(
        path,
        &[
            "run", "my.toml", "--scheme", "dctcp", "--seed", "6", "--out", "alone",
        ],
    );
    assert_same(&path.join("a/dctcp-6"), &path.join("alone"));

    let all = json(&path.join("a/comparison.json"));
    assert_eq!(
        (all["repeats"].as_u64(), all["seeds"].to_string()),
        (Some(3), "[5,6,7]".into())
    );
    let p99 = |folder: &str| {
        json(&path.join("a").join(folder).join("summary.json"))["fct_slowdown"]["p99"].as_f64()
    };
    let values: Vec<f64> = ["hpcc-5", "hpcc-6", "hpcc-7"]
        .iter()
        .map(|f| p99(f).unwrap())
        .collect();
    let interval = &all["intervals"][0]["metrics"]["fct_slowdown.p99"];
    let mean = interval["mean"].as_f64().unwrap();
    assert!((mean - values.iter().sum::<f64>() / 3.0).abs() < 1e-9);
    let p = &all["paired"][0];
    assert_eq!(
        (p["scheme"].as_str(), p["reference"].as_str()),
        (Some("dctcp"), Some("hpcc"))
    );

    page_of_repeats(&path.join("a"), &["hpcc", "dctcp"], &[5, 6, 7]);

    // The pages are rendered again from the same runs.
    let page = |name: &str| fs::read(path.join("a").join(name)).unwrap();
    let before = ["report.html", "seed-5.html", "seed-7.html"].map(page);
    stdout(path, &["report", "a", "--out", "a/again.html"]);
    assert!(["again.html", "seed-5.html", "seed-7.html"].map(page) == before);
}

/// Returns the data embedded in a page under an id.
fn embedded(page: &str, id: &str) -> Value {
    let open = format!("<script type=\"application/json\" id=\"{id}\">");
    let from = page.find(&open).unwrap_or_else(|| panic!("no {id}")) + open.len();
    let text = &page[from..from + page[from..].find("</script>").unwrap()];
    serde_json::from_str(text).unwrap()
}

/// Returns mean and half width of the interval of three values: t(2) at 95 % is 4.302653.
fn of_three(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / 3.0;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, 4.302_653 * (squares / 2.0 / 3.0).sqrt())
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-4 * (a.abs() + b.abs()) + 1e-9
}

/// Recomputes every number on the page of three seeds from the runs' `summary.json` and `flows.csv`.
fn page_of_repeats(folder: &Path, schemes: &[&str], seeds: &[u64; 3]) {
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    let data = embedded(&page, "repeats-data");
    let value = |scheme: &str, seed: u64, key: &str| {
        let summary = json(&folder.join(format!("{scheme}-{seed}")).join("summary.json"));
        let place = key.split('.').try_fold(&summary, |at, part| at.get(part));
        place.and_then(Value::as_f64).unwrap_or_else(|| panic!("{key}"))
    };
    let of = |scheme: &str, key: &str| seeds.map(|seed| value(scheme, seed, key));
    let mut checked = 0;
    for one in data["intervals"].as_array().unwrap() {
        let scheme = one["scheme"].as_str().unwrap();
        for (key, found) in one["metrics"].as_object().unwrap() {
            let (mean, half) = of_three(&of(scheme, key));
            checked += 1;
            if found["lo"].is_null() {
                // Equal values have no interval.
                assert!(
                    close(half, 0.0) && found["hi"].is_null() && close(found["mean"].as_f64().unwrap(), mean),
                    "{scheme} {key}"
                );
                continue;
            }
            let [m, lo, hi] = ["mean", "lo", "hi"].map(|name| found[name].as_f64().unwrap());
            assert!(
                close(m, mean) && close(hi - m, half) && close(m - lo, half),
                "{scheme} {key}"
            );
            assert_eq!(found["n"], 3);
        }
    }
    for other in data["paired"].as_array().unwrap() {
        let scheme = other["scheme"].as_str().unwrap();
        for (key, found) in other["metrics"].as_object().unwrap() {
            let (a, b) = (of(schemes[0], key), of(scheme, key));
            let differences = [0, 1, 2].map(|i| b[i] - a[i]);
            let (mean, half) = of_three(&differences);
            if found["difference"]["lo"].is_null() {
                assert!(
                    found["constant"] == true && found["clear"] == false && close(half, 0.0),
                    "{key}"
                );
                continue;
            }
            let [m, lo, hi] = ["mean", "lo", "hi"].map(|name| found["difference"][name].as_f64().unwrap());
            assert!(
                close(m, mean) && close(hi - m, half) && close(m - lo, half),
                "{scheme} {key}"
            );
            let constant = differences.iter().all(|one| *one == differences[0]);
            assert_eq!(found["constant"], constant, "{key}");
            assert_eq!(found["clear"], !constant && mean.abs() > half, "{key}");
            checked += 1;
        }
    }
    assert!(checked > 40, "{checked} numbers");

    let charts = embedded(&page, "chart-data");
    slowdowns_over_seeds(folder, &charts, schemes, seeds);
    // Charts over time name their seed; the other seeds have separate pages.
    for chart in charts.as_array().unwrap() {
        let over_time = chart["place"] == "charts-over-time";
        assert_eq!(
            chart["title"]
                .as_str()
                .unwrap()
                .ends_with(&format!(", seed {}", seeds[0])),
            over_time
        );
    }
    let page = page.replace("&#x2f;", "/");
    for seed in seeds {
        assert!(page.contains(&format!("href=\"./seed-{seed}.html\"")));
        for scheme in schemes {
            assert!(page.contains(&format!("href=\"./{scheme}-{seed}/report.html\"")));
        }
        let of_seed = fs::read_to_string(folder.join(format!("seed-{seed}.html"))).unwrap();
        assert!(of_seed.contains(&format!("These are the runs of seed {seed}, one of 3.")));
    }
}

/// Returns size and slowdown of a run's completed flows.
fn flows(folder: &Path) -> Vec<(u64, Option<f64>)> {
    let text = fs::read_to_string(folder.join("flows.csv")).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|known| *known == name).unwrap();
    let (size, slowdown) = (column("size_bytes"), column("slowdown"));
    let row = |row: &Vec<&str>| (row[size].parse().unwrap(), row[slowdown].parse().ok());
    rows[1..].iter().map(row).collect()
}

/// Checks the chart of medians by size: each point is the mean of the seeds' medians, and thin lines show its
/// interval.
fn slowdowns_over_seeds(folder: &Path, charts: &Value, schemes: &[&str], seeds: &[u64; 3]) {
    let titled = |chart: &&Value| chart["title"] == "Slowdown by flow size, median";
    let chart = charts.as_array().unwrap().iter().find(titled).unwrap();
    let lines = chart["lines"].as_array().unwrap();
    let numbers = |line: &Value, name: &str| -> Vec<f64> {
        line[name]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_f64().unwrap())
            .collect()
    };
    let mut bands = 0;
    for scheme in schemes {
        let runs = seeds.map(|seed| flows(&folder.join(format!("{scheme}-{seed}"))));
        let line = |name: &str| lines.iter().find(|line| line["name"] == name).unwrap();
        let (means, upper) = (line(scheme), line(&format!("{scheme}, upper end")));
        let (sizes, ends) = (numbers(means, "x"), numbers(upper, "x"));
        let mut above = 0;
        for (i, &edge) in sizes.iter().enumerate() {
            let mut medians = Vec::new();
            for run in &runs {
                let in_group = run
                    .iter()
                    .filter(|(size, _)| *size > above && *size <= edge as u64);
                let mut group: Vec<f64> = in_group.filter_map(|flow| flow.1).collect();
                group.sort_by(f64::total_cmp);
                let Some(last) = group.len().checked_sub(1) else {
                    continue;
                };
                let place = last as f64 / 2.0;
                let (low, high) = (group[place.floor() as usize], group[place.ceil() as usize]);
                medians.push(low + (high - low) * place.fract());
            }
            let mean = medians.iter().sum::<f64>() / medians.len() as f64;
            let drawn = numbers(means, "y")[i];
            assert!(
                (drawn - mean).abs() < 2e-3 * mean,
                "{scheme} up to {edge}: {drawn} for {mean}"
            );
            if medians.len() == 3 {
                let at = ends.iter().position(|&x| x == edge).expect("an interval");
                let (mean, half) = of_three(&medians);
                let drawn = numbers(upper, "y")[at];
                assert!(
                    (drawn - mean - half).abs() < 2e-3 * drawn,
                    "{scheme} up to {edge}"
                );
                bands += 1;
            }
            above = edge as u64;
        }
    }
    assert!(bands > 10, "{bands} intervals");
}

/// Without randomness there is one run per scheme, without intervals and stars, and a message says so.
#[test]
fn seeds_that_change_nothing() {
    let folder = folder_with("fixed.toml", common::SMALL);
    let path = folder.path();
    let compare = [
        "compare",
        "fixed.toml",
        "--schemes",
        "hpcc,none",
        "--repeats",
        "5",
        "--out",
        "a",
    ];
    let got = said(path, &compare);
    assert!(got.contains("The seed changes nothing in this scenario"), "{got}");
    assert!(!got.contains('*') && !got.contains('±'), "{got}");
    let all = json(&path.join("a/comparison.json"));
    assert_eq!(
        (&all["seed_matters"], &all["asked"], &all["repeats"]),
        (&false.into(), &5.into(), &1.into())
    );
    assert_eq!(all["runs"].as_array().unwrap().len(), 2);
    assert!(all["intervals"].as_array().unwrap().is_empty());
    let mut names: Vec<String> = fs::read_dir(path.join("a"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["comparison.json", "hpcc-1", "none-1", "report.html"]);
    let page = fs::read_to_string(path.join("a/report.html")).unwrap();
    assert!(page.contains("The seed changes nothing in this scenario"));
    stdout(path, &["report", "a", "--out", "a/again.html"]);
    assert!(fs::read_to_string(path.join("a/again.html")).unwrap() == page);
    // The seeds that were not run indeed give equal flows.
    for seed in ["2", "5"] {
        stdout(path, &["run", "fixed.toml", "--seed", seed, "--out", seed]);
        let flows = |run: &str| fs::read(path.join(run).join("flows.csv")).unwrap();
        assert!(flows(seed) == flows("a/hpcc-1"));
    }
}

/// Marks are random under DCQCN; nothing is under HPCC.
#[test]
fn seeds_that_matter_under_one_scheme() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let incast = common::SMALL
        .replace("100KB", "2MB")
        .replace("hosts = 3", "hosts = 9")
        .replace("fan-in = 2, receiver = 3", "fan-in = 8, receiver = 9");
    fs::write(path.join("my.toml"), incast).unwrap();
    let compare = [
        "compare",
        "my.toml",
        "--schemes",
        "hpcc,dcqcn",
        "--repeats",
        "3",
        "--out",
        "a",
    ];
    let got = said(path, &compare);
    assert!(got.contains("hpcc: the seed changes nothing"), "{got}");
    let all = json(&path.join("a/comparison.json"));
    let folders: Vec<&str> = all["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["folder"].as_str().unwrap())
        .collect();
    assert_eq!(folders, ["hpcc-1", "dcqcn-1", "dcqcn-2", "dcqcn-3"]);
    let digest = |i: usize| all["runs"][i]["summary"]["digest"].as_str().unwrap().to_string();
    assert!(digest(1) != digest(2) && digest(2) != digest(3));
    assert_eq!(all["intervals"][0]["seed_matters"], false);
}

#[test]
fn repeats_as_json() {
    let folder = random();
    let text = stdout(
        folder.path(),
        &[
            "compare",
            "my.toml",
            "--schemes",
            "hpcc,dctcp",
            "--repeats",
            "2",
            "--json",
            "--quiet",
        ],
    );
    let all: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(all["runs"].as_array().unwrap().len(), 4);
    // With one repeat, the output is a list of summaries.
    let text = stdout(
        folder.path(),
        &[
            "compare",
            "my.toml",
            "--schemes",
            "hpcc,dctcp",
            "--repeats",
            "1",
            "--json",
            "--quiet",
            "--force",
        ],
    );
    assert_eq!(
        serde_json::from_str::<Value>(&text)
            .unwrap()
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn slowdown_by_size() {
    let folder = random();
    let path = folder.path();
    let all = said(
        path,
        &[
            "compare",
            "my.toml",
            "--schemes",
            "hpcc,dctcp",
            "--buckets",
            "4",
            "--out",
            "a",
        ],
    );
    assert_snapshot!(all);
    assert_snapshot!(
        "by_sizes",
        stdout(path, &["report", "a/hpcc", "--buckets", "1KB,100KB"])
    );
    // The table in the folder equals the output of `fct-analysis`.
    let table = fs::read_to_string(path.join("a/fct_table.tsv")).unwrap();
    assert_eq!(table.lines().count(), 21);
    let shown = stdout(path, &["report", "a", "--buckets", "fct-analysis"]);
    let last: Vec<&str> = table.lines().last().unwrap().split('\t').collect();
    let row = shown.lines().last().unwrap();
    assert!(row.contains(&format!(" {} ", last[2])), "{row} / {last:?}");
    assert_eq!(shown.lines().count(), 6 + 20);
}

#[test]
fn wrong_buckets() {
    let folder = random();
    let texts = ["10KB,1KB", "0", "fct_analysis"].map(|text| {
        let args = ["run", "my.toml", "--buckets", text];
        assert_eq!(run(folder.path(), &args).status.code(), Some(2));
        said(folder.path(), &args)
    });
    let json = said(folder.path(), &["run", "my.toml", "--buckets", "3", "--json"]);
    assert_snapshot!([texts.join("\n"), json].join("\n"));
    assert!(!folder.path().join("results").exists());
}

#[test]
fn too_many_seeds() {
    let folder = random();
    let seed = i64::MAX.to_string();
    let args = [
        "compare",
        "my.toml",
        "--schemes",
        "hpcc",
        "--repeats",
        "2",
        "--seed",
        &seed,
    ];
    assert_snapshot!(said(folder.path(), &args));
}

/// Two hosts send 100 KB each to a third, whose link is the bottleneck and hardly ever idle.
#[test]
fn a_bottleneck_is_busy() {
    let folder = folder_with("my.toml", common::SMALL);
    let text = stdout(folder.path(), &["run", "my.toml", "--json", "--quiet"]);
    let summary: Value = serde_json::from_str(&text).unwrap();
    let utilisation = &summary["utilisation"];
    let busiest = &utilisation["busiest"];
    assert_eq!(busiest["port"], "port 0.3->3");
    // 200 packets of 1000 bytes with their headers (48 bytes, and 42 of telemetry), at 12.5 bytes per ns.
    let sent_us = 200.0 * 1090.0 / 12.5e3;
    let share = busiest["share"].as_f64().unwrap();
    let expected = sent_us / summary["makespan_us"].as_f64().unwrap();
    assert!((share - expected).abs() < 0.02, "{share}, expected {expected}");
    assert!(utilisation["mean"].as_f64().unwrap() < share);
    assert_eq!(summary["pause_share"]["mean"].as_f64(), Some(0.0));
    assert!(summary["pause_share"]["worst"].is_null());
}

//! Tables that are written in pieces.

use super::super::stream::write_in_pieces;
use super::*;
use crate::files::{sealed, write_file, write_file_later};

const TABLES: [&str; 5] = [
    "results.csv",
    "results.parquet",
    "points.csv",
    "points.parquet",
    "notes.json",
];

/// Checks that the bytes are those of tables from memory: with several seeds, failed and missing runs, axes and seeds without effect.
#[test]
fn pieces_are_the_tables_from_memory() {
    let over = [
        "cc.scheme=hpcc,dctcp,none",
        "cc.hpcc.eta=0.9,0.95",
        "workload.burst.incast.size=10KB,20KB",
    ];
    let lab = Lab::new(&over, 3);
    let (plan, folder) = (lab.study.plan(1).unwrap(), lab.path("out"));
    let breaking = Notes {
        breaks: Some("none"),
        ..Notes::default()
    };
    lab.job(&plan, &folder).run(&breaking).unwrap();
    fs::remove_file(folder.join(format!("rows/{}.json", plan.points[1].runs[2]))).unwrap();
    results(&folder);
    let content = || TABLES.map(|name| fs::read(folder.join(name)).unwrap());
    let whole = content();
    for name in TABLES {
        fs::remove_file(folder.join(name)).unwrap();
    }
    let overview = write_in_pieces(&folder, read_plan(&folder).unwrap()).unwrap();
    for ((ours, theirs), name) in content().iter().zip(&whole).zip(TABLES) {
        assert!(ours == theirs, "{name}");
    }
    let rows = SweepData::read(&folder).unwrap().rows.len();
    assert!(overview.failed > 0 && overview.missing > 0 && overview.completed > 0 && rows > 0);
    assert_eq!(overview.completed + overview.failed + overview.missing, 12 * 3);
    assert_eq!(overview.failures.len(), overview.failed);
    assert!(overview.failures[0].2.contains("bytes in are not bytes out"));
    assert!(
        overview.line().contains("runs completed, "),
        "{}",
        overview.line()
    );
}

/// Peak memory of this process in MB; `None` if the system does not say.
fn peak_mb() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()
        .map(|kb| kb / 1024)
}

/// Run alone, it prints the memory of a sweep's end: `ROWS=1000000 SEEDS=10 cargo test --release -p paceline-lab --lib
/// a_million_rows -- --ignored --nocapture`.
#[test]
#[ignore = "prints memory, and with `ROWS` writes gigabytes"]
fn a_million_rows() {
    let number =
        |name: &str, otherwise: usize| std::env::var(name).map_or(otherwise, |text| text.parse().unwrap());
    let (rows, seeds) = (number("ROWS", 12_000), number("SEEDS", 10));
    let lab = Lab::new(&["cc.scheme=hpcc,dctcp"], 2);
    lab.run("one");
    let one = SweepData::read(&lab.path("one")).unwrap();
    let model = one.rows.values().next().unwrap().clone();
    let folder = lab.path("large");
    fs::create_dir_all(folder.join("rows")).unwrap();
    let id = |run: usize| format!("{run:020x}");
    {
        let points = rows / seeds;
        let axis = serde_json::json!({"key": "network.buffer", "values": (0..points).collect::<Vec<_>>()});
        let plan = Plan {
            axes: vec![serde_json::from_value(axis).unwrap()],
            seeds: (0..seeds as u64).collect(),
            points: (0..points)
                .map(|point| Point {
                    values: vec![point],
                    scheme: "hpcc".into(),
                    runs: (0..seeds).map(|repeat| id(point * seeds + repeat)).collect(),
                })
                .collect(),
            ..one.plan.clone()
        };
        write_file(
            &folder.join("sweep.json"),
            super::super::sealed_plan::write(&plan),
        )
        .unwrap();
    }
    for run in 0..rows {
        let mut row = model.clone();
        (row.id, row.seed) = (id(run), (run % seeds) as u64);
        let summary = row.summary.as_mut().unwrap();
        summary.digest = format!("{run:016x}");
        summary.fct_us.mean = Some(run as f64 / 7.0);
        write_file_later(&folder.join(format!("rows/{}.json", row.id)), sealed(&row)).unwrap();
    }
    let before = peak_mb();
    match std::env::var("IN_MEMORY") {
        Ok(_) => drop(results(&folder)),
        Err(_) => drop(write_tables(&folder).unwrap()),
    }
    let after = peak_mb();
    let sizes = TABLES.map(|name| fs::metadata(folder.join(name)).unwrap().len() >> 20);
    #[expect(clippy::disallowed_macros, reason = "it is run for this line")]
    {
        println!(
            "{rows} rows, {seeds} seeds: {before:?} MB before, {after:?} MB after; {TABLES:?}: {sizes:?} MB"
        );
    }
}

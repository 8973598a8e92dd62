use super::*;
use paceline_lab::files::{FlowTime, RunData, Writing};
use paceline_lab::run::{Control, Finished, Resources, execute_on};
use paceline_lab::sample;
use paceline_scenario::{Overrides, Resolved, load_text};

fn run() -> Run {
    let (input, outcome) = sample::incast();
    let finished = sample::finished(&input, outcome);
    Run::new(Arc::new(Ended { input, finished }))
}

fn number(sql: &str) -> f64 {
    let answer = run().ask(sql).unwrap();
    answer.rows[0][0].number().unwrap_or(f64::NAN)
}

/// Runs a 3-to-1 incast with all recorders.
fn recorded() -> (Resolved, Finished) {
    const SCENARIO: &str = "duration = '200us'\n[topology.star]\nhosts = 4\nrate = '100Gbps'\n[[workload]]\n\
        incast = { receiver = 1, fan-in = 3, size = '200KB' }\n[network]\nbuffer = '200KB'\nllr.links = ['all']\n\
        [cc]\nscheme = 'dcqcn'\n[record]\ntrace = [0]\ntrace-ports = [[0, 1]]\nrtt-samples = true\nrates = '1us'\n\
        flows = '1us'\nports = '1us'\nqueue = '1us'\nlatency = true\n";
    let input = load_text("recorded.toml", SCENARIO, &Overrides::default()).unwrap();
    let finished = execute_on(&input, Resources::ONE_THREAD, &mut |_| Control::Continue).unwrap();
    (input, finished)
}

#[test]
fn tables_have_the_columns_that_they_say() {
    let (input, finished) = recorded();
    let recorded = Run::new(Arc::new(Ended { input, finished }));
    let sample = run();
    for table in TABLES.iter() {
        let sql = format!("SELECT * FROM {} LIMIT 3", table.name);
        let mut answer = recorded.ask(&sql).unwrap();
        if answer.rows.is_empty() {
            answer = sample.ask(&sql).unwrap();
        }
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        assert_eq!(answer.columns, columns, "{}", table.name);
        for row in &answer.rows {
            for (cell, column) in row.iter().zip(table.columns) {
                let fits = match cell {
                    Cell::Null => true,
                    Cell::Int(_) => column.kind.name() == "whole number",
                    Cell::Real(_) => column.kind.name() == "number",
                    Cell::Text(_) => column.kind.name() == "text",
                };
                assert!(fits, "{}.{}: {cell:?}", table.name, column.name);
            }
        }
    }
}

/// A run's folder gives the same answers as the run in memory, for tables that it has.
#[test]
fn a_folder_answers_the_same() {
    let (input, finished) = recorded();
    let tmp = tempfile::tempdir().unwrap();
    let folder = tmp.path().join("run");
    sample::write(&folder, &input, &finished, Writing::default());
    let read = Run::read(&folder).unwrap();
    let ended = Run::new(Arc::new(Ended { input, finished }));
    let mut missing = Vec::new();
    for table in TABLES.iter() {
        // Folders lack arrival times of a flow's bytes, and have PFC frames at whole ns.
        let columns = match table.name {
            "flows" => "flow_id, label, size_bytes, start_ps, fct_ps, slowdown, status, delivered_bytes",
            "pfc" => "time_ps / 1000, node, port, pause",
            _ => "*",
        };
        let sql = format!("SELECT {columns} FROM {}", table.name);
        let expected = ended.ask(&sql).unwrap();
        match read.ask(&sql) {
            Ok(found) => assert_eq!(found, expected, "{}", table.name),
            Err(error) if error.is_of_experiments() => missing.push(table.name),
            Err(error) => panic!("{}: {error}", table.name),
        }
        let some = !expected.rows.is_empty();
        let rare = [
            "blame",
            "cbfc",
            "collectives",
            "critical_path",
            "deadlock",
            "drops",
            "isolated",
            "operations",
            "requests",
        ];
        assert_ne!(some, rare.contains(&table.name), "{}", table.name);
    }
    let said: Vec<&str> = TABLES
        .iter()
        .filter(|table| table.needs.contains("an experiment"))
        .map(|table| table.name)
        .collect();
    assert_eq!(missing, said);
}

/// A port's queue is the sum of its classes', transmissions do not overlap, and each round trip is a sample.
#[test]
fn tables_agree_with_each_other() {
    let (input, finished) = recorded();
    let run = Run::new(Arc::new(Ended { input, finished }));
    let one = |sql: &str| run.ask(sql).unwrap().rows[0][0].number().unwrap();
    let deepest = "SELECT max(queue_bytes) FROM port_queue WHERE peer = 1";
    assert_eq!(
        one(deepest),
        one("SELECT value FROM summary WHERE name = 'queue_bytes.max'")
    );
    let early = "SELECT count(*) FROM (SELECT start_ns, lag(start_ns + takes_ns) OVER (ORDER BY start_ns) AS free \
                 FROM port_sent WHERE peer = 1) WHERE start_ns < free";
    assert_eq!(one(early), 0.0);
    let busy = one("SELECT busy(start_ns, takes_ns, 20000, 40000) FROM port_sent WHERE peer = 1");
    let bins = "SELECT avg(utilisation) FROM port_bins WHERE node = 0 AND peer = 1 AND start_ps >= 20e6 AND start_ps < 40e6";
    assert!(
        busy > 0.5 && (busy - one(bins)).abs() < 1e-3,
        "{busy} {}",
        one(bins)
    );
    let payload = "SELECT sum(size_bytes) FROM flows";
    assert_eq!(one("SELECT sum(bytes) FROM acknowledged"), one(payload));
    assert_eq!(one("SELECT sum(delivered_bytes) FROM flows"), one(payload));
    assert_eq!(
        one("SELECT sum(count) FROM histograms WHERE name = 'rtt_per_round_trip'"),
        one("SELECT count(*) FROM rtt_samples")
    );
    assert_eq!(one("SELECT count(*) FROM links WHERE kind = 'switch'"), 4.0);
    let received = "SELECT count(*) FROM trace WHERE node = 0 AND event = 'receive' AND packet = 'data'";
    assert_eq!(one(received), one("SELECT data_received FROM counters"));
}

#[test]
fn answers_are_those_of_the_rows() {
    let (input, outcome) = sample::incast();
    let finished = sample::finished(&input, outcome);
    let data = RunData::new(&input, &finished);
    let sizes: u64 = data.flows.rows().map(|flow| flow.size_bytes).sum();
    assert_eq!(number("SELECT sum(size_bytes) FROM flows"), sizes as f64);
    assert_eq!(number("SELECT count(*) FROM flows"), data.flows.len() as f64);
    let mut slowdowns: Vec<f64> = data.flows.rows().filter_map(|flow| flow.slowdown).collect();
    slowdowns.sort_by(f64::total_cmp);
    let p99 = paceline_lab::stats::percentile(&slowdowns, 0.99).unwrap();
    assert_eq!(number("SELECT percentile(slowdown, 0.99) FROM flows"), p99);
    assert_eq!(
        number("SELECT value FROM summary WHERE name = 'fct_slowdown.p99'"),
        data.summary.fct_slowdown.p99.unwrap()
    );
    let points = data
        .series
        .iter()
        .map(|series| series.points.len())
        .sum::<usize>();
    assert_eq!(number("SELECT count(*) FROM series"), points as f64);
    let joined = "SELECT count(*) FROM flows JOIN flow_time USING (flow_id)";
    assert_eq!(number(joined), data.tables.rows::<FlowTime>().len() as f64);
}

#[test]
fn aggregates_by_hand() {
    let over = |of: &str| {
        number(&format!(
            "WITH v(x, t) AS (VALUES (4.0, 0), (1.0, 1), (3, 3), (NULL, 4)) SELECT {of} FROM v"
        ))
    };
    assert_eq!(over("median(x)"), 3.0);
    assert_eq!(over("percentile(x, 1)"), 4.0);
    assert_eq!(over("element(x, 50)"), 3.0);
    assert_eq!(over("mean(x)"), 8.0 / 3.0);
    assert_eq!(over("jain(x)"), 64.0 / (3.0 * 26.0));
    assert_eq!(over("element_at(x, 0.7)"), 4.0);
    assert_eq!(over("element_at(x, 1)"), 4.0);
    assert_eq!((over("first(x, t)"), over("last(x, t)")), (4.0, 3.0));
    assert_eq!((over("first(t, x)"), over("last(t, x)")), (1.0, 0.0));
    assert_eq!(
        (over("ordered_sum(x)"), over("ordered_mean(x)")),
        (8.0, 8.0 / 3.0)
    );
    // The values are 4 (once), 1 (twice) and 3 (four times), in this order.
    assert_eq!(over("counted_quantile(x, x, 0.1)"), 4.0);
    assert_eq!(over("counted_quantile(t, x, 0.6)"), 1.0);
    assert_eq!(over("counted_quantile(t, x, 1)"), 3.0);
    assert_eq!(over("time_percentile(x, t, 0, 3, 0.6)"), 1.0);
    assert_eq!(over("time_percentile(x, t, 0, 3, 0.7)"), 4.0);
    // Busy intervals: 0 to 4, 1 to 2, and 3 to 6.
    assert_eq!(over("busy(t, x, 0, 4)"), 6.0 / 4.0);
    // The value is 4 for one unit of time, 1 for two, and 3 for one.
    assert_eq!(over("time_average(x, t, 0, 4)"), 9.0 / 4.0);
    assert_eq!(over("time_average(x, t, 0, 4 ORDER BY x)"), 9.0 / 4.0);
    assert!(over("median(x) FILTER (WHERE x > 9)").is_nan());
}

#[test]
fn questions_only_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.db").display().to_string();
    for sql in [
        format!("ATTACH '{file}' AS other"),
        format!("VACUUM INTO '{file}'"),
        "CREATE TABLE t(x)".into(),
        "CREATE TEMP TABLE t AS SELECT 1".into(),
        "DELETE FROM flows".into(),
        "PRAGMA temp_store_directory = '/tmp'".into(),
        "SELECT load_extension('x')".into(),
        "BEGIN".into(),
    ] {
        let error = run().ask(&sql).unwrap_err().to_string();
        assert!(!error.is_empty(), "{sql}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{sql}");
    }
    let error = run().ask("DELETE FROM flows").unwrap_err().to_string();
    assert!(
        error.contains("only reads") || error.contains("may not be modified"),
        "{error}"
    );
}

#[test]
fn mistakes_are_told_with_what_there_is() {
    for (sql, expected) in [
        ("SELECT * FROM flow", "no such table: flow: did you mean `flows`"),
        (
            "SELECT slowdwn FROM flows",
            "no such column: slowdwn: did you mean `slowdown`",
        ),
        (
            "SELECT percntile(slowdown, 1) FROM flows",
            "did you mean `percentile`",
        ),
        ("SELECT 1; SELECT 2", "expected one statement"),
        ("SELEC 1", "syntax error"),
    ] {
        let error = run().ask(sql).unwrap_err().to_string();
        assert!(error.contains(expected), "{sql}: {error}");
    }
}

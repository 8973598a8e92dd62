use super::*;
use paceline_lab::files::FlowTime;
use paceline_lab::sample;

fn run() -> Run {
    let (input, outcome) = sample::incast();
    let finished = sample::finished(&input, outcome);
    Run::new(Arc::new(RunData::new(&input, &finished)))
}

fn number(sql: &str) -> f64 {
    let answer = run().ask(sql).unwrap();
    answer.rows[0][0].number().unwrap_or(f64::NAN)
}

#[test]
fn tables_have_the_columns_that_they_say() {
    for table in TABLES.iter() {
        let answer = run()
            .ask(&format!("SELECT * FROM {} LIMIT 3", table.name))
            .unwrap();
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
    // 4 for one, 1 for two, 3 for one.
    assert_eq!(over("time_average(x, t, 0, 4)"), 9.0 / 4.0);
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

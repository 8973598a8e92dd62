//! Tables of what runs are made of: labels, collectives, jobs.

use std::collections::BTreeMap;

use super::{Column, render};
use crate::metrics::done;
use crate::results::{CollectiveTime, FlowCount, FlowMarks, Group, Summary};
use crate::stats::{self, Distribution};
use crate::text::{bytes, duration_us, number};

/// A table with a title, for a terminal or a page. The first column is of names, the others are of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Detail {
    /// What it is about.
    pub title: &'static str,
    /// The columns' names.
    pub head: Vec<&'static str>,
    /// The rows' cells.
    pub rows: Vec<Vec<String>>,
}

/// The tables that there is something to put into, with a row for each label, collective and job in each of `runs`,
/// which have these names. What has not begun comes last.
pub fn details(runs: &[&Summary], names: &[String]) -> Vec<Detail> {
    let several = runs.len() > 1;
    let all = [labels(runs), collectives(runs), jobs(runs)];
    let mut tables = Vec::new();
    for (mut head, mut rows, title) in all {
        if rows.is_empty() {
            continue;
        }
        let mut order = BTreeMap::new();
        for (i, row) in rows.iter().enumerate() {
            order.entry(row.name.clone()).or_insert(i);
        }
        let keys: Vec<_> = rows
            .iter()
            .map(|row| (!row.begun, order[&row.name], row.run))
            .collect();
        let mut keyed: Vec<_> = keys.into_iter().zip(rows.drain(..)).collect();
        keyed.sort_by_key(|(key, _)| *key);
        if several {
            head.insert(1, "run");
        }
        let cells = |(_, row): (_, Row)| {
            let mut cells = vec![row.name];
            if several {
                cells.push(names[row.run].clone());
            }
            cells.extend(row.cells);
            cells
        };
        let rows = keyed.into_iter().map(cells).collect();
        tables.push(Detail { title, head, rows });
    }
    tables
}

/// The same as text, an empty line before each.
pub fn details_text(tables: &[Detail]) -> String {
    let table = |detail: &Detail| {
        let cells = |i: usize| detail.rows.iter().map(|row| row[i].clone()).collect();
        let column = |(i, name): (usize, &&str)| match i {
            0 => Column::left("", name, cells(i)),
            _ => Column::right("", name, cells(i)),
        };
        let columns: Vec<_> = detail.head.iter().enumerate().map(column).collect();
        format!("\n{}\n{}", detail.title, render(&columns))
    };
    tables.iter().map(table).collect()
}

/// A row without its run's name.
struct Row {
    name: String,
    /// Place of the run.
    run: usize,
    /// Whether any of it started.
    begun: bool,
    cells: Vec<String>,
}

type Rows = (Vec<&'static str>, Vec<Row>, &'static str);

fn labels(runs: &[&Summary]) -> Rows {
    let mut rows = Vec::new();
    let detects = runs.iter().any(|run| run.detection.is_some());
    for (run, summary) in runs.iter().enumerate() {
        let groups = summary.schemes.iter();
        let labels = groups.flat_map(|(scheme, group)| {
            let several = summary.schemes.len() > 1;
            group.labels.iter().map(move |(label, part)| {
                let name = if several {
                    format!("{label} ({scheme})")
                } else {
                    label.clone()
                };
                (name, part)
            })
        });
        rows.extend(labels.map(|(name, part)| label_row(name, run, part, detects)));
    }
    if !rows.iter().any(|row| row.name != rows[0].name) {
        rows.clear();
    }
    let mut head = vec![
        "label",
        "flows done",
        "not started",
        "payload",
        "slowdown p50",
        "slowdown p99",
        "FCT p99",
    ];
    if detects {
        head.extend(["CE packets", "CE flows", "UE packets", "UE flows"]);
    }
    (head, rows, "by label")
}

/// `detects` where the marks of its packets are told, too.
fn label_row(name: String, run: usize, group: &Group, detects: bool) -> Row {
    let FlowMarks {
        ce_packets,
        ce_flows,
        ue_packets,
        ue_flows,
    } = group.marks;
    let marks = [ce_packets, ce_flows, ue_packets, ue_flows].map(|count| count.to_string());
    let mut row = Row {
        name,
        run,
        begun: group.not_started < group.flows.total,
        cells: vec![
            of(group.flows),
            group.not_started.to_string(),
            bytes(group.size_bytes),
            number(group.fct_slowdown.p50),
            number(group.fct_slowdown.p99),
            duration_us(group.fct_us.p99),
        ],
    };
    row.cells.extend(marks.into_iter().filter(|_| detects));
    row
}

fn collectives(runs: &[&Summary]) -> Rows {
    let mut rows = Vec::new();
    for (run, summary) in runs.iter().enumerate() {
        for iterations in summary.collectives.chunk_by(|a, b| a.label == b.label) {
            let with = |value: fn(&CollectiveTime) -> Option<f64>| -> Vec<f64> {
                iterations.iter().filter_map(value).collect()
            };
            let times = Distribution::of(with(|time| time.time_us));
            let ended = FlowCount {
                total: iterations.len() as u64,
                completed: iterations.iter().filter(|time| time.end_s.is_some()).count() as u64,
            };
            rows.push(Row {
                name: iterations[0].label.clone(),
                run,
                begun: iterations[0].start_s.is_some(),
                cells: vec![
                    of(ended),
                    duration_us(times.mean),
                    duration_us(times.p99),
                    number(stats::mean(&with(|time| time.busbw_gbps))),
                ],
            });
        }
    }
    let head = vec!["collective", "iterations done", "time mean", "p99", "bus Gbit/s"];
    (head, rows, "by collective")
}

fn jobs(runs: &[&Summary]) -> Rows {
    let mut rows = Vec::new();
    for (run, summary) in runs.iter().enumerate() {
        rows.extend(summary.jobs.iter().map(|job| Row {
            name: job.label.clone(),
            run,
            begun: summary.simulated_s > job.start_s,
            cells: vec![
                job.ranks.to_string(),
                of(job.iterations),
                duration_us(job.iteration_us.mean),
                duration_us(job.iteration_us.p99),
                (job.communication).map_or_else(|| number(None), |share| format!("{:.0}%", share * 100.0)),
            ],
        }));
    }
    let head = vec![
        "job",
        "ranks",
        "iterations done",
        "iteration mean",
        "p99",
        "communication",
    ];
    (head, rows, "by job")
}

/// "all 5", or "1 of 5".
fn of(count: FlowCount) -> String {
    done(count, " of ")
}

#[cfg(test)]
mod tests {
    use paceline_scenario::{Overrides, load_text};

    use super::*;
    use crate::run::{Control, execute};

    fn run(scheme: &str, duration: &str) -> Summary {
        let text = format!(
            "duration = '{duration}'\n[topology.star]\nhosts = 6\n[cc]\nscheme = '{scheme}'\n\
             [[workload]]\nlabel = 'a late one'\nflows = [{{ src = 5, dst = 6, size = '1KB', start = '1ms' }}]\n\
             [[workload]]\nlabel = 'reads'\nincast = {{ fan-in = 2, receiver = 6, size = '100KB' }}\n\
             [[job]]\nlabel = 'llm'\nhosts = '1..4'\niterations = 2\n\
             [[job.step]]\ncompute = '20us'\nall-reduce = {{ size = '100KB' }}\n"
        );
        let input = load_text("test.toml", &text, &Overrides::default()).unwrap();
        execute(&input, &mut |_| Control::Continue).unwrap().summary
    }

    #[test]
    fn what_runs_are_made_of() {
        let name = |text: &str| text.to_string();
        let (whole, half) = (run("hpcc", "2ms"), run("hpcc", "60us"));
        let one = details_text(&details(&[&half], &[name("hpcc")]));
        let two = details_text(&details(&[&whole, &half], &[name("whole"), name("half")]));
        insta::assert_snapshot!("details", format!("{one}\n---\n{two}"));
        assert!(details(&[&run_of_one_label()], &[name("none")]).is_empty());
    }

    fn run_of_one_label() -> Summary {
        let text = "[topology.star]\n[cc]\nscheme = 'none'\n[[workload]]\npermutation = {}";
        let input = load_text("test.toml", text, &Overrides::default()).unwrap();
        execute(&input, &mut |_| Control::Continue).unwrap().summary
    }
}

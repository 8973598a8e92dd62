//! Tables of the labels, collectives and jobs of runs.

use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::{SortedMap, SortedSet};

use super::{Column, render};
use crate::files::LABELS;
use crate::metrics::done;
use crate::results::{FlowCount, FlowMarks, Group, Summary, collective_totals};
use crate::text::{bytes, duration_us, natural_order, number};

/// File with every iteration.
const SUMMARY: &str = "summary.json";

/// Table with a title, for a terminal or a page. The first column holds names, the others numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Detail {
    /// Subject of the table.
    pub title: &'static str,
    /// Names of the columns.
    pub head: Vec<&'static str>,
    /// Cells, row by row.
    pub rows: Vec<Vec<String>>,
    /// Number of rows that are left out, with the file that has them; `None` if the table is complete.
    pub more: Option<More>,
}

/// Rows that a table leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct More {
    /// Number of names without a row.
    pub count: u64,
    /// File that has all rows.
    pub file: &'static str,
}

impl More {
    /// Formats the note below the table: `... and 256 more, in labels.csv`.
    pub fn text(&self) -> String {
        format!("... and {} more, in {}", self.count, self.file)
    }
}

/// Approximate number of rows that a table has on a terminal.
pub const ROWS_OF_TERMINAL: usize = 24;
/// Approximate number of rows that a table has on a page.
pub const ROWS_OF_PAGE: usize = 60;

/// Returns the tables that are not empty, with a row for each label, collective and job in each of `runs`, which have
/// the given `names`. Items that have not started come last. A table of many more than `limit` rows keeps those with
/// the largest weight.
pub fn details(runs: &[&Summary], names: &[String], limit: usize) -> Vec<Detail> {
    let several = runs.len() > 1;
    let all = [
        jobs(runs),
        services(runs),
        collectives(runs),
        labels(runs),
        incidents(runs),
    ];
    let mut tables = Vec::new();
    for mut table in all {
        if table.rows.is_empty() {
            continue;
        }
        // The limit is divided among the runs, because each name has a row per run.
        let left_out = table.keep_heaviest((limit / runs.len()).max(ROWS_MIN));
        let more = (left_out + table.unknown > 0).then_some(More {
            count: left_out + table.unknown,
            file: table.file,
        });
        let Table {
            mut head,
            mut rows,
            title,
            ..
        } = table;
        let mut order: SortedMap<String, usize> = SortedMap::new();
        for row in &rows {
            let next = order.len();
            order.entry(row.name.clone()).or_insert(next);
        }
        // Rows of a name stay together, so that its runs can be compared.
        rows.order_by_key(|row| (!row.begun, order[&row.name], row.run));
        if several {
            head.insert(1, "run");
        }
        let cells = |row: Row| {
            let mut cells = vec![row.name];
            if several {
                cells.push(names[row.run].clone());
            }
            cells.extend(row.cells);
            cells
        };
        let rows = rows.into_iter().map(cells).collect();
        tables.push(Detail {
            title,
            head,
            rows,
            more,
        });
    }
    tables
}

/// Formats tables as text, with an empty line before each.
pub fn details_text(tables: &[Detail]) -> String {
    let table = |detail: &Detail| {
        let cells = |i: usize| detail.rows.iter().map(|row| row[i].clone()).collect();
        let column = |(i, name): (usize, &&str)| match i {
            0 => Column::left("", name, cells(i)),
            // Words rather than a number.
            _ if *name == WHAT => Column::left("", name, cells(i)),
            _ => Column::right("", name, cells(i)),
        };
        let columns: Vec<_> = detail.head.iter().enumerate().map(column).collect();
        let more = detail
            .more
            .as_ref()
            .map_or_else(String::new, |more| more.text() + "\n");
        format!("\n{}\n{}{more}", detail.title, render(&columns))
    };
    tables.iter().map(table).collect()
}

/// Row without the name of its run.
struct Row {
    name: String,
    /// Index of the run.
    run: usize,
    /// True if any part of the item started.
    begun: bool,
    /// Importance relative to other rows; the heaviest are kept.
    weight: f64,
    cells: Vec<String>,
}

/// Minimum number of rows that are kept for each run, and minimum number that are left out.
pub(super) const ROWS_MIN: usize = 4;

/// Name of the column that holds words.
const WHAT: &str = "what";

struct Table {
    title: &'static str,
    head: Vec<&'static str>,
    rows: Vec<Row>,
    /// File that has all rows, including those that summaries leave out.
    file: &'static str,
    unknown: u64,
}

impl Table {
    /// Keeps the rows of `names` names; returns the number of the others.
    fn keep_heaviest(&mut self, names: usize) -> u64 {
        let mut weights: SortedMap<&str, f64> = SortedMap::new();
        for row in &self.rows {
            let weight = weights.entry(&row.name).or_default();
            *weight = weight.max(row.weight);
        }
        let Some((kept, left_out)) = heaviest(weights, names) else {
            return 0;
        };
        self.rows.retain(|row| kept.contains(&row.name));
        left_out
    }
}

/// Returns the `count` names with the largest weight, and the number of the others; `None` if these are few, since rows
/// are better than a line about them.
pub(super) fn heaviest(weights: SortedMap<&str, f64>, count: usize) -> Option<(SortedSet<String>, u64)> {
    let left_out = weights.len().checked_sub(count).filter(|&more| more > ROWS_MIN)?;
    let mut order: Vec<(&str, f64)> = weights.into_iter().collect();
    order.order_by(|a, b| b.1.total_cmp(&a.1).then_with(|| natural_order(a.0, b.0)));
    let kept = order[..count].iter().map(|(name, _)| name.to_string());
    Some((kept.collect(), left_out as u64))
}

/// Builds the table of incidents of links and hosts.
fn incidents(runs: &[&Summary]) -> Table {
    let at = |ps: Option<u64>| ps.map_or_else(|| "-".to_string(), |ps| duration_us(Some(ps as f64 / 1e6)));
    let mut rows: Vec<Row> = Vec::new();
    for (run, summary) in runs.iter().enumerate() {
        for one in &summary.incidents {
            rows.push(Row {
                name: one.place.clone(),
                run,
                begun: true,
                // Negative, so that the earliest ones are kept.
                weight: -(one.from_ps as f64),
                cells: vec![at(Some(one.from_ps)), at(one.until_ps), one.what.clone()],
            });
        }
    }
    Table {
        title: "during the run",
        head: vec!["where", "from", "until", WHAT],
        rows,
        file: SUMMARY,
        unknown: 0,
    }
}

fn labels(runs: &[&Summary]) -> Table {
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
    // With one label for all flows, the table would repeat that of the run.
    if !rows.iter().any(|row| row.name != rows[0].name) {
        rows.clear();
    }
    rows.order_by(|a, b| natural_order(&a.name, &b.name));
    let unknown = |run: &&Summary| run.schemes.values().map(|group| group.more_labels).sum();
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
    Table {
        title: "by label",
        head,
        rows,
        file: LABELS,
        unknown: runs.iter().map(unknown).max().unwrap_or(0),
    }
}

/// Builds the row of a label; `detects` adds the marks of its packets.
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
        weight: group.size_bytes as f64,
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

fn collectives(runs: &[&Summary]) -> Table {
    let mut rows = Vec::new();
    for (run, summary) in runs.iter().enumerate() {
        rows.extend(collective_totals(summary).into_iter().map(|one| Row {
            name: one.label,
            run,
            begun: one.begun,
            weight: one.time_us.mean.unwrap_or(0.0),
            cells: vec![
                of(one.iterations),
                duration_us(one.time_us.mean),
                duration_us(one.time_us.p99),
                number(one.busbw_gbps),
            ],
        }));
    }
    let head = vec!["collective", "iterations done", "time mean", "p99", "bus Gbit/s"];
    Table {
        title: "by collective",
        head,
        rows,
        file: SUMMARY,
        unknown: 0,
    }
}

fn jobs(runs: &[&Summary]) -> Table {
    let mut rows = Vec::new();
    for (run, summary) in runs.iter().enumerate() {
        rows.extend(summary.jobs.iter().map(|job| Row {
            name: job.label.clone(),
            run,
            begun: summary.simulated_s > job.start_s,
            weight: job.iteration_us.mean.unwrap_or(0.0),
            cells: vec![
                job.ranks.to_string(),
                of(job.iterations),
                duration_us(job.iteration_us.mean),
                duration_us(job.iteration_us.p99),
                duration_us(job.iteration_us.max),
                duration_us(job.exposed_us),
                percent(job.communication),
            ],
        }));
    }
    let head = vec![
        "job",
        "ranks",
        "iterations done",
        "iteration mean",
        "p99",
        "max",
        "exposed",
        "communication",
    ];
    Table {
        title: "by job",
        head,
        rows,
        file: SUMMARY,
        unknown: 0,
    }
}

fn services(runs: &[&Summary]) -> Table {
    let mut rows = Vec::new();
    for (run, summary) in runs.iter().enumerate() {
        rows.extend(summary.services.iter().map(|service| Row {
            name: service.label.clone(),
            run,
            begun: service.ttft_us.mean.is_some(),
            weight: service.ttft_us.mean.unwrap_or(0.0),
            cells: vec![
                of(service.requests),
                duration_us(service.ttft_us.mean),
                duration_us(service.ttft_us.p99),
                duration_us(service.tpot_us.mean),
                duration_us(service.kv_us.mean),
                duration_us(service.kv_us.p99),
                percent(service.kv_share),
                number(service.requests_per_s),
                percent(service.within_slo),
            ],
        }));
    }
    let head = vec![
        "service",
        "requests done",
        "first token mean",
        "p99",
        "later tokens",
        "cache mean",
        "p99",
        "share",
        "requests/s",
        "within limits",
    ];
    Table {
        title: "by service",
        head,
        rows,
        file: SUMMARY,
        unknown: 0,
    }
}

/// Formats a share in whole percent.
fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| number(None), |share| format!("{:.0}%", share * 100.0))
}

/// Formats a count: "all 5", or "1 of 5".
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
        let one = details_text(&details(&[&half], &[name("hpcc")], ROWS_OF_TERMINAL));
        let two = details_text(&details(
            &[&whole, &half],
            &[name("whole"), name("half")],
            ROWS_OF_TERMINAL,
        ));
        insta::assert_snapshot!("details", format!("{one}\n---\n{two}"));
        assert!(details(&[&run_of_one_label()], &[name("none")], ROWS_OF_TERMINAL).is_empty());
    }

    /// With many labels, those with most payload are shown, in numerical order, and the others are counted.
    #[test]
    fn many_labels_are_bounded() {
        let flow = |i: usize| {
            let size = if i % 10 == 7 { 9 } else { 1 };
            format!("[[workload]]\nlabel = 'port {i}'\nflows = [{{ src = 1, dst = 2, size = '{size}KB' }}]\n")
        };
        let flows: String = (0..300).map(flow).collect();
        let text = format!("[topology.star]\nhosts = 2\n[cc]\nscheme = 'none'\n{flows}");
        let input = load_text("test.toml", &text, &Overrides::default()).unwrap();
        let run = execute(&input, &mut |_| Control::Continue).unwrap().summary;
        assert_eq!(run.schemes["none"].labels.len(), crate::results::LABELS_MAX);
        let tables = details(&[&run], &["none".to_string()], ROWS_OF_TERMINAL);
        let names: Vec<&str> = tables[0].rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!((names.len(), names[0], names[23]), (24, "port 7", "port 237"));
        let text = details_text(&tables);
        assert!(text.ends_with("... and 276 more, in labels.csv\n"), "{text}");
        let two = details(
            &[&run, &run],
            &["a".to_string(), "b".to_string()],
            ROWS_OF_TERMINAL,
        );
        assert_eq!(two[0].rows.len(), 24);
    }

    fn run_of_one_label() -> Summary {
        let text = "[topology.star]\n[cc]\nscheme = 'none'\n[[workload]]\npermutation = {}";
        let input = load_text("test.toml", text, &Overrides::default()).unwrap();
        execute(&input, &mut |_| Control::Continue).unwrap().summary
    }
}

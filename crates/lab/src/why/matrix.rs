//! Matrix of waiting times between parties: `paceline why RUN --matrix`.

use paceline_fabric::blame::{Waited, Why};
use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::{SortedMap, SortedSet};
use paceline_scenario::NodeNames;
use serde::Serialize;

use crate::files::RunData;
use crate::table::{Column, render};
use crate::text::{duration_us, natural_order};

/// Maximum number of parties with their own row and column; the others share one.
const PARTIES_MAX: usize = 10;
/// Maximum number of ports listed in the text.
const PLACES: usize = 10;
/// Name of the row and column that the smaller parties share.
const OTHERS: &str = "others";
/// Name of the column for packets of the same flow.
const OWN: &str = "own flow";
/// Name of the column for waiting that no flow causes: link control, a NIC that sends pauses, a link that is down.
const NOBODY: &str = "nobody";

/// Waiting times between parties of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Matrix {
    /// Kind of parties: `job`, `label` or `host`.
    pub by: &'static str,
    /// Columns: causes, in order. The first is the victim's own flow, the last nobody.
    pub causes: Vec<String>,
    /// Rows, one per victim.
    pub rows: Vec<MatrixRow>,
}

/// Waiting times of one party's packets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatrixRow {
    /// Name of the party.
    pub victim: String,
    /// Waiting time for each cause, in ps.
    pub waited_ps: Vec<u64>,
    /// Sum over all causes, in ps.
    pub total_ps: u64,
}

/// Port where one party waited for another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatrixPlace {
    /// Party whose packets waited.
    pub victim: String,
    /// Party that they waited for; empty if unknown.
    pub cause: String,
    /// Name of the port.
    pub port: String,
    /// Name of the port for readers, such as `leaf 1 -> host 3`.
    pub at: String,
    /// Reason for waiting, as in `blame.csv`.
    pub why: String,
    /// Waiting time in ps.
    pub waited_ps: u64,
    /// Share of all waiting in the run, 0 to 1.
    pub share: f64,
}

/// Matrices of waiting times, and the ports with most of the waiting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Blames {
    /// Matrices by job, if there are jobs with several labels, and by label; or by host.
    pub matrices: Vec<Matrix>,
    /// Ports where packets waited longest for other flows, in descending order.
    pub places: Vec<MatrixPlace>,
    /// True if the extra run was interrupted.
    #[serde(skip)]
    pub partial: bool,
}

/// Returns the job that a label belongs to, or the label itself if it belongs to none.
fn job_of<'a>(label: &'a str, jobs: &SortedSet<&str>) -> &'a str {
    let ends = label.match_indices('/').map(|(end, _)| &label[..end]);
    // A job's own label may have slashes in it.
    ends.rev().find(|start| jobs.contains(start)).unwrap_or(label)
}

impl Matrix {
    /// Builds the matrix of some rows; `name` maps their parties to the names in the matrix.
    fn of<'a>(by: &'static str, rows: &'a [Waited], name: impl Fn(&'a str) -> &'a str) -> Self {
        // A party counts as a victim and as a cause.
        let mut weights: SortedMap<&str, u128> = SortedMap::new();
        for row in rows {
            *weights.entry(name(&row.victim)).or_default() += u128::from(row.waited_ps);
            if !row.cause.is_empty() {
                *weights.entry(name(&row.cause)).or_default() += u128::from(row.waited_ps);
            }
        }
        let mut parties: Vec<(&str, u128)> = weights.into_iter().collect();
        parties.order_by(|a, b| b.1.cmp(&a.1).then_with(|| natural_order(a.0, b.0)));
        let is_cut = parties.len() > PARTIES_MAX;
        parties.truncate(PARTIES_MAX);
        let mut known: Vec<&str> = parties.into_iter().map(|(name, _)| name).collect();
        known.order_by(|a, b| natural_order(a, b));
        if is_cut {
            known.push(OTHERS);
        }
        // If there are too many parties, the last name stands for all others.
        let index = |party: &str| {
            known
                .iter()
                .position(|one| *one == party)
                .unwrap_or(known.len() - 1)
        };
        let mut sums: Vec<Vec<u64>> = vec![vec![0; known.len() + 2]; known.len()];
        for row in rows {
            let cause = match (row.why, row.cause.as_str()) {
                (Why::Own, _) => 0,
                (_, "") => known.len() + 1,
                (_, cause) => 1 + index(name(cause)),
            };
            let sum = &mut sums[index(name(&row.victim))][cause];
            *sum = sum.saturating_add(row.waited_ps);
        }
        let causes = [OWN].into_iter().chain(known.iter().copied()).chain([NOBODY]);
        let row = |(victim, waited_ps): (&&str, Vec<u64>)| MatrixRow {
            victim: victim.to_string(),
            total_ps: waited_ps
                .iter()
                .fold(0, |sum, &part| u64::saturating_add(sum, part)),
            waited_ps,
        };
        Self {
            by,
            causes: causes.map(str::to_string).collect(),
            rows: known.iter().zip(sums).map(row).collect(),
        }
    }

    /// Formats the matrix as a table for a terminal.
    pub fn text(&self) -> String {
        let (head, rows) = self.cells();
        let cells = |i: usize| rows.iter().map(|row| row[i].clone()).collect();
        let column = |(i, name): (usize, &String)| match i {
            0 => Column::left("", name, cells(i)),
            _ => Column::right("", name, cells(i)),
        };
        let columns: Vec<Column> = head.iter().enumerate().map(column).collect();
        format!(
            "waiting of packets in queues, by {}: each row waited for the columns\n{}",
            self.by,
            render(&columns)
        )
    }

    /// Returns the names of the columns, and the cells of each row.
    pub fn cells(&self) -> (Vec<String>, Vec<Vec<String>>) {
        // Causes without any waiting are left out.
        let kept: Vec<usize> = (0..self.causes.len())
            .filter(|&cause| self.rows.iter().any(|row| row.waited_ps[cause] > 0))
            .collect();
        let mut head = vec![format!("waiting {}", self.by)];
        head.extend(kept.iter().map(|&cause| self.causes[cause].clone()));
        head.push("total".to_string());
        let row = |row: &MatrixRow| {
            let mut cells = vec![row.victim.clone()];
            cells.extend(kept.iter().map(|&cause| time(row.waited_ps[cause])));
            cells.push(time(row.total_ps));
            cells
        };
        let waited = self.rows.iter().filter(|row| row.total_ps > 0);
        (head, waited.map(row).collect())
    }
}

impl Blames {
    /// Builds the matrices from the rows of a run whose jobs and nodes have these names.
    pub fn of(rows: &[Waited], jobs: &[&str], names: &NodeNames) -> Self {
        let jobs: SortedSet<&str> = jobs.iter().copied().collect();
        let parties: SortedSet<&str> = rows.iter().map(|row| row.victim.as_str()).collect();
        let of_hosts = parties.iter().all(|party| {
            let number = party.strip_prefix("host ");
            number.is_some_and(|number| number.parse::<u32>().is_ok())
        });
        let mut matrices = Vec::new();
        if parties.iter().any(|label| job_of(label, &jobs) != *label) {
            matrices.push(Matrix::of("job", rows, |label| job_of(label, &jobs)));
        }
        let by = if of_hosts { "host" } else { "label" };
        matrices.push(Matrix::of(by, rows, |label| label));
        // A job with one step is its label.
        if let [of_jobs, of_labels] = &matrices[..]
            && of_jobs.rows.len() == of_labels.rows.len()
        {
            matrices.truncate(1);
        }
        Self {
            matrices,
            places: places(rows, names),
            partial: false,
        }
    }

    /// Builds the matrices from a run's folder; returns `None` if it has no accounts of waiting.
    pub fn of_run(run: &RunData) -> Option<Self> {
        let jobs: Vec<&str> = run.summary.jobs.iter().map(|job| job.label.as_str()).collect();
        (run.tables.has::<Waited>()).then(|| Self::of(run.tables.rows(), &jobs, &run.names))
    }

    /// Formats the matrices, and below them the ports with most of the waiting.
    pub fn text(&self) -> String {
        if self.matrices.iter().all(|matrix| matrix.rows.is_empty()) {
            return "no packet waited in a queue\n".to_string();
        }
        let matrices: Vec<String> = self.matrices.iter().map(Matrix::text).collect();
        let mut text = matrices.join("\n");
        if !self.places.is_empty() {
            let cells = |of: fn(&MatrixPlace) -> String| self.places.iter().map(of).collect();
            text.push_str("\nwhere packets waited longest for other flows\n");
            text.push_str(&render(&[
                Column::left("", "waiting", cells(|index| index.victim.clone())),
                Column::left("", "for", cells(|index| index.cause_name())),
                Column::left("", "at", cells(|index| index.at.clone())),
                Column::left("", "why", cells(|index| index.why.clone())),
                Column::right("", "time", cells(|index| time(index.waited_ps))),
                Column::right("", "share", cells(|index| index.share_text())),
            ]));
            text.push_str("more: blame.csv\n");
        }
        text
    }
}

impl MatrixPlace {
    /// Names the cause within a sentence.
    pub fn cause_name(&self) -> String {
        match self.cause.is_empty() {
            true => NOBODY.to_string(),
            false => self.cause.clone(),
        }
    }

    /// Formats the share in percent.
    pub fn share_text(&self) -> String {
        format!("{:.1}%", 100.0 * self.share)
    }
}

fn time(ps: u64) -> String {
    duration_us(Some(ps as f64 / 1e6))
}

/// Returns the ports where packets waited longest for other flows.
fn places(rows: &[Waited], names: &NodeNames) -> Vec<MatrixPlace> {
    let all: u128 = rows.iter().map(|row| u128::from(row.waited_ps)).sum();
    let mut sums: SortedMap<(&str, &str, String, &str), u64> = SortedMap::new();
    for row in rows.iter().filter(|row| row.why != Why::Own) {
        let key = (&*row.victim, &*row.cause, row.port.to_string(), row.why.name());
        let sum = sums.entry(key).or_default();
        *sum = sum.saturating_add(row.waited_ps);
    }
    let mut order: Vec<_> = sums.into_iter().collect();
    order.order_by_key(|&(_, waited)| std::cmp::Reverse(waited));
    let place = |((victim, cause, port, why), waited_ps): ((&str, &str, String, &str), u64)| MatrixPlace {
        victim: victim.to_string(),
        cause: cause.to_string(),
        at: names.entity(&port),
        port,
        why: why.to_string(),
        waited_ps,
        share: waited_ps as f64 / all.max(1) as f64,
    };
    order.into_iter().take(PLACES).map(place).collect()
}

#[cfg(test)]
mod tests {
    use paceline_fabric::blame::Waiting;
    use paceline_fabric::outcome::PortRef;
    use paceline_fabric::spec::NodeId;

    use super::*;

    fn row(victim: &str, cause: &str, why: Why, waited_ps: u64) -> Waited {
        Waited {
            victim: victim.into(),
            packets: Waiting::Data,
            cause: cause.into(),
            port: PortRef {
                node: NodeId(0),
                interface: 3,
                peer: NodeId(2),
            },
            why,
            waited_ps,
        }
    }

    #[test]
    fn a_matrix_by_hand() {
        let rows = [
            row("llm/sum", "llm/sum", Why::Own, 1_000_000),
            row("llm/sum", "llm/sum", Why::Queue, 2_000_000),
            row("llm/sum", "moe/send", Why::Queue, 4_000_000),
            row("moe/send", "llm/sum", Why::InProgress, 8_000_000),
            row("moe/back", "llm/gather", Why::Paused, 16_000_000),
            row("moe/back", "", Why::Idle, 32_000_000),
        ];
        let blames = Blames::of(&rows, &["llm", "moe"], &NodeNames::default());
        insta::assert_snapshot!("matrix", blames.text());
        let [of_jobs, of_labels] = &blames.matrices[..] else {
            panic!("{blames:?}")
        };
        // Own flow, llm, moe, nobody.
        assert_eq!(of_jobs.rows[0].waited_ps, [1_000_000, 2_000_000, 4_000_000, 0]);
        assert_eq!(of_jobs.rows[1].waited_ps, [0, 24_000_000, 0, 32_000_000]);
        let sum = |matrix: &Matrix| matrix.rows.iter().map(|row| row.total_ps).sum::<u64>();
        assert_eq!([sum(of_jobs), sum(of_labels)], [63_000_000; 2]);
    }

    /// The sums stay complete if parties share a row.
    #[test]
    fn many_parties_share_a_row() {
        let names: Vec<String> = (0..40).map(|i| format!("host {i}")).collect();
        let rows: Vec<Waited> = (0..40u64)
            .map(|i| {
                row(
                    &names[i as usize],
                    &names[(i as usize * 7) % 40],
                    Why::Queue,
                    i + 1,
                )
            })
            .collect();
        let blames = Blames::of(&rows, &[], &NodeNames::default());
        let [matrix] = &blames.matrices[..] else {
            panic!("{blames:?}")
        };
        assert_eq!((matrix.by, matrix.rows.len()), ("host", PARTIES_MAX + 1));
        assert_eq!(matrix.rows.iter().map(|row| row.total_ps).sum::<u64>(), 820);
        assert_eq!(
            Blames::of(&[], &[], &NodeNames::default()).text(),
            "no packet waited in a queue\n"
        );
    }
}

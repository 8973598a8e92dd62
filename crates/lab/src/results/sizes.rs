//! Slowdown by flow size, in configurable buckets.

use std::borrow::Borrow;
use std::str::FromStr;

use paceline_kernel::{Bytes, Span};

use super::flows::FlowRow;
use super::groups::SizeBucket;
use super::rows::FlowRows;
use crate::stats::{Ascending, Distribution, Samples};

/// Number of groups of `fct_analysis`, with 5 % of the flows each.
pub(crate) const ANALYSIS_GROUPS: usize = 20;
/// Maximum number of buckets.
const MOST: usize = 1000;

/// Rule that assigns flows to buckets by size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Buckets {
    /// Edges of the sizes: from one edge to below the next; the last bucket has no upper edge.
    Edges(Vec<u64>),
    /// Number of buckets with equally many flows.
    EqualCount(usize),
    /// Rule of the script `fct_analysis` of HPCC's ns-3 simulator: see [`Buckets::of`].
    FctAnalysis {
        /// Instant in ps; only flows that completed before it count.
        before_ps: u64,
    },
}

/// Rule of `fct_analysis` called without options.
pub const FCT_ANALYSIS: Buckets = Buckets::FctAnalysis {
    before_ps: 3_000_000_000_000,
};

impl Buckets {
    /// Returns the slowdown of the completed flows among `rows`, by size.
    ///
    /// With equal-count buckets `lo` and `hi` are the smallest and the largest size of a bucket,
    /// both included: a size may occur in several, its flows in order of their numbers. Buckets differ
    /// in number by one at most.
    ///
    /// As `fct_analysis`: the flows of background traffic only (port 100 in the original; here that leaves out the
    /// label `incast` and labels of other ports), completed before a given instant (3 s in the original; flows start at
    /// 2 s there), 20 groups of 5 % of the flows each, flows of one size in order of completion, percentile p of n
    /// sorted slowdowns the element with number int(n p), counted from 0.
    ///
    /// Buckets of equally many flows take 36 bytes per flow while they are made, others 8.
    pub fn of<'a>(&self, rows: impl IntoIterator<Item = impl Borrow<FlowRow<'a>>>) -> Vec<SizeBucket> {
        let rows = rows.into_iter();
        match self {
            Self::Edges(edges) => {
                let done = rows.filter_map(|row| Done::of(row.borrow(), 0));
                by_edges(done.map(|flow| (flow.size, flow.slowdown)), edges)
            }
            Self::EqualCount(count) => {
                let done = |row: &FlowRow<'_>| Done::of(row, row.flow_id.into());
                by_count(
                    rows.filter_map(|row| done(row.borrow())),
                    *count,
                    Distribution::of_ascending,
                )
            }
            Self::FctAnalysis { before_ps } => {
                let done = |row: &FlowRow<'_>| {
                    let end = row.end_ps().filter(|end| is_background(row) && end < before_ps)?;
                    Done::of(row, end)
                };
                by_count(
                    rows.filter_map(|row| done(row.borrow())),
                    ANALYSIS_GROUPS,
                    by_element,
                )
            }
        }
    }
}

impl FromStr for Buckets {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected a number of buckets such as 20, sizes such as 1KB,10KB,1MB, \
                                fct-analysis or fct-analysis:TIME";
        if text == "fct-analysis" {
            return Ok(FCT_ANALYSIS);
        }
        if let Some(before) = text.strip_prefix("fct-analysis:") {
            let before: Span = before.parse().map_err(|error| format!("`{before}`: {error}"))?;
            return Ok(Self::FctAnalysis {
                before_ps: before.as_ps(),
            });
        }
        if let Ok(count) = text.parse::<usize>() {
            return match count {
                1..=MOST => Ok(Self::EqualCount(count)),
                _ => Err(format!("expected 1 to {MOST} buckets")),
            };
        }
        // From 0, so that every size has a bucket.
        let mut edges = vec![0];
        for part in text.split(',') {
            let size: Bytes = part
                .trim()
                .parse()
                .map_err(|_| format!("`{part}` is not a size: {EXPECTED}"))?;
            if edges.last().is_some_and(|&last| size.get() <= last) {
                return Err(format!(
                    "`{part}` is not above the size before it: sizes have to grow"
                ));
            }
            edges.push(size.get());
        }
        match edges.len() {
            2..=MOST => Ok(Self::Edges(edges)),
            _ => Err(format!("expected at most {MOST} sizes")),
        }
    }
}

/// Returns true if a flow has the port 100 of the reference's flow files, or the label of a scenario's traffic other
/// than incast.
fn is_background(row: &FlowRow<'_>) -> bool {
    row.label != "incast" && !row.label.starts_with("dport-")
}

#[derive(Clone, Copy)]
struct Done {
    size: u64,
    /// Sort key among flows of one size.
    then: u64,
    slowdown: f64,
}

impl Done {
    fn of(row: &FlowRow<'_>, then: u64) -> Option<Self> {
        Some(Self {
            size: row.size_bytes,
            then,
            slowdown: row.fct_ps.and(row.slowdown)?,
        })
    }
}

fn by_element(slowdowns: &Ascending) -> Distribution {
    Distribution {
        mean: slowdowns.mean(),
        p50: slowdowns.element(0.50),
        p95: slowdowns.element(0.95),
        p99: slowdowns.element(0.99),
        max: slowdowns.max(),
    }
}

fn bucket(lo: u64, hi: Option<u64>, slowdowns: Samples, of: fn(&Ascending) -> Distribution) -> SizeBucket {
    let slowdowns = slowdowns.ascending();
    let flows = slowdowns.count();
    let Distribution {
        mean, p50, p95, p99, ..
    } = of(&slowdowns);
    SizeBucket {
        lo,
        hi,
        flows,
        mean,
        p50,
        p95,
        p99,
    }
}

/// Groups sizes and slowdowns of completed flows between edges.
fn by_edges(flows: impl Iterator<Item = (u64, f64)>, edges: &[u64]) -> Vec<SizeBucket> {
    let mut slowdowns = vec![Samples::default(); edges.len()];
    for (size, slowdown) in flows {
        let index = edges.partition_point(|&edge| edge <= size);
        if let Some(list) = index.checked_sub(1).and_then(|i| slowdowns.get_mut(i)) {
            list.push(slowdown, 1);
        }
    }
    between_edges(slowdowns.into_iter(), edges)
}

/// Builds the buckets from one list of slowdowns per edge.
pub(super) fn between_edges(slowdowns: impl Iterator<Item = Samples>, edges: &[u64]) -> Vec<SizeBucket> {
    let one = |(i, list)| {
        bucket(
            edges[i],
            edges.get(i + 1).copied(),
            list,
            Distribution::of_ascending,
        )
    };
    slowdowns.enumerate().map(one).collect()
}

/// Splits flows in order of size into parts of equal number.
fn by_count(
    flows: impl Iterator<Item = Done>,
    count: usize,
    of: fn(&Ascending) -> Distribution,
) -> Vec<SizeBucket> {
    let mut flows: Vec<Done> = flows.collect();
    flows.sort_by_key(|flow| (flow.size, flow.then));
    let edge = |i: usize| i * flows.len() / count.max(1);
    let group = |i: usize| {
        let part = &flows[edge(i)..edge(i + 1)];
        let (first, last) = (part.first()?, part.last()?);
        let slowdowns: Vec<f64> = part.iter().map(|flow| flow.slowdown).collect();
        Some(bucket(first.size, Some(last.size), slowdowns.into(), of))
    };
    (0..count).filter_map(group).collect()
}

/// Formats `fct_table.tsv`: the table of [`FCT_ANALYSIS`] for several runs (or groups of runs) of the same flows next
/// to each other, in the reference's layout; `None` with fewer background flows than groups.
pub fn fct_table(runs: &[(&str, &[FlowRows])]) -> Option<String> {
    let rows = |parts: &[FlowRows]| FCT_ANALYSIS.of(parts.iter().flat_map(FlowRows::rows));
    let groups: Vec<Vec<SizeBucket>> = runs.iter().map(|(_, parts)| rows(parts)).collect();
    // Groups are comparable only if the runs finished the same flows.
    let alike = |run: &Vec<SizeBucket>| {
        run.len() == ANALYSIS_GROUPS
            && run
                .iter()
                .zip(&groups[0])
                .all(|(a, b)| (a.hi, a.flows) == (b.hi, b.flows))
    };
    if groups.is_empty() || !groups.iter().all(alike) {
        return None;
    }
    let mut text = "upper_fraction\tlargest_size\tn".to_string();
    for (scheme, _) in runs {
        text.push_str(&format!("\t{scheme}_p50\t{scheme}_p95\t{scheme}_p99"));
    }
    for i in 0..ANALYSIS_GROUPS {
        let (first, percent) = (&groups[0][i], (i + 1) * 100 / ANALYSIS_GROUPS);
        let largest = first.hi.unwrap_or(first.lo);
        text.push_str(&format!(
            "\n{}.{:02}\t{largest}\t{}",
            percent / 100,
            percent % 100,
            first.flows
        ));
        for run in &groups {
            for value in [run[i].p50, run[i].p95, run[i].p99] {
                text.push_str(&format!("\t{:.3}", value.unwrap_or(f64::NAN)));
            }
        }
    }
    text.push('\n');
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::results::FlowState;

    /// Returns flows of sizes 1, 2, ... bytes whose slowdown is their size.
    fn flows(count: u64) -> Vec<FlowRow<'static>> {
        let flow = |i: u64| FlowRow {
            flow_id: i as u32,
            label: Cow::Borrowed("background"),
            scheme: Cow::Borrowed("none"),
            src: 0,
            dst: 1,
            priority: 3,
            size_bytes: i,
            start_ps: 0,
            fct_ps: Some(i * 10),
            ideal_fct_ps: 10,
            slowdown: Some(i as f64),
            retransmitted_bytes: 0,
            sent_bytes: 0,
            unscheduled_bytes: 0,
            ce_packets: 0,
            ue_packets: 0,
            status: FlowState::Completed,
            connection: None,
        };
        (1..=count).map(flow).collect()
    }

    #[test]
    fn what_can_be_asked_for() {
        assert_eq!("20".parse(), Ok(Buckets::EqualCount(20)));
        assert_eq!("fct-analysis".parse(), Ok(FCT_ANALYSIS));
        assert_eq!(
            "fct-analysis:2ms".parse(),
            Ok(Buckets::FctAnalysis {
                before_ps: 2_000_000_000
            })
        );
        assert_eq!(
            "1KB, 10KB,1MB".parse(),
            Ok(Buckets::Edges(vec![0, 1_000, 10_000, 1_000_000]))
        );
        assert_eq!("0".parse::<Buckets>(), Err("expected 1 to 1000 buckets".into()));
        for (text, part) in [
            ("10KB,1KB", "`1KB` is not above the size before it"),
            ("0B,1KB", "`0B` is not above"),
            (
                "fct_analysis",
                "`fct_analysis` is not a size: expected a number of buckets",
            ),
            ("", "`` is not a size"),
        ] {
            let error = text.parse::<Buckets>().unwrap_err();
            assert!(error.starts_with(part), "{text}: {error}");
        }
    }

    #[test]
    fn equal_counts_by_hand() {
        let groups = Buckets::EqualCount(3).of(flows(10));
        let shape: Vec<_> = groups.iter().map(|g| (g.lo, g.hi, g.flows, g.p50)).collect();
        assert_eq!(
            shape,
            [
                (1, Some(3), 3, Some(2.0)),
                (4, Some(6), 3, Some(5.0)),
                (7, Some(10), 4, Some(8.5))
            ]
        );
        // Fewer flows than buckets: none is empty.
        assert_eq!(Buckets::EqualCount(20).of(flows(3)).len(), 3);
        assert!(Buckets::EqualCount(20).of(&[]).is_empty());
    }

    #[test]
    fn edges_by_hand() {
        let groups = Buckets::Edges(vec![0, 3, 5]).of(flows(10));
        let shape: Vec<_> = groups.iter().map(|g| (g.lo, g.hi, g.flows, g.mean)).collect();
        assert_eq!(
            shape,
            [
                (0, Some(3), 2, Some(1.5)),
                (3, Some(5), 2, Some(3.5)),
                (5, None, 6, Some(7.5))
            ]
        );
    }

    #[test]
    fn the_original_takes_elements() {
        // 200 background flows, 10 a group; of 191..=200 element 5 is 196 and 9 is 200.
        let mut rows = flows(260);
        for row in &mut rows[200..230] {
            row.label = Cow::Borrowed("incast");
        }
        for row in &mut rows[230..] {
            row.label = Cow::Borrowed("dport-7");
        }
        let last = FCT_ANALYSIS.of(&rows)[19];
        assert_eq!((last.lo, last.hi, last.flows), (191, Some(200), 10));
        assert_eq!(
            (last.p50, last.p95, last.p99),
            (Some(196.0), Some(200.0), Some(200.0))
        );
        // Flow 195 ends after 1950 ps.
        let early = Buckets::FctAnalysis { before_ps: 1950 }.of(&rows);
        assert_eq!(early.iter().map(|group| group.flows).sum::<u64>(), 194);
        // Interpolated it would be 195.5.
        assert_eq!(Buckets::EqualCount(20).of(&rows[..200])[19].p50, Some(195.5));
    }

    #[test]
    fn tables_need_flows_and_the_same_ones() {
        let [a, b, few] = [40, 60, 19].map(|count| [FlowRows::from_iter(flows(count))]);
        let text = fct_table(&[("hpcc", &a), ("dctcp", &a)]).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 21);
        assert!(lines[0].ends_with("hpcc_p99\tdctcp_p50\tdctcp_p95\tdctcp_p99"));
        assert_eq!(lines[1], "0.05\t2\t2\t2.000\t2.000\t2.000\t2.000\t2.000\t2.000");
        assert!(lines[20].starts_with("1.00\t40\t2\t"));
        assert_eq!(fct_table(&[("hpcc", &a), ("dctcp", &b)]), None);
        assert_eq!(fct_table(&[("hpcc", &few)]), None);
        assert_eq!(fct_table(&[]), None);
    }
}

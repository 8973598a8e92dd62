//! Text form of a comparison of two runs.

use super::{Diff, FIRST, JobChange, Metric, NAMED_MAX, is_named};
use crate::text::{bytes, duration_us, number};

/// Maximum number of jobs with a line.
const JOBS_SHOWN: usize = 8;

impl Diff {
    /// Renders the differences as text at most `width` columns wide.
    pub fn text(&self, names: [&str; 2], width: usize) -> String {
        let [a, b] = names;
        if self.is_empty() {
            return format!(
                "{a} and {b} are the same: inputs, results, and every event ({} flows).\n",
                self.flows.as_ref().map_or(0, |flows| flows.both)
            );
        }
        let mut text = format!("A  {a}\nB  {b}\n\n{}", self.jobs_text());
        if self.inputs.is_empty() {
            text.push_str("The inputs are the same.\n");
        } else {
            text.push_str("Inputs that differ:\n");
            let absent = || "–".to_string();
            let cell =
                |value: &Option<String>| value.as_ref().map_or_else(absent, |value| cut(value, width / 3));
            let rows = self
                .inputs
                .iter()
                .map(|input| vec![input.key.clone(), cell(&input.a), cell(&input.b)]);
            text.push_str(&columns(&[&["", "A", "B"]], rows));
            if self.inputs.iter().any(|input| input.key == "version") {
                text.push_str("Different code made A and B, which may be why results differ.\n");
            }
        }
        text.push('\n');
        text.push_str(&self.results_text());
        text.push('\n');
        text.push_str(&self.flows_text());
        text
    }

    /// Describes the iterations of each job, with an empty line at the end; empty without jobs.
    fn jobs_text(&self) -> String {
        let us = |value: Option<f64>| duration_us(value);
        let line = |job: &JobChange| {
            let [a, b] = job.mean_us;
            let change = match a.zip(b) {
                Some((a, b)) if a == b => " (the same)".to_string(),
                Some((a, b)) if a > 0.0 => format!(" ({:+.1} %)", 100.0 * (b / a - 1.0)),
                _ => String::new(),
            };
            let [low, high] = job.p99_us;
            let [in_a, in_b] = job
                .communication
                .map(|share| share.map_or_else(|| number(None), |share| format!("{:.0} %", 100.0 * share)));
            format!(
                "An iteration of job {} takes {} in A and {} in B{change}; p99 {} and {}, communication {in_a} and {in_b}.\n",
                job.label,
                us(a),
                us(b),
                us(low),
                us(high)
            )
        };
        let mut text: String = self.jobs.iter().take(JOBS_SHOWN).map(line).collect();
        if self.jobs.len() > JOBS_SHOWN {
            text.push_str(&format!(
                "{} more jobs: see --json.\n",
                self.jobs.len() - JOBS_SHOWN
            ));
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }

    fn results_text(&self) -> String {
        let mut named = 0;
        let (shown, rest): (Vec<&Metric>, Vec<&Metric>) = self.results.iter().partition(|metric| {
            let is_named = is_named(&metric.key);
            named += usize::from(is_named);
            FIRST.contains(&metric.key.as_str()) || is_named && named <= NAMED_MAX
        });
        let mut text = match (self.results.is_empty(), self.same_digest) {
            (true, true) => return "The results are the same, and so is every event.\n".to_string(),
            (true, false) => return "The results are the same; events differ.\n".to_string(),
            _ => "Results that differ:\n".to_string(),
        };
        let percent = |metric: &Metric| match metric.relative {
            Some(relative) => format!("{:+.1} %", relative * 100.0),
            None => "–".to_string(),
        };
        let rows = shown.iter().map(|metric| {
            let plus = if metric.difference.is_some_and(|d| d > 0.0) {
                "+"
            } else {
                ""
            };
            vec![
                metric.key.clone(),
                plain(metric.a),
                plain(metric.b),
                format!("{plus}{}", plain(metric.difference)),
                percent(metric),
            ]
        });
        text.push_str(&columns(&[&["", "A", "B", "B - A", ""]], rows));
        if !rest.is_empty() {
            let more = if rest.len() == 1 { "number" } else { "numbers" };
            text.push_str(&format!(
                "  and {} more {more} of summary.json: see --json\n",
                rest.len()
            ));
        }
        text
    }

    fn flows_text(&self) -> String {
        let Some(flows) = &self.flows else {
            return "The runs have different flows, which cannot be compared one by one.\n".to_string();
        };
        let mut text = format!(
            "Of {} flows that finished in both, {} are faster in B, {} slower, {} the same.",
            flows.both, flows.faster, flows.slower, flows.same
        );
        for (count, run) in [(flows.only_a, "A"), (flows.only_b, "B")] {
            if count > 0 {
                text.push_str(&format!(" {count} finished in {run} only."));
            }
        }
        text.push('\n');
        if flows.faster + flows.slower == 0 {
            return text;
        }
        let ratio = &flows.ratio;
        text.push_str(&format!(
            "Completion time, B over A: least {}, 5 % {}, median {}, 95 % {}, largest {}.\n",
            number(ratio.min),
            number(ratio.p5),
            number(ratio.p50),
            number(ratio.p95),
            number(ratio.max)
        ));
        text.push_str("Largest changes:\n");
        let rows = flows.largest.iter().map(|flow| {
            let us = |ps: u64| duration_us(Some(ps as f64 / 1e6));
            let size = bytes(flow.size_bytes);
            let (name, ratio) = (
                format!("flow {}", flow.flow_id),
                format!("x {}", number(Some(flow.ratio))),
            );
            vec![name, size, us(flow.a_fct_ps), us(flow.b_fct_ps), ratio]
        });
        text.push_str(&columns(&[&["", "size", "A", "B", "B / A"]], rows));
        text
    }
}

/// Formats a number; a whole one without a decimal point.
fn plain(value: Option<f64>) -> String {
    match value {
        Some(whole) if whole.fract() == 0.0 && whole.abs() < 1e15 => format!("{whole:.0}"),
        other => number(other),
    }
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_string();
    }
    let short: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{short}…")
}

/// Formats rows below a header; all cells but the first are right-aligned.
fn columns(head: &[&[&str]], rows: impl Iterator<Item = Vec<String>>) -> String {
    let head = head
        .iter()
        .map(|cells| cells.iter().map(|cell| cell.to_string()).collect());
    let rows: Vec<Vec<String>> = head.chain(rows).collect();
    let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(i, (cell, &width))| match i {
            0 => format!("  {cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

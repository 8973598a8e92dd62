//! Breakdown of one flow's completion time, in words and as a table: `paceline why`.

use paceline_kernel::order::Sort as _;
use serde::Serialize;

use crate::files::{CREDIT, FlowTime, PAUSED, RETRIED, Stage};
use crate::layout;
use crate::results::{FlowRow, FlowState, IdealFct, Incident};
use crate::text::{bytes, duration_us, number};
use paceline_scenario::NodeNames;

mod ask;
mod deeper;
pub mod faster;
mod job;
mod kept;
mod matrix;
mod same;
mod slowest;

pub use ask::{AskError, Asker, FlowAnswer, Question, SlowAnswer};
pub use deeper::{CauseRow, CutRow, Deeper, MarkRow, NeighbourRow, NicRow, PauseRow, SharedRow, WaitRow};
pub use job::{JobWhy, of_links, path_rows_of, share_text, short_operation};
pub use kept::CloseLook;
pub use matrix::{Blames, Matrix, MatrixPlace, MatrixRow};
pub use slowest::{Main, Slow, slowest, table as slowest_table};

/// Breakdown of one flow's time.
#[derive(Clone, Debug, Serialize)]
pub struct Why<'a> {
    /// Row of the flow in `flows.csv`.
    pub flow: &'a FlowRow<'a>,
    /// Completion time, or the time from its start to the end of the run.
    pub total_ps: u64,
    /// Parts of this time, in chronological order.
    pub parts: Vec<&'a FlowTime>,
    /// Summary in a few sentences.
    pub story: String,
    /// Causes in more detail; only of a run that recorded the flow closely.
    pub deeper: Option<Deeper>,
    /// Incidents of links that its packets crossed and of its hosts, during its time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incidents: Vec<&'a Incident>,
    /// Details as lines of a name and a text.
    #[serde(skip)]
    pub lines: Vec<(String, String)>,
    #[serde(skip)]
    names: &'a NodeNames,
}

impl<'a> Why<'a> {
    /// Breaks down a flow's time by its rows of `flow_time.csv`; returns `None` if there are none. `names` are those of
    /// the run's nodes, `ideal` is the reference of its slowdowns.
    pub fn new(
        flow: &'a FlowRow<'a>,
        times: &'a [FlowTime],
        names: &'a NodeNames,
        ideal: IdealFct,
    ) -> Option<Self> {
        let parts: Vec<&FlowTime> = times.iter().filter(|row| row.flow_id == flow.flow_id).collect();
        if parts.is_empty() {
            return None;
        }
        let mut why = Self {
            flow,
            total_ps: parts.iter().map(|row| row.time_ps).sum(),
            parts,
            story: String::new(),
            deeper: None,
            incidents: Vec::new(),
            lines: Vec::new(),
            names,
        };
        why.story = why.describe(ideal);
        Some(why)
    }

    /// Adds the incidents that concern the flow.
    #[must_use]
    pub fn during(mut self, all: &'a [Incident]) -> Self {
        let (from, hosts) = (self.flow.start_ps, [self.flow.src, self.flow.dst]);
        let to = from + self.total_ps.max(1);
        let crossed = |port: &String| self.parts.iter().any(|part| part.port == *port);
        let concerns = |one: &&Incident| {
            one.overlaps(from, to)
                && (one.ports.iter().any(crossed) || one.hosts.iter().any(|host| hosts.contains(host)))
        };
        let found: Vec<&Incident> = all.iter().filter(concerns).collect();
        let lines = found.iter().enumerate().map(|(i, one)| {
            let name = if i == 0 { "meanwhile" } else { "" };
            (name.to_string(), one.text())
        });
        self.lines.splice(0..0, lines);
        self.incidents = found;
        self
    }

    fn share(&self, ps: u64) -> String {
        match 100.0 * ps as f64 / self.total_ps.max(1) as f64 {
            0.0 => "0 %".to_string(),
            tiny if tiny < 0.05 => "<0.1 %".to_string(),
            small if small < 10.0 => format!("{small:.1} %"),
            percent => format!("{percent:.0} %"),
        }
    }

    /// Returns the time by cause: the sender's parts, and the parts of both directions summed over all hops.
    fn causes(&self) -> Vec<(Stage, &'a str, u64)> {
        let mut causes: Vec<(Stage, &str, u64)> = Vec::new();
        for row in &self.parts {
            let known = causes
                .iter_mut()
                .find(|(stage, part, _)| (*stage, *part) == (row.stage, row.part.as_str()));
            match known {
                Some((_, _, sum)) => *sum += row.time_ps,
                None => causes.push((row.stage, &row.part, row.time_ps)),
            }
        }
        causes.order_by_key(|&(_, _, sum)| std::cmp::Reverse(sum));
        causes
    }

    fn describe(&self, ideal: IdealFct) -> String {
        let mut story = self.describe_time(ideal);
        for (i, (stage, part, sum)) in self.causes().into_iter().take(2).enumerate() {
            // The second only if it matters.
            if i == 0 || sum * 5 >= self.total_ps {
                story.push_str(&format!(" {} of it {}.", self.share(sum), meaning(stage, part)));
            }
        }
        story.push_str(&self.describe_hop());
        story
    }

    /// Describes the flow and its completion time.
    fn describe_time(&self, ideal: IdealFct) -> String {
        let flow = self.flow;
        let mut story = format!(
            "Flow {} ({} from host {} to host {}, {}) ",
            flow.flow_id,
            bytes(flow.size_bytes),
            flow.src,
            flow.dst,
            flow.scheme
        );
        let total = duration_us(Some(self.total_ps as f64 / 1e6));
        let alone = duration_us(Some(flow.ideal_fct_ps as f64 / 1e6));
        let alone = match ideal.author() {
            Some(author) => format!("{alone} that {author} gives for it alone"),
            None => format!("{alone} that it would take alone"),
        };
        match flow.fct_ps {
            // Only a formula, in the fidelity of another simulator, can be more.
            Some(fct) if fct < flow.ideal_fct_ps => {
                story.push_str(&format!("took {total}, less than the {alone}."));
            }
            Some(fct) => story.push_str(&format!(
                "took {total}: {}x the {alone}.",
                number(Some(fct as f64 / flow.ideal_fct_ps.max(1) as f64)),
            )),
            None => story.push_str(&format!(
                "had not finished when the run ended, {total} after its start; this is what its sender did until \
                 then."
            )),
        }
        story
    }

    /// Describes the hop at which its data waited longest, on average over all packets.
    fn describe_hop(&self) -> String {
        let hops = self.hops();
        let data = hops
            .iter()
            .filter(|hop| hop.stage == Stage::Data && hop.mean_ps() > 0.0);
        let Some(worst) = data.max_by(|a, b| a.mean_ps().total_cmp(&b.mean_ps())) else {
            return " None of its packets waited in a queue.".to_string();
        };
        let mut text = format!(
            " The hop that delayed its packets most was {}: {} on average, {} at most",
            self.place(worst.port),
            duration_us(Some(worst.mean_ps() / 1e6)),
            duration_us(Some(
                worst.queueing.1.max(worst.paused.1).max(worst.retried.1) as f64 / 1e6
            )),
        );
        if worst.paused.0 > 0.0 {
            let share = 100.0 * worst.paused.0 / worst.mean_ps();
            let held_back = match self.is_under_credits() {
                true => "without credit",
                false => "while PFC paused it",
            };
            text.push_str(&format!(", {share:.0} % of that {held_back}"));
        }
        if worst.retried.0 > 0.0 {
            let share = 100.0 * worst.retried.0 / worst.mean_ps();
            text.push_str(&format!(
                ", {share:.0} % of that while the link sent frames again"
            ));
        }
        text.push('.');
        text
    }

    /// Returns true if it waited for credits, which replace pauses in its network.
    fn is_under_credits(&self) -> bool {
        self.parts.iter().any(|row| row.part == CREDIT)
    }

    /// Returns the part that took most of its time.
    fn main(&self) -> Option<Main> {
        let (stage, part, time_ps) = self.causes().into_iter().next()?;
        let hops = self.hops().into_iter();
        let waited = hops.filter(|hop| hop.stage == Stage::Data && hop.mean_ps() > 0.0);
        let port = waited
            .max_by(|a, b| a.mean_ps().total_cmp(&b.mean_ps()))
            .map(|hop| hop.port.to_string());
        Some(Main {
            stage,
            part: part.to_string(),
            time_ps,
            share: time_ps as f64 / self.total_ps.max(1) as f64,
            at: port.as_ref().map_or_else(String::new, |port| self.place(port)),
            port,
        })
    }

    fn place(&self, port: &str) -> String {
        self.names.entity(port)
    }

    /// Returns the waiting times of all packets at each port.
    fn hops(&self) -> Vec<Hop<'a>> {
        let mut hops: Vec<Hop<'_>> = Vec::new();
        let on_the_way = |row: &&&FlowTime| matches!(row.stage, Stage::Data | Stage::Ack);
        for row in self.parts.iter().filter(on_the_way) {
            let known = hops
                .iter()
                .position(|hop| (hop.stage, hop.port) == (row.stage, row.port.as_str()));
            let index = known.unwrap_or_else(|| {
                hops.push(Hop {
                    stage: row.stage,
                    port: &row.port,
                    packets: row.packets.unwrap_or(0),
                    queueing: (0.0, 0),
                    paused: (0.0, 0),
                    retried: (0.0, 0),
                });
                hops.len() - 1
            });
            let value = (row.mean_ps.unwrap_or(0.0), row.max_ps.unwrap_or(0));
            match row.part.as_str() {
                "queueing" => hops[index].queueing = value,
                PAUSED | CREDIT => hops[index].paused = value,
                RETRIED => hops[index].retried = value,
                _ => {}
            }
        }
        hops
    }

    /// Formats the whole answer in lines of `width`.
    pub fn text(&self, width: usize) -> String {
        let story = layout::paragraph(&self.story, width);
        if self.parts.is_empty() {
            return story;
        }
        format!("{story}\n{}{}", self.tables(width), self.deeper_text(width))
    }

    /// Formats the details: names in the left column, texts next to them.
    fn deeper_text(&self, width: usize) -> String {
        const INDENT: usize = 13;
        let mut got = String::new();
        for (name, line) in &self.lines {
            let paragraph = layout::paragraph(line, width.saturating_sub(INDENT).max(30));
            for (i, line) in paragraph.lines().enumerate() {
                let head = if i == 0 { name } else { "" };
                got.push_str(format!("{head:INDENT$}{line}").trim_end());
                got.push('\n');
            }
        }
        if got.is_empty() { got } else { format!("\n{got}") }
    }

    /// Formats two tables: the time part by part, with bars, and the waiting times of all packets hop by hop.
    pub fn tables(&self, width: usize) -> String {
        let bar_width = width.saturating_sub(66).clamp(8, 40);
        let rows = self.parts.iter().filter(|row| row.time_ps > 0).map(|row| {
            let index = match row.stage {
                Stage::Sender => format!("sender: host {}", self.flow.src),
                Stage::Data => format!("data: {}", self.place(&row.port)),
                Stage::Host => format!("receiver: host {}", self.flow.dst),
                Stage::Ack => format!("ACK: {}", self.place(&row.port)),
            };
            let bar = bar(row.time_ps, self.total_ps, bar_width);
            let time = duration_us(Some(row.time_ps as f64 / 1e6));
            [index, row.part.clone(), time, self.share(row.time_ps), bar]
        });
        let mut rows: Vec<[String; 5]> = rows.collect();
        // A port is named only in its first row.
        // From the last one on, since a cleared cell equals no other.
        for i in (1..rows.len()).rev() {
            if rows[i][0] == rows[i - 1][0] {
                rows[i][0].clear();
            }
        }
        let total = duration_us(Some(self.total_ps as f64 / 1e6));
        rows.push(["all".into(), String::new(), total, "100 %".into(), String::new()]);
        let head = ["where", "what", "time", "share", ""].map(str::to_string);
        let mut text = align(&head, &rows, &[false, false, true, true, false]);
        let waited = self
            .hops()
            .into_iter()
            .filter(|hop| hop.mean_ps() > 0.0)
            .map(|hop| {
                let us = |ps: f64| duration_us(Some(ps / 1e6));
                let kind = if hop.stage == Stage::Data { "data" } else { "ACKs" };
                [
                    format!("{kind}: {}", self.place(hop.port)),
                    hop.packets.to_string(),
                    us(hop.queueing.0),
                    us(hop.queueing.1 as f64),
                    us(hop.paused.0),
                    us(hop.paused.1 as f64),
                ]
            });
        let waited: Vec<[String; 6]> = waited.collect();
        if !waited.is_empty() {
            let held_back = match self.is_under_credits() {
                true => "no credit: mean",
                false => "paused: mean",
            };
            let head = [
                "waiting, all packets",
                "packets",
                "queued: mean",
                "max",
                held_back,
                "max",
            ];
            text.push('\n');
            let right = [false, true, true, true, true, true];
            text.push_str(&align(&head.map(str::to_string), &waited, &right));
        }
        text
    }
}

/// Waiting times of all packets of a flow at a port: mean and largest of each kind, in ps.
struct Hop<'a> {
    stage: Stage,
    port: &'a str,
    packets: u64,
    queueing: (f64, u64),
    paused: (f64, u64),
    retried: (f64, u64),
}

impl Hop<'_> {
    fn mean_ps(&self) -> f64 {
        self.queueing.0 + self.paused.0 + self.retried.0
    }
}

/// Returns the reason if a flow has no time to account for.
pub fn nothing_to_tell(flow: &FlowRow<'_>) -> Option<&'static str> {
    match flow.status {
        FlowState::NotStarted => Some("it starts after the end of the run"),
        FlowState::Unreachable => Some("there is no path between its hosts"),
        FlowState::Completed | FlowState::Unfinished | FlowState::GivenUp => None,
    }
}

/// Explains a part in words, to follow "81 % of it".
fn meaning(stage: Stage, part: &str) -> &'static str {
    match (stage, part) {
        (Stage::Sender, "sending") => "was the sender putting bytes on the wire",
        (Stage::Sender, "resending") => "was the sender putting bytes on the wire again",
        (Stage::Sender, "window") => {
            "was the sender waiting for its window, with as many bytes in flight as the scheme allowed"
        }
        (Stage::Sender, "pacing") => "was the sender waiting for its pacing rate, which the scheme had set",
        (Stage::Sender, "grants") => "was the sender waiting for what its receiver grants",
        (Stage::Sender, "paused") => {
            "was the sender held back by PFC pauses, when the scheme would have sent"
        }
        (Stage::Sender, CREDIT) => "was the sender waiting for credit, when it would have sent",
        (Stage::Sender, "nic") => "was the sender waiting for its NIC, busy with other packets",
        (Stage::Sender, "recovery") => "was the sender waiting for missing acknowledgements",
        (Stage::Sender, "unreachable") => "was the sender without a path",
        (Stage::Data, "serialisation") => "was its last packet being put on links",
        (Stage::Data, "propagation") => "was its last packet on cables",
        (Stage::Data, "queueing") => "was its last packet queueing behind others",
        (Stage::Data, CREDIT) => "was its last packet waiting for credit",
        (Stage::Data, RETRIED) => "was its last packet waiting for links to send frames again",
        (Stage::Data, _) => "was its last packet waiting at paused ports (PFC)",
        (Stage::Host, _) => "was its last packet in the receiver's host, before that answered",
        (Stage::Ack, "queueing") => "was the last acknowledgement queueing behind others",
        (Stage::Ack, CREDIT) => "was the last acknowledgement waiting for credit",
        (Stage::Ack, "paused") => "was the last acknowledgement waiting at paused ports (PFC)",
        (Stage::Ack, RETRIED) => "was the last acknowledgement waiting for links to send frames again",
        (Stage::Ack, _) => "was the last acknowledgement on its way back",
        (Stage::Sender, _) => "was the sender's",
    }
}

/// Draws a share as a bar of at most `width` characters, in eighths.
fn bar(part: u64, whole: u64, width: usize) -> String {
    let eighths = (part as f64 / whole.max(1) as f64 * width as f64 * 8.0).round() as usize;
    let mut bar = "█".repeat(eighths / 8);
    bar.extend(" ▏▎▍▌▋▊▉".chars().nth(eighths % 8).filter(|&c| c != ' '));
    bar
}

/// Formats rows below a header, with a line between them.
fn align<const N: usize>(head: &[String; N], rows: &[[String; N]], right: &[bool; N]) -> String {
    let mut widths = [0; N];
    for row in std::iter::once(head).chain(rows) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).zip(right).map(|((cell, width), &right)| {
            if right {
                format!("{cell:>width$}")
            } else {
                format!("{cell:width$}")
            }
        });
        let text = cells.collect::<Vec<_>>().join("  ");
        format!("{}\n", text.trim_end())
    };
    let rule = "─".repeat(widths.iter().sum::<usize>() + 2 * (N - 1));
    let body: String = rows.iter().map(line).collect();
    format!("{}{rule}\n{body}", line(head))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::flow_times;
    use crate::results::flow_rows;
    use crate::sample;

    #[test]
    fn where_the_time_of_a_flow_went() {
        let (input, outcome) = sample::incast();
        let rows: Vec<_> = flow_rows(&input, &outcome).collect();
        let times = flow_times(&input.run, &outcome);
        let why = Why::new(&rows[0], &times, &input.names, IdealFct::StoreAndForward).unwrap();
        assert_eq!(Some(why.total_ps), rows[0].fct_ps);
        insta::assert_snapshot!("why", format!("{}\n\n{}", why.story, why.tables(100)));
        assert!(Why::new(&rows[1], &times, &input.names, IdealFct::StoreAndForward).is_none());
    }

    /// The text names the formula if the ideal time is computed by one.
    #[test]
    fn a_formula_is_not_called_alone() {
        let (input, outcome) = sample::incast();
        let rows: Vec<_> = flow_rows(&input, &outcome).collect();
        let times = flow_times(&input.run, &outcome);
        let why = Why::new(&rows[0], &times, &input.names, IdealFct::HpccFormula).unwrap();
        let got = "2.00x the 5.00 µs that HPCC's formula gives for it alone.";
        assert!(why.story.contains(got), "{}", why.story);
    }

    #[test]
    fn bars() {
        assert_eq!(bar(1, 2, 10), "█████");
        assert_eq!(bar(1, 16, 10), "▋");
        assert_eq!(bar(0, 0, 10), "");
    }
}

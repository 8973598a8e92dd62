//! Messages of a job as a table: purpose, group, formula, size, number, source.

use paceline_kernel::sorted::SortedMap;

use super::communication::{Communication, Purpose, SOURCES};
use super::layout::GroupKind;
use super::program::ModelProgram;
use super::stage::StepKind;

/// Equal messages of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Message {
    /// Purpose of the message.
    pub purpose: Purpose,
    /// Kind of collective: `all-gather`, or `send`.
    pub kind: &'static str,
    /// Group of a collective; `None` for a send.
    pub group: Option<GroupKind>,
    /// Ranks of a group, or 2.
    pub members: u32,
    /// Size in bytes, of the whole of an all-gather or a reduce-scatter.
    pub bytes: u64,
}

impl Message {
    /// Returns the bytes that all members send together.
    pub fn sent(&self) -> u64 {
        let others = u64::from(self.members) - 1;
        match self.kind {
            "send" => self.bytes,
            "all-reduce" => self.bytes.saturating_mul(2 * others),
            _ => self.bytes.saturating_mul(others),
        }
    }
}

impl ModelProgram {
    /// Returns the messages of an iteration with their number; a collective counts once for all its members.
    pub fn messages(&self) -> Vec<(Message, u64)> {
        let mut counts: SortedMap<Message, u64> = SortedMap::new();
        for stage in 0..self.plan().parallel.pipeline {
            for step in self.steps(stage) {
                let (purpose, communication) = match step.kind {
                    StepKind::Compute { .. } | StepKind::Receive(_) => continue,
                    StepKind::Send(message) => (message.purpose, None),
                    StepKind::Collective { shape } => {
                        let shape = self.shape(shape);
                        (shape.purpose, Some(shape))
                    }
                };
                let (message, groups) = match (communication, step.kind) {
                    (
                        Some(Communication {
                            kind, group, bytes, ..
                        }),
                        _,
                    ) => {
                        let members = self.layout().size(group);
                        let message = Message {
                            purpose,
                            kind: kind.name(),
                            group: Some(group),
                            members,
                            bytes,
                        };
                        // The first and the last stage take part in one collective: the first counts it.
                        let per_stage = match group {
                            GroupKind::Embedding if stage > 0 => 0,
                            GroupKind::Embedding => self.layout().per_stage(),
                            _ => self.layout().per_stage() / members,
                        };
                        (message, per_stage)
                    }
                    (None, StepKind::Send(sent)) => {
                        let message = Message {
                            purpose,
                            kind: "send",
                            group: None,
                            members: 2,
                            bytes: sent.bytes,
                        };
                        (message, self.layout().per_stage())
                    }
                    _ => continue,
                };
                if groups > 0 {
                    *counts.entry(message).or_default() += u64::from(groups);
                }
            }
        }
        counts.into_iter().collect()
    }

    /// Returns the degrees of parallelism, the batch and the weights as text for a terminal.
    pub fn summary(&self) -> String {
        let plan = self.plan();
        let (parallel, training) = (&plan.parallel, &plan.training);
        let mut text = format!(
            "{} on {} ranks: tensor {}, context {}, data {}, expert {}, pipeline {}\n\
             {} micro-batches of {} * {} tokens at each replica\n",
            plan.model.name,
            parallel.ranks(),
            parallel.tensor,
            parallel.context,
            parallel.data,
            parallel.expert,
            parallel.pipeline,
            plan.micro_batches(),
            training.micro_batch,
            training.sequence
        );
        let busiest = plan.busiest();
        if plan.is_uneven() && !busiest.is_empty() {
            let least = busiest.iter().copied().fold(f64::INFINITY, f64::min);
            let most = busiest.iter().copied().fold(0.0, f64::max);
            text += &format!(
                "tokens of experts by Zipf with exponent {}: the busiest of {} expert-parallel ranks gets {:.2} times the \
                 mean of all, {least:.2} to {most:.2} by layer\n",
                training.experts_skew,
                parallel.expert,
                busiest.iter().sum::<f64>() / busiest.len() as f64
            );
        }
        let mut stages: Vec<((u64, u64), u32)> = Vec::new();
        for weights in (0..parallel.pipeline).map(|stage| plan.weights(stage)) {
            match stages.last_mut() {
                Some((same, count)) if *same == weights => *count += 1,
                _ => stages.push((weights, 1)),
            }
        }
        let mut first = 0;
        for ((all, experts), count) in stages {
            let last = first + count - 1;
            let range = if count == 1 {
                format!("stage {first}")
            } else {
                format!("stages {first} to {last}")
            };
            text += &format!("{range}: P = {all} weights of a rank, Pe = {experts} of its experts\n");
            first += count;
        }
        text
    }

    /// Returns the messages as a table for a terminal.
    pub fn text(&self) -> String {
        let rows = self.messages();
        let header = [
            "message", "group", "ranks", "bytes", "number", "formula", "source",
        ]
        .map(String::from);
        let rows = rows.into_iter().map(|(message, count)| {
            let (name, formula, source) = message.purpose.about();
            [
                format!("{name}, {}", message.kind),
                message.group.map_or("neighbour", GroupKind::name).to_string(),
                message.members.to_string(),
                message.bytes.to_string(),
                count.to_string(),
                formula.to_string(),
                source.to_string(),
            ]
        });
        let rows: Vec<[String; 7]> = std::iter::once(header).chain(rows).collect();
        let width = |column: usize| {
            rows.iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..7).map(width).collect();
        let mut text = String::new();
        for row in &rows {
            let cells = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, &width))| match column {
                    2..=4 => format!("{cell:>width$}"),
                    _ => format!("{cell:<width$}"),
                });
            text += cells.collect::<Vec<_>>().join("  ").trim_end();
            text.push('\n');
        }
        let sent = self.messages().into_iter().fold(0_u64, |sum, (message, count)| {
            sum.saturating_add(message.sent().saturating_mul(count))
        });
        for (name, source) in SOURCES {
            if rows.iter().any(|row| row[6] == name) {
                text += &format!("{name}: {source}\n");
            }
        }
        text + &format!("all ranks together send {sent} bytes in an iteration\n")
    }
}

//! Checks of a program before it runs.

mod collectives;
mod deadlock;
mod extent;
mod messages;

pub use extent::Extent;

use crate::explain::Costs;
use crate::program::{Operation, Program, Work};
use crate::trouble::Trouble;
use crate::walk::{At, walk, walk_freely};

/// Operations of a rank that are examined before the next rank's, so that related ones are close together.
const TURN: u32 = 256;

/// Number of errors of a kind that are listed.
const TOLD: usize = 10;

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of the program's ranks.
    pub ranks: u32,
    /// Number of operations of all ranks.
    pub operations: u64,
    /// Size of its communication.
    pub extent: Extent,
    /// Reasons why it cannot complete: sentences with the names of operations, at most ten, then the number of
    /// further ones.
    pub errors: Vec<String>,
    /// Notes for the user about a program that can complete.
    pub cautions: Vec<String>,
    /// Number of errors and of cautions found, listed or not.
    found: (usize, usize),
    /// True if completion depends on the order of events.
    is_open: bool,
}

/// Checks a program for messages without a receive and receives without a message, as far as counts prove it; for
/// collectives whose members disagree; and for operations that cannot complete in any order of events. Sends of more
/// than `eager` bytes complete only when their receive is posted; `u64::MAX` for none.
///
/// Memory is proportional to the operations in progress, plus a bit or two per operation.
pub fn check(program: &dyn Program, eager: u64) -> Report {
    let mut report = Report {
        ranks: program.ranks(),
        operations: (0..program.ranks())
            .map(|rank| u64::from(program.operations(rank)))
            .sum(),
        ..Report::default()
    };
    let (mut nets, mut seen) = (messages::Nets::default(), collectives::CollectiveSums::default());
    for (at, operation) in operations(program) {
        report.extent.add(program, at, operation);
        nets.add(at.0, operation.work);
        seen.add(program, at, operation.work, &mut report);
    }
    messages::check(program, nets, &mut report);
    collectives::check(program, &seen, &mut report);
    let costs = Costs { eager, ..Costs::FREE };
    let walked = walk(program, &costs);
    if walked.remaining > 0 {
        // The first walk follows one order of events; only this one proves that none completes all.
        let freely = walk_freely(program, &costs);
        if freely.remaining > 0 {
            match deadlock::find(program, &freely, eager) {
                Some(cycle) => report.error(|| told(program, &cycle)),
                // Without a cycle, the errors in messages or collectives reported above block the others.
                None if report.found.0 == 0 => report.error(|| stuck(program, &freely, "can never")),
                None => {}
            }
        } else if report.found.0 == 0 {
            // The order of events decides which messages meet which receives.
            report.is_open = true;
            report.caution(|| {
                format!(
                    "whether all operations are done depends on which messages come first; if all were as quick as they could \
                     be, {}",
                    stuck(program, &walked, "would never")
                )
            });
        }
    }
    report.finish();
    // Programs read lazily, so an error of the file shows only now. It may cause all others, so it comes first.
    if let Some(trouble) = program.trouble() {
        report.errors.insert(0, trouble.to_string());
    }
    report
}

/// Returns all operations, taking turns between ranks.
fn operations(program: &dyn Program) -> impl Iterator<Item = (At, Operation)> {
    let ranks = 0..program.ranks();
    let most = ranks.clone().map(|rank| program.operations(rank)).max();
    // With short turns, a send and its receive are read soon after each other, so few stay open.
    (0..most.unwrap_or(0))
        .step_by(TURN as usize)
        .flat_map(move |begin| {
            ranks.clone().flat_map(move |rank| {
                let end = begin.saturating_add(TURN).min(program.operations(rank));
                (begin..end).map(move |number| ((rank, number), program.operation(rank, number)))
            })
        })
}

fn told(program: &dyn Program, cycle: &deadlock::Cycle) -> String {
    const NAMED: usize = 20;
    let names: Vec<String> = cycle
        .operations
        .iter()
        .take(NAMED)
        .map(|at| program.name(at.0, at.1))
        .collect();
    let more = match cycle.operations.len() - names.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match names.as_slice() {
        [one] => format!("{one} waits for itself"),
        [one, other] if more.is_empty() => format!("{one} and {other} wait for each other"),
        _ => {
            let kind = if cycle.shortest { "shortest cycle" } else { "cycle" };
            format!(
                "operations wait for each other in a cycle (the {kind} has {}): {}{more}, which waits for the first",
                cycle.operations.len(),
                names.join(", which waits for ")
            )
        }
    }
}

/// Describes the first operations that started but cannot complete.
fn stuck(program: &dyn Program, walked: &crate::walk::Walked, can_never: &str) -> String {
    let mut names = Vec::new();
    'ranks: for rank in 0..program.ranks() {
        for number in 0..program.operations(rank) {
            let at = (rank, number);
            if walked.started.has(at) && !walked.done.has(at) {
                let what = match program.operation(rank, number).work {
                    Work::Receive { .. } => "waits for its message",
                    Work::Send { .. } => "waits for its receive",
                    _ => "waits for the other members",
                };
                names.push(format!("{} {what}", program.name(rank, number)));
                if names.len() == TOLD {
                    break 'ranks;
                }
            }
        }
    }
    format!(
        "{} {can_never} be done: {}",
        counted(walked.remaining, "operation"),
        names.join("; ")
    )
}

/// Returns a number with its noun: `3 messages`.
fn counted(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

impl Report {
    fn error(&mut self, text: impl FnOnce() -> String) {
        self.found.0 += 1;
        if self.errors.len() < TOLD {
            self.errors.push(text());
        }
    }

    fn caution(&mut self, text: impl FnOnce() -> String) {
        self.found.1 += 1;
        if self.cautions.len() < TOLD {
            self.cautions.push(text());
        }
    }

    fn finish(&mut self) {
        for (list, found) in [
            (&mut self.errors, self.found.0),
            (&mut self.cautions, self.found.1),
        ] {
            if found > list.len() {
                list.push(format!("and {} more like these", found - list.len()));
            }
        }
    }

    /// Returns the cautions, or the first error with the others in its help.
    ///
    /// # Errors
    /// If the check found an error.
    pub fn into_result(self) -> Result<Vec<String>, Trouble> {
        let Some(first) = self.errors.first() else {
            return Ok(self.cautions);
        };
        let trouble = Trouble::at("the program cannot run to its end", first);
        match self.errors.len() {
            1 => Err(trouble),
            _ => Err(trouble.help(format!("Also: {}", self.errors[1..].join("; ")))),
        }
    }

    /// Returns the report for a terminal.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{}, {}\n",
            counted(u64::from(self.ranks), "rank"),
            counted(self.operations, "operation")
        );
        for error in &self.errors {
            text += &format!("error: {error}\n");
        }
        for caution in &self.cautions {
            text += &format!("warning: {caution}\n");
        }
        if self.errors.is_empty() && !self.is_open {
            text += "all operations can be done\n";
        }
        text
    }
}

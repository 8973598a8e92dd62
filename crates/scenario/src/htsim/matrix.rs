//! Connection matrices: `0->15 start 0 size 2000000`, and triggers that let connections wait for others.

use std::ops::Range;

use paceline_fabric::find_cycle;
use paceline_fabric::spec::{Awaited, Dependency};
use paceline_kernel::sorted::SortedMap;
use paceline_kernel::{Bytes, Span, Time};

use crate::diagnostics::{Diagnostics, Location, Problem, Problems, Source, suggestion};
use crate::ns3::tokens::Read;
use crate::ns3::topology::MOST_PROBLEMS;
use crate::trace::SIZE_MAX;
use crate::warning::{Warning, WarningKind};

use super::Words;

/// Connection from one host to another.
pub struct Flow {
    /// Sending host, from 0.
    pub src: u32,
    /// Receiving host, from 0.
    pub dst: u32,
    /// Number of bytes to transfer.
    pub size: Bytes,
    /// Start time, or the earliest one if a trigger starts the connection.
    pub start: Time,
    /// Position of its line.
    pub span: Range<usize>,
}

/// Connections and their dependencies.
pub struct Matrix {
    /// Number of hosts in the header.
    pub hosts: u32,
    /// All connections, in the order of the file.
    pub flows: Vec<Flow>,
    /// Dependencies between connections, as indices into `flows`.
    pub dependencies: Vec<Dependency>,
}

/// Fields that a connection may have.
const FIELDS: [&str; 8] = [
    "id",
    "start",
    "size",
    "trigger",
    "send_done_trigger",
    "recv_done_trigger",
    "prio",
    "addon",
];

/// Connections that fire a trigger, connections that wait for it, and the number of times it has to be fired.
#[derive(Default)]
struct Trigger {
    sources: Vec<(u32, Awaited)>,
    waiting: Vec<(u32, Location)>,
    kind: Option<(TriggerKind, Location)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TriggerKind {
    /// `oneshot` or `multishot`, which are equivalent because a connection starts once.
    Shot,
    /// Trigger that takes effect after this number of firings.
    Barrier(u64),
}

#[derive(Default)]
struct Reader {
    problems: Problems,
    /// Counts declared in the header, with their positions.
    counts: SortedMap<&'static str, (u64, Location)>,
    flows: Vec<Flow>,
    triggers: SortedMap<u64, Trigger>,
    declared: u64,
    failures: Vec<Location>,
    priorities: Vec<Location>,
}

/// Names of the counts that a header may have.
const COUNTS: [&str; 4] = ["Nodes", "Connections", "Triggers", "Failures"];

/// Parses a connection matrix.
pub(crate) fn read(source: &Source, warnings: &mut Vec<Warning>) -> Result<Matrix, Diagnostics> {
    let mut reader = Reader::default();
    for line in Words::of_lines(source) {
        let result = reader.line(&line);
        reader.problems.take(result);
        if reader.problems.len() >= MOST_PROBLEMS {
            break;
        }
    }
    reader.finish(source, warnings)
}

fn number(word: &str, what: &str, location: &Location) -> Result<u64, Problem> {
    u64::read(word).map_err(|why| why.problem(word, what, location))
}

fn node(word: &str, location: &Location) -> Result<u32, Problem> {
    u32::read(word).map_err(|why| why.problem(word, "a host", location))
}

impl Reader {
    fn line(&mut self, line: &Words<'_>) -> Result<(), Problem> {
        let mut words = line.iter();
        let Some((first, location)) = words.next() else {
            return Ok(());
        };
        if let Some(name) = COUNTS.iter().find(|name| name.eq_ignore_ascii_case(first)) {
            let (word, at) = words
                .next()
                .ok_or_else(|| Problem::new(format!("{name} has no number")).at(&location))?;
            self.counts.insert(name, (number(word, "a count", &at)?, at));
            return Ok(());
        }
        if first.contains("->") {
            return self.connection(line, words, first, &location);
        }
        match first {
            "trigger" => self.trigger(words, &location),
            "failure" => {
                self.failures.push(line.place());
                Ok(())
            }
            _ => Err(Problem::new(format!("unknown word `{first}`"))
                .at(&location)
                .label("expected a connection, a trigger or a count")
                .help("a connection is `0->15 start 0 size 2000000`")),
        }
    }

    fn connection<'a>(
        &mut self,
        line: &Words<'_>,
        mut words: impl Iterator<Item = (&'a str, Location)>,
        pair: &str,
        location: &Location,
    ) -> Result<(), Problem> {
        let (src, dst) = pair.split_once("->").unwrap_or((pair, ""));
        let (src, dst) = (node(src, location)?, node(dst, location)?);
        let flow = self.flows.len() as u32;
        let (mut size, mut start, mut trigger) = (None, None, None);
        while let Some((name, at)) = words.next() {
            if name == "addon" {
                continue;
            }
            if !FIELDS.contains(&name) {
                return Err(Problem::new(format!("unknown field `{name}` of a connection"))
                    .at(&at)
                    .label("no such field")
                    .help(suggestion(name, FIELDS)));
            }
            let (word, at) = words
                .next()
                .ok_or_else(|| Problem::new(format!("{name} has no value")).at(&at))?;
            match name {
                "size" => size = Some((number(word, "a size in bytes", &at)?, at)),
                "start" => start = Some(start_time(word, &at)?),
                "trigger" => trigger = Some((number(word, "a trigger", &at)?, at)),
                "send_done_trigger" => self.fires(word, &at, flow, Awaited::Acknowledged)?,
                "recv_done_trigger" => self.fires(word, &at, flow, Awaited::Received)?,
                "prio" => self.priorities.push(at),
                // The id is only checked: flows are known by their position here.
                _ => {
                    number(word, "a flow's id", &at)?;
                }
            }
        }
        let missing = |what: &str| Problem::new(format!("the connection has no {what}")).at(&line.place());
        let Some((size, at)) = size else {
            return Err(missing("size").help("htsim sends without end then; give it a size in bytes"));
        };
        if size == 0 || size > SIZE_MAX {
            let message = format!("a flow of {size} bytes: expected 1 to {SIZE_MAX}");
            return Err(Problem::new(message).at(&at));
        }
        let start = match (start, &trigger) {
            (Some(_), Some((_, at))) => {
                let message = "the connection has both a start and a trigger: expected one of them";
                return Err(Problem::new(message).at(at));
            }
            (None, None) => return Err(missing("start and no trigger")),
            (start, _) => start.unwrap_or(Time::ZERO),
        };
        if let Some((id, at)) = trigger {
            self.triggers.entry(id).or_default().waiting.push((flow, at));
        }
        let start_of_line = line.start + line.text.len() - line.text.trim_start().len();
        self.flows.push(Flow {
            src,
            dst,
            size: Bytes::new(size),
            start,
            span: start_of_line..start_of_line + line.text.trim().len(),
        });
        Ok(())
    }

    fn fires(&mut self, word: &str, at: &Location, flow: u32, awaited: Awaited) -> Result<(), Problem> {
        let id = number(word, "a trigger", at)?;
        let trigger = self.triggers.entry(id).or_default();
        trigger.sources.push((flow, awaited));
        Ok(())
    }

    fn trigger<'a>(
        &mut self,
        mut words: impl Iterator<Item = (&'a str, Location)>,
        location: &Location,
    ) -> Result<(), Problem> {
        let (mut id, mut kind, mut count) = (None, None, None);
        while let Some((name, at)) = words.next() {
            match name {
                "oneshot" | "multishot" => kind = Some(TriggerKind::Shot),
                // The count may come later in the line.
                "barrier" => kind = Some(TriggerKind::Barrier(0)),
                "id" | "count" => {
                    let (word, at) = words
                        .next()
                        .ok_or_else(|| Problem::new(format!("{name} has no value")).at(&at))?;
                    let value = Some(number(word, "a whole number", &at)?);
                    match name {
                        "id" => id = value,
                        _ => count = value,
                    }
                }
                _ => {
                    return Err(Problem::new(format!("unknown word `{name}` of a trigger"))
                        .at(&at)
                        .help(suggestion(
                            name,
                            ["id", "count", "oneshot", "multishot", "barrier"],
                        )));
                }
            }
        }
        let id = id.ok_or_else(|| Problem::new("the trigger has no id").at(location))?;
        let kind = kind.ok_or_else(|| {
            Problem::new("the trigger has no kind: expected oneshot, multishot or barrier").at(location)
        })?;
        let kind = match kind {
            TriggerKind::Barrier(_) => {
                let missing = || Problem::new("the barrier has no count").at(location);
                TriggerKind::Barrier(count.ok_or_else(missing)?)
            }
            TriggerKind::Shot => TriggerKind::Shot,
        };
        self.declared += 1;
        let known = &mut self.triggers.entry(id).or_default().kind;
        if let Some((_, first)) = known {
            return Err(Problem::new(format!("trigger {id} is given twice"))
                .at(location)
                .see(first, "the first is here"));
        }
        *known = Some((kind, location.clone()));
        Ok(())
    }

    /// Resolves triggers to dependencies and checks the counts of the header.
    fn finish(mut self, source: &Source, warnings: &mut Vec<Warning>) -> Result<Matrix, Diagnostics> {
        let found = [
            ("Connections", self.flows.len() as u64),
            ("Triggers", self.declared),
            ("Failures", self.failures.len() as u64),
        ];
        // Lines with errors are missing in the counts.
        if self.problems.len() == 0 {
            for (name, found) in found {
                if let Some((announced, location)) =
                    self.counts.get(name).filter(|(count, _)| *count != found)
                {
                    let message = format!("{name} {announced} are announced, {found} follow");
                    self.problems.push(Problem::new(message).at(location));
                }
            }
        }
        let mut dependencies = Vec::new();
        for (id, trigger) in &self.triggers {
            let result = trigger.dependencies(*id);
            dependencies.extend(self.problems.take(result).unwrap_or_default());
            if self.problems.len() >= MOST_PROBLEMS {
                break;
            }
        }
        if self.problems.len() == 0
            && let Some(flow) = find_cycle(self.flows.len(), &dependencies)
        {
            let message = "the flow waits for itself, by way of others: it would never start";
            let location = source.at(self.flows[flow as usize].span.clone());
            self.problems.push(Problem::new(message).at(&location));
        }
        if let Some(location) = self.priorities.first() {
            warnings.push(
                Warning::new(
                    WarningKind::LeftOut,
                    "prio is left out: the flows of a host are served round robin",
                )
                .at(location),
            );
        }
        if let Some(location) = self.failures.first() {
            warnings.push(
                Warning::new(
                    WarningKind::LeftOut,
                    format!(
                        "failures are left out ({}); use `[[network.failure]]`",
                        self.failures.len()
                    ),
                )
                .at(location),
            );
        }
        let hosts = self.counts.get("Nodes").map_or(0, |(count, _)| *count);
        self.problems.or(Matrix {
            hosts: u32::try_from(hosts).unwrap_or(u32::MAX),
            flows: self.flows,
            dependencies,
        })
    }
}

impl Trigger {
    fn dependencies(&self, id: u64) -> Result<Vec<Dependency>, Problem> {
        // A trigger that no flow waits for has no effect, so it need not be complete.
        let Some((_, location)) = self.waiting.first() else {
            return Ok(Vec::new());
        };
        let wrong = |message: String| Err(Problem::new(message).at(location));
        if self.sources.is_empty() {
            return wrong(format!("nothing fires trigger {id}: the flow would never start"));
        }
        let fired = self.sources.len() as u64;
        match &self.kind {
            None => {
                return wrong(format!(
                    "there is no trigger {id}: expected `trigger id {id} oneshot`"
                ));
            }
            Some((TriggerKind::Shot, _)) if fired == 1 => {}
            Some((TriggerKind::Barrier(count), _)) if *count == fired => {}
            Some((TriggerKind::Barrier(count), location)) => {
                let message = format!(
                    "the barrier {id} opens at {count}, and {fired} flows fire it: expected {fired} (flows wait for \
                     all of others here)"
                );
                return Err(Problem::new(message).at(location));
            }
            Some((TriggerKind::Shot, location)) => {
                let message = format!(
                    "{fired} flows fire trigger {id}, of which the first would count: flows wait for all of others \
                     here"
                );
                return Err(Problem::new(message).at(location).help(format!(
                    "make it a barrier: `trigger id {id} barrier count {fired}`"
                )));
            }
        }
        let waits = self.waiting.iter().flat_map(|(flow, _)| {
            self.sources.iter().map(|&(after, awaited)| Dependency {
                flow: *flow,
                after,
                awaited,
                delay: Span::ZERO,
            })
        });
        Ok(waits.collect())
    }
}

/// Parses a start time in picoseconds, which may be a decimal number.
fn start_time(word: &str, at: &Location) -> Result<Time, Problem> {
    let start = f64::read(word).map_err(|why| why.problem(word, "a start in picoseconds", at))?;
    if start > Time::LATEST.as_ps() as f64 {
        let message = format!("`{word}` is out of range for a start in picoseconds: expected at most a day");
        return Err(Problem::new(message).at(at));
    }
    Ok(Time::from_ps(start as u64))
}

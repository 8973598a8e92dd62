//! Traces of flows: tables with named columns, in any order.

use std::ops::Range;

use paceline_fabric::find_cycle;
use paceline_fabric::spec::{Awaited, Dependency, NodeId};
use paceline_kernel::sorted::SortedMap;
use paceline_kernel::units::QuantityError;
use paceline_kernel::{Bytes, Span, Time};

use crate::diagnostics::{Location, Problem, Source, nearest};
use crate::traffic::Message;
use crate::visible::csv_text;

/// Flow in a trace.
pub(crate) struct Row {
    pub(crate) message: Message,
    pub(crate) label: Option<String>,
    pub(crate) class: Option<u8>,
    pub(crate) scheme: Option<String>,
    /// Number of its connection, if given.
    pub(crate) connection: Option<u64>,
    pub(crate) span: Range<usize>,
}

/// Flows of a parsed trace.
pub(crate) struct Trace {
    pub(crate) rows: Vec<Row>,
    /// Dependencies, as indices into `rows`.
    pub(crate) dependencies: Vec<Dependency>,
    /// Unknown columns, which are ignored.
    pub(crate) unknown: Vec<String>,
    /// Number of flows left out because the run that wrote the trace never started them.
    pub(crate) not_started: usize,
}

/// Columns of a trace.
pub(crate) const COLUMNS: [&str; 17] = [
    "flow_id",
    "label",
    "scheme",
    "src",
    "dst",
    "priority",
    "connection",
    "size_bytes",
    "start_ps",
    "start_us",
    "start_s",
    "after",
    "after_ack",
    "after_start",
    "delay_ps",
    "delay_us",
    "delay_s",
];

/// Further columns of `flows.csv` with results, which a replay produces again.
const RESULTS: [&str; 9] = [
    "fct_ps",
    "ideal_fct_ps",
    "slowdown",
    "retransmitted_bytes",
    "sent_bytes",
    "unscheduled_bytes",
    "ce_packets",
    "ue_packets",
    "status",
];

/// Largest size of a flow, in bytes.
pub(crate) const SIZE_MAX: u64 = Bytes::LARGEST.get();
/// Columns for times, with their units.
const STARTS: [(&str, &str); 3] = [("start_ps", "ps"), ("start_us", "us"), ("start_s", "s")];
const DELAYS: [(&str, &str); 3] = [("delay_ps", "ps"), ("delay_us", "us"), ("delay_s", "s")];
const WAITS: [(&str, Awaited); 3] = [
    ("after", Awaited::Received),
    ("after_ack", Awaited::Acknowledged),
    ("after_start", Awaited::Started),
];

/// Returns a reader of the lines of a table, its header among them.
pub(crate) fn reader(source: &Source) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .has_headers(false)
        .from_reader(source.text().as_bytes())
}

/// Returns the names of a trace's columns.
pub(crate) fn columns(source: &Source) -> Result<Vec<String>, Problem> {
    let header = reader(source).into_records().next().transpose();
    let header = header.map_err(|error| csv_problem(&error, source))?;
    Ok(header
        .iter()
        .flat_map(|names| names.iter().map(str::to_string))
        .collect())
}

/// Reads a trace, except for the columns in `ignore`.
pub(crate) fn read(source: &Source, ignore: &[String]) -> Result<Trace, Problem> {
    let mut reader = reader(source);
    let mut records = reader.records();
    let header = match records.next() {
        Some(record) => record.map_err(|error| csv_problem(&error, source))?,
        None => {
            return Err(
                Problem::new("the trace is empty: expected a line with names of columns").at(&source.end()),
            );
        }
    };
    let columns = Columns::of(source, &header, ignore)?;
    let mut trace = Trace {
        rows: Vec::new(),
        dependencies: Vec::new(),
        unknown: columns.unknown(ignore),
        not_started: 0,
    };
    let (mut ids, mut waiting) = (SortedMap::new(), Vec::new());
    for (number, record) in (0u64..).zip(records) {
        let record = record.map_err(|error| csv_problem(&error, source))?;
        let line = Line {
            source,
            columns: &columns,
            record: &record,
        };
        if line.text("status") == Some("not-started") {
            trace.not_started += 1;
            continue;
        }
        let id = line.number("flow_id", u64::MAX)?.unwrap_or(number);
        if ids.insert(id, trace.rows.len() as u32).is_some() {
            return Err(line.wrong("flow_id", format!("two flows are called {id}")));
        }
        if WAITS.iter().any(|(name, _)| line.text(name).is_some()) {
            waiting.push((trace.rows.len() as u32, record.clone()));
        }
        trace.rows.push(line.row()?);
    }
    // Flows may wait for those of later rows, so all identifiers have to be known.
    for (flow, record) in &waiting {
        let line = Line {
            source,
            columns: &columns,
            record,
        };
        line.waits(*flow, &ids, &mut trace.dependencies)?;
    }
    if let Some(flow) = find_cycle(trace.rows.len(), &trace.dependencies) {
        let location = source.at(trace.rows[flow as usize].span.clone());
        return Err(
            Problem::new("the flow waits for itself, by way of others: it would never start")
                .at(&location)
                .label("one of those that wait in a circle"),
        );
    }
    Ok(trace)
}

/// Columns of the table by name, and the units of its times.
struct Columns {
    names: Vec<String>,
    start: Option<(&'static str, &'static str)>,
    delay: Option<(&'static str, &'static str)>,
}

impl Columns {
    fn of(source: &Source, header: &csv::StringRecord, ignore: &[String]) -> Result<Self, Problem> {
        // Ignored columns keep their position under an empty name, which is no column that is looked up.
        let names: Vec<String> = header
            .iter()
            .map(|name| {
                let ignored = ignore.iter().any(|ignored| ignored == name);
                if ignored { String::new() } else { name.to_string() }
            })
            .collect();
        let location = source.at(line_of(source, header));
        let found = header
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", ");
        let missing = |name: &str, what: &str| {
            let help = match nearest(name, header.iter()) {
                Some(near) => format!("is `{near}` meant? found {found}"),
                None => format!("found {found}"),
            };
            Problem::new(format!("the trace has no column {what}"))
                .at(&location)
                .label("the columns")
                .help(help)
        };
        let has = |name: &str| names.iter().any(|known| known == name);
        let twice = names
            .iter()
            .enumerate()
            .find(|(i, name)| !name.is_empty() && names[..*i].contains(name));
        if let Some((_, name)) = twice {
            return Err(Problem::new(format!("the trace has two columns `{name}`")).at(&location));
        }
        for name in ["src", "dst", "size_bytes"] {
            if !has(name) {
                return Err(missing(name, &format!("`{name}`")));
            }
        }
        let one_of = |all: [(&'static str, &'static str); 3]| {
            let present: Vec<_> = all.into_iter().filter(|(name, _)| has(name)).collect();
            match present[..] {
                [] => Ok(None),
                [one] => Ok(Some(one)),
                [(a, _), (b, _), ..] => Err(Problem::new(format!(
                    "the trace has both `{a}` and `{b}`: expected one of them"
                ))
                .at(&location)
                .help(format!("leave one out: ignore = [\"{b}\"]"))),
            }
        };
        let start = one_of(STARTS)?;
        if start.is_none() && !WAITS.iter().any(|(name, _)| has(name)) {
            return Err(missing("start_ps", "`start_ps`, `start_us` or `start_s`"));
        }
        let delay = one_of(DELAYS)?;
        Ok(Self { names, start, delay })
    }

    fn unknown(&self, ignore: &[String]) -> Vec<String> {
        let known = |name: &String| {
            name.is_empty()
                || COLUMNS.contains(&name.as_str())
                || RESULTS.contains(&name.as_str())
                || ignore.contains(name)
        };
        self.names.iter().filter(|name| !known(name)).cloned().collect()
    }
}

/// Line of the table.
struct Line<'a> {
    source: &'a Source,
    columns: &'a Columns,
    record: &'a csv::StringRecord,
}

impl Line<'_> {
    fn index(&self, column: &str) -> Option<usize> {
        self.columns.names.iter().position(|name| name == column)
    }

    /// Returns the text in a column; `None` if there is no such column or the field is empty.
    fn text(&self, column: &str) -> Option<&str> {
        let text = self.record.get(self.index(column)?)?;
        (!text.is_empty()).then_some(text)
    }

    /// Returns the position of a field, or of the whole line if it has quotes, which make fields hard to locate.
    fn place(&self, column: &str) -> Location {
        let line = line_of(self.source, self.record);
        let text = &self.source.text()[line.clone()];
        let Some(index) = self.index(column).filter(|_| !text.contains('"')) else {
            return self.source.at(line);
        };
        let before: usize = text.split(',').take(index).map(|field| field.len() + 1).sum();
        let field = text.split(',').nth(index).unwrap_or_default();
        let start = line.start + before + (field.len() - field.trim_start().len());
        self.source.at(start..start + field.trim().len())
    }

    fn wrong(&self, column: &str, message: String) -> Problem {
        Problem::new(message).at(&self.place(column))
    }

    fn missing(&self, column: &str) -> Problem {
        self.wrong(column, format!("the flow has no `{column}`"))
    }

    /// Returns an integer up to `most`.
    fn number(&self, column: &str, most: u64) -> Result<Option<u64>, Problem> {
        let Some(text) = self.text(column) else {
            return Ok(None);
        };
        match text.parse() {
            Ok(value) if value <= most => Ok(Some(value)),
            _ => {
                let expected = if most == u64::MAX {
                    "a whole number, not negative".to_string()
                } else {
                    format!("a whole number from 0 to {most}")
                };
                let message = format!("`{text}` is not a {column}: expected {expected}");
                Err(self.wrong(column, message).label(format!("expected {expected}")))
            }
        }
    }

    fn time(&self, column: Option<(&str, &str)>) -> Result<Option<Span>, Problem> {
        let Some((column, unit)) = column else {
            return Ok(None);
        };
        let Some(text) = self.text(column) else {
            return Ok(None);
        };
        let span = format!("{text}{unit}").parse().map_err(|error| {
            if let QuantityError::TooLarge { .. } = error {
                return self.wrong(column, error.to_string());
            }
            let expected = format!("a number of {unit}, not negative");
            self.wrong(column, format!("`{text}` is not a time: expected {expected}"))
                .label(format!("expected {expected}"))
        });
        span.map(Some)
    }

    fn row(&self) -> Result<Row, Problem> {
        let node = |column| -> Result<NodeId, Problem> {
            let number = self.number(column, u32::MAX.into())?;
            Ok(NodeId(number.ok_or_else(|| self.missing(column))? as u32))
        };
        let size = self.number("size_bytes", SIZE_MAX)?;
        let size = size.ok_or_else(|| self.missing("size_bytes"))?;
        let start = self.time(self.columns.start)?;
        let waits = WAITS.iter().any(|(name, _)| self.text(name).is_some());
        let start = match (start, self.columns.start) {
            (Some(start), _) => start,
            (None, Some((column, _))) if !waits => return Err(self.missing(column)),
            // A flow with neither a start nor dependencies starts at once.
            (None, _) => Span::ZERO,
        };
        let class = self.number("priority", u64::MAX)?;
        if let Some(class) = class.filter(|class| !(1..=7).contains(class)) {
            return Err(self
                .wrong("priority", format!("priority {class}: expected 1 to 7"))
                .label("expected 1 to 7")
                .help("class 0 is for control packets"));
        }
        Ok(Row {
            message: Message {
                src: node("src")?,
                dst: node("dst")?,
                size: Bytes::new(size),
                start: Time::ZERO + start,
            },
            label: self.text("label").map(|cell| csv_text(cell).to_string()),
            class: class.map(|class| class as u8),
            scheme: self.text("scheme").map(str::to_string),
            connection: self.number("connection", u64::MAX)?,
            span: line_of(self.source, self.record),
        })
    }

    /// Adds the dependencies of a flow: numbers separated by blanks or semicolons.
    fn waits(&self, flow: u32, ids: &SortedMap<u64, u32>, list: &mut Vec<Dependency>) -> Result<(), Problem> {
        let delay = self.time(self.columns.delay)?.unwrap_or(Span::ZERO);
        for (column, awaited) in WAITS {
            let words = self.text(column).unwrap_or_default();
            for word in words.split([' ', ';']).filter(|word| !word.is_empty()) {
                let known = word.parse().ok().and_then(|id: u64| ids.get(&id));
                let Some(&after) = known else {
                    let named = if self.index("flow_id").is_some() {
                        "flows are named by their `flow_id`"
                    } else {
                        "without a column `flow_id` flows are counted from 0"
                    };
                    return Err(self
                        .wrong(column, format!("there is no flow `{word}` to wait for"))
                        .help(named));
                };
                list.push(Dependency {
                    flow,
                    after,
                    awaited,
                    delay,
                });
            }
        }
        Ok(())
    }
}

/// Returns the span of a record's line without its end.
pub(crate) fn line_of(source: &Source, record: &csv::StringRecord) -> Range<usize> {
    let start = record.position().map_or(0, |position| position.byte() as usize);
    let rest = &source.text()[start.min(source.text().len())..];
    // The reader counts the end of the previous line as part of the record.
    let start = start + (rest.len() - rest.trim_start_matches(['\r', '\n']).len());
    let rest = source.text()[start..].lines().next().unwrap_or_default();
    start..start + rest.trim_end().len()
}

/// Returns the problem of a text that is no table.
pub(crate) fn csv_problem(error: &csv::Error, source: &Source) -> Problem {
    let at = error.position().map_or(0, |position| position.byte() as usize);
    let mut record = csv::StringRecord::new();
    let mut position = csv::Position::new();
    position.set_byte(at as u64);
    record.set_position(Some(position));
    let location = source.at(line_of(source, &record));
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => Problem::new(format!("the line has {len} fields, the header {expected_len}")).at(&location),
        _ => Problem::new(format!("this is not CSV: {error}")).at(&location),
    }
}

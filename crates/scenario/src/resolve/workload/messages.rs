//! Messages that a host sends one after the other, each a gap after the last packet of the previous one was created:
//! the traffic of a network with credits.

use std::ops::Range;

use paceline_fabric::spec::NodeId;
use paceline_kernel::sorted::SortedMap;
use paceline_kernel::{Bytes, Span, Time};

use crate::diagnostics::{Problem, Source};
use crate::resolve::fill::{fill, filled};
use crate::resolve::hosts::{self, Holds};
use crate::resolve::unresolved::{Block, Connections, Paced, UnresolvedFlows};
use crate::schema::{self};
use crate::traffic::Message;

use super::maker::Maker;

/// Columns of a file of messages.
const COLUMNS: [&str; 6] = ["src_lid", "dst_lid", "msg_bytes", "n_msgs", "gap_ns", "start_ms"];

/// Messages of one host.
struct Sends {
    src: NodeId,
    dst: NodeId,
    size: Bytes,
    count: u32,
    start: Time,
    gap: Span,
}

impl Maker<'_, '_> {
    pub(super) fn messages(
        &mut self,
        written: &mut schema::Workload,
        unresolved: &mut UnresolvedFlows,
    ) -> Result<(), Problem> {
        if !self.cx.profile().paced_messages {
            let message = "messages that hosts send one after the other are simulated under credits only";
            return Err(Problem::new(message)
                .at(&self.location)
                .help("set `fidelity = \"ib-omnet\"`, or use `closed-loop`"));
        }
        let class = self.class(written)?.unwrap_or(3);
        let label = fill(&mut written.label, "messages".to_string());
        let block = written.messages.get_or_insert_default();
        let until = filled!(block.until: Messages).into_inner().0;
        let all = match block.file.is_some() {
            true => self.sends_of_file(block)?,
            false => self.sends_of_block(block)?,
        };
        // Checked before the messages are created, which might exhaust memory.
        self.affordable(all.iter().map(|sends| f64::from(sends.count)).sum())?;
        for sends in all {
            let &Sends {
                src,
                dst,
                size,
                start,
                ..
            } = &sends;
            if let Some(other) = unresolved.paced_from(src) {
                let message = format!(
                    "host {} sends messages of two workloads: a host has one source",
                    src.0
                );
                return Err(Problem::new(message)
                    .at(&self.location)
                    .see(other, "the other one"));
            }
            let block = Block {
                workload: self.seeds.workload,
                class,
                dport: 100,
                label: self.labels.index(&label),
                scheme: self.scheme,
                connections: Connections::PerMessage,
                location: self.location.clone(),
                paced: Some(Paced {
                    gap: sends.gap,
                    until,
                }),
            };
            let message = Message {
                src,
                dst,
                size,
                start,
            };
            unresolved.add(block, (0..sends.count).map(|_| message), &[]);
        }
        Ok(())
    }

    /// Returns the messages that the block describes: one receiver per sender, or one for all.
    fn sends_of_block(&mut self, block: &mut schema::Messages) -> Result<Vec<Sends>, Problem> {
        let receivers = block
            .receivers
            .as_ref()
            .ok_or_else(|| self.missing("receivers"))?;
        let to = hosts::set(self.cx, self.net, receivers, Holds::Repeats)?;
        let senders = filled!(block.senders: Messages);
        let from = hosts::set(self.cx, self.net, &senders, Holds::Hosts)?;
        if to.len() != 1 && to.len() != from.len() {
            let message = format!(
                "{} receivers for {} senders: expected one, or one each",
                to.len(),
                from.len()
            );
            return Err(Problem::new(message).at(&self.cx.texts.of_value(receivers)));
        }
        let count = self.count(&mut block.messages, 1, "messages")?;
        let size = self.size(&filled!(block.size: Messages))?;
        let gap = filled!(block.gap: Messages).into_inner();
        let start = filled!(block.start: Messages).into_inner();
        let pairs = from.into_iter().enumerate();
        let sends = pairs.map(|(i, src)| Sends {
            src,
            dst: if to.len() == 1 { to[0] } else { to[i] },
            size,
            count,
            start,
            gap,
        });
        Ok(sends.collect())
    }

    /// Returns the messages in a file, one line per sender. Hosts are numbered from 1, like local identifiers.
    fn sends_of_file(&mut self, block: &mut schema::Messages) -> Result<Vec<Sends>, Problem> {
        let path = block.file.as_mut().ok_or_else(|| self.missing("file"))?;
        let location = self.cx.texts.of_value(path);
        let source = self
            .cx
            .files
            .read(path.get_ref(), "the file of messages", &location)?;
        *path.get_mut() = self.cx.keep("messages", "csv", &source);
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .has_headers(false)
            .from_reader(source.text().as_bytes());
        let broken =
            |error: csv::Error| Problem::new(format!("the file of messages: {error}")).at(&source.end());
        let mut records = reader.records();
        let header = records.next().transpose().map_err(broken)?.unwrap_or_default();
        if !header.iter().eq(COLUMNS) {
            let columns = header.iter().collect::<Vec<_>>().join(",");
            let message = format!("the columns are `{columns}`: expected `{}`", COLUMNS.join(","));
            return Err(Problem::new(message).at(&source.at(0..source.text().find('\n').unwrap_or(0))));
        }
        let hosts: Vec<NodeId> = self.net.topology.hosts().collect();
        let (mut all, mut seen) = (Vec::new(), SortedMap::new());
        for record in records {
            let record = record.map_err(broken)?;
            let sends = sends_of_line(&source, &record, &hosts)?;
            let line = line_of(&source, &record);
            if let Some(first) = seen.insert(sends.src, line.clone()) {
                let message = format!(
                    "another line for host {} of the file: a host has one source",
                    &record[0]
                );
                let problem = Problem::new(message).at(&source.at(line));
                return Err(problem.see(&source.at(first), "the first one"));
            }
            all.push(sends);
        }
        Ok(all)
    }
}

/// Returns the position of a record's line.
fn line_of(source: &Source, record: &csv::StringRecord) -> Range<usize> {
    let begin = record.position().map_or(0, |position| position.byte() as usize);
    let line = source.text()[begin..].lines().next().unwrap_or_default();
    begin..begin + line.len()
}

/// Parses a line of a file.
fn sends_of_line(source: &Source, record: &csv::StringRecord, hosts: &[NodeId]) -> Result<Sends, Problem> {
    let wrong = |message: String| Problem::new(message).at(&source.at(line_of(source, record)));
    let number = |column: usize, least: u64, most: u64| {
        let (name, text) = (COLUMNS[column], record.get(column).unwrap_or_default());
        let value = text
            .parse::<u64>()
            .ok()
            .filter(|value| (least..=most).contains(value));
        value.ok_or_else(|| {
            wrong(format!(
                "`{text}` as {name}: expected a whole number from {least} to {most}"
            ))
        })
    };
    let host = |column: usize| Ok(hosts[number(column, 1, hosts.len() as u64)? as usize - 1]);
    let text = record.get(5).unwrap_or_default();
    let start = match text.parse::<f64>() {
        Ok(ms) if (0.0..1e9).contains(&ms) => Time::from_ps((ms * 1e9).round() as u64),
        _ => {
            return Err(wrong(format!(
                "`{text}` as start_ms: expected milliseconds, such as 5.0"
            )));
        }
    };
    Ok(Sends {
        src: host(0)?,
        dst: host(1)?,
        size: Bytes::new(number(2, 1, crate::trace::SIZE_MAX)?),
        count: number(3, 1, u64::from(u32::MAX))? as u32,
        gap: Span::from_ns(number(4, 0, 1_000_000_000_000)?),
        start,
    })
}

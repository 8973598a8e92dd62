//! Connection matrices: `0->15 start 0 size 2000000`.

use std::ops::RangeInclusive;

use super::input::{InputError, Word};
use super::spec::{Connection, Matrix, Start, TriggerKind};

/// Header words whose counts this reader uses.
const COUNTS: [&str; 4] = ["Nodes", "Connections", "Triggers", "Failures"];
/// First words of the lines after the header, except for connections.
const LINES: [&str; 2] = ["trigger", "failure"];
/// Fields of a connection line.
const FIELDS: [&str; 8] = [
    "id",
    "start",
    "trigger",
    "size",
    "send_done_trigger",
    "recv_done_trigger",
    "prio",
    "msg",
];
/// Words of a trigger line.
const TRIGGER: [&str; 5] = ["id", "oneshot", "multishot", "barrier", "count"];
/// Maximum number of hosts: a switch indexes destinations with 16 bits.
pub(super) const MOST_HOSTS: u32 = 65_000;
/// Range of trigger ids.
const IDS: RangeInclusive<u32> = 1..=i32::MAX as u32;
/// Largest flow id that a line may give. Larger ones are generated.
const MOST_ID: u32 = 999_999_999;
/// Latest start, us: the simulator stores it in 32 bits.
const LATEST: f32 = 4_294_967_040.0;

/// A connection line whose trigger ids are not resolved yet.
struct Line<'a> {
    own: Connection,
    /// Ids of the trigger that starts the flow, of the one activated by the sender's end, and of the one for the
    /// receiver's end.
    waits: Option<(u32, Word<'a>)>,
    then: Option<(u32, Word<'a>)>,
    received: Option<(u32, Word<'a>)>,
}

struct Reader<'a> {
    counts: [Option<(u32, Word<'a>)>; 4],
    lines: Vec<Line<'a>>,
    triggers: Vec<(u32, TriggerKind)>,
    messages: bool,
}

impl Matrix {
    /// Reads a connection matrix. `messages` is true if connections may have several messages.
    pub fn read(text: &str, messages: bool) -> Result<Self, InputError> {
        let mut reader = Reader {
            counts: [None, None, None, None],
            lines: Vec::new(),
            triggers: Vec::new(),
            messages,
        };
        let mut from = 0;
        for line in text.split_inclusive('\n') {
            let words = split(line, from, reader.is_header())?;
            if !words.is_empty() {
                reader.line(&words)?;
            }
            from += line.len();
        }
        reader.finish(text.trim_end().len())
    }
}

/// Splits a line as the simulator does: at single blanks. Returns no words for header lines that it ignores.
fn split(line: &str, from: usize, is_header: bool) -> Result<Vec<Word<'_>>, InputError> {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let wrong = |at: usize, length: usize, message: &str, expected: &str| {
        let at = from + at;
        Err(InputError::new(at..at + length, message, expected))
    };
    if is_header && (line.trim().is_empty() || line.starts_with('#')) || line.is_empty() {
        return Ok(Vec::new());
    }
    if line.starts_with('#') {
        return wrong(
            0,
            1,
            "a comment among the connections",
            "expected comments only above the first",
        );
    }
    let mut words: Vec<Word<'_>> = Vec::new();
    let mut at = 0;
    let line = line.strip_suffix(' ').unwrap_or(line);
    for word in line.split(' ') {
        let text = match word.strip_suffix('\r') {
            // The simulator parses the number and ignores the carriage return.
            Some(text) if at + word.len() == line.len() && text.ends_with(|c: char| c.is_ascii_digit()) => {
                text
            }
            _ => word,
        };
        if text.is_empty() {
            return wrong(at, 1, "a blank too many", "expected one between two words");
        }
        if let Some(index) = text.find(char::is_whitespace) {
            let message = "a white character that is no blank";
            return wrong(at + index, 1, message, "expected one blank between two words");
        }
        let span = from + at..from + at + text.len();
        words.push(Word { text, span });
        at += word.len() + 1;
        // Such a line may hold any text, so its blanks are not checked.
        let is_ignored = |first: &str| {
            is_header && !COUNTS.contains(&first) && !LINES.contains(&first) && !first.contains("->")
        };
        if words.len() == 1 && is_ignored(text) {
            break;
        }
    }
    Ok(words)
}

/// Returns the word that has to follow `of`.
fn value<'a, 'b>(
    words: &mut impl Iterator<Item = &'b Word<'a>>,
    of: &Word<'a>,
) -> Result<&'b Word<'a>, InputError> {
    let missing = || of.wrong(format!("{} has no value", of.text), "expected a value after it");
    words.next().ok_or_else(missing)
}

impl<'a> Reader<'a> {
    fn line(&mut self, words: &[Word<'a>]) -> Result<(), InputError> {
        let first = &words[0];
        if first.text.contains("->") {
            return self.connection(words);
        }
        if first.text == "trigger" {
            return self.trigger(words);
        }
        if first.text == "failure" {
            return Err(first.wrong(
                "the simulator aborts at the first packet that meets a failure of this kind",
                "expected no such line; the option `-failed` slows links down",
            ));
        }
        let Some(index) = COUNTS.iter().position(|name| *name == first.text) else {
            // The simulator ignores all other words of the header.
            return match self.is_header() {
                true => Ok(()),
                false => Err(first
                    .wrong(
                        format!("unknown word `{}`", first.text),
                        "expected a connection or a trigger",
                    )
                    .among(["trigger"])),
            };
        };
        if !self.is_header() {
            let message = format!("`{}` behind a connection or a trigger", first.text);
            return Err(first.wrong(message, "expected it in the header"));
        }
        let word = value(&mut words[1..].iter(), first)?;
        let most = if index == 0 { MOST_HOSTS } else { 100_000_000 };
        let count = word.number("a count", 0..=most)?;
        self.counts[index] = Some((count, word.clone()));
        Ok(())
    }

    fn is_header(&self) -> bool {
        self.lines.is_empty() && self.triggers.is_empty()
    }

    fn hosts(&self, at: &Word<'a>) -> Result<u32, InputError> {
        let missing = || {
            at.wrong(
                "a connection comes before the header",
                "expected `Nodes` and a count first",
            )
        };
        Ok(self.counts[0].as_ref().ok_or_else(missing)?.0)
    }

    fn connection(&mut self, words: &[Word<'a>]) -> Result<(), InputError> {
        let first = &words[0];
        let hosts = self.hosts(first)?;
        let (src, dst) = first.text.split_once("->").unwrap_or((first.text, ""));
        let middle = first.span.start + src.len();
        let host = |text: &'a str, from: usize| {
            let word = Word {
                text,
                span: from..from + text.len(),
            };
            word.number("a host", 0..=hosts.saturating_sub(1))
        };
        let (src, dst) = (host(src, first.span.start)?, host(dst, middle + 2)?);
        if src == dst {
            return Err(first.wrong("a host sends to itself", "expected two hosts"));
        }
        let (mut id, mut start, mut waits, mut size, mut then) = (None, None, None, None, None);
        let (mut received, mut is_message) = (None, None);
        let mut rest = words[1..].iter().peekable();
        while let Some(name) = rest.next() {
            let trigger = |word: &Word<'a>| Ok((word.number("a trigger", IDS)?, word.clone()));
            match name.text {
                "id" => id = Some(value(&mut rest, name)?.number("a flow id", 1..=MOST_ID)?),
                "size" => {
                    let word = value(&mut rest, name)?;
                    size = Some(word.number("a size in bytes", 0..=i32::MAX as u32)?);
                }
                "start" => start = Some(value(&mut rest, name)?.number("a start in us", 0.0..=LATEST)?),
                "trigger" if id.is_none() => {
                    let expected = "expected `id K` before `trigger`: the simulator aborts without it";
                    return Err(name.wrong("a connection with a trigger and without an id", expected));
                }
                "trigger" => waits = Some(trigger(value(&mut rest, name)?)?),
                "send_done_trigger" => then = Some(trigger(value(&mut rest, name)?)?),
                // The simulator resolves this trigger, but never fires it.
                "recv_done_trigger" => received = Some(trigger(value(&mut rest, name)?)?),
                // The simulator reads the priority and ignores it.
                "prio" => drop(value(&mut rest, name)?),
                "msg" if self.messages => {
                    is_message = Some(name);
                    match rest.peek() {
                        None => {
                            let expected = "expected a number after it: the simulator reads beyond the line";
                            return Err(name.wrong("`msg` at the end of a line", expected));
                        }
                        Some(word) if word.text.parse::<f64>().is_ok() => {
                            word.number("a number of a message", 1..=i32::MAX)?;
                            rest.next();
                        }
                        // The number may be missing; the simulator does not use it.
                        Some(_) => {}
                    }
                }
                "msg" => {
                    return Err(name.wrong(
                        "a message of a connection",
                        "expected the option `-conn_reuse` with it",
                    ));
                }
                _ => {
                    let message = format!("unknown field `{}` of a connection", name.text);
                    return Err(name.wrong(message, "expected a field").among(FIELDS));
                }
            }
        }
        let start = match (start, &waits) {
            (Some(us), None) => Start::At(us as u64),
            (None, Some(_)) => Start::Trigger(0),
            (Some(_), Some((_, word))) => {
                return Err(word.wrong("a start and a trigger", "expected one of them"));
            }
            (None, None) => {
                return Err(first.wrong("the connection has no start", "expected `start T` or `trigger J`"));
            }
        };
        let no_size = || first.wrong("the connection has no size", "expected `size B`, in bytes");
        let known = id.is_some() && self.lines.iter().any(|line| line.own.id == id);
        if self.messages {
            if let Some((_, word)) = waits.as_ref().or(then.as_ref()).or(received.as_ref()) {
                return Err(word.wrong(
                    "a trigger where connections have several messages",
                    "expected none: the simulator aborts there",
                ));
            }
            if id.is_none() {
                return Err(first.wrong("the connection has no id", "expected `id K`"));
            }
            if known && is_message.is_none() {
                return Err(first.wrong("a second line of a connection", "expected `msg` in it"));
            }
            if size == Some(0) {
                return Err(first.wrong("a message without data", "expected a size of at least 1"));
            }
        } else if known {
            let message = format!("a second connection with the id {}", id.unwrap_or_default());
            return Err(first.wrong(message, "expected each id once"));
        }
        let own = Connection {
            src,
            dst,
            id,
            start,
            size: size.ok_or_else(no_size)?,
            then: None,
            is_message: self.messages && known,
        };
        self.lines.push(Line {
            own,
            waits,
            then,
            received,
        });
        Ok(())
    }

    fn trigger(&mut self, words: &[Word<'a>]) -> Result<(), InputError> {
        let (mut id, mut kind, mut count) = (None, None, None);
        let mut rest = words[1..].iter();
        while let Some(name) = rest.next() {
            if kind.is_some() && ["oneshot", "multishot", "barrier"].contains(&name.text) {
                return Err(name.wrong("a second kind of a trigger", "expected one"));
            }
            match name.text {
                "oneshot" => kind = Some(TriggerKind::OneShot),
                "multishot" => kind = Some(TriggerKind::MultiShot),
                "barrier" => kind = Some(TriggerKind::Barrier(0)),
                "id" => id = Some(value(&mut rest, name)?.number("a trigger", IDS)?),
                "count" => {
                    count = Some(value(&mut rest, name)?.number("a number of activations", 1..=u32::MAX)?);
                }
                _ => {
                    let message = format!("unknown word `{}` of a trigger", name.text);
                    return Err(name.wrong(message, "expected one of a trigger's").among(TRIGGER));
                }
            }
        }
        let first = &words[0];
        let id = id.ok_or_else(|| first.wrong("the trigger has no id", "expected `id J`"))?;
        let kind = match kind {
            None => {
                return Err(first.wrong(
                    "the trigger has no kind",
                    "expected oneshot, multishot or barrier",
                ));
            }
            Some(TriggerKind::Barrier(_)) => {
                let missing = || first.wrong("the barrier has no count", "expected `count C`");
                TriggerKind::Barrier(count.ok_or_else(missing)?)
            }
            Some(kind) => kind,
        };
        if self.triggers.iter().any(|known| known.0 == id) {
            return Err(first.wrong(format!("trigger {id} is declared twice"), "expected each id once"));
        }
        self.triggers.push((id, kind));
        Ok(())
    }

    fn finish(self, end: usize) -> Result<Matrix, InputError> {
        // A file that was cut off shows in its counts first.
        let found = [
            ("Connections", 1, self.lines.len()),
            ("Triggers", 2, self.triggers.len()),
        ];
        for (name, index, found) in found {
            let announced = self.counts[index].as_ref();
            let (count, span) = announced.map_or((0, end..end), |(count, word)| {
                (*count as usize, word.span.clone())
            });
            if count != found {
                let message = format!("{name} {count} are announced, {found} follow");
                return Err(InputError::new(span, message, format!("expected {found}")));
            }
        }
        if let Some((count, word)) = self.counts[3].as_ref().filter(|(count, _)| *count > 0) {
            return Err(word.wrong(
                format!("{count} failures are announced"),
                "expected 0; the option `-failed` slows links down",
            ));
        }
        let Some((hosts, _)) = self.counts[0] else {
            return Err(InputError::new(
                end..end,
                "the matrix has no header",
                "expected `Nodes` and a count",
            ));
        };
        let triggers = self.triggers;
        // Resolved after all lines: a trigger may be declared below the connection that names it.
        let index = |(id, word): &(u32, Word<'_>)| {
            let known = triggers.iter().position(|trigger| trigger.0 == *id);
            let unknown = || {
                word.wrong(
                    format!("there is no trigger {id}"),
                    format!("expected a line `trigger id {id} oneshot`"),
                )
            };
            known.map(|known| known as u32).ok_or_else(unknown)
        };
        let connections = self.lines.iter().map(|line| {
            let mut own = line.own;
            if let Some(trigger) = &line.waits {
                own.start = Start::Trigger(index(trigger)?);
            }
            own.then = line.then.as_ref().map(index).transpose()?;
            // Only for the error of an unknown trigger, since this one is never fired.
            line.received.as_ref().map(index).transpose()?;
            Ok(own)
        });
        Ok(Matrix {
            hosts,
            connections: connections.collect::<Result<_, InputError>>()?,
            triggers,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_cut_to_microseconds_and_triggers_are_found() {
        let text = "Nodes 4\nConnections 2\nTriggers 1\n0->1 id 7 start 1.9 size 10 send_done_trigger 3\n\
                    2->3 id 8 trigger 3 size 5\ntrigger id 3 barrier count 2\n";
        let matrix = Matrix::read(text, false).unwrap();
        assert_eq!(matrix.connections[0].start, Start::At(1));
        assert_eq!(matrix.connections[0].then, Some(0));
        assert_eq!(matrix.connections[1].start, Start::Trigger(0));
        assert_eq!(matrix.triggers, [(3, TriggerKind::Barrier(2))]);
    }

    /// The simulator ignores the other lines of the header, and accepts carriage returns.
    #[test]
    fn headers_and_ends_of_lines_are_as_loose_as_the_simulators() {
        let text = "# one\n\n  \nNodes 4\r\nAuthor:  some\tone\nConnections 1\n\n0->1 start 0 size 1 \n";
        assert_eq!(Matrix::read(text, false).unwrap().connections.len(), 1);
        let text = "Nodes 4\r\nConnections 1\r\n0->1 start 0 size 1\r\n";
        assert_eq!(Matrix::read(text, false).unwrap().hosts, 4);
    }

    #[test]
    fn mistakes_have_a_place() {
        for (text, index, message) in [
            (
                "Nodes 4\nConnections 2\n0->1 start 0 size 1\n",
                "2",
                "Connections 2 are announced, 1 follow",
            ),
            (
                "Nodes 4\nConnections 1\n0->4 start 0 size 1\n",
                "4",
                "a host is 4",
            ),
            (
                "Nodes 4\nConnections 1\n0->1 id 1 trigger 9 size 1\n",
                "9",
                "there is no trigger 9",
            ),
            (
                "Nodes 4\nConnections 1\n0->1 strt 0 size 1\n",
                "strt",
                "unknown field `strt` of a connection",
            ),
            (
                "Nodes 4\nConnections 1\n0->1 start x size 1\n",
                "x",
                "`x` is not a start in us",
            ),
            (
                "Nodes 4\nConnections 1\nFailures 1\n0->1 start 0 size 1\n",
                "1",
                "1 failures are announced",
            ),
            (
                "Nodes 4\nConnections 1\n0->1 trigger 9 id 1 size 1\n",
                "trigger",
                "a connection with a trigger and without an id",
            ),
            (
                "Nodes 4\nConnections 2\n0->1 id 1 start 0 size 1\n1->2 id 1 start 0 size 1\n",
                "1->2",
                "a second connection with the id 1",
            ),
            (
                "Nodes 4\nConnections 1\n0->1 start 0  size 1\n",
                " ",
                "a blank too many",
            ),
            (
                "Nodes 4\nConnections 1\n0->1 start\t0 size 1\n",
                "\t",
                "a white character that is no blank",
            ),
            (
                "Nodes 4\nConnections 1\n0->1 start 0 size 1\n# one\n",
                "#",
                "a comment among the connections",
            ),
            (
                "Nodes 4\nConnections 1\n0->1 start 0 size 1\nNodes 4\n",
                "Nodes",
                "`Nodes` behind a connection or a trigger",
            ),
            (
                "Nodes 4\nConnections 1\n0->1 start 0 size 1 recv_done_trigger 2\n",
                "2",
                "there is no trigger 2",
            ),
            (
                "Nodes 4\nConnections 0\nTriggers 1\ntrigger id 1 oneshot barrier count 2\n",
                "barrier",
                "a second kind of a trigger",
            ),
        ] {
            let error = Matrix::read(text, false).unwrap_err();
            assert_eq!(
                (&text[error.span.clone()], error.message.as_str()),
                (index, message)
            );
        }
    }
}

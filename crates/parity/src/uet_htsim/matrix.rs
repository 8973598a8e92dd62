//! Connection matrices: `0->15 start 0 size 2000000`.

use super::input::{InputError, Word, lines};
use super::spec::{Connection, Matrix, Start, TriggerKind};

/// Words of the header that are followed by a count that matters.
const COUNTS: [&str; 4] = ["Nodes", "Connections", "Triggers", "Failures"];
/// Fields of a connection.
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
/// Words of a trigger.
const TRIGGER: [&str; 5] = ["id", "oneshot", "multishot", "barrier", "count"];
/// The largest number of hosts: a switch counts destinations in 16 bits.
pub(super) const MOST_HOSTS: u32 = 65_000;
/// The largest flow id that a line may give.
const MOST_ID: u32 = 999_999_999;
/// The latest start, us: a day.
const LATEST: f32 = 86_400e6;

/// A connection before its triggers are known.
struct Line<'a> {
    own: Connection,
    /// Ids of triggers: the one it waits for, the one that its end activates.
    waits: Option<(u32, Word<'a>)>,
    then: Option<(u32, Word<'a>)>,
}

struct Reader<'a> {
    counts: [Option<(u32, Word<'a>)>; 4],
    lines: Vec<Line<'a>>,
    triggers: Vec<(u32, TriggerKind)>,
    messages: bool,
}

impl Matrix {
    /// Reads a connection matrix; `messages` says whether connections have several.
    pub fn read(text: &str, messages: bool) -> Result<Self, InputError> {
        let mut reader = Reader {
            counts: [None, None, None, None],
            lines: Vec::new(),
            triggers: Vec::new(),
            messages,
        };
        for words in lines(text) {
            reader.line(&words)?;
        }
        reader.finish(text.trim_end().len())
    }
}

/// The word after one that needs it.
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
        let Some(place) = COUNTS.iter().position(|name| *name == first.text) else {
            // Other words of the header have no meaning.
            return match self.lines.is_empty() && self.triggers.is_empty() {
                true => Ok(()),
                false => Err(first
                    .wrong(
                        format!("unknown word `{}`", first.text),
                        "expected a connection or a trigger",
                    )
                    .among(COUNTS.into_iter().chain(["trigger"]))),
            };
        };
        let word = value(&mut words[1..].iter(), first)?;
        let most = if place == 0 { MOST_HOSTS } else { 100_000_000 };
        let count = word.number("a count", 0..=most)?;
        self.counts[place] = Some((count, word.clone()));
        Ok(())
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
        let mut is_message = None;
        let mut rest = words[1..].iter().peekable();
        while let Some(name) = rest.next() {
            let trigger = |word: &Word<'a>| Ok((word.number("a trigger", 0..=u32::MAX)?, word.clone()));
            match name.text {
                "id" => id = Some(value(&mut rest, name)?.number("a flow id", 1..=MOST_ID)?),
                "size" => {
                    let word = value(&mut rest, name)?;
                    size = Some(word.number("a size in bytes", 0..=i32::MAX as u32)?);
                }
                "start" => start = Some(value(&mut rest, name)?.number("a start in us", 0.0..=LATEST)?),
                "trigger" => waits = Some(trigger(value(&mut rest, name)?)?),
                "send_done_trigger" => then = Some(trigger(value(&mut rest, name)?)?),
                // It never fires, and priorities have no effect.
                "recv_done_trigger" | "prio" => drop(value(&mut rest, name)?),
                "msg" if self.messages => {
                    is_message = Some(name);
                    rest.next_if(|word| word.text.parse::<u32>().is_ok());
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
            if let Some((_, word)) = waits.as_ref().or(then.as_ref()) {
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
        self.lines.push(Line { own, waits, then });
        Ok(())
    }

    fn trigger(&mut self, words: &[Word<'a>]) -> Result<(), InputError> {
        let (mut id, mut kind, mut count) = (None, None, None);
        let mut rest = words[1..].iter();
        while let Some(name) = rest.next() {
            match name.text {
                "oneshot" => kind = Some(TriggerKind::OneShot),
                "multishot" => kind = Some(TriggerKind::MultiShot),
                "barrier" => kind = Some(TriggerKind::Barrier(0)),
                "id" => id = Some((value(&mut rest, name)?).number("a trigger", 0..=u32::MAX)?),
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
        let found = [
            ("Connections", 1, self.lines.len()),
            ("Triggers", 2, self.triggers.len()),
        ];
        for (name, place, found) in found {
            let announced = self.counts[place].as_ref();
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
        let place = |(id, word): &(u32, Word<'_>)| {
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
                own.start = Start::Trigger(place(trigger)?);
            }
            own.then = line.then.as_ref().map(place).transpose()?;
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
                    2->3 trigger 3 size 5\ntrigger id 3 barrier count 2\n";
        let matrix = Matrix::read(text, false).unwrap();
        assert_eq!(matrix.connections[0].start, Start::At(1));
        assert_eq!(matrix.connections[0].then, Some(0));
        assert_eq!(matrix.connections[1].start, Start::Trigger(0));
        assert_eq!(matrix.triggers, [(3, TriggerKind::Barrier(2))]);
    }

    #[test]
    fn mistakes_have_a_place() {
        for (text, place, message) in [
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
                "Nodes 4\nConnections 1\n0->1 trigger 9 size 1\n",
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
        ] {
            let error = Matrix::read(text, false).unwrap_err();
            assert_eq!(
                (&text[error.span.clone()], error.message.as_str()),
                (place, message)
            );
        }
    }
}

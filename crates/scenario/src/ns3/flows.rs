//! Flow files of ns-3 programs.

use std::ops::Range;

use paceline_kernel::{Bytes, Time};

use crate::diagnostics::{Diagnostics, Problem, Problems, Source};
use crate::ns3::format::InputFormat;
use crate::schema::Fidelity;
use crate::trace::SIZE_MAX;
use crate::warning::{Warning, WarningKind};

use super::quantities;
use super::tokens::{Token, Tokens};
use super::topology::MOST_PROBLEMS;

/// Line of a flow file.
pub(crate) struct Line {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) class: u8,
    pub(crate) dport: u16,
    pub(crate) size: Bytes,
    pub(crate) start: Time,
    /// Time at which the sender stops, in formats that have one.
    pub(crate) stop: Option<Time>,
    pub(crate) span: Range<usize>,
}

/// Columns of a flow file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    /// Columns `src dst priority port bytes start`, of HPCC's ns-3 and most of its relatives.
    WithPort,
    /// Columns `src dst priority bytes start`, of ConWeave.
    Five,
    /// Columns `src dst priority bytes start stop`, of the simulator of TCD's authors.
    WithStop,
    /// Columns `src dst priority packets start stop`, of ns3-rdma; the value is the payload of a packet in bytes.
    Packets(u64),
}

impl Columns {
    /// Returns the columns of a file without a configuration. The simulator of TCD's authors has as many as HPCC's,
    /// so the fidelity decides between them; ConWeave has five.
    pub(crate) fn of(source: &Source, fidelity: Fidelity) -> Self {
        let mut tokens = Tokens::new(source);
        let _count = tokens.next();
        match tokens.words_of_next_line() {
            _ if fidelity.name() == InputFormat::TcdNs3.name() => Self::WithStop,
            5 => Self::Five,
            _ => Self::WithPort,
        }
    }

    pub(crate) const fn names(self) -> &'static str {
        match self {
            Self::WithPort => "src dst priority port bytes start",
            Self::Five => "src dst priority bytes start",
            Self::WithStop => "src dst priority bytes start stop",
            Self::Packets(_) => "src dst priority packets start stop",
        }
    }
}

/// Reads a flow file: the number of flows, then a line for each.
pub(crate) fn read(
    source: &Source,
    columns: Columns,
    fidelity: Fidelity,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Line>, Diagnostics> {
    let mut tokens = Tokens::new(source);
    let count: u64 = tokens.value("the number of flows")?;
    let mut lines = Vec::new();
    let mut problems = Problems::default();
    for i in 0..count {
        let of = LineContext {
            columns,
            fidelity,
            i,
            count,
        };
        let Some(first) = problems.take(tokens.word(&of.what("source"))) else {
            break;
        };
        match line(&mut tokens, &first, &of) {
            Ok(line) => lines.push(line),
            Err(problem) => {
                problems.push(problem);
                if problems.len() >= MOST_PROBLEMS {
                    break;
                }
                // The rest of a faulty line is skipped, so that the next one is read from its start.
                tokens.finish_line(&first);
            }
        }
    }
    // After an error, the position where the flows end is uncertain.
    if problems.len() == 0
        && let Some(extra) = tokens.next()
    {
        let location = tokens.place(&extra);
        warnings.push(
            Warning::new(
                WarningKind::LeftOut,
                format!("what follows the {count} announced flows is ignored"),
            )
            .at(&location),
        );
    }
    problems.or(lines)
}

/// Context of the line that is read: format, number and total.
struct LineContext {
    columns: Columns,
    fidelity: Fidelity,
    i: u64,
    count: u64,
}

impl LineContext {
    fn what(&self, field: &str) -> String {
        format!("the {field} of flow {} of {}", self.i + 1, self.count)
    }

    fn seconds(&self, tokens: &Tokens<'_>, token: &Token<'_>, what: &str) -> Result<Time, Problem> {
        let span = quantities::seconds(token.text, self.fidelity, "2.000001")
            .map_err(|why| why.problem(token.text, what, &tokens.place(token)))?;
        Ok(Time::from_ps(span.as_ps()))
    }
}

fn line(tokens: &mut Tokens<'_>, first: &Token<'_>, of: &LineContext) -> Result<Line, Problem> {
    let src = tokens.read(first, "a node")?;
    let dst = tokens.value(&of.what("destination"))?;
    let pg = tokens.word(&of.what("priority class"))?;
    let class: u32 = tokens.read(&pg, "a priority class")?;
    if !(1..=7).contains(&class) {
        return Err(Problem::new(format!("priority class {class}: expected 1 to 7"))
            .at(&tokens.place(&pg))
            .label("expected 1 to 7"));
    }
    let dport = match of.columns {
        Columns::WithPort => tokens.value(&of.what("port"))?,
        Columns::Five | Columns::WithStop | Columns::Packets(_) => 0,
    };
    let written = tokens.word(&of.what("size"))?;
    let size: u64 = tokens.read(&written, &of.what("size"))?;
    let size = match of.columns {
        Columns::Packets(bytes) => size.saturating_mul(bytes),
        // ConWeave's simulator does the same.
        Columns::Five => size.max(1),
        Columns::WithPort | Columns::WithStop => size,
    };
    if size > SIZE_MAX {
        return Err(
            Problem::new(format!("a flow of {size} bytes: expected {SIZE_MAX} at most"))
                .at(&tokens.place(&written))
                .label("too many bytes"),
        );
    }
    let start = tokens.word(&of.what("start time"))?;
    let at = of.seconds(tokens, &start, "a start time")?;
    let (stop, last) = match of.columns {
        Columns::WithStop | Columns::Packets(_) => {
            let stop = tokens.word(&of.what("stop time"))?;
            let at = of.seconds(tokens, &stop, "a stop time")?;
            (Some(at), stop.span.end)
        }
        Columns::WithPort | Columns::Five => (None, start.span.end),
    };
    Ok(Line {
        src,
        dst,
        class: class as u8,
        dport,
        size: Bytes::new(size),
        start: at,
        stop,
        span: first.span.start..last,
    })
}

/// Writes flows given in packets as a flow file in bytes.
pub(crate) fn in_bytes(lines: &[Line]) -> String {
    let mut text = format!("{}\n", lines.len());
    for line in lines {
        let Line {
            src,
            dst,
            class,
            size,
            start,
            ..
        } = line;
        // Picoseconds are written as seconds with all digits, so that no start is rounded.
        let (s, ps) = (
            start.as_ps() / 1_000_000_000_000,
            start.as_ps() % 1_000_000_000_000,
        );
        text.push_str(&format!("{src} {dst} {class} 0 {} {s}.{ps:012}\n", size.get()));
    }
    text
}

/// Warns of senders that would have stopped before the end of the run.
pub(crate) fn stopped(lines: &[Line], end: Time, source: &Source) -> Option<Warning> {
    let early = lines
        .iter()
        .filter_map(|line| line.stop)
        .filter(|stop| *stop < end)
        .count();
    let text = format!("{early} flows would stop before the end of the run; Paceline sends them completely");
    (early > 0).then(|| Warning::new(WarningKind::LeftOut, text).of_file(source))
}

#[cfg(test)]
mod tests {
    use super::Columns;
    use crate::diagnostics::Source;
    use crate::schema::{EXACT, NS3_HPCC};

    /// Also where the simulator of TCD's authors is left out, as it is here.
    #[test]
    fn only_its_fidelity_reads_the_columns_of_tcd() {
        for (text, columns) in [
            ("1\n0 1 3 100 2000 2.0\n", Columns::WithPort),
            ("1\n0 1 3 2000 2.0\n", Columns::Five),
        ] {
            let source = Source::new("flow.txt", text);
            for fidelity in [EXACT, NS3_HPCC] {
                assert_eq!(Columns::of(&source, fidelity), columns);
            }
        }
    }
}

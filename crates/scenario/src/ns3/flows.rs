//! Flow files.

use std::ops::Range;

use paceline_kernel::{Bytes, Time};

use crate::diagnostics::{Problem, Source};
use crate::schema::Fidelity;
use crate::trace::SIZE_MAX;
use crate::warning::{Warning, WarningKind};

use super::quantities;
use super::tokens::{Token, Tokens};

/// A line of a flow file.
pub(crate) struct Line {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) class: u8,
    pub(crate) dport: u16,
    pub(crate) size: Bytes,
    pub(crate) start: Time,
    /// When the sender stops, where the file says so.
    pub(crate) stop: Option<Time>,
    pub(crate) span: Range<usize>,
}

/// Reads a flow file: the number of flows, then `src dst pg dport size start` for each; of the simulator of TCD's authors
/// `src dst pg size start stop`.
pub(crate) fn read(
    source: &Source,
    fidelity: Fidelity,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Line>, Problem> {
    let tcd = fidelity == Fidelity::TcdNs3;
    let mut tokens = Tokens::new(source);
    let count: u64 = tokens.value("the number of flows")?;
    let mut lines = Vec::new();
    for i in 0..count {
        let what = |field: &str| format!("the {field} of flow {} of {count}", i + 1);
        let first = tokens.word(&what("source"))?;
        let src = tokens.read(&first, "a node")?;
        let dst = tokens.value(&what("destination"))?;
        let pg = tokens.word(&what("priority class"))?;
        let class: u32 = tokens.read(&pg, "a priority class")?;
        if !(1..=7).contains(&class) {
            return Err(Problem::new(format!("priority class {class}: expected 1 to 7"))
                .at(&tokens.place(&pg))
                .label("expected 1 to 7"));
        }
        let dport = if tcd { 0 } else { tokens.value(&what("port"))? };
        let written = tokens.word(&what("size"))?;
        let size: u64 = tokens.read(&written, &what("size"))?;
        if size > SIZE_MAX {
            return Err(
                Problem::new(format!("a flow of {size} bytes: expected {SIZE_MAX} at most"))
                    .at(&tokens.place(&written))
                    .label("too many bytes"),
            );
        }
        let start = tokens.word(&what("start time"))?;
        let at = seconds(&tokens, &start, "a start time", fidelity)?;
        let stop = match tcd {
            true => Some(tokens.word(&what("stop time"))?),
            false => None,
        };
        let last = stop.as_ref().unwrap_or(&start).span.end;
        let stop = match &stop {
            Some(stop) => Some(seconds(&tokens, stop, "a stop time", fidelity)?),
            None => None,
        };
        lines.push(Line {
            src,
            dst,
            class: class as u8,
            dport,
            size: Bytes::new(size),
            start: at,
            stop,
            span: first.span.start..last,
        });
    }
    if let Some(extra) = tokens.next() {
        let place = tokens.place(&extra);
        let text = format!("what follows the {count} announced flows is ignored");
        warnings.push(Warning::new(WarningKind::LeftOut, text).at(&place));
    }
    Ok(lines)
}

/// An instant.
fn seconds(tokens: &Tokens<'_>, token: &Token<'_>, what: &str, fidelity: Fidelity) -> Result<Time, Problem> {
    let span = quantities::seconds(token.text, fidelity).ok_or_else(|| {
        Problem::new(format!(
            "`{}` is not {what}: expected seconds, such as 2.000001",
            token.text
        ))
        .at(&tokens.place(token))
        .label("expected seconds")
    })?;
    Ok(Time::from_ps(span.as_ps()))
}

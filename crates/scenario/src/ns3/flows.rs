//! Flow files.

use std::ops::Range;

use paceline_kernel::{Bytes, Time};

use crate::diagnostics::{Problem, Source};
use crate::schema::Fidelity;
use crate::trace::SIZE_MAX;

use super::Tokens;
use super::quantities;

/// A line of a flow file.
pub(crate) struct Line {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) class: u8,
    pub(crate) dport: u16,
    pub(crate) size: Bytes,
    pub(crate) start: Time,
    pub(crate) span: Range<usize>,
}

/// Reads a flow file: the number of flows, then `src dst pg dport size start` for each.
pub(crate) fn read(
    source: &Source,
    fidelity: Fidelity,
    warnings: &mut Vec<String>,
) -> Result<Vec<Line>, Problem> {
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
        let dport = tokens.value(&what("port"))?;
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
        let at = quantities::seconds(start.text, fidelity).ok_or_else(|| {
            Problem::new(format!(
                "`{}` is not a start time: expected seconds, such as 2.000001",
                start.text
            ))
            .at(&tokens.place(&start))
            .label("expected seconds")
        })?;
        lines.push(Line {
            src,
            dst,
            class: class as u8,
            dport,
            size: Bytes::new(size),
            start: Time::from_ps(at.as_ps()),
            span: first.span.start..start.span.end,
        });
    }
    if let Some(extra) = tokens.next() {
        let place = tokens.place(&extra);
        warnings.push(format!(
            "{place}: what follows the {count} announced flows is ignored"
        ));
    }
    Ok(lines)
}

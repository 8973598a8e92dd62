//! Decisions made outside a run for flows under the scheme `external`, recorded so that the run can be repeated
//! without the process that made them.

use std::fmt::Write as _;

use paceline_congestion::SendLimits;
use paceline_kernel::{BitRate, Bytes};

use crate::diagnostics::{Problem, Source};

/// Scheme whose flows are controlled from outside the run.
pub const EXTERNAL: &str = "external";

/// Header line of the file.
const HEADER: &str = "stop,at_ps,flow_id,rate_bps,window_bytes";

/// Decisions made outside a run, in order.
///
/// A run with external flows stops repeatedly: a stop is an instant at which answers are awaited, or the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// Decisions in the order of their stops.
    pub made: Vec<Decision>,
    /// Stop at which the run was ended early, and its time in ps; both 0 before the first stop. `None` if the run
    /// completed.
    pub ended: Option<(u64, u64)>,
}

/// Send limits that an external controller gave one flow at one stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Number of the stop, from 1.
    pub stop: u64,
    /// Time of the stop, in ps.
    pub at_ps: u64,
    /// Flow whose sender asked.
    pub flow: u32,
    /// Limits that apply to the flow from then on.
    pub limits: SendLimits,
}

impl Decisions {
    /// Returns the text of the file: a row for each decision and, if the run was ended early, a last row without a
    /// flow.
    pub fn text(&self) -> String {
        let mut text = format!("{HEADER}\n");
        for Decision {
            stop,
            at_ps,
            flow,
            limits,
        } in &self.made
        {
            let _ = write!(text, "{stop},{at_ps},{flow},{},", limits.rate.as_bps());
            let _ = match limits.window {
                Bytes::MAX => writeln!(text),
                window => writeln!(text, "{}", window.get()),
            };
        }
        if let Some((stop, at_ps)) = self.ended {
            let _ = writeln!(text, "{stop},{at_ps},,,");
        }
        text
    }

    /// Parses the text of a decisions file.
    pub(crate) fn read(source: &Source) -> Result<Self, Problem> {
        let mut decisions = Self::default();
        let mut start = 0;
        let mut last = 0;
        for (number, line) in source.text().split_inclusive('\n').enumerate() {
            let span = start..start + line.trim_end().len();
            start += line.len();
            let wrong = |message: String| Problem::new(message).at(&source.at(span.clone()));
            if number == 0 {
                if line.trim_end() != HEADER {
                    return Err(wrong(format!("expected the columns `{HEADER}`")));
                }
                continue;
            }
            if decisions.ended.is_some() {
                return Err(wrong(
                    "expected nothing behind the row without a flow".to_string(),
                ));
            }
            let row = row(line.trim_end());
            let row = row.ok_or_else(|| wrong(format!("expected `{HEADER}` in whole numbers")))?;
            if row.stop < last || (row.stop == 0 && row.answer.is_some()) {
                return Err(wrong(format!("stop {}: expected stops in order", row.stop)));
            }
            last = row.stop;
            match row.answer {
                Some((flow, limits)) => decisions.made.push(Decision {
                    stop: row.stop,
                    at_ps: row.at_ps,
                    flow,
                    limits,
                }),
                None => decisions.ended = Some((row.stop, row.at_ps)),
            }
        }
        Ok(decisions)
    }
}

/// Row of the file.
struct Row {
    stop: u64,
    at_ps: u64,
    answer: Option<(u32, SendLimits)>,
}

fn row(line: &str) -> Option<Row> {
    let fields: Vec<&str> = line.split(',').collect();
    let [stop, at_ps, flow, rate, window] = fields.as_slice() else {
        return None;
    };
    let limits = || {
        let window = match *window {
            "" => Bytes::MAX,
            window => Bytes::new(window.parse().ok()?),
        };
        let rate = BitRate::from_bps(rate.parse().ok()?);
        Some(SendLimits { rate, window })
    };
    let answer = match (*flow, *rate, *window) {
        ("", "", "") => None,
        _ => Some((flow.parse().ok()?, limits()?)),
    };
    Some(Row {
        stop: stop.parse().ok()?,
        at_ps: at_ps.parse().ok()?,
        answer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Decisions, Problem> {
        Decisions::read(&Source::new("decisions.csv", text))
    }

    #[test]
    fn a_text_is_read_as_it_was_written() {
        let decision = |stop, flow, window| Decision {
            stop,
            at_ps: stop * 1_000,
            flow,
            limits: SendLimits {
                rate: BitRate::from_gbps(10),
                window,
            },
        };
        let made = vec![
            decision(1, 3, Bytes::MAX),
            decision(1, 2, Bytes::new(7)),
            decision(4, 0, Bytes::new(0)),
        ];
        for ended in [None, Some((4, 4_000)), Some((9, 12_345))] {
            let decisions = Decisions {
                made: made.clone(),
                ended,
            };
            assert_eq!(read(&decisions.text()).unwrap(), decisions);
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let said = |rows: &str| read(&format!("{HEADER}\n{rows}")).unwrap_err().to_string();
        for (rows, expected) in [
            ("1,5,0,9\n", "decisions.csv:2:1: expected `stop,at_ps"),
            ("1,5,0,9,-1\n", "decisions.csv:2:1: expected `stop,at_ps"),
            ("1,5,,9,\n", "decisions.csv:2:1: expected `stop,at_ps"),
            ("0,5,0,9,\n", "decisions.csv:2:1: stop 0: expected stops in order"),
            (
                "2,5,0,9,\n1,5,0,9,\n",
                "decisions.csv:3:1: stop 1: expected stops in order",
            ),
            (
                "2,5,,,\n2,5,0,9,\n",
                "decisions.csv:3:1: expected nothing behind the row",
            ),
        ] {
            assert!(said(rows).starts_with(expected), "{}", said(rows));
        }
        let error = read("a,b\n").unwrap_err().to_string();
        assert!(
            error.starts_with("decisions.csv:1:1: expected the columns"),
            "{error}"
        );
    }
}

//! Objective of a search, and limits that a candidate has to keep.

use serde::{Deserialize, Serialize};

use super::space::Unit;
use crate::layout::among_many;
use crate::metrics::all_of;
use crate::results::Summary;
use crate::sweep::metrics;

/// Measure of a run with the direction in which it is better.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objective {
    /// Path in the summary, such as `fct_slowdown.p99`.
    pub measure: String,
    /// True if more is better.
    pub maximise: bool,
}

/// Objective as an option has it: `MEASURE`, `MEASURE:max`, `MEASURE:min` or `-MEASURE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) measure: String,
    /// Direction, if the option has one.
    maximise: Option<bool>,
}

impl Asked {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (measure, maximise) = match (text.strip_prefix('-'), text.rsplit_once(':')) {
            (Some(measure), _) => (measure, Some(true)),
            (None, Some((measure, "max"))) => (measure, Some(true)),
            (None, Some((measure, "min"))) => (measure, Some(false)),
            (None, Some((_, other))) => return Err(format!("`{text}`: `:{other}`: expected :max or :min")),
            (None, None) => (text, None),
        };
        Ok(Self {
            measure: measure.to_string(),
            maximise,
        })
    }

    /// Returns the objective. Without a direction it is that of the comparison's tables, otherwise the minimum.
    pub(super) fn resolve(&self, summary: &Summary) -> Objective {
        let known = all_of([summary])
            .into_iter()
            .find(|metric| metric.key == self.measure);
        let more_is_better =
            known.is_some_and(|metric| match (metric.value(summary), metric.cost(summary)) {
                (Some(value), Some(cost)) => value != 0.0 && cost == -value,
                _ => false,
            });
        Objective {
            measure: self.measure.clone(),
            maximise: self.maximise.unwrap_or(more_is_better),
        }
    }
}

/// Condition on the mean of a measure over the seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// Option as written, such as `queue_bytes.max<=200KB`.
    pub text: String,
    /// Path in the summary.
    pub measure: String,
    /// True for an upper limit, false for a lower one.
    pub at_most: bool,
    /// Limit, in the unit of the measure or as a multiple of the scenario's value.
    pub bound: Bound,
}

/// Value of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Value in the unit of the measure.
    Value(f64),
    /// Multiple of the mean of the scenario as written.
    Times(f64),
}

impl Limit {
    /// Parses `MEASURE<=VALUE` or `MEASURE>=VALUE`; `1.05x` is a multiple of the scenario's own value.
    ///
    /// # Errors
    /// A message with the text that was found, and the expected form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let refused = |why: String| format!("--limit: `{text}`: {why}");
        let split = |sign: &str| text.split_once(sign).map(|(a, b)| (a.trim(), b.trim()));
        let (measure, bound, at_most) = match (split("<="), split(">=")) {
            (Some((measure, bound)), _) => (measure, bound, true),
            (None, Some((measure, bound))) => (measure, bound, false),
            _ => {
                let forms = "expected MEASURE<=VALUE or MEASURE>=VALUE, such as queue_bytes.max<=200KB or \
                             fct_us.mean<=1.05x";
                return Err(refused(forms.to_string()));
            }
        };
        let times = bound
            .strip_suffix('x')
            .and_then(|number| number.trim().parse::<f64>().ok());
        let bound = match times.filter(|times| times.is_finite()) {
            Some(times) => Bound::Times(times),
            None => Bound::Value(in_unit_of(measure, bound).map_err(refused)?),
        };
        Ok(Self {
            text: text.trim().to_string(),
            measure: measure.to_string(),
            at_most,
            bound,
        })
    }

    /// Returns the excess over the limit, relative to it; 0 if it is kept. `written` is the scenario's own mean.
    pub(super) fn excess(&self, mean: f64, written: f64) -> f64 {
        let bound = self.value(written);
        let over = if self.at_most { mean - bound } else { bound - mean };
        (over / bound.abs().max(f64::MIN_POSITIVE)).max(0.0)
    }

    /// Returns the limit in the unit of the measure.
    pub fn value(&self, written: f64) -> f64 {
        match self.bound {
            Bound::Value(value) => value,
            Bound::Times(times) => times * written,
        }
    }
}

/// Parses a value in the unit that the name of its measure ends with.
fn in_unit_of(measure: &str, text: &str) -> Result<f64, String> {
    let has = |unit: &str| measure.split('.').any(|part| part.ends_with(unit));
    let unfit = || format!("`{text}` does not fit the unit of `{measure}`");
    match Unit::parse(text) {
        Some((value, Unit::Number)) => Ok(value),
        Some((value, Unit::Bytes)) if has("bytes") => Ok(value),
        Some((value, Unit::Time)) if has("_us") => Ok(value / 1e6),
        Some((value, Unit::Time)) if has("_s") => Ok(value / 1e12),
        Some((value, Unit::Rate)) if has("_gbps") => Ok(value / 1e9),
        Some(_) => Err(unfit()),
        None => Err(format!(
            "`{text}` is no number, quantity or multiple, such as 3, 200KB or 1.05x"
        )),
    }
}

/// Checks that a run has a measure.
pub(super) fn check(option: &str, measure: &str, summary: &Summary) -> Result<(), String> {
    let all = metrics(summary);
    if all.iter().any(|(name, _)| name == measure) {
        return Ok(());
    }
    let names = all.iter().map(|(name, _)| name.as_str());
    Err(format!(
        "{option}: a run of this scenario has no measure `{measure}` ({})",
        among_many(measure, names)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_the_unit_of_their_measure() {
        let bound = |text: &str| Limit::parse(text).map(|limit| limit.bound);
        assert_eq!(bound("queue_bytes.max<=200KB"), Ok(Bound::Value(200_000.0)));
        assert_eq!(bound("fct_us.p99 <= 1ms"), Ok(Bound::Value(1000.0)));
        assert_eq!(bound("rate_while_active_gbps>=0.5Tbps"), Ok(Bound::Value(500.0)));
        assert_eq!(bound("makespan_us<=1.05x"), Ok(Bound::Times(1.05)));
        for (text, expected) in [
            ("drops", "expected MEASURE<=VALUE"),
            ("drops<=2us", "`2us` does not fit the unit of `drops`"),
            ("drops<=few", "`few` is no number"),
        ] {
            let error = Limit::parse(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_excess_is_relative() {
        let limit = Limit::parse("queue_bytes.max<=200KB").unwrap();
        assert_eq!(
            [100e3, 200e3, 300e3].map(|mean| limit.excess(mean, 0.0)),
            [0.0, 0.0, 0.5]
        );
        let limit = Limit::parse("rate_while_active_gbps>=0.5x").unwrap();
        assert_eq!(
            [100.0, 50.0, 25.0].map(|mean| limit.excess(mean, 100.0)),
            [0.0, 0.0, 0.5]
        );
    }

    #[test]
    fn directions() {
        let asked = |text| Asked::parse(text).map(|asked| (asked.measure, asked.maximise));
        assert_eq!(asked("a.b"), Ok(("a.b".into(), None)));
        assert_eq!(asked("a.b:max"), Ok(("a.b".into(), Some(true))));
        assert_eq!(asked("-a.b"), Ok(("a.b".into(), Some(true))));
        assert!(asked("a.b:most").is_err());
    }
}

//! Space of a search: parameters with a range or a list of values.

use std::str::FromStr;

use paceline_kernel::{BitRate, Bytes, Span};
use serde::{Deserialize, Serialize};

/// Parameter of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Keys of the scenario; all get the same value.
    pub keys: Vec<String>,
    /// Values that the search may choose.
    pub domain: Domain,
}

/// Values that a parameter may have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Domain {
    /// Numbers between two ends.
    Range(Range),
    /// Listed values; the search takes their order as their distance.
    Choices(Vec<String>),
}

/// Range of numbers, ends included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// Lower end in the smallest unit: bytes, ps or bit/s.
    pub low: f64,
    /// Upper end, above the lower one.
    pub high: f64,
    /// Unit that the values have in the scenario.
    pub unit: Unit,
    /// True if equal ratios are equal distances.
    pub log: bool,
    /// True if only whole numbers are allowed.
    pub whole: bool,
}

/// Unit of a range's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Number without a unit.
    Number,
    /// Size, held in bytes.
    Bytes,
    /// Time, held in picoseconds.
    Time,
    /// Rate, held in bit/s.
    Rate,
}

/// Ratio of the ends from which a range is logarithmic unless it says otherwise.
const LOG_FROM: f64 = 10.0;

impl Unit {
    /// Parses a quantity; numbers without a unit have none.
    pub fn parse(text: &str) -> Option<(f64, Self)> {
        let text = text.trim();
        if let Ok(number) = f64::from_str(text) {
            return number.is_finite().then_some((number, Self::Number));
        }
        let size = || Some((text.parse::<Bytes>().ok()?.get() as f64, Self::Bytes));
        let time = || Some((text.parse::<Span>().ok()?.as_ps() as f64, Self::Time));
        let rate = || Some((text.parse::<BitRate>().ok()?.as_bps() as f64, Self::Rate));
        size().or_else(time).or_else(rate)
    }

    /// Writes a value as the scenario has it.
    fn write(self, value: f64, decimals: usize) -> String {
        match self {
            Self::Number if decimals == 0 => format!("{value:.0}"),
            Self::Number => {
                let text = format!("{value:.decimals$}");
                let short = text.trim_end_matches('0');
                // A key that takes fractions may refuse a whole number without a point.
                if short.ends_with('.') {
                    format!("{short}0")
                } else {
                    short.to_string()
                }
            }
            Self::Bytes => Bytes::new(value as u64).to_string(),
            Self::Time => Span::from_ps(value as u64).to_string(),
            Self::Rate => BitRate::from_bps(value as u64).to_string(),
        }
    }
}

impl Parameter {
    /// Parses `KEY[,KEY..]=LOW..HIGH[:log|:linear]` or `KEY[,KEY..]=VALUE,VALUE,..`.
    ///
    /// # Errors
    /// A message with the text that was found, and the expected form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let forms =
            "expected KEY=LOW..HIGH, with :log or :linear behind it if you like, or KEY=VALUE,VALUE,..";
        let refused = |why: String| format!("--over: `{text}`: {why}");
        let (keys, values) = text.split_once('=').ok_or_else(|| refused(forms.to_string()))?;
        let keys: Vec<String> = keys.split(',').map(|key| key.trim().to_string()).collect();
        if keys.iter().any(String::is_empty) {
            return Err(refused(forms.to_string()));
        }
        let listed = split(values);
        let domain = match (listed.as_slice(), values.split_once("..")) {
            ([_], Some((low, high))) => Domain::Range(Range::parse(low, high).map_err(refused)?),
            ([_] | [], _) => return Err(refused(forms.to_string())),
            (several, _) => {
                if let Some(twice) = (1..several.len()).find(|&i| several[..i].contains(&several[i])) {
                    return Err(refused(format!("`{}` is listed twice", several[twice])));
                }
                Domain::Choices(listed)
            }
        };
        Ok(Self { keys, domain })
    }

    /// Returns the keys with commas between them, as `--over` names them.
    pub fn name(&self) -> String {
        self.keys.join(",")
    }

    /// Returns the last part of the keys, for tables and charts.
    pub fn short(&self) -> String {
        let last = |key: &String| key.rsplit('.').next().unwrap_or(key).to_string();
        self.keys.iter().map(last).collect::<Vec<_>>().join(", ")
    }

    /// Returns the assignments `key=value` of a value.
    pub(super) fn settings(&self, value: &str) -> impl Iterator<Item = String> {
        self.keys.iter().map(move |key| format!("{key}={value}"))
    }

    /// Returns the value at a position from 0 to 1.
    pub fn value(&self, at: f64) -> String {
        let at = at.clamp(0.0, 1.0);
        match &self.domain {
            Domain::Range(range) => range.value(at),
            Domain::Choices(all) => all[((at * all.len() as f64) as usize).min(all.len() - 1)].clone(),
        }
    }

    /// Returns the position of a value; `None` if it is not one of the parameter's.
    pub fn position(&self, value: &str) -> Option<f64> {
        match &self.domain {
            Domain::Range(range) => range.position(value),
            Domain::Choices(all) => {
                let found = all.iter().position(|one| unquoted(one) == unquoted(value))?;
                Some((found as f64 + 0.5) / all.len() as f64)
            }
        }
    }

    /// Returns the positions at which the profile of the parameter is measured.
    pub(super) fn profile(&self) -> Vec<f64> {
        /// Largest number of listed values that all get a run.
        const MOST: usize = 8;
        match &self.domain {
            Domain::Range(_) => vec![0.0, 0.25, 0.5, 0.75, 1.0],
            Domain::Choices(all) => {
                let count = all.len().min(MOST);
                (0..count).map(|i| (i as f64 + 0.5) / count as f64).collect()
            }
        }
    }

    /// Returns the end of the range at which a value lies, if it does.
    pub(super) fn edge(&self, value: &str) -> Option<&'static str> {
        let Domain::Range(_) = self.domain else {
            return None;
        };
        match self.position(value)? {
            at if at <= EDGE => Some("lower"),
            at if at >= 1.0 - EDGE => Some("upper"),
            _ => None,
        }
    }

    /// Returns the range or the list as `--over` has it.
    pub fn domain_text(&self) -> String {
        match &self.domain {
            Domain::Range(range) => format!(
                "{}..{}{}",
                range.end(range.low),
                range.end(range.high),
                if range.log { ":log" } else { ":linear" }
            ),
            Domain::Choices(all) => all.join(","),
        }
    }
}

/// Share of a range that counts as its end.
const EDGE: f64 = 0.01;

impl Range {
    fn parse(low: &str, high: &str) -> Result<Self, String> {
        let (high, scale) = match high.rsplit_once(':') {
            Some((high, scale @ ("log" | "linear"))) => (high, Some(scale)),
            Some((_, other)) => return Err(format!("`:{other}`: expected :log or :linear")),
            None => (high, None),
        };
        let number = |text: &str| {
            let found = Unit::parse(text);
            found.ok_or_else(|| {
                format!(
                    "`{}` is no number or quantity, such as 0.5, 20KB, 10us or 40Gbps",
                    text.trim()
                )
            })
        };
        let ((mut low_value, mut unit), (high_value, high_unit)) = (number(low)?, number(high)?);
        // A zero is the same in every unit.
        if low_value == 0.0 && unit == Unit::Number {
            (low_value, unit) = (0.0, high_unit);
        }
        if unit != high_unit {
            return Err(format!(
                "`{}` and `{}` have different units",
                low.trim(),
                high.trim()
            ));
        }
        if low_value >= high_value {
            return Err(format!(
                "the lower end `{}` is not below `{}`",
                low.trim(),
                high.trim()
            ));
        }
        let log = match scale {
            Some("log") if low_value <= 0.0 => {
                return Err(format!("`{}` has no logarithm: use :linear", low.trim()));
            }
            Some(scale) => scale == "log",
            None => low_value > 0.0 && high_value / low_value >= LOG_FROM,
        };
        Ok(Self {
            low: low_value,
            high: high_value,
            unit,
            log,
            whole: unit != Unit::Number,
        })
    }

    /// Returns the distance between neighbouring values near `value`: three digits of it, or a 500th of the range.
    fn step(&self, value: f64) -> f64 {
        let size = if self.log {
            value / 100.0
        } else {
            (self.high - self.low) / 500.0
        };
        let step = libm::pow(10.0, libm::floor(libm::log10(size)));
        if self.whole { step.max(1.0) } else { step }
    }

    fn value(&self, at: f64) -> String {
        let raw = match self.log {
            true => libm::exp(libm::log(self.low) * (1.0 - at) + libm::log(self.high) * at),
            false => self.low * (1.0 - at) + self.high * at,
        };
        let step = self.step(raw);
        let rounded = libm::round(raw / step) * step;
        match rounded {
            low if low <= self.low => self.end(self.low),
            high if high >= self.high => self.end(self.high),
            inside => self.unit.write(inside, self.decimals(step)),
        }
    }

    /// Returns the digits behind the point that a step needs; none for whole numbers.
    fn decimals(&self, step: f64) -> usize {
        match self.whole {
            true => 0,
            false => (-libm::floor(libm::log10(step))).max(1.0) as usize,
        }
    }

    /// Writes an end with all its digits.
    fn end(&self, value: f64) -> String {
        match self.unit {
            Unit::Number if !self.whole => self.unit.write(value, 15),
            unit => unit.write(value, 0),
        }
    }

    fn position(&self, value: &str) -> Option<f64> {
        let (value, _) = Unit::parse(unquoted(value)).filter(|(_, unit)| *unit == self.unit)?;
        if value < self.low || value > self.high {
            return None;
        }
        Some(match self.log {
            true => libm::log(value / self.low) / libm::log(self.high / self.low),
            false => (value - self.low) / (self.high - self.low),
        })
    }
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

/// Splits a list at the commas that are outside of brackets and quotes.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth, mut quote) = (vec![String::new()], 0, None);
    for char in text.chars() {
        match (char, quote) {
            (',', None) if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            ('[' | '{', None) => depth += 1,
            (']' | '}', None) => depth -= 1,
            ('"' | '\'', None) => quote = Some(char),
            (char, Some(open)) if char == open => quote = None,
            _ => {}
        }
        parts.last_mut().expect("there is one").push(char);
    }
    let trimmed = parts.iter().map(|part| part.trim().to_string());
    trimmed.filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests;

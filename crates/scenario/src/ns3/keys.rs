//! Keys of `config.txt` and their values.

use std::ops::Range;

use paceline_kernel::sorted::{SortedMap, SortedSet};
use paceline_kernel::{BitRate, Span};
use toml::Spanned;

use crate::diagnostics::{Problem, Problems, Source, suggestion};
use crate::schema::{EXACT, Fidelity};
use crate::trace::SIZE_MAX;
use crate::warning::{Warning, WarningKind};

use super::format::InputFormat;
use super::lists::{self, Keys, NAMESPACE};
use super::quantities;
use super::tokens::{Read, Token, Tokens, Unreadable};
use super::topology::Header;

/// Type of the value that follows a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ValueKind {
    /// Flag: 0 or 1.
    Flag,
    Int,
    /// Size as a multiple of this many bytes.
    Size(u64),
    Real,
    Probability,
    Rate,
    Path,
    /// Decimal number of seconds.
    Seconds,
    /// Time in microseconds and two nodes.
    LinkDown,
    /// Count, then pairs of a rate in bit/s and a number.
    Map,
    /// Key that the original reads but does not use.
    Ignored,
    /// Key of an unsupported feature; its value is the rest of the line.
    LeftOut,
}

impl Keys {
    fn listed(&self) -> impl Iterator<Item = &'static (&'static str, ValueKind)> + Clone + use<'_> {
        self.lists.iter().copied().flatten()
    }

    fn find(&self, text: &str) -> Option<(&'static str, ValueKind)> {
        let alias = self.aliases.iter().find(|(alias, _)| *alias == text);
        let name = alias.map_or(text, |(_, name)| name);
        if let Some(found) = self.listed().find(|(key, _)| *key == name) {
            return Some(*found);
        }
        // Any attribute of any class may follow the namespace; all supported ones are aliases, so this one has no
        // effect here.
        (!self.aliases.is_empty() && text.starts_with(NAMESPACE)).then_some((NAMESPACE, ValueKind::LeftOut))
    }

    fn names(&self) -> impl Iterator<Item = &'static str> + Clone + use<'_> {
        let aliases = self.aliases.iter().map(|(alias, _)| *alias);
        self.listed().map(|(key, _)| *key).chain(aliases)
    }

    fn of_format(format: InputFormat) -> &'static Self {
        let mut known = lists::ALL.iter().chain([&lists::THEMIS]);
        known
            .find(|keys| keys.format == format)
            .unwrap_or(&lists::DATACENTER)
    }

    /// Counts the distinct words of a text that are keys of this program.
    fn known(&self, source: &Source) -> usize {
        let words = source.text().split_whitespace();
        let found: SortedSet<&str> = words.filter(|word| self.find(word).is_some()).collect();
        found.len()
    }

    /// Returns the keys of the program `asked` for, or else of the one that knows most keys of the configuration.
    pub(super) fn of(source: &Source, asked: Option<InputFormat>) -> Result<&'static Self, Problem> {
        if let Some(format) = asked {
            return Ok(Self::of_format(format));
        }
        let known = lists::ALL.each_ref().map(|keys| keys.known(source));
        let most = known.into_iter().max().unwrap_or_default();
        let mut best = lists::ALL.iter().zip(known).filter(|(_, known)| *known == most);
        let ns3_rdma = best.clone().any(|(keys, _)| keys.format == InputFormat::Ns3Rdma);
        // A text without any known key is some kind of mistake, which the reader for the most common program explains
        // best.
        if most > 0 && ns3_rdma {
            return Err(cannot_tell(source, best.map(|(keys, _)| keys.format)));
        }
        Ok(best.next().map_or(&lists::ALL[0], |(keys, _)| keys))
    }

    /// Returns the keys of the program whose topologies have this header, if the header tells programs apart.
    pub(super) fn with_header(&'static self, header: Header) -> &'static Self {
        match (self.format, header) {
            (InputFormat::Ns3Hpcc, Header::Tors) => &lists::DATACENTER,
            (InputFormat::Ns3Hpcc, Header::Gpus) => Self::of_format(InputFormat::Simai),
            _ => self,
        }
    }
}

/// Returns the problem of a configuration whose program cannot be determined: its sizes may be in bytes or in
/// packets.
fn cannot_tell(source: &Source, formats: impl Iterator<Item = InputFormat>) -> Problem {
    // A derivative of HPCC's simulator that knows no further keys of this text is no separate candidate.
    let made_of_hpccs = |format: &InputFormat| {
        matches!(
            format,
            InputFormat::Conweave | InputFormat::Simai | InputFormat::Ns3Alibabacloud
        )
    };
    let formats: Vec<InputFormat> = formats.filter(|format| !made_of_hpccs(format)).collect();
    let mut which: Vec<String> = formats
        .iter()
        .map(|format| format!("{} (`{format}`)", format.program()))
        .collect();
    let last = which.pop().unwrap_or_default();
    let message = format!(
        "this configuration may be of {} or of {last}: no key of it is of one of them alone",
        which.join(", of ")
    );
    let options: Vec<String> = formats
        .iter()
        .map(|format| format!("`--input-format {format}`"))
        .collect();
    Problem::new(message)
        .at(&source.at(0..source.text().lines().next().unwrap_or_default().len()))
        .label("whose is it?")
        .help(format!(
            "say which: {}; sizes of flows are in packets in ns3-rdma, in bytes in the others",
            options.join(" or ")
        ))
}

/// Pair of a rate and a value in a map.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) rate: BitRate,
    pub(super) value: f64,
    pub(super) span: Range<usize>,
}

/// Parsed value of a key.
#[derive(Clone, Debug)]
enum Value {
    Int(u64),
    Real(f64),
    Rate(BitRate),
    Text(String),
    LinkDown(f64, u32, u32),
    Map(Vec<Pair>),
    Ignored,
}

/// Values of a configuration, with their positions.
pub struct Config {
    pub(super) source: Source,
    keys: &'static Keys,
    values: SortedMap<&'static str, (Value, Range<usize>)>,
}

impl Config {
    /// Reads as much of a configuration as is valid; adds its problems to `problems`.
    pub(super) fn read(
        source: &Source,
        keys: &'static Keys,
        problems: &mut Problems,
        warnings: &mut Vec<Warning>,
    ) -> Self {
        let mut tokens = Tokens::new(source);
        let mut values = SortedMap::new();
        let mut left_out = SortedMap::new();
        while let Some(token) = tokens.next() {
            if token.text.starts_with('#') && line_start(source, &token) {
                tokens.rest_of_line();
                continue;
            }
            let Some((key, kind)) = keys.find(token.text) else {
                // The values of an unknown key are skipped, so that each key is reported only once.
                if !token.text.starts_with(|c: char| c.is_ascii_digit()) && line_start(source, &token) {
                    problems.push(unknown_key(&tokens, &token, keys));
                }
                continue;
            };
            let location = tokens.place(&token);
            if kind == ValueKind::LeftOut {
                tokens.rest_of_line();
                left_out.entry(token.text).or_insert(location);
                continue;
            }
            // Read from a copy, so that a faulty value does not move the position behind it.
            let mut read = tokens.clone();
            let (value, span) = match Value::read(&mut read, keys, key, kind, warnings) {
                Ok(value) => value,
                Err(problem) => {
                    problems.push(problem);
                    // If another key follows, it still has to be read; other words on the line belong to this value.
                    if kind != ValueKind::Map {
                        skip_value(&mut tokens, keys);
                    }
                    continue;
                }
            };
            tokens = read;
            if kind == ValueKind::Ignored {
                warnings.push(
                    Warning::new(
                        WarningKind::UnusedSetting,
                        format!("{key} has no effect, as in the original simulator"),
                    )
                    .at(&location),
                );
            }
            if values.insert(key, (value, span)).is_some() {
                warnings.push(
                    Warning::new(
                        WarningKind::Reading,
                        format!("{key} is given twice; the last one counts"),
                    )
                    .at(&location),
                );
            }
        }
        if let Some(location) = left_out.values().min_by_key(|location| location.line_column()) {
            let names: Vec<&str> = left_out.keys().copied().collect();
            warnings.push(
                Warning::new(
                    WarningKind::LeftOut,
                    format!(
                        "left out, because Paceline has no equivalent: {}",
                        names.join(", ")
                    ),
                )
                .at(location),
            );
        }
        Self {
            source: source.clone(),
            keys,
            values,
        }
    }

    pub(super) const fn format(&self) -> InputFormat {
        self.keys.format
    }

    /// Switches to the program whose topologies have links from nodes to themselves.
    pub(super) fn distinguish_by_loops(&mut self) {
        if self.keys.format == InputFormat::Ns3Hpcc {
            self.keys = &lists::THEMIS;
        }
    }

    /// Switches to the program whose topologies have this header.
    pub(super) fn distinguish_by(&mut self, header: Header) {
        self.keys = self.keys.with_header(header);
    }

    /// Replaces the path that a key names.
    pub(super) fn rename(&mut self, key: &str, path: String) {
        if let Some((value, _)) = self.values.get_mut(key) {
            *value = Value::Text(path);
        }
    }

    /// Returns the problem of a missing key that is required.
    pub(super) fn missing(&self, key: &str) -> Problem {
        let problem = Problem::new(format!("the configuration has no {key}")).at(&self.source.end());
        match (self.format(), key) {
            (InputFormat::Simai, "TOPOLOGY_FILE") => problem.help(
                "SimAI takes the topology from its command line (-n): add a line `TOPOLOGY_FILE <file>`",
            ),
            (InputFormat::Simai, "FLOW_FILE") => {
                problem.help("SimAI makes its flows of a workload: add a line `WORKLOAD_FILE <file>`")
            }
            _ => problem,
        }
    }

    fn get(&self, key: &str) -> Option<&Value> {
        debug_assert!(
            lists::ALL.iter().any(|keys| keys.find(key).is_some()),
            "{key} is in a list"
        );
        self.values.get(key).map(|(value, _)| value)
    }
    /// Returns the position of a key's value, or the end of the text if the key is absent.
    pub fn span(&self, key: &str) -> Range<usize> {
        match self.values.get(key) {
            Some((_, span)) => span.clone(),
            None => {
                let end = self.source.text().trim_end().len();
                end..end
            }
        }
    }
    /// Returns true if the configuration gives a key.
    pub fn given(&self, key: &str) -> bool {
        self.get(key).is_some()
    }
    /// Returns the integer value of a key.
    pub fn int(&self, key: &str, default: u64) -> u64 {
        match self.get(key) {
            Some(&Value::Int(value)) => value,
            _ => default,
        }
    }
    /// Returns true if a flag is on.
    pub fn flag(&self, key: &str, default: bool) -> bool {
        self.int(key, default.into()) != 0
    }
    pub(super) fn real(&self, key: &str, default: f64) -> f64 {
        match self.get(key) {
            Some(&Value::Real(value)) => value,
            _ => default,
        }
    }
    pub(super) fn rate(&self, key: &str) -> Option<BitRate> {
        match self.get(key) {
            Some(&Value::Rate(value)) => Some(value),
            _ => None,
        }
    }
    /// Returns the value of a key as text.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.get(key) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }
    /// Returns a time in seconds, rounded as in ns-3.
    pub fn seconds(&self, key: &str, default: &str, fidelity: Fidelity) -> Span {
        let text = self.text(key).unwrap_or(default);
        quantities::seconds(text, fidelity, "2.5").unwrap_or(Span::ZERO)
    }
    /// Returns `value` with the position of its key.
    pub fn at<T>(&self, key: &str, value: T) -> Option<Spanned<T>> {
        Some(Spanned::new(self.span(key), value))
    }
    pub(super) fn link_down(&self) -> Option<(f64, u32, u32)> {
        match self.get("LINK_DOWN") {
            Some(&Value::LinkDown(at, a, b)) if at > 0.0 => Some((at, a, b)),
            _ => None,
        }
    }
    pub(super) fn map(&self, key: &str) -> &[Pair] {
        match self.get(key) {
            Some(Value::Map(pairs)) => pairs,
            _ => &[],
        }
    }
    /// Creates a problem at the value of a key, or at the end if the key is absent.
    pub fn problem(&self, key: &str, message: impl Into<String>) -> Problem {
        Problem::new(message).at(&self.source.at(self.span(key)))
    }
}

/// Returns true if the word is the first one of its line.
fn line_start(source: &Source, token: &Token<'_>) -> bool {
    let before = &source.text()[..token.span.start];
    before[before.rfind('\n').map_or(0, |i| i + 1)..]
        .trim()
        .is_empty()
}

fn unknown_key(tokens: &Tokens<'_>, token: &Token<'_>, keys: &Keys) -> Problem {
    let help = match crate::diagnostics::nearest(token.text, keys.names()) {
        Some(_) => suggestion(token.text, keys.names()),
        None => format!(
            "the configuration is read as of {} (`{}`)",
            keys.format.program(),
            keys.format
        ),
    };
    Problem::new(format!("unknown key `{}`", token.text))
        .at(&tokens.place(token))
        .label("no such key")
        .help(help)
}

/// Skips the unreadable value of a key: the next word, unless it is a key.
fn skip_value(tokens: &mut Tokens<'_>, keys: &Keys) {
    let mut ahead = tokens.clone();
    if ahead.next().is_some_and(|word| keys.find(word.text).is_none()) {
        *tokens = ahead;
    }
}

impl Value {
    fn read(
        tokens: &mut Tokens<'_>,
        keys: &Keys,
        key: &str,
        kind: ValueKind,
        warnings: &mut Vec<Warning>,
    ) -> Result<(Self, Range<usize>), Problem> {
        let first = value_word(tokens, keys, key)?;
        let mut span = first.span.clone();
        let what = format!("a value of {key}");
        let wrong = |why: Unreadable| why.of_key(key, first.text, &tokens.place(&first));
        let value = match kind {
            ValueKind::Flag => match first.text {
                "0" => Self::Int(0),
                "1" => Self::Int(1),
                "false" if !keys.aliases.is_empty() => Self::Int(0),
                "true" if !keys.aliases.is_empty() => Self::Int(1),
                _ => return Err(unexpected(tokens, key, &first, "0 or 1")),
            },
            ValueKind::Int => Self::Int(whole(first.text).map_err(wrong)?),
            ValueKind::Size(unit) => match whole(first.text).map_err(wrong)? {
                count if count <= SIZE_MAX / unit => Self::Int(count),
                _ => {
                    return Err(wrong(Unreadable::OutOfRange(format!(
                        "at most {}",
                        SIZE_MAX / unit
                    ))));
                }
            },
            ValueKind::Real => Self::Real(tokens.read(&first, &what)?),
            ValueKind::Probability => match f64::read(first.text) {
                Ok(value) if value <= 1.0 => Self::Real(value),
                _ => return Err(unexpected(tokens, key, &first, "a number from 0 to 1")),
            },
            ValueKind::Rate => {
                let rate: BitRate = tokens.read(&first, &what)?;
                if !quantities::has_unit(first.text) {
                    warnings.push(
                        Warning::new(
                            WarningKind::Reading,
                            format!("{key} has no unit: {} bit/s, as in ns-3", rate.as_bps()),
                        )
                        .at(&tokens.place(&first)),
                    );
                }
                Self::Rate(rate)
            }
            ValueKind::Path => Self::Text(first.text.to_string()),
            ValueKind::Seconds => match quantities::seconds(first.text, EXACT, "2.5") {
                Ok(_) => Self::Text(first.text.to_string()),
                // Users write such a stop time to let a run continue until all flows are done.
                Err(Unreadable::OutOfRange(_)) if key == "SIMULATOR_STOP_TIME" => {
                    let most = quantities::SECONDS_MAX;
                    warnings.push(
                        Warning::new(
                            WarningKind::Reading,
                            format!(
                                "{key} is {}, more than can be \
                     simulated; the run ends after {most} s, or when all flows are finished",
                                first.text
                            ),
                        )
                        .at(&tokens.place(&first)),
                    );
                    Self::Text(most.to_string())
                }
                Err(why) => return Err(wrong(why)),
            },
            ValueKind::LinkDown => {
                let at = tokens.read(&first, "a time in microseconds")?;
                let a = tokens.value("the first node of LINK_DOWN")?;
                let b = tokens.word("the second node of LINK_DOWN")?;
                span.end = b.span.end;
                Self::LinkDown(at, a, tokens.read(&b, "a node")?)
            }
            ValueKind::Map => {
                let pairs = map(tokens, keys, key, &first)?;
                span.end = pairs.last().map_or(span.end, |pair| pair.span.end);
                Self::Map(pairs)
            }
            ValueKind::Ignored | ValueKind::LeftOut => Self::Ignored,
        };
        Ok((value, span))
    }
}

/// Returns the word after a key, which must not be another key.
fn value_word<'a>(tokens: &mut Tokens<'a>, keys: &Keys, key: &str) -> Result<Token<'a>, Problem> {
    let token = tokens.word(&format!("the value of {key}"))?;
    if keys.find(token.text).is_some() {
        return Err(Problem::new(format!(
            "{key} has no value: the next key, {}, follows",
            token.text
        ))
        .at(&tokens.place(&token))
        .label(format!("expected the value of {key}")));
    }
    Ok(token)
}

fn unexpected(tokens: &Tokens<'_>, key: &str, token: &Token<'_>, expected: &str) -> Problem {
    Problem::new(format!("{key} is `{}`: expected {expected}", token.text))
        .at(&tokens.place(token))
        .label(format!("expected {expected}"))
}

/// Parses an integer, also as `2e9` or `2.01e9`, which some configurations use for nanoseconds.
fn whole(text: &str) -> Result<u64, Unreadable> {
    u64::read(text).or_else(|why| match f64::read(text) {
        Ok(value) if value.fract() == 0.0 && value < 1e18 => Ok(value as u64),
        Ok(value) if value.fract() == 0.0 => Err(Unreadable::OutOfRange(format!("at most {}", u64::MAX))),
        _ => Err(why),
    })
}

fn map(tokens: &mut Tokens<'_>, keys: &Keys, key: &str, first: &Token<'_>) -> Result<Vec<Pair>, Problem> {
    let count: u64 = tokens.read(first, &format!("the number of pairs of {key}"))?;
    let mut pairs: Vec<Pair> = Vec::new();
    for i in 0..count {
        let announced =
            |problem: Problem| problem.see(&tokens.place(first), format!("{key} announces {count} pairs"));
        let mut read = Tokens::clone(tokens);
        let rate = value_word(&mut read, keys, key).map_err(announced)?;
        let bps = match whole(rate.text) {
            Ok(bps) if bps <= quantities::BPS_MAX => bps,
            _ => return Err(announced(unexpected(&read, key, &rate, "a link rate in bit/s"))),
        };
        let value = value_word(&mut read, keys, key).map_err(announced)?;
        let number: f64 = read.read(&value, &format!("value {} of {key}", i + 1))?;
        if number > SIZE_MAX as f64 / 1000.0 {
            let expected = format!("at most {} KB", SIZE_MAX / 1000);
            return Err(announced(unexpected(&read, key, &value, &expected)));
        }
        *tokens = read;
        pairs.push(Pair {
            rate: BitRate::from_bps(bps),
            value: number,
            span: rate.span.start..value.span.end,
        });
    }
    Ok(pairs)
}

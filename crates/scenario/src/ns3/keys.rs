//! The keys of `config.txt` and their values.

use std::collections::BTreeMap;
use std::ops::Range;

use paceline_kernel::BitRate;

use crate::diagnostics::{Diagnostics, Problem, Source, suggestion};
use crate::schema::Fidelity;
use crate::warning::{Warning, WarningKind};

use super::quantities;
use super::tokens::{Read, Token, Tokens};

/// What follows a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// 0 or 1.
    Flag,
    Int,
    Real,
    Probability,
    Rate,
    Path,
    /// A decimal number of seconds.
    Seconds,
    /// Microseconds and two nodes.
    LinkDown,
    /// A count, then pairs of a rate in bit/s and a number.
    Map,
    /// A key that the original reads and does not use.
    Ignored,
}

/// A simulator's keys.
pub(super) struct Keys {
    /// Whose they are.
    pub(super) fidelity: Fidelity,
    list: &'static [(&'static str, Kind)],
    /// What they are, for those who look for one.
    about: &'static str,
}

/// Those of the simulator of TCD's authors, and three of ours for what is changed in its source.
static TCD: Keys = Keys {
    fidelity: Fidelity::TcdNs3,
    list: &[
        ("ENABLE_QCN", Kind::Flag),
        ("USE_DYNAMIC_PFC_THRESHOLD", Kind::Flag),
        ("ENABLE_NPECN", Kind::Flag),
        ("ENABLE_ROOTECN", Kind::Flag),
        ("ENABLE_ROOTECNCC", Kind::Flag),
        ("SEED_NUMBER", Kind::Int),
        ("ROOTECN_INTERVAL", Kind::Int),
        ("PACKET_LEVEL_ECMP", Kind::Flag),
        ("FLOW_LEVEL_ECMP", Kind::Flag),
        ("PAUSE_TIME", Kind::Real),
        ("DATA_RATE", Kind::Ignored),
        ("LINK_DELAY", Kind::Ignored),
        ("PACKET_PAYLOAD_SIZE", Kind::Int),
        ("L2_CHUNK_SIZE", Kind::Int),
        ("L2_ACK_INTERVAL", Kind::Int),
        ("L2_WAIT_FOR_ACK", Kind::Flag),
        ("L2_BACK_TO_ZERO", Kind::Flag),
        ("L2_TEST_READ", Kind::Flag),
        ("TOPOLOGY_FILE", Kind::Path),
        ("FLOW_FILE", Kind::Path),
        ("TCP_FLOW_FILE", Kind::Path),
        ("TRACE_FILE", Kind::Path),
        ("TRACE_OUTPUT_FILE", Kind::Path),
        ("FCT_OUTPUT_FILE", Kind::Path),
        ("SEND_IN_CHUNKS", Kind::Flag),
        ("APP_START_TIME", Kind::Seconds),
        ("APP_STOP_TIME", Kind::Seconds),
        ("SIMULATOR_STOP_TIME", Kind::Seconds),
        ("CNP_INTERVAL", Kind::Real),
        ("ALPHA_RESUME_INTERVAL", Kind::Real),
        ("NP_SAMPLING_INTERVAL", Kind::Real),
        ("CLAMP_TARGET_RATE", Kind::Flag),
        ("CLAMP_TARGET_RATE_AFTER_TIMER", Kind::Flag),
        ("RP_TIMER", Kind::Real),
        ("BYTE_COUNTER", Kind::Int),
        ("DCTCP_GAIN", Kind::Real),
        ("KMAX", Kind::Int),
        ("KMIN", Kind::Int),
        ("PMAX", Kind::Probability),
        ("FAST_RECOVERY_TIMES", Kind::Int),
        ("RATE_AI", Kind::Rate),
        ("RATE_HAI", Kind::Rate),
        ("ERROR_RATE_PER_LINK", Kind::Probability),
        ("X_NOQCN", Kind::Path),
        ("X_APP", Kind::Path),
        ("X_SLOTS", Kind::Int),
    ],
    about: "the keys are those of the simulator of TCD's authors, such as ENABLE_ROOTECN or TOPOLOGY_FILE",
};

/// Those of HPCC's ns-3 simulator.
static HPCC: Keys = Keys {
    fidelity: Fidelity::Ns3Hpcc,
    list: KEYS,
    about: "the keys are those of HPCC's ns-3 simulator, such as CC_MODE or TOPOLOGY_FILE",
};

impl Keys {
    fn find(&self, text: &str) -> Option<(&'static str, Kind)> {
        self.list.iter().find(|(key, _)| *key == text).copied()
    }

    fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.list.iter().map(|(key, _)| *key)
    }

    /// Whose a configuration is: that of TCD's authors has a key that HPCC's does not know, and does not say which
    /// control there is.
    pub(super) fn of(source: &Source) -> &'static Self {
        let mut words = source
            .text()
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        let is_own = |word: &str| TCD.find(word).is_some() && HPCC.find(word).is_none();
        let is_hpccs = |word: &str| word == "CC_MODE" || word.ends_with("_MAP");
        match words.clone().any(is_own) && !words.any(is_hpccs) {
            true => &TCD,
            false => &HPCC,
        }
    }
}

/// Every key of HPCC's simulator.
const KEYS: &[(&str, Kind)] = &[
    ("ENABLE_QCN", Kind::Flag),
    ("USE_DYNAMIC_PFC_THRESHOLD", Kind::Ignored),
    ("PAUSE_TIME", Kind::Ignored),
    ("DATA_RATE", Kind::Ignored),
    ("LINK_DELAY", Kind::Ignored),
    ("PACKET_PAYLOAD_SIZE", Kind::Int),
    ("L2_CHUNK_SIZE", Kind::Int),
    ("L2_ACK_INTERVAL", Kind::Int),
    ("L2_BACK_TO_ZERO", Kind::Flag),
    ("TOPOLOGY_FILE", Kind::Path),
    ("FLOW_FILE", Kind::Path),
    ("TRACE_FILE", Kind::Path),
    ("TRACE_OUTPUT_FILE", Kind::Path),
    ("FCT_OUTPUT_FILE", Kind::Path),
    ("PFC_OUTPUT_FILE", Kind::Path),
    ("SIMULATOR_STOP_TIME", Kind::Seconds),
    ("CC_MODE", Kind::Int),
    ("ALPHA_RESUME_INTERVAL", Kind::Real),
    ("RATE_DECREASE_INTERVAL", Kind::Real),
    ("CLAMP_TARGET_RATE", Kind::Flag),
    ("RP_TIMER", Kind::Real),
    ("EWMA_GAIN", Kind::Real),
    ("FAST_RECOVERY_TIMES", Kind::Int),
    ("RATE_AI", Kind::Rate),
    ("RATE_HAI", Kind::Rate),
    ("MIN_RATE", Kind::Rate),
    ("DCTCP_RATE_AI", Kind::Rate),
    ("ERROR_RATE_PER_LINK", Kind::Probability),
    ("HAS_WIN", Kind::Flag),
    ("GLOBAL_T", Kind::Flag),
    ("VAR_WIN", Kind::Flag),
    ("FAST_REACT", Kind::Flag),
    ("U_TARGET", Kind::Real),
    ("MI_THRESH", Kind::Int),
    ("INT_MULTI", Kind::Int),
    ("MULTI_RATE", Kind::Flag),
    ("SAMPLE_FEEDBACK", Kind::Flag),
    ("PINT_LOG_BASE", Kind::Real),
    ("PINT_PROB", Kind::Probability),
    ("RATE_BOUND", Kind::Flag),
    ("ACK_HIGH_PRIO", Kind::Flag),
    ("LINK_DOWN", Kind::LinkDown),
    ("ENABLE_TRACE", Kind::Flag),
    ("KMAX_MAP", Kind::Map),
    ("KMIN_MAP", Kind::Map),
    ("PMAX_MAP", Kind::Map),
    ("BUFFER_SIZE", Kind::Int),
    ("QLEN_MON_FILE", Kind::Path),
    ("QLEN_MON_START", Kind::Int),
    ("QLEN_MON_END", Kind::Int),
];

/// One pair of a map.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) rate: BitRate,
    pub(super) value: f64,
    pub(super) span: Range<usize>,
}

/// The value of a key, read and checked.
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

/// A configuration: the values that it gives, and where.
pub(super) struct Config {
    pub(super) source: Source,
    keys: &'static Keys,
    values: BTreeMap<&'static str, (Value, Range<usize>)>,
}

impl Config {
    /// Reads a configuration.
    pub(super) fn read(
        source: &Source,
        keys: &'static Keys,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self, Diagnostics> {
        let mut tokens = Tokens::new(source);
        let mut values = BTreeMap::new();
        let mut unknown = Vec::new();
        while let Some(token) = tokens.next() {
            let Some((key, kind)) = keys.find(token.text) else {
                // The values of an unknown key are skipped, so that each is reported once.
                if !token.text.starts_with(|c: char| c.is_ascii_digit()) && line_start(source, &token) {
                    unknown.push(unknown_key(&tokens, &token, keys));
                }
                continue;
            };
            let place = tokens.place(&token);
            let (value, span) = Value::read(&mut tokens, keys, key, kind)?;
            if kind == Kind::Ignored {
                let text = format!("{key} has no effect, as in the original simulator");
                warnings.push(Warning::new(WarningKind::UnusedSetting, text).at(&place));
            }
            if values.insert(key, (value, span)).is_some() {
                let text = format!("{key} is given twice; the last one counts");
                warnings.push(Warning::new(WarningKind::Reading, text).at(&place));
            }
        }
        if let Some(diagnostics) = Diagnostics::of(unknown) {
            return Err(diagnostics);
        }
        Ok(Self {
            source: source.clone(),
            keys,
            values,
        })
    }

    fn get(&self, key: &str) -> Option<&Value> {
        debug_assert!(self.keys.find(key).is_some(), "{key} is in the list");
        self.values.get(key).map(|(value, _)| value)
    }
    /// Where the value of a key stands; the end of the text if it is absent.
    pub(super) fn span(&self, key: &str) -> Range<usize> {
        match self.values.get(key) {
            Some((_, span)) => span.clone(),
            None => {
                let end = self.source.text().trim_end().len();
                end..end
            }
        }
    }
    pub(super) fn given(&self, key: &str) -> bool {
        self.get(key).is_some()
    }
    pub(super) fn int(&self, key: &str, default: u64) -> u64 {
        match self.get(key) {
            Some(&Value::Int(value)) => value,
            _ => default,
        }
    }
    pub(super) fn flag(&self, key: &str, default: bool) -> bool {
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
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        match self.get(key) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
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
    /// A problem with the value of a key, or with its absence.
    pub(super) fn problem(&self, key: &str, message: impl Into<String>) -> Problem {
        Problem::new(message).at(&self.source.at(self.span(key)))
    }
}

/// Whether nothing but blanks stands before the word in its line.
fn line_start(source: &Source, token: &Token<'_>) -> bool {
    let before = &source.text()[..token.span.start];
    before[before.rfind('\n').map_or(0, |i| i + 1)..]
        .trim()
        .is_empty()
}

fn unknown_key(tokens: &Tokens<'_>, token: &Token<'_>, keys: &Keys) -> Problem {
    let help = match crate::diagnostics::nearest(token.text, keys.names()) {
        Some(_) => suggestion(token.text, keys.names()),
        None => keys.about.to_string(),
    };
    Problem::new(format!("unknown key `{}`", token.text))
        .at(&tokens.place(token))
        .label("no such key")
        .help(help)
}

impl Value {
    fn read(
        tokens: &mut Tokens<'_>,
        keys: &Keys,
        key: &str,
        kind: Kind,
    ) -> Result<(Self, Range<usize>), Problem> {
        let first = value_word(tokens, keys, key)?;
        let mut span = first.span.clone();
        let what = format!("a value of {key}");
        let value = match kind {
            Kind::Flag => match first.text {
                "0" => Self::Int(0),
                "1" => Self::Int(1),
                _ => return Err(unexpected(tokens, key, &first, "0 or 1")),
            },
            Kind::Int => Self::Int(
                whole(first.text)
                    .ok_or_else(|| unexpected(tokens, key, &first, "a whole number, not negative"))?,
            ),
            Kind::Real => Self::Real(tokens.read(&first, &what)?),
            Kind::Probability => match f64::read(first.text) {
                Ok(value) if value <= 1.0 => Self::Real(value),
                _ => return Err(unexpected(tokens, key, &first, "a number from 0 to 1")),
            },
            Kind::Rate => Self::Rate(tokens.read(&first, &what)?),
            Kind::Path => Self::Text(first.text.to_string()),
            Kind::Seconds => match quantities::seconds(first.text, Fidelity::Exact) {
                Some(_) => Self::Text(first.text.to_string()),
                None => return Err(unexpected(tokens, key, &first, "seconds, such as 2.5")),
            },
            Kind::LinkDown => {
                let at = tokens.read(&first, "a time in microseconds")?;
                let a = tokens.value("the first node of LINK_DOWN")?;
                let b = tokens.word("the second node of LINK_DOWN")?;
                span.end = b.span.end;
                Self::LinkDown(at, a, tokens.read(&b, "a node")?)
            }
            Kind::Map => {
                let pairs = map(tokens, keys, key, &first)?;
                span.end = pairs.last().map_or(span.end, |pair| pair.span.end);
                Self::Map(pairs)
            }
            Kind::Ignored => Self::Ignored,
        };
        Ok((value, span))
    }
}

/// The word after a key: not another key.
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

/// A whole number, also as `2e9` or `2.01e9`, which some configurations use for nanoseconds.
fn whole(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| {
        let value = f64::read(text).ok()?;
        (value.fract() == 0.0 && value < 1e18).then_some(value as u64)
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
        let bps = whole(rate.text)
            .ok_or_else(|| announced(unexpected(&read, key, &rate, "a link rate in bit/s")))?;
        let value = value_word(&mut read, keys, key).map_err(announced)?;
        let number = read.read(&value, &format!("value {} of {key}", i + 1))?;
        *tokens = read;
        pairs.push(Pair {
            rate: BitRate::from_bps(bps),
            value: number,
            span: rate.span.start..value.span.end,
        });
    }
    Ok(pairs)
}

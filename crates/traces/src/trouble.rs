//! Errors and cautions about traces, for users.

use std::fmt;

/// Error of a trace that cannot be read or run: its position, the offending value, and the expected one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{location}: {message}")]
pub struct Trouble {
    /// File and position: `x.goal:12`, `x.bin: byte 40`, `trace.3.et: node 17`.
    pub location: String,
    /// Description with the offending value and the expected one.
    pub message: String,
    /// Advice, if there is any.
    pub help: Option<String>,
}

impl Trouble {
    /// Creates an error at a position such as `file:12` or `file: node 4`.
    pub fn at(location: impl fmt::Display, message: impl Into<String>) -> Self {
        Self {
            location: location.to_string(),
            message: message.into(),
            help: None,
        }
    }

    /// Adds advice to the error.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Creates the error for an unknown word, with the nearest known one.
pub(crate) fn unknown(location: impl fmt::Display, what: &str, word: &str, known: &[&str]) -> Trouble {
    let nearest = known
        .iter()
        .max_by(|a, b| strsim::jaro_winkler(word, a).total_cmp(&strsim::jaro_winkler(word, b)))
        .filter(|k| strsim::jaro_winkler(&word.to_lowercase(), &k.to_lowercase()) > 0.7);
    let trouble = Trouble::at(
        location,
        format!("unknown {what} `{word}`, expected one of {}", known.join(", ")),
    );
    match nearest {
        Some(nearest) => trouble.help(format!("Did you mean `{nearest}`?")),
        None => trouble,
    }
}

/// Creates the error for a key of ASTRA-sim's files with a value for each of several dimensions.
pub(crate) fn several_dimensions(location: impl fmt::Display, key: &str, count: usize) -> Trouble {
    Trouble::at(
        location,
        format!(
            "{key} has {count} values: a network of {count} dimensions, with a collective in phases, one per dimension. The model \
             `chunks` has networks of one dimension"
        ),
    )
    .help(
        "Describe the network in [topology], without `network = \"chunks\"`, and collectives by `algorithm`: see \"Networks of \
         several dimensions\" in the guide to traces",
    )
}

/// Note on a trace that can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caution {
    /// Complete sentence with positions and counts.
    pub text: String,
}

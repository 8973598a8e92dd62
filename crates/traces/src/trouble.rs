//! What is wrong with a trace, for people.

use std::fmt;

/// Why a trace cannot be read or run. Where it is, what is there, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct Trouble {
    /// The file and the place in it: `x.goal:12`, `x.bin: byte 40`, `trace.3.et: node 17`.
    pub place: String,
    /// What is wrong, with the offending value and what was expected.
    pub message: String,
    /// What to do about it, if anything can be said.
    pub help: Option<String>,
}

impl Trouble {
    /// At a place that is told as `file:12`, `file: node 4` or the like.
    pub fn at(place: impl fmt::Display, message: impl Into<String>) -> Self {
        Self {
            place: place.to_string(),
            message: message.into(),
            help: None,
        }
    }

    /// With advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// A word that is none of those that are known, with the nearest of them.
pub(crate) fn unknown(place: impl fmt::Display, what: &str, word: &str, known: &[&str]) -> Trouble {
    let nearest = known
        .iter()
        .max_by(|a, b| strsim::jaro_winkler(word, a).total_cmp(&strsim::jaro_winkler(word, b)))
        .filter(|k| strsim::jaro_winkler(&word.to_lowercase(), &k.to_lowercase()) > 0.7);
    let trouble = Trouble::at(
        place,
        format!("unknown {what} `{word}`, expected one of {}", known.join(", ")),
    );
    match nearest {
        Some(nearest) => trouble.help(format!("Did you mean `{nearest}`?")),
        None => trouble,
    }
}

/// A key of ASTRA-sim's files with a value for each of several dimensions.
pub(crate) fn several_dimensions(place: impl fmt::Display, key: &str, count: usize) -> Trouble {
    Trouble::at(
        place,
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

/// Something about a trace that its user should know, though it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caution {
    /// A whole sentence, with places and counts.
    pub text: String,
}

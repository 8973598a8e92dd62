//! Schemes that by default have no effect, or do harm, on ordinary traffic: results of the experiment
//! `ordinary`.

use std::fmt;

use crate::registry::{SchemeConfig, SchemeParams};

/// Table `scheme,layer,traffic,times,of`, which a test writes from the recorded outcome; `traffic` is empty
/// if a scheme has no effect.
const FOUND: &str = include_str!("misfits.csv");

/// Link layer of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkLayer {
    /// Pauses by priority flow control.
    Pfc,
    /// Tail drop without flow control.
    Drops,
    /// Credits, as in InfiniBand.
    Credits,
}

impl LinkLayer {
    /// Returns the name in the experiment.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pfc => "PFC",
            Self::Drops => "drops",
            Self::Credits => "credits",
        }
    }
}

/// Finding about a scheme over a link layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Misfit {
    /// Name of the scheme or variant.
    pub scheme: &'static str,
    /// Name of the link layer.
    pub layer: &'static str,
    /// Traffic on which the scheme is worst; empty if it behaves as `none`.
    pub traffic: &'static str,
    /// Ratio of its mean slowdown to that of `of`.
    pub times: f64,
    /// Baseline of the comparison: `none`, or `the median scheme`.
    pub of: &'static str,
}

impl Misfit {
    /// Returns all findings of the experiment.
    pub fn all() -> impl Iterator<Item = Self> {
        FOUND.lines().skip(1).filter_map(|line| {
            let mut fields = line.split(',');
            Some(Self {
                scheme: fields.next()?,
                layer: fields.next()?,
                traffic: fields.next()?,
                times: fields.next()?.parse().ok()?,
                of: fields.next()?,
            })
        })
    }

    /// Returns the finding about a scheme, if its parameters are the defaults.
    pub fn find(config: &SchemeConfig, layer: LinkLayer) -> Option<Self> {
        let found = Self::all().find(|one| one.scheme == config.label() && one.layer == layer.name())?;
        let default = SchemeParams::default().configure(config.label()).ok()?;
        (default.explicit_params() == config.explicit_params()).then_some(found)
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            scheme,
            layer,
            traffic,
            times,
            of,
        } = self;
        if traffic.is_empty() {
            return write!(
                f,
                "{scheme} with its own parameters did nothing over {layer} on ordinary traffic: all was as under `none` \
                 (`paceline explain {scheme}`)"
            );
        }
        write!(
            f,
            "{scheme} with its own parameters had {times} times the mean slowdown of {of} over {layer} on ordinary traffic \
             ({traffic}): `paceline explain {scheme}` says what it is for"
        )
    }
}

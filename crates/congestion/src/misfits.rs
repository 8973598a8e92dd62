//! Where schemes as they ship do nothing, or harm, on ordinary traffic: what the experiment `ordinary` found.

use std::fmt;

use crate::registry::{SchemeConfig, SchemeParams};

/// `scheme,layer,traffic,times,of`, written by a test from the recorded outcome; `traffic` is empty where a scheme does nothing.
const FOUND: &str = include_str!("misfits.csv");

/// The link layers of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkLayer {
    /// Pauses by priority.
    Pfc,
    /// Tail drop.
    Drops,
    /// InfiniBand's credits.
    Credits,
}

impl LinkLayer {
    /// Its name in the experiment.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pfc => "PFC",
            Self::Drops => "drops",
            Self::Credits => "credits",
        }
    }
}

/// What was found of a scheme over a link layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Misfit {
    /// The scheme or variant.
    pub scheme: &'static str,
    /// The link layer's name.
    pub layer: &'static str,
    /// The traffic on which it is worst; empty if all is as under `none`.
    pub traffic: &'static str,
    /// Its mean slowdown over that of `of`.
    pub times: f64,
    /// What it is compared with: `none`, or `the median scheme`.
    pub of: &'static str,
}

impl Misfit {
    /// All that were found.
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

    /// That of a scheme with the parameters that it ships with.
    pub fn find(config: &SchemeConfig, layer: LinkLayer) -> Option<Self> {
        let found = Self::all().find(|one| one.scheme == config.label() && one.layer == layer.name())?;
        let shipped = SchemeParams::default().configure(config.label()).ok()?;
        (shipped.explicit_params() == config.explicit_params()).then_some(found)
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

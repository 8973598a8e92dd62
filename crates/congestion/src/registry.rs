//! List of schemes: names, papers, requirements, parameters, and constructors of senders.
//!
//! Command line, validation, help and documentation read it; no other code names a scheme. Programs that use
//! Paceline as a library can add their own schemes ([`add`]).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use paceline_kernel::rng::Rng;
use paceline_kernel::{BitRate, Span};
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeStruct as _, Serializer};
use serde::{Deserialize, Serialize};

use crate::api::{CongestionControl, PathInfo, Requirements};
use crate::learned::ModelRef;
use crate::nearest;
use crate::params::{ParamDoc, ParamError, Parameters};
use crate::pint;
use crate::receiver::{GrantScheduler, ReceiverHalf};
use crate::switch::{EgressPort, SwitchHalves, SwitchSupport};

mod added;
mod definition;
mod factory;
mod facts;
pub mod variant;
mod written;

pub use added::{AddError, AddedParams, Addition, add};
pub use definition::Definition;
pub use factory::{ActiveScheme, SchemeFactory};
pub use facts::{Incompatible, Marking, NetworkFacts, RateScaled, SendFloor, Setting};

/// Limit on a flow's bytes in flight that the NIC applies under any scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowMode {
    /// No limit on bytes in flight.
    Off,
    /// One bandwidth-delay product, constant.
    Fixed,
    /// The bandwidth-delay product times rate over line rate.
    Variable,
}

/// Static description of a scheme, independent of its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Scheme {
    /// Name in scenario files.
    pub name: &'static str,
    /// Other names, each for the scheme with some parameters set.
    pub aliases: &'static [Alias],
    /// Full name in titles.
    pub title: &'static str,
    /// Citation of the publication.
    pub paper: &'static str,
    /// Description in a few lines.
    pub summary: &'static str,
    /// Purpose: a sentence fragment without a subject.
    pub scope: &'static str,
    /// Window mode that its paper uses.
    pub default_window: WindowMode,
    /// Documentation of its parameters.
    pub params: fn() -> Vec<ParamDoc>,
    /// Text of its source file, or the header of that, which is its page.
    pub source: &'static str,
}

/// Other name of a scheme, with some parameters set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// Name in scenario files.
    pub name: &'static str,
    /// Difference from the plain scheme.
    pub help: &'static str,
    /// Parameters and their values, which override the scenario's.
    pub settings: &'static [(&'static str, &'static str)],
    /// Window mode, if it differs from the scheme's.
    pub window: Option<WindowMode>,
}

impl Scheme {
    /// Returns the scheme's page (Markdown): the header of its source file. Every page has the same headings:
    /// what it does, the signal it needs, equations, parameters, where it differs from paper or public code,
    /// references.
    pub fn page(&self) -> String {
        let mut page = String::new();
        for line in self.source.lines().map_while(|line| line.strip_prefix("//!")) {
            page.push_str(line.strip_prefix(' ').unwrap_or(line));
            page.push('\n');
        }
        page
    }
}

/// Round-trip time above which a scheme always slows down. If the empty network's is above it, a flow slows
/// down until its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayLimit {
    /// Parameter that sets it.
    pub param: &'static str,
    /// Round-trip time, including contributions of other parameters.
    pub rtt: Span,
}

/// Time in which a scheme expects an effect of its decision. If it is below the round trip, the scheme acts
/// again before the effect is visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReactionTime {
    /// Parameter that sets it.
    pub param: &'static str,
    /// Length of the interval.
    pub span: Span,
    /// Event that occurs once per interval, such as "the rate rises".
    pub event: &'static str,
}

macro_rules! schemes {
    ($($Variant:ident($module:ident),)+) => {
        /// Built-in schemes, in the order of help and lists.
        pub static SCHEMES: &[Scheme] = &[$(<crate::$module::Params as Definition>::SCHEME,)+];

        /// Parameters of schemes, one block for each scheme in the scenario.
        ///
        /// One file can hold the parameters of all schemes of a comparison:
        /// ```toml
        /// [dcqcn]
        /// g = 0.00390625
        /// [hpcc]
        /// eta = 0.95
        /// rate-ai = "50Mbps"
        /// ```
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct SchemeParams {
            $(
                #[doc = concat!("Of [`crate::", stringify!($module), "`].")]
                pub $module: Option<crate::$module::Params>,
            )+
            /// Parameters of schemes from outside the crate.
            pub added: BTreeMap<&'static str, AddedParams>,
        }

        /// Parameters of one scheme.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyParams { $(
            #[doc = concat!("Of [`crate::", stringify!($module), "`].")]
            $Variant(crate::$module::Params),
        )+
            /// Parameters of a scheme from outside the crate.
            Added(AddedParams),
        }

        impl AnyParams {
            fn name(&self) -> &'static str {
                match self {
                    $(Self::$Variant(_) => <crate::$module::Params as Definition>::SCHEME.name,)+
                    Self::Added(params) => params.name(),
                }
            }
        }

        impl Serialize for SchemeParams {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let blocks = self.present().len();
                let mut fields = serializer.serialize_struct("SchemeParams", blocks)?;
                $({
                    let name = <crate::$module::Params as Definition>::SCHEME.name;
                    match &self.$module {
                        Some(_) => fields.serialize_field(name, &self.$module)?,
                        None => fields.skip_field(name)?,
                    }
                })+
                for (name, params) in &self.added {
                    fields.serialize_field(name, params)?;
                }
                fields.end()
            }
        }

        impl<'de> Visitor<'de> for Blocks {
            type Value = SchemeParams;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("blocks of parameters")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SchemeParams, A::Error> {
                let mut blocks = SchemeParams::default();
                while let Some(name) = map.next_key_seed(BlockName)? {
                    if blocks.has(name) {
                        return Err(de::Error::duplicate_field(name));
                    }
                    $(if name == <crate::$module::Params as Definition>::SCHEME.name {
                        blocks.$module = map.next_value()?;
                        continue;
                    })+
                    if let Some(addition) = added::addition(name) {
                        blocks.added.insert(name, map.next_value_seed(addition)?);
                    }
                }
                Ok(blocks)
            }
        }

        impl SchemeParams {
            fn has(&self, name: &str) -> bool {
                $((name == <crate::$module::Params as Definition>::SCHEME.name && self.$module.is_some()))||+
                    || self.added.contains_key(name)
            }

            /// Returns the parameters that name a model: scheme, key and reference.
            pub fn models(&mut self) -> Vec<(&'static str, &'static str, &mut ModelRef)> {
                let mut models = Vec::new();
                $(if let Some(params) = &mut self.$module {
                    let scheme = <crate::$module::Params as Definition>::SCHEME.name;
                    models.extend(params.models().into_iter().map(|(key, model)| (scheme, key, model)));
                })+
                for (scheme, params) in &mut self.added {
                    models.extend(params.models().into_iter().map(|(key, model)| (*scheme, key, model)));
                }
                models
            }

            fn get(&self, name: &str) -> Option<AnyParams> {
                $(if name == <crate::$module::Params as Definition>::SCHEME.name {
                    return Some(AnyParams::$Variant(self.$module.clone().unwrap_or_default()));
                })+
                let given = self.added.get(name).cloned();
                let params = given.or_else(|| Some(added::addition(name)?.params()));
                params.map(AnyParams::Added)
            }
        }

        impl From<AnyParams> for SchemeParams {
            fn from(params: AnyParams) -> Self {
                let mut blocks = Self::default();
                match params {
                    $(AnyParams::$Variant(params) => blocks.$module = Some(params),)+
                    AnyParams::Added(params) => drop(blocks.added.insert(params.name(), params)),
                }
                blocks
            }
        }

        $(impl From<crate::$module::Params> for SchemeConfig {
            fn from(params: crate::$module::Params) -> Self {
                Self { params: AnyParams::$Variant(params), alias: None }
            }
        })+

        /// Evaluates an expression with the parameters of any scheme.
        macro_rules! with_params {
            ($any:expr, $params:ident => $body:expr) => {
                match $any {
                    $(AnyParams::$Variant($params) => $body,)+
                    AnyParams::Added($params) => $body,
                }
            };
            ($any:expr, $params:ident => wrap $body:expr) => {
                match $any {
                    $(AnyParams::$Variant($params) => AnyParams::$Variant($body),)+
                    AnyParams::Added($params) => AnyParams::Added($body),
                }
            };
        }
    };
}

schemes! {
    None(none),
    Fixed(fixed),
    Dcqcn(dcqcn),
    Dctcp(dctcp),
    Timely(timely),
    Hpcc(hpcc),
    HpccPint(hpcc_pint),
    Swift(swift),
    Nscc(nscc),
    Rccc(rccc),
    Dx(dx),
    PowerTcp(powertcp),
    Qcn(qcn),
    Pcn(pcn),
    Acc(acc),
    Ibcc(ibcc),
    Rrcc(rrcc),
    Bolt(bolt),
    LstmPid(lstm_pid),
    External(external),
    Adpg(adpg),
    Aurora(aurora),
    Spine(spine),
    Decc(decc),
    Policy(policy),
}

mod config;

pub use config::SchemeConfig;

/// Iterates over all schemes: the built-in ones, then added ones.
pub fn schemes() -> impl Iterator<Item = &'static Scheme> + Clone {
    SCHEMES.iter().chain(added::added().iter().map(Addition::scheme))
}

/// Returns the names of all schemes, as serde's list of fields.
fn block_names() -> &'static [&'static str] {
    static NAMES: OnceLock<Box<[&str]>> = OnceLock::new();
    NAMES.get_or_init(|| schemes().map(|scheme| scheme.name).collect())
}

impl<'de> Deserialize<'de> for SchemeParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct("SchemeParams", block_names(), Blocks)
    }
}

/// Visitor that reads [`SchemeParams`].
struct Blocks;

/// Seed that reads the name of a block.
struct BlockName;

impl<'de> de::DeserializeSeed<'de> for BlockName {
    type Value = &'static str;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static str, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for BlockName {
    type Value = &'static str;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a scheme")
    }
    fn visit_str<E: de::Error>(self, found: &str) -> Result<&'static str, E> {
        let known = block_names().iter().find(|name| **name == found);
        known
            .copied()
            .ok_or_else(|| E::unknown_field(found, block_names()))
    }
}

/// Returns the scheme, and the alias if any, called `name`.
///
/// # Errors
/// If there is no such scheme or alias.
pub fn find(name: &str) -> Result<(&'static Scheme, Option<&'static Alias>), UnknownScheme> {
    schemes()
        .find_map(|scheme| {
            if scheme.name == name {
                return Some((scheme, None));
            }
            let alias = scheme.aliases.iter().find(|alias| alias.name == name)?;
            Some((scheme, Some(alias)))
        })
        .ok_or_else(|| UnknownScheme::new(name))
}

/// Error: no scheme has the name that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown scheme `{found}`{}; expected one of: {}", self.hint(), self.names.join(", "))]
pub struct UnknownScheme {
    /// Name that was asked for.
    pub found: String,
    /// Nearest valid name, if one is near.
    pub nearest: Option<&'static str>,
    /// All names and aliases.
    pub names: Vec<&'static str>,
}

impl UnknownScheme {
    fn new(found: &str) -> Self {
        let names: Vec<_> = schemes()
            .flat_map(|scheme| std::iter::once(scheme.name).chain(scheme.aliases.iter().map(|a| a.name)))
            .collect();
        let lower = found.to_lowercase();
        let nearest = nearest::nearest(&lower, names.iter().copied());
        Self {
            found: found.to_string(),
            nearest,
            names,
        }
    }

    fn hint(&self) -> String {
        nearest::hint(self.nearest)
    }
}

impl SchemeParams {
    /// Returns the names of the schemes that have a block.
    pub fn present(&self) -> Vec<&'static str> {
        schemes()
            .map(|scheme| scheme.name)
            .filter(|name| self.has(name))
            .collect()
    }

    /// Returns the scheme or alias `name` with these parameters, and defaults for the others.
    ///
    /// # Errors
    /// If there is no such scheme.
    pub fn configure(&self, name: &str) -> Result<SchemeConfig, UnknownScheme> {
        let (scheme, alias) = find(name)?;
        let params = self.get(scheme.name).ok_or_else(|| UnknownScheme::new(name))?;
        let mut config = SchemeConfig { params, alias };
        for (key, value) in alias.map_or(&[][..], |alias| alias.settings) {
            config.set(key, value).expect("settings of aliases are tested");
        }
        Ok(config)
    }

    /// Returns the parameters that the alias `name` overrides: key, value without the alias, value with it.
    pub fn overruled(&self, name: &str) -> Vec<(&'static str, String, &'static str)> {
        let Ok((scheme, Some(alias))) = find(name) else {
            return Vec::new();
        };
        let plain = self.configure(scheme.name).map(|config| config.values());
        let plain = plain.unwrap_or_default();
        let settings = alias.settings.iter().filter_map(|&(key, runs)| {
            let (_, written) = plain.iter().find(|(name, _)| name == key)?;
            (written != runs).then(|| (key, written.clone(), runs))
        });
        settings.collect()
    }
}

#[cfg(test)]
mod tests;

//! Schemes from outside this crate: added once, before anything runs, and from then on equal to the built-in
//! ones.

use std::any::Any;
use std::fmt::{self, Debug};
use std::sync::OnceLock;

use paceline_kernel::BitRate;
use paceline_kernel::rng::{Purpose, Rng};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, Unexpected, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};

use super::{
    Definition, DelayLimit, Incompatible, Marking, NetworkFacts, RateScaled, ReactionTime, SCHEMES, Scheme,
    SchemeFactory, SendFloor,
};
use crate::api::{CongestionControl, Outgoing, PathInfo, Requirements};
use crate::learned::ModelRef;
use crate::params::{ParamError, Scalar};
use crate::pint;
use crate::receiver::{GrantScheduler, ReceiverHalf};
use crate::switch::{Action, EgressPort, Hooks, SwitchHalves, SwitchSupport};
use crate::testkit::{Pair, egress_port, passing, star_path, with_egress};

/// Scheme to be added.
#[derive(Clone, Copy, Debug)]
pub struct Addition {
    scheme: Scheme,
    default: fn() -> AddedParams,
    check: fn() -> Result<(), AddError>,
}

impl Addition {
    /// Describes the scheme whose parameters have the type `P`.
    pub fn of<P: Definition + Debug + PartialEq + Send + Sync + 'static>() -> Self {
        Self {
            scheme: P::SCHEME,
            default: || AddedParams(Box::new(P::default())),
            check: try_halves::<P>,
        }
    }

    /// Returns its static description.
    pub(super) fn scheme(&'static self) -> &'static Scheme {
        &self.scheme
    }

    /// Returns its default parameters.
    pub(super) fn params(&self) -> AddedParams {
        (self.default)()
    }
}

/// Reason for which a scheme cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddError {
    /// The name is in use.
    #[error("there is a scheme or variant called `{0}` already")]
    Taken(&'static str),
    /// The name is not valid in scenarios.
    #[error(
        "`{0}` cannot be the name of a scheme: expected lower-case letters, digits and hyphens, and no key of `[cc]`"
    )]
    BadName(&'static str),
    /// No hook would call its switch half.
    #[error(
        "scheme `{0}`: no hook calls its switch half; set `hooks` in `switch_part`, such as `arrivals: true`"
    )]
    NoHooks(&'static str),
    /// It declares hooks, but has no switch half.
    #[error("scheme `{0}`: `switch_part` asks for hooks, and `switch_halves` makes no half for a port")]
    NoHalves(&'static str),
    /// It writes a field that it does not declare: scheme, half, what it writes, and the field to set.
    #[error("scheme `{0}`: {1} writes {2}, which nothing asks for; set `{3}: true`")]
    Undeclared(&'static str, &'static str, &'static str, &'static str),
    /// Schemes have already been looked up.
    #[error("schemes are added once, before anything runs")]
    TooLate,
}

/// Keys of `[cc]` that are not schemes.
const RESERVED: [&str; 4] = ["scheme", "window", "windows", "defaults"];

static ADDED: OnceLock<Box<[Addition]>> = OnceLock::new();

/// Adds schemes to the list. The first look-up of a scheme closes the list, so call this before.
///
/// # Errors
/// If a name is in use or invalid, a half writes an undeclared field, or the list is closed.
pub fn add(additions: Vec<Addition>) -> Result<(), AddError> {
    fn names(scheme: &Scheme) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(scheme.name).chain(scheme.aliases.iter().map(|alias| alias.name))
    }
    let mut taken: Vec<&str> = SCHEMES.iter().flat_map(names).collect();
    for name in additions.iter().flat_map(|addition| names(&addition.scheme)) {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || !name.chars().all(plain) || RESERVED.contains(&name) {
            return Err(AddError::BadName(name));
        }
        if taken.contains(&name) {
            return Err(AddError::Taken(name));
        }
        taken.push(name);
    }
    additions.iter().try_for_each(|addition| (addition.check)())?;
    ADDED.set(additions.into()).map_err(|_| AddError::TooLate)
}

/// Returns the added schemes, and closes the list.
pub(super) fn added() -> &'static [Addition] {
    ADDED.get_or_init(Box::default)
}

/// Returns the added scheme called `name`.
pub(super) fn addition(name: &str) -> Option<&'static Addition> {
    added().iter().find(|addition| addition.scheme.name == name)
}

/// Parameters of an added scheme, of any type.
pub struct AddedParams(Box<dyn Erased>);

/// Object-safe form of [`Definition`] and [`crate::params::Parameters`].
trait Erased: Debug + Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn copy(&self) -> Box<dyn Erased>;
    fn equals(&self, other: &dyn Erased) -> bool;
    fn scheme(&self) -> Scheme;
    fn values(&self) -> Vec<(String, String)>;
    fn scalars(&self) -> Vec<(String, Option<Scalar>)>;
    fn set(&mut self, name: &str, text: &str) -> Result<(), ParamError>;
    fn check_ranges(&self) -> Result<(), ParamError>;
    fn explicit(&self) -> Box<dyn Erased>;
    fn hpcc_script_defaults(&self) -> Box<dyn Erased>;
    fn models(&mut self) -> Vec<(&'static str, &mut ModelRef)>;
    fn definition(&self) -> &dyn Plain;
}

/// Declares the object-safe methods of [`Definition`], those without its type in their signature.
macro_rules! plain {
    ($($method:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        pub(super) trait Plain { $(fn $method(&self, $($arg: $type),*) -> $result;)* }

        impl<P: Definition> Plain for P {
            $(fn $method(&self, $($arg: $type),*) -> $result {
                Definition::$method(self, $($arg),*)
            })*
        }

        impl AddedParams {
            $(pub(super) fn $method(&self, $($arg: $type),*) -> $result {
                self.0.definition().$method($($arg),*)
            })*
        }
    };
}
plain! {
    check() -> Result<(), ParamError>;
    needs() -> Requirements;
    pint_code() -> Option<pint::Code>;
    switch_part() -> Option<SwitchSupport>;
    switch_halves(ports: &[Option<EgressPort>], rngs: &mut [Rng]) -> Option<Box<dyn SwitchHalves>>;
    delay_limit(links: usize) -> Option<DelayLimit>;
    reaction_times() -> Vec<ReactionTime>;
    incompatible(network: &NetworkFacts) -> Vec<Incompatible>;
    is_adaptive() -> bool;
    least(line: BitRate) -> Option<SendFloor>;
    marking() -> Marking;
    ternary_detection() -> bool;
    assumes_lossless() -> bool;
    tuned(line: BitRate) -> Vec<RateScaled>;
    receiver_half() -> Option<Box<dyn ReceiverHalf>>;
    grant_scheduler(link: BitRate) -> Option<Box<dyn GrantScheduler>>;
    build(path: &PathInfo) -> Box<dyn CongestionControl>;
    factory() -> Option<SchemeFactory>;
}

impl<P: Definition + Debug + PartialEq + Send + Sync + 'static> Erased for P {
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn copy(&self) -> Box<dyn Erased> {
        Box::new(self.clone())
    }
    fn equals(&self, other: &dyn Erased) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }
    fn scheme(&self) -> Scheme {
        P::SCHEME
    }
    fn values(&self) -> Vec<(String, String)> {
        crate::params::Parameters::values(self)
    }
    fn scalars(&self) -> Vec<(String, Option<Scalar>)> {
        crate::params::Parameters::scalars(self)
    }
    fn set(&mut self, name: &str, text: &str) -> Result<(), ParamError> {
        crate::params::Parameters::set(self, name, text)
    }
    fn check_ranges(&self) -> Result<(), ParamError> {
        crate::params::Parameters::check_ranges(self)
    }
    fn explicit(&self) -> Box<dyn Erased> {
        Box::new(Definition::explicit(self))
    }
    fn hpcc_script_defaults(&self) -> Box<dyn Erased> {
        Box::new(Definition::hpcc_script_defaults(self))
    }
    fn models(&mut self) -> Vec<(&'static str, &mut ModelRef)> {
        Definition::models(self)
    }
    fn definition(&self) -> &dyn Plain {
        self
    }
}

/// Same method names as in [`Definition`], so that `with_params!` works for added schemes.
impl AddedParams {
    /// Returns the parameters if they have the type `P`.
    pub fn of<P: 'static>(&self) -> Option<&P> {
        self.0.as_any().downcast_ref()
    }
    pub(super) fn name(&self) -> &'static str {
        self.0.scheme().name
    }
    pub(super) fn values(&self) -> Vec<(String, String)> {
        self.0.values()
    }
    pub(super) fn set(&mut self, name: &str, text: &str) -> Result<(), ParamError> {
        self.0.set(name, text)
    }
    pub(super) fn check_ranges(&self) -> Result<(), ParamError> {
        self.0.check_ranges()
    }
    pub(super) fn explicit(&self) -> Self {
        Self(self.0.explicit())
    }
    pub(super) fn hpcc_script_defaults(&self) -> Self {
        Self(self.0.hpcc_script_defaults())
    }
    pub(super) fn models(&mut self) -> Vec<(&'static str, &mut ModelRef)> {
        self.0.models()
    }
}

impl Clone for AddedParams {
    fn clone(&self) -> Self {
        Self(self.0.copy())
    }
}

impl PartialEq for AddedParams {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&*other.0)
    }
}

impl Debug for AddedParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for AddedParams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.0.scalars() {
            match value {
                None => {}
                Some(Scalar::Bool(value)) => map.serialize_entry(&key, &value)?,
                Some(Scalar::Whole(value)) => map.serialize_entry(&key, &value)?,
                Some(Scalar::Number(value)) => map.serialize_entry(&key, &value)?,
                Some(Scalar::Text(value)) => map.serialize_entry(&key, &value)?,
            }
        }
        map.end()
    }
}

/// Seed that reads a block of the scheme's parameters.
impl<'de> DeserializeSeed<'de> for &'static Addition {
    type Value = AddedParams;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<AddedParams, D::Error> {
        deserializer.deserialize_map(Block(self.params()))
    }
}

struct Block(AddedParams);

impl<'de> Visitor<'de> for Block {
    type Value = AddedParams;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AddedParams, A::Error> {
        let Self(mut params) = self;
        let known = params.0.scalars();
        while let Some(index) = map.next_key_seed(Key(&known))? {
            let (key, default) = &known[index];
            map.next_value_seed(Value {
                params: &mut params,
                key,
                default: default.as_ref(),
            })?;
        }
        Ok(params)
    }
}

/// Seed that reads a key and returns the index of its parameter.
struct Key<'a>(&'a [(String, Option<Scalar>)]);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = usize;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = usize;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a parameter")
    }
    fn visit_str<E: de::Error>(self, key: &str) -> Result<usize, E> {
        let found = self.0.iter().position(|(name, _)| name == key);
        found.ok_or_else(|| {
            // Same wording as serde's for the fields of a struct.
            let names: Vec<_> = self.0.iter().map(|(name, _)| format!("`{name}`")).collect();
            let expected = match names.as_slice() {
                [] => "there are no fields".to_string(),
                [name] => format!("expected {name}"),
                names => format!("expected one of {}", names.join(", ")),
            };
            E::custom(format!("unknown field `{key}`, {expected}"))
        })
    }
}

/// Seed that sets a parameter to a value of the type of its default.
struct Value<'a> {
    params: &'a mut AddedParams,
    key: &'a str,
    default: Option<&'a Scalar>,
}

impl Value<'_> {
    fn take<E: de::Error>(self, fits: bool, found: Unexpected<'_>, text: &str) -> Result<(), E> {
        if !fits {
            return Err(E::invalid_type(found, &self));
        }
        let set = self.params.set(self.key, text);
        set.map_err(|error| E::custom(error.message))
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Value<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.default {
            Some(Scalar::Bool(_)) => "a boolean",
            Some(Scalar::Whole(_)) => "u32",
            Some(Scalar::Number(_)) => "f64",
            Some(Scalar::Text(_)) => "a string",
            None => "a value",
        })
    }
    fn visit_str<E: de::Error>(self, value: &str) -> Result<(), E> {
        let fits = matches!(self.default, None | Some(Scalar::Text(_)));
        self.take(fits, Unexpected::Str(value), value)
    }
    fn visit_bool<E: de::Error>(self, value: bool) -> Result<(), E> {
        let fits = matches!(self.default, None | Some(Scalar::Bool(_)));
        self.take(fits, Unexpected::Bool(value), &value.to_string())
    }
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<(), E> {
        let fits = matches!(self.default, None | Some(Scalar::Whole(_) | Scalar::Number(_)));
        self.take(fits, Unexpected::Signed(value), &value.to_string())
    }
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<(), E> {
        let fits = matches!(self.default, None | Some(Scalar::Whole(_) | Scalar::Number(_)));
        self.take(fits, Unexpected::Unsigned(value), &value.to_string())
    }
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<(), E> {
        let fits = matches!(self.default, None | Some(Scalar::Number(_)));
        self.take(fits, Unexpected::Float(value), &value.to_string())
    }
}

/// Runs the halves of a scheme with its default parameters.
///
/// # Errors
/// If a half would never be called, or writes a field that `needs` does not declare, which the engine would
/// ignore silently.
fn try_halves<P: Definition>() -> Result<(), AddError> {
    let (mut params, name) = (P::default(), P::SCHEME.name);
    let needs = params.needs();
    if let Some(part) = params.switch_part() {
        check_switch(&params, name, &needs, &part)?;
    }
    if !params.models().is_empty() {
        // Without its model a sender cannot be built.
        return Ok(());
    }
    let mut pair = Pair::new(star_path(), |path| params.build(path));
    let packet = Outgoing {
        seq: 0,
        payload: 1000,
        snd_una: 0,
        end: 1_000_000,
    };
    let (tag, words) = pair.stamps(&packet);
    if !needs.tags && tag != 0 {
        return Err(AddError::Undeclared(name, "the sender", "tags", "tags"));
    }
    if !needs.words && words != 0 {
        return Err(AddError::Undeclared(name, "the sender", "words", "words"));
    }
    Ok(())
}

fn check_switch<P: Definition>(
    params: &P,
    name: &'static str,
    needs: &Requirements,
    part: &SwitchSupport,
) -> Result<(), AddError> {
    if part.hooks == Hooks::default() {
        return Err(AddError::NoHooks(name));
    }
    let mut rngs = [Rng::stream(1, Purpose::Switch, 0)];
    let Some(mut halves) = params.switch_halves(&[Some(egress_port())], &mut rngs) else {
        return Err(AddError::NoHalves(name));
    };
    if !part.hooks.arrivals {
        return Ok(());
    }
    // A half may act only above a threshold, so several queue lengths are tried.
    for queue in [0, 20_000, 200_000, 1_000_000] {
        let packet = passing(queue);
        let verdict = with_egress(|at| {
            at.queued = queue;
            halves.on_arrival(0, at, &packet)
        });
        if !needs.tags && verdict.tag != packet.tag {
            return Err(AddError::Undeclared(name, "the switch's half", "tags", "tags"));
        }
        if !part.trims && verdict.action == Action::Trim {
            return Err(AddError::Undeclared(
                name,
                "the switch's half",
                "trimmed packets",
                "trims",
            ));
        }
    }
    Ok(())
}

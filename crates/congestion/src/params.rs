//! Parameters: help, unit, default, range and source of each in one place.
//!
//! The `params!` macro declares a scheme's parameters once. It generates the struct that a scenario file
//! fills, its defaults, its documentation and its range checks.

use std::fmt;

use paceline_kernel::{BitRate, Bytes, Span};

mod auto;

pub use auto::Auto;

/// Documentation of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamDoc {
    /// Key in the scenario file.
    pub name: String,
    /// Unit of its values, empty for a plain number.
    pub unit: &'static str,
    /// Default, as a scenario file would write it.
    pub default: String,
    /// Description of the valid values.
    pub range: String,
    /// Source of the default.
    pub source: &'static str,
    /// Description for help pages.
    pub help: String,
    /// Conditions under which it has an effect.
    pub when: When,
}

/// Conditions under which a setting has an effect: any of the cases, each with all of its conditions. Empty
/// means always.
pub type When = &'static [&'static [Condition]];

/// Condition that another setting has one of some values, or that a fact is true of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Path of the other key, relative to the setting's own table if it starts with a dot; or the name of a
    /// fact.
    pub key: &'static str,
    /// Values as a scenario file writes them; empty for a fact.
    pub values: &'static [&'static str],
    /// True if the condition is any value other than `values`.
    pub except: bool,
}

/// Returns the condition that `key` is one of `values`.
pub const fn is(key: &'static str, values: &'static [&'static str]) -> Condition {
    let except = false;
    Condition { key, values, except }
}

/// Returns the condition that `key` is none of `values`.
pub const fn is_not(key: &'static str, values: &'static [&'static str]) -> Condition {
    let except = true;
    Condition { key, values, except }
}

/// Returns the condition that a fact is true of the run.
pub const fn if_so(fact: &'static str) -> Condition {
    is(fact, &[])
}

/// Returns the conditions as a phrase, or `None` if there are none.
pub fn only_with(when: When) -> Option<String> {
    let case = |case: &&[Condition]| {
        case.iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" and ")
    };
    let cases: Vec<String> = when.iter().map(case).collect();
    (!cases.is_empty()).then(|| format!("only with {}", cases.join(", or with ")))
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.trim_start_matches('.');
        let values = self.values.join(" or ");
        match (self.except, self.values) {
            (_, []) => f.write_str(key),
            (false, [""]) => write!(f, "no `{key}`"),
            (true, ["[]" | "off"]) => write!(f, "`{key}`"),
            (true, _) => write!(f, "`{key}` other than {values}"),
            (false, _) => write!(f, "`{key} = {values}`"),
        }
    }
}

/// Error of a parameter whose value is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("parameter `{param}`: {message}")]
pub struct ParamError {
    /// Key of the parameter.
    pub param: String,
    /// Value found and value expected.
    pub message: String,
}

impl ParamError {
    /// Creates an error about `param`.
    pub fn new(param: &str, message: impl Into<String>) -> Self {
        Self {
            param: param.to_string(),
            message: message.into(),
        }
    }
}

/// Valid numbers of a parameter. Bounds of quantities are in ps, bytes or bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// Any number, or any of the parameter's choices.
    Any,
    /// Greater than this bound.
    Above(f64),
    /// Greater than or equal to this.
    AtLeast(f64),
    /// Greater than the first, and at most the second.
    AboveUpTo(f64, f64),
    /// From the first to the second, inclusive.
    Between(f64, f64),
}

impl Range {
    fn contains(self, x: f64) -> bool {
        x.is_finite()
            && match self {
                Self::Any => true,
                Self::Above(low) => x > low,
                Self::AtLeast(low) => x >= low,
                Self::AboveUpTo(low, high) => x > low && x <= high,
                Self::Between(low, high) => x >= low && x <= high,
            }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Above(low) => write!(f, "above {low}"),
            Self::AtLeast(low) => write!(f, "at least {low}"),
            Self::AboveUpTo(low, high) => write!(f, "above {low}, at most {high}"),
            Self::Between(low, high) => write!(f, "from {low} to {high}"),
        }
    }
}

/// Value with its type in a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// Boolean, `true` or `false`.
    Bool(bool),
    /// Whole number, not negative.
    Whole(u64),
    /// Real number without a unit.
    Number(f64),
    /// Text: a quantity with its unit, or a choice.
    Text(String),
}

/// Type of a parameter.
pub trait ParamValue: Sized {
    /// Unit of written values, empty for none.
    const UNIT: &'static str;
    /// Valid names, if the type is a choice.
    const CHOICES: &'static [&'static str] = &[];
    /// Formats the value as a scenario file would write it, without quotes.
    fn show(&self) -> String;
    /// Parses the format of [`ParamValue::show`].
    ///
    /// # Errors
    /// The text is no such value; the message says what was expected.
    fn read(text: &str) -> Result<Self, String>;
    /// Returns the value as a number in its smallest unit, for [`Range`]; `None` if it is not a number.
    fn number(&self) -> Option<f64>;
    /// Returns the value with its type in a file; `None` if files omit it.
    fn scalar(&self) -> Option<Scalar> {
        Some(Scalar::Text(self.show()))
    }
}

macro_rules! value_by_parsing {
    ($($type:ty, $unit:literal, $expected:literal, $number:expr, $scalar:expr $(, $choices:expr)?;)*) => { $(
        impl ParamValue for $type {
            const UNIT: &'static str = $unit;
            $(const CHOICES: &'static [&'static str] = $choices;)?
            fn show(&self) -> String {
                self.to_string()
            }
            fn read(text: &str) -> Result<Self, String> {
                text.parse().map_err(|error| format!("`{text}` is not {}: {error}", $expected))
            }
            fn number(&self) -> Option<f64> {
                let number: fn(&$type) -> Option<f64> = $number;
                number(self)
            }
            fn scalar(&self) -> Option<Scalar> {
                let scalar: fn(&$type) -> Scalar = $scalar;
                Some(scalar(self))
            }
        }
    )* };
}
value_by_parsing! {
    f64, "", "a number", |x| Some(*x), |x| Scalar::Number(*x);
    u32, "", "a whole number", |x| Some(f64::from(*x)), |x| Scalar::Whole(u64::from(*x));
    bool, "", "`true` or `false`", |_| None, |x| Scalar::Bool(*x), &["true", "false"];
    Span, "s, ms, us, ns, ps", "a time", |x| Some(x.as_ps() as f64), |x| Scalar::Text(x.show());
    Bytes, "B, KB, MB, KiB, MiB", "a size", |x| Some(x.get() as f64), |x| Scalar::Text(x.show());
    BitRate, "bps, Kbps, Mbps, Gbps", "a rate", |x| Some(x.as_bps() as f64), |x| Scalar::Text(x.show());
}

/// Optional parameter, whose default depends on other parameters.
impl<T: ParamValue> ParamValue for Option<T> {
    const UNIT: &'static str = T::UNIT;
    const CHOICES: &'static [&'static str] = T::CHOICES;
    fn show(&self) -> String {
        self.as_ref().map_or_else(|| "by the others".to_string(), T::show)
    }
    fn read(text: &str) -> Result<Self, String> {
        T::read(text).map(Some)
    }
    fn number(&self) -> Option<f64> {
        self.as_ref().and_then(T::number)
    }
    fn scalar(&self) -> Option<Scalar> {
        self.as_ref().and_then(T::scalar)
    }
}

/// Set of parameters; the `params!` macro implements it.
pub trait Parameters: Sized {
    /// Returns the documentation of every parameter, in order.
    fn docs() -> Vec<ParamDoc>;
    /// Returns the name and value of every parameter, in order.
    fn values(&self) -> Vec<(String, String)>;
    /// Returns the name and value of every parameter with its type in a file, in order.
    fn scalars(&self) -> Vec<(String, Option<Scalar>)>;
    /// Sets the parameter `name` to the value in `text`.
    ///
    /// # Errors
    /// If there is no such parameter, or `text` is not a value of it.
    fn set(&mut self, name: &str, text: &str) -> Result<(), ParamError>;
    /// Checks that every number is in its range.
    ///
    /// # Errors
    /// The first parameter that is out of its range.
    fn check_ranges(&self) -> Result<(), ParamError>;
}

/// Converts a field's name to its key in scenario files.
#[doc(hidden)]
pub fn key(field: &str) -> String {
    field.replace('_', "-")
}

/// Creates the documentation of a parameter from its declaration in `params!`.
#[doc(hidden)]
pub fn doc_of<T: ParamValue>(declared: Declared<'_>) -> ParamDoc {
    let help: Vec<&str> = declared.help.iter().map(|line| line.trim()).collect();
    ParamDoc {
        name: key(declared.field),
        unit: T::UNIT,
        default: declared.default,
        range: match T::CHOICES {
            [] => declared.range.to_string(),
            choices => format!("one of {}", choices.join(", ")),
        },
        source: declared.source,
        help: help.join(" "),
        when: declared.when,
    }
}

/// Parts of a parameter's declaration in `params!`.
#[doc(hidden)]
pub struct Declared<'a> {
    pub field: &'a str,
    pub default: String,
    pub range: Range,
    pub source: &'static str,
    /// Lines of the doc comment, with their leading spaces.
    pub help: &'a [&'a str],
    pub when: When,
}

/// Upper limit of plain numbers: no parameter needs more, and results derived from more would overflow.
const NUMBER_MAX: f64 = 1e9;

/// Checks that a value is in its range.
///
/// # Errors
/// If it is out of range.
#[doc(hidden)]
pub fn check<T: ParamValue>(field: &str, value: &T, range: Range) -> Result<(), ParamError> {
    match value.number() {
        Some(number) if !range.contains(number) => Err(ParamError::new(
            &key(field),
            format!("{} is out of range: expected a value {range}", value.show()),
        )),
        Some(number) if T::UNIT.is_empty() && number.abs() > NUMBER_MAX => Err(ParamError::new(
            &key(field),
            format!(
                "{} is out of range: expected a value of at most {NUMBER_MAX}",
                value.show()
            ),
        )),
        _ => Ok(()),
    }
}

/// As [`scheme_params`], for built-in schemes: scenarios read these through serde.
macro_rules! params {
    ($(#[$meta:meta])* pub struct $($rest:tt)*) => {
        $crate::scheme_params! {
            $(#[$meta])*
            #[derive(serde::Serialize, serde::Deserialize)]
            #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
            pub struct $($rest)*
        }
    };
}

/// Declares a scheme's parameters.
///
/// Each declaration has the help text (a doc comment), `name: type = default`, optionally `shown` (text of a
/// default that depends on other parameters), `in` a [`Range`], `from` a source, and `only` with conditions
/// if it has no effect in some runs.
#[macro_export]
macro_rules! scheme_params {
    (
        $(#[$meta:meta])*
        pub struct $Params:ident { $(
            $(#[doc = $help:literal])+
            $field:ident: $type:ty = $default:expr, $(shown $shown:expr,)? in $range:expr, from $source:literal
            $(, only($when:expr))?;
        )* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $Params { $(
            $(#[doc = $help])+
            #[doc = concat!("\nDefault `", stringify!($default), "`; source: ", $source, ".")]
            pub $field: $type,
        )* }

        impl Default for $Params {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $crate::params::Parameters for $Params {
            fn docs() -> Vec<$crate::params::ParamDoc> {
                let _defaults = Self::default();
                vec![$({
                    let _default = $crate::params::ParamValue::show(&_defaults.$field);
                    $(let _default = $shown;)?
                    let _when: $crate::params::When = &[];
                    $(let _when: $crate::params::When = const { $when };)?
                    $crate::params::doc_of::<$type>($crate::params::Declared {
                        field: stringify!($field),
                        default: _default,
                        range: $range,
                        source: $source,
                        help: &[$($help),+],
                        when: _when,
                    })
                },)*]
            }
            fn values(&self) -> Vec<(String, String)> {
                vec![$((
                    $crate::params::key(stringify!($field)),
                    $crate::params::ParamValue::show(&self.$field),
                ),)*]
            }
            fn scalars(&self) -> Vec<(String, Option<$crate::params::Scalar>)> {
                vec![$((
                    $crate::params::key(stringify!($field)),
                    $crate::params::ParamValue::scalar(&self.$field),
                ),)*]
            }
            fn set(&mut self, name: &str, _text: &str) -> Result<(), $crate::params::ParamError> {
                $(if name == $crate::params::key(stringify!($field)) {
                    self.$field = $crate::params::ParamValue::read(_text)
                        .map_err(|message| $crate::params::ParamError::new(name, message))?;
                    return Ok(());
                })*
                let known: Vec<String> = vec![$($crate::params::key(stringify!($field)),)*];
                Err($crate::params::ParamError::new(
                    name,
                    format!("there is no such parameter; expected one of: {}", known.join(", ")),
                ))
            }
            fn check_ranges(&self) -> Result<(), $crate::params::ParamError> {
                $($crate::params::check(stringify!($field), &self.$field, $range)?;)*
                Ok(())
            }
        }
    };
}

/// As [`scheme_choice`], for built-in schemes.
macro_rules! choice {
    (
        $(#[$meta:meta])*
        pub enum $Choice:ident { $($(#[$variant_meta:meta])* $Variant:ident = $name:literal,)+ }
    ) => {
        $crate::scheme_choice! {
            $(#[$meta])*
            #[derive(serde::Serialize, serde::Deserialize)]
            pub enum $Choice { $($(#[$variant_meta])* #[serde(rename = $name)] $Variant = $name,)+ }
        }
    };
}

/// Declares a parameter whose values are a few names.
#[macro_export]
macro_rules! scheme_choice {
    (
        $(#[$meta:meta])*
        pub enum $Choice:ident { $($(#[$variant_meta:meta])* $Variant:ident = $name:literal,)+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Choice { $($(#[$variant_meta])* $Variant,)+ }

        impl $crate::params::ParamValue for $Choice {
            const UNIT: &'static str = "";
            const CHOICES: &'static [&'static str] = &[$($name),+];
            fn show(&self) -> String {
                match self { $(Self::$Variant => $name,)+ }.to_string()
            }
            fn read(text: &str) -> Result<Self, String> {
                match text {
                    $($name => Ok(Self::$Variant),)+
                    _ => Err(format!("`{text}` is not one of: {}", Self::CHOICES.join(", "))),
                }
            }
            fn number(&self) -> Option<f64> {
                None
            }
        }

        impl std::fmt::Display for $Choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&$crate::params::ParamValue::show(self))
            }
        }

        impl std::str::FromStr for $Choice {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                $crate::params::ParamValue::read(text)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    #![allow(unreachable_pub)]

    use super::*;

    choice! {
        /// Choice of two values.
        pub enum Choice { /// One.
            This = "this", /// The other.
            That = "that", }
    }
    params! {
        /// Parameters for the tests.
        pub struct Sample {
            /// A gain,
            /// in two lines.
            gain: f64 = 0.5, in Range::AboveUpTo(0.0, 1.0), from "the paper";
            /// A step.
            rate_ai: BitRate = BitRate::from_bps(50_000_000), in Range::Above(0.0), from "the code";
            /// A time.
            wait: Option<Span> = None, shown format!("twice {}", Span::from_us(2)), in Range::Above(0.0), from "us";
            /// A choice.
            choice: Choice = Choice::This, in Range::Any, from "us";
        }
    }

    #[test]
    fn documentation_comes_from_the_declaration() {
        let docs = Sample::docs();
        assert_eq!(docs[0].help, "A gain, in two lines.");
        assert_eq!(docs[0].range, "above 0, at most 1");
        assert_eq!(
            (docs[1].name.as_str(), docs[1].default.as_str()),
            ("rate-ai", "50Mbps")
        );
        assert_eq!(docs[2].default, "twice 2us");
        assert_eq!(docs[3].range, "one of this, that");
    }

    #[test]
    fn values_are_set_by_name_and_checked() {
        let mut sample = Sample::default();
        sample.set("rate-ai", "1Gbps").unwrap();
        sample.set("wait", "3us").unwrap();
        sample.set("choice", "that").unwrap();
        assert_eq!(sample.rate_ai, BitRate::from_gbps(1));
        assert_eq!(
            (sample.wait, sample.choice),
            (Some(Span::from_us(3)), Choice::That)
        );
        assert_eq!(sample.check_ranges(), Ok(()));
        assert_eq!(
            sample.set("rate", "1Gbps").unwrap_err().to_string(),
            "parameter `rate`: there is no such parameter; expected one of: gain, rate-ai, wait, choice"
        );
        assert!(
            sample
                .set("choice", "up")
                .unwrap_err()
                .to_string()
                .contains("one of: this, that")
        );
        for bad in ["0", "NaN", "1.5"] {
            sample.set("gain", bad).unwrap();
            let error = sample.check_ranges().unwrap_err();
            assert_eq!(error.param, "gain");
            assert!(error.message.contains("above 0, at most 1"), "{error}");
        }
    }

    #[test]
    fn a_misspelt_key_is_an_error_at_its_place() {
        let error = toml::from_str::<Sample>("gain = 0.1\nrate-ia = \"1Gbps\"\n").unwrap_err();
        assert_eq!(error.span(), Some(11..18));
        let sample: Sample = toml::from_str("rate-ai = \"40Mb/s\"\nchoice = \"that\"").unwrap();
        assert_eq!(
            (sample.rate_ai, sample.choice),
            (BitRate::from_bps(40_000_000), Choice::That)
        );
    }
}

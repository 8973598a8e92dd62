//! Declaration of keys: name, type, default, documentation and conditions, once for all uses. The reader of
//! scenarios, the reference, `explain`, the default values and the warnings about settings without effect are derived
//! from it.

use serde::de::DeserializeOwned;

use paceline_congestion::params::When;

use crate::document::reader;
pub use crate::document::writer::shown;

/// Parameter of a built-in scheme, topology, workload or table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Key in a scenario.
    pub name: &'static str,
    /// Units in which it is written; empty for a plain number or a name.
    pub unit: &'static str,
    /// Default; empty if the parameter is required.
    pub default: &'static str,
    /// Description for users.
    pub help: &'static str,
    /// Conditions under which it has an effect.
    pub when: When,
    /// Default as runs write it.
    pub(crate) written: &'static str,
}

/// Built-in scheme, topology, workload or table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name of its block in a scenario.
    pub name: &'static str,
    /// Description for users.
    pub summary: &'static str,
    /// Parameters in the order of the reference.
    pub parameters: &'static [Parameter],
    /// Conditions under which any of them has an effect.
    pub when: When,
}

/// Table of a scenario.
pub trait Table {
    /// Description for users.
    const ABOUT: &'static str;
    /// Conditions under which its keys have an effect.
    const WHEN: When;
    /// Returns its documented keys; the others are tables with their own entries.
    fn keys() -> Vec<Parameter>;
}

/// Returns the entry of a table, under its name in a scenario.
pub fn entry<T: Table>(name: &'static str) -> Entry {
    Entry {
        name,
        summary: T::ABOUT.trim_ascii_start(),
        parameters: T::keys().leak(),
        when: T::WHEN,
    }
}

/// Declaration of a key.
pub struct KeyDeclaration {
    /// Name of the field that holds it.
    pub field: &'static str,
    /// Name in a scenario if it differs from the field's, otherwise empty.
    pub rename: &'static str,
    /// Description for users.
    pub help: &'static str,
    /// Rust type of its values.
    pub type_name: &'static str,
    /// Default as declared.
    pub default: &'static str,
    /// Default as runs write it, if it does not depend on other settings.
    pub written: Option<String>,
    /// Conditions under which it has an effect.
    pub when: When,
}

/// Returns the documentation of a key.
pub fn parameter(said: KeyDeclaration) -> Parameter {
    Parameter {
        name: match said.rename {
            "" => said.field.replace('_', "-").leak(),
            name => name,
        },
        unit: unit(said.type_name),
        default: said.default,
        help: said.help.trim_ascii_start(),
        when: said.when,
        written: said.written.map_or(said.default, |written| written.leak()),
    }
}

/// Returns the units in which values of a type are written.
fn unit(type_name: &str) -> &'static str {
    let mut words = type_name.split(|c: char| !c.is_alphanumeric());
    let unit = words.find_map(|word| match word {
        "Span" | "Time" | "AutoTime" => Some("s, ms, us, ns, ps"),
        "Bytes" | "Buffer" => Some("B, KB, MB, GB, KiB, MiB, GiB"),
        "BitRate" => Some("bps, Kbps, Mbps, Gbps"),
        _ => None,
    });
    unit.unwrap_or_default()
}

/// Parses a declared default in the syntax of a scenario.
///
/// # Panics
/// If the type has no such value: a mistake in the declaration, which every test of the reference finds.
pub fn default<T: DeserializeOwned>(text: &str) -> T {
    reader::read_value(text).unwrap_or_else(|error| panic!("the declared default `{text}`: {error}"))
}

/// Declares tables whose keys are all optional. A key is declared with its documentation (without one, it is a table
/// with its own entry), `name: type`, its default (`= "text"`, in the syntax of a scenario; `=> "text"` if it depends
/// on other settings), and `, only(WHEN)` if it has an effect only in some runs.
#[macro_export]
macro_rules! tables {
    ($(
        $(#[doc = $about:literal])+
        struct $name:ident $(only($only:expr))? { $(
            $(#[doc = $help:literal])*
            $(#[serde($($meta:tt)*)])?
            $field:ident: $type:ty $(= $default:literal)? $(=> $depends:literal)? $(, only($when:expr))?;
        )* }
    )*) => { $(
        $(#[doc = $about])+
        #[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
        pub(crate) struct $name {
            $(
                $(#[doc = $help])*
                $(#[serde($($meta)*)])?
                #[serde(skip_serializing_if = "Option::is_none")]
                pub(crate) $field: Option<$type>,
            )*
        }

        impl $name {
            /// Returns the defaults that do not depend on other settings.
            #[allow(dead_code, reason = "not every table has such defaults")]
            pub(crate) fn declared() -> &'static Self {
                static DECLARED: std::sync::LazyLock<$name> = std::sync::LazyLock::new(|| $name {
                    $($field: {
                        let _default: Option<$type> = None;
                        $(let _default = Some($crate::declare::default::<$type>($default));)?
                        _default
                    },)*
                });
                &DECLARED
            }
        }

        $crate::documented! {
            table $name, concat!($($about),+), [$($only)?], [$({
                [$($help),*], $field: $type, [$($default)?], [$($depends)?], [$($when)?], [$($($meta)*)?]
            })*]
        }
    )* };
}

/// Declares other tables: each field has the type and the attributes that it is declared with.
macro_rules! described {
    ($(
        $(#[doc = $about:literal])+
        struct $name:ident derive($($derive:ident),+) serde($($serde:tt)+) { $(
            $(#[doc = $help:literal])*
            $(#[serde($($meta:tt)*)])?
            $field:ident: $type:ty $(= $default:literal)? $(=> $depends:literal)? $(, only($when:expr))?;
        )* }
    )*) => { $(
        $(#[doc = $about])+
        #[derive($($derive),+)]
        #[serde($($serde)+)]
        pub(crate) struct $name {
            $(
                $(#[doc = $help])*
                $(#[serde($($meta)*)])?
                pub(crate) $field: $type,
            )*
        }

        $crate::documented! {
            table $name, concat!($($about),+), [], [$({
                [$($help),*], $field: $type, [$($default)?], [$($depends)?], [$($when)?], [$($($meta)*)?]
            })*]
        }
    )* };
}

/// Implements the documentation of a table of any type.
#[doc(hidden)]
#[macro_export]
macro_rules! documented {
    (table $name:ident, $about:expr, [$($only:expr)?], [$({
        [$($help:literal),*], $field:ident: $type:ty, [$($default:literal)?], [$($depends:literal)?], [$($when:expr)?],
        [$($meta:tt)*]
    })*]) => {
        impl $crate::declare::Table for $name {
            const ABOUT: &'static str = $about;
            const WHEN: paceline_congestion::params::When = {
                let _when: paceline_congestion::params::When = &[];
                $(let _when: paceline_congestion::params::When = $only;)?
                _when
            };
            fn keys() -> Vec<$crate::declare::Parameter> {
                #[allow(unused_mut, reason = "a table without keys")]
                let mut keys: Vec<$crate::declare::Parameter> = Vec::new();
                $({
                    let _help: &'static str = concat!("", $($help),*);
                    let _when: paceline_congestion::params::When = &[];
                    $(let _when: paceline_congestion::params::When = const { $when };)?
                    let _written: Option<String> = None;
                    $(let _written = Some($crate::declare::shown(&$crate::declare::default::<$type>($default)));)?
                    if !_help.is_empty() {
                        keys.push($crate::declare::parameter($crate::declare::KeyDeclaration {
                            field: stringify!($field),
                            rename: $crate::renamed!($($meta)*),
                            help: _help,
                            type_name: stringify!($type),
                            default: concat!("", $($default)? $($depends)?),
                            written: _written,
                            when: _when,
                        }));
                    }
                })*
                keys
            }
        }
    };
}

/// Expands to the name in a `serde(rename)` attribute, or to an empty string.
#[doc(hidden)]
#[macro_export]
macro_rules! renamed {
    (rename = $name:literal) => {
        $name
    };
    ($($other:tt)*) => {
        ""
    };
}

pub(crate) use described;
pub(crate) use tables;

//! How keys are declared: name, type, default, documentation, and where they act, once. The reader of scenarios, the
//! reference, `explain`, the defaults that are filled in and the warnings about settings without effect come from it.

use serde::de::DeserializeOwned;

use paceline_congestion::params::When;

use crate::document::reader;
pub use crate::document::writer::shown;

/// A parameter of something built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The key in a scenario.
    pub name: &'static str,
    /// The unit in which it is written; empty for a plain number or a name.
    pub unit: &'static str,
    /// The default; empty if it must be given.
    pub default: &'static str,
    /// What it is.
    pub help: &'static str,
    /// Where it acts.
    pub when: When,
    /// The default as runs write it.
    pub(crate) written: &'static str,
}

/// Something built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name of its block in a scenario.
    pub name: &'static str,
    /// What it is.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Where they act, all of them.
    pub when: When,
}

/// A table of a scenario.
pub trait Table {
    /// What it is.
    const ABOUT: &'static str;
    /// Where its keys act.
    const WHEN: When;
    /// Its keys that are documented: others are tables with entries of their own.
    fn keys() -> Vec<Parameter>;
}

/// The entry of a table, under the name that it has in a scenario.
pub fn entry<T: Table>(name: &'static str) -> Entry {
    Entry {
        name,
        summary: T::ABOUT.trim_ascii_start(),
        parameters: T::keys().leak(),
        when: T::WHEN,
    }
}

/// What a declaration says of a key.
pub struct Said {
    /// The field that holds it.
    pub field: &'static str,
    /// Its name, if that is not the field's.
    pub rename: &'static str,
    /// What it is.
    pub help: &'static str,
    /// The type of its values.
    pub type_name: &'static str,
    /// The default as it is declared.
    pub default: &'static str,
    /// The default as runs write it, if it does not depend on anything.
    pub written: Option<String>,
    /// Where it acts.
    pub when: When,
}

/// The documentation of a key.
pub fn parameter(said: Said) -> Parameter {
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

/// The unit in which values of a type are written.
fn unit(type_name: &str) -> &'static str {
    let mut words = type_name.split(|c: char| !c.is_alphanumeric());
    let unit = words.find_map(|word| match word {
        "Span" | "Time" | "PortBins" => Some("s, ms, us, ns, ps"),
        "Bytes" | "Buffer" => Some("B, KB, MB, GB, KiB, MiB, GiB"),
        "BitRate" => Some("bps, Kbps, Mbps, Gbps"),
        _ => None,
    });
    unit.unwrap_or_default()
}

/// A default, read as a scenario is.
///
/// # Panics
/// If the type has no such value: a mistake in the declaration, which every test of the reference finds.
pub fn default<T: DeserializeOwned>(text: &str) -> T {
    reader::read_value(text).unwrap_or_else(|error| panic!("the declared default `{text}`: {error}"))
}

/// Tables whose keys are all optional. A key is declared with its documentation (no documentation: a table with an entry
/// of its own), `name: type`, its default (`= "text"`, read as in a scenario; `=> "text"` where it depends on something
/// else), and `, only(WHEN)` where it acts in some runs only.
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
            /// The defaults that do not depend on anything.
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

/// Tables of other kinds: each field has the type and the attributes that it is declared with.
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

/// The documentation of a table, whatever its type.
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
                        keys.push($crate::declare::parameter($crate::declare::Said {
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

/// The name that serde is told.
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

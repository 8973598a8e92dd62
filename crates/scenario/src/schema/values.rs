//! Values with their own notation.

use std::fmt;
use std::str::FromStr;

use paceline_congestion::entropy::Selector;
use paceline_fabric::spec::PfcMode;
use paceline_kernel::{Bytes, Span};
use serde::de::{self, Deserializer, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

/// Hop-by-hop flow control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowControlKind {
    /// Priority flow control, with pause frames.
    Pfc,
    /// Credit-based flow control.
    Credits,
    /// No flow control: packets may be dropped.
    None,
}

/// Derivation of the longest continuous transmission on links with credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ExitKind {
    Periods,
    Formula,
}

/// Support of switches for schemes beyond marks and telemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AssistKind {
    Auto,
    None,
}

/// Ports with that support: see [`paceline_fabric::spec::AssistPorts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AssistPortsKind {
    Switches,
    BetweenSwitches,
}

/// Duration of a pause: see [`PfcMode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PfcModeKind {
    OnOff,
    Quanta,
}

impl From<PfcMode> for PfcModeKind {
    fn from(mode: PfcMode) -> Self {
        match mode {
            PfcMode::OnOff => Self::OnOff,
            PfcMode::Quanta { .. } => Self::Quanta,
        }
    }
}

/// Choice among equal next hops by switches, or among paths by senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Balancing {
    Ecmp,
    Flowlet,
    Spray,
    Adaptive,
    Oblivious,
    Bitmap,
    Reps,
    Mixed,
    Mrc,
}

impl Balancing {
    /// Returns the path selector if senders choose.
    pub(crate) const fn selector(self) -> Option<Selector> {
        match self {
            Self::Ecmp | Self::Flowlet | Self::Spray | Self::Adaptive => None,
            Self::Oblivious => Some(Selector::Oblivious),
            Self::Bitmap => Some(Selector::Bitmap),
            Self::Reps => Some(Selector::Reps),
            Self::Mixed => Some(Selector::Mixed),
            Self::Mrc => Some(Selector::Mrc),
        }
    }
}

/// Unit of traffic for which the least loaded port is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AdaptivePer {
    Packet,
    Flowlet,
}

/// Trigger of the receiver's acknowledgements: `ack.every-packets = 1`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ack {
    /// Number of packets per acknowledgement.
    EveryPackets(std::num::NonZeroU32),
    /// Number of bytes per acknowledgement.
    EveryBytes(Bytes),
}

/// Buffer space for packets that arrive after a pause was sent: `headroom.fixed = "64KB"`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Headroom {
    Fixed(Bytes),
    PerLink(PerLink),
}

impl Headroom {
    pub(crate) const fn per_link(factor: f64, extra: Bytes) -> Self {
        Self::PerLink(PerLink { factor, extra })
    }
}

/// Headroom proportional to a link: `factor` times rate times delay, plus `extra`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct PerLink {
    pub(crate) factor: f64,
    pub(crate) extra: Bytes,
}

/// Buffer of a switch: `buffer = "32MiB"` for its total, `buffer.shared = "11MB"` for the pool that ports share, to
/// which headroom and reserve are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Buffer {
    Total(Bytes),
    Shared(Bytes),
}

impl Buffer {
    /// Returns the size, of the total or of the pool.
    pub(crate) const fn bytes(self) -> Bytes {
        match self {
            Self::Total(bytes) | Self::Shared(bytes) => bytes,
        }
    }

    /// Returns true if headroom and reserve are added to it.
    pub(crate) const fn is_shared(self) -> bool {
        matches!(self, Self::Shared(_))
    }
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().fmt(f)
    }
}

impl Serialize for Buffer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Total(bytes) => bytes.serialize(serializer),
            Self::Shared(bytes) => {
                let mut table = serializer.serialize_map(Some(1))?;
                table.serialize_entry("shared", bytes)?;
                table.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Buffer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Pool {
            shared: Bytes,
        }
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Buffer;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size as a text with its unit, or { shared = \"size\" }")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Buffer, E> {
                text.parse().map(Buffer::Total).map_err(E::custom)
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Buffer, A::Error> {
                let pool = Pool::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(Buffer::Shared(pool.shared))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// Declares quantities that a word may replace.
macro_rules! or_word {
    ($($(#[doc = $doc:literal])+ $name:ident = $word:literal;)*) => { $(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name<T>(pub Option<T>);

        impl<T: fmt::Display> Serialize for $name<T> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match &self.0 {
                    Some(value) => serializer.collect_str(value),
                    None => serializer.serialize_str($word),
                }
            }
        }

        impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for $name<T> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text<T>(std::marker::PhantomData<T>);
                impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for Text<T> {
                    type Value = $name<T>;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!("a quantity as a text with its unit, or \"", $word, "\""))
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name<T>, E> {
                        match text {
                            $word => Ok($name(None)),
                            _ => text.parse().map(|value| $name(Some(value))).map_err(E::custom),
                        }
                    }
                }
                deserializer.deserialize_str(Text(std::marker::PhantomData))
            }
        }
    )* };
}
or_word! {
    /// Quantity, or `"off"`.
    OrOff = "off";
    /// Quantity, or `"auto"`.
    OrAuto = "auto";
    /// Quantity, or `"every"`.
    OrEvery = "every";
}

/// Time, or `"auto"`, or `"off"` for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AutoTime {
    Auto,
    Off,
    Of(Span),
}

impl Serialize for AutoTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Off => serializer.serialize_str("off"),
            Self::Of(width) => serializer.collect_str(width),
        }
    }
}

impl<'de> Deserialize<'de> for AutoTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = AutoTime;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"auto\", \"off\", or a time as a text with its unit")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<AutoTime, E> {
                match text {
                    "auto" => Ok(AutoTime::Auto),
                    "off" => Ok(AutoTime::Off),
                    _ => text.parse().map(AutoTime::Of).map_err(|error| {
                        E::custom(format!("neither \"auto\" nor \"off\" nor a time: {error}"))
                    }),
                }
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// Priority class of ACKs: a number, or `"flow"` for the flow's class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckClass(pub Option<u8>);

impl Serialize for AckClass {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(class) => serializer.serialize_u8(class),
            None => serializer.serialize_str("flow"),
        }
    }
}

impl<'de> Deserialize<'de> for AckClass {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Class;
        impl Visitor<'_> for Class {
            type Value = AckClass;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a class from 0 to 7, or \"flow\"")
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<AckClass, E> {
                match u8::try_from(value) {
                    Ok(class) if class <= 7 => Ok(AckClass(Some(class))),
                    _ => Err(E::invalid_value(de::Unexpected::Signed(value), &self)),
                }
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<AckClass, E> {
                match text {
                    "flow" => Ok(AckClass(None)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Class)
    }
}

/// Ratio of two numbers: `4`, or `"3:2"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ratio {
    pub(crate) of: u32,
    pub(crate) to: u32,
}

impl Ratio {
    /// Returns the ratio of `of` to one.
    pub(crate) const fn to_one(of: u32) -> Self {
        Self { of, to: 1 }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.of, self.to)
    }
}

impl Serialize for Ratio {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.to {
            1 => serializer.serialize_u32(self.of),
            _ => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Numbers;
        impl Visitor<'_> for Numbers {
            type Value = Ratio;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number above zero, or two as in \"3:2\"")
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Ratio, E> {
                let above_zero = u32::try_from(value).ok().filter(|&of| of > 0);
                let wrong = || E::invalid_value(de::Unexpected::Signed(value), &self);
                above_zero.map(Ratio::to_one).ok_or_else(wrong)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Ratio, E> {
                let (of, to) = text.split_once(':').unwrap_or((text, "1"));
                let number = |text: &str| text.trim().parse().ok().filter(|&number: &u32| number > 0);
                let ratio = number(of).zip(number(to)).map(|(of, to)| Ratio { of, to });
                ratio.ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Numbers)
    }
}

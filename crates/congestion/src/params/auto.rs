//! A quantity, or `"auto"` for one that follows from the path of each flow.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::ParamValue;

/// Quantity that a scenario may leave to its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auto<T> {
    /// Automatic, as the parameter's help describes.
    Auto,
    /// A value given by the scenario.
    Is(T),
}

impl<T> Auto<T> {
    /// Returns the given value, or `auto` if it is automatic.
    pub fn or(self, auto: T) -> T {
        match self {
            Self::Auto => auto,
            Self::Is(value) => value,
        }
    }
}

impl<T: ParamValue> ParamValue for Auto<T> {
    const UNIT: &'static str = T::UNIT;
    fn show(&self) -> String {
        match self {
            Self::Auto => "auto".to_string(),
            Self::Is(value) => value.show(),
        }
    }
    fn read(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => T::read(text).map(Self::Is),
        }
    }
    fn number(&self) -> Option<f64> {
        match self {
            Self::Auto => None,
            Self::Is(value) => value.number(),
        }
    }
}

impl<T: fmt::Display> Serialize for Auto<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Is(value) => serializer.collect_str(value),
        }
    }
}

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Auto<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text<T>(std::marker::PhantomData<T>);
        impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for Text<T> {
            type Value = Auto<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity as a text with its unit, or \"auto\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Auto<T>, E> {
                match text {
                    "auto" => Ok(Auto::Auto),
                    _ => text.parse().map(Auto::Is).map_err(E::custom),
                }
            }
        }
        deserializer.deserialize_str(Text(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use paceline_kernel::Bytes;

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Block {
        window: Auto<Bytes>,
    }

    #[test]
    fn it_is_written_as_it_is_read() {
        for text in ["auto", "3KB"] {
            let line = format!("window = \"{text}\"\n");
            let block: Block = toml::from_str(&line).unwrap();
            assert_eq!(toml::to_string(&block).unwrap(), line);
            let value = Auto::<Bytes>::read(text).unwrap();
            assert_eq!((value, value.show().as_str()), (block.window, text));
        }
        assert_eq!(Auto::Is(Bytes::new(3)).or(Bytes::new(7)), Bytes::new(3));
        assert_eq!(Auto::Auto.or(Bytes::new(7)), Bytes::new(7));
        let error = toml::from_str::<Block>("window = \"much\"").err().unwrap();
        assert!(error.to_string().contains("much"), "{error}");
    }
}

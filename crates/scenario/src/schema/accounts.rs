//! Selection of the flows whose time is accounted for: `accounts = "auto"`.

use std::fmt;

use paceline_fabric::spec::Accounted;
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// Flows to account for: `"off"`, `"auto"`, `"all"`, or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Accounts {
    Off,
    Auto,
    All,
    List(Vec<u32>),
}

/// Largest number of flows that `"auto"` selects.
const SAMPLE: usize = 1000;

impl Accounts {
    /// Returns the selection out of `flows` flows.
    pub(crate) fn of(&self, flows: usize) -> Accounted {
        match self {
            Self::Off => Accounted::None,
            Self::Auto if flows <= SAMPLE => Accounted::All,
            // The sample is spread evenly over the starts.
            Self::Auto => Accounted::Flows((0..SAMPLE).map(|i| (i * flows / SAMPLE) as u32).collect()),
            Self::All => Accounted::All,
            Self::List(list) => Accounted::Flows(list.clone()),
        }
    }
}

impl Serialize for Accounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_str("off"),
            Self::Auto => serializer.serialize_str("auto"),
            Self::All => serializer.serialize_str("all"),
            Self::List(flows) => flows.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Accounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Choice;
        impl<'de> Visitor<'de> for Choice {
            type Value = Accounts;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"off\", \"auto\", \"all\", or a list of flow ids")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Accounts, E> {
                match text {
                    "off" => Ok(Accounts::Off),
                    "auto" => Ok(Accounts::Auto),
                    "all" => Ok(Accounts::All),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut sequence: A) -> Result<Accounts, A::Error> {
                let mut flows = Vec::new();
                while let Some(flow) = sequence.next_element()? {
                    flows.push(flow);
                }
                Ok(Accounts::List(flows))
            }
        }
        deserializer.deserialize_any(Choice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_over_all_flows() {
        assert_eq!(Accounts::Auto.of(1000), Accounted::All);
        let Accounted::Flows(flows) = Accounts::Auto.of(2500) else {
            panic!("a sample");
        };
        assert_eq!((flows.len(), flows[0], flows[1], flows[999]), (1000, 0, 2, 2497));
        assert!(flows.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

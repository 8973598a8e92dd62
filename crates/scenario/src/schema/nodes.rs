//! Sets of hosts and of nodes: numbers, texts such as `"0..127 step 8"` and `"leaf 0-3"`, and lists of both.

use std::fmt;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use toml::Spanned;

/// Number or text within a set of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeItem {
    /// Number of a node.
    Number(u32),
    /// Text that names nodes, such as a range or a group.
    Text(String),
}

/// Set of nodes: a single item, or a list.
#[derive(Clone, Debug)]
pub enum Nodes {
    /// Single number or text.
    One(NodeItem),
    /// List of numbers and texts.
    List(Vec<Spanned<NodeItem>>),
}

impl Nodes {
    /// Returns the set of all hosts.
    pub fn all() -> Self {
        Self::One(NodeItem::Text("all".to_string()))
    }

    /// Returns a set of the nodes with these numbers.
    pub(crate) fn list(numbers: impl IntoIterator<Item = u32>) -> Self {
        let item = |number| Spanned::new(0..0, NodeItem::Number(number));
        Self::List(numbers.into_iter().map(item).collect())
    }
}

impl Serialize for NodeItem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_u32(*number),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl Serialize for Nodes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(item) => item.serialize(serializer),
            Self::List(items) => items.serialize(serializer),
        }
    }
}

/// Converts a number outside of a list, for both types.
fn number<E: de::Error>(value: i64, expected: &dyn de::Expected) -> Result<NodeItem, E> {
    let number = u32::try_from(value);
    let wrong = |_| E::invalid_value(de::Unexpected::Signed(value), expected);
    number.map(NodeItem::Number).map_err(wrong)
}

impl<'de> Deserialize<'de> for NodeItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Item;
        impl Visitor<'_> for Item {
            type Value = NodeItem;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a node's number, or a text such as \"0..127\" or \"leaf 1\"")
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<NodeItem, E> {
                number(value, &self)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<NodeItem, E> {
                Ok(NodeItem::Text(text.to_string()))
            }
        }
        deserializer.deserialize_any(Item)
    }
}

impl<'de> Deserialize<'de> for Nodes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Set;
        impl<'de> Visitor<'de> for Set {
            type Value = Nodes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a node's number, a text such as \"0..127\" or \"all\", or a list of these")
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Nodes, E> {
                number(value, &self).map(Nodes::One)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Nodes, E> {
                Ok(Nodes::One(NodeItem::Text(text.to_string())))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut sequence: A) -> Result<Nodes, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = sequence.next_element()? {
                    items.push(item);
                }
                Ok(Nodes::List(items))
            }
        }
        deserializer.deserialize_any(Set)
    }
}

/// Two ends of a link or port: two items in a list, or a text such as `"leaf 1 -> spine 3"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ends(pub(crate) NodeItem, pub(crate) NodeItem);

impl Serialize for Ends {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.0, &self.1).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Ends {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pair;
        impl<'de> Visitor<'de> for Pair {
            type Value = Ends;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("two nodes, by numbers or names: [3, 17], [\"leaf 1\", \"spine 3\"] or \"leaf 1 -> spine 3\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Ends, E> {
                let wrong = || E::invalid_value(de::Unexpected::Str(text), &self);
                // A port is shown with an arrow, a link with a dash.
                let ends = text.split_once("->").or_else(|| text.split_once(" - "));
                let (a, b) = ends.ok_or_else(wrong)?;
                let item = |text: &str| NodeItem::Text(text.trim().to_string());
                Ok(Ends(item(a), item(b)))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut sequence: A) -> Result<Ends, A::Error> {
                let mut next = |at: usize| {
                    let item = sequence.next_element()?;
                    item.ok_or_else(|| de::Error::invalid_length(at, &self))
                };
                let ends = Ends(next(0)?, next(1)?);
                match sequence.next_element::<NodeItem>()? {
                    None => Ok(ends),
                    Some(_) => Err(de::Error::invalid_length(3, &self)),
                }
            }
        }
        deserializer.deserialize_any(Pair)
    }
}

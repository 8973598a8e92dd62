//! Serializer from a scenario to TOML.
//!
//! As in [`super::reader`], `toml`'s own serializers would compile each of the schema's tables four times: for texts,
//! lines, tables and lists. Here a table becomes a tree along one path, and `toml` writes the tree.

use std::fmt;

use serde::ser::{self, Impossible, Serialize, SerializeMap as _, Serializer};

/// Error about a value that TOML cannot hold.
#[derive(Debug)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl ser::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// Converts a value into its tree.
pub(crate) fn node<T: Serialize>(value: &T) -> Result<Node, Error> {
    value.serialize(ToNode)
}

/// Returns the TOML text of a table.
pub(crate) fn write<T: Serialize>(table: &T) -> Result<String, Error> {
    let tree = node(table)?;
    toml::to_string(&tree).map_err(ser::Error::custom)
}

/// Returns a value as a scenario shows it, with strings unquoted.
pub fn shown<T: Serialize>(value: &T) -> String {
    value
        .serialize(ToNode)
        .map_or_else(|error| error.to_string(), |node| node.to_string())
}

/// Returns the paths of all keys of a table, subtables included, with their values.
pub(crate) fn paths<T: Serialize>(table: &T) -> Vec<(String, String)> {
    let mut paths = Vec::new();
    if let Ok(node) = table.serialize(ToNode) {
        node.walk("", &mut paths);
    }
    paths
}

/// Longest list whose elements have paths; elements of longer lists, such as flows, have none.
pub(super) const LONGEST: usize = 100;

impl Node {
    fn walk(&self, path: &str, paths: &mut Vec<(String, String)>) {
        let below = |key: &str| match path {
            "" => key.to_string(),
            path => format!("{path}.{key}"),
        };
        match self {
            Self::Nothing => return,
            Self::Table(entries) => entries
                .iter()
                .for_each(|(key, value)| value.walk(&below(key), paths)),
            // As in reading, elements of long lists have no paths.
            Self::List(list) if list.len() > LONGEST => return,
            Self::List(list) => (0..)
                .zip(list)
                .for_each(|(i, value)| value.walk(&below(&i.to_string()), paths)),
            _ => {}
        }
        paths.push((path.to_string(), self.to_string()));
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Bool(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
            Self::List(list) => {
                let list: Vec<String> = list.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", list.join(", "))
            }
            Self::Table(entries) => {
                let entries: Vec<String> = entries
                    .iter()
                    .map(|(key, value)| format!("{key} = {value}"))
                    .collect();
                write!(f, "{{ {} }}", entries.join(", "))
            }
        }
    }
}

/// Value in TOML; tables keep the order of their keys.
pub enum Node {
    /// Absent option, whose key is left out.
    Nothing,
    /// Boolean value, `true` or `false`.
    Bool(bool),
    /// Integer of at most 64 bits, signed.
    Integer(i64),
    /// Floating-point number of 64 bits.
    Float(f64),
    /// String without its quotes.
    Text(String),
    /// Array of values, possibly of several types.
    List(Vec<Self>),
    /// Table in the order of its keys.
    Table(Vec<(String, Self)>),
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nothing => serializer.serialize_none(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Integer(value) => serializer.serialize_i64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Text(value) => serializer.serialize_str(value),
            Self::List(list) => list.serialize(serializer),
            Self::Table(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

/// Serializer whose output is a [`Node`].
struct ToNode;

/// Converts an integer into TOML's range, 64 bits signed, or fails.
fn integer<T: TryInto<i64> + fmt::Display + Copy>(value: T) -> Result<Node, Error> {
    let out = || Error(format!("{value} is out of TOML's range of whole numbers"));
    value.try_into().map(Node::Integer).map_err(|_| out())
}

fn unsupported<T>(what: &str) -> Result<T, Error> {
    Err(Error(format!("TOML has no {what}")))
}

/// Returns the table of an enum variant with a value.
fn variant(name: &str, value: Node) -> Node {
    Node::Table(vec![(name.to_string(), value)])
}

impl Serializer for ToNode {
    type Ok = Node;
    type Error = Error;
    type SerializeSeq = List;
    type SerializeTuple = List;
    type SerializeTupleStruct = List;
    type SerializeTupleVariant = Impossible<Node, Error>;
    type SerializeMap = Table;
    type SerializeStruct = Table;
    type SerializeStructVariant = Table;

    fn serialize_bool(self, value: bool) -> Result<Node, Error> {
        Ok(Node::Bool(value))
    }
    fn serialize_i8(self, value: i8) -> Result<Node, Error> {
        integer(value)
    }
    fn serialize_i16(self, value: i16) -> Result<Node, Error> {
        integer(value)
    }
    fn serialize_i32(self, value: i32) -> Result<Node, Error> {
        integer(value)
    }
    fn serialize_i64(self, value: i64) -> Result<Node, Error> {
        integer(value)
    }
    fn serialize_u8(self, value: u8) -> Result<Node, Error> {
        integer(value)
    }
    fn serialize_u16(self, value: u16) -> Result<Node, Error> {
        integer(value)
    }
    fn serialize_u32(self, value: u32) -> Result<Node, Error> {
        integer(value)
    }
    fn serialize_u64(self, value: u64) -> Result<Node, Error> {
        integer(value)
    }
    fn serialize_f32(self, value: f32) -> Result<Node, Error> {
        Ok(Node::Float(value.into()))
    }
    fn serialize_f64(self, value: f64) -> Result<Node, Error> {
        Ok(Node::Float(value))
    }
    fn serialize_char(self, value: char) -> Result<Node, Error> {
        Ok(Node::Text(value.to_string()))
    }
    fn serialize_str(self, value: &str) -> Result<Node, Error> {
        Ok(Node::Text(value.to_string()))
    }
    fn serialize_bytes(self, _: &[u8]) -> Result<Node, Error> {
        unsupported("bytes")
    }
    fn serialize_none(self) -> Result<Node, Error> {
        Ok(Node::Nothing)
    }
    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<Node, Error> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<Node, Error> {
        unsupported("value for nothing")
    }
    fn serialize_unit_struct(self, name: &'static str) -> Result<Node, Error> {
        unsupported(name)
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Result<Node, Error> {
        Ok(Node::Text(name.to_string()))
    }
    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Node, Error> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Result<Node, Error> {
        Ok(variant(name, value.serialize(self)?))
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<List, Error> {
        Ok(List(Vec::new()))
    }
    fn serialize_tuple(self, _: usize) -> Result<List, Error> {
        Ok(List(Vec::new()))
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<List, Error> {
        Ok(List(Vec::new()))
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        unsupported(name)
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Table, Error> {
        Ok(Table::default())
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Table, Error> {
        Ok(Table::default())
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Table, Error> {
        Ok(Table {
            variant: Some(name),
            ..Table::default()
        })
    }
}

/// List of the elements serialized so far.
struct List(Vec<Node>);

impl List {
    fn push<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Error> {
        self.0.push(value.serialize(ToNode)?);
        Ok(())
    }
}

impl ser::SerializeSeq for List {
    type Ok = Node;
    type Error = Error;
    fn serialize_element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Error> {
        self.push(value)
    }
    fn end(self) -> Result<Node, Error> {
        Ok(Node::List(self.0))
    }
}

impl ser::SerializeTuple for List {
    type Ok = Node;
    type Error = Error;
    fn serialize_element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Error> {
        self.push(value)
    }
    fn end(self) -> Result<Node, Error> {
        Ok(Node::List(self.0))
    }
}

impl ser::SerializeTupleStruct for List {
    type Ok = Node;
    type Error = Error;
    fn serialize_field<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Error> {
        self.push(value)
    }
    fn end(self) -> Result<Node, Error> {
        Ok(Node::List(self.0))
    }
}

/// Table of the keys serialized so far.
#[derive(Default)]
struct Table {
    /// Enum variant that the table belongs to, if any.
    variant: Option<&'static str>,
    entries: Vec<(String, Node)>,
    /// Key that waits for its value.
    key: String,
}

impl Table {
    fn push(&mut self, key: &str, value: Node) {
        if !matches!(value, Node::Nothing) {
            self.entries.push((key.to_string(), value));
        }
    }

    fn done(self) -> Node {
        let table = Node::Table(self.entries);
        match self.variant {
            Some(name) => variant(name, table),
            None => table,
        }
    }
}

impl ser::SerializeMap for Table {
    type Ok = Node;
    type Error = Error;
    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<(), Error> {
        let Node::Text(key) = key.serialize(ToNode)? else {
            return unsupported("key that is no text");
        };
        self.key = key;
        Ok(())
    }
    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Error> {
        let key = std::mem::take(&mut self.key);
        self.push(&key, value.serialize(ToNode)?);
        Ok(())
    }
    fn end(self) -> Result<Node, Error> {
        Ok(self.done())
    }
}

impl ser::SerializeStruct for Table {
    type Ok = Node;
    type Error = Error;
    fn serialize_field<T: ?Sized + Serialize>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.push(key, value.serialize(ToNode)?);
        Ok(())
    }
    fn end(self) -> Result<Node, Error> {
        Ok(self.done())
    }
}

impl ser::SerializeStructVariant for Table {
    type Ok = Node;
    type Error = Error;
    fn serialize_field<T: ?Sized + Serialize>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.push(key, value.serialize(ToNode)?);
        Ok(())
    }
    fn end(self) -> Result<Node, Error> {
        Ok(self.done())
    }
}

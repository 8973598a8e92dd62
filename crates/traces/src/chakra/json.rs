//! JSON format of a trace: the output of `chakra_jsonizer`, which is protobuf's JSON of the metadata and of each
//! node, one after another. A list of nodes, and an object with `nodes`, are accepted too.

use std::fmt;

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::node::{Attribute, Io, NODE_TYPES, Node, Scalar, TYPES, Values};
use crate::trouble::{Trouble, unknown};

/// Keys of a node, as the schema names them.
const KEYS: [&str; 10] = [
    "id",
    "name",
    "type",
    "ctrl_deps",
    "data_deps",
    "start_time_micros",
    "duration_micros",
    "inputs",
    "outputs",
    "attr",
];

/// Largest text of a node, in bytes.
const LARGEST_NODE: usize = 2 << 20;

type Object = Map<String, Value>;

/// Returns true for JSON. A protobuf file starts with a length, and soon has control characters.
pub(super) fn is_json(bytes: &[u8]) -> bool {
    let begin = &bytes[..bytes.len().min(256)];
    let first = begin.iter().find(|byte| !byte.is_ascii_whitespace());
    matches!(first, Some(b'{' | b'['))
        && begin
            .iter()
            .all(|&byte| byte >= b' ' || byte.is_ascii_whitespace())
}

/// Reads each node of a file. Only one at a time is a tree of values, which takes many times its text's memory.
///
/// # Errors
/// If the file is invalid, with the line or the node.
pub(super) fn decode(
    file: &str,
    bytes: &[u8],
    each: &mut dyn FnMut(&Node<'_>) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let mut reader = Reader { file, bytes, each };
    let parts = serde_json::Deserializer::from_slice(bytes).into_iter::<&RawValue>();
    for (number, part) in parts.enumerate() {
        let part = part.map_err(|error| reader.wrong(0, &error))?;
        match part.get().as_bytes() {
            [b'[', ..] => reader.all(part)?,
            [b'{', ..] => {
                let outline = reader.parse::<Outline<'_>>(part)?;
                refuse_other(file, &outline)?;
                match outline.nodes {
                    Some(nodes) => reader.all(nodes)?,
                    // The first part without a node's keys is the metadata.
                    None if number == 0 && !outline.is_node => {}
                    None => reader.one(number, part)?,
                }
            }
            _ => {
                let message = format!("has {}, expected an object for each node", short(part));
                return Err(Trouble::at(file, message));
            }
        }
    }
    Ok(())
}

/// Reader of a file, with the receiver of its nodes.
struct Reader<'a, 'f> {
    file: &'a str,
    bytes: &'a [u8],
    each: &'f mut dyn FnMut(&Node<'_>) -> Result<(), Trouble>,
}

impl<'a> Reader<'a, '_> {
    fn wrong(&self, lines: usize, error: &serde_json::Error) -> Trouble {
        Trouble::at(
            format!("{}:{}", self.file, lines + error.line()),
            format!("is not JSON as chakra_jsonizer writes it: {error}"),
        )
    }

    /// Parses a part of the file whose syntax was checked.
    fn parse<T: Deserialize<'a>>(&self, part: &'a RawValue) -> Result<T, Trouble> {
        serde_json::from_str(part.get()).map_err(|error| {
            let begins = part.get().as_ptr() as usize - self.bytes.as_ptr() as usize;
            let before = &self.bytes[..begins];
            self.wrong(before.iter().filter(|byte| **byte == b'\n').count(), &error)
        })
    }

    /// Reads a list of nodes.
    fn all(&mut self, list: &'a RawValue) -> Result<(), Trouble> {
        let mut trouble = None;
        let nodes = Nodes {
            reader: self,
            trouble: &mut trouble,
        };
        let read = serde_json::Deserializer::from_str(list.get()).deserialize_seq(nodes);
        // The error of a node says more than that of the list around it.
        match (trouble, read) {
            (Some(trouble), _) => Err(trouble),
            (None, read) => read.map_err(|error| self.wrong(0, &error)),
        }
    }

    /// Reads a node; `number` is its position in the file.
    fn one(&mut self, number: usize, part: &'a RawValue) -> Result<(), Trouble> {
        let size = part.get().len();
        // As a tree of values, a node takes many times the memory of its text.
        if size > LARGEST_NODE {
            let most = LARGEST_NODE >> 20;
            let message =
                format!("node number {number} has {size} bytes, expected at most {most} MiB in a node");
            return Err(Trouble::at(self.file, message));
        }
        if !part.get().starts_with('{') {
            let message = format!("node number {number} is {}, expected an object", short(part));
            return Err(Trouble::at(self.file, message));
        }
        let object = self.parse::<Object>(part)?;
        (self.each)(&node(self.file, number, &object)?)
    }
}

/// Returns the beginning of a value for messages.
fn short(part: &RawValue) -> String {
    part.get().chars().take(60).collect()
}

/// Visitor that passes each value of a list to the reader.
struct Nodes<'r, 'a, 'f> {
    reader: &'r mut Reader<'a, 'f>,
    trouble: &'r mut Option<Trouble>,
}

impl<'a> Visitor<'a> for Nodes<'_, 'a, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of nodes")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<(), A::Error> {
        let mut number = 0;
        while let Some(part) = list.next_element::<&RawValue>()? {
            if let Err(trouble) = self.reader.one(number, part) {
                *self.trouble = Some(trouble);
                return Err(A::Error::custom("a node is wrong"));
            }
            number += 1;
        }
        Ok(())
    }
}

/// Properties that tell an object of nodes, a node, and other JSON apart.
#[derive(Default)]
struct Outline<'a> {
    nodes: Option<&'a RawValue>,
    is_node: bool,
    is_feeder: bool,
    is_pytorch: bool,
}

impl<'a> Deserialize<'a> for Outline<'a> {
    fn deserialize<D: Deserializer<'a>>(from: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'a> Visitor<'a> for Keys {
            type Value = Outline<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Outline<'a>, A::Error> {
                let mut outline = Outline::default();
                while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                    match key.as_str() {
                        "nodes" if value.get().starts_with('[') => outline.nodes = Some(value),
                        "id" | "name" | "type" => outline.is_node = true,
                        "workload_graph" => outline.is_feeder = true,
                        "traceEvents" | "schema" => outline.is_pytorch = true,
                        _ => {}
                    }
                }
                Ok(outline)
            }
        }
        from.deserialize_map(Keys)
    }
}

/// Rejects other JSON formats of the same tools.
fn refuse_other(file: &str, outline: &Outline<'_>) -> Result<(), Trouble> {
    if outline.is_feeder {
        let message =
            "is JSON of Chakra's older feeder (`workload_graph`), which leaves out groups and operations";
        return Err(Trouble::at(file, message).help(
            "Write the trace as protobuf (PREFIX.0.et), or as `chakra_jsonizer --input_filename PREFIX.0.et --output_filename \
             PREFIX.0.json` prints it",
        ));
    }
    if outline.is_pytorch {
        let message = "is JSON of PyTorch (an execution trace or a profile), not of Chakra's nodes";
        return Err(Trouble::at(file, message).help(
            "Convert it: `chakra_trace_link` joins the execution trace and the profile, and `chakra_converter PyTorch --input IN \
             --output PREFIX.0.et` writes Chakra's nodes",
        ));
    }
    Ok(())
}

/// Parses a node; `number` is its position in the file.
fn node<'a>(file: &str, number: usize, object: &'a Object) -> Result<Node<'a>, Trouble> {
    // Errors name the id if there is one: a position is hard to find in JSON.
    let at = match object.get("id").and_then(|id| whole(id).map(|n| n.to_string())) {
        Some(id) => format!("{file}: node {id}"),
        None => format!("{file}: node number {number} of the file"),
    };
    let wrong = |key: &str, value: &Value, expected: &str| {
        Trouble::at(&at, format!("{key} is {value}, expected {expected}"))
    };
    let mut node = Node::default();
    for (written, value) in object {
        let key = snake(written);
        let number = || {
            let n = whole(value).and_then(|n| u64::try_from(n).ok());
            n.ok_or_else(|| wrong(written, value, "a whole number"))
        };
        match key.as_str() {
            "id" => node.id = number()?,
            "name" => node.name = text(value).ok_or_else(|| wrong(written, value, "text"))?,
            "type" => {
                node.kind = kind(value).ok_or_else(|| wrong(written, value, "a type such as COMP_NODE"))?
            }
            "ctrl_deps" | "data_deps" => {
                let list = value.as_array().and_then(|list| {
                    let ids = list.iter().map(|id| u64::try_from(whole(id)?).ok());
                    ids.collect::<Option<Vec<u64>>>()
                });
                let list = list.ok_or_else(|| wrong(written, value, "a list of ids"))?;
                match key.as_str() {
                    "ctrl_deps" => node.control = list,
                    _ => node.data = list,
                }
            }
            "start_time_micros" => node.start_us = number()?,
            "duration_micros" => node.duration_us = number()?,
            "inputs" => node.inputs = io(value),
            "outputs" => node.outputs = io(value),
            "attr" => {
                let list = value.as_array().ok_or_else(|| wrong(written, value, "a list"))?;
                for one in list {
                    let read = attribute(one).ok_or_else(|| {
                        wrong(
                            "an attribute",
                            one,
                            "its name and a value such as \"int64Val\": \"5\"",
                        )
                    })?;
                    node.attributes.push(read);
                }
            }
            // A misspelt key would otherwise drop a duration or a dependency without notice.
            _ => return Err(unknown(&at, "key", written, &KEYS)),
        }
    }
    Ok(node)
}

/// Converts `durationMicros` to the schema's `duration_micros`.
fn snake(key: &str) -> String {
    let mut out = String::with_capacity(key.len() + 4);
    for letter in key.chars() {
        if letter.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

/// Parses an integer. Protobuf's JSON writes 64-bit integers as strings.
fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(n) => n.as_u64().map(i128::from).or_else(|| n.as_i64().map(i128::from)),
        _ => None,
    }
}

fn text(value: &Value) -> Option<&str> {
    value.as_str()
}

/// Parses a node type from its name, with or without `_NODE`, or from its number.
fn kind(value: &Value) -> Option<u64> {
    let Value::String(name) = value else {
        return value.as_u64();
    };
    let short = name.strip_suffix("_NODE").unwrap_or(name);
    let index = NODE_TYPES.iter().position(|known| *known == short);
    index.map(|index| index as u64).or_else(|| name.parse().ok())
}

fn io(value: &Value) -> Io<'_> {
    let part = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    Io {
        values: part("values"),
        shapes: part("shapes"),
        types: part("types"),
    }
}

/// Parses an attribute: `{"name": "comm_size", "int64Val": "5"}`, `{"name": .., "boolList": {"values": [true]}}`.
fn attribute(value: &Value) -> Option<Attribute<'_>> {
    let object = value.as_object()?;
    let mut attribute = Attribute::default();
    for (written, value) in object {
        let key = snake(written);
        match key.as_str() {
            "name" => attribute.name = value.as_str()?,
            "doc_string" => attribute.doc = value.as_str()?,
            key => {
                let (name, is_list) = match key.strip_suffix("_val") {
                    Some(name) => (name, false),
                    None => (key.strip_suffix("_list")?, true),
                };
                let &(_, kind) = TYPES.iter().find(|(_, known)| *known == name)?;
                attribute.kind = kind;
                attribute.values = if is_list {
                    let values = value.get("values").and_then(Value::as_array);
                    let values = values.map_or(&[][..], Vec::as_slice).iter();
                    Values::List(values.map(|one| scalar(kind, one)).collect::<Option<_>>()?)
                } else {
                    Values::One(scalar(kind, value)?)
                };
            }
        }
    }
    Some(attribute)
}

fn scalar<'a>(kind: &str, value: &'a Value) -> Option<Scalar<'a>> {
    Some(match kind {
        "bool" => Scalar::Bool(value.as_bool()?),
        "string" | "bytes" => Scalar::Text(value.as_str()?),
        // "NaN" and "Infinity" are strings.
        "double" | "float" => Scalar::Real(value.as_f64().or_else(|| value.as_str()?.parse().ok())?),
        _ => Scalar::Int(whole(value)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Id, type, duration and data parents.
    type Short = (u64, u64, u64, Vec<u64>);

    fn nodes(text: &str) -> Result<Vec<Short>, Trouble> {
        let mut found = Vec::new();
        decode("x.json", text.as_bytes(), &mut |node| {
            found.push((node.id, node.kind, node.duration_us, node.data.clone()));
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn objects_one_after_another_are_read_as_the_jsonizer_writes_them() {
        let text = r#"{
  "version": "0.0.4"
}{
  "name": "a",
  "type": "COMP_NODE",
  "durationMicros": "900",
  "attr": [{"name": "is_cpu_op", "boolVal": false}, {"name": "num_ops", "int64Val": "-1"}]
}{
  "id": "7", "name": "b", "type": 7, "dataDeps": ["0"],
  "attr": [{"name": "involved_dim", "boolList": {"values": [true]}}]
}"#;
        assert!(is_json(text.as_bytes()));
        let expected = [(0, 4, 900, vec![]), (7, 7, 0, vec![0])];
        assert_eq!(nodes(text).unwrap(), expected);
        let list = r#"{"metadata": {}, "nodes": [{"type": "COMP", "duration_micros": 900}, {"id": 7, "type": "COMM_COLL_NODE", "data_deps": [0]}]}"#;
        assert_eq!(nodes(list).unwrap(), expected);
        assert!(!is_json(b"{\n\x05\x0a\x03"));
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        for (text, part) in [
            ("{}{\"id\": 3, \"typ\": 4}", "x.json: node 3: unknown key `typ`"),
            ("{}{\"id\": 3, \"type\": \"COMB_NODE\"}", "type is \"COMB_NODE\""),
            ("{}\n{\"id\": 3, ", "x.json:2"),
            ("{\"traceEvents\": []}", "is JSON of PyTorch"),
            ("{\"workload_graph\": []}", "older feeder"),
            ("[1]", "node number 0 is 1"),
            (
                "{}{\"id\": 1, \"attr\": [{\"name\": \"a\", \"int46Val\": 5}]}",
                "int46Val",
            ),
        ] {
            let trouble = nodes(text).unwrap_err().to_string();
            assert!(trouble.contains(part), "{trouble}");
        }
    }
}

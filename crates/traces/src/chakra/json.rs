//! The JSON form of a trace: what `chakra_jsonizer` writes, protobuf's JSON of the metadata and of each node, one after
//! another. A list of nodes, and an object with `nodes`, are read, too.

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

type Object = Map<String, Value>;

/// Returns true for text in JSON. A protobuf file begins with a length, and has control characters soon.
pub(super) fn is_json(bytes: &[u8]) -> bool {
    let begin = &bytes[..bytes.len().min(256)];
    let first = begin.iter().find(|byte| !byte.is_ascii_whitespace());
    matches!(first, Some(b'{' | b'['))
        && begin
            .iter()
            .all(|&byte| byte >= b' ' || byte.is_ascii_whitespace())
}

/// Reads each node of a file.
///
/// # Errors
///
/// With the line, or the node.
pub(super) fn decode(
    file: &str,
    bytes: &[u8],
    each: &mut dyn FnMut(&Node<'_>) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let values = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    for (number, value) in values.enumerate() {
        let value = value.map_err(|error| {
            Trouble::at(
                format!("{file}:{}", error.line()),
                format!("is not JSON as chakra_jsonizer writes it: {error}"),
            )
        })?;
        if let Value::Object(object) = &value {
            refuse_other(file, object)?;
        }
        match &value {
            Value::Array(nodes) => all(file, nodes, each)?,
            Value::Object(object) => match object.get("nodes") {
                Some(Value::Array(nodes)) => all(file, nodes, each)?,
                // The first is the metadata.
                _ if number == 0 && !["id", "name", "type"].iter().any(|key| object.contains_key(*key)) => {}
                _ => each(&node(file, number, object)?)?,
            },
            _ => {
                return Err(Trouble::at(
                    file,
                    format!("has {value}, expected an object for each node"),
                ));
            }
        }
    }
    Ok(())
}

/// Refuses other JSON of the same tools.
fn refuse_other(file: &str, object: &Object) -> Result<(), Trouble> {
    if object.contains_key("workload_graph") {
        let message =
            "is JSON of Chakra's older feeder (`workload_graph`), which leaves out groups and operations";
        return Err(Trouble::at(file, message).help(
            "Write the trace as protobuf (PREFIX.0.et), or as `chakra_jsonizer --input_filename PREFIX.0.et --output_filename \
             PREFIX.0.json` prints it",
        ));
    }
    if object.contains_key("traceEvents") || object.contains_key("schema") {
        let message = "is JSON of PyTorch (an execution trace or a profile), not of Chakra's nodes";
        return Err(Trouble::at(file, message).help(
            "Convert it: `chakra_trace_link` joins the execution trace and the profile, and `chakra_converter PyTorch --input IN \
             --output PREFIX.0.et` writes Chakra's nodes",
        ));
    }
    Ok(())
}

fn all(
    file: &str,
    nodes: &[Value],
    each: &mut dyn FnMut(&Node<'_>) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    for (number, value) in nodes.iter().enumerate() {
        let Value::Object(object) = value else {
            let message = format!("node number {number} is {value}, expected an object");
            return Err(Trouble::at(file, message));
        };
        each(&node(file, number, object)?)?;
    }
    Ok(())
}

/// Reads a node; `number` is its place in the file.
fn node<'a>(file: &str, number: usize, object: &'a Object) -> Result<Node<'a>, Trouble> {
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
            _ => return Err(unknown(&at, "key", written, &KEYS)),
        }
    }
    Ok(node)
}

/// `durationMicros` as the schema names it.
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

/// A whole number. Numbers of 64 bits are texts in protobuf's JSON.
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

/// A type by its name, with `_NODE` or without, or by its number.
fn kind(value: &Value) -> Option<u64> {
    let Value::String(name) = value else {
        return value.as_u64();
    };
    let short = name.strip_suffix("_NODE").unwrap_or(name);
    let place = NODE_TYPES.iter().position(|known| *known == short);
    place.map(|place| place as u64).or_else(|| name.parse().ok())
}

fn io(value: &Value) -> Io<'_> {
    let part = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    Io {
        values: part("values"),
        shapes: part("shapes"),
        types: part("types"),
    }
}

/// An attribute: `{"name": "comm_size", "int64Val": "5"}`, `{"name": .., "boolList": {"values": [true]}}`.
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
        // Also "NaN" and "Infinity", as texts.
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

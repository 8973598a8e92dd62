//! Messages of Chakra's schema 1.0.0 (mlcommons/chakra@21585d8); 0.0.4 has the same fields.

use crate::wire::{Cursor, Fault, Field, Raw};

/// Types of attributes by field number; the list of a type has the next number.
pub(super) const TYPES: [(u32, &str); 15] = [
    (3, "double"),
    (5, "float"),
    (7, "int32"),
    (9, "int64"),
    (11, "uint32"),
    (13, "uint64"),
    (15, "sint32"),
    (17, "sint64"),
    (19, "fixed32"),
    (21, "fixed64"),
    (23, "sfixed32"),
    (25, "sfixed64"),
    (27, "bool"),
    (29, "string"),
    (31, "bytes"),
];

/// Node types by their numbers in the schema.
pub(super) const NODE_TYPES: [&str; 8] = [
    "INVALID",
    "METADATA",
    "MEM_LOAD",
    "MEM_STORE",
    "COMP",
    "COMM_SEND",
    "COMM_RECV",
    "COMM_COLL",
];

/// Value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar<'a> {
    /// Floating-point number of any width.
    Real(f64),
    /// Integer of any width.
    Int(i128),
    /// Boolean of a `bool` field.
    Bool(bool),
    /// Text, checked to be UTF-8.
    Text(&'a str),
    /// Bytes, not interpreted further.
    Bytes(&'a [u8]),
}

/// Values of an attribute.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Values<'a> {
    /// Attribute without a value.
    #[default]
    None,
    /// Single value of any type.
    One(Scalar<'a>),
    /// List of values, all of one type.
    List(Vec<Scalar<'a>>),
}

/// Attribute of a node or of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attribute<'a> {
    /// Name by which attributes are looked up.
    pub name: &'a str,
    /// Description of its purpose.
    pub doc: &'a str,
    /// Type as the schema names it; empty if it has no value.
    pub kind: &'static str,
    /// Value or list of values.
    pub values: Values<'a>,
}

impl<'a> Attribute<'a> {
    /// Returns the value, or those of the list.
    pub fn values(&self) -> &[Scalar<'a>] {
        match &self.values {
            Values::None => &[],
            Values::One(value) => std::slice::from_ref(value),
            Values::List(list) => list,
        }
    }
}

/// Inputs or outputs of a node, as texts similar to JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Io<'a> {
    /// Values, as a list in brackets.
    pub values: &'a str,
    /// Shapes of the values.
    pub shapes: &'a str,
    /// Types of the values.
    pub types: &'a str,
}

/// Metadata of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata<'a> {
    /// Version of the schema; often empty.
    pub version: &'a str,
    /// Attributes of the whole trace.
    pub attributes: Vec<Attribute<'a>>,
}

/// Node of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node<'a> {
    /// Unique number in the file; files need not be sorted by it.
    pub id: u64,
    /// Name of the operator or kernel.
    pub name: &'a str,
    /// Type, as its number in the schema.
    pub kind: u64,
    /// Ids of control parents.
    pub control: Vec<u64>,
    /// Ids of data parents.
    pub data: Vec<u64>,
    /// Recorded start in us, which is not used.
    pub start_us: u64,
    /// Recorded duration in us; 0 if there is none.
    pub duration_us: u64,
    /// Inputs of the operator.
    pub inputs: Io<'a>,
    /// Outputs of the operator.
    pub outputs: Io<'a>,
    /// Attributes of the node, in file order.
    pub attributes: Vec<Attribute<'a>>,
}

impl<'a> Node<'a> {
    /// Returns the attribute with this name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute<'a>> {
        self.attributes.iter().find(|a| a.name == name)
    }

    /// Returns the first value of an attribute.
    pub fn value(&self, name: &str) -> Option<&Scalar<'a>> {
        self.attribute(name)?.values().first()
    }
}

pub(crate) fn metadata(mut from: Cursor<'_>) -> Result<Metadata<'_>, Fault> {
    let mut metadata = Metadata::default();
    while let Some(field) = from.field()? {
        match field.number {
            1 => metadata.version = field.text()?,
            2 => metadata.attributes.push(attribute(field.message()?)?),
            _ => {}
        }
    }
    Ok(metadata)
}

pub(crate) fn node(mut from: Cursor<'_>) -> Result<Node<'_>, Fault> {
    let mut node = Node::default();
    while let Some(field) = from.field()? {
        match field.number {
            1 => node.id = field.number()?,
            2 => node.name = field.text()?,
            3 => node.kind = field.number()?,
            4 => field.numbers(&mut node.control)?,
            5 => field.numbers(&mut node.data)?,
            6 => node.start_us = field.number()?,
            7 => node.duration_us = field.number()?,
            8 => node.inputs = io(field.message()?)?,
            9 => node.outputs = io(field.message()?)?,
            10 => node.attributes.push(attribute(field.message()?)?),
            // Readers of protobuf skip fields that they do not know.
            _ => {}
        }
    }
    Ok(node)
}

fn io(mut from: Cursor<'_>) -> Result<Io<'_>, Fault> {
    let mut io = Io::default();
    while let Some(field) = from.field()? {
        match field.number {
            1 => io.values = field.text()?,
            2 => io.shapes = field.text()?,
            3 => io.types = field.text()?,
            _ => {}
        }
    }
    Ok(io)
}

fn attribute(mut from: Cursor<'_>) -> Result<Attribute<'_>, Fault> {
    let mut attribute = Attribute::default();
    while let Some(field) = from.field()? {
        match field.number {
            1 => attribute.name = field.text()?,
            2 => attribute.doc = field.text()?,
            number => {
                // In the schema, the list of a type has the number after that of its single value.
                let found = TYPES.iter().find(|&&(f, _)| f == number || f + 1 == number);
                let Some(&(kind, name)) = found else {
                    continue;
                };
                attribute.kind = name;
                attribute.values = if number == kind {
                    // In protobuf, the last occurrence of a field counts.
                    let mut last = Values::None;
                    values(kind, field, &mut |value| last = Values::One(value))?;
                    last
                } else {
                    let mut list = Vec::new();
                    let mut items = field.message()?;
                    while let Some(item) = items.field()? {
                        if item.number == 1 {
                            values(kind, item, &mut |value| list.push(value))?;
                        }
                    }
                    Values::List(list)
                };
            }
        }
    }
    Ok(attribute)
}

fn zigzag(n: u64) -> i128 {
    i128::from((n >> 1) as i64 ^ -((n & 1) as i64))
}

/// Reads a value of a type, or several if numbers are packed.
fn values<'a>(kind: u32, field: Field<'a>, out: &mut dyn FnMut(Scalar<'a>)) -> Result<(), Fault> {
    let varint = |n: u64| match kind {
        7 => Scalar::Int(i128::from(n as i32)),
        9 => Scalar::Int(i128::from(n as i64)),
        11 => Scalar::Int(i128::from(n as u32)),
        15 | 17 => Scalar::Int(zigzag(n)),
        27 => Scalar::Bool(n != 0),
        _ => Scalar::Int(i128::from(n)),
    };
    let long = |n: u64| match kind {
        3 => Scalar::Real(f64::from_bits(n)),
        25 => Scalar::Int(i128::from(n as i64)),
        _ => Scalar::Int(i128::from(n)),
    };
    let short = |n: u32| match kind {
        5 => Scalar::Real(f64::from(f32::from_bits(n))),
        23 => Scalar::Int(i128::from(n as i32)),
        _ => Scalar::Int(i128::from(n)),
    };
    let wrong = |expected: &str| Fault {
        at: field.at,
        message: format!("field {} of an attribute is not {expected}", field.number),
    };
    // Lists may be packed into bytes or be repeated fields: writers of protobuf do both.
    match (kind, field.value) {
        (29, _) => out(Scalar::Text(field.text()?)),
        (31, Raw::Bytes(bytes)) => out(Scalar::Bytes(bytes.bytes())),
        (31, _) => return Err(wrong("bytes")),
        (3 | 21 | 25, Raw::Fixed64(n)) => out(long(n)),
        (3 | 21 | 25, Raw::Bytes(mut packed)) => {
            while !packed.is_empty() {
                out(long(packed.fixed64()?));
            }
        }
        (3 | 21 | 25, _) => return Err(wrong("a number of 8 bytes")),
        (5 | 19 | 23, Raw::Fixed32(n)) => out(short(n)),
        (5 | 19 | 23, Raw::Bytes(mut packed)) => {
            while !packed.is_empty() {
                out(short(packed.fixed32()?));
            }
        }
        (5 | 19 | 23, _) => return Err(wrong("a number of 4 bytes")),
        (_, Raw::Varint(n)) => out(varint(n)),
        (_, Raw::Bytes(mut packed)) => {
            while !packed.is_empty() {
                out(varint(packed.varint()?));
            }
        }
        _ => return Err(wrong("a number")),
    }
    Ok(())
}

//! The subset of ONNX's protobuf messages that policies use.

use std::fmt;

use paceline_kernel::sorted::SortedMap;
use paceline_traces::wire::{Cursor, Fault, Field, Raw};

/// Numbers of a graph, with their shape.
#[derive(Clone, Default)]
pub(super) struct Tensor {
    pub dims: Vec<u64>,
    /// Single-precision values; empty if the tensor has integers, such as shapes.
    pub values: Vec<f32>,
    /// Integers of 64 bits, such as indices.
    pub whole: Vec<i64>,
    kind: u64,
}

impl Tensor {
    pub(super) fn is_float(&self) -> bool {
        self.kind == FLOAT
    }

    pub(super) fn is_zero(&self) -> bool {
        self.is_float() && self.values.iter().all(|value| *value == 0.0)
    }
}

/// Prints only the shape, which is enough for messages.
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.dims)
    }
}

/// Supported element types: single precision, and integers of 64 bits.
pub(super) const FLOAT: u64 = 1;
const INT64: u64 = 7;

/// Attribute of an operator.
#[derive(Clone, Debug)]
pub(super) enum Attribute {
    Float(f32),
    Int(i64),
    Ints(Vec<i64>),
    Text(String),
    Tensor(Tensor),
    Other,
}

/// Operator of the graph.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub operator: String,
    pub domain: String,
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    pub attributes: SortedMap<String, Attribute>,
}

impl Node {
    /// Returns true if the operator is in ONNX's own domain.
    pub(super) fn is_standard(&self) -> bool {
        matches!(self.domain.as_str(), "" | "ai.onnx")
    }
}

/// Input of the graph.
#[derive(Debug, Default)]
pub(super) struct Input {
    pub name: String,
    pub kind: u64,
    /// Sizes, with 1 for a symbolic size such as that of a batch; `None` without a shape.
    pub dims: Option<Vec<u64>>,
}

/// Contents of a graph.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// Version of the operator set.
    pub version: u64,
    pub nodes: Vec<Node>,
    /// Index of the operator that produces each output.
    pub makers: SortedMap<String, usize>,
    pub tensors: SortedMap<String, Tensor>,
    pub inputs: Vec<Input>,
    pub outputs: Vec<String>,
}

/// Calls `each` with every field of a message.
fn fields<'a>(
    mut message: Cursor<'a>,
    mut each: impl FnMut(Field<'a>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    while let Some(field) = message.field()? {
        each(field)?;
    }
    Ok(())
}

/// Reads a ModelProto: field 7 is the graph, 8 the versions of its operator sets.
pub(super) fn read(bytes: &[u8]) -> Result<Graph, Fault> {
    /// Starts with the first version in which operators broadcast by shape alone, and ends with the last one whose
    /// operators are known.
    const KNOWN: std::ops::RangeInclusive<u64> = 7..=28;
    let mut graph = Graph::default();
    let (mut found, mut versions) = (false, Vec::new());
    fields(Cursor::new(bytes), |field| {
        match field.number {
            7 => {
                found = true;
                read_graph(field.message()?, &mut graph)?;
            }
            8 => {
                let (mut domain, mut version) = ("", 0);
                fields(field.message()?, |field| {
                    match field.number {
                        1 => domain = field.text()?,
                        2 => version = field.number()?,
                        _ => {}
                    }
                    Ok(())
                })?;
                if matches!(domain, "" | "ai.onnx") {
                    versions.push((version, field.at));
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    let at = |at: u64, message: String| Fault { at, message };
    let end = bytes.len() as u64;
    if !found {
        return Err(at(end, "it has no graph".into()));
    }
    match versions[..] {
        [(version, _)] if KNOWN.contains(&version) => graph.version = version,
        [(version, index)] => {
            let (first, last) = (KNOWN.start(), KNOWN.end());
            let message = format!("its operators are of version {version}; expected {first} to {last}");
            return Err(at(index, message));
        }
        _ => {
            let message = format!(
                "it has {} versions of ONNX's operators; expected one",
                versions.len()
            );
            return Err(at(end, message));
        }
    }
    // ONNX allows constants to be listed among the inputs.
    let tensors = &graph.tensors;
    graph.inputs.retain(|input| !tensors.contains_key(&input.name));
    Ok(graph)
}

/// Reads a GraphProto: 1 nodes, 5 initialisers, 11 inputs, 12 outputs.
fn read_graph(message: Cursor<'_>, graph: &mut Graph) -> Result<(), Fault> {
    fields(message, |field| {
        match field.number {
            1 => {
                let node = read_node(field.message()?)?;
                // Exporters also write constants as operators, which are kept like initialisers.
                match (
                    node.operator.as_str(),
                    node.attributes.get("value"),
                    &node.outputs[..],
                ) {
                    ("Constant", Some(Attribute::Tensor(tensor)), [name])
                        if node.attributes.len() == 1 && node.is_standard() =>
                    {
                        keep(graph, name.clone(), tensor.clone(), field.at)?;
                    }
                    _ => graph.nodes.push(node),
                }
            }
            5 => {
                let (name, tensor) = read_tensor(field.message()?)?;
                keep(graph, name, tensor, field.at)?;
            }
            11 => graph.inputs.push(read_input(field.message()?)?),
            12 => graph.outputs.push(read_input(field.message()?)?.name),
            _ => {}
        }
        Ok(())
    })
}

/// Stores a constant, whose name must be unique.
fn keep(graph: &mut Graph, name: String, tensor: Tensor, at: u64) -> Result<(), Fault> {
    let message = format!("two constants are called `{name}`");
    match graph.tensors.insert(name, tensor) {
        None => Ok(()),
        Some(_) => Err(Fault { at, message }),
    }
}

/// Reads a ValueInfoProto: 1 name, 2 type. The type's field 1 is a tensor, with 1 the element type and 2 the shape.
/// Field 1 of a shape is a size: 1 a number, or 2 a name.
fn read_input(message: Cursor<'_>) -> Result<Input, Fault> {
    let mut input = Input::default();
    let read_shape = |shape: Cursor<'_>| -> Result<Vec<u64>, Fault> {
        let mut dims = Vec::new();
        fields(shape, |field| {
            // A dimension with a name is a dynamic one, such as the batch, which is one here.
            let mut size = 1;
            if field.number == 1 {
                fields(field.message()?, |field| {
                    if field.number == 1 {
                        size = field.number()?;
                    }
                    Ok(())
                })?;
                dims.push(size);
            }
            Ok(())
        })?;
        Ok(dims)
    };
    fields(message, |field| {
        match field.number {
            1 => input.name = field.text()?.to_string(),
            2 => fields(field.message()?, |field| match field.number {
                1 => fields(field.message()?, |field| {
                    match field.number {
                        1 => input.kind = field.number()?,
                        2 => input.dims = Some(read_shape(field.message()?)?),
                        _ => {}
                    }
                    Ok(())
                }),
                _ => Ok(()),
            })?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(input)
}

/// Reads a NodeProto: 1 inputs, 2 outputs, 4 operator, 5 attributes, 7 domain.
fn read_node(message: Cursor<'_>) -> Result<Node, Fault> {
    let mut node = Node::default();
    fields(message, |field| {
        match field.number {
            1 => node.inputs.push(field.text()?.to_string()),
            2 => node.outputs.push(field.text()?.to_string()),
            4 => node.operator = field.text()?.to_string(),
            5 => {
                let (name, attribute) = read_attribute(field.message()?)?;
                let message = format!("an operator has the attribute `{name}` twice");
                if node.attributes.insert(name, attribute).is_some() {
                    return Err(Fault {
                        at: field.at,
                        message,
                    });
                }
            }
            7 => node.domain = field.text()?.to_string(),
            _ => {}
        }
        Ok(())
    })?;
    Ok(node)
}

/// Reads an AttributeProto: 1 name, 2 float, 3 int, 4 text, 5 tensor, 8 ints, 20 the kind of value. A writer may
/// leave out a 0.
fn read_attribute(message: Cursor<'_>) -> Result<(String, Attribute), Fault> {
    let (mut name, mut kind) = (String::new(), 0);
    let (mut float, mut int, mut text, mut tensor, mut ints) = (0.0, 0, String::new(), None, Vec::new());
    fields(message, |field| {
        match (field.number, field.value) {
            (1, _) => name = field.text()?.to_string(),
            (2, Raw::Fixed32(bits)) => float = f32::from_bits(bits),
            (3, _) => int = field.number()? as i64,
            (4, _) => text = String::from_utf8_lossy(field.message()?.bytes()).into_owned(),
            (5, _) => tensor = Some(read_tensor(field.message()?)?.1),
            (8, _) => field.numbers(&mut ints)?,
            (20, _) => kind = field.number()?,
            _ => {}
        }
        Ok(())
    })?;
    let value = match (kind, tensor) {
        (1, _) => Attribute::Float(float),
        (2, _) => Attribute::Int(int),
        (3, _) => Attribute::Text(text),
        (4, Some(tensor)) => Attribute::Tensor(tensor),
        (7, _) => Attribute::Ints(ints.into_iter().map(|number| number as i64).collect()),
        _ => Attribute::Other,
    };
    Ok((name, value))
}

/// Reads a TensorProto: 1 dimensions, 2 type (1 is single precision, 7 64-bit integers), 4 and 7 their values, 8
/// name, 9 raw bytes, 14 location (1 is another file).
fn read_tensor(message: Cursor<'_>) -> Result<(String, Tensor), Fault> {
    let (mut name, mut tensor) = (String::new(), Tensor::default());
    let (begins, mut elsewhere) = (message.at(), false);
    let mut raw: &[u8] = &[];
    let floats = |bytes: &[u8], values: &mut Vec<f32>| {
        let (numbers, rest) = bytes.as_chunks::<4>();
        values.extend(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)));
        rest.is_empty()
    };
    let mut whole = true;
    fields(message, |field| {
        match field.number {
            1 => field.numbers(&mut tensor.dims)?,
            2 => tensor.kind = field.number()?,
            4 => match field.value {
                Raw::Fixed32(bits) => tensor.values.push(f32::from_bits(bits)),
                _ => whole &= floats(field.message()?.bytes(), &mut tensor.values),
            },
            7 => {
                let mut numbers = Vec::new();
                field.numbers(&mut numbers)?;
                tensor.whole.extend(numbers.iter().map(|number| *number as i64));
            }
            8 => name = field.text()?.to_string(),
            9 => raw = field.message()?.bytes(),
            14 => elsewhere = field.number()? == 1,
            _ => {}
        }
        Ok(())
    })?;
    let wrong = |message: String| Fault { at: begins, message };
    if elsewhere {
        return Err(wrong(format!(
            "the weights `{name}` are in another file; expected one file: torch.onnx.export(.., external_data=False)"
        )));
    }
    let said = tensor.values.len() + tensor.whole.len();
    if !raw.is_empty() && said > 0 {
        return Err(wrong(format!("`{name}` has its numbers twice")));
    }
    let found = match tensor.kind {
        FLOAT => {
            whole &= floats(raw, &mut tensor.values);
            tensor.values.len()
        }
        INT64 => {
            let (numbers, rest) = raw.as_chunks::<8>();
            whole &= rest.is_empty();
            let numbers = numbers.iter().map(|bytes| i64::from_le_bytes(*bytes));
            tensor.whole.extend(numbers);
            tensor.whole.len()
        }
        _ => return Ok((name, tensor)),
    };
    // Dimensions of a damaged file may overflow.
    let product = |product: u64, size: &u64| product.checked_mul(*size);
    let expected = tensor.dims.iter().try_fold(1, product);
    if expected != Some(found as u64) || !whole {
        let dims = &tensor.dims;
        return Err(wrong(format!(
            "`{name}` has {found} numbers; its shape is {dims:?}"
        )));
    }
    if let Some(value) = tensor.values.iter().find(|value| !value.is_finite()) {
        return Err(wrong(format!(
            "`{name}` has the value {value}; expected finite numbers only"
        )));
    }
    Ok((name, tensor))
}

//! Policies in ONNX: graphs of a chain of linear layers, activations, GRU and LSTM, as PyTorch exports them.
//!
//! A flow decides on one question at a time: a batch of one and a sequence of one. So operators that only move dimensions
//! change nothing, and the memory of a recurrent layer is the simulator's, whether or not the graph has inputs for it.

use std::collections::BTreeMap;

use paceline_congestion::learned::stack::{Activation, Dense, Layer, Recurrent, WIDEST};
use paceline_traces::wire::{Cursor, Fault, Field, Raw};

/// Numbers of a graph, with their shape.
#[derive(Clone, Debug, Default)]
struct Tensor {
    dims: Vec<u64>,
    /// Of single precision; empty where it has whole numbers, such as shapes.
    values: Vec<f32>,
    /// Of 64 bits, such as places in a sequence.
    whole: Vec<i64>,
    is_float: bool,
}

/// An attribute of an operator.
#[derive(Clone, Debug)]
enum Attribute {
    Float(f32),
    Int(i64),
    Text(String),
    Tensor(Tensor),
    Other,
}

/// An operator.
#[derive(Debug, Default)]
struct Node {
    operator: String,
    domain: String,
    inputs: Vec<String>,
    outputs: Vec<String>,
    attributes: BTreeMap<String, Attribute>,
}

/// What there is in a graph.
#[derive(Debug, Default)]
struct Graph {
    nodes: Vec<Node>,
    tensors: BTreeMap<String, Tensor>,
    inputs: Vec<String>,
    outputs: Vec<String>,
}

/// Operators that leave a batch of one and a sequence of one as they are.
const MOVES: [&str; 8] = [
    "Identity",
    "Flatten",
    "Squeeze",
    "Unsqueeze",
    "Reshape",
    "Transpose",
    "Cast",
    "Dropout",
];

/// What is read of an operator: the names of its attributes, how many inputs, and how many outputs are its result. What it
/// has besides is refused, as it would be ignored.
fn known(operator: &str) -> Option<(&'static [&'static str], usize, usize)> {
    Some(match operator {
        "Identity" | "Relu" | "Tanh" | "Sigmoid" => (&[], 1, 1),
        "Flatten" => (&["axis"], 1, 1),
        "Squeeze" | "Unsqueeze" => (&["axes"], 2, 1),
        "Reshape" => (&["allowzero"], 2, 1),
        "Transpose" => (&["perm"], 1, 1),
        "Cast" => (&["to", "saturate", "round_mode"], 1, 1),
        "Dropout" => (&["ratio", "seed"], 3, 1),
        "Elu" | "LeakyRelu" => (&["alpha"], 1, 1),
        "Clip" => (&["min", "max"], 3, 1),
        "Gemm" => (&["alpha", "beta", "transA", "transB"], 3, 1),
        "MatMul" | "Add" | "Sub" | "Mul" | "Div" => (&[], 2, 1),
        "Gather" => (&["axis"], 2, 1),
        "GRU" | "LSTM" => (
            &[
                "hidden_size",
                "direction",
                "linear_before_reset",
                "activations",
                "clip",
                "input_forget",
                "layout",
            ],
            7,
            2,
        ),
        _ => return None,
    })
}

/// The layers of the graph in a file, from its first input to its first output.
///
/// # Errors
/// The file is damaged, or has operators that no policy may have; in words, with the operator's place.
pub(super) fn layers(bytes: &[u8]) -> Result<Vec<Layer>, String> {
    let graph =
        read(bytes).map_err(|fault| format!("not an ONNX file: {} (byte {})", fault.message, fault.at))?;
    let (Some(input), Some(output)) = (graph.inputs.first(), graph.outputs.first()) else {
        return Err("the graph has no input or no output".into());
    };
    let chain = graph.chain(input, output)?;
    let mut layers: Vec<Layer> = Vec::new();
    for (node, data) in chain {
        graph.add_layer(node, data, &mut layers)?;
    }
    Ok(layers)
}

impl Node {
    fn at(&self) -> String {
        format!(
            "operator {} ({})",
            self.operator,
            self.outputs.first().map_or("", String::as_str)
        )
    }

    fn wrong<T>(&self, message: impl std::fmt::Display) -> Result<T, String> {
        Err(format!("{}: {message}", self.at()))
    }

    fn float(&self, name: &str, default: f32) -> Result<f32, String> {
        match self.attributes.get(name) {
            None => Ok(default),
            Some(Attribute::Float(value)) if value.is_finite() => Ok(*value),
            Some(other) => self.wrong(format!("{name} = {other:?}; expected a finite number")),
        }
    }

    fn int(&self, name: &str, default: i64) -> Result<i64, String> {
        match self.attributes.get(name) {
            None => Ok(default),
            Some(Attribute::Int(value)) => Ok(*value),
            Some(other) => self.wrong(format!("{name} = {other:?}; expected a whole number")),
        }
    }

    /// Whether it has the input in this place.
    fn has_input(&self, place: usize) -> bool {
        self.inputs.get(place).is_some_and(|name| !name.is_empty())
    }

    /// Refuses what it has and nobody reads; `wanted` is the output that the policy goes on with.
    fn check(&self, wanted: &str) -> Result<(), String> {
        if !matches!(self.domain.as_str(), "" | "ai.onnx") {
            return self.wrong(format!(
                "it is of `{}`; expected ONNX's own operators",
                self.domain
            ));
        }
        let Some((attributes, inputs, outputs)) = known(&self.operator) else {
            return self.wrong(format!(
                "policies may have Gemm, MatMul, Add, Sub, Mul, Div, Relu, LeakyRelu, Elu, Tanh, Sigmoid, Clip, GRU, LSTM, \
                 and {}",
                MOVES.join(", ")
            ));
        };
        if let Some(name) = self
            .attributes
            .keys()
            .find(|name| !attributes.contains(&name.as_str()))
        {
            return self.wrong(format!("its attribute `{name}` is not known"));
        }
        if let Some(place) = (inputs..self.inputs.len()).find(|place| self.has_input(*place)) {
            return self.wrong(format!(
                "its input {place} (`{}`) would be ignored",
                self.inputs[place]
            ));
        }
        let is_result = |name: &String| name == wanted;
        if !self.outputs.iter().take(outputs).any(is_result) {
            return self.wrong(format!(
                "`{wanted}` is not its result; expected its first {outputs} outputs"
            ));
        }
        Ok(())
    }

    fn expect(
        &self,
        name: &str,
        found: impl std::fmt::Display + PartialEq,
        expected: impl std::fmt::Display,
    ) -> Result<(), String> {
        match found.to_string() == expected.to_string() {
            true => Ok(()),
            false => self.wrong(format!("{name} = {found}; expected {expected}")),
        }
    }
}

impl Graph {
    /// The operators between input and output, each with the place of its input that comes from there.
    fn chain(&self, input: &str, output: &str) -> Result<Vec<(&Node, usize)>, String> {
        let mut chain = Vec::new();
        let mut wanted = output.to_string();
        while wanted != input {
            let mut makers = self.nodes.iter().filter(|node| node.outputs.contains(&wanted));
            let Some(node) = makers.next() else {
                return Err(format!(
                    "nothing gives `{wanted}`, on the way from the output `{output}` back to the input `{input}`"
                ));
            };
            if makers.next().is_some() {
                return node.wrong(format!("another operator gives `{wanted}`, too"));
            }
            node.check(&wanted)?;
            if chain.len() == self.nodes.len() {
                return Err("the graph runs in a circle".into());
            }
            // Recurrent operators read data first; of others the one that is no constant is the data.
            let is_data = |name: &&String| !name.is_empty() && !self.is_constant(name);
            let place = match node.operator.as_str() {
                "GRU" | "LSTM" => Some(0),
                _ => node.inputs.iter().position(|name| is_data(&name)),
            };
            let Some(place) = place.filter(|place| *place < node.inputs.len()) else {
                return node.wrong("it reads nothing but constants");
            };
            let others = node
                .inputs
                .iter()
                .enumerate()
                .filter(|(k, name)| *k != place && is_data(name));
            if !matches!(node.operator.as_str(), "GRU" | "LSTM") && others.count() > 0 {
                return node
                    .wrong("it reads two results; expected a chain of operators, each of which reads one");
            }
            wanted.clone_from(&node.inputs[place]);
            chain.push((node, place));
        }
        chain.reverse();
        Ok(chain)
    }

    fn is_constant(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    fn constant(&self, node: &Node, place: usize) -> Result<&Tensor, String> {
        let name = node.inputs.get(place).map_or("", String::as_str);
        match self.tensors.get(name) {
            Some(tensor) if tensor.is_float => Ok(tensor),
            Some(_) => node.wrong(format!("`{name}` is not of single precision")),
            None => node.wrong(format!("its input {place} is not a constant")),
        }
    }

    /// A scalar constant, if the operator has that input.
    fn scalar(&self, node: &Node, place: usize) -> Result<Option<f32>, String> {
        if !node.has_input(place) {
            return Ok(None);
        }
        match self.constant(node, place)?.values[..] {
            [value] => Ok(Some(value)),
            _ => node.wrong(format!("its input {place} is not one number")),
        }
    }

    /// Refuses a first state that is not 0: the memory is the simulator's, and begins with zeros.
    fn check_state(&self, node: &Node, place: usize) -> Result<(), String> {
        if !node.has_input(place) || self.is_zero(&node.inputs[place], self.nodes.len()) {
            return Ok(());
        }
        node.wrong(format!(
            "its first state, input {place}, is not an input of the graph, and not 0"
        ))
    }

    /// Whether it is the graph's input, or zeros however they are made.
    fn is_zero(&self, name: &str, depth: usize) -> bool {
        if let Some(tensor) = self.tensors.get(name) {
            return tensor.is_float && tensor.values.iter().all(|value| *value == 0.0);
        }
        if self.inputs.iter().any(|input| input == name) {
            return true;
        }
        let Some(node) = self
            .nodes
            .iter()
            .find(|node| node.outputs.iter().any(|output| output == name))
        else {
            return false;
        };
        match (node.operator.as_str(), depth.checked_sub(1)) {
            ("ConstantOfShape", _) => match node.attributes.get("value") {
                None => true,
                Some(Attribute::Tensor(tensor)) => {
                    tensor.is_float && tensor.values.iter().all(|value| *value == 0.0)
                }
                Some(_) => false,
            },
            (
                "Expand" | "Slice" | "Identity" | "Squeeze" | "Unsqueeze" | "Reshape" | "Transpose"
                | "Gather",
                Some(depth),
            ) => node
                .inputs
                .first()
                .is_some_and(|input| self.is_zero(input, depth)),
            ("Split", Some(depth)) => node
                .inputs
                .first()
                .is_some_and(|input| self.is_zero(input, depth)),
            ("Concat", Some(depth)) => node.inputs.iter().all(|input| self.is_zero(input, depth)),
            _ => false,
        }
    }

    fn add_layer(&self, node: &Node, data: usize, layers: &mut Vec<Layer>) -> Result<(), String> {
        let each = |activation| Layer::Each(activation);
        let layer = match node.operator.as_str() {
            "Cast" => {
                /// Single precision.
                const FLOAT: i64 = 1;
                return node.expect("to", node.int("to", FLOAT)?, FLOAT);
            }
            "Dropout" if node.has_input(2) => {
                return node.wrong("whether it trains is an input; expected a policy exported for inference");
            }
            name if MOVES.contains(&name) => return Ok(()),
            "Relu" => each(Activation::Relu),
            "Tanh" => each(Activation::Tanh),
            "Sigmoid" => each(Activation::Sigmoid),
            "Elu" => each(Activation::Elu(node.float("alpha", 1.0)?)),
            "LeakyRelu" => each(Activation::LeakyRelu(node.float("alpha", 0.01)?)),
            "Clip" => {
                let low = self.scalar(node, 1)?.unwrap_or(node.float("min", f32::MIN)?);
                let high = self.scalar(node, 2)?.unwrap_or(node.float("max", f32::MAX)?);
                if low > high {
                    return node.wrong(format!("its least number {low} is above its largest {high}"));
                }
                each(Activation::Clip(low, high))
            }
            "Gemm" => Layer::Linear(self.gemm(node)?),
            "MatMul" if data == 0 => {
                let (rows, columns, values) = matrix(node, self.constant(node, 1)?)?;
                Layer::Linear(Dense::of_columns(rows, values.to_vec(), vec![0.0; columns]))
            }
            "Add" | "Sub" | "Mul" | "Div" => return self.add_arithmetic(node, data, layers),
            // The last of a sequence of one, or the first of a batch of one.
            "Gather" if matches!(layers.last(), Some(Layer::Gru(_) | Layer::Lstm(_))) => {
                let index = node.inputs.get(1).and_then(|name| self.tensors.get(name));
                let first = index.is_some_and(|tensor| matches!(tensor.whole[..], [0 | -1]));
                return match (0..2).contains(&node.int("axis", 0)?) && data == 0 && first {
                    true => Ok(()),
                    false => node.wrong(
                        "it takes something else than the last of a sequence, or the first of a batch",
                    ),
                };
            }
            "GRU" => Layer::Gru(self.recurrent(node, &[1, 0, 2])?),
            "LSTM" => Layer::Lstm(self.recurrent(node, &[0, 2, 3, 1])?),
            _ => return node.wrong("it does not fit where it stands"),
        };
        layers.push(layer);
        Ok(())
    }

    /// With a constant: the bias of the layer before, or a factor and an offset of each number.
    fn add_arithmetic(&self, node: &Node, data: usize, layers: &mut Vec<Layer>) -> Result<(), String> {
        if node.inputs.len() != 2 {
            return node.wrong(format!("it has {} inputs; expected 2", node.inputs.len()));
        }
        let Tensor {
            dims,
            values: constant,
            ..
        } = self.constant(node, 1 - data)?;
        if dims.iter().rev().skip(1).any(|size| *size != 1) || constant.is_empty() {
            return node.wrong(format!(
                "a constant of shape {dims:?}; expected one row of numbers"
            ));
        }
        let swapped = data == 1;
        let of = |c: f32| match node.operator.as_str() {
            "Add" => (1.0, c),
            "Mul" => (c, 0.0),
            "Sub" if swapped => (-1.0, c),
            "Sub" => (1.0, -c),
            _ => (1.0 / c, 0.0),
        };
        if swapped && node.operator == "Div" {
            return node.wrong("it divides a constant by a result");
        }
        let width = layers.iter().rev().find_map(Layer::gives);
        let count = match (constant.len(), width) {
            (1, Some(width)) => width,
            (1, None) => return node.wrong("a constant for each number is expected before the first layer"),
            (count, _) => count,
        };
        if !constant.iter().all(|c| of(*c).0.is_finite()) {
            return node.wrong("a factor is not finite");
        }
        let (factors, offsets): (Vec<f32>, Vec<f32>) =
            constant.iter().cycle().take(count).map(|c| of(*c)).unzip();
        layers.push(Layer::Scale(factors, offsets));
        Ok(())
    }

    fn gemm(&self, node: &Node) -> Result<Dense, String> {
        node.expect("alpha", node.float("alpha", 1.0)?, 1.0_f32)?;
        node.expect("beta", node.float("beta", 1.0)?, 1.0_f32)?;
        node.expect("transA", node.int("transA", 0)?, 0)?;
        let (rows, columns, values) = matrix(node, self.constant(node, 1)?)?;
        let by_rows = node.int("transB", 0)? != 0;
        let outputs = if by_rows { rows } else { columns };
        let bias = match node.has_input(2) {
            true => self.constant(node, 2)?.values.clone(),
            false => vec![0.0; outputs],
        };
        if bias.len() != outputs {
            return node.wrong(format!("{} biases for {outputs} outputs", bias.len()));
        }
        Ok(match by_rows {
            true => Dense::of_rows(columns, values, bias),
            false => Dense::of_columns(rows, values.to_vec(), bias),
        })
    }

    /// A recurrent operator; `order` says which of its gates are PyTorch's first, second, ..
    fn recurrent(&self, node: &Node, order: &[usize]) -> Result<Recurrent, String> {
        let text = |name: &str| match node.attributes.get(name) {
            Some(Attribute::Text(text)) => text.clone(),
            _ => "forward".to_string(),
        };
        node.expect("direction", text("direction"), "forward")?;
        if node.operator == "GRU" {
            let said = node.int("linear_before_reset", 0)?;
            node.expect("linear_before_reset", said, 1)?;
        }
        for key in ["activations", "clip", "input_forget", "layout"] {
            let is_default = matches!(node.attributes.get(key), None | Some(Attribute::Int(0)));
            if !is_default {
                return node.wrong(format!("`{key}` is set; expected what PyTorch exports"));
            }
        }
        if node.has_input(4) {
            return node.wrong("it has lengths of sequences (input 4); expected sequences of one");
        }
        for place in 5..7 {
            self.check_state(node, place)?;
        }
        let gates = order.len();
        let (rows, inputs, weights) = matrix(node, self.constant(node, 1)?)?;
        let (own_rows, units, own) = matrix(node, self.constant(node, 2)?)?;
        node.expect("hidden_size", node.int("hidden_size", units as i64)?, units)?;
        if rows != gates * units || own_rows != rows {
            return node.wrong(format!(
                "weights of {rows} and {own_rows} rows; expected {gates} for each of {units} units"
            ));
        }
        let biases = match node.has_input(3) {
            true => self.constant(node, 3)?.values.clone(),
            false => vec![0.0; 2 * rows],
        };
        if biases.len() != 2 * rows {
            return node.wrong(format!("{} biases; expected {}", biases.len(), 2 * rows));
        }
        let sorted = |values: &[f32], columns: usize| -> Vec<f32> {
            let part = units * columns;
            let parts = order.iter().map(|gate| &values[gate * part..][..part]);
            parts.flatten().copied().collect()
        };
        let (bias, own_bias) = biases.split_at(rows);
        Ok(Recurrent {
            input: Dense::of_rows(inputs, &sorted(weights, inputs), sorted(bias, 1)),
            hidden: Dense::of_rows(units, &sorted(own, units), sorted(own_bias, 1)),
        })
    }
}

/// Rows, columns and numbers of a matrix, maybe behind dimensions of one.
fn matrix<'a>(node: &Node, tensor: &'a Tensor) -> Result<(usize, usize, &'a [f32]), String> {
    // Gates of a recurrent layer stand below each other.
    const MOST: u64 = 4 * WIDEST as u64;
    match tensor.dims[..] {
        [rows, columns] | [1, rows, columns]
            if (1..=MOST).contains(&rows) && (1..=MOST).contains(&columns) =>
        {
            Ok((rows as usize, columns as usize, &tensor.values))
        }
        _ => node.wrong(format!(
            "weights of shape {:?}; expected two dimensions of 1 to {MOST}",
            tensor.dims
        )),
    }
}

/// The fields of a message.
fn fields<'a>(
    mut message: Cursor<'a>,
    mut each: impl FnMut(Field<'a>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    while let Some(field) = message.field()? {
        each(field)?;
    }
    Ok(())
}

/// ModelProto: field 7 is the graph.
fn read(bytes: &[u8]) -> Result<Graph, Fault> {
    let mut graph = Graph::default();
    let mut found = false;
    fields(Cursor::new(bytes), |field| {
        if field.number == 7 {
            found = true;
            read_graph(field.message()?, &mut graph)?;
        }
        Ok(())
    })?;
    if !found {
        return Err(Fault {
            at: bytes.len() as u64,
            message: "it has no graph".into(),
        });
    }
    // Initialisers may be among the inputs.
    let tensors = &graph.tensors;
    graph.inputs.retain(|name| !tensors.contains_key(name));
    Ok(graph)
}

/// GraphProto: 1 nodes, 5 initialisers, 11 inputs, 12 outputs.
fn read_graph(message: Cursor<'_>, graph: &mut Graph) -> Result<(), Fault> {
    fields(message, |field| {
        match field.number {
            1 => {
                let node = read_node(field.message()?)?;
                if let ("Constant", Some(Attribute::Tensor(tensor)), Some(name)) = (
                    node.operator.as_str(),
                    node.attributes.get("value"),
                    node.outputs.first(),
                ) {
                    keep(graph, name.clone(), tensor.clone(), field.at)?;
                } else {
                    graph.nodes.push(node);
                }
            }
            5 => {
                let (name, tensor) = read_tensor(field.message()?)?;
                keep(graph, name, tensor, field.at)?;
            }
            11 | 12 => {
                let mut name = String::new();
                fields(field.message()?, |field| {
                    if field.number == 1 {
                        name = field.text()?.to_string();
                    }
                    Ok(())
                })?;
                match field.number {
                    11 => graph.inputs.push(name),
                    _ => graph.outputs.push(name),
                }
            }
            _ => {}
        }
        Ok(())
    })
}

/// Keeps a constant, whose name nothing else has.
fn keep(graph: &mut Graph, name: String, tensor: Tensor, at: u64) -> Result<(), Fault> {
    let message = format!("two constants are called `{name}`");
    match graph.tensors.insert(name, tensor) {
        None => Ok(()),
        Some(_) => Err(Fault { at, message }),
    }
}

/// NodeProto: 1 inputs, 2 outputs, 4 operator, 5 attributes, 7 domain.
fn read_node(message: Cursor<'_>) -> Result<Node, Fault> {
    let mut node = Node::default();
    fields(message, |field| {
        match field.number {
            1 => node.inputs.push(field.text()?.to_string()),
            2 => node.outputs.push(field.text()?.to_string()),
            4 => node.operator = field.text()?.to_string(),
            5 => {
                let (name, attribute) = read_attribute(field.message()?)?;
                node.attributes.insert(name, attribute);
            }
            7 => node.domain = field.text()?.to_string(),
            _ => {}
        }
        Ok(())
    })?;
    Ok(node)
}

/// AttributeProto: 1 name, 2 float, 3 int, 4 text, 5 tensor.
fn read_attribute(message: Cursor<'_>) -> Result<(String, Attribute), Fault> {
    let (mut name, mut value) = (String::new(), Attribute::Other);
    fields(message, |field| {
        match (field.number, field.value) {
            (1, _) => name = field.text()?.to_string(),
            (2, Raw::Fixed32(bits)) => value = Attribute::Float(f32::from_bits(bits)),
            (3, Raw::Varint(number)) => value = Attribute::Int(number as i64),
            (4, _) => value = Attribute::Text(String::from_utf8_lossy(field.message()?.bytes()).into_owned()),
            (5, _) => value = Attribute::Tensor(read_tensor(field.message()?)?.1),
            _ => {}
        }
        Ok(())
    })?;
    Ok((name, value))
}

/// TensorProto: 1 dimensions, 2 type (1 is single precision, 7 whole numbers), 4 and 7 numbers of these, 8 name, 9 bytes, 14
/// place (1 is another file).
fn read_tensor(message: Cursor<'_>) -> Result<(String, Tensor), Fault> {
    let (mut name, mut tensor, mut kind) = (String::new(), Tensor::default(), 0);
    let (begins, mut elsewhere) = (message.at(), false);
    let mut raw: &[u8] = &[];
    fields(message, |field| {
        match field.number {
            1 => field.numbers(&mut tensor.dims)?,
            2 => kind = field.number()?,
            4 => match field.value {
                Raw::Fixed32(bits) => tensor.values.push(f32::from_bits(bits)),
                _ => raw = field.message()?.bytes(),
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
    if kind == 7 {
        let numbers = raw.as_chunks::<8>().0.iter();
        tensor
            .whole
            .extend(numbers.map(|bytes| i64::from_le_bytes(*bytes)));
    }
    tensor.is_float = kind == 1;
    if tensor.is_float {
        tensor.values.extend(
            raw.as_chunks::<4>()
                .0
                .iter()
                .map(|bytes| f32::from_le_bytes(*bytes)),
        );
        let expected = tensor
            .dims
            .iter()
            .try_fold(1_u64, |product, size| product.checked_mul(*size));
        if expected != Some(tensor.values.len() as u64) {
            let (found, dims) = (tensor.values.len(), &tensor.dims);
            return Err(wrong(format!(
                "`{name}` has {found} numbers; its shape is {dims:?}"
            )));
        }
        if let Some(value) = tensor.values.iter().find(|value| !value.is_finite()) {
            return Err(wrong(format!(
                "`{name}` has the value {value}; expected finite numbers only"
            )));
        }
    }
    Ok((name, tensor))
}

#[cfg(test)]
mod tests;

//! Policies in ONNX: graphs of a chain of linear layers, activations, GRU and LSTM, as PyTorch exports them.
//!
//! A flow decides on one observation at a time: a batch of one and a sequence of one. Each operator's input shape is
//! known, so an operator that only moves dimensions is accepted if every number keeps its position, and constants are
//! broadcast as in ONNX. The simulator holds the state of a recurrent layer, even if the graph has no inputs for it.

mod proto;
mod shape;

use paceline_congestion::learned::stack::{Activation, Dense, Layer, Recurrent, WIDEST};
use paceline_kernel::sorted::SortedSet;

use proto::{Attribute, FLOAT, Graph, Node, Tensor};
use shape::{row, size, spread};

/// More dimensions than any policy's tensor has.
const MOST_DIMENSIONS: usize = 8;

/// Operators that keep the order of the numbers.
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

/// Returns the supported parts of an operator in a version of the operator set: attribute names, number of inputs,
/// and number of outputs that carry its result. Anything else is refused, since it would be ignored.
fn known(operator: &str, version: u64) -> Option<(&'static [&'static str], usize, usize)> {
    // The last attribute exists since version 14.
    const GRU: [&str; 6] = [
        "hidden_size",
        "direction",
        "activations",
        "clip",
        "linear_before_reset",
        "layout",
    ];
    const LSTM: [&str; 6] = [
        "hidden_size",
        "direction",
        "activations",
        "clip",
        "input_forget",
        "layout",
    ];
    Some(match (operator, version) {
        ("Identity" | "Relu" | "Tanh" | "Sigmoid", _) => (&[], 1, 1),
        ("Flatten", _) => (&["axis"], 1, 1),
        ("Squeeze" | "Unsqueeze", ..13) => (&["axes"], 1, 1),
        ("Squeeze" | "Unsqueeze", _) => (&[], 2, 1),
        ("Reshape", ..14) => (&[], 2, 1),
        ("Reshape", _) => (&["allowzero"], 2, 1),
        ("Transpose", _) => (&["perm"], 1, 1),
        ("Cast", _) => (&["to", "saturate", "round_mode"], 1, 1),
        ("Dropout", ..12) => (&["ratio"], 1, 1),
        ("Dropout", _) => (&["seed"], 3, 1),
        ("Elu" | "LeakyRelu", _) => (&["alpha"], 1, 1),
        ("Clip", ..11) => (&["min", "max"], 1, 1),
        ("Clip", _) => (&[], 3, 1),
        ("Gemm", _) => (&["alpha", "beta", "transA", "transB"], 3, 1),
        ("MatMul" | "Add" | "Sub" | "Mul" | "Div", _) => (&[], 2, 1),
        ("Gather", _) => (&["axis"], 2, 1),
        ("GRU", _) => (&GRU[..5 + usize::from(version >= 14)], 7, 2),
        ("LSTM", _) => (&LSTM[..5 + usize::from(version >= 14)], 7, 2),
        _ => return None,
    })
}

/// Returns the number of inputs of the graph in a file, and its layers from the first input to the first output.
///
/// # Errors
/// A description of the damage, or of the operator that a policy may not have.
pub(super) fn layers(bytes: &[u8]) -> Result<(usize, Vec<Layer>), String> {
    let mut graph = proto::read(bytes)
        .map_err(|fault| format!("not an ONNX file: {} (byte {})", fault.message, fault.at))?;
    graph.find_makers()?;
    let mut data = graph.input()?;
    let inputs = size(&data);
    let states = graph.states();
    let mut layers: Vec<Layer> = Vec::new();
    for Link { node, index, gives } in graph.chain()? {
        let step = Step {
            graph: &graph,
            states: &states,
            node,
            index,
            gives,
            data: &data,
        };
        data = step.add(&mut layers)?;
        if data.len() > MOST_DIMENSIONS {
            return node.wrong(format!("more than {MOST_DIMENSIONS} dimensions"));
        }
    }
    Ok((inputs, layers))
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

    /// Returns a list of integers, which older operators have as an attribute.
    fn ints(&self, name: &str) -> Result<Option<&[i64]>, String> {
        match self.attributes.get(name) {
            None => Ok(None),
            Some(Attribute::Ints(values)) => Ok(Some(values)),
            Some(other) => self.wrong(format!("{name} = {other:?}; expected whole numbers")),
        }
    }

    /// Returns true if the operator has input number `index`.
    fn has_input(&self, index: usize) -> bool {
        self.inputs.get(index).is_some_and(|name| !name.is_empty())
    }

    /// Rejects any part of the operator that would be ignored; `wanted` is the output that the policy continues with.
    fn check(&self, wanted: &str, version: u64) -> Result<(), String> {
        if !self.is_standard() {
            return self.wrong(format!(
                "it is of `{}`; expected ONNX's own operators",
                self.domain
            ));
        }
        let Some((attributes, inputs, outputs)) = known(&self.operator, version) else {
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
            return self.wrong(format!(
                "its attribute `{name}` is not known in version {version} of the operators"
            ));
        }
        if let Some(index) = (inputs..self.inputs.len()).find(|index| self.has_input(*index)) {
            return self.wrong(format!(
                "its input {index} (`{}`) would be ignored in version {version} of the operators",
                self.inputs[index]
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
    /// Records which operator produces each output.
    fn find_makers(&mut self) -> Result<(), String> {
        /// More operators or constants than any policy has.
        const MOST: usize = 4096;
        if self.nodes.len().max(self.tensors.len()) > MOST {
            let (nodes, tensors) = (self.nodes.len(), self.tensors.len());
            return Err(format!(
                "the graph has {nodes} operators and {tensors} constants; expected at most {MOST} of each"
            ));
        }
        for (index, node) in self.nodes.iter().enumerate() {
            // Each name has one producer, so that the chain can be followed back from the output.
            for output in node.outputs.iter().filter(|name| !name.is_empty()) {
                let is_input = self.inputs.iter().any(|input| input.name == *output);
                if is_input || self.tensors.contains_key(output) {
                    return node.wrong(format!("`{output}` is an input or a constant, too"));
                }
                if self.makers.insert(output.clone(), index).is_some() {
                    return node.wrong(format!("another operator gives `{output}`, too"));
                }
            }
        }
        Ok(())
    }

    /// Returns the shape of the observation: that of the first input, with a batch of one and a sequence of one.
    fn input(&self) -> Result<Vec<usize>, String> {
        let Some(input) = self.inputs.first() else {
            return Err("the graph has no input".into());
        };
        let name = &input.name;
        if input.kind != FLOAT {
            return Err(format!("the input `{name}` is not of single precision"));
        }
        let dims = match &input.dims {
            Some(dims) => Some(dims.clone()),
            None => self.chain()?.first().and_then(|link| self.read_first(link)),
        };
        let Some(dims) = dims else {
            return Err(format!(
                "the input `{name}` has no shape, and the first operator is no Gemm, MatMul, GRU or LSTM that tells it"
            ));
        };
        let product = |product: u64, size: &u64| product.checked_mul(*size);
        match dims.iter().try_fold(1, product) {
            Some(numbers) if is_width(numbers) && dims.len() <= MOST_DIMENSIONS => {
                Ok(dims.iter().map(|size| *size as usize).collect())
            }
            _ => Err(format!(
                "the input `{name}` has the shape {dims:?}; expected 1 to {WIDEST} numbers in at most {MOST_DIMENSIONS} \
                 dimensions"
            )),
        }
    }

    /// Returns the input shape that the weights of the first operator require.
    fn read_first(&self, link: &Link<'_>) -> Option<Vec<u64>> {
        let weights = self.tensors.get(link.node.inputs.get(1)?)?;
        let size = |index: usize| weights.dims.get(index).copied();
        match (link.node.operator.as_str(), link.index) {
            ("MatMul", 0) => Some(vec![1, size(0)?]),
            ("Gemm", 0) => Some(vec![1, size(usize::from(link.node.int("transB", 0).ok()? != 0))?]),
            ("GRU" | "LSTM", 0) => Some(vec![1, 1, size(2)?]),
            _ => None,
        }
    }

    /// Returns the operators on the path from input to output.
    fn chain(&self) -> Result<Vec<Link<'_>>, String> {
        let (Some(input), Some(output)) = (self.inputs.first(), self.outputs.first()) else {
            return Err("the graph has no output".into());
        };
        let (input, mut chain, mut wanted) = (&input.name, Vec::new(), output);
        while wanted != input {
            let Some(index) = self.makers.get(wanted) else {
                return Err(format!(
                    "nothing gives `{wanted}`, on the way from the output `{output}` back to the input `{input}`"
                ));
            };
            let node = &self.nodes[*index];
            node.check(wanted, self.version)?;
            // A path longer than the graph has passed an operator twice.
            if chain.len() == self.nodes.len() {
                return node.wrong("the graph runs in a circle");
            }
            // A recurrent operator's data is its first input; that of any other is the input that is not a constant.
            let recurrent = matches!(node.operator.as_str(), "GRU" | "LSTM");
            let is_data = |name: &String| !name.is_empty() && !self.tensors.contains_key(name);
            let mut data = (0..node.inputs.len()).filter(|index| is_data(&node.inputs[*index]));
            let index = match (data.next(), data.next()) {
                (None, _) => return node.wrong("it reads nothing but constants"),
                (Some(_), Some(_)) if !recurrent => {
                    return node.wrong(
                        "it reads two results; expected a chain of operators, each of which reads one",
                    );
                }
                (Some(index), _) => index,
            };
            let swaps = matches!(node.operator.as_str(), "Add" | "Sub" | "Mul" | "Div") && index < 2;
            if index > 0 && !swaps {
                return node.wrong(format!(
                    "its input {index} is a result (`{}`); expected a constant there",
                    node.inputs[index]
                ));
            }
            chain.push(Link {
                node,
                index,
                gives: wanted,
            });
            wanted = &node.inputs[index];
        }
        chain.reverse();
        Ok(chain)
    }

    /// Returns the names that may be a recurrent layer's initial state: zeros, and further inputs of the graph, even
    /// if an operator moves their dimensions.
    fn states(&self) -> SortedSet<&str> {
        let constants = self.tensors.iter().filter(|(_, tensor)| tensor.is_zero());
        let inputs = self.inputs.iter().skip(1).map(|input| &input.name);
        let ends = constants.map(|(name, _)| name).chain(inputs);
        let mut states: SortedSet<&str> = ends.map(String::as_str).collect();
        // ONNX sorts operators topologically, so one pass is enough.
        for node in self.nodes.iter().filter(|node| node.is_standard()) {
            let is_state = |name: &String| states.contains(name.as_str());
            let gives = match node.operator.as_str() {
                "ConstantOfShape" if self.version >= 9 => match node.attributes.get("value") {
                    None => true,
                    Some(Attribute::Tensor(tensor)) => tensor.is_zero(),
                    Some(_) => false,
                },
                "Expand" | "Slice" | "Identity" | "Squeeze" | "Unsqueeze" | "Reshape" | "Transpose"
                | "Gather" | "Split" => node.inputs.first().is_some_and(is_state),
                "Concat" => node.inputs.iter().all(is_state),
                _ => false,
            };
            if gives {
                states.extend(node.outputs.iter().map(String::as_str));
            }
        }
        states
    }
}

/// Returns true if a layer may have this width.
fn is_width(numbers: u64) -> bool {
    (1..=WIDEST as u64).contains(&numbers)
}

/// Operator on the path from input to output.
struct Link<'a> {
    node: &'a Node,
    /// Index of the input that carries the data.
    index: usize,
    /// Output with which the path continues.
    gives: &'a str,
}

/// Operator on the path, with the graph and the shape of its data.
struct Step<'a> {
    graph: &'a Graph,
    states: &'a SortedSet<&'a str>,
    node: &'a Node,
    index: usize,
    gives: &'a str,
    /// Shape of the data.
    data: &'a [usize],
}

impl Step<'_> {
    fn constant(&self, index: usize) -> Result<&Tensor, String> {
        let name = self.node.inputs.get(index).map_or("", String::as_str);
        match self.graph.tensors.get(name) {
            Some(tensor) if tensor.is_float() => Ok(tensor),
            Some(_) => self.node.wrong(format!("`{name}` is not of single precision")),
            None => self.node.wrong(format!("its input {index} is not a constant")),
        }
    }

    /// Returns the integers of a constant list, if the operator has that input.
    fn list(&self, index: usize) -> Result<Option<&[i64]>, String> {
        if !self.node.has_input(index) {
            return Ok(None);
        }
        match self.graph.tensors.get(&self.node.inputs[index]) {
            Some(tensor) if tensor.dims.len() == 1 && !tensor.is_float() && !tensor.whole.is_empty() => {
                Ok(Some(&tensor.whole))
            }
            _ => self.node.wrong(format!(
                "its input {index} is not a constant list of whole numbers of 64 bits"
            )),
        }
    }

    /// Returns a scalar constant, if the operator has that input.
    fn scalar(&self, index: usize) -> Result<Option<f32>, String> {
        if !self.node.has_input(index) {
            return Ok(None);
        }
        match self.constant(index)?.values[..] {
            [value] => Ok(Some(value)),
            _ => self.node.wrong(format!("its input {index} is not one number")),
        }
    }

    /// Returns the axes of `Squeeze` and `Unsqueeze`, from an attribute or an input.
    fn axes(&self) -> Result<Option<&[i64]>, String> {
        let axes = self.node.ints("axes")?.or(self.list(1)?);
        self.check_axes(axes.unwrap_or(&[]))?;
        Ok(axes)
    }

    /// Rejects axes counted from the last, which operators before version 11 do not support.
    fn check_axes(&self, axes: &[i64]) -> Result<(), String> {
        match axes.iter().find(|axis| **axis < 0 && self.graph.version < 11) {
            None => Ok(()),
            Some(axis) => self.node.wrong(format!(
                "{axis}; expected 0 or more in version {} of the operators",
                self.graph.version
            )),
        }
    }

    /// Rejects an initial state other than 0: the simulator holds the state and starts it with zeros.
    fn check_state(&self, index: usize) -> Result<(), String> {
        if !self.node.has_input(index) || self.states.contains(self.node.inputs[index].as_str()) {
            return Ok(());
        }
        self.node.wrong(format!(
            "its first state, input {index}, is not a further input of the graph, and not 0"
        ))
    }

    /// Appends the operator's effect to `layers`; returns the shape of its output.
    fn add(&self, layers: &mut Vec<Layer>) -> Result<Vec<usize>, String> {
        let (node, data) = (self.node, self.data);
        let moved = |moved: Result<Vec<usize>, String>| moved.or_else(|message| node.wrong(message));
        let activation = match node.operator.as_str() {
            "Identity" => return Ok(data.to_vec()),
            // A cast to single precision has no effect, since all numbers have it.
            "Cast" => {
                node.expect("to", node.int("to", 0)?, FLOAT)?;
                return Ok(data.to_vec());
            }
            "Dropout" if node.has_input(2) => {
                return node.wrong("whether it trains is an input; expected a policy exported for inference");
            }
            // Dropout has no effect at inference.
            "Dropout" => {
                self.scalar(1)?;
                return Ok(data.to_vec());
            }
            "Flatten" => {
                let axis = node.int("axis", 1)?;
                self.check_axes(&[axis])?;
                return moved(shape::flatten(data, axis));
            }
            "Squeeze" => return moved(shape::squeeze(data, self.axes()?)),
            "Unsqueeze" => return moved(shape::unsqueeze(data, self.axes()?.unwrap_or(&[]))),
            "Transpose" => return moved(shape::transpose(data, node.ints("perm")?)),
            "Reshape" => {
                let sizes = self.list(1)?.unwrap_or(&[]);
                return moved(shape::reshape(data, sizes, node.int("allowzero", 0)? != 0));
            }
            // The last element of a sequence of one, or the first of a batch of one, is all there is.
            "Gather" => {
                let index = node.inputs.get(1).and_then(|name| self.graph.tensors.get(name));
                return match index {
                    Some(index) if matches!(index.whole[..], [0 | -1]) => {
                        let axis = node.int("axis", 0)?;
                        self.check_axes(&[axis, index.whole[0]])?;
                        moved(shape::gather(data, axis, index.dims.len()))
                    }
                    _ => node.wrong("its index is not the constant 0 or -1"),
                };
            }
            "Relu" => Activation::Relu,
            "Tanh" => Activation::Tanh,
            "Sigmoid" => Activation::Sigmoid,
            "Elu" => Activation::Elu(node.float("alpha", 1.0)?),
            "LeakyRelu" => Activation::LeakyRelu(node.float("alpha", 0.01)?),
            "Clip" => {
                let low = self.scalar(1)?.unwrap_or(node.float("min", f32::MIN)?);
                let high = self.scalar(2)?.unwrap_or(node.float("max", f32::MAX)?);
                if low > high {
                    return node.wrong(format!("its least number {low} is above its largest {high}"));
                }
                Activation::Clip(low, high)
            }
            "Gemm" => return self.gemm(layers),
            "MatMul" => return self.product(layers),
            "GRU" => {
                // ONNX orders the gates as z, r, h, and PyTorch as r, z, n.
                let (cell, shape) = self.recurrent(&[1, 0, 2])?;
                layers.push(Layer::Gru(cell));
                return Ok(shape);
            }
            "LSTM" => {
                // ONNX orders the gates as i, o, f, c, and PyTorch as i, f, g, o.
                let (cell, shape) = self.recurrent(&[0, 2, 3, 1])?;
                layers.push(Layer::Lstm(cell));
                return Ok(shape);
            }
            _ => return self.arithmetic(layers),
        };
        layers.push(Layer::Each(activation));
        Ok(data.to_vec())
    }

    /// Converts arithmetic with a constant into a factor and an offset for each number.
    fn arithmetic(&self, layers: &mut Vec<Layer>) -> Result<Vec<usize>, String> {
        let (node, swapped) = (self.node, self.index == 1);
        if node.inputs.len() != 2 {
            return node.wrong(format!("it has {} inputs; expected 2", node.inputs.len()));
        }
        let constant = self.constant(1 - self.index)?;
        // A constant with more dimensions than the data adds leading dimensions of one.
        let missing = constant.dims.len().saturating_sub(self.data.len());
        let shape = [&vec![1; missing][..], self.data].concat();
        let Some(numbers) = spread(constant, &shape) else {
            return node.wrong(format!(
                "a constant of shape {:?} for numbers of shape {:?}; expected one that leaves that shape",
                constant.dims, self.data
            ));
        };
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
        let (factors, offsets): (Vec<f32>, Vec<f32>) = numbers.into_iter().map(of).unzip();
        // Division by a constant of 0 gives an infinite factor.
        if !factors.iter().all(|factor| factor.is_finite()) {
            return node.wrong("a factor is not finite");
        }
        layers.push(Layer::Scale(factors, offsets));
        Ok(shape)
    }

    /// Returns the width of the data, which is one row, and the rows, columns and values of the weights in input 1: a
    /// matrix, possibly with leading dimensions of one.
    fn weights(&self) -> Result<(usize, [usize; 2], &[f32]), String> {
        let (node, tensor) = (self.node, self.constant(1)?);
        let Some(width) = row(self.data) else {
            return node.wrong(format!(
                "it reads numbers of shape {:?}; expected one row of them",
                self.data
            ));
        };
        match tensor.dims[..] {
            [ref before @ .., rows, columns]
                if before.iter().all(|size| *size == 1) && is_width(rows) && is_width(columns) =>
            {
                Ok((width, [rows as usize, columns as usize], &tensor.values))
            }
            _ => node.wrong(format!(
                "weights of shape {:?}; expected two dimensions of 1 to {WIDEST}",
                tensor.dims
            )),
        }
    }

    fn check_width(&self, reads: usize, width: usize) -> Result<(), String> {
        match reads == width {
            true => Ok(()),
            false => self.node.wrong(format!(
                "its weights read {reads} numbers; it gets {width}, of shape {:?}",
                self.data
            )),
        }
    }

    fn product(&self, layers: &mut Vec<Layer>) -> Result<Vec<usize>, String> {
        let (width, [rows, columns], values) = self.weights()?;
        self.check_width(rows, width)?;
        layers.push(Layer::Linear(Dense::of_columns(
            rows,
            values.to_vec(),
            vec![0.0; columns],
        )));
        // A row without a batch dimension stays a plain row.
        let rank = self.data.len().max(self.constant(1)?.dims.len()) - usize::from(self.data.len() == 1);
        Ok([&vec![1; rank - 1][..], &[columns]].concat())
    }

    fn gemm(&self, layers: &mut Vec<Layer>) -> Result<Vec<usize>, String> {
        let node = self.node;
        node.expect("alpha", node.float("alpha", 1.0)?, 1.0_f32)?;
        node.expect("beta", node.float("beta", 1.0)?, 1.0_f32)?;
        node.expect("transA", node.int("transA", 0)?, 0)?;
        let (width, [rows, columns], values) = self.weights()?;
        let ranks = (self.data.len(), self.constant(1)?.dims.len());
        if ranks != (2, 2) {
            return node.wrong(format!(
                "it multiplies {} and {} dimensions; expected 2 and 2",
                ranks.0, ranks.1
            ));
        }
        let by_rows = node.int("transB", 0)? != 0;
        let (reads, outputs) = if by_rows { (columns, rows) } else { (rows, columns) };
        self.check_width(reads, width)?;
        let bias = match node.has_input(2) {
            true => spread(self.constant(2)?, &[1, outputs]),
            // Biases are optional only since version 11.
            false if self.graph.version < 11 => {
                return node.wrong(format!(
                    "it has no biases; expected some in version {}",
                    self.graph.version
                ));
            }
            false => Some(vec![0.0; outputs]),
        };
        let Some(bias) = bias else {
            let dims = &self.constant(2)?.dims;
            return node.wrong(format!("biases of shape {dims:?}; expected [{outputs}]"));
        };
        layers.push(Layer::Linear(match by_rows {
            true => Dense::of_rows(reads, values, bias),
            false => Dense::of_columns(reads, values.to_vec(), bias),
        }));
        Ok(vec![1, outputs])
    }

    /// Returns a recurrent operator and its output's shape; `order` lists its gates in PyTorch's order.
    fn recurrent(&self, order: &[usize]) -> Result<(Recurrent, Vec<usize>), String> {
        let node = self.node;
        match node.attributes.get("direction") {
            None => {}
            Some(Attribute::Text(text)) => node.expect("direction", text, "forward")?,
            Some(other) => return node.wrong(format!("direction = {other:?}; expected forward")),
        }
        // PyTorch applies the reset gate after the recurrent weights.
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
        for index in 5..7 {
            self.check_state(index)?;
        }
        let [1, 1, inputs] = *self.data else {
            return node.wrong(format!(
                "it reads numbers of shape {:?}; expected a sequence of one, a batch of one, and numbers",
                self.data
            ));
        };
        let gates = order.len();
        let units = match self.constant(2)?.dims[..] {
            [1, _, units] if is_width(units) => units as usize,
            _ => {
                let dims = &self.constant(2)?.dims;
                return node.wrong(format!(
                    "recurrent weights of shape {dims:?}; expected [1, {gates} n, n], n from 1 to {WIDEST}"
                ));
            }
        };
        node.expect("hidden_size", node.int("hidden_size", units as i64)?, units)?;
        let rows = gates * units;
        let expect = |index: usize, columns: &[usize]| -> Result<&[f32], String> {
            let tensor = self.constant(index)?;
            let expected: Vec<u64> = [&[1], columns].concat().iter().map(|size| *size as u64).collect();
            match tensor.dims == expected {
                true => Ok(&tensor.values),
                false => node.wrong(format!(
                    "`{}` has the shape {:?}; expected {expected:?}",
                    node.inputs[index], tensor.dims
                )),
            }
        };
        let (weights, own) = (expect(1, &[rows, inputs])?, expect(2, &[rows, units])?);
        let biases = match node.has_input(3) {
            true => expect(3, &[2 * rows])?.to_vec(),
            false => vec![0.0; 2 * rows],
        };
        let sorted = |values: &[f32], columns: usize| -> Vec<f32> {
            let part = units * columns;
            let parts = order.iter().map(|gate| &values[gate * part..][..part]);
            parts.flatten().copied().collect()
        };
        let (bias, own_bias) = biases.split_at(rows);
        let cell = Recurrent {
            input: Dense::of_rows(inputs, &sorted(weights, inputs), sorted(bias, 1)),
            hidden: Dense::of_rows(units, &sorted(own, units), sorted(own_bias, 1)),
        };
        // The first output holds every step, so it has a dimension for the sequence, which the last state lacks.
        let all = node.outputs.first().is_some_and(|name| name == self.gives);
        Ok((
            cell,
            vec![1; if all { 3 } else { 2 }]
                .into_iter()
                .chain([units])
                .collect(),
        ))
    }
}

#[cfg(test)]
mod tests;

//! Random policies in ONNX: chains of layers with matching shapes, with rare exceptions.

use std::fmt::Write as _;

use super::Draft;
use super::protobuf::Message;
use crate::mutate::Mutator;

/// Observations of a flow, each a single number.
const SEEN: [&str; 4] = ["rtt", "marks", "rate-log2", "action"];

/// ONNX graph that grows node by node, each using the output of the last.
struct Graph {
    message: Message,
    /// Number of nodes so far; the last one's output is `r{nodes}`.
    nodes: usize,
    tensors: usize,
    /// Dimensions of the last node's output.
    dims: usize,
}

impl Graph {
    /// Returns a weight: small, with rare exceptions.
    fn weight(chance: &mut Mutator) -> f32 {
        match chance.below(4_000) {
            0 => *chance.one(&[f32::NAN, f32::INFINITY, f32::MAX, -f32::MAX, 1e-40]),
            _ => chance.below(2001) as f32 / 1000.0 - 1.0,
        }
    }

    fn tensor(&mut self, chance: &mut Mutator, dims: &[usize]) -> String {
        let name = format!("w{}", self.tensors);
        self.tensors += 1;
        let count: usize = dims.iter().product();
        let raw: Vec<u8> = (0..count)
            .flat_map(|_| Self::weight(chance).to_le_bytes())
            .collect();
        let mut own = dims
            .iter()
            .fold(Message::default(), |own, size| own.number(1, *size as u64));
        if chance.once_in(150) {
            own = own.number(1, chance.extent());
        }
        // Field numbers of ONNX's `TensorProto`: dimensions 1, type 2, name 8, raw data 9.
        let own = own.number(2, 1).bytes(8, &name).bytes(9, raw);
        self.message = std::mem::take(&mut self.message).bytes(5, own.0);
        name
    }

    /// Adds an operator on the last output, with float and integer attributes. The attribute `axes` is a list.
    fn node(&mut self, operator: &str, inputs: &[String], floats: &[(&str, f32)], whole: &[(&str, u64)]) {
        // Field numbers of `NodeProto`: inputs 1, output 2, operator 4, attributes 5.
        let mut own = Message::default().bytes(1, format!("r{}", self.nodes));
        own = inputs.iter().fold(own, |own, input| own.bytes(1, input));
        self.nodes += 1;
        own = own.bytes(2, format!("r{}", self.nodes)).bytes(4, operator);
        for (name, value) in floats {
            own = own.bytes(
                5,
                Message::default().bytes(1, name).float(2, *value).number(20, 1).0,
            );
        }
        for (name, value) in whole {
            let named = Message::default().bytes(1, name);
            let attribute = match *name {
                "axes" => named.number(8, *value).number(20, 7),
                _ => named.number(3, *value).number(20, 2),
            };
            own = own.bytes(5, attribute.0);
        }
        self.message = std::mem::take(&mut self.message).bytes(1, own.0);
    }

    /// Adapts the number of dimensions to what a layer expects, with rare exceptions.
    fn reach(&mut self, chance: &mut Mutator, dims: usize) {
        while self.dims != dims && !chance.once_in(60) {
            let grows = self.dims < dims;
            let operator = if grows { "Unsqueeze" } else { "Squeeze" };
            self.node(operator, &[], &[], &[("axes", 0)]);
            self.dims = if grows { self.dims + 1 } else { self.dims - 1 };
        }
    }

    /// Adds a layer with `width` inputs; returns the number of its outputs.
    fn layer(&mut self, chance: &mut Mutator, width: usize, last: bool) -> usize {
        let fits = if chance.once_in(60) { width + 1 } else { width };
        let wide = if last { 1 } else { *chance.one(&[1, 3, 8, 32]) };
        match chance.below(6) {
            0 => {
                let weights = self.tensor(chance, &[fits, wide]);
                self.node("MatMul", &[weights], &[], &[]);
                let bias = self.tensor(chance, &[wide]);
                let operator = *chance.one(&["Add", "Sub", "Mul", "Div"]);
                self.node(operator, &[bias], &[], &[]);
            }
            1 if !last => {
                // Recurrent operators of ONNX take three dimensions: sequence, batch, features.
                self.reach(chance, 3);
                let (operator, gates) = *chance.one(&[("GRU", 3), ("LSTM", 4)]);
                let weights = self.tensor(chance, &[1, gates * wide, fits]);
                let again = self.tensor(chance, &[1, gates * wide, wide]);
                let mut inputs = vec![weights, again];
                if chance.once_in(2) {
                    inputs.push(self.tensor(chance, &[1, 2 * gates * wide]));
                }
                let mut whole = vec![("hidden_size", wide as u64)];
                if operator == "GRU" {
                    whole.push(("linear_before_reset", u64::from(!chance.once_in(8))));
                }
                self.node(operator, &inputs, &[], &whole);
                // Their output has one more, for the directions.
                self.dims = 4;
                self.reach(chance, 3);
            }
            _ => {
                self.reach(chance, 2);
                let by_rows = chance.once_in(2);
                let dims = if by_rows { [wide, fits] } else { [fits, wide] };
                let weights = self.tensor(chance, &dims);
                let bias = self.tensor(chance, &[wide]);
                self.node("Gemm", &[weights, bias], &[], &[("transB", u64::from(by_rows))]);
            }
        }
        wide
    }

    fn activation(&mut self, chance: &mut Mutator) {
        let alpha = Self::weight(chance);
        match chance.below(8) {
            0 => self.node("Relu", &[], &[], &[]),
            1 => self.node("Sigmoid", &[], &[], &[]),
            2 => self.node("Elu", &[], &[("alpha", alpha)], &[]),
            3 => self.node("LeakyRelu", &[], &[("alpha", alpha)], &[]),
            4 => self.node("Clip", &[], &[("min", -1.0), ("max", alpha.abs())], &[]),
            5 => self.node("Identity", &[], &[], &[]),
            6 if chance.once_in(40) => self.node("Sinh", &[], &[], &[]),
            _ => self.node("Tanh", &[], &[], &[]),
        }
    }
}

impl Draft {
    /// Writes the scheme of a policy, with its card and its graph.
    pub(super) fn policy(&mut self, chance: &mut Mutator) {
        let (seen, history) = (1 + chance.below(SEEN.len()), *chance.one(&[1, 1, 2, 4]));
        let mut graph = Graph {
            message: Message::default(),
            nodes: 0,
            tensors: 0,
            dims: 2,
        };
        let layers = 1 + chance.below(4);
        let mut width = seen * history;
        let known = |size: usize| Message::default().bytes(1, Message::default().number(1, size as u64).0);
        let shape = Message([known(1).0, known(width).0].concat());
        let tensor = Message::default().number(1, 1).bytes(2, shape.0);
        let kind = Message::default().bytes(1, tensor.0);
        let version = match chance.once_in(30) {
            true => *chance.one(&[0, 6, 13, 28, 29]),
            false => *chance.one(&[7, 8, 9, 10]),
        };
        for layer in 1..=layers {
            width = graph.layer(chance, width, layer == layers);
            graph.activation(chance);
        }
        // `GraphProto` has inputs in 11 and outputs in 12, `ModelProto` the graph in 7 and the operator sets in 8.
        let input = Message::default().bytes(1, "r0").bytes(2, kind.0);
        let output = Message::default().bytes(1, format!("r{}", graph.nodes));
        let whole = graph.message.bytes(11, input.0).bytes(12, output.0);
        let operators = Message::default().number(2, version);
        let model = Message::default()
            .number(1, 8)
            .bytes(7, whole.0)
            .bytes(8, operators.0);
        let seen: Vec<String> = SEEN[..seen].iter().map(|name| format!("\"{name}\"")).collect();
        let mut card = format!(
            "{{\"format\": 1, \"kind\": \"policy\", \"name\": \"mine\", \"observation\": [{}], \"history\": {history}, \
             \"action\": \"{}\"",
            seen.join(", "),
            chance.one(&["rate-multiplier", "rate-multiplier", "rate", "window-multiplier"])
        );
        for (key, values) in [
            ("step", &["0.2", "0.999", "0.000001"][..]),
            ("clock", &["\"aligned\"", "\"round-trip\"", "\"feedback\""]),
            ("interval", &["\"10us\"", "\"1us\"", "\"7us\"", "\"1ps\""]),
        ] {
            if chance.once_in(2) {
                let _ = write!(card, ", \"{key}\": {}", chance.one(values));
            }
        }
        card.push_str("}\n");
        self.files.push(("mine.json".into(), card.into()));
        self.files.push(("mine.onnx".into(), model.0));
        self.line("[cc]\nscheme = \"policy\"\npolicy.model = \"mine.json\"");
    }
}

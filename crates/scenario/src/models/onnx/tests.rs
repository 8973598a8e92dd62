use super::*;

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 127 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn int(number: u64, value: u64) -> Vec<u8> {
    [varint(number << 3), varint(value)].concat()
}

fn bytes(number: u64, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    [&varint(number << 3 | 2), &varint(content.len() as u64), content].concat()
}

/// Encodes a constant of single precision.
fn tensor(name: &str, dims: &[u64], values: &[f32]) -> Vec<u8> {
    let dims = dims.iter().flat_map(|size| int(1, *size));
    let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    dims.chain(int(2, 1))
        .chain(bytes(8, name))
        .chain(bytes(9, raw))
        .collect()
}

fn whole(name: &str, value: i64) -> Vec<u8> {
    [
        int(1, 1),
        int(2, 7),
        bytes(8, name),
        bytes(9, value.to_le_bytes()),
    ]
    .concat()
}

fn float(name: &str, value: f32) -> Vec<u8> {
    [
        bytes(1, name),
        vec![0x15],
        value.to_le_bytes().to_vec(),
        int(20, 1),
    ]
    .concat()
}

fn number(name: &str, value: u64) -> Vec<u8> {
    [bytes(1, name), int(3, value), int(20, 2)].concat()
}

/// Encodes an operator written as `Relu x -> y`.
fn node(text: &str, attributes: &[Vec<u8>]) -> Vec<u8> {
    let (call, outputs) = text.split_once(" -> ").unwrap();
    let mut words = call.split(' ');
    let operator = words.next().unwrap();
    // `_` stands for an absent input.
    let inputs = words.flat_map(|name| bytes(1, name.trim_matches('_')));
    let outputs = outputs.split(' ').flat_map(|name| bytes(2, name));
    let attributes = attributes.iter().flat_map(|one| bytes(5, one));
    inputs
        .chain(outputs)
        .chain(bytes(4, operator))
        .chain(attributes)
        .collect()
}

/// Encodes an input of single precision with these sizes.
fn input(name: &str, dims: &[u64]) -> Vec<u8> {
    let sizes: Vec<u8> = dims.iter().flat_map(|size| bytes(1, int(1, *size))).collect();
    let tensor = [int(1, 1), bytes(2, sizes)].concat();
    [bytes(1, name), bytes(2, bytes(1, tensor))].concat()
}

fn layers_of(dims: &[u64], nodes: &[Vec<u8>], tensors: &[Vec<u8>]) -> Result<Vec<Layer>, String> {
    let nodes = nodes.iter().flat_map(|node| bytes(1, node));
    let tensors = tensors.iter().flat_map(|tensor| bytes(5, tensor));
    let ends = [
        bytes(11, input("x", dims)),
        bytes(11, input("state", &[1, 1, 1])),
        bytes(12, bytes(1, "y")),
    ]
    .concat();
    let graph = bytes(7, nodes.chain(tensors).chain(ends).collect::<Vec<u8>>());
    let file = [graph, bytes(8, int(2, 17))].concat();
    layers(&file).map(|(_, layers)| layers)
}

#[test]
fn what_nobody_reads_is_refused() {
    let linear = || tensor("w", &[2, 1], &[1.0, -1.0]);
    let lstm = |inputs: &str, read: &str| {
        let call = format!("LSTM x w r {inputs} -> all last cell");
        vec![node(&call, &[]), node(&format!("Squeeze {read} -> y"), &[])]
    };
    let weights = || {
        vec![
            tensor("w", &[1, 4, 2], &[0.5; 8]),
            tensor("r", &[1, 4, 1], &[0.5; 4]),
            tensor("zero", &[1, 1, 1], &[0.0]),
            tensor("one", &[1, 1, 1], &[1.0]),
        ]
    };
    for (inputs, read) in [
        ("_", "all"),
        ("_ _ zero zero", "last"),
        ("_ _ state state", "all"),
    ] {
        assert!(
            layers_of(&[1, 1, 2], &lstm(inputs, read), &weights()).is_ok(),
            "{inputs}"
        );
    }
    for (inputs, read, said) in [
        ("_", "cell", "`cell` is not its result"),
        ("_ one", "all", "lengths of sequences"),
        ("_ _ one zero", "all", "first state, input 5"),
        ("_ _ zero one", "all", "first state, input 6"),
        ("_ _ zero zero zero", "all", "input 7 (`zero`) would be ignored"),
    ] {
        let error = layers_of(&[1, 1, 2], &lstm(inputs, read), &weights()).unwrap_err();
        assert!(error.contains(said), "{inputs} {read}: {error}");
    }
    let nan = f32::NAN;
    let scalar = |value| tensor("c", &[], &[value]);
    for (nodes, tensors, said) in [
        (
            vec![
                node("Cast x -> a", &[number("to", 7)]),
                node("MatMul a w -> y", &[]),
            ],
            vec![linear()],
            "to = 7",
        ),
        (
            vec![node("Relu x -> y", &[]), node("Tanh x -> y", &[])],
            vec![],
            "another operator gives `y`",
        ),
        (
            vec![node("Elu x -> y", &[float("alpha", nan)])],
            vec![],
            "alpha = Float(NaN)",
        ),
        (
            vec![node("Clip x -> y", &[float("min", 0.0)])],
            vec![],
            "`min` is not known in version 17",
        ),
        (
            vec![node("Clip x c d -> y", &[])],
            vec![scalar(1.0), tensor("d", &[], &[0.0])],
            "above its largest",
        ),
        (
            vec![node("MatMul x w -> a", &[]), node("Div a c -> y", &[])],
            vec![linear(), scalar(0.0)],
            "not finite",
        ),
        (
            vec![node("Relu x -> y", &[number("axis", 1)])],
            vec![],
            "attribute `axis` is not known",
        ),
        (
            vec![node("Dropout x c state -> y", &[])],
            vec![scalar(0.5)],
            "reads two results",
        ),
        (
            vec![node("MatMul x w -> y", &[])],
            vec![tensor("w", &[1 << 40, 0], &[])],
            "shape [1099511627776, 0]",
        ),
        (
            vec![node("Gemm x w -> y", &[number("transB", 1)])],
            vec![tensor("w", &[0, 1 << 62], &[])],
            "expected two",
        ),
        (
            vec![node("Add x c -> y", &[])],
            vec![tensor("c", &[2, 1], &[1.0, 2.0])],
            "expected one that leaves that shape",
        ),
        (
            vec![node("Gather x i -> y", &[number("axis", 1)])],
            vec![whole("i", 0)],
            "it takes one of 2 numbers",
        ),
        (
            vec![node("MatMul x w -> y", &[])],
            vec![linear(), linear()],
            "two constants are called `w`",
        ),
    ] {
        let error = layers_of(&[1, 2], &nodes, &tensors).unwrap_err();
        assert!(error.contains(said), "{said}: {error}");
    }
    let gather = |index| {
        let mut nodes = lstm("_", "all");
        nodes.pop();
        nodes.push(node("Gather all i -> y", &[]));
        layers_of(&[1, 1, 2], &nodes, &[weights(), vec![whole("i", index)]].concat())
    };
    assert!(gather(-1).is_ok() && gather(0).is_ok() && gather(1).is_err());
}

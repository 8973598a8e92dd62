use super::*;

fn dense(inputs: usize, rows: &[f32], bias: &[f32]) -> Dense {
    Dense::of_rows(inputs, rows, bias.to_vec())
}

fn run(stack: &Stack, input: &[f32], state: &mut [f32]) -> Vec<f32> {
    let mut numbers = [0.0; WIDEST];
    numbers[..input.len()].copy_from_slice(input);
    stack.step(&mut numbers, state);
    numbers[..stack.outputs()].to_vec()
}

/// A scale, a linear layer of two rows, and every activation, computed by hand.
#[test]
fn layers_by_hand() {
    let layers = vec![
        Layer::Scale(vec![2.0, -1.0], vec![0.5, 0.0]),
        Layer::Linear(dense(2, &[1.0, 2.0, -3.0, 0.5], &[0.25, 1.0])),
    ];
    let stack = Stack::new(layers, 2).unwrap();
    // (1, 2) becomes (2.5, -2): 0.25 + 2.5 - 4, and 1 - 7.5 - 1.
    assert_eq!(run(&stack, &[1.0, 2.0], &mut []), [-1.25, -7.5]);
    assert_eq!((stack.shape(), stack.parameters()), ("2-2".into(), 6));
    for (activation, expected) in [
        (Activation::Relu, [0.0, 2.0]),
        (Activation::LeakyRelu(0.25), [-0.25, 2.0]),
        (Activation::Elu(2.0), [2.0 * (libm::expf(-1.0) - 1.0), 2.0]),
        (Activation::Silu, [-sigmoid(-1.0), 2.0 * sigmoid(2.0)]),
        (Activation::Tanh, [tanh(-1.0), tanh(2.0)]),
        (Activation::Sigmoid, [sigmoid(-1.0), sigmoid(2.0)]),
        (Activation::Clip(-0.5, 1.5), [-0.5, 1.5]),
    ] {
        let stack = Stack::new(vec![Layer::Each(activation)], 2).unwrap();
        assert_eq!(run(&stack, &[-1.0, 2.0], &mut []), expected, "{activation:?}");
    }
}

/// Two steps of one unit each, by the equations of PyTorch's manual.
#[test]
fn memory_by_hand() {
    let gru = Recurrent {
        input: dense(1, &[0.5, -1.0, 2.0], &[0.1, 0.2, 0.3]),
        hidden: dense(1, &[1.0, 0.5, -0.5], &[0.0, 0.1, 0.4]),
    };
    let stack = Stack::new(vec![Layer::Gru(gru)], 1).unwrap();
    let (mut state, mut h) = (vec![0.0; stack.remembers()], 0.0f32);
    for x in [1.0f32, -0.5] {
        let r = sigmoid(0.5f32.mul_add(x, 0.1) + h);
        let z = sigmoid((0.2 - x) + (0.1 + 0.5 * h));
        let n = tanh(2.0f32.mul_add(x, 0.3) + r * (0.4 - 0.5 * h));
        h = (1.0 - z) * n + z * h;
        let found = run(&stack, &[x], &mut state)[0];
        assert!((found - h).abs() < 1e-6, "{found} {h}");
    }
    let lstm = Recurrent {
        input: dense(1, &[0.5, -1.0, 2.0, 1.0], &[0.1, 0.2, 0.3, 0.4]),
        hidden: dense(1, &[1.0, 0.5, -0.5, 0.25], &[0.0, 0.1, 0.4, 0.0]),
    };
    let stack = Stack::new(vec![Layer::Lstm(lstm)], 1).unwrap();
    assert_eq!((stack.remembers(), stack.shape()), (2, "1-lstm 1".into()));
    let (mut state, mut h, mut c) = (vec![0.0; 2], 0.0f32, 0.0f32);
    for x in [1.0f32, -0.5] {
        let (i, f) = (sigmoid(0.5 * x + 0.1 + h), sigmoid(0.2 - x + 0.1 + 0.5 * h));
        let (g, o) = (tanh(2.0 * x + 0.3 + 0.4 - 0.5 * h), sigmoid(x + 0.4 + 0.25 * h));
        c = f * c + i * g;
        h = o * tanh(c);
        let found = run(&stack, &[x], &mut state)[0];
        assert!((found - h).abs() < 1e-6, "{found} {h}");
    }
}

#[test]
fn layers_that_do_not_fit_are_told() {
    let refused = |layers: Vec<Layer>| Stack::new(layers, 2).unwrap_err();
    assert_eq!(
        refused(vec![
            Layer::Linear(dense(2, &[0.0; 6], &[0.0; 3])),
            Layer::Each(Activation::Relu),
            Layer::Linear(dense(4, &[0.0; 4], &[0.0])),
        ]),
        "layer 3 (linear) reads 4 numbers; layer 1 (linear) gives 3"
    );
    assert_eq!(
        refused(vec![Layer::Linear(dense(3, &[0.0; 3], &[0.0]))]),
        "layer 1 (linear) reads 3 numbers; the observation has 2"
    );
    assert_eq!(
        refused(vec![Layer::Linear(dense(0, &[], &[0.0]))]),
        "layer 1 (linear) reads 0 numbers; the observation has 2"
    );
    let wide = refused(vec![Layer::Linear(dense(2, &[0.0; 1026], &[0.0; 513]))]);
    assert!(wide.contains("gives 513; expected 1 to 512"), "{wide}");
}

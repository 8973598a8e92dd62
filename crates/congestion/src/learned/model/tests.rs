use safetensors::tensor::TensorView;

use super::*;
use crate::learned::card::{DataSource, RoundMetrics};
use crate::testkit::models::{Tensors, card, file, json, random};

fn model(card: &Card, tensors: &Tensors) -> Result<Model, ModelError> {
    let weights = file(tensors);
    Model::parse(&json(card, &weights), &weights)
}

/// Computes the networks a second time, from the textbook's equations, in `f64` and without lanes.
fn textbook(card: &Card, tensors: &Tensors, x: [f64; 3]) -> f64 {
    let of = |name: &str| -> Vec<f64> {
        let (_, _, values) = tensors.iter().find(|(n, _, _)| n.ends_with(name)).unwrap();
        values.iter().map(|&v| f64::from(v)).collect()
    };
    let sigmoid = |x: f64| 1.0 / (1.0 + libm::exp(-x));
    let (linear, bias) = (of("linear.weight"), of("linear.bias")[0]);
    let dot = |w: &[f64], v: &[f64]| w.iter().zip(v).map(|(a, b)| a * b).sum::<f64>();
    if card.kind == ModelKind::Ar3 {
        return bias + dot(&linear, &x);
    }
    let n = card.hidden;
    let (w, u) = (of("weight_ih_l0"), of("weight_hh_l0"));
    let (bi, bh) = (of("bias_ih_l0"), of("bias_hh_l0"));
    let (mut h, mut c) = (vec![0.0; n], vec![0.0; n]);
    for x in x {
        let input = |row: usize| w[row] * x + bi[row];
        let hidden = |row: usize| dot(&u[row * n..(row + 1) * n], &h) + bh[row];
        let both = |row: usize| input(row) + hidden(row);
        let next: Vec<(f64, f64)> = (0..n)
            .map(|k| match card.kind {
                ModelKind::Lstm => {
                    let (i, f) = (sigmoid(both(k)), sigmoid(both(n + k)));
                    let (g, o) = (libm::tanh(both(2 * n + k)), sigmoid(both(3 * n + k)));
                    let c = f * c[k] + i * g;
                    (o * libm::tanh(c), c)
                }
                ModelKind::Gru => {
                    let (r, z) = (sigmoid(both(k)), sigmoid(both(n + k)));
                    let new = libm::tanh(input(2 * n + k) + r * hidden(2 * n + k));
                    ((1.0 - z) * new + z * h[k], 0.0)
                }
                _ => (libm::tanh(both(k)), 0.0),
            })
            .collect();
        (h, c) = next.into_iter().unzip();
    }
    bias + dot(&linear, &h)
}

#[test]
fn networks_compute_what_the_textbook_says() {
    for (kind, sizes) in [
        (ModelKind::Lstm, &[1, 5, 16, 17, 32, 64][..]),
        (ModelKind::Gru, &[1, 16, 40]),
        (ModelKind::Rnn, &[3, 16, 33]),
        (ModelKind::Ar3, &[0]),
    ] {
        for &hidden in sizes {
            let card = card(kind, hidden);
            for seed in 0..5 {
                let tensors = random(&card, seed);
                let model = model(&card, &tensors).unwrap();
                for k in [[0.0, 0.0, 0.0], [0.1, -0.05, 0.2], [3.9, -0.9, 2.0]] {
                    let exact = textbook(&card, &tensors, k.map(f64::from));
                    let error = f64::from(model.predict(&k)) - exact;
                    assert!(error.abs() < 1e-5, "{kind} {hidden}: off by {error}");
                }
            }
        }
    }
}

#[test]
fn an_lstm_of_one_unit_by_hand() {
    let card = card(ModelKind::Lstm, 1);
    let mut tensors = random(&card, 0);
    // Input and output gates always open (biases of 40), forget gate closed (-40), cell input tanh(x / 2),
    // output 3 h - 1.
    let values: [&[f32]; 6] = [
        &[0.0, 0.0, 0.5, 0.0],
        &[0.0; 4],
        &[40.0, -40.0, 0.0, 40.0],
        &[0.0; 4],
        &[3.0],
        &[-1.0],
    ];
    for ((_, _, tensor), values) in tensors.iter_mut().zip(values) {
        tensor.copy_from_slice(values);
    }
    let output = model(&card, &tensors).unwrap().predict(&[9.0, -9.0, 1.0]);
    let exact = 3.0 * libm::tanh(libm::tanh(0.5)) - 1.0;
    assert!((f64::from(output) - exact).abs() < 1e-6, "{output} {exact}");
}

#[test]
fn the_bits_of_each_kind_are_the_same_everywhere() {
    let bits = [
        (ModelKind::Lstm, 16),
        (ModelKind::Gru, 16),
        (ModelKind::Rnn, 16),
        (ModelKind::Ar3, 0),
    ]
    .map(|(kind, hidden)| {
        let card = card(kind, hidden);
        let model = model(&card, &random(&card, 7)).unwrap();
        [[0.1, -0.05, 0.2], [-0.5, 2.5, 0.0]].map(|k| model.predict(&k).to_bits())
    });
    let expected = [
        [1_023_560_874, 1_032_194_728],
        [3_200_475_448, 3_197_163_728],
        [3_200_572_038, 3_193_286_572],
        [1_028_610_828, 3_204_754_720],
    ];
    assert_eq!(bits, expected);
}

#[test]
fn a_card_is_read_as_it_was_written() {
    let mut card = card(ModelKind::Gru, 4);
    card.data.sources.push(DataSource {
        scenario: "incast-20".into(),
        scheme: "timely".into(),
        ..DataSource::default()
    });
    card.metrics.rounds.push(RoundMetrics {
        round: 1,
        loss: 0.5,
        train_mape: 0.25,
        test_mape: 0.125,
    });
    let tensors = random(&card, 1);
    let model = model(&card, &tensors).unwrap();
    let expected = Card {
        weights_sha256: sha256(&file(&tensors)),
        ..card
    };
    assert_eq!(model.card(), &expected);
}

/// Returns the error for a model whose card or tensors were changed.
fn refusal(change: impl FnOnce(&mut Card, &mut Tensors)) -> String {
    let mut card = card(ModelKind::Rnn, 2);
    let mut tensors = random(&card, 1);
    change(&mut card, &mut tensors);
    model(&card, &tensors).unwrap_err().to_string()
}

#[test]
fn what_does_not_fit_is_refused() {
    let said = [
        refusal(|card, _| card.format = 2),
        refusal(|card, _| card.features.swap(0, 2)),
        refusal(|card, _| card.output = "R[t+1]".into()),
        refusal(|card, _| card.steps = 5),
        refusal(|card, _| card.normalisation.input = "z-score".into()),
        refusal(|card, _| card.hidden = 65),
        refusal(|card, _| card.smoothing = 0.0),
        refusal(|card, _| card.kind = ModelKind::Gru),
        refusal(|card, _| card.hidden = 3),
        refusal(|_, tensors| tensors[1].2[3] = f32::NAN),
        refusal(|_, tensors| tensors[5].2[0] = f32::NEG_INFINITY),
        refusal(|_, tensors| {
            tensors.pop();
        }),
    ];
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn damaged_files_are_refused() {
    let card = card(ModelKind::Ar3, 0);
    let weights = file(&random(&card, 1));
    let text = json(&card, &weights);
    let said = |text: &[u8], weights: &[u8]| Model::parse(text, weights).unwrap_err().to_string();
    let mut flipped = weights.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let garbage = b"not weights".as_slice();
    let kind = String::from_utf8(text.clone())
        .unwrap()
        .replace("\"ar3\"", "\"transformer\"");
    insta::assert_snapshot!(
        [
            said(&text, &flipped),
            said(&text, &weights[..weights.len() - 1]),
            said(&json(&card, garbage), garbage),
            said(&text[..text.len() / 2], &weights),
            said(b"{}", &weights),
            said(kind.as_bytes(), &weights),
        ]
        .join("\n")
    );
    // Half-precision tensors have another type.
    let half = TensorView::new(Dtype::F16, vec![1, 3], &[0; 6]).unwrap();
    let bias = TensorView::new(Dtype::F32, vec![1], &[0; 4]).unwrap();
    let weights = safetensors::serialize([("linear.weight", half), ("linear.bias", bias)], None).unwrap();
    assert_eq!(
        said(&json(&card, &weights), &weights),
        "the tensor `linear.weight` is F16 [1, 3]; expected F32 [1, 3]"
    );
}

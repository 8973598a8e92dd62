//! Linear predictor by least squares.

use super::{Tensor, Weights};
use crate::dataset::Pair;

/// Sums over pairs of the products of `(K[t-2], K[t-1], K[t], 1)` with one another and with `L`.
#[derive(Clone, Debug, Default)]
pub(super) struct LeastSquares {
    products: [[f64; 4]; 4],
    with_label: [f64; 4],
}

impl LeastSquares {
    pub(super) fn add(&mut self, pair: &Pair) {
        let [a, b, c] = pair.k.map(f64::from);
        let x = [a, b, c, 1.0];
        for (i, row) in self.products.iter_mut().enumerate() {
            for (j, sum) in row.iter_mut().enumerate() {
                *sum += x[i] * x[j];
            }
            self.with_label[i] += x[i] * f64::from(pair.l);
        }
    }

    /// Returns the four weights with the lowest sum of squared errors; a linearly dependent feature gets 0.
    pub(super) fn solve(&self) -> [f64; 4] {
        let (mut a, mut y) = (self.products, self.with_label);
        let mut done = [None; 4];
        let scale = (0..4).map(|i| a[i][i]).fold(0.0, f64::max);
        for column in 0..4 {
            let free = (0..4).filter(|row| !done.contains(&Some(*row)));
            // The largest pivot, against rounding errors.
            let pivot = free.max_by(|&i, &j| a[i][column].abs().total_cmp(&a[j][column].abs()));
            let Some(pivot) = pivot.filter(|&row| a[row][column].abs() > 1e-12 * scale) else {
                continue;
            };
            done[column] = Some(pivot);
            let (row, right) = (a[pivot], y[pivot]);
            for i in (0..4).filter(|&i| i != pivot) {
                let factor = a[i][column] / row[column];
                for (value, own) in a[i].iter_mut().zip(row) {
                    *value -= factor * own;
                }
                y[i] -= factor * right;
            }
        }
        std::array::from_fn(|column| done[column].map_or(0.0, |row| y[row] / a[row][column]))
    }

    /// Returns the solution as the weights of a model.
    pub(super) fn weights(&self) -> Weights {
        let [a, b, c, constant] = self.solve().map(|weight| weight as f32);
        Weights::from([
            ("linear.weight".to_string(), Tensor::new(&[1, 3], vec![a, b, c])),
            ("linear.bias".to_string(), Tensor::new(&[1], vec![constant])),
        ])
    }
}

/// Returns the outputs of a linear predictor.
pub(super) fn predict(weights: &Weights, pairs: &[Pair]) -> Vec<f32> {
    let (w, b) = (&weights["linear.weight"].values, weights["linear.bias"].values[0]);
    let one = |pair: &Pair| w[0] * pair.k[0] + w[1] * pair.k[1] + w[2] * pair.k[2] + b;
    pairs.iter().map(one).collect()
}

//! Layers made from PyTorch's tensors.

use safetensors::tensor::{Dtype, SafeTensors};

use super::card::LayerSaid;
use super::{Activation, Dense, Layer, Recurrent, WIDEST};
use crate::learned::error::ModelError;
use crate::nearest::{hint, nearest};

/// Tensors of a file, and the names of those that layers have used.
struct Tensors<'a> {
    file: SafeTensors<'a>,
    taken: Vec<String>,
}

fn wrong(message: String) -> ModelError {
    ModelError::Policy(message)
}

/// Reads the layers of a card from the bytes of a safetensors file.
///
/// # Errors
/// Card and tensors do not match.
pub(super) fn layers_of(
    said: &[LayerSaid],
    ignore: &[String],
    bytes: &[u8],
) -> Result<Vec<Layer>, ModelError> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| ModelError::Weights(error.to_string()))?;
    let mut tensors = Tensors {
        file,
        taken: Vec::new(),
    };
    let mut layers = Vec::new();
    for (index, one) in said.iter().enumerate() {
        match (&one.linear, &one.gru, &one.lstm) {
            (Some(name), None, None) => layers.push(Layer::Linear(tensors.linear(name)?)),
            (None, Some(name), None) => {
                layers.extend(tensors.recurrent(name, 3)?.into_iter().map(Layer::Gru))
            }
            (None, None, Some(name)) => {
                layers.extend(tensors.recurrent(name, 4)?.into_iter().map(Layer::Lstm));
            }
            _ => {
                return Err(wrong(format!(
                    "layers[{index}]: expected one of `linear`, `gru` and `lstm`"
                )));
            }
        }
        if let Some(name) = &one.then {
            let found = Activation::NAMED.iter().find(|(known, _)| known == name);
            let Some((_, activation)) = found else {
                let names: Vec<_> = Activation::NAMED.iter().map(|(name, _)| *name).collect();
                return Err(wrong(format!(
                    "layers[{index}].then: unknown activation `{name}`{}; expected one of: {}",
                    hint(nearest(name, names.iter().copied())),
                    names.join(", ")
                )));
            };
            layers.push(Layer::Each(*activation));
        }
    }
    // A tensor that no layer reads is most likely a layer that the card forgot.
    tensors.check_rest(ignore)?;
    Ok(layers)
}

/// Upper limit of a matrix's rows and columns: a recurrent layer stacks the rows of its gates.
const MOST: usize = 4 * WIDEST;

impl Tensors<'_> {
    fn has(&self, name: &str) -> bool {
        self.file.tensor(name).is_ok()
    }

    /// Returns a tensor's shape and values, and marks it as used.
    fn take(&mut self, name: &str) -> Result<(Vec<usize>, Vec<f32>), ModelError> {
        let Ok(view) = self.file.tensor(name) else {
            let mut names: Vec<&str> = self.file.names().into_iter().collect();
            names.sort_unstable();
            return Err(wrong(format!(
                "layers: the weights have no tensor `{name}`{}; they have {}",
                hint(nearest(name, names.iter().copied())),
                names.join(", ")
            )));
        };
        if view.dtype() != Dtype::F32 {
            return Err(ModelError::Shape {
                tensor: name.to_string(),
                found: format!("{:?}", view.dtype()),
                expected: format!("{:?}", Dtype::F32),
            });
        }
        let values = view.data().as_chunks::<4>().0;
        let values: Vec<f32> = values.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            return Err(ModelError::NotFinite {
                tensor: name.to_string(),
                index,
                value: values[index].to_string(),
            });
        }
        self.taken.push(name.to_string());
        Ok((view.shape().to_vec(), values))
    }

    /// Reads a matrix in row-major order.
    fn matrix(&mut self, name: &str) -> Result<(usize, usize, Vec<f32>), ModelError> {
        match self.take(name)? {
            (shape, values) if matches!(shape[..], [1..=MOST, 1..=MOST]) => Ok((shape[0], shape[1], values)),
            (shape, _) => Err(shaped(name, &shape, &format!("2 dimensions of 1 to {MOST}"))),
        }
    }

    fn bias(&mut self, name: &str, count: usize) -> Result<Vec<f32>, ModelError> {
        if !self.has(name) {
            return Ok(vec![0.0; count]);
        }
        match self.take(name)? {
            (shape, values) if shape == [count] => Ok(values),
            (shape, _) => Err(shaped(name, &shape, &format!("[{count}]"))),
        }
    }

    fn linear(&mut self, name: &str) -> Result<Dense, ModelError> {
        let (rows, columns, weights) = self.matrix(&format!("{name}.weight"))?;
        let bias = self.bias(&format!("{name}.bias"), rows)?;
        Ok(Dense::of_rows(columns, &weights, bias))
    }

    /// Reads the consecutive recurrent layers of one module.
    fn recurrent(&mut self, name: &str, gates: usize) -> Result<Vec<Recurrent>, ModelError> {
        let mut cells = Vec::new();
        for number in 0.. {
            let of = |what: &str| format!("{name}.{what}_l{number}");
            if number > 0 && !self.has(&of("weight_ih")) {
                break;
            }
            let hidden = of("weight_hh");
            let (rows, units, own) = self.matrix(&hidden)?;
            if rows != gates * units {
                let expected = format!("{gates} rows for each of its {units} columns");
                return Err(shaped(&hidden, &[rows, units], &expected));
            }
            let input = of("weight_ih");
            let (of_input, inputs, weights) = self.matrix(&input)?;
            if of_input != rows {
                return Err(shaped(&input, &[of_input, inputs], &format!("{rows} rows")));
            }
            let bias = self.bias(&of("bias_ih"), rows)?;
            let own_bias = self.bias(&of("bias_hh"), rows)?;
            cells.push(Recurrent {
                input: Dense::of_rows(inputs, &weights, bias),
                hidden: Dense::of_rows(units, &own, own_bias),
            });
        }
        Ok(cells)
    }

    /// Refuses tensors that no layer has used, unless the card ignores them.
    fn check_rest(&self, ignore: &[String]) -> Result<(), ModelError> {
        let is_known = |name: &str| {
            self.taken.iter().any(|taken| taken == name)
                || ignore.iter().any(|start| name.starts_with(start.as_str()))
        };
        let names = self.file.names();
        let mut rest: Vec<&str> = names.into_iter().filter(|name| !is_known(name)).collect();
        if rest.is_empty() {
            return Ok(());
        }
        rest.sort_unstable();
        Err(wrong(format!(
            "layers: no layer has the tensors {}; list what is no part of the policy under `ignore`",
            rest.join(", ")
        )))
    }
}

fn shaped(name: &str, found: &[usize], expected: &str) -> ModelError {
    ModelError::Shape {
        tensor: name.to_string(),
        found: format!("{found:?}"),
        expected: expected.to_string(),
    }
}

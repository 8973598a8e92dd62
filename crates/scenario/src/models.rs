//! Learned models, loaded by name or from a file without a scenario.

mod onnx;

use std::path::Path;
use std::sync::Arc;

use paceline_congestion::learned::stack::card::Weights;
use paceline_congestion::learned::{Model, ModelError, shipped};

/// Returns the built-in model with this name, or reads a file: a model's card, its weights, or a forest.
///
/// # Errors
/// If there is none, or it is unreadable or damaged.
pub fn find_model(name: &str) -> Result<Arc<Model>, String> {
    if let Some(model) = shipped::find(name) {
        return Ok(model);
    }
    let path = Path::new(name);
    if !is_model_file(path) && !name.contains(['/', '\\']) && !path.with_extension("json").exists() {
        return Err(shipped::unknown(name));
    }
    read_model(path).map(Arc::new)
}

/// File name extensions of models.
pub(crate) const ENDINGS: [&str; 3] = [".safetensors", ".json", ".onnx"];

/// Reads weights in the format that `ending` names.
///
/// # Errors
/// If the graph is not that of a policy.
pub(crate) fn weights(ending: &str, bytes: Vec<u8>) -> Result<Weights, ModelError> {
    match ending {
        "onnx" => {
            let (inputs, layers) = onnx::layers(&bytes).map_err(ModelError::Policy)?;
            Ok(Weights::Graph {
                inputs,
                layers,
                bytes,
            })
        }
        _ => Ok(Weights::Tensors(bytes)),
    }
}

/// Returns true if a path looks like that of a model's file.
pub fn is_model_file(path: &Path) -> bool {
    let known = |ending: &std::ffi::OsStr| ENDINGS.iter().any(|known| ending == &known[1..]);
    path.extension().is_some_and(known)
}

/// Reads the model in a file.
///
/// # Errors
/// If the file is unreadable or damaged.
pub fn read_model(path: &Path) -> Result<Model, String> {
    let stem = if is_model_file(path) {
        path.with_extension("")
    } else {
        path.to_path_buf()
    };
    let of = |ending: &str| Path::new(&format!("{}.{ending}", stem.display())).to_path_buf();
    let read = |path: &Path| {
        crate::read_bytes(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
    };
    let card = read(&of("json"))?;
    let model = Model::read(&card, |ending| {
        let bytes = read(&of(ending)).map_err(Unread::File)?;
        weights(ending, bytes).map_err(Unread::Model)
    });
    model.map_err(|unread| match unread {
        Unread::File(message) => message,
        Unread::Model(error) => format!("{}: {error}", path.display()),
    })
}

/// Reason why a model could not be read: its files, or their content.
pub(crate) enum Unread<F> {
    /// File that cannot be read.
    File(F),
    /// Content that is not a valid model.
    Model(ModelError),
}

impl<F> From<ModelError> for Unread<F> {
    fn from(error: ModelError) -> Self {
        Self::Model(error)
    }
}

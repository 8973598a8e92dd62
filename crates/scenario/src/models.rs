//! Models by name or by file, for whoever needs one without a scenario.

mod onnx;

use std::path::Path;
use std::sync::Arc;

use paceline_congestion::learned::stack::card::Weights;
use paceline_congestion::learned::{Model, ModelError, shipped};

/// The model that ships under this name, or that of a file: of its card, of its weights, or a forest's.
///
/// # Errors
/// There is none, it cannot be read, or it is damaged.
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

/// How the files of a model end.
pub(crate) const ENDINGS: [&str; 3] = [".safetensors", ".json", ".onnx"];

/// The weights in a file that ends so.
///
/// # Errors
/// The graph in it is no policy's.
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

/// Whether a path looks like that of a model's file.
pub fn is_model_file(path: &Path) -> bool {
    let known = |ending: &std::ffi::OsStr| ENDINGS.iter().any(|known| ending == &known[1..]);
    path.extension().is_some_and(known)
}

/// The model of a file.
///
/// # Errors
/// It cannot be read, or is damaged.
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

/// Why there is no model: its files, or what is in them.
pub(crate) enum Unread<F> {
    /// A file cannot be read.
    File(F),
    /// What is in it is no model.
    Model(ModelError),
}

impl<F> From<ModelError> for Unread<F> {
    fn from(error: ModelError) -> Self {
        Self::Model(error)
    }
}

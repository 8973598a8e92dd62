//! Models as parameters: by name or path, and by the hash of their weights.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::model::Model;
use super::shipped;
use crate::params::ParamValue;

/// Model as a parameter: the name of a built-in one, or the path of a file that the caller reads and
/// attaches.
#[derive(Clone, Debug)]
pub struct ModelRef {
    name: String,
    model: Option<Arc<Model>>,
}

impl ModelRef {
    /// Creates a reference by name or path; a built-in model is attached at once.
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        let model = shipped::find(&name);
        Self { name, model }
    }

    /// Returns the name or path as in the scenario.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the model, if it is attached.
    pub fn model(&self) -> Option<&Arc<Model>> {
        self.model.as_ref()
    }

    /// Creates a reference with the path that the resolved scenario shows, and the model read from it.
    pub fn read_from(path: impl Into<String>, model: Arc<Model>) -> Self {
        Self {
            name: path.into(),
            model: Some(model),
        }
    }
}

impl PartialEq for ModelRef {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.model == other.model
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl FromStr for ModelRef {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::read(text)
    }
}

impl ParamValue for ModelRef {
    const UNIT: &'static str = "";
    fn show(&self) -> String {
        self.name.clone()
    }
    fn read(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("expected the name of a model, or the path of a model file".to_string());
        }
        Ok(Self::new(text))
    }
    fn number(&self) -> Option<f64> {
        None
    }
}

/// SHA-256 of a model's weights, in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelHash(String);

impl ModelHash {
    /// Returns the hash of a model.
    pub fn of(model: &Model) -> Self {
        Self(model.card().weights_sha256.to_lowercase())
    }
}

impl fmt::Display for ModelHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ModelHash {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::read(text)
    }
}

impl ParamValue for ModelHash {
    const UNIT: &'static str = "";
    fn show(&self) -> String {
        self.0.clone()
    }
    fn read(text: &str) -> Result<Self, String> {
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(format!(
                "`{text}` is not a SHA-256: expected 64 hexadecimal digits"
            ));
        }
        Ok(Self(text.to_lowercase()))
    }
    fn number(&self) -> Option<f64> {
        None
    }
}

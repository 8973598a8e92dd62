//! Values between Python and Rust, by way of JSON.

use pyo3::prelude::*;
use serde::Serialize;

use crate::failure::Failure;

/// `value` as dicts, lists, texts and numbers.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(|error| Failure::run(error).exception(py))?;
    from_text(py, &text)
}

/// JSON as dicts, lists, texts and numbers.
pub(crate) fn from_text<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.getattr("loads")?.call1((text,))
}

/// Dicts, lists, texts and numbers as TOML has them; `what` is what an error calls them.
pub(crate) fn to_toml(value: &Bound<'_, PyAny>, what: &str) -> PyResult<toml::Value> {
    let py = value.py();
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::argument(format!(
            "{what}: expected texts, numbers, lists and dicts of them: {error}"
        ))
        .exception(py)
    };
    let text = py.import("paceline._values")?.getattr("dumps")?.call1((value,));
    let text: String = text.map_err(|error| wrong(&error.value(py)))?.extract()?;
    serde_json::from_str(&text).map_err(|error| wrong(&error))
}

//! Scenarios and what changes them, as Python gives them.

use std::num::NonZeroU32;
use std::path::PathBuf;

use paceline_scenario::{Fidelity, Overrides};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::failure::Failure;
use crate::json::to_toml;

/// What a scenario is called in errors that is a dict.
const DICT: &str = "scenario";

/// A scenario with what changes it.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    /// As [`paceline_lab::load`] takes it.
    pub(crate) name: String,
    pub(crate) overrides: Overrides,
}

/// What changes a scenario.
#[derive(Debug)]
pub(crate) struct Changes<'py> {
    pub(crate) scheme: Option<String>,
    pub(crate) set: Option<Bound<'py, PyDict>>,
    pub(crate) seed: Option<u64>,
    pub(crate) duration: Option<String>,
    pub(crate) fidelity: Option<String>,
    pub(crate) threads: Option<u32>,
}

impl Input {
    /// Of a dict, a path, or the name of a scenario that ships.
    pub(crate) fn of(scenario: &Bound<'_, PyAny>, changes: &Changes<'_>) -> PyResult<Self> {
        let py = scenario.py();
        let mut overrides = changes.overrides(py)?;
        let name = if let Ok(dict) = scenario.cast::<PyDict>() {
            overrides.text = Some(toml_text(dict)?);
            DICT.to_string()
        } else {
            path(scenario)?.to_string_lossy().into_owned()
        };
        Ok(Self { name, overrides })
    }
}

/// A path, as a text or an object that has one.
pub(crate) fn path(value: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    value.extract().map_err(|_| {
        let kind = value.get_type().name().map(|name| name.to_string());
        Failure::argument(format!(
            "expected a path, the name of a built-in scenario, or a dict, found a value of type `{}`",
            kind.unwrap_or_default()
        ))
        .exception(value.py())
    })
}

fn toml_text(dict: &Bound<'_, PyDict>) -> PyResult<String> {
    let value = to_toml(dict, DICT)?;
    toml::to_string(&value).map_err(|error| Failure::argument(error).exception(dict.py()))
}

impl Changes<'_> {
    fn overrides(&self, py: Python<'_>) -> PyResult<Overrides> {
        let wrong = |name: &str, error: &dyn std::fmt::Display| {
            Failure::argument(format!("{name}: {error}")).exception(py)
        };
        let duration = self.duration.as_deref().map(str::parse).transpose();
        let fidelity = self.fidelity.as_deref().map(str::parse::<Fidelity>).transpose();
        Ok(Overrides {
            set: self
                .set
                .as_ref()
                .map_or(Ok(Vec::new()), |set| settings(set, "set"))?,
            scheme: self.scheme.clone(),
            seed: self.seed,
            duration: duration.map_err(|error| wrong("duration", &error))?,
            fidelity: fidelity.map_err(|error| wrong("fidelity", &error))?,
            threads: self.threads.and_then(NonZeroU32::new),
            streams: true,
            ..Overrides::default()
        })
    }
}

/// `path.to.key=value` for each.
pub(crate) fn settings(set: &Bound<'_, PyDict>, what: &str) -> PyResult<Vec<String>> {
    let setting = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        Ok(format!("{}={}", key.extract::<String>()?, word(&value, what)?))
    };
    set.iter().map(setting).collect()
}

/// A value as the command takes it: texts as they are, others as TOML.
fn word(value: &Bound<'_, PyAny>, what: &str) -> PyResult<String> {
    match value.cast::<PyString>() {
        Ok(text) => Ok(text.to_string()),
        Err(_) => Ok(to_toml(value, what)?.to_string()),
    }
}

/// Returns `path.to.key=v1,v2,..` for each axis of a grid: a list of values, or a text that the command would take. A
/// tuple of keys has tuples of values, and `case` a dict of the settings of each label.
pub(crate) fn axes(over: &Bound<'_, PyDict>) -> PyResult<Vec<String>> {
    let axis = |(key, values): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let key = match key.extract::<String>() {
            Ok(key) => key,
            Err(_) => key.extract::<Vec<String>>()?.join(","),
        };
        let words = if let Ok(text) = values.cast::<PyString>() {
            text.to_string()
        } else if let Ok(cases) = values.cast::<PyDict>() {
            let cases = cases.iter().map(|(label, sets)| case(&label, &sets));
            cases.collect::<PyResult<Vec<_>>>()?.join(",")
        } else {
            let words = values.try_iter()?.map(|value| word(&value?, "over"));
            words.collect::<PyResult<Vec<_>>>()?.join(",")
        };
        Ok(format!("{key}={words}"))
    };
    over.iter().map(axis).collect()
}

/// Returns a named case as a table of TOML.
fn case(label: &Bound<'_, PyAny>, sets: &Bound<'_, PyAny>) -> PyResult<String> {
    let mut table = toml::Table::new();
    table.insert("label".into(), to_toml(label, "over")?);
    if let toml::Value::Table(sets) = to_toml(sets, "over")? {
        table.extend(sets);
    }
    Ok(toml::Value::Table(table).to_string())
}

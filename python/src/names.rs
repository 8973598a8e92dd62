//! What has a name, and whether a scenario is right.

use paceline_explain::list;
use paceline_fabric::spec::NodeKind;
use paceline_lab::table;
use paceline_scenario::warning;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

use crate::failure::{Failure, detached};
use crate::input::{Changes, Input};
use crate::json::to_python;
use crate::watch::watched;

/// The schemes and their variants, as `paceline list schemes --json` tells them.
#[pyfunction]
pub(crate) fn schemes(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    items(py, &list::schemes())
}

/// The scenarios that ship, as `paceline list scenarios --json` tells them.
#[pyfunction]
pub(crate) fn scenarios(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    items(py, &list::scenarios())
}

fn items<'py>(py: Python<'py>, items: &[list::Item]) -> PyResult<Bound<'py, PyAny>> {
    let all: Vec<Value> = items.iter().map(list::Item::json).collect();
    to_python(py, &all)
}

/// The page about a name, as `paceline explain` prints it.
#[pyfunction]
pub(crate) fn explain(py: Python<'_>, name: &str) -> PyResult<String> {
    detached(py, || {
        paceline_explain::explain(name, table::DEFAULT_WIDTH).map_err(Failure::Argument)
    })
}

/// Reads a scenario and checks it without running it: what it amounts to, and what is odd about it.
#[pyfunction]
#[pyo3(signature = (
    scenario, *, scheme=None, set=None, seed=None, duration=None, fidelity=None, threads=None
))]
#[expect(clippy::too_many_arguments, reason = "they are the call's keywords")]
pub(crate) fn check<'py>(
    py: Python<'py>,
    scenario: &Bound<'py, PyAny>,
    scheme: Option<String>,
    set: Option<Bound<'py, PyDict>>,
    seed: Option<u64>,
    duration: Option<String>,
    fidelity: Option<String>,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let changes = Changes {
        scheme,
        set,
        seed,
        duration,
        fidelity,
        threads,
    };
    let input = Input::of(scenario, &changes)?;
    let told = watched(py, None, move |_| {
        let input = paceline_lab::load(&input.name, &input.overrides)?;
        Ok(json!({
            "name": input.name,
            "description": input.description,
            "scheme": input.scheme,
            "seed": input.seed,
            "hosts": input.run.nodes.iter().filter(|kind| **kind == NodeKind::Host).count(),
            "flows": input.run.flow_count(),
            "duration_s": input.run.stop.as_ps() as f64 / 1e12,
            "warnings": warning::lines(&input.warnings),
            "scenario": input.toml,
        }))
    })?;
    to_python(py, &told)
}

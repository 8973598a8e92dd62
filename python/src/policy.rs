//! What a policy's file decides, without a run.

use numpy::{PyArray1, PyArray2, PyArrayMethods as _, PyReadonlyArray2, PyUntypedArrayMethods as _};
use pyo3::prelude::*;

use crate::failure::{Failure, detached};

type Decisions<'py> = (Bound<'py, PyArray1<f32>>, Bound<'py, PyArray2<f32>>);

/// The actions and the outputs of a policy for the questions of one flow, a row each.
#[pyfunction]
pub(crate) fn decide<'py>(
    py: Python<'py>,
    policy: String,
    observations: PyReadonlyArray2<'py, f32>,
) -> PyResult<Decisions<'py>> {
    let (rows, width) = (observations.shape()[0], observations.shape()[1]);
    let seen = observations.as_slice()?.to_vec();
    let (actions, outputs) = detached(py, || {
        let model = paceline_scenario::find_model(&policy).map_err(Failure::Argument)?;
        let Some((card, stack)) = model.stack() else {
            let message = format!("{policy} is no policy; expected the path of a policy's card");
            return Err(Failure::Argument(message));
        };
        if width != stack.inputs() {
            let expected = stack.inputs();
            return Err(Failure::Argument(format!(
                "observations: rows of {width} numbers; {policy} reads {expected}"
            )));
        }
        let outputs = stack.run(&seen);
        let actions = outputs.chunks_exact(stack.outputs()).map(|row| card.act(row));
        Ok((actions.collect::<Vec<f32>>(), outputs))
    })?;
    let columns = outputs.len().checked_div(rows).unwrap_or(0);
    let outputs = PyArray1::from_vec(py, outputs).reshape([rows, columns])?;
    Ok((PyArray1::from_vec(py, actions), outputs))
}

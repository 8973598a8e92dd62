//! What environments ask, as arrays.

use numpy::ndarray::{Array1, Array2};
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods as _};
use pyo3::prelude::*;

use crate::failure::Failure;

/// Who waits for an action, and what they see: a row for each, in arrays that are views of what the run wrote.
#[pyclass(frozen, module = "paceline")]
pub(crate) struct Batch {
    environments: Array1<u32>,
    agents: Array1<u32>,
    times: Array1<u64>,
    rewards: Array1<f32>,
    observations: Array2<f32>,
    left: Vec<(u32, u32, bool)>,
    over: Vec<u32>,
}

impl Batch {
    pub(crate) fn new(batch: paceline_env::Batch) -> Result<Self, Failure> {
        let shape = (batch.agents.len(), batch.width);
        let observations = Array2::from_shape_vec(shape, batch.observations);
        let left = batch.left.into_iter();
        Ok(Self {
            environments: batch.environments.into(),
            agents: batch.agents.into(),
            times: batch.times.into(),
            rewards: batch.rewards.into(),
            observations: observations.map_err(|error| Failure::Internal(error.to_string()))?,
            left: left
                .map(|left| (left.environment, left.agent, left.complete))
                .collect(),
            over: batch.over,
        })
    }
}

/// A view of an array that `owner` keeps, and that nobody writes to.
fn view<'py, T: Element>(array: &Array1<T>, owner: &Bound<'py, Batch>) -> Bound<'py, PyArray1<T>> {
    // SAFETY: the array is `owner`'s, which is frozen and lives as long as the view.
    #[expect(unsafe_code, reason = "numpy knows owners of memory, not lifetimes")]
    let view = unsafe { PyArray1::borrow_from_array(array, owner.clone().into_any()) };
    view.readwrite().make_nonwriteable();
    view
}

#[pymethods]
impl Batch {
    /// Each row's run.
    #[getter]
    fn environments<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<u32>> {
        view(&slf.get().environments, slf)
    }

    /// Each row's agent.
    #[getter]
    fn agents<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<u32>> {
        view(&slf.get().agents, slf)
    }

    /// When it asked, in ps of its run.
    #[getter]
    fn times<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<u64>> {
        view(&slf.get().times, slf)
    }

    /// What came of its last action; 0 with its first question.
    #[getter]
    fn rewards<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<f32>> {
        view(&slf.get().rewards, slf)
    }

    /// What it sees.
    #[getter]
    fn observations<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray2<f32>> {
        // SAFETY: as above.
        #[expect(unsafe_code, reason = "numpy knows owners of memory, not lifetimes")]
        let view = unsafe { PyArray2::borrow_from_array(&slf.get().observations, slf.clone().into_any()) };
        view.readwrite().make_nonwriteable();
        view
    }

    /// Who has left since the last poll: run, agent, and whether all of its flows are complete.
    #[getter]
    fn left(&self) -> Vec<(u32, u32, bool)> {
        self.left.clone()
    }

    /// Runs whose episode is over.
    #[getter]
    fn over(&self) -> Vec<u32> {
        self.over.clone()
    }

    fn __len__(&self) -> usize {
        self.agents.len()
    }
}

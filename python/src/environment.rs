//! Environments for learning: `paceline.Environment`, many runs whose flows ask, in batches of flat arrays.

use std::sync::{Mutex, PoisonError};

use numpy::{Element, PyArray1, PyReadonlyArray1, PyUntypedArrayMethods as _};
use paceline_env::{
    Action, Agents, Config, Environment as One, Error, Feature, Measured, Reward, Source, Vector,
};
use paceline_lab::files::RunData;
use paceline_scenario::Overrides;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::batch::Batch;
use crate::failure::{Failure, detached};
use crate::input::{Changes, Input, settings};
use crate::run::Run;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Scenario(diagnostics) => Self::Scenario(diagnostics),
            Error::Run(error) => error.into(),
            _ => Self::argument(error),
        }
    }
}

/// Many runs whose flows ask what to do; one episode after another in each.
#[pyclass(module = "paceline")]
pub(crate) struct Environment {
    /// Of one thread at a time: the lock is for the compiler, since calls have it for themselves.
    vector: Mutex<Vector>,
    input: Input,
    /// A reward of the caller's own: a function of what was measured.
    reward: Option<Py<PyAny>>,
    /// Observations of the caller's own, likewise, and how many numbers a row of them has.
    observation: Option<(Py<PyAny>, usize)>,
}

impl Environment {
    fn vector(&mut self) -> &mut Vector {
        self.vector.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn config(&mut self) -> &Config {
        self.vector().environments()[0].config()
    }
}

#[pymethods]
impl Environment {
    /// `environments` runs of a scenario, with seeds from `seed` on. Where none of its flows is under the scheme
    /// `external`, that takes the place of the scheme of `[cc]`.
    #[new]
    #[pyo3(signature = (
        scenario, *, scheme=None, set=None, seed=None, duration=None, environments=None, num_envs=None, threads=1,
        observation=None, history=None, action=None, step=None, reward=None, agents=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are the call's keywords")]
    fn new(
        py: Python<'_>,
        scenario: &Bound<'_, PyAny>,
        scheme: Option<String>,
        set: Option<Bound<'_, PyDict>>,
        seed: Option<u64>,
        duration: Option<String>,
        environments: Option<usize>,
        num_envs: Option<usize>,
        threads: usize,
        observation: Option<Bound<'_, PyAny>>,
        history: Option<usize>,
        action: Option<String>,
        step: Option<f64>,
        reward: Option<Bound<'_, PyAny>>,
        agents: Option<String>,
    ) -> PyResult<Self> {
        if environments.is_some() && num_envs.is_some() {
            let message = "`num_envs` is another word for `environments`: give one of them";
            return Err(Failure::argument(message).exception(py));
        }
        let environments = environments.or(num_envs).unwrap_or(1);
        let (reward, function) = match reward {
            Some(function) if function.is_callable() => (None, Some(function.unbind())),
            Some(name) => (Some(reward_name(&name)?), None),
            None => (None, None),
        };
        let (observation, own) = match observation {
            Some(own) if own.is_callable() => (None, Some(own)),
            Some(names) => (Some(observation_names(&names)?), None),
            None => (None, None),
        };
        if own.is_some() && history.is_some_and(|history| history != 1) {
            let message = "history: a function sees one question at a time; what it remembers is its own";
            return Err(Failure::argument(message).exception(py));
        }
        let own = own.map(|own| Ok::<_, PyErr>((own.clone().unbind(), own_width(&own)?)));
        let own = own.transpose()?;
        let measures = function.is_some() || own.is_some();
        let changes = Changes {
            scheme,
            set,
            seed,
            duration,
            fidelity: None,
            threads: None,
        };
        let input = Input::of(scenario, &changes)?;
        let source = Source {
            name: input.name.clone(),
            overrides: input.overrides.clone(),
        };
        let vector = detached(py, move || {
            let config = Config {
                measures,
                ..config(observation, history, action, step, reward, agents)?
            };
            let first = One::new(source, config)?;
            let seed = first.scenario().seed;
            let mut all = vec![first; environments];
            for (one, number) in all.iter_mut().zip(0..) {
                one.reset(Some(seed.wrapping_add(number)))?;
            }
            Ok(Vector::new(all, threads)?)
        })?;
        Ok(Self {
            vector: Mutex::new(vector),
            input,
            reward: function,
            observation: own,
        })
    }

    /// How many runs there are.
    #[getter]
    fn environments(&mut self) -> usize {
        self.vector().environments().len()
    }

    /// For each run how many agents it may have in this episode.
    #[getter]
    fn agents(&mut self) -> Vec<usize> {
        self.vector().environments().iter().map(One::agents).collect()
    }

    /// Names of what an agent sees of a question, in order; none where a function makes observations.
    #[getter]
    fn observation(&mut self) -> Vec<&'static str> {
        match self.observation {
            Some(_) => Vec::new(),
            None => self
                .config()
                .features
                .iter()
                .map(|feature| feature.name)
                .collect(),
        }
    }

    /// Numbers in a row of observations.
    #[getter]
    fn width(&mut self) -> usize {
        match self.observation {
            Some((_, width)) => width,
            None => self.config().width(),
        }
    }

    /// The least values of a row, and the largest.
    #[getter]
    fn bounds<'py>(&mut self, py: Python<'py>) -> (Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<f32>>) {
        let bounds = match self.observation {
            Some((_, width)) => vec![(f32::NEG_INFINITY, f32::INFINITY); width],
            None => self.config().bounds(),
        };
        let (low, high): (Vec<f32>, Vec<f32>) = bounds.into_iter().unzip();
        (PyArray1::from_vec(py, low), PyArray1::from_vec(py, high))
    }

    /// The least reward, and the largest.
    #[getter]
    fn reward_range(&mut self) -> (f32, f32) {
        match self.reward {
            Some(_) => (f32::NEG_INFINITY, f32::INFINITY),
            None => self.config().reward.range(),
        }
    }

    /// Lets every run go on until answers are needed in it, and tells who waits. A run whose episode is over rests
    /// until its reset.
    fn poll(&mut self, py: Python<'_>) -> PyResult<Batch> {
        let vector = self.vector();
        let mut batch = detached(py, || {
            vector.poll()?;
            Ok(vector.take())
        })?;
        if let Some(function) = &self.reward {
            batch.rewards = rewards(function.bind(py), &batch)?;
        }
        if let Some((function, width)) = &self.observation {
            let columns = columns(py, &batch.measured)?;
            batch.observations = own_rows(function.bind(py), columns, batch.agents.len(), Some(*width))?.0;
            batch.width = *width;
        }
        Batch::new(batch).map_err(|failure| failure.exception(py))
    }

    /// An action for each row of the last poll.
    fn submit(&mut self, actions: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = actions.py();
        let actions = flat::<f32>(actions)?;
        let submitted = self.vector().submit(actions.as_slice()?);
        submitted.map_err(|error| Failure::from(error).exception(py))
    }

    /// Actions for agents of one run that are named, in any order: one for each that waits.
    #[pyo3(signature = (agents, actions, *, environment=0))]
    fn submit_for(
        &mut self,
        agents: &Bound<'_, PyAny>,
        actions: &Bound<'_, PyAny>,
        environment: usize,
    ) -> PyResult<()> {
        let py = actions.py();
        let (agents, actions) = (flat::<u32>(agents)?, flat::<f32>(actions)?);
        let submitted = self
            .vector()
            .submit_for(environment, agents.as_slice()?, actions.as_slice()?);
        submitted.map_err(|error| Failure::from(error).exception(py))
    }

    /// Begins an episode: in one run, or in all, then with seeds from `seed` on.
    #[pyo3(signature = (*, environment=None, seed=None))]
    fn reset(&mut self, py: Python<'_>, environment: Option<usize>, seed: Option<u64>) -> PyResult<()> {
        let vector = self.vector();
        detached(py, || {
            match environment {
                Some(number) => vector.reset(number, seed)?,
                None => {
                    for number in 0..vector.environments().len() {
                        vector.reset(number, seed.map(|seed| seed.wrapping_add(number as u64)))?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Simulated time in a run, in seconds.
    #[pyo3(signature = (environment=0))]
    fn now(&mut self, py: Python<'_>, environment: usize) -> PyResult<f64> {
        let progress = self
            .vector()
            .environment(environment)
            .and_then(|one| one.progress());
        let progress = progress.map_err(|error| Failure::from(error).exception(py))?;
        Ok(progress.now.as_secs_f64())
    }

    /// Ends the episode of a run where it is: what `paceline.run` gives. `name` is what results call the one who decided.
    #[pyo3(signature = (environment=0, *, name="external"))]
    fn finish(&mut self, py: Python<'_>, environment: usize, name: &str) -> PyResult<Run> {
        let vector = self.vector();
        let made = detached(py, || {
            let one = vector.environment(environment)?;
            Ok(one.finish_as(name)?)
        })?;
        Run::new(py, RunData::new(&made.0, &made.1), Some(made), None)
    }

    /// The actions of a run's episode so far, with which it can be made again.
    #[pyo3(signature = (environment=0))]
    fn rollout(&mut self, py: Python<'_>, environment: usize) -> PyResult<Rollout> {
        let one = self.vector().environment(environment);
        let one = one.map_err(|error| Failure::from(error).exception(py))?;
        Ok(Rollout {
            rollout: one.rollout().clone(),
        })
    }

    /// Makes an episode again, with what `set` changes (what is recorded, say: that moves nothing).
    #[pyo3(signature = (rollout, *, set=None))]
    fn replay(&mut self, py: Python<'_>, rollout: &Rollout, set: Option<Bound<'_, PyDict>>) -> PyResult<Run> {
        let mut overrides = self.input.overrides.clone();
        if let Some(set) = &set {
            overrides.set.extend(settings(set, "set")?);
        }
        let source = Source {
            name: self.input.name.clone(),
            overrides: Overrides {
                seed: Some(rollout.rollout.seed),
                ..overrides
            },
        };
        let config = self.config().clone();
        let made = detached(py, || {
            let one = One::new(source, config)?;
            let mut again = rollout.rollout.replay(&one, None)?;
            Ok((again.decided()?, again.finish()?))
        })?;
        Run::new(py, RunData::new(&made.0, &made.1), Some(made), None)
    }

    /// Gives back what it holds. What is asked of it afterwards is an error.
    fn close(&mut self) {
        self.vector().close();
    }
}

/// The name of a reward that is built in.
fn reward_name(reward: &Bound<'_, PyAny>) -> PyResult<String> {
    reward.extract().map_err(|_| {
        let kind = reward.get_type().name().map(|name| name.to_string());
        Failure::argument(format!(
            "reward: expected a name or a function, found a value of type `{}`",
            kind.unwrap_or_default()
        ))
        .exception(reward.py())
    })
}

/// Names of observations that are built in.
fn observation_names(names: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    names.extract().map_err(|_| {
        let kind = names.get_type().name().map(|name| name.to_string());
        Failure::argument(format!(
            "observation: expected a list of names or a function, found a value of type `{}`",
            kind.unwrap_or_default()
        ))
        .exception(names.py())
    })
}

/// What was measured, as columns by their names, a value for each row.
fn columns<'py>(py: Python<'py>, measured: &[Measured]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let rows: Vec<_> = measured.iter().map(Measured::columns).collect();
    for (place, (name, _)) in Measured::default().columns().into_iter().enumerate() {
        let column = rows.iter().map(|row| row[place].1);
        columns.set_item(name, PyArray1::from_iter(py, column))?;
    }
    Ok(columns)
}

/// How many numbers a row of a function's observations has, by what it makes of one row of ones.
fn own_width(function: &Bound<'_, PyAny>) -> PyResult<usize> {
    let py = function.py();
    let columns = PyDict::new(py);
    for (name, _) in Measured::default().columns() {
        columns.set_item(name, PyArray1::from_slice(py, &[1.0]))?;
    }
    Ok(own_rows(function, columns, 1, None)?.1)
}

/// What a function makes of the columns, row by row, and the length of a row.
fn own_rows(
    function: &Bound<'_, PyAny>,
    columns: Bound<'_, PyDict>,
    rows: usize,
    width: Option<usize>,
) -> PyResult<(Vec<f32>, usize)> {
    let py = function.py();
    if rows == 0 {
        return Ok((Vec::new(), width.unwrap_or(0)));
    }
    let wrong = |said: String| Failure::argument(format!("observation: {said}")).exception(py);
    let given = function.call1((columns,))?;
    let numpy = py.import("numpy")?;
    let array = numpy
        .call_method1("asarray", (given, "float32"))
        .and_then(|array| numpy.call_method1("ascontiguousarray", (array,)))
        .map_err(|error| {
            wrong(format!(
                "expected a row of numbers for each of {rows} rows: {error}"
            ))
        })?;
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    let found = match shape[..] {
        [found] if found == rows => 1,
        [found, each] if found == rows && each > 0 => each,
        _ => {
            return Err(wrong(format!(
                "the function gave an array of shape {shape:?}; expected {rows} rows of numbers"
            )));
        }
    };
    if let Some(width) = width.filter(|width| *width != found) {
        return Err(wrong(format!(
            "the function gave rows of {found} numbers; expected {width}, as before"
        )));
    }
    let flat = array.call_method1("reshape", (-1,))?;
    let values = flat.extract::<PyReadonlyArray1<'_, f32>>()?.as_slice()?.to_vec();
    match values.iter().find(|value| !value.is_finite()) {
        Some(value) => Err(wrong(format!(
            "the function gave {value}; expected finite numbers"
        ))),
        None => Ok((values, found)),
    }
}

/// What a function says that a batch was worth: it gets columns of what was measured, by names, a value for each row.
/// First questions are worth nothing, since no action came before.
fn rewards(function: &Bound<'_, PyAny>, batch: &paceline_env::Batch) -> PyResult<Vec<f32>> {
    let py = function.py();
    let rows = &batch.measured;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let columns = columns(py, rows)?;
    let given = function.call1((columns,))?;
    let wrong = |said: String| Failure::argument(format!("reward: {said}")).exception(py);
    let numpy = py.import("numpy")?;
    let given = numpy
        .call_method1("asarray", (given, "float32"))
        .and_then(|array| numpy.call_method1("broadcast_to", (array, (rows.len(),))))
        .and_then(|array| numpy.call_method1("ascontiguousarray", (array,)))
        .map_err(|error| {
            wrong(format!(
                "expected a number for each of {} rows from the function: {error}",
                rows.len()
            ))
        })?;
    let given = given.extract::<PyReadonlyArray1<'_, f32>>()?;
    let mut rewards = given.as_slice()?.to_vec();
    for (reward, &first) in rewards.iter_mut().zip(&batch.firsts) {
        if first {
            *reward = 0.0;
        }
        if !reward.is_finite() {
            return Err(wrong(format!(
                "the function gave {reward}; expected finite numbers"
            )));
        }
    }
    Ok(rewards)
}

/// What agents see, do and get, by names.
fn config(
    observation: Option<Vec<String>>,
    history: Option<usize>,
    action: Option<String>,
    step: Option<f64>,
    reward: Option<String>,
    agents: Option<String>,
) -> Result<Config, Error> {
    let mut config = Config::default();
    if let Some(names) = observation {
        config.features = names
            .iter()
            .map(|name| Feature::find(name))
            .collect::<Result<_, _>>()?;
    }
    config.history = history.unwrap_or(config.history);
    config.step = step.unwrap_or(config.step);
    if let Some(name) = action {
        config.action = Action::find(&name)?;
    }
    if let Some(name) = reward {
        config.reward = Reward::find(&name)?;
    }
    if let Some(name) = agents {
        config.agents = Agents::find(&name)?;
    }
    Ok(config)
}

/// Numbers in a row: an array as it is where it is one of them, or what numpy makes of it.
fn flat<'py, T: Element + Number>(values: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArray1<'py, T>> {
    let py = values.py();
    if let Ok(array) = values.extract::<PyReadonlyArray1<'py, T>>()
        && array.is_c_contiguous()
    {
        return Ok(array);
    }
    let numpy = py.import("numpy")?;
    let array = numpy
        .call_method1("asarray", (values, T::NAME))
        .map_err(|error| Failure::argument(format!("expected numbers in a row: {error}")).exception(py))?;
    let array = array.call_method1("reshape", (-1,))?;
    let array = numpy.call_method1("ascontiguousarray", (array,))?;
    array.extract::<PyReadonlyArray1<'py, T>>()
}

/// A type of numbers, by numpy's name.
trait Number {
    const NAME: &'static str;
}
impl Number for f32 {
    const NAME: &'static str = "float32";
}
impl Number for u32 {
    const NAME: &'static str = "uint32";
}

/// The actions of an episode.
#[pyclass(frozen, module = "paceline")]
pub(crate) struct Rollout {
    rollout: paceline_env::Rollout,
}

#[pymethods]
impl Rollout {
    /// The seed of the episode.
    #[getter]
    fn seed(&self) -> u64 {
        self.rollout.seed
    }

    /// For each poll how many agents waited.
    #[getter]
    fn polls<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, &self.rollout.polls)
    }

    /// Those agents, poll after poll.
    #[getter]
    fn agents<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, &self.rollout.agents)
    }

    /// Their actions.
    #[getter]
    fn actions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        PyArray1::from_slice(py, &self.rollout.actions)
    }

    fn __len__(&self) -> usize {
        self.rollout.actions.len()
    }
}

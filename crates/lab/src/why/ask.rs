//! Question of `paceline why`, answered from a run's folder or by running its scenario again.

use std::io;
use std::path::Path;

use paceline_fabric::spec::{Accounted, Blame};
use paceline_kernel::Time;
use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedSet;
use paceline_scenario::{Diagnostics, NodeNames, Overrides, Resolved};

use super::{Blames, CloseLook, Slow, Why, nothing_to_tell, slowest};
use crate::files::{FlowTime, ReadError, RunData, flow_times};
use crate::results::{FlowRow, FlowRows, FlowState, IdealFct, Incident, RunStatus, Summary};
use crate::run::{Finished, RunError};

/// Question of `paceline why`.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Folder of a run; or an input as for [`crate::load`], which is then run.
    pub run: &'a str,
    /// Number of slowest flows in a list.
    pub top: usize,
    /// Label of the flows in question; `None` for all flows.
    pub label: Option<&'a str>,
    /// True if the answer uses only the run's folder, without another run.
    pub brief: bool,
}

/// Caller that executes the necessary runs and shows messages.
pub trait Asker {
    /// Runs the input to its end, or until it is stopped.
    ///
    /// # Errors
    /// The run has no result.
    fn run(&mut self, input: &Resolved) -> Result<Finished, RunError>;
    /// Shows a message about progress or about something found in addition to the answer.
    fn inform(&mut self, text: &str);
}

/// Reason why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The scenario is wrong.
    #[error("{0}")]
    Input(Diagnostics),
    /// The run or flow does not exist, or there is nothing to report.
    #[error("{0}")]
    Refused(String),
    /// A run's folder cannot be read.
    #[error(transparent)]
    Folder(#[from] ReadError),
    /// The run has no result.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The rows of flows cannot be read.
    #[error(transparent)]
    Rows(#[from] io::Error),
}

impl From<Diagnostics> for AskError {
    fn from(problems: Diagnostics) -> Self {
        Self::Input(problems)
    }
}

/// Data for the answer about one flow.
#[derive(Debug)]
pub struct FlowAnswer {
    row: FlowRow<'static>,
    known: Known,
    /// Reference of the run's slowdowns.
    ideal: IdealFct,
    /// Incidents of links and hosts during its run.
    incidents: Vec<Incident>,
    names: NodeNames,
    /// True if the extra run was interrupted.
    pub partial: bool,
}

#[derive(Debug)]
enum Known {
    /// Rows of `flow_time.csv` about the flow.
    Times(Vec<FlowTime>),
    Look(Box<CloseLook>),
    /// Nothing: the named fidelity accounts for no times. The second field is the end of the run in ps.
    Nothing(&'static str, u64),
}

impl FlowAnswer {
    /// Breaks down the flow's time.
    pub fn why(&self) -> Why<'_> {
        let why = match &self.known {
            Known::Times(times) => Why::new(&self.row, times, &self.names, self.ideal),
            Known::Look(look) => Why::close(&self.row, look, &self.names, self.ideal),
            Known::Nothing(fidelity, end_ps) => Some(Why::unaccounted(
                &self.row,
                *end_ps,
                fidelity,
                &self.names,
                self.ideal,
            )),
        };
        why.expect("an answer has an account").during(&self.incidents)
    }

    fn new(row: &FlowRow<'_>, known: Known, names: &NodeNames, summary: &Summary) -> Self {
        Self {
            row: row.clone().into_owned(),
            known,
            ideal: summary.ideal_fct,
            incidents: summary.incidents.clone(),
            names: names.clone(),
            partial: false,
        }
    }
}

/// Slowest flows of a run.
#[derive(Debug)]
pub struct SlowAnswer {
    /// Flows in descending order of slowness.
    pub slow: Vec<Slow<'static>>,
    /// Number of flows in the run, or with the label.
    pub flows: usize,
    /// Labels of jobs with a critical path.
    pub jobs: Vec<String>,
    /// True if the extra run was interrupted.
    pub partial: bool,
}

impl Question<'_> {
    /// Finds out why a flow took its time.
    ///
    /// # Errors
    /// See [`AskError`].
    pub fn flow(&self, flow: u32, asker: &mut dyn Asker) -> Result<FlowAnswer, AskError> {
        match self.folder()? {
            Some(data) => {
                let like = data.flows.first_like(flow);
                if like != flow {
                    asker.inform(&format!(
                        "flow {flow} has the numbers of flow {like} in an earlier iteration: this is why that took as long"
                    ));
                }
                self.of_finished(like, &data, asker)
            }
            None => self.again(flow, None, asker),
        }
    }

    /// Lists the slowest flows, with the part that took most of their time.
    ///
    /// # Errors
    /// See [`AskError`].
    pub fn slowest(&self, asker: &mut dyn Asker) -> Result<SlowAnswer, AskError> {
        match self.folder()? {
            Some(data) => self.list_of_finished(&data, asker),
            None => self.list_again(asker, None, &all_of),
        }
    }

    /// Reads the run's folder; returns `None` if `run` names an input.
    pub(super) fn folder(&self) -> Result<Option<RunData>, AskError> {
        let folder = Path::new(self.run);
        if folder.join("comparison.json").is_file() {
            return Err(several_runs(folder));
        }
        let is_run = folder.join("summary.json").is_file();
        Ok(is_run.then(|| RunData::read(folder)).transpose()?)
    }

    /// Answers for a flow of a run that has a folder.
    fn of_finished(&self, flow: u32, data: &RunData, asker: &mut dyn Asker) -> Result<FlowAnswer, AskError> {
        let row = &find(&data.flows, flow)?;
        let ideal = data.summary.ideal_fct;
        if !data.fidelity().accounts() {
            let known = Known::Nothing(data.fidelity().name(), data.end_ps());
            return Ok(FlowAnswer::new(row, known, &data.names, &data.summary));
        }
        let times = data
            .tables
            .rows::<FlowTime>()
            .iter()
            .filter(|time| time.flow_id == flow);
        let times: Vec<FlowTime> = times.cloned().collect();
        let known = !times.is_empty();
        // A second run of an interrupted one would go to the end and be a different run.
        let partial = data.summary.status == RunStatus::Partial;
        // The account in the folder is the best available answer if a second run is unwanted or cannot be compared.
        if known && (self.brief || partial) {
            return Ok(FlowAnswer::new(
                row,
                Known::Times(times),
                &data.names,
                &data.summary,
            ));
        }
        if !known && self.brief {
            return Err(AskError::Refused(format!(
                "the run's folder has no account of the time of flow {flow}: leave out --brief, and its scenario is \
                 run again"
            )));
        }
        let folder = Path::new(self.run);
        let kept = CloseLook::read(folder, &data.summary, flow).filter(|_| !partial);
        if let Some(look) = kept.filter(|look| Why::close(row, look, &data.names, ideal).is_some()) {
            asker.inform(&format!("as kept in {}", CloseLook::file(folder, flow).display()));
            return Ok(FlowAnswer::new(
                row,
                Known::Look(Box::new(look)),
                &data.names,
                &data.summary,
            ));
        }
        // Other code is accepted only if complete runs have equal digests, which an interrupted run does not have.
        if partial && data.summary.version != crate::identity::version() {
            return Err(AskError::Refused(format!(
                "{}. It was interrupted, so it cannot be compared with the whole run of this code",
                self.other_code(data)
            )));
        }
        asker.inform(&match (known, partial) {
            (true, _) => format!("running the scenario again, to look closely at flow {flow}"),
            (false, true) => {
                format!(
                    "the run has no account of flow {flow}: running its scenario again, to its end this time"
                )
            }
            (false, false) => {
                format!("the run has no account of flow {flow}: running its scenario again for that")
            }
        });
        self.again(flow, (!partial).then_some((row, data)), asker)
    }

    /// Runs the input with a close look at the flow. If its run is known, the run goes only to the end of the flow, and
    /// the result is kept in the run's folder.
    fn again(
        &self,
        flow: u32,
        of_run: Option<(&FlowRow<'_>, &RunData)>,
        asker: &mut dyn Asker,
    ) -> Result<FlowAnswer, AskError> {
        let mut input = self.unaccounted()?;
        // The number of flows of programs is known only after the run.
        if flow as usize >= input.run.flow_ids() {
            return Err(unknown(flow, input.run.flow_count()));
        }
        let accounts = input.fidelity.accounts();
        if accounts {
            input.run_mut().record.flow_probes = vec![flow];
        }
        // With other code, only digests of complete runs show that the two are equal.
        let same_code = of_run.is_some_and(|(_, data)| data.summary.version == crate::identity::version());
        let before = of_run.map(|(row, _)| row).filter(|_| same_code);
        let completed = before.filter(|row| row.status == FlowState::Completed);
        // Events after the flow's end cannot explain it, so the second run stops there.
        if let Some(end) = completed.and_then(FlowRow::end_ps) {
            input.run_mut().stop = input.run.stop.min(Time::from_ps(end));
        }
        let finished = asker.run(&input)?;
        let partial = finished.summary.status == RunStatus::Partial;
        if let Some((before, data)) = of_run {
            self.check_same(data, &finished, before, same_code)?;
        }
        let row = &find(&finished.flows, flow)?;
        let ideal = finished.summary.ideal_fct;
        let answer = |row: &FlowRow<'_>, known| FlowAnswer {
            partial,
            ..FlowAnswer::new(row, known, &input.names, &finished.summary)
        };
        if !accounts {
            let end = finished.outcome.end.as_ps();
            return Ok(answer(row, Known::Nothing(input.fidelity.name(), end)));
        }
        let look = CloseLook::of(&input, &finished.outcome, &finished.flows, row);
        if Why::close(row, &look, &input.names, ideal).is_none() {
            // A flow that started as the run ended took no time.
            let reason = nothing_to_tell(row).unwrap_or("it started as the run ended");
            return Err(AskError::Refused(format!(
                "flow {flow} of `{}` has no time to account for: {reason}",
                input.name
            )));
        }
        let Some((before, data)) = of_run.filter(|_| !partial) else {
            return Ok(answer(row, Known::Look(Box::new(look))));
        };
        // A read-only folder is no error: the answer is only not kept.
        if let Err(error) = look.keep(Path::new(self.run), &data.summary, flow) {
            asker.inform(&format!("this answer is not kept: {error}"));
        }
        // The row is that of the folder, as in later answers from the kept records.
        let row = if Why::close(before, &look, &input.names, ideal).is_some() {
            before
        } else {
            row
        };
        Ok(answer(row, Known::Look(Box::new(look))))
    }

    /// Loads the input without accounts, so that a flow that does not exist is an error of the question, not of the
    /// scenario.
    fn unaccounted(&self) -> Result<Resolved, Diagnostics> {
        let overrides = Overrides {
            set: vec!["record.accounts=\"off\"".to_string()],
            ..Overrides::default()
        };
        crate::load(self.run, &overrides)
    }

    /// Lists the slowest flows of a run that has a folder; if it lacks the accounts of some, the scenario is run again.
    fn list_of_finished(&self, data: &RunData, asker: &mut dyn Asker) -> Result<SlowAnswer, AskError> {
        let count = self.count(&data.flows)?;
        let slow = slowest(
            self.asked_of(&data.flows),
            data.tables.rows(),
            self.top,
            self.run,
            &data.names,
        );
        let missing = slow.iter().filter(|one| one.main.is_none()).count();
        // Some fidelities account for no times.
        let unaccounted = !data.fidelity().accounts();
        if missing == 0 || self.brief || unaccounted || data.summary.status == RunStatus::Partial {
            return Ok(SlowAnswer::new(slow, count, &data.summary, false));
        }
        asker.inform(&format!(
            "the run has no account of {missing} of its slowest flows: running its scenario again for that"
        ));
        let ids: Vec<u32> = slow.iter().map(|one| one.flow.flow_id).collect();
        self.list_again(asker, Some(data), &|_| ids.clone())
    }

    /// Runs the input with accounts of some flows, and lists the slowest.
    fn list_again(
        &self,
        asker: &mut dyn Asker,
        of_run: Option<&RunData>,
        which: &dyn Fn(&Resolved) -> Vec<u32>,
    ) -> Result<SlowAnswer, AskError> {
        let mut input = self.unaccounted()?;
        if input.fidelity.accounts() {
            input.run_mut().record.accounts = Accounted::Flows(which(&input));
        }
        let finished = asker.run(&input)?;
        if let Some(data) = of_run {
            self.check_whole(data, &finished)?;
        }
        let times = flow_times(&input.run, &finished.outcome);
        let slow = slowest(
            self.asked_of(&finished.flows),
            &times,
            self.top,
            self.run,
            &input.names,
        );
        let partial = finished.summary.status == RunStatus::Partial;
        let count = self.count(&finished.flows)?;
        Ok(SlowAnswer::new(slow, count, &finished.summary, partial))
    }

    /// Returns the flows in question: all, or those of a label, without repeats.
    fn asked_of<'f>(&self, flows: &'f FlowRows) -> impl Iterator<Item = FlowRow<'f>> {
        let label = self.label;
        flows
            .firsts()
            .filter(move |row| label.is_none_or(|label| is_of(&row.label, label)))
    }

    /// Counts the flows in question, repeats included.
    fn count(&self, flows: &FlowRows) -> Result<usize, AskError> {
        let Some(label) = self.label else {
            return Ok(flows.len());
        };
        let of_label = flows.distinct().filter(|(row, _)| is_of(&row.label, label));
        match of_label.map(|(_, times)| times.times as usize).sum() {
            0 => Err(no_label(label, flows)),
            count => Ok(count),
        }
    }
}

impl SlowAnswer {
    fn new(slow: Vec<Slow<'_>>, flows: usize, summary: &Summary, partial: bool) -> Self {
        let jobs = summary.jobs.iter().filter(|job| job.path.is_some());
        Self {
            slow: slow.into_iter().map(Slow::into_owned).collect(),
            flows,
            jobs: jobs.map(|job| job.label.clone()).collect(),
            partial,
        }
    }
}

/// Returns true if `asked` is the label, or the job of a label `JOB/STEP`.
fn is_of(label: &str, asked: &str) -> bool {
    let step = label.strip_prefix(asked);
    step.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the error for a label that no flow has.
fn no_label(label: &str, flows: &FlowRows) -> AskError {
    /// Maximum number of labels in the error text: similar ones, or the first.
    const NAMED: usize = 12;
    let mut labels = SortedSet::new();
    for row in flows.firsts() {
        if !labels.contains(&*row.label) {
            labels.insert(row.label.to_string());
            labels.extend(row.label.split_once('/').map(|(job, _)| job.to_string()));
        }
    }
    // A run of flows without labels has one, which is empty.
    labels.remove("");
    let message = format!("`{label}` is neither a flow's id nor a label of this run's flows");
    let near = crate::layout::nearest(label, labels.iter().map(String::as_str));
    let list: Vec<&str> = labels.iter().take(NAMED).map(String::as_str).collect();
    AskError::Refused(match near {
        Some(near) => format!("{message}: did you mean `{near}`?"),
        None if labels.is_empty() => format!("{message}, which have none"),
        None if labels.len() > NAMED => {
            format!(
                "{message}. It has {} labels: {}, ..",
                labels.len(),
                list.join(", ")
            )
        }
        None => format!("{message}. Its labels: {}", list.join(", ")),
    })
}

/// Returns all flows of an input, since the slowest are known only after the run.
fn all_of(input: &Resolved) -> Vec<u32> {
    (0..input.run.flows.len() as u32).collect()
}

/// Returns a flow's row, or an error if there is nothing to report on it.
fn find(rows: &FlowRows, flow: u32) -> Result<FlowRow<'_>, AskError> {
    let row = rows.get(flow as usize);
    rows.check()?;
    let row = row.ok_or_else(|| unknown(flow, rows.len()))?;
    match nothing_to_tell(&row) {
        None => Ok(row),
        Some(reason) => Err(AskError::Refused(format!(
            "flow {flow} has no time to account for: {reason}"
        ))),
    }
}

fn unknown(flow: u32, count: usize) -> AskError {
    AskError::Refused(match count {
        0 => format!("there is no flow {flow}: the run has no flows"),
        count => format!(
            "there is no flow {flow}: the run has {count}, 0 to {} (flow_id in flows.csv)",
            count - 1
        ),
    })
}

fn several_runs(folder: &Path) -> AskError {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let runs = entries.filter(|entry| entry.path().join("summary.json").is_file());
    let mut names: Vec<String> = runs
        .map(|entry| folder.join(entry.file_name()).display().to_string())
        .collect();
    names.order();
    AskError::Refused(format!(
        "{} holds several runs: name one of them: {}",
        folder.display(),
        names.join(", ")
    ))
}

impl Question<'_> {
    /// Computes the waiting times between parties. A scenario is run with accounts by label.
    ///
    /// # Errors
    /// See [`AskError`]; and the folder is of a run without such accounts.
    pub fn blames(&self, asker: &mut dyn Asker) -> Result<Blames, AskError> {
        if let Some(data) = self.folder()? {
            let refused = || {
                let run = self.run;
                AskError::Refused(format!(
                    "{run} has no account of who made whom wait: run it again with --set record.blame=labels, or write \
                     blame = \"labels\" (or \"hosts\") in [record]"
                ))
            };
            return Blames::of_run(&data).ok_or_else(refused);
        }
        let written = crate::load(self.run, &Overrides::default())?;
        let overrides = Overrides {
            set: vec!["record.blame=labels".to_string()],
            ..Overrides::default()
        };
        let input = match written.run.record.blame {
            Blame::Off => crate::load(self.run, &overrides)?,
            _ => written,
        };
        let finished = asker.run(&input)?;
        let data = RunData::new(&input, &finished);
        let blames = Blames::of_run(&data).unwrap_or_else(|| Blames::of(&[], &[], &data.names));
        Ok(Blames {
            partial: finished.summary.status == RunStatus::Partial,
            ..blames
        })
    }
}

//! Check that a repeated run equals that of the folder; only then does it explain it.

use super::ask::{AskError, Question};
use crate::files::RunData;
use crate::results::{FlowRow, RunStatus};
use crate::run::Finished;
use crate::text::duration_us;

impl Question<'_> {
    /// Names the version that made the run and this one.
    pub(super) fn other_code(&self, data: &RunData) -> String {
        let (version, this) = (&data.summary.version, crate::identity::version());
        format!("{} was made by version {version}, this is {this}", self.run)
    }

    fn refuse(&self, data: &RunData, differs: &str) -> AskError {
        let folder = self.run;
        let cause = match data.summary.version == crate::identity::version() {
            true => format!("{folder} is not the run that its scenario.toml gives, so it was edited"),
            false => self.other_code(data),
        };
        AskError::Refused(format!(
            "{cause}: {differs}. Run it again with this version (paceline run {folder}/scenario.toml --out NEW), or see \
             what the folder has itself (--brief)"
        ))
    }

    /// Compares the digests of all events of two complete runs.
    pub(super) fn check_whole(&self, data: &RunData, again: &Finished) -> Result<(), AskError> {
        if again.summary.status == RunStatus::Partial {
            // Stopped: of the same code it is a part of the same run.
            return match data.summary.version == crate::identity::version() {
                true => Ok(()),
                false => Err(self.refuse(data, "the new run was stopped before the two could be compared")),
            };
        }
        match again.summary.digest == data.summary.digest {
            true => Ok(()),
            false => Err(self.refuse(
                data,
                &format!(
                    "the two runs have different events (digest {} there, {} here)",
                    data.summary.digest, again.summary.digest
                ),
            )),
        }
    }

    /// Compares a run up to the end of a flow: the flow's times if the same code made both, otherwise the whole runs.
    pub(super) fn check_same(
        &self,
        data: &RunData,
        again: &Finished,
        before: &FlowRow<'_>,
        same_code: bool,
    ) -> Result<(), AskError> {
        let row = again.flows.get(before.flow_id as usize);
        let took = |row: Option<&FlowRow<'_>>| match row.map(|row| row.fct_ps) {
            None => "does not exist".to_string(),
            Some(None) => "does not finish".to_string(),
            Some(Some(ps)) => format!("takes {}", duration_us(Some(ps as f64 / 1e6))),
        };
        let times = |row: &FlowRow<'_>| (row.start_ps, row.fct_ps);
        let is_same = row.as_ref().map(times) == Some(times(before));
        let stopped = again.summary.status == RunStatus::Partial;
        if same_code && (is_same || stopped) {
            return Ok(());
        }
        if is_same || stopped {
            return self.check_whole(data, again);
        }
        let (there, here) = (took(Some(before)), took(row.as_ref()));
        Err(self.refuse(
            data,
            &match there == here {
                true => format!("flow {} starts at another time there than here", before.flow_id),
                false => format!("flow {} {there} there, and {here} here", before.flow_id),
            },
        ))
    }
}

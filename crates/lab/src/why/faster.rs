//! Effect of faster links on an iteration of a job: `paceline why RUN --job LABEL --faster LINK`.

use paceline_scenario::Overrides;
use serde::Serialize;

use super::ask::{AskError, Asker, Question};
use super::job::{cells, of_links, path_of, us};
use crate::layout;
use crate::results::{CriticalPath, RunStatus, Summary};
use crate::table::{Column, render};

/// Critical paths of a job's iteration with the original links and with faster ones.
#[derive(Clone, Debug, Serialize)]
pub struct Faster {
    /// Label of the job.
    pub job: String,
    /// Faster links: a tier or two nodes.
    pub links: String,
    /// Factor by which the rate of the links is multiplied.
    pub factor: f64,
    /// Mean duration of iterations, in microseconds: before and after.
    pub iteration_mean_us: [Option<f64>; 2],
    /// Critical path with the original links.
    pub before: CriticalPath,
    /// Critical path with faster links.
    pub after: CriticalPath,
    /// True if an extra run was interrupted.
    #[serde(skip)]
    pub partial: bool,
}

impl Question<'_> {
    /// Returns the summary of the run, made again if other code made it: two runs are comparable only if the same code
    /// made both.
    fn summary_by_this_code(
        &self,
        label: &str,
        iteration: Option<u32>,
        asker: &mut dyn Asker,
    ) -> Result<(Summary, bool), AskError> {
        let this = crate::identity::version();
        if let Some(data) = self.folder()?
            && data.summary.version != this
        {
            asker.inform(&format!(
                "{} was made by version {}, this is {this}: running the scenario as it is, to compare with a run by the \
                 same code",
                self.run, data.summary.version
            ));
            let finished = asker.run(&self.with_path_of(iteration)?)?;
            let partial = finished.summary.status == RunStatus::Partial;
            return Ok((finished.summary, partial));
        }
        self.summary(label, iteration, asker)
    }

    /// Runs a job's scenario with `links` faster by `factor` and compares the critical paths.
    ///
    /// # Errors
    /// See [`AskError`].
    pub fn faster(
        &self,
        label: &str,
        iteration: Option<u32>,
        links: &str,
        factor: f64,
        asker: &mut dyn Asker,
    ) -> Result<Faster, AskError> {
        let (summary, stopped) = self.summary_by_this_code(label, iteration, asker)?;
        let (before_job, before) = path_of(&summary, label, iteration)?;
        if before.links.is_empty() {
            return Err(AskError::Refused(format!(
                "no message on the critical path of job `{label}` takes a link of this network: faster links change \
                 nothing"
            )));
        }
        let written = crate::load(self.run, &Overrides::default())?;
        // The scenario may have a factor for these links already.
        let known = known_factor(&written.toml, links).unwrap_or(1.0);
        let overrides = Overrides {
            set: vec![format!("network.rate-factor.{links}={:?}", known * factor)],
            // With faster links another iteration may be the slowest.
            path_of: Some(before.iteration),
            ..Overrides::default()
        };
        let input = crate::load(self.run, &overrides)?;
        asker.inform(&format!(
            "running the scenario again with {} {}",
            of_links(links),
            at_factor(factor)
        ));
        let finished = asker.run(&input)?;
        let partial = stopped || finished.summary.status == RunStatus::Partial;
        let (after_job, after) = path_of(&finished.summary, label, Some(before.iteration))?;
        Ok(Faster {
            job: label.to_string(),
            links: links.to_string(),
            factor,
            iteration_mean_us: [before_job, after_job].map(|job| job.iteration_us.mean),
            before: before.clone(),
            after: after.clone(),
            partial,
        })
    }
}

/// Returns the factor that a scenario already sets for these links.
fn known_factor(scenario: &str, links: &str) -> Option<f64> {
    let table: toml::Table = scenario.parse().ok()?;
    let factor = table.get("network")?.get("rate-factor")?.get(links)?;
    factor.as_float().or_else(|| Some(factor.as_integer()? as f64))
}

fn at_factor(factor: f64) -> String {
    match factor {
        2.0 => "twice as fast".to_string(),
        factor => format!("{factor} times as fast"),
    }
}

impl Faster {
    /// Formats the whole answer in lines of `width`.
    pub fn text(&self, width: usize) -> String {
        let (before, after) = (self.before.time_us, self.after.time_us);
        let change = |before: f64, after: f64| match before > 0.0 {
            true => format!("{:+.1} %", 100.0 * (after / before - 1.0)),
            false => String::new(),
        };
        let story = format!(
            "With {} {}, iteration {} of job `{}` takes {} instead of {} ({}).",
            of_links(&self.links),
            at_factor(self.factor),
            self.after.iteration,
            self.job,
            us(after),
            us(before),
            change(before, after),
        );
        let by_kind = |path: &CriticalPath| -> Vec<(String, f64)> {
            let sums = path.sums.iter();
            sums.map(|one| (one.what.clone(), one.time_us)).collect()
        };
        let by_link = |path: &CriticalPath| -> Vec<(String, f64)> {
            let links = path.links.iter();
            links.map(|one| (of_links(&one.link), one.time_us)).collect()
        };
        let table = |head: &str, before: Vec<(String, f64)>, after: Vec<(String, f64)>| {
            let rows = joined(before, after);
            render(&[
                Column::left("", head, cells(&rows, |(name, ..)| name.clone())),
                Column::right("", "before", cells(&rows, |(_, before, _)| us(*before))),
                Column::right("", "after", cells(&rows, |(_, _, after)| us(*after))),
                Column::right(
                    "",
                    "change",
                    cells(&rows, |(_, before, after)| change(*before, *after)),
                ),
            ])
        };
        let kinds = table("critical path", by_kind(&self.before), by_kind(&self.after));
        let links = table("messages bound by", by_link(&self.before), by_link(&self.after));
        format!("{}\n{kinds}\n{links}", layout::paragraph(&story, width))
    }
}

/// Joins two lists by name, names of the first before those only in the second; values of equal names are added.
fn joined(before: Vec<(String, f64)>, after: Vec<(String, f64)>) -> Vec<(String, f64, f64)> {
    let mut rows: Vec<(String, f64, f64)> = Vec::new();
    let before = before.into_iter().map(|(name, time)| (name, time, 0.0));
    let after = after.into_iter().map(|(name, time)| (name, 0.0, time));
    for (name, before, after) in before.chain(after) {
        match rows.iter_mut().find(|(known, ..)| *known == name) {
            Some(row) => (row.1, row.2) = (row.1 + before, row.2 + after),
            None => rows.push((name, before, after)),
        }
    }
    rows
}

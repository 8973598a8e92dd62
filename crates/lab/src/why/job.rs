//! What an iteration of a job by a trace took its time from, and what faster links would change: `paceline why RUN --job
//! LABEL`.

use paceline_scenario::Overrides;
use serde::Serialize;

use super::ask::{AskError, Asker, Question};
use crate::files::RunData;
use crate::layout;
use crate::results::{CriticalPath, JobTimes, PathLink, PathShare, RunStatus, Summary};
use crate::table::{Column, render};
use crate::text::duration_us;

/// So many of the largest parts are in the text.
const LISTED: usize = 10;
/// A share of the whole that is worth a sentence.
const WORTH_SAYING: f64 = 0.02;

/// What an iteration took its time from.
#[derive(Clone, Debug, Serialize)]
pub struct JobWhy {
    /// The job's label.
    pub job: String,
    /// How long its iterations took on average, in microseconds.
    pub iteration_mean_us: Option<f64>,
    /// The critical path of the last complete iteration.
    pub path: CriticalPath,
    /// Commands that run it again with faster links.
    pub commands: Vec<String>,
    /// Whether the run was stopped that was made for it.
    #[serde(skip)]
    pub partial: bool,
}

/// The same, with links as they are and with faster ones.
#[derive(Clone, Debug, Serialize)]
pub struct Faster {
    /// The job's label.
    pub job: String,
    /// The links: a tier or two nodes.
    pub links: String,
    /// How many times as fast they are.
    pub factor: f64,
    /// How long iterations took on average, in microseconds: before and after.
    pub iteration_mean_us: [Option<f64>; 2],
    /// The critical path as it was.
    pub before: CriticalPath,
    /// The critical path with faster links.
    pub after: CriticalPath,
    /// Whether a run was stopped that was made for it.
    #[serde(skip)]
    pub partial: bool,
}

impl Question<'_> {
    /// What an iteration of a job took its time from.
    ///
    /// # Errors
    /// See [`AskError`].
    pub fn job(&self, label: &str, asker: &mut dyn Asker) -> Result<JobWhy, AskError> {
        let (summary, partial) = self.summary(asker)?;
        let (job, path) = path_of(&summary, label)?;
        let commands = path.links.iter().map(|link| {
            let run = self.run;
            let job = match label.contains(char::is_whitespace) {
                true => format!("'{label}'"),
                false => label.to_string(),
            };
            format!("paceline why {run} --job {job} --faster {}", link.link)
        });
        let mut commands: Vec<String> = commands.collect();
        // Links of a tier may have several rates.
        let mut seen = std::collections::BTreeSet::new();
        commands.retain(|command| seen.insert(command.clone()));
        Ok(JobWhy {
            job: label.to_string(),
            iteration_mean_us: job.iteration_us.mean,
            path: path.clone(),
            commands,
            partial,
        })
    }

    /// The same, which is made again if other code made it: two runs are compared only if they are by the same code.
    fn summary_by_this_code(&self, asker: &mut dyn Asker) -> Result<(Summary, bool), AskError> {
        let (summary, partial) = self.summary(asker)?;
        let this = crate::identity::version();
        if summary.version == this {
            return Ok((summary, partial));
        }
        asker.inform(&format!(
            "{} was made by version {}, this is {this}: running the scenario as it is, to compare with a run by the same \
             code",
            self.run, summary.version
        ));
        let finished = asker.run(&crate::load(self.run, &Overrides::default())?)?;
        let partial = finished.summary.status == RunStatus::Partial;
        Ok((finished.summary, partial))
    }

    /// The summary of the run, which is made if it has no folder.
    fn summary(&self, asker: &mut dyn Asker) -> Result<(Summary, bool), AskError> {
        if let Some(data) = self.folder()? {
            return Ok((data.summary, false));
        }
        let finished = asker.run(&crate::load(self.run, &Overrides::default())?)?;
        let partial = finished.summary.status == RunStatus::Partial;
        Ok((finished.summary, partial))
    }

    /// The same with some links so many times as fast.
    ///
    /// # Errors
    /// See [`AskError`].
    pub fn faster(
        &self,
        label: &str,
        (links, factor): (&str, f64),
        asker: &mut dyn Asker,
    ) -> Result<Faster, AskError> {
        let (summary, stopped) = self.summary_by_this_code(asker)?;
        let (before_job, before) = path_of(&summary, label)?;
        if before.links.is_empty() {
            return Err(AskError::Refused(format!(
                "no message on the critical path of job `{label}` takes a link of this network: faster links change \
                 nothing"
            )));
        }
        let written = crate::load(self.run, &Overrides::default())?;
        let known = known_factor(&written.toml, links).unwrap_or(1.0);
        let overrides = Overrides {
            set: vec![format!("network.rate-factor.{links}={:?}", known * factor)],
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
        let (after_job, after) = path_of(&finished.summary, label)?;
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

/// The factor that a scenario has for these links already.
fn known_factor(scenario: &str, links: &str) -> Option<f64> {
    let table: toml::Table = scenario.parse().ok()?;
    let factor = table.get("network")?.get("rate-factor")?.get(links)?;
    factor.as_float().or_else(|| Some(factor.as_integer()? as f64))
}

/// The critical path of a job.
fn path_of<'a>(summary: &'a Summary, label: &str) -> Result<(&'a JobTimes, &'a CriticalPath), AskError> {
    let Some(job) = summary.jobs.iter().find(|job| job.label == label) else {
        let labels: Vec<&str> = summary.jobs.iter().map(|job| job.label.as_str()).collect();
        let message = format!("this run has no job `{label}`");
        return Err(AskError::Refused(match labels.is_empty() {
            true => "this run has no jobs".to_string(),
            false => match layout::nearest(label, labels.iter().copied()) {
                Some(near) => format!("{message}: did you mean `{near}`?"),
                None => format!("{message}. Its jobs: {}", labels.join(", ")),
            },
        }));
    };
    job.path.as_ref().map(|path| (job, path)).ok_or_else(|| {
        let why = match () {
            () if job.by_rank.is_empty() => "it has steps of its own: critical paths are of jobs by a trace",
            () if job.iterations.completed == 0 => "no iteration came to its end",
            () => "its network computes the ends of ranks only",
        };
        AskError::Refused(format!("job `{label}` has no critical path: {why}"))
    })
}

/// Rows of a run's folder that are about a job.
pub fn path_rows_of<'a>(
    data: &'a RunData,
    label: &'a str,
) -> impl Iterator<Item = &'a crate::results::PathRow> {
    data.critical_path.iter().filter(move |row| row.job == label)
}

/// `host links`, `link 3-17`.
pub fn of_links(links: &str) -> String {
    let is_one = links.split('-').all(|part| part.parse::<u32>().is_ok());
    match is_one {
        true => format!("link {links}"),
        false => format!("{links} links"),
    }
}

fn at_factor(factor: f64) -> String {
    match factor {
        2.0 => "twice as fast".to_string(),
        factor => format!("{factor} times as fast"),
    }
}

fn us(value: f64) -> String {
    duration_us(Some(value))
}

/// `7.6 %`, `83 %`.
pub fn share_text(share: f64) -> String {
    match 100.0 * share {
        0.0 => "0 %".to_string(),
        tiny if tiny < 0.05 => "<0.1 %".to_string(),
        small if small < 9.95 => format!("{small:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// `all-reduce`, `computing`: what a part is, in a sentence.
fn in_words(share: &PathShare) -> String {
    match share.what.as_str() {
        "message" => "messages".to_string(),
        "request" => "requests for receives (rendezvous)".to_string(),
        other => other.to_string(),
    }
}

impl CriticalPath {
    fn collectives(&self) -> impl Iterator<Item = &PathShare> {
        let others = ["computing", "overhead", "message", "request"];
        self.sums
            .iter()
            .filter(move |one| !others.contains(&one.what.as_str()))
    }

    /// What most of it is, in a few sentences.
    pub fn story(&self, job: &str) -> String {
        let mut text = format!(
            "Iteration {} of job `{job}` took {}.",
            self.iteration,
            us(self.time_us)
        );
        for (i, share) in self.sums.iter().take(2).enumerate() {
            let part = format!("{} ({})", us(share.time_us), share_text(share.share));
            match i {
                0 => text.push_str(&format!(" {part} of its critical path is {}", in_words(share))),
                _ => text.push_str(&format!(", {part} {}", in_words(share))),
            }
        }
        if !self.sums.is_empty() {
            text.push('.');
        }
        if let Some(link) = self.links.first() {
            text.push_str(&format!(
                " {} of it is messages that {} bound ({} Gbit/s).",
                us(link.time_us),
                of_links(&link.link),
                link.rate_gbps,
            ));
        }
        let delays: f64 = self.collectives().map(|one| one.time_us - one.messages_us).sum();
        if delays > WORTH_SAYING * self.time_us {
            text.push_str(&format!(
                " {} of it is delays within collectives, which no link shortens.",
                us(delays)
            ));
        }
        let contention: f64 = self.links.iter().map(|link| link.contention_us).sum();
        if contention > WORTH_SAYING * self.time_us {
            text.push_str(&format!(
                " Alone in the network, its messages would be {} shorter.",
                us(contention)
            ));
        }
        if self.after_lane > 0 {
            text.push_str(&format!(
                " {} times it waited for another operation of its rank to end, which it does not depend on.",
                self.after_lane
            ));
        }
        text
    }

    /// It by kinds, by links, and its largest parts.
    pub fn tables(&self) -> String {
        let mut text = sums_table(&self.sums);
        if !self.links.is_empty() {
            text.push('\n');
            text.push_str(&links_table(&self.links));
        }
        let largest = &self.largest[..self.largest.len().min(LISTED)];
        if !largest.is_empty() {
            text.push('\n');
            text.push_str(&largest_table(largest));
        }
        text
    }
}

fn cells<T>(rows: &[T], text: impl Fn(&T) -> String) -> Vec<String> {
    rows.iter().map(text).collect()
}

impl PathShare {
    /// Time in messages, if there are any.
    pub fn in_messages(&self) -> String {
        match self.messages_us {
            0.0 => String::new(),
            time => us(time),
        }
    }

    /// Contention, if there can be any.
    pub fn contention(&self) -> String {
        match self.link.is_empty() {
            true => String::new(),
            false => us(self.contention_us),
        }
    }
}

fn sums_table(sums: &[PathShare]) -> String {
    render(&[
        Column::left("", "critical path", cells(sums, |one| one.what.clone())),
        Column::right("", "time", cells(sums, |one| us(one.time_us))),
        Column::right("", "share", cells(sums, |one| share_text(one.share))),
        Column::right("", "steps", cells(sums, |one| one.count.to_string())),
        Column::right("", "in messages", cells(sums, PathShare::in_messages)),
        Column::right("", "contention", cells(sums, PathShare::contention)),
    ])
}

fn links_table(links: &[PathLink]) -> String {
    render(&[
        Column::left("", "messages bound by", cells(links, |one| of_links(&one.link))),
        Column::right("", "Gbit/s", cells(links, |one| one.rate_gbps.to_string())),
        Column::right("", "time", cells(links, |one| us(one.time_us))),
        Column::right("", "share", cells(links, |one| share_text(one.share))),
        Column::right("", "messages", cells(links, |one| one.messages.to_string())),
        Column::right("", "contention", cells(links, |one| us(one.contention_us))),
    ])
}

fn largest_table(largest: &[PathShare]) -> String {
    render(&[
        Column::left("", "largest parts", cells(largest, |one| one.what.clone())),
        Column::left(
            "",
            "name",
            cells(largest, |one| one.name.clone().unwrap_or_default()),
        ),
        Column::right(
            "",
            "group",
            cells(largest, |one| {
                one.group.map_or_else(String::new, |group| group.to_string())
            }),
        ),
        Column::right("", "time", cells(largest, |one| us(one.time_us))),
        Column::right("", "share", cells(largest, |one| share_text(one.share))),
        Column::right("", "steps", cells(largest, |one| one.count.to_string())),
        Column::right("", "in messages", cells(largest, PathShare::in_messages)),
        Column::left("", "bound by", cells(largest, |one| one.link.clone())),
    ])
}

impl JobWhy {
    /// All of it, in lines of `width`.
    pub fn text(&self, width: usize) -> String {
        let story = layout::paragraph(&self.path.story(&self.job), width);
        let mut text = format!("{story}\n{}", self.path.tables());
        if !self.commands.is_empty() {
            text.push_str("\nwith links twice as fast:\n");
            for command in &self.commands {
                text.push_str(&format!("  {command}\n"));
            }
        }
        text
    }
}

impl Faster {
    /// All of it, in lines of `width`.
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

/// Both by name, those of the first before those of the second alone; of equal names the sum.
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

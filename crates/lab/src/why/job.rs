//! Critical path of an iteration of a job, and the possible effect of faster links: `paceline why RUN --job
//! LABEL`.

use paceline_scenario::{Overrides, Resolved};
use serde::Serialize;

use super::ask::{AskError, Asker, Question};
use crate::files::RunData;
use crate::layout;
use crate::results::{CriticalPath, JobTimes, PathLink, PathRow, PathShare, RunStatus, Summary};
use crate::table::{Column, render};
use crate::text::duration_us;

/// Maximum number of parts listed in the text.
const LISTED: usize = 10;
/// Share of the whole above which a part gets a sentence.
const WORTH_SAYING: f64 = 0.02;

/// Answer about an iteration of a job: its critical path.
#[derive(Clone, Debug, Serialize)]
pub struct JobWhy {
    /// Label of the job.
    pub job: String,
    /// Mean duration of its iterations, in microseconds.
    pub iteration_mean_us: Option<f64>,
    /// Duration of each of its complete iterations, in microseconds.
    pub iterations_us: Vec<f64>,
    /// Critical path of one of them.
    pub path: CriticalPath,
    /// Commands that repeat the run with faster links.
    pub commands: Vec<String>,
    /// True if the extra run was interrupted.
    #[serde(skip)]
    pub partial: bool,
}

impl Question<'_> {
    /// Finds the critical path of a job's iteration: the slowest one, unless `iteration` gives another.
    ///
    /// # Errors
    /// See [`AskError`].
    pub fn job(
        &self,
        label: &str,
        iteration: Option<u32>,
        asker: &mut dyn Asker,
    ) -> Result<JobWhy, AskError> {
        let (summary, partial) = self.summary(label, iteration, asker)?;
        let (job, path) = path_of(&summary, label, iteration)?;
        let commands = path.links.iter().map(|link| {
            let run = self.run;
            let job = match label.contains(char::is_whitespace) {
                true => format!("'{label}'"),
                false => label.to_string(),
            };
            let of = iteration.map_or_else(String::new, |number| format!(" --iteration {number}"));
            format!("paceline why {run} --job {job}{of} --faster {}", link.link)
        });
        let mut commands: Vec<String> = commands.collect();
        // Links of a tier may have several rates.
        let mut seen = paceline_kernel::sorted::SortedSet::new();
        commands.retain(|command| seen.insert(command.clone()));
        Ok(JobWhy {
            job: label.to_string(),
            iteration_mean_us: job.iteration_us.mean,
            iterations_us: job.iterations_us.clone(),
            path: path.clone(),
            commands,
            partial,
        })
    }

    /// Returns the summary of the run, with the path of an iteration of a job. The scenario is run if it has no folder,
    /// or if its folder has the path of another iteration.
    pub(super) fn summary(
        &self,
        label: &str,
        iteration: Option<u32>,
        asker: &mut dyn Asker,
    ) -> Result<(Summary, bool), AskError> {
        let folder = self.folder()?;
        if let Some(data) = folder {
            let Some(number) = iteration.filter(|&number| self.lacks(&data.summary, label, number)) else {
                return Ok((data.summary, false));
            };
            let index = self.run;
            asker.inform(&format!(
                "{index} has the critical path of another iteration: running its scenario again for iteration {number}"
            ));
            let finished = asker.run(&self.with_path_of(iteration)?)?;
            self.check_whole(&data, &finished)?;
            let partial = finished.summary.status == RunStatus::Partial;
            return Ok((finished.summary, partial));
        }
        let finished = asker.run(&self.with_path_of(iteration)?)?;
        let partial = finished.summary.status == RunStatus::Partial;
        Ok((finished.summary, partial))
    }

    /// Returns true if the job has iteration `number` but the summary has the path of another one.
    fn lacks(&self, summary: &Summary, label: &str, number: u32) -> bool {
        let job = summary.jobs.iter().find(|job| job.label == label);
        job.is_some_and(|job| {
            let path = job.path.as_ref();
            let is_by_trace = !job.by_rank.is_empty();
            is_by_trace
                && path.is_some_and(|path| path.iteration != number)
                && (number as usize) < job.iterations_us.len()
        })
    }

    pub(super) fn with_path_of(&self, path_of: Option<u32>) -> Result<Resolved, AskError> {
        let overrides = Overrides {
            path_of,
            ..Overrides::default()
        };
        Ok(crate::load(self.run, &overrides)?)
    }
}

/// Returns the critical path of a job's iteration, if the summary has it.
pub(super) fn path_of<'a>(
    summary: &'a Summary,
    label: &str,
    iteration: Option<u32>,
) -> Result<(&'a JobTimes, &'a CriticalPath), AskError> {
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
    let iterations = job.iterations;
    if let Some(number) = iteration.filter(|&number| u64::from(number) >= iterations.total) {
        return Err(AskError::Refused(format!(
            "job `{label}` has no iteration {number}: expected 0 to {}",
            iterations.total.saturating_sub(1)
        )));
    }
    let path = job.path.as_ref();
    let path = path.filter(|path| iteration.is_none_or(|number| path.iteration == number));
    path.map(|path| (job, path)).ok_or_else(|| {
        let why = match () {
            () if iteration.is_some_and(|number| u64::from(number) >= iterations.completed)
                && iterations.completed > 0 =>
            {
                let ended = iterations.completed;
                return AskError::Refused(format!(
                    "that iteration of job `{label}` did not come to its end: {ended} of {} did",
                    iterations.total
                ));
            }
            () if job.by_rank.is_empty() && job.path.is_some() => {
                "a job by steps has that of its slowest iteration only: leave out --iteration"
            }
            () if job.iterations.completed == 0 => "no iteration came to its end",
            () => "its network computes the ends of ranks only",
        };
        AskError::Refused(format!("job `{label}` has no critical path: {why}"))
    })
}

/// Returns the rows of a run's folder that belong to a job.
pub fn path_rows_of<'a>(data: &'a RunData, label: &'a str) -> impl Iterator<Item = &'a PathRow> {
    let rows = data.tables.rows::<PathRow>().iter();
    rows.filter(move |row| row.job == label)
}

/// Formats the name of links: `host links`, `link 3-17`, `link leaf 1-spine 3`.
pub fn of_links(links: &str) -> String {
    // Names of nodes have a space in them, those of tiers have none.
    let is_one = links.contains(' ') || links.split('-').all(|part| part.parse::<u32>().is_ok());
    match is_one {
        true => format!("link {links}"),
        false => format!("{links} links"),
    }
}

pub(super) fn us(value: f64) -> String {
    duration_us(Some(value))
}

/// Formats a share: `7.6 %`, `83 %`.
pub fn share_text(share: f64) -> String {
    match 100.0 * share {
        0.0 => "0 %".to_string(),
        tiny if tiny < 0.05 => "<0.1 %".to_string(),
        small if small < 9.95 => format!("{small:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// Names a part within a sentence: `all-reduce`, `computing`.
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

    /// Describes the largest parts in a few sentences.
    pub fn story(&self, job: &str, iterations_us: &[f64]) -> String {
        let slowest = iterations_us.iter().copied().fold(0.0, f64::max);
        let own = iterations_us.get(self.iteration as usize);
        let rank = match (iterations_us.len(), own) {
            (2.., Some(own)) if *own == slowest => format!(", the longest of {}", iterations_us.len()),
            (2.., Some(_)) => format!("; the longest of {} took {}", iterations_us.len(), us(slowest)),
            _ => String::new(),
        };
        let mut text = format!(
            "Iteration {} of job `{job}` took {}{rank}.",
            self.iteration,
            us(self.time_us)
        );
        if let Some(rank) = self.rank {
            text.push_str(&format!(" It ended at rank {rank}."));
        }
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

    /// Formats tables of the time by kind, by link, and of its largest parts.
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

pub(super) fn cells<T>(rows: &[T], text: impl Fn(&T) -> String) -> Vec<String> {
    rows.iter().map(text).collect()
}

impl PathShare {
    /// Describes the time in messages, if there are any.
    pub fn in_messages(&self) -> String {
        match self.messages_us {
            0.0 => String::new(),
            time => us(time),
        }
    }

    /// Describes contention, if there can be any.
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

/// Shortens the name of a trace's operation, without its file: `rank 3 send 8 B to 4`, `AllReduce (node 42)`.
pub fn short_operation(name: &str) -> String {
    let inside = || name.strip_suffix(')')?.split_once(" (");
    let Some((place, what)) = inside() else {
        return name.to_string();
    };
    // GOAL names the line, and the rank at the end.
    if let Some((what, rank)) = what.rsplit_once(" of rank ") {
        return format!("rank {rank} {what}");
    }
    match place.rsplit_once(": ") {
        // A trace in the binary form of GOAL has no lines.
        Some((_, place)) => match place.split_once(", operation ") {
            Some((rank, number)) => format!("{rank} {what} (operation {number})"),
            None if what.is_empty() => place.to_string(),
            None => format!("{what} ({place})"),
        },
        None => name.to_string(),
    }
}

fn largest_table(largest: &[PathShare]) -> String {
    render(&[
        Column::left("", "largest parts", cells(largest, |one| one.what.clone())),
        Column::left(
            "",
            "name",
            cells(largest, |one| {
                short_operation(one.name.as_deref().unwrap_or_default())
            }),
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
    /// Formats the whole answer in lines of `width`.
    pub fn text(&self, width: usize) -> String {
        let story = layout::paragraph(&self.path.story(&self.job, &self.iterations_us), width);
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

#[cfg(test)]
mod tests {
    use super::short_operation;

    #[test]
    fn operations_have_short_names() {
        for (name, short) in [
            (
                "traces/x.goal:12 (send 42 B to 3 of rank 0)",
                "rank 0 send 42 B to 3",
            ),
            (
                "x.bin: rank 3, operation 7 (calc 100)",
                "rank 3 calc 100 (operation 7)",
            ),
            ("llm.0.et: node 42 (AllReduce)", "AllReduce (node 42)"),
            ("rank 3 to rank 4", "rank 3 to rank 4"),
            ("", ""),
        ] {
            assert_eq!(short_operation(name), short, "{name}");
        }
    }
}

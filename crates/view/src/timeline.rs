//! Time line of a run: everything that its folder says about times, and the part of it that a window shows.

use std::path::Path;

use paceline_lab::files::{ReadError, Series, collectives_in, names_in, pause_expires_after, read_series};
use paceline_lab::results::Summary;
use serde_json::{Value, json};

use crate::flows::{By, Flows, Shown};
use crate::lanes::{Bar, Lane, incidents, jobs, largest, pauses, queues};

/// Columns of a density, and of a queue.
const BINS_MAX: usize = 1_000;
/// Hits of a search, and flows in a list of neighbours.
const HITS_MAX: usize = 30;

/// Times of a run, as its folder has them.
pub(crate) struct Timeline {
    /// End of the run in ps; at least 1.
    end: u64,
    flows: Flows,
    jobs: Vec<Lane>,
    incidents: Vec<Lane>,
    pauses: Vec<Lane>,
    /// Longest queues, each with its maximum in bytes.
    queues: Vec<(Series, f64)>,
}

impl Timeline {
    /// Reads the folder of a run.
    ///
    /// # Errors
    /// A file is missing or damaged, in words.
    pub(crate) fn read(folder: &Path) -> Result<Self, String> {
        let text = |name: &str| {
            let path = folder.join(name);
            // Opening a pipe of that name would wait for ever.
            if !path.is_file() {
                return Err(format!("there is no {}", path.display()));
            }
            std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
        };
        let summary: Summary =
            serde_json::from_str(&text("summary.json")?).map_err(|error| format!("summary.json: {error}"))?;
        let end = ((summary.simulated_s * 1e12).round() as u64).max(1);
        let said = |error: ReadError| error.to_string();
        let flows = Flows::read(folder, end)?;
        let file = folder.join("series.parquet");
        let series = match file.is_file() {
            true => read_series(&file).map_err(|error| format!("series.parquet: {error}"))?,
            false => Vec::new(),
        };
        let scenario = text("scenario.toml")?;
        let expires_after = pause_expires_after(&scenario).unwrap_or(u64::MAX);
        let names = names_in(folder, &scenario).map_err(said)?;
        let mut pauses = pauses(folder, &series, expires_after, end).map_err(|error| error.to_string())?;
        for lane in &mut pauses {
            lane.name = names.entity(&lane.name);
        }
        let mut queues = queues(series);
        for (series, _) in &mut queues {
            series.entity = names.entity(&series.entity);
        }
        Ok(Self {
            end,
            flows,
            jobs: jobs(&summary, &collectives_in(folder).map_err(said)?, end),
            incidents: incidents(&summary, end),
            pauses,
            queues,
        })
    }

    /// Returns what does not depend on the window.
    pub(crate) fn about(&self) -> Value {
        // A run may go on long after its last flow.
        let busy = self.flows.last_end().unwrap_or(self.end).min(self.end);
        json!({
            "end": self.end, "busy": busy, "flows": self.flows.all.len(), "absent": self.flows.absent,
            "legends": self.flows.legends(),
        })
    }

    /// Returns the part of the time line between two times, for a picture of so many columns.
    pub(crate) fn window(&self, from: u64, to: u64, columns: usize, by: By) -> Value {
        let from = from.min(self.end - 1);
        let to = to.clamp(from + 1, self.end.max(from + 1));
        let bins = columns
            .clamp(1, BINS_MAX)
            .min(usize::try_from(to - from).unwrap_or(BINS_MAX));
        let (count, shown) = self.flows.window((from, to), bins, by);
        let flows = match shown {
            Shown::Bars(rows, bars) => {
                let bar = |(row, index): (usize, usize)| {
                    let flow = &self.flows.all[index];
                    json!([flow.id, flow.start, flow.end, row, self.flows.color(index, by)])
                };
                json!({ "count": count, "rows": rows, "bars": bars.into_iter().map(bar).collect::<Vec<_>>() })
            }
            Shown::Density(colors) => json!({ "count": count, "density": colors }),
        };
        let lanes = |all: &[Lane]| -> Vec<Value> {
            let lane = |lane: &Lane| json!({ "name": lane.name, "bars": lane.window(from, to) });
            all.iter().map(lane).collect()
        };
        let queue = |(series, most): &(Series, f64)| json!({ "name": series.entity, "max": most, "values": largest(series, (from, to), bins) });
        json!({
            "from": from, "to": to, "bins": bins, "flows": flows, "jobs": lanes(&self.jobs),
            "incidents": lanes(&self.incidents), "pauses": lanes(&self.pauses),
            "queues": self.queues.iter().map(queue).collect::<Vec<_>>(),
        })
    }

    /// Searches a flow by number, flows by `source->receiver`, labels, ports, jobs and incidents by a part of their
    /// name.
    pub(crate) fn find(&self, query: &str) -> Vec<Value> {
        let query = query.trim();
        if query.is_empty() {
            return Vec::new();
        }
        let mut hits = Vec::new();
        let number = |text: &str| text.trim().trim_start_matches("flow").trim().parse::<u32>().ok();
        let hit_of_flow = |index: usize| {
            let flow = &self.flows.all[index];
            let text = format!("flow {}: {} to {}", flow.id, flow.src, flow.dst);
            json!({ "text": text, "from": flow.start, "to": flow.end, "flow": flow.id })
        };
        if let Some(index) = number(query).and_then(|id| self.flows.with_id(id)) {
            hits.push(hit_of_flow(index));
        }
        if let Some((src, dst)) = query
            .split_once("->")
            .and_then(|(a, b)| Some((number(a)?, number(b)?)))
        {
            let indices = 0..self.flows.all.len();
            let between =
                indices.filter(|&index| self.flows.all[index].src == src && self.flows.all[index].dst == dst);
            hits.extend(between.take(HITS_MAX).map(hit_of_flow));
        }
        let wanted = query.to_lowercase();
        let is_meant = |name: &str| name.to_lowercase().contains(&wanted);
        for (label, name) in self
            .flows
            .labels
            .all
            .iter()
            .enumerate()
            .filter(|(_, name)| is_meant(name))
            .take(HITS_MAX)
        {
            let of_label = || self.flows.all.iter().filter(|flow| flow.label as usize == label);
            let (from, to) = (
                of_label().map(|flow| flow.start).min(),
                of_label().map(|flow| flow.end).max(),
            );
            if let (Some(from), Some(to)) = (from, to) {
                let text = format!("label {name}: {} flows", self.flows.labels.flows[label]);
                hits.push(json!({ "text": text, "from": from, "to": to }));
            }
        }
        for (series, _) in self.queues.iter().filter(|(series, _)| is_meant(&series.entity)) {
            if let (Some(&(from, _)), Some(&(to, _))) = (series.points.first(), series.points.last()) {
                hits.push(json!({ "text": format!("queue of {}", series.entity), "from": from, "to": to.max(from + 1) }));
            }
        }
        for (kind, lanes) in self.lanes() {
            for lane in lanes {
                let bars: Vec<&Bar> = match is_meant(&lane.name) {
                    true => lane.bars.iter().collect(),
                    false => lane.bars.iter().filter(|bar| is_meant(&bar.text)).collect(),
                };
                let (from, to) = (
                    bars.iter().map(|bar| bar.from).min(),
                    bars.iter().map(|bar| bar.to).max(),
                );
                if let (Some(from), Some(to)) = (from, to) {
                    let text = format!("{kind} {}: {}", lane.name, bars.len());
                    hits.push(json!({ "text": text, "from": from, "to": to }));
                }
            }
        }
        hits.truncate(HITS_MAX);
        hits
    }

    fn lanes(&self) -> [(&'static str, &[Lane]); 3] {
        [
            ("job", &self.jobs),
            ("incidents of", &self.incidents),
            ("pauses of", &self.pauses),
        ]
    }

    /// Returns a flow and what overlaps with it; `None` if there is no such flow.
    pub(crate) fn flow(&self, id: u32) -> Option<Value> {
        let index = self.flows.with_id(id)?;
        let flow = &self.flows.all[index];
        let mut item = self.overlaps(flow.start, flow.end, Some(index));
        item["is"] = self.flows.described(index);
        Some(item)
    }

    /// Returns what overlaps with an interval: of flows those to the receiver of `of` if that is given, the ones with
    /// the longest overlap first.
    pub(crate) fn overlaps(&self, from: u64, to: u64, of: Option<usize>) -> Value {
        let to = to.max(from.saturating_add(1));
        let shared = |index: usize| self.flows.all[index].end.min(to) - self.flows.all[index].start.max(from);
        let mut count = 0;
        let mut near: Vec<usize> = Vec::new();
        let longest_first = |near: &mut Vec<usize>| {
            near.sort_by_key(|&index| (std::cmp::Reverse(shared(index)), index));
            near.truncate(HITS_MAX);
        };
        let mut to_receiver = 0;
        for index in self.flows.between(from, to).filter(|&index| Some(index) != of) {
            count += 1;
            if of.is_none_or(|of| self.flows.all[of].dst == self.flows.all[index].dst) {
                to_receiver += 1;
                near.push(index);
                if near.len() > 100 * HITS_MAX {
                    longest_first(&mut near);
                }
            }
        }
        longest_first(&mut near);
        let lane = |(kind, lane): (&str, &Lane)| {
            let (mut bars, mut longest): (usize, Option<&Bar>) = (0, None);
            let mut time = 0;
            for bar in lane.between(from, to) {
                bars += 1;
                time += bar.to.min(to) - bar.from.max(from);
                longest = longest
                    .filter(|known| known.to - known.from >= bar.to - bar.from)
                    .or(Some(bar));
            }
            let text = longest.map(|bar| bar.text.as_str())?;
            Some(json!({ "kind": kind, "name": lane.name, "bars": bars, "time": time, "text": text }))
        };
        let lanes = self
            .lanes()
            .into_iter()
            .flat_map(|(kind, lanes)| lanes.iter().map(move |lane| (kind, lane)));
        json!({
            "from": from, "to": to, "count": count, "to_receiver": to_receiver,
            "flows": near.into_iter().map(|index| self.flows.described(index)).collect::<Vec<_>>(),
            "lanes": lanes.filter_map(lane).collect::<Vec<_>>(),
        })
    }
}

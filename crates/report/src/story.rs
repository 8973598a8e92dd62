//! Summary of a page in words.

use paceline_kernel::order::Sort as _;
use serde::Serialize;

use paceline_lab::files::QUEUE;
use paceline_lab::files::RunData;
use paceline_lab::files::ports::QUEUE_MAX;
use paceline_lab::results::{RunStatus, Summary, WORTH_SAYING};
use paceline_lab::text::{bytes, duration_us, number};

/// Key number with an explanation.
#[derive(Serialize)]
pub(super) struct Tile {
    name: &'static str,
    value: String,
    note: String,
}

/// Returns a paragraph about the runs.
pub(super) fn story(summaries: &[&Summary], names: &[String]) -> String {
    match summaries {
        [] => String::new(),
        [one] => of_one(one),
        several => of_several(several, names),
    }
}

/// Describes the base of slowdowns, to follow "over".
pub(super) fn alone(summaries: &[&Summary]) -> String {
    let mut authors: Vec<Option<&str>> = summaries.iter().map(|s| s.ideal_fct.author()).collect();
    authors.dedup();
    match authors[..] {
        [] | [None] => "that of the same flow alone in the network".to_string(),
        [Some(author)] => format!("what {author} gives for a flow alone, and at least 1"),
        _ => "what the formulas of the runs' fidelities give for a flow alone".to_string(),
    }
}

fn flows(count: u64) -> String {
    if count == 1 {
        "1 flow".to_string()
    } else {
        format!("{count} flows")
    }
}

fn of_one(s: &Summary) -> String {
    let total = flows(s.flows.total);
    let mut text = if s.flows.completed == 0 {
        format!("{total} under {}, none of which finished.", s.scheme)
    } else if s.flows.completed == s.flows.total {
        format!(
            "{total} under {}, the last of which finished {} after the first had started.",
            s.scheme,
            duration_us(s.makespan_us)
        )
    } else {
        format!(
            "{total} under {}, of which {} finished within {}.",
            s.scheme,
            s.flows.completed,
            duration_us(s.makespan_us)
        )
    };
    if let (Some(p50), Some(p99)) = (s.fct_slowdown.p50, s.fct_slowdown.p99) {
        text.push_str(&format!(
            " The median flow took {} times as long as {}; the 99th percentile is {}.",
            number(Some(p50)),
            match s.ideal_fct.author() {
                Some(author) => format!("{author} gives for it alone"),
                None => "it would have alone in the network".to_string(),
            },
            number(Some(p99))
        ));
    }
    // The iteration time is the purpose of a job, so it comes first.
    let jobs = s.jobs.iter().filter(|job| job.iteration_us.mean.is_some());
    let jobs = jobs.take(JOBS_SHOWN).map(|job| {
        let mut text = format!(
            "An iteration of {} took {} on average ({} at the 99th percentile), of which hosts did not compute for {}. ",
            job.label,
            duration_us(job.iteration_us.mean),
            duration_us(job.iteration_us.p99),
            share(job.communication)
        );
        if let Some((rank, path)) = job.slowest_rank().zip(job.path.as_ref()) {
            text.push_str(&format!(
                "The slowest one took {} and ended at rank {rank}",
                duration_us(Some(path.time_us))
            ));
            if let Some(alone) = job.alone_us() {
                text.push_str(&format!("; without contention its critical path would take {}", duration_us(Some(alone))));
            }
            text.push_str(". ");
        }
        text
    });
    let services = s.services.iter().filter(|service| service.ttft_us.mean.is_some());
    let services = services.take(JOBS_SHOWN).map(|service| {
        let line = service.headline();
        format!("{}{}. ", line[..1].to_uppercase(), &line[1..])
    });
    text.insert_str(0, &jobs.chain(services).collect::<String>());
    if s.status == RunStatus::Partial {
        text.push_str(" The run was interrupted.");
    }
    text
}

/// Describes position and time of a run's longest queue, and its first pause, if its series show them.
pub(super) fn whereabouts(run: &RunData) -> Option<String> {
    let start = run.flows.first_start_ps();
    let span = |ps: u64| duration_us(Some(ps as f64 / 1e6));
    // Times are those of the files; if flows start late, the last digits matter.
    let time = |ps: u64| match start {
        0 => span(ps),
        _ => format!(
            "{} ({} after the first flow started)",
            span(ps),
            span(ps.saturating_sub(start))
        ),
    };
    let recorded = |metric: &str| {
        let all = run.series.iter().filter(|one| one.metric == metric);
        let mut best: Option<(f64, u64, &str)> = None;
        for one in all {
            for (i, &(at, _)) in one.points.iter().enumerate() {
                let value = one.range(i).max;
                // The earliest of equal maxima, so that the order of the series does not matter.
                if best.is_none_or(|(most, first, _)| (-value, at) < (-most, first)) {
                    best = Some((value, at, &one.entity));
                }
            }
        }
        best.filter(|best| best.0 > 0.0)
    };
    // Samples miss the peaks between them, so recorded maxima are preferred.
    let (most, at, port) = recorded(QUEUE_MAX).or_else(|| recorded(QUEUE))?;
    let (from, to) = port.strip_prefix("port ")?.split_once("->")?;
    let node = |text: &str| -> Option<String> {
        let id: u32 = text.split('.').next()?.parse().ok()?;
        (!run.names.is_empty()).then(|| run.names.name(id))
    };
    let mut text = format!(
        "The longest queue, {}, was at {} towards {}, at {}.",
        bytes(most as u64),
        node(from)?,
        node(to)?,
        time(at)
    );
    if let Some(&first) = run.pauses_ns.iter().min() {
        text.push_str(&format!(
            " PFC paused ports {}, first at {}.",
            match run.summary.pfc.pauses {
                1 => "once".to_string(),
                times => format!("{times} times"),
            },
            time(first * 1000)
        ));
    }
    Some(text)
}

fn of_several(all: &[&Summary], names: &[String]) -> String {
    let totals_equal = all
        .windows(2)
        .all(|pair| pair[0].flows.total == pair[1].flows.total);
    let mut text = if totals_equal {
        format!("{} in each of {} runs.", flows(all[0].flows.total), all.len())
    } else {
        format!("{} runs.", all.len())
    };
    // Unfinished flows are missing from means: a scheme that finishes fewer flows would look better.
    let whole = all.windows(2).all(|pair| pair[0].flows == pair[1].flows);
    let extremes = |value: fn(&Summary) -> Option<f64>| {
        let mut order: Vec<(f64, &String)> = all
            .iter()
            .zip(names)
            .filter_map(|(s, name)| Some((value(s)?, name)))
            .collect();
        order.order_by(|a, b| a.0.total_cmp(&b.0));
        let (&low, &high) = (order.first()?, order.last()?);
        (whole && low.0 < high.0).then_some((low, high))
    };
    let job = all[0].jobs.first().map(|job| job.label.as_str());
    let is_first = |s: &&Summary| s.jobs.first().map(|job| job.label.as_str()) == job;
    let iterations = extremes(|s| s.jobs.first()?.iteration_us.mean);
    if let (Some(label), Some((low, high))) = (job.filter(|_| all.iter().all(is_first)), iterations) {
        // The time of an iteration is what a job is run for, so it comes before the flows.
        let sentence = format!(
            "An iteration of {label} is shortest with {} ({}) and longest with {} ({}). ",
            low.1,
            duration_us(Some(low.0)),
            high.1,
            duration_us(Some(high.0))
        );
        text.insert_str(0, &sentence);
    }
    if let Some((low, high)) = extremes(|s| s.fct_slowdown.mean) {
        text.push_str(&format!(
            " Mean slowdown is smallest with {} ({}) and largest with {} ({}).",
            low.1,
            number(Some(low.0)),
            high.1,
            number(Some(high.0))
        ));
    }
    if let Some((low, high)) = extremes(|s| s.makespan_us) {
        text.push_str(&format!(
            " The last flow finished first with {} ({}) and last with {} ({}).",
            low.1,
            duration_us(Some(low.0)),
            high.1,
            duration_us(Some(high.0))
        ));
    }
    text
}

/// Largest number of jobs in the summary.
const JOBS_SHOWN: usize = 2;

/// Formats a share in percent.
fn share(share: Option<f64>) -> String {
    share.map_or_else(|| number(None), |share| format!("{:.0}%", 100.0 * share))
}

/// Returns the key numbers.
pub(super) fn tiles(s: &Summary) -> Vec<Tile> {
    let tile = |name, value: String, note: String| Tile { name, value, note };
    let mut tiles: Vec<Tile> = (s.jobs.iter().take(JOBS_SHOWN))
        .map(|job| {
            tile(
                "Iteration, mean",
                duration_us(job.iteration_us.mean),
                format!(
                    "{}: {} exposed, p99 {}",
                    job.label,
                    share(job.communication),
                    duration_us(job.iteration_us.p99)
                ),
            )
        })
        .collect();
    tiles.extend(s.services.iter().take(JOBS_SHOWN).map(|service| {
        tile(
            "First token, p99",
            duration_us(service.ttft_us.p99),
            format!(
                "{}: mean {}, cache {} of it",
                service.label,
                duration_us(service.ttft_us.mean),
                share(service.kv_share)
            ),
        )
    }));
    tiles.extend([
        tile(
            "Flows finished",
            s.flows.completed.to_string(),
            format!("of {}", s.flows.total),
        ),
        tile(
            "Slowdown, p99",
            number(s.fct_slowdown.p99),
            format!("median {}", number(s.fct_slowdown.p50)),
        ),
        tile(
            "Makespan",
            duration_us(s.makespan_us),
            format!("mean {}", duration_us(s.fct_us.mean)),
        ),
        tile(
            "Round trip, p99",
            duration_us(s.rtt_per_ack_us.p99),
            format!(
                "mean {}, empty {}",
                duration_us(s.rtt_per_ack_us.mean),
                duration_us(Some(s.base_rtt_us))
            ),
        ),
        tile(
            "Largest queue",
            bytes(s.queue_bytes.max),
            s.queue_bytes
                .mean
                .map_or_else(String::new, |mean| format!("mean {}", bytes(mean as u64))),
        ),
        tile(
            "PFC pauses",
            s.pfc.pauses.to_string(),
            format!("{} packets dropped", s.drops),
        ),
    ]);
    let before = s.unscheduled.filter(|before| before.share >= WORTH_SAYING);
    // Rounded down, so that 100 % means all bytes.
    tiles.extend(before.map(|before| {
        tile(
            "Unscheduled bytes",
            format!("{:.0}%", (before.share * 100.0).floor()),
            format!("of {}", bytes(before.sent_bytes)),
        )
    }));
    tiles
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_lab::sample;

    fn summary(scheme: &str) -> Summary {
        let (mut input, outcome) = sample::incast();
        input.scheme = scheme.into();
        sample::finished(&input, outcome).summary
    }

    #[test]
    fn the_longest_queue_has_a_place() {
        let (input, outcome) = sample::incast();
        let mut run = RunData::new(&input, &sample::finished(&input, outcome));
        assert_eq!(
            whereabouts(&run).unwrap(),
            "The longest queue, 2.10 KB, was at leaf 0 towards host 2, at 2.00 ms (3.00 µs after the first flow \
             started). PFC paused ports once, first at 2.00 ms (4.00 µs after the first flow started)."
        );
        run.names = Default::default();
        assert_eq!(whereabouts(&run), None);
        run.series.clear();
        assert_eq!(whereabouts(&run), None);
    }

    #[test]
    fn stories() {
        let (a, mut b) = (summary("dcqcn"), summary("hpcc"));
        b.fct_slowdown.mean = Some(2.5);
        let names = ["dcqcn".to_string(), "hpcc".to_string()];
        let got = [
            story(&[&a], &names[..1]),
            story(&[&a, &b], &names),
            story(&[&a, &a], &names),
        ];
        insta::assert_snapshot!("stories", got.join("\n"));
    }
}

//! Means, differences, and runs that are not repeats.

use super::*;
use crate::results::Machine;
use crate::sample;

fn part(scheme: &str, seed: u64, p99: f64) -> (Summary, FlowRows) {
    let (input, mut outcome) = sample::incast();
    // The second scheme is twice as slow.
    if scheme == "dcqcn" {
        for flow in &mut outcome.flows {
            flow.fct = flow.fct + flow.fct;
        }
    }
    let mut summary = sample::summarised(&input, &outcome, Machine::default());
    summary.scheme = scheme.into();
    summary.seed = seed;
    summary.version = "1.2.3".into();
    summary.fct_slowdown.p99 = Some(p99);
    summary.digest = format!("{p99}");
    (summary, sample::rows(&input, &outcome))
}

fn parts<'a>(runs: &'a [(Summary, FlowRows)]) -> Vec<Part<'a>> {
    let part = |(summary, flows): &'a (Summary, FlowRows)| Part {
        folder: format!("{}-{}", summary.scheme, summary.seed),
        summary,
        flows,
        fixed: false,
    };
    runs.iter().map(part).collect()
}

fn two_schemes() -> Vec<(Summary, FlowRows)> {
    vec![
        part("hpcc", 1, 10.0),
        part("hpcc", 2, 20.0),
        part("hpcc", 3, 30.0),
        part("dcqcn", 1, 12.0),
        part("dcqcn", 2, 22.0),
        part("dcqcn", 3, 32.5),
    ]
}

#[test]
fn by_hand() {
    let runs = two_schemes();
    let all = Repeats::of(&parts(&runs), &[1, 2, 3]).unwrap();
    assert_eq!((all.repeats, all.seeds.as_slice()), (3, &[1, 2, 3][..]));
    let p99 = all.intervals[0].metrics["fct_slowdown.p99"];
    // Standard deviation 10, t(2) = 4.303.
    assert_eq!(p99.mean, 20.0);
    assert!((p99.half_width().unwrap() - 4.303 * 10.0 / 3f64.sqrt()).abs() < 1e-2);
    let dcqcn = &all.paired[0];
    assert_eq!(
        (dcqcn.scheme.as_str(), dcqcn.reference.as_str()),
        ("dcqcn", "hpcc")
    );
    let p99 = dcqcn.metrics["fct_slowdown.p99"];
    assert!((p99.difference.mean - 6.5 / 3.0).abs() < 1e-12 && p99.clear);
    let flows = dcqcn.flows.unwrap();
    // Two completed flows in each of three seeds, all twice as slow.
    assert_eq!((flows.flows, flows.p5, flows.slower), (6, 2.0, 1.0));
    assert!((flows.ratio.unwrap().mean - 2.0).abs() < 1e-12);
    // Reading the file back gives the same, except for the last digit of numbers.
    let text = serde_json::to_string(&all).unwrap();
    let again: Repeats = serde_json::from_str(&text).unwrap();
    assert_eq!((again.runs.len(), &again.runs[5].folder[..]), (6, "dcqcn-3"));
    let difference = again.paired[0].metrics["fct_slowdown.p99"].difference;
    let lo = |of: &Interval| of.ends().unwrap().0;
    assert!((lo(&difference) - lo(&p99.difference)).abs() < 1e-9);
}

#[test]
fn tables() {
    let runs = two_schemes();
    insta::assert_snapshot!(
        "repeats",
        crate::table::repeats(&Repeats::of(&parts(&runs), &[1, 2, 3]).unwrap(), 100)
    );
}

#[test]
fn warnings() {
    let mut runs = two_schemes();
    runs.iter_mut()
        .skip(3)
        .for_each(|(summary, _)| summary.digest = "same".into());
    insta::assert_snapshot!(
        "repeats_warnings",
        Repeats::of(&parts(&runs), &[1, 2, 3]).unwrap().texts().join("\n")
    );
}

/// One run stands for all seeds: for one scheme, or for all.
#[test]
fn seeds_that_change_nothing() {
    let mut runs = two_schemes();
    // Known beforehand: there is one run. Found afterwards: all are the same.
    runs.drain(1..3);
    let mut mixed = parts(&runs);
    mixed[0].fixed = true;
    let all = Repeats::of(&mixed, &[1, 2, 3]).unwrap();
    assert!(all.seed_matters && !all.intervals[0].seed_matters && all.intervals[1].seed_matters);
    assert_eq!((all.runs.len(), all.repeats, all.asked), (4, 3, 3));
    let p99 = all.paired[0].metrics["fct_slowdown.p99"];
    // 2, 12 and 22.5 more than the 10 that every seed gives.
    assert!((p99.difference.mean - 36.5 / 3.0).abs() < 1e-12 && !p99.constant);
    assert_eq!(all.intervals[0].metrics["fct_slowdown.p99"].n, 1);
    assert!(
        all.texts()
            .iter()
            .any(|text| text.starts_with("hpcc: the seed changes nothing"))
    );

    let mut same = two_schemes();
    for (summary, _) in &mut same {
        let p99 = if summary.scheme == "hpcc" { 10.0 } else { 12.0 };
        summary.fct_slowdown.p99 = Some(p99);
        summary.digest = format!("{p99}");
    }
    let all = Repeats::of(&parts(&same), &[1, 2, 3]).unwrap();
    assert_eq!(
        (all.seed_matters, all.runs.len(), all.seeds.as_slice()),
        (false, 2, &[1][..])
    );
    assert!(all.intervals.is_empty() && all.paired.is_empty());
    assert!(all.texts().iter().any(|text| text.contains("represents all 3")));
    // Equal digests alone are not enough: the flows have to be the same.
    same[1].1 = same[1].1.changed(|flows| flows[0].fct_ps = Some(1));
    assert!(Repeats::of(&parts(&same), &[1, 2, 3]).unwrap().intervals[0].seed_matters);
}

/// Runs a job next to flows with random starts, under two schemes with two seeds each.
#[test]
fn iterations_of_jobs() {
    let text = "duration = '3ms'\n[topology.star]\nhosts = 6\n[cc]\n[[workload]]\nstart-jitter = '40us'\n\
         incast = { fan-in = 3, receiver = 2, size = '200KB' }\n[[job]]\nlabel = 'llm'\nhosts = '1..2'\n\
         iterations = 2\n[[job.step]]\ncompute = '20us'\nall-reduce = { size = '100KB' }\n\
         [[job]]\nlabel = 'late'\nhosts = '3..4'\nstart = '9ms'\n[[job.step]]\nall-gather = {}\n";
    let run = |scheme: &str, seed: u64| {
        let overrides = paceline_scenario::Overrides {
            scheme: Some(scheme.into()),
            seed: Some(seed),
            ..Default::default()
        };
        let input = paceline_scenario::load_text("test.toml", text, &overrides).unwrap();
        crate::run::execute(&input, &mut |_| crate::run::Control::Continue).unwrap()
    };
    let runs = [("hpcc", 1), ("hpcc", 2), ("dcqcn", 1), ("dcqcn", 2)].map(|(scheme, seed)| run(scheme, seed));
    fn part(run: &crate::run::Finished) -> Part<'_> {
        Part {
            folder: String::new(),
            summary: &run.summary,
            flows: &run.flows,
            fixed: false,
        }
    }
    let parts = [part(&runs[0]), part(&runs[1]), part(&runs[2]), part(&runs[3])];
    let all = Repeats::of(&parts, &[1, 2]).unwrap();
    let mean = |i: usize| runs[i].summary.jobs[0].iteration_us.mean.unwrap();
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * b.abs(), "{a} {b}");
    let of = |i: usize, what: &str| all.intervals[i].metrics[&format!("jobs.llm.{what}")];
    let key = "iteration_us.mean";
    close(of(0, key).mean, (mean(0) + mean(1)) / 2.0);
    close(of(1, key).mean, (mean(2) + mean(3)) / 2.0);
    assert!(of(0, key).half_width().is_some() && of(0, "communication").mean > 0.0);
    close(of(0, "exposed_us").mean, of(0, key).mean - 20.0);
    let paired = &all.paired[0].metrics["jobs.llm.iteration_us.mean"];
    close(paired.difference.mean, of(1, key).mean - of(0, key).mean);
    let bus = all.intervals[0].metrics["collectives.llm/all-reduce.busbw_gbps"];
    close(bus.mean, {
        let of = |i: usize| {
            crate::results::collective_totals(&runs[i].summary)[0]
                .busbw_gbps
                .unwrap()
        };
        (of(0) + of(1)) / 2.0
    });
    // No iteration of that job ended.
    let known = |start: &str| all.intervals[0].metrics.keys().any(|key| key.starts_with(start));
    assert!(known("jobs.llm.") && !known("jobs.late.") && !known("collectives.late"));
    let text = crate::table::repeats(&all, 120);
    assert!(
        text.contains("by job, mean over the seeds\njob  scheme"),
        "{text}"
    );
    // Metrics from before have none.
    let json = serde_json::to_value(&all).unwrap();
    let again: Repeats = serde_json::from_value(json).unwrap();
    assert_eq!(again, all);
}

#[test]
fn what_does_not_vary_is_not_clear() {
    let mut runs = two_schemes();
    for (summary, _) in &mut runs {
        summary.pfc.pauses = if summary.scheme == "hpcc" { 5 } else { 3 };
    }
    let all = Repeats::of(&parts(&runs), &[1, 2, 3]).unwrap();
    let pauses = all.paired[0].metrics["pfc.pauses"];
    assert_eq!(
        (pauses.difference.mean, pauses.constant, pauses.clear),
        (-2.0, true, false)
    );
    let text = crate::table::repeats(&all, 100);
    let row = text.lines().rfind(|line| line.contains("pauses")).unwrap();
    assert!(
        row.contains("-2  the same with every seed") && !row.contains('*'),
        "{row}"
    );
    assert!(!text.contains("-2 to -2"), "{text}");
}

#[test]
fn what_are_no_repeats() {
    let mut runs = two_schemes();
    assert!(Repeats::of(&[], &[1, 2]).is_none());
    assert!(Repeats::of(&parts(&runs)[..1], &[1]).is_none());
    assert!(Repeats::of(&parts(&runs)[..5], &[1, 2, 3]).is_none());
    runs[4].0.status = RunStatus::Partial;
    assert!(Repeats::of(&parts(&runs), &[1, 2, 3]).is_none());
}

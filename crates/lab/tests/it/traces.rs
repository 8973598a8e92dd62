//! Jobs by traces, on the packet network and on cost models.

use std::path::PathBuf;

use paceline_lab::results::{JobTimes, RunStatus, Summary};
use paceline_lab::run::{Control, Finished, execute};
use paceline_scenario::{Overrides, load_text};

pub(crate) fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../traces/tests/data")
        .join(name)
}

pub(crate) fn text(text: &str) -> String {
    let path = |name: &str| data(name).canonicalize().unwrap_or_else(|_| data(name));
    let folder = path("");
    text.replace("DATA", folder.to_str().unwrap())
}

pub(crate) fn run(scenario: &str) -> Finished {
    let input = load_text("traces.toml", &text(scenario), &Overrides::default()).unwrap();
    execute(&input, &mut |_| Control::Continue).unwrap()
}

pub(crate) fn refused(scenario: &str) -> String {
    let error = load_text("traces.toml", &text(scenario), &Overrides::default()).unwrap_err();
    error.to_string()
}

pub(crate) fn ends(job: &JobTimes) -> Vec<u64> {
    let ns = |seconds: f64| (seconds * 1e9).round() as u64;
    job.by_rank.iter().map(|rank| ns(rank.end_s)).collect()
}

const STAR: &str = "duration = '10ms'\ncheck = true\ntopology.star.hosts = 16\ncc.scheme = 'none'\n";

/// A message of one byte, its receive posted: 48 + 1 bytes at 100 Gbit/s, twice, and two links of 1 us.
#[test]
fn a_message_by_hand() {
    let goal = tempfile::NamedTempFile::new().unwrap();
    let program = "num_ranks 2\nrank 0 {\na: calc 500\nb: send 1b to 1 tag 3\nb requires a\n}\n\
                   rank 1 {\na: recv 1b from 0 tag 3\nb: calc 250\nb requires a\n}\n";
    std::fs::write(goal.path(), program).unwrap();
    let job = format!(
        "[[job]]\nhosts = [1, 2]\ncompute-scale = 2.0\ngoal = {:?}\n",
        goal.path()
    );
    let done = run(&format!("{STAR}{job}"));
    let [job] = &done.summary.jobs[..] else {
        panic!("{:?}", done.summary.jobs)
    };
    let way = 2.0 * (49.0 * 8.0 / 100.0 + 1000.0);
    let close = |seconds: f64, ns: f64| assert!((seconds * 1e9 - ns).abs() < 1e-3, "{seconds} {ns}");
    close(job.by_rank[0].end_s, 1000.0);
    close(job.by_rank[1].end_s, 1000.0 + way + 500.0);
    let rank = job.by_rank[1];
    let parts = [rank.compute_us, rank.communicating_us, rank.waiting_us];
    let expected = [0.5, (1000.0 + way) / 1e3, 0.0];
    for (part, expected) in parts.iter().zip(expected) {
        assert!((part - expected).abs() < 1e-6, "{parts:?}");
    }
    assert_eq!((job.iterations.total, job.iterations.completed), (1, 1));
}

/// Results of LogGOPSim and ATLAHS.
#[test]
fn loggops_gives_the_answers_of_both_programs() {
    let job = |more: &str| {
        format!("{STAR}[[job]]\ngoal = 'DATA/goal/dissemination_16.bin'\nnetwork = 'loggops'\n{more}")
    };
    let done = run(&job(""));
    assert_eq!(ends(&done.summary.jobs[0]), [4 * (2 * 1500 + 2500); 16]);
    assert_eq!(done.summary.jobs[0].iterations_us, [22.0]);
    // Messages of a cost model are not flows.
    assert!(done.flows.is_empty() && done.outcome.counters.data_hops == 0);
    let done = run(&job(
        "start = '1us'\nrules = { variant = 'atlahs', latency = '1us', gap = '50ns', overhead = '100ns' }\n",
    ));
    assert_eq!(
        ends(&done.summary.jobs[0]),
        [1000 + 4 * (2 * 100 + 1000 + 50); 16]
    );
    let deadlock = |eager: &str| {
        format!(
            "{STAR}[[job]]\ngoal = 'DATA/goal/damaged/rendezvous_deadlock.goal'\nnetwork = 'loggops'\nrules = {{ eager = '{eager}' }}\n"
        )
    };
    assert!(refused(&deadlock("65535B")).contains("wait"));
    assert_eq!(run(&deadlock("100000B")).summary.status, RunStatus::Completed);
    let message = refused(&job("rules = { latency = '1500ps' }\n"));
    assert!(message.contains("expected whole nanoseconds"), "{message}");
}

/// Result of a test in ASTRA-sim's repository.
#[test]
fn chunks_give_the_answer_of_astra_sim() {
    let job = "[[job]]\nchakra = 'DATA/chakra/microbenchmarks/all_reduce/8npus_1MB/all_reduce'\nnetwork = 'chunks'\n\
               rules = { system = 'DATA/chakra/systems/rt_template.json', links = 'DATA/chakra/networks/Ring_8npus.yml' }\n";
    let done = run(&format!("{STAR}{job}"));
    assert_eq!(ends(&done.summary.jobs[0]), [117_780; 8]);
    let [one] = &done.summary.collectives[..] else {
        panic!("{:?}", done.summary.collectives)
    };
    assert_eq!(one.label, "job-0/all-reduce");
    assert_eq!(one.time_us, Some(117.78));
    let missing = refused(&format!("{STAR}{}", job.replace("rules =", "# ")));
    assert!(missing.contains("needs `links`"), "{missing}");
}

const BOTH: &str = "duration = '20ms'\ncc.scheme = 'dcqcn'\n[topology.leaf-spine]\nleaves = 4\nspines = 2\nhosts-per-leaf = 4\n\
    [[workload]]\nincast = { receiver = 0, fan-in = 5, size = '100KB' }\n\
    [[job]]\nlabel = 'ring'\nstart = '20us'\niterations = 2\n\
    chakra = 'DATA/chakra/microbenchmarks/all_reduce/8npus_1MB/all_reduce'\n\
    [[job]]\nlabel = 'mpi'\nshare-hosts = true\ngoal = 'DATA/goal/dissemination_16.goal'\n\
    [[job]]\nlabel = 'steps'\nhosts = '8..11'\nshare-hosts = true\n[[job.step]]\nall-gather = { size = '40KB' }\n";

/// Jobs from traces of two formats, a job of steps and an incast share a network, with any number of threads.
#[test]
fn jobs_of_several_formats_share_a_network() {
    let done = run(BOTH);
    let summary = &done.summary;
    assert_eq!(summary.status, RunStatus::Completed);
    let labels: Vec<&str> = summary.jobs.iter().map(|job| job.label.as_str()).collect();
    assert_eq!(labels, ["ring", "mpi", "steps"]);
    for job in &summary.jobs {
        assert_eq!(job.iterations.total, job.iterations.completed, "{}", job.label);
    }
    let label = |name: &str| done.flows.rows().filter(|row| row.label == name).count();
    assert_eq!(
        ["incast", "ring/all-reduce", "mpi/send", "steps/all-gather"].map(label),
        [5, 2 * 8 * 14, 64, 12]
    );
    let again = run(&format!("threads = 2\n{BOTH}"));
    let whole = |summary: &Summary| {
        (
            summary.digest.clone(),
            summary.jobs.clone(),
            summary.collectives.clone(),
        )
    };
    assert_eq!(whole(&again.summary), whole(summary));
    assert_eq!(again.flows, done.flows);
}

/// Messages above the eager limit whose receives wait for each other are refused before the run.
#[test]
fn what_cannot_run_is_refused() {
    let job = |goal: &str| format!("{STAR}[[job]]\ngoal = 'DATA/goal/damaged/{goal}'\n");
    for (goal, part) in [
        ("rendezvous_deadlock.goal", "wait"),
        ("cycle.goal", "wait"),
        ("duplicate_label.goal", "label"),
        ("truncated.bin", "rank"),
    ] {
        let message = refused(&job(goal));
        assert!(message.contains(part), "{goal}: {message}");
    }
    // With a larger limit the job ends.
    let eager = format!(
        "{}rules = {{ eager = '100000B' }}\n",
        job("rendezvous_deadlock.goal")
    );
    assert_eq!(run(&eager).summary.status, RunStatus::Completed);
    let keys = [
        ("rules = { splits = 2 }", "`splits` is for jobs by `chakra`"),
        (
            "rules = { latency = '1us' }",
            "`latency` is for `network = \"loggops\"`",
        ),
        ("network = 'logop'", "did you mean `loggops`?"),
        ("compute-scale = -1.0", "compute-scale is -1: expected 0 or more"),
        ("hosts = [1, 2]", "16 ranks on 2 hosts"),
        ("network = 'chunks'", "`loggops` is for GOAL"),
        ("chakra = 'x'", "a job by `goal` and by `chakra`"),
    ];
    for (line, part) in keys {
        let message = refused(&format!(
            "{STAR}[[job]]\ngoal = 'DATA/goal/dissemination_16.goal'\n{line}\n"
        ));
        assert!(message.contains(part), "{line}: {message}");
    }
}

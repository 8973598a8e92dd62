//! Jobs by a model, written as Chakra and as GOAL.

use std::fs;

use paceline_traces::check::check;
use paceline_traces::chunks::Chunks;
use paceline_traces::executor::Executor;
use paceline_traces::graph::Graph;
use paceline_traces::model::{Granularity, Plan, program};
use paceline_traces::program::{CollectiveKind, Program, Work};
use paceline_traces::{chakra, goal};
use proptest::prelude::*;

use super::{links, of_rank, random, reduced_moe, rules, uneven};

/// Writes a job as Chakra, and reads it.
fn as_chakra(job: &dyn Program) -> Graph {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: String| folder.path().join(name);
    for rank in 0..job.ranks() {
        let file = fs::File::create(path(format!("job.{rank}.et"))).unwrap();
        chakra::write_rank(job, rank, std::io::BufWriter::new(file)).unwrap();
    }
    let groups = path("groups.json".into());
    chakra::write_groups(job, fs::File::create(&groups).unwrap()).unwrap();
    let options = chakra::Options {
        groups: Some(groups),
        ..chakra::Options::default()
    };
    let (read, cautions) = chakra::read(&path("job".into()), &options).unwrap();
    let warned: Vec<&str> = cautions.iter().map(|caution| &*caution.text).collect();
    // Less than a microsecond is left out, and added to what follows.
    assert!(warned.iter().all(|text| text.contains("1 ns")), "{warned:?}");
    read
}

proptest! {
    /// As Chakra, a job has the same messages, collectives and computing times, and runs to its end although a rank does
    /// one thing after another.
    #[test]
    fn random_jobs_as_chakra(random in random()) {
        let job = program(&Plan::new(random.model, random.parallel, random.training).unwrap());
        prop_assume!(chakra::check_writable(&job).is_ok());
        let read = as_chakra(&job);
        prop_assert_eq!(read.ranks(), job.ranks());
        for rank in 0..job.ranks() {
            prop_assert_eq!(read.operations(rank), job.operations(rank));
            let mut ns = [0, 0];
            for number in 0..job.operations(rank) {
                let works = [&job as &dyn Program, &read].map(|program| program.operation(rank, number).work);
                match works {
                    [Work::Compute { ns: a }, Work::Compute { ns: b }] => ns = [ns[0] + a, ns[1] + b / 1000 * 1000],
                    [Work::Collective(a), Work::Collective(b)] => {
                        let (a, b) = (job.collectives()[a as usize], read.collectives()[b as usize]);
                        let members = &job.groups()[a.group as usize];
                        prop_assert_eq!(members, &read.groups()[b.group as usize]);
                        let parts = if a.kind == CollectiveKind::AllGather { members.len() as u64 } else { 1 };
                        prop_assert_eq!((a.kind, a.bytes.div_ceil(parts)), (b.kind, b.bytes));
                    }
                    [a, b] => prop_assert_eq!(a, b),
                }
            }
            prop_assert!(ns[0] - ns[1] < 1000, "{:?}", ns);
        }
        // A send needs no receive, as in ASTRA-sim.
        let report = check(&read, u64::MAX);
        prop_assert!(report.errors.is_empty(), "{:?}", report.errors);
        let links = links(read.ranks());
        let mut executor = Executor::new(chakra::shared(read), chakra::rules());
        Chunks::new(links, false).run(&mut executor).unwrap();
        prop_assert!(executor.is_done());
    }
}

#[test]
fn uneven_experts_are_no_chakra() {
    let job = program(&uneven(1.0, 1, Granularity::Layer));
    let trouble = chakra::check_writable(&job).unwrap_err().to_string();
    assert!(trouble.contains("different shares"), "{trouble}");
    assert!(chakra::check_writable(&program(&uneven(0.0, 1, Granularity::Layer))).is_ok());
}

/// As GOAL, a job has the same bytes, and runs to its end.
#[test]
fn a_job_as_goal_is_the_same() {
    let plan = reduced_moe();
    let job = program(&plan);
    let mut text = Vec::new();
    goal::write_program(&job, &rules().collectives, &mut text).unwrap();
    let (written, _) = goal::read_bytes("moe.goal", &text).unwrap();
    let report = check(&written, u64::MAX);
    assert!(
        report.errors.is_empty() && report.cautions.is_empty(),
        "{report:?}"
    );
    let works = (0..written.operations(5)).map(|number| written.operation(5, number).work);
    let sent = works.filter_map(|work| match work {
        Work::Send { bytes, .. } => Some(bytes),
        _ => None,
    });
    let total: u64 = sent.sum();
    let mut expected = 0;
    for ((kind, bytes), count) in of_rank(&job, 5) {
        // Groups by kind and size, as in the file.
        let n = match (kind, bytes) {
            (_, 512) if kind == CollectiveKind::AllGather => 16,
            (CollectiveKind::AllToAll, _) => 8,
            (_, 1_082_368 | 2_164_736) => 16,
            _ => 2,
        };
        let steps = if kind == CollectiveKind::AllReduce { 2 } else { 1 };
        expected += count * steps * (n - 1) * (bytes / n).max(1);
    }
    assert_eq!(total, expected);
    let all: u64 = (0..32)
        .flat_map(|rank| (0..written.operations(rank)).map(move |number| (rank, number)))
        .map(|(rank, number)| match written.operation(rank, number).work {
            Work::Send { bytes, .. } => bytes,
            _ => 0,
        })
        .sum();
    let listed: u64 = job
        .messages()
        .iter()
        .map(|(message, count)| message.sent() * count)
        .sum();
    assert_eq!(all, listed);
}

//! Training jobs: placement, messages and dependencies.

use std::collections::BTreeSet;

use paceline_fabric::find_cycle;
use paceline_fabric::spec::Awaited;
use paceline_kernel::Span;
use paceline_scenario::{Overrides, Resolved, load_text};

/// Loads a network with four leaves of four hosts.
fn load(rest: &str) -> Result<Resolved, String> {
    let text =
        format!("duration = '1ms'\ncc.scheme = 'none'\n[topology.leaf-spine]\nhosts-per-leaf = 4\n{rest}\n");
    load_text("test.toml", &text, &Overrides::default()).map_err(|error| error.to_string())
}

fn hosts(run: &Resolved, job: usize) -> Vec<u32> {
    run.jobs[job].hosts.iter().map(|host| host.0).collect()
}

const SUM: &str = "[[job.step]]\nall-reduce = { size = '1MB' }\n";

#[test]
fn jobs_get_hosts_that_no_other_has() {
    let run = load(&format!(
        "[[job]]\nranks = 5\n{SUM}[[job]]\nlabel = 'b'\nranks = 4\nplacement = 'spread'\namong = 'leaf 1-3'\n{SUM}\
         [[job]]\nhosts = 'leaf 0 except 3'\n{SUM}[[job]]\nranks = 16\nshare-hosts = true\nplacement = 'random'\n{SUM}"
    ))
    .unwrap();
    assert_eq!(hosts(&run, 2), [0, 1, 2]);
    assert_eq!(hosts(&run, 0), [3, 4, 5, 6, 7]);
    assert_eq!(hosts(&run, 1), [8, 12, 9, 13]);
    let random = hosts(&run, 3);
    assert_ne!(random, (0..16).collect::<Vec<_>>());
    assert_eq!(random.iter().copied().collect::<BTreeSet<_>>(), (0..16).collect());
    let again = load_text("again.toml", &run.toml, &Overrides::default()).unwrap();
    assert_eq!((again.toml, again.jobs), (run.toml, run.jobs));
    assert_eq!(*again.run, *run.run);
}

/// A job of one step sends the same messages as a workload of that collective with as many iterations.
#[test]
fn a_job_of_one_step_is_its_collective() {
    for block in [
        "all-reduce = { size = '1MB' }",
        "all-reduce = { algorithm = 'hierarchical', group-size = 4, size = '1MB' }",
        "all-reduce = { algorithm = 'halving-doubling', size = '1MB' }",
        "all-to-all = { size = '1MB' }",
        "all-to-all = { algorithm = 'pairwise', size = '1MB' }",
        "reduce-scatter = { size = '1MB' }",
        "all-gather = { size = '1MB' }",
    ] {
        let job = load(&format!(
            "[[job]]\nlabel = 'x'\nhosts = 'all'\niterations = 3\n[[job.step]]\n{block}"
        ));
        let alone = block.replace(" }", ", iterations = 3 }");
        let (job, alone) = (job.unwrap(), load(&format!("[[workload]]\n{alone}")).unwrap());
        assert_eq!(job.run.flows, alone.run.flows, "{block}");
        assert_eq!(job.run.dependencies, alone.run.dependencies, "{block}");
        let (mine, theirs) = (&job.collectives[0], &alone.collectives[0]);
        assert_eq!(
            (mine.hosts, mine.size, mine.bus_factor),
            (theirs.hosts, theirs.size, theirs.bus_factor)
        );
        assert_eq!(mine.iterations, theirs.iterations, "{block}");
    }
}

#[test]
fn steps_follow_one_another_at_each_host() {
    let run = load(
        "[[job]]\nlabel = 'llm'\nhosts = '0..7'\nstart = '10us'\niterations = 2\n\
         [[job.step]]\ncompute = '30us'\nwithin = 4\nall-gather = { size = '4KB' }\n\
         [[job.step]]\ncompute = '5us'\nacross = 4\nall-reduce = { size = '8KB' }\n\
         [[job.step]]\nlabel = 'experts'\nall-to-all = { size = '1KB' }\n",
    )
    .unwrap();
    let labels: Vec<_> = run.run.labels.iter().map(String::as_str).collect();
    assert_eq!(labels, ["llm/all-gather", "llm/all-reduce", "llm/experts"]);
    assert_eq!(run.jobs[0].compute, Span::from_us(35));
    assert_eq!(run.jobs[0].collectives, [0, 1, 2]);
    let flows = &run.run.flows;
    assert!(
        flows
            .iter()
            .all(|flow| [10, 40].contains(&(flow.start.as_ps() / 1_000_000)))
    );
    let ends = |flow: u32| (flows[flow as usize].src.0, flows[flow as usize].dst.0);
    // Two rings of four in three steps; then four pairs, each of hosts with the same index in both groups, in two.
    let gather: BTreeSet<_> = run.collectives[0].iterations[0]
        .iter()
        .map(|&flow| ends(flow))
        .collect();
    assert_eq!(
        gather.iter().copied().collect::<Vec<_>>(),
        [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4),]
    );
    let reduce: BTreeSet<_> = run.collectives[1].iterations[1]
        .iter()
        .map(|&flow| ends(flow))
        .collect();
    assert!(
        reduce.iter().all(|(src, dst)| src.abs_diff(*dst) == 4),
        "{reduce:?}"
    );
    let counts: Vec<_> = run
        .collectives
        .iter()
        .map(|one| (one.hosts, one.iterations[0].len()))
        .collect();
    assert_eq!(counts, [(4, 24), (2, 16), (8, 56)]);
    // The first message of each host in a step waits for the last that it received in the step before.
    let waits = &run.run.dependencies;
    let reduce = &run.collectives[1].iterations[0];
    let begun: Vec<_> = reduce
        .iter()
        .filter(|&&flow| {
            waits
                .iter()
                .any(|wait| wait.flow == flow && wait.delay == Span::from_us(5))
        })
        .collect();
    assert_eq!(begun.len(), 8);
    for &&flow in &begun {
        let mine = |wait: &&paceline_fabric::spec::Dependency| {
            wait.flow == flow && wait.awaited == Awaited::Received
        };
        let after = waits.iter().find(mine).unwrap().after;
        assert!(run.collectives[0].iterations[0].contains(&after));
        assert_eq!(ends(after).1, ends(flow).0);
    }
    assert_eq!(find_cycle(flows.len(), waits), None);
    // Each host's first messages have no dependency.
    let waiting: BTreeSet<u32> = waits.iter().map(|wait| wait.flow).collect();
    assert_eq!(flows.len() - waiting.len(), 8);
}

#[test]
fn what_is_wrong_with_jobs() {
    for (rest, expected) in [
        (
            format!("[[job]]\n{SUM}"),
            "test.toml:5:1: a job has either `hosts`, or `ranks` and a `placement`",
        ),
        (
            format!("[[job]]\nhosts = 16\n{SUM}"),
            "test.toml:6:9: node 16 is a switch: flows are between hosts (nodes 0 to 15)",
        ),
        (
            format!("[[job]]\nhosts = 1\n{SUM}"),
            "test.toml:5:1: a job over 1 host: expected at least two (`ranks = 16` asks for 16 hosts, `hosts` names \
             them)",
        ),
        (
            format!("[[job]]\nhosts = '0..11'\n{SUM}[[job]]\nranks = 6\n{SUM}"),
            "test.toml:10:9: 6 ranks: there are 4 hosts that no other job has",
        ),
        (
            format!("[[job]]\nlabel = 'a'\nhosts = '0..11'\n{SUM}[[job]]\nhosts = 'leaf 2-3'\n{SUM}"),
            "test.toml:11:9: host 8 is in the job `a` too, one of 4 such hosts (`share-hosts = true` in this job if \
             that is meant); test.toml:5:1: the other job is here",
        ),
        (
            format!("[[job]]\nranks = 4\nplacement = 'rail'\n{SUM}"),
            "test.toml:7:13: this network has no rails to place ranks along",
        ),
        (
            "[[job]]\nranks = 4".to_string(),
            "test.toml:5:1: the job has no effect: it has no steps (add `[[job.step]]` with a collective, such as \
             `all-reduce = { size = \"8MB\" }`)",
        ),
        (
            "[[job]]\nranks = 4\n[[job.step]]\nwithin = 3\nall-gather = {}".to_string(),
            "test.toml:8:10: 4 ranks, within groups of 3",
        ),
        (
            "[[job]]\nranks = 4\n[[job.step]]\nall-gather = { compute = '1us' }".to_string(),
            "test.toml:7:1: `compute` in a collective of a job (that is the step's `compute`, beside this block)",
        ),
        (
            "[[job]]\nranks = 4\n[[job.step]]\nall-gather = {}\n[[job.step]]\nall-gather = {}".to_string(),
            "test.toml:9:1: a second step called `all-gather` (give it a `label`)",
        ),
        (
            format!("[[job]]\nranks = 4\nplacment = 'spread'\n{SUM}"),
            "test.toml:7:1: unknown key `placment` (did you mean `placement`? expected `label`, `scheme`, \
             `priority`, `one-path`, `hosts`, `ranks`, `placement`, `among`, `share-hosts`, `start`, `goal`, `chakra`, `simai`, `model`, `parallel`, `training`, `iterations`, `connections`, `network`, `local`, `compute-scale`, `rules`, `step`)",
        ),
    ] {
        assert_eq!(load(&rest).unwrap_err(), expected, "{rest}");
    }
}

/// Jobs and collectives use persistent connections by default if hosts support them; settings of the scenario have
/// precedence.
#[test]
fn jobs_and_collectives_keep_their_queue_pairs_where_hosts_can() {
    let stay = |rest: &str| {
        let run = load(rest).unwrap();
        let again = load_text("again.toml", &run.toml, &Overrides::default()).unwrap();
        assert_eq!(again.run.flows, run.run.flows, "{rest}");
        let persistent = run
            .run
            .flows
            .iter()
            .filter(|flow| flow.connection.is_some())
            .count();
        assert!(persistent == 0 || persistent == run.run.flows.len());
        persistent > 0
    };
    let job = |keys: &str| format!("[[job]]\nranks = 4\niterations = 2\n{keys}\n{SUM}");
    assert!(stay(&job("")));
    assert!(!stay(&job("connections = 'per-message'")));
    for block in ["all-to-all", "all-reduce", "reduce-scatter", "all-gather"] {
        let workload = |keys: &str| format!("[[workload]]\n{block} = {{ iterations = 2{keys} }}\n");
        assert!(stay(&workload("")), "{block}");
        assert!(!stay(&workload(", connections = 'per-message'")), "{block}");
        // Hosts that have a queue pair for each flow.
        for hosts in [
            "[network]\nback-to-chunk = '4KB'",
            "[quirks]\nack-threshold = true",
        ] {
            assert!(!stay(&format!("{hosts}\n{}", workload(""))), "{block} {hosts}");
        }
    }
    let text = format!(
        "fidelity = 'ns3-hpcc'\ncc.scheme = 'hpcc'\n[topology.leaf-spine]\nhosts-per-leaf = 4\n{}",
        job("")
    );
    let other = load_text("test.toml", &text, &Overrides::default()).unwrap();
    assert!(other.run.flows.iter().all(|flow| flow.connection.is_none()));
    // Other workloads keep their default.
    assert!(!stay("[[workload]]\nclosed-loop = { messages = 2 }\n"));
}

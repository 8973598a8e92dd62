//! Channels, chunks, trees, forwarding, pipelines and overlap: messages and errors.

use std::collections::{BTreeMap, BTreeSet};

use paceline_fabric::find_cycle;
use paceline_kernel::Span;
use paceline_scenario::{Overrides, Resolved, WarningKind, load_text};
use proptest::prelude::*;

fn load(topology: &str, rest: &str) -> Result<Resolved, String> {
    let text = format!("duration = '1ms'\ncc.scheme = 'none'\n[topology.{topology}\n{rest}\n");
    load_text("test.toml", &text, &Overrides::default()).map_err(|error| error.to_string())
}

const RAILS: &str = "rail]\nservers = 4\ngpus = 4\nserver-rate = '1Tbps'";

/// Loads a job over all hosts of servers of GPUs.
fn rails(steps: &str) -> Resolved {
    load(RAILS, &format!("[[job]]\nhosts = 'all'\n{steps}"))
        .unwrap_or_else(|error| panic!("{steps}: {error}"))
}

/// Returns pairs of hosts of the first collective that are in different servers.
fn between_servers(run: &Resolved) -> BTreeSet<(u32, u32)> {
    let flows = run.run.flows.iter().map(|flow| (flow.src.0, flow.dst.0));
    flows.filter(|(src, dst)| src / 4 != dst / 4).collect()
}

/// The first ring enters server 0 at GPU 0 and leaves it at GPU 3, for GPU 3 of server 1, which it traverses in the
/// opposite direction.
#[test]
fn channels_leave_servers_by_different_rails() {
    let ring = |channels: u32| {
        rails(&format!(
            "[[job.step]]\nall-reduce = {{ size = '1MB', channels = {channels} }}\n"
        ))
    };
    assert_eq!(
        between_servers(&ring(1)),
        BTreeSet::from([(3, 4), (7, 8), (11, 12), (15, 0)])
    );
    let two = between_servers(&ring(2));
    let first = [(3, 7), (4, 8), (11, 15), (12, 0)];
    let second = [(0, 4), (5, 9), (8, 12), (13, 1)];
    assert_eq!(two, BTreeSet::from_iter([first, second].concat()));
    let four = between_servers(&ring(4));
    assert_eq!(four.len(), 16);
    assert!(four.iter().all(|(src, dst)| src % 4 == dst % 4), "{four:?}");
    // Each channel has its share and its connections.
    let run = ring(4);
    let connections: BTreeMap<_, _> = run
        .run
        .flows
        .iter()
        .map(|flow| (flow.connection, flow.src))
        .collect();
    assert_eq!(connections.len(), 4 * 16);
}

/// Both trees of a channel link the servers by different GPUs.
#[test]
fn trees_of_servers() {
    let run = rails("[[job.step]]\nall-reduce = { algorithm = 'tree', size = '1MB' }\n");
    let pairs = between_servers(&run);
    assert!(
        pairs.iter().all(|(src, dst)| src % 4 == dst % 4 && src % 4 < 2),
        "{pairs:?}"
    );
    assert_eq!(pairs.len(), 2 * 2 * 3);
    let sent: u64 = run.run.flows.iter().map(|flow| flow.size.get()).sum();
    assert_eq!(sent, 2 * 15 * 1_000_000);
}

#[test]
fn groups_by_server() {
    let by = |keys: &str| {
        rails(&format!(
            "[[job.step]]\nall-reduce = {{ algorithm = 'hierarchical', size = '1MB', {keys} }}\n"
        ))
    };
    assert_eq!(by("group = 'server'").run.flows, by("group-size = 4").run.flows);
    // The order of ranks does not matter.
    let run = load(
        RAILS,
        "[[job]]\nhosts = 'rail 0, rail 1, rail 2, rail 3'\n[[job.step]]\n\
         all-reduce = { algorithm = 'hierarchical', size = '1MB', group = 'server' }\n",
    )
    .unwrap();
    assert!(between_servers(&run).iter().all(|(src, dst)| src % 4 == dst % 4));
}

#[test]
fn a_written_scenario_is_the_same_run() {
    let run = rails(
        "[[job.step]]\nlabel = 'sum'\ncompute = '5us'\noverlap = true\nall-reduce = { size = '1MB', channels = 2, chunk = '100KB', slots = 2 }\n\
         [[job.step]]\nsend = { distance = 4 }\n[[job.step]]\nwait = 'sum'\npipeline = { stages = 4, forward = '1us' }\n\
         [[job.step]]\nall-to-all = { pxn = true, aggregate = true }\n[[job.step]]\ncompute = '7us'\n",
    );
    let again = load_text("again.toml", &run.toml, &Overrides::default()).unwrap();
    assert_eq!(again.toml, run.toml);
    assert_eq!(again.jobs, run.jobs);
    assert_eq!(*again.run, *run.run);
    // Four microbatches, with a backward pass twice as long.
    assert_eq!(run.jobs[0].compute, Span::from_us(5 + 4 * 3 + 7));
    assert_eq!(run.jobs[0].collectives, [0, 1, 2, 3]);
    assert_eq!(run.jobs[0].tails[0].len() % 16, 0);
    assert!(
        run.jobs[0].tails[0]
            .iter()
            .all(|tail| tail.delay == Span::from_us(7))
    );
}

#[test]
fn what_is_wrong_with_steps() {
    let star = |step: &str| {
        load(
            "star]\nhosts = 6",
            &format!("[[job]]\nhosts = 'all'\n[[job.step]]\n{step}"),
        )
    };
    for (step, expected) in [
        (
            "all-reduce = { channels = 0 }",
            "test.toml:8:27: no channels: expected at least one",
        ),
        (
            "all-reduce = { size = '12B', channels = 3 }",
            "test.toml:8:23: 12B over 6 hosts, 3 channels and chunks: some messages would have no bytes",
        ),
        (
            "all-gather = { size = '1KB', chunk = '4B' }",
            "test.toml:8:23: 1KB over 6 hosts, 1 channels and chunks: some messages would have no bytes",
        ),
        (
            "all-reduce = { chunk = '0B' }",
            "test.toml:8:24: a chunk of no bytes",
        ),
        (
            "all-reduce = { chunk = '10KB', slots = 0 }",
            "test.toml:8:40: no slots: expected at least one",
        ),
        (
            "all-reduce = { algorithm = 'three' }",
            "test.toml:8:28: unknown algorithm `three` (did you mean `tree`?)",
        ),
        (
            "all-reduce = { algorithm = 'tree', group = 'server' }",
            "test.toml:8:44: this network has no servers",
        ),
        (
            "all-reduce = { algorithm = 'hierarchical', group = 'serve' }",
            "test.toml:8:52: unknown group `serve` (did you mean `server`?)",
        ),
        (
            "all-to-all = { pxn = true }",
            "test.toml:8:22: `pxn` forwards inside servers: this network has no links there",
        ),
        ("pipeline = { stages = 4 }", "test.toml:8:23: 4 stages of 6 ranks"),
        ("pipeline = { stages = 1 }", "test.toml:8:23: 1 stages of 6 ranks"),
        (
            "pipeline = { microbatches = 0 }",
            "test.toml:8:29: no microbatches: expected at least one",
        ),
        (
            "pipeline = { schedule = '1f2b' }",
            "test.toml:8:25: unknown schedule `1f2b` (did you mean `1f1b`?)",
        ),
        (
            "within = 2\npipeline = {}",
            "test.toml:8:10: a pipeline has all ranks of its job: `within` and `across` are for other steps",
        ),
        (
            "send = { distance = 6 }",
            "test.toml:8:21: a distance of 6 among 6 ranks",
        ),
        (
            "send = { distance = 0 }",
            "test.toml:8:21: a distance of 0 among 6 ranks",
        ),
        (
            "overlap = true\nsend = {}",
            "test.toml:8:11: `overlap` is for steps with a collective",
        ),
        (
            "all-gather = {}\n[[job.step]]\nwait = 'sum'",
            "test.toml:10:8: `wait` for the unknown step `sum`",
        ),
        (
            "label = 'sum'\noverlap = true\nall-gather = {}\n[[job.step]]\nwait = 'sun'",
            "test.toml:12:8: `wait` for the unknown step `sun` (did you mean `sum`?)",
        ),
        (
            "compute = '1us'",
            "test.toml:5:1: the job has no effect: it has no steps (add `[[job.step]]` with a collective, such as \
             `all-reduce = { size = \"8MB\" }`)",
        ),
    ] {
        assert_eq!(star(step).unwrap_err(), expected, "{step}");
    }
    // A topology of rails without links inside servers.
    let bare = load("rail]", "[[workload]]\nall-to-all = { pxn = true }").unwrap_err();
    assert!(
        bare.starts_with("test.toml:5:22: `pxn` forwards inside servers"),
        "{bare}"
    );
    let uneven = "[[job]]\nhosts = '0..6'\n[[job.step]]\nall-reduce = { algorithm = 'hierarchical', group = 'server' }";
    let uneven = load(RAILS, uneven).unwrap_err();
    assert_eq!(uneven, "test.toml:10:52: servers with unequal numbers of ranks");
}

/// Settings without effect cause warnings.
#[test]
fn what_has_no_effect() {
    let told = |steps: &str| {
        let run = load("star]\nhosts = 6", &format!("[[job]]\nhosts = 'all'\n{steps}")).unwrap();
        let unused = run
            .warnings
            .iter()
            .filter(|warning| warning.id == WarningKind::UnusedSetting);
        unused.map(|warning| warning.text.clone()).collect::<Vec<_>>()
    };
    let overlap = "[[job.step]]\noverlap = true\nall-gather = {}\n";
    let text = "`overlap` has no effect in the last step: hosts wait for it at the end of the iteration";
    assert_eq!(told(overlap), [text]);
    assert!(told(&format!("{overlap}[[job.step]]\ncompute = '1us'\n")).is_empty());
    let over = told("[[job.step]]\nlabel = 'sum'\nall-gather = {}\n[[job.step]]\nwait = 'sum'\n");
    assert_eq!(over, ["`wait` has no effect: step `sum` does not overlap"]);
    let slots = told("[[job.step]]\nall-gather = { slots = 4 }\n");
    assert!(
        slots[0].contains("job.0.step.0.all-gather.chunk is not set"),
        "{slots:?}"
    );
    let aggregate = told("[[job.step]]\nall-to-all = { aggregate = true }\n");
    assert_eq!(aggregate.len(), 1, "{aggregate:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(40), ..ProptestConfig::default() })]

    /// However a collective is divided, each rank sends and receives as many bytes as the formula says.
    #[test]
    fn all_bytes_are_carried(
        servers in 1u32..5, gpus in 1u32..5, channels in 1u32..6, chunk in 1u64..40, slots in 1u32..4, size in 2_000u64..9_000
    ) {
        let ranks = servers * gpus;
        prop_assume!(ranks > 1);
        let cut = format!("size = '{size}B', channels = {channels}, chunk = '{chunk}00B', slots = {slots}");
        let topology = format!("rail]\nservers = {servers}\ngpus = {gpus}\nserver-rate = '1Tbps'");
        let per_pair = size * u64::from(ranks - 1);
        let share = size * u64::from(ranks - 1) / u64::from(ranks);
        for (block, expected) in [
            (format!("all-reduce = {{ {cut} }}"), 2 * share),
            (format!("all-reduce = {{ {cut}, algorithm = 'tree' }}"), 0),
            (format!("reduce-scatter = {{ {cut} }}"), share),
            (format!("all-gather = {{ {cut} }}"), share),
            (format!("all-to-all = {{ size = '{size}B', pxn = true }}"), per_pair),
            (format!("all-to-all = {{ size = '{size}B', pxn = true, aggregate = true }}"), per_pair),
            (format!("all-to-all = {{ size = '{size}B', pxn = true, algorithm = 'pairwise' }}"), per_pair),
        ] {
            // Chunks that are too small for the number of ranks are an error.
            let Ok(run) = load(&topology, &format!("[[job]]\nhosts = 'all'\niterations = 2\n[[job.step]]\n{block}")) else {
                continue;
            };
            let flows = &run.run.flows;
            prop_assert_eq!(find_cycle(flows.len(), &run.run.dependencies), None, "{}", block);
            let all = &run.collectives[0].iterations;
            prop_assert_eq!(all[0].len() + all[1].len(), flows.len());
            let (mut sent, mut received) = (vec![0; ranks as usize], vec![0; ranks as usize]);
            for flow in all[0].iter().map(|&flow| &flows[flow as usize]) {
                sent[flow.src.0 as usize] += flow.size.get();
                received[flow.dst.0 as usize] += flow.size.get();
            }
            let total: u64 = sent.iter().sum();
            if block.contains("tree") {
                prop_assert_eq!(total, 2 * size * u64::from(ranks - 1), "{}", block);
            } else if block.contains("pxn") {
                // Forwarded data is sent twice: to each GPU of another server on another rail.
                let forwarded = u64::from((servers - 1) * (gpus - 1)) * size;
                prop_assert!(sent.iter().all(|&bytes| bytes == expected + forwarded), "{} {:?}", block, sent);
                prop_assert_eq!(sent, received);
            } else {
                // Rounding adds or removes up to a byte per message.
                let slack = flows.len() as u64 / u64::from(ranks);
                for bytes in sent.iter().chain(&received) {
                    prop_assert!(bytes.abs_diff(expected) <= slack, "{}: {} {}", block, bytes, expected);
                }
                let factor = if block.starts_with("all-reduce") { 2 } else { 1 };
                prop_assert_eq!(total, factor * size * u64::from(ranks - 1), "{}", block);
            }
        }
    }
}

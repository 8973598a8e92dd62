//! Ultra Ethernet's transport: comparison with runs of its simulator (`validation/uet-htsim`), and general
//! properties.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use paceline_parity::uet_htsim::{
    Command, Connection, Matrix, Options, Sim, Start, Strategy, Tree, UetOutcome, UetSpec,
};
use proptest::prelude::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/uet-htsim")
}

/// Reads a file of the reference, compressed or not.
fn text(name: &str) -> Option<String> {
    let path = folder().join(name);
    if let Ok(text) = fs::read_to_string(&path) {
        return Some(text);
    }
    let file = fs::File::open(folder().join(format!("{name}.gz"))).ok()?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}

fn spec(arguments: &str) -> UetSpec {
    let command = Command::read(arguments).unwrap();
    let connections = text(command.connections.as_ref().unwrap()).unwrap();
    let matrix = Matrix::read(&connections, command.options.messages).unwrap();
    let tree = match &command.topology {
        Some(file) => Tree::read(&text(file).unwrap()).unwrap(),
        None => command.plain_tree(matrix.hosts).unwrap(),
    };
    UetSpec {
        options: command.options,
        matrix,
        tree,
    }
}

fn run(arguments: &str) -> UetOutcome {
    Sim::new(&spec(arguments)).unwrap().run()
}

/// Lists the differences to the reference in tables and output lines.
fn differences(name: &str, outcome: &UetOutcome) -> Vec<String> {
    let file = |what: &str| text(&format!("runs/{name}/{what}"));
    let mut found = Vec::new();
    let mut compare = |what: &str, expected: &str, own: &str| {
        let mut lines = (expected.lines(), own.lines());
        loop {
            match (lines.0.next(), lines.1.next()) {
                (None, None) => break,
                (expected, own) if expected == own => {}
                (expected, own) => found.push(format!("{name}: {what}: {expected:?}, here {own:?}")),
            }
        }
    };
    // A reference may lack the last columns, and some totals.
    let flows = file("flows.tsv").unwrap();
    let columns = flows.lines().next().unwrap().split('\t').count();
    let cut = |line: &str| line.split('\t').take(columns).collect::<Vec<_>>().join("\t");
    let own: Vec<String> = outcome.flow_table.lines().map(cut).collect();
    compare("flows", &flows, &own.join("\n"));
    let counters = file("counters.tsv").unwrap();
    let of_machine = ["user_seconds", "sys_seconds", "max_rss_kb"];
    let totals = counters
        .lines()
        .filter(|line| !of_machine.iter().any(|name| line.starts_with(name)));
    let totals: Vec<&str> = totals.collect();
    let name = |line: &str| line.split('\t').next().map(str::to_string);
    let given = |line: &&str| totals.iter().any(|total| name(total) == name(line));
    let own: Vec<&str> = outcome.counter_table.lines().filter(given).collect();
    assert!(!totals.is_empty());
    compare("totals", &totals.join("\n"), &own.join("\n"));
    if let Some(printed) = file("stdout.txt") {
        compare("prints", &printed, &outcome.printed);
    }
    found
}

/// Runs that take a second or more without optimisation.
const SLOW: [&str; 10] = [
    "g22", "g23", "g24", "g25", "g26", "g29", "g30", "g31", "g33", "g14",
];

fn check(slow: bool) {
    let mut names: Vec<String> = fs::read_dir(folder().join("runs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| SLOW.contains(&&name[..3]) == slow)
        .collect();
    names.sort();
    let mut found = Vec::new();
    for name in &names {
        let outcome = run(&text(&format!("runs/{name}/cmd.txt")).unwrap());
        assert_eq!(outcome.abort, None, "{name}");
        found.extend(differences(name, &outcome));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert_eq!(names.len(), if slow { 10 } else { 36 });
}

#[test]
fn runs_are_those_of_the_reference() {
    check(false);
}

#[test]
#[ignore = "a minute"]
fn long_runs_are_those_of_the_reference() {
    check(true);
}

#[test]
fn a_comparison_can_fail() {
    let mut outcome = run("-tm scenarios/one_small.cm -sender_cc_only");
    assert!(differences("t1_one_small_nscc", &outcome).is_empty());
    outcome.flow_table = outcome.flow_table.replace("29941600", "29941601");
    outcome.counter_table = outcome.counter_table.replace("372", "373");
    assert_eq!(differences("t1_one_small_nscc", &outcome).len(), 2);
    let other = run("-tm scenarios/one_small.cm -sender_cc_only -mtu 4000");
    assert!(!differences("t1_one_small_nscc", &other).is_empty());
}

#[test]
fn options_and_their_mistakes() {
    let command = Command::read("htsim_uec -tm a.cm -ecn 2 6 -strat ecmp_rr").unwrap();
    assert_eq!(command.connections.as_deref(), Some("a.cm"));
    assert_eq!((command.options.ecn, command.options.paths), (Some((2, 6)), 1));
    for (text, index, message) in [
        ("-tm a.cm -path 4", "-path", "unknown option `-path`"),
        ("-paths 3", "3", "3 paths"),
        ("-paths 0", "0", "a number of paths is 0"),
        ("-ecn 6 2", "2", "the upper threshold is 2"),
        ("-ecn 6", "-ecn", "-ecn has no value"),
        ("-planes 2", "-planes", "`-planes` is not modelled"),
        ("-load_balancing_algo rep", "rep", "unknown value `rep`"),
        ("-paths 16384", "16384", "a number of paths is 16384"),
        ("-trimsize 32", "32", "a header in bytes is 32"),
        ("-q 10.7", "10.7", "a queue in packets is 10.7"),
        ("-queue_size_bdp_factor 1.5", "1.5", "a factor of a queue is 1.5"),
        ("-ecn 2 8.9", "8.9", "a threshold in packets is 8.9"),
        (
            "-q 5 -queue_size_bdp_factor 2",
            "-queue_size_bdp_factor",
            "`-queue_size_bdp_factor` next to `-q`, which it contradicts",
        ),
        (
            "-oversubscribed_cc -force_disable_oversubscribed_cc",
            "-force_disable_oversubscribed_cc",
            "`-force_disable_oversubscribed_cc` next to `-oversubscribed_cc`, which it contradicts",
        ),
        (
            "-receiver_cc -sender_cc_only",
            "-sender_cc_only",
            "`-sender_cc_only` next to `-receiver_cc`, which it contradicts",
        ),
    ] {
        let error = Command::read(text).unwrap_err();
        assert_eq!(
            (&text[error.span.clone()], error.message.as_str()),
            (index, message)
        );
    }
}

#[test]
fn topologies_that_do_not_add_up_are_refused() {
    let good = text("scenarios/tree32_bundles.topo").unwrap();
    assert!(Tree::read(&good).is_ok());
    for (from, to, index) in [
        ("Podsize 16", "Podsize 15", "15"),
        ("Radix_Up 4", "Radix_Up 3", "3"),
        ("Tiers 3", "Tiers 4", "4"),
        ("Oversubscribed 2", "Oversubscribed 3", "3"),
        ("Radix_Down 8", "Radix_Down 7", "7"),
    ] {
        let wrong = good.replacen(from, to, 1);
        let error = Tree::read(&wrong).expect_err(to);
        assert_eq!(&wrong[error.span.clone()], index, "{}", error.message);
    }
}

/// The run reports the reason for each abort.
#[test]
fn aborts_are_reported() {
    let queue = spec("-tm scenarios/incast4.cm -q 2");
    assert!(Sim::new(&queue).is_err_and(|why| why.contains("marking threshold")));
    let freezes = run(
        "-tm scenarios/incast15.cm -sender_cc_only -disable_trim -load_balancing_algo reps -q 4 -ecn 1 3",
    );
    assert!(freezes.abort.is_some_and(|why| why.contains("REPS")));
    let triggered = |trigger: &str, flows: &[&str]| {
        let flows: Vec<String> = flows.iter().map(|flow| format!("{flow} size 100\n")).collect();
        let text = format!(
            "Nodes 16\nConnections {}\nTriggers 1\n{}trigger id 1 {trigger}\n",
            flows.len(),
            flows.concat()
        );
        let spec = UetSpec {
            options: Options::default(),
            matrix: Matrix::read(&text, false).unwrap(),
            tree: Tree::plain(16, 3, 100_000_000_000, 1_000_000, 0).unwrap(),
        };
        Sim::new(&spec).unwrap().run().abort.unwrap_or_default()
    };
    let ends = |start: u32| format!("0->1 start {start} send_done_trigger 1");
    let (first, second, third) = (ends(0), ends(1), ends(2));
    let waits = "2->3 id 1 trigger 1";
    for kind in ["oneshot", "barrier count 1", "barrier count 2"] {
        let none = triggered(kind, &[&first]);
        assert_eq!(
            none, "trigger 1 is activated and has no connection to start",
            "{kind}"
        );
        let again = triggered(kind, &[&first, &second, &third, waits]);
        assert_eq!(
            again, "trigger 1 is activated after it has started its connections",
            "{kind}"
        );
    }
    assert_eq!(
        triggered("barrier count 3", &[&first, &second, &third, waits]),
        ""
    );
    assert_eq!(triggered("multishot", &[&first, &second, &third, waits]), "");
}

/// Checks that sent data arrives, is trimmed, is dropped, or is in flight at the end.
fn conserves(outcome: &UetOutcome, sim: &Sim) {
    let sent: u64 = outcome.flows.iter().map(|flow| flow.new + flow.again).sum();
    let c = &outcome.counters;
    let trimmed = c.trims_arriving + c.trims_tail;
    assert!(trimmed + c.data_drops <= sent);
    assert!(c.nacks_made <= trimmed && c.header_drops <= trimmed + c.acks_made + c.nacks_made + c.pulls_made);
    assert!(c.data_hops <= c.link_hops && c.duplicates <= sent);
    if outcome.flows.iter().all(|flow| flow.finish.is_some()) && outcome.end > 0 {
        // No packets are left after the last event.
        assert_eq!(sim.packets_under_way(), 0);
    }
    for flow in &outcome.flows {
        assert!(flow.finish.is_none_or(|end| Some(end) > flow.start));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(paceline_testkit::cases(64)))]

    #[test]
    fn any_run_conserves_packets(
        flows in proptest::collection::vec((0..16_u32, 1..16_u32, 1..200_000_u32, 0..20_u64), 1..12),
        control in 0..3_u32,
        balancing in 0..5_usize,
        strategy in 0..4_usize,
        queue in proptest::option::of(4..40_u32),
        trims in any::<bool>(),
        seed in any::<u32>(),
    ) {
        let balancing = paceline_parity::uet_htsim::Algorithm::NAMES[balancing].1;
        let options = Options {
            end: 0,
            seed,
            sender_cc: control != 1,
            sender_chosen: control != 1,
            receiver_cc: control > 0,
            balancing,
            strategy: Strategy::NAMES[strategy].1,
            queue,
            ecn: queue.map(|queue| (1, u64::from(queue) - 1)),
            trims,
            ..Options::default()
        };
        let connections = flows.iter().map(|&(src, step, size, us)| Connection {
            src,
            dst: (src + step) % 16,
            id: None,
            start: Start::At(us),
            size,
            then: None,
            is_message: false,
        });
        let matrix = Matrix {
            hosts: 16,
            connections: connections.collect(),
            triggers: Vec::new(),
        };
        let tree = Tree::plain(16, 3, 100_000_000_000, 1_000_000, 0).unwrap();
        let spec = UetSpec { options, matrix, tree };
        let mut sim = Sim::new(&spec).unwrap();
        let outcome = sim.run_to_end();
        conserves(&outcome, &sim);
        if outcome.abort.is_none() {
            prop_assert!(outcome.flows.iter().all(|flow| flow.finish.is_some()));
        }
    }
}

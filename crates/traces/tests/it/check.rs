//! Programs that cannot complete, and properties of programs.

use paceline_traces::check::check;
use paceline_traces::explain::{Costs, explain};
use paceline_traces::goal;
use paceline_traces::graph::{Graph, Names};
use paceline_traces::program::{Collective, CollectiveKind, Lanes, NO_LANE, OperationId, Rank, Work};

use super::loggops::{LATER_LINE_FIRST, WILDCARD};

fn text(text: &str) -> goal::Program {
    goal::read_bytes("x.goal", text.as_bytes()).unwrap().0
}

fn data(name: &str) -> goal::Program {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/goal");
    goal::read(folder.join(name)).unwrap().0
}

#[test]
fn sound_programs_have_no_errors() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/goal");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "goal" || e == "bin") {
            let report = check(&goal::read(&path).unwrap().0, 65535);
            assert!(
                report.errors.is_empty() && report.cautions.is_empty(),
                "{path:?} {report:?}"
            );
        }
    }
}

#[test]
fn the_shortest_cycle_is_named() {
    let errors = check(&data("damaged/cycle.goal"), u64::MAX).errors;
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].ends_with("cycle.goal:4 (b of rank 0) wait for each other"),
        "{errors:?}"
    );
    assert!(
        errors[0].contains("cycle.goal:3 (a of rank 0) and "),
        "{errors:?}"
    );

    let itself = "num_ranks 1\nrank 0 {\na: calc 1\na requires a\nb: calc 1\nb requires a\n}\n";
    assert_eq!(
        check(&text(itself), u64::MAX).errors,
        ["x.goal:3 (a of rank 0) waits for itself"]
    );

    // Five operations in a cycle, three of them also in a shorter one, and others before and behind them.
    let cycles = "num_ranks 1\nrank 0 {\nz: calc 1\na: calc 1\nb: calc 1\nc: calc 1\nd: calc 1\ne: calc 1\nf: calc 1\n\
        a requires z\nb requires a\nc requires b\nd requires c\ne requires d\na requires e\na irequires c\nf requires e\n}\n";
    assert_eq!(
        check(&text(cycles), u64::MAX).errors,
        [
            "operations wait for each other in a cycle (the shortest cycle has 3): x.goal:4 (a of rank 0), which waits for \
             x.goal:6 (c of rank 0), which waits for x.goal:5 (b of rank 0), which waits for the first"
        ]
    );

    // Two ranks that each receive before they send: no cycle at either rank alone.
    let across = "num_ranks 2\nrank 0 {\nr: recv 8b from 1\ns: send 8b to 1\ns requires r\n}\nrank 1 {\nr: recv 8b from 0\ns: send 8b to 0\ns requires r\n}\n";
    assert_eq!(
        check(&text(across), u64::MAX).errors,
        [
            "operations wait for each other in a cycle (the shortest cycle has 4): x.goal:3 (r of rank 0), which waits for \
             x.goal:9 (s of rank 1), which waits for x.goal:8 (r of rank 1), which waits for x.goal:4 (s of rank 0), which \
             waits for the first"
        ]
    );
}

#[test]
fn a_rendezvous_deadlock_is_found_before_the_run() {
    let program = data("damaged/rendezvous_deadlock.goal");
    let errors = check(&program, 65535).errors;
    assert!(
        errors.len() == 1 && errors[0].contains("the shortest cycle has 4"),
        "{errors:?}"
    );
    for name in [
        "goal:3 (s of rank 0)",
        "goal:4 (r of rank 0)",
        "goal:8 (s of rank 1)",
        "goal:9 (r of rank 1)",
    ] {
        assert!(errors[0].contains(name), "{errors:?}");
    }
    assert!(check(&program, 100_000).errors.is_empty());
}

/// A deadlock that depends on the order of events is no error.
#[test]
fn order_in_time_is_not_judged_before_the_run() {
    for (program, eager) in [(LATER_LINE_FIRST, 1000), (WILDCARD, 65535)] {
        let report = check(&text(program), eager);
        assert_eq!(report.errors, [""; 0]);
        assert!(
            report.cautions[0]
                .starts_with("whether all operations are done depends on which messages come first"),
            "{:?}",
            report.cautions
        );
    }
}

/// A receive above the eager limit that takes a smaller message ends its send a second time, which counts as the
/// other dependency of `l5`.
#[test]
fn an_end_that_counts_twice_is_not_judged_before_the_run() {
    let twice = "num_ranks 1\nrank 0 {\nl0: send 1b to 0 tag 2\nl1: recv 1b from 0 tag 2\nl4: send 990b to 0 tag 1\n\
        l5: recv 990b from 0 tag 1\nl6: send 990b to 0 tag 2\nl7: recv 990b from 0 tag 2\nl5 requires l0\nl5 requires l4\n\
        l7 requires l1\n}\n";
    assert_eq!(check(&text(twice), 1).errors, [""; 0]);
    let equal = twice
        .replace("tag 2\nl7", "tag 3\nl7")
        .replace("l7: recv 990b from 0 tag 2", "l7: recv 990b from 0 tag 3");
    let errors = check(&text(&equal), 1).errors;
    assert!(
        errors.len() == 1 && errors[0].contains("wait for each other"),
        "{errors:?}"
    );
}

#[test]
fn messages_without_a_partner_are_named() {
    let two = |zero: &str, one: &str| {
        text(&format!(
            "num_ranks 2\nrank 0 {{\n{zero}\n}}\nrank 1 {{\n{one}\n}}\n"
        ))
    };
    let errors = |program: &goal::Program| check(program, u64::MAX).errors;
    assert_eq!(
        errors(&two(
            "a: send 8b to 1 tag 3\nb: send 8b to 1 tag 3",
            "recv 8b from 0 tag 3"
        )),
        [
            "rank 0 sends 2 messages to rank 1 with tag 3, which posts 1 receive: x.goal:4 (b of rank 0) is never received"
        ]
    );
    assert_eq!(
        errors(&two("calc 5", "r: recv 8b from 0 tag 3")),
        [
            "rank 0 sends 0 messages to rank 1 with tag 3, which posts 1 receive: x.goal:6 (r of rank 1) never gets a message"
        ]
    );
    // Of three receives with wildcards two match, and one of them at most once.
    assert!(
        errors(&two(
            "send 8b to 1 tag 3\nsend 8b to 1 tag 4",
            "recv 8b from -1 tag 3\nrecv 8b from 0 tag -1"
        ))
        .is_empty()
    );
    assert_eq!(
        errors(&two(
            "send 8b to 1 tag 3",
            "a: recv 8b from 1 tag -1\nb: recv 8b from -1 tag -1"
        ))[0],
        "rank 1 posts 1 receive from rank 1 with any tag, but at most 0 are sent to it that nothing else takes: x.goal:6 (a of rank 1) first"
    );
    assert_eq!(
        errors(&two(
            "send 8b to 1 tag 3",
            "recv 8b from -1 tag 3\nrecv 8b from 0 tag -1"
        ))[0],
        "rank 1 has 1 more receives than messages, whatever matches"
    );
    assert_eq!(
        errors(&two(
            "a: send 8b to 1 tag 3\nb: send 8b to 1 tag 3",
            "recv 8b from -1 tag 3"
        ))[0],
        "rank 0 sends 2 messages to rank 1 with tag 3, which posts 0 receives and 1 other that may take them: x.goal:4 (b of rank 0) is never received"
    );
    let report = check(
        &two(
            "a: send 8b to 1 tag 3\nb: send 9b to 1 tag 3",
            "r: recv 8b from 0 tag 3\ns: recv 7b from 0 tag 3",
        ),
        u64::MAX,
    );
    assert!(report.errors.is_empty());
    assert_eq!(
        report.cautions,
        [
            "sizes differ between rank 0 and rank 1 with tag 3: x.goal:4 (b of rank 0) sends 9 bytes, x.goal:8 (s of rank 1) expects 7"
        ]
    );
    let many = errors(&two(
        &"send 8b to 1 tag 3\n"
            .repeat(30)
            .lines()
            .enumerate()
            .map(|(i, l)| l.replace('3', &i.to_string()))
            .collect::<Vec<_>>()
            .join("\n"),
        "",
    ));
    assert_eq!((many.len(), many[10].as_str()), (11, "and 20 more like these"));
}

#[derive(Debug)]
struct Numbered;

impl Names for Numbered {
    fn name(&self, rank: Rank, number: OperationId) -> String {
        format!("rank {rank}: node {number}")
    }
}

/// Builds a program with collectives of each rank in one group of all, one after another, with 5 us of computation
/// before each.
fn collectives(ranks: &[&[(CollectiveKind, u64)]]) -> Graph {
    let mut builder = Graph::builder(ranks.len() as Rank, Lanes { orders: Vec::new() });
    let group = builder.group(&(0..ranks.len() as Rank).collect::<Vec<_>>());
    for (rank, list) in (0..).zip(ranks) {
        let mut before = None;
        for (kind, bytes) in *list {
            let index = builder.collective(Collective {
                kind: *kind,
                bytes: *bytes,
                group,
                root: 0,
            });
            for work in [Work::Compute { ns: 5000 }, index] {
                let number = builder.operation(rank, work, NO_LANE, 0);
                if let Some(before) = before {
                    builder.after_end(rank, before, number);
                }
                before = Some(number);
            }
        }
    }
    builder.finish(Box::new(Numbered))
}

#[test]
fn collectives_that_differ_are_named() {
    use CollectiveKind::{AllGather, AllReduce};
    let both = [(AllReduce, 1024), (AllGather, 64)];
    assert!(
        check(&collectives(&[&both, &both, &both]), u64::MAX)
            .errors
            .is_empty()
    );
    let smaller = [(AllReduce, 1024), (AllGather, 32)];
    assert_eq!(
        check(&collectives(&[&both, &both, &smaller]), u64::MAX).errors,
        [
            "collective 2 of group 0 (ranks 0, 1, 2): rank 0 has all-gather of 64 bytes (rank 0: node 3), rank 2 has all-gather \
             of 32 bytes (rank 2: node 3)"
        ]
    );
    assert_eq!(
        check(&collectives(&[&both, &both[..1]]), u64::MAX).errors,
        [
            "collective 2 of group 0 (ranks 0, 1): rank 0 has all-gather of 64 bytes (rank 0: node 3), rank 1 takes no part"
        ]
    );
}

#[test]
fn a_program_is_explained() {
    // Four steps of 2o + L.
    let it = explain(&data("dissemination_16.goal"), &Costs::loggp(2500, 1500, 6.0)).unwrap();
    assert_eq!(
        (it.ranks, it.operations, it.sends, it.receives, it.bytes),
        (16, 128, 64, 64, 64)
    );
    assert_eq!(
        (it.critical.ns, it.critical.messages, it.critical.compute),
        (22_000, 22_000, 0)
    );
    assert_eq!(it.critical.operations.len(), 8);
    let it = explain(&data("streams.goal"), &Costs::alpha_beta(1000, 8_000_000_000)).unwrap();
    assert_eq!((it.critical.ns, it.critical.compute), (20_000, 20_000));
    assert_eq!(it.path.len(), 1);
    assert!(
        it.text()
            .contains("largest messages\n             8 bytes from 0 to 1: "),
        "{}",
        it.text()
    );

    let all = [(CollectiveKind::AllReduce, 4000)];
    let it = explain(
        &collectives(&[&all, &all, &all, &all]),
        &Costs::alpha_beta(1000, 8_000_000_000),
    )
    .unwrap();
    // Six steps of 1000 ns and 1000 bytes at 1 byte/ns.
    assert_eq!(
        (it.critical.ns, it.critical.compute, it.critical.collectives),
        (17_000, 5000, 12_000)
    );
    assert_eq!(it.collectives[&CollectiveKind::AllReduce].bytes, 4000);
    assert!(
        it.text().contains("all-reduce     1 with 4000 bytes"),
        "{}",
        it.text()
    );
}

//! LogGOPS: the end of every rank equals that of LogGOPSim and ATLAHS.

use std::path::PathBuf;

use paceline_traces::goal;
use paceline_traces::loggops::{Outcome, Parameters, Variant, run};
use paceline_traces::trouble::Trouble;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/goal")
        .join(name)
}

fn parameters(name: &str) -> Parameters {
    let set = |latency, overhead, gap, gap_per_byte, overhead_per_byte, eager| Parameters {
        latency,
        overhead,
        gap,
        gap_per_byte,
        overhead_per_byte,
        eager,
    };
    match name {
        "default" => Parameters::default(),
        "alps" => Parameters::ALPS,
        "fast" => set(1000, 200, 700, 1.0, 0, 4096),
        "overhead" => set(1000, 100, 50, 2.0, 3, 1000),
        other => panic!("no parameters {other}"),
    }
}

#[test]
fn all_ranks_end_as_in_both_programs() {
    let mut rows = csv::Reader::from_path(data("answers.csv")).unwrap();
    let (mut equal, mut wrong) = (0, Vec::new());
    for row in rows.records() {
        let row = row.unwrap();
        let variant = match &row[2] {
            "loggopsim" => Variant::LogGopSim,
            "atlahs" => Variant::Atlahs,
            other => panic!("no variant {other}"),
        };
        let program = goal::read(data(&format!("{}.goal", &row[0]))).unwrap().0;
        let outcome = run(&program, variant, &parameters(&row[1]));
        if row[3].is_empty() {
            assert!(outcome.unwrap_err().message.contains("never matches"));
            equal += 1;
            continue;
        }
        let outcome = outcome.unwrap();
        assert_eq!(outcome.stuck, None);
        let ends: Vec<String> = outcome.ends.iter().map(u64::to_string).collect();
        if ends.join(" ") == row[4] && outcome.end().to_string() == row[3] {
            equal += 1;
        } else {
            wrong.push(format!(
                "{} {} {}\n  theirs {}\n  ours   {}",
                &row[0],
                &row[1],
                &row[2],
                &row[4],
                ends.join(" ")
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{equal} are equal, {} are not:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(equal >= 95, "{equal}");
}

fn text(text: &str, variant: Variant, parameters: &Parameters) -> Result<Outcome, Trouble> {
    run(
        &goal::read_bytes("x.goal", text.as_bytes()).unwrap().0,
        variant,
        parameters,
    )
}

/// The later of two sends with one tag leaves first, because the earlier one waits for a message.
pub(crate) const LATER_LINE_FIRST: &str = "\
num_ranks 3
rank 0 {
l15: recv 6544b from 2 tag 2 cpu 1 nic 0
l18: recv 968167b from 2 cpu 1
l19: recv 6544b from 2 tag 2 cpu 0 nic 0
l19 requires l18
}
rank 1 {
l8: send 144b to 2
}
rank 2 {
l8: recv 144b from 1 tag 0 cpu 1
l10: calc 3444 cpu 1
l11: send 6544b to 0 tag 2 cpu 1
l17: send 6544b to 0 tag 2 cpu 1
l19: send 968167b to 0
l11 requires l8
l17 requires l10
l19 requires l17
}
";

/// The order in time decides which of two messages a receive with a wildcard takes.
pub(crate) const WILDCARD: &str = "\
num_ranks 4
rank 0 {
l7: send 38b to 1 tag 7
}
rank 1 {
l2: recv 2927b from -1 tag 7 cpu 1
l10: recv 38b from 0 tag 7 cpu 1
l11: calc 10219
}
rank 2 {
}
rank 3 {
l2: send 2927b to 1 tag 7 cpu 1
}
";

/// The receive that takes a message expects less than its size, and the other one more.
const UNEQUAL: &str = "\
num_ranks 2
rank 0 {
a: send 100000b to 1 tag 3
b: send 1001b to 1 tag 3
}
rank 1 {
x: calc 2000000
c: recv 1001b from 0 tag 3
d: recv 100000b from 0 tag 3
c requires x
d requires c
}
";

#[test]
fn order_in_time_decides_which_messages_meet_which_receives() {
    for variant in BOTH {
        let eager = Parameters {
            eager: 1000,
            ..Parameters::default()
        };
        let outcome = text(LATER_LINE_FIRST, variant, &eager).unwrap();
        assert_eq!((outcome.stuck, outcome.done), (None, 9), "{variant:?}");
    }
    let outcome = text(WILDCARD, Variant::LogGopSim, &Parameters::default()).unwrap();
    assert_eq!(
        (outcome.ends, outcome.done, outcome.stuck),
        (vec![1500, 24_278, 0, 1500], 5, None)
    );
}

#[test]
fn the_one_that_finds_the_other_says_whether_a_send_has_waited() {
    for (variant, end) in [(Variant::LogGopSim, 2_601_494), (Variant::Atlahs, 2_005_000)] {
        let outcome = text(UNEQUAL, variant, &Parameters::default()).unwrap();
        assert_eq!((outcome.ends[0], outcome.stuck), (end, None), "{variant:?}");
        assert_eq!(outcome.done, 4, "one is never done");
        assert!(
            outcome.cautions[1].text.starts_with("1 sends never end"),
            "{:?}",
            outcome.cautions
        );
    }
    // Operations that wait for such a send never begin.
    let after = UNEQUAL.replace("}\nrank 1", "e: calc 5\ne requires a\n}\nrank 1");
    let stuck = text(&after, Variant::LogGopSim, &Parameters::default())
        .unwrap()
        .stuck
        .unwrap();
    assert_eq!(stuck.remaining, 2);
    assert_eq!(
        stuck.waits,
        [
            "x.goal:3 (a of rank 0) sends 100000 bytes (more than 65535) and is never done: x.goal:10 (c of rank 1), which has \
             found its message, expects 1001"
        ]
    );
}

const BOTH: [Variant; 2] = [Variant::LogGopSim, Variant::Atlahs];

#[test]
fn a_rendezvous_deadlock_names_both() {
    let program = goal::read(data("damaged/rendezvous_deadlock.goal")).unwrap().0;
    for variant in BOTH {
        let stuck = run(&program, variant, &Parameters::default())
            .unwrap()
            .stuck
            .expect("a deadlock");
        assert_eq!(stuck.remaining, 4);
        assert!(stuck.waits.len() == 2, "{:?}", stuck.waits);
        for (wait, (line, rank, other)) in stuck.waits.iter().zip([(3, 0, 1), (8, 1, 0)]) {
            let expected = format!(
                "rendezvous_deadlock.goal:{line} (s of rank {rank}) sends 100000 bytes (more than 65535) and waits for rank {other} to post a receive with tag 0"
            );
            assert!(wait.ends_with(&expected), "{wait}");
        }
        let eager = Parameters {
            eager: 100_000,
            ..Parameters::default()
        };
        assert_eq!(run(&program, variant, &eager).unwrap().stuck, None);
    }
}

#[test]
fn what_never_comes_is_told() {
    let lonely = "num_ranks 2\nrank 0 {\nr: recv 8b from 1 tag 3\n}\nrank 1 {\nr: recv 8b from -1 tag -1\ns: send 8b to 0 tag 3\ns requires r\n}\n";
    let stuck = text(lonely, Variant::LogGopSim, &Parameters::default())
        .unwrap()
        .stuck
        .unwrap();
    assert_eq!(
        stuck.waits,
        [
            "x.goal:3 (r of rank 0) waits for a message from rank 1 with tag 3",
            "x.goal:6 (r of rank 1) waits for a message from any rank with any tag"
        ]
    );
    let never = "num_ranks 2\nrank 0 {\ns: send 8b to 1\n}\nrank 1 {\n}\n";
    for variant in BOTH {
        let outcome = text(never, variant, &Parameters::default()).unwrap();
        assert_eq!(outcome.stuck, None);
        assert_eq!(
            outcome.cautions[0].text,
            "1 messages arrive and are never received: x.goal:3 (s of rank 0) first, at rank 1"
        );
    }
}

#[test]
fn sizes_that_differ_are_told_and_the_message_counts() {
    for (sent, expected) in [(8, 70_000), (70_000, 8)] {
        let unequal = format!(
            "num_ranks 2\nrank 0 {{\nsend {sent}b to 1\n}}\nrank 1 {{\nc: calc 900000\nr: recv {expected}b from 0\nr requires c\n}}\n"
        );
        for variant in BOTH {
            let outcome = text(&unequal, variant, &Parameters::default()).unwrap();
            assert_eq!(outcome.stuck, None);
            assert!(
                outcome.cautions[0].text.contains(&format!("sends {sent} bytes")),
                "{:?}",
                outcome.cautions
            );
        }
    }
}

#[test]
fn what_a_variant_does_otherwise_is_told() {
    let program = goal::read(data("streams.goal")).unwrap().0;
    let outcome = run(&program, Variant::LogGopSim, &Parameters::default()).unwrap();
    assert!(
        outcome.cautions[0]
            .text
            .contains("streams.goal:6 (c of rank 0) first"),
        "{:?}",
        outcome.cautions
    );

    // The receive is freed by a start and enters at 0, after its message has arrived.
    let early = "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nw: calc 50000\nc: calc 5\nc requires w\nr: recv 8b from 0\nr irequires c\n}\n";
    let trouble = text(early, Variant::Atlahs, &Parameters::default()).unwrap_err();
    assert!(
        trouble
            .to_string()
            .starts_with("x.goal:9 (r of rank 1): is freed by a start"),
        "{trouble}"
    );
    assert_eq!(
        text(early, Variant::LogGopSim, &Parameters::default())
            .unwrap()
            .stuck,
        None
    );

    let fraction = Parameters {
        gap_per_byte: 0.5,
        ..Parameters::default()
    };
    assert!(text(early, Variant::LogGopSim, &fraction).is_err());
}

/// The clock ends after 213 days: longer times are refused with their position, for a single operation or for the
/// sum.
#[test]
fn times_do_not_wrap() {
    let calc = |ns: &str| format!("num_ranks 1\nrank 0 {{\na: calc {ns}\nb: calc {ns}\nb requires a\n}}\n");
    let send = "num_ranks 2\nrank 0 {\ns: send 9223372036854775807b to 1 tag 0\n}\nrank 1 {\nr: recv 9223372036854775807b from 0 tag 0\n}\n";
    let last = u64::MAX / 1000;
    for variant in BOTH {
        let refused = |program: &str, parameters: &Parameters| {
            text(program, variant, parameters).unwrap_err().to_string()
        };
        let usual = Parameters::default();
        for (ns, index) in [
            (u64::MAX, "x.goal:3"),
            (last + 1, "x.goal:3"),
            (last / 2 + 1, "x.goal:4"),
        ] {
            let message = refused(&calc(&ns.to_string()), &usual);
            assert!(
                message.starts_with(index) && message.contains("213 days"),
                "{variant:?} {ns}: {message}"
            );
        }
        let outcome = text(&calc(&(last / 2).to_string()), variant, &usual).unwrap();
        assert_eq!(outcome.ends, [last / 2 * 2]);
        let message = refused(send, &usual);
        assert!(message.starts_with("x.goal:"), "{message}");
        let long = Parameters {
            latency: u64::MAX,
            ..usual
        };
        assert!(refused(send, &long).contains("latency"));
    }
}

//! Random programs over the whole range of GOAL's text: a program that can complete is never refused before it runs.

use std::fmt::Write as _;
use std::sync::Arc;

use paceline_traces::check::check;
use paceline_traces::executor::{Executor, PointRules, Rules};
use paceline_traces::goal;
use paceline_traces::loggops::{Parameters, Variant, run};
use paceline_traces::program::Program;
use proptest::prelude::*;

/// Dependencies of an operation: some of those before it in an order other than the text's, and true for those on
/// starts.
type Waits = Vec<(prop::sample::Index, bool)>;

/// Message: its ends, bytes, tag if written, form of its receive, and the receive's size.
#[derive(Clone, Debug)]
struct Message {
    ends: (u32, u32),
    bytes: u64,
    tag: Option<u32>,
    any: (bool, bool),
    expects: Option<u64>,
    endpoints: [Endpoint; 2],
}

/// Cpu and NIC of an operation if written, its sort key within its rank, and its dependencies.
#[derive(Clone, Debug)]
struct Endpoint {
    cpu: Option<u8>,
    nic: Option<u8>,
    key: u32,
    waits: Waits,
}

#[derive(Clone, Debug)]
struct Random {
    ranks: u32,
    messages: Vec<Message>,
    /// Rank, duration in ns, and position of each computation.
    calcs: Vec<(u32, u64, Endpoint)>,
}

fn place() -> impl Strategy<Value = Endpoint> {
    let waits = prop::collection::vec((any::<prop::sample::Index>(), prop::bool::weighted(0.2)), 0..3);
    let number = || prop::option::weighted(0.4, 0_u8..3);
    (number(), number(), any::<u32>(), waits).prop_map(|(cpu, nic, key, waits)| Endpoint {
        cpu,
        nic,
        key,
        waits,
    })
}

fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..3, 990_u64..1010, 1_u64..5000, 60_000_u64..70_000]
}

fn random() -> impl Strategy<Value = Random> {
    (1_u32..6).prop_flat_map(|ranks| {
        let message = (
            (0..ranks, 0..ranks),
            bytes(),
            prop::option::weighted(0.7, 0_u32..3),
            (prop::bool::weighted(0.15), prop::bool::weighted(0.15)),
            prop::option::weighted(0.1, bytes()),
            [place(), place()],
        );
        let message = message.prop_map(|(ends, bytes, tag, any, expects, endpoints)| Message {
            ends,
            bytes,
            tag,
            any,
            expects,
            endpoints,
        });
        // A computation has no NIC.
        let without = place().prop_map(|location| Endpoint {
            nic: None,
            ..location
        });
        let calc = (0..ranks, 0_u64..20_000, without);
        (
            prop::collection::vec(message, 0..12),
            prop::collection::vec(calc, 0..6),
        )
            .prop_map(move |(messages, calcs)| Random {
                ranks,
                messages,
                calcs,
            })
    })
}

impl Random {
    /// Returns the text with its lines in the order of their keys, regardless of the dependencies.
    fn text(&self) -> String {
        let mut of_rank: Vec<Vec<(String, &Endpoint)>> = vec![Vec::new(); self.ranks as usize];
        for message in &self.messages {
            let (from, to) = message.ends;
            let [send, receive] = &message.endpoints;
            let tag = message.tag.map_or(String::new(), |tag| format!(" tag {tag}"));
            let line = format!("send {}b to {to}{tag}", message.bytes);
            of_rank[from as usize].push((line, send));
            let source = if message.any.0 {
                "-1".to_string()
            } else {
                from.to_string()
            };
            let tag = if message.any.1 { " tag -1".to_string() } else { tag };
            let line = format!(
                "recv {}b from {source}{tag}",
                message.expects.unwrap_or(message.bytes)
            );
            of_rank[to as usize].push((line, receive));
        }
        for (rank, ns, index) in &self.calcs {
            of_rank[*rank as usize].push((format!("calc {ns}"), index));
        }
        let mut text = format!("num_ranks {}\n", self.ranks);
        for (rank, operations) in of_rank.iter().enumerate() {
            writeln!(text, "rank {rank} {{").unwrap();
            let mut lines: Vec<usize> = (0..operations.len()).collect();
            lines.sort_by_key(|&at| (operations[at].1.key, at));
            for &at in &lines {
                let (line, index) = &operations[at];
                let with =
                    |name: &str, number: Option<u8>| number.map_or(String::new(), |n| format!(" {name} {n}"));
                writeln!(
                    text,
                    "l{at}: {line}{}{}",
                    with("cpu", index.cpu),
                    with("nic", index.nic)
                )
                .unwrap();
            }
            for (at, (_, index)) in operations.iter().enumerate().skip(1) {
                for (other, by_start) in &index.waits {
                    let word = if *by_start { "irequires" } else { "requires" };
                    writeln!(text, "l{at} {word} l{}", other.index(at)).unwrap();
                }
            }
            text += "}\n";
        }
        text
    }
}

/// Returns the name of an executor with which the program completes, if there is one.
fn ends(program: &Arc<dyn Program>, eager: u64) -> Option<&'static str> {
    let parameters = Parameters {
        eager,
        ..Parameters::default()
    };
    for (variant, name) in [(Variant::LogGopSim, "loggopsim"), (Variant::Atlahs, "atlahs")] {
        // ATLAHS rejects wildcards.
        if run(&**program, variant, &parameters).is_ok_and(|outcome| outcome.stuck.is_none()) {
            return Some(name);
        }
    }
    let rules = Rules {
        point: PointRules {
            eager_bytes: eager,
            ..PointRules::GOAL
        },
        ..Rules::default()
    };
    let mut executor = Executor::new(program.clone(), rules);
    super::executor::network(program.ranks(), 1000.0)
        .run(&mut executor)
        .unwrap();
    executor.is_done().then_some("packets")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_runs_to_its_end_is_never_refused(random in random()) {
        let text = random.text();
        let (program, _) = goal::read_bytes("x.goal", text.as_bytes()).unwrap();
        let program: Arc<dyn Program> = Arc::new(program);
        for eager in [0, 1000, 65_535, u64::MAX] {
            let report = check(&*program, eager);
            if !report.errors.is_empty() {
                prop_assert_eq!(ends(&program, eager), None, "eager {}: {:?}\n{}", eager, report.errors, text);
            }
        }
    }
}

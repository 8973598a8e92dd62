//! Groups, rings, and sums of their steps.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use paceline_traces::network::Message;
use paceline_traces::program::{CollectiveKind, Rank};
use paceline_traces::simai::{GroupKind, Groups, SimaiProgram, program, read};

use super::{made, run, servers, text};

/// Creates a program of one all-gather of all groups of a kind.
fn gather(kind: GroupKind, header: &str, ranks: u32) -> SimaiProgram {
    let (forward, weight) = match kind {
        GroupKind::Tp => ("ALLGATHER 1048576", "NONE 0"),
        GroupKind::Dp => ("NONE 0", "ALLGATHER 1048576"),
        GroupKind::Ep => ("ALLGATHER_EP 1048576", "NONE 0"),
        GroupKind::DpEp => ("ALLGATHER_DP_EP 1048576", "NONE 0"),
    };
    let text = format!("{header}\n1\nlayer -1 1 {forward} 1 NONE 0 1 {weight} 1\n");
    let (workload, _) = read("one.txt", &text).unwrap();
    program(&workload, &servers(ranks)).unwrap().0
}

/// Lists groups with their rings, in the format of SimAI's code.
fn listed(ranks: u32, tp: u32, ep: u32) -> String {
    let header = format!("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tp} ep: {ep}");
    let (workload, _) = read(
        "one.txt",
        &format!("{header}\n1\nl -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n"),
    )
    .unwrap();
    let groups = Groups::new(&workload.header, ranks, "one.txt:1").unwrap();
    let dp = ranks / tp;
    let mut out = format!(
        "mockncclgroup W {ranks} gpus_per_server 8 TP {tp} DP {dp} PP 1 EP {ep} DP_EP {}\n",
        dp / ep
    );
    for kind in Groups::KINDS {
        if groups.size(kind) < 2 {
            continue;
        }
        let name = match kind {
            GroupKind::Tp => "TP",
            GroupKind::Dp => "DP",
            GroupKind::Ep => "EP",
            GroupKind::DpEp => "DP_EP",
        };
        let (_, messages) = run(gather(kind, &header, ranks), 3000, &|_, _| 100);
        // The k-th message of a rank belongs to its k-th ring, until the first is acknowledged.
        let mut next: BTreeMap<Rank, Vec<Rank>> = BTreeMap::new();
        for message in &messages {
            next.entry(message.from).or_default().push(message.to);
        }
        for number in 0..groups.count(kind) {
            let members = groups.members(kind, number);
            for &rank in &members {
                assert_eq!(groups.of(kind, rank), number);
            }
            let mut nodes: Vec<u32> = members.iter().map(|rank| rank / 8).collect();
            nodes.dedup();
            let list = |ranks: Vec<String>| ranks.join(" ");
            let ranks = list(members.iter().map(ToString::to_string).collect());
            let (nodes, size) = (nodes.len(), members.len());
            writeln!(out, "group {name} nNodes {nodes} nRanks {size} ranks {ranks}").unwrap();
            for channel in 0..size / nodes {
                let to = |rank: &Rank| next[rank].get(channel).copied().unwrap_or(*rank);
                let edge = |rank: &Rank| format!("{rank}>{}", to(rank));
                let edges = list(members.iter().map(edge).collect());
                writeln!(out, "  channel {channel} next {edges}").unwrap();
            }
        }
    }
    out
}

#[test]
fn groups_and_rings_are_simais() {
    for (ranks, tp, ep, name) in [
        (16, 16, 1, "mockncclgroup-w16-tp16-ep1.txt"),
        (32, 2, 8, "mockncclgroup-w32-tp2-ep8.txt"),
        (128, 8, 1, "mockncclgroup-b4-w128-tp8-ep1.txt.gz"),
        (128, 2, 32, "mockncclgroup-smoke-w128-tp2-ep32.txt.gz"),
    ] {
        let (ours, theirs) = (listed(ranks, tp, ep), text(name));
        for (ours, theirs) in ours.lines().zip(theirs.lines()) {
            assert_eq!(ours, theirs, "{name}");
        }
        assert_eq!(ours.lines().count(), theirs.lines().count(), "{name}");
    }
}

/// Returns the time of a message of b4 without contention other than the eight rings of its server: 2400 Gbit/s and
/// 25 ns inside servers, 100 Gbit/s and 500 ns outside, 52 B of headers, acknowledgements of 60 B.
fn alone(message: &Message) -> u64 {
    let (full, rest) = (message.bytes / 9000, message.bytes % 9000);
    let last = |gbps: u64| match rest {
        0 => 0,
        rest => (rest + 52) * 8 / gbps,
    };
    if message.from / 8 == message.to / 8 {
        let last = last(2400);
        8 * (full * 30 + last) + 25 + last + 25 + 50
    } else {
        let last = last(100);
        full * 728 + last + (500 + last + 500) + (500 + 4 + 500 + 4)
    }
}

/// 81 steps of tensor parallelism, an all-gather, an all-reduce, small ones, and the reduce-scatter between servers,
/// with computing and process times. SimAI took 315,442,327 ns: its rings get out of step, which saves up to 100 ns a
/// step.
#[test]
fn an_iteration_of_gpt_13b_is_the_sum_of_its_steps() {
    let (executor, _) = run(
        made("b4-gpt13b-w128-tp8-pp2-gbs8.txt", 128),
        3000,
        &|_, message| alone(message),
    );
    let end = executor.results().ranks[0].end.as_ns();
    assert!((315_495_000..315_497_500).contains(&end), "{end}");
    let off = end.abs_diff(315_442_327) as f64 / 315_442_327.0;
    assert!(off < 0.0003, "{off}");
    let all = executor.results().collectives;
    let scatter = all.iter().find(|found| found.bytes == 3_885_793_280).unwrap();
    let took = scatter.last_end.as_ns() - scatter.first_start.as_ns();
    assert_eq!(
        (scatter.kind, took),
        (CollectiveKind::ReduceScatter, 15 * 19_650_380 - 30)
    );
}

/// Computing, process times and the steps of 1 ns, with messages that take no time.
#[test]
fn an_iteration_without_messages_is_a_chain() {
    let (executor, _) = run(made("microAllReduce.txt", 8), 3000, &|_, _| 0);
    // 14 steps of an all-reduce each take 3010 ns; the last byte of the last arrives after the same number of steps.
    let forward = 2 * (556_000 + 14 * 3010 + 1 + 1);
    assert_eq!(executor.results().ranks[0].end.as_ns(), forward + 2 * 4);
}

/// All messages of a rank leave at once, in the order of the members.
#[test]
fn an_all_to_all_goes_to_the_members_in_their_order() {
    let header = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8";
    let text = format!("{header}\n1\nl -1 1 ALLTOALL 65536 1 NONE 0 1 NONE 0 1\n");
    let (workload, _) = read("one.txt", &text).unwrap();
    let (program, _) = program(&workload, &servers(8)).unwrap();
    let (_, messages) = run(program, 3000, &|_, _| 1000);
    let of_3 = messages.iter().filter(|message| message.from == 3);
    let to: Vec<(Rank, u64)> = of_3.map(|message| (message.to, message.bytes)).collect();
    assert_eq!(to, [0, 1, 2, 4, 5, 6, 7].map(|to| (to, 8192)));
}

//! Interpretation of nodes of Chakra traces, and errors in traces that cannot run.

use paceline_traces::chakra::{
    ControlDeps, Kernels, Options, Repair, Roofline, Scalar, decode, read_bytes, rules, shared,
};
use paceline_traces::check::check;
use paceline_traces::chunks::{Chunks, Links, Topology};
use paceline_traces::executor::Executor;
use paceline_traces::trouble::Trouble;
use proptest::prelude::*;

use crate::encode::{COLLECTIVE, MEMORY, METADATA, Message, Node, file, ranks};

/// Returns links on which each message takes 1000 ns, plus a ns for each byte.
fn links(ranks: u32) -> Links {
    Links {
        topology: Topology::FullyConnected,
        ranks,
        bandwidth: 1e9 / f64::from(1 << 30),
        latency_ns: 1000.0,
    }
}

fn run(traces: &[Vec<Node>], options: &Options) -> (Executor, Vec<String>) {
    let (graph, cautions) = read_bytes(ranks(traces), options).unwrap();
    let mut executor = Executor::new(shared(graph), rules());
    Chunks::new(links(traces.len() as u32), false)
        .run(&mut executor)
        .unwrap();
    (executor, cautions.into_iter().map(|c| c.text).collect())
}

fn ends(traces: &[Vec<Node>]) -> Vec<u64> {
    let (executor, _) = run(traces, &Options::default());
    assert_eq!(executor.stuck(), []);
    executor.results().ranks.iter().map(|r| r.end.as_ns()).collect()
}

fn trouble(traces: &[Vec<Node>], options: &Options) -> String {
    read_bytes(ranks(traces), options).unwrap_err().to_string()
}

fn wrong(traces: &[Vec<Node>], parts: &[&str]) {
    let text = trouble(traces, &Options::default());
    for part in parts {
        assert!(text.contains(part), "`{part}` in: {text}");
    }
}

#[test]
fn three_lanes_run_at_a_time_and_free_nodes_go_by_their_ids() {
    let trace = vec![
        Node::comp(3, 2),
        Node::comp(1, 5),
        Node::comp(2, 7).cpu(),
        Node::new(4, MEMORY).lasts(9),
        Node::new(5, MEMORY).lasts(9).cpu(),
    ];
    // GPU 5 + 2, CPU 7 + 9, memory 9.
    assert_eq!(ends(&[trace]), [16_000]);
    // METADATA and INVALID take no time and free the nodes that wait for them.
    let trace = vec![
        Node::comp(1, 1),
        Node::new(2, METADATA).after(1),
        Node::new(3, 0).after(2),
        Node::comp(4, 1).after(3),
    ];
    assert_eq!(ends(&[trace]), [2000]);
}

#[test]
fn a_broadcast_is_sent_piece_by_piece_from_its_root() {
    // Three pieces of 512 KiB: each takes 1000 + 524,288 ns over a link, and the last of four members is three links
    // away.
    let bytes = 3 << 19;
    let node = Node::comp(1, 4);
    let trace = vec![
        node,
        Node::collective(2, 5, bytes).int("comm_src", 2).lasts(3).after(1),
    ];
    let (executor, cautions) = run(&vec![trace; 4], &Options::default());
    let results = executor.results();
    let ends: Vec<u64> = results.ranks.iter().map(|rank| rank.end.as_ns()).collect();
    let piece = 1000 + (1 << 19);
    // The root completes when its last piece has left, and rank 1 when it has all: the order is 2, 3, 0, 1. Each link
    // from the root adds a piece; the last member but one completes when the last has all pieces.
    assert_eq!(ends, [2, 2, 0, 1].map(|links| 4000 + piece * (3 + links)));
    assert_eq!(cautions, [] as [&str; 0]);
    assert_eq!(results.collectives.len(), 1);
    // Without comm_src the first member is the root, with a caution.
    let (_, cautions) = run(&vec![vec![Node::collective(1, 5, 64)]; 2], &Options::default());
    assert_eq!(
        cautions,
        [
            "2 nodes of collectives with a root have no comm_src: the root is the first member of the group; the first: t.0.et: node 1 (n1)."
        ]
    );
}

#[test]
fn a_broadcast_lasts_its_duration_as_in_astra_sim_on_request() {
    let trace = vec![
        Node::comp(1, 4),
        Node::collective(2, 5, 4096).lasts(3).after(1),
        Node::collective(3, 0, 4096).after(2),
    ];
    let options = Options {
        as_astra_sim: true,
        ..Options::default()
    };
    let (executor, cautions) = run(&[trace.clone(), trace], &options);
    let rank = &executor.results().ranks[1];
    assert_eq!(
        (rank.compute.as_ns(), rank.exposed.as_ns()),
        (4000, 3000 + 2 * (1000 + 2048))
    );
    assert_eq!(
        cautions,
        [
            "2 broadcasts have the recorded time and no bytes to the network, as in ASTRA-sim: 8192 bytes (50.0 % of those that the trace \
          moves) and 6000 ns (42.9 % of the time that its nodes last); the first: t.0.et: node 2 (n2)."
        ]
    );
}

#[test]
fn kernels_without_a_duration_take_the_time_of_the_roofline_or_are_refused() {
    // 10^15 operations at 400 TFLOP/s take 2.5 s, 9 GB at 3 TB/s 3 ms.
    let work = |id, ops, bytes| Node::comp(id, 0).int("num_ops", ops).int("tensor_size", bytes);
    let trace = [vec![
        work(1, 1_000_000_000_000_000, 1_000_000_000),
        work(2, 1_000_000_000, 9_000_000_000),
        Node::comp(3, 7).int("num_ops", 1_000_000_000_000),
        Node::new(4, MEMORY).int("tensor_size", 3_000_000_000),
    ]];
    let text = trouble(&trace, &Options::default());
    assert!(
        text.contains("t.0.et: node 1 (n1): 3 nodes of the trace have work (num_ops, tensor_size) but no duration_micros")
            && text.contains("`flops` and `memory`"),
        "{text}"
    );
    let roofline = Roofline {
        flops: Some(400e12),
        memory: Some(3e12),
    };
    let options = Options {
        roofline,
        ..Options::default()
    };
    let (executor, cautions) = run(&trace, &options);
    let rank = &executor.results().ranks[0];
    assert_eq!(rank.compute.as_ns(), 2_500_000_000 + 3_000_000 + 7000);
    assert!(
        cautions[0].starts_with("1 memory node (MEM_LOAD, MEM_STORE) is not carried on the network"),
        "{cautions:?}"
    );
    assert!(
        cautions[1].starts_with("2 of 3 compute nodes take the time of the roofline (2503.000 ms)"),
        "{cautions:?}"
    );
    // The roofline replaces durations.
    let options = Options {
        kernels: Kernels::Roofline,
        ..options
    };
    let (executor, _) = run(&trace, &options);
    let rank = &executor.results().ranks[0];
    assert_eq!(rank.compute.as_ns(), 2_500_000_000 + 3_000_000 + 2_500_000);
    // A kernel that needs both rates is an error with only one.
    let flops = Options {
        roofline: Roofline {
            memory: None,
            ..roofline
        },
        ..Options::default()
    };
    assert!(trouble(&trace, &flops).contains("1 node of the trace has work (num_ops, tensor_size) but no duration_micros, and the rules give no `memory`"));
    wrong(&[vec![Node::comp(1, 0).int("num_ops", -1)]], &["num_ops is -1"]);
}

#[test]
fn kernels_without_a_duration_are_told_where_astra_sims_rules_count() {
    let trace = [vec![
        Node::comp(1, 0).int("num_ops", 5_000_000).int("tensor_size", 8),
        Node::comp(2, 3).int("num_ops", 5_000_000),
    ]];
    let read = |roofline: Option<Roofline>, kernels| {
        let options = Options {
            as_astra_sim: true,
            roofline: roofline.unwrap_or_default(),
            kernels,
            ..Options::default()
        };
        let (executor, mut cautions) = run(&trace, &options);
        cautions.retain(|text| !text.contains("successor"));
        (executor.results().ranks[0].end.as_ns(), cautions)
    };
    let (end, cautions) = read(None, Kernels::Recorded);
    assert_eq!(end, 3001);
    assert!(
        cautions[0]
            .starts_with("1 of 2 compute nodes have no duration_micros, and take 1 ns, as in ASTRA-sim"),
        "{cautions:?}"
    );
    let rates = Roofline {
        flops: Some(1e12),
        memory: Some(1e12),
    };
    assert_eq!(read(Some(rates), Kernels::Recorded), (8000, vec![]));
    // With roofline-enabled it skips kernels without tensor_size, regardless of their duration.
    let (end, cautions) = read(Some(rates), Kernels::Roofline);
    assert_eq!(end, 5000);
    assert!(
        cautions[0]
            .starts_with("1 of 2 compute nodes have no tensor_size, and take no time, as in ASTRA-sim"),
        "{cautions:?}"
    );
}

#[test]
fn kernels_with_neither_duration_nor_work_are_told() {
    let trace = vec![Node::comp(1, 0), Node::comp(2, 1)];
    let (executor, cautions) = run(&[trace], &Options::default());
    assert_eq!(executor.results().ranks[0].end.as_ns(), 1001);
    assert_eq!(
        cautions[0],
        "1 of 2 compute nodes have neither duration_micros nor num_ops, and take 1 ns; the first: t.0.et: node 1 (n1)."
    );
}

#[test]
fn communication_of_the_cpu_is_carried_if_it_says_what_it_is() {
    let call = Node::new(1, COLLECTIVE).cpu().lasts(5);
    let sum = Node::collective(2, 0, 2000).cpu().after(1);
    let (executor, cautions) = run(&vec![vec![call, sum]; 2], &Options::default());
    let rank = &executor.results().ranks[0];
    assert_eq!((rank.compute.as_ns(), rank.exposed.as_ns()), (5000, 4000));
    assert!(
        cautions[0].contains("2 communication nodes of the CPU (is_cpu_op) without comm_type and comm_size")
            && cautions[1]
                .contains("2 communication nodes of the CPU (is_cpu_op) are carried on the network"),
        "{cautions:?}"
    );
}

#[test]
fn what_takes_no_network_is_told() {
    let trace = vec![
        Node::collective(1, 0, 2000),
        Node::send(2, 0, 5, 500).int("comm_priority", 3),
        Node::receive(3, 0, 5, 500),
    ];
    let (executor, cautions) = run(&[trace], &Options::default());
    assert_eq!(executor.results().ranks[0].end.as_ns(), 0);
    let parts = [
        "1 collective is of a group of one rank, and done at once: 2000 bytes",
        "1 message is to the rank itself, without the network: 500 bytes",
        "1 node has comm_priority, which is not read",
    ];
    for (caution, part) in cautions.iter().zip(parts) {
        assert!(caution.starts_with(part), "{caution}");
    }
    assert_eq!(cautions.len(), 3);
}

#[test]
fn collectives_in_some_dimensions_are_refused_and_those_in_none_are_told() {
    let dims = |list: &[u8]| {
        let list = list
            .iter()
            .fold(Message::default(), |m, &n| m.number(1, u64::from(n)));
        Node::collective(1, 0, 2000).attribute("involved_dim", |m| m.bytes(28, &list.0))
    };
    assert_eq!(ends(&vec![vec![dims(&[1, 1])]; 2]), [4000, 4000]);
    wrong(
        &vec![vec![dims(&[1, 0])]; 2],
        &["t.0.et: node 1 (n1)", "involved_dim is [true, false]"],
    );
    let (executor, cautions) = run(&vec![vec![dims(&[0, 0])]; 2], &Options::default());
    assert_eq!(executor.results().ranks[0].end.as_ns(), 0);
    assert!(
        cautions[0].contains("2 collectives have involved_dim false")
            && cautions[0].contains("4000 bytes (100.0 %"),
        "{cautions:?}"
    );
}

#[test]
fn collectives_that_astra_sim_lacks_are_trees() {
    let all = |kind, bytes| {
        let traces = vec![vec![Node::collective(1, kind, bytes)]; 4];
        ends(&traces).into_iter().max().unwrap()
    };
    assert_eq!(all(1, 500), 3 * 1500, "reduce, in a chain to the root");
    assert_eq!(all(3, 500), 1500 + 2000, "gather: one part, then two");
    assert_eq!(
        all(4, 2000),
        2000 + 1500,
        "scatter: half of the whole, then a quarter"
    );
    assert_eq!(all(9, 0), 2 * 1001, "barrier");
}

#[test]
fn a_send_is_done_when_it_has_arrived_and_holds_the_lane_until_then() {
    let traces = [
        vec![Node::send(1, 1, 5, 500), Node::send(2, 1, 6, 500)],
        vec![
            Node::comp(1, 4),
            Node::receive(2, 0, 5, 500).after(1),
            Node::receive(3, 0, 6, 500),
        ],
    ];
    assert_eq!(ends(&traces), [3000, 4000]);
    // A message to the rank itself does not use the network.
    let trace = vec![Node::send(1, 0, 5, 500), Node::receive(2, 0, 5, 500)];
    assert_eq!(ends(&[trace]), [0]);
}

#[test]
fn metadata_may_define_groups() {
    let text = r#"[{"pg_name": "tp", "ranks": [1, 0]}, {"pg_name": "alone", "ranks": [2]}]"#;
    let define = Node::new(1, METADATA).values(text);
    let pair = vec![define.clone(), Node::collective(2, 2, 500).text("pg_name", "tp")];
    let alone = vec![define, Node::collective(2, 2, 500).text("pg_name", "alone")];
    assert_eq!(ends(&[pair.clone(), pair, alone]), [1500, 1500, 0]);
}

#[test]
fn control_dependencies_are_kept_where_they_are_sound() {
    let sound = vec![Node::comp(1, 5), Node::comp(2, 5).cpu().control(1)];
    assert_eq!(ends(std::slice::from_ref(&sound)), [10_000]);
    let dropped = Options {
        control_deps: ControlDeps::Drop,
        ..Options::default()
    };
    let (executor, _) = run(&[sound], &dropped);
    assert_eq!(executor.results().ranks[0].end.as_ns(), 5000);

    let unsound = vec![
        Node::comp(1, 5).control(2).control(9),
        Node::comp(2, 5).cpu().after(1),
    ];
    let (executor, cautions) = run(std::slice::from_ref(&unsound), &Options::default());
    assert_eq!(executor.results().ranks[0].end.as_ns(), 10_000);
    assert!(cautions[0].contains("All 2 control dependencies"), "{cautions:?}");
    assert!(
        cautions[0].contains("node 1 on node 9") && cautions[0].contains("2 of 2 nodes"),
        "{cautions:?}"
    );
    let kept = Options {
        control_deps: ControlDeps::Keep,
        ..Options::default()
    };
    assert!(trouble(&[unsound], &kept).contains("control parent 9"));
    let cycle = vec![Node::comp(1, 5).control(2), Node::comp(2, 5).after(1)];
    assert!(trouble(&[cycle], &kept).contains("1 (n1) before 2 (n2) before 1 again"));
}

#[test]
fn kernels_of_a_stream_are_chained_on_request() {
    let kernel = |id| Node::comp(id, 1).int("stream", 7);
    let trace = vec![kernel(1), kernel(2), Node::comp(3, 1).int("stream", 8)];
    let (_, cautions) = run(std::slice::from_ref(&trace), &Options::default());
    assert!(
        cautions[0].contains("3 kernels have no successor"),
        "{cautions:?}"
    );
    let chained = Options {
        repair: Repair {
            chain_streams: true,
            ..Repair::default()
        },
        ..Options::default()
    };
    assert_eq!(run(&[trace], &chained).1, [] as [&str; 0]);
    let against = vec![kernel(1).after(2), kernel(2)];
    assert!(trouble(&[against], &chained).contains("wait for each other"));
}

#[test]
fn what_cannot_run_is_named_with_its_file_and_node() {
    let one = |node: Node| vec![vec![node]];
    wrong(&one(Node::new(1, 9)), &["t.0.et: node 1 (n1)", "node type `9`"]);
    wrong(
        &one(Node::collective(1, 10, 5)),
        &["comm_type is 10", "7 REDUCE_SCATTER"],
    );
    wrong(&one(Node::collective(1, 0, -5)), &["comm_size is -5"]);
    wrong(
        &one(Node::new(1, 7).int("comm_type", 0)),
        &["COMM_COLL has no comm_size"],
    );
    wrong(&one(Node::new(1, 7)), &["COMM_COLL has no comm_type"]);
    wrong(
        &one(Node::send(1, 3, 0, 5)),
        &["comm_dst is 3", "the ranks are 0 to 0"],
    );
    wrong(
        &one(Node::collective(1, 0, 5).text("pg_name", "tp")),
        &["unknown group `tp`"],
    );
    wrong(&one(Node::comp(1, u64::MAX)), &["duration_micros"]);
    wrong(&one(Node::comp(1, 1).after(1)), &["1 (n1) before 1 again"]);
    wrong(&[vec![Node::comp(1, 1), Node::comp(1, 1)]], &["node 1"]);
    wrong(
        &[vec![
            Node::comp(1, 1).after(3),
            Node::comp(2, 1).after(1),
            Node::comp(3, 1).after(2),
        ]],
        &[
            "t.0.et: node 1 (n1): nodes wait for each other: 1 (n1) before 2 (n2) before 3 (n3) before 1 again",
        ],
    );
}

#[test]
fn messages_with_one_end_and_collectives_that_differ_are_found_before_the_run() {
    let two = |a: Node, b: Node| [vec![a], vec![b]];
    let error = |traces: &[Vec<Node>]| {
        let (graph, _) = read_bytes(ranks(traces), &Options::default()).unwrap();
        check(&graph, u64::MAX).errors[0].clone()
    };
    assert_eq!(
        error(&two(Node::send(1, 1, 5, 9), Node::comp(1, 1))),
        "rank 0 sends 1 message to rank 1 with tag 5, which posts 0 receives: t.0.et: node 1 (n1) is never received"
    );
    assert_eq!(
        error(&two(Node::comp(1, 1), Node::receive(1, 0, 5, 9))),
        "rank 0 sends 0 messages to rank 1 with tag 5, which posts 1 receive: t.1.et: node 1 (n1) never gets a message"
    );
    assert_eq!(
        error(&two(Node::collective(1, 0, 8), Node::collective(1, 0, 16))),
        "collective 1 of group 0 (ranks 0, 1): rank 0 has all-reduce of 8 bytes (t.0.et: node 1 (n1)), rank 1 has all-reduce of 16 bytes (t.1.et: node 1 (n1))"
    );
    assert!(
        error(&two(Node::collective(1, 0, 8), Node::collective(1, 2, 8)))
            .contains("rank 1 has all-gather of 8 bytes")
    );
    let sizes = two(Node::send(1, 1, 5, 400), Node::receive(1, 0, 5, 9));
    let (executor, cautions) = run(&sizes, &Options::default());
    assert_eq!(executor.results().ranks[1].end.as_ns(), 1400);
    assert!(
        cautions[0].contains("sends 400 B") && cautions[0].contains("receives 9 B"),
        "{cautions:?}"
    );
}

#[test]
fn a_deadlock_that_only_the_order_makes_ends_with_who_waits_for_whom() {
    let group = |id, bytes| Node::collective(id, 0, bytes);
    let traces = [
        vec![group(1, 8), Node::comp(2, 1).after(1), group(3, 16).after(2)],
        vec![group(1, 16), Node::comp(2, 1).after(1), group(3, 8).after(2)],
    ];
    let (executor, _) = run(&traces, &Options::default());
    assert!(!executor.is_done());
    let text: Vec<String> = executor.stuck().into_iter().map(|s| s.text).collect();
    let text = text.join("\n");
    assert!(
        text.contains("AllReduce of 8 B at rank 0") && text.contains("AllReduce of 16 B at rank 1"),
        "{text}"
    );
}

#[test]
fn attributes_of_all_types_are_read() {
    let packed = |numbers: &[u64]| {
        let mut out = Vec::new();
        numbers.iter().for_each(|&n| crate::encode::varint(n, &mut out));
        Message::default().bytes(1, &out)
    };
    let node = Node::new(1, 0)
        .attribute("double", |m| m.fixed64(3, 1.5_f64.to_bits()))
        .attribute("float", |m| m.fixed32(5, 2.5_f32.to_bits()))
        .attribute("int32", |m| m.number(7, -7_i64 as u64))
        .attribute("uint32", |m| m.number(11, 7))
        .attribute("uint64", |m| m.number(13, u64::MAX))
        .attribute("sint32", |m| m.number(15, 13))
        .attribute("sint64", |m| m.number(17, 14))
        .attribute("fixed32", |m| m.fixed32(19, u32::MAX))
        .attribute("fixed64", |m| m.fixed64(21, u64::MAX))
        .attribute("sfixed32", |m| m.fixed32(23, u32::MAX))
        .attribute("sfixed64", |m| m.fixed64(25, u64::MAX))
        .attribute("bytes", |m| m.bytes(31, &[1, 2]))
        .attribute("packed", |m| m.bytes(10, &packed(&[1, 300]).0))
        .attribute("one by one", |m| {
            m.bytes(10, &Message::default().number(1, 1).number(1, 300).0)
        })
        .attribute("texts", |m| {
            m.bytes(30, &Message::default().bytes(1, b"a").bytes(1, b"b").0)
        })
        .attribute("unknown", |m| m.number(99, 5));
    let mut nodes = Vec::new();
    let bytes = file(&[node]);
    decode::<Trouble>("x", &bytes, |node| {
        nodes.push(node);
        Ok(())
    })
    .unwrap();
    let values: Vec<Vec<Scalar<'_>>> = nodes[0].attributes.iter().map(|a| a.values().to_vec()).collect();
    let int = Scalar::Int;
    let text = |t: &'static str| Scalar::Text(t);
    assert_eq!(
        values,
        [
            vec![Scalar::Real(1.5)],
            vec![Scalar::Real(2.5)],
            vec![int(-7)],
            vec![int(7)],
            vec![int(u64::MAX.into())],
            vec![int(-7)],
            vec![int(7)],
            vec![int(u32::MAX.into())],
            vec![int(u64::MAX.into())],
            vec![int(-1)],
            vec![int(-1)],
            vec![Scalar::Bytes(&[1, 2])],
            vec![int(1), int(300)],
            vec![int(1), int(300)],
            vec![text("a"), text("b")],
            vec![],
        ]
    );
}

/// Returns a valid trace of a rank: kernels, CPU nodes, memory, collectives, and exchanges with neighbours.
fn sound(shape: &[(u8, i64, i64, u64)], rank: i64, ranks: i64) -> Vec<Node> {
    let mut nodes = Vec::new();
    for (n, &(what, size, kind, before)) in (0_u64..).zip(shape) {
        let id = 2 * n;
        let added = match what {
            0 => vec![Node::comp(id, (size + rank) as u64 % 9)],
            1 => vec![Node::comp(id, size as u64 % 9).cpu()],
            2 => vec![Node::new(id, MEMORY).lasts(size as u64 % 9)],
            3 => vec![Node::collective(id, kind, size)],
            _ => vec![
                Node::send(id, (rank + 1) % ranks, kind, size),
                Node::receive(id + 1, (rank + ranks - 1) % ranks, kind, size),
            ],
        };
        let parent = |node: Node| match before < n {
            true => node.after(2 * before),
            false => node,
        };
        nodes.extend(added.into_iter().map(parent));
    }
    nodes
}

proptest! {
    /// Reading and running ends for any trace, valid or not.
    #[test]
    fn random_traces_end_or_say_why(
        shape in prop::collection::vec((0_u64..8, 0_i64..11, 0_i64..3000, 0_u64..12, 0_u64..12, 0_i64..4), 0..12),
        count in 1_usize..4,
    ) {
        let nodes: Vec<Node> = (0..).zip(&shape).map(|(id, &(kind, comm, size, data, control, peer))| {
            let mut node = Node::new(id, kind).lasts(data).int("comm_type", comm).int("comm_size", size);
            node = node.int("comm_src", peer).int("comm_dst", peer).int("comm_tag", size % 2);
            if data < id { node = node.after(data); }
            if control < 3 { node = node.control(control); }
            node
        }).collect();
        let traces = vec![nodes; count];
        if let Ok((graph, _)) = read_bytes(ranks(&traces), &Options::default()) {
            let mut executor = Executor::new(shared(graph), rules());
            Chunks::new(links(count as u32), true).run(&mut executor).unwrap();
            prop_assert!(executor.is_done() || !executor.stuck().is_empty());
        }
    }

    /// Valid traces are read, and complete unless ranks start collectives in different orders; the times of a rank
    /// add up.
    #[test]
    fn sound_traces_run(
        shape in prop::collection::vec((0_u8..5, 0_i64..5000, 0_i64..10, 0_u64..30), 0..25),
        count in 1_i64..6,
    ) {
        let traces: Vec<Vec<Node>> = (0..count).map(|rank| sound(&shape, rank, count)).collect();
        let (executor, _) = run(&traces, &Options::default());
        if executor.is_done() {
            for rank in executor.results().ranks {
                let sum = rank.compute.as_ps() + rank.exposed.as_ps() + rank.waiting.as_ps();
                prop_assert_eq!(sum, rank.end.as_ps());
            }
            prop_assert_eq!(executor.unclaimed(), []);
        } else {
            prop_assert!(executor.stuck().iter().any(|s| s.text.contains("collective") || s.text.contains("number")));
        }
    }
}

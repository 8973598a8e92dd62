//! SimAI's workloads: groups and rings as SimAI makes them, and iterations on a network whose times are formulas.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

use paceline_kernel::Time;
use paceline_traces::collective::CollectiveRules;
use paceline_traces::executor::{Executor, Rules};
use paceline_traces::network::{Message, MessageId, Network};
use paceline_traces::program::{CollectiveKind, Program, Rank};
use paceline_traces::simai::{GroupKind, Groups, Servers, SimaiProgram, Workload, program, read};
use paceline_traces::trouble::Trouble;
use proptest::prelude::*;

fn text(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/simai")
        .join(name);
    let bytes = fs::read(path).unwrap();
    let mut text = String::new();
    match name.ends_with(".gz") {
        true => flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text),
        false => (&bytes[..]).read_to_string(&mut text),
    }
    .unwrap();
    text
}

fn workload(name: &str) -> Workload {
    read(name, &text(name)).unwrap().0
}

/// Servers of eight GPUs.
fn servers(ranks: u32) -> Servers {
    Servers {
        ranks,
        gpus_per_server: 8,
        gpu: Some("A100".to_string()),
        nvls: true,
        pxn: false,
        mtu: 9000,
    }
}

fn made(name: &str, ranks: u32) -> SimaiProgram {
    program(&workload(name), &servers(ranks)).unwrap().0
}

/// Its time, its number, and a token or a message.
type Event = (Time, u64, Option<u64>, u32);

/// A network in which each message takes a time of its own, whatever else is under way.
struct Ideal<'a> {
    now: Time,
    events: BinaryHeap<Reverse<Event>>,
    number: u64,
    sent: Vec<Message>,
    ns: &'a dyn Fn(&Message) -> u64,
}

impl Ideal<'_> {
    fn at(&mut self, at: Time, token: Option<u64>, message: u32) {
        self.number += 1;
        self.events.push(Reverse((at, self.number, token, message)));
    }
}

impl Network for Ideal<'_> {
    fn now(&self) -> Time {
        self.now
    }
    fn wake(&mut self, at: Time, token: u64) {
        self.at(at, Some(token), 0);
    }
    fn send(&mut self, message: Message) {
        let ns = (self.ns)(&message);
        self.at(Time::from_ps(self.now.as_ps() + ns * 1000), None, message.id.0);
        self.sent.push(message);
    }
}

/// Carries a program out; the executor at the end, and all messages in the order in which they left.
fn run(program: SimaiProgram, ns: &dyn Fn(&Message) -> u64) -> (Executor, Vec<Message>) {
    let program: Arc<dyn Program> = Arc::new(program);
    let rules = Rules {
        collectives: CollectiveRules::simai(8, 3000),
        ..Rules::default()
    };
    let mut executor = Executor::new(program, rules);
    let mut net = Ideal {
        now: Time::ZERO,
        events: BinaryHeap::new(),
        number: 0,
        sent: Vec::new(),
        ns,
    };
    executor.start(&mut net);
    while let Some(Reverse((at, _, token, message))) = net.events.pop() {
        net.now = at;
        match token {
            Some(token) => executor.woken(token, &mut net),
            None => {
                executor.sent(MessageId(message), &mut net);
                executor.received(MessageId(message), &mut net);
                executor.acknowledged(MessageId(message), &mut net);
            }
        }
    }
    assert_eq!(executor.stuck(), []);
    assert!(executor.is_done());
    (executor, net.sent)
}

/// A program of one all-gather of all groups of a kind.
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

/// Groups with their rings, as SimAI's code lists them.
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
        let (_, messages) = run(gather(kind, &header, ranks), &|_| 100);
        // The k-th message of a rank is that of its k-th ring, until the first is acknowledged.
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

/// The times of messages of b4, where nothing but the eight rings of its server shares a link with one: 2400 Gbit/s and
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

/// 81 steps of tensor parallelism, an all-gather, an all-reduce, small ones, and the reduce-scatter between servers; computing
/// and process times. SimAI took 315,442,327 ns: its rings get out of step, which saves up to 100 ns a step.
#[test]
fn an_iteration_of_gpt_13b_is_the_sum_of_its_steps() {
    let (executor, _) = run(made("b4-gpt13b-w128-tp8-pp2-gbs8.txt", 128), &alone);
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

/// Computing, process times and the steps of 1 ns, where messages take no time.
#[test]
fn an_iteration_without_messages_is_a_chain() {
    let (executor, _) = run(made("microAllReduce.txt", 8), &|_| 0);
    // 14 steps of an all-reduce each take 3010 ns; the last byte of the last comes after as many.
    let forward = 2 * (556_000 + 14 * 3010 + 1 + 1);
    assert_eq!(executor.results().ranks[0].end.as_ns(), forward + 2 * 4);
}

#[test]
fn samples_are_read() {
    for (name, layers, tp, ep) in [
        ("microAllReduce.txt", 2, 8, 1),
        ("tp16.txt", 2, 16, 1),
        ("dense32.txt", 12, 8, 1),
        ("reduced-dense-w32-tp8-pp2.txt", 21, 8, 1),
        ("reduced-moe-w32-tp2-ep8.txt", 27, 2, 8),
        ("b4-gpt13b-w128-tp8-pp2-gbs8.txt", 93, 8, 1),
    ] {
        let read = workload(name);
        let header = &read.header;
        assert_eq!(
            (read.layers.len(), header.tp, header.ep),
            (layers, tp, ep),
            "{name}"
        );
    }
    let (b4, cautions) = read("b4", &text("b4-gpt13b-w128-tp8-pp2-gbs8.txt")).unwrap();
    assert_eq!(b4.header.pp_comm, 5_242_880.0);
    let said: Vec<&str> = cautions.iter().map(|caution| caution.text.as_str()).collect();
    assert!(
        said[0].starts_with("b4:1: pp is 2: as in SimAI's packet simulation"),
        "{said:?}"
    );
    assert!(
        said[1].contains("collectives of 0 bytes are left out") && said[1].ends_with("lines 4, 5"),
        "{said:?}"
    );
    // Forward sizes of less than a page count as one.
    let moe = made("reduced-moe-w32-tp2-ep8.txt", 32);
    assert!(
        moe.collectives()
            .iter()
            .all(|collective| collective.bytes >= 4096)
    );
}

/// A workload of one layer, with one of its words replaced.
fn with(word: usize, by: &str) -> Result<Workload, Trouble> {
    let line = "layer -1 10 ALLREDUCE 4096 10 NONE 0 10 NONE 0 100";
    let words: Vec<&str> = line.split(' ').collect();
    let words: Vec<&str> = words
        .iter()
        .enumerate()
        .map(|(i, &old)| if i == word { by } else { old })
        .collect();
    let header = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8";
    read("x.txt", &format!("{header}\n1\n{}\n", words.join(" "))).map(|(workload, _)| workload)
}

#[test]
fn mistakes_are_named_with_their_lines() {
    let error = |text: &str| {
        let trouble = read("x.txt", text).unwrap_err();
        format!("{trouble} {}", trouble.help.clone().unwrap_or_default())
    };
    let eleven = read("x.txt", &text("eleven_columns.txt")).unwrap_err();
    assert_eq!(eleven.to_string(), "x.txt:3: 11 fields, expected 12");
    let (_, cautions) = read("x.txt", &text("zero_bytes_forward.txt")).unwrap();
    assert!(cautions[0].text.ends_with("lines 3"), "{cautions:?}");
    let header = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8";
    for (text, says) in [
        ("", "x.txt:1: the file is empty"),
        (
            "HYBRID_TRANSFORMER_FWD_IN_BCKWARD\n",
            "did you mean `HYBRID_TRANSFORMER_FWD_IN_BCKWD`?",
        ),
        ("HYBRID_DLRM a: 1\n", "policy `HYBRID_DLRM` is not carried out"),
        (
            "HYBRID_TRANSFORMER_FWD_IN_BCKWD ep: 1\n2\n",
            "there is no `model_parallel_NPU_group:`",
        ),
        (
            &format!("{header} eo: 1\n"),
            "unknown key `eo:` did you mean `ep`?",
        ),
        (&format!("{header} ep: 1 ep: 2\n"), "ep is given twice"),
        (&format!("{header} ep:\n"), "ep has no value"),
        (&format!("{header} ep: 0\n"), "ep is 0: expected at least 1"),
        (
            &format!("{header} ga: 1.5\n"),
            "ga is `1.5`: expected a whole number",
        ),
        (&format!("{header} pp_comm -1\n"), "pp_comm is `-1`"),
        (
            &format!("{header} checkpoints: 2 1 ep: 1\n"),
            "checkpoints announces 2 layers, and there are 1",
        ),
        (header, "the file ends after its first line"),
        (
            &format!("{header}\n2 layers\n"),
            "x.txt:2: `2 layers`: expected the number of layers alone",
        ),
        (
            &format!("{header}\n2\nl -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n"),
            "x.txt:2: 2 layers are announced, and 1 follow",
        ),
        (&format!("{header}\n0\n"), "expected at least one"),
    ] {
        let said = error(text);
        assert!(said.contains(says), "{says}: {said}");
    }
    for (word, by, says) in [
        (1, "next", "x.txt:3: the dependency is `next`"),
        (
            2,
            "-10",
            "the time of the forward pass, in ns is `-10`: expected a whole number, not negative",
        ),
        (
            4,
            "4096.0",
            "the size of the collective of the forward pass, in bytes is `4096.0`",
        ),
        (
            11,
            "99999999999999999999",
            "the process time, in ns is `99999999999999999999`: expected at most",
        ),
        (3, "ALLREDUCE_PP", "unknown collective `ALLREDUCE_PP`"),
        (
            3,
            "ALLREDUCEALLTOALL",
            "SimAI takes it for an all-reduce without a group",
        ),
    ] {
        let said = with(word, by).unwrap_err().to_string();
        assert!(said.contains(says), "{says}: {said}");
    }
    assert_eq!(
        with(3, "ALLGATER").unwrap_err().help.unwrap(),
        "did you mean `ALLGATHER`?"
    );
}

#[test]
fn ranks_that_do_not_fit_are_named_with_their_numbers() {
    let header = |rest: &str| {
        let line = format!("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {rest}");
        read(
            "x.txt",
            &format!("{line}\n1\nl -1 1 ALLREDUCE 8 1 NONE 0 1 NONE 0 1\n"),
        )
        .unwrap()
        .0
    };
    let says = |rest: &str, servers: Servers| program(&header(rest), &servers).unwrap_err().to_string();
    assert_eq!(
        says("8 all_gpus: 16", servers(32)),
        "x.txt:1: all_gpus is 16, and the job has 32 ranks (model_parallel_NPU_group 8): expected as many"
    );
    assert_eq!(
        says("6", servers(32)),
        "x.txt:1: 32 ranks are not a multiple of model_parallel_NPU_group 6, with ep 1: DP would be 5.33"
    );
    assert_eq!(
        says("8 ep: 3", servers(32)),
        "x.txt:1: DP 4 (32 ranks by model_parallel_NPU_group 8) is not a multiple of ep 3: DP_EP would be 1.33"
    );
    assert!(says("8", servers(12)).contains("12 ranks are not whole servers of 8"));
    let pxn = Servers {
        pxn: true,
        ..servers(32)
    };
    assert!(says("8", pxn).contains("PXN (AS_PXN_ENABLE) is not carried out"));
    let h100 = |nvls| Servers {
        gpu: Some("H100".to_string()),
        nvls,
        ..servers(32)
    };
    assert!(says("8", h100(true)).contains("(NVLS) on H100 servers"));
    assert!(program(&header("8"), &h100(false)).is_ok());
    assert!(program(&header("4"), &h100(true)).is_ok());
}

#[test]
fn messages_that_simai_never_ends_are_named() {
    // A message of 9000 B fills its packet: SimAI does not see that it is the last.
    let text = format!(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8\n2\nl -1 1 ALLGATHER {} 1 NONE 0 1 NONE 0 1\nm -1 1 \
         ALLGATHER {} 1 NONE 0 1 NONE 0 1\n",
        64 * 9000,
        64 * 9100
    );
    let (workload, _) = read("x.txt", &text).unwrap();
    let (_, cautions) = program(&workload, &servers(32)).unwrap();
    assert_eq!(cautions.len(), 1);
    assert!(
        cautions[0].text.ends_with("here they end: lines 3"),
        "{cautions:?}"
    );
}

/// Whatever is cut off or changed in a workload, there is a program or an error.
#[test]
fn every_prefix_is_a_program_or_an_error() {
    let whole = text("tp16.txt");
    for (end, _) in whole.char_indices() {
        if let Ok((workload, _)) = read("x.txt", &whole[..end]) {
            let _ = program(&workload, &servers(16));
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_a_workload_or_an_error(place in 0_usize..300, by in "[ -~\n]{0,3}") {
        let mut whole = text("tp16.txt");
        let place = place.min(whole.len());
        whole.replace_range(place..(place + 1).min(whole.len()), &by);
        if let Ok((workload, _)) = read("x.txt", &whole) {
            let _ = program(&workload, &servers(16));
        }
    }
}

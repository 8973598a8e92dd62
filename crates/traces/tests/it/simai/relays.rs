//! PXN: messages to the next server by way of the rank on its first rank's rail. SimAI's lists of messages, by hand.

use std::cell::RefCell;
use std::collections::BTreeMap;

use paceline_kernel::Time;
use paceline_traces::collective::CollectiveRules;
use paceline_traces::network::Message;
use paceline_traces::program::Rank;
use paceline_traces::simai::{Servers, SimaiProgram, program, read};

use super::run_by;

/// Departure (ns), sender, receiver, bytes and channel of a message.
type Sent = (u64, Rank, Rank, u64, u32);

/// Creates a program of one collective of 4 ranks in two servers of two GPUs.
fn one(kind: &str) -> SimaiProgram {
    let text = format!(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4\n1\nlayer -1 1 {kind} 80000 1 NONE 0 1 NONE 0 1\n"
    );
    let (workload, _) = read("one.txt", &text).unwrap();
    let servers = Servers {
        ranks: 4,
        gpus_per_server: 2,
        nvswitches: 2,
        mtu: 9000,
    };
    program(&workload, &servers).unwrap().0
}

/// Executes it with messages that take 100 ns; returns them in the order of their departures.
fn sent(kind: &str, relays: bool) -> Vec<Sent> {
    let rules = CollectiveRules {
        relays,
        ..CollectiveRules::simai(2, 3000)
    };
    let list = RefCell::new(Vec::new());
    let ns = |now: Time, message: &Message| {
        let of = message;
        list.borrow_mut()
            .push((now.as_ns(), of.from, of.to, of.bytes, of.channel));
        100
    };
    run_by(one(kind), rules, &ns);
    list.into_inner()
}

fn pairs(sent: &[Sent]) -> BTreeMap<(Rank, Rank), usize> {
    let mut pairs = BTreeMap::new();
    for &(_, from, to, ..) in sent {
        *pairs.entry((from, to)).or_default() += 1;
    }
    pairs
}

/// Ring 0 is 0, 1, 2, 3 and ring 1 is 1, 0, 3, 2. Without relays, 1 sends to 2 and 0 to 3: to another rail. With relays, 1
/// sends to 0, which sends to 2, and 0 to 1, which sends to 3.
#[test]
fn messages_to_another_rail_go_by_way_of_its_rank() {
    for (kind, steps) in [("REDUCESCATTER", 3), ("ALLREDUCE", 6)] {
        let direct = pairs(&sent(kind, false));
        let expected = [(0, 1), (1, 2), (2, 3), (3, 0), (1, 0), (0, 3), (3, 2), (2, 1)];
        assert_eq!(direct, expected.map(|pair| (pair, steps)).into());
        let relayed = sent(kind, true);
        let expected = [
            ((0, 1), 2 * steps),
            ((1, 0), 2 * steps),
            ((2, 3), 2 * steps),
            ((3, 2), 2 * steps),
            ((0, 2), steps),
            ((2, 0), steps),
            ((1, 3), steps),
            ((3, 1), steps),
        ];
        assert_eq!(pairs(&relayed), expected.into());
        assert!(relayed.iter().all(|sent| sent.3 == 80_000 / 4 / 2));
    }
}

/// SimAI does not recognise the setting in all-gathers.
#[test]
fn an_all_gather_has_no_relays() {
    assert_eq!(sent("ALLGATHER", true), sent("ALLGATHER", false));
}

/// In a reduce-scatter, a rank's first send in a ring is prepared for 10 ns, and others for 40 ns; each leaves 3000 ns
/// later. So the messages of the first step leave at 3010, and are acknowledged at 3110. The relay of ring 0 at rank 0 is its
/// second send in the ring: 3110 + 40 + 3000.
#[test]
fn a_relay_counts_among_the_sends_of_its_rank() {
    let sent = sent("REDUCESCATTER", true);
    let of_ring = |from: Rank, to: Rank, channels: [u32; 2]| {
        let fits = |sent: &&Sent| (sent.1, sent.2) == (from, to) && channels.contains(&sent.4);
        sent.iter().filter(fits).map(|sent| sent.0).collect::<Vec<_>>()
    };
    let start = sent[0].0 - 3010;
    let at = |times: &[u64]| times.iter().map(|time| start + time).collect::<Vec<_>>();
    // From the last rank of the server to the first, and on to the next server's first.
    assert_eq!(of_ring(1, 0, [0; 2])[..1], at(&[3010]));
    assert_eq!(of_ring(0, 2, [2; 2])[..1], at(&[6150]));
    // Rank 1 takes rank 0's message of a step at 3110, as the sends of a cycle go.
    assert_eq!(of_ring(1, 0, [0; 2])[..2], at(&[3010, 6150]));
    // Rank 0 has its predecessor's first message at 6250, by way of rank 2: its third send in the ring.
    assert_eq!(of_ring(0, 1, [0; 2])[..2], at(&[3010, 9290]));
}

//! With message times from SimAI's own runs, messages start at the same ns as in SimAI.

use std::cell::RefCell;
use std::collections::BTreeMap;

use paceline_kernel::Time;
use paceline_traces::network::Message;
use paceline_traces::program::Rank;

use super::{made, run, text};

/// Message in a run of SimAI: bytes, start and completion time in ns.
type Recorded = (u64, u64, u64);

/// Returns messages of a run by sender and receiver, in the order of their starts.
fn recorded(name: &str) -> BTreeMap<(Rank, Rank), Vec<Recorded>> {
    let mut all: BTreeMap<(Rank, Rank), Vec<(u64, Recorded)>> = BTreeMap::new();
    for line in text(&format!("{name}-messages.csv.gz")).lines().skip(1) {
        let fields: Vec<u64> = line.split(',').map(|field| field.parse().unwrap()).collect();
        let ends = (fields[0] as Rank, fields[1] as Rank);
        all.entry(ends)
            .or_default()
            .push((fields[2], (fields[3], fields[4], fields[5])));
    }
    let in_order = |mut list: Vec<(u64, Recorded)>| {
        list.sort_unstable();
        list.into_iter().map(|(_, message)| message).collect()
    };
    all.into_iter()
        .map(|(ends, list)| (ends, in_order(list)))
        .collect()
}

/// Delays that give each message the time of the corresponding message in SimAI's run, by pair and number.
struct Replay {
    recorded: BTreeMap<(Rank, Rank), Vec<Recorded>>,
    next: BTreeMap<(Rank, Rank), usize>,
    /// Time in ns from which on starts are not compared.
    until: u64,
    equal: u64,
    unequal: Vec<String>,
}

impl Replay {
    fn ns(&mut self, now: Time, message: &Message) -> u64 {
        let ends = (message.from, message.to);
        let index = self.next.entry(ends).or_default();
        let found = self.recorded.get(&ends).and_then(|list| list.get(*index));
        let (bytes, start, fct) = found.copied().unwrap_or_default();
        *index += 1;
        if (bytes, start) == (message.bytes, now.as_ns()) {
            self.equal += u64::from(start < self.until);
        } else if start.min(now.as_ns()) < self.until {
            let (ours, at) = (message.bytes, now.as_ns());
            let text = format!("{ends:?}: {ours} B at {at}, expected {bytes} B at {start}");
            self.unequal.push(text);
        }
        fct
    }
}

/// Executes a workload with the times of SimAI's messages. Returns the end of rank 0, the number of messages with
/// equal starts, and descriptions of the others.
fn replay(name: &str, (ranks, latency_us): (u32, u64), until: u64) -> (u64, u64, Vec<String>) {
    let stem = name.trim_end_matches(".txt");
    let replay = RefCell::new(Replay {
        recorded: recorded(&format!("{stem}-lat{latency_us}")),
        next: BTreeMap::new(),
        until,
        equal: 0,
        unequal: Vec::new(),
    });
    let ns = |now: Time, message: &Message| replay.borrow_mut().ns(now, message);
    let (executor, _) = run(made(name, ranks), latency_us * 1000, &ns);
    let Replay {
        equal, mut unequal, ..
    } = replay.into_inner();
    // The first ones are enough.
    unequal.truncate(5);
    (executor.results().ranks[0].end.as_ns(), equal, unequal)
}

#[test]
fn messages_start_when_they_do_in_simai() {
    for (name, ranks_and_latency, end, messages) in [
        ("microAllReduce.txt", (8, 3), 1_688_030, 1792),
        ("microAllReduce.txt", (8, 6), 1_772_030, 1792),
        ("tp16.txt", (16, 3), 347_247, 7680),
        ("dense32.txt", (32, 3), 4_991_457, 37_728),
        ("reduced-dense-w32-tp8-pp2.txt", (32, 3), 685_776, 46_688),
        ("reduced-moe-w32-tp2-ep8.txt", (32, 3), 303_958, 5824),
        ("dp64.txt", (64, 3), 5_923_764, 45_696),
        ("held_ep64.txt", (64, 6), 1_157_610, 7296),
    ] {
        let ours = replay(name, ranks_and_latency, u64::MAX);
        assert_eq!(ours, (end, messages, Vec::new()), "{name}");
    }
    // Rings over four servers: two collectives are compared, up to the start of one at a rank whose last packet
    // waited between those of other rings; the recorded times do not say how long.
    let (_, equal, unequal) = replay("held_tp32.txt", (32, 3), 457_463);
    assert_eq!((equal, unequal), (23_734, Vec::new()));
}

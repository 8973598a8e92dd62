//! Ten switches in a row: what hosts get, and how long links send and wait.

use std::collections::BTreeMap;

use paceline_fabric::Outcome;
use paceline_fabric::outcome::{PacketKind, TraceEvent, TraceKind};
use paceline_fabric::spec::NodeId;
use paceline_scenario::Resolved;

use super::super::{MeasureSet, Metrics, described, measure};
use crate::stats::{jain, mean};

pub(in crate::measures) const ROW: MeasureSet = MeasureSet {
    name: "ib-row",
    about: "`infiniband-row` from 100 to 200 ms, with switches 4, 6 and 8 and the receivers 21 and 22 in `record.trace`.",
    values: &[
        measure("share_9", "host at switch 9", "", 5),
        measure("share_8", "at switch 8", "", 5),
        measure("share_7", "at switch 7", "", 5),
        measure("share_6", "at switch 6", "", 5),
        measure("share_5", "at switch 5", "", 5),
        measure("share_4", "at switch 4", "", 5),
        measure("share_3", "at switch 3", "", 5),
        measure("share_2", "at switch 2", "", 5),
        measure("share_1", "at switch 1", "", 5),
        measure("share_0", "host at switch 0", "", 5),
        measure("jain", "Jain's index of the ten", "", 3),
        measure("victim", "the victim", "Gbit/s", 3),
        measure("farthest", "the farthest host", "Gbit/s", 3),
        measure("all", "what the receiver gets", "Gbit/s", 3),
        measure("on_8", "sends, mean", "us", 3),
        measure("off_8", "waits, mean", "us", 3),
        measure("on_6", "sends, mean", "us", 3),
        measure("off_6", "waits, mean", "us", 3),
        measure("on_4", "sends, mean", "us", 3),
        measure("off_4", "waits, mean", "us", 3),
    ],
    series: &[],
    of,
};

/// Hosts of the row, of which each sends one message.
const HOSTS: usize = 10;

/// The node of the first of them, and of the receivers.
const FIRST: u32 = 10;

const RECEIVERS: [NodeId; 2] = [NodeId(21), NodeId(22)];

/// What hosts' shares are called among numbers, from the nearest to the receiver.
const SHARES: [&str; HOSTS] = [
    "share_9", "share_8", "share_7", "share_6", "share_5", "share_4", "share_3", "share_2", "share_1",
    "share_0",
];

/// The links of the row that are looked at: the switch, and what its times are called.
const LINKS: [(u32, [&str; 2]); 3] = [
    (8, ["on_8", "off_8"]),
    (6, ["on_6", "off_6"]),
    (4, ["on_4", "off_4"]),
];

/// What is looked at, in ps; a packet on the wire, and the shortest wait: two flow-control packets take less.
const FROM: u64 = 100_000_000_000;

const UNTIL: u64 = 200_000_000_000;

const PACKET: u64 = 512_000;

const WAIT: u64 = 4_250;

fn of(input: &Resolved, outcome: &Outcome) -> Metrics {
    let looked =
        |event: &&TraceEvent| event.kind == PacketKind::Data && (FROM..UNTIL).contains(&event.at.as_ps());
    let came = outcome
        .trace
        .iter()
        .filter(looked)
        .filter(|event| event.event == TraceKind::Receive);
    let mut packets: BTreeMap<(NodeId, u32), u64> = BTreeMap::new();
    for event in came.filter(|event| RECEIVERS.contains(&event.node)) {
        if let Some(flow) = described(&input.run, event.flow) {
            *packets.entry((event.node, flow.src.0)).or_default() += 1;
        }
    }
    let rate = |packets: u64| packets as f64 * 16_384.0 / ((UNTIL - FROM) as f64 / 1e3);
    let of_host = |switch: u32| packets.get(&(RECEIVERS[0], FIRST + switch)).copied().unwrap_or(0);
    let hosts: Vec<u64> = (0..HOSTS as u32).rev().map(of_host).collect();
    let all: u64 = hosts.iter().sum();
    let victim: u64 = packets
        .iter()
        .filter(|((to, _), _)| *to == RECEIVERS[1])
        .map(|(_, packets)| packets)
        .sum();
    let shares: Vec<f64> = hosts
        .iter()
        .map(|&packets| packets as f64 / all.max(1) as f64)
        .collect();
    let mut numbers = Metrics::finite([
        ("all", Some(rate(all))),
        ("victim", Some(rate(victim))),
        ("farthest", hosts.last().map(|&packets| rate(packets))),
        ("jain", jain(&shares)),
    ]);
    numbers.extend(SHARES.into_iter().zip(shares));
    for (switch, [on, off]) in LINKS {
        // A switch's links of the row come first: back, then on.
        let sent = outcome.trace.iter().filter(looked).filter(|event| {
            (event.node, event.interface) == (NodeId(switch), 2) && event.event == TraceKind::Dequeue
        });
        let starts: Vec<u64> = sent.map(|event| event.at.as_ps()).collect();
        let times = sends_and_waits(&starts);
        numbers.extend(times[0].map(|mean| (on, mean)));
        numbers.extend(times[1].map(|mean| (off, mean)));
    }
    numbers
}

/// For how long a port sends and waits in turn, in us, by the instants at which packets set out; what began before the
/// first of them is left out.
fn sends_and_waits(starts: &[u64]) -> [Option<f64>; 2] {
    let (mut on, mut off) = (Vec::new(), Vec::new());
    let mut since = None;
    for pair in starts.windows(2) {
        let (end, next) = (pair[0] + PACKET, pair[1]);
        if next > end + WAIT
            && let Some(since) = since.replace(next)
        {
            on.push((end - since) as f64 / 1e6);
            off.push((next - end) as f64 / 1e6);
        }
    }
    [mean(&on), mean(&off)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two packets and a wait of a microsecond, of which what began before is left out; a flow-control packet is no wait.
    #[test]
    fn what_a_port_sends_is_told_from_waits() {
        let both = 2 * PACKET + 2_000;
        let starts: Vec<u64> = (0..4u64)
            .flat_map(|k| {
                let at = k * (both + 1_000_000);
                [at, at + PACKET + 2_000]
            })
            .collect();
        assert_eq!(sends_and_waits(&starts), [Some(1.026), Some(1.0)]);
        assert_eq!(sends_and_waits(&starts[..1]), [None, None]);
    }
}

//! Ten switches in a row: what credits leave to those who are far away, and how long the row's links wait for them.

use crate::citation::Citation;
use paceline_congestion::papers;
use std::collections::BTreeMap;

use paceline_fabric::Outcome;
use paceline_fabric::outcome::{PacketKind, TraceEvent, TraceKind};
use paceline_fabric::spec::NodeId;
use paceline_lab::stats::{jain, mean};
use paceline_scenario::Resolved;

use super::{
    CONTROLS, Cell, Claim, Criterion, Done, Measure, Metrics, Panel, Reproduction, Row, RunRequest, Source,
    Tolerance, controls, need, of, ours,
};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "ib-row",
    data: None,
    title: "Ten switches in a row: unfairness of credits, and links that send and wait",
    source: Citation::of(
        papers::TCD_THESIS,
        "chapter 1, which draws the effects and prints no number of them; sums of turns: ours",
    ),
    setting: "Scenario `infiniband-row`: a host at each of ten switches sends to one at the last, a victim at the first to an idle one there. \
              Buffers of 100 packets, links of 32 Gbit/s, credits once in 4.096 us. Shares and rates of 100 to 200 ms.",
    notes: &[
        "Turns give each switch's own host half of what its link carries. Of what the receiver gets that is 1/2 for the nearest, \
         then 128/511, 64/511 and so on to 1/511, and 1/1022 for the farthest; the victim gets 1/1022 of its idle port. The fractions \
         have 511 in place of 512 since the victim's packets go over the row as well.",
        "A link that carries a rate R sends R Tc / C of each period where that is a packet or more, and otherwise a packet each time \
         that there is credit for one, every 512 ns C / R.",
        "Under IBCC and RRCC shares are shown: neither says that it is fair. IBCC is, nearly: one index for each host, and all are \
         notified alike. RRCC is not: senders go by the rate at which their packets came.",
    ],
    choices: &[],
    steps: &[],
    needs: || (0..CONTROLS.len()).map(run).collect(),
    panels: |done| vec![judged(done), got(done), waits(done)],
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

fn run(control: usize) -> RunRequest {
    let (control, scheme, _) = CONTROLS[control];
    let settings = [
        format!("network.ib-omnet.control={control}"),
        "record.trace=[4,6,8,21,22]".to_string(),
    ];
    need("infiniband-row", scheme.to_string(), settings.to_vec(), DIGEST)
}

/// What turns give the host at a switch of what the receiver gets, of a whole.
fn by_turns(switch: usize) -> f64 {
    match switch {
        9 => 0.5,
        0 => 1.0 / 1022.0,
        _ => f64::from(1 << (switch - 1)) / 511.0,
    }
}

fn judged(done: &Done) -> Panel {
    const TURNS: &str = "each arbiter takes from the row and from its own host in turn";
    let of = |name| of(done, &run(0), name);
    let near = |at: f64, within: f64, because| {
        let bounds = Tolerance::Between((1.0 - within) * at, (1.0 + within) * at);
        Criterion::property(bounds, Source::Us, because)
    };
    let share = |name, switch| Some(of(name)? / by_turns(switch));
    let period = |on, off| Some(of(on)? + of(off)?);
    let said: [Claim; 6] = [
        (
            "share of the nearest host, over 1/2",
            share("share_9", 9),
            near(1.0, 0.001, TURNS),
        ),
        (
            "share of the host at the switch before, over 128/511",
            share("share_8", 8),
            near(1.0, 0.001, TURNS),
        ),
        (
            "share of the farthest host, over 1/1022",
            share("share_0", 0),
            near(1.0, 0.02, TURNS),
        ),
        (
            "the victim's rate over that of the host beside it",
            of("victim")
                .zip(of("farthest"))
                .map(|(victim, host)| victim / host),
            near(
                1.0,
                0.02,
                "both have every other turn of one link, though the victim's port is idle",
            ),
        ),
        (
            "the link into the last switch sends and waits, mean, us",
            period("on_8", "off_8"),
            near(
                4.096,
                0.01,
                "it has credits once in a period, and never for all that wait",
            ),
        ),
        (
            "the link out of the fifth switch sends and waits, mean, us",
            period("on_4", "off_4"),
            near(
                0.512 * 511.0 / 16.0,
                0.01,
                "a packet each time that there is credit for one: 16/511 of the line",
            ),
        ),
    ];
    ours("What turns and periods give under credits alone", &said)
}

/// What each host got, alongside turns.
fn got(done: &Done) -> Panel {
    let row = |switch: usize| Row::quantity(NAMES[switch], "", 5);
    let rows = (0..HOSTS).rev().map(row);
    let others = [
        Row::quantity("Jain's index of the ten", "", 3),
        Row::quantity("the victim", "Gbit/s", 3),
        Row::quantity("what the receiver gets", "Gbit/s", 3),
    ];
    let names: Vec<&str> = SHARES.into_iter().chain(["jain", "victim", "all"]).collect();
    let panel = Panel::of(
        "Shares of the receiver",
        "",
        controls(),
        rows.chain(others).collect(),
        |row, control| Cell {
            paper: None,
            ours: of(done, &run(control), names[row]),
            criterion: Criterion::shown(Source::Us),
        },
    );
    panel.told_by_title()
}

const NAMES: [&str; HOSTS] = [
    "host at switch 0",
    "at switch 1",
    "at switch 2",
    "at switch 3",
    "at switch 4",
    "at switch 5",
    "at switch 6",
    "at switch 7",
    "at switch 8",
    "host at switch 9",
];

/// How long links of the row send and wait.
fn waits(done: &Done) -> Panel {
    let rows = LINKS.iter().flat_map(|&(switch, _)| {
        let label = format!("from switch {switch} to {}", switch + 1);
        ["sends, mean", "waits, mean"].map(|metric| Row {
            label: label.clone(),
            ..Row::quantity(metric, "us", 3)
        })
    });
    let names: Vec<&str> = LINKS.iter().flat_map(|(_, names)| *names).collect();
    Panel::of(
        "Links of the row",
        "link",
        controls(),
        rows.collect(),
        |row, control| Cell {
            paper: None,
            ours: of(done, &run(control), names[row]),
            criterion: Criterion::shown(Source::Us),
        },
    )
}

const DIGEST: Measure = Measure {
    name: "ib row",
    of: digest,
};

/// What is looked at, in ps; a packet on the wire, and the shortest wait: two flow-control packets take less.
const FROM: u64 = 100_000_000_000;
const UNTIL: u64 = 200_000_000_000;
const PACKET: u64 = 512_000;
const WAIT: u64 = 4_250;

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let looked =
        |event: &&TraceEvent| event.kind == PacketKind::Data && (FROM..UNTIL).contains(&event.at.as_ps());
    let came = outcome
        .trace
        .iter()
        .filter(looked)
        .filter(|event| event.event == TraceKind::Receive);
    let mut packets: BTreeMap<(NodeId, u32), u64> = BTreeMap::new();
    for event in came.filter(|event| RECEIVERS.contains(&event.node)) {
        let from = input.run.flows[event.flow as usize].src.0;
        *packets.entry((event.node, from)).or_default() += 1;
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
    let mut numbers = super::numbers([
        ("all", Some(rate(all))),
        ("victim", Some(rate(victim))),
        ("farthest", hosts.last().map(|&packets| rate(packets))),
        ("jain", jain(&shares)),
    ]);
    numbers.values.extend(SHARES.into_iter().zip(shares));
    for (switch, [on, off]) in LINKS {
        // A switch's links of the row come first: back, then on.
        let sent = outcome.trace.iter().filter(looked).filter(|event| {
            (event.node, event.interface) == (NodeId(switch), 2) && event.event == TraceKind::Dequeue
        });
        let starts: Vec<u64> = sent.map(|event| event.at.as_ps()).collect();
        let times = sends_and_waits(&starts);
        numbers.values.extend(times[0].map(|mean| (on, mean)));
        numbers.values.extend(times[1].map(|mean| (off, mean)));
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

    #[test]
    fn turns_give_all_of_the_receiver() {
        let all: f64 = (0..HOSTS).map(by_turns).sum();
        assert!((all - 1.0).abs() < 1e-12, "{all}");
    }

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

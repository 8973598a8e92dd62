//! Pages about what switches and NICs do: flow control, marking, telemetry, recovery, fidelity.
//! Keys, units and defaults are those that the scenario crate documents.

use paceline_lab::layout;
use paceline_scenario::builtin::{self, Entry, Parameter};

use crate::example;

/// A mechanism of the network.
struct Mechanism {
    name: &'static str,
    also: &'static [&'static str],
    about: &'static str,
    example: &'static str,
    /// Sections of a scenario, and which of their keys; none for all.
    keys: &'static [(&'static str, &'static [&'static str])],
}

const MECHANISMS: &[Mechanism] = &[
    Mechanism {
        name: "pfc",
        also: &["flow-control", "headroom"],
        about: "Priority flow control (IEEE 802.1Qbb). A switch counts the bytes of each ingress port and \
                class. Above a threshold it sends the port's neighbour a pause frame, below another one a \
                resume frame; the headroom takes what is still on its way. Switch it off with \
                network.flow-control = \"none\".",
        example: "paceline run incast-16 --set network.flow-control=none",
        keys: &[
            (
                "network",
                &["flow-control", "buffer", "port-reserve", "headroom", "pfc-frame"],
            ),
            ("network.pfc", &[]),
        ],
    },
    Mechanism {
        name: "credits",
        also: &["cbfc", "infiniband", "virtual-lanes", "ibcc", "rrcc"],
        about: "Credit-based flow control (InfiniBand). A port sends a packet only if the other end of its link has told it \
                of room for that, lane by lane, in flow-control packets: so nothing is lost, and nobody is paused. Switches \
                buffer packets where they come in. A port with packets and no credits is no congested port: what it waits \
                for is further on, and flows that do not go there wait with it. network.ib-omnet.control says what hosts do \
                about marks: `ibcc` is InfiniBand's congestion control, an index that notifications raise and a timer \
                lowers, `rrcc` rates that receivers tell their senders. In fidelity `ib-omnet` all is as in the published \
                model of RRCC's author.",
        example: "paceline run infiniband-demo --set network.ib-omnet.control=rrcc",
        keys: &[
            ("network.ib-omnet", &[]),
            ("network.ib-omnet.ibcc", &[]),
            ("network.ib-omnet.rrcc", &[]),
        ],
    },
    Mechanism {
        name: "ecn",
        also: &["red", "marking"],
        about: "Explicit congestion notification. A switch marks a data packet as it leaves, with a \
                probability that rises from 0 at kmin to pmax at kmax bytes in the queue, and is 1 above. A \
                step (kmin = kmax, pmax = 1) is what DCTCP wants. The defaults depend on the scheme; \
                [network.ecn] replaces them.",
        example: "paceline run incast-16 --scheme dcqcn --set network.ecn.pmax=0.5",
        keys: &[("network.ecn", &[])],
    },
    Mechanism {
        name: "int",
        also: &["telemetry"],
        about: "In-band network telemetry. Every switch port writes into data packets when they leave: the \
                time, the bytes it has sent, the bytes it still holds. The receiver sends it all back in \
                acknowledgements. There is INT in runs with a scheme that reads it.",
        example: "paceline run incast-16 --scheme hpcc --set network.int-header=30B",
        keys: &[(
            "network",
            &["int-header", "int-multi", "pint-header", "timestamp-header"],
        )],
    },
    Mechanism {
        name: "loss-recovery",
        also: &[
            "irn",
            "rto",
            "go-back-n",
            "nack",
            "failures",
            "selective-repeat",
            "sack",
        ],
        about: "How NICs repair losses, whatever the scheme. Go-back-N: a receiver takes packets in order \
                only; one that sees a gap sends a NACK, and the sender goes back to it. IRN (selective \
                repeat): the receiver keeps what comes out of order and names it; the sender sends again \
                only what is missing, with at most a bandwidth-delay product in flight. A timeout repairs \
                losses that leave no gap to see: the last packets of a flow.",
        example: "paceline run incast-16 --set network.recovery=irn",
        keys: &[
            (
                "network",
                &["recovery", "rto", "nack-interval", "back-to-chunk", "error-rate"],
            ),
            ("network.irn", &[]),
            ("network.failure", &[]),
        ],
    },
    Mechanism {
        name: "drops",
        also: &["drop", "lossy", "lossless", "trimming", "trim"],
        about: "What happens to packets of classes that are not under flow control when there is no room for \
                them: they are dropped, or trimmed: the payload is cut off, and the headers go on to the \
                receiver in class 0, so that it asks for the packet at once.",
        example: "paceline run incast-16 --set network.flow-control=none --set network.buffer=1MB",
        keys: &[
            ("network", &["flow-control", "lossless", "buffer"]),
            ("network.drop", &[]),
        ],
    },
    Mechanism {
        name: "ecmp",
        also: &["flowlet", "spray", "adaptive"],
        about: "Which of several equally short ways a packet takes. ECMP: a flow's own, by a hash with a \
                seed per switch. Flowlets: a flow may change after a pause. Spraying: every packet at \
                random. Adaptive: the port that is soonest empty. What reorders packets wants a NIC \
                that bears it: network.recovery = \"irn\".",
        example: "paceline run load-balancing --set network.load-balancing=spray",
        keys: &[
            ("network", &["load-balancing"]),
            ("network.flowlet", &[]),
            ("network.adaptive", &[]),
        ],
    },
    Mechanism {
        name: "switch-assistance",
        also: &["assist", "src", "pru", "sm"],
        about: "What switches do for schemes beside marks and telemetry: Bolt's answers to senders (SRC) and \
                its tokens for capacity that is about to be free (PRU) or is (SM), QCN's congestion point, \
                answers to those who are decided for outside (feedback: switch-ack). \
                There is as much of it as the schemes of a run ask for; their blocks in [cc] have its \
                parameters.",
        example: "paceline run incast-16 --scheme bolt --set cc.bolt.src=false",
        keys: &[("network", &["assist", "assist-ports"])],
    },
    Mechanism {
        name: "endpoint-delay",
        also: &["host-delay"],
        about: "What the receiver's host adds to a round trip: packets wait for an engine that takes each for \
                so long, then a delay, perhaps with jitter. ACKs tell the sender how long it was; Swift has a \
                window of its own for it.",
        example: "paceline run incast-16 --scheme swift --set network.endpoint.delay=5us",
        keys: &[("network.endpoint", &[])],
    },
    Mechanism {
        name: "qp-scheduling",
        also: &[
            "nic-scheduling",
            "quantum",
            "max-min",
            "round-robin",
            "drr",
            "sfq",
        ],
        about: "Which of a NIC's queue pairs goes next, of those that pauses, windows and pacing let go. Round robin: in turn, \
                a packet each, so who sends small packets gets less of the port. Quantum: in turn, each for so many bytes (deficit \
                round robin), as NICs do that fetch several packets of one queue pair at once: others wait longer, and \
                switches see bursts. Max-min: the one that has had the least of the port (start-time fair queueing): all get the \
                same bytes, and who asks for less gets what it asks for, without waiting for a round of the others.",
        example: "paceline run all-to-all-broadcast-4 --set network.qp-scheduling=quantum",
        keys: &[("network", &["qp-scheduling", "qp-quantum"])],
    },
    Mechanism {
        name: "fidelity",
        also: &[
            "config.txt",
            "ns3-hpcc",
            "bolt-ns3",
            "tcd-ns3",
            "ib-omnet",
            "exact",
            "quirks",
        ],
        about: "Whose behaviour a run has. `exact`: time in picoseconds, headers and thresholds as written. \
                `ns3-hpcc`: HPCC's ns-3 simulator quirk by quirk, so that published numbers can be \
                reproduced; a config.txt runs so unless told otherwise. `bolt-ns3` and \
                `tcd-ns3`: the simulators of the authors of Bolt and of TCD in the same way. `ib-omnet`: RRCC's author's model \
                of InfiniBand (see `credits`). The scenario.toml in a run's folder \
                names every quirk as a switch of [quirks].",
        example: "paceline run incast-16 --fidelity ns3-hpcc",
        keys: &[
            (
                "",
                &[
                    "fidelity",
                    "input-format",
                    "ties",
                    "shuffle-ties",
                    "check",
                    "quirks",
                ],
            ),
            ("network.bolt-ns3", &[]),
            ("network.tcd-ns3", &[]),
        ],
    },
];

/// What shows a section of a scenario at work.
fn example_of_section(name: &str) -> &'static str {
    match name {
        "workload" => "paceline run incast-16 --set workload.incast.priority=2",
        "network" => "paceline run incast-16 --set network.mtu=4096B",
        "network.irn" => "paceline run incast-16 --set network.recovery=irn --set network.irn.rto-low=50us",
        "network.drop" => {
            "paceline run incast-16 --set network.flow-control=none --set network.drop.trim=true"
        }
        "network.pfc" => "paceline run incast-16 --set network.pfc.mode=quanta",
        "network.ecn" => "paceline run incast-16 --scheme dcqcn --set network.ecn.kmin=50KB",
        "network.tier" => {
            "paceline run load-balancing --set network.tier.spine.buffer=64MB --set network.tier.spine.ecn.kmin=200KB"
        }
        "job" | "job.step" => "paceline run ai-cluster",
        "network.detection" => "paceline run incast-16 --scheme dcqcn --set network.detection.kind=tcd",
        "network.bolt-ns3" => "paceline run bolt-join100 --set network.bolt-ns3.buffer-packets=500",
        "network.tcd-ns3" => {
            "paceline run incast-16 --fidelity tcd-ns3 --scheme dcqcn-tcd --set network.tcd-ns3.log=true"
        }
        "network.ib-omnet" | "network.ib-omnet.rrcc" => {
            "paceline run infiniband-demo --set network.ib-omnet.control=rrcc"
        }
        "network.ib-omnet.ibcc" => "paceline run infiniband-demo --set network.ib-omnet.control=ibcc",
        "network.endpoint" => "paceline run incast-16 --set network.endpoint.delay=5us",
        "network.flowlet" => {
            "paceline run load-balancing --set network.load-balancing=flowlet --set network.flowlet.gap=50us"
        }
        "network.adaptive" => "paceline run load-balancing --set network.load-balancing=adaptive",
        "network.failure" => "paceline run link-flap",
        "network.pause-storm" => "paceline run pfc-storm",
        "network.route" => "paceline run pfc-deadlock",
        "record" => "paceline run incast-16 --set record.queue=100ns",
        "sweep" => "paceline sweep incast-16 --over cc.scheme=hpcc,dctcp --over cc.window=off,fixed",
        _ => "paceline run incast-16 --set cc.window=fixed",
    }
}

/// The mechanisms, and a few words on each.
pub(crate) fn list() -> impl Iterator<Item = (&'static str, String)> {
    MECHANISMS.iter().map(|mechanism| {
        let ends = [". ", ": ", " ("].map(|end| mechanism.about.find(end).unwrap_or(mechanism.about.len()));
        let end = ends[0].min(ends[1]).min(ends[2]);
        let also = match mechanism.also {
            [] => String::new(),
            also => format!(" (also {})", also.join(", ")),
        };
        (mechanism.name, format!("{}{also}", &mechanism.about[..end]))
    })
}

/// All names, sections of a scenario included.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let names = |m: &'static Mechanism| std::iter::once(m.name).chain(m.also.iter().copied());
    let sections = builtin::sections().iter().map(|section| section.name);
    let all = MECHANISMS.iter().flat_map(names).chain(sections);
    all.filter(|name| !name.is_empty())
}

/// The page about a mechanism, or a section of a scenario.
pub(crate) fn page(name: &str, width: usize) -> Option<String> {
    if name.is_empty() {
        return None;
    }
    let known = |mechanism: &&Mechanism| mechanism.name == name || mechanism.also.contains(&name);
    let (title, about, keys, example) = match MECHANISMS.iter().find(known) {
        Some(mechanism) => (
            mechanism.name,
            mechanism.about,
            mechanism.keys.to_vec(),
            mechanism.example,
        ),
        None => {
            let section = builtin::sections().iter().find(|section| section.name == name)?;
            let keys = vec![(section.name, &[][..])];
            (section.name, section.summary, keys, example_of_section(name))
        }
    };
    let mut rows = vec![HEAD.map(str::to_string).to_vec()];
    for (section, chosen) in keys {
        let entry = builtin::sections().iter().find(|entry| entry.name == section);
        let parameters = entry.map_or(&[][..], |entry| entry.parameters);
        let wanted = |p: &&Parameter| chosen.is_empty() || chosen.contains(&p.name);
        rows.extend(parameters.iter().filter(wanted).map(|p| row(section, p)));
    }
    let about = layout::paragraph(about, width);
    let example = example::shown(example);
    Some(format!(
        "{title}\n\n{about}\n{}{example}",
        layout::columns(&rows, width)
    ))
}

/// Of the last part of a section's name, the section; of a key, what it is in each section that has it.
pub(crate) fn part(name: &str, width: usize) -> Option<String> {
    let last = |section: &&Entry| {
        section
            .name
            .rsplit_once('.')
            .is_some_and(|(_, last)| last == name)
    };
    let mut named = builtin::sections().iter().filter(last);
    if let (Some(section), None) = (named.next(), named.next()) {
        return page(section.name, width);
    }
    let mut rows = vec![HEAD.map(str::to_string).to_vec()];
    for section in builtin::sections() {
        let found = section
            .parameters
            .iter()
            .map(|parameter| row(section.name, parameter));
        rows.extend(found.filter(|row| row[0] == name || row[0].rsplit('.').next() == Some(name)));
    }
    let found = rows.len() > 1;
    found.then(|| format!("{name}\n\n{}", layout::columns(&rows, width)))
}

const HEAD: [&str; 3] = ["key", "default", "what"];

fn row(section: &str, parameter: &Parameter) -> Vec<String> {
    let dot = if section.is_empty() { "" } else { "." };
    let default = if parameter.default.is_empty() {
        "-"
    } else {
        parameter.default
    };
    let unit = if parameter.unit.is_empty() {
        String::new()
    } else {
        format!(" ({})", parameter.unit)
    };
    vec![
        format!("{section}{dot}{}", parameter.name),
        default.to_string(),
        format!("{}{unit}", parameter.help),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_a_page_exists() {
        for mechanism in MECHANISMS {
            for (section, keys) in mechanism.keys {
                let entry = builtin::sections()
                    .iter()
                    .find(|entry| entry.name == *section)
                    .unwrap();
                for key in *keys {
                    assert!(entry.parameters.iter().any(|p| p.name == *key), "{section}.{key}");
                }
            }
        }
    }
}

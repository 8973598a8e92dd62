//! Pages about mechanisms of switches and NICs: flow control, marking, telemetry, recovery, fidelity. Keys, units and
//! defaults are those documented in the scenario crate.

use paceline_congestion::params::only_with;
use paceline_lab::layout;
use paceline_scenario::builtin::{self, Entry, Parameter};

use crate::example;

/// Mechanism of the network.
struct Mechanism {
    name: &'static str,
    also: &'static [&'static str],
    about: &'static str,
    example: &'static str,
    /// Sections of a scenario, with the relevant keys; an empty list means all keys.
    keys: &'static [(&'static str, &'static [&'static str])],
}

const MECHANISMS: &[Mechanism] = &[
    Mechanism {
        name: "pfc",
        also: &["flow-control", "headroom", "deadlock", "storms", "watchdog"],
        about: "Priority flow control (IEEE 802.1Qbb). A switch counts the bytes of each ingress port and class. \
                Above a threshold it sends its neighbour a pause frame, and below a lower one a resume frame. \
                The headroom holds packets that were already on their way: it must hold a link's rate times twice \
                its delay, and a packet at either end, or lossless packets can be dropped. \
                Pauses spread towards the senders, and a host that never resumes its switch stops all of them (a \
                pause storm). Switches that wait for each other in a circle are a deadlock. Paceline finds both, \
                and `why` shows who waits for whom. Against storms: the PFC watchdog of switches (network.pfc.watchdog), larger receive \
                buffers in NICs (network.receive-buffer), fewer lossless priorities (network.lossless), so \
                that a storm stops fewer flows, or no PFC with network.recovery = \"irn\". Against deadlocks: \
                routes without circles. network.flow-control = \"none\" disables PFC.",
        example: "paceline run incast-16 --set network.flow-control=none",
        keys: &[
            (
                "network",
                &[
                    "flow-control",
                    "lossless",
                    "buffer",
                    "port-reserve",
                    "headroom",
                    "pfc-frame",
                ],
            ),
            ("network.pfc", &[]),
            ("network.pfc.watchdog", &[]),
        ],
    },
    Mechanism {
        name: "credits",
        also: &["credit", "infiniband", "virtual-lanes"],
        about: "Credit-based flow control (InfiniBand, CBFC). A port sends a packet only if it has credits for \
                it. The other end of the link sends credits per lane, in flow-control packets. Nothing is lost, \
                and no port is paused. Switches queue packets at their inputs. A port without credits is not \
                congested itself: the congested port is further downstream, and packets to other destinations \
                wait behind. To use it, write flow-control = \"credits\" in [network]; nothing else is needed. \
                [network.credit] then sets whose \
                credits they are (binding: \"ib\" for InfiniBand, \"cbfc\" for Ethernet), the lanes and their buffers. Schemes \
                by marks, delay or telemetry run as they are; `ibcc` and `rrcc` are made for \
                them. The published model of RRCC's author is a fidelity of its own: see `parity.ib-omnet`.",
        example: "paceline run incast-16 --set network.flow-control=credits --set network.credit.buffer=64KB",
        keys: &[("network", &["flow-control"]), ("network.credit", &[])],
    },
    Mechanism {
        name: "cbfc",
        also: &["cf-update", "cc-update"],
        about: "Credit-based flow control of scale-up Ethernet (UE 1.0, SAI). Both ends of a link count credits, \
                lane by lane, in cyclic counters: consumed and freed. Receivers say what they have freed in CF_Updates, \
                control ordered sets that are put even within a frame. Senders say what they have consumed in CC_Updates, \
                frames of their own, so that the credits of lost frames come back. A port reaches its full rate if its \
                buffer holds what is sent until a credit is back, cf-min included: `buffer = \"auto\"`. Link-level retry \
                lies below and takes no credits. Table `cbfc` has the counters.",
        example: "paceline run incast-16 --set network.flow-control=credits --set network.credit.binding=cbfc",
        keys: &[
            ("network", &["flow-control"]),
            (
                "network.credit",
                &[
                    "binding",
                    "buffer",
                    "unit",
                    "packet-overhead",
                    "cf-min",
                    "cf-max",
                    "cc-timer",
                    "phase",
                    "scope",
                ],
            ),
        ],
    },
    Mechanism {
        name: "isolation",
        also: &["congestion-isolation", "802.1qcz", "cim", "ici"],
        about: "Congestion isolation (IEEE 802.1Qcz). Flows that arrive for a port with a long queue move to a queue of their \
                own, and others need not wait behind them. An isolated packet waits for those of its flow that came before, so \
                none is overtaken. A switch whose isolated queue grows tells the switch before of the flow (CIM), which \
                isolates it too. Isolated packets have a priority of their own on the wire, so pauses stop them alone. With \
                marks = \"isolated\" only they are marked (ICI). The standard's thresholds and times are not public: those here \
                are ours. Table `isolated` has each isolated flow with its port and times.",
        example: "paceline run tcd-victims --scheme dcqcn --set network.isolation.detect=40KB",
        keys: &[("network.isolation", &[])],
    },
    Mechanism {
        name: "ecn",
        also: &["red", "marking"],
        about: "Explicit congestion notification. A switch marks data packets when they leave. The marking \
                probability is 0 up to kmin bytes in the queue, rises to pmax at kmax, and is 1 above. DCTCP \
                uses a step (kmin = kmax, pmax = 1). Defaults depend on the scheme; [network.ecn] overrides \
                them.",
        example: "paceline run incast-16 --scheme dcqcn --set network.ecn.pmax=0.5",
        keys: &[("network.ecn", &[])],
    },
    Mechanism {
        name: "int",
        also: &["telemetry"],
        about: "In-band network telemetry. Each switch port adds a record to departing data packets: the time, \
                the bytes sent, and the queue length. The receiver returns all records in acknowledgements. Runs \
                have INT if a scheme uses it.",
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
        about: "How NICs recover from losses, for all schemes. Go-back-N: the receiver accepts packets in order \
                only. After a gap it sends a NACK, and the sender retransmits from there. IRN (selective \
                repeat): the receiver keeps out-of-order packets and reports them. The sender retransmits only \
                the missing ones, with at most a bandwidth-delay product in flight. A timeout recovers losses \
                without a gap, such as the last packets of a flow.",
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
        about: "Packets of lossy classes that do not fit in the buffer. They are dropped or trimmed. Trimming \
                cuts the payload and forwards the headers to the receiver in class 0, so that it requests the \
                packet at once.",
        example: "paceline run incast-16 --set network.flow-control=none --set network.buffer=1MB",
        keys: &[
            ("network", &["flow-control", "lossless", "buffer"]),
            ("network.drop", &[]),
        ],
    },
    Mechanism {
        name: "ecmp",
        also: &["flowlet", "spray", "adaptive"],
        about: "How switches select among equal-cost paths. ECMP: by a hash of the flow, with a seed per switch. \
                Flowlets: a flow may change its path after a gap. Spraying: each packet at random. Adaptive: the \
                least loaded port. Spraying and adaptive routing per packet reorder packets, and need \
                network.recovery = \"irn\".",
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
        about: "Support of schemes by switches, other than marks and telemetry: Bolt's replies to senders (SRC) \
                and its tokens for capacity that is or will be free (SM, PRU), QCN's congestion point, and \
                replies to external agents (feedback: switch-ack). Switches provide what the schemes of a run \
                need. The parameters are in the schemes' tables in [cc].",
        example: "paceline run incast-16 --scheme bolt --set cc.bolt.src=false",
        keys: &[("network", &["assist", "assist-ports"])],
    },
    Mechanism {
        name: "endpoint-delay",
        also: &["host-delay"],
        about: "Delay of the receiving host. Packets wait for an engine with a service time per packet, then for \
                a delay, optionally with jitter. ACKs report this delay to the sender. Swift has a separate \
                window for it.",
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
        about: "How a NIC selects the next queue pair among those that may send. Round robin: one packet each, \
                so queue pairs with small packets get less of the port. Quantum: a number of bytes each (deficit \
                round robin), like NICs that fetch several packets of a queue pair at once; others wait longer, \
                and switches see bursts. Max-min: the queue pair with the smallest share so far (start-time fair \
                queueing). All get the same number of bytes, and queue pairs with less demand get all they ask \
                for, without waiting for a round of the others.",
        example: "paceline run all-to-all-broadcast-4 --set network.qp-scheduling=quantum",
        keys: &[("network", &["qp-scheduling", "qp-quantum"])],
    },
    Mechanism {
        name: "fidelity",
        also: &[
            "config.txt",
            "ns3-hpcc",
            "simai",
            "bolt-ns3",
            "tcd-ns3",
            "ib-omnet",
            "exact",
            "quirks",
        ],
        about: "How exactly a run follows a reference simulator. `exact`: time in picoseconds, headers and \
                thresholds as written. `ns3-hpcc`: bug-for-bug like HPCC's ns-3 simulator, to reproduce \
                published numbers; the default for a config.txt. `simai`: the same for SimAI's version of it, the default \
                for a SimAI.conf. `bolt-ns3` and `tcd-ns3`: the same for the \
                simulators of Bolt's and TCD's authors. `ib-omnet`: the InfiniBand model of RRCC's author. `uet-htsim`: Ultra Ethernet's transport in \
                the simulator `htsim_uec`. Settings \
                of a simulator are in [parity.NAME]. The scenario.toml in the folder of a run lists all quirks as switches in [quirks].",
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
            ("parity", &[]),
            ("parity.bolt-ns3", &[]),
            ("parity.tcd-ns3", &[]),
            ("parity.ib-omnet", &[]),
        ],
    },
    Mechanism {
        name: "uet-htsim",
        also: &["ultra-ethernet", "uet", "nscc", "rccc", "reps"],
        about: "Ultra Ethernet's transport, bug-for-bug like `htsim_uec`, the simulator of its congestion control group. \
                Switches trim packets that they have no room for. Senders follow NSCC, a window by delay and marks; \
                receivers grant credit (RCCC); or both. Each packet carries an entropy value, and REPS and its relatives \
                choose values whose paths are free. A scenario gives the simulator's command line or the same options as \
                keys, with its connection matrix (.cm) and topology (.topo). The run's folder also has uet_flows.tsv, \
                uet_counters.tsv and htsim.txt, the lines that the simulator prints.",
        example: "paceline run uet-incast-15 --set parity.uet-htsim.load-balancing=reps",
        keys: &[("parity.uet-htsim", &[])],
    },
];

/// Returns an example command for a section of a scenario.
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
        "job.step.send" | "job.step.pipeline" => "paceline run llm-3d",
        "network.detection" => "paceline run incast-16 --scheme dcqcn --set network.detection.kind=tcd",
        "parity.bolt-ns3" => "paceline run bolt-join100 --set parity.bolt-ns3.buffer-packets=500",
        "parity.tcd-ns3" => {
            "paceline run incast-16 --fidelity tcd-ns3 --scheme dcqcn-tcd --set parity.tcd-ns3.log=true"
        }
        "parity.ib-omnet" | "parity.ib-omnet.rrcc" => {
            "paceline run infiniband-demo --set parity.ib-omnet.control=rrcc"
        }
        "parity.uet-htsim" => "paceline run uet-incast-15 --set parity.uet-htsim.load-balancing=reps",
        "parity.ib-omnet.ibcc" => "paceline run infiniband-demo --set parity.ib-omnet.control=ibcc",
        "network.credit" => "paceline run infiniband-osu --set network.credit.binding=cbfc",
        "network.endpoint" => "paceline run incast-16 --set network.endpoint.delay=5us",
        "network.flowlet" => {
            "paceline run load-balancing --set network.load-balancing=flowlet --set network.flowlet.gap=50us"
        }
        "network.adaptive" => "paceline run load-balancing --set network.load-balancing=adaptive",
        "network.failure" => "paceline run link-flap",
        "network.pause-storm" => "paceline run pfc-storm",
        "network.pfc.watchdog" => "paceline run pfc-storm --set network.pfc.watchdog.detection=400us",
        "network.link-change" => "paceline run flapping-optic",
        "network.slow-host" => "paceline run degraded-link",
        "network.receive-buffer" => "paceline run slow-receiver --set network.receive-buffer.size=8MiB",
        "network.route" => "paceline run pfc-deadlock",
        "record" => "paceline run incast-16 --set record.queue=100ns",
        "sweep" => "paceline sweep incast-16 --over cc.scheme=hpcc,dctcp --over cc.window=off,fixed",
        _ => "paceline run incast-16 --set cc.window=fixed",
    }
}

/// Returns the mechanisms with a short description of each.
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

/// Returns all names, including sections of a scenario.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let names = |m: &'static Mechanism| std::iter::once(m.name).chain(m.also.iter().copied());
    let sections = builtin::sections().iter().map(|section| section.name);
    let all = MECHANISMS.iter().flat_map(names).chain(sections);
    all.filter(|name| !name.is_empty())
}

/// Returns the page about a mechanism, or a section of a scenario.
pub(crate) fn page(name: &str, width: usize) -> Option<String> {
    if name.is_empty() {
        return None;
    }
    let known = |mechanism: &&Mechanism| mechanism.name == name || mechanism.also.contains(&name);
    // A mechanism's page comes first, since it joins the keys of several sections.
    let (title, about, keys, example) = match MECHANISMS.iter().find(known) {
        Some(mechanism) => (
            mechanism.name,
            mechanism.about.to_string(),
            mechanism.keys.to_vec(),
            mechanism.example,
        ),
        None => {
            let section = builtin::sections().iter().find(|section| section.name == name)?;
            let keys = vec![(section.name, &[][..])];
            (
                section.name,
                crate::page::about(section),
                keys,
                example_of_section(name),
            )
        }
    };
    let mut rows = vec![HEAD.map(str::to_string).to_vec()];
    for (section, chosen) in keys {
        let entry = builtin::sections().iter().find(|entry| entry.name == section);
        let parameters = entry.map_or(&[][..], |entry| entry.parameters);
        let wanted = |p: &&Parameter| chosen.is_empty() || chosen.contains(&p.name);
        rows.extend(parameters.iter().filter(wanted).map(|p| row(section, p)));
    }
    let about = layout::paragraph(&about, width);
    let example = example::shown(example);
    Some(format!(
        "{title}\n\n{about}\n{}{example}",
        layout::columns(&rows, width)
    ))
}

/// Returns the section whose name ends with `name`, or the documentation of a key in each section that has it.
pub(crate) fn part(name: &str, width: usize) -> Option<String> {
    let last = |section: &&Entry| {
        section
            .name
            .rsplit_once('.')
            .is_some_and(|(_, last)| last == name)
    };
    let mut named = builtin::sections().iter().filter(last);
    // With two sections of this name, the choice would be arbitrary.
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
        match only_with(parameter.when) {
            Some(when) => format!("{}{unit}; {when}", parameter.help),
            None => format!("{}{unit}", parameter.help),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_a_page_exists() {
        for mechanism in MECHANISMS {
            for (section, keys) in mechanism.keys {
                let Some(entry) = builtin::sections().iter().find(|entry| entry.name == *section) else {
                    // Other simulators are not available here.
                    assert!(section.starts_with("parity."), "{section}");
                    continue;
                };
                for key in *keys {
                    assert!(entry.parameters.iter().any(|p| p.name == *key), "{section}.{key}");
                }
            }
        }
    }
}

//! Pages about what switches and NICs do: flow control, marking, recovery, fidelity.

use crate::text;

/// A mechanism of the network.
struct Mechanism {
    name: &'static str,
    also: &'static [&'static str],
    about: &'static str,
    /// Key in a scenario, default, meaning.
    keys: &'static [(&'static str, &'static str, &'static str)],
}

const MECHANISMS: &[Mechanism] = &[
    Mechanism {
        name: "pfc",
        also: &["flow_control", "headroom"],
        about: "Priority flow control (IEEE 802.1Qbb). A switch counts the bytes of each ingress port and \
                class. Above a threshold it sends the port's neighbour a pause frame, below another one a \
                resume frame; the headroom takes what is still on its way. Switch it off with \
                network.flow_control = \"none\".",
        keys: &[
            ("network.flow_control", "pfc", "pfc or none"),
            (
                "network.buffer",
                "32MiB",
                "memory of a switch, shared by its ports",
            ),
            (
                "network.reserve",
                "4096B",
                "memory that every (port, class) has to itself",
            ),
            ("network.headroom", "by link", "memory behind the pause threshold"),
            (
                "network.pfc.dynamic.shift",
                "3",
                "pause above the free shared memory times 2^-shift",
            ),
            (
                "network.pfc.static.xoff, .xon",
                "-",
                "fixed thresholds instead of dynamic ones",
            ),
            (
                "network.pfc.resume-offset",
                "3072B",
                "how far below the threshold a resume frame is sent",
            ),
            (
                "network.pfc.mode",
                "on-off",
                "on-off: pause until resumed; quanta: pauses of network.pfc.pause, renewed",
            ),
        ],
    },
    Mechanism {
        name: "ecn",
        also: &["red", "marking"],
        about: "Explicit congestion notification. A switch marks a data packet as it leaves, with a \
                probability that rises from 0 at kmin to pmax at kmax bytes in the packet's queue, and is 1 \
                above. A step (kmin = kmax, pmax = 1) is what DCTCP wants. Each scheme that needs marks \
                brings its thresholds; [network.ecn] replaces them.",
        keys: &[
            (
                "network.ecn.kmin",
                "by scheme",
                "bytes below which nothing is marked, at reference-rate",
            ),
            (
                "network.ecn.kmax",
                "by scheme",
                "bytes above which everything is marked",
            ),
            ("network.ecn.pmax", "by scheme", "probability just below kmax"),
            (
                "network.ecn.reference-rate",
                "by scheme",
                "thresholds grow with the port's rate over this",
            ),
            (
                "network.ecn.curves",
                "-",
                "instead: a list of { rate, kmin, kmax, pmax }",
            ),
        ],
    },
    Mechanism {
        name: "int",
        also: &["telemetry"],
        about: "In-band network telemetry. Every switch port writes into data packets when they leave: the \
                time, the bytes it has sent, the bytes it still holds. The receiver sends it all back in \
                acknowledgements. There is INT in runs with a scheme that reads it.",
        keys: &[
            (
                "network.int-header",
                "42B",
                "bytes that telemetry adds to a packet",
            ),
            ("network.int-multi", "1", "unit of byte counters"),
        ],
    },
    Mechanism {
        name: "loss-recovery",
        also: &["rto", "go-back-n", "nack"],
        about: "A receiver that sees a gap sends a NACK, and the sender goes back to it (go-back-N). A \
                timeout of the sender repairs losses that leave no gap to see: the last packets of a flow.",
        keys: &[
            (
                "network.rto",
                "4ms",
                "retransmission timeout, or \"off\" (as in the ns-3 mode)",
            ),
            (
                "network.nack-interval",
                "500us",
                "least time between two NACKs of a flow",
            ),
            ("network.back-to-chunk", "off", "go back to a multiple of this"),
            ("network.error-rate", "0", "share of packets that links lose"),
        ],
    },
    Mechanism {
        name: "fidelity",
        also: &["ns3-hpcc", "exact", "quirks"],
        about: "Whose behaviour a run has. `exact`: time in picoseconds, headers and thresholds as written. \
                `ns3-hpcc`: HPCC's ns-3 simulator quirk by quirk, so that published numbers can be \
                reproduced; a config.txt runs so unless told otherwise. The resolved scenario in a run's \
                folder names every quirk as a switch of [quirks].",
        keys: &[
            ("fidelity", "exact", "exact or ns3-hpcc; or --fidelity"),
            (
                "shuffle-ties",
                "-",
                "seed: shuffles simultaneous events; or --shuffle-ties",
            ),
            (
                "check",
                "false",
                "checks every invariant while running; or --check",
            ),
        ],
    },
];

/// All names.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let names = |m: &'static Mechanism| std::iter::once(m.name).chain(m.also.iter().copied());
    MECHANISMS.iter().flat_map(names)
}

/// The page about a mechanism.
pub(super) fn page(name: &str, width: usize) -> Option<String> {
    let mechanism = MECHANISMS
        .iter()
        .find(|mechanism| mechanism.name == name || mechanism.also.contains(&name))?;
    let head = ["key", "default", "what"].map(str::to_string).to_vec();
    let row = |&(key, default, what): &(&str, &str, &str)| [key, default, what].map(str::to_string).to_vec();
    let rows: Vec<_> = std::iter::once(head)
        .chain(mechanism.keys.iter().map(row))
        .collect();
    Some(format!(
        "{}\n\n{}\n{}",
        mechanism.name,
        text::paragraph(mechanism.about, width),
        text::columns(&rows, width)
    ))
}

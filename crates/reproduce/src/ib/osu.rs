//! OSU's latency, bandwidth and all-to-all under credits, alongside what they have to be.

use crate::citation::Citation;
use paceline_fabric::Outcome;
use paceline_fabric::spec::Binding;
use paceline_kernel::Bytes;
use paceline_scenario::Resolved;

use super::{
    Cell, Claim, Criterion, Measure, Metrics, Panel, Reproduction, Row, RunRequest, Source, Tolerance, of,
    own,
};
use crate::need::{Done, Input};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "ib-osu",
    data: None,
    title: "OSU's latency, bandwidth and all-to-all under credits, compared with closed forms",
    source: Citation::ours("sums of stages: ours; the tests are those of the OSU micro-benchmarks"),
    setting: "Scenarios `infiniband-osu` (one message over five switches, 32 Gbit/s, 20 m, packets of 2048 bytes) and `infiniband-all-to-all` (sixteen \
              hosts of one switch). Latency: from the start of the message until the receiver has all of it. Bandwidth: its bytes over that \
              time.",
    notes: &[
        "`ib`, whose switches cut through: over six links of delay d the message takes 6 d, the headers of 20 bytes five times, its \
         packets (the first of 2090 bytes, others of 2074, and the rest) at line rate, and 2 ns for each period of 4.096 us that ends meanwhile: the sender tells \
         its own credits, since acknowledgements have come. To the picosecond.",
        "`cbfc`, whose switches store and forward: the first packet six times, the others once. Credits for acknowledgements go in \
         between when these have come: at most one of 2 ns for each packet.",
        "All-to-all: fifteen exchanges of a message of 32 packets, each as long as the message alone with its acknowledgement, 30 \
         acknowledgements of 7.5 ns that a host sends before its last packet, and four flow-control packets of 2 ns. Both counts \
         were taken from the run, not worked out before it.",
    ],
    choices: &[],
    steps: &[],
    needs: || {
        let messages = BINDINGS
            .iter()
            .flat_map(|&binding| SIZES.map(|(size, _)| message(binding, size)));
        messages.chain([exchange()]).collect()
    },
    panels: |done| {
        vec![
            sizes(done, "latency", ("latency", "µs", 4)),
            sizes(done, "bandwidth", ("bandwidth", "Gbit/s", 3)),
            judged(done),
        ]
    },
};

const BINDINGS: [&str; 2] = ["ib", "cbfc"];
const SIZES: [(&str, &str); 6] = [
    ("8B", "8 B"),
    ("1KiB", "1 KiB"),
    ("2KiB", "2 KiB"),
    ("64KiB", "64 KiB"),
    ("1MiB", "1 MiB"),
    ("4MiB", "4 MiB"),
];

fn message(binding: &'static str, size: &'static str) -> RunRequest {
    RunRequest {
        variant: format!("{binding}-{size}"),
        settings: vec![
            format!("network.credit.binding={binding}"),
            format!("workload.0.flows.0.size={size}"),
        ],
        digest: Some(MESSAGE),
        folder: false,
        ..RunRequest::of(Input::Shipped("infiniband-osu", 1), "none")
    }
}

fn exchange() -> RunRequest {
    RunRequest {
        digest: Some(EXCHANGE),
        folder: false,
        ..RunRequest::of(Input::Shipped("infiniband-all-to-all", 1), "none")
    }
}

/// A quantity by size and binding, shown.
fn sizes(
    done: &Done,
    name: &'static str,
    (metric, unit, decimals): (&'static str, &'static str, usize),
) -> Panel {
    let rows = SIZES.map(|(_, label)| Row {
        label: label.to_string(),
        ..Row::quantity(metric, unit, decimals)
    });
    let columns = BINDINGS.map(own).to_vec();
    Panel::of(metric, "size", columns, rows.to_vec(), |row, binding| Cell {
        paper: None,
        ours: of(done, &message(BINDINGS[binding], SIZES[row].0), name),
        criterion: Criterion::shown(Source::Us),
    })
}

fn judged(done: &Done) -> Panel {
    const EXACT: Criterion = Criterion::property(
        Tolerance::Between(-0.0005, 0.0005),
        Source::Us,
        "a sum of stages, to the picosecond",
    );
    const CREDITS: Criterion = Criterion::property(
        Tolerance::AtMost(1.0),
        Source::Us,
        "no more than a credit may go before each packet",
    );
    let off = |binding, size| of(done, &message(binding, size), "off");
    let said: [Claim; 9] = [
        (
            "ib, 8 B: latency less the closed form, ns",
            off("ib", "8B"),
            EXACT,
        ),
        (
            "ib, 1 KiB: latency less the closed form, ns",
            off("ib", "1KiB"),
            EXACT,
        ),
        (
            "ib, 2 KiB: latency less the closed form, ns",
            off("ib", "2KiB"),
            EXACT,
        ),
        (
            "ib, 64 KiB: latency less the closed form, ns",
            off("ib", "64KiB"),
            EXACT,
        ),
        (
            "ib, 1 MiB: latency less the closed form, ns",
            off("ib", "1MiB"),
            EXACT,
        ),
        (
            "ib, 4 MiB: latency less the closed form, ns",
            off("ib", "4MiB"),
            EXACT,
        ),
        (
            "cbfc, 8 B: latency less the closed form, ns",
            off("cbfc", "8B"),
            EXACT,
        ),
        (
            "cbfc, 4 MiB: credits that went before packets, of one for each",
            of(done, &message("cbfc", "4MiB"), "credits"),
            CREDITS,
        ),
        (
            "all-to-all: time less the closed form, ns",
            of(done, &exchange(), "off"),
            EXACT,
        ),
    ];
    super::ours("What they have to be", &said)
}

const MESSAGE: Measure = Measure {
    name: "ib osu message",
    of: of_message,
};

const EXCHANGE: Measure = Measure {
    name: "ib osu exchange",
    of: of_exchange,
};

/// Links from host 0 to host 15.
const LINKS: u64 = 6;

fn of_message(input: &Resolved, outcome: &Outcome) -> Metrics {
    let run = &input.run;
    let (link, spec, flow) = (&run.links[0], &run.flows[0], &outcome.flows[0]);
    let Some((lanes, received)) = run.lanes.as_ref().zip(flow.received) else {
        return Metrics::default();
    };
    let ps = |bytes: u64| link.rate.time_to_send(Bytes::new(bytes)).as_ps();
    let took = (received - flow.start).as_ps();
    let (size, mtu) = (spec.size.get(), run.packet.mtu.get());
    let (header, first) = (run.packet.data_header.get(), u64::from(run.first_header()));
    let packets = size.div_ceil(mtu);
    let wires = ps(size + packets * header + first);
    let update = ps(lanes.update.get());
    let stages = LINKS * link.delay.as_ps()
        + match lanes.binding {
            // LRH and BTH.
            Binding::Ib { period, .. } => {
                wires + (LINKS - 1) * ps(20) + update * line(took, period.as_ps(), packets)
            }
            Binding::Cbfc { .. } => wires + (LINKS - 1) * ps(size.min(mtu) + header + first),
        };
    let off = took as f64 - stages as f64;
    super::numbers([
        ("latency", Some(took as f64 / 1e6)),
        ("bandwidth", Some(size as f64 * 8e3 / took as f64)),
        ("off", Some(off / 1e3)),
        ("credits", Some(off / (packets * update) as f64)),
    ])
}

/// Periods that end before the last packet of a message has left, none of a message that is over before.
fn line(took: u64, period: u64, packets: u64) -> u64 {
    if packets > 1 { took / period } else { 0 }
}

fn of_exchange(input: &Resolved, outcome: &Outcome) -> Metrics {
    let ends = outcome.flows.iter().map(|flow| (flow.start + flow.fct).as_ps());
    let steps = input.run.flows.len() as f64 / 16.0;
    let alone = outcome.flows.first().map(|flow| flow.ideal.as_ps() as f64);
    // Acknowledgements of 7.5 ns and flow-control packets of 2.
    let exchange = alone.map(|alone| alone + 30.0 * 7500.0 + 4.0 * 2000.0);
    let off = ends
        .max()
        .zip(exchange)
        .map(|(end, exchange)| (end as f64 - steps * exchange) / 1e3);
    super::numbers([("off", off)])
}

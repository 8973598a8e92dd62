//! One flow's throughput by the packets that buffers hold and the period of flow control.

use crate::citation::Citation;
use paceline_congestion::papers;
use paceline_fabric::Outcome;
use paceline_parity::ib_omnet::{CreditOutcome, CreditStep};
use paceline_scenario::Resolved;

use crate::choice::Choice;

use super::{
    Claim, Criterion, Done, EQUAL, Measure, Metrics, Panel, Reproduction, Row, RunRequest, Source, Tolerance,
    beside, claims, column, need, numbers, of, reference,
};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "ib-single-flow",
    data: None,
    title: "One flow's throughput by buffer and period: full rate from B = C Tc on",
    source: Citation::of(papers::RRCC_MODEL, "one flow from H1 to H3"),
    setting: "Scenario `infiniband-demo` with H1's flow alone, buffers of 1 to 32 packets on every port, four periods: packets that come \
              from 0.5 to 2.5 ms. 64 runs.",
    notes: &[
        "A place is free, and is told, when its packet has won arbitration, so a full rate needs no more than what a link carries in a \
         period: 9 packets for 4.096 us, 16 for 8.192 us. No flow has all of 32 Gbit/s: a flow-control packet takes 2 ns of a period.",
        EQUAL,
    ],
    choices: &[Choice {
        what: "Packets are counted from 0.5 to 2.5 ms.",
        tried: "windows of 1, 2 and 4 ms that begin at multiples of 0.1 ms: the reference does not say which it has",
        changed: "The last digits: with another one 4 to 20 of the 64 values are a packet off.",
    }],
    steps: &[],
    needs: || {
        PERIODS
            .iter()
            .flat_map(|&(period, _)| BUFFERS.map(|buffer| run(period, buffer)))
            .collect()
    },
    panels: |done| vec![table(done), bound(done)],
};

/// Periods in us, and columns.
const PERIODS: [(f64, &str); 4] = [
    (1.25, "Tc 1.25 us"),
    (4.096, "Tc 4.096 us"),
    (8.192, "Tc 8.192 us"),
    (13.0, "Tc 13 us"),
];
/// Packets of 2048 bytes.
const BUFFERS: [u32; 16] = [1, 2, 4, 6, 8, 9, 10, 12, 16, 17, 18, 20, 24, 26, 28, 32];

fn run(period: f64, buffer: u32) -> RunRequest {
    let settings = [
        format!("network.ib-omnet.period={period}us"),
        format!("network.ib-omnet.buffer={buffer}"),
        "network.ib-omnet.log=true".to_string(),
        "workload.1.messages.start=1s".to_string(),
        "workload.2.messages.start=1s".to_string(),
        "duration=2500us".to_string(),
    ];
    let key = format!("single-{period}-{buffer}");
    need("infiniband-demo", key, settings.to_vec(), DIGEST)
}

fn table(done: &Done) -> Panel {
    let row = |buffer: u32| Row {
        label: format!("{buffer} packets"),
        x: Some(f64::from(buffer)),
        ..Row::quantity("throughput", "Gbit/s", 3)
    };
    let columns = PERIODS.map(|(_, name)| column(name)).to_vec();
    let panel = Panel::of("", "buffer", columns, BUFFERS.map(row).to_vec(), |row, place| {
        let (period, buffer) = (PERIODS[place].0, BUFFERS[row]);
        beside(
            reference::single(period, buffer),
            of(done, &run(period, buffer), "rate"),
        )
    });
    panel.along("buffer of a lane", "packets", false)
}

/// Full rate at B = C Tc, and not below.
fn bound(done: &Done) -> Panel {
    let rate = |period, buffer| of(done, &run(period, buffer), "rate");
    let share = |buffer| Some(rate(8.192, buffer)? / rate(8.192, 32)?);
    let property = |tolerance, because| Criterion::property(tolerance, Source::Us, because);
    let said: [Claim; 2] = [
        (
            "Tc 8.192 us: 16 packets (B = C Tc) over 32",
            share(16),
            property(Tolerance::AtLeast(0.999), "a buffer of C Tc is enough"),
        ),
        (
            "Tc 8.192 us: 12 packets over 32",
            share(12),
            property(
                Tolerance::Between(0.749, 0.752),
                "a smaller one gives its packets a period: 12 of 16, of a link without flow-control packets",
            ),
        ),
    ];
    claims("The bound", &said)
}

const DIGEST: Measure = Measure {
    name: "ib single",
    of: digest,
};

fn digest(_: &Resolved, outcome: &Outcome) -> Metrics {
    let trace = CreditOutcome::of(outcome).map_or(&[][..], |credits| &credits.trace);
    let window = 500_000_000..2_500_000_000;
    let received = trace.iter().filter(|event| {
        window.contains(&event.at.as_ps()) && matches!(event.what, CreditStep::Received { .. })
    });
    // 16384 bits each, in two milliseconds.
    numbers([("rate", Some(received.count() as f64 * 0.008_192))])
}

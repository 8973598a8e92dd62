//! How a victim's uplink sends and waits: the times between which it has credits.

use crate::citation::Citation;
use paceline_congestion::papers;
use paceline_fabric::Outcome;
use paceline_parity::ib_omnet::{CreditOutcome, CreditStep};
use paceline_scenario::Resolved;

use super::taken::UPLINK;
use super::{
    CONTROLS, Claim, Criterion, Done, EQUAL, Measure, Metrics, Panel, Quantity, Reproduction, Row,
    RunRequest, Source, Tolerance, beside, claims, column, need, numbers, of, reference,
};
use crate::choice::Choice;
use paceline_lab::stats::{mean, percentile};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "ib-on-off",
    data: None,
    title: "Head-of-line victims: how long a port with packets sends, and how long it waits for credits",
    source: Citation::of(
        papers::RRCC_MODEL,
        "data packets on the wire of the uplink, 10.2 to 13 ms; the thesis draws such a port in its \
                 chapter 1",
    ),
    setting: "Scenario `infiniband-demo`, 200 messages a host: the uplink, whose own receivers are not congested but for the one that bursts \
              fill. It waits (OFF) where no data is on its wire for longer than two flow-control packets take.",
    notes: &[
        "Where its receivers drain at a constant rate Rd, the port sends Rd Tc / C of each period: 0.512 of 4.096 us. With a drain \
         that changes with the bursts it sends for up to 19 us in a row; a detector that takes a port for free of back pressure \
         after max(Ton) = Tc/(1 + 2 epsilon) + 2 MTU/C = 4.75 us is too early there.",
        EQUAL,
    ],
    choices: &[Choice {
        what: "A wait is longer than 4.25 ns, and what is cut off at the window's beginning does not count.",
        tried: "4 ns, which is what two flow-control packets take; with the first",
        changed: "Nothing but counts and means: one wait of 4.1 ns of RRCC at a gap of 50 us, and one of each run.",
    }],
    steps: &[],
    needs: || RUNS.iter().map(run).collect(),
    panels: |done| vec![table(done), closed_form(done)],
};

/// Places of controls, gaps in us, columns.
const RUNS: [(usize, u64, &str); 6] = [
    (0, 10, "credits, 10 us"),
    (0, 20, "credits, 20 us"),
    (0, 25, "credits, 25 us"),
    (1, 10, "IBCC, 10 us"),
    (2, 10, "RRCC, 10 us"),
    (2, 50, "RRCC, 50 us"),
];

const ROWS: [Quantity; 7] = [
    ("Rd_Gbps", "mean rate", "Gbit/s", 3),
    ("n_on", "times that it sends", "", 0),
    ("Ton_mean_us", "sends, mean", "us", 3),
    ("Ton_p95_us", "sends, p95", "us", 3),
    ("Ton_max_us", "sends, longest", "us", 3),
    ("Toff_mean_us", "waits, mean", "us", 3),
    ("Toff_max_us", "waits, longest", "us", 3),
];

fn run(&(control, gap, _): &(usize, u64, &str)) -> RunRequest {
    let (control, scheme, _) = CONTROLS[control];
    let settings = [
        format!("workload.0.messages.gap={gap}us"),
        format!("workload.2.messages.gap={gap}us"),
        format!("network.ib-omnet.control={control}"),
        "network.ib-omnet.log=true".to_string(),
        "duration=13ms".to_string(),
    ];
    need(
        "infiniband-demo",
        format!("wire-{scheme}-{gap}"),
        settings.to_vec(),
        DIGEST,
    )
}

fn table(done: &Done) -> Panel {
    let columns = RUNS.map(|(_, _, name)| column(name)).to_vec();
    let rows = ROWS.map(|(_, metric, unit, decimals)| Row::quantity(metric, unit, decimals));
    Panel::of("", "", columns, rows.to_vec(), |row, place| {
        let (control, gap, _) = RUNS[place];
        let name = format!("{}_{gap}", CONTROLS[control].1);
        beside(
            reference::on_off(&name, ROWS[row].0),
            of(done, &run(&RUNS[place]), ROWS[row].0),
        )
    })
}

/// With a constant drain the period is Tc.
fn closed_form(done: &Done) -> Panel {
    let of = |name| of(done, &run(&RUNS[0]), name);
    let near = |at: f64| {
        Criterion::property(
            Tolerance::Between(at - 0.001, at + 0.001),
            Source::Us,
            "credits come once in Tc = 4.096 us, and 32/16 Gbit/s for each of two flows fill an eighth of it",
        )
    };
    let said: [Claim; 2] = [
        (
            "credits, 10 us: sends and waits, mean, us",
            of("Ton_mean_us")
                .zip(of("Toff_mean_us"))
                .map(|(on, off)| on + off),
            near(4.096),
        ),
        ("credits, 10 us: sends, mean, us", of("Ton_mean_us"), near(0.512)),
    ];
    claims("The closed form for a constant drain", &said)
}

const DIGEST: Measure = Measure {
    name: "ib on and off",
    of: digest,
};

/// The window in ps; a packet on the wire, and the shortest wait.
const FROM: u64 = 10_200_000_000;
const UNTIL: u64 = 13_000_000_000;
const PACKET: u64 = 512_000;
const WAIT: u64 = 4_250;

fn digest(_: &Resolved, outcome: &Outcome) -> Metrics {
    let trace = CreditOutcome::of(outcome).map_or(&[][..], |credits| &credits.trace);
    let sent = trace.iter().filter(|event| {
        (event.node, event.interface) == UPLINK && matches!(event.what, CreditStep::Sent { .. })
    });
    let sent = sent.map(|event| event.at.as_ps());
    let starts: Vec<u64> = sent.filter(|at| (FROM..UNTIL).contains(at)).collect();
    let (mut on, mut off) = (Vec::new(), Vec::new());
    // What began before the window is left out.
    let mut since = None;
    for pair in starts.windows(2) {
        let (end, next) = (pair[0] + PACKET, pair[1]);
        if next - end > WAIT {
            if let Some(since) = since {
                on.push((end - since) as f64 / 1e6);
                off.push((next - end) as f64 / 1e6);
            }
            since = Some(next);
        }
    }
    on.sort_by(f64::total_cmp);
    off.sort_by(f64::total_cmp);
    let rate = starts.len() as f64 * 16_384.0 / ((UNTIL - FROM) as f64 / 1e3);
    numbers([
        ("Rd_Gbps", Some(rate)),
        ("n_on", Some(on.len() as f64)),
        ("Ton_mean_us", mean(&on)),
        ("Ton_p95_us", percentile(&on, 0.95)),
        ("Ton_max_us", on.last().copied()),
        ("Toff_mean_us", mean(&off)),
        ("Toff_max_us", off.last().copied()),
    ])
}

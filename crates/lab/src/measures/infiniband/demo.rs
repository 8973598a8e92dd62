//! What is taken of a run of the demo: the columns of the model's summaries.

use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::spec::NodeId;
use paceline_fabric::{Outcome, RunSpec};
use paceline_parity::ib_omnet::{Control, CreditOutcome, CreditSpec, CreditStep};
use paceline_scenario::Resolved;

use super::super::{MeasureSet, Metrics, described, measure};
use super::reference;
use crate::stats::{mean, percentile};

pub(in crate::measures) const DEMO: MeasureSet = MeasureSet {
    name: "ib-demo",
    about: "`infiniband-demo` with `parity.ib-omnet.log`: how much of it is the model's step by step, rates in bins of 0.1 ms, the \
            bursts' messages, marks and notifications.",
    values: &[
        measure("steps", "steps that are equal", "", 0),
        measure("up_10_12", "uplink", "Gbit/s", 3),
        measure("pre_H1", "H1 from 5 to 10 ms", "Gbit/s", 3),
        measure("pre_H2", "H2 from 5 to 10 ms", "Gbit/s", 3),
        measure("H1_10p1_10p9", "H1 from 10.1 to 10.9 ms", "Gbit/s", 3),
        measure("H2_10p1_10p9", "H2 from 10.1 to 10.9 ms", "Gbit/s", 3),
        measure("burst_10p1_10p9", "bursts from 10.1 to 10.9 ms", "Gbit/s", 3),
        measure("H1_burst", "H1 while bursts last", "Gbit/s", 3),
        measure("H2_burst", "H2 while bursts last", "Gbit/s", 3),
        measure("burst_burst", "bursts while they last", "Gbit/s", 3),
        measure("H1_25_30", "H1 from 25 to 29.9 ms", "Gbit/s", 3),
        measure("H2_25_30", "H2 from 25 to 29.9 ms", "Gbit/s", 3),
        measure("n_msg", "messages that came", "", 0),
        measure("burst_end_ms", "end of the bursts", "ms", 3),
        measure("fct_mean_us", "time, mean", "us", 3),
        measure("fct_p50_us", "time, p50", "us", 3),
        measure("fct_p99_us", "time, p99", "us", 3),
        measure("fct_max_us", "time, largest", "us", 3),
        measure("lat_mean_us", "latency, mean", "us", 3),
        measure("lat_p50_us", "latency, p50", "us", 3),
        measure("lat_p99_us", "latency, p99", "us", 3),
        measure("lat_max_us", "latency, largest", "us", 3),
        measure("marks_SW2up", "marks at the uplink", "", 0),
        measure("marks_SW1toH5", "marks at H5's port", "", 0),
        measure("marks_SW1toH3", "marks at H3's port", "", 0),
        measure("FECN_rx_H1", "marked packets of H1", "", 0),
        measure("FECN_rx_H2", "marked packets of H2", "", 0),
        measure("FECN_rx_burst", "marked packets of the bursts", "", 0),
        measure("BECN_rx_H1", "notifications to H1", "", 0),
        measure("BECN_rx_H2", "notifications to H2", "", 0),
        measure("BECN_rx_burst", "notifications to the bursts", "", 0),
        measure("H1_10_12", "H1 from 10 to 12 ms", "Gbit/s", 3),
        measure("H2_10_12", "H2 from 10 to 12 ms", "Gbit/s", 3),
    ],
    series: &[measure("uplink", "uplink", "Gbit/s", 3)],
    of: digest,
};

/// The uplink, and the port to the host of the bursts and to that of the victim: node and interface.
const UPLINK: (NodeId, u16) = (NodeId(20), 2);
const CROWDED: (NodeId, u16) = (NodeId(19), 3);
const IDLE: (NodeId, u16) = (NodeId(19), 0);

/// The width of a bin in ps; a packet in it, in Gbit/s.
const BIN: u64 = 100_000_000;
const PACKET: f64 = 0.163_84;
const BINS: usize = 300;

/// Packets of host 1, host 2 and the bursts that came, and packets of the uplink, in each bin.
struct Bins([[u32; 4]; BINS]);

impl Bins {
    fn of(run: &RunSpec, credits: &CreditOutcome) -> Self {
        let mut bins = [[0; 4]; BINS];
        for event in &credits.trace {
            let Some(bin) = bins.get_mut((event.at.as_ps() / BIN) as usize) else {
                break;
            };
            match event.what {
                CreditStep::Received { flow, .. } => {
                    if let Some(who) = who(run, flow) {
                        bin[who] += 1;
                    }
                }
                CreditStep::Sent { .. } if (event.node, event.interface) == UPLINK => bin[3] += 1,
                _ => {}
            }
        }
        Self(bins)
    }

    /// The uplink over time: ms, Gbit/s.
    fn uplink(&self) -> Vec<(f64, f64)> {
        let bins = self.0.iter().enumerate();
        bins.map(|(bin, packets)| (bin as f64 * 0.1, f64::from(packets[3]) * PACKET))
            .collect()
    }

    /// The mean of one of the four between two bins, in Gbit/s.
    fn mean(&self, what: usize, from: usize, to: usize) -> Option<f64> {
        let packets: u32 = self.0.get(from..to)?.iter().map(|bin| bin[what]).sum();
        Some(f64::from(packets) * PACKET / (to - from) as f64)
    }
}

/// The sender of a flow: host 1, host 2, one of the bursts.
fn who(run: &RunSpec, flow: u32) -> Option<usize> {
    Some((described(run, flow)?.src.0 as usize).min(2))
}

/// The name of the model's run.
fn name(run: &RunSpec) -> Option<String> {
    let credits = CreditSpec::of(run)?;
    let variant = match &credits.notified {
        Some(notified) if notified.len() == 2 => "PUB",
        _ => "N200",
    };
    let scheme = match credits.control {
        Control::None => "cbfc",
        Control::Ibcc(_) => "ibcc",
        Control::Rrcc(_) => "rrcc",
    };
    let gap = credits.sources.last()?.gap.as_ps() / 1_000_000;
    Some(format!("{variant}_{scheme}_g{gap:02}"))
}

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let run = &input.run;
    let (Some(credits), Some(name)) = (CreditOutcome::of(outcome), name(run)) else {
        return Metrics::default();
    };
    let steps = reference::equal_steps(&name, run, outcome);
    let mut all = Metrics::finite([("steps", steps)]);
    let bins = Bins::of(run, credits);
    let messages = messages(run, outcome, credits);
    for part in [rates(&bins, &messages), counts(run, credits), messages] {
        all.extend(part.values);
    }
    if DRAWN.contains(&name.as_str()) {
        all.draw("uplink", bins.uplink());
    }
    all
}

/// Runs whose uplink is drawn.
const DRAWN: [&str; 3] = ["PUB_cbfc_g10", "PUB_ibcc_g10", "PUB_rrcc_g10"];

/// Means of rates; the burst lasts until its last message has come.
fn rates(bins: &Bins, messages: &Metrics) -> Metrics {
    let end = messages.values.get("burst_end_ms").map_or(0.0, |end| end * 10.0) as usize;
    Metrics::finite([
        ("pre_H1", bins.mean(0, 50, 100)),
        ("pre_H2", bins.mean(1, 50, 100)),
        ("up_10_12", bins.mean(3, 100, 120)),
        ("H1_10_12", bins.mean(0, 100, 120)),
        ("H2_10_12", bins.mean(1, 100, 120)),
        ("H1_10p1_10p9", bins.mean(0, 101, 109)),
        ("H2_10p1_10p9", bins.mean(1, 101, 109)),
        ("burst_10p1_10p9", bins.mean(2, 101, 109)),
        ("H1_burst", bins.mean(0, 101, end)),
        ("H2_burst", bins.mean(1, 101, end)),
        ("burst_burst", bins.mean(2, 101, end)),
        ("H1_25_30", bins.mean(0, 250, 299)),
        ("H2_25_30", bins.mean(1, 250, 299)),
    ])
}

/// Messages of the bursts: from their coming to their host, and from their first packet's going, to the first bit of
/// their last packet; in us.
fn messages(run: &RunSpec, outcome: &Outcome, credits: &CreditOutcome) -> Metrics {
    let (mut times, mut latencies, mut end) = (Vec::new(), Vec::new(), 0.0_f64);
    let all = run.flows.iter().zip(&outcome.flows).zip(&credits.injected);
    for ((flow, record), injected) in all {
        if let (2.., FlowStatus::Completed, Some(received), Some(injected)) =
            (flow.src.0, record.status, record.received, injected)
        {
            times.push(record.fct.as_us_f64());
            latencies.push(received.saturating_since(*injected).as_us_f64());
            end = end.max(received.as_ps() as f64 / 1e9);
        }
    }
    times.sort_by(f64::total_cmp);
    latencies.sort_by(f64::total_cmp);
    Metrics::finite([
        ("burst_end_ms", Some(end)),
        ("n_msg", Some(times.len() as f64)),
        ("fct_mean_us", mean(&times)),
        ("fct_p50_us", percentile(&times, 0.5)),
        ("fct_p99_us", percentile(&times, 0.99)),
        ("fct_max_us", times.last().copied()),
        ("lat_mean_us", mean(&latencies)),
        ("lat_p50_us", percentile(&latencies, 0.5)),
        ("lat_p99_us", percentile(&latencies, 0.99)),
        ("lat_max_us", latencies.last().copied()),
    ])
}

/// Marks by port, marks that came and notifications that came, by sender.
fn counts(run: &RunSpec, credits: &CreditOutcome) -> Metrics {
    let marked = |(node, interface): (NodeId, u16)| {
        let port =
            |port: &&paceline_parity::ib_omnet::PortTotals| (port.node, port.interface) == (node, interface);
        credits.ports.iter().find(port).map(|port| port.marked as f64)
    };
    let sources = CreditSpec::of(run).map_or(&[][..], |credits| &credits.sources);
    let (mut marks, mut notices) = ([0.0; 3], [0.0; 3]);
    for (source, totals) in sources.iter().zip(&credits.sources) {
        let Some(who) = who(run, source.first) else {
            continue;
        };
        marks[who] += totals.marked as f64;
        notices[who] += totals.notified as f64;
    }
    Metrics::finite([
        ("marks_SW2up", marked(UPLINK)),
        ("marks_SW1toH5", marked(CROWDED)),
        ("marks_SW1toH3", marked(IDLE)),
        ("FECN_rx_H1", Some(marks[0])),
        ("FECN_rx_H2", Some(marks[1])),
        ("FECN_rx_burst", Some(marks[2])),
        ("BECN_rx_H1", Some(notices[0])),
        ("BECN_rx_H2", Some(notices[1])),
        ("BECN_rx_burst", Some(notices[2])),
    ])
}

//! What the tables of the thesis share.

use paceline_fabric::Outcome;
use paceline_scenario::{Fidelity, Resolved};

use super::choice::Choice;
use super::need::{Input, Measure, Metrics, RunRequest};
use super::panel::Column;
use super::reference::INCAST_20;
use paceline_lab::results::Summary;
use paceline_report::decimate::{POINTS_MAX, extremes};

/// Its incast: the flows, and the network, of the reference run.
pub const INCAST: Input = Input::Reference(&INCAST_20);

/// The schemes that its own is compared with there.
pub(super) const INCAST_SCHEMES: [&str; 3] = ["hpcc", "timely", "dctcp"];

/// Seeds of its network of 320 hosts. The thesis drew 34 incasts where 26.67 were expected, and the
/// tail of the slowdowns depends on their number: these are the first three seeds, counting from 1,
/// that draw 34.
pub(super) const DRAWS: [u64; 3] = [4, 8, 37];

/// What the shipped predictor was trained on, which every run with it depends on.
pub const ON_POLICY: Choice = Choice {
    what: "The shipped predictor learned from runs that it predicts in: two rounds of two runs after a training as the thesis's, \
           60 000 pairs, steps of 20 pairs whose size falls from 0.002 to nothing. The thesis trains on runs of TIMELY and of \
           its controller before that was tuned, and then runs with the tuned one.",
    tried: "the thesis's runs alone; these beside its own; pairs as often as they occur, of the simulator's fidelity and of the \
            exact one; steps of 10 pairs and of 0.001 throughout. One seed, six orders of events (201 to 206) that judge nothing \
            else.",
    changed: "The 99th percentile of round trips in those orders: 6.26 µs with the thesis's runs alone, 6.48 with these beside its \
              own, 6.25 and 6.52 with pairs as they occur, 6.05 with steps of 10 pairs, 6.07 as it ships, which takes half \
              the time.",
};

/// Of what the thesis trains on there is how much here.
pub const TRAINING_MIX: Choice = Choice {
    what: "The predictor learned from one run of the incast under TIMELY and 16 under the untuned controller, with \
           simultaneous events in other orders; the thesis names both schemes and not how much of each.",
    tried: "one run of each; one to eight",
    changed: "The predictor's error on test pairs: 9.7 % with one of each, 4.5 % with one to eight, 3.9 % with one to 16. \
              What it is worth in the controller's loop moves with that.",
};

/// How far a target moves.
pub(super) const DEVIATIONS: Choice = Choice {
    what: "A moving target moves as equations (27) and (28) are printed: by what samples were off the target of their \
           time (`rtt-change-by = deviations`).",
    tried: "first to the flow's mean round-trip time, which the target is meant to follow (`mean`)",
    changed: "Slowdown of the flow of 10 MB with seed 4: 92.8 with a target that stays, 98.8 with `mean`, 46.8 as printed. What \
              is asked for, at least half, holds with the last alone. Short flows under the window went from 1.08 to 1.64 \
              (thesis 1.56).",
};

/// Which flows.
pub(super) const SEEDS: Choice = Choice {
    what: "The flows: seeds 4, 8 and 37, the first three that draw 34 incasts, as many as the thesis drew where 26.67 are to \
           be expected.",
    tried: "seed 1, with 28 incasts",
    changed: "Slowdown over the thesis's: DCQCN 1.05 to 1.84 with these and 0.57 to 0.67 with seed 1, TIMELY 1.05 to 1.59 \
              and 0.68 to 0.78. HPCC and DCTCP hardly move.",
};

/// Its network of 320 hosts with the flows of a seed.
pub(super) const fn fat(seed: u64) -> Input {
    Input::Shipped("fat320-hadoop30-10ms", seed)
}

/// A scheme with some settings, in the thesis's incast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Variant {
    /// After the scheme's name in folders.
    pub(super) name: &'static str,
    /// What tables call it.
    pub(super) title: &'static str,
    pub(super) scheme: &'static str,
    pub(super) settings: &'static [&'static str],
}

/// The thesis's scheme as it evaluates it.
pub(super) const LSTM_PID: Variant = Variant {
    name: "",
    title: "lstm-pid",
    scheme: "lstm-pid",
    settings: &[],
};

/// The controller alone: the last round trip stands for the next.
pub(super) const PIDNN: Variant = Variant {
    title: "pidnn",
    scheme: "pidnn",
    ..LSTM_PID
};

/// The thesis's scheme, starting at the rate at which all others start.
pub(super) const LSTM_PID_100: Variant = Variant {
    name: "100g",
    title: "lstm-pid from 100 Gbit/s",
    settings: &["cc.lstm-pid.initial-rate=100Gbps"],
    ..LSTM_PID
};

pub(super) const PIDNN_100: Variant = Variant {
    name: "100g",
    title: "pidnn from 100 Gbit/s",
    settings: &["cc.lstm-pid.initial-rate=100Gbps"],
    ..PIDNN
};

/// One of the schemes that the thesis's is compared with.
pub(super) const fn other(scheme: &'static str) -> Variant {
    Variant {
        title: scheme,
        scheme,
        ..LSTM_PID
    }
}

impl Variant {
    /// Its run of the incast.
    pub(super) fn need(&self, fidelity: Fidelity) -> RunRequest {
        let plain = INCAST_SCHEMES.contains(&self.scheme) && fidelity == Fidelity::Ns3Hpcc;
        let exact = match fidelity {
            Fidelity::Exact => "exact",
            _ => "",
        };
        let words: Vec<&str> = [self.name, exact]
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect();
        RunRequest {
            fidelity,
            variant: words.join("-"),
            settings: self.settings.iter().map(ToString::to_string).collect(),
            // The reference's own runs are shown whole, and so is the scheme itself.
            folder: plain || *self == LSTM_PID || *self == PIDNN,
            ..RunRequest::of(INCAST, self.scheme)
        }
    }

    /// Its column.
    pub(super) const fn column(&self) -> Column {
        Column {
            name: self.title,
            scheme: self.scheme,
            published: "paper",
        }
    }
}

/// A quantity of the incast: name, unit, digits after the point, and where a summary has it.
pub(super) type Quantity = (&'static str, &'static str, usize, fn(&Summary) -> Option<f64>);

pub(super) const MEAN_RTT: Quantity = ("mean RTT, one sample per round trip", "µs", 4, |s| {
    s.rtt_per_round_trip_us.mean
});
pub(super) const RATE: Quantity = ("mean rate", "Gbit/s", 4, |s| s.rate_while_active_gbps);
pub(super) const P99_RTT: Quantity = ("p99 RTT, one sample per round trip", "µs", 3, |s| {
    s.rtt_per_round_trip_us.p99
});
pub(super) const MAX_RTT: Quantity = ("max RTT, one sample per round trip", "µs", 3, |s| {
    s.rtt_per_round_trip_us.max
});
pub(super) const MEAN_FCT: Quantity = ("mean completion time", "ms", 4, |s| {
    s.fct_us.mean.map(|us| us / 1e3)
});
pub(super) const FINISH: Quantity = ("last completion", "ms", 4, |s| s.makespan_us.map(|us| us / 1e3));
pub(super) const SLOWDOWN: Quantity = ("mean slowdown of completion", "×", 3, |s| s.fct_slowdown.mean);

/// What is drawn of a node of the incast.
pub(super) const SERIES: Measure = Measure {
    name: "thesis-nodes",
    of: series,
};

/// Names of the series of [`SERIES`]: round-trip times in µs and rates in Gbit/s over ms.
pub(super) const NODE1_RTT: &str = "node1_rtt";
pub(super) const NODE2_RTT: &str = "node2_rtt";
pub(super) const NODE2_RATE: &str = "node2_rate";

/// Times of nodes 1 and 2, which send first and second.
fn series(input: &Resolved, outcome: &Outcome) -> Metrics {
    let since = |flow: usize, ps: u64| ps.saturating_sub(input.run.flows[flow].start.as_ps()) as f64 / 1e9;
    let rtt = |flow: usize| -> Vec<(f64, f64)> {
        let samples = outcome
            .rtt_samples
            .iter()
            .filter(|sample| sample.flow as usize == flow);
        samples
            .map(|sample| (since(flow, sample.at.as_ps()), sample.rtt.as_us_f64()))
            .collect()
    };
    let rate = |flow: usize| -> Vec<(f64, f64)> {
        let series = outcome
            .flow_series
            .iter()
            .find(|series| series.flow as usize == flow);
        let bins = series.into_iter().flat_map(|series| series.rate.bins());
        // Of several samples, the least and the largest.
        bins.flat_map(|bin| {
            let at = since(flow, bin.at.as_ps());
            let largest = (bin.max > bin.min).then_some(bin.max);
            [Some(bin.min), largest]
                .into_iter()
                .flatten()
                .map(move |bps| (at, bps as f64 / 1e9))
        })
        .collect()
    };
    let all = [(NODE1_RTT, rtt(0)), (NODE2_RTT, rtt(1)), (NODE2_RATE, rate(1))];
    Metrics {
        series: all.into_iter().collect(),
        ..Metrics::default()
    }
}

/// As many points as a page should have, with every peak.
pub fn thin(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    extremes(points, POINTS_MAX)
}

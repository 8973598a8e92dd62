//! What it costs when decisions take time.

use crate::{Done, ON_POLICY, Panel, Reproduction, RunRequest, THESIS_INCAST};
use paceline_lab::results::Summary;
use paceline_scenario::Fidelity;

use super::{Line, OWN, column, panel};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "decision-latency",
    data: None,
    title: "What it costs when decisions take time, 20-to-1 incast",
    source: OWN,
    setting: "The incast of table 6 in exact fidelity under the thesis's scheme, with and without prediction, when a \
              decision takes from 0 to 500 µs from its sample to its effect. While one is on its way no other starts.",
    notes: &[
        "Nothing is judged. The empty network's round trip is 4.2 µs: a decision that takes longer is of a queue that is \
         no longer there.",
        "Rates and completion are of the flows that completed; where some have not, there is no last \
         completion.",
        "An LSTM of this size takes well below a microsecond on a processor; hundreds are what has been reported for \
         larger networks on the processors of NICs.",
    ],
    choices: &[ON_POLICY],
    steps: &[],
    needs: || {
        let of = |scheme: &&'static str| LATENCIES.map(|us| need(scheme, us));
        SCHEMES.iter().flat_map(of).collect()
    },
    panels,
};

/// Decision latencies in µs.
const LATENCIES: [u32; 10] = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500];

const SCHEMES: [&str; 2] = ["lstm-pid", "pidnn"];

fn need(scheme: &'static str, us: u32) -> RunRequest {
    RunRequest {
        fidelity: Fidelity::Exact,
        variant: format!("latency-{us}us"),
        settings: vec![format!("cc.lstm-pid.decision-latency={us}us")],
        folder: false,
        ..RunRequest::of(THESIS_INCAST, scheme)
    }
}

/// Name, unit, digits, and where a summary has it.
type Quantity = ((&'static str, &'static str, usize), fn(&Summary) -> Option<f64>);

const QUANTITIES: [Quantity; 6] = [
    (("mean RTT, one sample per round trip", "µs", 2), |s| {
        s.rtt_per_round_trip_us.mean
    }),
    (("p99 RTT, one sample per round trip", "µs", 2), |s| {
        s.rtt_per_round_trip_us.p99
    }),
    (("max RTT, one sample per round trip", "µs", 1), |s| {
        s.rtt_per_round_trip_us.max
    }),
    (("mean rate", "Gbit/s", 2), |s| s.rate_while_active_gbps),
    (("last completion", "ms", 2), |s| {
        let all = s.flows.completed == s.flows.total;
        s.makespan_us.filter(|_| all).map(|us| us / 1e3)
    }),
    (("flows completed within 200 ms", "", 0), |s| {
        Some(s.flows.completed as f64)
    }),
];

fn panels(done: &Done) -> Vec<Panel> {
    let one = |&(quantity, of): &Quantity| {
        let line = |&us: &u32| {
            let ours = SCHEMES.map(|scheme| done.summary_of(&need(scheme, us)).and_then(of));
            Line::shown(format!("{us} µs"), quantity, ours).at(f64::from(us))
        };
        let lines: Vec<Line> = LATENCIES.iter().map(line).collect();
        let columns = SCHEMES.map(|scheme| column(scheme, scheme)).to_vec();
        let (metric, unit, _) = quantity;
        let title = if unit.is_empty() {
            metric.to_string()
        } else {
            format!("{metric}, {unit}")
        };
        panel(&title, "decision takes", columns, &lines).along("decision takes", "µs", false)
    };
    QUANTITIES.iter().map(one).collect()
}

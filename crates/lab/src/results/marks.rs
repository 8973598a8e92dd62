//! Statistics of detectors: marks of flows by kind, ports by state.

use paceline_congestion::detect::PortState;
use paceline_fabric::outcome::{Outcome, StateRecord};
use paceline_fabric::spec::{Detection, SwitchSpec};
use serde::{Deserialize, Serialize};

use super::rows::Entry;

/// Data packets by the mark with which they arrived, and flows with such packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowMarks {
    /// Packets marked as congested.
    pub ce_packets: u64,
    /// Packets marked as undetermined.
    pub ue_packets: u64,
    /// Flows with a packet marked as congested.
    pub ce_flows: u64,
    /// Flows with a packet marked as undetermined.
    pub ue_flows: u64,
}

impl FlowMarks {
    pub(super) fn add(&mut self, flow: &Entry, times: u64) {
        self.ce_packets += times * u64::from(flow.ce);
        self.ue_packets += times * u64::from(flow.ue);
        self.ce_flows += times * u64::from(flow.ce > 0);
        self.ue_flows += times * u64::from(flow.ue > 0);
    }
}

/// Time that ports spent in each state, summed over the classes of all switch ports with a detector, in seconds. It is
/// computed from samples; if there are more than are kept, from the last one of each bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PortStates {
    /// Left ON-OFF mode with a queue whose cause is not known yet.
    pub checking_s: f64,
    /// Alternately paused and resumed (ON-OFF mode).
    pub undetermined_s: f64,
    /// Port is a root of congestion.
    pub congested_s: f64,
    /// Ports (of one class) that were ever undetermined.
    pub undetermined_ports: u64,
    /// Ports (of one class) that were ever congested.
    pub congested_ports: u64,
}

impl PortStates {
    /// Sums the states of a run; returns `None` if no detector recorded any.
    pub(super) fn of(outcome: &Outcome) -> Option<Self> {
        let mut all = Self::default();
        for record in &outcome.states {
            let times = times(record, outcome.end.as_ps());
            let of = |state: PortState| times[state as usize];
            let seconds = |state| of(state) as f64 / 1e12;
            all.checking_s += seconds(PortState::Checking);
            all.undetermined_s += seconds(PortState::Undetermined);
            all.congested_s += seconds(PortState::Congested);
            all.undetermined_ports += u64::from(of(PortState::Undetermined) > 0);
            all.congested_ports += u64::from(of(PortState::Congested) > 0);
        }
        (!outcome.states.is_empty()).then_some(all)
    }
}

/// Returns the time in each of the four states, in ps.
fn times(record: &StateRecord, end: u64) -> [u64; 4] {
    let mut times = [0; 4];
    let bins: Vec<_> = record.series.bins().collect();
    let nexts = bins.iter().skip(1).map(|bin| bin.at.as_ps()).chain([end]);
    for (bin, next) in bins.iter().zip(nexts) {
        times[bin.last.min(3) as usize] += next.saturating_sub(bin.at.as_ps());
    }
    times
}

/// Returns the names of the detectors that replace the marking curves; `None` if none does.
pub(super) fn detection(switch: &SwitchSpec) -> Option<String> {
    let name = |detection: Detection| match detection {
        Detection::Red => "red",
        Detection::NpEcn => "np-ecn",
        Detection::Tcd(_) => "tcd",
    };
    let mut text = name(switch.detection).to_string();
    for &(priority, detection) in &switch.class_detection {
        text.push_str(&format!(", class {priority} {}", name(detection)));
    }
    (!switch.detectors().is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use paceline_fabric::outcome::{Binned, PortRef};
    use paceline_fabric::spec::NodeId;
    use paceline_kernel::{Span, Time};

    use super::*;

    #[test]
    fn times_by_hand() {
        let samples = [0, 2, 2, 3, 3, 3, 1, 0];
        let record = StateRecord {
            port: PortRef {
                node: NodeId(0),
                interface: 1,
                peer: NodeId(1),
            },
            priority: 3,
            series: Binned::of_samples(Time::from_ns(10), Span::from_ns(10), samples),
        };
        assert_eq!(times(&record, 100_000).map(|ps| ps / 1000), [20, 10, 20, 30]);
    }
}

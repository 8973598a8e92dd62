//! Incasts in which the minimum rates of the flows exceed the receiver's capacity.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use paceline_congestion::registry::{SendFloor, WindowMode};
use paceline_fabric::spec::FlowControl;
use paceline_fabric::{Outcome, RunSpec};
use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;
use paceline_kernel::{BitRate, Bytes};

use super::flows::FlowState;
use super::rate_scaling::lines;
use super::rows::{Entry, FlowRows};

/// Lower limit on the sending of a scheme's flows.
#[derive(Clone, Copy)]
enum Floor {
    None,
    /// Rate set by the named parameter.
    Rate(&'static str, BitRate),
    /// One packet per round trip, of this many bytes on the wire.
    Packet(u64),
}

/// Flows of one scheme to one receiver, at the time with the most active flows.
#[derive(Clone, Copy)]
struct Concurrent {
    receiver: u32,
    /// Sum of the receiver's link rates.
    port: BitRate,
    flows: u64,
    /// Sum of their lower limits: bit/s, or bytes in flight.
    least: u64,
}

/// Active flows; flows are added in the order of their starts.
#[derive(Default)]
struct UnderWay {
    ends: BinaryHeap<Reverse<u64>>,
    /// Maximum number of simultaneous flows.
    most: u64,
}

impl UnderWay {
    fn add(&mut self, start: u64, end: u64) {
        // A flow that ends at an instant does not overlap one that starts then.
        while self.ends.peek().is_some_and(|&Reverse(end)| end <= start) {
            self.ends.pop();
        }
        self.ends.push(Reverse(end));
        self.most = self.most.max(self.ends.len() as u64);
    }
}

/// Returns a warning for each scheme with too many flows to one receiver for their lower limits.
pub(super) fn warnings(spec: &RunSpec, outcome: &Outcome, flows: &FlowRows) -> Vec<String> {
    let mut found = Vec::new();
    let ports = port_rates(spec);
    for (scheme, number) in spec.schemes.iter().zip(0..) {
        // If line rates differ, the slowest gives a lower bound on the floor.
        let line = lines(spec, flows, number).into_iter().next();
        let floor = line.map_or(Floor::None, |line| floor(spec, number, line));
        let Some(peak) = largest_peak(spec, flows, number, floor, &ports) else {
            continue;
        };
        found.extend(match floor {
            Floor::Rate(param, rate) => too_fast(spec, scheme.config.label(), param, rate, peak),
            Floor::Packet(_) => too_many(scheme.config.label(), outcome, peak),
            Floor::None => None,
        });
    }
    found
}

fn floor(spec: &RunSpec, scheme: u32, line: BitRate) -> Floor {
    let scheme = &spec.schemes[scheme as usize];
    let header = spec.packet.data_headers(&scheme.config.needs());
    let packet = Floor::Packet(spec.packet.mtu.get() + u64::from(header));
    match scheme.config.least(line) {
        None => Floor::None,
        Some(SendFloor::Packet) => packet,
        // A window that follows the rate lets a packet go per round trip, however long that becomes.
        Some(SendFloor::Rate { .. }) if scheme.window == WindowMode::Variable => packet,
        Some(SendFloor::Rate { param, rate }) => Floor::Rate(param, rate),
    }
}

/// Returns the receiver with the largest sum of lower limits of simultaneous flows of a scheme.
fn largest_peak(
    spec: &RunSpec,
    flows: &FlowRows,
    scheme: u32,
    floor: Floor,
    ports: &[BitRate],
) -> Option<Concurrent> {
    let each = match floor {
        Floor::None => return None,
        Floor::Rate(_, rate) => rate.as_bps(),
        Floor::Packet(bytes) => bytes,
    };
    let mut crowds: SortedMap<u32, UnderWay> = SortedMap::new();
    let ran = flows.entries().filter(|flow| flow.scheme == scheme);
    let mut add = |flow: &Entry| {
        let end = match flow.status {
            FlowState::Completed => flow.end_ps().unwrap_or(u64::MAX),
            FlowState::Unfinished | FlowState::GivenUp => u64::MAX,
            FlowState::NotStarted | FlowState::Unreachable => return,
        };
        crowds.entry(flow.dst).or_default().add(flow.start_ps, end);
    };
    if spec.dependencies.is_empty() {
        ran.for_each(|flow| add(&flow));
    } else {
        // Flows that wait start in another order than that of the list.
        let mut order: Vec<Entry> = ran.collect();
        order.order_by_key(|flow| flow.start_ps);
        order.iter().for_each(add);
    }
    let crowds = crowds.into_iter().map(|(receiver, under_way)| Concurrent {
        receiver,
        port: ports[receiver as usize],
        flows: under_way.most,
        least: under_way.most * each,
    });
    // The load relative to the port counts, since receivers may have lines of different rates.
    let load = |peak: &Concurrent| u128::from(peak.least) * 1000 / u128::from(peak.port.as_bps().max(1));
    crowds.max_by_key(load)
}

/// Returns the sum of the link rates of each node.
fn port_rates(spec: &RunSpec) -> Vec<BitRate> {
    let mut rates = vec![BitRate::from_bps(0); spec.nodes.len()];
    for link in &spec.links {
        for node in [link.a, link.b] {
            let rate = &mut rates[node.0 as usize];
            *rate = rate.saturating_add(link.rate);
        }
    }
    rates
}

fn too_fast(spec: &RunSpec, scheme: &str, param: &str, rate: BitRate, peak: Concurrent) -> Option<String> {
    let Concurrent {
        receiver,
        port,
        flows,
        ..
    } = peak;
    if peak.least <= port.as_bps() {
        return None;
    }
    let ends_in = match spec.switch.flow_control {
        FlowControl::None => "only losses hold them back",
        FlowControl::Pfc(_) => "only pauses hold them back",
        FlowControl::Credits => "only credits hold them back",
    };
    Some(format!(
        "{scheme}: {flows} flows to host {receiver} were active at once, and none sends below `{param}`, {rate}: in \
         total {} into a link of {port}. Meanwhile {ends_in}; set `{param}` to {} or \
         less to let the scheme control them.",
        BitRate::from_bps(peak.least),
        BitRate::from_bps(three_digits_of(port.as_bps() / flows)),
    ))
}

/// Rounds down to three digits, as a person would set the number.
const fn three_digits_of(number: u64) -> u64 {
    let mut unit = 1;
    while number / unit >= 1000 {
        unit *= 10;
    }
    number / unit * unit
}

fn too_many(scheme: &str, outcome: &Outcome, peak: Concurrent) -> Option<String> {
    let product = peak.port.bytes_in(outcome.base_rtt).get();
    if peak.least <= 2 * product {
        return None;
    }
    Some(format!(
        "{scheme}: {} flows to host {} were active at once, each with at least a packet in flight: {} in total, for \
         a bandwidth-delay product of {}. The excess is queued, so RTTs are {} or more under any rates.",
        peak.flows,
        peak.receiver,
        Bytes::new(peak.least),
        Bytes::new(product),
        peak.port.time_to_send(Bytes::new(peak.least)),
    ))
}

#[cfg(test)]
mod tests {
    use paceline_congestion::registry::SchemeParams;

    use super::*;
    use crate::sample;

    /// Returns the warnings if `flows` flows of 1000 B go to host 4, at the same time or, if `apart`, one after
    /// another.
    fn of(scheme: &str, flows: usize, apart: bool) -> Vec<String> {
        let (mut input, mut outcome) = sample::incast();
        let config = SchemeParams::default().configure(scheme).unwrap();
        input.run_mut().schemes[0].window = config.default_window();
        input.run_mut().schemes[0].config = config;
        let (flow, mut record) = (input.run.flows[0], outcome.flows[0]);
        input.run_mut().flows = vec![flow; flows];
        outcome.flows.clear();
        for _ in 0..flows {
            outcome.flows.push(record);
            if apart {
                record.start += record.fct;
            }
        }
        warnings(&input.run, &outcome, &sample::rows(&input, &outcome))
    }

    #[test]
    fn the_lowest_rates_together_are_above_the_port() {
        assert_eq!(of("timely", 100, false), Vec::<String>::new());
        assert_eq!(
            of("timely", 125, false),
            [
                "timely: 125 flows to host 4 were active at once, and none sends below `min-rate`, 1Gbps: in total \
              125Gbps into a link of 100Gbps. Meanwhile only pauses hold them back; set `min-rate` to 800Mbps or \
              less to let the scheme control them."
            ]
        );
        assert!(of("timely", 1096, false)[0].contains("set `min-rate` to 91.2Mbps or less"));
        // The same flows one after another are no peak.
        assert_eq!(of("timely", 125, true), Vec::<String>::new());
        // 100 Mbit/s each.
        assert_eq!(of("dcqcn-paper", 1000, false), Vec::<String>::new());
        assert_eq!(of("dcqcn-paper", 1001, false).len(), 1);
        assert_eq!(of("none", 1001, false), Vec::<String>::new());
    }

    /// With a window that follows the rate, one packet per round trip: 1090 B each, for a product of 52 KB.
    #[test]
    fn a_packet_each_is_more_than_the_network_holds() {
        assert_eq!(of("hpcc", 95, false), Vec::<String>::new());
        let text = of("hpcc", 200, false);
        assert!(
            text[0].contains("218KB in total, for a bandwidth-delay product of 52KB"),
            "{text:?}"
        );
        assert!(text[0].contains("RTTs are 17.44us or more"), "{text:?}");
        // Swift and Bolt pace below a packet per round trip.
        assert_eq!(of("swift", 200, false), Vec::<String>::new());
        assert_eq!(of("bolt", 200, false), Vec::<String>::new());
    }
}

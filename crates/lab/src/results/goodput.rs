//! Goodput as a share of the receivers' links.

use paceline_fabric::spec::{NodeId, RunSpec};
use paceline_kernel::sorted::SortedSet;
use serde::{Deserialize, Serialize};

use super::rows::FlowRows;

/// Goodput relative to the payload capacity: schemes that use the whole capacity have the same share for all packet
/// sizes, and headers that a scheme adds count as unused.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoodputShare {
    /// Goodput of all flows divided by the payload capacity of all receiving hosts' links, with full packets and plain
    /// headers.
    pub of_links: f64,
    /// Payload of such a packet divided by its bytes on the wire.
    pub payload_share: f64,
}

impl GoodputShare {
    /// Computes the share of a run with this goodput of all flows, in Gbit/s.
    pub(super) fn of(spec: &RunSpec, flows: &FlowRows, goodput: f64) -> Option<Self> {
        let receivers: SortedSet<NodeId> = (flows.distinct_entries())
            .map(|(flow, _)| NodeId(flow.dst))
            .collect();
        let of_links = goodput / payload_gbps(spec, &receivers);
        of_links.is_finite().then_some(Self {
            of_links,
            payload_share: payload_share(spec),
        })
    }
}

/// Returns the payload share of a full packet with the plain headers.
fn payload_share(spec: &RunSpec) -> f64 {
    let (mtu, headers) = (spec.packet.mtu.get() as f64, spec.packet.data_header.get() as f64);
    mtu / (mtu + headers)
}

/// Returns the payload capacity of these hosts' links with such packets, in Gbit/s.
pub(crate) fn payload_gbps(spec: &RunSpec, hosts: &SortedSet<NodeId>) -> f64 {
    let ends = spec
        .links
        .iter()
        .flat_map(|link| [(link.a, link), (link.b, link)]);
    let of_hosts = ends.filter(|(node, _)| hosts.contains(node));
    let gbps: f64 = of_hosts.map(|(_, link)| link.rate.as_gbps_f64()).sum();
    gbps * payload_share(spec)
}

#[cfg(test)]
mod tests {
    use crate::sample;

    use super::*;

    #[test]
    fn by_hand() {
        let (mut input, outcome) = sample::incast();
        let flows = sample::rows(&input, &outcome);
        let share = |spec: &RunSpec| GoodputShare::of(spec, &flows, 25.0).unwrap();
        // One receiver at 100 Gbit/s; packets of 1000 bytes of payload.
        let headers = input.run.packet.data_header.get() as f64;
        let payload = 1000.0 / (1000.0 + headers);
        assert!((share(&input.run).payload_share - payload).abs() < 1e-12);
        assert!((share(&input.run).of_links - 0.25 / payload).abs() < 1e-12);
        input.run_mut().packet.data_header = paceline_kernel::Bytes::new(1000);
        assert!((share(&input.run).of_links - 0.5).abs() < 1e-12);
        input.run_mut().links.clear();
        assert_eq!(GoodputShare::of(&input.run, &flows, 25.0), None);
    }
}

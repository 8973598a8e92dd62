//! Networks under credits, for tests.
#![allow(dead_code, unreachable_pub, reason = "each test uses what it needs")]

use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span};

use super::common;

/// InfiniBand's credits, one lane of `blocks`, announced every 4.096 us.
pub fn ib(blocks: u32) -> LaneSpec {
    LaneSpec {
        binding: Binding::Ib {
            period: Span::from_ps(4_096_000),
            phase: Phase::Aligned,
        },
        unit: Bytes::new(64),
        buffers: vec![blocks],
        lane_of: [0; 8],
        update: Bytes::new(8),
        first_header: Bytes::ZERO,
        forwarding: Forwarding::StoreAndForward,
        release: Release::End,
        arbitration: Arbitration::fair(1),
    }
}

/// Ethernet's credits, one lane of `cells` of 64 bytes, returned as soon as may be.
pub fn cbfc(cells: u32) -> LaneSpec {
    LaneSpec {
        binding: Binding::Cbfc(Cbfc {
            overhead: 0,
            cf_min: Bytes::new(8),
            cf_max: Bytes::new(65_536),
            cc_timer: Span::from_us(10),
            phase: Phase::Aligned,
            scope: Scope::Lane,
        }),
        ..ib(cells)
    }
}

/// A network without quirks under these credits: packets of 1024 bytes with InfiniBand's headers, acknowledgements on
/// the lanes of their flows, links of 100 Gbit/s and 1 us.
pub fn under(mut spec: RunSpec, lanes: LaneSpec) -> RunSpec {
    spec = common::natural(spec);
    spec.switch.flow_control = FlowControl::Credits;
    spec.switch.ecn.clear();
    spec.nic.ack_class = None;
    spec.packet.mtu = Bytes::new(1024);
    spec.packet.data_header = Bytes::new(26);
    (spec.packet.ack_header, spec.packet.ack_min) = (Bytes::new(30), Bytes::ZERO);
    spec.lanes = Some(Box::new(lanes));
    spec
}

/// Returns hosts around a switch, under these credits.
pub fn star(hosts: u32, lanes: LaneSpec) -> RunSpec {
    under(common::star(hosts, common::scheme("none")), lanes)
}

/// Switches 0 to n - 1 in a row, host n + i at switch i; links of `gbps`.
pub fn row(n: u32, gbps: u64, lanes: LaneSpec) -> RunSpec {
    let mut spec = star(1, lanes);
    spec.nodes = [
        vec![NodeKind::Switch; n as usize],
        vec![NodeKind::Host; n as usize],
    ]
    .concat();
    let rate = BitRate::from_gbps(gbps);
    spec.links = (1..n).map(|i| common::link(i - 1, i, rate)).collect();
    spec.links.extend((0..n).map(|i| common::link(i, n + i, rate)));
    spec
}

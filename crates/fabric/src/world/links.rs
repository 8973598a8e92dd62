//! Link profiles: properties of links with one rate and delay, and of their ports at switches of one tier.

use paceline_congestion::Red;
use paceline_kernel::ids::List;
use paceline_kernel::queue::LaneId;
use paceline_kernel::{BitRate, Bytes, Span, ns3};

use crate::ids::ProfileId;
use paceline_run::spec::Rounding;

/// All link profiles of a run.
pub type Profiles = List<ProfileId, LinkProfile>;

/// Properties shared by all ports whose links have one rate and delay, and whose switches are of one tier.
#[derive(Clone, Debug)]
pub struct LinkProfile {
    /// Rate of the link.
    pub rate: BitRate,
    /// Time of 1024 bytes at this rate, in whole ps.
    pub(crate) ps_per_kib: u64,
    /// Propagation delay, in ps.
    pub(crate) delay: u64,
    /// Right shift of 128 times the free buffer that gives the dynamic PFC threshold at this rate: 7 for alpha 1.
    pub(crate) shift: u32,
    /// Headroom of an ingress port, in bytes.
    pub(crate) headroom: u32,
    /// ECN marking curve at the egress.
    pub(crate) red: Red,
    /// Packet sizes that occur all the time.
    pub(crate) common: Vec<CommonSize>,
    /// Bytes that the link adds to each packet.
    pub(crate) framing: u16,
    pub(crate) truncate_to_ns: bool,
    pub(crate) rounding: Rounding,
}

/// A packet size with its serialisation time and event lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommonSize {
    pub(crate) wire: u16,
    pub(crate) tx: u64,
    pub(crate) tx_lane: LaneId,
    pub(crate) arrive_lane: LaneId,
}

impl LinkProfile {
    /// Returns the serialisation time of a packet in ps, and the lanes of its end and of the arrival.
    #[inline(always)]
    pub(crate) fn serialise(&self, wire: u16) -> CommonSize {
        for common in &self.common {
            if common.wire == wire {
                // Field by field: copied as a whole it would go through memory.
                let CommonSize {
                    tx,
                    tx_lane,
                    arrive_lane,
                    ..
                } = *common;
                return CommonSize {
                    wire,
                    tx,
                    tx_lane,
                    arrive_lane,
                };
            }
        }
        CommonSize {
            wire,
            tx: self.serialise_rare(wire),
            tx_lane: LaneId::WHEEL,
            arrive_lane: LaneId::WHEEL,
        }
    }

    #[cold]
    fn serialise_rare(&self, wire: u16) -> u64 {
        self.time_to_send(self.rate, wire).as_ps()
    }

    /// Returns the time for a packet of `wire` bytes and its framing at `rate`, in this run's arithmetic.
    #[inline]
    pub(crate) fn time_to_send(&self, rate: BitRate, wire: u16) -> Span {
        time_to_send(rate, wire + self.framing, self.rounding)
    }
}

/// Returns the time for `wire` bytes at `rate`: exact, or as ns-3 computes it.
#[inline]
pub(crate) fn time_to_send(rate: BitRate, wire: u16, rounding: Rounding) -> Span {
    match rounding {
        Rounding::Exact => rate.time_to_send(Bytes::new(u64::from(wire))),
        Rounding::RealNs => ns3::time_to_send(rate, u32::from(wire)),
        Rounding::WholeNs => ns3::whole_time_to_send(rate, u32::from(wire)),
    }
}

//! Time series of ports and buffers, and losers of simultaneous arrivals.

use paceline_kernel::{Span, Time};
use serde::{Deserialize, Serialize};

use super::PortRef;
use crate::spec::NodeId;

/// Activity of ports and buffer occupancy of switches over time, in bins of equal width.
#[derive(Clone, Debug, PartialEq)]
pub struct PortSeries {
    /// Width of a bin.
    pub bin: Span,
    /// Number of the first bin: bin `n` starts at `n` times the width.
    pub first: u64,
    /// All ports, including hosts': each is the direction from its node to its peer.
    pub ports: Vec<PortRef>,
    /// All switches, in the order of their columns.
    pub switches: Vec<NodeId>,
    /// One row per bin with a value per port.
    pub cells: Vec<PortBin>,
    /// One row per bin with a value per switch, in bytes.
    pub buffers: Vec<u32>,
    /// One row per bin with a value per port; empty without detectors.
    pub paused_for: Vec<u16>,
}

/// Activity of a port in a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PortBin {
    /// Bytes sent over those that the link can carry in the bin. It exceeds 1, by about a hundredth, only
    /// with the arithmetic of [`crate::spec::Quirks::truncate_to_ns`].
    pub utilisation: f32,
    /// Share of the bin in which the other end paused a class of the port.
    pub paused: f32,
    /// Largest queue, in bytes; for a host's port, that of acknowledgements.
    pub queue_max: u32,
    /// Data packets first marked "congestion experienced" here.
    pub marks: u32,
}

impl PortBin {
    /// Merges two consecutive bins of equal width.
    #[inline]
    pub fn merged(self, next: Self) -> Self {
        Self {
            utilisation: (self.utilisation + next.utilisation) / 2.0,
            paused: (self.paused + next.paused) / 2.0,
            queue_max: self.queue_max.max(next.queue_max),
            marks: self.marks.saturating_add(next.marks),
        }
    }
}

impl PortSeries {
    /// Upper limit of the bins of a run; large networks have fewer.
    pub const BINS_MAX: usize = 512;

    /// Returns the number of bins.
    pub fn bins(&self) -> usize {
        self.cells.len().checked_div(self.ports.len()).unwrap_or(0)
    }

    /// Returns the start of bin `n`; for `n` equal to the number of bins, the end of the last.
    pub fn begin(&self, n: usize) -> Time {
        Time::from_ps((self.first + n as u64).saturating_mul(self.bin.as_ps()))
    }

    /// Iterates over the bins of a port, in order of time.
    pub fn of_port(&self, port: usize) -> impl Iterator<Item = &PortBin> {
        self.cells.iter().skip(port).step_by(self.ports.len().max(1))
    }

    /// Iterates over the causes of a port's pauses, by bin: the interface of the peer that held most of the
    /// port's bytes when the peer first requested a pause; 0 if no switch did. Empty without detectors.
    pub fn paused_for(&self, port: usize) -> impl Iterator<Item = u16> {
        let all = self.paused_for.iter().skip(port);
        all.step_by(self.ports.len().max(1)).copied()
    }

    /// Iterates over the largest buffer occupancy of a switch seen in each bin, in bytes: at the bin's end,
    /// at up to seven earlier instants, and whenever one queue alone was larger.
    pub fn of_switch(&self, switch: usize) -> impl Iterator<Item = u32> {
        let all = self.buffers.iter().skip(switch);
        all.step_by(self.switches.len().max(1)).copied()
    }
}

/// Losers of simultaneous arrivals of lossy packets for one port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TiedArrivals {
    /// Drops for lack of buffer at instants at which another packet arrived for the same port.
    pub drops: u64,
    /// Ingress ports of packets that arrived at instants at which some packets were dropped and some were
    /// not.
    pub sides: Vec<Side>,
}

/// Packets from one port to another at such instants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Egress port for which the packets arrived.
    pub egress: PortRef,
    /// Ingress port through which they arrived.
    pub ingress: PortRef,
    /// Packets that were accepted.
    pub taken: u64,
    /// Packets that were dropped.
    pub dropped: u64,
}

impl TiedArrivals {
    /// Least number of packets for a conclusion.
    const FEW: u64 = 20;

    /// Returns, for one egress port, the side that nearly always lost and the one that nearly never did: the
    /// pair with the most drops.
    pub fn one_sided(&self) -> Option<(&Side, &Side)> {
        let nearly_all = |most: u64, rest: u64| most >= Self::FEW && rest * Self::FEW <= most;
        let ports = self.sides.chunk_by(|a, b| a.egress == b.egress);
        let pairs = ports.filter_map(|sides| {
            let losers = sides.iter().filter(|side| nearly_all(side.dropped, side.taken));
            let winners = sides.iter().filter(|side| nearly_all(side.taken, side.dropped));
            Some((
                losers.max_by_key(|side| side.dropped)?,
                winners.max_by_key(|side| side.taken)?,
            ))
        });
        pairs.max_by_key(|(loser, _)| loser.dropped)
    }
}

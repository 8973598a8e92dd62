//! Ports and buffers over time, and who lost at them.

use paceline_kernel::{Span, Time};

use super::PortRef;
use crate::spec::NodeId;

/// What the ports did and the switches held over time, in bins of one width.
#[derive(Clone, Debug, PartialEq)]
pub struct PortSeries {
    /// Width of a bin.
    pub bin: Span,
    /// Number of the first bin: bin `n` begins at `n` times the width.
    pub first: u64,
    /// Every port, hosts' too: the direction from its node to its peer.
    pub ports: Vec<PortRef>,
    /// Every switch.
    pub switches: Vec<NodeId>,
    /// A row per bin with a value per port.
    pub cells: Vec<PortBin>,
    /// A row per bin with a value per switch.
    pub buffers: Vec<u32>,
    /// A row per bin with a value per port; empty without detectors.
    pub paused_for: Vec<u16>,
}

/// A port in a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PortBin {
    /// Bytes sent over those that the link can carry in the bin. Only the arithmetic of
    /// [`crate::spec::Quirks::truncate_to_ns`] makes it more than 1, by about a hundredth.
    pub utilisation: f32,
    /// Share of the bin in which the other end paused some class of the port.
    pub paused: f32,
    /// Largest queue, in bytes; of a host's port, that of acknowledgements.
    pub queue_max: u32,
    /// Data packets marked "congestion experienced" here, and not before.
    pub marks: u32,
}

impl PortBin {
    /// Two bins of one width as one.
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
    /// Bins that a run has at most; large networks have fewer.
    pub const BINS_MAX: usize = 512;

    /// Number of bins.
    pub fn bins(&self) -> usize {
        self.cells.len().checked_div(self.ports.len()).unwrap_or(0)
    }

    /// When bin `n` of those that there are begins; for `n` equal to their number, when the last ends.
    pub fn begin(&self, n: usize) -> Time {
        Time::from_ps((self.first + n as u64).saturating_mul(self.bin.as_ps()))
    }

    /// The bins of a port, in order of time.
    pub fn of_port(&self, port: usize) -> impl Iterator<Item = &PortBin> {
        self.cells.iter().skip(port).step_by(self.ports.len().max(1))
    }

    /// Why a port was paused in each bin: the interface of the node at its other end at which most stood of what it had
    /// sent there, when that node first asked for a pause; 0 where no switch did. Nothing without detectors.
    pub fn paused_for(&self, port: usize) -> impl Iterator<Item = u16> {
        let all = self.paused_for.iter().skip(port);
        all.step_by(self.ports.len().max(1)).copied()
    }

    /// Largest buffer occupancy of a switch seen in each bin, in bytes: at the bin's end, at up to
    /// seven instants before, and when one queue alone was larger.
    pub fn of_switch(&self, switch: usize) -> impl Iterator<Item = u32> {
        let all = self.buffers.iter().skip(switch);
        all.step_by(self.switches.len().max(1)).copied()
    }
}

/// Who lost where packets of lossy classes arrived for one port at the same instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TiedArrivals {
    /// Drops for lack of buffer at instants at which something else arrived for the same port.
    pub drops: u64,
    /// The ingress ports of packets that arrived at instants at which some packets were dropped and some were not.
    pub sides: Vec<Side>,
}

/// What came in through one port for another, at such instants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// The port that it is for.
    pub egress: PortRef,
    /// The port through which it came.
    pub ingress: PortRef,
    /// Packets that were taken in.
    pub taken: u64,
    /// Packets that were dropped.
    pub dropped: u64,
}

impl TiedArrivals {
    /// Fewer packets than this say nothing.
    const FEW: u64 = 20;

    /// The side that nearly always lost, and the one that nearly never did, where they are for the same port: the pair
    /// with the most drops.
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

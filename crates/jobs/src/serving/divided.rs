//! Simple model of transfers: every GPU divides its rate evenly among its transfers, and the slower end decides.

use paceline_kernel::sorted::SortedMap;
use paceline_kernel::{BitRate, Span, Time};
use paceline_run::spec::NodeId;

/// Transfer between two GPUs.
#[derive(Clone, Copy, Debug)]
struct Share {
    message: u32,
    from: NodeId,
    to: NodeId,
    /// Bytes that have not arrived.
    left: f64,
}

/// Transfers under way in the model.
#[derive(Clone, Debug, Default)]
pub(super) struct Divided {
    rates: SortedMap<NodeId, BitRate>,
    shares: Vec<Share>,
    /// Time up to which the bytes are counted.
    at: Time,
    /// Number of the latest prediction; earlier ones do not hold any more.
    pub(super) version: u32,
}

impl Divided {
    /// Creates the model for GPUs with links of these rates.
    pub(super) fn new(rates: SortedMap<NodeId, BitRate>) -> Self {
        Self {
            rates,
            ..Self::default()
        }
    }

    /// Returns the bytes per ps of each transfer.
    fn speeds(&self) -> Vec<f64> {
        let mut uses: SortedMap<(NodeId, bool), f64> = SortedMap::new();
        for share in &self.shares {
            for end in [(share.from, false), (share.to, true)] {
                *uses.entry(end).or_default() += 1.0;
            }
        }
        let part = |host: NodeId, receives: bool| self.rates[&host].as_bps() as f64 / uses[&(host, receives)];
        let speed = |share: &Share| part(share.from, false).min(part(share.to, true)) / 8e12;
        self.shares.iter().map(speed).collect()
    }

    /// Counts the bytes that arrive until `now`.
    pub(super) fn advance(&mut self, now: Time) {
        let elapsed = now.saturating_since(self.at).as_ps() as f64;
        self.at = now;
        if elapsed > 0.0 {
            let speeds = self.speeds();
            let each = self.shares.iter_mut().zip(speeds);
            each.for_each(|(share, speed)| share.left -= elapsed * speed);
        }
    }

    /// Starts a transfer of a message.
    pub(super) fn start(&mut self, message: u32, (from, to): (NodeId, NodeId), bytes: u64) {
        self.shares.push(Share {
            message,
            from,
            to,
            left: bytes as f64,
        });
    }

    /// Removes the transfers that are over, and returns their messages.
    pub(super) fn ended(&mut self) -> Vec<u32> {
        // Half a byte absorbs what rounding to whole picoseconds leaves.
        let (over, rest): (Vec<_>, Vec<_>) = self.shares.iter().partition(|share| share.left < 0.5);
        self.shares = rest;
        over.into_iter().map(|share| share.message).collect()
    }

    /// Predicts the end of the next transfer; it holds until another starts.
    pub(super) fn next_end(&mut self) -> Option<Time> {
        self.version = self.version.wrapping_add(1);
        let speeds = self.speeds();
        let times = self.shares.iter().zip(speeds);
        let soonest = times
            .map(|(share, speed)| share.left.max(0.0) / speed)
            .reduce(f64::min)?;
        Some(self.at.saturating_add(Span::from_ps(soonest.ceil() as u64)))
    }
}

//! Network information collection: one round-trip time per completion window.

use crate::api::AckInfo;

/// Selects one acknowledgement per completion window (§3.2, figure 6): that of the first packet sent after
/// the last sample.
#[derive(Clone, Copy, Debug, Default)]
pub struct Collector {
    /// Bytes sent by the time of the last sample.
    sent: u64,
}

impl Collector {
    /// Returns true if this acknowledgement gives the next sample, because its packet was sent after the last
    /// one. Retransmissions (go-back-N) give none until they pass the earlier data.
    pub fn takes(&mut self, ack: &AckInfo<'_>) -> bool {
        let takes = ack.highest > self.sent;
        if takes {
            self.sent = ack.snd_nxt;
        }
        takes
    }

    /// Restarts at offset zero, for another message of the same flow.
    pub fn restart(&mut self) {
        self.sent = 0;
    }
}

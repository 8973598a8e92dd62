//! Network information collection: one round-trip time per completion window.

use crate::api::AckInfo;

/// Takes one acknowledgement per completion window (§3.2, figure 6): after a sample, the first packet
/// that is sent next is the one whose acknowledgement gives the next sample.
#[derive(Clone, Copy, Debug, Default)]
pub struct Collector {
    /// Bytes that had been sent at the last sample.
    sent: u64,
}

impl Collector {
    /// Whether this acknowledgement is of a packet that was sent after the last sample; if so it is the
    /// sample. What is sent again (go-back-N) gives one once it is past what had been sent.
    pub fn takes(&mut self, ack: &AckInfo<'_>) -> bool {
        let takes = ack.highest > self.sent;
        if takes {
            self.sent = ack.snd_nxt;
        }
        takes
    }

    /// The flow's offsets start at zero again (another message of the same flow).
    pub fn restart(&mut self) {
        self.sent = 0;
    }
}

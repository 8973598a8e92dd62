//! What schemes ask of switches beside marks and telemetry, as parameters: the switches' halves
//! are built from these.

use paceline_kernel::Bytes;

/// What a scheme asks of every switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SwitchPart {
    /// Bolt's ingress algorithm.
    Bolt(BoltPart),
    /// QCN's congestion point.
    Qcn(QcnPart),
    /// PCN's marks, which spare packets that were paused.
    NonPausedEcn,
}

/// Bolt in a switch (Arslan et al., NSDI 2023, algorithm 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoltPart {
    /// CCTHRESH: a port with so much queued is congested.
    pub threshold: Threshold,
    /// Whether congestion is reported by a packet from the switch to the sender (SRC); otherwise the
    /// report rides on the data packet and its ACK.
    pub src: bool,
    /// Whether packets of a flow's last window leave tokens for others (PRU).
    pub pru: bool,
    /// Whether unused capacity is handed out (SM).
    pub sm: bool,
    /// PRU tokens that a port can hold.
    pub pru_max: u32,
}

/// So much in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// In bytes.
    Bytes(Bytes),
    /// In full packets.
    Packets(u32),
}

impl Threshold {
    /// In bytes, a full packet having `full`.
    pub fn bytes(self, full: u64) -> u32 {
        let bytes = match self {
            Self::Bytes(bytes) => bytes.get(),
            Self::Packets(packets) => full.saturating_mul(u64::from(packets)),
        };
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

/// QCN in a switch (IEEE 802.1Qau, congestion point).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QcnPart {
    /// The queue that the point steers towards.
    pub q_eq: Bytes,
    /// Weight of the queue's change.
    pub w: f64,
    /// Bytes between samples while there is no congestion.
    pub sample_max: Bytes,
    /// Bytes between samples under the strongest feedback.
    pub sample_min: Bytes,
    /// The share by which intervals between samples vary at random, 0.15 for 15 %.
    pub jitter: f64,
}

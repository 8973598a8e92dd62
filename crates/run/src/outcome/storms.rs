//! Detections of the PFC watchdog.

use paceline_kernel::Time;

use crate::outcome::PortRef;

/// Pause of a switch's queue that lasted too long ([`crate::spec::PfcWatchdog`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchdogStorm {
    /// Port whose queue was paused.
    pub port: PortRef,
    /// Priority class of the queue.
    pub priority: u8,
    /// Time of the detection.
    pub detected: Time,
    /// Time of the storm's end; `None` if it did not end.
    pub restored: Option<Time>,
    /// Packets that were dropped on detection and until the end.
    pub dropped: u64,
}

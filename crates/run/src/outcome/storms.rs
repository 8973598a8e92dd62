//! What the PFC watchdog has seen.

use paceline_kernel::Time;

use crate::outcome::PortRef;

/// A pause of a switch's queue that lasted too long ([`crate::spec::PfcWatchdog`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchdogStorm {
    /// The port whose queue was paused.
    pub port: PortRef,
    /// Its priority class.
    pub priority: u8,
    /// When it was found to be a storm.
    pub detected: Time,
    /// When it was over, if it was.
    pub restored: Option<Time>,
    /// Packets that were dropped meanwhile, and as it was found.
    pub dropped: u64,
}

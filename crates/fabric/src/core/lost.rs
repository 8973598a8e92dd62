//! Causes of packet loss.

use paceline_run::named_value;

/// Cause for which a packet did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// No room in a buffer, or a decision of a scheme's switch half.
    Buffer,
    /// Drop by the PFC watchdog.
    Watchdog,
    /// Failure or bit error of a link.
    Link,
    /// No route to the receiver.
    Route,
}

impl Lost {
    /// All causes, in the order of files' columns.
    pub const ALL: [Self; 4] = [Self::Buffer, Self::Watchdog, Self::Link, Self::Route];

    /// Returns the name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Buffer => "buffer",
            Self::Watchdog => "watchdog",
            Self::Link => "link",
            Self::Route => "route",
        }
    }
}

named_value!(Lost);

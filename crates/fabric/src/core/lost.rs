//! Causes of loss.

use paceline_run::named_value;

/// Why a packet did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// A buffer had no room, or the half of a scheme in a switch decided so.
    Buffer,
    /// The PFC watchdog empties a queue.
    Watchdog,
    /// A link was down or had an error.
    Link,
    /// No route leads to its receiver.
    Route,
}

impl Lost {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Buffer, Self::Watchdog, Self::Link, Self::Route];

    /// Its name in files.
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

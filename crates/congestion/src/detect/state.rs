//! Congestion state of a queue, as a detector reports it.

/// State of a queue; the symbols are those of the TCD paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PortState {
    /// Sends freely and has no significant queue: 0.
    #[default]
    NotCongested,
    /// Has left ON-OFF mode with a queue whose cause is not known yet.
    Checking,
    /// Flow control stops and starts it: "/".
    Undetermined,
    /// Is a root of congestion: 1.
    Congested,
}

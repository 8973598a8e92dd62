//! The state of a queue, as a detector finds it.

/// What a queue is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PortState {
    /// It sends as it likes, and has no queue to speak of: 0.
    #[default]
    NotCongested,
    /// Let out of ON-OFF mode, with a queue of which it is not known yet whose it is.
    Checking,
    /// It is stopped and started: "/".
    Undetermined,
    /// A root of congestion: 1.
    Congested,
}

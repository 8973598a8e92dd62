//! Small parts of the state of a run.

use std::collections::VecDeque;

use super::packet::List;
use super::schedule::NONE;
use super::spec::TriggerKind;

/// The NIC of a host: sends one packet at a time, and up to ten control packets per data packet.
#[derive(Clone, Default)]
pub(super) struct Nic {
    pub(super) busy: bool,
    /// Flows that wait for their turn. A flow may be listed twice.
    pub(super) waiting: VecDeque<u32>,
    pub(super) control: List,
    /// Control packets sent in a row while data waited.
    pub(super) turn: u32,
}

/// A trigger and the flows that it starts, in the order of the file.
#[derive(Clone)]
pub(super) struct Trigger {
    pub(super) id: u32,
    pub(super) kind: TriggerKind,
    pub(super) targets: Vec<u32>,
    pub(super) activations: u32,
}

/// Messages of a connection that become eligible at the same time.
#[derive(Clone)]
pub(super) struct Arrival {
    pub(super) conn: u32,
    pub(super) at: u64,
    /// Payload bytes and number of each message.
    pub(super) sizes: Vec<(i64, u32)>,
}

/// State of a connection with several messages.
#[derive(Clone, Default)]
pub(super) struct Messages {
    /// Unsent payload bytes and number of each eligible message.
    pub(super) rest: VecDeque<(i64, u32)>,
    /// First sequence number and number of each message that has started to be sent.
    pub(super) begun: Vec<(u32, u32)>,
    /// Number of messages that are not eligible yet (`to_come`), and of all (`count`).
    pub(super) to_come: usize,
    pub(super) count: usize,
}

/// State of SLEEK, which detects losses by gaps and probes.
#[derive(Clone)]
pub(super) struct Sleek {
    pub(super) lossy: bool,
    pub(super) recovery: u32,
    pub(super) highest: u32,
    /// Time of the next probe, ps; 0 if none is scheduled.
    pub(super) probe_at: u64,
    pub(super) probe_node: u32,
    /// Send time of the last probe, ps, and its number.
    pub(super) probe_sent: u64,
    pub(super) probe: u32,
    /// Round trip measured by the last answered probe, ps.
    pub(super) probed: u64,
}

impl Default for Sleek {
    fn default() -> Self {
        Self {
            lossy: false,
            recovery: 0,
            highest: 0,
            probe_at: 0,
            probe_node: NONE,
            probe_sent: 0,
            probe: 0,
            probed: 0,
        }
    }
}

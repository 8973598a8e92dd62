//! Small parts of the state of a run.

use std::collections::VecDeque;

use super::packet::List;
use super::schedule::NONE;
use super::spec::TriggerKind;

/// The NIC of a host: one packet at a time, control packets ahead of data ten to one.
#[derive(Clone, Default)]
pub(super) struct Nic {
    pub(super) busy: bool,
    /// Flows that wait for their turn; one may stand here twice.
    pub(super) waiting: VecDeque<u32>,
    pub(super) control: List,
    /// Turns since data had one while control packets waited.
    pub(super) turn: u32,
}

/// A trigger and the flows that it starts, in the order of the file.
#[derive(Clone)]
pub(super) struct Trigger {
    pub(super) id: u32,
    pub(super) kind: TriggerKind,
    pub(super) targets: Vec<u32>,
    /// How often it was activated.
    pub(super) activations: u32,
}

/// Messages of a connection that become eligible together.
#[derive(Clone)]
pub(super) struct Arrival {
    pub(super) conn: u32,
    pub(super) at: u64,
    /// Payload bytes and numbers of them.
    pub(super) sizes: Vec<(i64, u32)>,
}

/// What a connection with several messages keeps.
#[derive(Clone, Default)]
pub(super) struct Messages {
    /// Payload bytes that are eligible and not sent, and the number, by message.
    pub(super) rest: VecDeque<(i64, u32)>,
    /// The first packet and the number of each that has begun to be sent.
    pub(super) begun: Vec<(u32, u32)>,
    /// Messages that are not eligible yet, and all.
    pub(super) to_come: usize,
    pub(super) count: usize,
}

/// SLEEK: loss detection by gaps and probes.
#[derive(Clone)]
pub(super) struct Sleek {
    pub(super) lossy: bool,
    pub(super) recovery: u32,
    pub(super) highest: u32,
    /// When the next probe is due; 0: none is.
    pub(super) probe_at: u64,
    pub(super) probe_node: u32,
    /// When the last one was sent, and its number.
    pub(super) probe_sent: u64,
    pub(super) probe: u32,
    /// What the last answer to one measured.
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

//! State of links with link-level retry.

use paceline_kernel::ids::{Id, List};
use paceline_run::spec::{LinkRetry, RunSpec};

use crate::core::retry::counts::LlrPort;
use crate::core::retry::receiver::Receiver;
use crate::core::retry::sender::Sender;
use crate::ids::PortId;

/// One end of a link with retry.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) limits: LinkRetry,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) counts: LlrPort,
    /// Time of the alarm that is pending, in ps; `u64::MAX` without one.
    pub(super) alarm: u64,
    /// Start of the time for which the port sends no new frames, in ps.
    pub(super) held_since: Option<u64>,
}

/// State of all links with retry.
#[derive(Clone, Debug)]
pub(crate) struct Retry {
    /// Index of each port in `ends`, counted from 1; 0 if its link has no retry.
    pub(super) number: List<PortId, u32>,
    pub(super) ends: Vec<End>,
    /// Longest frame of the run, in bytes.
    pub(super) longest: u16,
}

impl Retry {
    /// Creates the state of a run; `None` if no link has retry.
    pub(crate) fn of(spec: &RunSpec, longest: u16) -> Option<Box<Self>> {
        if spec.retries.is_empty() {
            return None;
        }
        let mut number = List::of(2 * spec.links.len(), 0);
        let mut ends = Vec::new();
        for &(link, limits) in &spec.retries {
            for port in [PortId::new(2 * link), PortId::new(2 * link + 1)] {
                ends.push(End {
                    limits,
                    sender: Sender::new(),
                    receiver: Receiver::new(),
                    counts: LlrPort::default(),
                    alarm: u64::MAX,
                    held_since: None,
                });
                number[port] = ends.len() as u32;
            }
        }
        Some(Box::new(Self {
            number,
            ends,
            longest,
        }))
    }

    #[inline]
    pub(super) fn has(&self, port: PortId) -> bool {
        self.number[port] != 0
    }

    #[inline]
    pub(super) fn end(&mut self, port: PortId) -> &mut End {
        &mut self.ends[self.number[port] as usize - 1]
    }
}

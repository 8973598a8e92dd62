//! Rules for executing a program.

use std::sync::Arc;

use paceline_kernel::{Slowness, Time};

use crate::collective::CollectiveRules;
use crate::program::{Program, Rank};

/// Rules for executing a program.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Start of the job.
    pub start: Time,
    /// Number of iterations of the whole program; a rank begins one when its previous one ends.
    pub repeats: u32,
    /// Factor for all computing times.
    pub compute_scale: f64,
    /// Slowdowns of each rank's computation over time; empty if there are none.
    pub slow: Vec<Slowness>,
    /// Lane whose computation counts as communication and is not scaled: memory nodes of Chakra.
    pub communication_lane: Option<u8>,
    /// Rules for sends and receives.
    pub point: PointRules,
    /// Rules for executing collectives.
    pub collectives: CollectiveRules,
    /// Optional records, in addition to those of ranks and collectives.
    pub keep: Keep,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            start: Time::ZERO,
            repeats: 1,
            compute_scale: 1.0,
            slow: Vec::new(),
            communication_lane: None,
            point: PointRules::default(),
            collectives: CollectiveRules::default(),
            keep: Keep::default(),
        }
    }
}

/// Optional records, whose memory may grow with the length of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// True to record start and end of each operation, and its last dependency.
    pub operations: bool,
    /// True to record start and end of each collective at each member.
    pub members: bool,
    /// True to record the critical path of an iteration: the slowest so far, or [`Self::path_of`]. Memory grows only
    /// with that path.
    pub path: bool,
    /// Iteration whose critical path is recorded, from 0; `None` for the slowest.
    pub path_of: Option<u32>,
}

/// Completion of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendEnd {
    /// After handing over to the NIC or, above the eager limit, after the acknowledgement of the last byte. The lane
    /// is free after handing over (GOAL).
    Posted,
    /// After the last packet has left the NIC, which also frees the lane (Chakra).
    Left,
    /// After the data has arrived, which also frees the lane (Chakra as in ASTRA-sim).
    Received,
}

/// Rules for sends and receives. Overheads and gaps are charged as in ATLAHS (spcl/atlahs@8837294); latency and rate
/// belong to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointRules {
    /// Overhead `o` in ns, for which a send or receive occupies its lane.
    pub overhead_ns: u64,
    /// Overhead `O` in ns for each byte but the first.
    pub overhead_per_byte_ns: u64,
    /// Gap `g` in ns between two messages of a NIC.
    pub gap_ns: u64,
    /// Eager limit `S` in bytes: larger messages are sent only when their receive is posted and a request has
    /// arrived.
    pub eager_bytes: u64,
    /// Completion of a send.
    pub end: SendEnd,
    /// True if a receive only takes messages of its own size.
    pub match_size: bool,
}

impl PointRules {
    /// GOAL on a packet network: no overheads, and rendezvous for messages above 65,535 B.
    pub const GOAL: Self = Self {
        overhead_ns: 0,
        overhead_per_byte_ns: 0,
        gap_ns: 0,
        eager_bytes: 65_535,
        end: SendEnd::Posted,
        match_size: false,
    };

    /// Chakra: messages match by tag, source, destination and size, as in ASTRA-sim. A send ends when its data has
    /// left, as in NCCL, where the kernel of a send ends when its last bytes are in the transport's buffers: the next
    /// send need not wait until they have crossed the network.
    pub const CHAKRA: Self = Self {
        overhead_ns: 0,
        overhead_per_byte_ns: 0,
        gap_ns: 0,
        eager_bytes: u64::MAX,
        end: SendEnd::Left,
        match_size: true,
    };

    /// Chakra as executed by ASTRA-sim: a send ends when it has been received.
    pub const ASTRA_SIM: Self = Self {
        end: SendEnd::Received,
        ..Self::CHAKRA
    };
}

impl Default for PointRules {
    fn default() -> Self {
        Self::GOAL
    }
}

/// Checks that these rules apply to this program: sizes of groups, and algorithms for kinds.
///
/// # Errors
/// A sentence with the reason.
pub fn check(rules: &Rules, program: &Arc<dyn Program>) -> Result<(), String> {
    if !(rules.compute_scale.is_finite() && rules.compute_scale >= 0.0) {
        return Err(format!(
            "compute-scale is {}, expected a number of at least 0",
            rules.compute_scale
        ));
    }
    if rules.repeats == 0 {
        return Err("repeats is 0, expected at least 1".into());
    }
    let ranks: Rank = program.ranks();
    for (index, members) in program.groups().iter().enumerate() {
        let mut sorted = members.clone();
        sorted.sort_unstable();
        if let Some(&rank) = sorted.iter().find(|&&r| r >= ranks) {
            return Err(format!(
                "group {index} has rank {rank}, but there are only {ranks} ranks"
            ));
        }
        if let Some(pair) = sorted.windows(2).find(|p| p[0] == p[1]) {
            return Err(format!("group {index} has rank {} twice", pair[0]));
        }
    }
    for collective in program.collectives() {
        if let Some(members) = program.groups().get(collective.group as usize) {
            rules.collectives.check(collective.kind, members.len() as u32)?;
        }
    }
    Ok(())
}

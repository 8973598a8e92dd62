//! By which rules a program is carried out.

use std::sync::Arc;

use paceline_kernel::{Slowness, Time};

use crate::collective::CollectiveRules;
use crate::program::{Program, Rank};

/// By which rules a program is carried out.
#[derive(Clone, Debug)]
pub struct Rules {
    /// When the job starts.
    pub start: Time,
    /// How many times the whole program is carried out; each time begins at a rank when that rank's last is over.
    pub repeats: u32,
    /// By what all computing times are multiplied.
    pub compute_scale: f64,
    /// How slow each rank is at computing, and when; empty where none ever is.
    pub slow: Vec<Slowness>,
    /// Computing in this lane counts as communication, and is not scaled: memory nodes of Chakra.
    pub communication_lane: Option<u8>,
    /// Sends and receives.
    pub point: PointRules,
    /// Collectives.
    pub collectives: CollectiveRules,
    /// Records that are kept in addition to those of ranks and collectives.
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

/// What is kept for results, where memory may grow with the length of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// Start and end of each operation, and why it began when it did.
    pub operations: bool,
    /// Start and end of each collective at each member.
    pub members: bool,
    /// The critical path of an iteration: of the slowest so far, or of [`Self::path_of`]. Its memory grows with that path
    /// only.
    pub path: bool,
    /// The iteration whose critical path is kept, from 0; nothing for the slowest.
    pub path_of: Option<u32>,
}

/// When a send is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendEnd {
    /// When it has been handed to the NIC; above the eager limit, when its last byte is acknowledged. Its lane is free when it
    /// has been handed over (GOAL).
    Posted,
    /// When its last packet has left the NIC; its lane is free then (Chakra).
    Left,
    /// When its bytes have arrived; its lane is free then (Chakra as in ASTRA-sim).
    Received,
}

/// Sends and receives. Overheads and gaps are charged as in ATLAHS (spcl/atlahs@8837294); latency and rate are the network's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointRules {
    /// `o`, in ns: a send or receive takes its lane for so long.
    pub overhead_ns: u64,
    /// `O`, in ns for each byte but the first.
    pub overhead_per_byte_ns: u64,
    /// `g`, in ns: between two messages of a NIC.
    pub gap_ns: u64,
    /// `S`, in bytes: larger messages leave only when their receive is posted and a request has arrived.
    pub eager_bytes: u64,
    /// When a send is done.
    pub end: SendEnd,
    /// Whether a receive takes only a message of its own size.
    pub match_size: bool,
}

impl PointRules {
    /// GOAL on a packet network: no overheads, messages above 65,535 B by rendezvous.
    pub const GOAL: Self = Self {
        overhead_ns: 0,
        overhead_per_byte_ns: 0,
        gap_ns: 0,
        eager_bytes: 65_535,
        end: SendEnd::Posted,
        match_size: false,
    };

    /// Chakra: messages match by tag, source, destination and size, as in ASTRA-sim. A send ends when it has left, as in NCCL,
    /// where the kernel of a send ends when its last bytes are in the buffers of the transport: the next need not wait until
    /// they have crossed the network.
    pub const CHAKRA: Self = Self {
        overhead_ns: 0,
        overhead_per_byte_ns: 0,
        gap_ns: 0,
        eager_bytes: u64::MAX,
        end: SendEnd::Left,
        match_size: true,
    };

    /// Chakra as ASTRA-sim carries it out: a send ends when it has been received.
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

/// Whether these rules can be applied to this program: sizes of groups, algorithms for kinds.
///
/// # Errors
///
/// A sentence for people.
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
    for (place, members) in program.groups().iter().enumerate() {
        let mut sorted = members.clone();
        sorted.sort_unstable();
        if let Some(&rank) = sorted.iter().find(|&&r| r >= ranks) {
            return Err(format!(
                "group {place} has rank {rank}, but there are only {ranks} ranks"
            ));
        }
        if let Some(pair) = sorted.windows(2).find(|p| p[0] == p[1]) {
            return Err(format!("group {place} has rank {} twice", pair[0]));
        }
    }
    for collective in program.collectives() {
        if let Some(members) = program.groups().get(collective.group as usize) {
            rules.collectives.check(collective.kind, members.len() as u32)?;
        }
    }
    Ok(())
}

//! Properties of a program in numbers, independent of any network.

use std::collections::BTreeMap;

use crate::program::{CollectiveKind, OperationId, Program, Rank, Work};
use crate::trouble::Trouble;
use crate::walk::{At, walk};

/// Number of the largest messages that are listed.
const LARGEST: usize = 10;

/// Cost of messages without contention.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Latency L, or alpha: from the last byte at the sender to the first at the receiver, in ns.
    pub latency: u64,
    /// Overhead o before a message leaves and after it arrives, in ns.
    pub overhead: u64,
    /// Time per byte G, or beta, in ns.
    pub per_byte: f64,
    /// Bytes of a message without cost: 1 in LogGP, where G counts the bytes after the first.
    pub bytes_free: u64,
    /// Eager limit in bytes: the send of a larger message waits until it is received.
    pub eager: u64,
}

impl Costs {
    /// Messages without any cost.
    pub const FREE: Self = Self {
        latency: 0,
        overhead: 0,
        per_byte: 0.0,
        bytes_free: 0,
        eager: u64::MAX,
    };

    /// Creates LogGP costs: 2o + L + (s - 1)G for a message of s bytes; all parameters in ns, G in ns per byte.
    pub const fn loggp(latency: u64, overhead: u64, per_byte: f64) -> Self {
        Self {
            latency,
            overhead,
            per_byte,
            bytes_free: 1,
            eager: u64::MAX,
        }
    }

    /// Creates alpha-beta costs: a latency in ns, and a rate in bit/s.
    pub fn alpha_beta(latency: u64, bits_per_second: u64) -> Self {
        Self {
            latency,
            overhead: 0,
            per_byte: 8e9 / bits_per_second.max(1) as f64,
            bytes_free: 0,
            eager: u64::MAX,
        }
    }

    /// Returns the transfer time of a message of this size, in ns.
    pub fn message(&self, bytes: u64) -> u64 {
        let bytes = bytes.saturating_sub(self.bytes_free);
        self.latency
            .saturating_add((bytes as f64 * self.per_byte).floor() as u64)
    }
}

/// Large message with its send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Large {
    /// Size of the payload in bytes.
    pub bytes: u64,
    /// Rank that sends it.
    pub from: Rank,
    /// Rank that receives it.
    pub to: Rank,
    /// Name of the send.
    pub name: String,
}

/// Collectives of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collectives {
    /// Number of collectives, each counted once for all its members.
    pub count: u64,
    /// Total bytes, as the format counts them.
    pub bytes: u64,
}

/// Longest chain of operations that depend on each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Critical {
    /// Length in ns: a lower bound of the duration on any network with these costs.
    pub ns: u64,
    /// Share of computation, in ns.
    pub compute: u64,
    /// Share of collectives, in ns.
    pub collectives: u64,
    /// Share of messages with their overheads, in ns.
    pub messages: u64,
    /// Operations from first to last; empty if the program is too large to record the path.
    pub operations: Vec<(Rank, OperationId)>,
}

/// Properties of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// Number of the program's ranks.
    pub ranks: u32,
    /// Number of operations of all ranks.
    pub operations: u64,
    /// Number of computations of all ranks.
    pub computes: u64,
    /// Number of sends of all ranks.
    pub sends: u64,
    /// Number of receives of all ranks.
    pub receives: u64,
    /// Number of operations that are members of a collective.
    pub members: u64,
    /// Number of operations without work.
    pub nothing: u64,
    /// Computation of all ranks, in ns.
    pub compute: u128,
    /// Rank with the longest computation, and its duration in ns.
    pub most_compute: (Rank, u128),
    /// Bytes sent outside of collectives.
    pub bytes: u128,
    /// Totals of collectives by kind.
    pub collectives: BTreeMap<CollectiveKind, Collectives>,
    /// Largest messages in descending order.
    pub largest: Vec<Large>,
    /// Critical path without contention between messages.
    pub critical: Critical,
    /// Names of the first and the last operations of the critical path.
    pub path: Vec<String>,
    /// Number of operations that can never complete, which the critical path leaves out.
    pub remaining: u64,
}

/// Counts a program's operations, and finds its critical path without contention.
///
/// # Errors
/// If the file of the program can no longer be read.
pub fn explain(program: &dyn Program, costs: &Costs) -> Result<Explanation, Trouble> {
    let mut it = Explanation {
        ranks: program.ranks(),
        ..Explanation::default()
    };
    let mut largest: Vec<(u64, At, Rank)> = Vec::new();
    for rank in 0..program.ranks() {
        let mut compute = 0u128;
        for number in 0..program.operations(rank) {
            it.operations += 1;
            match program.operation(rank, number).work {
                Work::Nothing => it.nothing += 1,
                Work::Compute { ns } => {
                    it.computes += 1;
                    compute += u128::from(ns);
                }
                Work::Send { to, bytes, .. } => {
                    it.sends += 1;
                    it.bytes += u128::from(bytes);
                    // Equal sends keep their order: later ones do not displace the first.
                    if largest.len() < LARGEST || bytes > largest[LARGEST - 1].0 {
                        let index = largest.partition_point(|l| l.0 >= bytes);
                        largest.insert(index, (bytes, (rank, number), to));
                        largest.truncate(LARGEST);
                    }
                }
                Work::Receive { .. } => it.receives += 1,
                Work::Collective(index) => {
                    it.members += 1;
                    it.collective(program, rank, index);
                }
            }
        }
        it.compute += compute;
        if compute > it.most_compute.1 {
            it.most_compute = (rank, compute);
        }
    }
    it.largest = largest
        .into_iter()
        .map(|(bytes, at, to)| Large {
            bytes,
            from: at.0,
            to,
            name: program.name(at.0, at.1),
        })
        .collect();
    it.critical_path(program, costs);
    // Programs read lazily, so an error of the file shows only now.
    match program.trouble() {
        Some(trouble) => Err(trouble),
        None => Ok(it),
    }
}

impl Explanation {
    /// Counts a collective at the first of its members.
    fn collective(&mut self, program: &dyn Program, rank: Rank, index: u32) {
        let Some(collective) = program.collectives().get(index as usize) else {
            return;
        };
        let first = program
            .groups()
            .get(collective.group as usize)
            .and_then(|g| g.first());
        if first == Some(&rank) {
            let sum = self.collectives.entry(collective.kind).or_default();
            sum.count += 1;
            sum.bytes = sum.bytes.saturating_add(collective.bytes);
        }
    }

    fn critical_path(&mut self, program: &dyn Program, costs: &Costs) {
        const NAMED: usize = 5;
        let walked = walk(program, costs);
        self.remaining = walked.remaining;
        let mut critical = Critical {
            ns: walked.end,
            ..Critical::default()
        };
        let before = |at: At| walked.before.get(at.0 as usize).map(|rank| rank[at.1 as usize]);
        let mut next = walked.last;
        while let Some(at) = next {
            // For programs that are too large, the walk keeps no predecessors and the path stays empty.
            let Some(earlier) = before(at) else { break };
            critical.operations.push(at);
            match program.operation(at.0, at.1).work {
                Work::Compute { ns } => critical.compute = critical.compute.saturating_add(ns),
                Work::Collective(index) => {
                    if let Some(c) = program.collectives().get(index as usize) {
                        let members = program.groups().get(c.group as usize).map_or(0, Vec::len) as u64;
                        // Of the members that waited for the last one, only one counts.
                        if earlier.0 == at.0 {
                            critical.collectives = critical
                                .collectives
                                .saturating_add(costs.collective(c.kind, c.bytes, members));
                        }
                    }
                }
                _ => {}
            }
            // The first operation is its own predecessor.
            next = (earlier != at).then_some(earlier);
        }
        critical.operations.reverse();
        // Time on the path that is neither computation nor a collective's is that of messages.
        if !critical.operations.is_empty() {
            critical.messages = critical
                .ns
                .saturating_sub(critical.compute)
                .saturating_sub(critical.collectives);
        }
        let count = critical.operations.len();
        let names = |range: std::ops::Range<usize>| {
            critical.operations[range]
                .iter()
                .map(|at| program.name(at.0, at.1))
        };
        self.path = if count <= 2 * NAMED {
            names(0..count).collect()
        } else {
            let more = format!("... {} more", count - 2 * NAMED);
            names(0..NAMED)
                .chain([more])
                .chain(names(count - NAMED..count))
                .collect()
        };
        self.critical = critical;
    }

    /// Returns the properties as text for a terminal.
    pub fn text(&self) -> String {
        let mut text = format!(
            "ranks          {}\noperations     {}: {} compute, {} send, {} receive, {} take part in a collective, {} do nothing\n",
            self.ranks, self.operations, self.computes, self.sends, self.receives, self.members, self.nothing
        );
        text += &format!(
            "compute        {} in all, {} at rank {}, which has most\n",
            time(self.compute),
            time(self.most_compute.1),
            self.most_compute.0
        );
        text += &format!(
            "messages       {} with {} bytes, without collectives\n",
            self.sends, self.bytes
        );
        for (kind, sum) in &self.collectives {
            text += &format!("{:<14} {} with {} bytes\n", kind.name(), sum.count, sum.bytes);
        }
        let Critical {
            ns,
            compute,
            collectives,
            messages,
            operations,
        } = &self.critical;
        text += &format!("critical path  {} without contention", time(u128::from(*ns)));
        if operations.is_empty() {
            text += "; the program is too large to tell its operations\n";
        } else {
            let part = |ns: u64| time(u128::from(ns));
            text += &format!(
                ": {} operations, {} compute, {} collectives, {} messages\n",
                operations.len(),
                part(*compute),
                part(*collectives),
                part(*messages)
            );
            for name in &self.path {
                text += &format!("               {name}\n");
            }
        }
        if self.remaining > 0 {
            text += &format!(
                "warning: {} operations are never done at these costs; check the program\n",
                self.remaining
            );
        }
        if !self.largest.is_empty() {
            text += "largest messages\n";
        }
        for large in &self.largest {
            text += &format!(
                "  {:>12} bytes from {} to {}: {}\n",
                large.bytes, large.from, large.to, large.name
            );
        }
        text
    }
}

/// Returns a time in the unit that reads best.
pub(crate) fn time(ns: u128) -> String {
    let value = ns as f64;
    match ns {
        0..10_000 => format!("{ns} ns"),
        10_000..10_000_000 => format!("{:.3} us", value / 1e3),
        10_000_000..10_000_000_000 => format!("{:.3} ms", value / 1e6),
        _ => format!("{:.3} s", value / 1e9),
    }
}

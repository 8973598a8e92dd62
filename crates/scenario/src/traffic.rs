//! Traffic: distributions of flow sizes, and generators of flows.
//!
//! Every random number comes from the stream of its seed, purpose, workload and source, so neither the scheme nor
//! another workload changes the traffic.

pub use paceline_fabric::spec::Message;
use paceline_fabric::spec::{ArrivalPattern, Awaited, Dependency, NodeId, size_at};
pub(crate) use paceline_fabric::stream::SHARED;
use paceline_fabric::stream::random_stream;
use paceline_kernel::order::Sort as _;
use paceline_kernel::rng::{Purpose, Rng};
use paceline_kernel::{BitRate, Bytes, Span, Time};
use serde::{Deserialize, Serialize};

use crate::diagnostics::{Problem, Source};
use crate::ns3::Tokens;

/// Messages that a host sends one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PacedSource {
    /// Index of the first message; the others follow as consecutive flows between the same hosts.
    pub first: u32,
    /// Number of messages in the row.
    pub count: u32,
    /// Time from which the first gap counts.
    pub start: Time,
    /// Delay of the first message after `start`, and of each further one after the last packet of the previous one
    /// was created.
    pub gap: Span,
    /// Time from which on no message is created; `None` without a limit.
    pub until: Option<Time>,
}

/// Distribution of flow sizes: points of the cumulative distribution, with linear interpolation.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeDistribution {
    /// Points (bytes, cumulative probability), neither decreasing, ending with probability 1.
    points: Vec<(f64, f64)>,
}

/// Returns the mean in bytes of sizes with their cumulative probabilities (trapezoid rule).
pub(crate) fn mean_size(points: &[(f64, f64)]) -> f64 {
    let first = points[0];
    let head = first.0 * first.1;
    let segments = points
        .windows(2)
        .map(|w| (w[0].0 + w[1].0) / 2.0 * (w[1].1 - w[0].1));
    head + segments.sum::<f64>()
}

/// Built-in distributions: name, text, source.
pub static DISTRIBUTIONS: [(&str, &str, &str); 6] = [
    (
        "websearch",
        include_str!("../data/websearch.tsv"),
        "web search (DCTCP, SIGCOMM 2010), as HPCC's traffic generator has it",
    ),
    (
        "fb-hadoop",
        include_str!("../data/fb-hadoop.tsv"),
        "Facebook's Hadoop clusters (SIGCOMM 2015), as HPCC's traffic generator has it",
    ),
    (
        "alistorage",
        include_str!("../data/alistorage.tsv"),
        "Alibaba's storage service, 2019, as HPCC's traffic generator has it",
    ),
    (
        "google-rpc",
        include_str!("../data/google-rpc.tsv"),
        "Google's remote procedure calls, 2008, as HPCC's traffic generator has it",
    ),
    (
        "google-rpc-read",
        include_str!("../data/google-rpc-read.tsv"),
        "remote reads at Google, as Bolt (NSDI 2023) has them; approximate: the deciles that its code's figures are \
         labelled with, on a logarithmic scale between them",
    ),
    (
        "google-rpc-batch",
        include_str!("../data/google-rpc-batch.tsv"),
        "remote procedure calls of batch jobs at Google, as Bolt (NSDI 2023) has them; approximate like \
         google-rpc-read",
    ),
];

impl SizeDistribution {
    /// Returns a built-in distribution.
    pub fn builtin(name: &str) -> Option<Self> {
        let (name, text, _) = DISTRIBUTIONS.iter().find(|(known, ..)| *known == name)?;
        Self::parse(&Source::new(name, *text)).ok()
    }

    /// Parses a distribution: a line of `bytes percent` per point, percent not decreasing up to 100; a first line of
    /// words is skipped.
    ///
    /// # Errors
    /// If a line is not such a point, with its position.
    pub fn parse(source: &Source) -> Result<Self, Problem> {
        let mut tokens = Tokens::new(source);
        let mut points: Vec<(f64, f64)> = Vec::new();
        while let Some(first) = tokens.next() {
            if points.is_empty() && first.text.starts_with(|c: char| c.is_alphabetic()) {
                continue;
            }
            let bytes: f64 = tokens.read(&first, "a size in bytes")?;
            let word = tokens.word("a cumulative percentage")?;
            let percent: f64 = tokens.read(&word, "a cumulative percentage")?;
            let (last_bytes, last_p) = points.last().copied().unwrap_or((0.0, 0.0));
            let wrong = |token, message: String| Err(Problem::new(message).at(&tokens.place(token)));
            if bytes < last_bytes {
                return wrong(
                    &first,
                    format!("the sizes fall: {bytes} bytes after {last_bytes}"),
                );
            }
            if percent > 100.0 {
                return wrong(&word, format!("{percent} percent: expected at most 100"));
            }
            if percent / 100.0 < last_p {
                let before = last_p * 100.0;
                return wrong(
                    &word,
                    format!("the distribution falls: {percent} percent after {before}"),
                );
            }
            points.push((bytes, percent / 100.0));
        }
        let at_end = |message: String| Err(Problem::new(message).at(&source.end()));
        match points.last() {
            Some(&(bytes, 1.0)) if bytes >= 1.0 => Ok(Self { points }),
            Some(&(bytes, 1.0)) => at_end(format!(
                "no flow has more than {bytes} bytes: expected at least 1"
            )),
            Some(&(_, p)) => at_end(format!(
                "the distribution ends at {} percent: expected 100",
                p * 100.0
            )),
            None => at_end("the distribution has no points: expected lines of `bytes percent`".to_string()),
        }
    }

    /// Creates a mix of sizes, each with its share of the flows.
    ///
    /// # Errors
    /// The sum of the shares, if it is not one.
    pub fn mix(shares: &[(Bytes, f64)]) -> Result<Self, f64> {
        let sum: f64 = shares.iter().map(|&(_, share)| share).sum();
        if (sum - 1.0).abs() > 1e-6 || !sum.is_finite() {
            return Err(sum);
        }
        let mut sorted = shares.to_vec();
        sorted.order_by_key(|&(size, _)| size);
        let mut points = Vec::with_capacity(2 * sorted.len());
        let mut below = 0.0;
        for (size, share) in sorted {
            // Two points at one size are a step, so that no size between two listed ones is drawn.
            points.push((size.get() as f64, below));
            below += share / sum;
            points.push((size.get() as f64, below));
        }
        // Rounding may leave the sum below one, and the largest quantiles without a size.
        if let Some(last) = points.last_mut() {
            last.1 = 1.0;
        }
        Ok(Self { points })
    }

    /// Creates a distribution with a single size.
    pub fn fixed(size: Bytes) -> Self {
        let bytes = size.get() as f64;
        Self {
            points: vec![(bytes, 0.0), (bytes, 1.0)],
        }
    }

    /// Returns the mean in bytes.
    pub fn mean(&self) -> f64 {
        mean_size(&self.points)
    }

    /// Returns the `p`-quantile of sizes; at least one byte.
    pub fn quantile(&self, p: f64) -> Bytes {
        size_at(&self.points, p)
    }

    /// Returns the share of flows no larger than `size`: the inverse of [`SizeDistribution::quantile`].
    pub fn share_up_to(&self, size: Bytes) -> f64 {
        let size = size.get() as f64;
        let above = self.points.partition_point(|&(x, _)| x <= size);
        let (below, next) = (above.checked_sub(1), self.points.get(above));
        match (below.map(|index| self.points[index]), next) {
            (None, _) => 0.0,
            (Some((_, p)), None) => p,
            (Some((x0, y0)), Some(&(x1, y1))) => y0 + (y1 - y0) * (size - x0) / (x1 - x0),
        }
    }
}

/// Seeds of a workload's random streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// Seed of the run.
    pub seed: u64,
    /// Index of the workload in the scenario.
    pub workload: u64,
}

impl Seeds {
    pub(crate) fn stream(self, purpose: Purpose, entity: u64) -> Rng {
        random_stream(self.seed, purpose, self.workload, entity)
    }
}

/// Returns Poisson arrivals at every host, each to a random other host, or to a random receiver if there are any.
///
/// `load` is the share of each host's rate that its flows' payload would fill. (HPCC's `traffic_gen.py`: mean
/// inter-arrival time is mean size over load times rate.)
pub fn poisson(
    hosts: &[(NodeId, BitRate)],
    receivers: &[NodeId],
    sizes: &SizeDistribution,
    load: f64,
) -> ArrivalPattern {
    let mean_ps = |rate: BitRate| sizes.mean() * 8e12 / (load * rate.as_bps() as f64);
    let hosts = hosts.iter().map(|&(host, rate)| (host, mean_ps(rate)));
    ArrivalPattern::Poisson {
        hosts: hosts.collect(),
        receivers: receivers.to_vec(),
        sizes: sizes.points.clone(),
    }
}

/// Returns Poisson incasts: in each, a random receiver, one of the hosts unless others are given, gets `size` from
/// each of `fan_in` random other hosts.
///
/// `load` is the share of all hosts' total rate. (HPCC's evaluation: 2 %, 60 senders, 500 KB.)
pub fn incast_poisson(
    hosts: &[(NodeId, BitRate)],
    receivers: &[NodeId],
    load: f64,
    fan_in: u32,
    size: Bytes,
) -> ArrivalPattern {
    let capacity: f64 = hosts.iter().map(|(_, rate)| rate.as_bps() as f64).sum();
    ArrivalPattern::Incasts {
        hosts: hosts.iter().map(|&(host, _)| host).collect(),
        receivers: receivers.to_vec(),
        mean_ps: f64::from(fan_in) * size.get() as f64 * 8e12 / (load * capacity),
        fan_in,
        size,
    }
}

/// Returns a random derangement: every host sends to another host, and receives from another.
pub fn permutation(hosts: &[NodeId], size: Bytes, start: Time, seeds: Seeds) -> Vec<Message> {
    let mut choices = seeds.stream(Purpose::Workload, SHARED);
    let mut to = hosts.to_vec();
    if hosts.len() < 2 {
        return Vec::new();
    }
    // About every third permutation is a derangement, so few attempts are needed.
    loop {
        choices.shuffle(&mut to);
        if hosts.iter().zip(&to).all(|(src, dst)| src != dst) {
            break;
        }
    }
    one_each(hosts, to, size, start)
}

/// Returns a message of each host to the receiver at its index.
fn one_each(
    hosts: &[NodeId],
    receivers: impl IntoIterator<Item = NodeId>,
    size: Bytes,
    start: Time,
) -> Vec<Message> {
    let pairs = hosts.iter().zip(receivers);
    pairs
        .map(|(&src, dst)| Message {
            src,
            dst,
            size,
            start,
        })
        .collect()
}

/// Returns flows from the i-th host to host i + `stride`, modulo the number of hosts (Hedera's `stride`, Al-Fares et al.,
/// NSDI 2010).
pub fn stride(hosts: &[NodeId], stride: usize, size: Bytes, start: Time) -> Vec<Message> {
    one_each(hosts, hosts.iter().copied().cycle().skip(stride), size, start)
}

/// Parameters of the senders in [`closed_loop`].
#[derive(Clone, Copy, Debug)]
pub struct ClosedLoop<'a> {
    /// Hosts that run the processes.
    pub senders: &'a [NodeId],
    /// Hosts that receive the messages.
    pub receivers: &'a [NodeId],
    /// True to keep messages outstanding to every receiver; false to send each message to a random receiver other
    /// than the sender.
    pub to_all: bool,
    /// Number of processes per sender.
    pub processes: u32,
    /// Outstanding messages per process and, if `to_all`, per receiver.
    pub outstanding: u32,
    /// Total messages per process and, if `to_all`, per receiver.
    pub messages: u32,
    /// Distribution of message sizes.
    pub sizes: &'a SizeDistribution,
    /// Delay from the acknowledgement of a message to the start of the one that replaces it.
    pub think_time: Span,
    /// Start of the first messages.
    pub start: Time,
}

/// Messages of a closed loop.
#[derive(Clone, Debug, Default)]
pub struct Looped {
    /// Messages in the order of senders and processes.
    pub messages: Vec<Message>,
    /// Dependencies between the messages.
    pub dependencies: Vec<Dependency>,
    /// Process and slot of each message.
    pub slots: Vec<LoopSlot>,
}

/// Position of a message in a closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopSlot {
    /// Index of the process within its sender.
    pub process: u32,
    /// Index of the slot among the process's outstanding messages.
    pub turn: u32,
}

/// Returns the messages of senders that keep a fixed number outstanding: message `k` of a process starts when its
/// message `k - outstanding` is acknowledged. Every sender must have a receiver other than itself.
pub fn closed_loop(spec: &ClosedLoop<'_>, seeds: Seeds) -> Looped {
    let mut looped = Looped::default();
    for &src in spec.senders {
        let mut choices = seeds.stream(Purpose::Workload, u64::from(src.0));
        let own = spec.receivers.iter().position(|&receiver| receiver == src);
        let others = spec.receivers.len() - usize::from(own.is_some());
        // The start is staggered, so that senders do not all begin with the same receiver.
        let first = own.map_or(src.0 as usize, |own| own + 1);
        for process in 0..spec.processes {
            if spec.to_all {
                let turns =
                    (0..spec.receivers.len()).map(|i| spec.receivers[(first + i) % spec.receivers.len()]);
                for dst in turns.filter(|&dst| dst != src) {
                    looped.add(spec, src, process, || {
                        (dst, spec.sizes.quantile(choices.next_f64()))
                    });
                }
                continue;
            }
            looped.add(spec, src, process, || {
                let other = choices.below(others as u64) as usize;
                let skip = usize::from(own.is_some_and(|own| other >= own));
                let size = spec.sizes.quantile(choices.next_f64());
                (spec.receivers[other + skip], size)
            });
        }
    }
    looped
}

impl Looped {
    /// Adds messages with their dependencies; `draw` returns receiver and size of each.
    fn add(
        &mut self,
        spec: &ClosedLoop<'_>,
        src: NodeId,
        process: u32,
        mut draw: impl FnMut() -> (NodeId, Bytes),
    ) {
        for k in 0..spec.messages {
            let flow = self.messages.len() as u32;
            let (dst, size) = draw();
            self.messages.push(Message {
                src,
                dst,
                size,
                start: spec.start,
            });
            self.slots.push(LoopSlot {
                process,
                turn: k % spec.outstanding,
            });
            if k >= spec.outstanding {
                self.dependencies.push(Dependency {
                    flow,
                    after: flow - spec.outstanding,
                    awaited: Awaited::Acknowledged,
                    delay: spec.think_time,
                });
            }
        }
    }
}

/// Delays each start by a random span below `jitter`, except for messages with dependencies, which follow those they
/// wait for.
pub fn jitter(messages: &mut [Message], dependencies: &[Dependency], jitter: Span, seeds: Seeds) {
    let mut draws = seeds.stream(Purpose::Arrival, SHARED - 1);
    if jitter == Span::ZERO {
        return;
    }
    let mut waits = vec![false; messages.len()];
    for dependency in dependencies {
        waits[dependency.flow as usize] = true;
    }
    for (message, _) in messages.iter_mut().zip(waits).filter(|(_, waits)| !waits) {
        message.start = message
            .start
            .saturating_add(Span::from_ps(draws.below(jitter.as_ps())));
    }
}

//! Steps of collectives: senders, receivers and sizes.

/// Step in which every rank sends one message and receives one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Receiver of each rank's message.
    pub to: Vec<u32>,
    /// Size of each rank's message.
    pub bytes: Vec<u64>,
}

impl Step {
    /// Returns the step with rank `order[k]` for the rank `k`.
    pub(super) fn by(&self, order: &[u32]) -> Self {
        let mut step = self.clone();
        for (k, &rank) in order.iter().enumerate() {
            step.to[rank as usize] = order[self.to[k] as usize];
            step.bytes[rank as usize] = self.bytes[k];
        }
        step
    }
}

/// Hosts in a ring, by rank, with the bytes of each.
pub(super) struct RingOf {
    pub(super) ranks: Vec<u32>,
    pub(super) bytes: u64,
}

/// Returns the first byte of part `i` of `parts` nearly equal parts.
const fn offset(bytes: u64, parts: u64, i: u64) -> u64 {
    let rest = bytes % parts;
    bytes / parts * i + if i < rest { i } else { rest }
}

pub(super) const fn part(bytes: u64, parts: u64, i: u64) -> u64 {
    offset(bytes, parts, i + 1) - offset(bytes, parts, i)
}

/// Returns steps around rings of equal length; in step `s` the host at position `p` sends part `p - lag - s`.
fn around(rings: &[RingOf], hosts: usize, lag: u64) -> Vec<Step> {
    let length = rings[0].ranks.len() as u64;
    let step = |s: u64| {
        let mut step = Step {
            to: vec![0; hosts],
            bytes: vec![0; hosts],
        };
        for ring in rings {
            for (k, &rank) in (0u64..).zip(&ring.ranks) {
                let next = (k + 1) % length;
                step.to[rank as usize] = ring.ranks[next as usize];
                step.bytes[rank as usize] = part(ring.bytes, length, (k + 2 * length - lag - s) % length);
            }
        }
        step
    };
    (0..length - 1).map(step).collect()
}

/// Returns the steps after which the host at position p has the sum of part p.
pub(super) fn reduce_scatter(rings: &[RingOf], hosts: usize) -> Vec<Step> {
    around(rings, hosts, 1)
}

/// Returns the steps before which the host at position p has part p.
pub(super) fn all_gather(rings: &[RingOf], hosts: usize) -> Vec<Step> {
    around(rings, hosts, 0)
}

pub(super) fn hierarchical(hosts: u32, group: u32, bytes: u64) -> Vec<Step> {
    let n = hosts as usize;
    let inside: Vec<_> = (0..hosts / group)
        .map(|g| RingOf {
            ranks: (g * group..(g + 1) * group).collect(),
            bytes,
        })
        .collect();
    let among: Vec<_> = (0..group)
        .map(|rail| RingOf {
            ranks: (0..hosts / group).map(|g| g * group + rail).collect(),
            bytes: part(bytes, group.into(), rail.into()),
        })
        .collect();
    let mut steps = reduce_scatter(&inside, n);
    steps.extend(reduce_scatter(&among, n));
    steps.extend(all_gather(&among, n));
    steps.extend(all_gather(&inside, n));
    steps
}

pub(super) fn halving_doubling(hosts: u32, bytes: u64) -> Vec<Step> {
    let n = u64::from(hosts);
    // The `distance` parts around that of `rank`.
    let block = |rank: u64, distance: u64| {
        let first = rank & !(distance - 1);
        offset(bytes, n, first + distance) - offset(bytes, n, first)
    };
    let step = |distance: u64, halving: bool| Step {
        to: (0..n).map(|rank| (rank ^ distance) as u32).collect(),
        bytes: (0..n)
            .map(|rank| block(if halving { rank ^ distance } else { rank }, distance))
            .collect(),
    };
    let distances: Vec<u64> = (0..hosts.ilog2()).map(|k| 1 << k).collect();
    let halving = distances.iter().rev().map(|&distance| step(distance, true));
    halving
        .chain(distances.iter().map(|&distance| step(distance, false)))
        .collect()
}

//! What a traced port did, event by event.

use paceline_fabric::Outcome;
use paceline_fabric::outcome::{PacketKind, TraceEvent, TraceKind};
use paceline_fabric::spec::{NodeId, RunSpec};

/// Nanoseconds.
pub(super) type Ns = f64;

/// A port's events, in order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct PortEvents {
    /// Bytes in the queue after each arrival in it and each departure from it.
    pub(super) queue: Vec<(Ns, f64)>,
    /// When transmissions of data packets start.
    pub(super) sent: Vec<Ns>,
    /// What a full packet takes: each transmission counts as one, since the reference runs' lists hold
    /// starts alone.
    pub(super) packet: Ns,
}

/// A data packet at a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Passage {
    pub(super) at: Ns,
    pub(super) flow: u32,
    pub(super) payload: u32,
}

/// A port of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) node: u32,
    pub(super) peer: u32,
    /// Rate in Gbit/s.
    pub(super) gbps: f64,
}

impl Place {
    /// The first port that the scenario names in `record.trace-ports`.
    pub(super) fn traced(run: &RunSpec) -> Option<Self> {
        let &(node, peer) = run.record.trace_ports.first()?;
        let mut links = run.links.iter();
        let link = links.find(|link| [(link.a, link.b), (link.b, link.a)].contains(&(node, peer)))?;
        Some(Self {
            node: node.0,
            peer: peer.0,
            gbps: link.rate.as_gbps_f64(),
        })
    }

    /// The port's number at its node, from 1 in the order of links.
    fn interface(self, run: &RunSpec) -> Option<u32> {
        let (node, peer) = (NodeId(self.node), NodeId(self.peer));
        let mut of_node = run.links.iter().filter(|link| link.a == node || link.b == node);
        let place = of_node.position(|link| link.a == peer || link.b == peer)?;
        Some(place as u32 + 1)
    }
}

impl PortEvents {
    /// The events of a traced port of a run, and the data packets that came into its queue.
    pub(super) fn of(run: &RunSpec, outcome: &Outcome, place: Place) -> (Self, Vec<Passage>) {
        let interface = place.interface(run).unwrap_or(0);
        let here = |event: &&TraceEvent| event.node == NodeId(place.node) && event.interface == interface;
        let mut events = Self::default();
        let mut passages = Vec::new();
        let mut classes = [0_u32; 256];
        let (mut free, mut wire) = (0.0, 0);
        for event in outcome.trace.iter().filter(here) {
            let at = event.at.as_ps() as f64 / 1e3;
            let data = event.kind == PacketKind::Data;
            match event.event {
                TraceKind::Enqueue if data => passages.push(Passage {
                    at,
                    flow: event.flow,
                    payload: event.payload,
                }),
                TraceKind::Dequeue if data => {
                    // A packet may leave the queue while the one before is on the wire (a FIFO of a
                    // packet behind the queue).
                    let start = f64::max(at, free);
                    free = start + f64::from(event.wire) * 8.0 / place.gbps;
                    wire = wire.max(event.wire);
                    events.sent.push(start);
                }
                TraceKind::Enqueue | TraceKind::Dequeue => {}
                TraceKind::Receive | TraceKind::Drop => continue,
            }
            classes[usize::from(event.class)] = event.queue_bytes;
            let all: u32 = classes[..8].iter().sum();
            events.queue.push((at, f64::from(all)));
        }
        events.packet = f64::from(wire) * 8.0 / place.gbps;
        (events, passages)
    }

    /// The largest queue from a time on, and when.
    pub(super) fn peak(&self, from: Ns, to: Ns) -> Option<(Ns, f64)> {
        let within = self.queue.iter().filter(|(at, _)| (from..=to).contains(at));
        within
            .copied()
            .fold(None, |best: Option<(Ns, f64)>, point| match best {
                Some(best) if best.1 >= point.1 => Some(best),
                _ => Some(point),
            })
    }

    /// When the queue is empty for the first time after its peak.
    pub(super) fn empty_after(&self, peak: Ns) -> Option<Ns> {
        self.queue
            .iter()
            .find(|&&(at, bytes)| at > peak && bytes == 0.0)
            .map(|&(at, _)| at)
    }

    /// Mean over time.
    pub(super) fn mean(&self, from: Ns, to: Ns) -> f64 {
        step_mean(&self.queue, from, to)
    }

    /// The least queue such that it was not larger for a share of the time.
    pub(super) fn time_percentile(&self, from: Ns, to: Ns, share: f64) -> Option<f64> {
        let mut held: Vec<(f64, f64)> = Vec::new();
        for pair in self.queue.windows(2) {
            let (begin, end) = (pair[0].0.max(from), pair[1].0.min(to));
            if begin < end {
                held.push((pair[0].1, end - begin));
            }
        }
        held.sort_by(|a, b| a.0.total_cmp(&b.0));
        let total: f64 = held.iter().map(|(_, time)| time).sum();
        let mut sum = 0.0;
        for &(bytes, time) in &held {
            sum += time;
            if sum >= share * total {
                return Some(bytes);
            }
        }
        None
    }

    /// Percentiles over the events themselves, each arrival and departure one: the authors' way.
    /// Element floor(n p) of the values in order.
    pub(super) fn event_percentiles<const N: usize>(&self, shares: [f64; N]) -> [Option<f64>; N] {
        let mut values: Vec<f64> = self.queue.iter().map(|&(_, bytes)| bytes).collect();
        values.sort_by(f64::total_cmp);
        shares.map(|share| element_at(&values, share))
    }

    /// Time without transmission between transmissions that start in `from..to`, up to the first
    /// one after it.
    pub(super) fn idle(&self, from: Ns, to: Ns) -> Ns {
        let first = self.sent.partition_point(|&start| start < from).max(1);
        let gaps = self.sent[first - 1..].windows(2).take_while(|pair| pair[0] <= to);
        gaps.map(|pair| {
            // What lies before `from` does not count.
            let free = (pair[0] + self.packet).max(from);
            (pair[1] - free).max(0.0)
        })
        .sum()
    }

    /// Share of a stretch of time in which packets were on the wire.
    pub(super) fn utilisation(&self, from: Ns, to: Ns) -> f64 {
        let first = self.sent.partition_point(|&start| start + self.packet <= from);
        let within = self.sent[first..].iter().take_while(|&&start| start < to);
        let busy: f64 = within
            .map(|&start| (start + self.packet).min(to) - start.max(from))
            .sum();
        busy / (to - from)
    }

    /// The least utilisation of a window of `width` that lies in `from..to`, in steps of `step`.
    pub(super) fn least_utilisation(&self, from: Ns, to: Ns, width: Ns, step: Ns) -> f64 {
        let count = ((to - from - width) / step).floor().max(0.0) as u32;
        let starts = (0..=count).map(|k| from + f64::from(k) * step);
        starts
            .map(|start| self.utilisation(start, start + width))
            .fold(1.0, f64::min)
    }
}

/// Mean over time of a value that holds until the next.
pub fn step_mean(points: &[(Ns, f64)], from: Ns, to: Ns) -> f64 {
    let first = points.partition_point(|&(at, _)| at <= from);
    let mut value = first.checked_sub(1).map_or(0.0, |before| points[before].1);
    let (mut last, mut sum) = (from, 0.0);
    for &(at, next) in points[first..].iter().take_while(|&&(at, _)| at < to) {
        sum += value * (at - last);
        (last, value) = (at, next);
    }
    (sum + value * (to - last)) / (to - from)
}

/// When a value reaches a level for the first time at or after `from`; counted from there.
pub(super) fn reaches(points: &[(Ns, f64)], from: Ns, level: f64) -> Option<Ns> {
    let before = points.partition_point(|&(at, _)| at <= from);
    if before.checked_sub(1).is_some_and(|last| points[last].1 >= level) {
        return Some(0.0);
    }
    points[before..]
        .iter()
        .find(|(_, value)| *value >= level)
        .map(|(at, _)| at - from)
}

/// Element floor(n p) of n values in ascending order: not interpolated. A share of one is the last.
pub(super) fn element_at(ascending: &[f64], share: f64) -> Option<f64> {
    let place = (ascending.len() as f64 * share).floor() as usize;
    ascending
        .get(place.min(ascending.len().saturating_sub(1)))
        .copied()
}

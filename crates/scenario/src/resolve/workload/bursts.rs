//! Workload of bursts in clusters.

use std::ops::Range;

use paceline_fabric::spec::NodeId;
use paceline_kernel::order::Sort;
use paceline_kernel::rng::{Purpose, Rng};
use paceline_kernel::{BitRate, Bytes, Span, Time};

use crate::diagnostics::Problem;
use crate::resolve::fill::filled;
use crate::schema;
use crate::traffic::{Message, SHARED, Seeds};

use super::maker::Maker;

/// Shape of the bursts of a workload.
#[derive(Clone, Copy, Debug)]
struct Shape {
    senders: usize,
    targets: usize,
    /// Rate of a sender in a burst, as a share of its link's.
    amplitude: f64,
    duration: Span,
    size: Bytes,
    bursts: u32,
    gap: Span,
    stay: bool,
}

impl Shape {
    /// Returns the bytes that a sender with this rate sends in a burst.
    fn bytes(&self, rate: BitRate) -> u64 {
        (self.amplitude * rate.as_bps() as f64 * self.duration.as_secs_f64() / 8.0).round() as u64
    }

    /// Adds the messages of a sender in a burst: one after another, at its rate.
    fn send(&self, messages: &mut Vec<Message>, (src, rate): (NodeId, BitRate), dst: NodeId, start: Time) {
        let whole = self.bytes(rate);
        let ps_per_byte = 8e12 / (self.amplitude * rate.as_bps() as f64);
        for from in (0..whole).step_by(self.size.get() as usize) {
            messages.push(Message {
                src,
                dst,
                size: Bytes::new(self.size.get().min(whole - from)),
                start: start.saturating_add(Span::from_ps((from as f64 * ps_per_byte) as u64)),
            });
        }
    }
}

/// Moves a random choice of `count` items to the front.
fn choose<T>(items: &mut [T], count: usize, draws: &mut Rng) {
    for index in 0..count {
        let other = index + draws.below((items.len() - index) as u64) as usize;
        items.swap(index, other);
    }
}

/// Returns the messages of clusters of bursts, whose payload is `load` of the hosts' rates on average. Clusters begin as a
/// Poisson process; bursts that would begin after the window are left out.
fn bursts(
    hosts: &[(NodeId, BitRate)],
    receivers: &[NodeId],
    load: f64,
    shape: &Shape,
    window: &Range<Time>,
    seeds: Seeds,
) -> Vec<Message> {
    let mut draws = seeds.stream(Purpose::Workload, SHARED);
    let capacity: f64 = hosts.iter().map(|(_, rate)| rate.as_bps() as f64).sum();
    let mean_bytes = hosts
        .iter()
        .map(|&(_, rate)| shape.bytes(rate) as f64)
        .sum::<f64>()
        / hosts.len() as f64;
    let of_cluster = f64::from(shape.bursts) * shape.senders as f64 * mean_bytes;
    let mean_ps = of_cluster * 8e12 / (load * capacity);
    let (mut senders, mut targets) = (hosts.to_vec(), receivers.to_vec());
    let mut messages = Vec::new();
    let mut cluster = window.start.as_ps() as f64;
    loop {
        cluster += mean_ps * draws.next_exponential();
        if cluster >= window.end.as_ps() as f64 {
            return messages;
        }
        let mut start = cluster;
        for number in 0..shape.bursts {
            if number == 0 || !shape.stay {
                choose(&mut senders, shape.senders, &mut draws);
                // A host does not send to itself, so those that send now come last among the receivers.
                let sends = |host: &NodeId| senders[..shape.senders].iter().any(|(sender, _)| sender == host);
                targets.order_by_key(|host| (sends(host), host.0));
                let free = targets.iter().take_while(|host| !sends(host)).count();
                choose(&mut targets[..free], shape.targets, &mut draws);
            }
            if start >= window.end.as_ps() as f64 {
                break;
            }
            for (index, &sender) in senders[..shape.senders].iter().enumerate() {
                let target = targets[index % shape.targets];
                shape.send(&mut messages, sender, target, Time::from_ps(start as u64));
            }
            start += shape.duration.as_ps() as f64 + shape.gap.as_ps() as f64 * draws.next_exponential();
        }
    }
}

impl Maker<'_, '_> {
    /// Returns the messages of bursts in clusters.
    pub(super) fn bursts(&mut self, block: &mut schema::Bursts) -> Result<Vec<Message>, Problem> {
        let load = self.load(&block.load)?;
        let window = self.window(&mut block.from, &mut block.to)?;
        let hosts = self.hosts_with_rates(&mut block.hosts)?;
        let receivers = match self.receivers(&mut block.receivers)? {
            none if none.is_empty() => hosts.iter().map(|&(host, _)| host).collect(),
            some => some,
        };
        let amplitude = filled!(block.amplitude: Bursts);
        if !(*amplitude.get_ref() > 0.0 && *amplitude.get_ref() <= 1.0) {
            return Err(Problem::new(format!("an amplitude of {}", amplitude.get_ref()))
                .at(&self.cx.texts.of_value(&amplitude))
                .label("expected more than 0, at most 1"));
        }
        let shape = Shape {
            senders: self.count(&mut block.senders, 8, "senders")? as usize,
            targets: self.count(&mut block.targets, 1, "targets")? as usize,
            amplitude: *amplitude.get_ref(),
            duration: filled!(block.duration: Bursts),
            size: self.size(&filled!(block.size: Bursts))?,
            bursts: self.count(&mut block.bursts, 4, "bursts")?,
            gap: filled!(block.gap: Bursts),
            stay: filled!(block.stay: Bursts),
        };
        // Every choice of senders must leave enough receivers.
        let both = hosts.iter().filter(|(host, _)| receivers.contains(host)).count();
        let left = receivers.len() - both.min(shape.senders);
        if shape.senders > hosts.len() || shape.targets > left {
            let message = format!(
                "{} senders and {} targets of a burst: there are {} hosts that send, {left} receivers beyond them",
                shape.senders,
                shape.targets,
                hosts.len()
            );
            return Err(Problem::new(message).at(&self.location));
        }
        if shape.targets > shape.senders {
            let message = format!(
                "{} targets for {} senders of a burst",
                shape.targets, shape.senders
            );
            return Err(Problem::new(message)
                .at(&self.location)
                .help("each sender of a burst sends to one target"));
        }
        if let Some((host, _)) = hosts.iter().find(|&&(_, rate)| shape.bytes(rate) == 0) {
            let message = format!("host {} sends nothing in a burst of {}", host.0, shape.duration);
            return Err(Problem::new(message)
                .at(&self.location)
                .help("give it a longer `duration`"));
        }
        let capacity: f64 = hosts.iter().map(|(_, rate)| rate.as_bps() as f64).sum();
        let least = hosts
            .iter()
            .map(|&(_, rate)| shape.bytes(rate))
            .min()
            .unwrap_or(1);
        let seconds = (window.1 - window.0).as_secs_f64();
        self.affordable(capacity * load * seconds / (8.0 * shape.size.get().min(least) as f64))?;
        Ok(bursts(
            &hosts,
            &receivers,
            load,
            &shape,
            &(window.0..window.1),
            self.seeds,
        ))
    }
}

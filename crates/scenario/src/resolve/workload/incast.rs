//! Incasts: several hosts send to one.

use paceline_fabric::spec::NodeId;
use paceline_kernel::Span;
use paceline_kernel::sorted::SortedSet;
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::resolve::fill::{fill_at, filled};
use crate::resolve::hosts::{self, Holds};
use crate::resolve::numbers::probability;
use crate::schema;
use crate::traffic::{self, Message};
use crate::warning::WarningKind;

use super::maker::{Made, Maker};

impl Maker<'_, '_> {
    pub(super) fn incast(&mut self, block: &mut schema::Incast) -> Result<Vec<Message>, Problem> {
        let receiver = block.receiver.as_ref().ok_or_else(|| self.missing("receiver"))?;
        let dst = self.host(receiver)?;
        let senders = self.senders(block, dst)?;
        let sizes = match (&block.sizes, &block.size) {
            (Some(sizes), None) if !sizes.is_empty() => {
                let sizes: Result<Vec<_>, _> = sizes.iter().map(|size| self.size(size)).collect();
                sizes?
            }
            (None, _) => vec![self.size(&filled!(block.size: Incast))?],
            _ => {
                return Err(
                    Problem::new("an incast has either `size` or a list of `sizes`").at(&self.location)
                );
            }
        };
        if let Some(written) = &block.sizes
            && let Some(first) = written.get(senders.len())
        {
            let message = format!("{} sizes for {} senders", written.len(), senders.len());
            return Err(Problem::new(message)
                .at(&self.cx.texts.of_value(first))
                .label("no sender is left for this"));
        }
        let start = filled!(block.start: Incast);
        let rounds = filled!(block.rounds: Incast);
        let period = match (&block.period, rounds) {
            (Some(period), _) => *period.get_ref(),
            (None, 0 | 1) => Span::ZERO,
            (None, _) => {
                return Err(self
                    .missing("period")
                    .help("with `rounds`, the time from one to the next"));
            }
        };
        self.affordable(f64::from(rounds) * senders.len() as f64)?;
        let last = *sizes.last().expect("there is at least one size");
        let round = |r: u32| {
            let start = start.saturating_add(Span::from_ps(period.as_ps().saturating_mul(r.into())));
            let senders = senders.iter().enumerate();
            let sizes = &sizes;
            senders.map(move |(i, &src)| Message {
                src,
                dst,
                size: sizes.get(i).copied().unwrap_or(last),
                start,
            })
        };
        Ok((0..rounds).flat_map(round).collect())
    }

    /// Returns the listed senders, or the first `fan-in` hosts other than the receiver.
    fn senders(&mut self, block: &mut schema::Incast, dst: NodeId) -> Result<Vec<NodeId>, Problem> {
        match (&block.senders, &block.fan_in) {
            (Some(senders), None) => {
                let hosts = hosts::set(self.cx, self.net, senders, Holds::Repeats)?;
                let location = self.cx.texts.of_value(senders);
                if hosts.contains(&dst) {
                    return Err(
                        Problem::new(format!("the flow goes from host {} to itself", dst.0))
                            .at(&location)
                            .label("the receiver is one of these"),
                    );
                }
                let mut seen = SortedSet::new();
                if let Some(twice) = hosts.iter().find(|host| !seen.insert(host.0)) {
                    let text = format!(
                        "sender {} is named twice: a host sends once for each time",
                        twice.0
                    );
                    self.cx.warn(WarningKind::Workload, &location, text);
                }
                Ok(hosts)
            }
            (None, Some(fan_in)) => {
                let others: Vec<_> = self.net.topology.hosts().filter(|&host| host != dst).collect();
                let wanted = *fan_in.get_ref() as usize;
                if wanted == 0 || wanted > others.len() {
                    let message = format!("a fan-in of {wanted}: there are {} other hosts", others.len());
                    return Err(Problem::new(message).at(&self.cx.texts.of_value(fan_in)));
                }
                Ok(others[..wanted].to_vec())
            }
            _ => {
                Err(Problem::new("an incast has either a `fan-in` or a list of `senders`").at(&self.location))
            }
        }
    }

    pub(super) fn incast_poisson(&mut self, block: &mut schema::IncastPoisson) -> Result<Made, Problem> {
        if block.load.is_none() {
            block.load = Some(Spanned::new(0..0, 0.02));
        }
        let load = self.load(&block.load)?;
        probability(self.cx, block.load.as_ref().expect("it was set"), "the load")?;
        let window = self.window(&mut block.from, &mut block.to)?;
        let size = self.size(&filled!(block.size: IncastPoisson))?;
        let hosts = self.hosts_with_rates(&mut block.hosts)?;
        let receivers = self.receivers(&mut block.receivers)?;
        let fan_in = fill_at(&mut block.fan_in, 60);
        let wanted = *fan_in.get_ref() as usize;
        // If no receiver is among the hosts, all of them may send.
        let apart = !receivers.is_empty() && !hosts.iter().any(|(host, _)| receivers.contains(host));
        if wanted == 0 || wanted >= hosts.len() + usize::from(apart) {
            let included = if apart { "" } else { ", the receiver included" };
            let message = format!("a fan-in of {wanted}: there are {} hosts{included}", hosts.len());
            return Err(Problem::new(message).at(&self.cx.texts.of_value(&fan_in)));
        }
        let load_of = filled!(block.load_of: IncastPoisson);
        let pattern = |load| traffic::incast_poisson(&hosts, &receivers, load, *fan_in.get_ref(), size);
        let load = self.load_of_hosts(load, &load_of, pattern)?;
        let capacity: f64 = hosts.iter().map(|(_, rate)| rate.as_bps() as f64).sum();
        let seconds = (window.1 - window.0).as_secs_f64();
        self.affordable(capacity * load * seconds / (8.0 * size.get() as f64))?;
        Ok(Made::drawn(pattern(load), window))
    }
}

//! Random arrivals, and senders that keep a fixed number of messages outstanding.

use crate::diagnostics::Problem;
use crate::resolve::fill::{fill_at, filled};
use crate::schema::{self, Nodes};
use crate::traffic::{self, ClosedLoop, LoopSlot, Looped, SizeDistribution};
use paceline_fabric::spec::NodeId;
use paceline_kernel::Bytes;
use toml::Spanned;

use super::maker::{Made, Maker};

impl Maker<'_, '_> {
    pub(super) fn poisson(&mut self, block: &mut schema::Poisson) -> Result<Made, Problem> {
        let load = self.load(&block.load)?;
        let window = self.window(&mut block.from, &mut block.to)?;
        let sizes = block.sizes.as_mut().ok_or_else(|| self.missing("sizes"))?;
        let sizes = self.sizes(sizes)?;
        let hosts = self.hosts_with_rates(&mut block.hosts)?;
        let receivers = self.receivers(&mut block.receivers)?;
        if let [only] = receivers[..]
            && hosts.iter().any(|&(host, _)| host == only)
        {
            return Err(self.only_receiver(only, block.receivers.as_ref()));
        }
        let load_of = filled!(block.load_of: Poisson);
        let pattern = |load| traffic::poisson(&hosts, &receivers, &sizes, load);
        let load = self.load_of_hosts(load, &load_of, pattern)?;
        let capacity: f64 = hosts.iter().map(|(_, rate)| rate.as_bps() as f64).sum();
        self.affordable(capacity * load * (window.1 - window.0).as_secs_f64() / (8.0 * sizes.mean()))?;
        Ok(Made::drawn(pattern(load), window))
    }

    /// Returns the receivers; empty if the hosts send to each other.
    pub(super) fn receivers(&self, slot: &mut Option<Spanned<Nodes>>) -> Result<Vec<NodeId>, Problem> {
        match slot {
            Some(_) => self.hosts(slot),
            None => Ok(Vec::new()),
        }
    }

    /// Returns the problem of a sender that is the only receiver.
    fn only_receiver(&self, host: NodeId, written: Option<&Spanned<Nodes>>) -> Problem {
        let message = format!("host {} sends, and is the only receiver", host.0);
        Problem::new(message).at(&self.place_of(written))
    }

    pub(super) fn closed_loop(&mut self, block: &mut schema::ClosedLoop) -> Result<Made, Problem> {
        let senders = self.hosts(&mut block.senders)?;
        let receivers = self.hosts(&mut block.receivers)?;
        let alone = |sender| receivers.len() == 1 && receivers[0] == sender;
        if let Some(sender) = senders.iter().find(|&&sender| alone(sender)) {
            let problem = self.only_receiver(*sender, block.senders.as_ref());
            return Err(problem.help("name the senders without it: `senders = [..]`"));
        }
        let outstanding = self.count(&mut block.outstanding, 1, "outstanding messages")?;
        let written = block.messages.as_ref().ok_or_else(|| {
            self.missing("messages")
                .help("how many messages each sender sends in all")
        })?;
        let messages = self.count(&mut Some(written.clone()), 1, "messages")?;
        let processes = self.count(&mut block.processes, 1, "processes")?;
        let to_all = filled!(block.to: ClosedLoop) == schema::ClosedLoopTo::All;
        let chains = if to_all { receivers.len() as f64 } else { 1.0 };
        self.affordable(senders.len() as f64 * f64::from(processes) * chains * f64::from(messages))?;
        let stays = filled!(block.connections: ClosedLoop);
        self.check_connections(stays)?;
        let sizes = match (&mut block.sizes, &mut block.size) {
            (Some(_), Some(_)) => {
                let problem = Problem::new("a closed loop has either `size` or `sizes`");
                return Err(problem.at(&self.location));
            }
            (Some(sizes), None) => self.sizes(sizes)?,
            (None, size) => SizeDistribution::fixed(self.size(&fill_at(size, Bytes::new(64_000)))?),
        };
        let spec = ClosedLoop {
            senders: &senders,
            receivers: &receivers,
            to_all,
            processes,
            outstanding,
            messages,
            sizes: &sizes,
            think_time: filled!(block.think_time: ClosedLoop),
            start: filled!(block.start: ClosedLoop),
        };
        let Looped {
            messages: list,
            dependencies,
            slots,
        } = traffic::closed_loop(&spec, self.seeds);
        let connection = |slot: LoopSlot| match stays {
            // Every outstanding slot of a process has a connection to each of its receivers.
            schema::Connections::PerMessage | schema::Connections::SamePorts => {
                slot.process * outstanding + slot.turn
            }
            schema::Connections::Persistent => slot.process,
        };
        Ok(Made {
            connections: slots.into_iter().map(connection).collect(),
            stays,
            dependencies,
            ..list.into()
        })
    }

    /// Rejects persistent connections in fidelities other than Paceline's own.
    pub(super) fn check_connections(&self, stays: schema::Connections) -> Result<(), Problem> {
        if stays == schema::Connections::SamePorts {
            let message = "`connections = \"same-ports\"` is for jobs by a trace or model";
            return Err(Problem::new(message)
                .at(&self.location)
                .help("the messages of steps and collectives between two hosts have the same ports with `per-message`"));
        }
        if stays == schema::Connections::PerMessage || self.cx.profile().is_exact {
            return Ok(());
        }
        let name = self.cx.fidelity.name();
        let problem = Problem::new(format!(
            "persistent connections with `fidelity = \"{name}\"`, whose hosts have a queue pair for each flow"
        ));
        Err(problem
            .at(&self.location)
            .help("they are for `fidelity = \"exact\"`"))
    }
}

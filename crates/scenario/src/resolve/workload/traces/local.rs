//! Prices of messages inside servers.

use std::sync::Arc;

use paceline_fabric::spec::NodeId;
use paceline_jobs::LocalLinks;
use paceline_kernel::BitRate;
use paceline_kernel::sorted::SortedMap;
use paceline_traces::executor::Rules;
use paceline_traces::inside::count;
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::groups;
use crate::resolve::Cx;
use crate::resolve::fill::filled;
use crate::schema;
use crate::topology::Topology;
use crate::warning::WarningKind;

use super::super::jobs::Local;
use super::super::maker::Maker;
use super::found::{Format, Network, Trace};

/// Refuses prices where no packets are sent anyway, and a number of GPUs per server that nothing reads.
pub(super) fn refuse_elsewhere(
    cx: &Cx<'_>,
    job: &schema::Job,
    format: Format,
    network: Network,
) -> Result<(), Problem> {
    if let Some(local) = job.local.as_ref().filter(|_| network != Network::Packets) {
        let message = format!(
            "`local` is for jobs on packets, and this one is on `{}`",
            network.name()
        );
        return Err(Problem::new(message).at(&cx.texts.of_value(local)));
    }
    let gpus = job
        .rules
        .as_ref()
        .and_then(|rules| rules.gpus_per_server.as_ref());
    let has_servers = matches!(format, Format::SimAi | Format::Model);
    if let Some(gpus) = gpus.filter(|_| !has_servers && job.local.is_none()) {
        let message = format!(
            "`gpus-per-server` is for jobs by `simai` or `model`, or with `local`, and this one is by `{}`",
            format.name()
        );
        return Err(Problem::new(message).at(&cx.texts.of_value(gpus)));
    }
    Ok(())
}

/// Returns the number of the server of each rank: of its host, or by the number of ranks per server.
fn servers(topology: &Topology, hosts: &[NodeId], gpus: Option<u32>) -> Option<Arc<[u32]>> {
    if let Some(sets) = groups::sets(topology, "server") {
        let mut of_host: SortedMap<NodeId, u32> = SortedMap::new();
        for (server, number) in sets.iter().zip(0..) {
            for &host in server {
                of_host.insert(host, number);
            }
        }
        // A host outside of all servers is alone.
        let alone = |rank: u32| sets.len() as u32 + rank;
        let of_rank = |(host, rank)| of_host.get(host).copied().unwrap_or_else(|| alone(rank));
        return Some(hosts.iter().zip(0..).map(of_rank).collect());
    }
    let gpus = gpus?;
    Some((0..hosts.len() as u32).map(|rank| rank / gpus).collect())
}

/// Returns a positive value, or a problem at its position.
fn positive<T: Copy>(
    cx: &Cx<'_>,
    slot: &Spanned<T>,
    what: &str,
    is_zero: impl Fn(T) -> bool,
) -> Result<T, Problem> {
    let value = *slot.get_ref();
    match is_zero(value) {
        true => {
            let message = format!("`{what}` is 0: expected more");
            Err(Problem::new(message).at(&cx.texts.of_value(slot)))
        }
        false => Ok(value),
    }
}

impl Maker<'_, '_> {
    /// Returns the prices of a job's messages inside servers, and the messages that have them; `None` if all send packets.
    pub(super) fn local(
        &mut self,
        written: &mut schema::Job,
        trace: &Trace,
        hosts: &[NodeId],
        rules: &Rules,
    ) -> Result<Option<(LocalLinks, Local)>, Problem> {
        let Some(spanned) = &mut written.local else {
            return Ok(None);
        };
        let location = self.cx.texts.of_value(spanned);
        let prices = spanned.get_mut();
        let Some(rate) = &prices.rate else {
            return Err(Problem::new("`local` has no `rate`")
                .at(&location)
                .help("`local = { rate = \"3600Gbps\", latency = \"1us\" }`"));
        };
        let rate = positive(self.cx, rate, "rate", |rate| rate == BitRate::from_bps(0))?;
        let latency = filled!(prices.latency: LocalPrices);
        let gpus = written
            .rules
            .as_ref()
            .and_then(|rules| rules.gpus_per_server.as_ref());
        let per_server = match gpus {
            Some(gpus) => Some(positive(self.cx, gpus, "gpus-per-server", |gpus| gpus == 0)?),
            None => None,
        };
        let is_read = matches!(trace.format, Format::SimAi | Format::Model);
        if let Some(gpus) = gpus.filter(|_| !is_read && groups::sets(&self.net.topology, "server").is_some())
        {
            let message = "`gpus-per-server` has no effect: the servers are those of the topology";
            return Err(Problem::new(message).at(&self.cx.texts.of_value(gpus)));
        }
        let Some(servers) = servers(&self.net.topology, hosts, per_server) else {
            return Err(
                Problem::new("the topology has no servers: say how many GPUs each has")
                    .at(&location)
                    .help("`rules = { gpus-per-server = 8 }`"),
            );
        };
        let messages = count(&*trace.program, &rules.collectives, &|rank| {
            servers[rank as usize]
        });
        if messages.inside.messages == 0 {
            let text = "`local` has no effect: the job sends no messages inside servers";
            self.cx.warn(WarningKind::UnusedSetting, &location, text);
        }
        let links = LocalLinks {
            servers,
            rate,
            latency,
        };
        let local = Local {
            rate,
            latency,
            messages,
        };
        Ok(Some((links, local)))
    }
}

//! Builder of flows: what the blocks of workloads, jobs and services share.

use paceline_fabric::spec::{ArrivalPattern, Dependency, NodeId};
use paceline_kernel::{BitRate, Bytes, Time};
use toml::Spanned;

use crate::diagnostics::{Location, Problem, suggestion};
use crate::resolve::Cx;
use crate::resolve::fill::{fill, fill_at, fill_value};
use crate::resolve::hosts::{self, Holds};
use crate::resolve::offered::{self, Offered};
use crate::schema::{self, Nodes};
use crate::topology::Net;
use crate::traffic::{Message, Seeds};
use crate::warning::WarningKind;

use super::labels::Labels;

/// Largest number of flows; more would exhaust the memory of most machines.
const MOST_FLOWS: f64 = 5e7;

/// Messages of a block; everything refers to them by index.
#[derive(Default)]
pub(super) struct Made {
    pub(super) messages: Vec<Message>,
    pub(super) dependencies: Vec<Dependency>,
    /// Connection of each message; empty if each has its own.
    pub(super) connections: Vec<u32>,
    /// Type of the connections.
    pub(super) stays: schema::Connections,
    /// Position of each message; empty if all have the block's position.
    pub(super) locations: Vec<Location>,
    pub(super) collective: Option<MadeCollective>,
    /// Random pattern and its window, for messages without dependencies.
    pub(super) arrivals: Option<(ArrivalPattern, (Time, Time))>,
}

/// Collective without its label.
pub(super) struct MadeCollective {
    pub(super) hosts: u32,
    pub(super) size: Bytes,
    pub(super) bus_factor: f64,
    /// Messages per iteration; the list holds one iteration after the other.
    pub(super) per_iteration: usize,
}

impl From<Vec<Message>> for Made {
    fn from(messages: Vec<Message>) -> Self {
        Self {
            messages,
            ..Self::default()
        }
    }
}

impl Made {
    /// Creates messages that are generated from a random pattern in a window.
    pub(super) fn drawn(pattern: ArrivalPattern, window: (Time, Time)) -> Self {
        Self {
            arrivals: Some((pattern, window)),
            ..Self::default()
        }
    }
}

/// Builder of the flows of one workload.
pub(super) struct Maker<'a, 'b> {
    pub(super) cx: &'a mut Cx<'b>,
    pub(super) net: &'a Net,
    pub(super) location: Location,
    pub(super) seeds: Seeds,
    pub(super) labels: &'a mut Labels,
    pub(super) scheme: u16,
}

/// Largest load, as a multiple of the links' rate.
const LOAD_MAX: f64 = 1000.0;

/// Returns the destination port of the flows of a block.
pub(super) fn destination_port(name: &str) -> u16 {
    if name.starts_with("incast") { 200 } else { 100 }
}

impl Maker<'_, '_> {
    /// Rejects a number of flows that would exhaust memory.
    pub(super) fn affordable(&self, flows: f64) -> Result<(), Problem> {
        if flows <= MOST_FLOWS {
            return Ok(());
        }
        Err(Problem::new(format!(
            "the workload has about {flows:.0} flows: expected at most {MOST_FLOWS}"
        ))
        .at(&self.location)
        .help("shorten it (`to`, `duration`) or lower its load"))
    }

    /// Returns the hosts in a setting; by default, all hosts.
    pub(super) fn hosts(&self, slot: &mut Option<Spanned<Nodes>>) -> Result<Vec<NodeId>, Problem> {
        hosts::set(self.cx, self.net, &fill_at(slot, Nodes::all()), Holds::Hosts)
    }

    /// Returns the hosts in a setting with their link rates, leaving out hosts without links.
    pub(super) fn hosts_with_rates(
        &self,
        slot: &mut Option<Spanned<Nodes>>,
    ) -> Result<Vec<(NodeId, BitRate)>, Problem> {
        let rates = self.net.topology.rates();
        let hosts = self.hosts(slot)?.into_iter();
        let linked = hosts.map(|host| (host, rates[host.0 as usize]));
        Ok(linked.filter(|(_, rate)| rate.as_bps() > 0).collect())
    }

    pub(super) fn class(&self, written: &schema::Workload) -> Result<Option<u8>, Problem> {
        self.checked_class(&written.priority)
    }

    pub(super) fn checked_class(&self, slot: &Option<Spanned<u8>>) -> Result<Option<u8>, Problem> {
        let Some(priority) = slot else {
            return Ok(None);
        };
        if (1..=7).contains(priority.get_ref()) {
            return Ok(Some(*priority.get_ref()));
        }
        Err(
            Problem::new(format!("priority {}: expected 1 to 7", priority.get_ref()))
                .at(&self.cx.texts.of_value(priority))
                .label("expected 1 to 7")
                .help("class 0 is for control packets"),
        )
    }

    pub(super) fn host(&self, written: &Spanned<Nodes>) -> Result<NodeId, Problem> {
        hosts::one(self.cx, self.net, written)
    }

    /// Returns the position of a value that was written; otherwise that of its table.
    pub(super) fn place_of<T>(&self, written: Option<&Spanned<T>>) -> Location {
        let location = written.map(|written| self.cx.texts.of_value(written));
        let location = location.filter(|location| !location.text().is_empty());
        location.unwrap_or_else(|| self.location.clone())
    }

    /// Returns a count, which must be positive.
    pub(super) fn count(
        &self,
        slot: &mut Option<Spanned<u32>>,
        default: u32,
        what: &str,
    ) -> Result<u32, Problem> {
        let count = fill_at(slot, default);
        if *count.get_ref() > 0 {
            return Ok(*count.get_ref());
        }
        Err(Problem::new(format!("no {what}: expected at least one"))
            .at(&self.cx.texts.of_value(&count))
            .label("expected at least 1"))
    }

    pub(super) fn missing(&self, key: &str) -> Problem {
        Problem::new(format!("the workload has no `{key}`")).at(&self.location)
    }

    pub(super) fn size(&self, size: &Spanned<Bytes>) -> Result<Bytes, Problem> {
        if *size.get_ref() > Bytes::ZERO {
            return Ok(*size.get_ref());
        }
        Err(Problem::new("a flow of no bytes")
            .at(&self.cx.texts.of_value(size))
            .label("expected more than zero"))
    }

    pub(super) fn size_and_start(
        &self,
        size: &mut Option<Spanned<Bytes>>,
        start: &mut Option<Time>,
    ) -> Result<(Bytes, Time), Problem> {
        let size = self.size(&fill_at(size, Bytes::new(1_000_000)))?;
        Ok((size, fill(start, Time::ZERO)))
    }

    /// Returns a load, which must be positive; warns if it is above 1.
    pub(super) fn load(&mut self, slot: &Option<Spanned<f64>>) -> Result<f64, Problem> {
        let load = slot.as_ref().ok_or_else(|| self.missing("load"))?;
        let value = *load.get_ref();
        let location = self.cx.texts.of_value(load);
        if !(value > 0.0 && value <= LOAD_MAX) {
            return Err(Problem::new(format!(
                "a load of {value}: expected a number above zero, such as 0.3, and at most {LOAD_MAX}"
            ))
            .at(&location));
        }
        if value > 1.0 {
            let text = format!("a load of {value} is more than the links carry");
            self.cx.warn(WarningKind::Workload, &location, text);
        }
        Ok(value)
    }

    /// Returns the load of hosts that results in the requested load; `pattern` converts a load of hosts to flows.
    pub(super) fn load_of_hosts(
        &self,
        load: f64,
        load_of: &Spanned<schema::LoadOf>,
        pattern: impl Fn(f64) -> ArrivalPattern,
    ) -> Result<f64, Problem> {
        if *load_of.get_ref() == schema::LoadOf::Hosts {
            return Ok(load);
        }
        let topology = &self.net.topology;
        let network = Offered::new(topology);
        let mut loads = vec![[0.0; 2]; topology.links.len()];
        // Loads are linear in the hosts' load, so a load of 1 gives the factor.
        let is_known = offered::demand(&pattern(1.0)).is_some_and(|demand| network.add(&demand, &mut loads));
        let location = self.cx.texts.of_value(load_of);
        if !is_known {
            return Err(
                Problem::new("the network is too large to find its busiest uplink")
                    .at(&location)
                    .help("leave out `load-of`, and write `load` as a share of the hosts' rate"),
            );
        }
        let busiest = network.busiest_between_switches(&loads);
        if busiest == 0.0 {
            return Err(Problem::new("no link between switches carries these flows")
                .at(&location)
                .label("there are no uplinks to load")
                .help("leave out `load-of`"));
        }
        Ok(load / busiest)
    }

    /// Returns the start and end of arrivals; the end of the run limits the window.
    pub(super) fn window(
        &mut self,
        from: &mut Option<Spanned<Time>>,
        to: &mut Option<Spanned<Time>>,
    ) -> Result<(Time, Time), Problem> {
        let from = fill_value(from, Time::ZERO);
        let until = fill_at(to, self.cx.stop);
        if from >= *until.get_ref() {
            let message = format!(
                "the workload ends at {}, no later than it begins ({from})",
                until.get_ref()
            );
            return Err(Problem::new(message).at(&self.cx.texts.of_value(&until)));
        }
        let (index, until) = (self.cx.texts.of_value(&until), until.into_inner());
        if until > self.cx.stop {
            let text = format!(
                "arrivals go on until {until}, and the run ends at {}: those after that are left out",
                self.cx.stop
            );
            self.cx.warn(WarningKind::Workload, &index, text);
        }
        let end = until.min(self.cx.stop);
        // A workload that begins after the end has an empty window.
        Ok((from.min(end), end))
    }
}

/// Returns the value that `written` names, out of a few known ones.
pub(super) fn choice<T: Clone>(
    cx: &Cx<'_>,
    written: Spanned<String>,
    known: &[(&str, T)],
) -> Result<T, Problem> {
    let found = known.iter().find(|(name, _)| name == written.get_ref());
    found.map(|(_, value)| value.clone()).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|&(name, _)| name).collect();
        Problem::new(format!("unknown value `{}`", written.get_ref()))
            .at(&cx.texts.of_value(&written))
            .help(suggestion(written.get_ref(), names.iter().copied()))
    })
}

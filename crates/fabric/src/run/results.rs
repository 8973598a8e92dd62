//! End of a run: each part closes its records, and the results of all are put together.

use serde::{Deserialize, Serialize};

use crate::core::digest::Digest;
use crate::core::isolated::IsolatedFlow;
use crate::core::link::Sent;
use crate::core::retry::LlrPort;
use crate::host::Arrivals;
use crate::ids::PortId;
use crate::run::simulation::Simulation;
use crate::switch::SwitchResults;
use crate::traffic::TrafficResults;
use crate::watch::account::Accounts;
use crate::watch::record::Recorder;
use paceline_run::outcome::{Counters, DecisionStats, ModelOutcome, Outcome};
use paceline_run::spec::NodeId;
use paceline_run::table::Table;

/// Results of a part of a run, whose records are closed.
#[derive(Serialize, Deserialize)]
pub(crate) struct PartResults {
    /// Number of this part, from 0.
    part: u8,
    traffic: TrafficResults,
    arrivals: Arrivals,
    switches: SwitchResults,
    counters: Counters,
    sent: Sent,
    digest: Digest,
    recorder: Recorder,
    accounts: Accounts,
    retries: Vec<LlrPort>,
    isolated: Vec<IsolatedFlow>,
    pub(crate) sums: Sums,
}

/// Results that are sums and maxima over the parts.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Sums {
    pub(super) decisions: Option<DecisionStats>,
    /// Longest queue of a port, in bytes.
    pub(super) queue_max: u32,
    pub(super) hangs_on_seed: bool,
}

/// Time and state of all parts together at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct End {
    /// Time of the latest event, in ps.
    now: u64,
    completed: u64,
    /// Packets in the network.
    packets: u64,
}

impl Simulation {
    /// Ends the run at its current point, and returns the outcome.
    ///
    /// # Panics
    /// If this is not the first rank of a run on several ([`Simulation::finish_rank`]).
    pub fn finish(self) -> Outcome {
        self.finish_rank().expect("the first rank has the outcome")
    }

    /// Ends the run at its current point. If several ranks run it, all have to call this; the first gets the outcome.
    pub fn finish_rank(mut self) -> Option<Outcome> {
        self.stand_no_more();
        let end = self.reduce_all(End::of, End::and);
        self.core.set_clock(end.now);
        self.last_look();
        let model = self.close(&end);
        let mut results = Vec::new();
        let parts = self.parts.take();
        let team = parts.as_ref().and_then(|parts| parts.team.clone());
        for mut other in parts.into_iter().flat_map(|parts| parts.others) {
            other.close(&end);
            results.push(other.0.into_results());
        }
        if let Some(team) = &team {
            if team.rank() > 0 {
                results.insert(0, self.into_results());
                team.send_to_first(&results);
                return None;
            }
            results.extend(team.collect());
        }
        let (mut sums, mut arrivals) = (self.sums(), self.hosts.arrivals());
        let mut retries = self.core.retry_counts();
        let mut isolated = self.switches.isolated_flows(&self.core);
        let of_node = self.core.become_whole();
        for mut other in results {
            let part = other.part;
            sums.add(&other.sums);
            arrivals.append(std::mem::take(&mut other.arrivals));
            retries.append(&mut other.retries);
            isolated.append(&mut other.isolated);
            self.take_in(other, &|node| {
                of_node.as_ref().is_some_and(|of_node| of_node[node] == part)
            });
        }
        arrivals.write(&mut self.traffic);
        let of_lanes = self.core.cbfc_counts();
        let mut outcome = self.into_outcome(model, &sums);
        if !of_lanes.is_empty() {
            outcome.tables.add(Table::new(of_lanes));
        }
        if !isolated.is_empty() {
            let place = |row: &IsolatedFlow| (row.at_ps, row.port.node, row.port.interface, row.flow_id);
            isolated.sort_unstable_by_key(place);
            outcome.tables.add(Table::new(isolated));
        }
        if !retries.is_empty() {
            retries.sort_unstable_by_key(|row| (row.port.node, row.port.interface));
            outcome.tables.add(Table::new(retries));
        }
        Some(outcome)
    }

    /// Closes the records of this part.
    pub(crate) fn close(&mut self, end: &End) -> Option<ModelOutcome> {
        self.core.set_clock(end.now);
        // Time and pauses are accounted up to now before records are closed.
        self.core.count_lasting_pauses();
        self.settle_all();
        for slot in self.hosts.slots() {
            self.hosts.record_unfinished(&mut self.traffic, slot);
            let (kind, mut net) = self.split();
            kind.record_sent(&mut net, slot);
        }
        self.hosts.arrivals().write(&mut self.traffic);
        let (kind, mut net) = self.split();
        let model = kind.close(&mut net);
        self.traffic.end_all(&self.world, &self.core);
        let all_done = self.is_completed_by(end.completed);
        self.take_last_samples(all_done, all_done && end.packets == 0);
        self.core.notify_all();
        model
    }

    /// Returns the results of this part, whose records are closed.
    pub(crate) fn into_results(mut self) -> PartResults {
        let sums = self.sums();
        self.core.watch.accounts.add_up_all();
        let core = &self.core;
        let (counters, sent, digest) = core.counted();
        let retries = core.retry_counts();
        let isolated = self.switches.isolated_flows(core);
        PartResults {
            part: core.part(),
            traffic: self.traffic.results(&self.world, |node| core.has(node)),
            arrivals: self.hosts.arrivals(),
            switches: self.switches.results(),
            counters,
            sent,
            digest,
            recorder: self.core.watch.recorder,
            accounts: self.core.watch.accounts,
            retries,
            isolated,
            sums,
        }
    }

    pub(crate) fn sums(&self) -> Sums {
        Sums {
            decisions: self.hosts.decision_stats(&self.core),
            queue_max: self.queue_max(),
            hangs_on_seed: self.hangs_on_seed(),
        }
    }

    /// Adds the results of another part, whose nodes are those for which `theirs` returns true.
    pub(crate) fn take_in(&mut self, other: PartResults, theirs: &dyn Fn(NodeId) -> bool) {
        self.traffic.take_in(other.traffic, &self.world, theirs);
        self.switches.take_in(other.switches);
        self.core.add_counted(&other.counters, &other.sent, &other.digest);
        let (watch, ports) = (&mut self.core.watch, &self.core.ports);
        let their_port = |port: PortId| theirs(ports[port].node);
        watch.recorder.merge(other.recorder, &their_port);
        watch.accounts.merge(other.accounts);
    }
}

impl End {
    pub(crate) fn of(part: &Simulation) -> Self {
        Self {
            now: part.core.now(),
            completed: part.traffic.completed(),
            packets: u64::from(part.core.packets.live()),
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            now: self.now.max(other.now),
            completed: self.completed + other.completed,
            packets: self.packets + other.packets,
        }
    }
}

impl Sums {
    pub(crate) fn add(&mut self, other: &Self) {
        self.decisions = match (self.decisions, other.decisions) {
            (Some(mine), Some(theirs)) => Some(mine.and(&theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        self.queue_max = self.queue_max.max(other.queue_max);
        self.hangs_on_seed |= other.hangs_on_seed;
    }
}

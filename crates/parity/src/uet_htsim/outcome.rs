//! What a run leaves behind.

use super::counters::Counters;
use super::sim::Sim;

/// A flow, or one message connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEnd {
    /// When it started and when its last acknowledgement came, ps.
    pub start: Option<u64>,
    /// See `start`.
    pub finish: Option<u64>,
    /// Packets sent for the first time, and again.
    pub new: u64,
    /// See `new`.
    pub again: u64,
}

/// The results of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UetOutcome {
    /// By connection.
    pub flows: Vec<FlowEnd>,
    /// Totals.
    pub counters: Counters,
    /// `uet_flows.tsv`, `uet_counters.tsv` and `htsim.txt`.
    pub flow_table: String,
    /// See `flow_table`.
    pub counter_table: String,
    /// See `flow_table`.
    pub printed: String,
    /// Why the simulator would have stopped before the end.
    pub abort: Option<String>,
    /// The time of the last event, ps.
    pub end: u64,
}

impl Sim {
    pub(super) fn totals(&self) -> Counters {
        Counters {
            random_draws: self.random.drawn(),
            ..self.counters
        }
    }

    /// The results so far.
    pub fn outcome(&self) -> UetOutcome {
        let flows = self.conns.iter().map(|conn| FlowEnd {
            start: conn.started,
            finish: conn.finish.map(|end| end.at),
            new: conn.packets.new,
            again: conn.packets.again,
        });
        UetOutcome {
            flows: flows.collect(),
            counters: self.totals(),
            flow_table: self.flow_table(),
            counter_table: self.counter_table(),
            printed: self.print(),
            abort: self.abort.clone(),
            end: self.now(),
        }
    }

    /// Runs to the end.
    pub fn run(mut self) -> UetOutcome {
        self.run_to_end()
    }

    /// The same of a run that is looked at afterwards.
    pub fn run_to_end(&mut self) -> UetOutcome {
        while self.step(u64::MAX) {}
        self.outcome()
    }

    /// The time of a flow that is alone in the network, from its start to its last acknowledgement, ps.
    pub(super) fn alone(&self, conn: u32) -> u64 {
        let c = &self.conns[conn as usize];
        let tree = &self.spec.tree;
        let byte = 8_000_000_000_000 / self.set.rate;
        let links = match (tree.hosts_per_tor, tree.hosts_per_tor * tree.tors_per_pod) {
            (tor, _) if c.src / tor == c.dst / tor => 2,
            (_, pod) if tree.tiers == 2 || c.src / pod == c.dst / pod => 4,
            _ => 6,
        };
        let wire = super::source::wire_bytes(c.size, self.set.payload);
        let first = wire.min(self.set.packet);
        let per_link = first + i64::from(super::source::HEADER);
        2 * tree.latency(c.src, c.dst) + (links * per_link + wire - first) as u64 * byte
    }

    /// Packets that are neither delivered nor dropped.
    pub fn packets_under_way(&self) -> usize {
        self.packets.alive()
    }
}

//! Results of a run.

use super::counters::Counters;
use super::sim::Sim;

/// Results of a flow; all messages of a connection count as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEnd {
    /// Start time, ps; `None` if the flow never started.
    pub start: Option<u64>,
    /// Arrival of the last acknowledgement at the sender, ps.
    pub finish: Option<u64>,
    /// Packets sent for the first time.
    pub new: u64,
    /// Retransmissions, each one counted.
    pub again: u64,
}

/// The results of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UetOutcome {
    /// Results by connection, in the matrix's order.
    pub flows: Vec<FlowEnd>,
    /// Totals, as in `uet_counters.tsv`.
    pub counters: Counters,
    /// Content of the file `uet_flows.tsv`.
    pub flow_table: String,
    /// Content of the file `uet_counters.tsv`.
    pub counter_table: String,
    /// Text of `htsim.txt`: the simulator's standard output.
    pub printed: String,
    /// Reason for which the simulator would have aborted before the end.
    pub abort: Option<String>,
    /// Time of the last event, ps.
    pub end: u64,
}

impl Sim {
    pub(super) fn totals(&self) -> Counters {
        Counters {
            random_draws: self.random.drawn(),
            ..self.counters
        }
    }

    /// Returns the results so far.
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

    /// Runs to the end and returns the results.
    pub fn run(mut self) -> UetOutcome {
        self.run_to_end()
    }

    /// Runs to the end and keeps the final state for inspection.
    pub fn run_to_end(&mut self) -> UetOutcome {
        while self.step(u64::MAX) {}
        self.outcome()
    }

    /// Returns the completion time of the flow in an empty network, from its start to its last acknowledgement, ps.
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

    /// Returns the number of packets that are neither delivered nor dropped.
    pub fn packets_under_way(&self) -> usize {
        self.packets.alive()
    }
}

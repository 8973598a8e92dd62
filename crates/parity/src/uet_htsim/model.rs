//! The simulator as a network model of the engine: it runs its own event list, and reports flows and totals.

use std::any::Any;

use paceline_fabric::Outcome;
use paceline_fabric::model::{Builder, Event, FlowId, Net, NetworkModel, Site, Starts};
use paceline_fabric::outcome::{FlowStatus, ModelOutcome, PacketKind};
use paceline_fabric::spec::{ModelSpec, OwnFile, RunSpec};
use paceline_kernel::queue::LaneId;
use paceline_kernel::{Bytes, Span, Time};

use super::counters::LogLine;
use super::outcome::UetOutcome;
use super::sim::Sim;
use super::source::HEADER;
use super::spec::UetSpec;

/// Number of events per slice. The engine's clock is updated between slices.
const SLICE: u64 = 5_000;
/// The engine's event that runs the next slice.
const GO_ON: Event = Event::Special { kind: 14, a: 0, b: 0 };

/// A run's description, and the engine's flow of each connection.
#[derive(Clone, Debug, PartialEq)]
pub struct UetModel {
    /// Options, topology and connections.
    pub spec: UetSpec,
    /// The engine's flow index of each connection; further messages of a connection have none.
    pub flows: Vec<u32>,
}

impl UetModel {
    /// Returns the model of a run, or `None` for another network model.
    pub fn of(run: &RunSpec) -> Option<&Self> {
        run.model.as_ref()?.get()
    }
}

impl UetOutcome {
    /// Returns the results of a run, or `None` for another network model.
    pub fn of(outcome: &Outcome) -> Option<&Self> {
        outcome.model.as_ref().and_then(ModelOutcome::get)
    }
}

fn build(site: Site<'_>) -> Box<dyn NetworkModel> {
    let model = UetModel::of(site.run).expect("a network is built of its own description");
    let sim = Sim::new(&model.spec).expect("the description was checked");
    Box::new(UetNetwork {
        sim,
        flows: model.flows.clone(),
        seen: 0,
    })
}

impl ModelSpec for UetModel {
    fn name(&self) -> &'static str {
        "uet-htsim"
    }

    fn check(&self, run: &RunSpec) -> Result<(), String> {
        if self.flows.iter().any(|flow| *flow as usize >= run.flows.len()) {
            return Err("a connection is none of the run's flows".to_string());
        }
        Sim::new(&self.spec).map(drop)
    }

    fn builder(&self) -> &'static dyn Any {
        static BUILDER: Builder = Builder(build);
        &BUILDER
    }

    fn files<'a>(&'a self, _run: &'a RunSpec, left: &'a ModelOutcome) -> Vec<OwnFile<'a>> {
        let Some(own) = left.get::<UetOutcome>() else {
            return Vec::new();
        };
        let texts = [
            ("uet_flows.tsv", &own.flow_table),
            ("uet_counters.tsv", &own.counter_table),
            ("htsim.txt", &own.printed),
        ];
        let file = |(name, text): (_, &'a String)| OwnFile::new(name, |out| out.write_all(text.as_bytes()));
        texts.map(file).into()
    }

    fn abort(&self, left: &ModelOutcome) -> Option<(Time, String)> {
        let own: &UetOutcome = left.get()?;
        Some((Time::from_ps(own.end), own.abort.clone()?))
    }
}

#[derive(Clone)]
struct UetNetwork {
    sim: Sim,
    flows: Vec<u32>,
    /// Number of output lines already reported to the engine.
    seen: usize,
}

impl NetworkModel for UetNetwork {
    fn starts(&self, _: &RunSpec) -> Starts {
        Starts::Own
    }

    fn begin(&mut self, net: &mut Net<'_>) {
        net.cx.core.schedule(LaneId::WHEEL, 0, GO_ON);
    }

    fn handle(&mut self, net: &mut Net<'_>, _: Event) {
        let before = self.sim.counters;
        let goes_on = self.sim.step(SLICE);
        let after = self.sim.counters;
        // The engine has already counted its own event for this slice.
        net.cx.core.counters.events += (after.events - before.events).saturating_sub(1);
        let data = after.data_hops - before.data_hops;
        let others = after.link_hops - before.link_hops - data;
        let size = u64::from(self.sim.spec.options.mtu);
        net.cx.core.count_packets(PacketKind::Data, data, data * size);
        net.cx
            .core
            .count_packets(PacketKind::Ack, others, others * u64::from(HEADER));
        self.report(net);
        if goes_on {
            // The next slice is due at the simulator's time, so that the engine's clock follows it.
            let at = self.sim.now().max(net.cx.core.now());
            net.cx.core.schedule(LaneId::WHEEL, at, GO_ON);
        }
    }

    fn samples_are_events(&self) -> bool {
        false
    }

    fn keeps_queues(&self) -> bool {
        true
    }

    /// Returns true: the simulator draws all its random numbers from one stream.
    fn draws(&self) -> bool {
        true
    }

    fn close(&mut self, net: &mut Net<'_>) -> Option<ModelOutcome> {
        let totals = self.sim.totals();
        let counters = &mut net.cx.core.counters;
        counters.trimmed = totals.trims_arriving + totals.trims_tail;
        counters.buffer_drops = totals.data_drops + totals.header_drops;
        counters.marked = totals.ecn_marks;
        counters.nacks = totals.nacks_made;
        counters.timeouts = totals.timeouts;
        counters.grants = totals.pulls_made;
        for (conn, flow) in self.flows.iter().enumerate() {
            let own = &self.sim.conns[conn];
            let payload = self.sim.set.payload;
            let record = net.traffic.record_mut(FlowId(*flow));
            let size = net.cx.world.spec.flows[*flow as usize].size;
            let bytes = |packets: u64| Bytes::new(packets * payload as u64);
            record.sent = bytes(own.packets.new).min(size);
            record.retransmitted = bytes(own.packets.again);
            net.cx.core.counters.retransmitted_bytes += record.retransmitted.get();
            if own.finish.is_none() {
                record.delivered = bytes(u64::from(self.sim.sinks[conn].expected)).min(size);
            }
        }
        Some(ModelOutcome::new(self.sim.outcome()))
    }
}

impl UetNetwork {
    /// Reports flows that started or finished since the last call.
    fn report(&mut self, net: &mut Net<'_>) {
        for line in &self.sim.lines[self.seen..] {
            match &line.what {
                LogLine::Starting(conn) => {
                    let flow = FlowId(self.flows[*conn as usize]);
                    net.traffic.start(&mut net.cx, flow);
                    let record = net.traffic.record_mut(flow);
                    record.start = Time::from_ps(line.at);
                    record.ideal = Span::from_ps(self.sim.alone(*conn));
                }
                LogLine::Finished(conn, end) => {
                    let flow = FlowId(self.flows[*conn as usize]);
                    let size = net.cx.world.spec.flows[flow.0 as usize].size;
                    let record = net.traffic.record_mut(flow);
                    record.status = FlowStatus::Completed;
                    record.received = Some(Time::from_ps(end.at));
                    record.fct = Span::from_ps(end.at - record.start.as_ps());
                    record.delivered = size;
                    net.traffic.complete(flow);
                }
                _ => {}
            }
        }
        self.seen = self.sim.lines.len();
    }
}

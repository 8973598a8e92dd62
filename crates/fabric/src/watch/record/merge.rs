//! Merging of the records of a network's parts, and the order of records.

use super::Recorder;
use crate::ids::PortId;

/// Returns true for ports that belong to another part.
pub(crate) type Theirs<'a> = &'a dyn Fn(PortId) -> bool;

impl Recorder {
    /// Adds the records of another part of the network up to the same instant. `theirs` returns true for that part's
    /// ports. A flow belongs to its sender's part.
    pub(crate) fn merge(&mut self, other: Self, theirs: Theirs<'_>) {
        assert_eq!(
            self.samples, other.samples,
            "parts of a network are sampled alike"
        );
        self.ports.merge(&other.ports);
        self.flows.merge(other.flows);
        self.states.merge(other.states, theirs);
        self.credits.merge(other.credits, theirs);
        self.rates.merge(other.rates);
        self.rtt_per_round_trip.merge(&other.rtt_per_round_trip);
        self.rtt_per_ack.merge(&other.rtt_per_ack);
        if let Some((mine, theirs)) = self.latency.as_mut().zip(other.latency.as_ref()) {
            mine.merge(theirs);
        }
        self.pfc.extend(other.pfc);
        self.rtt_samples.extend(other.rtt_samples);
        self.trace.extend(other.trace);
        for (dump, theirs_of_it) in self.queue_dumps.iter_mut().zip(other.queue_dumps) {
            let histograms = dump.histograms_kb.iter_mut().zip(theirs_of_it.histograms_kb);
            for ((mine, histogram), &port) in histograms.zip(&self.sampled) {
                if theirs(port) {
                    *mine = histogram;
                }
            }
        }
        for ((mine, record), &port) in self.queues.iter_mut().zip(other.queues).zip(&self.sampled) {
            if theirs(port) {
                *mine = record;
            }
        }
        let all = self.queues.iter_mut().map(|queue| &mut queue.series);
        self.room.merge(&other.room, all.collect());
    }

    /// Sorts records of one instant by node or flow. Records of one node keep their order, which is that of cause and
    /// effect.
    pub(crate) fn put_in_order(&mut self) {
        self.pfc.sort_by_key(|event| (event.at, event.node));
        self.trace.sort_by_key(|event| (event.at, event.node));
        self.rtt_samples.sort_by_key(|sample| (sample.at, sample.flow));
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use crate::common::{G100, add_flow, link, natural, scheme, star, static_pfc};
    use crate::core::event::Event;
    use crate::core::wire::{decode, encode};
    use crate::ids::{FlowId, PortId};
    use crate::run::results::{End, PartResults};
    use crate::run::simulation::Simulation;
    use paceline_kernel::queue::LaneId;
    use paceline_kernel::{Bytes, Span, Time};
    use paceline_run::spec::{Accounted, NodeId, NodeKind, RunSpec};

    /// Two networks without a link between them: in each, hosts send more to one of them than PFC lets through, and a
    /// flow that would start after the end keeps all of it recorded to the end.
    fn two_networks() -> RunSpec {
        let mut spec = natural(star(8, scheme("dcqcn")));
        spec.nodes = vec![NodeKind::Host; 8];
        spec.nodes.extend([NodeKind::Switch; 2]);
        spec.links = (0..8).map(|host| link(host, 8 + host / 4, G100)).collect();
        static_pfc(&mut spec, 40_000, 38_000, 60_000);
        (spec.switch.ecn[0].kmin, spec.switch.ecn[0].kmax) = (Bytes::new(5_000), Bytes::new(50_000));
        for host in [0, 1, 2, 4, 5] {
            add_flow(
                &mut spec,
                host,
                host / 4 * 4 + 3,
                90_000 + 7_000 * u64::from(host),
                0,
            );
        }
        add_flow(&mut spec, 6, 7, 1_000, 400_000);
        spec.stop = Time::from_ns(200_000);
        let every = |us| Some(Span::from_us(us));
        spec.record.queue_every = every(1);
        spec.record.queue_window = (Time::ZERO, spec.stop);
        spec.record.queue_dump_every = every(10);
        spec.record.rate_every = every(3);
        spec.record.port_bin = every(2);
        spec.record.flow_every = every(2);
        spec.record.flows_max = 8;
        spec.record.trace_nodes = vec![NodeId(8), NodeId(9), NodeId(3), NodeId(7)];
        spec.record.rtt_samples = true;
        spec.record.latency = true;
        spec.record.accounts = Accounted::All;
        spec
    }

    /// Runs the flows for which `starts` returns true to the end, and records the ports `own`.
    fn run(starts: &dyn Fn(u32) -> bool, own: Range<u32>) -> Simulation {
        let mut simulation = Simulation::new(two_networks()).unwrap();
        // All flows come due; those that do not start are forgotten.
        let Simulation {
            world, core, traffic, ..
        } = &mut simulation;
        core.watch.recorder.ports.keep_only(own.map(PortId));
        while core.next_uncounted(1).is_some() {}
        traffic.flow_due(&mut crate::core::cx::Cx::new(world, core), FlowId(0));
        let mut pending = Vec::new();
        while let Some(event) = core.next_uncounted(1) {
            pending.push(event);
        }
        for event in pending {
            if !matches!(event, Event::FlowStart { flow } if !starts(flow.0)) {
                core.schedule(LaneId::WHEEL, 0, event);
            }
        }
        while !simulation.advance(1 << 20).done {}
        simulation
    }

    /// The merged records of two parts are those of the whole; results of a part may come from another process.
    #[test]
    fn records_of_parts_merge() {
        let whole = run(&|_| true, 0..16).finish();
        let (mut one, other) = (run(&|flow| flow < 3, 0..8), run(&|flow| flow >= 3, 8..16));
        let end = End::of(&one).and(End::of(&other));
        let mut other = other;
        one.close(&end);
        other.close(&end);
        let other: PartResults = decode(&encode(&other.into_results()));
        // Hosts come before switches.
        let theirs = |node: NodeId| (4..8).contains(&node.0) || node.0 == 9;
        let mut sums = one.sums();
        sums.add(&other.sums);
        one.take_in(other, &theirs);
        let merged = one.into_outcome(None, &sums);
        assert_eq!((merged.counters, merged.digest), (whole.counters, whole.digest));
        assert!(whole.counters.pauses > 4 && whole.counters.marked > 10);
        assert!(merged.ports == whole.ports && merged.queue_max == whole.queue_max);
        assert_eq!(merged.flow_series, whole.flow_series);
        assert!(merged.queues == whole.queues && merged.queue_dumps == whole.queue_dumps);
        assert!(merged.rates == whole.rates && merged.rate_bin == whole.rate_bin);
        assert!(
            merged.rtt_per_round_trip == whole.rtt_per_round_trip && merged.rtt_per_ack == whole.rtt_per_ack
        );
        assert!(merged.latency == whole.latency && whole.latency.is_some());
        assert!(merged.pfc == whole.pfc && merged.trace == whole.trace);
        assert_eq!(merged.rtt_samples, whole.rtt_samples);
        assert_eq!(merged.accounts, whole.accounts);
        let counts = [whole.trace.len(), whole.rtt_samples.len(), whole.accounts.len()];
        assert!(counts[0] > 1000 && counts[1] > 10 && counts[2] == 5, "{counts:?}");
    }
}

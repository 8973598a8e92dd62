//! Samples of queues, ports and flows.

use crate::core::event::Event;
use crate::run::kind::NetworkKind;
use crate::run::simulation::Simulation;
use paceline_kernel::queue::LaneId;
use paceline_run::spec::TieOrder;

impl Simulation {
    /// Arranges the first sample of the queues. If events of one instant run in the order in which they were scheduled,
    /// as in the reference, samples are such events. Otherwise samples are no events and change nothing (see
    /// `watch/record/ports.rs`).
    pub(super) fn arrange_queue_samples(&mut self) {
        if self.world.spec.record.queue_every.is_none() {
            return;
        }
        let from = self.world.spec.record.queue_window.0.as_ps();
        // As events, samples have a position among those of their instant, which is part of the reference's order.
        if self.world.spec.ties == TieOrder::Insertion && self.kind.samples_are_events() {
            self.core.schedule(LaneId::WHEEL, from, Event::Sample);
        } else {
            self.core.watch.recorder.queues_due = from;
        }
    }

    /// Takes a sample of the queues that is an event.
    pub(super) fn queue_sample_event(&mut self) {
        let all_done = self.is_all_completed();
        let now = self.core.now();
        if let Some(at) = self.core.sample_queues(&self.world, now, all_done) {
            self.core.schedule(LaneId::WHEEL, at, Event::Sample);
        }
    }

    /// Takes the samples that are due before the event at `at`. `all_done`: all flows have completed; `is_over`: no
    /// packet is in the network either.
    #[cold]
    pub(super) fn sample_until(&mut self, at: u64, all_done: bool, is_over: bool) {
        let Self {
            world,
            core,
            hosts,
            switches,
            kind,
            ..
        } = self;
        hosts.sample(core, at);
        core.sample_queues_until(world, at, all_done);
        match kind {
            NetworkKind::Foreign(model) => model.sample(core, at, is_over),
            _ => {
                switches.sample_states(core, at, is_over);
                core.sample_credits(at, is_over);
            }
        }
        core.sample_ports_until(at, is_over);
    }

    /// Takes the samples that are due until now, and closes the current bin.
    pub(super) fn take_last_samples(&mut self, all_done: bool, is_over: bool) {
        self.sample_until(self.core.now(), all_done, is_over);
        self.core.close_ports(is_over);
    }

    /// Returns two values: true if all flows have completed, and true if no packet is in the network either.
    pub(super) fn what_is_over(&self) -> (bool, bool) {
        let all_done = self.is_all_completed();
        (all_done, all_done && self.core.packets.live() == 0)
    }

    fn is_all_completed(&self) -> bool {
        self.is_completed_by(self.traffic.completed())
    }

    /// Returns true if `completed` flows are all flows of the run.
    pub(super) fn is_completed_by(&self, completed: u64) -> bool {
        let described = self.world.spec.described_flows() as u64;
        completed == described + self.traffic.started_by_programs() && self.traffic.programs_are_done()
    }
}

//! The simulation: all its state, and the loop that runs it.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::core::Core;
use crate::core::event::Event;
use crate::host::Hosts;
use crate::run::ideals::Ideals;
use crate::run::kind::Kind;
use crate::run::memo::Memory;
use crate::run::windows::{WindowCounts, Windows};
use crate::switch::Switches;
use crate::traffic::Traffic;
use crate::watch::Watch;
use crate::watch::record::{Recorder, RoundTrips};
use crate::world::World;
use paceline_kernel::{Span, Time};
use paceline_run::outcome::{EndedFlow, Outcome};

pub use crate::run::check::BuildError;

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Events so far.
    pub events: u64,
    /// Packet-hops so far.
    pub packet_hops: u64,
    /// Flows completed.
    pub completed: u64,
    /// Iterations that are over, and all, of the program that is least far of those that repeat themselves.
    pub iterations: Option<(u32, u32)>,
    /// Whether the run is over: the stop time reached, or nothing left to happen.
    pub done: bool,
}

/// Up to where [`Simulation::advance_to`] goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// So many more events.
    Events(u64),
    /// This instant: all its events have run, and it is now.
    Time(Time),
    /// The next instant in which senders ask for decisions that are made outside the run
    /// ([`paceline_congestion::Decisions::outside`]): all its events have run, and
    /// [`Simulation::awaited`] tells whose they are. What was asked for before and is not answered does not count.
    Decisions,
    /// The same, and on from there for all instants that come less than this after it: where decisions take so long,
    /// the first of them is not due before, and all that are asked for meanwhile can be made together
    /// ([`Simulation::answer`]).
    Due(Span),
}

/// One run in progress: a value, so that many fit in a process. A copy is the run forked: what either does from
/// then on the other does not see. (But senders that [`paceline_congestion::registry::SchemeFactory`] makes may share
/// what they keep outside the run.)
#[derive(Clone)]
pub struct Simulation {
    /// Shared by the parts of a run that is cut ([`crate::run::cut`]), until one of them changes it.
    pub(crate) world: Arc<World>,
    pub(crate) core: Core,
    pub(crate) switches: Switches,
    pub(crate) hosts: Hosts,
    pub(crate) traffic: Traffic,
    pub(super) kind: Kind,
    pub(super) foresight: Option<Foresight>,
    /// Where the run is cut, the other parts.
    pub(super) parts: Option<Box<Parts>>,
    /// Where it was cut, and its parts are one again, what their windows were.
    pub(super) window_counts: Option<WindowCounts>,
    /// Where phases are kept ([`Simulation::memoise`]).
    pub(super) memory: Option<Box<Memory>>,
    pub(super) ideals: Ideals,
}

/// The other parts of a run that is cut.
#[derive(Clone)]
pub(super) struct Parts {
    pub(super) others: Vec<OtherPart>,
    pub(super) windows: Windows,
    /// How many threads take the parts through their windows.
    pub(super) threads: usize,
}

/// A part, in cache lines of its own.
#[derive(Clone)]
#[repr(align(128))]
pub(super) struct OtherPart(pub(super) Simulation);

impl Deref for OtherPart {
    type Target = Simulation;
    fn deref(&self) -> &Simulation {
        &self.0
    }
}

impl DerefMut for OtherPart {
    fn deref_mut(&mut self) -> &mut Simulation {
        &mut self.0
    }
}

/// What forks write their records into, where a scheme asks for foresight: nobody reads it.
#[derive(Clone)]
pub(super) struct Foresight(pub(super) Box<Watch>);

/// Events between two looks at the invariants.
pub(super) const LOOK_EVERY: u64 = 1 << 10;

/// A run, or its parts, may go from one thread to another.
const _: () = {
    const fn may_move<T: Send>() {}
    may_move::<World>();
    may_move::<Core>();
    may_move::<Switches>();
    may_move::<Hosts>();
    may_move::<Traffic>();
    may_move::<Simulation>();
};

impl Simulation {
    /// Executes at most `events` events.
    pub fn advance(&mut self, events: u64) -> Progress {
        self.advance_to(Until::Events(events))
    }

    /// Goes on until what `until` says, or the run's end. In what steps a run is made does not change it.
    pub fn advance_to(&mut self, until: Until) -> Progress {
        match until {
            Until::Events(events) => {
                let last = (self.progress().events - self.taken().0).saturating_add(events);
                self.execute(last, u64::MAX);
            }
            Until::Time(at) => self.execute_until(at.as_ps()),
            Until::Decisions => self.execute_until_due(Span::ZERO),
            Until::Due(latency) => self.execute_until_due(latency),
        }
        if self.core.is_over() && self.world.spec.check {
            self.verify();
        }
        self.progress()
    }

    /// Executes all events up to `at`, and goes there.
    pub(super) fn execute_until(&mut self, at: u64) {
        if at >= self.world.spec.stop.as_ps() {
            return self.execute(u64::MAX, u64::MAX);
        }
        self.execute(u64::MAX, at + 1);
        if !self.core.is_over() && self.core.now() <= at {
            // Behind all events of this instant.
            self.core.go_to(at);
        }
    }

    /// Executes all events before the instant `limit`.
    pub(super) fn execute_before(&mut self, limit: u64) {
        self.execute(u64::MAX, limit);
    }

    /// Executes events before the instant `limit` until there have been `last` of them.
    fn execute(&mut self, last: u64, limit: u64) {
        if self.parts.is_some() {
            return self.execute_parts(last, limit);
        }
        while self.core.counters.events < last && !self.core.is_over() {
            if self.stands() {
                assert!(
                    limit == u64::MAX,
                    "what takes phases from memory goes on by events"
                );
                if !self.replay() {
                    return;
                }
                continue;
            }
            self.run_until(self.horizon().min(limit), last);
            if self.core.counters.events >= last {
                return;
            }
            if self.stands() {
                continue;
            }
            match self.core.next_event_at() {
                Some(at) if at >= limit => return,
                next => self.reach_horizon(next),
            }
        }
    }

    /// Executes the events before the instant `end`, until there have been `last` of them.
    #[inline]
    pub(super) fn run_until(&mut self, end: u64, last: u64) {
        while self.core.counters.events < last {
            let next_look = self.core.counters.events / LOOK_EVERY * LOOK_EVERY + LOOK_EVERY;
            self.run_a_while(end, last.min(next_look));
            if self.core.counters.events < last.min(next_look) {
                return;
            }
            if self.world.spec.check && self.core.counters.events == next_look {
                self.verify();
            }
        }
    }

    #[inline]
    fn run_a_while(&mut self, end: u64, last: u64) {
        let large = self.core.is_large();
        while self.core.counters.events < last
            && let Some(event) = self.core.take_event(end)
        {
            self.core.begin(event);
            if large {
                let (hosts, switches) = (&self.hosts, &self.switches);
                self.core.fetch_upcoming(
                    &self.world,
                    |look, packet| hosts.prefetch(look, packet),
                    |egress| switches.prefetch(egress),
                );
            }
            match Event::arrival(event.what) {
                Some((port, packet)) => self.arrive(port, packet),
                None => self.dispatch(Event::decode(event.what)),
            }
        }
    }

    /// The first instant that events may not simply run into: samples or looks are due before, or the stop.
    fn horizon(&self) -> u64 {
        let watch = &self.core.watch;
        let free_until = watch.recorder.free_until().min(watch.deadlock.due() - 1);
        self.stop().min(free_until) + 1
    }

    /// No event is left before the horizon: samples up to the next one, or ends the run.
    #[cold]
    fn reach_horizon(&mut self, next: Option<u64>) {
        match next {
            Some(at) if at <= self.stop() => {
                let look_at = self.core.watch.deadlock.due();
                if look_at <= at {
                    self.look_for_deadlock(at);
                    if self.core.is_over() {
                        self.core.set_clock(look_at);
                        return;
                    }
                }
                let (all_done, is_over) = self.what_is_over();
                self.sample_until(at, all_done, is_over);
            }
            next => self.end(next),
        }
    }

    /// The run is over: nothing is to happen any more, or only after its stop.
    pub(super) fn end(&mut self, next: Option<u64>) {
        self.core.end();
        if next.is_some() {
            // It stays pending: its packet, if it has one, is still under way.
            self.core.set_clock(self.stop());
        } else if let Some(last) = self.last_call() {
            // What came later were timers of flows that were over.
            self.core.set_clock(last);
        }
    }

    #[inline(always)]
    pub(super) fn dispatch(&mut self, event: Event) {
        match event {
            Event::Arrive { port, packet } => self.arrive(port, packet),
            Event::TxDone { port } => self.transmission_done(port),
            Event::Wake { port, generation } => {
                let woke = self.hosts.wake(&self.world, &mut self.core, port, generation);
                if !woke && !self.world.spec.programs.is_empty() {
                    self.core.discount_event(event);
                }
            }
            Event::Timer { flow, .. } | Event::Timeout { flow } => {
                if self.world.is_of_program(flow) {
                    self.core
                        .recount_event(event, self.hosts.sender_of(flow).is_some());
                }
                self.notify_kind(event);
            }
            Event::Special { .. } => self.notify_kind(event),
            Event::FlowDue { flow } => {
                self.core.discount_event(event);
                self.traffic.flow_due(&self.world, &mut self.core, flow);
            }
            Event::FlowStart { flow } => self.start_event(flow),
            Event::Sent { flow } => {
                self.core.discount_event(event);
                self.traffic.flow_sent(&self.world, &mut self.core, flow);
            }
            Event::Program { program } => {
                self.core.discount_event(event);
                self.program_event(program);
            }
            Event::PauseEnd { port, class } => self.pause_end(port, class),
            Event::Watchdog { port, class } => self.watch_queue(port, class),
            Event::PauseRenew { port, class } => self.pause_renew(port, class),
            Event::Topology { change } => {
                if !self.core.is_first() {
                    self.core.discount_event(event);
                }
                self.change_topology(change as usize);
            }
            Event::Sample => self.queue_sample_event(),
            Event::ReceiverTimer { flow } => {
                if self.world.is_of_program(flow) {
                    self.core.recount_event(event, self.hosts.is_receiving(flow));
                }
                self.hosts.receiver_timer(&self.world, &mut self.core, flow);
            }
            Event::Storm { storm, ends } => self.storm(storm, !ends),
            Event::HostDone { nic } => {
                self.hosts
                    .host_done(&self.world, &mut self.core, &mut self.traffic, nic);
            }
            Event::GrantDue { nic, scheme } => {
                (self.hosts).grant_due(&self.world, &mut self.core, nic, scheme);
            }
            Event::Decided { nic } => self.hosts.decided(&self.world, &mut self.core, nic),
        }
    }

    /// How far the run is.
    pub fn progress(&self) -> Progress {
        let sum = |of: fn(&Self) -> u64| self.all_parts().map(of).sum::<u64>();
        let now = self.all_parts().map(|part| part.core.now()).max();
        let (taken, now) = (self.taken(), self.in_run(now.unwrap_or(0)));
        Progress {
            now: Time::from_ps(now),
            events: sum(|part| part.core.counters.events) + taken.0,
            packet_hops: sum(|part| part.core.hops()) + taken.1,
            completed: sum(|part| part.traffic.completed()),
            iterations: self.traffic.programs().iterations(),
            done: self.core.is_over(),
        }
    }

    /// Takes the flows of a stream that are over, in the order of their ends. They are kept until somebody does.
    pub fn take_ended(&mut self) -> Vec<EndedFlow> {
        self.traffic.take_ended()
    }

    /// The most flows of a stream that were held at a time: those under way, and those of which packets were.
    pub fn most_flows_held(&self) -> usize {
        self.core.most_described()
    }

    /// The largest queue of any switch port so far.
    fn queue_max(&self) -> u32 {
        let seen = self.core.ports.iter().map(|port| port.queue_max).max();
        seen.unwrap_or(0).max(self.core.watch.recorder.ports.queue_max())
    }

    /// Ends the run, wherever it is.
    pub fn finish(mut self) -> Outcome {
        self.join();
        self.stand_no_more();
        self.last_look();
        let now = self.core.now();
        self.core.count_lasting_pauses();
        self.settle_all();
        for slot in self.hosts.slots() {
            self.hosts.record_unfinished(&mut self.traffic, slot);
            let (kind, mut net) = self.split();
            kind.record_sent(&mut net, slot);
        }
        self.hosts.record_delivered(&mut self.traffic);
        let (kind, mut net) = self.split();
        let model = kind.close(&mut net);
        self.traffic.end_all(&self.world, &self.core);
        self.last_samples();
        let (queue_max, port_refs) = (self.queue_max(), self.core.port_refs());
        let ties = self.switches.close_ties(&port_refs);
        let watchdog = self.switches.watchdog();
        let storms =
            watchdog.map(|watchdog| watchdog.close(&port_refs, |class| self.world.classes.priority(class)));
        let flow_probes = self.core.close_looks();
        let tables = self.core.close_probes(&self.world);
        let (kind, net) = self.split();
        let of_messages = kind.accounts(&net, &port_refs);
        let decisions = self.hosts.decision_stats(&self.core);
        self.core.notify_all();
        self.core.watch.recorder.finish_queues();
        self.count_taken();
        self.core.count_sent();
        let hangs_on_seed = self.hangs_on_seed();
        let end = Time::from_ps(self.in_run(now));
        let repeats = self.repeats();
        if self.world.spec.ties.is_by_entity() {
            self.core.watch.recorder.put_in_order();
            self.traffic.put_in_order();
        }
        let (counters, digest) = self.core.counts();
        let stalls = self.kind.stalls(&self.core);
        let of_credits = self.core.watch.recorder.credits.end_with();
        let credit_series = of_credits.finish(now, &port_refs, |port, lane| {
            self.kind.has_used(&self.core, port, lane)
        });
        let Recorder {
            ports,
            flows: flow_series,
            states,
            pfc,
            rtt_per_round_trip,
            rtt_per_ack,
            rtt_samples,
            latency,
            queues,
            queue_dumps,
            rates,
            trace,
            ..
        } = self.core.watch.recorder;
        let (rates, rate_bin) = rates.finish();
        let accounts = self.core.watch.accounts.close(now, &|port| port_refs[port]);
        let accounts = of_messages.unwrap_or(accounts);
        let (flows, ended, begun, completions, programs) = self.traffic.close();
        Outcome {
            end,
            flows,
            ended,
            begun,
            programs,
            completions,
            counters,
            pfc,
            rtt_per_round_trip: rtt_per_round_trip.finish(),
            rtt_per_ack: rtt_per_ack.finish(),
            latency: latency.map(RoundTrips::finish),
            first_half: None,
            rtt_samples,
            queues,
            queue_dumps,
            states: states.finish(now, &port_refs, |_, _| true),
            ports: ports.finish(
                &self.world.spec.nodes,
                port_refs.iter().copied().collect(),
                |port| self.core.ports[port].peer,
            ),
            flow_series: flow_series.finish(now),
            queue_max: paceline_kernel::Bytes::new(u64::from(queue_max)),
            rates,
            rate_bin,
            trace,
            signals: self.world.signals.names(),
            base_rtt: self.world.base_rtt,
            bdp: paceline_kernel::Bytes::new(self.world.bdp),
            accounts,
            flow_probes,
            tables,
            deadlock: self.core.watch.deadlock.found,
            storms: storms.unwrap_or_default(),
            decisions,
            model,
            credit_series,
            stalls,
            ties,
            hangs_on_seed,
            repeats,
            digest,
        }
    }
}

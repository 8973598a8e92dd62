//! The simulation: its complete state, and the loop that runs it.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::core::Core;
use crate::core::cx::Cx;
use crate::core::event::Event;
use crate::core::retry::{DARK, DUE};
use crate::host::Hosts;
use crate::ids::{PacketId, PortId};
use crate::run::heard::Heard;
use crate::run::ideals::Ideals;
use crate::run::kind::NetworkKind;
use crate::run::memo::Memory;
use crate::run::results::Sums;
use crate::run::team::Team;
use crate::run::windows::Windows;
use crate::switch::NOTICE;
use crate::switch::Switches;
use crate::traffic::Traffic;
use crate::watch::Watch;
use crate::watch::record::{Recorder, RoundTrips};
use crate::world::World;
use paceline_kernel::{Span, Time};
use paceline_run::outcome::{EndedFlow, ModelOutcome, Outcome};

pub use crate::run::check::BuildError;

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Current simulated time of the run.
    pub now: Time,
    /// Number of events so far.
    pub events: u64,
    /// Number of packet-hops so far.
    pub packet_hops: u64,
    /// Number of flows completed.
    pub completed: u64,
    /// Finished iterations and all iterations, of the repeating program that has made the least progress.
    pub iterations: Option<(u32, u32)>,
    /// True if the run is over: the stop time was reached, or no event is left.
    pub done: bool,
}

/// Point to which [`Simulation::advance_to`] goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After this many further events.
    Events(u64),
    /// After all events up to this instant, which is then the current time.
    Time(Time),
    /// After all events of the next instant at which senders ask for decisions from outside the run
    /// ([`paceline_congestion::Decisions::outside`]). [`Simulation::awaited`] returns their flows. Earlier questions
    /// that are not answered do not count.
    Decisions,
    /// Like `Decisions`, and then on through all instants that are less than this span later. If decisions take that
    /// long, the first of them is not due before, and all that are asked for meanwhile can be made together
    /// ([`Simulation::answer`]).
    Due(Span),
}

/// One run in progress. It is a value, so that many fit in a process. A copy is a fork of the run: neither affects the
/// other from then on. (But senders from a [`paceline_congestion::registry::SchemeFactory`] may share state outside the
/// run.)
#[derive(Clone)]
pub struct Simulation {
    /// Constant data, shared by the parts of a cut run ([`crate::run::cut`]) until one of them changes it.
    pub(crate) world: Arc<World>,
    pub(crate) core: Core,
    pub(crate) switches: Switches,
    pub(crate) hosts: Hosts,
    pub(crate) traffic: Traffic,
    pub(super) kind: NetworkKind,
    pub(super) foresight: Option<Foresight>,
    /// Other parts, if the run is cut.
    pub(super) parts: Option<Box<Parts>>,
    /// State of memoisation, if it is on ([`Simulation::memoise`]).
    pub(super) memory: Option<Box<Memory>>,
    pub(super) ideals: Ideals,
}

/// Other parts of a cut run.
#[derive(Clone)]
pub(super) struct Parts {
    pub(super) others: Vec<OtherPart>,
    pub(super) windows: Windows,
    /// Number of threads that run the parts.
    pub(super) threads: usize,
    /// Number of parts of all ranks.
    pub(super) count: usize,
    /// Ranks that run further parts; `None` if all parts are in this process.
    pub(super) team: Option<Team>,
    /// Progress of the parts of all ranks, if there are several.
    pub(super) heard: Option<Heard>,
}

/// A part that shares no cache line with others.
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

/// Recorders for forks, if a scheme asks for foresight; their records are discarded.
#[derive(Clone)]
pub(super) struct Foresight(pub(super) Box<Watch>);

/// Number of events between two checks of the invariants.
pub(super) const LOOK_EVERY: u64 = 1 << 10;

/// A run, or its parts, may be moved to other threads.
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
    /// Runs at most `events` events.
    pub fn advance(&mut self, events: u64) -> Progress {
        self.advance_to(Until::Events(events))
    }

    /// Runs until the given point, or the run's end. The steps in which a run is made do not affect its results.
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
            self.all_parts().for_each(Self::verify);
        }
        self.progress()
    }

    /// Runs all events up to `at`, and sets the clock to it.
    pub(super) fn execute_until(&mut self, at: u64) {
        if at >= self.world.spec.stop.as_ps() {
            return self.execute(u64::MAX, u64::MAX);
        }
        self.execute(u64::MAX, at + 1);
        if !self.core.is_over() && self.core.now() <= at {
            // After all events of this instant.
            self.core.go_to(at);
        }
    }

    /// Runs all events before the instant `limit`.
    pub(super) fn execute_before(&mut self, limit: u64) {
        self.execute(u64::MAX, limit);
    }

    /// Runs events before the instant `limit` until there have been `last` of them.
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
            // The last event may have brought the network into a known state.
            if self.stands() {
                continue;
            }
            match self.core.next_event_at() {
                Some(at) if at >= limit => return,
                next => self.reach_horizon(next),
            }
        }
    }

    /// Runs the events before the instant `end`, until there have been `last` of them.
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
        match self.core.is_large() {
            true => self.run_events::<true>(end, last),
            false => self.run_events::<false>(end, last),
        }
    }

    /// Runs events before `end` until there have been `last`; with `FETCH` it prefetches what the next ones will touch.
    // Code that prefetches takes registers that small networks have better uses for. Samples and checks are in the outer
    // loops, so that this one has nothing to do between two events.
    fn run_events<const FETCH: bool>(&mut self, end: u64, last: u64) {
        while self.core.counters.events < last
            && let Some(event) = self.core.take_event(end)
        {
            self.core.begin(event);
            if FETCH {
                let (hosts, switches) = (&self.hosts, &self.switches);
                self.core.fetch_upcoming(
                    &self.world,
                    |packet| hosts.prefetch(packet),
                    |packet| hosts.prefetch_scheme(packet),
                    |egress| switches.prefetch(egress),
                );
            }
            match Event::arrival(event.what) {
                Some((port, packet)) => self.arrive(port, packet),
                None => self.dispatch(Event::decode(event.what)),
            }
        }
    }

    /// Returns the first instant that events may not run past: a sample, a deadlock search or the stop is due before.
    fn horizon(&self) -> u64 {
        let watch = &self.core.watch;
        let free_until = watch.recorder.free_until().min(watch.deadlock.due() - 1);
        self.stop().min(free_until) + 1
    }

    /// Takes the samples up to the next event, or ends the run, when no event is left before the horizon.
    #[cold]
    fn reach_horizon(&mut self, next: Option<u64>) {
        match next {
            // Deadlocks first: a search may end the run, and no samples are due after that.
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

    /// Ends the run, because no event is left, or none before its stop.
    pub(super) fn end(&mut self, next: Option<u64>) {
        self.core.end();
        if next.is_some() {
            // The event stays pending: its packet, if it has one, is still in the network.
            self.core.set_clock(self.stop());
        } else if let Some(last) = self.last_call() {
            // Later events were timers of flows that were over.
            self.core.set_clock(last);
        }
    }

    #[inline(always)]
    pub(super) fn dispatch(&mut self, event: Event) {
        match event {
            Event::Arrive { port, packet } => self.arrive(port, packet),
            Event::TxDone { port } => self.transmission_done(port),
            Event::Wake { port, generation } => {
                let woke = self
                    .hosts
                    .wake(&mut Cx::new(&self.world, &mut self.core), port, generation);
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
            Event::Special {
                kind: kind @ DUE..=DARK,
                a,
                b,
            } if self.core.has_retries() => self.retry_event(kind, PortId(a), b),
            Event::Special { kind: NOTICE, a, b } if self.kind.is_own() => {
                let cx = &mut Cx::new(&self.world, &mut self.core);
                self.switches.send_notice(cx, PortId(a), PacketId(b));
            }
            Event::Special { .. } => self.notify_kind(event),
            Event::FlowDue { flow } => {
                // The same flows need a different number of such events in a list, in a stream and in a program.
                self.core.discount_event(event);
                self.traffic
                    .flow_due(&mut Cx::new(&self.world, &mut self.core), flow);
            }
            Event::FlowStart { flow } => self.start_event(flow),
            Event::Sent { flow } => {
                self.core.discount_event(event);
                self.traffic
                    .flow_sent(&mut Cx::new(&self.world, &mut self.core), flow);
            }
            Event::Program { program } => {
                self.core.discount_event(event);
                self.program_event(program);
            }
            Event::PauseEnd { port, class } => self.pause_end(port, class),
            Event::Watchdog { port, class } => self.watch_queue(port, class),
            Event::PauseRenew { port, class } => self.pause_renew(port, class),
            Event::Topology { change } => {
                // Every part has this event, and one of them counts it.
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
                self.hosts
                    .receiver_timer(&mut Cx::new(&self.world, &mut self.core), flow);
            }
            Event::Storm { storm, ends } => self.storm(storm, !ends),
            Event::HostDone { nic } => {
                self.hosts
                    .host_done(&mut Cx::new(&self.world, &mut self.core), &mut self.traffic, nic);
            }
            Event::GrantDue { nic, scheme } => {
                (self.hosts).grant_due(&mut Cx::new(&self.world, &mut self.core), nic, scheme);
            }
            Event::ProbeDue { flow } => {
                self.hosts
                    .probe_due(&mut Cx::new(&self.world, &mut self.core), flow);
            }
            Event::Decided { nic } => self.hosts.decided(&mut Cx::new(&self.world, &mut self.core), nic),
        }
    }

    /// Returns the progress of the run.
    pub fn progress(&self) -> Progress {
        let all = self.announcement_of_all();
        let taken = self.taken();
        Progress {
            now: Time::from_ps(self.in_run(all.now)),
            events: all.events + taken.0,
            packet_hops: all.hops + taken.1,
            completed: all.completed,
            iterations: self.traffic.programs().iterations(),
            done: self.core.is_over(),
        }
    }

    /// Removes and returns the flows of a stream that are over, in the order of their ends. They are kept until then.
    pub fn take_ended(&mut self) -> Vec<EndedFlow> {
        self.traffic.take_ended()
    }

    /// Returns the most flows of a stream that were held at a time: those under way, and those with packets in the
    /// network.
    pub fn most_flows_held(&self) -> usize {
        self.core.most_described()
    }

    /// Returns the longest queue of any switch port so far, in bytes.
    pub(super) fn queue_max(&self) -> u32 {
        let seen = self.core.ports.iter().map(|port| port.queue_max).max();
        seen.unwrap_or(0).max(self.core.watch.recorder.ports.queue_max())
    }

    /// Returns the outcome of a run whose records are closed, with the `sums` of all its parts.
    pub(crate) fn into_outcome(mut self, model: Option<ModelOutcome>, sums: &Sums) -> Outcome {
        let (now, port_refs) = (self.core.now(), self.core.port_refs());
        let ties = self.switches.close_ties(&port_refs);
        let watchdog = self.switches.watchdog();
        let storms =
            watchdog.map(|watchdog| watchdog.close(&port_refs, |class| self.world.classes.priority(class)));
        let flow_probes = self.core.close_looks();
        let tables = self.core.close_probes(&self.world);
        let (kind, net) = self.split();
        let of_messages = kind.accounts(&net, &port_refs);
        self.core.watch.recorder.finish_queues();
        self.count_taken();
        self.core.count_sent();
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
            queue_max: paceline_kernel::Bytes::new(u64::from(sums.queue_max)),
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
            decisions: sums.decisions,
            model,
            credit_series,
            stalls,
            ties,
            hangs_on_seed: sums.hangs_on_seed,
            repeats,
            digest,
        }
    }
}

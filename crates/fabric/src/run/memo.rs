//! Exact memoisation: a phase of a job that begins with the network in a known state is taken from memory.
//!
//! States are looked at where a program wakes in a network at rest, of which little is left to compare, and now and then where
//! a flow starts while others are under way: then all of it is compared, packet by packet. If the state was there before, and
//! a way back to it is known, the network stands still, and programs go through the phases that followed then
//! ([`crate::traffic::replay`]), as long as they ask for what they asked for then. At the first difference the network goes
//! on, from the state in which it stood still, with what programs have asked for since. So nothing is approximate: what the
//! network does depends on its state and on what it is asked for, and both are the same.

use std::collections::HashSet;

use paceline_congestion::Requirements;

use crate::core::digest::Digest;
use crate::core::event::Event;
use crate::core::link::Sent;
use crate::core::print::Print;
use crate::ids::FlowId;
use crate::run::simulation::Simulation;
use crate::traffic::memo::{Begin, Beginning, Counts, Memo, later};
use crate::traffic::replay::{Next, Standing};
use crate::watch::record::RoundTrips;
use paceline_kernel::queue::EventQueue;
use paceline_run::outcome::{Counters, PfcEvent, Repeats};
use paceline_run::spec::{Accounted, FlowControl, NodeId, PfcMode, RecordSpec, Recovery, TieOrder};

/// A run whose phases are kept.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    /// While the network stands still: where, and the event that is to happen when it goes on.
    standing: Option<(Standing, Event)>,
    /// What is to happen in the network meanwhile; at other times nothing.
    aside: EventQueue,
    /// What had been counted when the phase began that is being simulated.
    begun: Begun,
    /// Events of the network up to its last state that was looked at, and what the last look at one that was not at rest
    /// took, in words.
    looked_at: u64,
    words: u64,
    /// The same up to the last glance.
    glanced_at: u64,
    /// The host whose flows' starts are looked at.
    marker: Option<NodeId>,
    /// States that were looked at, at a glance: those that are likely to come again.
    glances: HashSet<u64>,
    /// Why states with packets under way cannot be compared.
    unlike: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Begun {
    counters: Counters,
    sent: Sent,
    digest: Digest,
    pfc: usize,
    completed: u64,
}

impl Simulation {
    /// Keeps phases from here on; with `checks`, a tenth of those that could be taken are simulated and compared. The run is
    /// to go on by events. Says why not, where nothing could ever be taken.
    pub fn memoise(&mut self, checks: bool) -> Result<(), &'static str> {
        if let Some(why) = self.why_not() {
            return Err(why);
        }
        self.traffic.keep_phases(Memo::new(checks));
        self.memory = Some(Box::new(Memory {
            standing: None,
            aside: self.core.empty_agenda(),
            begun: Begun::default(),
            looked_at: 0,
            words: 0,
            glanced_at: 0,
            marker: None,
            glances: HashSet::new(),
            unlike: None,
        }));
        Ok(())
    }

    /// Phases that were simulated and taken.
    pub fn repeats(&self) -> Option<Repeats> {
        let memo = self.traffic.kept()?;
        Some(Repeats {
            only_at_rest: self.memory.as_ref().and_then(|memory| memory.unlike),
            ..memo.report()
        })
    }

    /// What keeps the state of this network from ever coming again, or this run from being put together from phases.
    fn why_not(&self) -> Option<&'static str> {
        let spec = &*self.world.spec;
        let needs =
            |of: fn(&Requirements) -> bool| self.world.schemes.iter().any(|scheme| of(&scheme.needs()));
        let reasons = [
            (spec.programs.is_empty(), "no job is by a trace"),
            (
                !spec.is_of_programs(),
                "other flows than those of traces are part of the run",
            ),
            (
                !self.kind.is_own(),
                "the network is not one of switches and hosts of this engine without credits",
            ),
            (self.parts.is_some(), "the run is cut into parts"),
            (spec.entropy.is_some(), "senders choose a path for each packet"),
            (
                matches!(spec.nic.recovery, Recovery::Rud(_)) || needs(|needs| needs.words || needs.grants),
                "receivers keep more of each packet than is compared (RUD, grants)",
            ),
            (
                matches!(spec.ties, TieOrder::Drawn | TieOrder::Shuffled(_)),
                "who goes first in an instant is drawn anew each time (classes may lose packets)",
            ),
            (
                !(self.world.changes.is_empty() && spec.storms.is_empty() && spec.host_changes.is_empty()),
                "links or hosts change at certain times",
            ),
            (
                spec.links.iter().any(|link| link.error_rate > 0.0),
                "links lose packets at random",
            ),
            (
                records_time(&spec.record),
                "the run writes down what happens at which time ([record])",
            ),
            (
                needs(|needs| needs.decisions.is_some() || needs.foresight),
                "senders decide by more than their own flow",
            ),
            (
                !self.switches.forget_what_is_over(),
                "switches keep a state between flows (detection, load balancing, halves of schemes)",
            ),
            (
                !self.hosts.forget_what_is_over(),
                "hosts keep a state between flows",
            ),
            (spec.switch.watchdog.is_some(), "a watchdog looks at pauses"),
        ];
        reasons.into_iter().find_map(|(is_so, why)| is_so.then_some(why))
    }

    /// A program begins or wakes.
    pub(super) fn program_event(&mut self, program: u32) {
        if self.memory.is_some() && self.traffic.is_woken(&self.core, program) {
            let event = Event::Program { program };
            let print = self.print_at_rest();
            if print.is_some_and(|print| self.comes_to(print, true, event)) {
                return;
            }
        }
        self.traffic.wake_program(&self.world, &mut self.core, program);
    }

    /// A flow starts, of a program or of the run's description.
    pub(super) fn start_event(&mut self, flow: FlowId) {
        if let Some(memory) = &mut self.memory {
            let src = self.world.flow(&self.core, flow).src;
            if *memory.marker.get_or_insert(src) == src {
                let event = Event::FlowStart { flow };
                let print = self.print_at_work(event);
                if print.is_some_and(|print| self.comes_to(print, false, event)) {
                    return;
                }
            }
        }
        self.flow_start(flow);
    }

    /// Whether it is time to look at so many words of the network's state. A word takes about a hundredth of an event: with an
    /// event for each, looks take a hundredth of the run.
    fn may_look(&self, words: u64) -> bool {
        let looked_at = self.memory.as_ref().map_or(0, |memory| memory.looked_at);
        self.core.counters.events - looked_at >= words
            && !self.traffic.kept().is_some_and(|memo| memo.is_catching_up())
    }

    /// The state of a network in which nothing is under way, if it is that.
    fn print_at_rest(&self) -> Option<Print> {
        let size = self.core.ports.len() * (2 + self.core.class_count()) + 16 * self.hosts.queue_pairs();
        if !self.traffic.is_quiet() || !self.may_look(size as u64) {
            return None;
        }
        let mut print = Print::new(self.core.now(), self.traffic.programs().next_number());
        let at_rest = self.core.is_at_rest(&mut print)
            && self.hosts.are_at_rest(&mut print)
            && self.switches.are_at_rest(&self.core, &mut print)
            && !self.may_renew_pauses()
            && !self.hosts.have_drawn(&self.world);
        at_rest.then_some(print)
    }

    /// The state of a network before this event, whatever is under way.
    fn print_at_work(&mut self, event: Event) -> Option<Print> {
        let (ports, events) = (self.core.ports.len() as u64, self.core.counters.events);
        let memory = self.memory.as_mut().expect("phases are kept");
        if memory.unlike.is_some() || events - memory.glanced_at < 2 * ports {
            return None;
        }
        memory.glanced_at = events;
        let (words, glance) = (memory.words, self.core.glance());
        let known = memory.glances.contains(&glance);
        if !self.may_look(if known { 0 } else { words }) {
            return None;
        }
        let mut print = Print::new(self.core.now(), self.traffic.programs().next_number());
        let like = self.note_all(event, &mut print);
        let memory = self.memory.as_mut().expect("phases are kept");
        memory.words = memory.words.max(print.words());
        if let Err(unlike) = like {
            memory.unlike = Some(unlike);
            return None;
        }
        // What was alike at a glance, and is not, is looked at no sooner than others.
        if known && !self.traffic.has_state(&print) {
            memory.glances.remove(&glance);
        } else {
            memory.glances.insert(glance);
        }
        Some(print)
    }

    /// Notes the whole state of the network.
    fn note_all(&mut self, event: Event, print: &mut Print) -> Result<(), &'static str> {
        let Self {
            world,
            core,
            switches,
            hosts,
            traffic,
            ..
        } = self;
        match event {
            Event::FlowStart { flow } => print.note_flow(flow),
            _ => print.note(u64::MAX),
        }
        core.note_ports(print)?;
        switches.note(print)?;
        hosts.note(world, print)?;
        let wakes = traffic.note(world, core, print);
        let (hosts, core) = (&*hosts, &*core);
        core.note_pending(print, wakes, |event, print| {
            let live = |flow| hosts.sender_of(flow).is_some();
            match event {
                Event::FlowStart { flow } | Event::Sent { flow } => {
                    print.note_flow(flow);
                    print.note(matches!(event, Event::Sent { .. }).into());
                    true
                }
                Event::Timer {
                    flow,
                    slot,
                    generation,
                } => {
                    print.note_flow(flow);
                    print.note(u64::from(slot) << 8 | u64::from(generation));
                    live(flow)
                }
                Event::Timeout { flow } => {
                    print.note_flow(flow);
                    live(flow)
                }
                Event::ReceiverTimer { flow } => {
                    print.note_flow(flow);
                    hosts.is_receiving(flow)
                }
                Event::Wake { port, generation } => {
                    print.note(u64::from(port.0));
                    hosts.is_armed(core.ports[port].nic(), generation)
                }
                // Wakes are noted themselves.
                Event::Program { .. } => false,
                other => {
                    print.note_whole(&other);
                    true
                }
            }
        });
        match self.may_renew_pauses() {
            true => Err("pauses end after a time, without a frame"),
            false => Ok(()),
        }
    }

    /// The network is in this state. Whether it stands still from here on.
    fn comes_to(&mut self, print: Print, quiet: bool, event: Event) -> bool {
        let now = self.core.now();
        let state = self.traffic.state(now, print, quiet);
        self.close_phase(state);
        let standing = Standing {
            state,
            at: self.in_run(now),
            flow: self.traffic.programs().next_number_in_run(),
            residue: print.finish(),
        };
        let memory = self.memory.as_mut().expect("phases are kept");
        memory.looked_at = self.core.counters.events;
        if !self.traffic.knows_more(&standing) {
            self.begin_phase(state, None);
            return false;
        }
        memory.standing = Some((standing, event));
        self.core.exchange_agenda(&mut memory.aside);
        let (ahead, digest) = (self.traffic.programs().ahead(), self.core.take_digest());
        let memo = self.traffic.kept_mut().expect("phases are kept");
        memo.taken.digest.add(&digest.shifted(ahead));
        let frames = std::mem::take(&mut self.core.watch.recorder.pfc);
        memo.taken
            .pfc
            .extend(frames.iter().map(|frame| later(frame, ahead)));
        true
    }

    /// Timed pauses are renewed by events that outlive them.
    fn may_renew_pauses(&self) -> bool {
        let timed = matches!(self.world.spec.switch.flow_control, FlowControl::Pfc(pfc) if pfc.mode != PfcMode::OnOff);
        timed && self.core.counters.pauses > 0
    }

    /// A phase has ended, if one was being simulated.
    fn close_phase(&mut self, state: u32) {
        let recorder = &mut self.core.watch.recorder;
        let round_trips = [
            recorder.rtt_per_ack.take(),
            recorder.rtt_per_round_trip.take(),
            recorder
                .latency
                .as_mut()
                .map_or_else(Default::default, RoundTrips::take),
        ];
        let begun = self.memory.as_ref().expect("phases are kept").begun;
        let (mut counters, mut sent, digest) = self.core.counted();
        counters.add(&begun.counters, Counters::MINUS_ONE);
        sent.add(&begun.sent, Counters::MINUS_ONE);
        let (now, completed) = (
            self.core.now(),
            self.traffic.completed_in_network() - begun.completed,
        );
        let memo = self.traffic.kept_mut().expect("phases are kept");
        for (sum, part) in memo.taken.round_trips.iter_mut().zip(&round_trips) {
            sum.add(part);
        }
        let pfc = &self.core.watch.recorder.pfc[begun.pfc.min(self.core.watch.recorder.pfc.len())..];
        memo.close(state, now, |from| {
            let earlier = from.wrapping_neg();
            Counts {
                counters,
                sent,
                digest: digest.without(&begun.digest).shifted(earlier),
                round_trips,
                pfc: pfc
                    .iter()
                    .map(|frame| later(frame, earlier))
                    .collect::<Vec<PfcEvent>>(),
                completed,
            }
        });
    }

    /// A phase begins that is to be simulated.
    fn begin_phase(&mut self, state: u32, known: Option<Beginning>) {
        let (counters, sent, digest) = self.core.counted();
        let flow = self.traffic.programs().next_number();
        let memory = self.memory.as_mut().expect("phases are kept");
        memory.begun = Begun {
            counters,
            sent,
            digest,
            pfc: self.core.watch.recorder.pfc.len(),
            completed: self.traffic.completed_in_network(),
        };
        let begin = Begin {
            at: self.core.now(),
            flow,
        };
        let memo = self.traffic.kept_mut().expect("phases are kept");
        memo.record(state, begin, known);
    }

    /// Whether the network stands still, and phases are taken from memory.
    pub(super) fn stands(&self) -> bool {
        self.memory
            .as_ref()
            .is_some_and(|memory| memory.standing.is_some())
    }

    /// Takes phases from memory. Whether the network goes on; otherwise it is time to say how far the run is.
    pub(super) fn replay(&mut self) -> bool {
        let memory = self.memory.as_mut().expect("it stands still");
        let (standing, event) = memory.standing.take().expect("it stands still");
        let stop = self.world.spec.stop.as_ps();
        match self.traffic.replay(&self.world, standing, stop) {
            Next::Standing(standing) => {
                memory.standing = Some((standing, event));
                false
            }
            Next::Network(standing, known) => {
                let first = self.go_on(&standing);
                self.begin_phase(standing.state, known);
                let event = first.map_or(event, |program| Event::Program { program });
                match event {
                    Event::Program { program } => {
                        self.traffic.wake_program(&self.world, &mut self.core, program);
                    }
                    Event::FlowStart { flow } => self.flow_start(flow),
                    _ => unreachable!("the network stands still before a flow starts or a program wakes"),
                }
                true
            }
        }
    }

    /// The network stands still no more: it is in this state. Returns which program wakes, if that is what happens.
    fn go_on(&mut self, standing: &Standing) -> Option<u32> {
        let memory = self.memory.as_mut().expect("it stood still");
        self.core.exchange_agenda(&mut memory.aside);
        memory.looked_at = self.core.counters.events;
        let first = self.traffic.move_on(&mut self.core, standing);
        let ahead = self.traffic.programs().ahead();
        self.core.watch.deadlock.move_on(self.core.now(), ahead);
        first
    }

    /// The run is over, perhaps while the network stands still.
    pub(super) fn stand_no_more(&mut self) {
        let standing = self.memory.as_mut().and_then(|memory| memory.standing.take());
        if let Some((standing, _)) = standing {
            self.go_on(&standing);
        }
    }

    /// What was taken from memory is counted.
    pub(super) fn count_taken(&mut self) {
        let ahead = self.traffic.programs().ahead();
        let Some(memo) = self.traffic.kept_mut() else {
            return;
        };
        let taken = std::mem::take(&mut memo.taken);
        let mut digest = self.core.take_digest().shifted(ahead);
        digest.add(&taken.digest);
        self.core.add_counted(&taken.counters, &taken.sent, &digest);
        let recorder = &mut self.core.watch.recorder;
        let frames = recorder.pfc.iter().map(|frame| later(frame, ahead));
        recorder.pfc = taken.pfc.into_iter().chain(frames).collect();
        let [per_ack, per_round_trip, latency] = taken.round_trips;
        recorder.rtt_per_ack.merge(&per_ack);
        recorder.rtt_per_round_trip.merge(&per_round_trip);
        if let Some(all) = &mut recorder.latency {
            all.merge(&latency);
        }
    }

    /// Events and packet-hops in phases that were taken.
    pub(super) fn taken(&self) -> (u64, u64) {
        let memo = self.traffic.kept();
        memo.map_or((0, 0), |memo| {
            (memo.taken.counters.events, memo.taken.sent.hops())
        })
    }

    /// An instant of the network in the run; while the network stands still, where the run is.
    pub(super) fn in_run(&self, at: u64) -> u64 {
        let standing = self.memory.as_ref().and_then(|memory| memory.standing);
        standing.map_or(at + self.traffic.programs().ahead(), |(standing, _)| standing.at)
    }

    /// The end of the run on the network's clock.
    pub(super) fn stop(&self) -> u64 {
        self.world.spec.stop.as_ps() - self.traffic.programs().ahead()
    }

    /// In a run of programs alone: the last instant in which one was called.
    pub(super) fn last_call(&self) -> Option<u64> {
        let programs = self.traffic.programs();
        let last = self.world.spec.is_of_programs().then(|| programs.last_call())?;
        Some(last - programs.ahead())
    }
}

/// Whether something is written down of certain instants.
fn records_time(record: &RecordSpec) -> bool {
    let every = [
        record.queue_every,
        record.queue_dump_every,
        record.rate_every,
        record.port_bin,
        record.state_every,
        record.credit_every,
        record.flow_every,
    ];
    every.iter().any(Option::is_some)
        || !record.trace_nodes.is_empty()
        || !record.trace_ports.is_empty()
        || record.rtt_samples
        || record.accounts != Accounted::None
        || !record.flow_probes.is_empty()
        || record.has_probes()
}

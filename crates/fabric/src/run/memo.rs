//! Exact memoisation: if a phase of a job starts in a known state of the network, it is taken from memory.
//!
//! States are compared when a program wakes in a network at rest, where little is left to compare, and now and then
//! when a flow starts while others are under way, packet by packet. If the state has occurred before, and its
//! continuation is known, the network is suspended, and programs are taken through the phases that followed then
//! ([`crate::traffic::replay`]), as long as they request the same as then. At the first difference the network
//! continues from the state in which it was suspended, with the new requests of the programs. Nothing is approximate:
//! the network's behaviour depends on its state and on the requests, and both are the same.

use std::collections::HashSet;

use paceline_congestion::Requirements;

use crate::core::cx::Cx;
use crate::core::digest::Digest;
use crate::core::event::Event;
use crate::core::link::Sent;
use crate::core::print::StateHash;
use crate::ids::FlowId;
use crate::run::simulation::Simulation;
use crate::traffic::memo::{Begin, Beginning, Counts, Memo, later};
use crate::traffic::replay::{Next, Standing};
use crate::watch::record::RoundTrips;
use paceline_kernel::queue::EventQueue;
use paceline_run::outcome::{Counters, PfcEvent, Repeats};
use paceline_run::spec::{Accounted, FlowControl, NodeId, PfcMode, RecordSpec, Recovery, TieOrder};

/// Memoisation of a run's phases.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    /// While the network is suspended: its state, and the event with which it will continue.
    standing: Option<(Standing, Event)>,
    /// Pending events of the suspended network; empty at other times.
    aside: EventQueue,
    /// Counters at the start of the phase that is being simulated.
    begun: Begun,
    /// Number of events at the last comparison of states, and the cost of the last comparison of a network with
    /// packets, in words.
    looked_at: u64,
    words: u64,
    /// Number of events at the last glance.
    glanced_at: u64,
    /// Host whose flow starts are occasions for a comparison.
    marker: Option<NodeId>,
    /// Hashes of states compared so far, as glances give them: states that are likely to recur.
    glances: HashSet<u64>,
    /// Reason why states with packets under way cannot be compared; `None` if they can.
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
    /// Starts memoisation; with `checks`, a tenth of the known phases are simulated and compared. The run has to be
    /// advanced by events. Returns the reason if no phase could ever be taken from memory.
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

    /// Returns the numbers of phases that were simulated and that were taken from memory.
    pub fn repeats(&self) -> Option<Repeats> {
        let memo = self.traffic.kept()?;
        Some(Repeats {
            only_at_rest: self.memory.as_ref().and_then(|memory| memory.unlike),
            ..memo.report()
        })
    }

    /// Returns the reason why states of this network cannot recur, or why this run cannot be composed of phases.
    fn why_not(&self) -> Option<&'static str> {
        let spec = &*self.world.spec;
        let needs =
            |of: fn(&Requirements) -> bool| self.world.schemes.iter().any(|scheme| of(&scheme.needs()));
        // Most of these depend on absolute time, or have a state that fingerprints leave out.
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
            (spec.switch.isolation.is_some(), "switches isolate flows"),
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

    /// Starts or wakes a program, unless the network's state is known.
    pub(super) fn program_event(&mut self, program: u32) {
        if self.memory.is_some() && self.traffic.is_woken(&self.core, program) {
            let event = Event::Program { program };
            let print = self.print_at_rest();
            if print.is_some_and(|print| self.comes_to(print, true, event)) {
                return;
            }
        }
        self.traffic
            .wake_program(&mut Cx::new(&self.world, &mut self.core), program);
    }

    /// Starts a flow, of a program or of the run's description, unless the network's state is known.
    pub(super) fn start_event(&mut self, flow: FlowId) {
        if let Some(memory) = &mut self.memory {
            let src = self.world.flow(&self.core, flow).src;
            // One host's flows are enough: a phase that recurs passes the same flow start again.
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

    /// Returns true if a comparison of `words` words is due. A word takes about a hundredth of an event's time: with an
    /// event per word, comparisons take a hundredth of the run.
    fn may_look(&self, words: u64) -> bool {
        let looked_at = self.memory.as_ref().map_or(0, |memory| memory.looked_at);
        self.core.counters.events - looked_at >= words
            && !self.traffic.kept().is_some_and(|memo| memo.is_catching_up())
    }

    /// Returns the fingerprint of the network if nothing is under way in it.
    fn print_at_rest(&self) -> Option<StateHash> {
        let size = self.core.ports.len() * (2 + self.core.class_count()) + 16 * self.hosts.queue_pairs();
        if !self.traffic.is_quiet() || !self.may_look(size as u64) {
            return None;
        }
        let mut print = StateHash::new(self.core.now(), self.traffic.programs().next_number());
        let at_rest = self.core.is_at_rest(&mut print)
            && self.hosts.are_at_rest(&mut print)
            && self.switches.are_at_rest(&self.core, &mut print)
            && !self.may_renew_pauses()
            && !self.hosts.have_drawn(&self.world);
        at_rest.then_some(print)
    }

    /// Returns the fingerprint of the network before this event, with packets under way, if a comparison is due.
    fn print_at_work(&mut self, event: Event) -> Option<StateHash> {
        let (ports, events) = (self.core.ports.len() as u64, self.core.counters.events);
        let memory = self.memory.as_mut().expect("phases are kept");
        if memory.unlike.is_some() || events - memory.glanced_at < 2 * ports {
            return None;
        }
        memory.glanced_at = events;
        let (words, glance) = (memory.words, self.core.glance());
        let known = memory.glances.contains(&glance);
        // A glance is cheap, and a known one makes a recurrence likely enough to pay for the whole comparison.
        if !self.may_look(if known { 0 } else { words }) {
            return None;
        }
        let mut print = StateHash::new(self.core.now(), self.traffic.programs().next_number());
        let like = self.note_all(event, &mut print);
        let memory = self.memory.as_mut().expect("phases are kept");
        memory.words = memory.words.max(print.words());
        if let Err(unlike) = like {
            memory.unlike = Some(unlike);
            return None;
        }
        // A glance that was known by chance must not cause further early comparisons.
        if known && !self.traffic.has_state(&print) {
            memory.glances.remove(&glance);
        } else {
            memory.glances.insert(glance);
        }
        Some(print)
    }

    /// Notes the whole state of the network.
    fn note_all(&mut self, event: Event, print: &mut StateHash) -> Result<(), &'static str> {
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
            // Timers of flows that are over stay pending and do nothing, so they make no difference between states.
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
                // Noted separately, with the programs' requests.
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

    /// Notes that the network is in this state. Returns true if it is suspended from here on.
    fn comes_to(&mut self, print: StateHash, quiet: bool, event: Event) -> bool {
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
        // Without a known continuation the phase that starts here is simulated and recorded.
        if !self.traffic.knows_more(&standing) {
            self.begin_phase(state, None);
            return false;
        }
        memory.standing = Some((standing, event));
        // Its pending events are put aside, so that the suspended network cannot go on by itself.
        self.core.exchange_agenda(&mut memory.aside);
        let (ahead, digest) = (self.traffic.programs().ahead(), self.core.take_digest());
        let memo = self.traffic.kept_mut().expect("phases are kept");
        // Phases are stored relative to their start, so what was counted before is shifted to the run's time.
        memo.taken.digest.add(&digest.shifted(ahead));
        let frames = std::mem::take(&mut self.core.watch.recorder.pfc);
        memo.taken
            .pfc
            .extend(frames.iter().map(|frame| later(frame, ahead)));
        true
    }

    /// Returns true if timed pauses may be renewed: the events for that outlive the pauses.
    fn may_renew_pauses(&self) -> bool {
        let timed = matches!(self.world.spec.switch.flow_control, FlowControl::Pfc(pfc) if pfc.mode != PfcMode::OnOff);
        timed && self.core.counters.pauses > 0
    }

    /// Ends the phase that was being simulated, if there was one.
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
        // A phase's counters are the difference between its end and its start.
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

    /// Starts a phase that is to be simulated.
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

    /// Returns true if the network is suspended, and phases are taken from memory.
    pub(super) fn stands(&self) -> bool {
        self.memory
            .as_ref()
            .is_some_and(|memory| memory.standing.is_some())
    }

    /// Takes phases from memory. Returns true if the network continues; otherwise it is time to report progress.
    pub(super) fn replay(&mut self) -> bool {
        let memory = self.memory.as_mut().expect("it stands still");
        let (standing, event) = memory.standing.take().expect("it stands still");
        // A phase cannot be cut short, so those that would pass the stop are simulated.
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
                        self.traffic
                            .wake_program(&mut Cx::new(&self.world, &mut self.core), program);
                    }
                    Event::FlowStart { flow } => self.flow_start(flow),
                    _ => unreachable!("the network stands still before a flow starts or a program wakes"),
                }
                true
            }
        }
    }

    /// Continues the suspended network in this state. Returns the program that wakes, if one does.
    fn go_on(&mut self, standing: &Standing) -> Option<u32> {
        let memory = self.memory.as_mut().expect("it stood still");
        self.core.exchange_agenda(&mut memory.aside);
        memory.looked_at = self.core.counters.events;
        let first = self.traffic.move_on(&mut self.core, standing);
        let ahead = self.traffic.programs().ahead();
        self.core.watch.deadlock.move_on(self.core.now(), ahead);
        first
    }

    /// Continues the network at the end of the run, if it is suspended then.
    pub(super) fn stand_no_more(&mut self) {
        let standing = self.memory.as_mut().and_then(|memory| memory.standing.take());
        if let Some((standing, _)) = standing {
            self.go_on(&standing);
        }
    }

    /// Adds the counters of the phases taken from memory.
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

    /// Returns the events and packet-hops of the phases taken from memory.
    pub(super) fn taken(&self) -> (u64, u64) {
        let memo = self.traffic.kept();
        memo.map_or((0, 0), |memo| {
            (memo.taken.counters.events, memo.taken.sent.hops())
        })
    }

    /// Converts a time of the network to the run's time; while the network is suspended, returns the progress of the
    /// run.
    pub(super) fn in_run(&self, at: u64) -> u64 {
        let standing = self.memory.as_ref().and_then(|memory| memory.standing);
        standing.map_or(at + self.traffic.programs().ahead(), |(standing, _)| standing.at)
    }

    /// Returns the end of the run on the network's clock.
    pub(super) fn stop(&self) -> u64 {
        self.world.spec.stop.as_ps() - self.traffic.programs().ahead()
    }

    /// Returns the last instant at which a program was called, if the run has programs alone.
    pub(super) fn last_call(&self) -> Option<u64> {
        let programs = self.traffic.programs();
        let last = self.world.spec.is_of_programs().then(|| programs.last_call())?;
        Some(last - programs.ahead())
    }
}

/// Returns true if a recorder depends on certain instants.
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

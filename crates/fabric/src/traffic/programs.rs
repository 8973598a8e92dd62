//! Flows of programs, which start as the run goes on, depending on earlier flows.
//!
//! A program only reacts: it is called, and requests wake-ups and flows. Each call has two halves. One is the
//! program's: the event that it is called for, and its requests. The other is the network's: the events that are
//! scheduled. If a phase is taken from memory ([`super::memo`]), only the program's half happens. So the program's
//! times and numbers are those of the run, and the network's are behind them by a [`Shift`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use paceline_kernel::Time;
use paceline_kernel::queue::LaneId;

use super::memo::{Call, CallKind, Known, Memo, PendingWake};
use crate::core::Core;
use crate::core::cx::Cx;
use crate::core::event::Event;
use crate::core::flows::Underway;
use crate::core::print::{Part, StateHash};
use crate::ids::FlowId;
use crate::traffic::Traffic;
use crate::traffic::records::Records;
use paceline_run::outcome::{EndedFlow, FlowRecord, ModelOutcome};
use paceline_run::spec::{Asks, Awaited, FlowSpec, RunSpec, State, TieOrder};

/// All programs of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Programs {
    all: Vec<Running>,
    /// Flows that programs have started and that are not over, by their numbers in the run.
    told: Underway<ProgramFlow>,
    /// Number of a program's next flow, behind all others: in the network, and in the run.
    next: u32,
    pub(super) next_in_run: u32,
    /// Number of the first flow of a program.
    first: u32,
    shift: Shift,
    /// True if events of an instant run in the order of requests. Then each wake-up has a separate position among them,
    /// and flows start at once.
    counted: bool,
    /// Memory of phases; `None` without memoisation.
    pub(super) memo: Option<Box<Memo>>,
    /// Scratch memory for the requests of a call.
    requests: Vec<Request>,
    /// Last instant of the run in which a program was called, or a flow ended.
    last: u64,
}

/// Lead of the run over the network: in time (ps), and in numbers of flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Shift {
    time: u64,
    flows: u32,
}

/// A program's flow: its program, the program's name for it, and its description.
#[derive(Clone, Copy, Debug)]
struct ProgramFlow {
    program: u32,
    message: u32,
    flow: FlowSpec,
}

/// A wake-up: its time, the time of the request, the rank, a running number, and its token. Times are in ps of the run.
type Wake = (u64, u64, u64, u64, u64);

/// State of one program.
#[derive(Clone, Debug)]
struct Running {
    state: State,
    begun: bool,
    /// Times of pending wake-ups, in ps of the network, in the order of the requests. If events are counted, the order
    /// is the position among all events.
    wakes: BinaryHeap<Reverse<(u64, u64)>>,
    /// Pending wake-ups in the order in which the program is called for them, and the number of all so far.
    tokens: BinaryHeap<Reverse<Wake>>,
    count: u64,
    asked: u64,
    /// Time and position of the next event that wakes the program.
    armed: (u64, u64),
}

/// Value of `armed` without such an event.
const NEVER: (u64, u64) = (u64::MAX, u64::MAX);

/// A request of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request {
    /// Wake-up at a time of the run.
    Wake { at: Time, token: u64 },
    /// Start of a flow.
    Send { message: u32, flow: FlowSpec },
}

/// Requests that a program makes during a call.
struct Asking<'a> {
    now: Time,
    requests: &'a mut Vec<Request>,
}

impl Asks for Asking<'_> {
    fn now(&self) -> Time {
        self.now
    }

    fn wake(&mut self, at: Time, token: u64) {
        let at = at.max(self.now);
        self.requests.push(Request::Wake { at, token });
    }

    fn send(&mut self, message: u32, flow: FlowSpec) {
        self.requests.push(Request::Send { message, flow });
    }
}

impl Programs {
    pub(super) fn of(spec: &RunSpec) -> Self {
        let running = |program: &paceline_run::spec::Program| Running {
            state: program.state.clone(),
            begun: false,
            wakes: BinaryHeap::new(),
            tokens: BinaryHeap::new(),
            count: 0,
            asked: 0,
            armed: NEVER,
        };
        let first = spec.described_flows() as u32;
        Self {
            all: spec.programs.iter().map(running).collect(),
            next: first,
            next_in_run: first,
            first,
            counted: spec.ties == TieOrder::Insertion,
            ..Self::default()
        }
    }

    /// Returns true if all programs have ended.
    pub(super) fn are_done(&self) -> bool {
        self.all.iter().all(|program| program.state.is_done())
    }

    /// Returns the finished iterations and all iterations of the repeating program that has made the least progress.
    pub(crate) fn iterations(&self) -> Option<(u32, u32)> {
        let all = self.all.iter().filter_map(|program| program.state.iterations());
        all.min_by_key(|&(over, of)| (u64::from(over) << 32) / u64::from(of.max(1)))
    }

    /// Returns true if all programs have started.
    pub(super) fn have_begun(&self) -> bool {
        self.all.iter().all(|program| program.begun)
    }

    /// Returns the number of flows that programs have started.
    pub(super) fn started(&self) -> u64 {
        u64::from(self.next_in_run - self.first)
    }

    /// Returns true if a program is to be woken after `now`.
    pub(super) fn are_expecting(&self, now: u64) -> bool {
        let wakes = |program: &Running| program.wakes.peek().map(|&Reverse((at, ..))| at);
        self.all.iter().filter_map(wakes).any(|at| at > now)
    }

    pub(super) fn close(&self) -> Vec<ModelOutcome> {
        self.all.iter().map(|program| program.state.close()).collect()
    }

    /// Returns the last instant of the run in which a program was called.
    pub(crate) fn last_call(&self) -> u64 {
        self.last
    }

    /// Returns the lead of the run over the network, in ps.
    pub(crate) fn ahead(&self) -> u64 {
        self.shift.time
    }

    /// Returns true if a flow of the network is a program's.
    pub(super) fn has(&self, flow: FlowId) -> bool {
        flow.0 >= self.first && !self.all.is_empty()
    }

    fn in_run(&self, flow: FlowId) -> FlowId {
        FlowId(flow.0.wrapping_add(self.shift.flows))
    }

    /// Returns true if the event that wakes a program now is the one that it waits for.
    pub(super) fn is_armed(&self, at: u64, tie: u64, program: u32) -> bool {
        let tie = if self.counted { tie } else { 0 };
        self.all[program as usize].armed == (at, tie)
    }

    /// Returns the number of the next flow, in the network.
    pub(crate) fn next_number(&self) -> u32 {
        self.next
    }

    /// Returns the number of the next flow, in the run.
    pub(crate) fn next_number_in_run(&self) -> u32 {
        self.next_in_run
    }

    /// Returns the pending wake-ups in the order of their events; those of an instant in the order in which programs
    /// are called.
    pub(super) fn pending_wakes(&self, now: u64) -> Vec<PendingWake> {
        let mut pending: Vec<_> = (0..)
            .zip(&self.all)
            .flat_map(|(program, running)| {
                let all = running.wakes.iter();
                all.map(move |&Reverse((at, asked))| (at, asked, program))
            })
            .collect();
        match self.counted {
            true => pending.sort_unstable(),
            false => pending.sort_unstable_by_key(|&(at, asked, program)| (at, program, asked)),
        }
        let wake = |(at, _, program)| PendingWake {
            after: at - now,
            program,
        };
        pending.into_iter().map(wake).collect()
    }

    /// Runs the program's half of a call, at a time of the run. `of` is the number of its flow there.
    pub(super) fn ask(&mut self, now: u64, index: (CallKind, u32, u32), requests: &mut Vec<Request>) {
        let (what, program, of) = index;
        self.last = now;
        let mut asks = Asking {
            now: Time::from_ps(now),
            requests,
        };
        let told = match what {
            CallKind::Begin | CallKind::Woken | CallKind::Ended => None,
            _ => self.told.get(FlowId(of)),
        };
        let message = told.map_or(0, |told| told.message);
        let Running { state, tokens, .. } = &mut self.all[program as usize];
        match what {
            CallKind::Begin => state.begin(&mut asks),
            CallKind::Woken => {
                let woken = tokens.pop().expect("a wake was asked for");
                assert_eq!(woken.0.0, now, "a wake comes at its time");
                state.woken(woken.0.4, &mut asks);
            }
            CallKind::Left => state.left(message, &mut asks),
            CallKind::Received => state.heard(message, Awaited::Received, &mut asks),
            CallKind::Acknowledged => state.heard(message, Awaited::Acknowledged, &mut asks),
            CallKind::Ended => {}
        }
    }

    /// Enters a program's requests under their numbers in the run.
    pub(super) fn enter(&mut self, program: u32, requests: &[Request]) {
        for request in requests {
            match *request {
                Request::Wake { at, token } => {
                    let running = &mut self.all[program as usize];
                    running.count += 1;
                    // If events are counted, earlier requests come first. Among requests of one time the lower rank
                    // comes first, so that iterations that do the same do it in the same order.
                    let asked = if self.counted { self.last } else { 0 };
                    let index = (at.as_ps(), asked, token >> 32, running.count, token);
                    running.tokens.push(Reverse(index));
                }
                Request::Send { message, flow } => {
                    let told = ProgramFlow {
                        program,
                        message,
                        flow,
                    };
                    self.told.insert(FlowId(self.next_in_run), told);
                    self.next_in_run += 1;
                }
            }
        }
    }

    /// Runs the network's half of a call.
    fn arrange(&mut self, core: &mut Core, flows: &mut Records, program: u32, requests: &[Request]) {
        let behind = self.shift.time;
        for request in requests {
            match *request {
                Request::Wake { at, .. } => self.keep_wake(core, program, at.as_ps() - behind),
                Request::Send { mut flow, .. } => {
                    let id = FlowId(self.next);
                    self.next += 1;
                    flow.start = Time::from_ps(core.now());
                    core.describe(id, flow);
                    flows.begin(id, FlowRecord::not_started(&flow));
                    let (now, tie) = core.instant();
                    let start = Event::FlowStart { flow: id };
                    match self.counted {
                        // Of several such flows the one with the lower number starts first.
                        true => core.schedule_tied(now, tie, start),
                        false => core.schedule(LaneId::WHEEL, now, start),
                    }
                }
            }
        }
    }

    /// Notes that a program is to be woken at an instant of the network.
    fn keep_wake(&mut self, core: &mut Core, program: u32, at: u64) {
        let running = &mut self.all[program as usize];
        // If events are counted, the wake-up takes its position now, and has its event only when it is the next.
        running.asked = match self.counted {
            true => core.agenda.reserve(1),
            false => running.asked + 1,
        };
        running.wakes.push(Reverse((at, running.asked)));
    }

    /// Ends a flow of the network. Returns it as a flow of the run, unless its end is known already.
    pub(super) fn end(&mut self, now: u64, flow: FlowId, record: FlowRecord) -> Option<EndedFlow> {
        if let Some(memo) = &mut self.memo {
            let index = Call {
                at: now,
                of: flow.0,
                program: 0,
                what: CallKind::Ended,
            };
            if memo.note_end(index, &record) {
                return None;
            }
        }
        Some(self.leave(flow, record))
    }

    /// Returns a flow of the network as a flow of the run, when it is over or the run is.
    pub(super) fn leave(&mut self, flow: FlowId, record: FlowRecord) -> EndedFlow {
        let flow = self.in_run(flow);
        self.ended(flow, shifted(record, self.shift.time))
    }

    /// Ends a flow of the run, and returns its results.
    pub(super) fn ended(&mut self, flow: FlowId, record: FlowRecord) -> EndedFlow {
        let told = self.told.remove(flow).expect("a flow ends once");
        EndedFlow {
            flow: flow.0,
            spec: told.flow,
            record,
        }
    }

    /// Schedules the event of the program's next wake-up, unless an earlier one is pending.
    fn arm(&mut self, core: &mut Core, program: u32) {
        let counted = self.counted;
        let running = &mut self.all[program as usize];
        let Some(&Reverse((at, asked))) = running.wakes.peek() else {
            return;
        };
        let next = (at, if counted { asked } else { 0 });
        // The event that is pending comes first, and will arm this one.
        if next >= running.armed {
            return;
        }
        running.armed = next;
        let event = Event::Program { program };
        match counted {
            true => core.schedule_tied(at, asked, event),
            false => core.schedule(LaneId::WHEEL, at, event),
        }
    }

    /// Continues the suspended network at another point of the run: at its time `at`, where the next flow's number is
    /// `flow`.
    pub(super) fn move_on(&mut self, core: &Core, at: u64, flow: u32) {
        self.shift = Shift {
            time: at - core.now(),
            flows: flow.wrapping_sub(self.next),
        };
    }

    /// Replaces all pending wake-ups by these. The first of them is the event that happens now. Returns its program.
    pub(super) fn wake_at(&mut self, core: &mut Core, wakes: &[PendingWake]) -> u32 {
        let now = core.now();
        for running in &mut self.all {
            running.wakes.clear();
            // Events that are pending for the old wake-ups find that they are not armed.
            running.armed = NEVER;
        }
        let first = wakes[0].program;
        for wake in wakes {
            self.keep_wake(core, wake.program, now + wake.after);
        }
        let running = &mut self.all[first as usize];
        if let (true, Some(&Reverse((_, asked)))) = (self.counted, running.wakes.peek()) {
            core.stand_at(asked);
            running.armed = (now, asked);
        } else {
            running.armed = (now, 0);
        }
        for program in 0..self.all.len() as u32 {
            self.arm(core, program);
        }
        first
    }

    /// Notes flows under way, and wake-ups if they have no position among all events; returns those that have.
    pub(super) fn note(
        &self,
        now: u64,
        flows: &Records,
        print: &mut StateHash,
        mut ways: impl FnMut(FlowId) -> u64,
    ) -> Vec<(u64, u64, [u64; 2])> {
        print.begin(Part::Flows);
        let mut underway: Vec<(FlowId, &FlowRecord)> = flows.underway().collect();
        underway.sort_unstable_by_key(|&(flow, _)| flow);
        for (flow, record) in underway {
            let told = self.told.get(self.in_run(flow));
            let &ProgramFlow {
                program, flow: spec, ..
            } = told.expect("a flow of a program is told of until it is over");
            print.note_flow(flow);
            print.note(u64::from(program));
            print.note(u64::from(spec.src.0) << 32 | u64::from(spec.dst.0));
            print.note(spec.size.get());
            print.note(u64::from(spec.class) << 16 | u64::from(spec.scheme));
            print.note(ways(flow));
            print.note_whole(record);
        }
        print.begin(Part::Coming);
        if !self.counted {
            self.pending_wakes(now).iter().for_each(|wake| wake.note(print));
            return Vec::new();
        }
        let all = (0..).zip(&self.all).flat_map(|(program, running)| {
            let wakes = running.wakes.iter();
            wakes.map(move |&Reverse((at, asked))| (at, asked, [program, 3]))
        });
        all.collect()
    }
}

/// Converts a record of the network to the run's time.
pub(super) fn shifted(record: FlowRecord, time: u64) -> FlowRecord {
    let later = |at: Time| Time::from_ps(at.as_ps().wrapping_add(time));
    FlowRecord {
        start: later(record.start),
        received: record.received.map(later),
        ..record
    }
}

impl Traffic {
    /// Returns the number of flows that programs have started so far.
    pub(crate) fn started_by_programs(&self) -> u64 {
        self.programs.started()
    }

    /// Returns true if all programs have ended.
    pub(crate) fn programs_are_done(&self) -> bool {
        self.programs.are_done()
    }

    /// Starts a program, or calls it for every wake-up that is due.
    pub(crate) fn wake_program(&mut self, cx: &mut Cx<'_>, program: u32) {
        let (now, tie) = cx.core.instant();
        let counted = self.programs.counted;
        let running = &mut self.programs.all[program as usize];
        if !running.begun {
            running.begun = true;
            self.call_program(cx, program, CallKind::Begin, 0);
        } else if self.is_woken(cx.core, program) {
            self.programs.all[program as usize].armed = NEVER;
        } else {
            // The program waits for another event, which was requested later and comes earlier.
            return;
        }
        loop {
            let wakes = &mut self.programs.all[program as usize].wakes;
            let Some(&Reverse((at, asked))) = wakes.peek() else {
                break;
            };
            // A wake-up of this instant may be ordered behind the running event, and has a separate event.
            if at > now || counted && asked > tie {
                break;
            }
            wakes.pop();
            self.call_program(cx, program, CallKind::Woken, 0);
        }
        self.programs.arm(cx.core, program);
    }

    /// Returns true if the running event wakes the program, and it has started.
    pub(crate) fn is_woken(&self, core: &Core, program: u32) -> bool {
        let (now, tie) = core.instant();
        self.programs.is_armed(now, tie, program)
    }

    /// Notes that the last packet of a flow has left its host, for the first time.
    pub(crate) fn flow_sent(&mut self, cx: &mut Cx<'_>, flow: FlowId) {
        self.tell(cx, flow, CallKind::Left);
    }

    /// Calls the program that started the flow, if one did.
    pub(super) fn tell_program(&mut self, cx: &mut Cx<'_>, flow: FlowId, what: Awaited) {
        match what {
            Awaited::Started => {}
            Awaited::Received => self.tell(cx, flow, CallKind::Received),
            Awaited::Acknowledged => self.tell(cx, flow, CallKind::Acknowledged),
        }
    }

    fn tell(&mut self, cx: &mut Cx<'_>, flow: FlowId, what: CallKind) {
        if !self.programs.has(flow) {
            return;
        }
        // If the call is known, the flow may be over in the run already.
        let known = self.programs.memo.as_ref().and_then(|memo| memo.known_program());
        let told = || Some(self.programs.told.get(self.programs.in_run(flow))?.program);
        let Some(program) = known.or_else(told) else {
            return;
        };
        self.call_program(cx, program, what, flow.0);
        self.programs.arm(cx.core, program);
    }

    /// Runs both halves of a call. `of` is the number of the flow in the network.
    fn call_program(&mut self, cx: &mut Cx<'_>, program: u32, what: CallKind, of: u32) {
        let programs = &mut self.programs;
        let mut requests = std::mem::take(&mut programs.requests);
        requests.clear();
        let index = Call {
            at: cx.core.now(),
            of,
            program,
            what,
        };
        let behind = programs.shift.time;
        let known = programs
            .memo
            .as_mut()
            .map_or(Known::No, |memo| memo.known(index, &mut requests));
        // A known call was made while the network was suspended: to ask the program again would advance it twice.
        if known == Known::No {
            let of = match what {
                CallKind::Begin | CallKind::Woken => 0,
                _ => programs.in_run(FlowId(of)).0,
            };
            programs.ask(cx.core.now() + behind, (what, program, of), &mut requests);
        }
        if known != Known::Whole {
            programs.enter(program, &requests);
        }
        if let Some(memo) = &mut programs.memo {
            memo.note_call(cx.world, index, behind, &requests);
        }
        programs.arrange(cx.core, &mut self.flows, program, &requests);
        programs.requests = requests;
    }
}

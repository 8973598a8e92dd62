//! Flows of programs: they start as the run goes on, and what becomes of them decides over the next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use paceline_kernel::Time;
use paceline_kernel::queue::LaneId;

use crate::core::Core;
use crate::core::event::Event;
use crate::core::flows::Underway;
use crate::ids::FlowId;
use crate::traffic::Traffic;
use crate::traffic::records::Records;
use paceline_run::outcome::{FlowRecord, ModelOutcome};
use paceline_run::spec::{Asks, Awaited, FlowSpec, RunSpec, State, TieOrder};

/// All programs of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Programs {
    all: Vec<Running>,
    /// Flows that a program has started and still hears of: whose, and how it calls them.
    told: Underway<(u32, u32)>,
    /// The number of the next flow of a program: behind all others.
    next: u32,
    /// Flows that programs have started.
    started: u64,
    /// Whether events of an instant run in the order in which they were asked for: then each time has a place of its own
    /// among them, and flows start at once.
    counted: bool,
}

/// A program under way.
#[derive(Clone, Debug)]
struct Running {
    state: State,
    begun: bool,
    /// Times at which it is to be woken, in ps, in the order in which it asked, with its tokens. Where that is counted, the
    /// order is the place among all events.
    wakes: BinaryHeap<Reverse<(u64, u64, u64)>>,
    asked: u64,
    /// The time and place of the event that wakes it next.
    armed: (u64, u64),
}

/// None.
const NEVER: (u64, u64) = (u64::MAX, u64::MAX);

/// What a program can ask for during a call.
struct Asking<'a> {
    core: &'a mut Core,
    flows: &'a mut Records,
    told: &'a mut Underway<(u32, u32)>,
    next: &'a mut u32,
    started: &'a mut u64,
    wakes: &'a mut BinaryHeap<Reverse<(u64, u64, u64)>>,
    asked: &'a mut u64,
    program: u32,
    counted: bool,
}

impl Asks for Asking<'_> {
    fn now(&self) -> Time {
        Time::from_ps(self.core.now())
    }

    fn wake(&mut self, at: Time, token: u64) {
        let at = at.as_ps().max(self.core.now());
        *self.asked = match self.counted {
            true => self.core.agenda.reserve(1),
            false => *self.asked + 1,
        };
        self.wakes.push(Reverse((at, *self.asked, token)));
    }

    fn send(&mut self, message: u32, flow: FlowSpec) {
        let id = FlowId(*self.next);
        *self.next += 1;
        *self.started += 1;
        self.core.describe(id, flow);
        self.flows.begin(id, FlowRecord::not_started(&flow));
        self.told.insert(id, (self.program, message));
        let (now, tie) = self.core.instant();
        let start = Event::FlowStart { flow: id };
        match self.counted {
            // Of several the one with the lower number goes first.
            true => self.core.schedule_tied(now, tie, start),
            false => self.core.schedule(LaneId::WHEEL, now, start),
        }
    }
}

impl Programs {
    pub(super) fn of(spec: &RunSpec) -> Self {
        let running = |program: &paceline_run::spec::Program| Running {
            state: program.state.clone(),
            begun: false,
            wakes: BinaryHeap::new(),
            asked: 0,
            armed: NEVER,
        };
        Self {
            all: spec.programs.iter().map(running).collect(),
            next: spec.described_flows() as u32,
            counted: spec.ties == TieOrder::Insertion,
            ..Self::default()
        }
    }

    /// Whether all have come to their end.
    pub(super) fn are_done(&self) -> bool {
        self.all.iter().all(|program| program.state.is_done())
    }

    /// Flows that they have started.
    pub(super) fn started(&self) -> u64 {
        self.started
    }

    /// Whether one is to be woken after `now`.
    pub(super) fn are_expecting(&self, now: u64) -> bool {
        let wakes = |program: &Running| program.wakes.peek().map(|&Reverse((at, ..))| at);
        self.all.iter().filter_map(wakes).any(|at| at > now)
    }

    pub(super) fn close(&self) -> Vec<ModelOutcome> {
        self.all.iter().map(|program| program.state.close()).collect()
    }
}

impl Traffic {
    /// Flows that programs have started so far.
    pub(crate) fn started_by_programs(&self) -> u64 {
        self.programs.started()
    }

    /// Whether programs have come to their end.
    pub(crate) fn programs_are_done(&self) -> bool {
        self.programs.are_done()
    }

    /// A program begins, or is woken: it is told of every time that has come.
    pub(crate) fn wake_program(&mut self, core: &mut Core, program: u32) {
        let (now, tie) = core.instant();
        let counted = self.programs.counted;
        let running = &mut self.programs.all[program as usize];
        if !running.begun {
            running.begun = true;
            self.call_program(core, program, |state, asks| state.begin(asks));
        } else if running.armed == (now, if counted { tie } else { 0 }) {
            running.armed = NEVER;
        } else {
            // Another event wakes it, which was asked for later and comes earlier.
            return;
        }
        loop {
            let wakes = &mut self.programs.all[program as usize].wakes;
            let Some(&Reverse((at, asked, token))) = wakes.peek() else {
                break;
            };
            if at > now || counted && asked > tie {
                break;
            }
            wakes.pop();
            self.call_program(core, program, |state, asks| state.woken(token, asks));
        }
        self.arm_program(core, program);
    }

    /// The last packet of a flow has left its host, for the first time.
    pub(crate) fn flow_sent(&mut self, core: &mut Core, flow: FlowId) {
        if let Some(&(program, message)) = self.programs.told.get(flow) {
            self.call_program(core, program, |state, asks| state.left(message, asks));
            self.arm_program(core, program);
        }
    }

    /// Something has happened to a flow: the program that started it hears of it, if one did.
    pub(super) fn tell_program(&mut self, core: &mut Core, flow: FlowId, what: Awaited) {
        let Some(&(program, message)) = self.programs.told.get(flow) else {
            return;
        };
        match what {
            Awaited::Started => return,
            Awaited::Received => {}
            Awaited::Acknowledged => {
                self.programs.told.remove(flow);
            }
        }
        self.call_program(core, program, |state, asks| state.heard(message, what, asks));
        self.arm_program(core, program);
    }

    fn call_program(&mut self, core: &mut Core, program: u32, call: impl FnOnce(&mut State, &mut dyn Asks)) {
        let Programs {
            all,
            told,
            next,
            started,
            counted,
        } = &mut self.programs;
        let running = &mut all[program as usize];
        let mut asks = Asking {
            core,
            flows: &mut self.flows,
            told,
            next,
            started,
            wakes: &mut running.wakes,
            asked: &mut running.asked,
            program,
            counted: *counted,
        };
        call(&mut running.state, &mut asks);
    }

    /// Sees to it that an event wakes the program when it next asked for that.
    fn arm_program(&mut self, core: &mut Core, program: u32) {
        let counted = self.programs.counted;
        let running = &mut self.programs.all[program as usize];
        let Some(&Reverse((at, asked, _))) = running.wakes.peek() else {
            return;
        };
        let next = (at, if counted { asked } else { 0 });
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
}

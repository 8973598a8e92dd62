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
use paceline_run::spec::{Asks, Awaited, FlowSpec, RunSpec, State};

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
}

/// A program under way.
#[derive(Clone, Debug)]
struct Running {
    state: State,
    begun: bool,
    /// Times at which it is to be woken, in ps, in the order in which it asked, with its tokens.
    wakes: BinaryHeap<Reverse<(u64, u64, u64)>>,
    asked: u64,
    /// The earliest time of an event that wakes it, in ps.
    armed: u64,
}

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
}

impl Asks for Asking<'_> {
    fn now(&self) -> Time {
        Time::from_ps(self.core.now())
    }

    fn wake(&mut self, at: Time, token: u64) {
        let at = at.as_ps().max(self.core.now());
        self.wakes.push(Reverse((at, *self.asked, token)));
        *self.asked += 1;
    }

    fn send(&mut self, message: u32, flow: FlowSpec) {
        let id = FlowId(*self.next);
        *self.next += 1;
        *self.started += 1;
        self.core.describe(id, flow);
        self.flows.begin(id, FlowRecord::not_started(&flow));
        self.told.insert(id, (self.program, message));
        self.core
            .schedule(LaneId::WHEEL, self.core.now(), Event::FlowStart { flow: id });
    }
}

impl Programs {
    pub(super) fn of(spec: &RunSpec) -> Self {
        let running = |program: &paceline_run::spec::Program| Running {
            state: program.state.clone(),
            begun: false,
            wakes: BinaryHeap::new(),
            asked: 0,
            armed: u64::MAX,
        };
        Self {
            all: spec.programs.iter().map(running).collect(),
            next: spec.described_flows() as u32,
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
        let running = &mut self.programs.all[program as usize];
        running.armed = u64::MAX;
        if !running.begun {
            running.begun = true;
            self.call_program(core, program, |state, asks| state.begin(asks));
        }
        loop {
            let wakes = &mut self.programs.all[program as usize].wakes;
            let Some(&Reverse((at, _, token))) = wakes.peek() else {
                break;
            };
            if at > core.now() {
                break;
            }
            wakes.pop();
            self.call_program(core, program, |state, asks| state.woken(token, asks));
        }
        self.arm_program(core, program);
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
        };
        call(&mut running.state, &mut asks);
    }

    /// Sees to it that an event wakes the program when it next asked for that.
    fn arm_program(&mut self, core: &mut Core, program: u32) {
        let running = &mut self.programs.all[program as usize];
        if let Some(&Reverse((at, ..))) = running.wakes.peek()
            && at < running.armed
        {
            running.armed = at;
            core.schedule(LaneId::WHEEL, at, Event::Program { program });
        }
    }
}

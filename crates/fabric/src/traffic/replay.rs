//! Replay of phases from memory: programs go through them while the network is suspended.
//!
//! The network is suspended in one state, and can continue from that state alone (the *anchor*), or from one that
//! differs from it only in wake-ups. Phases may lead through other states, as long as they come back.

use std::collections::BTreeSet;

use super::memo::{Asked, Beginning, CallKind, Item, Memo};
use super::programs::{Request, shifted};
use crate::core::Core;
use crate::core::print::StateHash;
use crate::ids::FlowId;
use crate::traffic::Traffic;
use crate::world::World;
use paceline_kernel::rng::mix;

/// Number of calls in a row, before the run's progress is reported.
const SLICE: usize = 1 << 17;

/// Point of a run whose network is suspended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(crate) state: u32,
    /// Time in the run, and the number of the next flow there.
    pub(crate) at: u64,
    pub(crate) flow: u32,
    /// Fingerprint shared by the states from which the network can continue.
    pub(crate) residue: u128,
}

/// Continuation of a run.
#[derive(Debug)]
pub(crate) enum Next {
    /// From memory, at this point.
    Standing(Standing),
    /// By simulation: from this state, behind the known start of the phase.
    Network(Standing, Option<Beginning>),
}

/// Calls and requests of programs since the anchor.
#[derive(Default)]
struct Since {
    items: Vec<Item>,
    requests: Vec<Request>,
    /// Phases, and their start times.
    phases: Vec<(u32, u64)>,
}

/// Position of programs within a phase.
struct Through {
    phase: u32,
    item: usize,
    asked: usize,
    end: usize,
}

impl Traffic {
    /// Takes phases from memory for a while, or until one is unknown. No phase may end after `stop`.
    pub(crate) fn replay(&mut self, world: &World, anchor: Standing, stop: u64) -> Next {
        let (mut anchor, mut here, mut since) = (anchor, anchor, Since::default());
        let mut left = SLICE;
        while left > 0 || !since.phases.is_empty() {
            let memo = self.memo();
            let fits = |&&phase: &&u32| here.at + memo.phases[phase as usize].lasts <= stop;
            let known = memo.states[here.state as usize].phases.iter().find(fits).copied();
            let is_checked =
                || memo.checks && mix(memo.report.taken + memo.report.checked).is_multiple_of(10);
            // A known phase may be simulated as a check only at the anchor: elsewhere the network could not go on.
            let Some(phase) = known.filter(|_| !since.phases.is_empty() || !is_checked()) else {
                return Next::Network(anchor, since.beginning(None));
            };
            let (phase, whole) = self.go_through(world, (&anchor, &here, stop), phase, &mut since);
            if let Some(last) = whole {
                self.memo_mut().report.left += 1;
                return Next::Network(anchor, since.beginning(Some(last)));
            }
            since.phases.push((phase, here.at));
            let flow = self.programs.next_number_in_run();
            let memo = self.memo_mut();
            memo.came_last(here.state, phase);
            let done = &memo.phases[phase as usize];
            here = Standing {
                state: done.to,
                at: here.at + done.lasts,
                flow,
                residue: anchor.residue,
            };
            // The network could continue here, so counts are final. Between anchors, an unknown call makes the network
            // go through everything from the anchor on.
            if memo.states[here.state as usize].residue == anchor.residue {
                anchor = here;
                left = left.saturating_sub(since.items.len().max(1));
                since.items.clear();
                since.requests.clear();
                for (phase, at) in since.phases.drain(..) {
                    memo.take(phase, at);
                }
            }
        }
        Next::Standing(anchor)
    }

    /// Returns the state of a network with this fingerprint. `quiet`: states with the same fingerprint may differ in
    /// their wake-ups, which are compared too.
    pub(crate) fn state(&mut self, now: u64, print: StateHash, quiet: bool) -> u32 {
        let wakes = if quiet {
            self.programs.pending_wakes(now)
        } else {
            Vec::new()
        };
        self.memo_mut().state(print, wakes)
    }

    /// Returns true if no flow is under way, and all programs have started.
    pub(crate) fn is_quiet(&self) -> bool {
        self.programs.have_begun() && self.flows.underway().next().is_none()
    }

    /// Returns true if a sequence of known phases leads to a state from which the network can continue.
    pub(crate) fn knows_more(&self, standing: &Standing) -> bool {
        /// Largest number of states that are visited.
        const FAR: usize = 10_000;
        let memo = self.memo();
        let (mut seen, mut next) = (BTreeSet::new(), vec![standing.state]);
        while let Some(state) = next.pop() {
            for &phase in &memo.states[state as usize].phases {
                let to = memo.phases[phase as usize].to;
                if memo.states[to as usize].residue == standing.residue {
                    return true;
                }
                // Bounded, as a longer search would cost more than it could save.
                if seen.len() < FAR && seen.insert(to) {
                    next.push(to);
                }
            }
        }
        false
    }

    /// Continues the network in this state. Returns the program that wakes, if one does.
    pub(crate) fn move_on(&mut self, core: &mut Core, standing: &Standing) -> Option<u32> {
        self.programs.move_on(core, standing.at, standing.flow);
        let wakes = std::mem::take(&mut self.memo_mut().states[standing.state as usize].wakes);
        let first = (!wakes.is_empty()).then(|| self.programs.wake_at(core, &wakes));
        self.memo_mut().states[standing.state as usize].wakes = wakes;
        first
    }

    fn memo(&self) -> &Memo {
        self.programs.memo.as_ref().expect("phases are kept")
    }

    fn memo_mut(&mut self) -> &mut Memo {
        self.programs.memo.as_mut().expect("phases are kept")
    }

    /// Takes programs through a phase, or through another one of the same state that starts equally. Returns the phase,
    /// and, if the requests of a call are in no phase, this call and its requests.
    fn go_through(
        &mut self,
        world: &World,
        (anchor, here, stop): (&Standing, &Standing, u64),
        phase: u32,
        since: &mut Since,
    ) -> (u32, Option<(Item, Vec<Request>)>) {
        let mut memo = self.programs.memo.take().expect("phases are kept");
        let mut through = Through {
            phase,
            item: 0,
            asked: 0,
            end: 0,
        };
        let mut requests = Vec::new();
        let last = loop {
            let phase = &memo.phases[through.phase as usize];
            let Some(&item) = phase.items.get(through.item) else {
                break None;
            };
            let now = here.at + item.after;
            let from_anchor = item.told_from(anchor, here);
            if item.what == CallKind::Ended {
                let flow = FlowId(here.flow.wrapping_add(item.of));
                let record = shifted(phase.ends[through.end], here.at);
                let ended = self.programs.ended(flow, record);
                self.ended.push(ended);
                since.items.push(from_anchor);
                through.end += 1;
                through.item += 1;
                continue;
            }
            let of = match item.what {
                CallKind::Begin | CallKind::Woken => 0,
                _ => here.flow.wrapping_add(item.of),
            };
            requests.clear();
            self.programs
                .ask(now, (item.what, item.program, of), &mut requests);
            if !memo.asks(world, (here, stop), &mut through, &requests) {
                break Some((from_anchor, requests));
            }
            self.programs.enter(item.program, &requests);
            // Programs may be in another phase now, which has other requests here.
            since.items.push(Item {
                asked: requests.len() as u32,
                ..from_anchor
            });
            since.requests.append(&mut requests);
        };
        self.programs.memo = Some(memo);
        (through.phase, last)
    }
}

impl Since {
    /// Returns the known start of the phase that starts at the anchor. `last` is the call behind it, with its requests.
    fn beginning(self, last: Option<(Item, Vec<Request>)>) -> Option<Beginning> {
        let is_nothing = self.items.is_empty() && last.is_none();
        (!is_nothing).then_some(Beginning {
            items: self.items,
            requests: self.requests,
            next: 0,
            last,
        })
    }
}

impl Item {
    /// Returns the call relative to the anchor.
    fn told_from(&self, anchor: &Standing, here: &Standing) -> Self {
        let before = match self.what {
            CallKind::Begin | CallKind::Woken => 0,
            _ => here.flow.wrapping_sub(anchor.flow),
        };
        Self {
            after: here.at - anchor.at + self.after,
            of: self.of.wrapping_add(before),
            ..*self
        }
    }
}

impl Memo {
    /// Counts a phase that was taken, and started at `at`.
    fn take(&mut self, phase: u32, at: u64) {
        let done = &self.phases[phase as usize];
        self.taken.add(&done.counts, at);
        self.report.taken += 1;
        self.report.events_taken += done.counts.counters.events;
        self.states[done.from as usize].counts.taken += 1;
    }

    /// Moves a phase to the front: the last one is likely to come next.
    fn came_last(&mut self, state: u32, phase: u32) {
        let phases = &mut self.states[state as usize].phases;
        let index = phases.iter().position(|&other| other == phase);
        phases[..=index.expect("it is one of them")].rotate_right(1);
    }

    /// Returns true if the requests are those of the current phase, or of another one that is equal up to here, which
    /// becomes the current one.
    fn asks(
        &mut self,
        world: &World,
        (here, stop): (&Standing, u64),
        through: &mut Through,
        requests: &[Request],
    ) -> bool {
        let asked: Vec<Asked> = requests
            .iter()
            .map(|request| self.asked(world, here.at, request))
            .collect();
        let up_to = through.asked + asked.len();
        let now = &self.phases[through.phase as usize];
        let call = now.items[through.item];
        let fits = |other: &super::memo::Phase| {
            let is_same = |item: &Item| {
                *item
                    == Item {
                        asked: asked.len() as u32,
                        ..call
                    }
            };
            other.items.get(through.item).is_some_and(is_same)
                && other.asked.get(through.asked..up_to) == Some(&asked[..])
        };
        // The present phase first, since most calls repeat it.
        let found = fits(now).then_some(through.phase).or_else(|| {
            let begins_alike = |&&number: &&u32| {
                let other = &self.phases[number as usize];
                fits(other)
                    && here.at + other.lasts <= stop
                    && other.items[..through.item] == now.items[..through.item]
                    && other.asked[..through.asked] == now.asked[..through.asked]
            };
            let all = &self.states[here.state as usize].phases;
            all.iter().find(begins_alike).copied()
        });
        let Some(phase) = found else {
            return false;
        };
        (through.phase, through.item, through.asked) = (phase, through.item + 1, up_to);
        true
    }
}

//! Phases that are taken from memory: programs go through them while the network stands still.
//!
//! The network stands still in one state, and can go on from that state alone (the *anchor*), or from one that differs from
//! it only in what is to be woken. Phases may lead over other states, as long as they come back.

use std::collections::BTreeSet;

use super::memo::{Asked, Beginning, Item, Memo, What};
use super::programs::{Request, shifted};
use crate::core::Core;
use crate::core::print::Print;
use crate::ids::FlowId;
use crate::traffic::Traffic;
use crate::world::World;
use paceline_kernel::rng::mix;

/// Calls that are made at once; then there is time to say how far the run is.
const SLICE: usize = 1 << 17;

/// Where a run is whose network stands still.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(crate) state: u32,
    /// When, in the run, and the number of the next flow there.
    pub(crate) at: u64,
    pub(crate) flow: u32,
    /// What tells the network's state from those from which it cannot go on.
    pub(crate) residue: u128,
}

/// How it goes on.
#[derive(Debug)]
pub(crate) enum Next {
    /// With what is in memory.
    Standing(Standing),
    /// The network has to go on, from this state, behind what is known of the phase.
    Network(Standing, Option<Beginning>),
}

/// What programs have been through since the anchor.
#[derive(Default)]
struct Since {
    items: Vec<Item>,
    requests: Vec<Request>,
    /// Phases, and when they began.
    phases: Vec<(u32, u64)>,
}

/// Where programs are in a phase that they go through.
struct Through {
    phase: u32,
    item: usize,
    asked: usize,
    end: usize,
}

impl Traffic {
    /// Takes phases from memory for a while, or until one is none of those that are known. No phase ends behind `stop`.
    pub(crate) fn replay(&mut self, world: &World, anchor: Standing, stop: u64) -> Next {
        let (mut anchor, mut here, mut since) = (anchor, anchor, Since::default());
        let mut left = SLICE;
        while left > 0 || !since.phases.is_empty() {
            let memo = self.memo();
            let fits = |&&phase: &&u32| here.at + memo.phases[phase as usize].lasts <= stop;
            let known = memo.states[here.state as usize].phases.iter().find(fits).copied();
            let is_checked =
                || memo.checks && mix(memo.report.taken + memo.report.checked).is_multiple_of(10);
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

    /// The state of a network with this fingerprint, in which something is to be woken; `quiet` where that is all that
    /// states with the same fingerprint differ in.
    pub(crate) fn state(&mut self, now: u64, print: Print, quiet: bool) -> u32 {
        let wakes = if quiet {
            self.programs.pending_wakes(now)
        } else {
            Vec::new()
        };
        self.memo_mut().state(print, wakes)
    }

    /// Whether no flow is under way, and all programs have begun.
    pub(crate) fn is_quiet(&self) -> bool {
        self.programs.have_begun() && self.flows.underway().next().is_none()
    }

    /// Whether a way back is known: over phases to a state from which the network can go on.
    pub(crate) fn knows_more(&self, standing: &Standing) -> bool {
        /// States that are looked at at most.
        const FAR: usize = 10_000;
        let memo = self.memo();
        let (mut seen, mut next) = (BTreeSet::new(), vec![standing.state]);
        while let Some(state) = next.pop() {
            for &phase in &memo.states[state as usize].phases {
                let to = memo.phases[phase as usize].to;
                if memo.states[to as usize].residue == standing.residue {
                    return true;
                }
                if seen.len() < FAR && seen.insert(to) {
                    next.push(to);
                }
            }
        }
        false
    }

    /// The network goes on in this state. Returns which program wakes, if that is what happens.
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

    /// Programs go through a phase, or another one of the same state that begins alike: which one it was, and where programs
    /// asked for something that is in none, the call and that.
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
            if item.what == What::Ended {
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
                What::Begin | What::Woken => 0,
                _ => here.flow.wrapping_add(item.of),
            };
            requests.clear();
            self.programs
                .ask(now, (item.what, item.program, of), &mut requests);
            if !memo.asks(world, (here, stop), &mut through, &requests) {
                break Some((from_anchor, requests));
            }
            self.programs.enter(item.program, &requests);
            // Perhaps of another phase, in which something else is asked for.
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
    /// What is known of the phase that begins at the anchor; `last` is the call behind it, and what was asked for.
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
    /// The same told from the anchor on.
    fn told_from(&self, anchor: &Standing, here: &Standing) -> Self {
        let before = match self.what {
            What::Begin | What::Woken => 0,
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
    /// A phase was taken, which began at `at`.
    fn take(&mut self, phase: u32, at: u64) {
        let done = &self.phases[phase as usize];
        self.taken.add(&done.counts, at);
        self.report.taken += 1;
        self.report.events_taken += done.counts.counters.events;
        self.states[done.from as usize].counts.taken += 1;
    }

    /// A phase came last: it is likely to come next.
    fn came_last(&mut self, state: u32, phase: u32) {
        let phases = &mut self.states[state as usize].phases;
        let place = phases.iter().position(|&other| other == phase);
        phases[..=place.expect("it is one of them")].rotate_right(1);
    }

    /// Whether what is asked for now is in the phase that programs go through, or in another one that is the same up to here:
    /// goes on to that.
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

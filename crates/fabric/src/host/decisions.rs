//! Decisions that take time: what computing them costs the NICs of schemes that say so
//! ([`paceline_congestion::api::Decisions`]).
//!
//! A NIC has processors. A decision that a sender asks for starts at once where one is free, and waits
//! its turn otherwise; it takes its latency, and then the sender's scheme is called. What a decision is
//! made of was fixed when it was asked for; all that is simulated here is when it takes effect. Where it is made
//! outside the run (by what learns in it), it waits for the answer first, and then goes the same way: see
//! `run/stepping.rs`.
//!
//! A flow that has ended leaves its decision behind: one that waits is passed over when its turn comes,
//! one that is being worked on keeps its processor to the end. Schemes with different numbers of
//! processors may share a NIC: a decision starts where fewer than its own scheme's number are being
//! worked on, of whatever scheme; schemes with any number do not wait at all.

use std::collections::VecDeque;

use paceline_congestion::{Decisions, Observation, PathInfo, SendLimits};
use paceline_kernel::Span;
use paceline_kernel::queue::{EventQueue, LaneId};

use crate::core::Core;
use crate::core::event::Event;
use crate::host::Hosts;
use crate::host::qp::Qp;
use crate::ids::{FlowId, NicId, QpId};
use crate::world::World;
use paceline_kernel::ids::List;
use paceline_run::outcome::DecisionStats;

/// A sender that waits for a decision that is made outside the run.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Its flow.
    pub flow: u32,
    /// What it tells; nothing where its scheme says nothing.
    pub report: Option<&'a Observation>,
    /// What it knows of its path.
    pub path: &'a PathInfo,
}

/// The processors of all NICs; empty until a decision is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct DecisionBank {
    nics: List<NicId, Processors>,
    /// What was asked of those outside and is not answered, in the order in which it was asked for.
    open: Vec<Asked>,
    /// How many were asked of them.
    asked_outside: u64,
    made: u64,
    /// Those that made a policy.
    triggers: u64,
    ended: u64,
    started: u64,
    waited_ps: u128,
    waited_max: u64,
}

/// What one NIC works on.
#[derive(Clone, Debug, Default)]
struct Processors {
    /// What is being worked on; the one that ends first in front.
    in_service: VecDeque<Job>,
    /// What waits, in the order in which it was asked for.
    waiting: VecDeque<Asked>,
    /// The largest number of processors that a scheme gave this NIC; 0 until there is one.
    number: u32,
    any_number: bool,
    first_asked: Option<u64>,
    last_ended: u64,
    busy_ps: u128,
}

/// A decision, and the flow that asked for it.
#[derive(Clone, Copy, Debug)]
struct Asked {
    flow: FlowId,
    at: u64,
    /// What those outside said.
    answer: Option<SendLimits>,
}

#[derive(Clone, Copy, Debug)]
struct Job {
    asked: Asked,
    started: u64,
    ends: u64,
}

/// A scheme that asks for decisions and does not say what they cost has them for nothing.
fn cost(qp: &Qp) -> Decisions {
    qp.needs.decisions.unwrap_or(Decisions {
        latency: Span::ZERO,
        in_service: 0,
        outside: false,
    })
}

/// What the sender of a queue pair that waits tells.
fn question(qp: &Qp) -> Question<'_> {
    Question {
        flow: qp.flow.0,
        report: qp.scheme.report(),
        path: qp.path(),
    }
}

impl DecisionBank {
    /// Takes over what another part knows, whose NICs `theirs` tells.
    pub(super) fn take_over(&mut self, other: &mut Self, theirs: impl Fn(NicId) -> bool) {
        let nics = self.nics.len().max(other.nics.len());
        self.nics.resize_with(nics, Processors::default);
        for nic in self.nics.ids().filter(|&nic| theirs(nic)) {
            self.nics.exchange(&mut other.nics, nic);
        }
        self.made += other.made;
        self.triggers += other.triggers;
        self.ended += other.ended;
        self.started += other.started;
        self.waited_ps += other.waited_ps;
        self.waited_max = self.waited_max.max(other.waited_max);
    }
}

impl Processors {
    fn has_room(&self, cost: Decisions) -> bool {
        cost.in_service == 0 || self.in_service.len() < cost.in_service as usize
    }

    fn note(&mut self, cost: Decisions, now: u64) {
        self.number = self.number.max(cost.in_service);
        self.any_number |= cost.in_service == 0;
        self.first_asked.get_or_insert(now);
    }
}

impl Hosts {
    /// A queue pair's scheme has asked for a decision.
    #[cold]
    pub(super) fn decide(&mut self, core: &mut Core, slot: QpId) {
        let qp = &self.qps[slot];
        if qp.done {
            return;
        }
        let asked = Asked {
            flow: qp.flow,
            at: core.now(),
            answer: None,
        };
        if cost(qp).outside {
            self.decisions.open.push(asked);
            self.decisions.asked_outside += 1;
        } else {
            let now = core.now();
            self.begin_decision(core, slot, asked, now);
        }
    }

    /// A decision made a policy.
    pub(super) fn count_trigger(&mut self) {
        self.decisions.triggers += 1;
    }

    /// How many decisions were asked of those outside so far.
    pub(crate) fn asked_outside(&self) -> u64 {
        self.decisions.asked_outside
    }

    /// When those outside were asked next after the first `before` questions; what was asked since is not answered.
    pub(crate) fn asked_after(&self, before: u64) -> Option<u64> {
        let (bank, open) = (&self.decisions, &self.decisions.open);
        let since = (bank.asked_outside - before) as usize;
        open[open.len() - since..].first().map(|asked| asked.at)
    }

    /// Who waits for what those outside decide, in the order in which they asked.
    pub(crate) fn open_decisions(&self) -> impl Iterator<Item = Question<'_>> {
        let open = self.decisions.open.iter();
        open.filter_map(|asked| Some(question(&self.qps[self.sender_of(asked.flow)?])))
    }

    /// What a flow's sender tells those outside, and what it knows of its path.
    pub(crate) fn report(&self, flow: FlowId) -> Option<(&Observation, &PathInfo)> {
        let qp = &self.qps[self.sender_of(flow)?];
        Some((qp.scheme.report()?, qp.path()))
    }

    /// Those outside have decided, flow by flow in the order in which they asked; flows that get nothing wait on. Where
    /// a NIC computes any number at a time, computing began when it was asked for.
    pub(crate) fn take_answers(
        &mut self,
        core: &mut Core,
        mut answer: impl FnMut(Question<'_>) -> Option<SendLimits>,
    ) {
        let mut open = std::mem::take(&mut self.decisions.open);
        for asked in open.drain(..) {
            let Some(slot) = self.sender_of(asked.flow) else {
                self.decisions.ended += 1;
                continue;
            };
            match answer(question(&self.qps[slot])) {
                Some(limits) => {
                    let answer = Some(limits);
                    let any_number = cost(&self.qps[slot]).in_service == 0;
                    let begins = if any_number { asked.at } else { core.now() };
                    self.begin_decision(core, slot, Asked { answer, ..asked }, begins);
                }
                None => self.decisions.open.push(asked),
            }
        }
        if self.decisions.open.is_empty() {
            // With the room that it has.
            self.decisions.open = open;
        }
    }

    /// Those outside have decided for a flow; says whether it waits for that.
    pub(crate) fn take_answer(&mut self, core: &mut Core, flow: FlowId, answer: SendLimits) -> bool {
        let (senders, bank) = (&self.senders, &mut self.decisions);
        let before = bank.open.len();
        bank.open.retain(|asked| senders.get(asked.flow).is_some());
        bank.ended += (before - bank.open.len()) as u64;
        let of_flow = |asked: &Asked| asked.flow == flow;
        let (Some(place), Some(slot)) = (bank.open.iter().position(of_flow), senders.get(flow)) else {
            return false;
        };
        let asked = bank.open.remove(place);
        let (answer, now) = (Some(answer), core.now());
        self.begin_decision(core, slot, Asked { answer, ..asked }, now);
        true
    }

    /// All that a decision is made of is there: starts it at `begins`, or lets it wait for its turn.
    fn begin_decision(&mut self, core: &mut Core, slot: QpId, asked: Asked, begins: u64) {
        let qp = &self.qps[slot];
        let (cost, nic) = (cost(qp), core.ports[qp.port].nic());
        if self.decisions.nics.is_empty() {
            self.decisions
                .nics
                .resize_with(self.scheduler.nics.len(), Processors::default);
        }
        let processors = &mut self.decisions.nics[nic];
        processors.note(cost, begins);
        let first = cost.in_service == 0 || processors.waiting.is_empty();
        if first && processors.has_room(cost) {
            self.start_decision(core, nic, slot, asked, begins);
        } else {
            processors.waiting.push_back(asked);
        }
    }

    /// It has started at `begins`, now or before, and ends after now.
    fn start_decision(&mut self, core: &mut Core, nic: NicId, slot: QpId, asked: Asked, begins: u64) {
        let latency = cost(&self.qps[slot]).latency.as_ps();
        let ends = begins
            .saturating_add(latency)
            .max(core.now())
            .min(EventQueue::END_OF_TIME - 1);
        let bank = &mut self.decisions;
        let waited = begins - asked.at;
        bank.started += 1;
        bank.waited_ps += u128::from(waited);
        bank.waited_max = bank.waited_max.max(waited);
        let in_service = &mut bank.nics[nic].in_service;
        // Nearly always the last; of those that end together the one that started first ends first.
        let place = in_service.partition_point(|other| other.ends <= ends);
        in_service.insert(
            place,
            Job {
                asked,
                started: begins,
                ends,
            },
        );
        core.schedule(LaneId::WHEEL, ends, Event::Decided { nic });
    }

    /// The decision of a NIC that ends first has ended.
    #[cold]
    pub(crate) fn decided(&mut self, world: &World, core: &mut Core, nic: NicId) {
        let processors = &mut self.decisions.nics[nic];
        let Some(job) = processors.in_service.pop_front() else {
            return;
        };
        processors.busy_ps += u128::from(core.now() - job.started);
        processors.last_ended = core.now();
        let Asked { flow, answer, .. } = job.asked;
        if let Some(slot) = self.sender_of(flow) {
            self.decisions.made += 1;
            if core.watch.is_traced() {
                core.settle(&self.qps[slot]);
                core.observe_timer(&self.qps[slot], paceline_run::outcome::flow_probe::Cause::Delay);
            }
            self.call_scheme(world, core, slot, |scheme, cx| match answer {
                Some(limits) => scheme.on_answer(cx, limits),
                None => scheme.on_decision(cx),
            });
            self.try_send(world, core, self.qps[slot].port);
        } else {
            self.decisions.ended += 1;
        }
        self.start_waiting(core, nic);
    }

    /// Starts what may start of what waits.
    fn start_waiting(&mut self, core: &mut Core, nic: NicId) {
        while let Some(&asked) = self.decisions.nics[nic].waiting.front() {
            let slot = self.sender_of(asked.flow);
            let processors = &mut self.decisions.nics[nic];
            if slot.is_some_and(|slot| !processors.has_room(cost(&self.qps[slot]))) {
                return;
            }
            processors.waiting.pop_front();
            match slot {
                Some(slot) => self.start_decision(core, nic, slot, asked, core.now()),
                None => self.decisions.ended += 1,
            }
        }
    }

    /// What decisions came to; `None` if none was asked for.
    pub(crate) fn decision_stats(&self, core: &Core) -> Option<DecisionStats> {
        let bank = &self.decisions;
        if bank.nics.is_empty() && bank.open.is_empty() {
            return None;
        }
        let open = self.open_decisions().count();
        let mut stats = DecisionStats {
            made: bank.made,
            triggers: bank.triggers,
            flow_ended: bank.ended + (bank.open.len() - open) as u64,
            under_way: open as u64,
            started: bank.started,
            waited_ps: bank.waited_ps,
            waited_max: Span::from_ps(bank.waited_max),
            ..DecisionStats::default()
        };
        for processors in &bank.nics {
            let Some(first) = processors.first_asked else {
                continue;
            };
            let works = processors.in_service.iter();
            let unfinished: u128 = works.map(|job| u128::from(core.now() - job.started)).sum();
            let until = if processors.in_service.is_empty() && processors.waiting.is_empty() {
                processors.last_ended
            } else {
                core.now()
            };
            stats.under_way += (processors.in_service.len() + processors.waiting.len()) as u64;
            stats.nics += 1;
            stats.busy_ps += processors.busy_ps + unfinished;
            let number = if processors.any_number {
                0
            } else {
                processors.number
            };
            stats.any_number |= processors.any_number;
            stats.available_ps += u128::from(until.max(first) - first) * u128::from(number);
        }
        Some(stats)
    }

    /// Nothing waits that could start, and no NIC works on more than its schemes allow.
    pub(crate) fn verify_decisions(&self) {
        for (id, processors) in self.decisions.nics.numbered() {
            let ends = processors.in_service.iter().map(|job| job.ends);
            assert!(ends.is_sorted(), "NIC {id}: decisions in the order of their ends");
            let working = processors.in_service.len();
            assert!(
                processors.any_number || working <= processors.number as usize,
                "NIC {id}: {working} decisions in service, of {}",
                processors.number
            );
            let Some(next) = processors.waiting.front() else {
                continue;
            };
            assert!(
                working > 0,
                "NIC {id}: flow {} waits for a decision that nothing will start",
                next.flow
            );
        }
    }
}

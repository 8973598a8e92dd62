//! Decisions that take time: schemes may state what computing a decision costs their NICs
//! ([`paceline_congestion::api::Decisions`]).
//!
//! A NIC has processors. A decision that a sender asks for starts at once if one is free, and waits its turn otherwise.
//! It takes its latency, and then the sender's scheme is called. The inputs of a decision are fixed when it is asked
//! for; only the time at which it takes effect is simulated here. A decision that is made outside the run (by a
//! learning agent) waits for the answer first, and then goes through the same steps: see `run/stepping.rs`.
//!
//! A flow that has ended leaves its decision behind: one that waits is skipped when its turn comes, one that is in
//! service keeps its processor to the end. Schemes with different numbers of processors may share a NIC: a decision
//! starts if fewer than its scheme's number are in service, of all schemes together. Schemes with any number of
//! processors never wait.

use std::collections::VecDeque;

use paceline_congestion::{Decisions, Observation, PathInfo, SendLimits};
use paceline_kernel::Span;
use paceline_kernel::queue::{EventQueue, LaneId};

use crate::core::Core;
use crate::core::cx::Cx;
use crate::core::event::Event;
use crate::host::Hosts;
use crate::host::qp::Qp;
use crate::ids::{FlowId, NicId, QpId};
use paceline_kernel::ids::List;
use paceline_run::outcome::DecisionStats;

/// A sender that waits for a decision from outside the run.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Number of the sender's flow.
    pub flow: u32,
    /// Observation that the scheme reports; `None` if it reports none.
    pub report: Option<&'a Observation>,
    /// Properties of the flow's path.
    pub path: &'a PathInfo,
}

/// Processors of all NICs; empty until a decision is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct DecisionBank {
    nics: List<NicId, Processors>,
    /// Unanswered questions to those outside the run, in the order in which they were asked.
    open: Vec<Asked>,
    /// Number of questions to those outside so far.
    asked_outside: u64,
    made: u64,
    /// Decisions that made a policy.
    triggers: u64,
    ended: u64,
    started: u64,
    waited_ps: u128,
    waited_max: u64,
}

/// Processors of one NIC, and its queue of decisions.
#[derive(Clone, Debug, Default)]
struct Processors {
    /// Decisions in service, earliest end first.
    in_service: VecDeque<Job>,
    /// Waiting decisions, in the order in which they were asked for.
    waiting: VecDeque<Asked>,
    /// Largest number of processors that a scheme gives this NIC; 0 until a scheme gives one.
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
    /// Answer from outside the run; `None` if the scheme decides.
    answer: Option<SendLimits>,
}

#[derive(Clone, Copy, Debug)]
struct Job {
    asked: Asked,
    started: u64,
    ends: u64,
}

/// Returns the cost of a queue pair's decisions: nothing, unless its scheme states it.
fn cost(qp: &Qp) -> Decisions {
    qp.needs.decisions.unwrap_or(Decisions {
        latency: Span::ZERO,
        in_service: 0,
        outside: false,
    })
}

/// Returns the question of a queue pair's sender to those outside the run.
fn question(qp: &Qp) -> Question<'_> {
    Question {
        flow: qp.flow.0,
        report: qp.scheme.report(),
        path: qp.path(),
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
    /// Starts a decision that a queue pair's scheme has asked for, or asks those outside the run.
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

    /// Counts a decision that made a policy.
    pub(super) fn count_trigger(&mut self) {
        self.decisions.triggers += 1;
    }

    /// Returns the number of questions to those outside the run so far.
    pub(crate) fn asked_outside(&self) -> u64 {
        self.decisions.asked_outside
    }

    /// Returns the time of the first question after the first `before`, in ps. None of those since may be answered yet.
    pub(crate) fn asked_after(&self, before: u64) -> Option<u64> {
        let (bank, open) = (&self.decisions, &self.decisions.open);
        let since = (bank.asked_outside - before) as usize;
        open[open.len() - since..].first().map(|asked| asked.at)
    }

    /// Returns the open questions to those outside the run, in the order in which they were asked.
    pub(crate) fn open_decisions(&self) -> impl Iterator<Item = Question<'_>> {
        let open = self.decisions.open.iter();
        open.filter_map(|asked| Some(question(&self.qps[self.sender_of(asked.flow)?])))
    }

    /// Returns the observation that a flow's sender reports, and its path.
    pub(crate) fn report(&self, flow: FlowId) -> Option<(&Observation, &PathInfo)> {
        let qp = &self.qps[self.sender_of(flow)?];
        Some((qp.scheme.report()?, qp.path()))
    }

    /// Takes answers from outside the run, flow by flow in the order of the questions. Flows without an answer go on
    /// waiting. On a NIC with any number of processors, computing began when the question was asked.
    pub(crate) fn take_answers(
        &mut self,
        core: &mut Core,
        mut answer: impl FnMut(Question<'_>) -> Option<SendLimits>,
    ) {
        let mut open = std::mem::take(&mut self.decisions.open);
        for asked in open.drain(..) {
            // The flow ended while its question was open: nobody is left to decide for.
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
            // Puts the empty list back, to use its memory again.
            self.decisions.open = open;
        }
    }

    /// Takes an answer for one flow. Returns false if the flow has no open question.
    pub(crate) fn take_answer(&mut self, core: &mut Core, flow: FlowId, answer: SendLimits) -> bool {
        let (senders, bank) = (&self.senders, &mut self.decisions);
        let before = bank.open.len();
        bank.open.retain(|asked| senders.get(asked.flow).is_some());
        bank.ended += (before - bank.open.len()) as u64;
        let of_flow = |asked: &Asked| asked.flow == flow;
        let (Some(index), Some(slot)) = (bank.open.iter().position(of_flow), senders.get(flow)) else {
            return false;
        };
        let asked = bank.open.remove(index);
        let (answer, now) = (Some(answer), core.now());
        self.begin_decision(core, slot, Asked { answer, ..asked }, now);
        true
    }

    /// Starts a decision whose inputs are complete at `begins`, or queues it.
    fn begin_decision(&mut self, core: &mut Core, slot: QpId, asked: Asked, begins: u64) {
        let qp = &self.qps[slot];
        let (cost, nic) = (cost(qp), core.ports[qp.data.port].nic());
        if self.decisions.nics.is_empty() {
            self.decisions
                .nics
                .resize_with(self.scheduler.nics.len(), Processors::default);
        }
        let processors = &mut self.decisions.nics[nic];
        processors.note(cost, begins);
        // Those that wait go first, even if this one needs fewer processors than the first of them.
        let first = cost.in_service == 0 || processors.waiting.is_empty();
        if first && processors.has_room(cost) {
            self.start_decision(core, nic, slot, asked, begins);
        } else {
            processors.waiting.push_back(asked);
        }
    }

    /// Starts a decision that begins at `begins`, now or earlier. It ends now or later.
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
        // Nearly always the last. Of those that end together, the one that started first ends first.
        let index = in_service.partition_point(|other| other.ends <= ends);
        in_service.insert(
            index,
            Job {
                asked,
                started: begins,
                ends,
            },
        );
        core.schedule(LaneId::WHEEL, ends, Event::Decided { nic });
    }

    /// Ends the decision of a NIC that is due, and calls the scheme.
    #[cold]
    pub(crate) fn decided(&mut self, cx: &mut Cx<'_>, nic: NicId) {
        let processors = &mut self.decisions.nics[nic];
        let Some(job) = processors.in_service.pop_front() else {
            return;
        };
        processors.busy_ps += u128::from(cx.core.now() - job.started);
        processors.last_ended = cx.core.now();
        let Asked { flow, answer, .. } = job.asked;
        if let Some(slot) = self.sender_of(flow) {
            self.decisions.made += 1;
            // The account of waiting time is closed before the scheme changes the reason to wait.
            if cx.core.watch.is_traced() {
                cx.core.settle(&self.qps[slot]);
                cx.core
                    .observe_timer(&self.qps[slot], paceline_run::outcome::flow_probe::Cause::Delay);
            }
            self.call_scheme(cx, slot, |scheme, ctx| match answer {
                Some(limits) => scheme.on_answer(ctx, limits),
                None => scheme.on_decision(ctx),
            });
            self.try_send(cx, self.qps[slot].data.port);
        } else {
            self.decisions.ended += 1;
        }
        // The processor is free: decisions of other flows may start.
        self.start_waiting(cx.core, nic);
    }

    /// Starts the waiting decisions that have a free processor.
    fn start_waiting(&mut self, core: &mut Core, nic: NicId) {
        while let Some(&asked) = self.decisions.nics[nic].waiting.front() {
            let slot = self.sender_of(asked.flow);
            let processors = &mut self.decisions.nics[nic];
            // The first in the queue waits, and all others behind it, so that decisions start in the order in which
            // they were asked for.
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

    /// Returns the statistics of decisions; `None` if none was asked for.
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
            // The run may end while a decision is in service: the part so far counts as busy.
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

    /// Checks that no waiting decision could start, and that no NIC exceeds the number of its processors.
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

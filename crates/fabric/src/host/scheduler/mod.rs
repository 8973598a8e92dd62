//! Choice of the queue pair that a NIC sends from, and of the time.
//!
//! Queue pairs are served round robin, packet by packet, or by [`turns`]. Pauses, windows and pacing hold them back. A
//! NIC with few of them looks at each. With many it keeps their departure times in a tree ([`pacing_tree`]), so that no
//! packet takes time in proportion to their number. The choice is always that of a search of all of them.

mod nic;
mod pacing_tree;
mod turns;

use nic::Nic;
use paceline_kernel::ids::{Id, List};
use paceline_run::spec::RunSpec;
use turns::Turns;

use crate::core::Core;
use crate::host::qp::{NEVER, Qp};
use crate::ids::{NicId, PortId, QpId};

/// Largest number of queue pairs that a NIC looks through at every packet to save an event.
const FEW_QPS: usize = 8;

/// Queue pair that a NIC may send from.
pub(super) enum Choice {
    /// The queue pair at this index and in this slot may send now.
    Now(usize, QpId),
    /// None may send before this instant.
    Later(u64),
    /// None may send before another event.
    None,
}

/// Answer to the question whether a packet follows the current one.
pub(super) enum Following {
    /// No packet follows before another event.
    Nothing,
    /// A packet may leave at this instant, if the port is free.
    At(u64),
    /// Unknown, because finding out would cost more than an event.
    Unknown,
}

/// Lists of queue pairs of all NICs, and the order in which they send.
#[derive(Clone, Debug)]
pub(super) struct QpScheduler {
    pub(super) nics: List<NicId, Nic>,
    /// State of the turns, if queue pairs are not served packet by packet.
    turns: Option<Box<Turns>>,
    /// True if changes of queue pairs have to be followed: some NIC has a tree, or there are turns.
    tracks_qps: bool,
    /// True under the quirk [`paceline_run::spec::Quirks::wakeup_suppression`].
    suppresses_wakeups: bool,
    /// True if NICs may have trees, which do not support quirks.
    may_gather: bool,
    /// True if the end of each transmission is an event: under the quirk, and where NICs choose among links, so that what
    /// one of them sends next is not known.
    awaits_ends: bool,
}

impl QpScheduler {
    /// Creates the NICs behind these ports, without queue pairs.
    pub(super) fn of(spec: &RunSpec, ports: Vec<PortId>) -> Self {
        let turns = Turns::of(spec.nic.scheduling, ports.len());
        let quirks = &spec.quirks;
        Self {
            nics: ports.into_iter().map(Nic::new).collect(),
            tracks_qps: turns.is_some(),
            turns,
            suppresses_wakeups: quirks.wakeup_suppression,
            may_gather: !quirks.wakeup_suppression && !quirks.lazy_qp_removal,
            awaits_ends: quirks.wakeup_suppression || spec.chooses_links(),
        }
    }

    /// Returns a copy without queue pairs, in round robin.
    pub(super) fn without_queue_pairs(&self) -> Self {
        Self {
            nics: self.nics.iter().map(|nic| Nic::new(nic.port)).collect(),
            turns: None,
            tracks_qps: false,
            ..*self
        }
    }

    /// Returns true if queue pairs are served by turns.
    pub(super) fn has_turns(&self) -> bool {
        self.turns.is_some()
    }

    /// Returns true if a NIC has no queue pairs.
    #[inline]
    pub(super) fn is_empty(&self, nic: NicId) -> bool {
        self.nics[nic].slots.is_empty()
    }

    /// Returns a NIC's queue pairs, in order.
    pub(super) fn live(&self, nic: NicId) -> impl DoubleEndedIterator<Item = QpId> {
        self.nics[nic].live()
    }

    /// Returns the length of a NIC's list, including empty entries.
    pub(super) fn indices(&self, nic: NicId) -> usize {
        self.nics[nic].slots.len()
    }

    /// Returns the queue pair at an index, if there is one.
    pub(super) fn at(&self, nic: NicId, index: usize) -> Option<QpId> {
        Some(self.nics[nic].slots[index]).filter(|&slot| slot != QpId::NONE)
    }

    /// Starts a queue pair that is new, or new at its NIC: it has no claims from turns before.
    pub(super) fn begin(&mut self, slot: QpId) {
        if let Some(turns) = &mut self.turns {
            turns.begin(slot);
        }
    }

    /// Appends a queue pair to a NIC's list.
    pub(super) fn join(&mut self, nic: NicId, slot: QpId, qp: &mut Qp) {
        self.nics[nic].join(slot, qp);
    }

    /// Moves a queue pair to a NIC. The list that it leaves is cleaned up once for all that leave it
    /// ([`QpScheduler::retain`]).
    pub(super) fn move_to(&mut self, nic: NicId, slot: QpId) {
        self.nics[nic].slots.push(slot);
        self.begin(slot);
    }

    /// Removes a queue pair from a NIC. Returns true if it was there.
    pub(super) fn remove(&mut self, nic: NicId, slot: QpId, qps: &mut List<QpId, Qp>) -> bool {
        self.nics[nic].remove(slot, qps)
    }

    /// Keeps only some of a NIC's queue pairs.
    pub(super) fn retain(&mut self, nic: NicId, keep: impl FnMut(&QpId) -> bool) {
        self.nics[nic].retain(keep);
    }

    /// Removes and returns all queue pairs of a NIC.
    pub(super) fn take(&mut self, nic: NicId) -> Vec<QpId> {
        self.nics[nic].take()
    }

    /// Returns a queue pair to a NIC from which all were removed.
    pub(super) fn put_back(&mut self, nic: NicId, slot: QpId) {
        self.nics[nic].slots.push(slot);
    }

    /// Notes that the queue pair at this index sends.
    #[inline]
    pub(super) fn serve(&mut self, nic: NicId, index: usize) {
        self.nics[nic].served = index;
    }

    /// Notes that the queue pair at this index sends through a port under credits, where each lane has a separate round
    /// robin.
    pub(super) fn serve_lane(&mut self, nic: NicId, class: u8, index: usize) {
        self.nics[nic].serve_lane(class, index);
    }

    /// Notes that a queue pair may send at another time than before.
    #[inline]
    pub(super) fn update(&mut self, core: &Core, slot: QpId, qps: &List<QpId, Qp>) {
        if self.tracks_qps {
            self.update_tree(core, slot, qps);
        }
    }

    /// Notes that a queue pair has sent a packet of `wire` bytes.
    #[inline]
    pub(super) fn sent(&mut self, core: &Core, slot: QpId, wire: u16, qps: &List<QpId, Qp>) {
        if self.tracks_qps {
            self.count_sent(core, slot, wire, qps);
        }
    }

    #[inline(never)]
    fn count_sent(&mut self, core: &Core, slot: QpId, wire: u16, qps: &List<QpId, Qp>) {
        let qp = &qps[slot];
        let nic = core.ports[qp.data.port].nic();
        if let Some(turns) = &mut self.turns {
            turns.sent(nic, slot, wire);
        }
        self.nics[nic].update(slot, qp);
    }

    #[inline(never)]
    fn update_tree(&mut self, core: &Core, slot: QpId, qps: &List<QpId, Qp>) {
        let qp = &qps[slot];
        self.nics[core.ports[qp.data.port].nic()].update(slot, qp);
    }

    /// Returns the queue pair that sends next at `now`, while the classes in `paused` are held back. If finished ones
    /// stay in the list (a quirk), those that are found leave it now, for `free`.
    #[inline(always)]
    pub(super) fn choose(
        &mut self,
        nic: NicId,
        (now, paused): (u64, u16),
        qps: &mut List<QpId, Qp>,
        free: &mut Vec<QpId>,
    ) -> Choice {
        // A single queue pair, which is common, needs no search.
        if let [only] = self.nics[nic].slots[..] {
            let qp = &qps[only];
            if !qp.is_blocked(paused) {
                return if qp.pacing.next_avail <= now {
                    Choice::Now(0, only)
                } else {
                    Choice::Later(qp.pacing.next_avail)
                };
            }
            if !qp.is_finished() {
                // Under the quirk, blocked ones arm a wake-up as well.
                return match self.suppresses_wakeups && qp.has_data() {
                    true => Choice::Later(qp.pacing.next_avail),
                    false => Choice::None,
                };
            }
        }
        self.choose_among(nic, (now, paused), qps, free)
    }

    /// Chooses among several queue pairs.
    #[inline(never)]
    fn choose_among(
        &mut self,
        nic: NicId,
        (now, paused): (u64, u16),
        qps: &mut List<QpId, Qp>,
        free: &mut Vec<QpId>,
    ) -> Choice {
        let gathered = self.gather(nic, qps);
        let chosen = if let Some(turns) = &self.turns {
            self.choose_by_turns(turns, nic, (now, paused), qps, gathered)
        } else if gathered {
            self.nics[nic].next_due(now, paused)
        } else {
            self.nics[nic].choose_by_looking(now, paused, qps, free)
        };
        match chosen {
            Some(index) => Choice::Now(index, self.nics[nic].slots[index]),
            None => (self.soonest(nic, paused, qps)).map_or(Choice::None, Choice::Later),
        }
    }

    /// Returns the index and slot of the queue pair whose turn it is in a lane that nothing else holds back.
    pub(super) fn choose_in_lane(
        &mut self,
        (nic, class): (NicId, u8),
        now: u64,
        qps: &mut List<QpId, Qp>,
        free: &mut Vec<QpId>,
    ) -> Option<(usize, QpId)> {
        let n = &mut self.nics[nic];
        // The lane's round robin replaces that of the NIC for this choice.
        n.served = n.served_of_lane(class);
        match self.choose(nic, (now, !(1 << class)), qps, free) {
            Choice::Now(index, slot) => Some((index, slot)),
            Choice::Later(_) | Choice::None => None,
        }
    }

    /// Returns the classes that have a queue pair that may send.
    pub(super) fn ready(&mut self, nic: NicId, (now, paused): (u64, u16), qps: &mut List<QpId, Qp>) -> u16 {
        if self.gather(nic, qps) {
            return self.nics[nic].tree.ready(now) & !paused;
        }
        let all = self.nics[nic].slots.iter().map(|&slot| &qps[slot]);
        let ready = all.filter(|qp| !qp.is_blocked(paused) && qp.pacing.next_avail <= now);
        ready.fold(0, |classes, qp| classes | 1 << qp.class)
    }

    /// Returns the time at which a packet may follow the one that a NIC sends now.
    #[inline(always)]
    pub(super) fn following(&self, core: &Core, nic: NicId, qps: &List<QpId, Qp>) -> Following {
        let n = &self.nics[nic];
        match n.slots[..] {
            [] => Following::Nothing,
            // The end of every transmission is an event in the reference, and its order of simultaneous events depends
            // on that.
            _ if self.awaits_ends => Following::Unknown,
            [only] => match qps[only].is_blocked(core.ports[n.port].paused) {
                // An acknowledgement, a resume or a new flow will make the NIC look again.
                true => Following::Nothing,
                false => Following::At(qps[only].pacing.next_avail),
            },
            _ => self.following_of_several(core, nic, qps),
        }
    }

    #[inline(never)]
    fn following_of_several(&self, core: &Core, nic: NicId, qps: &List<QpId, Qp>) -> Following {
        let n = &self.nics[nic];
        if n.slots.len() > FEW_QPS {
            return Following::Unknown;
        }
        let first = n.first_unblocked(core.ports[n.port].paused, qps);
        first.map_or(Following::Nothing, Following::At)
    }

    /// Returns the first departure time of the queue pairs that only pacing holds back.
    fn soonest(&mut self, nic: NicId, paused: u16, qps: &mut List<QpId, Qp>) -> Option<u64> {
        if self.gather(nic, qps) {
            return Some(self.nics[nic].tree.soonest(paused)).filter(|&at| at != NEVER);
        }
        let n = &self.nics[nic];
        if self.suppresses_wakeups {
            // Under the quirk, blocked ones arm a wake-up as well.
            let all = n.slots.iter().map(|&slot| &qps[slot]);
            return all
                .filter(|qp| qp.has_data())
                .map(|qp| qp.pacing.next_avail)
                .min();
        }
        n.first_unblocked(paused, qps)
    }

    /// Returns true if the NIC has a tree of departure times; builds it if it may and does not yet. With few queue
    /// pairs, looking is cheaper.
    #[inline]
    fn gather(&mut self, nic: NicId, qps: &mut List<QpId, Qp>) -> bool {
        let n = &self.nics[nic];
        n.slots.len() > FEW_QPS && (n.tree.is_known() || self.gather_again(nic, qps))
    }

    #[cold]
    fn gather_again(&mut self, nic: NicId, qps: &mut List<QpId, Qp>) -> bool {
        if self.may_gather {
            self.tracks_qps = true;
            self.nics[nic].gather(qps);
        }
        self.may_gather
    }

    /// Returns the queue pair whose turn it is, if they are not served in round robin.
    #[inline(never)]
    fn choose_by_turns(
        &self,
        turns: &Turns,
        nic: NicId,
        (now, paused): (u64, u16),
        qps: &List<QpId, Qp>,
        gathered: bool,
    ) -> Option<usize> {
        let Nic {
            slots, served, tree, ..
        } = &self.nics[nic];
        let may_go = |index: usize| {
            let qp = qps.get(slots[index]);
            qp.is_some_and(|qp| !qp.is_blocked(paused) && qp.pacing.next_avail <= now)
        };
        if !gathered {
            return turns.choose(nic, slots, *served, may_go);
        }
        if tree.soonest(paused) > now {
            return None;
        }
        if turns.is_by_quantum() {
            // A queue pair keeps its turn until its quantum is used up, even if others were due before.
            let goes_on = turns.goes_on(nic, slots, *served) && may_go(*served);
            return match goes_on {
                true => Some(*served),
                false => self.nics[nic].next_due(now, paused),
            };
        }
        turns.choose(nic, slots, *served, may_go)
    }

    /// Checks the trees and the turns against the queue pairs.
    pub(super) fn verify(&self, qps: &List<QpId, Qp>) {
        for (id, nic) in self.nics.numbered() {
            nic.verify(id, qps);
        }
        if let Some(turns) = &self.turns {
            turns.verify();
        }
    }
}

#[cfg(test)]
mod tests;

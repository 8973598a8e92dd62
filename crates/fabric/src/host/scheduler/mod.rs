//! Which queue pair of a NIC sends next, and when it may.
//!
//! Queue pairs go round robin, packet by packet, or in [`turns`]. Pauses, windows and pacing hold them back. With a few of
//! them the NIC looks at each. With many it keeps in a tree when each may go ([`pacing_tree`]), so that no packet takes a time
//! in proportion to how many there are. What is chosen is what looking at all of them would choose.

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

/// Up to so many queue pairs of a NIC are looked through at every packet to save an event.
const FEW_QPS: usize = 8;

/// Which queue pair a NIC may send from.
pub(super) enum Choice {
    /// The one at this place and in this slot.
    Now(usize, QpId),
    /// None before this instant.
    Later(u64),
    /// None before something else happens.
    None,
}

/// What may follow a packet.
pub(super) enum Following {
    /// Nothing before something else happens.
    Nothing,
    /// A packet at this instant, if the port is free.
    At(u64),
    /// Perhaps something: it is not worth while to find out.
    Unknown,
}

/// What NICs send by.
#[derive(Clone, Debug)]
pub(super) struct QpScheduler {
    pub(super) nics: List<NicId, Nic>,
    /// Whose turn it is, where queue pairs do not go round packet by packet.
    turns: Option<Box<Turns>>,
    /// Whether changes of queue pairs are of interest: some NIC has a tree, or there are turns.
    tracks_qps: bool,
    /// Quirk: see [`paceline_run::spec::Quirks::wakeup_suppression`].
    suppresses_wakeups: bool,
    /// Whether NICs may have trees, which know nothing of quirks.
    may_gather: bool,
}

impl QpScheduler {
    /// That of the NICs behind these ports, without queue pairs.
    pub(super) fn of(spec: &RunSpec, ports: Vec<PortId>) -> Self {
        let turns = Turns::of(spec.nic.scheduling, ports.len());
        let quirks = &spec.quirks;
        Self {
            nics: ports.into_iter().map(Nic::new).collect(),
            tracks_qps: turns.is_some(),
            turns,
            suppresses_wakeups: quirks.wakeup_suppression,
            may_gather: !quirks.wakeup_suppression && !quirks.lazy_qp_removal,
        }
    }

    /// The same without queue pairs, in round robin.
    pub(super) fn without_queue_pairs(&self) -> Self {
        Self {
            nics: self.nics.iter().map(|nic| Nic::new(nic.port)).collect(),
            turns: None,
            tracks_qps: false,
            ..*self
        }
    }

    /// Whether something else than round robin says whose turn it is.
    pub(super) fn has_turns(&self) -> bool {
        self.turns.is_some()
    }

    /// Whether a NIC has none.
    #[inline]
    pub(super) fn is_empty(&self, nic: NicId) -> bool {
        self.nics[nic].slots.is_empty()
    }

    /// A NIC's queue pairs, in order.
    pub(super) fn live(&self, nic: NicId) -> impl DoubleEndedIterator<Item = QpId> {
        self.nics[nic].live()
    }

    /// The places of a NIC's list: those of its queue pairs, and empty ones.
    pub(super) fn places(&self, nic: NicId) -> usize {
        self.nics[nic].slots.len()
    }

    /// The queue pair at a place, if one is there.
    pub(super) fn at(&self, nic: NicId, place: usize) -> Option<QpId> {
        Some(self.nics[nic].slots[place]).filter(|&slot| slot != QpId::NONE)
    }

    /// A queue pair is new, or new at its NIC: it has no claim yet.
    pub(super) fn begin(&mut self, slot: QpId) {
        if let Some(turns) = &mut self.turns {
            turns.begin(slot);
        }
    }

    /// A queue pair joins a NIC, behind the others.
    pub(super) fn join(&mut self, nic: NicId, slot: QpId, qp: &mut Qp) {
        self.nics[nic].join(slot, qp);
    }

    /// A queue pair moves to a NIC. The list that it leaves is put in order once for all that leave it
    /// ([`QpScheduler::retain`]).
    pub(super) fn move_to(&mut self, nic: NicId, slot: QpId) {
        self.nics[nic].slots.push(slot);
        self.begin(slot);
    }

    /// A queue pair leaves a NIC; whether it was there.
    pub(super) fn remove(&mut self, nic: NicId, slot: QpId, qps: &mut List<QpId, Qp>) -> bool {
        self.nics[nic].remove(slot, qps)
    }

    /// Keeps only some of a NIC's queue pairs.
    pub(super) fn retain(&mut self, nic: NicId, keep: impl FnMut(&QpId) -> bool) {
        self.nics[nic].retain(keep);
    }

    /// Takes all queue pairs from a NIC.
    pub(super) fn take(&mut self, nic: NicId) -> Vec<QpId> {
        self.nics[nic].retain(|_| true);
        std::mem::take(&mut self.nics[nic].slots)
    }

    /// A queue pair comes back to a NIC from which all were taken.
    pub(super) fn put_back(&mut self, nic: NicId, slot: QpId) {
        self.nics[nic].slots.push(slot);
    }

    /// The queue pair at this place sends.
    #[inline]
    pub(super) fn serve(&mut self, nic: NicId, place: usize) {
        self.nics[nic].served = place;
    }

    /// The same of a port under credits, where each lane goes round for itself.
    pub(super) fn serve_lane(&mut self, nic: NicId, class: u8, place: usize) {
        self.nics[nic].serve_lane(class, place);
    }

    /// A queue pair has changed: it may go at another time than before.
    #[inline]
    pub(super) fn update(&mut self, core: &Core, slot: QpId, qps: &List<QpId, Qp>) {
        if self.tracks_qps {
            self.update_tree(core, slot, qps);
        }
    }

    /// A queue pair has sent a packet of `wire` bytes.
    #[inline]
    pub(super) fn sent(&mut self, core: &Core, slot: QpId, wire: u16, qps: &List<QpId, Qp>) {
        if self.tracks_qps {
            self.count_sent(core, slot, wire, qps);
        }
    }

    #[inline(never)]
    fn count_sent(&mut self, core: &Core, slot: QpId, wire: u16, qps: &List<QpId, Qp>) {
        let qp = &qps[slot];
        let nic = core.ports[qp.port].nic();
        if let Some(turns) = &mut self.turns {
            turns.sent(nic, slot, wire);
        }
        self.nics[nic].update(slot, qp);
    }

    #[inline(never)]
    fn update_tree(&mut self, core: &Core, slot: QpId, qps: &List<QpId, Qp>) {
        let qp = &qps[slot];
        self.nics[core.ports[qp.port].nic()].update(slot, qp);
    }

    /// The queue pair that goes next at `now`, while the classes in `paused` are held back. Where finished ones stay in the
    /// list (a quirk), those that are found leave it now, for `free`.
    #[inline(always)]
    pub(super) fn choose(
        &mut self,
        nic: NicId,
        (now, paused): (u64, u16),
        qps: &mut List<QpId, Qp>,
        free: &mut Vec<QpId>,
    ) -> Choice {
        if let [only] = self.nics[nic].slots[..] {
            let qp = &qps[only];
            if !qp.is_blocked(paused) {
                return if qp.next_avail <= now {
                    Choice::Now(0, only)
                } else {
                    Choice::Later(qp.next_avail)
                };
            }
            if !qp.is_finished() {
                // Blocked ones count as well: see the quirk.
                return match self.suppresses_wakeups && qp.has_data() {
                    true => Choice::Later(qp.next_avail),
                    false => Choice::None,
                };
            }
        }
        self.choose_among(nic, (now, paused), qps, free)
    }

    /// The same of several queue pairs.
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
            Some(place) => Choice::Now(place, self.nics[nic].slots[place]),
            None => (self.soonest(nic, paused, qps)).map_or(Choice::None, Choice::Later),
        }
    }

    /// The queue pair of a lane whose turn it is, and its place. Nothing else holds back the lane.
    pub(super) fn choose_in_lane(
        &mut self,
        (nic, class): (NicId, u8),
        now: u64,
        qps: &mut List<QpId, Qp>,
        free: &mut Vec<QpId>,
    ) -> Option<(usize, QpId)> {
        let n = &mut self.nics[nic];
        n.served = n.served_of_lane(class);
        match self.choose(nic, (now, !(1 << class)), qps, free) {
            Choice::Now(place, slot) => Some((place, slot)),
            Choice::Later(_) | Choice::None => None,
        }
    }

    /// The classes with a queue pair that may go.
    pub(super) fn ready(&mut self, nic: NicId, (now, paused): (u64, u16), qps: &mut List<QpId, Qp>) -> u16 {
        if self.gather(nic, qps) {
            return self.nics[nic].tree.ready(now) & !paused;
        }
        let all = self.nics[nic].slots.iter().map(|&slot| &qps[slot]);
        let ready = all.filter(|qp| !qp.is_blocked(paused) && qp.next_avail <= now);
        ready.fold(0, |classes, qp| classes | 1 << qp.class)
    }

    /// What may follow a packet that a NIC sends now.
    #[inline(always)]
    pub(super) fn following(&self, core: &Core, nic: NicId, qps: &List<QpId, Qp>) -> Following {
        let n = &self.nics[nic];
        match n.slots[..] {
            [] => Following::Nothing,
            // The reference has the end of every transmission as an event, and its order of simultaneous events depends on
            // it.
            _ if self.suppresses_wakeups => Following::Unknown,
            [only] => match qps[only].is_blocked(core.ports[n.port].paused) {
                // An acknowledgement, a resume or a new flow will look again.
                true => Following::Nothing,
                false => Following::At(qps[only].next_avail),
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

    /// When the first queue pair may go that only pacing holds back.
    fn soonest(&mut self, nic: NicId, paused: u16, qps: &mut List<QpId, Qp>) -> Option<u64> {
        if self.gather(nic, qps) {
            return Some(self.nics[nic].tree.soonest(paused)).filter(|&at| at != NEVER);
        }
        let n = &self.nics[nic];
        if self.suppresses_wakeups {
            // Blocked ones count as well: see the quirk.
            let all = n.slots.iter().map(|&slot| &qps[slot]);
            return all.filter(|qp| qp.has_data()).map(|qp| qp.next_avail).min();
        }
        n.first_unblocked(paused, qps)
    }

    /// Whether the NIC knows when each of its queue pairs may go; where it can know, it does after this. With few of them
    /// looking is cheaper.
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

    /// Whose turn it is, where that is not round robin.
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
        let may_go = |place: usize| {
            let qp = qps.get(slots[place]);
            qp.is_some_and(|qp| !qp.is_blocked(paused) && qp.next_avail <= now)
        };
        if !gathered {
            return turns.choose(nic, slots, *served, may_go);
        }
        if tree.soonest(paused) > now {
            return None;
        }
        if turns.is_by_quantum() {
            let goes_on = turns.goes_on(nic, slots, *served) && may_go(*served);
            return match goes_on {
                true => Some(*served),
                false => self.nics[nic].next_due(now, paused),
            };
        }
        turns.choose(nic, slots, *served, may_go)
    }

    /// Takes over a NIC from the scheduler of another part of the run, whose queue pairs get places behind `before` others.
    pub(super) fn take_nic(&mut self, other: &mut Self, nic: NicId, before: usize) {
        self.tracks_qps |= other.tracks_qps;
        self.nics.exchange(&mut other.nics, nic);
        let slots = self.nics[nic].slots.iter_mut();
        for slot in slots.filter(|slot| **slot != QpId::NONE) {
            *slot = slot.plus(before);
        }
        if let (Some(own), Some(turns)) = (&mut self.turns, &mut other.turns) {
            own.take_nic(turns, nic, before);
        }
    }

    /// Takes over what it knows of queue pairs.
    pub(super) fn take_queue_pairs(&mut self, other: &mut Self, before: usize) {
        if let (Some(own), Some(turns)) = (&mut self.turns, &mut other.turns) {
            own.take_queue_pairs(turns, before);
        }
    }

    /// What is known of queue pairs is so.
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

//! One NIC: its queue pairs, in the order in which they send, and its wake-up.

use paceline_kernel::ids::{Id, List};

use super::pacing_tree::PacingTree;
use crate::core::print::Print;
use crate::host::qp::{NEVER, Qp};
use crate::ids::{NicId, PortId, QpId};

/// Longer lists keep the places of queue pairs that are gone until these are half of them: to close up at each would take
/// a time in proportion to the list.
const SHORT_LIST: usize = 64;

/// What a NIC sends by.
#[derive(Clone, Debug)]
pub(in crate::host) struct Nic {
    pub(in crate::host) port: PortId,
    /// Time of the pending wake-up; `u64::MAX` for none.
    pub(in crate::host) wake_at: u64,
    pub(in crate::host) wake_generation: u32,
    /// Its queue pairs, in round-robin order. [`QpId::NONE`] stands for one that is gone, in lists of more than [`SHORT_LIST`] whose tree is
    /// known; neither the last nor, at `first`, the first.
    pub(super) slots: Vec<QpId>,
    first: usize,
    pub(super) gone: usize,
    /// The place of the one served last; if that is gone, the last one before it was.
    pub(super) served: usize,
    /// The same for each lane of a port under credits, as far as they have sent: each has a round robin of its own.
    pub(super) served_of_lane: Vec<usize>,
    /// When many queue pairs may go.
    pub(super) tree: PacingTree,
}

impl Nic {
    /// That of a port, without queue pairs.
    pub(super) fn new(port: PortId) -> Self {
        Self {
            port,
            wake_at: u64::MAX,
            wake_generation: 0,
            slots: Vec::new(),
            first: 0,
            gone: 0,
            served: 0,
            served_of_lane: Vec::new(),
            tree: PacingTree::default(),
        }
    }

    /// Whether nothing is under way here; what matters for what comes then.
    pub(in crate::host) fn is_at_rest(&self, qps: &List<QpId, Qp>, print: &mut Print) -> bool {
        print.note(self.slots.len() as u64 | (self.served as u64) << 32);
        print.note(self.first as u64 | (self.gone as u64) << 32);
        for &served in &self.served_of_lane {
            print.note(served as u64);
        }
        self.wake_at == u64::MAX && self.live().all(|slot| qps[slot].done)
    }

    /// Notes it; what its tree knows follows from the queue pairs.
    pub(in crate::host) fn note(&self, qps: &List<QpId, Qp>, print: &mut Print) {
        self.is_at_rest(qps, print);
        print.note(u64::from(self.tree.is_known()));
        print.note(if self.wake_at == u64::MAX { 0 } else { 1 });
        for &slot in &self.slots {
            match qps.get(slot) {
                Some(qp) if !qp.done => print.note_flow(qp.flow),
                Some(_) => print.note(u64::MAX),
                None => print.note(u64::MAX - 1),
            }
        }
    }

    /// The queue pairs, in order.
    pub(super) fn live(&self) -> impl DoubleEndedIterator<Item = QpId> {
        (self.slots.iter().copied()).filter(|&slot| slot != QpId::NONE)
    }

    /// Takes a queue pair out of the list. The one that would have been next stays next.
    pub(super) fn remove(&mut self, slot: QpId, qps: &mut List<QpId, Qp>) -> bool {
        let place = match self.tree.is_known() {
            true => Some(qps[slot].place as usize).filter(|&place| self.slots.get(place) == Some(&slot)),
            false => self.slots.iter().position(|&other| other == slot),
        };
        let Some(place) = place else {
            return false;
        };
        if self.tree.is_known() && self.slots.len() > SHORT_LIST {
            self.vacate(place, qps);
        } else {
            self.slots.remove(place);
            if self.tree.remove(place) {
                for &later in &self.slots[place..] {
                    qps[later].place -= 1;
                }
            }
            let last = self.slots.len().saturating_sub(1);
            for served in std::iter::once(&mut self.served).chain(&mut self.served_of_lane) {
                if place <= *served {
                    *served = served.checked_sub(1).unwrap_or(last);
                }
            }
        }
        true
    }

    /// Leaves a place empty.
    fn vacate(&mut self, place: usize, qps: &mut List<QpId, Qp>) {
        let slot = std::mem::replace(&mut self.slots[place], QpId::NONE);
        self.tree.set(place, qps[slot].class, NEVER);
        self.gone += 1;
        while self.slots.last() == Some(&QpId::NONE) {
            self.slots.pop();
            self.tree.pop();
            self.gone -= 1;
        }
        while self.slots.get(self.first) == Some(&QpId::NONE) {
            self.first += 1;
        }
        let (first, last) = (self.first, self.slots.len().saturating_sub(1));
        for served in std::iter::once(&mut self.served).chain(&mut self.served_of_lane) {
            if *served < first || *served > last {
                *served = last;
            }
        }
        if self.slots.len() <= SHORT_LIST || 2 * self.gone > self.slots.len() {
            self.close_up();
            self.gather(qps);
        }
    }

    /// Finds out when each queue pair of a list without empty places may go.
    pub(super) fn gather(&mut self, qps: &mut List<QpId, Qp>) {
        let list = (self.slots.iter().enumerate()).map(|(place, &slot)| {
            let qp = &mut qps[slot];
            qp.place = place as u32;
            (qp.class, qp.due())
        });
        self.tree = PacingTree::of(&list.collect::<Vec<_>>());
    }

    /// Takes the empty places out of the list.
    fn close_up(&mut self) {
        if self.gone > 0 {
            for served in std::iter::once(&mut self.served).chain(&mut self.served_of_lane) {
                let up_to = self.slots[..=*served].iter();
                let live = up_to.filter(|&&slot| slot != QpId::NONE).count();
                *served = live.saturating_sub(1);
            }
            self.slots.retain(|&slot| slot != QpId::NONE);
        }
        (self.first, self.gone) = (0, 0);
    }

    /// Keeps only some of the queue pairs; when they may go is not known after this.
    pub(super) fn retain(&mut self, keep: impl FnMut(&QpId) -> bool) {
        self.close_up();
        self.slots.retain(keep);
        self.tree.forget();
    }

    /// A queue pair joins, behind the others.
    pub(super) fn join(&mut self, slot: QpId, qp: &mut Qp) {
        qp.place = self.slots.len() as u32;
        self.slots.push(slot);
        self.tree.add(qp.class, qp.due());
    }

    /// The place of the one that a lane served last.
    pub(super) fn served_of_lane(&self, class: u8) -> usize {
        let served = self.served_of_lane.get(usize::from(class)).copied();
        served.unwrap_or(self.first)
    }

    /// A lane serves the queue pair at `place`.
    pub(super) fn serve_lane(&mut self, class: u8, place: usize) {
        let lanes = self.served_of_lane.len().max(usize::from(class) + 1);
        self.served_of_lane.resize(lanes, self.first);
        self.served_of_lane[usize::from(class)] = place;
    }

    /// A queue pair of the list has changed.
    #[inline(always)]
    pub(super) fn update(&mut self, slot: QpId, qp: &Qp) {
        let place = qp.place as usize;
        if place < self.tree.len() && self.slots[place] == slot {
            self.tree.set(place, qp.class, qp.due());
        }
    }

    /// The next that may go, round robin, by the tree.
    #[inline]
    pub(super) fn next_due(&self, now: u64, paused: u16) -> Option<usize> {
        self.tree.next_due(self.served + 1, now, paused)
    }

    /// The same by looking. If finished ones are found, they leave the list.
    #[inline]
    pub(super) fn choose_by_looking(
        &mut self,
        now: u64,
        paused: u16,
        qps: &List<QpId, Qp>,
        free: &mut Vec<QpId>,
    ) -> Option<usize> {
        let count = self.slots.len();
        let (mut chosen, mut first_finished) = (None, usize::MAX);
        let mut start = self.served + 1;
        if start >= count {
            start %= count.max(1);
        }
        for place in (start..count).chain(0..start) {
            let qp = &qps[self.slots[place]];
            if !qp.is_blocked(paused) {
                if qp.next_avail <= now {
                    chosen = Some(place);
                    break;
                }
            } else if qp.is_finished() {
                first_finished = first_finished.min(place);
            }
        }
        if first_finished == usize::MAX {
            return chosen;
        }
        let mut kept = first_finished;
        for place in first_finished..count {
            let slot = self.slots[place];
            if qps[slot].is_finished() {
                free.push(slot);
                continue;
            }
            if chosen == Some(place) {
                chosen = Some(kept);
            }
            self.slots[kept] = slot;
            kept += 1;
        }
        self.slots.truncate(kept);
        self.tree.forget();
        chosen
    }

    /// When the first may go that nothing but pacing holds back.
    #[inline]
    pub(super) fn first_unblocked(&self, paused: u16, qps: &List<QpId, Qp>) -> Option<u64> {
        let all = self.slots.iter().map(|&slot| &qps[slot]);
        let unblocked = all.filter(|qp| !qp.is_blocked(paused));
        unblocked.map(|qp| qp.next_avail).min()
    }

    /// Empty places are where they are said to be, and what the tree says of queue pairs is so.
    pub(super) fn verify(&self, nic: NicId, qps: &List<QpId, Qp>) {
        assert_eq!(
            self.slots.len() - self.live().count(),
            self.gone,
            "NIC {nic}: gone"
        );
        if self.gone > 0 {
            assert!(self.tree.is_known() && self.slots.len() > SHORT_LIST);
            assert!(self.slots[..self.first].iter().all(|&slot| slot == QpId::NONE));
            assert!(self.slots[self.first] != QpId::NONE && self.slots[self.slots.len() - 1] != QpId::NONE);
        }
        if !self.tree.is_known() {
            return;
        }
        assert_eq!(self.tree.len(), self.slots.len(), "NIC {nic}: queue pairs");
        let mut soonest = NEVER;
        for (place, &slot) in self.slots.iter().enumerate() {
            let is = qps.get(slot).map_or(NEVER, Qp::due);
            assert_eq!(
                self.tree.due(place),
                is,
                "NIC {nic}: when queue pair {slot} may go"
            );
            soonest = soonest.min(is);
        }
        assert_eq!(soonest, self.tree.soonest(0), "NIC {nic}: when the first may go");
    }
}

//! One NIC: its queue pairs, in the order in which they send, and its wake-up.

use paceline_kernel::ids::{Id, List};

use super::pacing_tree::PacingTree;
use crate::core::print::StateHash;
use crate::host::qp::{NEVER, Qp};
use crate::ids::{NicId, PortId, QpId};

/// Largest list that is closed up whenever a queue pair leaves. Longer ones keep empty entries until these are half of
/// them: to close up each time would take time in proportion to the list.
const SHORT_LIST: usize = 64;

/// A NIC's list of queue pairs, and its wake-up.
#[derive(Clone, Debug)]
pub(in crate::host) struct Nic {
    pub(in crate::host) port: PortId,
    /// Time of the pending wake-up, in ps; `u64::MAX` for none.
    pub(in crate::host) wake_at: u64,
    pub(in crate::host) wake_generation: u32,
    /// Queue pairs in round-robin order. [`QpId::NONE`] stands for one that has left, in lists of more than
    /// [`SHORT_LIST`] entries with a tree. Neither the last entry nor the one at `first` is empty.
    pub(super) slots: Vec<QpId>,
    first: usize,
    pub(super) gone: usize,
    /// Index of the queue pair served last; if that has left, of the one before it.
    pub(super) served: usize,
    /// Value of `served` for each lane of a port under credits that has sent: each lane has a separate round robin.
    pub(super) served_of_lane: Vec<usize>,
    /// Departure times, if there are many queue pairs.
    pub(super) tree: PacingTree,
}

impl Nic {
    /// Creates the NIC of a port, without queue pairs.
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

    /// Notes the state that matters when nothing is under way. Returns false if a wake-up is pending or a flow is not
    /// over.
    pub(in crate::host) fn is_at_rest(&self, qps: &List<QpId, Qp>, print: &mut StateHash) -> bool {
        print.note(self.slots.len() as u64 | (self.served as u64) << 32);
        print.note(self.first as u64 | (self.gone as u64) << 32);
        for &served in &self.served_of_lane {
            print.note(served as u64);
        }
        self.wake_at == u64::MAX && self.live().all(|slot| qps[slot].done)
    }

    /// Notes the whole state. The tree's contents follow from the queue pairs.
    pub(in crate::host) fn note(&self, qps: &List<QpId, Qp>, print: &mut StateHash) {
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

    /// Returns the queue pairs, in order.
    pub(super) fn live(&self) -> impl DoubleEndedIterator<Item = QpId> {
        (self.slots.iter().copied()).filter(|&slot| slot != QpId::NONE)
    }

    /// Removes a queue pair from the list. The one that would have been next stays next. Returns false if it was not in
    /// the list.
    pub(super) fn remove(&mut self, slot: QpId, qps: &mut List<QpId, Qp>) -> bool {
        // With a tree, each queue pair knows its index, and the list is not searched.
        let index = match self.tree.is_known() {
            true => Some(qps[slot].index as usize).filter(|&index| self.slots.get(index) == Some(&slot)),
            false => self.slots.iter().position(|&other| other == slot),
        };
        let Some(index) = index else {
            return false;
        };
        if self.tree.is_known() && self.slots.len() > SHORT_LIST {
            self.vacate(index, qps);
        } else {
            self.slots.remove(index);
            if self.tree.remove(index) {
                for &later in &self.slots[index..] {
                    qps[later].index -= 1;
                }
            }
            let last = self.slots.len().saturating_sub(1);
            for served in std::iter::once(&mut self.served).chain(&mut self.served_of_lane) {
                // Indices behind the removed one have moved, and the round robin must not skip a queue pair.
                if index <= *served {
                    *served = served.checked_sub(1).unwrap_or(last);
                }
            }
        }
        true
    }

    /// Leaves an entry of the list empty.
    fn vacate(&mut self, index: usize, qps: &mut List<QpId, Qp>) {
        let slot = std::mem::replace(&mut self.slots[index], QpId::NONE);
        self.tree.set(index, qps[slot].class, NEVER);
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
        // The search starts behind this index, and so wraps around to the first entry.
        for served in std::iter::once(&mut self.served).chain(&mut self.served_of_lane) {
            if *served < first || *served > last {
                *served = last;
            }
        }
        // Closed up once half are empty, so that each removal costs a constant time on average.
        if self.slots.len() <= SHORT_LIST || 2 * self.gone > self.slots.len() {
            self.close_up();
            self.gather(qps);
        }
    }

    /// Builds the tree of departure times, for a list without empty entries.
    pub(super) fn gather(&mut self, qps: &mut List<QpId, Qp>) {
        let list = (self.slots.iter().enumerate()).map(|(index, &slot)| {
            let qp = &mut qps[slot];
            qp.index = index as u32;
            (qp.class, qp.due())
        });
        self.tree = PacingTree::of(&list.collect::<Vec<_>>());
    }

    /// Removes the empty entries from the list.
    fn close_up(&mut self) {
        if self.gone > 0 {
            // Indices count only the entries that remain.
            for served in std::iter::once(&mut self.served).chain(&mut self.served_of_lane) {
                let up_to = self.slots[..=*served].iter();
                let live = up_to.filter(|&&slot| slot != QpId::NONE).count();
                *served = live.saturating_sub(1);
            }
            self.slots.retain(|&slot| slot != QpId::NONE);
        }
        (self.first, self.gone) = (0, 0);
    }

    /// Keeps only some of the queue pairs, and forgets the tree. The first one kept behind the one served last is next.
    pub(super) fn retain(&mut self, keep: impl FnMut(&QpId) -> bool) {
        self.close_up();
        let kept: Vec<bool> = self.slots.iter().map(keep).collect();
        let count = |kept: &[bool]| kept.iter().filter(|&&kept| kept).count();
        let last = count(&kept).saturating_sub(1);
        for served in std::iter::once(&mut self.served).chain(&mut self.served_of_lane) {
            let up_to = count(&kept[..kept.len().min(*served + 1)]);
            *served = up_to.checked_sub(1).unwrap_or(last);
        }
        let mut kept = kept.into_iter();
        self.slots.retain(|_| kept.next() == Some(true));
        self.tree.forget();
    }

    /// Removes and returns all queue pairs. The index of the one served last stays as it was, as in the reference.
    pub(super) fn take(&mut self) -> Vec<QpId> {
        self.close_up();
        self.tree.forget();
        std::mem::take(&mut self.slots)
    }

    /// Appends a queue pair to the list.
    pub(super) fn join(&mut self, slot: QpId, qp: &mut Qp) {
        qp.index = self.slots.len() as u32;
        self.slots.push(slot);
        self.tree.add(qp.class, qp.due());
    }

    /// Returns the index of the queue pair that a lane served last.
    pub(super) fn served_of_lane(&self, class: u8) -> usize {
        let served = self.served_of_lane.get(usize::from(class)).copied();
        served.unwrap_or(self.first)
    }

    /// Notes that a lane serves the queue pair at `index`.
    pub(super) fn serve_lane(&mut self, class: u8, index: usize) {
        let lanes = self.served_of_lane.len().max(usize::from(class) + 1);
        self.served_of_lane.resize(lanes, self.first);
        self.served_of_lane[usize::from(class)] = index;
    }

    /// Updates the tree after a change of a queue pair.
    #[inline(always)]
    pub(super) fn update(&mut self, slot: QpId, qp: &Qp) {
        let index = qp.index as usize;
        if index < self.tree.len() && self.slots[index] == slot {
            self.tree.set(index, qp.class, qp.due());
        }
    }

    /// Returns the next queue pair in round robin that may send, by the tree.
    #[inline]
    pub(super) fn next_due(&self, now: u64, paused: u16) -> Option<usize> {
        self.tree.next_due(self.served + 1, now, paused)
    }

    /// Returns the next queue pair in round robin that may send, by looking at each. Finished ones that are found leave
    /// the list.
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
        for index in (start..count).chain(0..start) {
            let qp = &qps[self.slots[index]];
            if !qp.is_blocked(paused) {
                if qp.pacing.next_avail <= now {
                    chosen = Some(index);
                    break;
                }
            } else if qp.is_finished() {
                first_finished = first_finished.min(index);
            }
        }
        if first_finished == usize::MAX {
            return chosen;
        }
        // Removed after the search, since indices change, and with them the index of the one chosen.
        let mut kept = first_finished;
        for index in first_finished..count {
            let slot = self.slots[index];
            if qps[slot].is_finished() {
                free.push(slot);
                continue;
            }
            if chosen == Some(index) {
                chosen = Some(kept);
            }
            self.slots[kept] = slot;
            kept += 1;
        }
        self.slots.truncate(kept);
        self.tree.forget();
        chosen
    }

    /// Returns the first departure time of the queue pairs that only pacing holds back.
    #[inline]
    pub(super) fn first_unblocked(&self, paused: u16, qps: &List<QpId, Qp>) -> Option<u64> {
        let all = self.slots.iter().map(|&slot| &qps[slot]);
        let unblocked = all.filter(|qp| !qp.is_blocked(paused));
        unblocked.map(|qp| qp.pacing.next_avail).min()
    }

    /// Checks the empty entries, and the tree against the queue pairs.
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
        for (index, &slot) in self.slots.iter().enumerate() {
            let is = qps.get(slot).map_or(NEVER, Qp::due);
            assert_eq!(
                self.tree.due(index),
                is,
                "NIC {nic}: when queue pair {slot} may go"
            );
            soonest = soonest.min(is);
        }
        assert_eq!(soonest, self.tree.soonest(0), "NIC {nic}: when the first may go");
    }
}

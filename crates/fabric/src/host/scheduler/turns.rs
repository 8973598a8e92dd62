//! Which of a NIC's queue pairs goes next, where they do not take turns packet by packet.
//!
//! **Quantum** is deficit round robin (Shreedhar and Varghese, SIGCOMM 1995): a turn lasts until its queue pair has sent
//! a quantum, or may not go on. It is settled after a packet rather than before it, since what a sender repeats is known
//! when it goes: the packet with which a turn is used up goes whole, and the next turn is shorter by what that took
//! too much. What is left of a turn in which nothing may go is lost, as an empty queue's is there.
//!
//! **Max-min** is start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996) with equal weights: a packet's start tag is
//! the larger of the port's virtual time and of where its queue pair's last packet ended, and it ends as many bytes later;
//! the least start tag goes, and is the virtual time from then on. It asks for no rate of the port, which pauses
//! change, and who was idle, or held back by pacing or a window, has no claim on what others had meanwhile. (To send by the
//! least bytes since the beginning would let a queue pair that comes late have the port alone until it has as many.)
//!
//! Tags are taken when a packet goes. That is the same as when it comes to the head of its queue: no start tag that waits is
//! below the virtual time, since the least of those that wait went last.

use paceline_kernel::ids::{Id, List};

use crate::ids::{NicId, QpId};
use paceline_run::spec::Scheduling;

/// Whose turn it is at each NIC.
#[derive(Clone, Debug)]
pub(super) enum Turns {
    Quantum {
        quantum: i64,
        /// What is left to each queue pair of its turn, in bytes on the wire; below zero what it owes.
        left: List<QpId, i64>,
        /// Whose turn it is.
        holders: List<NicId, Option<QpId>>,
    },
    MaxMin {
        /// Where the last packet of each queue pair ends, in bytes of virtual time.
        ends: List<QpId, u64>,
        virtual_time: List<NicId, u64>,
    },
}

impl Turns {
    /// What so many NICs keep, if they do not go round packet by packet.
    pub(super) fn of(scheduling: Scheduling, nics: usize) -> Option<Box<Self>> {
        let turns = match scheduling {
            Scheduling::RoundRobin => return None,
            Scheduling::Quantum(quantum) => Self::Quantum {
                quantum: quantum.get() as i64,
                left: List::new(),
                holders: List::of(nics, None),
            },
            Scheduling::MaxMin => Self::MaxMin {
                ends: List::new(),
                virtual_time: List::of(nics, 0),
            },
        };
        Some(Box::new(turns))
    }

    /// A queue pair is new, or new at its NIC.
    pub(super) fn begin(&mut self, slot: QpId) {
        match self {
            Self::Quantum { left, .. } => {
                left.reach(slot, || 0);
                left[slot] = 0;
            }
            Self::MaxMin { ends, .. } => {
                ends.reach(slot, || 0);
                ends[slot] = 0;
            }
        }
    }

    /// The place among the queue pairs of a NIC that goes next, of those that may go. Equals go in turn, from the one
    /// behind that which was `served` last.
    pub(super) fn choose(
        &self,
        nic: NicId,
        qps: &[QpId],
        served: usize,
        may_go: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let start = (served + 1) % qps.len().max(1);
        let mut round = (start..qps.len()).chain(0..start).filter(|&place| may_go(place));
        match self {
            Self::Quantum { .. } if self.goes_on(nic, qps, served) && may_go(served) => Some(served),
            Self::Quantum { .. } => round.next(),
            Self::MaxMin { ends, virtual_time } => {
                round.min_by_key(|&place| ends[qps[place]].max(virtual_time[nic]))
            }
        }
    }

    /// Whether turns are of so many bytes: those who have none left go round.
    pub(super) const fn is_by_quantum(&self) -> bool {
        matches!(self, Self::Quantum { .. })
    }

    /// Whether the queue pair that was `served` last has something left of its turn.
    pub(super) fn goes_on(&self, nic: NicId, qps: &[QpId], served: usize) -> bool {
        let Self::Quantum { left, holders, .. } = self else {
            return false;
        };
        let last = qps.get(served).filter(|&&slot| holders[nic] == Some(slot));
        last.is_some_and(|&slot| left[slot] > 0)
    }

    /// A queue pair of this NIC has sent so many bytes.
    pub(super) fn sent(&mut self, nic: NicId, slot: QpId, wire: u16) {
        match self {
            Self::Quantum {
                quantum,
                left,
                holders,
            } => {
                if holders[nic] != Some(slot) || left[slot] <= 0 {
                    holders[nic] = Some(slot);
                    left[slot] = left[slot].min(0) + *quantum;
                }
                left[slot] -= i64::from(wire);
            }
            Self::MaxMin { ends, virtual_time } => {
                let start = ends[slot].max(virtual_time[nic]);
                virtual_time[nic] = start;
                ends[slot] = start + u64::from(wire);
            }
        }
    }

    /// Takes over what another part kept of a NIC, whose queue pairs get places behind `before` others.
    pub(super) fn take_nic(&mut self, other: &mut Self, nic: NicId, before: usize) {
        match (self, other) {
            (Self::Quantum { holders, .. }, Self::Quantum { holders: theirs, .. }) => {
                holders[nic] = theirs[nic].map(|slot| slot.plus(before));
            }
            (
                Self::MaxMin { virtual_time, .. },
                Self::MaxMin {
                    virtual_time: theirs, ..
                },
            ) => {
                virtual_time[nic] = theirs[nic];
            }
            _ => {}
        }
    }

    /// Takes over what another part kept of queue pairs, which get places behind `before` others.
    pub(super) fn take_queue_pairs(&mut self, other: &mut Self, before: usize) {
        match (self, other) {
            (Self::Quantum { left, .. }, Self::Quantum { left: theirs, .. }) => {
                left.resize_with(before, || 0);
                left.append(theirs);
            }
            (Self::MaxMin { ends, .. }, Self::MaxMin { ends: theirs, .. }) => {
                ends.resize_with(before, || 0);
                ends.append(theirs);
            }
            _ => {}
        }
    }

    /// Nobody has more left of a turn than a quantum, and no packet ended before it began.
    pub(super) fn verify(&self) {
        if let Self::Quantum { quantum, left, .. } = self {
            for (slot, &bytes) in left.numbered() {
                assert!(
                    bytes < *quantum,
                    "queue pair {slot}: {bytes} bytes left of a turn"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_kernel::Bytes;

    const NIC: NicId = NicId(0);

    /// A NIC whose queue pairs have packets of these sizes.
    struct Port {
        turns: Turns,
        qps: Vec<QpId>,
        served: usize,
    }

    impl Port {
        fn of(scheduling: Scheduling, count: u32) -> Self {
            let mut turns = *Turns::of(scheduling, 1).unwrap();
            let qps: Vec<QpId> = (0..count).map(QpId).collect();
            qps.iter().for_each(|&slot| turns.begin(slot));
            Self {
                turns,
                qps,
                served: 0,
            }
        }

        /// Who goes next, of those that may; its packet is of so many bytes.
        fn next(&mut self, may_go: impl Fn(usize) -> bool, size: impl Fn(usize) -> u16) -> Option<usize> {
            let place = self.turns.choose(NIC, &self.qps, self.served, may_go)?;
            self.served = place;
            self.turns.sent(NIC, self.qps[place], size(place));
            self.turns.verify();
            Some(place)
        }

        fn order(&mut self, packets: usize, sizes: &[u16]) -> Vec<usize> {
            (0..packets)
                .filter_map(|_| self.next(|_| true, |place| sizes[place]))
                .collect()
        }
    }

    /// By hand. A quantum of 1000 bytes: two packets of 500 use it up, of 700 two take 400 too much, so the next turn of
    /// 600 is one packet (it owes 100 then, and has 900: two), and four packets of 300 take 200 too much, then three of 300
    /// take 100 too much.
    #[test]
    fn turns_of_a_quantum() {
        let mut port = Port::of(Scheduling::Quantum(Bytes::new(1000)), 3);
        let order = port.order(18, &[500, 700, 300]);
        // Whoever was served last is the first, so the second begins.
        let scheduler = [
            (1, 2), // 1000 - 1400 = -400
            (2, 4), // 1000 - 1200 = -200
            (0, 2), // 0
            (1, 1), // 600 - 700 = -100
            (2, 3), // 800 - 900 = -100
            (0, 2),
            (1, 2), // 900 - 1400 = -500
            (2, 2), // 900 - 600 = 300: goes on
        ];
        let expected = scheduler
            .into_iter()
            .flat_map(|(place, packets)| std::iter::repeat_n(place, packets));
        assert_eq!(order, expected.collect::<Vec<_>>());
    }

    /// Who may not go on loses its turn, and owes what it owed.
    #[test]
    fn a_turn_ends_where_nothing_may_go() {
        let mut port = Port::of(Scheduling::Quantum(Bytes::new(1000)), 2);
        assert_eq!(port.next(|place| place == 0, |_| 600), Some(0));
        assert_eq!(
            port.next(|place| place == 1, |_| 600),
            Some(1),
            "the first is held back"
        );
        // The second has 400 left; the first, whose turn is over, a whole quantum when its turn comes.
        let order: Vec<_> = (0..4).filter_map(|_| port.next(|_| true, |_| 600)).collect();
        assert_eq!(order, [1, 0, 0, 1]);
        assert_eq!(port.next(|_| false, |_| 600), None);
    }

    /// By hand: start tags 0, 0, 0; then ends at 500, 700, 300, and so on; the least goes, equals in turn.
    #[test]
    fn the_least_start_tag_goes() {
        let mut port = Port::of(Scheduling::MaxMin, 3);
        let order = port.order(12, &[500, 700, 300]);
        // Starts:     0  0  0  300 500 600 700 900 1000 1200 1400 1500
        assert_eq!(order, [1, 2, 0, 2, 0, 2, 1, 2, 0, 2, 1, 2]);
    }

    /// Who comes late begins at the virtual time: it does not have the port alone.
    #[test]
    fn who_was_held_back_has_no_claim() {
        let mut port = Port::of(Scheduling::MaxMin, 2);
        for _ in 0..100 {
            assert_eq!(port.next(|place| place == 0, |_| 1000), Some(0));
        }
        let order: Vec<_> = (0..6).filter_map(|_| port.next(|_| true, |_| 1000)).collect();
        assert_eq!(order, [1, 0, 1, 0, 1, 0]);
    }

    /// Random packets of queue pairs that come and go: between two that wait all the time the difference of what they send
    /// is at most the largest packet of each under max-min (the fairness theorem of that paper, equal weights), and a
    /// quantum more under quanta.
    #[test]
    fn shares_are_fair_under_random_packets() {
        let (packets, quantum) = (240 + 1000_i64, 4000_i64);
        let mut random = 11_u64;
        let mut draw = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % below
        };
        for (scheduling, bound) in [
            (Scheduling::MaxMin, packets),
            (Scheduling::Quantum(Bytes::new(quantum as u64)), quantum + packets),
        ] {
            let mut port = Port::of(scheduling, 6);
            // The first two always may go, one with small packets; the others at random.
            let mut sent = [0_i64; 6];
            let (mut lowest, mut highest) = (0, 0);
            for _ in 0..20_000 {
                let open = draw(64) as usize | 0b11;
                let sizes: Vec<u16> = (0..6)
                    .map(|place| if place == 0 { 40 + draw(200) } else { 600 + draw(401) } as u16)
                    .collect();
                let place = port.next(|place| open >> place & 1 == 1, |place| sizes[place]);
                let place = place.unwrap();
                sent[place] += i64::from(sizes[place]);
                let ahead = sent[0] - sent[1];
                (lowest, highest) = (ahead.min(lowest), ahead.max(highest));
            }
            assert!(highest - lowest <= bound, "{scheduling:?}: {lowest} to {highest}");
            assert!(
                sent[2..]
                    .iter()
                    .all(|&bytes| bytes > 0 && bytes <= sent[1] + bound),
                "{sent:?}"
            );
        }
    }
}

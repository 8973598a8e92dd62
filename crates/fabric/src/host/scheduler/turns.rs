//! Scheduling of a NIC's queue pairs by turns longer than a packet.
//!
//! **Quantum** is deficit round robin (Shreedhar and Varghese, SIGCOMM 1995): a turn lasts until its queue pair has
//! sent a quantum, or may not go on. It is settled after a packet rather than before, since the size of a
//! retransmission is known only when it leaves: the packet that uses up a turn is sent whole, and the next turn is
//! shorter by the excess. The rest of a turn in which nothing may be sent is lost, like that of an empty queue in the
//! paper.
//!
//! **Max-min** is start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996) with equal weights. A packet's start
//! tag is the larger of the port's virtual time and the end tag of its queue pair's last packet, and its end tag is as
//! many bytes later. The packet with the least start tag is sent, and its tag is the virtual time from then on. This
//! needs no rate of the port, which pauses change. A queue pair that was idle, or held back by pacing or a window, has
//! no claim on what others had meanwhile. (If the least bytes since the start decided, a queue pair that comes late
//! would have the port alone until it has as many.)
//!
//! Tags are computed when a packet leaves. That is the same as computing them when it becomes the head of its queue: no
//! waiting start tag is below the virtual time, since the least of them left last.

use paceline_kernel::ids::List;

use crate::ids::{NicId, QpId};
use paceline_run::spec::Scheduling;

/// State of the turns at each NIC.
#[derive(Clone, Debug)]
pub(super) enum Turns {
    Quantum {
        quantum: i64,
        /// Bytes on the wire that each queue pair may still send in its turn; negative if it has sent too much.
        left: List<QpId, i64>,
        /// Queue pair whose turn it is.
        holders: List<NicId, Option<QpId>>,
    },
    MaxMin {
        /// End tag of each queue pair's last packet, in bytes of virtual time.
        ends: List<QpId, u64>,
        virtual_time: List<NicId, u64>,
    },
}

impl Turns {
    /// Creates the state of `nics` NICs; `None` for round robin.
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

    /// Starts a queue pair that is new, or new at its NIC.
    pub(super) fn begin(&mut self, slot: QpId) {
        match self {
            Self::Quantum { left, .. } => {
                left.reach(slot, || 0);
                // The slot may have been another queue pair's, whose debt is not this one's.
                left[slot] = 0;
            }
            Self::MaxMin { ends, .. } => {
                ends.reach(slot, || 0);
                ends[slot] = 0;
            }
        }
    }

    /// Returns the index of the queue pair that sends next, of those for which `may_go` returns true. Equals are served
    /// in order, from the one behind `served`.
    pub(super) fn choose(
        &self,
        nic: NicId,
        qps: &[QpId],
        served: usize,
        may_go: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        // The search starts behind the one served last, so that equals take turns.
        let start = (served + 1) % qps.len().max(1);
        let mut round = (start..qps.len()).chain(0..start).filter(|&index| may_go(index));
        match self {
            Self::Quantum { .. } if self.goes_on(nic, qps, served) && may_go(served) => Some(served),
            Self::Quantum { .. } => round.next(),
            Self::MaxMin { ends, virtual_time } => {
                // The first of several minima wins, so equals take turns here too.
                round.min_by_key(|&index| ends[qps[index]].max(virtual_time[nic]))
            }
        }
    }

    /// Returns true if turns are of a quantum, and queue pairs without a rest take turns.
    pub(super) const fn is_by_quantum(&self) -> bool {
        matches!(self, Self::Quantum { .. })
    }

    /// Returns true if the queue pair that was `served` last has bytes left in its turn.
    pub(super) fn goes_on(&self, nic: NicId, qps: &[QpId], served: usize) -> bool {
        let Self::Quantum { left, holders, .. } = self else {
            return false;
        };
        let last = qps.get(served).filter(|&&slot| holders[nic] == Some(slot));
        last.is_some_and(|&slot| left[slot] > 0)
    }

    /// Charges a queue pair of this NIC with the bytes that it has sent.
    pub(super) fn sent(&mut self, nic: NicId, slot: QpId, wire: u16) {
        match self {
            Self::Quantum {
                quantum,
                left,
                holders,
            } => {
                if holders[nic] != Some(slot) || left[slot] <= 0 {
                    holders[nic] = Some(slot);
                    // Only debts carry over: a rest from an earlier turn would let a queue pair save up a burst.
                    left[slot] = left[slot].min(0) + *quantum;
                }
                left[slot] -= i64::from(wire);
            }
            Self::MaxMin { ends, virtual_time } => {
                // At least the virtual time, or a queue pair that was held back would have the port alone.
                let start = ends[slot].max(virtual_time[nic]);
                virtual_time[nic] = start;
                ends[slot] = start + u64::from(wire);
            }
        }
    }

    /// Checks that no queue pair has more than a quantum left.
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

    /// A NIC whose queue pairs have packets of given sizes.
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

        /// Serves the next queue pair for which `may_go` returns true, with a packet of `size` bytes.
        fn next(&mut self, may_go: impl Fn(usize) -> bool, size: impl Fn(usize) -> u16) -> Option<usize> {
            let index = self.turns.choose(NIC, &self.qps, self.served, may_go)?;
            self.served = index;
            self.turns.sent(NIC, self.qps[index], size(index));
            self.turns.verify();
            Some(index)
        }

        fn order(&mut self, packets: usize, sizes: &[u16]) -> Vec<usize> {
            (0..packets)
                .filter_map(|_| self.next(|_| true, |index| sizes[index]))
                .collect()
        }
    }

    /// Computed by hand. A quantum of 1000 bytes: two packets of 500 use it up. Two of 700 exceed it by 400, so the
    /// next turn of 600 is one packet (then -100, and the next has 900: two). Four of 300 exceed it by 200, then three
    /// by 100.
    #[test]
    fn turns_of_a_quantum() {
        let mut port = Port::of(Scheduling::Quantum(Bytes::new(1000)), 3);
        let order = port.order(18, &[500, 700, 300]);
        // The search starts behind the one served last, so the second is first.
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
            .flat_map(|(index, packets)| std::iter::repeat_n(index, packets));
        assert_eq!(order, expected.collect::<Vec<_>>());
    }

    /// A queue pair that may not send loses its turn, and keeps its debt.
    #[test]
    fn a_turn_ends_where_nothing_may_go() {
        let mut port = Port::of(Scheduling::Quantum(Bytes::new(1000)), 2);
        assert_eq!(port.next(|index| index == 0, |_| 600), Some(0));
        assert_eq!(
            port.next(|index| index == 1, |_| 600),
            Some(1),
            "the first is held back"
        );
        // The second has 400 left. The first, whose turn is over, gets a whole quantum when its turn comes.
        let order: Vec<_> = (0..4).filter_map(|_| port.next(|_| true, |_| 600)).collect();
        assert_eq!(order, [1, 0, 0, 1]);
        assert_eq!(port.next(|_| false, |_| 600), None);
    }

    /// Computed by hand: start tags 0, 0, 0; then end tags 500, 700, 300, and so on. The least tag is served, equals in
    /// order.
    #[test]
    fn the_least_start_tag_goes() {
        let mut port = Port::of(Scheduling::MaxMin, 3);
        let order = port.order(12, &[500, 700, 300]);
        // Starts:     0  0  0  300 500 600 700 900 1000 1200 1400 1500
        assert_eq!(order, [1, 2, 0, 2, 0, 2, 1, 2, 0, 2, 1, 2]);
    }

    /// A queue pair that comes late starts at the virtual time: it does not have the port alone.
    #[test]
    fn who_was_held_back_has_no_claim() {
        let mut port = Port::of(Scheduling::MaxMin, 2);
        for _ in 0..100 {
            assert_eq!(port.next(|index| index == 0, |_| 1000), Some(0));
        }
        let order: Vec<_> = (0..6).filter_map(|_| port.next(|_| true, |_| 1000)).collect();
        assert_eq!(order, [1, 0, 1, 0, 1, 0]);
    }

    /// Random packets of queue pairs that come and leave. For two that always wait, the difference of the bytes sent is
    /// at most the largest packet of each under max-min (the paper's fairness theorem, with equal weights), and a
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
            // The first two always may send, one of them with small packets; the others at random.
            let mut sent = [0_i64; 6];
            let (mut lowest, mut highest) = (0, 0);
            for _ in 0..20_000 {
                let open = draw(64) as usize | 0b11;
                let sizes: Vec<u16> = (0..6)
                    .map(|index| if index == 0 { 40 + draw(200) } else { 600 + draw(401) } as u16)
                    .collect();
                let index = port.next(|index| open >> index & 1 == 1, |index| sizes[index]);
                let index = index.unwrap();
                sent[index] += i64::from(sizes[index]);
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

//! NP-ECN: marking that exempts packets held back by a pause ([`crate::pcn`]).
//!
//! # Equations
//! For each queue, at the end of a pause, at each departure:
//! ```text
//! N = packets in the queue;  N = max(0, N - 1);  a packet may be marked if N was 0     (1)
//! ```
//!
//! # References
//! W. Cheng et al., "Re-architecting Congestion Management in Lossless Ethernet", NSDI 2020.

use paceline_kernel::Time;

use crate::detect::PortState;
use crate::mark::Mark;
use crate::switch::{Egress, EgressPort, Marking, PacketView, Queue, SwitchHalf};

/// NP-ECN state of a port's queues.
#[derive(Clone, Debug)]
pub struct NonPausedEcn {
    /// Packets per queue that a pause held back and that have not left yet: N.
    held_back: Box<[u32]>,
    /// Queue length up to which nothing is marked, in bytes.
    threshold: u32,
}

impl NonPausedEcn {
    /// Creates the state of a port with empty queues.
    pub fn new(port: &EgressPort) -> Self {
        Self {
            held_back: vec![0; port.classes].into(),
            threshold: port.red.kmin(),
        }
    }
}

impl SwitchHalf for NonPausedEcn {
    fn on_resume(&mut self, _at: &mut Egress<'_>, class: u8, queue: Queue) {
        // These packets queued up behind the pause. Their marks would blame this port for congestion
        // elsewhere.
        self.held_back[usize::from(class)] = queue.packets;
    }

    #[inline]
    fn on_departure(&mut self, _at: &mut Egress<'_>, packet: &PacketView) -> Marking {
        match &mut self.held_back[usize::from(packet.class)] {
            0 => Marking::Curve,
            held => {
                *held -= 1;
                Marking::Put(Mark::None)
            }
        }
    }

    fn is_inactive(&self, _now: Time) -> bool {
        self.held_back.iter().all(|&held| held == 0)
    }

    fn on_link_down(&mut self) {
        self.held_back.fill(0);
    }

    /// Reports a queue as congested if packets may be marked; packets that a pause held back are never
    /// marked.
    fn state(&self, _now: Time, class: u8, queue: u32) -> Option<PortState> {
        let may_mark = self.held_back[usize::from(class)] == 0 && queue > self.threshold;
        Some(match may_mark {
            true => PortState::Congested,
            false => PortState::NotCongested,
        })
    }

    fn verify(&self, _now: Time, class: u8, queue: Queue) {
        let held = self.held_back[usize::from(class)];
        assert!(
            held <= queue.packets,
            "{held} of {} packets were held back",
            queue.packets
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{egress_port, passing, with_egress};

    /// Three packets wait when a pause ends: those three of their class are exempt, later ones are not.
    #[test]
    fn equation_1_by_hand() {
        let mut port = NonPausedEcn::new(&egress_port());
        let queue = Queue {
            bytes: 3144,
            packets: 3,
        };
        with_egress(|at| port.on_resume(at, 2, queue));
        let mut marking = |class| {
            let packet = PacketView {
                class,
                ..passing(100_000)
            };
            with_egress(|at| port.on_departure(at, &packet))
        };
        let spared = Marking::Put(Mark::None);
        assert_eq!([2, 1, 2].map(&mut marking), [spared, Marking::Curve, spared]);
        assert_eq!([2, 2].map(&mut marking), [spared, Marking::Curve]);
        with_egress(|at| port.on_resume(at, 2, queue));
        port.on_link_down();
        let after = with_egress(|at| port.on_departure(at, &passing(100_000)));
        assert_eq!(after, Marking::Curve);
    }
}

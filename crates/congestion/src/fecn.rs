//! InfiniBand's FECN marking at switch ports (InfiniBand Architecture, volume 1, annex A10.2).
//!
//! A lane of a port is congested if its queue is above a threshold. It is a root of congestion if it has
//! credit to send, and a victim of others if it lacks credit; victims mark only if the mask says so. A packet
//! counts as a root's if it was not held back for credit itself. Of the packets that count and are large
//! enough, one in `marking_rate` + 1 is marked.

use paceline_kernel::Bytes;

use crate::mark::Mark;
use crate::switch::{Egress, EgressPort, Marking, PacketView, PayloadKind, Queue, SwitchHalf};

/// Settings that an operator makes at switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Weight of the threshold: 0 disables marking, 15 marks at the shortest queues.
    pub threshold: u32,
    /// Packets that are skipped after each marked one.
    pub marking_rate: u32,
    /// Smallest packet that is marked.
    pub packet_size: Bytes,
    /// True if ports that lack credit mark as well.
    pub victim_mask: bool,
}

/// Largest weight of a threshold.
pub const MOST: u32 = 15;

impl Settings {
    /// Returns the queue length above which a port is congested, in bytes, or `None` if it never is. The
    /// standard spaces the weights' thresholds evenly and leaves the base to the switch: here the input
    /// buffer of a lane, of which weight 15 is a sixteenth.
    pub fn bytes(&self, buffer: u32) -> Option<u32> {
        let sixteenths = u64::from(MOST + 1 - self.threshold);
        (self.threshold > 0).then(|| (u64::from(buffer) * sixteenths / u64::from(MOST + 1)) as u32)
    }
}

/// Marking state of one egress port.
#[derive(Clone, Debug)]
pub struct Fecn {
    settings: Settings,
    above: Option<u32>,
    lanes: Box<[Lane]>,
}

/// State of one lane.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    /// True if the next packet to leave was held back for credit.
    held: bool,
    /// Packets still to be skipped before the next mark.
    spared: u32,
}

impl Fecn {
    /// Creates the state of a port that has sent nothing.
    pub fn new(settings: Settings, port: &EgressPort) -> Self {
        Self {
            settings,
            above: settings.bytes(port.buffer),
            lanes: vec![Lane::default(); port.classes].into(),
        }
    }
}

impl SwitchHalf for Fecn {
    fn on_resume(&mut self, _at: &mut Egress<'_>, class: u8, _queue: Queue) {
        self.lanes[usize::from(class)].held = true;
    }

    fn on_departure(&mut self, _at: &mut Egress<'_>, packet: &PacketView) -> Marking {
        let lane = &mut self.lanes[usize::from(packet.class)];
        // A packet held back for credit waited because of a port downstream, which marks it instead.
        let victim = std::mem::take(&mut lane.held) && !self.settings.victim_mask;
        let congested = self.above.is_some_and(|above| packet.queue > above);
        let large = u64::from(packet.wire) >= self.settings.packet_size.get();
        if packet.load != PayloadKind::Data || victim || !congested || !large {
            return Marking::Put(Mark::None);
        }
        if lane.spared > 0 {
            lane.spared -= 1;
            return Marking::Put(Mark::None);
        }
        lane.spared = self.settings.marking_rate;
        Marking::Put(Mark::Congested)
    }

    fn on_link_down(&mut self) {
        self.lanes.fill(Lane::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{egress_port, passing, with_egress};

    const SETTINGS: Settings = Settings {
        threshold: 15,
        marking_rate: 2,
        packet_size: Bytes::new(512),
        victim_mask: false,
    };

    fn port(settings: Settings) -> Fecn {
        let port = EgressPort {
            buffer: 64_000,
            ..egress_port()
        };
        Fecn::new(settings, &port)
    }

    fn marks(port: &mut Fecn, queues: &[u32]) -> Vec<bool> {
        let mut marked = |queue| {
            let packet = passing(queue);
            with_egress(|at| port.on_departure(at, &packet)) == Marking::Put(Mark::Congested)
        };
        queues.iter().map(|&queue| marked(queue)).collect()
    }

    #[test]
    fn thresholds_fall_evenly() {
        let above = |threshold| {
            Settings {
                threshold,
                ..SETTINGS
            }
            .bytes(64_000)
        };
        assert_eq!(
            [above(0), above(1), above(14), above(15)],
            [None, Some(60_000), Some(8_000), Some(4_000)]
        );
    }

    #[test]
    fn one_of_so_many_is_marked_of_those_that_count() {
        let mut port = port(SETTINGS);
        assert_eq!(
            marks(&mut port, &[4_000, 4_001, 4_001, 9_000, 9_000, 9_000]),
            [false, true, false, false, true, false]
        );
    }

    #[test]
    fn a_packet_that_was_held_back_is_a_victims() {
        let queue = Queue {
            bytes: 9_000,
            packets: 9,
        };
        for (victim_mask, first) in [(false, false), (true, true)] {
            let settings = Settings {
                victim_mask,
                marking_rate: 0,
                ..SETTINGS
            };
            let mut port = port(settings);
            let class = passing(0).class;
            with_egress(|at| port.on_resume(at, class, queue));
            assert_eq!(marks(&mut port, &[9_000, 9_000]), [first, true]);
        }
    }

    #[test]
    fn small_packets_and_weight_zero_mark_nothing() {
        let large = Settings {
            packet_size: Bytes::new(1 << 20),
            ..SETTINGS
        };
        assert_eq!(marks(&mut port(large), &[9_000]), [false]);
        let none = Settings {
            threshold: 0,
            ..SETTINGS
        };
        assert_eq!(marks(&mut port(none), &[9_000_000]), [false]);
    }
}

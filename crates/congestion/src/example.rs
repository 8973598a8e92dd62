//! AIMD: an example of a scheme with a sender, a receiver and a switch part, for the book's page on adding a scheme.
//!
//! # What it does
//! A switch marks packets that leave a long and growing queue. The receiver echoes a mark only if the previous packet
//! was marked, too, because a single mark may be chance. The sender adds a step to its rate once per round trip. When
//! a mark is echoed, it cuts the rate by a factor, at most once per round trip (Chiu and Jain, 1989).
//!
//! # Signal it needs
//! Marks of switches that run the switch part; the receiver echoes them in its acknowledgements.
//!
//! # Equations
//! Switch, at each departure, with Q bytes left in the queue and Q_old at the departure before:
//! ```text
//! mark = Q > threshold and Q > Q_old                                                   (1)
//! ```
//! Receiver, at each packet:
//! ```text
//! echo = mark of this packet and mark of the one before                                (2)
//! ```
//! Sender:
//! ```text
//! R = R + AI          once per round trip without an echo                              (3)
//! R = R (1 - beta)    at an ACK with an echo, once per round trip                      (4)
//! ```
//!
//! # Parameters
//! [`Params`].
//!
//! # Where we differ from the paper or public code
//! The paper controls windows; this scheme controls rates. The paper does not define the source of its one bit of
//! feedback: (1) and (2) are ours.
//!
//! # References
//! D. Chiu and R. Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance in
//! Computer Networks", Computer Networks and ISDN Systems 17, 1989.

use paceline_kernel::rng::Rng;
use paceline_kernel::{BitRate, Bytes, Time};

use crate::api::{AckInfo, CongestionControl, Ctx, Mark, PathInfo, Requirements, SendLimits};
use crate::params::{Parameters, Range};
use crate::rate::Bounds;
use crate::receiver::{Arrived, Reaction, ReceiverHalf};
use crate::registry::{Definition, Scheme, WindowMode};
use crate::switch::{
    Egress, EgressPort, Hooks, Marking, PacketView, PerPort, SwitchHalf, SwitchHalves, SwitchSupport,
};

// ANCHOR: params
params! {
    /// Parameters of AIMD.
    pub struct Params {
        /// Switch: bytes that a queue may have without marks.
        threshold: Bytes = Bytes::new(50_000), in Range::Above(0.0), from "example";
        /// Step per round trip.
        rate_ai: BitRate = BitRate::from_bps(500_000_000), in Range::Above(0.0), from "example";
        /// Share of the rate that an echo takes.
        beta: f64 = 0.5, in Range::AboveUpTo(0.0, 1.0), from "TCP";
        /// The lowest rate.
        min_rate: BitRate = BitRate::from_bps(100_000_000), in Range::Above(0.0), from "example";
    }
}
// ANCHOR_END: params

// ANCHOR: definition
impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "aimd",
        aliases: &[],
        title: "AIMD",
        paper: "Chiu and Jain, Analysis of the Increase and Decrease Algorithms, 1989",
        summary: "Adds a step per round trip, cuts by a factor at a mark.",
        scope: "an example of a scheme in a program of your own.",
        default_window: WindowMode::Variable,
        params: Self::docs,
        source: include_str!("example.rs"),
    };

    fn needs(&self) -> Requirements {
        Requirements {
            ecn: true,
            ..Requirements::default()
        }
    }

    fn switch_part(&self) -> Option<SwitchSupport> {
        Some(SwitchSupport {
            task: "that mark what leaves growing queues",
            params: &["threshold"],
            hooks: Hooks {
                departures: true,
                ..Hooks::default()
            },
            ..SwitchSupport::default()
        })
    }

    fn switch_halves(&self, ports: &[Option<EgressPort>], rngs: &mut [Rng]) -> Option<Box<dyn SwitchHalves>> {
        Some(PerPort::boxed(ports, rngs, |port, _| Growth::new(self, port)))
    }

    fn receiver_half(&self) -> Option<Box<dyn ReceiverHalf>> {
        Some(Box::new(TwoInARow::default()))
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Aimd::new(self, path))
    }
}
// ANCHOR_END: definition

// ANCHOR: switch
/// The switch's half: of one egress port.
#[derive(Clone, Debug)]
pub struct Growth {
    threshold: u32,
    /// What the last departure left behind, by class.
    left: Box<[u32]>,
}

impl Growth {
    /// Of empty queues.
    pub fn new(params: &Params, port: &EgressPort) -> Self {
        Self {
            threshold: u32::try_from(params.threshold.get()).unwrap_or(u32::MAX),
            left: vec![0; port.classes].into(),
        }
    }
}

impl SwitchHalf for Growth {
    fn on_departure(&mut self, _at: &mut Egress<'_>, packet: &PacketView) -> Marking {
        let left = &mut self.left[usize::from(packet.class)];
        let old = std::mem::replace(left, packet.queue);
        let marks = packet.queue > self.threshold && packet.queue > old; // (1)
        Marking::Put(Mark::congested_if(marks))
    }

    fn on_link_down(&mut self) {
        self.left.fill(0);
    }
}
// ANCHOR_END: switch

// ANCHOR: receiver
/// The receiver's half: of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct TwoInARow {
    last: Mark,
}

impl ReceiverHalf for TwoInARow {
    fn on_data(&mut self, _now: Time, data: &Arrived) -> Reaction {
        let before = std::mem::replace(&mut self.last, data.mark);
        Reaction {
            echo: Some(data.mark.min(before)), // (2)
            ..Reaction::NONE
        }
    }
}
// ANCHOR_END: receiver

// ANCHOR: state
/// The sender's half: of one flow.
#[derive(Clone, Debug)]
pub struct Aimd {
    params: Params,
    bounds: Bounds,
    rate: BitRate,
    /// The byte whose acknowledgement ends the round trip in progress.
    round_ends: u64,
    /// Whether an echo has cut the rate in this round trip.
    cut: bool,
}

impl Aimd {
    /// A sender at line rate.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        Self {
            params: params.clone(),
            bounds: Bounds::new(params.min_rate, path.line_rate),
            rate: path.line_rate,
            round_ends: 0,
            cut: false,
        }
    }

    fn set(&mut self, bps: f64) {
        self.rate = self.bounds.clamp(BitRate::from_bps(bps as u64));
    }
}

impl CongestionControl for Aimd {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: self.rate,
            window: Bytes::MAX,
        }
    }

    fn on_ack(&mut self, _cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        let now = self.rate.as_bps() as f64;
        if ack.mark == Mark::Congested && !self.cut {
            self.set(now * (1.0 - self.params.beta)); // (4)
            self.cut = true;
        }
        if ack.highest > self.round_ends {
            if !self.cut {
                self.set(now + self.params.rate_ai.as_bps() as f64); // (3)
            }
            self.round_ends = ack.snd_nxt;
            self.cut = false;
        }
    }
}
// ANCHOR_END: state

// ANCHOR: tests
#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Pair, ack, egress_port, passing, star_path, with_egress};

    fn marked(seq: u64, snd_nxt: u64) -> AckInfo<'static> {
        AckInfo {
            mark: Mark::Congested,
            ..ack(seq, snd_nxt)
        }
    }

    #[test]
    fn a_mark_halves_once_per_round_trip() {
        let mut pair = Pair::new(star_path(), |path| Aimd::new(&Params::default(), path));
        pair.ack(&ack(1000, 50_000)); // the first round trip ends where 50 000 is acknowledged
        pair.ack(&marked(2000, 52_000));
        pair.ack(&marked(3000, 53_000)); // the same round trip
        assert_eq!(pair.rate(), BitRate::from_gbps(50));
        pair.ack(&ack(51_000, 90_000)); // ends it: no step after a cut
        assert_eq!(pair.rate(), BitRate::from_gbps(50));
        pair.ack(&ack(91_000, 130_000)); // a round trip without a mark
        assert_eq!(pair.rate(), BitRate::from_bps(50_500_000_000));
    }

    #[test]
    fn a_queue_that_is_long_and_grows_marks() {
        let mut port = Growth::new(&Params::default(), &egress_port());
        let marks = [40_000, 50_000, 51_000, 51_000, 52_000, 51_500, 49_000, 50_001].map(|left| {
            let marking = with_egress(|at| port.on_departure(at, &passing(left)));
            marking == Marking::Put(Mark::Congested)
        });
        assert_eq!(marks, [false, false, true, false, true, false, false, true]);
    }

    #[test]
    fn the_second_mark_in_a_row_is_echoed() {
        let mut receiver = TwoInARow::default();
        let echoes = [true, false, true, true, true, false].map(|marked| {
            let data = Arrived {
                mark: Mark::congested_if(marked),
                wire: Bytes::new(1048),
                ..Arrived::default()
            };
            receiver.on_data(Time::ZERO, &data).echo == Some(Mark::Congested)
        });
        assert_eq!(echoes, [false, false, false, true, true, false]);
    }
}
// ANCHOR_END: tests

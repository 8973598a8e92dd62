//! The switch's half, and the words that it sends.

use paceline::scheme::*;

use super::{LIMITED, Params};

// ANCHOR: words
/// What a signal says: e of (1), in bytes. The port's rate comes with any signal.
pub fn words(error: i32) -> Words {
    Words::EMPTY.with_u32(0, error.cast_unsigned())
}

/// What it said.
pub fn error_of(signal: &Signal) -> f64 {
    f64::from(signal.words.u32(0).cast_signed())
}
// ANCHOR_END: words

impl Params {
    /// E: the error of a queue that went from nothing to twice its equilibrium.
    pub fn largest_error(&self) -> f64 {
        (1.0 + 2.0 * self.w) * self.q_eq.get() as f64
    }
}

// ANCHOR: switch
/// An egress port.
#[derive(Clone, Debug)]
pub struct CongestionPoint {
    q_eq: f64,
    w: f64,
    sample: i64,
    /// By class: the queue at the last sample, and bytes until the next.
    queues: Box<[(u32, i64)]>,
}

impl CongestionPoint {
    /// Of empty queues.
    pub fn new(params: &Params, port: &EgressPort) -> Self {
        let sample = params.sample.get() as i64;
        Self {
            q_eq: params.q_eq.get() as f64,
            w: params.w,
            sample,
            queues: vec![(0, sample); port.classes].into(),
        }
    }
}

impl SwitchHalf for CongestionPoint {
    fn on_arrival(&mut self, _at: &mut Egress<'_>, packet: &PacketView) -> Verdict {
        let mut verdict = Verdict::pass(packet);
        if packet.load != PayloadKind::Data {
            return verdict;
        }
        let (old, left) = &mut self.queues[usize::from(packet.class)];
        *left -= i64::from(packet.wire);
        if *left > 0 {
            return verdict;
        }
        *left = self.sample;
        let queue = packet.queue + packet.wire;
        let moved = f64::from(queue) - f64::from(std::mem::replace(old, queue));
        let error = (self.q_eq - f64::from(queue)) - self.w * moved; // (1)
        if error < 0.0 || error > 0.0 && packet.tag & LIMITED != 0 {
            verdict.notify = Notify::Sender(words(error as i32), Carrier::Packet); // (2)
        }
        verdict
    }

    fn on_link_down(&mut self) {
        self.queues.iter_mut().for_each(|(old, _)| *old = 0);
    }
}
// ANCHOR_END: switch

#[cfg(test)]
mod tests {
    use super::*;
    use paceline::scheme::testkit::{egress_port, passing, with_egress};

    /// Samples of each packet. Packets have 1048 bytes.
    #[test]
    fn equations_1_and_2_by_hand() {
        let params = Params {
            sample: Bytes::new(1),
            ..Params::default()
        };
        let mut point = CongestionPoint::new(&params, &egress_port());
        let mut got = |queue: u32, tag| {
            let packet = PacketView {
                tag,
                ..passing(queue - 1048)
            };
            with_egress(|at| point.on_arrival(at, &packet)).notify
        };
        let says = |error| Notify::Sender(words(error), Carrier::Packet);
        // 40 000 - 30 000 - 2 * 30 000
        assert_eq!(got(30_000, 0), says(-50_000));
        // It falls to 20 000: 20 000 + 2 * 10 000, which only a limited sender is told.
        assert_eq!(got(20_000, LIMITED), says(40_000));
        assert_eq!(got(20_000, 0), Notify::Nobody);
        // It stands above its equilibrium.
        assert_eq!(got(50_000, 0), says(-70_000));
        assert_eq!(got(50_000, LIMITED), says(-10_000));
    }

    #[test]
    fn one_sample_per_so_many_bytes() {
        let mut point = CongestionPoint::new(&Params::default(), &egress_port());
        let told = (1..=144)
            .filter(|_| with_egress(|at| point.on_arrival(at, &passing(90_000))).notify != Notify::Nobody);
        // 72 packets are 75 456 bytes.
        assert_eq!(told.collect::<Vec<_>>(), [72, 144]);
    }
}

//! NSCC, the network-signal congestion control of Ultra Ethernet, as a pure state machine of one flow.
//!
//! A window in bytes follows two signals of each ACK: its delay above the base round-trip time, and whether the packet was
//! marked. The four combinations are four reactions ([`Nscc::on_ack`]): unmarked and fast, the window grows in proportion to
//! the missing delay; unmarked and slow, it grows a little; marked and slow, it shrinks once per round trip; marked and
//! fast, it waits. Increases are collected and applied once per eight packets or round trip. QuickAdapt sets the window to
//! what arrived in one round trip if less than an eighth of the maximum did. A NACK takes its packet off the window.
//!
//! This is the arithmetic of uet-htsim at 40ccb05, with its widths: increments are `u32` and wrap, which happens in almost
//! every flow at 800 Gb/s. The UEC specification 1.0 describes the same control without these.

/// What all flows of a network have in common.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Constants {
    /// Round trip of the longest path, ps.
    pub(super) network_rtt: u64,
    /// Rate of a NIC, bit/s.
    pub(super) rate: u64,
    /// Delay that the control aims at, ps.
    pub(super) target: u64,
    /// Size of a data packet: the least window.
    pub(super) packet: i64,
    /// Proportional increase.
    pub(super) alpha: f64,
    /// Fair increase.
    pub(super) fair: f64,
    /// Increase once per round trip, bytes.
    pub(super) eta: f64,
    /// Fast increase.
    pub(super) fast: f64,
    /// QuickAdapt acts where less than the maximum shifted by so much arrived.
    pub(super) gate: u32,
    /// Network's scale of bandwidth-delay product and of delay.
    pub(super) scale: (f64, f64),
    /// Whether a receiver's control runs, too: it takes care of the last hop.
    pub(super) with_receiver: bool,
}

impl Constants {
    /// Those of a network: its longest round trip (ps), rate (bit/s), payload and size of a packet, and the target.
    pub(super) fn new(network_rtt: u64, rate: u64, (payload, packet): (i64, i64), target: u64) -> Self {
        let bdp = bandwidth_delay(network_rtt, rate);
        let a = bdp as f64 / 150_000.0;
        let b = target as f64 / 12_000_000.0;
        let payload = payload as f64;
        Self {
            network_rtt,
            rate,
            target,
            packet,
            alpha: (((4.0 * payload) * a) * b) / target as f64,
            fair: (5.0 * payload) * a,
            eta: (0.15 * payload) * a,
            fast: 0.25 * a,
            gate: 3,
            scale: (a, b),
            with_receiver: false,
        }
    }
}

/// Bytes of a round trip.
pub(super) fn bandwidth_delay(rtt: u64, rate: u64) -> i64 {
    ((rtt as f64 / 1e12) * (rate / 8) as f64) as i64
}

/// By how much each reaction changed the window, bytes; of NACKs, what they asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) fair: i64,
    pub(super) proportional: i64,
    pub(super) fast: i64,
    pub(super) eta: i64,
    pub(super) multiplicative: i64,
    pub(super) quick: i64,
    pub(super) nack: i64,
}

/// What an ACK says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feedback {
    /// Present time, ps.
    pub(super) now: u64,
    /// Whether the packet was marked.
    pub(super) marked: bool,
    /// Delay above the base round-trip time, ps.
    pub(super) delay: u64,
    /// Bytes that it newly acknowledges.
    pub(super) bytes: i64,
    /// Bytes in flight.
    pub(super) in_flight: i64,
}

/// Weight of a sample in the average delay.
const DELAY_WEIGHT: f64 = 0.0125;
/// An unmarked ACK below this delay counts as one of an idle network, ps.
const IDLE: u64 = 1_000_000;

/// The state of a flow.
#[derive(Clone, Debug, Default)]
pub(super) struct Nscc {
    /// Window, bytes.
    pub(super) window: i64,
    /// The largest window: 1.5 bandwidth-delay products.
    pub(super) max_window: i64,
    /// The least round-trip time so far, ps.
    pub(super) base: u64,
    /// Average delay above it, ps.
    pub(super) average: u64,
    /// By how much each reaction changed the window.
    pub(super) sums: Sums,
    /// Bytes acknowledged since QuickAdapt last looked.
    pub(super) achieved: i64,
    /// Bytes acknowledged since the window last grew.
    pub(super) received: i64,
    /// Bytes acknowledged or trimmed since QuickAdapt last acted.
    pub(super) ignored: u32,
    increase: u32,
    fair_pending: i64,
    proportional_pending: i64,
    last_eta: u64,
    last_decrease: u64,
    quick_end: u64,
    to_ignore: u32,
    fast_count: u32,
    is_fast: bool,
    saw_loss: bool,
}

impl Nscc {
    /// A flow of this base round-trip time, with an initial window of its own or the maximum.
    pub(super) fn new(all: &Constants, base: u64, window: Option<i64>) -> Self {
        let max_window = (1.5 * bandwidth_delay(base, all.rate) as f64) as i64;
        Self {
            window: window.unwrap_or(max_window),
            max_window,
            base,
            ..Self::default()
        }
    }

    /// A round trip below the base becomes the base, and lowers the maximum.
    pub(super) fn update_base(&mut self, all: &Constants, raw: u64) {
        if raw < self.base {
            self.base = raw;
            let bdp = (((raw as f64 / 1e6) * all.rate as f64) / 8_000_000.0) as i64;
            self.max_window = (1.5 * bdp as f64) as i64;
        }
    }

    /// Averages the delay of a round trip. A large one that no switch marked counts as a quarter of the base.
    pub(super) fn update_average(&mut self, all: &Constants, raw: u64, marked: bool) {
        let delay = raw - self.base;
        let old = (1.0 - DELAY_WEIGHT) * self.average as f64;
        let new = match !marked && delay > all.target {
            true => (DELAY_WEIGHT * self.base as f64) * 0.25,
            false => DELAY_WEIGHT * delay as f64,
        };
        self.average = (new + old) as u64;
    }

    /// Bytes were acknowledged.
    pub(super) fn count(&mut self, bytes: i64) {
        self.achieved += bytes;
        self.received += bytes;
        self.ignored = self.ignored.wrapping_add(bytes as u32);
    }

    /// An ACK.
    pub(super) fn on_ack(&mut self, all: &Constants, ack: Feedback) {
        if self.quick_adapt(all, false, ack) {
            return;
        }
        match (ack.marked, ack.delay >= all.target) {
            (false, true) => {
                let before = self.increase;
                self.increase = (f64::from(before) + all.fair * ack.bytes as f64) as i64 as u32;
                self.fair_pending += i64::from(self.increase) - i64::from(before);
            }
            (false, false) => self.grow(all, ack),
            (true, true) => {
                self.is_fast = false;
                self.fast_count = 0;
                if self.average > all.target && ack.now - self.last_decrease > self.base {
                    let before = self.window;
                    let excess = (0.8 * (self.average - all.target) as f64) / self.average as f64;
                    self.window = (before as f64 * (1.0 - excess).max(0.5)) as i64;
                    self.window = self.window.max(all.packet);
                    self.sums.multiplicative += before - self.window;
                    self.last_decrease = ack.now;
                }
            }
            (true, false) => {}
        }
        self.clamp(all);
        if self.received > 8 * all.packet || ack.now - self.last_eta > all.network_rtt {
            self.window += i64::from(self.increase) / self.window;
            self.sums.fair += self.fair_pending / self.window;
            self.sums.proportional += self.proportional_pending / self.window;
            (self.fair_pending, self.proportional_pending) = (0, 0);
            if ack.now - self.last_eta >= all.network_rtt {
                self.window = (self.window as f64 + all.eta) as i64;
                self.sums.eta = (self.sums.eta as f64 + all.eta) as i64;
                self.last_eta = ack.now;
            }
            self.increase = 0;
            self.received = 0;
        }
        self.clamp(all);
    }

    /// Unmarked, and less delay than the target.
    fn grow(&mut self, all: &Constants, ack: Feedback) {
        let bytes = ack.bytes as f64;
        if ack.delay < IDLE {
            self.fast_count = self.fast_count.wrapping_add(ack.bytes as u32);
            if i64::from(self.fast_count) > self.window || self.is_fast {
                let before = self.window;
                self.window = (before as f64 + bytes * all.fast) as i64;
                self.sums.fast += self.window - before;
                self.is_fast = true;
                return;
            }
        } else {
            self.fast_count = 0;
        }
        self.is_fast = false;
        let before = self.increase;
        let missing = (all.target - ack.delay) as f64;
        self.increase = (f64::from(before) + (all.alpha * bytes) * missing) as i64 as u32;
        self.proportional_pending += i64::from(self.increase) - i64::from(before);
    }

    fn clamp(&mut self, all: &Constants) {
        self.window = self.window.max(all.packet).min(self.max_window);
    }

    /// Whether this feedback has no further effect: the window was just set, or is to be left alone.
    fn quick_adapt(&mut self, all: &Constants, loss: bool, ack: Feedback) -> bool {
        let mut acts = false;
        if self.ignored < self.to_ignore && ack.marked {
            acts = true;
        } else if ack.now > self.quick_end {
            let is_late = ack.delay as f64 > (4 * all.target) as f64;
            if self.quick_end != 0
                && (self.saw_loss || loss || is_late)
                && self.achieved < self.max_window >> all.gate
            {
                let before = self.window;
                self.window = self.achieved.max(all.packet);
                self.sums.quick += before - self.window;
                self.to_ignore = ack.in_flight as u32;
                self.ignored = 0;
                self.saw_loss = false;
                acts = true;
            }
            self.achieved = 0;
            self.quick_end = ack.now + self.base + all.target;
        }
        if acts {
            self.increase = 0;
            self.received = 0;
        }
        acts
    }

    /// A packet was trimmed, maybe in the queue to its host. `ack` has the time and what is in flight.
    pub(super) fn on_nack(&mut self, all: &Constants, size: i64, last_hop: bool, ack: Feedback) {
        self.ignored = self.ignored.wrapping_add(size as u32);
        self.update_average(all, self.base + all.network_rtt, true);
        self.saw_loss = true;
        self.sums.nack += size;
        let ack = Feedback {
            marked: true,
            delay: 0,
            ..ack
        };
        let acts = self.quick_adapt(all, true, ack);
        let is_receivers = all.with_receiver && last_hop;
        if !acts && !is_receivers {
            self.window -= size;
            self.clamp(all);
        }
    }

    /// A packet was lost without notice.
    pub(super) fn on_timeout(&mut self, all: &Constants, size: i64) {
        self.window = (self.window - size).max(all.packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constants(rtt: u64, rate: u64) -> Constants {
        Constants::new(rtt, rate, (4086, 4150), (rtt as f64 * 0.75) as u64)
    }

    /// 100, 200, 400 and 800 Gb/s: the simulator's own numbers.
    #[test]
    fn constants_are_the_simulators() {
        for (rtt, rate, bdp, target, a, alpha, fair, eta) in [
            (
                14_022_720,
                100,
                175_284,
                10_517_040,
                1.16856,
                0.0015915787200000001,
                23873.680800000002,
                716.210424,
            ),
            (
                9_348_480,
                100,
                116_856,
                7_011_360,
                0.77904,
                0.00106105248,
                15915.787199999999,
                477.47361599999994,
            ),
            (
                13_011_360,
                200,
                325_284,
                9_758_520,
                2.16856,
                0.0029535787199999994,
                44303.680799999995,
                1329.1104239999997,
            ),
            (
                12_505_680,
                400,
                625_284,
                9_379_260,
                4.16856,
                0.00567757872,
                85163.6808,
                2554.910424,
            ),
            (
                8_168_560,
                800,
                816_856,
                6_126_420,
                5.445706666666666,
                0.007417052479999999,
                111255.78719999999,
                3337.6736159999996,
            ),
        ] {
            let all = constants(rtt, rate * 1_000_000_000);
            assert_eq!(bandwidth_delay(rtt, all.rate), bdp);
            assert_eq!((all.target, all.scale.0, all.alpha), (target, a, alpha));
            assert_eq!((all.fair, all.eta), (fair, eta));
            assert_eq!(Nscc::new(&all, rtt, None).max_window, bdp * 3 / 2);
        }
    }

    /// The window stays between one packet and the maximum, whatever feedback comes.
    #[test]
    fn the_window_stays_in_its_range() {
        let all = constants(14_022_720, 100_000_000_000);
        let mut random = crate::uet_htsim::random::Random::new(1);
        let mut flow = Nscc::new(&all, all.network_rtt, None);
        let (mut now, mut least) = (0, i64::MAX);
        for _ in 0..20_000 {
            now += u64::from(random.draw() % 400_000);
            let (delay, bytes) = (u64::from(random.draw() % 60_000_000), 4150);
            flow.update_average(&all, flow.base + delay, true);
            let ack = Feedback {
                now,
                marked: !random.draw().is_multiple_of(3),
                delay,
                bytes,
                in_flight: 100_000,
            };
            flow.count(bytes);
            match random.draw() % 4 {
                0 => flow.on_nack(&all, 4150, false, ack),
                _ => flow.on_ack(&all, ack),
            }
            assert!((4150..=flow.max_window).contains(&flow.window));
            least = least.min(flow.window);
        }
        assert!(least < 20_000, "{least}");
    }
}

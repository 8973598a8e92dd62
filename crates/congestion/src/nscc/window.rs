//! The window of NSCC, as a state machine over whole numbers.
//!
//! All arithmetic is that of uet-htsim at 40ccb05, in its order and with its rounding, so that a model of that simulator
//! can be equal to it. Where the simulator's increments have 32 bits and wrap, [`Constants::wraps`] says whether ours do.

/// What all flows of a network have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Constants {
    /// Round-trip time of the longest path, ps.
    pub network_rtt: u64,
    /// Rate of a NIC, bit/s.
    pub rate: u64,
    /// Queueing delay that the control aims at, ps.
    pub target: u64,
    /// Bytes of a packet: the smallest window.
    pub packet: i64,
    /// Proportional increase, per byte and ps of missing delay.
    pub alpha: f64,
    /// Fair increase, per byte.
    pub fair: f64,
    /// Increase once per round trip, bytes.
    pub eta: f64,
    /// Fast increase, bytes per byte.
    pub fast: f64,
    /// QuickAdapt acts where less than the largest window, shifted right by so much, arrived.
    pub gate: u32,
    /// The network's scale relative to the reference network: its bandwidth-delay product, and its target.
    pub scale: (f64, f64),
    /// Whether a receiver's control is at work, too: it takes care of the last hop.
    pub with_receiver: bool,
    /// Whether increments wrap at 32 bits.
    pub wraps: bool,
}

/// The reference network's bandwidth-delay product, in bytes: 100 Gbit/s and 12 us.
const REFERENCE_BDP: f64 = 150_000.0;
/// Its target, in ps.
const REFERENCE_TARGET: f64 = 12_000_000.0;

impl Constants {
    /// Those of a network: its longest round trip (ps), rate (bit/s), payload and size of a packet, and the target (ps).
    pub fn new(network_rtt: u64, rate: u64, (payload, packet): (i64, i64), target: u64) -> Self {
        let bdp = bandwidth_delay(network_rtt, rate);
        let a = bdp as f64 / REFERENCE_BDP;
        let b = target as f64 / REFERENCE_TARGET;
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
            wraps: false,
        }
    }

    /// An increment, as wide as the simulator's where that is asked for.
    #[inline]
    fn increment(&self, value: f64) -> i64 {
        let value = value as i64;
        if self.wraps {
            i64::from(value as u32)
        } else {
            value
        }
    }
}

/// Bytes of a round trip (ps) at a rate (bit/s).
pub fn bandwidth_delay(rtt: u64, rate: u64) -> i64 {
    ((rtt as f64 / 1e12) * (rate / 8) as f64) as i64
}

/// By how much each reaction changed the window, bytes; of NACKs, what they asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Fair increase.
    pub fair: i64,
    /// Proportional increase.
    pub proportional: i64,
    /// Fast increase.
    pub fast: i64,
    /// Increase once per round trip.
    pub eta: i64,
    /// Multiplicative decrease.
    pub multiplicative: i64,
    /// QuickAdapt.
    pub quick: i64,
    /// NACKs.
    pub nack: i64,
}

/// What an ACK says.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    /// Present time, ps.
    pub now: u64,
    /// Whether the packet was marked.
    pub marked: bool,
    /// Delay above the base round-trip time, ps.
    pub delay: u64,
    /// Bytes that it newly acknowledges.
    pub bytes: i64,
    /// Bytes in flight.
    pub in_flight: i64,
}

/// Weight of a sample in the average delay.
const DELAY_WEIGHT: f64 = 0.0125;
/// An unmarked ACK below this delay counts as one of an idle network, ps.
const IDLE: u64 = 1_000_000;

/// The state of a flow.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Window, bytes.
    pub window: i64,
    /// The largest window: 1.5 bandwidth-delay products.
    pub max_window: i64,
    /// The least round-trip time so far, ps.
    pub base: u64,
    /// Average delay above it, ps.
    pub average: u64,
    /// By how much each reaction changed the window.
    pub sums: Sums,
    /// Bytes acknowledged since QuickAdapt last looked.
    pub achieved: i64,
    /// Bytes acknowledged since the window last grew.
    pub received: i64,
    /// Bytes acknowledged or trimmed since QuickAdapt last acted.
    pub ignored: u32,
    increase: i64,
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

impl Window {
    /// A flow of this base round-trip time (ps), with an initial window of its own or the largest.
    pub fn new(all: &Constants, base: u64, window: Option<i64>) -> Self {
        let max_window = (1.5 * bandwidth_delay(base, all.rate) as f64) as i64;
        Self {
            window: window.unwrap_or(max_window),
            max_window,
            base,
            ..Self::default()
        }
    }

    /// A round trip below the base becomes the base, and lowers the largest window.
    pub fn update_base(&mut self, all: &Constants, raw: u64) {
        if raw < self.base {
            self.base = raw;
            let bdp = (((raw as f64 / 1e6) * all.rate as f64) / 8_000_000.0) as i64;
            self.max_window = (1.5 * bdp as f64) as i64;
        }
    }

    /// Averages the delay of a round trip. A large one that no switch marked counts as a quarter of the base.
    pub fn update_average(&mut self, all: &Constants, raw: u64, marked: bool) {
        let delay = raw - self.base;
        let old = (1.0 - DELAY_WEIGHT) * self.average as f64;
        let new = match !marked && delay > all.target {
            true => (DELAY_WEIGHT * self.base as f64) * 0.25,
            false => DELAY_WEIGHT * delay as f64,
        };
        self.average = (new + old) as u64;
    }

    /// Bytes were acknowledged.
    pub fn count(&mut self, bytes: i64) {
        self.achieved += bytes;
        self.received += bytes;
        self.ignored = self.ignored.wrapping_add(bytes as u32);
    }

    /// An ACK. Returns whether the window could follow: not so where round trips are so short that nothing is in flight in
    /// one, and there is no window to grow.
    pub fn on_ack(&mut self, all: &Constants, ack: Feedback) -> bool {
        if self.quick_adapt(all, false, ack) {
            return true;
        }
        match (ack.marked, ack.delay >= all.target) {
            (false, true) => {
                let before = self.increase;
                self.increase = all.increment(before as f64 + all.fair * ack.bytes as f64);
                self.fair_pending += self.increase - before;
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
            if self.max_window == 0 {
                return false;
            }
            self.window += self.increase / self.window;
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
        true
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
        self.increase = all.increment(before as f64 + (all.alpha * bytes) * missing);
        self.proportional_pending += self.increase - before;
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
    pub fn on_nack(&mut self, all: &Constants, size: i64, last_hop: bool, ack: Feedback) {
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
    pub fn on_timeout(&mut self, all: &Constants, size: i64) {
        self.window = (self.window - size).max(all.packet);
    }
}

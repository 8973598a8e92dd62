//! Window of NSCC, as a state machine in integer arithmetic.
//!
//! The arithmetic follows uet-htsim at 40ccb05 in order and rounding, so that a model of that simulator can
//! match it exactly. The simulator's increments wrap at 32 bits; ours do if [`Constants::wraps`] is set.

/// Constants common to all flows of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Constants {
    /// Round-trip time of the longest path, in ps.
    pub network_rtt: u64,
    /// Rate of a NIC, in bit/s.
    pub rate: u64,
    /// Target queueing delay, in ps.
    pub target: u64,
    /// Bytes of a packet: the smallest window.
    pub packet: i64,
    /// Proportional increase, per byte and ps of missing delay.
    pub alpha: f64,
    /// Fair increase, per byte.
    pub fair: f64,
    /// Increase once per round trip, in bytes.
    pub eta: f64,
    /// Fast increase, in bytes per byte.
    pub fast: f64,
    /// QuickAdapt acts if less than the largest window, shifted right by `gate`, arrived.
    pub gate: u32,
    /// Scale relative to the reference network: of the bandwidth-delay product, and of the target.
    pub scale: (f64, f64),
    /// True if a receiver's control is active too; it then handles the last hop.
    pub with_receiver: bool,
    /// True if increments wrap at 32 bits.
    pub wraps: bool,
}

/// Bandwidth-delay product of the reference network, in bytes: 100 Gbit/s and 12 us.
const REFERENCE_BDP: f64 = 150_000.0;
/// Target of the reference network, in ps.
const REFERENCE_TARGET: f64 = 12_000_000.0;

impl Constants {
    /// Creates the constants of a network from its longest round trip (ps), rate (bit/s), payload and size of
    /// a packet, and target (ps).
    pub fn new(network_rtt: u64, rate: u64, payload: i64, packet: i64, target: u64) -> Self {
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

    /// Rounds an increment, and wraps it at 32 bits if the simulator's arithmetic is wanted.
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

/// Returns the bytes that `rate` (bit/s) sends in a round trip (ps).
pub fn bandwidth_delay(rtt: u64, rate: u64) -> i64 {
    ((rtt as f64 / 1e12) * (rate / 8) as f64) as i64
}

/// Total change of the window by each reaction, in bytes; for NACKs, the reductions asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Increase by the fair rule.
    pub fair: i64,
    /// Increase in proportion to the missing delay.
    pub proportional: i64,
    /// Increase of an idle network.
    pub fast: i64,
    /// Increase once per round trip.
    pub eta: i64,
    /// Multiplicative decrease of marked, late packets.
    pub multiplicative: i64,
    /// Decrease of the window by QuickAdapt.
    pub quick: i64,
    /// Bytes of trimmed packets.
    pub nack: i64,
}

/// Feedback of an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    /// Present time, in ps.
    pub now: u64,
    /// True if the packet was marked.
    pub marked: bool,
    /// Delay above the base round-trip time, in ps.
    pub delay: u64,
    /// Payload bytes newly acknowledged.
    pub bytes: i64,
    /// Bytes in flight after this feedback.
    pub in_flight: i64,
}

/// Weight of a sample in the average delay.
const DELAY_WEIGHT: f64 = 0.0125;
/// Delay below which an unmarked ACK indicates an idle network, in ps.
const IDLE: u64 = 1_000_000;

/// Window state of one flow.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Present window, in bytes.
    pub window: i64,
    /// Largest window: 1.5 bandwidth-delay products.
    pub max_window: i64,
    /// Smallest round-trip time so far, in ps.
    pub base: u64,
    /// Average delay above the base, in ps.
    pub average: u64,
    /// Total change of the window by each reaction.
    pub sums: Sums,
    /// Bytes acknowledged in QuickAdapt's present period.
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
    /// Creates a flow with this base round-trip time (ps), and a given initial window or the largest.
    pub fn new(all: &Constants, base: u64, window: Option<i64>) -> Self {
        let max_window = (1.5 * bandwidth_delay(base, all.rate) as f64) as i64;
        Self {
            window: window.unwrap_or(max_window),
            max_window,
            base,
            ..Self::default()
        }
    }

    /// Takes a smaller round trip as the base, which lowers the largest window.
    pub fn update_base(&mut self, all: &Constants, raw: u64) {
        if raw < self.base {
            self.base = raw;
            let bdp = (((raw as f64 / 1e6) * all.rate as f64) / 8_000_000.0) as i64;
            self.max_window = (1.5 * bdp as f64) as i64;
        }
    }

    /// Adds a round trip to the average delay. A delay above the target without a mark counts as a quarter of
    /// the base.
    pub fn update_average(&mut self, all: &Constants, raw: u64, marked: bool) {
        let delay = raw - self.base;
        let old = (1.0 - DELAY_WEIGHT) * self.average as f64;
        let new = match !marked && delay > all.target {
            true => (DELAY_WEIGHT * self.base as f64) * 0.25,
            false => DELAY_WEIGHT * delay as f64,
        };
        self.average = (new + old) as u64;
    }

    /// Counts acknowledged bytes for QuickAdapt and for increases.
    pub fn count(&mut self, bytes: i64) {
        self.achieved += bytes;
        self.received += bytes;
        self.ignored = self.ignored.wrapping_add(bytes as u32);
    }

    /// Handles an ACK. Returns false if the largest window is zero, because the round trip is too short for
    /// any data in flight.
    pub fn on_ack(&mut self, all: &Constants, ack: Feedback) -> bool {
        // QuickAdapt has set the window, or marks of packets sent before that are ignored.
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
                // The average, not this packet's delay, decides: single late packets are common on many
                // paths. Marks of one round trip count once.
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
            // The window would be zero, and the divisions below would fail.
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

    /// Increases the window after an unmarked ACK with less delay than the target.
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

    /// Applies QuickAdapt. Returns true if this feedback has no further effect: the window was just set, or
    /// marks are being ignored.
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
                // Packets in flight carry marks of the old window.
                self.to_ignore = ack.in_flight as u32;
                self.ignored = 0;
                self.saw_loss = false;
                acts = true;
            }
            self.achieved = 0;
            // The next period takes a round trip at the target delay.
            self.quick_end = ack.now + self.base + all.target;
        }
        if acts {
            self.increase = 0;
            self.received = 0;
        }
        acts
    }

    /// Handles a trimmed packet; `last_hop` if it was trimmed in the queue to its host. `ack` has the time
    /// and the bytes in flight.
    pub fn on_nack(&mut self, all: &Constants, size: i64, last_hop: bool, ack: Feedback) {
        self.ignored = self.ignored.wrapping_add(size as u32);
        // A trimmed packet counts as one that was delayed by a round trip.
        self.update_average(all, self.base + all.network_rtt, true);
        self.saw_loss = true;
        self.sums.nack += size;
        let ack = Feedback {
            marked: true,
            delay: 0,
            ..ack
        };
        let acts = self.quick_adapt(all, true, ack);
        // No path avoids the last hop: its congestion is the receiver's to control.
        let is_receivers = all.with_receiver && last_hop;
        if !acts && !is_receivers {
            self.window -= size;
            self.clamp(all);
        }
    }

    /// Handles a packet that was lost without notice.
    pub fn on_timeout(&mut self, all: &Constants, size: i64) {
        self.window = (self.window - size).max(all.packet);
    }
}

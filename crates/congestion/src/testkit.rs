//! Test driver for schemes: a sender and a path without a network.
//!
//! [`Pair`] owns the scheme's world (clock, timers, path, random stream) and feeds it acknowledgements, so
//! that a test reads like a trace:
//!
//! ```
//! use paceline_congestion::registry::SchemeParams;
//! use paceline_congestion::testkit::{Pair, ack, star_path};
//! use paceline_congestion::{AckInfo, Mark};
//! use paceline_kernel::{BitRate, Span};
//!
//! let dctcp = SchemeParams::default().configure("dctcp").unwrap();
//! let mut pair = Pair::new(star_path(), |path| dctcp.build(path));
//! pair.ack(&ack(1_000, 50_000)); // the first ACK starts a batch
//! pair.advance(Span::from_us(4));
//! pair.ack(&AckInfo { mark: Mark::Congested, ..ack(2_000, 52_000) }); // a mark: alpha is still 1
//! assert_eq!(pair.rate(), BitRate::from_gbps(50));
//! ```
//!
//! After each callback it checks the invariants of every scheme: a rate above zero and at most the line's,
//! and no timers in the past.

pub mod forests;
pub mod models;
pub mod policies;

use paceline_kernel::rng::{Purpose, Rng};
use paceline_kernel::{BitRate, Bytes, Span, Time};

use crate::api::{
    AckInfo, Cnp, CongestionControl, Ctx, Expiry, Grant, IntFormat, Mark, Outgoing, PathInfo, SendLimits,
    SentInfo, Shared, Signal, TimerBank, TimerEvent, TimerSlot,
};

use crate::switch::{Egress, EgressPort, PacketView, PayloadKind, Red};

/// Timers that may expire at one instant before [`Pair`] reports an endless loop.
const STORM: u32 = 1000;

/// Returns a path through one switch: two links of 100 Gbit/s and 1 us, packets of 1000 bytes.
pub fn star_path() -> PathInfo {
    PathInfo {
        line_rate: BitRate::from_gbps(100),
        base_rtt: Span::from_ns(4160),
        bdp: Bytes::new(52_000),
        mtu: Bytes::new(1000),
        full_packet: Bytes::new(1048),
        first_message: Bytes::new(1_000_000_000_000),
        hop_rates: vec![BitRate::from_gbps(100)],
        int: IntFormat::EXACT,
    }
}

/// Returns an acknowledgement up to `seq` while `snd_nxt` bytes have been sent: unmarked, for one packet of
/// 1000 bytes, after 4160 ns, without telemetry.
pub fn ack(seq: u64, snd_nxt: u64) -> AckInfo<'static> {
    AckInfo {
        highest: seq,
        delivered: seq,
        newly_acked: 1000,
        snd_nxt,
        rtt: Span::from_ns(4160),
        mark: Mark::None,
        hops: &[],
        header_bits: 0,
        nack: false,
        packet: 0,
        trimmed: None,
        tag: 0,
        congested: None,
        endpoint_delay: Span::ZERO,
    }
}

/// Returns an egress port of the switch in [`star_path`], with three classes.
pub fn egress_port() -> EgressPort {
    EgressPort {
        classes: 3,
        full_packet: Span::from_ps(83_840),
        full_bytes: 1048,
        rate: BitRate::from_gbps(100),
        delay: Span::from_us(1),
        red: Red::OFF,
        buffer: 1 << 20,
    }
}

/// Returns a full data packet of class 2 at that port, without tag or mark, with `queue` other bytes in its
/// queue.
pub fn passing(queue: u32) -> PacketView {
    PacketView {
        load: PayloadKind::Data,
        class: 2,
        wire: 1048,
        takes: Span::from_ps(83_840),
        tag: 0,
        mark: Mark::None,
        queue,
    }
}

/// Calls a switch half at that port, at time zero and with nothing in its other queues.
pub fn with_egress<T>(call: impl FnOnce(&mut Egress<'_>) -> T) -> T {
    let mut rng = Rng::stream(1, Purpose::Switch, 0);
    call(&mut Egress {
        now: Time::ZERO,
        rate: BitRate::from_gbps(100),
        queued: 0,
        rng: &mut rng,
    })
}

/// Timer that is set and has not expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pending {
    order: u64,
    event: TimerEvent,
}

/// Scheme and its world.
#[derive(Debug)]
pub struct Pair<C> {
    /// Sender that the test drives.
    pub cc: C,
    /// Time and rate at the start and at every change of rate.
    pub history: Vec<(Time, BitRate)>,
    /// True if a rate of zero is valid, because nothing may be sent without grants.
    pub by_grants: bool,
    /// Time and slot of every timer that has expired.
    pub expired: Vec<(Time, TimerSlot)>,
    now: Time,
    path: PathInfo,
    timers: TimerBank,
    rng: Rng,
    pending: Vec<Pending>,
    armed: u64,
    deciding: bool,
}

impl<C: CongestionControl> Pair<C> {
    /// Creates a sender on `path` at time zero.
    pub fn new(path: PathInfo, build: impl FnOnce(&PathInfo) -> C) -> Self {
        let cc = build(&path);
        let rate = cc.limits().rate;
        Self {
            cc,
            history: vec![(Time::ZERO, rate)],
            expired: Vec::new(),
            by_grants: false,
            now: Time::ZERO,
            path,
            timers: TimerBank::with_event_per_setting(),
            rng: Rng::stream(1, Purpose::Congestion, 0),
            pending: Vec::new(),
            armed: 0,
            deciding: false,
        }
    }

    /// Returns the tag and the words that the sender writes into a packet.
    pub fn stamps(&mut self, packet: &Outgoing) -> (u8, u64) {
        let mut cx = Ctx {
            now: self.now,
            path: &self.path,
            timers: &mut self.timers,
            rng: &mut self.rng,
        };
        (self.cc.tag(&mut cx, packet), self.cc.words(&mut cx, packet))
    }

    /// Returns the present time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the sender's present rate.
    pub fn rate(&self) -> BitRate {
        self.cc.limits().rate
    }

    /// Advances by `span`; timers that become due expire in order.
    pub fn advance(&mut self, span: Span) {
        self.advance_to(self.now + span);
    }

    /// Advances to `at`; timers that become due, including those at `at`, expire in order.
    pub fn advance_to(&mut self, at: Time) {
        let mut storm = 0;
        let first = |pending: &[Pending]| {
            let first = pending
                .iter()
                .copied()
                .min_by_key(|next| (next.event.at, next.order));
            first.filter(|next| next.event.at <= at)
        };
        while let Some(next) = first(&self.pending) {
            self.pending.retain(|timer| *timer != next);
            let (at, slot) = (next.event.at, next.event.slot);
            storm = if at > self.now { 0 } else { storm + 1 };
            assert!(storm < STORM, "timers expire for ever at {}", self.now);
            self.now = at.max(self.now);
            if self.timers.expire(next.event) == Expiry::Now {
                self.expired.push((self.now, slot));
                self.call(|cc, cx| cc.on_timer(cx, slot));
            }
        }
        self.now = at.max(self.now);
    }

    /// Delivers an acknowledgement now.
    pub fn ack(&mut self, ack: &AckInfo<'_>) {
        self.call(|cc, cx| cc.on_ack(cx, ack));
    }

    /// Passes an oracle's value: [`crate::Requirements::foresight`].
    pub fn foresight(&mut self, rtt: Span) {
        self.cc.on_foresight(rtt);
    }

    /// Returns true if a decision that the sender asked for ([`Ctx::decide`]) is pending.
    pub fn deciding(&self) -> bool {
        self.deciding
    }

    /// Lets the pending decision take effect now.
    ///
    /// # Panics
    /// If no decision is pending.
    pub fn decision(&mut self) {
        assert!(self.deciding, "no decision was asked for");
        self.deciding = false;
        self.call(|cc, cx| cc.on_decision(cx));
    }

    /// Answers the pending decision from outside; it takes effect now.
    ///
    /// # Panics
    /// If no decision is pending.
    pub fn answer(&mut self, limits: SendLimits) {
        assert!(self.deciding, "no decision was asked for");
        self.deciding = false;
        self.call(|cc, cx| cc.on_answer(cx, limits));
    }

    /// Delivers a congestion notification packet now.
    pub fn cnp(&mut self, cnp: &Cnp) {
        self.call(|cc, cx| cc.on_cnp(cx, cnp));
    }

    /// Delivers a signal of the switch half now.
    pub fn signal(&mut self, signal: &Signal) {
        self.call(|cc, cx| cc.on_signal(cx, signal));
    }

    /// Reports that another sender of its port has changed the shared state.
    pub fn shared(&mut self, shared: &Shared) {
        self.call(|cc, cx| cc.on_shared(cx, shared));
    }

    /// Returns the tag of a data packet that leaves now.
    pub fn tag(&mut self, packet: &Outgoing) -> u8 {
        let mut tag = 0;
        self.call(|cc, cx| tag = cc.tag(cx, packet));
        tag
    }

    /// Returns the words of a data packet that leaves now.
    pub fn words(&mut self, packet: &Outgoing) -> u64 {
        let mut words = 0;
        self.call(|cc, cx| words = cc.words(cx, packet));
        words
    }

    /// Delivers a grant now.
    pub fn grant(&mut self, grant: Grant) {
        self.call(|cc, cx| cc.on_grant(cx, grant));
    }

    /// Lets the retransmission timer expire now.
    pub fn timeout(&mut self) {
        self.call(|cc, cx| cc.on_timeout(cx));
    }

    /// Sends a packet with `payload` bytes and 48 bytes of headers now.
    pub fn send(&mut self, payload: Bytes) {
        let sent = SentInfo {
            payload,
            wire: payload + Bytes::new(48),
        };
        self.call(|cc, cx| cc.on_send(cx, &sent));
    }

    fn call(&mut self, callback: impl FnOnce(&mut C, &mut Ctx<'_>)) {
        let mut cx = Ctx {
            now: self.now,
            path: &self.path,
            timers: &mut self.timers,
            rng: &mut self.rng,
        };
        callback(&mut self.cc, &mut cx);
        while let Some(event) = self.timers.take_request() {
            let at = event.at;
            assert!(at >= self.now, "a timer is set to {at}, before {}", self.now);
            self.armed += 1;
            self.pending.push(Pending {
                order: self.armed,
                event,
            });
        }
        if self.timers.take_asked().decision() {
            assert!(!self.deciding, "a decision is asked for before the last is done");
            self.deciding = true;
        }
        let SendLimits { rate, window } = self.cc.limits();
        assert!(
            (self.by_grants || rate > BitRate::from_bps(0)) && rate <= self.path.line_rate,
            "a rate of {rate} on a line of {}",
            self.path.line_rate
        );
        assert!(window > Bytes::ZERO, "a window of zero");
        if self.history.last().is_none_or(|&(_, last)| last != rate) {
            self.history.push((self.now, rate));
        }
    }
}

impl CongestionControl for Box<dyn CongestionControl> {
    #[inline]
    fn limits(&self) -> SendLimits {
        (**self).limits()
    }
    #[inline]
    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        (**self).on_ack(cx, ack);
    }
    fn on_cnp(&mut self, cx: &mut Ctx<'_>, cnp: &Cnp) {
        (**self).on_cnp(cx, cnp);
    }
    fn on_signal(&mut self, cx: &mut Ctx<'_>, signal: &Signal) {
        (**self).on_signal(cx, signal);
    }
    fn tag(&mut self, cx: &mut Ctx<'_>, packet: &Outgoing) -> u8 {
        (**self).tag(cx, packet)
    }
    fn words(&mut self, cx: &mut Ctx<'_>, packet: &Outgoing) -> u64 {
        (**self).words(cx, packet)
    }
    fn on_grant(&mut self, cx: &mut Ctx<'_>, grant: Grant) {
        (**self).on_grant(cx, grant);
    }
    fn on_timeout(&mut self, cx: &mut Ctx<'_>) {
        (**self).on_timeout(cx);
    }
    fn on_send(&mut self, cx: &mut Ctx<'_>, sent: &SentInfo) {
        (**self).on_send(cx, sent);
    }
    fn on_decision(&mut self, cx: &mut Ctx<'_>) {
        (**self).on_decision(cx);
    }
    fn on_answer(&mut self, cx: &mut Ctx<'_>, limits: SendLimits) {
        (**self).on_answer(cx, limits);
    }
    fn on_foresight(&mut self, rtt: Span) {
        (**self).on_foresight(rtt);
    }
    fn on_timer(&mut self, cx: &mut Ctx<'_>, slot: TimerSlot) {
        (**self).on_timer(cx, slot);
    }
    fn on_idle(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        (**self).on_idle(cx, ack);
    }
    fn shared(&self) -> Option<Shared> {
        (**self).shared()
    }
    fn on_shared(&mut self, cx: &mut Ctx<'_>, shared: &Shared) {
        (**self).on_shared(cx, shared);
    }
    fn inherit(&mut self, window: Bytes) {
        (**self).inherit(window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scheme that halves its rate when its timer expires, and restarts the timer.
    #[derive(Clone, Debug)]
    struct Halver(BitRate);

    impl CongestionControl for Halver {
        fn limits(&self) -> SendLimits {
            SendLimits {
                rate: self.0,
                window: Bytes::MAX,
            }
        }
        fn on_ack(&mut self, cx: &mut Ctx<'_>, _ack: &AckInfo<'_>) {
            cx.arm(TimerSlot(1), Span::from_us(1));
        }
        fn on_timer(&mut self, cx: &mut Ctx<'_>, slot: TimerSlot) {
            self.0 = self.0.scale(0.5);
            cx.arm(slot, Span::from_us(2));
        }
    }

    #[test]
    fn timers_expire_in_order_and_a_later_setting_replaces() {
        let mut pair = Pair::new(star_path(), |path| Halver(path.line_rate));
        pair.ack(&ack(1000, 2000));
        pair.advance(Span::from_ns(500));
        pair.ack(&ack(2000, 3000)); // sets the timer again, to 1.5 us
        pair.advance(Span::from_us(4));
        let times: Vec<_> = pair.expired.iter().map(|&(at, _)| at.as_ns()).collect();
        assert_eq!(times, [1500, 3500]);
        assert_eq!(pair.rate(), BitRate::from_gbps(25));
        assert_eq!(pair.history.len(), 3);
        assert_eq!(pair.now(), Time::from_ns(4500));
    }
}

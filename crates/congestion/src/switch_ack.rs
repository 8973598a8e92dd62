//! Replies from switches: reports of ports that reach a sender before the acknowledgement.
//!
//! A sender asks with a bit in the tag of a data packet, once per interval ([`Asking`]). Each egress port on
//! the path whose queues hold at least a threshold of bytes when the packet arrives replies at once, in a
//! packet of its own ([`AnsweringPort`], [`PortReport`]). The reply has the bytes queued, the utilisation of
//! the link over the last whole window, and the growth of the queue since that window started.

mod report;

use paceline_kernel::{Bytes, Span, Time};

use crate::params::Auto;
use crate::signal::Carrier;
use crate::switch::{
    Egress, EgressPort, Hooks, Marking, Notify, PacketView, PayloadKind, Queue, SwitchHalf, Verdict,
};
use report::WHOLE;
pub use report::{PortReport, QueueTrend};

/// Tag bit by which a data packet asks for replies.
pub const ASKS: u8 = 1 << 6;

/// Events that a replying switch half needs.
pub const HOOKS: Hooks = Hooks {
    arrivals: true,
    departures: true,
    pauses: false,
};

/// Times at which a sender asks.
#[derive(Clone, Copy, Debug)]
pub struct Asking {
    interval: Span,
    next: Time,
}

impl Asking {
    /// Asks once per `interval`, starting with the first packet; with every packet if it is zero.
    pub fn new(interval: Span) -> Self {
        Self {
            interval,
            next: Time::ZERO,
        }
    }

    /// Returns the tag of a packet that leaves now.
    #[inline]
    pub fn tag(&mut self, now: Time) -> u8 {
        if now < self.next {
            return 0;
        }
        self.next = now.saturating_add(self.interval);
        ASKS
    }
}

/// Settings of replying ports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Queued bytes from which on ports reply; a full packet by default.
    pub threshold: Auto<Bytes>,
    /// Length of a window.
    pub window: Span,
}

/// State of an egress port that replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnsweringPort {
    threshold: u32,
    window: u64,
    /// Bytes that the link carries per window, at least 1.
    carries: u64,
    /// Start of the present window in ps, a multiple of its length.
    begun: u64,
    /// Bytes that have left in the present window; `queued` is the queue at its start.
    sent: u64,
    queued: u32,
    /// Values of `sent` and `queued` for the previous window.
    sent_before: u64,
    queued_before: u32,
}

impl AnsweringPort {
    /// Creates the state of a port that has forwarded nothing.
    pub fn new(rules: Rules, port: &EgressPort) -> Self {
        let threshold = rules.threshold.or(Bytes::new(u64::from(port.full_bytes)));
        Self {
            threshold: u32::try_from(threshold.get()).unwrap_or(u32::MAX),
            window: rules.window.as_ps().max(1),
            carries: port.rate.bytes_in(rules.window).get().max(1),
            begun: 0,
            sent: 0,
            queued: 0,
            sent_before: 0,
            queued_before: 0,
        }
    }

    /// Advances to the window that contains `now`; `queue` bytes have been queued since the last event.
    #[inline]
    fn go_to(&mut self, now: Time, queue: u32) {
        let since = now.as_ps() - self.begun;
        if since < self.window {
            return;
        }
        // After a window without any event the last whole window was idle and its queue constant.
        (self.sent_before, self.queued_before) = if since < 2 * self.window {
            (self.sent, self.queued)
        } else {
            (0, queue)
        };
        self.begun = now.as_ps() / self.window * self.window;
        (self.sent, self.queued) = (0, queue);
    }

    /// Returns utilisation and growth, given that `queue` bytes are queued now.
    fn trend(&self, now: Time, queue: u32) -> QueueTrend {
        let since = self.begun.saturating_sub(self.window);
        let elapsed = i128::from(now.as_ps() - since).max(1);
        let grown = i128::from(queue) - i128::from(self.queued_before);
        let growth = (grown * 1_000_000 / elapsed).clamp(i32::MIN.into(), i32::MAX.into());
        QueueTrend {
            utilisation: u16::try_from(self.sent_before * WHOLE / self.carries).unwrap_or(u16::MAX),
            growth: growth as i32,
        }
    }
}

impl SwitchHalf for AnsweringPort {
    #[inline]
    fn on_arrival(&mut self, at: &mut Egress<'_>, packet: &PacketView) -> Verdict {
        self.go_to(at.now, at.queued);
        let mut verdict = Verdict::pass(packet);
        // A short queue is not worth the extra packet.
        if packet.load == PayloadKind::Data && packet.tag & ASKS != 0 && at.queued >= self.threshold {
            let words = self.trend(at.now, at.queued).words(at.queued);
            verdict.notify = Notify::Sender(words, Carrier::Packet);
        }
        verdict
    }

    #[inline]
    fn on_departure(&mut self, at: &mut Egress<'_>, packet: &PacketView) -> Marking {
        self.go_to(at.now, at.queued + packet.wire);
        self.sent += u64::from(packet.wire);
        Marking::Curve
    }

    fn on_link_down(&mut self) {
        (self.queued, self.queued_before) = (0, 0);
    }

    fn verify(&self, now: Time, _class: u8, _queue: Queue) {
        assert!(self.begun <= now.as_ps(), "a window of the future");
    }
}

#[cfg(test)]
mod tests {
    use paceline_kernel::BitRate;

    use super::*;
    use crate::mark::Mark;
    use crate::signal::Signal;
    use crate::switch::Red;
    use paceline_kernel::rng::{Purpose, Rng};

    const G100: BitRate = BitRate::from_gbps(100);

    /// Port of 100 Gbit/s, or 12 500 bytes per microsecond: 25 000 per window of 2 us.
    fn port(threshold: Auto<Bytes>) -> AnsweringPort {
        let rules = Rules {
            threshold,
            window: Span::from_us(2),
        };
        let port = EgressPort {
            classes: 1,
            full_packet: Span::from_ns(80),
            full_bytes: 1000,
            rate: G100,
            delay: Span::from_us(1),
            red: Red::OFF,
            buffer: 1 << 20,
        };
        AnsweringPort::new(rules, &port)
    }

    fn packet(tag: u8) -> PacketView {
        PacketView {
            load: PayloadKind::Data,
            class: 1,
            wire: 1000,
            takes: Span::from_ns(80),
            tag,
            mark: Mark::None,
            queue: 0,
        }
    }

    fn at<T>(now_ns: u64, queued: u32, call: impl FnOnce(&mut Egress<'_>) -> T) -> T {
        let mut rng = Rng::stream(1, Purpose::Switch, 0);
        call(&mut Egress {
            now: Time::from_ns(now_ns),
            rate: G100,
            queued,
            rng: &mut rng,
        })
    }

    fn asks(port: &mut AnsweringPort, now_ns: u64, queued: u32) -> Option<QueueTrend> {
        let notify = at(now_ns, queued, |egress| {
            port.on_arrival(egress, &packet(ASKS)).notify
        });
        let Notify::Sender(words, Carrier::Packet) = notify else {
            assert_eq!(notify, Notify::Nobody);
            return None;
        };
        let report = PortReport::read(&Signal {
            words,
            port_rate: G100,
            after: Span::ZERO,
        });
        assert_eq!(report.queue, Bytes::new(u64::from(queued)));
        Some(report.trend)
    }

    fn leaves(port: &mut AnsweringPort, now_ns: u64, left: u32) {
        let marking = at(now_ns, left, |egress| port.on_departure(egress, &packet(0)));
        assert_eq!(marking, Marking::Curve);
    }

    fn got(utilisation: u16, growth: i32) -> Option<QueueTrend> {
        Some(QueueTrend { utilisation, growth })
    }

    /// By hand: ten packets of 1000 bytes leave in the window from 0 to 2 us, which could carry 25 000 bytes:
    /// 40 %. In the next window 12 500 bytes are 50 %, and the queue grows from 3000 bytes at 2 us to 8000 at
    /// 4.5: 2000 per microsecond.
    #[test]
    fn what_ports_tell_is_what_has_happened() {
        let mut port = port(Auto::Is(Bytes::new(500)));
        for packet in 0..10 {
            leaves(&mut port, 100 * packet, 3000);
        }
        // Only the queue is known yet: 3000 bytes in 1.5 us.
        assert_eq!(asks(&mut port, 1500, 3000), got(0, 2000));
        // 3000 bytes in the 2.5 us since 0.
        assert_eq!(asks(&mut port, 2500, 3000), got(4000, 1200));
        for packet in 0..12 {
            leaves(&mut port, 2600 + 100 * packet, 4000);
        }
        at(3900, 4000, |egress| {
            let half = PacketView {
                wire: 500,
                ..packet(0)
            };
            port.on_departure(egress, &half);
        });
        assert_eq!(asks(&mut port, 4500, 8000), got(5000, 2000));
        // After windows without events the link was idle and the queue constant.
        assert_eq!(asks(&mut port, 10_500, 8000), got(0, 0));
        // The queue shrinks: 8000 at 10 us, 500 at 13 us. (The previous window is that from 10 us.)
        assert_eq!(asks(&mut port, 13_000, 500), got(0, -2500));
    }

    #[test]
    fn only_those_who_ask_are_answered_and_from_the_threshold_on() {
        let mut full = port(Auto::Auto);
        assert_eq!(asks(&mut full, 100, 999), None);
        assert_eq!(asks(&mut full, 100, 1000), got(0, 10_000));
        let silent = at(200, 5000, |egress| full.on_arrival(egress, &packet(!ASKS)));
        assert_eq!(silent, Verdict::pass(&packet(!ASKS)));
        let mut every = port(Auto::Is(Bytes::ZERO));
        assert_eq!(asks(&mut every, 100, 0), got(0, 0));
        let control = PacketView {
            load: PayloadKind::Control,
            ..packet(ASKS)
        };
        let verdict = at(200, 5000, |egress| every.on_arrival(egress, &control));
        assert_eq!(verdict.notify, Notify::Nobody);
    }

    #[test]
    fn senders_ask_once_per_interval() {
        let mut asking = Asking::new(Span::from_us(2));
        let tags = [0, 1999, 2000, 2001, 5000, 6999, 7000].map(|ns| asking.tag(Time::from_ns(ns)));
        assert_eq!(tags, [ASKS, 0, ASKS, 0, ASKS, 0, ASKS]);
        let mut each = Asking::new(Span::ZERO);
        assert_eq!([each.tag(Time::ZERO), each.tag(Time::ZERO)], [ASKS, ASKS]);
    }

    #[test]
    fn reports_are_read_in_shares_of_the_line() {
        let report = PortReport {
            queue: Bytes::new(125_000),
            rate: G100,
            trend: QueueTrend {
                utilisation: 7500,
                growth: 12_500,
            },
            after: Span::from_us(1),
        };
        assert_eq!(report.drains(), Span::from_us(10));
        assert!((report.utilisation() - 0.75).abs() < 1e-12 && (report.growth() - 1.0).abs() < 1e-12);
    }
}

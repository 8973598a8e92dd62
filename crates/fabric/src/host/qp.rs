//! Queue pairs: what a flow's sender keeps, and what lets it send.

use crate::ids::{AccountId, FlowId, PortId};
use paceline_congestion::registry::WindowMode;
use paceline_congestion::{CongestionControl, Needs, PathInfo, SendLimits, TimerBank};
use paceline_kernel::rng::Rng;
use paceline_kernel::{BitRate, Bytes};

/// A rate at which nothing may be sent, until it changes.
pub(crate) const STANDSTILL: BitRate = BitRate::from_bps(0);

/// A queue pair's sender: one flow.
#[derive(Clone)]
pub(crate) struct Qp {
    pub(crate) flow: FlowId,
    pub(crate) port: PortId,
    /// Its place in its NIC's list, where the NIC has gathered (see [`crate::host::choose`]).
    pub(crate) place: u32,
    /// The account of its time ([`crate::watch::account`]); `AccountId::NONE` without one.
    pub(crate) account: AccountId,
    pub(crate) size: u64,
    pub(crate) snd_nxt: u64,
    pub(crate) snd_una: u64,
    /// Bytes beyond `snd_una` that are acknowledged selectively.
    pub(crate) sacked: u64,
    /// New data is sent up to here: the size, or as far as selective repeat allows.
    pub(crate) limit: u64,
    /// When pacing allows the next packet, in ps.
    pub(crate) next_avail: u64,
    /// The gap that pacing leaves after the start of the last packet, in ps.
    pub(crate) gap: u64,
    /// Payload bytes that may be in flight.
    pub(crate) window: u64,
    /// Where `snd_nxt` has to stop, pauses and pacing apart: see [`Qp::reckon`].
    pub(crate) bound: u64,
    pub(crate) rate: BitRate,
    /// The scheme's own window, as [`Qp::apply`] took it over.
    pub(crate) asked_window: Bytes,
    pub(crate) last_wire: u16,
    pub(crate) data_header: u16,
    /// Dense class of its data.
    pub(crate) class: u8,
    pub(crate) window_mode: WindowMode,
    /// Whether a path exists.
    pub(crate) reachable: bool,
    pub(crate) done: bool,
    /// Whether lost packets are to be sent again, before new ones.
    pub(crate) repairs: bool,
    /// The way of its data (see [`crate::switch::spread`] for what is spread), and the generation of that: an
    /// older one than the network's where there is no path any more.
    pub(crate) route: u64,
    pub(crate) data_epoch: u16,
    /// Highest byte ever sent.
    pub(crate) max_sent: u64,
    /// What that was when the sender first heard anything of its flow; `u64::MAX` before.
    pub(crate) sent_unheard: u64,
    /// The next round-trip sample counts once this byte is acknowledged.
    pub(crate) sample_after: u64,
    pub(crate) last_progress: u64,
    pub(crate) retransmitted: u64,
    pub(crate) needs: Needs,
    /// Whether echoes of marks in acknowledgements are notifications: the receiver sends none in their place.
    pub(crate) echo_notifies: bool,
    pub(crate) scheme: Box<dyn CongestionControl>,
    pub(crate) timers: TimerBank,
    pub(crate) rng: Rng,
    pub(crate) path: Box<PathInfo>,
}

impl Qp {
    pub(crate) fn in_flight(&self) -> u64 {
        self.snd_nxt.saturating_sub(self.snd_una + self.sacked)
    }
    pub(crate) fn has_data(&self) -> bool {
        self.repairs || self.snd_nxt < self.size
    }
    /// Of the bytes from `start` to `end`: those that were sent, and those before the sender heard anything.
    pub(crate) fn sent_within(&self, start: u64, end: u64) -> (Bytes, Bytes) {
        let within = |sent: u64| Bytes::new(sent.clamp(start, end) - start);
        (
            within(self.max_sent),
            within(self.sent_unheard.min(self.max_sent)),
        )
    }
    /// The sender hears of its flow: an acknowledgement, a notification.
    #[inline]
    pub(crate) fn hears(&mut self) {
        if self.sent_unheard == u64::MAX {
            self.sent_unheard = self.max_sent;
        }
    }
    /// Whether its scheme lets nothing go, whatever the window.
    #[inline]
    pub(crate) fn stands(&self) -> bool {
        self.rate == STANDSTILL
    }
    /// Whether something other than pacing keeps it from sending.
    #[inline]
    pub(crate) fn is_blocked(&self, paused: u16) -> bool {
        self.snd_nxt >= self.bound || paused >> self.class & 1 != 0
    }
    #[inline]
    pub(crate) fn is_finished(&self) -> bool {
        self.snd_una >= self.size
    }

    /// Whether it may send is asked much more often than the answer changes: what bounds it is put
    /// together here, after every change of what is acknowledged, of rate and window, of the limit, of what
    /// is to be repaired and of the path.
    #[inline]
    pub(crate) fn reckon(&mut self) {
        self.bound = self.bound_now();
    }

    #[inline]
    fn bound_now(&self) -> u64 {
        match (self.reachable && !self.stands(), self.repairs) {
            (false, _) => 0,
            (true, true) => u64::MAX,
            // With `unsigned_in_flight` only: more is in flight than any window allows.
            (true, false) if self.snd_nxt < self.snd_una && self.window != u64::MAX => 0,
            (true, false) => {
                let acknowledged = self.snd_una + self.sacked;
                self.limit.min(acknowledged.saturating_add(self.window))
            }
        }
    }

    /// What was put together is still so.
    pub(crate) fn verify(&self) {
        assert_eq!(
            self.bound,
            self.bound_now(),
            "flow {}: what it may send",
            self.flow
        );
    }

    /// Takes over what the scheme allows now.
    #[inline]
    pub(crate) fn apply(&mut self, limits: SendLimits) {
        (self.rate, self.asked_window) = (limits.rate, limits.window);
        let by_mode = match self.window_mode {
            WindowMode::Off => u64::MAX,
            WindowMode::Fixed => self.path.bdp.get(),
            // Integers, as the reference has it; at least one byte.
            WindowMode::Variable => {
                let (bdp, rate, line) = (
                    self.path.bdp.get(),
                    limits.rate.as_bps(),
                    self.path.line_rate.as_bps(),
                );
                let window = match bdp.checked_mul(rate) {
                    Some(product) => product / line,
                    None => (u128::from(bdp) * u128::from(rate) / u128::from(line)) as u64,
                };
                window.max(1)
            }
        };
        self.window = by_mode.min(limits.window.get());
        self.reckon();
    }
}

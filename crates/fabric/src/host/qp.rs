//! Queue pairs: the state of a flow's sender, and the limits of what it may send.

mod note;

use crate::core::cx::Cx;
use crate::host::connection::Connection;
use crate::host::ways::Ways;
use crate::ids::{AccountId, FlowId, PortId};
use crate::world::World;
use paceline_congestion::registry::WindowMode;
use paceline_congestion::{CongestionControl, PathInfo, Requirements, SendLimits, TimerBank};
use paceline_kernel::rng::{Purpose, Rng};
use paceline_kernel::{BitRate, Bytes, Span};
use paceline_run::spec::{Recovery, TieOrder};

/// Departure time of a queue pair that something other than pacing holds back.
pub(super) const NEVER: u64 = u64::MAX;

/// Rate at which nothing may be sent, until it changes.
pub(super) const NO_RATE: BitRate = BitRate::from_bps(0);

/// Key of the queue pairs that share a scheme's state ([`super::sharing`]): the host's port, a priority, and the index
/// of the scheme in the description.
pub(super) type Group = (PortId, u8, u16);

/// Sender of a queue pair: of one flow, or of a persistent connection.
#[derive(Clone)]
pub struct Qp {
    /// Number of the flow; for a connection, of the first flow that it carries.
    pub(super) flow: FlowId,
    /// Index in the NIC's list, if the NIC has a tree (see [`super::scheduler`]).
    pub(super) index: u32,
    /// Account of the sender's time ([`crate::watch::account`]); `AccountId::NONE` without one.
    pub(super) account: AccountId,
    pub(super) progress: Progress,
    pub(super) limits: Limits,
    pub(super) pacing: Pacing,
    /// Path of the data.
    pub(super) data: DataPath,
    /// Bytes of headers in each data packet.
    pub(super) data_header: u16,
    /// Dense class of the data.
    pub(super) class: u8,
    pub(super) done: bool,
    pub(super) needs: Requirements,
    /// True if the scheme or the path selector writes into packets.
    pub(super) stamps: bool,
    /// True if the scheme or a program is notified of departing packets.
    pub(super) hears_sent: bool,
    /// True if echoes of marks in acknowledgements are notifications, because the receiver sends no CNPs.
    pub(super) echo_notifies: bool,
    pub(super) scheme: Box<dyn CongestionControl>,
    pub(super) timers: TimerBank,
    pub(super) rng: Rng,
    pub(super) path: Box<PathInfo>,
    /// Path selector of a sender that chooses a path for each packet, and the paths known so far.
    pub(super) ways: Option<Box<Ways>>,
    /// State of a persistent connection; `None` for a single flow.
    pub(super) connection: Option<Box<Connection>>,
}

/// Sequence numbers of a queue pair, in bytes, and what has become of the data before them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// End of the data to send.
    pub(super) size: u64,
    /// Sequence number at whose acknowledgement the flow, or the first posted message of the connection, is complete.
    pub(super) end_seq: u64,
    pub(super) snd_nxt: u64,
    pub(super) snd_una: u64,
    /// Bytes beyond `snd_una` that are acknowledged selectively.
    pub(super) sacked: u64,
    /// Bytes beyond `snd_una` that are not in flight: `sacked`, and under RUD also lost bytes that wait for
    /// retransmission.
    pub(super) absent: u64,
    /// End of the highest byte ever sent.
    pub(super) max_sent: u64,
    /// Value of `max_sent` at the first feedback of the flow: the unscheduled bytes; `u64::MAX` before.
    pub(super) sent_unscheduled: u64,
    /// Sequence number after which the next round-trip sample counts.
    pub(super) sample_after: u64,
    /// Time of the last acknowledgement of new data, in ps.
    pub(super) last_progress: u64,
    pub(super) retransmitted: u64,
}

/// Bounds of the bytes that a queue pair may send, regardless of the time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// End of the new data that may be sent: the size, or as far as selective repeat allows.
    pub(super) limit: u64,
    /// Payload bytes that may be in flight.
    pub(super) window: u64,
    /// Upper bound of `snd_nxt`, by everything but pauses and pacing: see [`Qp::recompute_bound`].
    pub(super) bound: u64,
    /// Window that the scheme asks for, before the window mode is applied ([`Qp::apply`]).
    pub(super) asked_window: Bytes,
    pub(super) window_mode: WindowMode,
    /// True if lost packets are to be retransmitted, ahead of new ones.
    pub(super) repairs: bool,
    /// True if the window limits retransmissions too (RUD).
    pub(super) bounds_repairs: bool,
}

/// Rate of a queue pair, and the time that follows from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacing {
    pub(super) rate: BitRate,
    /// Time at which pacing allows the next packet, in ps.
    pub(super) next_avail: u64,
    /// Gap that pacing leaves after the start of the last packet, in ps.
    pub(super) gap: u64,
    /// Size of the last packet on the wire, in bytes.
    pub(super) last_wire: u16,
}

/// Path of a flow's data: its ends, and the form that packets carry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataPath {
    /// Port of the sender.
    pub(crate) port: PortId,
    /// Port by which the data leaves the network.
    pub(crate) last: PortId,
    /// Path as packets carry it (see `switch/spread.rs` for packets under load balancing).
    pub(crate) route: u64,
    /// Generation of the path: an older one than the network's if there is no path any more.
    pub(crate) epoch: u16,
    /// True if the path exists; if not, the flow waits at the port.
    pub(crate) reachable: bool,
}

/// Cause that keeps a queue pair from sending, except for pauses, pacing and other queue pairs' turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocked {
    /// No cause: it may send.
    No,
    /// No path to the receiver.
    Unreachable,
    /// All data has been sent.
    AllSent,
    /// A full window, or the limit of selective repeat.
    Window,
    /// A rate of zero.
    Rate,
}

/// Contents of a queue pair's next packet.
pub(super) struct Part {
    pub(super) flow: FlowId,
    pub(super) payload: u16,
    /// Sequence number of the data that follows the packet's.
    pub(super) end: u64,
    pub(super) flags: u8,
}

impl Qp {
    /// Returns the contents of the packet at `seq`.
    #[inline]
    pub(super) fn part(&self, seq: u64, mtu: u64) -> Part {
        if let Some(connection) = &self.connection {
            return connection.part(seq, mtu);
        }
        let payload = mtu.min(self.progress.size - seq);
        Part {
            flow: self.flow,
            payload: payload as u16,
            end: seq + payload,
            flags: 0,
        }
    }

    /// Returns the bytes that the packet at `seq` has in addition to the common headers: some if a message begins with
    /// it.
    pub(super) fn first_header(&self, world: &World, seq: u64) -> u16 {
        let begins = match &self.connection {
            None => seq == 0,
            Some(connection) => connection.begins(seq),
        };
        if begins { world.first_header } else { 0 }
    }

    /// Counts `payload` retransmitted bytes from `seq` on.
    #[inline]
    pub(super) fn sent_again(&mut self, seq: u64, payload: u64) {
        self.progress.retransmitted += payload;
        if let Some(connection) = &mut self.connection {
            connection.sent_again(seq, payload);
        }
    }
}

/// Queries of recorders and of other network models' transports (`super::messages`).
impl Qp {
    /// Returns the flow; for a connection, the first one.
    #[inline]
    pub fn flow(&self) -> FlowId {
        self.flow
    }
    /// Returns the port through which data is sent.
    #[inline]
    pub fn port(&self) -> PortId {
        self.data.port
    }
    /// Returns the dense class of the data.
    #[inline]
    pub(crate) fn class(&self) -> u8 {
        self.class
    }
    /// Returns the account of the sender's time.
    #[inline]
    pub(crate) fn account(&self) -> AccountId {
        self.account
    }
    /// Returns the payload bytes that may be in flight; `u64::MAX` if unlimited.
    #[inline]
    pub fn window(&self) -> u64 {
        self.limits.window
    }
    #[inline]
    pub(crate) fn rate(&self) -> BitRate {
        self.pacing.rate
    }
    /// Returns the time at which pacing allows the next packet, in ps.
    #[inline]
    pub(crate) fn next_avail(&self) -> u64 {
        self.pacing.next_avail
    }
    /// Returns the bytes of headers in a data packet.
    pub fn data_header(&self) -> u16 {
        self.data_header
    }
    /// Returns the properties of the path that the scheme sees.
    pub fn path(&self) -> &PathInfo {
        &self.path
    }
    /// Returns the requirements of the scheme.
    pub fn needs(&self) -> &Requirements {
        &self.needs
    }
    /// Returns true if echoes of marks in acknowledgements are notifications.
    pub(crate) fn echo_notifies(&self) -> bool {
        self.echo_notifies
    }
    pub(crate) fn is_reachable(&self) -> bool {
        self.data.reachable
    }
    /// Returns true if feedback on `flow` is for this queue pair. Its slot may have been another flow's before, of
    /// which packets are still in the network.
    #[inline]
    pub(super) fn is_of(&self, world: &World, flow: FlowId) -> bool {
        let carries = || self.connection.is_some() && world.connection_of(flow) == Some(self.flow);
        (self.flow == flow || carries()) && !self.done
    }
    /// Returns true if the queue pair carries one message after another.
    #[inline]
    pub(crate) fn is_connection(&self) -> bool {
        self.connection.is_some()
    }
    /// Returns true if the flow is over, or all flows of the connection.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }
    /// Returns true if all bytes before `end` have been sent once.
    #[inline]
    pub(crate) fn has_sent(&self, end: u64) -> bool {
        end <= self.progress.max_sent
    }
    /// Returns the cause that keeps the queue pair from sending.
    #[inline]
    pub(crate) fn held(&self) -> Blocked {
        // Several causes can hold at once, so their order decides which of them accounts name.
        if !self.data.reachable {
            Blocked::Unreachable
        } else if self.progress.snd_nxt < self.limits.bound {
            Blocked::No
        } else if !self.has_data() {
            Blocked::AllSent
        } else if self.progress.snd_nxt >= self.limits.limit || self.in_flight() >= self.limits.window {
            Blocked::Window
        } else {
            Blocked::Rate
        }
    }
    /// Passes the round-trip time that the next packet would have to the scheme.
    pub(crate) fn foresee(&mut self, rtt: Span) {
        self.scheme.on_foresight(rtt);
    }
}

impl Qp {
    /// Creates the queue pair of a flow that starts now.
    pub(super) fn new(cx: &Cx<'_>, flow: FlowId, path: DataPath, info: PathInfo) -> Self {
        let described = cx.world.flow(cx.core, flow);
        let at_work = cx.world.scheme_of(cx.core, flow);
        let scheme = &cx.world.spec.schemes[usize::from(described.scheme)];
        let needs = at_work.needs();
        let connection = described
            .connection
            .map(|number| Connection::of(cx.world, number, cx.core.now()));
        let (size, end_seq) = match connection {
            None => (described.size.get(), described.size.get()),
            // A connection has nothing to send until a message is posted, and is not finished before either.
            Some(_) => (0, u64::MAX),
        };
        let mut qp = Self {
            flow,
            index: 0,
            account: (cx.core.watch.accounts).of_sender(flow, described.connection),
            progress: Progress {
                size,
                end_seq,
                snd_nxt: 0,
                snd_una: 0,
                sacked: 0,
                absent: 0,
                max_sent: 0,
                sent_unscheduled: u64::MAX,
                sample_after: 0,
                last_progress: cx.core.now(),
                retransmitted: 0,
            },
            limits: Limits {
                limit: size,
                window: u64::MAX,
                bound: 0,
                asked_window: Bytes::MAX,
                window_mode: scheme.window,
                repairs: false,
                bounds_repairs: matches!(cx.world.nic.recovery, Recovery::Rud(_)),
            },
            pacing: Pacing {
                rate: info.line_rate,
                next_avail: cx.core.now(),
                gap: 0,
                last_wire: 0,
            },
            data: path,
            data_header: cx.world.packet.data_headers(&needs),
            class: cx.world.classes.dense(described.class),
            done: false,
            stamps: needs.tags || needs.words,
            needs,
            hears_sent: needs.counts_sent || cx.world.is_of_program(flow),
            echo_notifies: (at_work.receiver_half()).is_none_or(|half| !half.replaces_echo()),
            scheme: at_work.build(&info),
            // The reference has an event for each setting of a timer, which counts in the order of events.
            timers: match cx.world.spec.ties {
                TieOrder::Insertion => TimerBank::with_event_per_setting(),
                TieOrder::Structural | TieOrder::Drawn | TieOrder::Shuffled(_) => TimerBank::default(),
            },
            rng: Rng::stream(cx.world.spec.seed, Purpose::Congestion, u64::from(flow.0)),
            path: Box::new(info),
            ways: None,
            connection,
        };
        if let Some(entropy) = &cx.world.spec.entropy
            && cx.world.chooses_paths(&described)
        {
            qp.ways = Some(Box::new(Ways::choosing(
                cx.world,
                &described,
                entropy,
                &mut qp.rng,
            )));
            qp.stamps = true;
        }
        qp.apply(qp.scheme.limits());
        qp
    }

    /// Puts the flow on another path.
    pub(super) fn take_path(&mut self, path: DataPath, info: PathInfo) {
        self.data = path;
        if let Some(connection) = &mut self.connection {
            connection.forget_ideal();
        }
        // Without its window, a flow that started without a path would keep the zero of `hpcc_divides_by_window`.
        let bdp = self.path.bdp;
        *self.path = info;
        if bdp.get() == 0 {
            self.path.bdp = bdp;
        }
        self.apply(self.scheme.limits());
    }

    /// Notes that there is no path any more.
    pub(super) fn lose_path(&mut self) {
        self.data.reachable = false;
        self.recompute_bound();
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.progress
            .snd_nxt
            .saturating_sub(self.progress.snd_una + self.progress.absent)
    }
    pub(super) fn has_data(&self) -> bool {
        self.limits.repairs || self.progress.snd_nxt < self.progress.size
    }
    /// Returns the bytes from `start` to `end` that were sent, and those of them that were sent before the first
    /// feedback.
    pub fn sent_within(&self, start: u64, end: u64) -> (Bytes, Bytes) {
        let within = |sent: u64| Bytes::new(sent.clamp(start, end) - start);
        (
            within(self.progress.max_sent),
            within(self.progress.sent_unscheduled.min(self.progress.max_sent)),
        )
    }
    /// Notes that feedback has arrived: from now on bytes are no longer unscheduled.
    #[inline]
    pub(super) fn on_feedback(&mut self) {
        if self.progress.sent_unscheduled == u64::MAX {
            self.progress.sent_unscheduled = self.progress.max_sent;
        }
    }
    /// Returns true if the scheme's rate is zero, so that nothing may be sent, regardless of the window.
    #[inline]
    pub(crate) fn stands(&self) -> bool {
        self.pacing.rate == NO_RATE
    }
    /// Returns true if the sender waits for a grant of the receiver's host.
    #[inline]
    pub(crate) fn awaits_grant(&self) -> bool {
        self.stands() && self.needs.grants
    }
    /// Returns true if something other than pacing keeps the queue pair from sending.
    #[inline]
    pub(crate) fn is_blocked(&self, paused: u16) -> bool {
        self.progress.snd_nxt >= self.limits.bound || paused >> self.class & 1 != 0
    }

    /// Returns the time at which the queue pair may send, pauses apart.
    #[inline]
    pub(super) fn due(&self) -> u64 {
        if self.is_blocked(0) {
            NEVER
        } else {
            self.pacing.next_avail
        }
    }

    /// Returns true if the flow is complete, or the first posted message of the connection.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.progress.snd_una >= self.progress.end_seq
    }

    /// Updates the bound of what may be sent. It is read much more often than it changes, so it is computed here after
    /// every change of the acknowledged bytes, of rate, window and limit, of retransmissions and of the path.
    #[inline]
    pub(super) fn recompute_bound(&mut self) {
        self.limits.bound = self.bound_now();
    }

    #[inline]
    fn bound_now(&self) -> u64 {
        match (self.data.reachable && !self.stands(), self.limits.repairs) {
            (false, _) => 0,
            // Under RUD lost bytes are not in flight, so that a retransmission takes window like new data.
            (true, true) if self.limits.bounds_repairs && self.in_flight() >= self.limits.window => 0,
            // Under the others lost bytes still count as in flight, so a retransmission takes no more of the window.
            (true, true) => u64::MAX,
            // With `unsigned_in_flight` only: the difference wraps, and is larger than any window.
            (true, false)
                if self.progress.snd_nxt < self.progress.snd_una && self.limits.window != u64::MAX =>
            {
                0
            }
            (true, false) => {
                let acknowledged = self.progress.snd_una + self.progress.absent;
                self.limits
                    .limit
                    .min(acknowledged.saturating_add(self.limits.window))
            }
        }
    }

    /// Checks that the bound is up to date.
    pub(super) fn verify(&self) {
        assert_eq!(
            self.limits.bound,
            self.bound_now(),
            "flow {}: what it may send",
            self.flow
        );
    }

    /// Applies the limits of the scheme.
    #[inline]
    pub(super) fn apply(&mut self, limits: SendLimits) {
        (self.pacing.rate, self.limits.asked_window) = (limits.rate, limits.window);
        let by_mode = match self.limits.window_mode {
            WindowMode::Off => u64::MAX,
            WindowMode::Fixed => self.path.bdp.get(),
            // Integer arithmetic, as in the reference; at least one byte, or nothing could ever be sent again.
            WindowMode::Variable => {
                let (bdp, rate, line) = (
                    self.path.bdp.get(),
                    limits.rate.as_bps(),
                    self.path.line_rate.as_bps(),
                );
                // Bytes times bit/s exceed 64 bits on long, fast paths.
                let window = match bdp.checked_mul(rate) {
                    Some(product) => product / line,
                    None => (u128::from(bdp) * u128::from(rate) / u128::from(line)) as u64,
                };
                window.max(1)
            }
        };
        self.limits.window = by_mode.min(limits.window.get());
        self.recompute_bound();
    }
}

//! Queue pairs: what a flow's sender keeps, and what lets it send.

mod note;

use crate::core::Core;
use crate::host::connection::Connection;
use crate::host::ways::Ways;
use crate::ids::{AccountId, FlowId, PortId};
use crate::world::World;
use paceline_congestion::registry::WindowMode;
use paceline_congestion::{CongestionControl, PathInfo, Requirements, SendLimits, TimerBank};
use paceline_kernel::rng::{Purpose, Rng};
use paceline_kernel::{BitRate, Bytes, Span};
use paceline_run::spec::{Recovery, TieOrder};

/// When a queue pair may go that something else than pacing keeps back.
pub(super) const NEVER: u64 = u64::MAX;

/// A rate at which nothing may be sent, until it changes.
pub(super) const NO_RATE: BitRate = BitRate::from_bps(0);

/// What queue pairs have in common that share ([`super::sharing`]): a host's port, a priority, and the scheme of flows, by its
/// place in the description.
pub(super) type Group = (PortId, u8, u16);

/// A queue pair's sender: one flow, or a persistent connection.
#[derive(Clone)]
pub struct Qp {
    /// Of a connection: the first flow that it carries.
    pub(super) flow: FlowId,
    pub(super) port: PortId,
    /// Its place in its NIC's list, where the NIC has a tree (see [`super::scheduler`]).
    pub(super) place: u32,
    /// The account of its time ([`crate::watch::account`]); `AccountId::NONE` without one.
    pub(super) account: AccountId,
    /// Where what it is to send ends.
    pub(super) size: u64,
    /// It is over, or the first message that its connection has to complete, when all before this is acknowledged.
    pub(super) end_seq: u64,
    pub(super) snd_nxt: u64,
    pub(super) snd_una: u64,
    /// Bytes beyond `snd_una` that are acknowledged selectively.
    pub(super) sacked: u64,
    /// Bytes beyond `snd_una` that are not in flight: those, and with RUD what was lost and waits to be sent again.
    pub(super) absent: u64,
    /// New data is sent up to here: the size, or as far as selective repeat allows.
    pub(super) limit: u64,
    /// When pacing allows the next packet, in ps.
    pub(super) next_avail: u64,
    /// The gap that pacing leaves after the start of the last packet, in ps.
    pub(super) gap: u64,
    /// Payload bytes that may be in flight.
    pub(super) window: u64,
    /// Where `snd_nxt` has to stop, pauses and pacing apart: see [`Qp::recompute_bound`].
    pub(super) bound: u64,
    pub(super) rate: BitRate,
    /// The scheme's own window, as [`Qp::apply`] took it over.
    pub(super) asked_window: Bytes,
    pub(super) last_wire: u16,
    pub(super) data_header: u16,
    /// Dense class of its data.
    pub(super) class: u8,
    pub(super) window_mode: WindowMode,
    /// Whether a path exists.
    pub(super) reachable: bool,
    pub(super) done: bool,
    /// Whether lost packets are to be sent again, before new ones.
    pub(super) repairs: bool,
    /// Whether the window holds those back too (RUD).
    pub(super) bounds_repairs: bool,
    /// The way of its data (see `switch/spread.rs` for what is spread), and the generation of that: an
    /// older one than the network's where there is no path any more.
    pub(super) route: u64,
    pub(super) data_epoch: u16,
    /// Highest byte ever sent.
    pub(super) max_sent: u64,
    /// What that was when the sender first heard anything of its flow; `u64::MAX` before.
    pub(super) sent_unscheduled: u64,
    /// The next round-trip sample counts once this byte is acknowledged.
    pub(super) sample_after: u64,
    pub(super) last_progress: u64,
    pub(super) retransmitted: u64,
    pub(super) needs: Requirements,
    /// Whether its packets carry what the scheme or the selector of paths writes into them.
    pub(super) stamps: bool,
    /// Whether its scheme or a program is to be told of packets that leave.
    pub(super) hears_sent: bool,
    /// Whether echoes of marks in acknowledgements are notifications: the receiver sends none in their place.
    pub(super) echo_notifies: bool,
    pub(super) scheme: Box<dyn CongestionControl>,
    pub(super) timers: TimerBank,
    pub(super) rng: Rng,
    pub(super) path: Box<PathInfo>,
    /// The port by which its data leaves the network.
    pub(super) last_port: PortId,
    /// Where the sender chooses a path for each packet: how, and those that it has taken.
    pub(super) ways: Option<Box<Ways>>,
    /// What it keeps where it carries one message after another.
    pub(super) connection: Option<Box<Connection>>,
}

/// Where the way of a flow's data begins, what its packets carry of it, and the generation that goes with that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) port: PortId,
    /// The port by which it leaves the network.
    pub(crate) last: PortId,
    pub(crate) route: u64,
    pub(crate) epoch: u16,
    /// Whether there is one: if not, the flow waits at the port.
    pub(crate) reachable: bool,
}

/// What keeps a queue pair from sending: pauses, pacing and the turns of others apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// Nothing.
    No,
    /// There is no path.
    Unreachable,
    /// All has been sent.
    AllSent,
    /// The window, or what selective repeat allows.
    Window,
    /// The scheme: its rate is zero.
    Rate,
}

/// What a queue pair's next packet carries.
pub(super) struct Part {
    pub(super) flow: FlowId,
    pub(super) payload: u16,
    /// The sequence number of what follows it.
    pub(super) end: u64,
    pub(super) flags: u8,
}

impl Qp {
    /// What is sent from `seq` on.
    #[inline]
    pub(super) fn part(&self, seq: u64, mtu: u64) -> Part {
        if let Some(connection) = &self.connection {
            return connection.part(seq, mtu);
        }
        let payload = mtu.min(self.size - seq);
        Part {
            flow: self.flow,
            payload: payload as u16,
            end: seq + payload,
            flags: 0,
        }
    }

    /// What the packet at `seq` has alongside the headers of all: something if a message begins with it.
    pub(super) fn first_header(&self, world: &World, seq: u64) -> u16 {
        let begins = match &self.connection {
            None => seq == 0,
            Some(connection) => connection.begins(seq),
        };
        if begins { world.first_header } else { 0 }
    }

    /// So many bytes have been sent again, from `seq` on.
    #[inline]
    pub(super) fn sent_again(&mut self, seq: u64, payload: u64) {
        self.retransmitted += payload;
        if let Some(connection) = &mut self.connection {
            connection.sent_again(seq, payload);
        }
    }
}

/// What others may ask: recorders, and transports of other makes (`super::messages`).
impl Qp {
    /// The flow that it goes by.
    #[inline]
    pub fn flow(&self) -> FlowId {
        self.flow
    }
    /// The port that it sends by.
    #[inline]
    pub fn port(&self) -> PortId {
        self.port
    }
    /// Dense class of its data.
    #[inline]
    pub(crate) fn class(&self) -> u8 {
        self.class
    }
    /// The account of its time.
    #[inline]
    pub(crate) fn account(&self) -> AccountId {
        self.account
    }
    /// Payload bytes that may be in flight; `u64::MAX` for any number.
    #[inline]
    pub fn window(&self) -> u64 {
        self.window
    }
    #[inline]
    pub(crate) fn rate(&self) -> BitRate {
        self.rate
    }
    /// When pacing allows the next packet, in ps.
    #[inline]
    pub(crate) fn next_avail(&self) -> u64 {
        self.next_avail
    }
    /// Headers of its data packets.
    pub fn data_header(&self) -> u16 {
        self.data_header
    }
    /// What its scheme sees of its path.
    pub fn path(&self) -> &PathInfo {
        &self.path
    }
    /// What its scheme needs.
    pub fn needs(&self) -> &Requirements {
        &self.needs
    }
    /// Whether echoes of marks in acknowledgements are notifications.
    pub(crate) fn echo_notifies(&self) -> bool {
        self.echo_notifies
    }
    pub(crate) fn is_reachable(&self) -> bool {
        self.reachable
    }
    /// Whether what is said of a flow is said to it. Its place may have been another flow's, of which packets are still
    /// under way.
    #[inline]
    pub(super) fn is_of(&self, world: &World, flow: FlowId) -> bool {
        let carries = || self.connection.is_some() && world.connection_of(flow) == Some(self.flow);
        (self.flow == flow || carries()) && !self.done
    }
    /// Whether it carries one message after another.
    #[inline]
    pub(crate) fn is_connection(&self) -> bool {
        self.connection.is_some()
    }
    /// Whether its flow is over, or all flows of its connection.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }
    /// Whether what ends before this byte has been sent before.
    #[inline]
    pub(crate) fn has_sent(&self, end: u64) -> bool {
        end <= self.max_sent
    }
    /// What keeps it from sending.
    #[inline]
    pub(crate) fn held(&self) -> Held {
        if !self.reachable {
            Held::Unreachable
        } else if self.snd_nxt < self.bound {
            Held::No
        } else if !self.has_data() {
            Held::AllSent
        } else if self.snd_nxt >= self.limit || self.in_flight() >= self.window {
            Held::Window
        } else {
            Held::Rate
        }
    }
    /// What its next packet would meet.
    pub(crate) fn foresee(&mut self, rtt: Span) {
        self.scheme.on_foresight(rtt);
    }
}

impl Qp {
    /// Of flow `flow`, which begins now.
    pub(super) fn new(world: &World, core: &Core, flow: FlowId, way: Way, info: PathInfo) -> Self {
        let described = world.flow(core, flow);
        let at_work = world.scheme_of(core, flow);
        let scheme = &world.spec.schemes[usize::from(described.scheme)];
        let needs = at_work.needs();
        let connection = described
            .connection
            .map(|number| Connection::of(world, number, core.now()));
        let (size, end_seq) = match connection {
            None => (described.size.get(), described.size.get()),
            Some(_) => (0, u64::MAX),
        };
        let mut qp = Self {
            flow,
            port: way.port,
            place: 0,
            account: (core.watch.accounts).of_sender(flow, described.connection),
            size,
            end_seq,
            snd_nxt: 0,
            snd_una: 0,
            sacked: 0,
            absent: 0,
            limit: size,
            repairs: false,
            bounds_repairs: matches!(world.nic.recovery, Recovery::Rud(_)),
            next_avail: core.now(),
            gap: 0,
            window: u64::MAX,
            bound: 0,
            rate: info.line_rate,
            asked_window: Bytes::MAX,
            last_wire: 0,
            data_header: world.packet.data_headers(&needs),
            class: world.classes.dense(described.class),
            window_mode: scheme.window,
            reachable: way.reachable,
            done: false,
            route: way.route,
            data_epoch: way.epoch,
            max_sent: 0,
            sent_unscheduled: u64::MAX,
            sample_after: 0,
            last_progress: core.now(),
            retransmitted: 0,
            stamps: needs.tags || needs.words,
            needs,
            hears_sent: needs.counts_sent || world.is_of_program(flow),
            echo_notifies: (at_work.receiver_half()).is_none_or(|half| !half.replaces_echo()),
            scheme: at_work.build(&info),
            timers: match world.spec.ties {
                TieOrder::Insertion => TimerBank::with_event_per_setting(),
                TieOrder::Structural | TieOrder::Drawn | TieOrder::Shuffled(_) => TimerBank::default(),
            },
            rng: Rng::stream(world.spec.seed, Purpose::Congestion, u64::from(flow.0)),
            path: Box::new(info),
            last_port: way.last,
            ways: None,
            connection,
        };
        if let Some(entropy) = &world.spec.entropy
            && !world.routing.is_fixed(described.dst)
        {
            qp.ways = Some(Box::new(Ways::choosing(world, &described, entropy, &mut qp.rng)));
            qp.stamps = true;
        }
        qp.apply(qp.scheme.limits());
        qp
    }

    /// The way is another one now.
    pub(super) fn take_path(&mut self, way: Way, info: PathInfo) {
        self.reachable = way.reachable;
        (self.route, self.data_epoch) = (way.route, way.epoch);
        (self.port, self.last_port) = (way.port, way.last);
        if let Some(connection) = &mut self.connection {
            connection.forget_ideal();
        }
        // Without its window the flow would have kept the zero of `hpcc_divides_by_window`.
        let bdp = self.path.bdp;
        *self.path = info;
        if bdp.get() == 0 {
            self.path.bdp = bdp;
        }
        self.apply(self.scheme.limits());
    }

    /// There is no way any more.
    pub(super) fn lose_path(&mut self) {
        self.reachable = false;
        self.recompute_bound();
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.snd_nxt.saturating_sub(self.snd_una + self.absent)
    }
    pub(super) fn has_data(&self) -> bool {
        self.repairs || self.snd_nxt < self.size
    }
    /// Of the bytes from `start` to `end`: those that were sent, and those before the sender heard anything.
    pub fn sent_within(&self, start: u64, end: u64) -> (Bytes, Bytes) {
        let within = |sent: u64| Bytes::new(sent.clamp(start, end) - start);
        (
            within(self.max_sent),
            within(self.sent_unscheduled.min(self.max_sent)),
        )
    }
    /// The sender hears of its flow: an acknowledgement, a notification.
    #[inline]
    pub(super) fn on_feedback(&mut self) {
        if self.sent_unscheduled == u64::MAX {
            self.sent_unscheduled = self.max_sent;
        }
    }
    /// Whether its scheme lets nothing go, whatever the window.
    #[inline]
    pub(crate) fn stands(&self) -> bool {
        self.rate == NO_RATE
    }
    /// Whether that is because its receiver's host has granted nothing more.
    #[inline]
    pub(crate) fn awaits_grant(&self) -> bool {
        self.stands() && self.needs.grants
    }
    /// Whether something other than pacing keeps it from sending.
    #[inline]
    pub(crate) fn is_blocked(&self, paused: u16) -> bool {
        self.snd_nxt >= self.bound || paused >> self.class & 1 != 0
    }

    /// When it may send, pauses apart.
    #[inline]
    pub(super) fn due(&self) -> u64 {
        if self.is_blocked(0) {
            NEVER
        } else {
            self.next_avail
        }
    }

    /// Whether its flow is over, or a message of its connection.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.snd_una >= self.end_seq
    }

    /// Whether it may send is asked much more often than the answer changes: what bounds it is put
    /// together here, after every change of what is acknowledged, of rate and window, of the limit, of what
    /// is to be repaired and of the path.
    #[inline]
    pub(super) fn recompute_bound(&mut self) {
        self.bound = self.bound_now();
    }

    #[inline]
    fn bound_now(&self) -> u64 {
        match (self.reachable && !self.stands(), self.repairs) {
            (false, _) => 0,
            (true, true) if self.bounds_repairs && self.in_flight() >= self.window => 0,
            (true, true) => u64::MAX,
            // With `unsigned_in_flight` only: more is in flight than any window allows.
            (true, false) if self.snd_nxt < self.snd_una && self.window != u64::MAX => 0,
            (true, false) => {
                let acknowledged = self.snd_una + self.absent;
                self.limit.min(acknowledged.saturating_add(self.window))
            }
        }
    }

    /// What was put together is still so.
    pub(super) fn verify(&self) {
        assert_eq!(
            self.bound,
            self.bound_now(),
            "flow {}: what it may send",
            self.flow
        );
    }

    /// Takes over what the scheme allows now.
    #[inline]
    pub(super) fn apply(&mut self, limits: SendLimits) {
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
        self.recompute_bound();
    }
}

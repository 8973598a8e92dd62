//! RCCC: Ultra Ethernet's receiver-credit congestion control.
//!
//! # What it does
//! A receiving host grants credit to its flows in turn, at slightly below the rate of its link. After their first
//! windows, all senders together therefore never exceed this rate. A sender sends only while it has credit. With
//! `nscc = true` (the alias `nscc-rccc`) each sender also keeps NSCC's window, for congestion inside the network,
//! which a receiver cannot see. RCCC is for incasts on networks without oversubscription (Ultra Ethernet Specification
//! 1.0, 2025).
//!
//! # Signal it needs
//! Grants: separate packets from receiver to sender. Data packets carry eight bytes with the sender's target, the end
//! of the data that it wants to send. RCCC is designed for switches that trim (`network.drop.trim = true`) and
//! receivers that take packets in any order (`network.recovery = "rud"`).
//!
//! # Equations
//! Credit is counted in quanta of 256 bytes from the flow's start. `B` is the number of bytes still to be sent, `c`
//! the credit, `W_max` the largest window (1.5 bandwidth-delay products), and `p` the quanta granted so far. A data
//! packet carries
//! ```text
//! target = p + (min(B, W_max) - c) / 256                  with NSCC: min(B, W_max, W + one packet)
//! ```
//! The host grants 64 quanta to the next flow whose target is above its granted quanta. The next grant is due after
//! ```text
//! quanta * 256 B / (0.99 rate)
//! ```
//! While no flow requests credit, flows are granted up to `W_max` ahead. A sender starts with `W_max` of credit; the
//! first answer cancels the unused part. It may send while its credit is above zero.
//!
//! # Parameters
//! [`Params`].
//!
//! # Where we differ from the paper or public code
//! `fidelity = "uet-htsim"` is the public simulator, packet for packet. This scheme runs on Paceline's own engine and
//! differs from it:
//! * Credit counts payload bytes.
//! * A sender without credit may send one packet, which carries its target, if nothing arrives for a timeout, or for
//!   `probe-after` while it has nothing in flight. The public code sends a separate header (RTS), after a timeout
//!   only.
//! * A target is not divided by the number of flows that wait for the same NIC.
//! * Grants to a flow end when all its data has arrived. In the public code they continue until they are a window
//!   ahead.
//!
//! # References
//! Ultra Ethernet Specification 1.0, 2025, section 3.6 (congestion control).
//! Public code: ultraethernet/uet-htsim at 40ccb05.

use paceline_kernel::{BitRate, Bytes, Span, Time};

use crate::api::{
    AckInfo, CongestionControl, Ctx, Grant, Outgoing, PathInfo, Requirements, SendLimits, SentInfo, TimerSlot,
};
use crate::nscc::{self, Nscc};
use crate::params::{Parameters, Range};
use crate::receiver::{Arrived, GrantScheduler};
use crate::registry::{
    Alias, Definition, Incompatible, Marking, NetworkFacts, ReactionTime, Scheme, WindowMode,
};

pub mod pacer;

use pacer::{FIRST, Pacer, QUANTUM, Wishes, quantum_time};

params! {
    /// Parameters of RCCC; credit is in payload bytes.
    pub struct Params {
        /// Let senders also keep NSCC's window.
        nscc: bool = false, in Range::Any, from "public code";
        /// Largest credit, in bandwidth-delay products; flows start with it.
        max_window: f64 = 1.5, in Range::Above(0.0), from "public code";
        /// Silence after which a sender without credit may send one packet, as a grant may be lost.
        probe_after: Span = Span::from_us(1000), in Range::Above(0.0), from "ours";
        /// Credit that a host grants to a flow beyond its requests.
        ahead: Bytes = Bytes::new(262_144), in Range::AtLeast(0.0), from "public code, at 100 Gbit/s and 14 us";
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "rccc",
        aliases: &[Alias {
            name: "nscc-rccc",
            help: "both of Ultra Ethernet's controls",
            settings: &[("nscc", "true")],
            window: None,
        }],
        title: "RCCC",
        paper: crate::papers::NSCC.citation,
        summary: "Ultra Ethernet: receiving hosts grant their senders credit, in turn.",
        scope: "incasts on networks that are not oversubscribed; it sees no queue but the receiver's: `nscc-rccc` has both.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: header!("rccc.rs"),
    };

    fn reaction_times(&self) -> Vec<ReactionTime> {
        vec![ReactionTime {
            param: "probe-after",
            span: self.probe_after,
            event: "a sender without credit sends a probe",
        }]
    }

    fn needs(&self) -> Requirements {
        Requirements {
            ecn: self.nscc,
            timestamp: self.nscc,
            counts_sent: true,
            words: true,
            grants: true,
            header: 8,
            ..Requirements::default()
        }
    }

    fn marking(&self) -> Marking {
        Marking::UEC
    }

    fn incompatible(&self, network: &NetworkFacts) -> Vec<Incompatible> {
        // Without NSCC's window there is no limit below a chunk.
        let with_chunks = (self.nscc && network.chunks).then_some(nscc::WITH_CHUNKS);
        let with_pauses = network.pauses.then_some(Incompatible::Doubtful(
            "a receiver grants what its link can take, and pauses hold back what was granted: all senders' first windows still \
             meet in the buffers before it",
        ));
        with_chunks.into_iter().chain(with_pauses).collect()
    }

    fn grant_scheduler(&self, link: BitRate) -> Option<Box<dyn GrantScheduler>> {
        Some(Box::new(Granting {
            pacer: Pacer::default(),
            flows: Vec::new(),
            quantum: quantum_time(link.as_bps()),
            ahead: self.ahead.get() as i64,
            due: None,
        }))
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Rccc::new(self, path))
    }
}

/// Sender of one flow.
#[derive(Clone, Debug)]
pub struct Rccc {
    line: BitRate,
    /// Credit in bytes; negative by less than a packet at most.
    credit: i64,
    largest: i64,
    /// Credit granted so far, in quanta.
    granted: u64,
    /// True until the first feedback: the credit is still the initial one.
    speculating: bool,
    /// End of the data sent so far; `again` counts bytes to be retransmitted.
    sent: u64,
    again: i64,
    packet: i64,
    probe_after: Span,
    window: Option<Nscc>,
}

/// Timer of a sender without credit.
const PROBE: TimerSlot = TimerSlot(0);

impl Rccc {
    /// Creates a sender with the initial credit.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        let packet = path.mtu.get() as i64;
        let largest = ((params.max_window * path.bdp.get() as f64) as i64).max(packet);
        let nscc = nscc::Params {
            max_window: params.max_window,
            ..nscc::Params::default()
        };
        Self {
            line: path.line_rate,
            credit: largest,
            largest,
            granted: FIRST,
            speculating: true,
            sent: 0,
            again: 0,
            packet,
            probe_after: params.probe_after,
            window: params.nscc.then(|| Nscc::new(&nscc, path, true)),
        }
    }

    /// Returns the bytes that the flow may send.
    pub fn credit(&self) -> i64 {
        self.credit
    }

    /// Starts the probe timer if there is no credit: the grant may be lost.
    fn wait(&self, cx: &mut Ctx<'_>) {
        if self.credit <= 0 {
            cx.arm(PROBE, self.probe_after);
        }
    }

    /// Drops the rest of the initial credit at the first feedback.
    fn stop_speculating(&mut self) {
        if std::mem::take(&mut self.speculating) {
            // The initial credit was not granted: from the first feedback on the receiver decides.
            self.credit = self.credit.min(0);
        }
    }
}

impl CongestionControl for Rccc {
    fn limits(&self) -> SendLimits {
        let rate = if self.credit > 0 {
            self.line
        } else {
            BitRate::from_bps(0)
        };
        let window = self.window.as_ref().map_or(Bytes::MAX, Nscc::window);
        SendLimits { rate, window }
    }

    fn words(&mut self, _cx: &mut Ctx<'_>, packet: &Outgoing) -> u64 {
        let end = packet.seq + packet.payload;
        let is_new = end > self.sent;
        self.sent = self.sent.max(end);
        if !is_new {
            self.again = (self.again - packet.payload as i64).max(0);
        }
        let unsent = (packet.end - self.sent) as i64;
        let mut wanted = unsent + self.again;
        if let Some(window) = &self.window {
            // Credit that the window would not let through would be wasted.
            wanted = wanted.min(window.window().get() as i64 + self.packet);
        }
        // This packet uses up its share of the credit.
        let credit = self.credit - packet.payload as i64;
        let mut wanted = wanted.min(self.largest) - credit;
        if self.speculating && unsent > 0 {
            // The first feedback drops the credit; if the flow asked for none, no grant would ever arrive.
            wanted = wanted.max(self.packet);
        }
        ((wanted + QUANTUM * self.granted as i64 + QUANTUM - 1) / QUANTUM) as u64
    }

    fn on_send(&mut self, cx: &mut Ctx<'_>, sent: &SentInfo) {
        self.credit -= sent.payload.get() as i64;
        self.wait(cx);
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        self.stop_speculating();
        self.wait(cx);
        // The packet was lost or trimmed, and must be sent again.
        if ack.nack {
            self.again += self.packet;
        }
        if let Some(window) = &mut self.window {
            window.on_ack(cx, ack);
        }
    }

    fn on_grant(&mut self, cx: &mut Ctx<'_>, grant: Grant) {
        self.stop_speculating();
        self.wait(cx);
        let Grant(number) = grant;
        // Grants are cumulative: one that was overtaken adds nothing.
        if number > self.granted {
            let bytes = QUANTUM * (number - self.granted) as i64;
            self.credit = (self.credit + bytes).min(self.largest);
            self.granted = number;
        }
    }

    fn on_timeout(&mut self, cx: &mut Ctx<'_>) {
        self.stop_speculating();
        self.again += self.packet;
        // One packet may go, even if grants were lost: its target makes the host grant again.
        self.credit = self.credit.max(1);
        if let Some(window) = &mut self.window {
            window.on_timeout(cx);
        }
    }

    fn on_timer(&mut self, _cx: &mut Ctx<'_>, _slot: TimerSlot) {
        self.credit = self.credit.max(1);
    }
}

/// Grant scheduler of a receiving host.
#[derive(Clone, Debug)]
struct Granting {
    pacer: Pacer,
    flows: Vec<Wishes>,
    /// Transmission time of a quantum, in ps.
    quantum: u64,
    ahead: i64,
    due: Option<Time>,
}

impl GrantScheduler for Granting {
    fn on_data(&mut self, now: Time, flow: u32, data: &Arrived) {
        let index = flow as usize;
        if self.flows.len() <= index {
            self.flows.resize_with(index + 1, Wishes::default);
        }
        let wishes = &mut self.flows[index];
        let wants = wishes.raise(data.words) || data.trimmed && wishes.ask();
        if wants && self.pacer.request(flow) {
            self.due = Some(self.due.map_or(now, |due| due.max(now)));
        }
    }

    fn on_end(&mut self, flow: u32) {
        self.pacer.forget(flow);
        self.flows[flow as usize] = Wishes::default();
    }

    fn due(&self) -> Option<Time> {
        self.due
    }

    fn grant(&mut self, now: Time) -> Option<(u32, Grant)> {
        let flows = &mut self.flows;
        let pull = self.pacer.next(self.ahead, |flow| &mut flows[flow as usize]);
        // Grants are spaced so that the granted data fill the host's link.
        self.due = pull.map(|pull| now + Span::from_ps(self.quantum * pull.quanta));
        pull.map(|pull| (pull.flow, Grant(pull.number)))
    }
}

#[cfg(test)]
mod tests;

//! Bolt's queues as in the authors' code: the ingress algorithm over strict priorities.

use paceline_congestion::Signal;
use paceline_congestion::bolt::{self, DEC, FIRST, INC, LAST, Params, Threshold};
use paceline_fabric::model::{Net, Packet, PacketId, PortId, ProfileId, STRICT};
use paceline_fabric::outcome::{PacketKind, TraceKind};
use paceline_fabric::spec::PacketFormat;
use paceline_kernel::ids::Id;
use paceline_kernel::{BitRate, Span};

use crate::bolt_ns3::BoltNs3;
use crate::bolt_ns3::port::hold;
use crate::bolt_ns3::spec::BoltNs3Spec;

/// Queues of one port: settings and tokens.
#[derive(Clone, Debug)]
pub(super) struct Disc {
    threshold: u32,
    /// Number of queued packets from which on a congested port drops.
    limit: u32,
    /// One SRC is sent per this many. The authors' counter only counts SRCs that were sent.
    factor: u32,
    src: bool,
    pru: bool,
    sm: bool,
    pru_max: u32,
    /// Size of a full packet, bytes.
    mtu: i64,
    /// Number of queued packets.
    pub(super) packets: u32,
    /// Tokens: packets of ending flows (PRU), and bytes of unused capacity (SM).
    pru_tokens: u32,
    sm_tokens: i64,
    /// Time of the last update of the SM tokens, ns; `None` before the first packet.
    updated: Option<u64>,
    /// Number of SRCs sent.
    sent: u32,
}

/// Decision about a data packet.
#[derive(Clone, Copy, Debug, Default)]
struct Verdict {
    report: bool,
    drop: bool,
}

/// The port's state when it judges a packet.
#[derive(Clone, Copy, Debug)]
struct Situation {
    queued: u32,
    rate: BitRate,
    profile: ProfileId,
    /// Rate of the port in the packet's note, if it has one.
    noted: BitRate,
    /// True if the packet has passed no switch yet and hosts keep INC on packets without a token.
    keeps: bool,
}

impl Disc {
    /// Creates the queues of a port. Without `bolt` (Swift), only the threshold has an effect.
    pub(super) fn new(spec: &BoltNs3Spec, bolt: Option<&Params>, packet: &PacketFormat) -> Self {
        let mtu = (packet.mtu + packet.data_header).get();
        let unasked = spec.threshold.map_or(Threshold::Packets(1), Threshold::Bytes);
        Self {
            threshold: bolt.map_or(unasked, Params::congestion_threshold).bytes(mtu),
            limit: spec.buffer_packets,
            factor: spec.src_factor.max(1),
            src: bolt.is_some_and(|bolt| bolt.src),
            pru: bolt.is_some_and(|bolt| bolt.pru),
            sm: bolt.is_some_and(|bolt| bolt.sm),
            pru_max: bolt.map_or(0, |bolt| bolt.pru_max),
            mtu: mtu as i64,
            packets: 0,
            pru_tokens: 0,
            sm_tokens: 0,
            updated: None,
            sent: 0,
        }
    }

    /// Updates the SM tokens: adds the capacity since the last packet, and subtracts this packet.
    fn supply(&mut self, now_ns: u64, rate: BitRate, wire: u16, drift: bool) {
        // The authors' runs start long before their first flow, so the first packet finds the token full.
        let Some(updated) = self.updated.replace(now_ns) else {
            self.sm_tokens = self.mtu;
            return;
        };
        let seconds = (now_ns - updated) as f64 / 1e9;
        let supply = (rate.as_bps() as f64 * seconds / 8.0) as i64;
        let demand = i64::from(wire) - i64::from(drift);
        self.sm_tokens = (self.sm_tokens - demand + supply).min(self.mtu);
    }

    /// Decides about a packet, and updates its flags and the port's tokens.
    fn judge(&mut self, packet: &mut Packet, at: &Situation) -> Verdict {
        if at.queued >= self.threshold {
            return self.congested(packet, at);
        }
        let tag = packet.tag;
        if self.pru && tag & LAST != 0 {
            if tag & FIRST == 0 {
                self.pru_tokens = (self.pru_tokens + 1).min(self.pru_max);
            }
        } else if self.pru && self.pru_tokens > 0 && tag & INC != 0 {
            self.pru_tokens -= 1;
        } else if self.sm && self.sm_tokens >= self.mtu && tag & INC != 0 {
            self.sm_tokens -= self.mtu;
        } else if self.sm || !at.keeps {
            packet.tag &= !INC;
        }
        Verdict::default()
    }

    fn congested(&mut self, packet: &mut Packet, at: &Situation) -> Verdict {
        let first = packet.tag & DEC == 0;
        packet.tag = packet.tag & !INC | DEC;
        // A later port that takes longer to drain replaces an earlier one in the report, which only acknowledgements
        // carry.
        if first || drain_ns(at.queued, at.rate) > drain_ns(packet.note, at.noted) {
            (packet.note, packet.note_port) = (at.queued, at.profile);
        }
        let report = first && self.src && self.sent.is_multiple_of(self.factor);
        self.sent += u32::from(report);
        Verdict {
            report,
            drop: self.packets >= self.limit,
        }
    }
}

fn drain_ns(queued: u32, rate: BitRate) -> u64 {
    u64::from(queued) * 8_000_000_000 / rate.as_bps().max(1)
}

impl BoltNs3 {
    pub(super) fn disc_enqueue(&mut self, net: &mut Net<'_>, port: PortId, id: PacketId) {
        let now = net.cx.core.now();
        let p = &net.cx.core.ports[port];
        let rate_of = |profile: ProfileId| net.cx.world.profiles[profile].rate;
        let packet = net.cx.core.packets.get_mut(id);
        let mut at = Situation {
            queued: p.queued,
            rate: rate_of(p.profile),
            profile: p.profile,
            noted: rate_of(p.profile),
            keeps: p.is_host && self.spec.inc_kept_by_hosts,
        };
        if packet.note_port != ProfileId::NONE {
            at.noted = rate_of(packet.note_port);
        }
        let Some(disc) = &mut self.discs[port] else {
            return;
        };
        disc.supply(now / 1000, at.rate, packet.wire, self.spec.sm_drift);
        let mut class = STRICT;
        if packet.kind == PacketKind::Data {
            class = packet.class;
            let verdict = disc.judge(packet, &at);
            // Before the packet may be dropped, since the report copies its fields.
            if verdict.report {
                self.report_congestion(net, port, id);
            }
            if verdict.drop {
                net.cx.core.counters.buffer_drops += 1;
                return net.discard(port, id);
            }
        }
        hold(net, port, class, id);
        if let Some(disc) = &mut self.discs[port] {
            disc.packets += 1;
        }
        if net.cx.core.is_tracing() {
            let queued = net.cx.core.ports[port].queued;
            net.trace(port, TraceKind::Enqueue, id, queued);
        }
        self.refill(net, port);
    }

    /// Sends an SRC for data packet `id` because `port` is congested.
    fn report_congestion(&mut self, net: &mut Net<'_>, port: PortId, id: PacketId) {
        let packet = *net.cx.core.packets.get(id);
        net.cx.core.counters.notices += 1;
        if !net.hosts.is_current(net.cx.world, net.cx.core, id) {
            return;
        }
        if net.cx.core.ports[port].is_host {
            // A host's own port: the report reaches the sender at once, but is lost while the flow's first packet is
            // being sent, because the sender is not registered yet.
            if !self.senders[packet.qp].known {
                return;
            }
            net.cx.core.counters.notifications += 1;
            let signal = Signal {
                words: bolt::src(packet.note),
                port_rate: net.cx.world.profiles[packet.note_port].rate,
                after: Span::from_ps(net.cx.core.now() - packet.sent_at),
            };
            return net.hosts.call_scheme(&mut net.cx, packet.qp, |scheme, ctx| {
                scheme.on_signal(ctx, &signal)
            });
        }
        let mut src = Packet {
            kind: PacketKind::Signal,
            tag: net.cx.world.signals.named("bolt"),
            flow: packet.flow,
            qp: packet.qp,
            sent_at: packet.sent_at,
            note_port: packet.note_port,
            wire: net.cx.world.packet.ack_wire(net.hosts.qp(packet.qp).needs()),
            path: net.cx.world.routing.turn_back(packet.path),
            epoch: packet.epoch,
            class: STRICT,
            ..Packet::EMPTY
        };
        src.set_words(bolt::src(packet.note));
        let id = net.cx.core.packets.insert(src);
        self.device_enqueue(net, packet.ingress, id);
    }
}

//! Conversion of `[network]` to switches, hosts and packets.

use paceline_congestion::registry::SchemeConfig;
use paceline_fabric::spec::{
    AckPolicy, Detection, EcmpHash, FlowControl, LossSpec, NicSpec, NodeId, PacketFormat, Pfc, PfcMode,
    PfcResponse, PfcThreshold, SwitchSpec,
};
use paceline_kernel::{BitRate, Bytes, Span};
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::document::writer::shown;
use crate::schema::{self, Ack, AckClass, BindingKind, FlowControlKind, OrEvery, OrOff, PfcModeKind};
use crate::topology::Net;

use super::fill::{fill, fill_at, fill_value, filled};
use super::numbers::{SHIFT, above_zero, headroom, shift};
use super::room::{Room, check_buffer};
use super::{Cx, ecn, tiers};

/// Resolves the sizes of packets.
pub(super) fn packet(cx: &Cx<'_>, n: &mut schema::Network) -> Result<PacketFormat, Problem> {
    let own = cx.profile();
    let infiniband = super::lanes::binding(cx, n) == Some(BindingKind::Ib);
    let mtu = if infiniband { 2048 } else { own.mtu };
    let mtu = fill_at(&mut n.mtu, Bytes::new(mtu));
    above_zero(cx, &mtu, "the MTU")?;
    let (data_header, ack_header, ack_min) = match infiniband {
        // LRH, BTH, ICRC and VCRC; an acknowledgement also has an AETH.
        true => (26, 30, 0),
        false => own.headers,
    };
    let size = |slot: &mut Option<Spanned<Bytes>>, default: u64| {
        let size = fill_at(slot, Bytes::new(default));
        if size.get_ref().get() <= 65_000 {
            return Ok(size.into_inner());
        }
        Err(Problem::new(format!("{} do not fit in a packet", size.get_ref()))
            .at(&cx.texts.of_value(&size))
            .label("expected at most 65000B"))
    };
    Ok(PacketFormat {
        mtu: size(&mut n.mtu, 1000)?,
        data_header: size(&mut n.data_header, data_header)?,
        ack_header: size(&mut n.ack_header, ack_header)?,
        ack_min: size(&mut n.ack_min, ack_min)?,
        pfc_frame: size(&mut n.pfc_frame, own.pfc_frame)?,
        cnp: size(&mut n.cnp, own.cnp)?,
        int_header: size(&mut n.int_header, 42)?,
        pint_header: size(&mut n.pint_header, 2)?,
        timestamp_header: size(&mut n.timestamp_header, 8)?,
        scheme_headers: fill(&mut n.scheme_headers, own.scheme_headers),
        framing: size(&mut n.framing, own.framing)?,
    })
}

/// Resolves the hosts' NICs.
pub(super) fn nic(cx: &Cx<'_>, n: &mut schema::Network, packet: &PacketFormat) -> Result<NicSpec, Problem> {
    let own = cx.profile();
    let class = match super::lanes::binding(cx, n) {
        // Acknowledgements need credits like data, so they get no separate control class.
        Some(_) => AckClass(None),
        None => own.ack_class,
    };
    let chunk = filled!(n.ack_chunk: Network);
    let back_to_chunk = filled!(n.back_to_chunk: Network);
    if *back_to_chunk.get_ref() == OrOff(Some(Bytes::ZERO)) {
        return Err(Problem::new("a chunk of zero bytes").at(&cx.texts.of_value(&back_to_chunk)));
    }
    let endpoint = super::changes::endpoint(super::endpoint::resolve(cx, n)?, &cx.slow_hosts);
    Ok(NicSpec {
        ack: match fill_value(&mut n.ack, own.ack) {
            Ack::EveryPackets(n) => AckPolicy::EveryPackets(n.get()),
            Ack::EveryBytes(bytes) => AckPolicy::EveryBytes(bytes),
        },
        ack_chunk: above_zero(cx, &chunk, "the ACK chunk")?,
        ack_class: fill_value(&mut n.ack_class, class).0,
        endpoint,
        receive_buffer: super::changes::receive_buffer(cx, n, endpoint.is_some())?,
        nack_interval: filled!(n.nack_interval: Network),
        back_to_chunk: back_to_chunk.get_ref().0,
        rto: match fill_at(&mut n.rto, OrOff(own.rto)) {
            zero if zero.get_ref().0 == Some(Span::ZERO) => {
                let problem =
                    Problem::new("the retransmission timeout is zero").at(&cx.texts.of_value(&zero));
                return Err(problem.help("write \"off\" for none"));
            }
            rto => rto.into_inner().0,
        },
        recovery: super::recovery::recovery(cx, n)?,
        pacing: filled!(n.pacing: Network).into_inner(),
        global_rtt: filled!(n.global_rtt: Network),
        idle_reset: filled!(n.idle_reset: Network).0,
        scheduling: super::scheduling::scheduling(cx, n, packet)?,
        planes: n.planes.as_ref().map_or(1, |planes| *planes.get_ref() as u8),
    })
}

/// Resolves the switches: buffers, pauses, marking and tiers.
pub(super) fn switch(
    cx: &mut Cx<'_>,
    n: &mut schema::Network,
    net: &Net,
    packet: &PacketFormat,
    scheme: &SchemeConfig,
) -> Result<SwitchSpec, Problem> {
    fill_switch(cx, n);
    tiers::fill_servers(cx, n, net);
    let buffer = filled!(n.buffer: Network);
    let reserve = filled!(n.port_reserve: Network).into_inner();
    let per_link = cx.profile().headroom(packet);
    let headroom = fill_at(&mut n.headroom, schema::Headroom::PerLink(per_link));
    let marking = scheme.marking();
    // Thresholds of a tier refer to the same link rate, unless the tier sets another.
    let line = n
        .ecn
        .as_ref()
        .and_then(|ecn| ecn.get_ref().reference_rate.as_ref());
    let line = line.map_or(Some(marking.line), |line| line.get_ref().0);
    let flow_control = flow_control(cx, n, net, &buffer)?;
    super::detection::by_default(cx, n, flow_control, scheme);
    let mut spec = SwitchSpec {
        buffer: buffer_size(cx, &buffer)?,
        headroom_on_top: buffer.get_ref().is_shared(),
        reserve,
        headroom: self::headroom(cx, &headroom)?,
        flow_control,
        ecn: ecn::resolve(cx, n, net, marking, scheme.reads_curves() || !scheme.needs().ecn)?,
        detection: Detection::Red,
        class_detection: Vec::new(),
        loss: LossSpec::NONE,
        watchdog: None,
        fast_cnp: None,
        isolation: None,
        assist: None,
        tiers: Vec::new(),
    };
    if let Some(tiers) = &mut n.tier {
        let common = tiers::Common {
            spec: &spec,
            buffer: &buffer,
            headroom: &headroom,
            marking,
            line,
        };
        spec.tiers = tiers::resolve(cx, tiers, net, &common)?;
    }
    if let FlowControl::Pfc(_) = spec.flow_control {
        let room = Room {
            buffer: &buffer,
            headroom: &headroom,
            reserve,
            response: spec.longest_response(),
        };
        let own = |switch: &NodeId| spec.tiers.iter().any(|tier| tier.switches.contains(switch));
        let others = net.topology.switches().filter(|switch| !own(switch));
        check_buffer(cx, &room, spec.headroom, others, net)?;
    }
    Ok(spec)
}

/// Fills in the buffer and pause settings of a fidelity with its own switches.
fn fill_switch(cx: &Cx<'_>, n: &mut schema::Network) {
    let Some(own) = &cx.profile().switch else {
        return;
    };
    let bytes = |bytes: u64| Spanned::new(0..0, Bytes::new(bytes));
    fill_at(&mut n.buffer, schema::Buffer::Total(Bytes::new(own.buffer)));
    fill_at(&mut n.headroom, schema::Headroom::Fixed(Bytes::new(own.headroom)));
    n.port_reserve.get_or_insert_with(|| bytes(own.reserve));
    let pfc = n.pfc.get_or_insert_default();
    pfc.mode.get_or_insert(PfcModeKind::Quanta);
    fill_at(&mut pfc.pause, own.pause);
    let limits = schema::StaticThreshold {
        xoff: Some(bytes(own.xoff)),
        xon: Some(bytes(own.xon)),
    };
    fill_at(&mut pfc.fixed, limits);
}

/// Returns the hash function for paths.
pub(super) fn ecmp_hash(cx: &Cx<'_>, n: &mut schema::Network) -> Result<EcmpHash, Problem> {
    let own = cx.profile();
    let written = fill_at(&mut n.ecmp_hash, own.ecmp_hash);
    let Some(like) = own.only_hash.filter(|_| *written.get_ref() != own.ecmp_hash) else {
        return Ok(written.into_inner());
    };
    let usual = shown(&own.ecmp_hash);
    let message = format!(
        "another ecmp-hash than `{usual}` in {} fidelity: that simulator {like}",
        own.name
    );
    Err(Problem::new(message)
        .at(&cx.texts.of_value(&written))
        .label(format!("expected `{usual}`"))
        .help(format!(
            "write `ecmp-hash = \"{usual}\"`, or `fidelity = \"exact\"`"
        )))
}

/// Checks that the fidelity supports this kind of flow control.
fn check_kind(cx: &Cx<'_>, kind: FlowControlKind) -> Result<(), Problem> {
    let own = cx.profile();
    match (own.flow_control, kind) {
        (FlowControlKind::Credits, FlowControlKind::Credits) => Ok(()),
        (FlowControlKind::Credits, _) => Err(Problem::new(format!(
            "{} fidelity is a network under credits, and has nothing else",
            own.name
        ))
        .help("leave out `flow-control`, or write `flow-control = \"credits\"`")),
        (_, FlowControlKind::Credits) if !own.is_exact => {
            let message = format!("credits in {} fidelity: that simulator has none", own.name);
            Err(Problem::new(message).help("leave out `fidelity`, or write `fidelity = \"ib-omnet\"`"))
        }
        _ => Ok(()),
    }
}

/// Returns the size of a buffer, which must be positive.
pub(super) fn buffer_size(cx: &Cx<'_>, buffer: &Spanned<schema::Buffer>) -> Result<Bytes, Problem> {
    let size = Spanned::new(buffer.span(), buffer.get_ref().bytes());
    if buffer.get_ref().is_shared() && !cx.profile().has_tiers {
        let message = format!("fidelity `{}` has no pool of its own size", cx.fidelity.name());
        return Err(Problem::new(message)
            .at(&cx.texts.of_value(buffer))
            .help("give the whole buffer: `network.buffer = \"size\"`"));
    }
    above_zero(cx, &size, "the buffer")
}

/// Returns the reference rate of a dynamic threshold. One above all rates treats ports of every rate alike.
pub(super) fn reference_rate(rate: OrEvery<BitRate>) -> BitRate {
    rate.0.unwrap_or(BitRate::LARGEST)
}

fn flow_control(
    cx: &Cx<'_>,
    n: &mut schema::Network,
    net: &Net,
    buffer: &Spanned<schema::Buffer>,
) -> Result<FlowControl, Problem> {
    let kind = fill(&mut n.flow_control, cx.profile().flow_control);
    check_kind(cx, kind)?;
    match kind {
        FlowControlKind::Pfc => {}
        FlowControlKind::Credits if cx.profile().is_exact => return Ok(FlowControl::Credits),
        // Simulators with credits have their own model of them.
        FlowControlKind::Credits | FlowControlKind::None => return Ok(FlowControl::None),
    }
    let pfc = n.pfc.get_or_insert_default();
    let mode = match filled!(pfc.mode: Pfc) {
        PfcModeKind::OnOff => PfcMode::OnOff,
        PfcModeKind::Quanta => {
            let pause = filled!(pfc.pause: Pfc);
            PfcMode::Quanta {
                pause: above_zero(cx, &pause, "the pause time")?,
            }
        }
    };
    let threshold = match &pfc.fixed {
        Some(fixed) => static_threshold(cx, fixed, pfc.dynamic.is_some(), buffer)?,
        None => {
            let dynamic = pfc.dynamic.get_or_insert_default();
            let reference = net.topology.first_host_rate().unwrap_or(BitRate::from_gbps(100));
            PfcThreshold::Dynamic {
                shift: shift(cx, &mut dynamic.shift, SHIFT)?,
                reference_rate: reference_rate(fill(&mut dynamic.reference_rate, OrEvery(Some(reference)))),
            }
        }
    };
    Ok(FlowControl::Pfc(Pfc {
        threshold,
        resume_offset: filled!(pfc.resume_offset: Pfc),
        mode,
        response: response(cx, pfc)?,
    }))
}

/// Upper limit of a reaction time: no port takes a second.
const RESPONSE_MAX: Span = Span::from_us(1_000_000);

fn response(cx: &Cx<'_>, pfc: &mut schema::Pfc) -> Result<PfcResponse, Problem> {
    let time = |slot: &mut Option<Spanned<Span>>| {
        let time = fill_at(slot, Span::ZERO);
        if *time.get_ref() <= RESPONSE_MAX {
            return Ok(*time.get_ref());
        }
        let message = format!(
            "the reaction time to a pause is {}: expected at most {RESPONSE_MAX}",
            time.get_ref()
        );
        Err(Problem::new(message).at(&cx.texts.of_value(&time)))
    };
    Ok(PfcResponse {
        least: time(&mut pfc.reaction_time)?,
        jitter: time(&mut pfc.reaction_jitter)?,
    })
}

fn static_threshold(
    cx: &Cx<'_>,
    fixed: &Spanned<schema::StaticThreshold>,
    both: bool,
    buffer: &Spanned<schema::Buffer>,
) -> Result<PfcThreshold, Problem> {
    let location = cx.texts.of_value(fixed);
    if both {
        return Err(
            Problem::new("the PFC threshold is either `static` or `dynamic`, not both").at(&location),
        );
    }
    let missing =
        |what: &str| Problem::new(format!("the static PFC threshold has no `{what}`")).at(&location);
    let xoff = fixed.get_ref().xoff.as_ref().ok_or_else(|| missing("xoff"))?;
    let xon = fixed.get_ref().xon.as_ref().ok_or_else(|| missing("xon"))?;
    if xon.get_ref() > xoff.get_ref() {
        let message = format!("xon ({}) is above xoff ({})", xon.get_ref(), xoff.get_ref());
        return Err(Problem::new(message)
            .at(&cx.texts.of_value(xon))
            .label("resume above the pause threshold")
            .see(&cx.texts.of_value(xoff), "xoff is here"));
    }
    if *xoff.get_ref() > buffer.get_ref().bytes() {
        let message = format!(
            "xoff ({}) is above the switch's buffer ({}): nothing would ever pause",
            xoff.get_ref(),
            buffer.get_ref()
        );
        let problem = Problem::new(message).at(&cx.texts.of_value(xoff));
        return Err(match buffer.span().is_empty() {
            true => problem,
            false => problem.see(&cx.texts.of_value(buffer), "the buffer is here"),
        });
    }
    Ok(PfcThreshold::Static {
        xoff: *xoff.get_ref(),
        xon: *xon.get_ref(),
    })
}

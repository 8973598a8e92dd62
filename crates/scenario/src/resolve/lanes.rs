//! Link-level credits: `[network.credit]` with `flow-control = "credits"`.

use std::ops::RangeInclusive;

use paceline_fabric::spec::{
    Arbitration, Binding, Cbfc, FlowControl, Forwarding, LaneSpec, LinkSpec, MOST_LANES, Release, RunSpec,
};
use paceline_kernel::sorted::SortedSet;
use paceline_kernel::{BitRate, Bytes, Span};
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::schema::{self, BindingKind, FlowControlKind, ForwardingKind, OrAuto};
use crate::warning::WarningKind;

use super::Cx;
use super::fill::{fill_at, fill_value, filled};
use super::numbers::above_zero;
use super::numbers::within;

/// Allowed sizes of a flow-control packet and of a credit, in bytes.
const SIZES: RangeInclusive<u64> = 1..=65_000;

/// Returns the binding of a network with link-level credits; can be called before the section is resolved.
pub(super) fn binding(cx: &Cx<'_>, n: &schema::Network) -> Option<BindingKind> {
    let credits = cx.profile().is_exact && n.flow_control == Some(FlowControlKind::Credits);
    let written = n
        .credit
        .as_ref()
        .and_then(|lanes| lanes.get_ref().binding.as_ref());
    credits.then(|| written.map_or(BindingKind::Ib, |binding| *binding.get_ref()))
}

/// Warns of the defaults that `flow-control = "credits"` changes if the scenario does not say that the network is
/// InfiniBand. Called before defaults are filled in.
fn warn_of_defaults(cx: &mut Cx<'_>, n: &schema::Network) {
    let chosen = n
        .credit
        .as_ref()
        .is_some_and(|lanes| lanes.get_ref().binding.is_some());
    if chosen {
        return;
    }
    let own = [
        (n.mtu.is_some(), "mtu is 2048B (1000B elsewhere)"),
        (n.data_header.is_some(), "data-header is 26B (48B elsewhere)"),
        (n.ack_header.is_some(), "ack-header is 30B (46B elsewhere)"),
        (n.ack_min.is_some(), "ack-min is 0B (60B elsewhere)"),
        (
            n.ack_class.is_some(),
            "ack-class is `flow`, so acknowledgements wait for credits (a class of their own elsewhere)",
        ),
    ];
    let changed: Vec<&str> = own
        .into_iter()
        .filter(|(is_written, _)| !is_written)
        .map(|(_, what)| what)
        .collect();
    if changed.is_empty() {
        return;
    }
    let text = format!(
        "network.flow-control is `credits`, and network.credit.binding is InfiniBand's, `ib`, by default. What network \
         does not say is InfiniBand's too: {}",
        changed.join(", ")
    );
    cx.warn(WarningKind::OtherDefaults, None, text);
}

/// Resolves the lanes of links and switches; returns `None` without credits.
pub(super) fn resolve(cx: &mut Cx<'_>, n: &mut schema::Network) -> Result<Option<LaneSpec>, Problem> {
    let Some(kind) = binding(cx, n) else {
        return Ok(None);
    };
    warn_of_defaults(cx, n);
    let table = n
        .credit
        .get_or_insert_with(|| Spanned::new(0..0, schema::Lanes::default()));
    let table = table.get_mut();
    let ib = fill_value(&mut table.binding, kind) == BindingKind::Ib;
    let lanes = within(
        cx,
        &mut table.lanes,
        1,
        "the number of virtual lanes",
        1..=MOST_LANES,
    )?;
    let unit = size(cx, &mut table.unit, 64, "a credit")?;
    let forwarding = match ib {
        true => ForwardingKind::CutThrough,
        false => ForwardingKind::StoreAndForward,
    };
    let forwarding = match fill_value(&mut table.forwarding, forwarding) {
        ForwardingKind::CutThrough => Forwarding::CutThrough {
            // The LRH and the BTH together.
            header: size(cx, &mut table.header, 20, "what a switch reads of a packet")?,
        },
        ForwardingKind::StoreAndForward => Forwarding::StoreAndForward,
    };
    let release = match forwarding {
        Forwarding::CutThrough { .. } => Release::Start,
        Forwarding::StoreAndForward => Release::End,
    };
    Ok(Some(LaneSpec {
        binding: got(cx, table, ib)?,
        unit,
        // The sizes under `auto` depend on links and packets: see `finish`.
        buffers: vec![0; usize::from(lanes)],
        lane_of: lane_of(cx, table, lanes)?,
        update: match ib {
            true => size(cx, &mut table.update, 8, "a flow-control packet")?,
            false => Bytes::new(u64::from(Cbfc::CF_UPDATE)),
        },
        first_header: first_header(cx, table, ib)?,
        forwarding,
        release: fill_value(&mut table.release, release),
        arbitration: arbitration(cx, table, lanes)?,
    }))
}

fn size(cx: &Cx<'_>, slot: &mut Option<Spanned<Bytes>>, default: u64, what: &str) -> Result<Bytes, Problem> {
    let value = fill_at(slot, Bytes::new(default));
    if SIZES.contains(&value.get_ref().get()) {
        return Ok(value.into_inner());
    }
    let message = format!("{what} is {}: expected 1B to 65000B", value.get_ref());
    Err(Problem::new(message).at(&cx.texts.of_value(&value)))
}

/// Returns the size of the additional headers in a message's first packet, such as the RETH of an RDMA WRITE.
fn first_header(cx: &Cx<'_>, table: &mut schema::Lanes, ib: bool) -> Result<Bytes, Problem> {
    let value = fill_at(&mut table.first_header, Bytes::new(if ib { 16 } else { 0 }));
    if value.get_ref().get() <= *SIZES.end() {
        return Ok(value.into_inner());
    }
    let message = format!(
        "the extra header of a message's first packet is {}: expected at most 65000B",
        value.get_ref()
    );
    Err(Problem::new(message).at(&cx.texts.of_value(&value)))
}

/// Returns the times and messages of credits. Only those of InfiniBand have packets of their own size.
fn got(cx: &mut Cx<'_>, table: &mut schema::Lanes, ib: bool) -> Result<Binding, Problem> {
    let phase = filled!(table.phase: Lanes).into_inner();
    if ib {
        let period = filled!(table.period: Lanes);
        let period = above_zero(cx, &period, "the period of flow-control packets")?;
        return Ok(Binding::Ib { period, phase });
    }
    let least = filled!(table.cf_min: Lanes);
    let update = Bytes::new(u64::from(Cbfc::CF_UPDATE));
    if *least.get_ref() < update {
        let message = format!(
            "cf-min is {}: expected {update} at least, the size of a CF_Update",
            least.get_ref()
        );
        return Err(Problem::new(message).at(&cx.texts.of_value(&least)));
    }
    let most = filled!(table.cf_max: Lanes);
    if most.get_ref() < least.get_ref() {
        let message = format!(
            "cf-max is {}: expected at least {}, which is cf-min",
            most.get_ref(),
            least.get_ref()
        );
        return Err(Problem::new(message).at(&cx.texts.of_value(&most)));
    }
    let timer = filled!(table.cc_timer: Lanes);
    Ok(Binding::Cbfc(Cbfc {
        overhead: within(
            cx,
            &mut table.packet_overhead,
            0,
            "what a packet counts for in addition",
            -16..=127,
        )?,
        cf_min: least.into_inner(),
        cf_max: most.into_inner(),
        cc_timer: above_zero(cx, &timer, "the interval of CC_Updates")?,
        phase,
        scope: filled!(table.scope: Lanes).into_inner(),
    }))
}

/// Returns the lane of each priority; by default, round-robin.
fn lane_of(cx: &Cx<'_>, table: &mut schema::Lanes, lanes: u8) -> Result<[u8; 8], Problem> {
    let in_turn = (0..7).map(|priority| priority % lanes).collect();
    let list = fill_at(&mut table.sl_to_vl, in_turn);
    let location = cx.texts.of_value(&list);
    let Ok(of_priorities) = <[u8; 7]>::try_from(&list.get_ref()[..]) else {
        let message = format!(
            "sl-to-vl has {} lanes: expected one for each priority from 1 to 7",
            list.get_ref().len()
        );
        return Err(Problem::new(message).at(&location));
    };
    if let Some(lane) = of_priorities.iter().find(|&&lane| lane >= lanes) {
        let message = format!("sl-to-vl names lane {lane}: expected 0 to {}", lanes - 1);
        return Err(Problem::new(message)
            .at(&location)
            .help("`network.credit.lanes` says how many there are"));
    }
    // Priority 0 is for control packets, and not in the list.
    let mut lane_of = [0; 8];
    lane_of[1..].copy_from_slice(&of_priorities);
    Ok(lane_of)
}

/// Returns the two arbitration tables; by default, all lanes have the same weight.
fn arbitration(cx: &Cx<'_>, table: &mut schema::Lanes, lanes: u8) -> Result<Arbitration, Problem> {
    let fair = Arbitration::fair(lanes);
    let read = |slot: &mut Option<Spanned<Vec<(u8, u8)>>>, default: Vec<(u8, u8)>, name: &str| {
        let list = fill_at(slot, default);
        match list.get_ref().iter().find(|(lane, _)| *lane >= lanes) {
            Some((lane, _)) => {
                let message = format!("`{name}` names lane {lane}: expected 0 to {}", lanes - 1);
                Err(Problem::new(message).at(&cx.texts.of_value(&list)))
            }
            None => Ok(list.into_inner()),
        }
    };
    let limit = filled!(table.limit: Lanes).into_inner();
    Ok(Arbitration {
        high: read(&mut table.high, fair.high, "high")?,
        low: read(&mut table.low, fair.low, "low")?,
        limit,
    })
}

/// Returns the longest time from the start of a packet until its credit can be used again, including the time between
/// two credit updates.
fn round(lanes: &LaneSpec, link: &LinkSpec, full: Bytes) -> Span {
    let both_ways = link.rate.time_to_send(full) * 2 + link.delay * 2;
    match lanes.binding {
        Binding::Ib { period, .. } => both_ways + link.rate.time_to_send(lanes.update) + period,
        Binding::Cbfc(Cbfc { cf_min, .. }) => {
            let update = Bytes::new(u64::from(Cbfc::CF_UPDATE));
            both_ways + link.rate.time_to_send(cf_min + update)
        }
    }
}

/// Sets the buffer sizes, which depend on links and packets; warns of lanes that cannot reach the rate of their
/// links.
pub(super) fn finish(cx: &mut Cx<'_>, n: &mut schema::Network, run: &mut RunSpec) -> Result<(), Problem> {
    let Some(lanes) = run.lanes.as_deref_mut() else {
        return Ok(());
    };
    debug_assert_eq!(run.switch.flow_control, FlowControl::Credits);
    let needs = run.schemes.iter().map(|scheme| scheme.config.needs());
    let full = run.packet.longest(needs, lanes.first_header);
    let (most, least) = (
        u64::from(lanes.binding.numbers() / 2),
        u64::from(lanes.units(full.get().min(u64::from(u16::MAX)) as u16)),
    );
    let needed = run.links.iter().map(|link| {
        // A packet that has started may wait for its last credit, so one more fits in.
        link.rate.bytes_in(round(lanes, link, full)).get() + full.get()
    });
    let needed = match lanes.binding {
        Binding::Ib { .. } => needed.max().unwrap_or(0).div_ceil(lanes.unit.get()),
        // A packet may take more credits than it has bytes for.
        Binding::Cbfc(_) => needed.max().unwrap_or(0).div_ceil(full.get()) * least,
    };
    let table = n
        .credit
        .get_or_insert_with(|| Spanned::new(0..0, schema::Lanes::default()));
    let written = fill_at(&mut table.get_mut().buffer, OrAuto(None));
    let location = cx.texts.of_value(&written);
    let units = match written.get_ref().0 {
        Some(bytes) => bytes.get() / lanes.unit.get(),
        None => needed.min(most).max(least),
    };
    // No buffer helps against this, so it comes before the checks of the buffer.
    if most < least {
        let message = format!(
            "a packet of {full} takes {least} credits of {}, and credit counters hold at most {most}: nothing could \
             be sent",
            lanes.unit
        );
        let unit = n.credit.as_ref().and_then(|lanes| lanes.get_ref().unit.as_ref());
        let location = unit.map_or_else(|| location.clone(), |unit| cx.texts.of_value(unit));
        let help = format!(
            "`network.credit.unit` must be {} at least",
            Bytes::new(full.get().div_ceil(most))
        );
        return Err(Problem::new(message).at(&location).help(help));
    }
    if units < least {
        let message = format!(
            "the buffer of a lane holds {units} credits of {}, and a packet of {full} takes {least}: nothing could be sent",
            lanes.unit,
        );
        return Err(Problem::new(message).at(&location));
    }
    let Ok(buffer) = u32::try_from(units) else {
        return Err(Problem::new(format!("a buffer of {units} credits is too large")).at(&location));
    };
    lanes.buffers.fill(buffer);
    // The engine rejects starving lanes and priorities without credits.
    paceline_fabric::check_credits(run).map_err(|why| {
        let table = n.credit.as_ref().filter(|table| !table.span().is_empty());
        let problem = Problem::new(format!("credits: {why}"));
        match table {
            Some(table) => problem.at(&cx.texts.of_value(table)),
            None => problem,
        }
    })?;
    warn(cx, run, full, units, &written);
    if let Some(text) = starving(run) {
        cx.warn(WarningKind::StarvedLane, None, text);
    }
    // A size in the scenario is the user's choice, so only the automatic one causes the warning.
    if written.get_ref().0.is_none()
        && let Some(text) = below_marking(run)
    {
        cx.warn(WarningKind::Threshold, None, text);
    }
    Ok(())
}

/// Returns a warning about lanes that wait as long as others have packets: those only in the low-priority table, if
/// the high-priority one has no limit.
fn starving(run: &RunSpec) -> Option<String> {
    let lanes = run.lanes.as_deref()?;
    let tables = &lanes.arbitration;
    let used = run.flow_classes().chain(run.nic.ack_class);
    let used: SortedSet<u8> = used
        .map(|priority| lanes.lane_of[usize::from(priority)])
        .collect();
    let is_high = |lane: &u8| (tables.high.iter()).any(|&(other, weight)| other == *lane && weight > 0);
    let (first, waiting): (Vec<u8>, Vec<u8>) = used.into_iter().partition(is_high);
    (tables.limit == u8::MAX && !first.is_empty() && !waiting.is_empty()).then(|| {
        format!(
            "lanes {waiting:?} are sent from only while lanes {first:?} have nothing to send: the high table of \
             network.credit goes first, and its `limit` of 255 is none"
        )
    })
}

/// Returns a warning if a lane's buffer is too small for a queue from a single input to reach the marking threshold.
fn below_marking(run: &RunSpec) -> Option<String> {
    let lanes = run.lanes.as_deref()?;
    let buffer = u64::from(*lanes.buffers.iter().max()?) * lanes.unit.get();
    let reads_marks = run.schemes.iter().any(|scheme| scheme.config.reads_curves());
    let curve = run.switch.ecn.iter().max_by_key(|curve| curve.kmin)?;
    (reads_marks && curve.kmin.get() >= buffer).then(|| {
        format!(
            "a lane's buffer is {} (network.credit.buffer is `auto`), and ports of {} mark above {} (network.ecn.kmin): \
             packets are marked there only while those of {} inputs or more wait for one output",
            Bytes::new(buffer),
            curve.rate,
            curve.kmin,
            curve.kmin.get() / buffer + 1,
        )
    })
}

/// Warns of links whose buffers limit their rate.
fn warn(cx: &mut Cx<'_>, run: &RunSpec, full: Bytes, units: u64, written: &Spanned<OrAuto<Bytes>>) {
    let Some(lanes) = run.lanes.as_deref() else { return };
    let most = u64::from(lanes.binding.numbers() / 2);
    let usable = match lanes.binding {
        Binding::Ib { .. } => units.min(most) * lanes.unit.get(),
        Binding::Cbfc(_) => units.min(most) / u64::from(lanes.units(full.get() as u16)).max(1) * full.get(),
    };
    let slowest = run.links.iter().filter_map(|link| {
        let round = round(lanes, link, full);
        let reached = BitRate::from_bps(
            (u128::from(usable) * 8_000_000_000_000 / u128::from(round.as_ps().max(1))) as u64,
        );
        (reached < link.rate).then_some((reached, link.rate, round))
    });
    if let Some((reached, rate, round)) = slowest.min_by_key(|&(reached, ..)| reached) {
        let location = (!written.span().is_empty()).then(|| cx.texts.at(written.span()));
        let unit = lanes.unit;
        let got = match units > most {
            true => format!(" (credit counters hold at most {most} credits of {unit})"),
            false => String::new(),
        };
        let text = format!(
            "a lane's buffer of {}{got} is refilled every {round} in the worst case (network.credit), so a link of \
             {rate} carries about {}",
            Bytes::new(units * unit.get()),
            three_digits_of(reached)
        );
        cx.warn(WarningKind::CreditRate, location.as_ref(), text);
    }
}

/// Rounds to three digits: the estimate is no more precise.
fn three_digits_of(rate: BitRate) -> BitRate {
    let bps = rate.as_bps().max(1);
    let step = 10u64.pow(bps.ilog10().saturating_sub(2));
    BitRate::from_bps(bps / step * step)
}

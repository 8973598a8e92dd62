//! Errors of links, and link-level retry.

use paceline_fabric::spec::{
    FlowControl, Forwarding, Headroom, LinkRetry, LinkSpec, Noise, NoiseKind, Numbers, RunSpec,
};
use paceline_kernel::{Bytes, Span};
use toml::Spanned;

use super::Cx;
use super::fill::{fill_at, filled};
use super::hosts;
use super::numbers::{check_within, probability};
use crate::diagnostics::{Problem, suggestion};
use crate::link_tiers::LinkTiers;
use crate::schema::{self, OrAuto};
use crate::warning::WarningKind;

/// Returns the links that a list names.
fn named(
    cx: &Cx<'_>,
    list: &Spanned<Vec<String>>,
    tiers: &LinkTiers,
    count: usize,
) -> Result<Vec<usize>, Problem> {
    let mut found = Vec::new();
    for name in list.get_ref() {
        if name == "all" {
            return Ok((0..count).collect());
        }
        let links = tiers.links(name, &cx.names);
        if links.is_empty() {
            return Err(no_link(name, tiers).at(&cx.texts.of_value(list)));
        }
        found.extend(links);
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Returns the problem of a name that no link has.
pub(super) fn no_link(name: &str, tiers: &LinkTiers) -> Problem {
    let names = tiers.names().iter().map(String::as_str);
    let message = format!("this network has neither a tier of links nor a link `{name}`");
    let problem = Problem::new(message).label(suggestion(name, names));
    problem.help("a link is named by its two nodes, such as `3-17` or `leaf 1-spine 3`")
}

/// Returns the codewords that a link of this rate interleaves.
fn interleave(link: &LinkSpec) -> u32 {
    match link.rate.as_bps() / 1_000_000_000 {
        0..200 => 1,
        200..800 => 2,
        _ => 4,
    }
}

/// Resolves the errors of links.
pub(super) fn errors(
    cx: &mut Cx<'_>,
    n: &mut schema::Network,
    links: &[LinkSpec],
    tiers: &LinkTiers,
) -> Result<Vec<Noise>, Problem> {
    let mut all = Vec::new();
    for spanned in n.link_error.iter_mut().flatten() {
        let location = cx.texts.of_value(spanned);
        let written = spanned.get_mut();
        let list = filled!(written.links: LinkError);
        let meant = named(cx, &list, tiers, links.len())?;
        let towards = written.towards.as_ref();
        let towards = towards.map(|node| hosts::node(cx, node.get_ref(), &cx.texts.of_value(node)));
        let towards = towards.transpose()?;
        let at = *filled!(written.at: LinkError).get_ref();
        let until = written.until.as_ref().map(|until| *until.get_ref());
        if let Some(written) = written.until.as_ref().filter(|until| *until.get_ref() <= at) {
            let message = format!(
                "the errors end at {}, no later than they begin ({at})",
                written.get_ref()
            );
            return Err(Problem::new(message).at(&cx.texts.of_value(written)));
        }
        for value in [&written.bits, &written.burst_bits].into_iter().flatten() {
            probability(cx, value, "the probability of a wrong bit")?;
        }
        let is_random = written.bits.is_some() || written.burst_bits.is_some();
        if is_random == written.fault.is_some() {
            let message = "errors of links are either `bits`, with or without `burst-bits`, or a `fault`";
            return Err(Problem::new(message).at(&location));
        }
        let before = all.len();
        for link in meant {
            let spec = &links[link];
            let kind = match written.fault {
                Some(fault) => NoiseKind::Script(fault, numbers(cx, written)?),
                None => random(cx, written, spec)?,
            };
            for (at_b, end) in [(false, spec.a), (true, spec.b)] {
                if towards.is_none_or(|node| node == end) {
                    all.push(Noise {
                        link,
                        at_b,
                        at,
                        until,
                        kind,
                    });
                }
            }
        }
        if all.len() == before {
            let message = "no link that is named leads towards this node";
            let place = written.towards.as_ref().map(|node| cx.texts.of_value(node));
            return Err(Problem::new(message).at(&place.unwrap_or(location)));
        }
    }
    Ok(all)
}

fn numbers(cx: &Cx<'_>, written: &schema::LinkError) -> Result<Option<Numbers>, Problem> {
    let Some(frames) = &written.frames else {
        return Ok(None);
    };
    let &(first, last) = frames.get_ref();
    if first > last {
        let message = format!("frames are from {first} to {last}: the first comes after the last");
        return Err(Problem::new(message).at(&cx.texts.of_value(frames)));
    }
    Ok(Some(Numbers { first, last }))
}

fn random(cx: &Cx<'_>, written: &mut schema::LinkError, link: &LinkSpec) -> Result<NoiseKind, Problem> {
    let fec = filled!(written.fec: LinkError);
    let interleaved = match &written.interleave {
        None => interleave(link),
        Some(value) => {
            check_within(cx, value, "the number of interleaved codewords", &(1..=16))?;
            *value.get_ref()
        }
    };
    let bits = written.bits.as_ref().map_or(0.0, |bits| *bits.get_ref());
    let (stretch, hit) = fec.stretch(bits, interleaved);
    let Some(in_burst) = &written.burst_bits else {
        return Ok(NoiseKind::Hits { bits: stretch, hit });
    };
    let (_, in_burst) = fec.stretch(*in_burst.get_ref(), interleaved);
    let takes = f64::from(stretch) * 1e12 / link.rate.as_bps() as f64;
    let every = filled!(written.burst_every: LinkError);
    let length = filled!(written.burst_length: LinkError);
    let change = [&every, &length].map(|span| (takes / span.get_ref().as_ps().max(1) as f64).min(1.0));
    Ok(NoiseKind::Bursts {
        bits: stretch,
        hit: [hit, in_burst],
        change,
    })
}

/// Times and sizes of a link that link-level retry has to fit.
#[derive(Clone, Copy)]
struct Fit {
    /// Time for which a frame is outstanding at most, when nothing is lost.
    outstanding: Span,
    /// Bytes that are outstanding at the full rate, and frames of the longest size.
    bytes: Bytes,
    frames: u64,
}

impl Fit {
    /// T = tau + 2 d + (spacing + 8) / C: a frame, the cable both ways, the wait of the acknowledgement and itself.
    fn of(link: &LinkSpec, longest: Bytes, framing: Bytes, spacing: Bytes) -> Self {
        let frame = link.rate.time_to_send(longest + framing);
        let control = spacing + Bytes::new(u64::from(LinkRetry::CONTROL));
        let outstanding = frame + link.delay * 2 + link.rate.time_to_send(control);
        Self {
            outstanding,
            bytes: link.rate.bytes_in(outstanding) + longest,
            frames: outstanding.as_ps().div_ceil(frame.as_ps().max(1)),
        }
    }
}

/// Resolves link-level retry, which depends on links, packets and schemes.
pub(super) fn retry(
    cx: &mut Cx<'_>,
    n: &mut schema::Network,
    run: &mut RunSpec,
    tiers: &LinkTiers,
) -> Result<(), Problem> {
    let Some(spanned) = n.llr.as_mut() else {
        return Ok(());
    };
    let location = cx.texts.of_value(spanned);
    let llr = spanned.get_mut();
    let list = filled!(llr.links: Llr);
    if list.get_ref().is_empty() {
        return Ok(());
    }
    if run.model.is_some() || !cx.profile().is_exact {
        let message = format!("fidelity {} has no link-level retry", cx.fidelity.name());
        return Err(Problem::new(message)
            .at(&location)
            .help("use fidelity = \"exact\""));
    }
    let cuts_through = run
        .lanes
        .as_ref()
        .is_some_and(|lanes| lanes.forwarding != Forwarding::StoreAndForward);
    if cuts_through {
        let message = "under link-level retry a switch passes on a frame once it knows that it is good";
        return Err(Problem::new(message)
            .at(&location)
            .help("set network.credit.forwarding = \"store-and-forward\""));
    }
    if run.schemes.iter().any(|scheme| scheme.config.needs().foresight) {
        let message = "a scheme looks ahead, and cannot look through link-level retry";
        return Err(Problem::new(message).at(&location));
    }
    let meant = named(cx, &list, tiers, run.links.len())?;
    let frames = filled!(llr.outstanding_frames: Llr);
    check_within(
        cx,
        &frames,
        "the number of outstanding frames",
        &(1..=LinkRetry::NUMBERS / 2),
    )?;
    let count = filled!(llr.replay_count: Llr);
    check_within(cx, &count, "the number of replays", &(1..=255))?;
    let spacing = filled!(llr.ctlos_spacing: Llr);
    check_within(
        cx,
        &spacing,
        "the distance of acknowledgements",
        &(Bytes::new(8)..=Bytes::new(16_384)),
    )?;
    let min_spacing = filled!(llr.ctlos_min: Llr);
    check_within(
        cx,
        &min_spacing,
        "the distance of negative acknowledgements",
        &(Bytes::new(8)..=Bytes::new(32_760)),
    )?;
    let data_age = *filled!(llr.data_age: Llr).get_ref();
    let pcs_lost = *filled!(llr.pcs_lost: Llr).get_ref();
    let (nack_again, reinit) = (filled!(llr.nack_again: Llr), filled!(llr.re_init: Llr));
    let bytes = fill_at(&mut llr.outstanding_bytes, OrAuto(None));
    let timer = fill_at(&mut llr.replay_timer, OrAuto(None));
    let needs = run.schemes.iter().map(|scheme| scheme.config.needs());
    let longest = run
        .packet
        .longest(needs, Bytes::new(u64::from(run.first_header())));
    let mut worst: [Option<(usize, Fit)>; 3] = [None, None, None];
    for link in meant {
        let fit = Fit::of(&run.links[link], longest, run.packet.framing, *spacing.get_ref());
        let retry = LinkRetry {
            frames: *frames.get_ref(),
            bytes: bytes.get_ref().0.unwrap_or(fit.bytes),
            timer: timer.get_ref().0.unwrap_or(fit.outstanding * 2),
            count: *count.get_ref() as u8,
            data_age,
            pcs_lost,
            spacing: *spacing.get_ref(),
            min_spacing: *min_spacing.get_ref(),
            nack_again,
            reinit,
        };
        if retry.bytes < longest {
            let message = format!(
                "the replay buffer of {} does not hold a packet of {}",
                retry.bytes, longest
            );
            return Err(Problem::new(message).at(&cx.texts.of_value(&bytes)));
        }
        let faults = [
            retry.timer < fit.outstanding,
            retry.bytes < fit.bytes,
            u64::from(retry.frames) < fit.frames,
        ];
        run.retries.push((link, retry));
        for (worst, is_wrong) in worst.iter_mut().zip(faults) {
            let is_worse = worst.as_ref().is_none_or(|(_, known)| known.bytes < fit.bytes);
            if is_wrong && is_worse {
                *worst = Some((link, fit));
            }
        }
    }
    let [by_time, by_bytes, by_frames] = worst;
    if let Some((link, fit)) = by_time {
        let text = format!(
            "a frame is outstanding for up to {} on link {link}: with a shorter replay timer it is sent again although it has arrived",
            fit.outstanding
        );
        cx.warn(WarningKind::TimeConstant, &cx.texts.of_value(&timer), text);
    }
    if let Some((link, fit)) = by_bytes {
        let text = format!(
            "the replay buffer of link {link} does not hold what its full rate takes: {} would do",
            fit.bytes
        );
        cx.warn(WarningKind::CreditRate, &cx.texts.of_value(&bytes), text);
    }
    if let Some((link, fit)) = by_frames {
        let text = format!(
            "link {link} needs {} outstanding frames for its full rate",
            fit.frames
        );
        cx.warn(WarningKind::CreditRate, &cx.texts.of_value(&frames), text);
    }
    cover(cx, n, run);
    Ok(())
}

/// Makes headroom cover what may still be accepted after a pause: the outstanding frames, since replays obey no pause.
fn cover(cx: &mut Cx<'_>, n: &mut schema::Network, run: &mut RunSpec) {
    let FlowControl::Pfc(_) = run.switch.flow_control else {
        return;
    };
    let lacks = |headroom: &Headroom| {
        let lacks = run.retries.iter().map(|(link, retry)| {
            let link = &run.links[*link];
            let has = match headroom {
                Headroom::Fixed(bytes) => bytes.get(),
                Headroom::PerLink { factor, extra } => {
                    (link.rate.bytes_in(link.delay).get() as f64 * factor) as u64 + extra.get()
                }
            };
            let frame = run.packet.largest().get();
            // What is outstanding is also bounded by what the link carries until it hears of the pause.
            let most = link.rate.bytes_in(retry.timer).get() + frame;
            (retry.bytes.get().min(most) + 2 * frame).saturating_sub(has)
        });
        lacks.max().unwrap_or(0)
    };
    let lack = lacks(&run.switch.headroom);
    if lack == 0 {
        return;
    }
    let is_written = n
        .headroom
        .as_ref()
        .is_some_and(|written| !written.span().is_empty());
    if let (false, Headroom::PerLink { factor, extra }) = (is_written, run.switch.headroom) {
        let extra = extra + Bytes::new(lack);
        run.switch.headroom = Headroom::PerLink { factor, extra };
        n.headroom = Some(Spanned::new(0..0, schema::Headroom::per_link(factor, extra)));
        return;
    }
    let text = format!(
        "what link-level retry has outstanding may arrive after a pause: headroom lacks {} for it, and switches may drop packets",
        Bytes::new(lack)
    );
    let location = n.headroom.as_ref().map(|written| cx.texts.of_value(written));
    cx.warn(WarningKind::Threshold, location.as_ref(), text);
}

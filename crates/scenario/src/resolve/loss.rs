//! Conversion of `lossless` and `[network.drop]` to the rules for dropping packets.

use paceline_fabric::spec::{DropPolicy, LossSpec, PacketFormat, Trim};
use paceline_kernel::Bytes;
use paceline_kernel::sorted::SortedSet;
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::schema::{self, DropKind, FlowControlKind};

use super::Cx;
use super::fill::{fill_at, filled};

/// Returns the rules for packets that do not fit into the buffer.
pub(super) fn loss(
    cx: &Cx<'_>,
    n: &mut schema::Network,
    packet: &PacketFormat,
    classes: &SortedSet<u8>,
) -> Result<LossSpec, Problem> {
    let lossless = lossless(cx, n)?;
    storms_of_lossy_classes(cx, n, lossless)?;
    let some_are_lossless = n.flow_control != Some(FlowControlKind::None);
    let drop = n.drop.get_or_insert_default();
    let is_partly_lossy = some_are_lossless && lossless != ALL;
    // Lossy classes are limited dynamically, so that lossless ones keep a part of the buffer.
    let default = if is_partly_lossy {
        DropKind::Dynamic
    } else {
        DropKind::Shared
    };
    let kind = fill_at(&mut drop.policy, default);
    let policy = match kind.get_ref() {
        DropKind::Shared => DropPolicy::Shared,
        DropKind::Tail => tail(cx, drop, packet, &kind)?,
        DropKind::Dynamic => dynamic(cx, drop)?,
    };
    let trim = filled!(drop.trim: Drop);
    // Without trimming, the queue for headers gets no default: the resolved scenario would claim an effect.
    if !*trim.get_ref() {
        return Ok(LossSpec {
            lossless,
            drop: policy,
            trim: None,
        });
    }
    let is_lossless = |class: u8| some_are_lossless && lossless >> class & 1 == 1;
    let help = "set `network.flow-control = \"none\"`, or leave the flows' class out of `network.lossless`";
    if some_are_lossless && lossless == ALL {
        let message = "packets of lossless classes are not trimmed, and all classes are lossless";
        return Err(Problem::new(message).at(&cx.texts.of_value(&trim)).help(help));
    }
    if !classes.is_empty() && classes.iter().all(|&class| is_lossless(class)) {
        let message =
            "packets of lossless classes are not trimmed, and the classes of all flows are lossless";
        let problem = Problem::new(message).at(&cx.texts.of_value(&trim)).help(help);
        return Err(match &n.lossless {
            Some(list) => problem.see(&cx.texts.of_value(list), "the lossless classes"),
            None => problem,
        });
    }
    let headers = filled!(drop.headers: Drop);
    Ok(LossSpec {
        lossless,
        drop: policy,
        trim: Some(Trim {
            queue: *headers.get_ref(),
        }),
    })
}

/// With this factor, only the buffer limits a queue.
const ALPHA_MAX: f64 = 1e6;

/// Priorities 1 to 7. Priority 0 is for control packets, which are not counted in buffers.
const ALL: u8 = 0b1111_1110;

fn mask_of(classes: &[u8]) -> u8 {
    let known = classes.iter().filter(|&&class| class < 8);
    known.fold(0, |mask, &class| mask | 1 << class)
}

/// Returns the priorities under flow control, as a bit mask.
fn lossless(cx: &Cx<'_>, n: &mut schema::Network) -> Result<u8, Problem> {
    if n.flow_control == Some(FlowControlKind::None) {
        // A resolved scenario lists all priorities; without flow control the list has no meaning.
        n.lossless = n.lossless.take().filter(|list| mask_of(list.get_ref()) != ALL);
        if let Some(list) = &n.lossless
            && !list.get_ref().is_empty()
        {
            let message = "there are no lossless classes without flow control";
            return Err(Problem::new(message)
                .at(&cx.texts.of_value(list))
                .help("leave out `network.lossless`, or set `network.flow-control = \"pfc\"`"));
        }
        return Ok(ALL);
    }
    let list = filled!(n.lossless: Network);
    if n.flow_control == Some(FlowControlKind::Credits) {
        return Ok(ALL);
    }
    if let Some(class) = list.get_ref().iter().find(|class| !(1..8).contains(*class)) {
        let message = format!("class {class} is not one of 1 to 7");
        return Err(Problem::new(message).at(&cx.texts.of_value(&list)));
    }
    let mask = mask_of(list.get_ref());
    if mask == 0 {
        let message = "no class is lossless";
        return Err(Problem::new(message)
            .at(&cx.texts.of_value(&list))
            .help("set `network.flow-control = \"none\"` for a network without flow control"));
    }
    Ok(mask)
}

/// Rejects a pause storm in a lossy class, which would have no effect.
fn storms_of_lossy_classes(cx: &Cx<'_>, n: &schema::Network, lossless: u8) -> Result<(), Problem> {
    for storm in n.pause_storm.iter().flatten() {
        let class = storm
            .get_ref()
            .priority
            .as_ref()
            .map_or(3, |class| *class.get_ref());
        if lossless >> class & 1 == 0 {
            let message = format!("a pause storm of class {class}, which is lossy: pauses have no effect");
            return Err(Problem::new(message)
                .at(&cx.texts.of_value(storm))
                .help("add the class to `network.lossless`"));
        }
    }
    Ok(())
}

fn tail(
    cx: &Cx<'_>,
    drop: &schema::Drop,
    packet: &PacketFormat,
    kind: &Spanned<DropKind>,
) -> Result<DropPolicy, Problem> {
    let zero = |location| {
        Problem::new("the limit of lossy queues is zero")
            .at(&location)
            .label("expected more than zero")
    };
    match (&drop.limit, &drop.packets) {
        (Some(limit), None) if *limit.get_ref() == Bytes::ZERO => Err(zero(cx.texts.of_value(limit))),
        (Some(limit), None) => Ok(DropPolicy::Tail(*limit.get_ref())),
        (None, Some(packets)) if *packets.get_ref() == 0 => Err(zero(cx.texts.of_value(packets))),
        (None, Some(packets)) => {
            let full = (packet.mtu + packet.data_header).get();
            Ok(DropPolicy::Tail(Bytes::new(
                u64::from(*packets.get_ref()).saturating_mul(full),
            )))
        }
        (Some(limit), Some(packets)) => Err(Problem::new("lossy queues have a limit twice")
            .at(&cx.texts.of_value(packets))
            .see(&cx.texts.of_value(limit), "and here")
            .help("keep one of `limit` and `packets`")),
        (None, None) => Err(Problem::new("the drop policy `tail` has no limit")
            .at(&cx.texts.of_value(kind))
            .help("set `network.drop.limit` to bytes, or `network.drop.packets` to full packets")),
    }
}

fn dynamic(cx: &Cx<'_>, drop: &mut schema::Drop) -> Result<DropPolicy, Problem> {
    let alpha: Spanned<f64> = filled!(drop.alpha: Drop);
    let value = *alpha.get_ref();
    if value > 0.0 && value <= ALPHA_MAX {
        return Ok(DropPolicy::Dynamic { alpha: value });
    }
    let message = format!("alpha is {value}: expected more than zero, and at most {ALPHA_MAX}");
    Err(Problem::new(message).at(&cx.texts.of_value(&alpha)))
}

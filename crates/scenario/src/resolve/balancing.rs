//! Conversion of `load-balancing`, `[network.flowlet]`, `[network.adaptive]` and `[network.entropy]` to the behaviour
//! of switches and senders.

use paceline_congestion::entropy::{Entropy, Mrc, Selector};
use paceline_fabric::spec::{EcmpHash, Flowlets, LoadBalancing, Recovery, SchemeSpec};
use paceline_kernel::Span;

use crate::diagnostics::{Location, Problem};
use crate::schema::{self, AdaptivePer, Balancing};
use crate::warning::WarningKind;

use super::Cx;
use super::fill::{fill_at, filled};

const MAX_ENTRIES: u32 = 1 << 20;

/// Returns the switches' choice among equal next hops, and the senders' choice of paths, if they make one.
pub(super) fn resolve(
    cx: &mut Cx<'_>,
    n: &mut schema::Network,
    schemes: &[SchemeSpec],
    recovery: Recovery,
) -> Result<(LoadBalancing, Option<Entropy>), Problem> {
    let written = filled!(n.load_balancing: Network);
    let mut location = cx.texts.of_value(&written);
    let entropy = match written.get_ref().selector() {
        Some(selector) => Some(entropy(cx, n, &location, selector, (schemes, recovery))?),
        None => None,
    };
    let policy = match written.get_ref() {
        balancing if balancing.selector().is_some() => LoadBalancing::Ecmp,
        Balancing::Flowlet => LoadBalancing::Flowlet(flowlets(cx, n)?),
        Balancing::Spray => LoadBalancing::Spray,
        Balancing::Adaptive => {
            let per = fill_at(&mut n.adaptive.get_or_insert_default().per, AdaptivePer::Packet);
            match per.get_ref() {
                AdaptivePer::Packet => LoadBalancing::Adaptive,
                AdaptivePer::Flowlet => {
                    location = cx.texts.of_value(&per);
                    LoadBalancing::AdaptiveFlowlet(flowlets(cx, n)?)
                }
            }
        }
        _ => LoadBalancing::Ecmp,
    };
    if policy != LoadBalancing::Ecmp || entropy.is_some() {
        check_chunks(cx, n, &location)?;
    }
    if policy.is_per_packet() || entropy.is_some() {
        check_per_packet(cx, &location, schemes, recovery)?;
    }
    Ok((policy, entropy))
}

/// Upper limit of a flow's entropy values: the size of the UDP source port's range.
const MAX_VALUES: u32 = 1 << 16;

fn entropy(
    cx: &Cx<'_>,
    n: &mut schema::Network,
    location: &Location,
    selector: Selector,
    (schemes, recovery): (&[SchemeSpec], Recovery),
) -> Result<Entropy, Problem> {
    let planes = n.planes.as_ref().map_or(1, |planes| *planes.get_ref());
    let table = n.entropy.get_or_insert_default();
    let written = filled!(table.values: EntropyValues);
    let values = *written.get_ref();
    if values < planes {
        return Err(
            Problem::new(format!("{values} entropy values in {planes} planes"))
                .at(&cx.texts.of_value(&written))
                .label(format!("expected at least {planes}")),
        );
    }
    if !values.is_power_of_two() || values > MAX_VALUES {
        return Err(Problem::new(format!("{values} entropy values"))
            .at(&cx.texts.of_value(&written))
            .label(format!("expected a power of two from 1 to {MAX_VALUES}")));
    }
    if n.ecmp_hash
        .as_ref()
        .is_some_and(|hash| *hash.get_ref() == EcmpHash::DModK)
    {
        let message =
            "senders choose entropy values, and with `ecmp-hash = \"d-mod-k\"` switches do not hash them";
        return Err(Problem::new(message)
            .at(location)
            .help("leave out `network.ecmp-hash`, or set `network.load-balancing = \"ecmp\"`"));
    }
    if let Some(scheme) = schemes.iter().find(|scheme| scheme.config.needs().pint) {
        let name = scheme.config.name();
        let message = format!("{name} reads a digest in the field where packets carry their entropy value");
        return Err(Problem::new(message)
            .at(location)
            .help("write `load-balancing = \"ecmp\"`, or choose another scheme"));
    }
    let mrc = match selector {
        Selector::Mrc => Some(mrc(cx, n, location, values / planes, recovery)?),
        _ => None,
    };
    Ok(Entropy {
        selector,
        values,
        mrc,
    })
}

/// Returns the settings of senders that keep a state for each of their `values` in a plane.
fn mrc(
    cx: &Cx<'_>,
    n: &mut schema::Network,
    location: &Location,
    values: u32,
    recovery: Recovery,
) -> Result<Mrc, Problem> {
    if !matches!(recovery, Recovery::Rud(_)) {
        let message = "a path is assumed to be bad when a packet on it times out, which only `rud` notices";
        return Err(Problem::new(message)
            .at(location)
            .help("write `network.recovery = \"rud\"`"));
    }
    if n.flow_control == Some(schema::FlowControlKind::Credits) || !cx.profile().is_exact {
        let message = "senders keep a state for each path in fidelity `exact`, without credits";
        return Err(Problem::new(message).at(location));
    }
    let table = n.mrc.get_or_insert_default();
    let written = fill_at(&mut table.in_use, values.div_ceil(2));
    let in_use = *written.get_ref();
    if !(1..=values).contains(&in_use) {
        return Err(
            Problem::new(format!("{in_use} values in use, of {values} in a plane"))
                .at(&cx.texts.of_value(&written))
                .label(format!("expected 1 to {values}"))
                .help("`network.entropy.values` counts those of all planes"),
        );
    }
    let interval = filled!(table.probe_interval: MrcValues);
    Ok(Mrc {
        in_use,
        probe_interval: super::numbers::above_zero(cx, &interval, "the time between probes")?,
    })
}

fn flowlets(cx: &Cx<'_>, n: &mut schema::Network) -> Result<Flowlets, Problem> {
    let flowlet = n.flowlet.get_or_insert_default();
    let gap = filled!(flowlet.gap: Flowlet);
    if *gap.get_ref() == Span::ZERO {
        return Err(Problem::new("the flowlets' gap is zero")
            .at(&cx.texts.of_value(&gap))
            .label("expected more than zero")
            .help("to choose for every packet, write `load-balancing = \"spray\"`"));
    }
    let entries = filled!(flowlet.entries: Flowlet);
    let count = *entries.get_ref();
    if !count.is_power_of_two() || !(2..=MAX_ENTRIES).contains(&count) {
        let message = format!("a table of {count} flowlets");
        return Err(Problem::new(message)
            .at(&cx.texts.of_value(&entries))
            .label(format!("expected a power of two from 2 to {MAX_ENTRIES}")));
    }
    Ok(Flowlets {
        gap: *gap.get_ref(),
        entries: count,
    })
}

/// Rejects reordering with `back-to-chunk`: each overtaken packet restarts its chunk, so a chunk might never
/// complete.
fn check_chunks(cx: &Cx<'_>, n: &schema::Network, location: &Location) -> Result<(), Problem> {
    let Some(chunk) = &n.back_to_chunk else {
        return Ok(());
    };
    if chunk.get_ref().0.is_none() {
        return Ok(());
    }
    let message = "a packet that is overtaken sends `back-to-chunk` to the start of its chunk, and packets that \
                   take different paths overtake each other every time: some chunks would never come whole";
    Err(Problem::new(message)
        .at(&cx.texts.of_value(chunk))
        .see(location, "paths are chosen here")
        .help("leave out `network.back-to-chunk`, or set `network.load-balancing = \"ecmp\"`"))
}

/// Checks the effects of per-packet reordering on schemes and recovery.
fn check_per_packet(
    cx: &mut Cx<'_>,
    location: &Location,
    schemes: &[SchemeSpec],
    recovery: Recovery,
) -> Result<(), Problem> {
    if let Some(scheme) = schemes.iter().find(|scheme| scheme.config.needs().int) {
        let name = scheme.config.name();
        let message = format!(
            "{name} compares the telemetry of one packet with that of the last, and packets that are \
             spread one by one pass different ports"
        );
        return Err(Problem::new(message).at(location).help(
            "write `load-balancing = \"ecmp\"` or `\"flowlet\"`, or choose a scheme that reads no telemetry",
        ));
    }
    let advice = match recovery {
        Recovery::GoBackN => "go-back-N takes that for loss; write `network.recovery = \"rud\"` or `\"irn\"`",
        Recovery::SelectiveRepeat(irn) if irn.reordering == 0 => {
            "IRN takes the first that is overtaken for lost; write for example `network.irn.reordering = 64`"
        }
        Recovery::SelectiveRepeat(_) | Recovery::Rud(_) => return Ok(()),
    };
    let text = format!("packets that take different paths overtake each other, and {advice}");
    cx.warn(WarningKind::Reordering, location, text);
    Ok(())
}

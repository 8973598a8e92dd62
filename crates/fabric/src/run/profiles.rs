//! What ports have in common whose links have one rate and delay, and whose switches are of one tier.

use crate::ids::{PortId, ProfileId};
use crate::run::check::BuildError;
use crate::switch::doublings_begun;
use crate::world::links::{CommonSize, LinkProfile, Profiles};
use paceline_congestion::Red;
use paceline_congestion::registry::ActiveScheme;
use paceline_kernel::Bytes;
use paceline_kernel::ids::{Id, List};
use paceline_kernel::queue::{EventQueue, LaneId};
use paceline_run::spec::{
    EcnCurve, FlowControl, Headroom, LinkSpec, NodeId, NodeKind, PfcThreshold, RunSpec, SwitchTier,
};
use std::collections::BTreeMap;

/// Sizes that occur all the time: full data packets and acknowledgements of every scheme.
fn common_sizes(spec: &RunSpec, schemes: &[ActiveScheme]) -> Vec<u16> {
    let packet = &spec.packet;
    let mut sizes = Vec::new();
    for scheme in schemes {
        let needs = scheme.needs();
        sizes.push(packet.mtu.get() as u16 + packet.data_headers(&needs));
        sizes.push(packet.ack_wire(&needs));
        if scheme.switch_part().is_some_and(|part| part.turns_back) {
            sizes.push(packet.turned_back(packet.data_headers(&needs)));
        }
    }
    let full = (schemes.iter()).map(|scheme| packet.mtu.get() as u16 + packet.data_headers(&scheme.needs()));
    sizes.extend(full.map(|full| full + spec.first_header()));
    let mut seen = Vec::new();
    sizes.retain(|size| {
        !seen.contains(size) && {
            seen.push(*size);
            true
        }
    });
    sizes
}

/// One profile per (rate, delay, tier), with event lanes for the delays that its common sizes make; that of each port.
pub(super) fn build_profiles(
    spec: &RunSpec,
    schemes: &[ActiveScheme],
    queue: &mut EventQueue,
) -> Result<(Profiles, List<PortId, ProfileId>), BuildError> {
    let sizes = common_sizes(spec, schemes);
    let mut index: BTreeMap<(u64, u64, u16), ProfileId> = BTreeMap::new();
    let mut lanes: BTreeMap<u64, LaneId> = BTreeMap::new();
    let mut profiles = Profiles::new();
    let mut profile_of = List::new();
    let tier_of = spec.switch.tier_of(spec.nodes.len());
    // A host's port shares the profile of the switch's: nothing in it that tiers change acts at hosts.
    let tier = |node: NodeId, peer: NodeId| match spec.nodes[node.index()] {
        NodeKind::Host => tier_of[peer.index()],
        NodeKind::Switch => tier_of[node.index()],
    };
    let ends = |link: &LinkSpec| [tier(link.a, link.b), tier(link.b, link.a)];
    let ports = spec.links.iter().enumerate();
    for ((i, link), tier) in ports.flat_map(|(i, link)| ends(link).map(|tier| ((i, link), tier))) {
        let key = (link.rate.as_bps(), link.delay.as_ps(), tier);
        if let Some(&profile) = index.get(&key) {
            profile_of.push(profile);
            continue;
        }
        if profiles.len() > usize::from(u16::MAX) {
            return Err(BuildError::TooLarge(
                "links have more than 65536 different rates and delays, with those of tiers of switches"
                    .into(),
            ));
        };
        let mut profile = profile(spec, spec.switch.tier(tier), (i, link))?;
        let mut lane = |delay: u64| *lanes.entry(delay).or_insert_with(|| queue.add_lane(delay));
        for &wire in &sizes {
            let tx = profile.time_to_send(profile.rate, wire).as_ps();
            let (tx_lane, arrive_lane) = (lane(tx), lane(tx + profile.delay));
            profile.common.push(CommonSize {
                wire,
                tx,
                tx_lane,
                arrive_lane,
            });
        }
        let number = profiles.push(profile);
        index.insert(key, number);
        profile_of.push(number);
    }
    Ok((profiles, profile_of))
}

fn profile(
    spec: &RunSpec,
    tier: Option<&SwitchTier>,
    (i, link): (usize, &LinkSpec),
) -> Result<LinkProfile, BuildError> {
    Ok(LinkProfile {
        rate: link.rate,
        ps_per_kib: link.rate.time_to_send(Bytes::new(1024)).as_ps(),
        delay: link.delay.as_ps(),
        shift: shift(spec, tier, link),
        headroom: headroom(spec, tier, link),
        red: red(spec, tier, (i, link))?,
        common: Vec::new(),
        framing: spec.packet.framing.get() as u16,
        truncate_to_ns: spec.quirks.truncate_to_ns,
        rounding: spec.quirks.rounding(),
    })
}

fn red(spec: &RunSpec, tier: Option<&SwitchTier>, (i, link): (usize, &LinkSpec)) -> Result<Red, BuildError> {
    let is_switch = |node: NodeId| spec.nodes[node.index()] == NodeKind::Switch;
    let curves: &[EcnCurve] = tier.map_or(&spec.switch.ecn, |tier| &tier.ecn);
    let mut red = Red::OFF;
    if !curves.is_empty() && (is_switch(link.a) || is_switch(link.b)) {
        let Some(curve) = curves.iter().find(|curve| curve.rate == link.rate) else {
            let known: Vec<String> = curves.iter().map(|curve| curve.rate.to_string()).collect();
            return Err(BuildError::NoCurve {
                rate: link.rate,
                link: i,
                known: known.join(", "),
            });
        };
        if curve.kmin > curve.kmax
            || !(0.0..=1.0).contains(&curve.pmax)
            || curve.kmax.get() >= u64::from(u32::MAX)
        {
            let why = format!("kmin {}, kmax {}, pmax {}", curve.kmin, curve.kmax, curve.pmax);
            return Err(BuildError::BadCurve {
                rate: curve.rate,
                why,
            });
        }
        red = Red::new(curve.kmin.get() as u32, curve.kmax.get() as u32, curve.pmax);
    }
    Ok(red)
}

/// How far a dynamic threshold is shifted.
fn shift(spec: &RunSpec, tier: Option<&SwitchTier>, link: &LinkSpec) -> u32 {
    let FlowControl::Pfc(pfc) = spec.switch.flow_control else {
        return 0;
    };
    match tier.and_then(|tier| tier.threshold).unwrap_or(pfc.threshold) {
        PfcThreshold::Dynamic {
            shift,
            reference_rate,
        } => {
            let reference = reference_rate.as_bps().max(1);
            let doublings = if spec.quirks.shift_rounds_up {
                doublings_begun(link.rate.as_bps(), reference)
            } else {
                (link.rate.as_bps() / reference).max(1).ilog2()
            };
            shift.saturating_sub(doublings)
        }
        PfcThreshold::Static { .. } => 0,
    }
}

fn headroom(spec: &RunSpec, tier: Option<&SwitchTier>, link: &LinkSpec) -> u32 {
    match tier.map_or(spec.switch.headroom, |tier| tier.headroom) {
        _ if !matches!(spec.switch.flow_control, FlowControl::Pfc(_)) => 0,
        Headroom::Fixed(bytes) => bytes.get() as u32,
        // The delay's bytes are cut before they are multiplied, as the reference does.
        Headroom::PerLink { factor, extra } => {
            let unheeded = link.rate.bytes_in(spec.switch.longest_response());
            let (delay, extra) = (link.rate.bytes_in(link.delay), extra.get() + unheeded.get());
            (delay.get() as f64 * factor) as u32 + extra as u32
        }
    }
}

//! What links of one rate and delay have in common.

use crate::ids::{LinkId, ProfileId};
use crate::run::check::BuildError;
use crate::spec::{FlowControl, Headroom, LinkSpec, NodeId, NodeKind, PfcThreshold, RunSpec};
use crate::switch::doublings_begun;
use crate::world::links::{CommonSize, LinkProfile, Profiles};
use paceline_congestion::Red;
use paceline_congestion::registry::AtWork;
use paceline_kernel::Bytes;
use paceline_kernel::ids::{Id, List};
use paceline_kernel::queue::{EventQueue, LaneId};
use std::collections::BTreeMap;

/// Sizes that occur all the time: full data packets and acknowledgements of every scheme.
fn common_sizes(spec: &RunSpec, schemes: &[AtWork]) -> Vec<u16> {
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
    let mut seen = Vec::new();
    sizes.retain(|size| {
        !seen.contains(size) && {
            seen.push(*size);
            true
        }
    });
    sizes
}

/// One profile per (rate, delay), with event lanes for the delays that its common sizes make.
pub(super) fn build_profiles(
    spec: &RunSpec,
    schemes: &[AtWork],
    queue: &mut EventQueue,
) -> Result<(Profiles, List<LinkId, ProfileId>), BuildError> {
    let sizes = common_sizes(spec, schemes);
    let mut index: BTreeMap<(u64, u64), ProfileId> = BTreeMap::new();
    let mut lanes: BTreeMap<u64, LaneId> = BTreeMap::new();
    let mut profiles = Profiles::new();
    let mut profile_of = List::new();
    for (i, link) in spec.links.iter().enumerate() {
        let key = (link.rate.as_bps(), link.delay.as_ps());
        if let Some(&profile) = index.get(&key) {
            profile_of.push(profile);
            continue;
        }
        if profiles.len() > usize::from(u16::MAX) {
            return Err(BuildError::TooLarge(
                "links have more than 65536 different rates and delays".into(),
            ));
        };
        let mut profile = profile(spec, i, link)?;
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

fn profile(spec: &RunSpec, i: usize, link: &LinkSpec) -> Result<LinkProfile, BuildError> {
    let is_switch = |node: NodeId| spec.nodes[node.index()] == NodeKind::Switch;
    let mut red = Red::OFF;
    if !spec.switch.ecn.is_empty() && (is_switch(link.a) || is_switch(link.b)) {
        let Some(curve) = spec.switch.ecn.iter().find(|curve| curve.rate == link.rate) else {
            let known: Vec<String> = spec
                .switch
                .ecn
                .iter()
                .map(|curve| curve.rate.to_string())
                .collect();
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
    let shift = match spec.switch.flow_control {
        FlowControl::Pfc(pfc) => match pfc.threshold {
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
        },
        FlowControl::None => 0,
    };
    Ok(LinkProfile {
        rate: link.rate,
        ps_per_kib: link.rate.time_to_send(Bytes::new(1024)).as_ps(),
        delay: link.delay.as_ps(),
        shift,
        headroom: headroom(spec, link),
        red,
        common: Vec::new(),
        framing: spec.packet.framing.get() as u16,
        truncate_to_ns: spec.quirks.truncate_to_ns,
        floor_to_ns: spec.quirks.floor_to_ns,
    })
}

fn headroom(spec: &RunSpec, link: &LinkSpec) -> u32 {
    match spec.switch.headroom {
        _ if spec.switch.flow_control == FlowControl::None => 0,
        Headroom::Fixed(bytes) => bytes.get() as u32,
        // The delay's bytes are cut before they are multiplied, as the reference does.
        Headroom::PerLink { factor, extra } => {
            (link.rate.bytes_in(link.delay).get() as f64 * factor) as u32 + extra.get() as u32
        }
    }
}

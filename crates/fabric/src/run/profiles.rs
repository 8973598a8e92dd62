//! Link profiles: properties shared by the ports of links with the same rate and delay, at switches of one tier; and
//! the settings that links change to.

use crate::ids::{LinkId, PortId, ProfileId};
use crate::run::check::BuildError;
use crate::switch::doublings_begun;
use crate::world::changes::{Setting, Settings};
use crate::world::links::{CommonSize, LinkProfile, Profiles};
use paceline_congestion::Red;
use paceline_congestion::registry::ActiveScheme;
use paceline_kernel::ids::{Id, List};
use paceline_kernel::queue::{EventQueue, LaneId};
use paceline_kernel::{Bytes, Time};
use paceline_run::spec::{
    EcnCurve, FlowControl, Headroom, LinkSpec, NodeId, NodeKind, PfcThreshold, RunSpec, SwitchTier,
};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the packet sizes that occur all the time: full data packets and acknowledgements of every scheme.
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

/// Builder of profiles, with event lanes for the delays of their common sizes.
struct Builder<'a> {
    queue: &'a mut EventQueue,
    sizes: Vec<u16>,
    lanes: BTreeMap<u64, LaneId>,
    profiles: Profiles,
}

impl Builder<'_> {
    /// Adds a profile and its lanes, and returns its number.
    fn add(&mut self, mut profile: LinkProfile) -> Result<ProfileId, BuildError> {
        if self.profiles.len() > usize::from(u16::MAX) {
            return Err(BuildError::TooLarge(
                "links have more than 65536 different rates and delays, with those of tiers of switches"
                    .into(),
            ));
        }
        let Self { queue, lanes, .. } = self;
        let mut lane = |delay: u64| *lanes.entry(delay).or_insert_with(|| queue.add_lane(delay));
        // Events of equal delay are in order by themselves, so that a lane needs no sorting.
        for &wire in &self.sizes {
            let tx = profile.time_to_send(profile.rate, wire).as_ps();
            let (tx_lane, arrive_lane) = (lane(tx), lane(tx + profile.delay));
            profile.common.push(CommonSize {
                wire,
                tx,
                tx_lane,
                arrive_lane,
            });
        }
        Ok(self.profiles.push(profile))
    }
}

/// Profiles of a run: those of its links, and those that links have for a time.
pub(super) struct Built {
    pub(super) profiles: Profiles,
    /// Profile of each port at the start.
    pub(super) of_port: List<PortId, ProfileId>,
    /// Settings of links that change.
    pub(super) settings: Settings,
}

/// Builds one profile per (rate, delay, tier), and one for each rate and delay that a link changes to.
pub(super) fn build_profiles(
    spec: &RunSpec,
    schemes: &[ActiveScheme],
    queue: &mut EventQueue,
) -> Result<Built, BuildError> {
    let mut builder = Builder {
        queue,
        sizes: common_sizes(spec, schemes),
        lanes: BTreeMap::new(),
        profiles: Profiles::new(),
    };
    let mut index: BTreeMap<(u64, u64, u16), ProfileId> = BTreeMap::new();
    let mut of_port: List<PortId, ProfileId> = List::new();
    let tier_of = spec.switch.tier_of(spec.nodes.len());
    // A host's port shares the profile of the switch's: no property that differs between tiers has an effect at hosts.
    let tier = |node: NodeId, peer: NodeId| match spec.nodes[node.index()] {
        NodeKind::Host => tier_of[peer.index()],
        NodeKind::Switch => tier_of[node.index()],
    };
    let ends = |link: &LinkSpec| [tier(link.a, link.b), tier(link.b, link.a)];
    let ports = spec.links.iter().enumerate();
    for ((i, link), tier) in ports.flat_map(|(i, link)| ends(link).map(|tier| ((i, link), tier))) {
        let key = (link.rate.as_bps(), link.delay.as_ps(), tier);
        let known = match index.get(&key) {
            Some(&known) => known,
            None => builder.add(profile(spec, spec.switch.tier(tier), (i, link))?)?,
        };
        index.insert(key, known);
        of_port.push(known);
    }
    let settings = settings(spec, &mut builder, &of_port)?;
    Ok(Built {
        profiles: builder.profiles,
        of_port,
        settings,
    })
}

/// Returns the settings of links at the start and the end of each of their changes.
fn settings(
    spec: &RunSpec,
    builder: &mut Builder<'_>,
    of_port: &List<PortId, ProfileId>,
) -> Result<Settings, BuildError> {
    let mut known: BTreeMap<(ProfileId, u64, u64), ProfileId> = BTreeMap::new();
    let mut times: BTreeMap<usize, BTreeSet<Time>> = BTreeMap::new();
    for change in &spec.link_changes {
        times
            .entry(change.link)
            .or_default()
            .extend([change.at].into_iter().chain(change.until));
    }
    let mut settings = Settings::new();
    for (link, at) in times
        .into_iter()
        .flat_map(|(link, times)| times.into_iter().map(move |at| (link, at)))
    {
        let nominal = &spec.links[link];
        let on = || (spec.link_changes.iter()).filter(move |change| change.link == link && change.is_on(at));
        let rate = on().find_map(|change| change.rate).unwrap_or(nominal.rate);
        let delay = on().find_map(|change| change.delay).unwrap_or(nominal.delay);
        let mut profiles = [ProfileId::NONE; 2];
        for (slot, port) in profiles.iter_mut().zip(LinkId::new(link).ends()) {
            let before = of_port[port];
            let key = (before, rate.as_bps(), delay.as_ps());
            *slot = match known.get(&key) {
                _ if (rate, delay) == (nominal.rate, nominal.delay) => before,
                Some(&known) => known,
                None => builder.add(LinkProfile {
                    rate,
                    ps_per_kib: rate.time_to_send(Bytes::new(1024)).as_ps(),
                    delay: delay.as_ps(),
                    common: Vec::new(),
                    // Thresholds and headroom stay as configured for the original link.
                    ..builder.profiles[before].clone()
                })?,
            };
            known.insert(key, *slot);
        }
        let setting = Setting {
            profiles,
            error_rate: on()
                .find_map(|change| change.error_rate)
                .unwrap_or(nominal.error_rate),
        };
        settings
            .entry(LinkId::new(link))
            .or_default()
            .push((at.as_ps(), setting));
    }
    Ok(settings)
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
    // Hosts do not mark, so links between two of them need no curve.
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

/// Returns the shift of a dynamic threshold, which is alpha's power of two.
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
            let shift = PfcThreshold::shift_at(shift, doublings);
            // Counted from the least shift, which is negative, so that switches can shift by it.
            (shift.min(PfcThreshold::SHIFT_MAX) - PfcThreshold::SHIFT_MIN).max(0) as u32
        }
        PfcThreshold::Static { .. } => 0,
    }
}

fn headroom(spec: &RunSpec, tier: Option<&SwitchTier>, link: &LinkSpec) -> u32 {
    match tier.map_or(spec.switch.headroom, |tier| tier.headroom) {
        _ if !matches!(spec.switch.flow_control, FlowControl::Pfc(_)) => 0,
        Headroom::Fixed(bytes) => bytes.get() as u32,
        // The bytes in the delay are cut to an integer before the multiplication, as in the reference.
        Headroom::PerLink { factor, extra } => {
            // Bytes that arrive during the longest reaction time have to fit too, or frames that take effect late would
            // lose packets.
            let unheeded = link.rate.bytes_in(spec.switch.longest_response());
            let (delay, extra) = (link.rate.bytes_in(link.delay), extra.get() + unheeded.get());
            (delay.get() as f64 * factor) as u32 + extra as u32
        }
    }
}

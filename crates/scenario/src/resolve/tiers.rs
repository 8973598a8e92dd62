//! Conversion of `[network.tier.NAME]` to the switches of a tier.

use paceline_congestion::registry::Marking;
use paceline_fabric::spec::{FlowControl, NodeId, PfcThreshold, SwitchSpec, SwitchTier};
use paceline_kernel::BitRate;
use paceline_kernel::sorted::SortedMap;
use toml::Spanned;

use crate::diagnostics::{Location, Problem, suggestion};
use crate::groups;
use crate::schema::{self, Headroom, OrEvery};
use crate::topology::Net;

use super::fill::fill;
use super::numbers;
use super::room::{self, Room};
use super::{Cx, ecn, network};

/// Settings of all switches, used if a tier has none.
pub(super) struct Common<'a> {
    pub(super) spec: &'a SwitchSpec,
    pub(super) buffer: &'a Spanned<schema::Buffer>,
    pub(super) headroom: &'a Spanned<Headroom>,
    /// Marking that the scheme expects.
    pub(super) marking: Marking,
    /// Link rate that marking thresholds refer to; `None` for every rate.
    pub(super) line: Option<BitRate>,
}

/// Turns off marking and pausing in switches inside servers, for fidelities that do so, unless the scenario sets
/// them.
pub(super) fn fill_servers(cx: &Cx<'_>, n: &mut schema::Network, net: &Net) {
    if !cx.profile().plain_servers || net.topology.inner.is_empty() {
        return;
    }
    let tiers = n.tier.get_or_insert_default();
    let tier = tiers
        .entry(groups::SERVER.to_string())
        .or_insert_with(|| Spanned::new(0..0, schema::Tier::default()))
        .get_mut();
    fill(&mut tier.pauses, false);
    let unmarked = schema::Ecn {
        curves: Some(Vec::new()),
        ..schema::Ecn::default()
    };
    tier.ecn.get_or_insert_with(|| Spanned::new(0..0, unmarked));
}

/// Resolves the tiers, after the settings of all switches.
pub(super) fn resolve(
    cx: &mut Cx<'_>,
    written: &mut SortedMap<String, Spanned<schema::Tier>>,
    net: &Net,
    common: &Common<'_>,
) -> Result<Vec<SwitchTier>, Problem> {
    let known = groups::named_tiers(&net.topology);
    let mut tiers = Vec::new();
    for (name, spanned) in written {
        let location = cx.texts.of_value(spanned);
        if !cx.profile().has_tiers {
            let message = format!("with fidelity `{}` all switches are alike", cx.fidelity.name());
            return Err(Problem::new(message).at(&location));
        }
        let Some((_, switches)) = known.iter().find(|(known, _)| known == name) else {
            return Err(unknown(name, &known, &location));
        };
        tiers.push(one(
            cx,
            NamedTier {
                name,
                written: spanned.get_mut(),
                switches,
            },
            net,
            common,
        )?);
    }
    Ok(tiers)
}

fn unknown(name: &str, known: &[(String, Vec<NodeId>)], location: &Location) -> Problem {
    let names = known.iter().map(|(known, _)| known.as_str());
    Problem::new(format!("this network has no tier `{name}` of switches"))
        .at(location)
        .label(suggestion(name, names))
}

/// Settings of a tier, with its name and its switches.
struct NamedTier<'a> {
    name: &'a str,
    written: &'a mut schema::Tier,
    switches: &'a [NodeId],
}

fn one(cx: &mut Cx<'_>, tier: NamedTier<'_>, net: &Net, common: &Common<'_>) -> Result<SwitchTier, Problem> {
    let NamedTier {
        name,
        written: tier,
        switches,
    } = tier;
    let buffer = tier.buffer.get_or_insert_with(|| common.buffer.clone()).clone();
    let headroom = tier
        .headroom
        .get_or_insert_with(|| common.headroom.clone())
        .clone();
    let spec = SwitchTier {
        switches: switches.to_vec(),
        buffer: network::buffer_size(cx, &buffer)?,
        headroom_on_top: buffer.get_ref().is_shared(),
        headroom: numbers::headroom(cx, &headroom)?,
        threshold: threshold(cx, name, tier, common.spec)?,
        pauses: fill(&mut tier.pauses, true),
        ecn: ecn::of_tier(cx, &mut tier.ecn, switches, net, common)?,
    };
    if spec.pauses && common.spec.flow_control != FlowControl::None {
        let room = Room {
            buffer: &buffer,
            headroom: &headroom,
            reserve: common.spec.reserve,
            response: common.spec.longest_response(),
        };
        room::check_buffer(cx, &room, spec.headroom, switches.iter().copied(), net)?;
    }
    Ok(spec)
}

/// Returns a tier's dynamic pause threshold.
fn threshold(
    cx: &mut Cx<'_>,
    name: &str,
    tier: &mut schema::Tier,
    spec: &SwitchSpec,
) -> Result<Option<PfcThreshold>, Problem> {
    let Some(section) = tier.pfc.as_mut() else {
        return Ok(None);
    };
    let location = cx.texts.of_value(section);
    let FlowControl::Pfc(pfc) = spec.flow_control else {
        return Ok(None);
    };
    let Some(dynamic) = &mut section.get_mut().dynamic else {
        return Ok(None);
    };
    let PfcThreshold::Dynamic {
        shift,
        reference_rate,
    } = pfc.threshold
    else {
        let message = format!("tier `{name}` has a dynamic threshold, and [network.pfc] a static one");
        return Err(Problem::new(message)
            .at(&location)
            .help("a static threshold is that of all switches"));
    };
    let of_all = OrEvery((reference_rate < BitRate::LARGEST).then_some(reference_rate));
    Ok(Some(PfcThreshold::Dynamic {
        shift: numbers::shift(cx, &mut dynamic.shift, shift)?,
        reference_rate: network::reference_rate(fill(&mut dynamic.reference_rate, of_all)),
    }))
}

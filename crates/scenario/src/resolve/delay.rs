//! Check for schemes with a round-trip target that the network cannot reach.

use paceline_fabric::spec::RunSpec;

use crate::warning::WarningKind;

use super::Cx;

/// Warns of flows whose scheme considers even the round trip of the empty network too long: they reduce their rate
/// until they end.
pub(super) fn warn(cx: &mut Cx<'_>, run: &RunSpec) {
    for (scheme, number) in run.schemes.iter().zip(0..) {
        let config = &scheme.config;
        if config.delay_limit(1).is_none() {
            continue;
        }
        // An invalid network is reported when it is built.
        let Ok(trips) = paceline_fabric::round_trips(run, number) else {
            return;
        };
        let over: Vec<_> = trips
            .iter()
            .filter_map(|trip| {
                let limit = config.delay_limit(trip.links)?;
                (limit.rtt < trip.rtt).then_some((trip, limit))
            })
            .collect();
        let Some((shortest, limit)) = over.iter().min_by_key(|(trip, _)| trip.rtt) else {
            continue;
        };
        let shortest = shortest.rtt;
        let longest = over.iter().map(|(trip, _)| trip.rtt).max();
        let takes = match longest {
            Some(longest) if longest > shortest => format!("{shortest} to {longest}"),
            _ => shortest.to_string(),
        };
        let slow: usize = over.iter().map(|(trip, _)| trip.flows).sum();
        let all: usize = trips.iter().map(|trip| trip.flows).sum();
        let whose = if slow == all {
            "its flows slow".to_string()
        } else {
            format!("{slow} of its {all} flows slow")
        };
        let (name, param) = (config.name(), limit.param);
        let written = cx.place_of(&format!("cc.{name}.{param}"));
        let (index, is) = match written {
            Some(span) => (Some(cx.texts.at(span)), "is"),
            None => (None, "is by default"),
        };
        let values = config.values();
        let value = values.iter().find(|(key, _)| key == param);
        let value = value.map_or("", |(_, value)| value);
        let text = format!(
            "{name}: `{param}` {is} {value}, so round trips above {} are too long, and the empty \
             network's takes {takes}: {whose} down to the lowest rate and stay there",
            limit.rtt
        );
        cx.warn(WarningKind::DelayTarget, index.as_ref(), text);
    }
}

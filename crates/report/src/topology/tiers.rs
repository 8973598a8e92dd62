//! Settings of tiers of switches, from a run's scenario.

use paceline_fabric::spec::NodeId;
use paceline_lab::files::RunData;
use paceline_scenario::groups::named_tiers;
use paceline_scenario::topology::Topology;
use serde::Serialize;
use toml::{Table, Value};

/// Tier of switches with its settings.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Tier {
    name: String,
    /// Short descriptions of its settings.
    own: Vec<String>,
    #[serde(skip)]
    switches: Vec<NodeId>,
}

impl Tier {
    pub(super) fn has(&self, node: usize) -> bool {
        self.switches.iter().any(|switch| switch.0 as usize == node)
    }
}

/// Returns the tiers with settings in the scenario.
pub(super) fn tiers(run: &RunData, topology: &Topology) -> Vec<Tier> {
    let scenario: Table = run.scenario.parse().unwrap_or_default();
    let empty = Table::new();
    let table = |of: &Table, key: &str| of.get(key).and_then(Value::as_table).cloned();
    let network = table(&scenario, "network").unwrap_or_default();
    let Some(written) = table(&network, "tier") else {
        return Vec::new();
    };
    let of = |(name, switches): (String, Vec<NodeId>)| {
        let tier = written.get(&name)?.as_table().unwrap_or(&empty);
        let differs = |key: &str| tier.get(key).filter(|value| network.get(key) != Some(*value));
        let got = |key: &str, words: fn(&Value) -> Vec<String>| differs(key).map(words).unwrap_or_default();
        let own = [
            got("buffer", |value| vec![format!("buffer {}", text(value))]),
            got("headroom", |value| vec![format!("headroom {}", text(value))]),
            got("pfc", |value| vec![format!("PFC threshold {}", text(value))]),
            got("ecn", marks),
        ];
        Some(Tier {
            own: own.concat(),
            name,
            switches,
        })
    };
    named_tiers(topology).into_iter().filter_map(of).collect()
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Table(table) => {
            let parts = table.iter().map(|(key, value)| format!("{key} {}", text(value)));
            parts.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// Describes each marking curve in a line.
fn marks(ecn: &Value) -> Vec<String> {
    let curves = ecn.get("curves").and_then(Value::as_array);
    let of = |curve: &Value, key: &str| curve.get(key).map(text).unwrap_or_default();
    let line = |curve: &Value| {
        let [rate, kmin, kmax, pmax] = ["rate", "kmin", "kmax", "pmax"].map(|key| of(curve, key));
        format!("marks at {rate}: {kmin} to {kmax}, probability {pmax}")
    };
    match curves {
        Some(curves) if curves.is_empty() => vec!["no marks".to_string()],
        curves => curves.into_iter().flatten().map(line).collect(),
    }
}

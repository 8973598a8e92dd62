//! Lists of built-in entries.

use std::sync::Arc;

use paceline_congestion::learned::Model;
use paceline_congestion::registry;
use paceline_scenario::builtin::{self, Entry, Group, ScenarioSize};
use serde_json::{Value, json};

use crate::models as cards;

/// Entry of a list.
#[derive(Clone, Debug)]
pub struct Item {
    /// Name on the command line.
    pub name: String,
    /// Short description of the entry.
    pub about: String,
    /// Further fields for JSON, in addition to name and summary.
    pub more: Vec<(&'static str, Value)>,
}

impl Item {
    /// Creates an item with this name.
    pub fn new(name: impl Into<String>, about: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            about: about.into(),
            more: Vec::new(),
        }
    }

    /// Adds a field for JSON.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.more.push((key, value.into()));
        self
    }

    /// Returns the item as JSON.
    pub fn json(&self) -> Value {
        let mut object = json!({ "name": self.name, "summary": self.about });
        for (key, value) in &self.more {
            object[*key] = value.clone();
        }
        object
    }
}

/// Returns the schemes, each with its variants.
pub fn schemes() -> Vec<Item> {
    let mut items = Vec::new();
    for scheme in registry::schemes() {
        let about = format!("{}. {}", scheme.title, scheme.summary.replace('\n', " "));
        items.push(
            Item::new(scheme.name, about)
                .with("title", scheme.title)
                .with("paper", scheme.paper),
        );
        for alias in scheme.aliases {
            let about = format!("= {}: {}", scheme.name, alias.help);
            items.push(Item::new(alias.name, about).with("alias_of", scheme.name));
        }
    }
    items
}

/// Returns the built-in scenarios by group.
pub fn scenarios() -> Vec<Item> {
    let of_group = |group: &'static Group| group.scenarios.iter().map(move |extent| (group, extent));
    let item = |(group, extent): (&Group, &ScenarioSize)| {
        let shipped = builtin::scenarios()
            .iter()
            .find(|shipped| shipped.name == extent.name)?;
        let item = Item::new(shipped.name, shipped.description()).with("about", shipped.about());
        let item = item.with("group", group.title).with("hosts", extent.hosts);
        Some(
            item.with("flows", extent.flows)
                .with("packet_hops", extent.packet_hops),
        )
    };
    builtin::GROUPS
        .iter()
        .flat_map(of_group)
        .filter_map(item)
        .collect()
}

/// Returns the built-in topologies.
pub fn topologies() -> Vec<Item> {
    entries(builtin::topologies())
}

fn entries(entries: &[Entry]) -> Vec<Item> {
    let item = |entry: &Entry| {
        let parameters: Vec<Value> = entry
            .parameters
            .iter()
            .map(|p| json!({ "name": p.name, "unit": p.unit, "default": p.default, "help": p.help }))
            .collect();
        Item::new(entry.name, entry.summary).with("parameters", parameters)
    };
    entries.iter().map(item).collect()
}

/// Returns the workloads, and the distributions of flow sizes.
pub fn workloads() -> Vec<Item> {
    let mut items = entries(builtin::workloads());
    for (name, source) in builtin::distributions() {
        items.push(
            Item::new(name, format!("distribution of flow sizes: {source}")).with("kind", "distribution"),
        );
    }
    items
}

pub use crate::measures::items as measures;

/// Returns the built-in models.
pub fn models() -> Vec<Item> {
    let item = |model: &Arc<Model>| {
        let card = model.card();
        Item::new(&card.name, cards::about(model))
            .with("kind", card.kind.name())
            .with("parameters", model.parameters())
            .with("test_mape", card.metrics.test_mape)
            .with("data", json!(card.data))
    };
    cards::shipped().iter().map(item).collect()
}

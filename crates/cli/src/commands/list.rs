//! `paceline list`: what is built in.

use clap::{Args, ValueEnum};
use paceline_congestion::learned::model::Card;
use paceline_congestion::registry::SCHEMES;
use paceline_reproduce::{Choice, Done as Runs, Reproduction};
use paceline_scenario::builtin::{self, Entry};
use serde_json::{Value, json};

use crate::failure::{Done, Ended};
use crate::{output, text};

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Of which kind
    #[arg(value_enum)]
    what: Listed,
    /// Print a JSON list
    #[arg(long)]
    json: bool,
}

/// What `list` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Listed {
    /// Congestion control schemes and their variants
    Schemes,
    /// Scenarios that ship
    Scenarios,
    /// Topology generators
    Topologies,
    /// Workload generators and distributions of flow sizes
    Workloads,
    /// Published tables and figures that `reproduce` puts beside ours
    Reproductions,
    /// Trained models that ship
    Models,
}

/// Something that is built in.
struct Item {
    name: String,
    about: String,
    /// What JSON says beside name and summary.
    more: Vec<(&'static str, Value)>,
}

impl Item {
    fn new(name: impl Into<String>, about: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            about: about.into(),
            more: Vec::new(),
        }
    }

    fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.more.push((key, value.into()));
        self
    }

    fn json(&self) -> Value {
        let mut object = json!({ "name": self.name, "summary": self.about });
        for (key, value) in &self.more {
            object[*key] = value.clone();
        }
        object
    }
}

/// Prints what `paceline reproduce` knows.
pub(super) fn list_reproductions(json: bool) -> Ended {
    list(&ListArgs {
        what: Listed::Reproductions,
        json,
    })
}

/// Prints a line for each, or a JSON list.
pub(super) fn list(args: &ListArgs) -> Ended {
    let (items, hint) = match args.what {
        Listed::Schemes => (schemes(), "paceline explain NAME: parameters, equations, sources"),
        Listed::Scenarios => (
            scenarios(),
            "paceline run NAME; paceline explain NAME prints the file, to start your own from",
        ),
        Listed::Topologies => (
            entries(builtin::topologies()),
            "paceline explain NAME: parameters; in a scenario: [topology.NAME]",
        ),
        Listed::Workloads => (
            workloads(),
            "paceline explain NAME: parameters; in a scenario: a key of [[workload]]",
        ),
        Listed::Reproductions => (
            reproductions(),
            "paceline reproduce ID... (or all): runs what it needs, and puts ours beside",
        ),
        Listed::Models => (
            models(),
            "paceline explain NAME: the card of one; in a scenario: cc.lstm-pid.model = NAME",
        ),
    };
    if args.json {
        let list: Vec<Value> = items.iter().map(Item::json).collect();
        output::print_json(&list)?;
        return Ok(Done::All);
    }
    let row = |item: &Item| vec![item.name.clone(), item.about.clone()];
    let rows: Vec<Vec<String>> = items.iter().map(row).collect();
    output::print(&format!(
        "{}\n{hint}\n",
        text::columns(&rows, output::stdout_width())
    ))?;
    Ok(Done::All)
}

fn schemes() -> Vec<Item> {
    let mut items = Vec::new();
    for scheme in SCHEMES {
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

fn scenarios() -> Vec<Item> {
    let shipped = builtin::scenarios().iter();
    shipped
        .map(|shipped| Item::new(shipped.name, shipped.description()).with("about", shipped.about()))
        .collect()
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

fn workloads() -> Vec<Item> {
    let mut items = entries(builtin::workloads());
    for (name, source) in builtin::distributions() {
        items.push(
            Item::new(name, format!("distribution of flow sizes: {source}")).with("kind", "distribution"),
        );
    }
    items
}

fn models() -> Vec<Item> {
    let item = |card: &Card| {
        Item::new(&card.name, super::models::about(card))
            .with("kind", card.kind.name())
            .with("parameters", card.parameters())
            .with("test_mape", card.metrics.test_mape)
            .with("data", json!(card.data))
    };
    super::models::shipped().iter().map(item).collect()
}

fn reproductions() -> Vec<Item> {
    let item = |one: &Reproduction| {
        let mut item = Item::new(one.id, format!("{}. {}", one.title, one.source));
        item.more.extend(details(one));
        item
    };
    paceline_reproduce::registry().map(item).collect()
}

/// A reproduction as `list --json` tells it: with the published values.
fn details(one: &Reproduction) -> [(&'static str, Value); 6] {
    let records = one.records(&Runs::default()).into_iter();
    let cases: Vec<Value> = records
        .filter(|record| !record.paper.is_null() || record.tolerance != "shown only")
        .map(|record| {
            json!({
                "case": record.case,
                "metric": record.metric,
                "unit": record.unit,
                "paper": record.paper,
                "tolerance": record.tolerance,
                "kind": record.kind.name(),
                "source": record.source,
            })
        })
        .collect();
    let choice =
        |choice: &Choice| json!({ "what": choice.what, "tried": choice.tried, "changed": choice.changed });
    let choices: Vec<Value> = one.choices.iter().map(choice).collect();
    [
        ("title", json!(one.title)),
        ("source", json!(one.source)),
        ("setting", json!(one.setting)),
        ("notes", json!(one.notes)),
        ("choices", json!(choices)),
        ("cases", json!(cases)),
    ]
}

//! InfiniBand: the packet-level model of RRCC's author, whose runs are deterministic, and ours alongside it; and credits as
//! standards have them.

mod cable;
mod demo;
mod fat_tree;
mod mpi;
mod osu;
mod points;
mod reference;
mod row;
mod shares;
mod single;
mod steps;
mod taken;
mod victims;
mod wire;

use paceline_scenario::Fidelity;

use super::Reproduction;
use super::criterion::{Cell, Criterion, Source, Tolerance};
use super::need::{Done, Input, Measure, Metrics, RunRequest};
use super::panel::{Column, Panel, Row};

pub use steps::step;

pub(super) const REPRODUCTIONS: [Reproduction; 18] = [
    shares::UNFAIRNESS,
    row::REPRODUCTION,
    wire::REPRODUCTION,
    single::REPRODUCTION,
    demo::TRACES,
    demo::SWEEP,
    demo::PAYERS,
    demo::MESSAGES,
    shares::JOIN,
    fat_tree::OF_128,
    fat_tree::OF_1024,
    points::SINGLE,
    points::MULTI,
    victims::BY_EXIT,
    victims::BY_EVENT,
    mpi::REPRODUCTION,
    osu::REPRODUCTION,
    cable::REPRODUCTION,
];

/// Of a detection that knows who congests.
const NO_VICTIM: Criterion = Criterion::property(
    Tolerance::AtMost(0.0),
    Source::Paper,
    "no victim is taken for a culprit",
);
/// Of one that sees queues alone.
const SOME_VICTIM: Criterion = Criterion::property(
    Tolerance::AtLeast(1.0),
    Source::Paper,
    "a queue does not say whose it is",
);

/// What is equal, and how to see it.
const EQUAL: &str = "Nothing is drawn at random in that model, and our runs are equal to its step by step. `cargo run --release -p \
                     paceline-reproduce --example validate -- --reference-ib DIR` compares every line of a folder of its runs.";

/// A quantity: its name among the numbers of a run, what tables call it, its unit and its digits.
type Quantity = (&'static str, &'static str, &'static str, usize);

/// What hosts do about marks: our name, the name in runs of the model, the column.
const CONTROLS: [(&str, &str, &str); 3] = [
    ("none", "cbfc", "credits"),
    ("ibcc", "ibcc", "IBCC"),
    ("rrcc", "rrcc", "RRCC"),
];

/// A run of a scenario that ships, of which nothing but numbers is kept.
fn need(scenario: &'static str, variant: String, settings: Vec<String>, digest: Measure) -> RunRequest {
    RunRequest {
        variant,
        fidelity: Fidelity::IbOmnet,
        settings,
        digest: Some(digest),
        folder: false,
        ..RunRequest::of(Input::Shipped(scenario, 1), "none")
    }
}

/// A column of a table.
const fn column(name: &'static str) -> Column {
    Column {
        name,
        scheme: "none",
        published: "author's model",
    }
}

/// A column of ours, alongside which no model stands.
const fn own(name: &'static str) -> Column {
    Column {
        published: "closed form",
        ..column(name)
    }
}

/// The columns of [`CONTROLS`].
fn controls() -> Vec<Column> {
    CONTROLS.map(|(_, _, name)| column(name)).to_vec()
}

/// Ours alongside what the model gave, to its digits; shown where it gave nothing.
const fn beside(model: Option<f64>, ours: Option<f64>) -> Cell {
    Cell {
        paper: model,
        ours,
        criterion: match model {
            Some(_) => Criterion::simulator(Tolerance::Exact, ""),
            None => Criterion::shown(Source::AuthorsSimulator),
        },
    }
}

/// Something said of ours alone: what, the number, and what it has to be.
type Claim = (&'static str, Option<f64>, Criterion);

/// A table of what is said.
fn claims(title: &str, claims: &[Claim]) -> Panel {
    let rows = claims.iter().map(|claim| Row::quantity(claim.0, "", 4));
    let panel = Panel::of(title, "", vec![column("ours")], rows.collect(), |row, _| Cell {
        paper: None,
        ours: claims[row].1,
        criterion: claims[row].2,
    });
    panel.told_by_title()
}

/// The same where no model stands alongside it.
fn ours(title: &str, said: &[Claim]) -> Panel {
    let mut panel = claims(title, said);
    panel.columns = vec![own("ours")];
    panel
}

/// Names with their numbers, those that are numbers at all.
fn numbers<const N: usize>(values: [(&'static str, Option<f64>); N]) -> Metrics {
    let known = values
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    Metrics {
        values: known.filter(|(_, value)| value.is_finite()).collect(),
        ..Metrics::default()
    }
}

/// A number of a run.
fn of(done: &Done, need: &RunRequest, name: &str) -> Option<f64> {
    done.numbers(need)?.values.get(name).copied()
}

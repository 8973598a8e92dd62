//! The evaluation of Bolt, run twice: in the manner of its authors' simulator, against that
//! simulator's own output, and as the paper has it, against what the paper claims.

mod ablation;
mod down;
mod fair;
mod fct;
mod incast;
mod join;
mod lab;
mod leave;
mod network;
mod port;
mod reference;
mod single;
mod util;

#[cfg(test)]
mod tests;

use paceline_fabric::Outcome;
use paceline_scenario::Fidelity;

use super::Reproduction;
use super::choice::Choice;
use super::criterion::{Cell, Criterion, Source, Tolerance};
use super::need::{Digest, Done, Input, Need, Numbers};
use super::panel::{Column, Curve, Drawing, Panel, Row};

pub(super) use port::step_mean;

pub(super) const REPRODUCTIONS: [Reproduction; 10] = [
    join::REPRODUCTION,
    leave::REPRODUCTION,
    ablation::REPRODUCTION,
    down::REPRODUCTION,
    util::REPRODUCTION,
    incast::REPRODUCTION,
    network::REPRODUCTION,
    fair::REPRODUCTION,
    lab::REPRODUCTION,
    fct::REPRODUCTION,
];

/// The pacer of Bolt in exact fidelity.
const PACE_GAIN: Choice = Choice {
    what: "In exact fidelity Bolt's packets are paced at 1.25 windows per round trip of an empty network; the paper has no \
           pacer, and acknowledgements alone clock its packets.",
    tried: "no pacer; gains of 1, 1.1 and 1.5; the last round trip in place of the empty network's",
    changed: "What the link loses when one of two flows ends, mean of 20 phases of their packets: 2.94, 2.20, 2.31 and 2.94 µs \
              with 1, 1.1, 1.25 and 1.5, 3.20 with the last round trip; without a pacer supply matching sees one packet per round trip of \
              the gap.",
};

/// Whose behaviour a run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// The authors' simulator's.
    Code,
    /// The paper's: exact fidelity.
    Paper,
}

impl Mode {
    const BOTH: [Self; 2] = [Self::Code, Self::Paper];

    const fn fidelity(self) -> Fidelity {
        match self {
            Self::Code => Fidelity::BoltNs3,
            Self::Paper => Fidelity::Exact,
        }
    }
}

/// A scheme with the settings of one of the reference's variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Variant {
    /// As the reference runs call it; after the scheme's name in folders, too.
    name: &'static str,
    /// What tables call it.
    title: &'static str,
    scheme: &'static str,
    settings: &'static [&'static str],
}

const BOLT: Variant = Variant {
    name: "bolt",
    title: "Bolt",
    scheme: "bolt",
    settings: &[],
};
const NO_SRC: Variant = Variant {
    name: "bolt_nosrc",
    title: "Bolt without SRC",
    scheme: "bolt",
    settings: &["cc.bolt.src=false"],
};
const NO_PRU: Variant = Variant {
    name: "bolt_nopru",
    title: "Bolt without PRU",
    scheme: "bolt",
    settings: &["cc.bolt.pru=false"],
};
const NO_SM: Variant = Variant {
    name: "bolt_nosm",
    title: "Bolt without SM",
    scheme: "bolt",
    settings: &["cc.bolt.sm=false"],
};
const NEITHER: Variant = Variant {
    name: "bolt_nopru_nosm",
    title: "Bolt without PRU and SM",
    scheme: "bolt",
    settings: &["cc.bolt.pru=false", "cc.bolt.sm=false"],
};
/// With the base delay of the authors' scripts.
const SWIFT10: Variant = Variant {
    name: "swift10",
    title: "Swift, 10 µs",
    scheme: "swift",
    settings: &["cc.swift.base-delay=10us"],
};
const SWIFT2: Variant = Variant {
    name: "swift2",
    title: "Swift, 2 µs",
    scheme: "swift",
    settings: &["cc.swift.base-delay=2us"],
};
const SWIFT50: Variant = Variant {
    name: "swift50",
    title: "Swift, 50 µs",
    scheme: "swift",
    settings: &["cc.swift.base-delay=50us"],
};
const HPCC: Variant = Variant {
    name: "hpcc",
    title: "HPCC",
    scheme: "hpcc",
    settings: &[],
};

/// What the scenarios say otherwise than the authors' simulator has it: Bolt's header is not extra there.
const CODE_SETTINGS: [&str; 3] = [
    "network.data-header=41B",
    "record.accounts=off",
    "record.ports=off",
];

/// A run of a scenario that ships: what is taken of it, and with its folder.
fn need(scenario: &'static str, variant: Variant, mode: Mode, digest: Digest) -> Need {
    let plain = variant.name == variant.scheme;
    let code = mode == Mode::Code;
    let named = match (plain, code) {
        (true, true) => "bolt-ns3".to_string(),
        (true, false) => String::new(),
        (false, true) => format!("{}-bolt-ns3", variant.name),
        (false, false) => variant.name.to_string(),
    };
    let settings = variant.settings.iter();
    let headers: &[&str] = if code { &CODE_SETTINGS } else { &[] };
    Need {
        fidelity: mode.fidelity(),
        variant: named,
        settings: settings.chain(headers).map(ToString::to_string).collect(),
        digest: Some(digest),
        ..Need::of(Input::Shipped(scenario, 1), variant.scheme)
    }
}

/// The variants of which a scenario's runs are needed, each in the modes that have it: HPCC is not in
/// the authors' simulator.
fn needs(scenario: &'static str, variants: &[Variant], digest: Digest) -> Vec<Need> {
    let modes = |variant: &Variant| match variant.scheme {
        "hpcc" => vec![Mode::Paper],
        _ => Mode::BOTH.to_vec(),
    };
    variants
        .iter()
        .flat_map(|variant| {
            let of = |mode| need(scenario, *variant, mode, digest);
            modes(variant).into_iter().map(of)
        })
        .collect()
}

/// How far two right simulations of one congested run may be apart: estimated by moving starts.
const SCATTER: &str = "what moving starts by nanoseconds changes";

/// A bound or a direction that the paper claims.
const fn claimed(tolerance: Tolerance) -> Criterion {
    Criterion::property(tolerance, Source::Paper, "")
}

/// A bound that we ask for.
const fn asked(tolerance: Tolerance, because: &'static str) -> Criterion {
    Criterion::property(tolerance, Source::Us, because)
}

/// A row: a quantity with what was printed, the reference run's and ours in both modes.
struct Line {
    label: String,
    metric: &'static str,
    unit: &'static str,
    decimals: usize,
    paper: Option<f64>,
    reference: Option<f64>,
    code: (Option<f64>, Criterion),
    ours: (Option<f64>, Criterion),
}

impl Line {
    /// A row with nothing in it yet.
    fn new(label: impl Into<String>, metric: &'static str, unit: &'static str, decimals: usize) -> Self {
        Self {
            label: label.into(),
            metric,
            unit,
            decimals,
            paper: None,
            reference: None,
            code: (None, Criterion::shown(Source::AuthorsSimulator)),
            ours: (None, Criterion::SHOWN),
        }
    }

    /// With what the paper says.
    const fn paper(mut self, value: f64) -> Self {
        self.paper = Some(value);
        self
    }

    /// With ours in both modes.
    const fn ours(mut self, [code, paper]: [Option<f64>; 2]) -> Self {
        self.code.0 = code;
        self.ours.0 = paper;
        self
    }

    /// With the reference run's value, and how close ours has to be to it.
    const fn reference(mut self, value: Option<f64>, tolerance: Tolerance) -> Self {
        self.reference = value;
        self.code.1 = Criterion::simulator(tolerance, SCATTER);
        self
    }

    /// With what ours has to be in exact fidelity.
    const fn wanted(mut self, criterion: Criterion) -> Self {
        self.ours.1 = criterion;
        self
    }
}

/// Rows under the two modes.
fn panel(title: &str, lines: &[Line]) -> Panel {
    let columns = vec![
        Column {
            name: "bolt-ns3 fidelity",
            scheme: "bolt",
            published: "reference",
        },
        Column {
            name: "exact fidelity",
            scheme: "swift",
            published: "paper",
        },
    ];
    let row = |line: &Line| Row {
        label: match line.unit {
            "" => line.label.clone(),
            unit => format!("{}, {unit}", line.label),
        },
        metric: line.metric,
        unit: line.unit,
        decimals: line.decimals,
        x: None,
    };
    let rows = lines.iter().map(row).collect();
    let panel = Panel::of(title, "", columns, rows, |row, column| {
        let line = &lines[row];
        let (paper, (ours, criterion)) = match column {
            0 => (line.reference, line.code),
            _ => (line.paper, line.ours),
        };
        Cell {
            paper,
            ours,
            criterion,
        }
    });
    Panel {
        told_by_title: true,
        ..panel
    }
}

/// What is measured, its unit, and how many digits of it are shown.
type Quantity = (&'static str, &'static str, usize);

/// What was taken of a run of a scenario.
struct Taken<'a> {
    done: &'a Done,
    scenario: &'static str,
    digest: Digest,
}

impl Taken<'_> {
    /// A number.
    fn value(&self, variant: Variant, mode: Mode, name: &str) -> Option<f64> {
        let numbers = self
            .done
            .numbers(&need(self.scenario, variant, mode, self.digest))?;
        numbers
            .values
            .get(name)
            .copied()
            .filter(|value| value.is_finite())
    }

    /// The number in both modes.
    fn both(&self, variant: Variant, name: &str) -> [Option<f64>; 2] {
        Mode::BOTH.map(|mode| self.value(variant, mode, name))
    }

    /// A row of a number: what it is called here, what it is, its unit and its digits.
    fn line(&self, variant: Variant, name: &str, (metric, unit, decimals): Quantity) -> Line {
        let line = Line::new(format!("{}: {metric}", variant.title), metric, unit, decimals);
        line.ours(self.both(variant, name))
    }

    /// A chart of a series of several variants in exact fidelity; `published` is drawn as what others have is.
    fn chart(
        &self,
        title: impl Into<String>,
        name: &str,
        [x, y]: [(&'static str, &'static str); 2],
        variants: &[Variant],
        published: Option<Variant>,
    ) -> Panel {
        let curve = |&variant: &Variant| Curve {
            name: variant.title.to_string(),
            scheme: variant.scheme,
            published: published == Some(variant),
            points: self.series(variant, Mode::Paper, name),
        };
        let drawing = Drawing {
            stepped: true,
            x,
            y,
            curves: variants.iter().map(curve).collect(),
        };
        Panel::drawn(title, drawing)
    }

    /// A line of a chart.
    fn series(&self, variant: Variant, mode: Mode, name: &str) -> Vec<(f64, f64)> {
        let numbers = self
            .done
            .numbers(&need(self.scenario, variant, mode, self.digest));
        let series = numbers.and_then(|numbers| numbers.series.get(name));
        series.cloned().unwrap_or_default()
    }
}

/// A flow's window over time, in ns and bytes of payload.
fn windows(outcome: &Outcome, flow: u32) -> Vec<(f64, f64)> {
    let series = outcome.flow_series.iter().find(|series| series.flow == flow);
    let windows = series.into_iter().flat_map(|series| series.window.bins());
    windows
        .map(|bin| (bin.at.as_ps() as f64 / 1e3, bin.mean))
        .collect()
}

/// Numbers that are there, by name.
fn numbers(values: impl IntoIterator<Item = (&'static str, Option<f64>)>) -> Numbers {
    let there = values
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    Numbers {
        values: there.collect(),
        ..Numbers::default()
    }
}

/// The bottleneck of the dumbbells with two hosts on each side.
const DUMBBELL: port::Place = port::Place {
    node: 4,
    peer: 5,
    gbps: 100.0,
};

/// The round trip of a packet of 1500 bytes through the dumbbell, in ns.
const RTT: f64 = 7995.0;

/// What the reference calls a bandwidth-delay product of the dumbbell.
const BDP: f64 = 100_000.0;

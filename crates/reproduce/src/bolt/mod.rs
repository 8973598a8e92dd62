//! The evaluation of Bolt, run three times: as the paper has it (`bolt-paper`), against what the paper
//! claims; as it ships (`bolt`), shown; and in the manner of its authors' simulator, against that
//! simulator's own output.

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
mod rpcs;
mod single;
mod util;

#[cfg(test)]
mod tests;

use paceline_fabric::Outcome;
use paceline_scenario::Fidelity;

use super::Reproduction;
use super::choice::Choice;
use super::criterion::{Cell, Criterion, Source, Tolerance};
use super::need::{Done, Input, Measure, Metrics, RunRequest};
use super::panel::{Column, Curve, Drawing, Panel, Row};

pub(super) use port::step_mean;

pub(super) const REPRODUCTIONS: [Reproduction; 12] = [
    rpcs::FIGURE_1,
    rpcs::FIGURE_2,
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

/// What is ours in Bolt as it ships.
const SHIPPED: Choice = Choice {
    what: "Bolt as it ships, the second column, paces packets at 1.25 windows per round trip of an empty network, and has \
           the threshold of two packets of the authors' scripts. The paper lists one packet and no pacer: the first column.",
    tried: "thresholds of one and three packets; no pacer; gains of 1, 1.1 and 1.5",
    changed: "What the link loses when one of two flows leaves after 0.2 ms, and after 4 ms, means of 20 and 10 phases of \
              their packets, in µs: 16.3 and 28.2 as the paper lists it, 2.9 and 3.1 with the pacer, 4.7 and 13.9 with two \
              packets, 2.3 and 1.4 with both. Nothing that is judged has either.",
};

/// How close is close enough was decided with values of ours known.
const TOLERANCES: Choice = Choice {
    what: "How close ours has to be to the authors' simulator, and the room around printed values.",
    tried: "wider bounds, of 0.3 to 20 %, which twice or half the value could pass",
    changed: "Of a flow alone the utilisation may be off by one packet in the window (0.02 points), of completion times \
              the last of six digits; both were set after a miss by less.",
};

/// Whose Bolt a run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// The paper's listings and nothing else, in exact fidelity.
    Paper,
    /// As it ships, in exact fidelity.
    Ours,
    /// The authors' simulator's.
    Code,
}

impl Mode {
    const ALL: [Self; 3] = [Self::Paper, Self::Ours, Self::Code];

    const fn fidelity(self) -> Fidelity {
        match self {
            Self::Code => Fidelity::BoltNs3,
            Self::Paper | Self::Ours => Fidelity::Exact,
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
/// The authors' simulator without what spreads its packets.
const NO_PAUSE: Variant = Variant {
    name: "bolt_nopause",
    title: "Bolt without the simulator's pauses",
    scheme: "bolt",
    settings: &["quirks.window-pause=false"],
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

impl Variant {
    /// The scheme by the name that has this Bolt.
    const fn scheme(&self, mode: Mode) -> &'static str {
        match (self.is_bolt(), mode) {
            (true, Mode::Paper) => "bolt-paper",
            _ => self.scheme,
        }
    }

    const fn is_bolt(&self) -> bool {
        matches!(self.scheme.as_bytes(), b"bolt")
    }
}

/// A run of a scenario that ships: what is taken of it, and with its folder. Of other schemes than Bolt the
/// paper's and ours are one run.
fn need(scenario: &'static str, variant: Variant, mode: Mode, digest: Measure) -> RunRequest {
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
    RunRequest {
        fidelity: mode.fidelity(),
        variant: named,
        settings: settings.chain(headers).map(ToString::to_string).collect(),
        digest: Some(digest),
        ..RunRequest::of(Input::Shipped(scenario, 1), variant.scheme(mode))
    }
}

/// The variants of which a scenario's runs are needed, each in the modes that have it: HPCC is not in
/// the authors' simulator, its pauses nowhere else.
fn needs(scenario: &'static str, variants: &[Variant], digest: Measure) -> Vec<RunRequest> {
    let modes = |variant: &Variant| match variant.scheme {
        "hpcc" => vec![Mode::Paper],
        "swift" => vec![Mode::Paper, Mode::Code],
        _ if *variant == NO_PAUSE => vec![Mode::Code],
        _ => Mode::ALL.to_vec(),
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

/// What is to the digit needs no reason.
const fn because(tolerance: Tolerance) -> &'static str {
    match tolerance {
        Tolerance::Exact => "",
        _ => SCATTER,
    }
}

/// A bound or a direction that the paper claims.
const fn claimed(tolerance: Tolerance) -> Criterion {
    Criterion::property(tolerance, Source::Paper, "")
}

/// A bound that we ask for.
const fn asked(tolerance: Tolerance, because: &'static str) -> Criterion {
    Criterion::property(tolerance, Source::Us, because)
}

/// A row: a quantity with what was printed, the reference run's, and ours in the three modes.
struct Line {
    label: String,
    metric: &'static str,
    unit: &'static str,
    decimals: usize,
    /// What the paper prints, and how close the paper's Bolt has to be.
    paper: (Option<f64>, Criterion),
    /// The reference run's, and how close the same simulator has to be.
    reference: (Option<f64>, Criterion),
    /// Ours, in the order of [`Mode::ALL`].
    values: [Option<f64>; 3],
}

impl Line {
    /// A row with nothing in it yet.
    fn new(label: impl Into<String>, metric: &'static str, unit: &'static str, decimals: usize) -> Self {
        Self {
            label: label.into(),
            metric,
            unit,
            decimals,
            paper: (None, Criterion::SHOWN),
            reference: (None, Criterion::shown(Source::AuthorsSimulator)),
            values: [None; 3],
        }
    }

    /// With what the paper says.
    const fn paper(mut self, value: f64) -> Self {
        self.paper.0 = Some(value);
        self
    }

    /// With ours in all modes.
    const fn ours(mut self, values: [Option<f64>; 3]) -> Self {
        self.values = values;
        self
    }

    /// With the reference run's value, and how close ours has to be to it.
    const fn reference(mut self, value: Option<f64>, tolerance: Tolerance) -> Self {
        self.reference = (value, Criterion::simulator(tolerance, because(tolerance)));
        self
    }

    /// With what the paper's Bolt has to be.
    const fn wanted(mut self, criterion: Criterion) -> Self {
        self.paper.1 = criterion;
        self
    }
}

/// Rows under the three modes. What ships is shown alongside what was printed, and judged by nothing.
fn panel(title: &str, lines: &[Line]) -> Panel {
    let column = |name, scheme, published| Column {
        name,
        scheme,
        published,
    };
    let columns = vec![
        column("as the paper has it", "bolt-paper", "paper"),
        column("as it ships", "bolt", "paper"),
        column("the authors' simulator", "swift", "reference"),
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
        let (paper, criterion) = match Mode::ALL[column] {
            Mode::Paper => line.paper,
            Mode::Ours => (line.paper.0, Criterion::SHOWN),
            Mode::Code => line.reference,
        };
        Cell {
            paper,
            ours: line.values[column],
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
struct Extract<'a> {
    done: &'a Done,
    scenario: &'static str,
    digest: Measure,
}

impl Extract<'_> {
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

    /// The number in all modes.
    fn all(&self, variant: Variant, name: &str) -> [Option<f64>; 3] {
        Mode::ALL.map(|mode| self.value(variant, mode, name))
    }

    /// A row of a number: what it is called here, what it is, its unit and its digits.
    fn line(&self, variant: Variant, name: &str, (metric, unit, decimals): Quantity) -> Line {
        let line = Line::new(format!("{}: {metric}", variant.title), metric, unit, decimals);
        line.ours(self.all(variant, name))
    }

    /// A chart of a series of several variants in exact fidelity, of Bolt's as the paper has it and as it
    /// ships; `published` is drawn as what others have is.
    fn chart(
        &self,
        title: impl Into<String>,
        name: &str,
        [x, y]: [(&'static str, &'static str); 2],
        variants: &[Variant],
        published: Option<Variant>,
    ) -> Panel {
        let curve = |variant: Variant, mode, of: &str| Curve {
            name: format!("{}{of}", variant.title),
            scheme: variant.scheme(mode),
            published: published == Some(variant),
            points: self.series(variant, mode, name),
        };
        let of = |&variant: &Variant| {
            if variant.is_bolt() {
                let ships = curve(variant, Mode::Ours, ", as it ships");
                vec![curve(variant, Mode::Paper, ", paper"), ships]
            } else {
                vec![curve(variant, Mode::Paper, "")]
            }
        };
        let drawing = Drawing {
            stepped: true,
            x,
            y,
            curves: variants.iter().flat_map(of).collect(),
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
fn numbers(values: impl IntoIterator<Item = (&'static str, Option<f64>)>) -> Metrics {
    let there = values
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    Metrics {
        values: there.collect(),
        ..Metrics::default()
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

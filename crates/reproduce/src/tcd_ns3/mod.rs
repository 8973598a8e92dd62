//! Ternary congestion detection in the simulator of its authors: ours alongside it.

mod reference;
mod taken;

use crate::citation::Citation;
use paceline_congestion::papers;
use paceline_scenario::Fidelity;

use super::Reproduction;
use super::criterion::{Cell, Criterion, Source, Tolerance};
use super::need::{Done, Input, Measure, RunRequest};
use super::panel::{Column, Panel, Row};
use super::reference::Reference;

use reference::{
    ADVERSARIAL, AS_SHIPPED, BURSTS_4, BURSTS_15, CONFIG_BURST, MANY_TO_ONE, MULTI, MULTI_UNCONTROLLED,
    SINGLE, VICTIM_64K, VICTIM_256K,
};

/// The scenarios of reference runs.
pub(super) fn references() -> [&'static Reference; 11] {
    [
        &SINGLE,
        &MULTI,
        &MULTI_UNCONTROLLED,
        &VICTIM_64K,
        &VICTIM_256K,
        &BURSTS_4,
        &BURSTS_15,
        &ADVERSARIAL,
        &CONFIG_BURST,
        &AS_SHIPPED,
        &MANY_TO_ONE,
    ]
}

pub(super) const REPRODUCTIONS: [Reproduction; 4] = [SINGLE_POINT, MULTI_POINT, VICTIMS, BURSTS];

const SOURCE: Citation = Citation::of(
    papers::TCD,
    "and the TCD thesis, chapter 3; the authors' simulator (Yi-ran/DCQCN-TCD, commit fb03738)",
);

const EQUAL: &str = "The runs are equal packet by packet: random numbers are drawn as there. `cargo run --release -p \
                     paceline-reproduce --example validate -- --reference-tcd DIR` compares all lines of the reference.";

const DIGEST: Measure = Measure {
    name: "tcd",
    of: taken::digest,
};

/// A quantity: its name among the numbers of a run, what tables call it, its unit and its digits.
type Quantity = (&'static str, &'static str, &'static str, usize);

/// A table: the modes of a scenario side by side.
struct Table {
    title: &'static str,
    reference: &'static Reference,
    modes: &'static [(&'static str, &'static str)],
    rows: &'static [Quantity],
}

fn need(reference: &'static Reference, mode: &'static str) -> RunRequest {
    RunRequest {
        fidelity: Fidelity::TcdNs3,
        settings: vec!["network.tcd-ns3.log=true".to_string()],
        digest: Some(DIGEST),
        ..RunRequest::of(Input::Reference(reference), mode)
    }
}

fn needs(tables: &'static [Table]) -> Vec<RunRequest> {
    let of = |table: &'static Table| table.modes.iter().map(|(mode, _)| need(table.reference, mode));
    tables.iter().flat_map(of).collect()
}

/// A number of a run of ours.
fn ours(done: &Done, reference: &'static Reference, mode: &'static str, name: &str) -> Option<f64> {
    let numbers = done.numbers(&need(reference, mode))?;
    numbers.values.get(name).copied()
}

impl Table {
    fn panel(&self, done: &Done) -> Panel {
        let column = |&(_, name): &(&'static str, &'static str)| Column {
            name,
            scheme: "dcqcn",
            published: "authors",
        };
        let row = |&(_, metric, unit, decimals): &Quantity| Row::quantity(metric, unit, decimals);
        let rows = self.rows.iter().map(row).collect();
        let columns = self.modes.iter().map(column).collect();
        let panel = Panel::of(self.title, "", columns, rows, |row, column| {
            let ((name, ..), (mode, _)) = (self.rows[row], self.modes[column]);
            let paper = reference::value(&format!("{}/{mode}", self.reference.name), name);
            let criterion = match paper {
                Some(_) => Criterion::simulator(Tolerance::Exact, ""),
                None => Criterion::shown(Source::AuthorsSimulator),
            };
            Cell {
                paper,
                ours: ours(done, self.reference, mode, name),
                criterion,
            }
        });
        Panel {
            told_by_title: true,
            ..panel
        }
    }
}

/// What the thesis says, of ours alone.
struct Claim {
    label: &'static str,
    metric: &'static str,
    ours: Option<f64>,
    criterion: Criterion,
    decimals: usize,
}

fn claims(title: &str, claims: &[Claim]) -> Panel {
    let rows = claims.iter().map(|claim| Row {
        label: claim.label.to_string(),
        ..Row::quantity(claim.metric, "", claim.decimals)
    });
    let columns = vec![Column {
        name: "ours",
        scheme: "dcqcn",
        published: "paper",
    }];
    let panel = Panel::of(title, "", columns, rows.collect(), |row, _| Cell {
        paper: None,
        ours: claims[row].ours,
        criterion: claims[row].criterion,
    });
    Panel {
        told_by_title: true,
        ..panel
    }
}

const fn claimed(tolerance: Tolerance) -> Criterion {
    Criterion::property(tolerance, Source::Paper, "")
}

const MARKS: [Quantity; 7] = [
    ("f0_packets", "F0: packets", "", 0),
    ("f0_ce", "F0: congested", "", 0),
    ("f0_ue", "F0: undetermined", "", 0),
    ("f2_ce", "F2: congested", "", 0),
    ("f2_ue", "F2: undetermined", "", 0),
    ("f1_ce", "F1: congested", "", 0),
    ("f0_ce_10ms", "F0: congested in the first 10 ms", "", 0),
];

const STATES: [Quantity; 7] = [
    ("p2_enters", "P2: first undetermined", "ns", 0),
    ("p0_enters", "P0: first undetermined", "ns", 0),
    ("p1_enters", "P1: first undetermined", "ns", 0),
    ("p2_leaves", "P2: last undetermined", "ns", 0),
    ("p2_confirmed", "P2: undetermined, then congested", "", 0),
    ("p3_clears", "P3: last congested", "ns", 0),
    ("p3_confirmed", "P3: undetermined, then congested", "", 0),
];

const SINGLE_TABLES: &[Table] = &[
    Table {
        title: "Packets received from the bursts on, and marks",
        reference: &SINGLE,
        modes: &[
            ("ecn", "ECN"),
            ("npecn", "NP-ECN"),
            ("tcd", "TCD"),
            ("tcd_T48", "T = 48 us"),
            ("tcd_T20", "T = 20 us"),
        ],
        rows: &MARKS,
    },
    Table {
        title: "States of ports since the bursts began",
        reference: &SINGLE,
        modes: &[("tcd", "TCD"), ("tcd_T48", "T = 48 us"), ("tcd_T20", "T = 20 us")],
        rows: &STATES,
    },
];

const SINGLE_POINT: Reproduction = Reproduction {
    id: "tcd-single-point",
    data: None,
    title: "One congestion point: which flows are marked behind it",
    source: SOURCE,
    setting: "Figure 3.3: F0 and F2 send 5 Gbit/s each to R0, F1 under DCQCN to R1, all by P2; fifteen hosts send bursts of \
              64 KB to R1 for 3.8 ms, every 47.5 us, so that P3 alone is congested. Links of 40 Gbit/s and 4 us, T = \
              max(Ton) = 97 us.",
    notes: &[
        EQUAL,
        "That T too small makes TCD mark victims, as ECN does, is how it should fail, and does.",
    ],
    choices: &[],
    steps: &[],
    needs: || needs(SINGLE_TABLES),
    panels: |done| {
        let of = |mode, name| ours(done, &SINGLE, mode, name);
        let said = [
            Claim {
                label: "F0 under TCD: congested",
                metric: "congested marks of a victim",
                ours: of("tcd", "f0_ce"),
                criterion: claimed(Tolerance::AtMost(0.0)),
                decimals: 0,
            },
            Claim {
                label: "F2 under TCD: congested",
                metric: "congested marks of another victim",
                ours: of("tcd", "f2_ce"),
                criterion: claimed(Tolerance::AtMost(0.0)),
                decimals: 0,
            },
            Claim {
                label: "F0 under ECN: congested",
                metric: "congested marks of a victim under ECN",
                ours: of("ecn", "f0_ce"),
                criterion: claimed(Tolerance::AtLeast(1.0)),
                decimals: 0,
            },
            Claim {
                label: "P2 under TCD: undetermined, then congested",
                metric: "times that a port off the root is taken for one",
                ours: of("tcd", "p2_confirmed"),
                criterion: claimed(Tolerance::AtMost(0.0)),
                decimals: 0,
            },
        ];
        let tables = SINGLE_TABLES.iter().map(|table| table.panel(done));
        tables.chain([claims("What the thesis says", &said)]).collect()
    },
};

const MULTI_TABLES: &[Table] = &[
    Table {
        title: "Under DCQCN: packets received from the bursts on, and marks",
        reference: &MULTI,
        modes: &[("ecn", "ECN"), ("tcd", "TCD")],
        rows: &MARKS,
    },
    Table {
        title: "Without control, bursts every 150 us: packets and marks",
        reference: &MULTI_UNCONTROLLED,
        modes: &[("ecn_nocc", "ECN"), ("npecn_nocc", "NP-ECN"), ("tcd_nocc", "TCD")],
        rows: &MARKS,
    },
    Table {
        title: "Without control: states of ports since the bursts began",
        reference: &MULTI_UNCONTROLLED,
        modes: &[("tcd_nocc", "TCD")],
        rows: &[
            STATES[0],
            STATES[3],
            STATES[4],
            ("p2_congested", "P2: again congested", "ns", 0),
            STATES[5],
        ],
    },
];

const MULTI_POINT: Reproduction = Reproduction {
    id: "tcd-multi-point",
    data: None,
    title: "Two congestion points: a port that was undetermined turns out to be congested",
    source: SOURCE,
    setting: "As tcd-single-point, with F0 and F2 at 25 Gbit/s each, so that P2 has more than it can send; and the same \
              without DCQCN anywhere, with bursts every 150 us for 3 ms.",
    notes: &[
        EQUAL,
        "Under DCQCN P2 is a root from the start, F1 falls to 100 Mbit/s, and P2 is never paused: there is nothing that is \
         undetermined. The step from undetermined to congested is in the runs without control.",
    ],
    choices: &[],
    steps: &[],
    needs: || needs(MULTI_TABLES),
    panels: |done| {
        let of = |name| ours(done, &MULTI_UNCONTROLLED, "tcd_nocc", name);
        let after = of("p2_congested").zip(of("p3_clears"));
        let said = [
            Claim {
                label: "P2: undetermined, then congested",
                metric: "times that the second root is found",
                ours: of("p2_confirmed"),
                criterion: claimed(Tolerance::AtLeast(1.0)),
                decimals: 0,
            },
            Claim {
                label: "P2 congested after P3 no longer is, us",
                metric: "delay of the second root",
                ours: after.map(|(root, clear)| (root - clear) / 1e3),
                criterion: claimed(Tolerance::AtLeast(0.0)),
                decimals: 1,
            },
        ];
        let tables = MULTI_TABLES.iter().map(|table| table.panel(done));
        tables.chain([claims("What the thesis says", &said)]).collect()
    },
};

const VICTIM_ROWS: [Quantity; 10] = [
    ("packets", "packets", "", 0),
    ("ce", "congested", "", 0),
    ("ce_flows", "flows with congested packets", "", 0),
    ("ue", "undetermined", "", 0),
    ("ue_flows", "flows with undetermined packets", "", 0),
    ("fct_10k", "mean FCT below 10 KB", "us", 2),
    ("fct_100k", "mean FCT 10 to 100 KB", "us", 2),
    ("fct_1m", "mean FCT 0.1 to 1 MB", "us", 2),
    ("fct_more", "mean FCT from 1 MB", "us", 2),
    ("fct_all", "mean FCT of all", "us", 2),
];

const VICTIM_TABLES: &[Table] = &[
    Table {
        title: "Bursts of 64 KB: flows of the victim",
        reference: &VICTIM_64K,
        modes: &[("ecn", "ECN"), ("npecn", "NP-ECN"), ("tcd", "TCD")],
        rows: &VICTIM_ROWS,
    },
    Table {
        title: "Bursts of 256 KB: flows of the victim",
        reference: &VICTIM_256K,
        modes: &[("ecn", "ECN"), ("npecn", "NP-ECN")],
        rows: &VICTIM_ROWS,
    },
];

const VICTIMS: Reproduction = Reproduction {
    id: "tcd-victims",
    data: None,
    title: "Victims: flows that pass no congested port, behind those that do",
    source: SOURCE,
    setting: "S0 to R0 and S1 to R1, sizes of Facebook's Hadoop, Poisson at 60 % of 20 Gbit/s for 60 ms; fifteen hosts send \
              bursts to R1 at Poisson instants, 20 Gbit/s in all. No port but P3 can be congested, so all flows of S0 are \
              victims.",
    notes: &[
        EQUAL,
        "The reference's arrays for flows had been cut to 2048, and R1 has 3037: acknowledgements of some of its flows never \
         left. The runs here have as many slots (`X_SLOTS`).",
        "Short victims are slower under TCD: long ones keep their rates, and so more of them stands in the paused queues.",
    ],
    choices: &[],
    steps: &[],
    needs: || needs(VICTIM_TABLES),
    panels: |done| {
        let of = |mode, name| ours(done, &VICTIM_64K, mode, name);
        let ratio = |name| Some(of("tcd", name)? / of("ecn", name)?);
        let said = [
            Claim {
                label: "TCD: congested packets of victims",
                metric: "congested packets of victims",
                ours: of("tcd", "ce"),
                criterion: claimed(Tolerance::AtMost(0.0)),
                decimals: 0,
            },
            Claim {
                label: "FCT from 1 MB, TCD's over ECN's",
                metric: "long victims",
                ours: ratio("fct_more"),
                criterion: claimed(Tolerance::AtMost(1.0)),
                decimals: 3,
            },
            Claim {
                label: "FCT below 10 KB, TCD's over ECN's",
                metric: "short victims",
                ours: ratio("fct_10k"),
                criterion: Criterion::shown(Source::Us),
                decimals: 3,
            },
            Claim {
                label: "FCT 10 to 100 KB, TCD's over ECN's",
                metric: "victims of middle size",
                ours: ratio("fct_100k"),
                criterion: Criterion::shown(Source::Us),
                decimals: 3,
            },
        ];
        let tables = VICTIM_TABLES.iter().map(|table| table.panel(done));
        tables
            .chain([claims("What the thesis says, and what it does not", &said)])
            .collect()
    },
};

const BURST_ROWS: [Quantity; 5] = [
    ("f0_packets_10ms", "F0: packets in the first 10 ms", "", 0),
    ("f0_ce_10ms", "F0: congested in the first 10 ms", "", 0),
    ("f0_ue_10ms", "F0: undetermined in the first 10 ms", "", 0),
    ("f0_ce", "F0: congested in all", "", 0),
    ("f1_ce", "F1: congested in all", "", 0),
];

const BURST_TABLES: &[Table] = &[
    Table {
        title: "burstflow.txt: four bursts, 30 us apart",
        reference: &BURSTS_4,
        modes: &[("ecn", "ECN"), ("npecn", "NP-ECN"), ("tcd", "TCD")],
        rows: &BURST_ROWS,
    },
    Table {
        title: "burstflow_f.txt: fifteen hosts, every 150 us",
        reference: &BURSTS_15,
        modes: &[("ecn", "ECN"), ("npecn", "NP-ECN"), ("tcd", "TCD")],
        rows: &BURST_ROWS,
    },
    Table {
        title: "burstflow_adversarial.txt, bursts of 64 KB",
        reference: &ADVERSARIAL,
        modes: &[("ecn", "ECN"), ("tcd", "TCD")],
        rows: &BURST_ROWS,
    },
    Table {
        title: "burstflow_long.txt, bursts of 64 KB",
        reference: &CONFIG_BURST,
        modes: &[("ecn", "ECN"), ("tcd", "TCD")],
        rows: &BURST_ROWS,
    },
    Table {
        title: "burstflow_long.txt as it ships: bursts of 64 bytes",
        reference: &AS_SHIPPED,
        modes: &[("ecn", "ECN")],
        rows: &BURST_ROWS,
    },
    Table {
        title: "testflow.txt: seventeen flows, sixteen to one",
        reference: &MANY_TO_ONE,
        modes: &[("ecn", "ECN"), ("tcd", "TCD")],
        rows: &[
            ("f0_packets", "F0: packets", "", 0),
            ("f0_ce", "F0: congested", "", 0),
            ("f0_ue", "F0: undetermined", "", 0),
            ("f1_ce", "F1: congested", "", 0),
        ],
    },
];

const BURSTS: Reproduction = Reproduction {
    id: "tcd-bursts",
    data: None,
    title: "The authors' own burst files",
    source: SOURCE,
    setting: "The flow files of the repository on its topologies; where a burst is 64 in a unit of old, packets, it is 64 KB.",
    notes: &[
        EQUAL,
        "In burstflow_adversarial and burstflow_long the port upstream is not paused: there is nothing to tell apart. As \
         the latter ships its bursts are 64 bytes, and nothing is congested.",
    ],
    choices: &[],
    steps: &[],
    needs: || needs(BURST_TABLES),
    panels: |done| BURST_TABLES.iter().map(|table| table.panel(done)).collect(),
};

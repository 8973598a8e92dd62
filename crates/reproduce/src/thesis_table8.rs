//! Slowdown by size in the thesis's network of 320 hosts.

use super::Reproduction;
use super::choice::Choice;
use super::criterion::{Cell, Criterion, Source, Tolerance};
use super::need::Done;
use super::panel::{Column, Panel, Row};
use super::slowdown::{self, background, size_name};
use super::thesis::{DEVIATIONS, DRAWS, SEEDS, fat};
use crate::citation::Citation;
use paceline_congestion::papers;
use paceline_lab::stats::mean;

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "thesis-table8",
    data: None,
    title: "95th percentile of slowdown by size, 320 hosts at 30 % load with incasts",
    source: Citation::of(papers::PIDNN_THESIS, "section 4.4.2, table 8 and figure 20"),
    setting: "HPCC's fat tree and ns-3 simulator with its launcher's parameters; Hadoop flows at 30 % load and \
              60-to-1 incasts of 500 KB at 2 % of the capacity, arriving during 10 ms. Flows of the background \
              in 20 groups of equally many by size; of each, element floor(0.95 n) of the n slowdowns in order, \
              as the simulator's own script takes it. The thesis's controller has a target of 5 µs; `rttch` lets it \
              move the target, `win` bounds what is in flight by the bandwidth-delay product times rate over line rate.",
    notes: &[
        "The thesis does not publish its flows; it drew 34 incasts where 26.67 were expected. Ours is the mean \
         over three draws with 34 (seeds 4, 8 and 37). Its sizes are the upper edges of its groups; ours are up \
         to 24 % from them where sizes are rare.",
        "The target of 5 µs is below the round trip of this network without any load: whatever the controller \
         does, it measures too much, and its rates end at the least that is allowed, 1 Gbit/s. That is the thesis's own \
         explanation for its column of 10 MB, a hundredth of the link's rate, and the reason for moving targets.",
        "How far a target moves is as printed, by the mean of what samples were off the target of their time. Were it \
         to the mean round-trip time, which it is meant to be, targets would stay at the empty network's round trip, and the \
         flows of 10 MB slow (seed 4: 92.8, 46.8 as printed, 98.8 with a target that stays).",
        "What small flows wait under PIDNN and `rttch` hangs on the draw: 1.3 to 7.8 at 300 B with seed 4, 33 and 37 in the \
         mean of the three. The initial rate of 10 Gbit/s, which the thesis names for its incast, may be another here: \
         with 100 Gbit/s it is 257 (seed 4).",
        "Whether the thesis ran its three columns with the predictor it does not say: they are called PIDNN, and here \
         they are the controller alone. The last table has the predictor besides, in the first draw.",
        "Under DCQCN and TIMELY the values hang on the draw more than on anything else, since queues of one \
         incast are still there, and pauses spread, when the next one comes. From draw to draw ours are 1.05 to \
         1.84 times the thesis's under DCQCN and 1.05 to 1.59 times under TIMELY; with 28 incasts (seed 1) they \
         are 0.57 to 0.67 and 0.68 to 0.78 times. DCQCN is below TIMELY at 4, 20 and 18 of the 20 \
         sizes in the three draws, and at all in the mean. HPCC and DCTCP hardly move.",
        "The 95th percentile is what the thesis names, and nothing else fits: the 99th percentile is some ten \
         times its values under HPCC and DCTCP, the mean a sixth of them under TIMELY.",
        "Exact fidelity gives less (seed 1: HPCC and DCTCP 0.64 to 0.91 times the thesis's, TIMELY about 0.55, \
         DCQCN 0.4): in the simulator acknowledgements wait and are paused with the data.",
    ],
    choices: &[
        SEEDS,
        Choice {
            what: "The statistic is the 95th percentile, element floor(0.95 n), which the thesis names.",
            tried: "the mean and the 99th percentile",
            changed: "The 99th percentile is some ten times the thesis's values under HPCC and DCTCP, the mean a sixth of them \
                      under TIMELY.",
        },
        DEVIATIONS,
    ],
    steps: &[],
    needs: || {
        let draws = DRAWS
            .iter()
            .flat_map(|&seed| slowdown::needs(fat(seed), &SCHEMES));
        draws.chain(slowdown::needs(fat(DRAWS[0]), &PREDICTING)).collect()
    },
    panels,
};

/// In the thesis's order.
const SCHEMES: [&str; 7] = [PIDNN, RTTCH, WIN, HPCC, "timely", "dctcp", "dcqcn"];

const PIDNN: &str = "pidnn";
const RTTCH: &str = "pidnn-rttch";
const WIN: &str = "pidnn-rttch-win";
const HPCC: &str = "hpcc";

/// The first three with the predictor.
const PREDICTING: [&str; 3] = ["lstm-pid", "lstm-pid-rttch", "lstm-pid-rttch-win"];

/// The upper edge of a group in bytes; the 95th percentile of slowdown under each of the schemes.
#[rustfmt::skip]
const PRINTED: [(u64, [f64; 7]); 20] = [
    (300, [76.064, 89.064, 1.560, 1.725, 206.612, 3.369, 182.315]),
    (325, [70.922, 79.151, 1.505, 1.777, 195.293, 3.265, 171.817]),
    (351, [76.638, 86.132, 1.558, 1.850, 209.355, 3.443, 181.984]),
    (401, [78.706, 87.052, 1.553, 1.842, 203.374, 3.433, 176.648]),
    (451, [77.562, 88.801, 1.571, 1.856, 206.179, 3.654, 176.273]),
    (501, [81.183, 89.110, 1.603, 1.934, 204.360, 3.415, 176.991]),
    (550, [76.312, 82.280, 1.570, 1.901, 199.939, 3.628, 174.634]),
    (602, [76.632, 85.695, 1.543, 1.730, 201.974, 3.280, 172.234]),
    (651, [85.039, 91.107, 1.580, 1.818, 207.490, 3.521, 178.379]),
    (704, [84.354, 92.864, 1.576, 1.914, 201.339, 3.573, 180.477]),
    (855, [68.754, 77.882, 1.561, 1.826, 202.429, 3.207, 173.332]),
    (1_000, [81.509, 84.753, 1.579, 1.870, 194.271, 3.440, 172.369]),
    (2_000, [82.972, 90.244, 1.630, 1.900, 205.625, 3.474, 175.972]),
    (7_000, [83.692, 93.057, 1.844, 1.870, 201.261, 3.351, 172.856]),
    (36_000, [69.164, 71.998, 3.892, 2.094, 171.223, 3.234, 148.273]),
    (46_000, [68.353, 72.304, 4.693, 2.310, 159.647, 3.305, 139.570]),
    (69_000, [61.281, 66.258, 6.095, 2.412, 145.350, 3.367, 125.073]),
    (124_000, [58.559, 56.103, 11.222, 2.623, 121.854, 3.165, 108.084]),
    (336_000, [71.712, 43.848, 28.547, 3.428, 84.506, 3.869, 71.945]),
    (10_000_000, [98.729, 24.493, 20.386, 6.338, 34.287, 6.273, 27.963]),
];

/// Flows below this size are judged under HPCC and DCTCP: there the thesis's other flows matter
/// least, and neither scheme pauses.
const JUDGED_BELOW: u64 = 10_000;

/// Where the window has to be worth something, and where it has to cost something.
const GAIN_BELOW: u64 = 7_000;
const LOSS_ABOVE: u64 = 36_000;

/// From draw to draw ours moves by a tenth at these sizes.
const DRAWN: Criterion = Criterion::published(
    Tolerance::Within(0.25),
    "other flows: the thesis does not publish its own",
);
const GAIN: Criterion = Criterion::property(Tolerance::AtMost(1.0), Source::Paper, "");
const LOSS: Criterion = Criterion::property(Tolerance::AtLeast(1.0), Source::Paper, "");

fn panels(done: &Done) -> Vec<Panel> {
    vec![all(done), variants(done), with_prediction(done)]
}

fn row((size, _): (u64, [f64; 7])) -> Row {
    Row {
        label: size_name(size),
        metric: "p95 of slowdown",
        unit: "×",
        decimals: 3,
        x: Some(size as f64),
    }
}

fn all(done: &Done) -> Panel {
    let columns = SCHEMES.map(Column::scheme).to_vec();
    let panel = Panel::of("", "size", columns, PRINTED.map(row).to_vec(), |row, column| {
        let (size, printed) = PRINTED[row];
        let judged = size < JUDGED_BELOW && matches!(SCHEMES[column], "hpcc" | "dctcp");
        Cell {
            paper: Some(printed[column]),
            ours: mean_p95(done, SCHEMES[column], &DRAWS, row),
            criterion: if judged { DRAWN } else { Criterion::SHOWN },
        }
    });
    panel.ordered()
}

/// What moving the target and bounding the window do.
fn variants(done: &Done) -> Panel {
    let place = |scheme: &str| SCHEMES.iter().position(|known| *known == scheme).unwrap_or(0);
    // Numerator, denominator, which group, and what ours has to be.
    let against_hpcc = PRINTED.iter().enumerate().map(|(group, &(size, _))| {
        let criterion = match size {
            _ if size < GAIN_BELOW => GAIN,
            _ if size > LOSS_ABOVE => LOSS,
            _ => Criterion::SHOWN,
        };
        (WIN, HPCC, group, criterion)
    });
    let last = PRINTED.len() - 1;
    let of_target = [(PIDNN, RTTCH, last, DRAWN)];
    let lines: Vec<_> = against_hpcc.chain(of_target).collect();
    let rows = lines.iter().map(|&(above, below, group, _)| Row {
        label: format!("{above} over {below}, {}", size_name(PRINTED[group].0)),
        metric: "ratio of p95 of slowdown",
        unit: "",
        decimals: 2,
        x: None,
    });
    let columns = vec![Column {
        name: "ratio",
        ..Column::scheme(WIN)
    }];
    let panel = Panel::of("What the variants do", "", columns, rows.collect(), |row, _| {
        let (above, below, group, criterion) = lines[row];
        let of = |scheme| mean_p95(done, scheme, &DRAWS, group);
        let ours = of(above).zip(of(below));
        let printed = PRINTED[group].1;
        Cell {
            paper: Some(printed[place(above)] / printed[place(below)]),
            ours: ours.map(|(above, below)| above / below),
            criterion,
        }
    });
    panel.told_by_title()
}

/// The first draw with and without the predictor.
fn with_prediction(done: &Done) -> Panel {
    let schemes = [PIDNN, PREDICTING[0], RTTCH, PREDICTING[1], WIN, PREDICTING[2]];
    let title = "One draw (seed 4), with the predictor besides";
    let panel = Panel::of(
        title,
        "size",
        schemes.map(Column::scheme).to_vec(),
        PRINTED.map(row).to_vec(),
        |row, column| Cell {
            paper: None,
            ours: mean_p95(done, schemes[column], &DRAWS[..1], row),
            criterion: Criterion::SHOWN,
        },
    );
    panel.told_by_title()
}

/// The mean over some draws of the 95th percentile of a group; `None` unless all were run.
fn mean_p95(done: &Done, scheme: &'static str, draws: &[u64], group: usize) -> Option<f64> {
    let of = |&seed: &u64| background(done, &slowdown::needs(fat(seed), &[scheme])[0], 95, group);
    mean(&draws.iter().map(of).collect::<Option<Vec<f64>>>()?)
}

//! Slowdown by size in the thesis's network of 320 hosts.

use super::Reproduction;
use super::need::{Done, Need};
use super::panel::{Cell, Column, Panel, Row, Tolerance};
use super::slowdown::{background, size_name};
use super::thesis::{DRAWS, fat};
use crate::results::SizeBucket;
use crate::stats::mean;

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "thesis-table8",
    title: "95th percentile of slowdown by size, 320 hosts at 30 % load with incasts",
    source: "a master's thesis on congestion control by neural networks, section 4.4.2, table 8 and figure 20",
    setting: "HPCC's fat tree and ns-3 simulator with its launcher's parameters; Hadoop flows at 30 % load and \
              60-to-1 incasts of 500 KB at 2 % of the capacity, arriving during 10 ms. Flows of the background \
              in 20 groups of equally many by size; of each, element floor(0.95 n) of the n slowdowns in order, \
              as the simulator's own script takes it.",
    notes: &[
        "The thesis does not publish its flows. Sizes are the upper edges of its groups; ours are within 20 % \
         of them, since other flows were drawn.",
    ],
    needs: || {
        DRAWS
            .iter()
            .flat_map(|&seed| Need::each(fat(seed), &SCHEMES))
            .collect()
    },
    panels,
};

const SCHEMES: [&str; 4] = ["hpcc", "timely", "dctcp", "dcqcn"];

/// The upper edge of a group in bytes; the 95th percentile of slowdown under each of the schemes.
const PRINTED: [(u64, [f64; 4]); 20] = [
    (300, [1.725, 206.612, 3.369, 182.315]),
    (325, [1.777, 195.293, 3.265, 171.817]),
    (351, [1.850, 209.355, 3.443, 181.984]),
    (401, [1.842, 203.374, 3.433, 176.648]),
    (451, [1.856, 206.179, 3.654, 176.273]),
    (501, [1.934, 204.360, 3.415, 176.991]),
    (550, [1.901, 199.939, 3.628, 174.634]),
    (602, [1.730, 201.974, 3.280, 172.234]),
    (651, [1.818, 207.490, 3.521, 178.379]),
    (704, [1.914, 201.339, 3.573, 180.477]),
    (855, [1.826, 202.429, 3.207, 173.332]),
    (1_000, [1.870, 194.271, 3.440, 172.369]),
    (2_000, [1.900, 205.625, 3.474, 175.972]),
    (7_000, [1.870, 201.261, 3.351, 172.856]),
    (36_000, [2.094, 171.223, 3.234, 148.273]),
    (46_000, [2.310, 159.647, 3.305, 139.570]),
    (69_000, [2.412, 145.350, 3.367, 125.073]),
    (124_000, [2.623, 121.854, 3.165, 108.084]),
    (336_000, [3.428, 84.506, 3.869, 71.945]),
    (10_000_000, [6.338, 34.287, 6.273, 27.963]),
];

/// Flows below this size are judged under HPCC and DCTCP: there the thesis's other flows matter
/// least, and neither scheme pauses.
const JUDGED_BELOW: u64 = 10_000;

fn panels(done: &Done) -> Vec<Panel> {
    let groups = SCHEMES.map(|scheme| DRAWS.map(|seed| background(done, fat(seed), scheme)));
    let rows = PRINTED.map(|(size, _)| Row {
        label: size_name(size),
        metric: "p95 of slowdown",
        unit: "×",
        decimals: 3,
        x: Some(size as f64),
    });
    let columns = SCHEMES.map(Column::scheme).to_vec();
    let panel = Panel::of("", "size", columns, rows.to_vec(), |row, column| {
        let (size, printed) = PRINTED[row];
        let judged = size < JUDGED_BELOW && matches!(SCHEMES[column], "hpcc" | "dctcp");
        Cell {
            paper: Some(printed[column]),
            ours: mean_p95(&groups[column], row),
            tolerance: if judged {
                Tolerance::Within(0.25)
            } else {
                Tolerance::Shown
            },
        }
    });
    vec![panel.ordered()]
}

/// The mean over all draws of the 95th percentile of a group; `None` unless all were run.
fn mean_p95(draws: &[Vec<SizeBucket>], group: usize) -> Option<f64> {
    let values: Option<Vec<f64>> = draws.iter().map(|groups| groups.get(group)?.p95).collect();
    mean(&values?)
}

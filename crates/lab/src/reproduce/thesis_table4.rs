//! Round-trip times and rates of the thesis's scheme, by its target.

use super::need::{Done, Need};
use super::panel::{Cell, Column, Panel, Row, Tolerance};
use super::thesis::{INCAST, INCAST_SCHEMES, NOT_BUILT};
use super::{Reproduction, thesis_table6};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "thesis-table4",
    title: "Round-trip times and rates by target, 20-to-1 incast",
    source: "a thesis on congestion control by neural networks, section 4.3.2, table 4",
    setting: "The incast of table 6; there the same quantities of HPCC, TIMELY and DCTCP are judged.",
    notes: &[NOT_BUILT],
    steps: &[],
    needs: || Need::each(INCAST, &INCAST_SCHEMES),
    panels,
};

/// Target of 5, 6 and 7 µs; in the order of the quantities of table 6.
const PRINTED: [[f64; 3]; 4] = [
    [5.0302, 6.0611, 7.1478],
    [21.1789, 15.7269, 11.2404],
    [6.276, 10.253, 12.906],
    [21.144, 23.986, 48.699],
];

fn panels(done: &Done) -> Vec<Panel> {
    let rows: Vec<Row> = thesis_table6::quantities().collect();
    vec![Panel::of("", "", columns(), rows, |row, column| {
        let ours = |scheme: &&str| thesis_table6::value(row, done.summary(INCAST, scheme)?);
        Cell {
            paper: PRINTED[row].get(column).copied(),
            ours: scheme_of(column).and_then(ours),
            tolerance: Tolerance::Shown,
        }
    })]
}

/// The targets of the thesis's scheme, then the others.
pub(super) fn columns() -> Vec<Column> {
    let target = |name| Column {
        name,
        scheme: "lstm-pid",
        published: "paper",
    };
    let targets = ["lstm-pid, 5 µs", "lstm-pid, 6 µs", "lstm-pid, 7 µs"].map(target);
    let others = INCAST_SCHEMES.map(Column::scheme);
    [targets, others].concat()
}

/// The scheme of a column that is built.
pub(super) fn scheme_of(column: usize) -> Option<&'static &'static str> {
    const SCHEMES: &[&str] = &INCAST_SCHEMES;
    SCHEMES.get(column.checked_sub(3)?)
}

//! Completion times of the thesis's scheme, by its target.

use super::Reproduction;
use super::need::{Done, Need};
use super::panel::{Cell, Panel, Row, Tolerance};
use super::thesis::{INCAST, INCAST_SCHEMES, NOT_BUILT};
use super::thesis_table4::{columns, scheme_of};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "thesis-table5",
    title: "Completion times by target, 20-to-1 incast",
    source: "a thesis on congestion control by neural networks, section 4.3.2, table 5",
    setting: "The incast of table 6. Mean completion time over the 20 flows, and the last completion.",
    notes: &[
        NOT_BUILT,
        "The mean completion time is the mean rate of tables 4 and 6 in another form (635 MB over the sum of \
         the completion times): for HPCC, TIMELY and DCTCP it is judged there.",
        "635 MB are 665.5 MB with headers of 48 bytes on every 1000: 53.24 ms at 100 Gbit/s. A last \
         completion near that means that the link was never idle.",
    ],
    steps: &[],
    needs: || Need::each(INCAST, &INCAST_SCHEMES),
    panels,
};

const PRINTED: [[f64; 3]; 2] = [[11.9930, 16.1507, 22.5970], [53.7560, 53.6880, 53.5559]];

fn panels(done: &Done) -> Vec<Panel> {
    let rows = vec![
        Row::quantity("mean completion time", "ms", 4),
        Row::quantity("last completion", "ms", 4),
    ];
    vec![Panel::of("", "", columns(), rows, |row, column| {
        let summary = scheme_of(column).and_then(|scheme| done.summary(INCAST, scheme));
        let us = summary.and_then(|summary| match row {
            0 => summary.fct_us.mean,
            _ => summary.finish_us,
        });
        Cell {
            paper: PRINTED[row].get(column).copied(),
            ours: us.map(|us| us / 1e3),
            tolerance: Tolerance::Shown,
        }
    })]
}

//! Completion times of the thesis's scheme, by its target.

use super::Reproduction;
use super::criterion::Criterion;
use super::thesis::{self, FINISH, MEAN_FCT};
use super::thesis_table4::{self, FIDELITIES, Line, ties};
use crate::citation::Citation;
use paceline_congestion::papers;

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "thesis-table5",
    data: None,
    title: "Completion times by target, 20-to-1 incast",
    source: Citation::of(papers::PIDNN_THESIS, "section 4.3.2, table 5"),
    setting: "The runs of table 4. Mean completion time over the 20 flows, and the last completion.",
    notes: &[
        "635 MB are 665.5 MB with headers of 48 bytes on every 1000: 53.24 ms at 100 Gbit/s. A last completion near \
         that means that the link was never idle. Judged as in table 4; the mean with targets of 6 and 7 µs moves by 74 and 46 % \
         between orders of simultaneous events, and is shown only.",
        "The mean completion time is the mean rate of table 4 in another form (635 MB over the sum of the completion \
         times).",
    ],
    needs: || {
        let both = FIDELITIES.iter();
        both.flat_map(|&(_, fidelity)| thesis_table4::needs(fidelity))
            .collect()
    },
    choices: &[thesis::ON_POLICY],
    steps: &[],
    panels: |done| thesis_table4::by_target(done, &LINES),
};

const LINES: [Line; 2] = [
    (
        MEAN_FCT,
        [Some(11.9930), Some(16.1507), Some(22.5970)],
        [ties(18.0), Criterion::SHOWN, Criterion::SHOWN],
    ),
    (
        FINISH,
        [Some(53.7560), Some(53.6880), Some(53.5559)],
        [ties(1.0), ties(2.0), ties(3.0)],
    ),
];

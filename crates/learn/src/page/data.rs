//! Part of a page on training data.

use paceline_report::{Grid, Part};

use crate::dataset::{Dataset, EDGES, Origin, STRATA};

/// Returns the part of a page on the origins of pairs.
pub(super) fn data(dataset: &Dataset) -> Part {
    let strata = dataset.strata();
    let range = |i: usize| match i {
        0 => format!("below {}", EDGES[0]),
        i if i < EDGES.len() => format!("{} to {}", EDGES[i - 1], EDGES[i]),
        _ => format!("{} and more", EDGES[EDGES.len() - 1]),
    };
    let counted = (0..STRATA).map(|i| vec![range(i), strata[i].to_string()]);
    // Runs that differ only in the order of simultaneous events share a row.
    let own = |origin: &Origin| -> Vec<String> {
        vec![
            format!("{} under {}", origin.scenario, origin.scheme),
            origin.settings.join(", "),
            origin.seed.to_string(),
            origin.fidelity.name().to_string(),
        ]
    };
    let (mut rows, mut first) = (Vec::new(), 0);
    for runs in dataset.origins.chunk_by(|a, b| own(a) == own(b)) {
        let own_pairs = first..first + runs.len();
        first = own_pairs.end;
        let pairs = dataset.pairs.iter();
        let pairs = pairs.filter(|pair| own_pairs.contains(&usize::from(pair.source)));
        let samples: u64 = runs.iter().map(|origin| origin.samples).sum();
        let mut row = own(&runs[0]);
        row.extend([
            runs.len().to_string(),
            samples.to_string(),
            pairs.count().to_string(),
        ]);
        rows.push(row);
    }
    Part {
        title: "Data".into(),
        text: "Round-trip times as senders measured them, one per flow and round trip.".into(),
        charts: Vec::new(),
        tables: vec![
            Grid {
                head: [
                    "scenario",
                    "set",
                    "seed",
                    "fidelity",
                    "runs",
                    "samples",
                    "pairs drawn",
                ]
                .map(String::from)
                .to_vec(),
                rows,
                note: "Several runs of one row differ in the order of simultaneous events.".into(),
                ..Grid::default()
            },
            Grid {
                head: ["|K[t]|", "pairs"].map(String::from).to_vec(),
                rows: counted.collect(),
                note: "Equal shares of each, as far as the runs have so many.".into(),
                ..Grid::default()
            },
        ],
    }
}

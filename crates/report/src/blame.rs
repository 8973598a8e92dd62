//! Attribution of waiting times on a run's page: a matrix, and the ports with the longest waits.

use paceline_lab::files::RunData;
use paceline_lab::text::duration_us;
use paceline_lab::why::Blames;
use serde::Serialize;

/// Section of a run's page.
#[derive(Serialize)]
pub(super) struct Section {
    matrices: Vec<MatrixTable>,
    places: Vec<BlameRow>,
}

/// Matrix with victims in rows and causes in columns.
#[derive(Serialize)]
struct MatrixTable {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Port at which one party waited for another.
#[derive(Serialize)]
struct BlameRow {
    victim: String,
    cause: String,
    port: String,
    why: String,
    time: String,
    share: String,
}

/// Returns the section for a run that recorded the attribution.
pub(super) fn section(run: &RunData) -> Option<Section> {
    let blames = Blames::of_run(run)?;
    let matrices = blames.matrices.iter().map(|matrix| {
        let (head, rows) = matrix.cells();
        MatrixTable { head, rows }
    });
    let places = blames.places.iter().map(|place| BlameRow {
        victim: place.victim.clone(),
        cause: place.cause_name(),
        port: place.port.clone(),
        why: place.why.clone(),
        time: duration_us(Some(place.waited_ps as f64 / 1e6)),
        share: place.share_text(),
    });
    Some(Section {
        matrices: matrices.collect(),
        places: places.collect(),
    })
}

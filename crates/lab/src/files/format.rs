//! How results are written.

use std::time::Instant;

use paceline_scenario::Resolved;

/// The file that has a row per label.
pub const LABELS: &str = "labels.csv";

/// Formats of the table of flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Text: `flows.csv`.
    #[default]
    Csv,
    /// Apache Parquet: `flows.parquet`.
    Parquet,
}

impl Format {
    /// The name of the file that has a row per flow.
    pub const fn flows(self) -> &'static str {
        match self {
            Self::Csv => "flows.csv",
            Self::Parquet => "flows.parquet",
        }
    }
}

/// How results are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writing {
    /// Whether the folder of an earlier run is replaced.
    pub force: bool,
    /// Format of the table of flows.
    pub format: Format,
    /// Whether each run gets a `timeline.json` for Perfetto.
    pub timeline: bool,
    /// When somebody waits for it: from then on no file is started but those that tell the run (its summary, scenario and
    /// flows), and [`super::Folder::left_out`] names the others.
    pub until: Option<Instant>,
}

/// What Parquet files say about where they come from.
pub(super) fn metadata(input: &Resolved) -> Vec<(&'static str, String)> {
    vec![
        ("scenario", input.name.clone()),
        ("scheme", input.scheme.clone()),
        ("seed", input.seed.to_string()),
        ("version", crate::identity::version().to_string()),
    ]
}

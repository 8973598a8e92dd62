//! How results are written.

use paceline_scenario::Resolved;

use super::limited::Waiting;

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

    /// The file that takes its place where most flows are as earlier ones: it has the others.
    pub const fn unique_flows(self) -> &'static str {
        match self {
            Self::Csv => "unique_flows.csv",
            Self::Parquet => "unique_flows.parquet",
        }
    }
}

/// How results are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Writing {
    /// Whether the folder of an earlier run is replaced.
    pub force: bool,
    /// Format of the table of flows.
    pub format: Format,
    /// Whether each run gets a `timeline.json` for Perfetto.
    pub timeline: bool,
    /// Whether flows that come again are written each time, not only once.
    pub expand: bool,
    /// Where somebody waits for it: what they wait for. [`super::Folder::left_out`] names the other files.
    pub waiting: Option<Waiting>,
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

//! Options for writing results.

use paceline_scenario::Resolved;

use super::limited::Waiting;

/// File with a row per label.
pub const LABELS: &str = "labels.csv";

/// Formats of the table of flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated text, with the extension `csv`.
    #[default]
    Csv,
    /// Compressed columns, with the extension `parquet`.
    Parquet,
}

impl Format {
    /// Returns the name of the file with a row per flow.
    pub const fn flows(self) -> &'static str {
        match self {
            Self::Csv => "flows.csv",
            Self::Parquet => "flows.parquet",
        }
    }

    /// Returns the name of the file that replaces it if most flows repeat earlier ones: it has the others.
    pub const fn unique_flows(self) -> &'static str {
        match self {
            Self::Csv => "unique_flows.csv",
            Self::Parquet => "unique_flows.parquet",
        }
    }
}

/// Options for writing results.
#[derive(Clone, Copy, Debug, Default)]
pub struct Writing {
    /// True if the folder of an earlier run may be replaced.
    pub force: bool,
    /// Format of the table of flows.
    pub format: Format,
    /// True if each run gets a `timeline.pftrace` for Perfetto.
    pub timeline: bool,
    /// True if repeated flows are written each time, not only once.
    pub expand: bool,
    /// Limits on writing while the user of an interrupted run waits. [`super::Folder::left_out`] lists the files that
    /// were not written in time.
    pub waiting: Option<Waiting>,
}

/// Returns the metadata of Parquet files: scenario, scheme, seed and version.
pub(super) fn metadata(input: &Resolved) -> Vec<(&'static str, String)> {
    vec![
        ("scenario", input.name.clone()),
        ("scheme", input.scheme.clone()),
        ("seed", input.seed.to_string()),
        ("version", crate::identity::version().to_string()),
    ]
}

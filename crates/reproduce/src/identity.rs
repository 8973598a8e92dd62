//! Identity of the code behind a result.

use std::sync::OnceLock;

/// Returns the version of this program with hashes of the code that determines runs and reproductions:
/// `0.1.0+3f9a2c1b.7c01d2e4`.
pub fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| format!("{}.{}", paceline_lab::version(), env!("PACELINE_CODE")))
}

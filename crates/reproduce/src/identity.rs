//! Which code a result comes from.

use std::sync::OnceLock;

/// The version of this program with the identity of the code that decides runs and reproductions: `0.1.0+3f9a2c1b.7c01d2e4`.
pub fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| format!("{}.{}", paceline_lab::version(), env!("PACELINE_CODE")))
}

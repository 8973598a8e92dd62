//! Schemes by name, with their parameters.

use paceline_congestion::registry::SchemeConfig;

use crate::diagnostics::{Place, Problem};

/// Blocks of parameters by scheme.
pub(crate) type SchemeParams = toml::Table;

/// The scheme called `name` with its parameters, checked. `parameter` knows where a scheme's
/// parameter was written.
pub(crate) fn configure(
    _blocks: &SchemeParams,
    _name: &str,
    _place: &Place,
    _parameter: impl Fn(&str, &str) -> Option<Place>,
) -> Result<SchemeConfig, Problem> {
    Ok(SchemeConfig {})
}

/// The blocks of these schemes, every parameter with its value.
pub(crate) fn explicit(_schemes: &[&SchemeConfig]) -> Result<toml::Table, Problem> {
    Ok(toml::Table::new())
}

/// Blocks out of a table of tables.
pub(crate) fn blocks(table: toml::Table) -> Result<SchemeParams, Problem> {
    Ok(table)
}

//! Scheme names in arguments.

use paceline_lab::compare;

use crate::failure::Failure;

/// Splits and checks `schemes`.
///
/// # Errors If one is unknown or named twice.
pub(crate) fn schemes(schemes: &[String]) -> Result<Vec<&str>, Failure> {
    compare::schemes(schemes).map_err(|error| Failure::arguments(format!("--schemes: {error}")))
}

//! The schemes that a command names.

use paceline_lab::compare;

use crate::failure::Failure;

/// `schemes` as they are named, each once.
///
/// # Errors
/// If one is unknown or named twice.
pub(crate) fn schemes(schemes: &[String]) -> Result<Vec<&str>, Failure> {
    compare::schemes(schemes).map_err(|error| Failure::arguments(format!("--schemes: {error}")))
}

//! The schemes that a command names.

use crate::failure::Failure;

/// `schemes` as they are named, each once.
///
/// # Errors
/// If one is unknown or named twice.
pub(crate) fn schemes(schemes: &[String]) -> Result<Vec<&str>, Failure> {
    let mut names: Vec<&str> = Vec::new();
    for name in schemes
        .iter()
        .map(|name| name.trim())
        .filter(|name| !name.is_empty())
    {
        paceline_congestion::registry::find(name)
            .map_err(|error| Failure::arguments(format!("--schemes: {error}")))?;
        if names.contains(&name) {
            return Err(Failure::arguments(format!("--schemes: `{name}` is named twice")));
        }
        names.push(name);
    }
    if names.is_empty() {
        return Err(Failure::arguments("--schemes: no scheme is named"));
    }
    Ok(names)
}

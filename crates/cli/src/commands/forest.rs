//! Forests as files: what import, prove and export share.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use paceline_congestion::learned::forest::Forest;
use paceline_congestion::learned::shipped;
use paceline_lab::files::write_file;

use crate::failure::Failure;
use crate::output;

/// The bytes of a file that the user named.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure::arguments(format!("cannot read {}: {error}", path.display())))
}

/// The forest of a file, or one that ships.
pub(super) fn read(path: &Path) -> Result<Forest, Failure> {
    if let Some(model) = path.to_str().and_then(shipped::find)
        && let Some(forest) = model.forest()
    {
        return Ok(forest.clone());
    }
    Forest::parse(&bytes(path)?).map_err(|error| Failure::arguments(format!("{}: {error}", path.display())))
}

/// Writes the whole file or nothing; on standard output without one.
pub(super) fn write(path: Option<&Path>, force: bool, text: &str) -> Result<(), Failure> {
    let Some(path) = path else {
        return output::print_raw(text);
    };
    if path.exists() && !force {
        let message = format!("{} is there already: --force replaces it", path.display());
        return Err(Failure::arguments(message));
    }
    Ok(write_file(path, |out| out.write_all(text.as_bytes()))?)
}

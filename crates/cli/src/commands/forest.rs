//! Forests as files: what import, prove and export share.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use paceline_congestion::learned::forest::Forest;

use crate::failure::Failure;
use crate::output;

/// The bytes of a file that the user named.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure::arguments(format!("cannot read {}: {error}", path.display())))
}

/// The forest of a file.
pub(super) fn read(path: &Path) -> Result<Forest, Failure> {
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
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let written = || -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
        file.write_all(text.as_bytes())?;
        file.persist(path)?;
        Ok(())
    };
    written().map_err(|error| Failure::run(format!("cannot write {}: {error}", path.display())))
}

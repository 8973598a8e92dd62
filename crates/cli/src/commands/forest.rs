//! `paceline forest`: files of oblivious-tree forests.

mod distill;
mod export;
mod import;
mod prove;

use std::io::Write as _;
use std::path::Path;

use clap::{Args, Subcommand};

use paceline_congestion::learned::forest::Forest;
use paceline_congestion::learned::shipped;
use paceline_lab::files::OutFile;

use crate::failure::{Ended, Failure};
use crate::output;

#[derive(Debug, Args)]
pub(super) struct ForestArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Train a forest to decide as a policy does
    Distill(distill::DistillArgs),
    /// Convert a CatBoost model into a forest
    Import(import::ImportArgs),
    /// Verify bounds and monotonicity of a forest
    Prove(prove::ProveArgs),
    /// Write a forest as integer-only C
    Export(export::ExportArgs),
}

/// Runs the subcommand.
pub(super) fn forest(args: &ForestArgs) -> Ended {
    match &args.command {
        Command::Distill(args) => distill::distill(args),
        Command::Import(args) => import::import(args),
        Command::Prove(args) => prove::prove(args),
        Command::Export(args) => export::export(args),
    }
}

/// Reads a file that the user named.
fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    paceline_scenario::read_bytes(path)
        .map_err(|error| Failure::arguments(format!("cannot read {}: {error}", path.display())))
}

/// Reads a forest from a file, or returns a built-in one.
fn read(path: &Path) -> Result<Forest, Failure> {
    let name = path.to_str().unwrap_or_default();
    if let Some(model) = shipped::find(name) {
        return model.forest().cloned().ok_or_else(|| {
            Failure::arguments(format!(
                "`{name}` is a neural network, not a forest: {}",
                shipped_forests()
            ))
        });
    }
    // A bare name that is no file is most likely a misspelt built-in one.
    if !path.exists() && path.parent() == Some(Path::new("")) {
        let near =
            shipped::nearest(name).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        return Err(Failure::arguments(format!(
            "`{name}` is neither a file nor a built-in forest{near} ({})",
            shipped_forests()
        )));
    }
    Forest::parse(&bytes(path)?).map_err(|error| Failure::arguments(format!("{}: {error}", path.display())))
}

/// Lists the built-in forests.
fn shipped_forests() -> String {
    let is_forest = |name: &&str| shipped::find(name).is_some_and(|model| model.forest().is_some());
    let names = shipped::SHIPPED
        .iter()
        .map(|shipped| shipped.name)
        .filter(is_forest);
    format!("built-in forests: {}", names.collect::<Vec<_>>().join(", "))
}

/// Checks the output file before `input` is processed.
pub(super) fn file(path: Option<&Path>, force: bool, input: &Path) -> Result<Option<OutFile>, Failure> {
    Ok(path.map(|path| OutFile::new(path, force, &[input])).transpose()?)
}

/// Writes the complete file or nothing. Without a file, prints on standard output.
pub(super) fn write(file: Option<&OutFile>, text: &str) -> Result<(), Failure> {
    match file {
        Some(file) => Ok(file.write(|out| out.write_all(text.as_bytes()))?),
        None => output::print_raw(text),
    }
}

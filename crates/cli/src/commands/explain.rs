//! `paceline explain`: a page about anything that has a name.

use std::path::PathBuf;

use clap::Args;
use paceline_explain::{explain as page, index};
use paceline_scenario::{builtin, find_model};

use super::{folder, forest};
use crate::failure::{Done, Ended, Failure};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  paceline explain                     all names
  paceline explain dcqcn               how a scheme works, its parameters, their sources
  paceline explain network.ecn         a section of a scenario
  paceline explain incast-16 > mine.toml
                                       a built-in scenario, as a start for your own
  paceline explain adpg-tree-300 --page forest.html
                                       a page about a forest: features and proofs";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ExplainArgs {
    /// A name or key, or a model file [default: list all names]
    name: Option<String>,
    /// Write an HTML page about a forest: feature importance and proofs
    #[arg(long, value_name = "FILE", requires = "name")]
    page: Option<PathBuf>,
    /// Replace an existing page
    #[arg(long, requires = "page")]
    force: bool,
}

/// Prints the page about a name.
pub(super) fn explain(args: &ExplainArgs) -> Ended {
    let width = output::stdout_width();
    let Some(name) = &args.name else {
        output::print(&index(width))?;
        return Ok(Done::All);
    };
    if let Some(path) = &args.page {
        let model = find_model(name).map_err(Failure::arguments)?;
        let Some(shown) = model.forest() else {
            let message = format!(
                "`{name}` is no forest: --page is about those; a training writes the page of a network"
            );
            return Err(Failure::Arguments(message));
        };
        let command = format!("paceline explain {name} --page {}", path.display());
        forest::write(Some(path), args.force, &folder::forest_page(shown, command)?)?;
        return Ok(Done::All);
    }
    output::print(&page(name, width).map_err(Failure::arguments)?)?;
    // Of a scenario the page is the file: what may be done with it stands beside it.
    let name = name.trim();
    if builtin::scenarios().iter().any(|shipped| shipped.name == name) {
        say!("Example:\n  paceline run {name}");
    }
    Ok(Done::All)
}

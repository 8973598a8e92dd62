//! `paceline explain`: a page about anything that has a name.

use clap::Args;
use paceline_explain::{explain as page, index};
use paceline_scenario::builtin;

use crate::failure::{Done, Ended, Failure};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  paceline explain                     everything that has a page
  paceline explain dcqcn               what a scheme does, its parameters, their sources
  paceline explain network.ecn         a section of a scenario
  paceline explain incast-16 > mine.toml
                                       a scenario that ships, to start your own from";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ExplainArgs {
    /// A scheme, topology, workload, distribution, scenario, mechanism or model; or a model's file
    /// [default: list them all]
    name: Option<String>,
}

/// Prints the page about a name.
pub(super) fn explain(args: &ExplainArgs) -> Ended {
    let width = output::stdout_width();
    let Some(name) = &args.name else {
        output::print(&index(width))?;
        return Ok(Done::All);
    };
    output::print(&page(name, width).map_err(Failure::arguments)?)?;
    // Of a scenario the page is the file: what may be done with it stands beside it.
    let name = name.trim();
    if builtin::scenarios().iter().any(|shipped| shipped.name == name) {
        eprintln!("Example:\n  paceline run {name}");
    }
    Ok(Done::All)
}

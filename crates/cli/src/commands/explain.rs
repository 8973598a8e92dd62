//! `paceline explain`: a page about any name.

use std::path::{Path, PathBuf};

use clap::Args;
use paceline_explain::{explain as page, index};
use paceline_scenario::{Local, builtin, find_model};
use paceline_traces::explain::{Costs, explain as numbers};
use paceline_traces::inside::Inside;
use paceline_traces::model::program;
use paceline_traces::open;
use paceline_traces::program::Program;

#[cfg(feature = "training")]
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
  paceline explain app.goal --rate 400   a trace: messages, bytes, critical path without contention
  paceline explain job.toml              a scenario's jobs by a model: each message with its formula
  paceline explain adpg-tree-300 --page forest.html
                                       a page about a forest: features and proofs";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ExplainArgs {
    /// A name or key, a model file, a trace (GOAL, Chakra, SimAI), or a scenario with a job by a model [default: list
    /// all names]
    name: Option<String>,
    /// Write an HTML page about a forest: feature importance and proofs
    #[arg(long, value_name = "FILE", requires = "name")]
    page: Option<PathBuf>,
    /// Latency of a message of a trace or model, for the critical path
    #[arg(long, value_name = "NS", default_value_t = 1000)]
    latency: u64,
    /// Rate of a link of a trace or model, for the critical path
    #[arg(long, value_name = "GBPS", default_value_t = 100)]
    rate: u32,
    /// Replace an existing page
    #[arg(long, requires = "page")]
    force: bool,
}

/// Writes the HTML page of a forest.
#[cfg(feature = "training")]
fn page_of_forest(args: &ExplainArgs, name: &str, path: &Path) -> Ended {
    let file = forest::file(Some(path), args.force, Path::new(name))?;
    let model = find_model(name).map_err(Failure::arguments)?;
    let Some(shown) = model.forest() else {
        let message =
            format!("`{name}` is no forest: --page is about those; a training writes the page of a network");
        return Err(Failure::Arguments(message));
    };
    let command = format!("paceline explain {name} --page {}", path.display());
    forest::write(file.as_ref(), &folder::forest_page(shown, command)?)?;
    Ok(Done::All)
}

/// Rejects the page of a forest, which needs the training code.
#[cfg(not(feature = "training"))]
fn page_of_forest(_: &ExplainArgs, _: &str, _: &Path) -> Ended {
    Err(Failure::arguments(format!(
        "--page: {}",
        crate::features::without("training")
    )))
}

/// Prints the page of a name, or the list of names.
pub(super) fn explain(args: &ExplainArgs) -> Ended {
    let width = output::stdout_width();
    let Some(name) = &args.name else {
        output::print(&index(width))?;
        return Ok(Done::All);
    };
    if let Some(path) = &args.page {
        return page_of_forest(args, name, path);
    }
    if open::format(Path::new(name)).is_some() {
        return trace(args, Path::new(name));
    }
    if super::model_jobs::is_scenario(Path::new(name)) {
        return models(args, Path::new(name));
    }
    output::print(&page(name, width).map_err(Failure::arguments)?)?;
    // A scenario's page is its file, so hints go to standard error.
    let name = name.trim();
    if builtin::scenarios().iter().any(|built_in| built_in.name == name) {
        say!("Example:\n  paceline run {name}");
    }
    Ok(Done::All)
}

/// Prints statistics of a trace.
fn trace(args: &ExplainArgs, path: &Path) -> Ended {
    let open::Opened {
        program,
        format,
        cautions,
    } = open::open(path).map_err(output::trouble)?;
    for caution in cautions {
        say!("warning: {}", caution.text);
    }
    let text = format!(
        "{}: {}\n{}",
        path.display(),
        format.name(),
        statistics(args, &*program)?
    );
    output::print(&text)?;
    Ok(Done::All)
}

/// Prints messages and statistics of a scenario's jobs by a model.
fn models(args: &ExplainArgs, path: &Path) -> Ended {
    for job in super::model_jobs::plans(path)? {
        let program = program(&job.plan);
        let text = format!(
            "{}: job {}\n{}\n{}{}\n{}",
            path.display(),
            job.label,
            program.summary(),
            program.text(),
            job.local.map_or_else(String::new, |local| inside_servers(&local)),
            statistics(args, &program)?
        );
        output::print(&text)?;
    }
    Ok(Done::All)
}

/// Says how many messages of an iteration have a price, and how many send packets.
fn inside_servers(local: &Local) -> String {
    let Local {
        rate,
        latency,
        messages: Inside { inside, between },
    } = local;
    format!(
        "inside servers: {} messages with {} bytes, priced at {latency} and {rate} each, not simulated\n\
         between servers: {} messages with {} bytes, as packets\n",
        inside.messages, inside.bytes, between.messages, between.bytes
    )
}

/// Returns the statistics of a program as text.
fn statistics(args: &ExplainArgs, program: &dyn Program) -> Result<String, Failure> {
    let costs = Costs::alpha_beta(args.latency, u64::from(args.rate) * 1_000_000_000);
    let explained = numbers(program, &costs).map_err(output::trouble)?;
    Ok(format!(
        "{}(critical path: {} ns and {} Gbit/s for each message, none waits for another)\n",
        explained.text(),
        args.latency,
        args.rate
    ))
}

//! Standard output, and names of folders for results.

use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use paceline_lab::InputWarnings;
use paceline_lab::files::Folder;
use paceline_lab::results::{Buckets, FlowRows, Summary};
use paceline_lab::run::{free_memory, memory_warning};
use paceline_lab::table;
use paceline_scenario::warning::Subject;
use paceline_scenario::{Resolved, Warning, visible};
use serde::Serialize;

use crate::failure::Failure;
use crate::{say, text};

/// Prints `text` on standard output, with control characters made visible.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_raw(&visible(text))
}

/// Writes `text` to standard output. A closed pipe, as in `paceline list schemes | head -1`, is not an error and does
/// not change the exit status.
pub(crate) fn print_raw(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::run(format!("cannot write to standard output: {error}"))),
    }
}

/// Prints `value` as JSON on standard output.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(value).map_err(Failure::run)?;
    text.push('\n');
    print_raw(&text)
}

/// Colours ✓ and ✗ in `text` if standard output is a terminal that permits colours.
pub(crate) fn coloured(text: &str) -> String {
    // https://no-color.org: an empty value is no request.
    let colourless = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if colourless || !std::io::stdout().is_terminal() {
        return visible(text).into_owned();
    }
    visible(text)
        .replace('✓', "\x1b[32m✓\x1b[0m")
        .replace('✗', "\x1b[31m✗\x1b[0m")
}

/// Returns the width of standard output in columns.
pub(crate) fn stdout_width() -> usize {
    text::width(terminal_size::terminal_size_of(std::io::stdout()))
}

/// Returns the default folder for the results of a run.
pub(crate) fn default_folder(name: &str, scheme: &str, seed: u64) -> PathBuf {
    Path::new("results").join(format!("{name}-{scheme}-{seed}"))
}

/// Returns the folder for temporary data of runs whose results go to `folder`: its parent, which is on the same disk.
pub(crate) fn scratch(folder: &Path) -> &Path {
    let parent = folder.parent();
    parent
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Checks that results can be written to `folder`, before a run that may take long.
pub(crate) fn check_folder(folder: &Path, force: bool) -> Result<(), Failure> {
    // Creating and dropping it leaves nothing behind.
    drop(Folder::create(folder, force)?);
    Ok(())
}

/// Returns the table of slowdown by flow size, if requested. `flows` has the flows of each name, possibly from
/// several runs.
pub(crate) fn by_size(asked: Option<&Buckets>, names: &[String], flows: &[Vec<FlowRows>]) -> String {
    let Some(buckets) = asked else {
        return String::new();
    };
    let of = |(name, parts): (&String, &Vec<FlowRows>)| {
        let rows = parts.iter().flat_map(FlowRows::rows);
        (name.clone(), buckets.of(rows))
    };
    let runs: Vec<_> = names.iter().zip(flows).map(of).collect();
    table::slowdown_by_size(&runs, buckets, stdout_width())
}

/// Returns tables of labels, collectives and jobs, if there are several.
pub(crate) fn details(summaries: &[&Summary]) -> String {
    let names = table::row_names(summaries);
    table::details_text(&table::details(summaries, &names, table::ROWS_OF_TERMINAL))
}

/// Prints warnings about a result on standard error.
pub(crate) fn print_warnings(warnings: &[String]) {
    if !warnings.is_empty() {
        let lines = warnings
            .iter()
            .map(|warning| format!("  ! {}\n", visible(warning)));
        say::text(&format!("check before trusting:\n{}", lines.collect::<String>()));
    }
}

/// Prints the interpretation of foreign configurations, and the warnings about inputs, each once, before the runs.
/// (The results have them as well.)
pub(crate) fn input_warnings(warnings: &InputWarnings) {
    for line in warnings.read_as() {
        say!("{}", visible(line));
    }
    let (notes, others): (Vec<&Warning>, Vec<&Warning>) =
        warnings.iter().partition(|warning| warning.is_note());
    print_each(others);
    for note in notes {
        say!("note: {}", visible(&note.to_string()));
    }
}

/// Returns true if a warning is about the run itself, so that it is not printed before the run.
pub(crate) fn is_about_run(warning: &Warning) -> bool {
    warning.about == Subject::Run
}

/// Warns if `held` of these runs at a time would take most of the free memory.
pub(crate) fn memory(inputs: &[&Resolved], held: usize) {
    let warning = free_memory().and_then(|free| memory_warning(inputs, held, free));
    print_each(&warning);
}

fn print_each<T: ToString>(warnings: impl IntoIterator<Item = T>) {
    for warning in warnings {
        say!("warning: {}", visible(&warning.to_string()));
    }
}

/// Returns the warnings about runs, in addition to [`input_warnings`]. Each is listed once, with the names of its
/// runs unless these are all.
pub(crate) fn warnings(summaries: &[&Summary]) -> String {
    let names = table::row_names(summaries);
    let mut found: Vec<(&Warning, Vec<&str>)> = Vec::new();
    for (summary, name) in summaries.iter().zip(&names) {
        for warning in summary.warnings.iter().filter(|warning| is_about_run(warning)) {
            match found.iter_mut().find(|(known, _)| *known == warning) {
                Some((_, runs)) => runs.push(name),
                None => found.push((warning, vec![name])),
            }
        }
    }
    let mut text = String::new();
    for (warning, runs) in &found {
        let about = if runs.len() == summaries.len() {
            String::new()
        } else {
            format!("{}: ", runs.join(", "))
        };
        text.push_str(&format!("  ! {about}{}\n", visible(&warning.to_string())));
    }
    if text.is_empty() {
        return text;
    }
    format!("check before trusting:\n{text}")
}

/// Converts an error in a trace.
pub(crate) fn trouble(trouble: paceline_traces::trouble::Trouble) -> Failure {
    let help = trouble.help.as_ref().map(|help| format!("\nhelp: {help}"));
    Failure::arguments(format!("{trouble}{}", help.unwrap_or_default()))
}

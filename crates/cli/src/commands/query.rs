//! `paceline query`: SQL queries about a run.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use paceline_lab::layout;
use paceline_query::{AGGREGATES, Answer, Cell, Run, TABLES};

use crate::failure::{Done, Ended, Failure};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  paceline query results/mine                          the tables and their columns
  paceline query results/mine \"SELECT * FROM flows ORDER BY slowdown DESC LIMIT 5\"
  paceline query results/mine \"SELECT label, percentile(slowdown, 0.99) FROM flows GROUP BY label\"
  paceline query results/mine \"SELECT * FROM summary WHERE name LIKE 'fct%'\" --format json
  paceline query results/mine \\
    \"SELECT time_average(value, time_ps, 0, 1e9) FROM series WHERE metric = 'queue_bytes'\"

The language is that of SQLite. A query only reads.";

/// How an answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Csv,
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct QueryArgs {
    /// Folder of a run
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// The question [default: list the tables]
    #[arg(value_name = "SQL")]
    sql: Option<String>,
    /// How to print the answer; JSON is a list with an object per row
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "table")]
    format: Format,
}

/// Prints the answer to a query, or the list of tables.
pub(super) fn query(args: &QueryArgs) -> Ended {
    let run = Run::read(&args.run).map_err(Failure::arguments)?;
    let Some(sql) = &args.sql else {
        output::print(&tables(&run)?)?;
        return Ok(Done::All);
    };
    let answer = run.ask(sql).map_err(Failure::arguments)?;
    match args.format {
        Format::Table => output::print(&table(&answer))?,
        Format::Csv => output::print(&csv(&answer))?,
        Format::Json => output::print_json(&objects(&answer))?,
    }
    Ok(Done::All)
}

/// Returns the tables of a run with their columns, and the aggregate functions.
fn tables(run: &Run) -> Result<String, Failure> {
    let width = output::stdout_width();
    let mut text = String::new();
    for table in TABLES.iter() {
        let needs = match table.needs {
            "" => String::new(),
            needs => format!("; needs {needs}"),
        };
        let rows = match run.ask(&format!("SELECT count(*) FROM {}", table.name)) {
            Ok(count) => count
                .rows
                .first()
                .and_then(|row| row.first())
                .map_or_else(String::new, |count| format!(" ({} rows)", count)),
            Err(error) if error.is_of_experiments() => String::new(),
            Err(error) => return Err(Failure::run(error)),
        };
        let head = format!("{}: {}{rows}{needs}", table.name, table.about);
        text += &layout::paragraph(&head, width);
        let columns = table.columns.iter();
        let columns = columns.map(|one| {
            vec![
                format!("  {}", one.name),
                one.kind.name().into(),
                one.meaning.into(),
            ]
        });
        text += &layout::columns(&columns.collect::<Vec<_>>(), width);
        text.push('\n');
    }
    text += "aggregates, in addition to SQL's own:\n";
    let aggregates = AGGREGATES.iter();
    let aggregates =
        aggregates.map(|one| vec![format!("  {}({})", one.name, one.arguments), one.meaning.into()]);
    text += &layout::columns(&aggregates.collect::<Vec<_>>(), width);
    Ok(text)
}

fn table(answer: &Answer) -> String {
    let rows = answer
        .rows
        .iter()
        .map(|row| row.iter().map(Cell::to_string).collect());
    let all: Vec<Vec<String>> = std::iter::once(answer.columns.clone()).chain(rows).collect();
    layout::table(&all)
}

fn csv(answer: &Answer) -> String {
    let line = |cells: Vec<String>| {
        // Quotes where RFC 4180 asks for them.
        let quoted = cells
            .into_iter()
            .map(|cell| match cell.contains([',', '"', '\n', '\r']) {
                true => format!("\"{}\"", cell.replace('"', "\"\"")),
                false => cell,
            });
        quoted.collect::<Vec<_>>().join(",") + "\n"
    };
    // A spreadsheet would take some texts for formulas and execute them.
    let safe = |one: &Cell| match one {
        Cell::Text(text) => paceline_scenario::csv_cell(text).into_owned(),
        other => other.to_string(),
    };
    let rows = answer.rows.iter().map(|row| line(row.iter().map(safe).collect()));
    line(answer.columns.clone()) + &rows.collect::<String>()
}

/// Converts rows to JSON objects.
fn objects(answer: &Answer) -> Vec<serde_json::Map<String, serde_json::Value>> {
    let object = |row: &Vec<Cell>| {
        let values = row.iter().map(|cell| serde_json::json!(cell));
        answer.columns.iter().cloned().zip(values).collect()
    };
    answer.rows.iter().map(object).collect()
}

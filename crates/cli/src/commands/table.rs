//! `paceline table`: numbers of sweeps, comparisons and reproductions as tables for papers.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use paceline_lab::files::OutFile;
use paceline_lab::repeats::Repeats;
use paceline_lab::sweep::{SweepData, metrics};
use paceline_lab::table;
use paceline_report::{Number, NumberColumn, Tabular};
use serde_json::Value;

use super::report::{read_runs, repeats_in};
use crate::failure::{Done, Ended, Failure};
use crate::{names, output};

const EXAMPLES: &str = "\
Examples:
  paceline table results/two
  paceline table results/two -o table.tex --names hpcc=HPCC,dctcp=DCTCP --caption 'An incast'
  paceline table results/incast-16-sweep-1 --what fct_slowdown.p99,queue_bytes.max -o table.md

Rows are runs, schemes, points of a sweep, or cases of reproductions. Columns are metrics of summary.json;
`paceline list measures` and points.csv name more. With several seeds a cell has the mean
and half the width of its 95 % interval.

LaTeX needs \\usepackage{booktabs,siunitx}; with --caption or --label the table is a float. CSV has all
digits.";

/// Arguments of the command.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TableArgs {
    /// Folders of runs or comparisons, or one of a sweep or a reproduction
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// Metrics to show, in this order [default: jobs, slowdowns, queues, pauses, drops]
    #[arg(long, value_name = "KEY,KEY,..", value_delimiter = ',')]
    what: Vec<String>,
    /// File to write; its extension selects the format [default: print the table]
    #[arg(long, short, value_name = "FILE.tex|md|csv")]
    out: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// Names of rows and columns, by those that they have without
    #[arg(long, value_name = "hpcc=HPCC,drops=losses,..", value_delimiter = ',')]
    names: Vec<String>,
    /// Order of the rows, by the names that they have without --names; others follow
    #[arg(long, value_name = "dcqcn,hpcc,..", value_delimiter = ',')]
    order: Vec<String>,
    /// Caption of the LaTeX table
    #[arg(long, value_name = "TEXT")]
    caption: Option<String>,
    /// Label of the LaTeX table, for \ref
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
}

/// Reads the folders, and prints or writes one table.
pub(super) fn table(args: &TableArgs) -> Ended {
    let inputs: Vec<&Path> = args.folders.iter().map(PathBuf::as_path).collect();
    let ending = match &args.out {
        Some(out) => ending(out)?,
        None => "",
    };
    if ending != "tex" && (args.caption.is_some() || args.label.is_some()) {
        return Err(Failure::arguments(
            "--caption, --label: they are for LaTeX: expected -o FILE.tex",
        ));
    }
    let file = match &args.out {
        Some(out) => Some((out, OutFile::new(out, args.force, &inputs)?)),
        None => None,
    };
    let mut table = read(args)?;
    rename(&mut table, args)?;
    let text = match ending {
        "tex" => table.tex(args.caption.as_deref(), args.label.as_deref()),
        "md" => table.markdown(),
        "csv" => table.csv(),
        _ => table.plain(),
    };
    match file {
        Some((out, file)) => {
            file.write(|to| to.write_all(text.as_bytes()))?;
            output::print(&format!("{}\n", out.display()))?;
        }
        None => output::print(&text)?,
    }
    Ok(Done::All)
}

fn ending(file: &Path) -> Result<&'static str, Failure> {
    let given = file
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    let known = ["tex", "md", "csv"].into_iter().find(|known| *known == given);
    known.ok_or_else(|| {
        Failure::arguments(format!(
            "-o {}: expected a name that ends in .tex, .md or .csv",
            file.display()
        ))
    })
}

fn read(args: &TableArgs) -> Result<Tabular, Failure> {
    let wrong = |error: paceline_report::figure::NoFigure| Failure::arguments(format!("--what: {error}"));
    let alone = |what: &str| Failure::arguments(format!("{what} has a table of its own: expected one DIR"));
    let has = |name: &str| args.folders.iter().any(|folder| folder.join(name).is_file());
    if has("sweep.json") {
        let [folder] = args.folders.as_slice() else {
            return Err(alone("a sweep"));
        };
        return Tabular::of_sweep(&SweepData::read(folder)?, &args.what).map_err(wrong);
    }
    if has(REPRODUCTIONS) {
        let [folder] = args.folders.as_slice() else {
            return Err(alone("a reproduction"));
        };
        if !args.what.is_empty() {
            return Err(Failure::arguments(
                "--what: the table of a reproduction has all that is compared",
            ));
        }
        return of_reproduction(&folder.join(REPRODUCTIONS));
    }
    let heads = vec!["scheme".to_string()];
    if let [folder] = args.folders.as_slice()
        && let Some(repeats) = repeats_in(folder)?
    {
        return Tabular::of_rows(heads, of_repeats(&repeats), &args.what).map_err(wrong);
    }
    let runs = read_runs(&args.folders, None)?;
    let number = |(key, value): (String, f64)| (key, Number { value, half: None });
    let rows = table::run_names(&runs).into_iter().zip(&runs);
    let rows = rows.map(|(name, run)| {
        (
            vec![name],
            metrics(&run.summary).into_iter().map(number).collect(),
        )
    });
    Tabular::of_rows(heads, rows.collect(), &args.what).map_err(wrong)
}

/// Returns a row for each scheme of a comparison with several seeds.
fn of_repeats(repeats: &Repeats) -> Vec<(Vec<String>, paceline_report::RowNumbers)> {
    let row = |of: &paceline_lab::repeats::OfScheme| {
        let numbers = of.metrics.iter().map(|(key, found)| {
            let half = found.half_width();
            (
                key.clone(),
                Number {
                    value: found.mean,
                    half,
                },
            )
        });
        (vec![of.scheme.clone()], numbers.collect())
    };
    repeats.intervals.iter().map(row).collect()
}

/// File with the compared values of reproductions.
const REPRODUCTIONS: &str = "reproductions.json";

/// Reads what reproductions compare: a row for each number that is published, ours, or both.
fn of_reproduction(file: &Path) -> Result<Tabular, Failure> {
    let wrong = |what: &dyn std::fmt::Display| {
        Failure::arguments(format!(
            "{} is not what a reproduction writes: {what}",
            file.display()
        ))
    };
    let text = paceline_scenario::read_text(file).map_err(|error| wrong(&error))?;
    let entries: Vec<Value> = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    let mut table = Tabular {
        heads: vec!["case".into(), "quantity".into()],
        ..Tabular::default()
    };
    let column = |name: &str| NumberColumn {
        key: String::new(),
        name: name.to_string(),
        unit: String::new(),
        cells: Vec::new(),
    };
    let (mut paper, mut ours) = (column("published"), column("ours"));
    let number = |value: &Value| value.as_f64().map(|value| Number { value, half: None });
    for entry in &entries {
        // Orderings are texts, and have no place among numbers.
        let (theirs, own) = (number(&entry["paper"]), number(&entry["ours"]));
        if theirs.is_none() && own.is_none() {
            continue;
        }
        let text = |key: &str| entry[key].as_str().unwrap_or_default().to_string();
        let quantity = match text("unit").as_str() {
            "" => text("metric"),
            unit => format!("{} ({unit})", text("metric")),
        };
        table.rows.push(vec![text("case"), quantity]);
        paper.cells.push(theirs);
        ours.cells.push(own);
    }
    if table.rows.is_empty() {
        return Err(wrong(&"no numbers"));
    }
    table.columns = vec![paper, ours];
    Ok(table)
}

/// Applies `--names` to rows and columns, and `--order` to rows.
fn rename(table: &mut Tabular, args: &TableArgs) -> Result<(), Failure> {
    let rows: Vec<String> = (0..table.rows.len()).map(|row| table.row_name(row)).collect();
    let order = names::arranged(&args.order, &rows)?;
    if !args.names.is_empty() {
        // A name of one axis stands in many rows, so each value can be renamed.
        let mut known: Vec<String> = Vec::new();
        let columns = table
            .columns
            .iter()
            .map(|column| &column.key)
            .filter(|key| !key.is_empty());
        for name in table.rows.iter().flatten().chain(&table.heads).chain(columns) {
            if !known.contains(name) {
                known.push(name.clone());
            }
        }
        let Some(renamed) = names::renamed_by_key(&args.names, &known)? else {
            return Err(Failure::arguments(format!(
                "--names: expected KEY=NAME for some of {}",
                known.join(", ")
            )));
        };
        let new = |name: &String| {
            known
                .iter()
                .position(|old| old == name)
                .map(|at| renamed[at].clone())
        };
        for name in table.rows.iter_mut().flatten().chain(&mut table.heads) {
            *name = new(name).unwrap_or_default();
        }
        for column in &mut table.columns {
            match new(&column.key) {
                Some(name) if name != column.key => column.name = name,
                _ => {}
            }
        }
    }
    table.reorder(&order);
    Ok(())
}

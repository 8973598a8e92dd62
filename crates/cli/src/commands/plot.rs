//! `paceline plot`: a figure for a paper, from finished runs.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use paceline_lab::files::write_file;
use paceline_lab::sweep::{Status, SweepData};
use paceline_report::figure::{self, Figure, NoFigure, Size, What};

use super::report::read_runs;
use crate::failure::{Done, Ended, Failure};
use crate::{output, text};

const EXAMPLES: &str = "\
Examples:
  paceline compare incast-16 --schemes hpcc,dctcp --out results/two
  paceline plot results/two --what fct-cdf -o fct.pdf
  paceline plot results/two/hpcc --what queue -o queue.svg --width page
  paceline plot results/two --what rate -o rate.csv       the values of the figure
  paceline sweep incast-16 --over cc.scheme=hpcc,dctcp --over topology.star.rate=100Gbps,400Gbps
  paceline plot results/incast-16-sweep-1 --what fct_slowdown.p99 -o rate.pdf

Figures of runs and comparisons:
  fct-cdf, slowdown-cdf  distribution over flows
  slowdown               by flow size: quantiles of one run, or the p99 of each of several
  queue                  queues of the busiest ports of one run, or the busiest of each of several
  rate                   goodput per flow of one run with few flows, otherwise the total
  state                  detector state of the same ports: 0 not congested to 3 congested
  credits                minimum credits per lane, of the same ports
  pauses                 PFC pauses
  rtt, window            RTT or window per flow, of one run
Figures of a sweep: any column of points.csv, such as fct_slowdown.p99, rtt_per_ack_us.mean or
pfc.pauses, as the mean over seeds with its 95 % interval.

Plots use only recorded data; -o FILE.csv writes the values.";

/// Widths of a column and of a page of the usual two-column papers, in mm.
const COLUMN_MM: f64 = 85.0;
const PAGE_MM: f64 = 178.0;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct PlotArgs {
    /// Folders of runs, comparisons or a sweep
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// Figure to draw
    #[arg(long, value_name = "WHAT")]
    what: String,
    /// File to write; its extension selects the format
    #[arg(long, short, value_name = "FILE.svg|pdf|csv")]
    out: PathBuf,
    /// Key on the x axis of a sweep [default: the first numeric key]
    #[arg(long, value_name = "KEY")]
    over: Option<String>,
    /// Width: `column`, `page`, or a number of mm
    #[arg(long, value_name = "WIDTH", default_value = "column", value_parser = width)]
    width: f64,
    /// Height in mm [default: 0.62 of a column's width]
    #[arg(long, value_name = "MM", value_parser = height)]
    height: Option<f64>,
}

fn width(text: &str) -> Result<f64, String> {
    match text {
        "column" => Ok(COLUMN_MM),
        "page" => Ok(PAGE_MM),
        other => millimetres(other, 40.0).map_err(|said| format!("{said}, or `column` or `page`")),
    }
}

fn height(text: &str) -> Result<f64, String> {
    millimetres(text, 25.0)
}

/// Below `least` there is no room for axes.
fn millimetres(text: &str, least: f64) -> Result<f64, String> {
    let number = text.trim_end_matches("mm").trim_end().parse::<f64>().ok();
    let fits = number.filter(|number| (least..=1000.0).contains(number));
    fits.ok_or_else(|| format!("expected millimetres from {least} to 1000"))
}

/// The format that a file's name asks for.
#[derive(Clone, Copy)]
enum Format {
    Svg,
    Pdf,
    Csv,
}

/// Reads the folders and draws one figure.
pub(super) fn plot(args: &PlotArgs) -> Ended {
    let format = format(&args.out)?;
    let figure = figure(args)?;
    let size = Size {
        width_mm: args.width,
        height_mm: args.height.unwrap_or(0.62 * COLUMN_MM),
    };
    let bytes = match format {
        Format::Svg => figure.svg(size).into_bytes(),
        Format::Pdf => figure.pdf(size),
        Format::Csv => figure.csv().into_bytes(),
    };
    write_file(&args.out, |out| out.write_all(&bytes))?;
    output::print(&format!("{}\n", args.out.display()))?;
    Ok(Done::All)
}

fn format(file: &Path) -> Result<Format, Failure> {
    let ending = file
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    match ending.as_str() {
        "svg" => Ok(Format::Svg),
        "pdf" => Ok(Format::Pdf),
        "csv" => Ok(Format::Csv),
        _ => Err(Failure::arguments(format!(
            "-o {}: expected a name that ends in .svg, .pdf or .csv",
            file.display()
        ))),
    }
}

fn figure(args: &PlotArgs) -> Result<Figure, Failure> {
    let nothing = |error: NoFigure| Failure::arguments(format!("--what {}: {error}", args.what));
    let is_sweep = |folder: &PathBuf| folder.join("sweep.json").is_file();
    if args.folders.iter().any(is_sweep) {
        let [folder] = args.folders.as_slice() else {
            return Err(Failure::arguments(
                "a sweep is plotted alone: expected one DIR (`paceline merge` merges shards)",
            ));
        };
        let data = SweepData::read(folder)?;
        if let Some(text) = unfinished(&data) {
            say!("{text}");
        }
        return figure::of_sweep(&data, &args.what, args.over.as_deref()).map_err(nothing);
    }
    if args.over.is_some() {
        return Err(Failure::arguments(
            "--over is about the axes of a sweep, and these are runs",
        ));
    }
    let known = What::ALL.into_iter().find(|what| what.name() == args.what);
    let what = known.ok_or_else(|| unknown(&args.what))?;
    figure::of_runs(&read_runs(&args.folders, None)?, what).map_err(nothing)
}

/// What is missing of a sweep whose figure is drawn.
fn unfinished(data: &SweepData) -> Option<String> {
    let (all, there) = (data.plan.runs().len(), data.rows.len());
    let failed = data.rows.values().filter(|row| row.status == Status::Failed);
    let open = (0..data.plan.points.len()).filter(|&point| !data.point_is_comparable(point));
    let mut parts = Vec::new();
    if there < all {
        parts.push(format!("{there} of {all} runs are finished"));
    }
    match failed.count() {
        0 => {}
        failed => parts.push(format!("{failed} failed")),
    }
    match open.count() {
        0 => {}
        points => parts.push(format!(
            "at {points} points a run failed or left flows unfinished"
        )),
    }
    (!parts.is_empty()).then(|| {
        format!(
            "the figure is of what there is of this sweep: {}",
            parts.join(", ")
        )
    })
}

fn unknown(what: &str) -> Failure {
    let names = What::ALL.map(What::name);
    let hint = match text::nearest(what, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("expected {}", names.join(", ")),
    };
    Failure::arguments(format!("--what: there is no figure `{what}` of runs: {hint}"))
}

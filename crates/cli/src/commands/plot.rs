//! `paceline plot`: figures for papers from finished runs.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use paceline_lab::files::{OutFile, RunData};
use paceline_lab::sweep::{Status, SweepData, notes};
use paceline_lab::table;
use paceline_query::{Cell, Run};
use paceline_report::figure::{
    self, Figure, FigureKind, Legend, NoFigure, Palette, Preset, Row, Scale, Seeds, Style, XValue,
};

pub(super) mod experiment;
mod recipe;

use super::report::{read_folders, read_runs};
use crate::failure::{Done, Ended, Failure};
use crate::{names, output, text};

const EXAMPLES: &str = "\
Examples:
  paceline compare incast-16 --schemes hpcc,dctcp --out results/two
  paceline plot results/two --what fct-cdf -o fct.pdf
  paceline plot results/two/hpcc --what queue -o queue.svg --style page --xlim 0:50
  paceline plot results/two --what slowdown-cdf -o cdf.pgf --palette grey --legend right
  paceline plot results/two --what rate -o rate.csv       the values of the figure
  paceline sweep incast-16 --over cc.scheme=hpcc,dctcp --over topology.star.rate=100Gbps,400Gbps
  paceline plot results/incast-16-sweep-1 --what fct_slowdown.p99 -o rate.pdf
  paceline plot results/incast-16-sweep-1 --what drops -o drops.pdf --save-experiment for-you
  paceline plot results/two --what fct-cdf -o a.pdf --names hpcc=HPCC,dctcp=DCTCP --save a.toml
  paceline plot --from a.toml -o a.png
  paceline plot results/two -o parts.pdf \\
    --sql \"SELECT part, sum(time_ps) / 1e6 AS us FROM flow_time GROUP BY part\"

Figures of runs and comparisons:
  fct-cdf, slowdown-cdf  distribution over flows
  slowdown               by flow size: quantiles of one run, or the p99 of each of several
  queue                  queues of the busiest ports of one run, or the busiest of each of several
  rate                   goodput per flow of one run with few flows, otherwise the total
  state                  detector state of the same ports: 0 not congested to 3 congested
  credits                minimum credits per lane, of the same ports
  pauses                 PFC pauses
  rtt, window            RTT or window per flow, of one run
  iterations             time of each iteration of jobs, or else of collectives
Figures of a sweep: any `metric` of points.csv, such as fct_slowdown.p99, pfc.pauses or
jobs.NAME.iteration_us.mean, as the mean over seeds with its 95 % interval.
fct-cdf, slowdown-cdf and slowdown have a curve for each point of a sweep.
Figures of a question in SQL (paceline query): its columns are x, y and perhaps the curve's name.

Runs that differ in their seeds alone are one curve in figures about flows, with the 95 % interval
over the seeds; --seeds apart draws each. PDF and SVG have their font in them; PGF takes that of the
document. Plots use only recorded data; -o FILE.csv writes the values.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct PlotArgs {
    /// Folders of runs, comparisons or a sweep
    #[arg(value_name = "DIR", required_unless_present = "from")]
    folders: Vec<PathBuf>,
    /// Figure to draw
    #[arg(long, value_name = "WHAT", required_unless_present_any = ["sql", "from"])]
    what: Option<String>,
    /// Question whose answer to draw: a column of places, one of values, perhaps one of names of curves
    #[arg(long, value_name = "SQL", conflicts_with_all = ["what", "over", "seeds"])]
    sql: Option<String>,
    /// File to write; its extension selects the format
    #[arg(
        long,
        short,
        value_name = "FILE.pdf|svg|png|pgf|csv",
        required_unless_present = "from"
    )]
    out: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// Recipe to write: the folders and options of this figure
    #[arg(long, value_name = "FILE.toml")]
    save: Option<PathBuf>,
    /// Experiment to write for `reproduce`: the sweep that is drawn, with this figure
    #[arg(long, value_name = "FOLDER", conflicts_with = "sql")]
    save_experiment: Option<PathBuf>,
    /// Recipe of the figure to draw again; only -o and --force change it
    #[arg(long, value_name = "FILE.toml", conflicts_with_all = ["folders", "what", "sql", "over", "seeds", "save", "style", "width", "height", "title", "xlabel", "ylabel", "xlim", "ylim", "log", "legend", "names", "order", "palette", "dpi"])]
    from: Option<PathBuf>,
    /// Key on the x axis of a sweep [default: the first numeric key]
    #[arg(long, value_name = "KEY")]
    over: Option<String>,
    /// Size and letters for a column or both columns of a paper, or a slide
    #[arg(long, value_name = "STYLE", default_value = "column", value_parser = named(&Preset::ALL.map(|one| (one.name(), one))))]
    style: Preset,
    /// Width: `column`, `page`, or a number of mm [default: that of the style]
    #[arg(long, value_name = "WIDTH", value_parser = width)]
    width: Option<f64>,
    /// Height in mm [default: that of the style]
    #[arg(long, value_name = "MM", value_parser = height)]
    height: Option<f64>,
    /// Line above the figure
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Label of the x axis [default: quantity and unit]
    #[arg(long, value_name = "TEXT")]
    xlabel: Option<String>,
    /// Label of the y axis [default: quantity and unit]
    #[arg(long, value_name = "TEXT")]
    ylabel: Option<String>,
    /// Ends of the x axis in its unit, either may be left out
    #[arg(long, value_name = "FROM:TO", value_parser = limits, allow_hyphen_values = true)]
    xlim: Option<Limits>,
    /// Ends of the y axis in its unit, either may be left out
    #[arg(long, value_name = "FROM:TO", value_parser = limits, allow_hyphen_values = true)]
    ylim: Option<Limits>,
    /// Logarithmic axes [default: those of wide ranges]
    #[arg(long, value_name = "x|y|xy|off", value_parser = named(&[("x", (true, false)), ("y", (false, true)), ("xy", (true, true)), ("off", (false, false))]))]
    log: Option<(bool, bool)>,
    /// Place of the curves' names
    #[arg(long, value_name = "PLACE", value_parser = named(&Legend::ALL.map(|one| (one.name(), one))))]
    legend: Option<Legend>,
    /// Names of curves, by those that they have without; or of all, in their order
    #[arg(long, value_name = "hpcc=HPCC,..", value_delimiter = ',')]
    names: Vec<String>,
    /// Order of the curves, by the names that they have without --names; others follow
    #[arg(long, value_name = "dcqcn,hpcc,..", value_delimiter = ',')]
    order: Vec<String>,
    /// Colours, all safe for colour blindness: `ordered` and `grey` for print without colour, too
    #[arg(long, value_name = "PALETTE", default_value = "colour", value_parser = named(&Palette::ALL.map(|one| (one.name(), one))))]
    palette: Palette,
    /// Runs that differ in their seeds alone
    #[arg(long, value_name = "HOW", default_value = "pooled", value_parser = named(&Seeds::ALL.map(|one| (one.name(), one))))]
    seeds: Seeds,
    /// Pixels per inch of a PNG
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u16).range(30..=1200))]
    dpi: u16,
}

/// Lower and upper end of an axis; `None` is automatic.
type Limits = (Option<f64>, Option<f64>);

/// Returns a parser for one of several names.
fn named<T: Copy + Send + Sync + 'static>(
    all: &[(&'static str, T)],
) -> impl TypedValueParser<Value = T> + use<T> {
    let all = all.to_vec();
    let names: Vec<&'static str> = all.iter().map(|(name, _)| *name).collect();
    PossibleValuesParser::new(names).map(move |name| {
        let found = all.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value).expect("clap has checked it")
    })
}

fn limits(text: &str) -> Result<Limits, String> {
    let expected = || "expected FROM:TO in the axis's unit, such as 0:50, 1: or :1e6".to_string();
    let end = |text: &str| match text.trim() {
        "" => Ok(None),
        text => {
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
            number.map(Some).ok_or_else(expected)
        }
    };
    let (from, to) = text.split_once(':').ok_or_else(expected)?;
    match (end(from)?, end(to)?) {
        (None, None) => Err(expected()),
        (Some(from), Some(to)) if from >= to => Err("the first end must be below the second".to_string()),
        ends => Ok(ends),
    }
}

fn width(text: &str) -> Result<f64, String> {
    match text {
        "column" => Ok(figure::COLUMN_MM),
        "page" => Ok(figure::PAGE_MM),
        other => millimetres(other, 40.0).map_err(|said| format!("{said}, or `column` or `page`")),
    }
}

fn height(text: &str) -> Result<f64, String> {
    millimetres(text, 25.0)
}

/// Parses a length. Below `least` mm there is no room for axes.
fn millimetres(text: &str, least: f64) -> Result<f64, String> {
    let number = text.trim_end_matches("mm").trim_end().parse::<f64>().ok();
    let fits = number.filter(|number| (least..=1000.0).contains(number));
    fits.ok_or_else(|| format!("expected millimetres from {least} to 1000"))
}

/// Output format, selected by the file's extension.
#[derive(Clone, Copy)]
enum Format {
    Svg,
    Pdf,
    Png,
    Pgf,
    Csv,
}

/// Reads the folders and draws one figure.
pub(super) fn plot(args: &PlotArgs) -> Ended {
    if let Some(file) = &args.from {
        let of_recipe = recipe::read(file)?;
        return draw(&PlotArgs {
            out: args.out.clone().or(of_recipe.out.clone()),
            force: args.force,
            save_experiment: args.save_experiment.clone(),
            from: args.from.clone(),
            ..of_recipe
        });
    }
    draw(args)
}

fn draw(args: &PlotArgs) -> Ended {
    let Some(out) = &args.out else {
        return Err(Failure::arguments("a recipe without `out`: expected -o FILE"));
    };
    // The name's ending is checked before the folders are read.
    let format = format(out)?;
    let inputs: Vec<&Path> = args.folders.iter().map(PathBuf::as_path).collect();
    let file = OutFile::new(out, args.force, &inputs)?;
    let mut figure = figure(args)?;
    change(&mut figure, args)?;
    // Drawn before the file is touched, so that a failure leaves an earlier figure as it was.
    let bytes = bytes(&figure, args, format)?;
    if let Some(recipe) = &args.save {
        recipe::write(recipe, args)?;
    }
    if let Some(folder) = &args.save_experiment {
        experiment::save(folder, args)?;
    }
    file.write(|out| out.write_all(&bytes))?;
    output::print(&format!("{}\n", out.display()))?;
    Ok(Done::All)
}

/// Returns the content of a figure's file.
fn bytes(figure: &Figure, args: &PlotArgs, format: Format) -> Result<Vec<u8>, Failure> {
    let style = style(args);
    Ok(match format {
        Format::Svg => figure.svg(&style).into_bytes(),
        Format::Pdf => figure.pdf(&style),
        Format::Pgf => figure.pgf(&style).into_bytes(),
        Format::Png => figure
            .png(&style, f64::from(args.dpi))
            .ok_or_else(|| Failure::arguments("--dpi: the picture would be too large"))?,
        Format::Csv => figure.csv().into_bytes(),
    })
}

fn style(args: &PlotArgs) -> Style {
    let mut style = args.style.style();
    style.size.width_mm = args.width.unwrap_or(style.size.width_mm);
    style.size.height_mm = args.height.unwrap_or(style.size.height_mm);
    style.legend = args.legend.unwrap_or(style.legend);
    style.palette = args.palette;
    style.title.clone_from(&args.title);
    style
}

/// Applies the options for axes and curve names.
fn change(figure: &mut Figure, args: &PlotArgs) -> Result<(), Failure> {
    let axes = [
        (
            &mut figure.x,
            "x",
            &args.xlabel,
            args.xlim,
            args.log.map(|log| log.0),
        ),
        (
            &mut figure.y,
            "y",
            &args.ylabel,
            args.ylim,
            args.log.map(|log| log.1),
        ),
    ];
    for (scale, name, label, limits, log) in axes {
        change_axis(scale, name, label.as_ref(), limits, log)?;
    }
    let known: Vec<String> = figure.curves.iter().map(|curve| curve.name.clone()).collect();
    let renamed = names::renamed(&args.names, &known)?;
    let order = names::arranged(&args.order, &known)?;
    for (curve, name) in figure.curves.iter_mut().zip(renamed) {
        curve.name = name;
    }
    figure.curves = order.iter().map(|&at| figure.curves[at].clone()).collect();
    Ok(())
}

fn change_axis(
    scale: &mut Scale,
    name: &str,
    label: Option<&String>,
    limits: Option<Limits>,
    log: Option<bool>,
) -> Result<(), Failure> {
    if let Some(label) = label {
        scale.label.clone_from(label);
    }
    if !scale.names.is_empty() && (limits.is_some() || log == Some(true)) {
        let text = format!("--{name}lim, --log {name}: the {name} axis has names, not numbers");
        return Err(Failure::arguments(text));
    }
    scale.log = log.unwrap_or(scale.log);
    scale.limits = limits.unwrap_or(scale.limits);
    match scale.limits {
        (Some(low), _) | (None, Some(low)) if scale.log && low <= 0.0 => Err(Failure::arguments(format!(
            "--{name}lim: a logarithmic axis has no place for {low}; --log off makes it linear"
        ))),
        _ => Ok(()),
    }
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
        "png" => Ok(Format::Png),
        "pgf" => Ok(Format::Pgf),
        "csv" => Ok(Format::Csv),
        _ => Err(Failure::arguments(format!(
            "-o {}: expected a name that ends in .pdf, .svg, .png, .pgf or .csv",
            file.display()
        ))),
    }
}

fn figure(args: &PlotArgs) -> Result<Figure, Failure> {
    let is_sweep = |folder: &PathBuf| folder.join("sweep.json").is_file();
    let Some(wanted) = &args.what else {
        let sql = args.sql.as_deref().unwrap_or_default();
        return answered(read_folders(&args.folders, None)?, sql);
    };
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
        for note in notes(&data) {
            say!("{}", note.text);
        }
        return of_sweep(args, wanted, &data, &|id| folder.join("runs").join(id));
    }
    if args.over.is_some() {
        return Err(Failure::arguments(
            "--over is about the axes of a sweep, and these are runs",
        ));
    }
    let what = kind(wanted).ok_or_else(|| unknown(wanted))?;
    let runs = read_runs(&args.folders, None)?;
    figure::of_runs(&runs, what, args.seeds).map_err(|error| nothing(wanted, &error))
}

fn kind(wanted: &str) -> Option<FigureKind> {
    FigureKind::ALL.into_iter().find(|what| what.name() == wanted)
}

fn nothing(wanted: &str, error: &NoFigure) -> Failure {
    Failure::arguments(format!("--what {wanted}: {error}"))
}

/// Draws a figure of a sweep: a number of its runs over an axis, or one about flows with a curve for each point.
fn of_sweep(
    args: &PlotArgs,
    wanted: &str,
    data: &SweepData,
    folder: &dyn Fn(&str) -> PathBuf,
) -> Result<Figure, Failure> {
    let Some(what) = kind(wanted) else {
        let found = figure::of_sweep(data, wanted, args.over.as_deref());
        return found.map_err(|error| nothing(wanted, &error));
    };
    if args.over.is_some() {
        return Err(Failure::arguments(format!(
            "--over: {wanted} has a curve for each point of the sweep"
        )));
    }
    let read = |id: &str| {
        let folder = folder(id);
        let is_kept = folder.join("summary.json").is_file();
        is_kept.then(|| RunData::read(&folder)).transpose()
    };
    let runs = figure::groups_of_sweep(data, args.seeds, read).map_err(|error| nothing(wanted, &error))?;
    figure::of_groups(&runs, what).map_err(|error| nothing(wanted, &error))
}

/// Draws the answers of runs to a query. If there are several runs, curve names start with the run's name.
fn answered(runs: Vec<(PathBuf, RunData)>, sql: &str) -> Result<Figure, Failure> {
    let (folders, runs): (Vec<PathBuf>, Vec<RunData>) = runs.into_iter().unzip();
    let wrong = |message: String| Failure::arguments(format!("--sql: {message}"));
    let names = table::run_names(&runs);
    let several = runs.len() > 1;
    let (mut rows, mut labels) = (Vec::new(), None);
    for ((name, folder), data) in names.iter().zip(folders).zip(runs) {
        let answer = Run::of_folder(&folder, data)
            .ask(sql)
            .map_err(|error| wrong(error.to_string()))?;
        if !(2..=3).contains(&answer.columns.len()) {
            return Err(wrong(format!(
                "expected two or three columns (x, y, name of the curve), found {}: {}",
                answer.columns.len(),
                answer.columns.join(", ")
            )));
        }
        for row in &answer.rows {
            // NULL has no position, so its row is left out.
            let x = match &row[0] {
                Cell::Null => continue,
                Cell::Text(name) => XValue::Named(name.clone()),
                number => XValue::At(number.number().unwrap_or(f64::NAN)),
            };
            let y = match &row[1] {
                Cell::Null => continue,
                cell => cell.number().ok_or_else(|| {
                    wrong(format!(
                        "column `{}`: expected a number, found a text",
                        answer.columns[1]
                    ))
                })?,
            };
            let curve = row.get(2).map(Cell::to_string).unwrap_or_default();
            let curve = match (several, curve.is_empty()) {
                (false, false) => curve,
                (true, false) => format!("{name}, {curve}"),
                (_, true) => name.clone(),
            };
            rows.push(Row { curve, x, y });
        }
        labels.get_or_insert(answer.columns);
    }
    let labels = labels.unwrap_or_default();
    let [x, y, ..] = &labels[..] else {
        return Err(wrong("expected the folder of a run".into()));
    };
    figure::of_rows(&rows, x, y).map_err(|error| wrong(error.to_string()))
}

/// Describes the missing parts of a sweep.
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
    let names = FigureKind::ALL.map(FigureKind::name);
    let hint = match text::nearest(what, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("expected {}", names.join(", ")),
    };
    Failure::arguments(format!("--what: there is no figure `{what}` of runs: {hint}"))
}

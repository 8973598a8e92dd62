//! Schemes on ordinary traffic, from the recorded outcome of the experiment `ordinary`: the page of all schemes, each
//! scheme's page, and the table of misfits that runs warn about.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::OnceLock;

use paceline_congestion::registry::{SCHEMES, Scheme};
use paceline_reproduce::find;

use super::records::done;

/// Keys and names of the experiment's traffic.
const TRAFFIC: [(&str, &str); 8] = [
    ("64kb", "64 KB alone"),
    ("1mb", "1 MB alone"),
    ("incast", "15 to 1"),
    ("long-short", "long and short"),
    ("all", "all to all"),
    ("search", "web search"),
    ("hadoop", "Hadoop"),
    ("ring", "ring all-reduce"),
];
const LAYERS: [(&str, &str); 3] = [("pfc", "PFC"), ("drops", "drops"), ("credits", "credits")];
/// Ratio to `none` or the median from which a scheme is called unfit.
const UNFIT: f64 = 1.5;

/// By traffic: mean slowdown and p99 of a scheme over a layer, and true if all flows ended.
type Row = [Option<(f64, f64, bool)>; TRAFFIC.len()];

/// By traffic: sums over seeds of means and 99th percentiles, the number of seeds, and true if all flows ended.
type Sums = [(f64, f64, f64, bool); TRAFFIC.len()];

struct Matrix {
    rows: BTreeMap<(String, &'static str), Row>,
}

impl Matrix {
    /// Reads the outcome, once for all pages.
    fn read() -> &'static Self {
        static READ: OnceLock<Matrix> = OnceLock::new();
        READ.get_or_init(Self::of_outcome)
    }

    fn of_outcome() -> Self {
        let one = find("ordinary").expect("it ships");
        let done = done("ordinary").expect("it is recorded");
        let mut sums: BTreeMap<(String, &str), Sums> = BTreeMap::new();
        for need in one.needs() {
            let Some(values) = done.numbers(need) else {
                continue;
            };
            // Variants are named like `search-pfc`, followed by the scheme's case.
            let index = TRAFFIC.iter().enumerate().find_map(|(index, (key, _))| {
                let rest = need.variant.strip_prefix(key)?.strip_prefix('-')?;
                let layer = LAYERS
                    .iter()
                    .find(|(layer, _)| rest.split('-').next() == Some(layer))?;
                Some((index, layer.0))
            });
            let (index, layer) = index.unwrap_or_else(|| panic!("{}", need.variant));
            let value = |name: &str| values.values.get(name).copied();
            let ended = value("flows.completed") == value("flows.total");
            let entry = sums
                .entry((need.scheme.clone(), layer))
                .or_insert([(0.0, 0.0, 0.0, true); TRAFFIC.len()]);
            let (mean, p99) = (value("fct_slowdown.mean"), value("fct_slowdown.p99"));
            let sum = &mut entry[index];
            *sum = (
                sum.0 + mean.unwrap_or(f64::INFINITY),
                sum.1 + p99.unwrap_or(f64::INFINITY),
                sum.2 + 1.0,
                sum.3 && ended,
            );
        }
        let means = |(key, sums): ((String, &'static str), Sums)| {
            let mean = |(mean, p99, count, ended): (f64, f64, f64, bool)| {
                (count > 0.0).then(|| (mean / count, p99 / count, ended))
            };
            (key, sums.map(mean))
        };
        Self {
            rows: sums.into_iter().map(means).collect(),
        }
    }

    /// Returns the median of all schemes over a layer.
    fn median(&self, layer: &str, index: usize) -> f64 {
        let of_layer = self.rows.iter().filter(|((_, one), _)| *one == layer);
        let mut all: Vec<f64> = of_layer.filter_map(|(_, row)| Some(row[index]?.0)).collect();
        all.sort_by(f64::total_cmp);
        let half = all.len() / 2;
        (all[half] + all[(all.len() - 1) / 2]) / 2.0
    }

    fn row(&self, scheme: &str, layer: &'static str) -> Option<&Row> {
        self.rows.get(&(scheme.to_string(), layer))
    }

    /// Returns the ratio to the better of `none` and the median scheme, and the name of that one.
    fn times(&self, scheme: &str, layer: &'static str, index: usize) -> Option<(f64, &'static str)> {
        let (own, ..) = self.row(scheme, layer)?[index]?;
        let none = self.row("none", layer)?[index]?.0;
        let median = self.median(layer, index);
        Some(match median <= none {
            true => (own / median, "the median scheme"),
            false => (own / none, "`none`"),
        })
    }

    /// Returns, by scheme and layer, the worst traffic if it is unfit; without a traffic if the scheme has no effect.
    fn misfits(&self) -> String {
        let mut text = "scheme,layer,traffic,times,of\n".to_string();
        for ((scheme, layer), row) in &self.rows {
            if scheme == "none" {
                continue;
            }
            let (_, name) = LAYERS.iter().find(|(key, _)| key == layer).expect("it is one");
            if Some(row) == self.row("none", layer) {
                let _ = writeln!(text, "{scheme},{name},,1,none");
                continue;
            }
            let each =
                (0..TRAFFIC.len()).filter_map(|index| Some((self.times(scheme, layer, index)?, index)));
            let worst = each.max_by(|one, other| one.0.0.total_cmp(&other.0.0));
            if let Some(((times, of), index)) = worst
                && times >= UNFIT
            {
                let digits = usize::from(times < 10.0);
                let _ = writeln!(text, "{scheme},{name},{},{times:.digits$},{of}", TRAFFIC[index].1);
            }
        }
        text
    }

    /// Returns the cells of a row: bold if the scheme is unfit, with a mark if flows did not end.
    fn cells(&self, scheme: &str, layer: &'static str) -> String {
        let row = self.row(scheme, layer);
        let cell = |index: usize| {
            let Some((mean, _, ended)) = row.and_then(|row| row[index]) else {
                return " – |".to_string();
            };
            let digits = if mean >= 100.0 { 0 } else { 2 };
            let mark = if ended { "" } else { "!" };
            let unfit = scheme != "none"
                && self
                    .times(scheme, layer, index)
                    .is_some_and(|(times, _)| times >= UNFIT);
            match unfit {
                true => format!(" **{mean:.digits$}**{mark} |"),
                false => format!(" {mean:.digits$}{mark} |"),
            }
        };
        (0..TRAFFIC.len()).map(cell).collect()
    }

    fn head(first: &str) -> String {
        let names = TRAFFIC.map(|(_, name)| format!(" {name} |")).concat();
        format!("| {first} |{names}\n|---|{}\n", "---|".repeat(TRAFFIC.len()))
    }

    fn median_row(&self, layer: &str) -> String {
        let cells = (0..TRAFFIC.len()).map(|index| format!(" {:.2} |", self.median(layer, index)));
        format!("| *median of all* |{}\n", cells.collect::<String>())
    }
}

/// Iterates over the names of a scheme and of its aliases.
fn names(scheme: &Scheme) -> impl Iterator<Item = &'static str> + use<> {
    std::iter::once(scheme.name).chain(scheme.aliases.iter().map(|alias| alias.name))
}

/// Returns the matrix of all schemes.
pub(crate) fn matrix() -> String {
    let all = Matrix::read();
    let mut text = "\n## On ordinary traffic\n\nMean slowdown of each scheme and variant with its own parameters, in a fat tree of 16 \
                    hosts at 100 Gbit/s, by link layer (`paceline reproduce ordinary`, 15 minutes of processor time; its tables \
                    have the 99th percentiles, pauses and drops, too). **Bold**: at least 1.5 times the median of all schemes, or \
                    `none`. !: some flows did not end. A run under such a scheme is warned.\n"
        .to_string();
    for (layer, name) in LAYERS {
        let _ = write!(text, "\n{}\n{}", heading(name), Matrix::head("scheme"));
        text += &all.median_row(layer);
        for scheme in SCHEMES.iter().flat_map(names) {
            if all.row(scheme, layer).is_some() {
                let _ = writeln!(text, "| `{scheme}` |{}", all.cells(scheme, layer));
            }
        }
    }
    text
}

fn heading(layer: &str) -> String {
    match layer {
        "PFC" => "### Links that pause\n",
        "drops" => "### Links that drop, selective repeat\n",
        _ => "### InfiniBand's credits\n",
    }
    .into()
}

/// Returns a scheme's scope and its rows.
pub(crate) fn of_scheme(scheme: &Scheme) -> String {
    let all = Matrix::read();
    let mut text = format!("For {}\n", scheme.scope);
    let known: Vec<&str> = names(scheme)
        .filter(|name| all.row(name, "pfc").is_some())
        .collect();
    if known.is_empty() {
        return text;
    }
    text += "\nMean slowdown with its own parameters on ordinary traffic, over links that pause ([all schemes and link \
             layers](../schemes.md#on-ordinary-traffic)):\n\n";
    text += &Matrix::head("");
    for name in known {
        let _ = writeln!(text, "| `{name}` |{}", all.cells(name, "pfc"));
    }
    text + &all.median_row("pfc")
}

/// The table of misfits agrees with the recorded outcome. It has all schemes except those whose rate is set from
/// outside.
#[test]
fn misfits_are_those_that_were_recorded() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../congestion/src/misfits.csv");
    let found = Matrix::read().misfits();
    if std::env::var_os("UPDATE_BOOK").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), found);
    let all = Matrix::read();
    let told = ["fixed", "external", "policy"];
    for scheme in SCHEMES.iter().flat_map(names) {
        let is_there = all.row(scheme, "drops").is_some();
        assert_eq!(is_there, !told.contains(&scheme), "{scheme}");
    }
}

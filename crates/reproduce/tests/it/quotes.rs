//! Claims that are judged as a paper's must be in the paper: statements are quoted, and printed numbers occur in the
//! text.
//!
//! The papers' texts are not part of this repository. If a folder of them is next to it, every quotation and every
//! number is looked up; otherwise the check is skipped.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use paceline_congestion::papers;
use paceline_reproduce::{Done, Evidence, Quotation, Record, registry};
use serde::Deserialize;

/// Papers, by the names of their files of quotations, with the prefixes of their texts' names.
const TEXTS: [(&str, &str); 5] = [
    ("pidnn-thesis", "000"),
    ("tcd-thesis", "001"),
    ("decc", "002"),
    ("hpcc", "003"),
    ("bolt", "004"),
];

/// Published values that do not occur in a paper's text: experiment, part of the case or the metric, and reason.
const ELSEWHERE: [(&str, &str, &str); 9] = [
    (
        "thesis-table1",
        "round 1, error",
        "the copy's line of table 1 is broken there",
    ),
    (
        "thesis-table1",
        "round 2, error",
        "the copy's line of table 1 is broken there",
    ),
    ("thesis-table1", "first round over last", "computed from table 1"),
    (
        "thesis-table7",
        "flows of the background",
        "printed as 10w, ten times ten thousand",
    ),
    ("thesis-table8", "dcqcn, 1 KB", "printed with a comma, 172,369"),
    (
        "thesis-table8",
        "ratio, Effect of the variants",
        "computed from table 8",
    ),
    (
        "thesis-figure13",
        "moved from its start",
        "computed from the first and the last gains",
    ),
    (
        "thesis-figure19",
        "Change by prediction",
        "computed from table 4 and section 4.2.3",
    ),
    ("decc-figure10", "over Bolt's", "computed from 71.45 and 67.35 %"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the text of a paper, if it is available.
fn text(paper: &str) -> Option<String> {
    let (_, start) = TEXTS.iter().find(|(name, _)| *name == paper)?;
    let files = fs::read_dir(root().join("../shared/seeds")).ok()?;
    let mut paths = files.map(|entry| entry.unwrap().path());
    let path = paths.find(|path| path.file_name().unwrap().to_string_lossy().starts_with(start))?;
    Some(fs::read_to_string(path).unwrap())
}

fn without_space(text: &str) -> String {
    text.split_whitespace().collect()
}

/// File of a paper's quotations, by its name.
#[derive(Default, Deserialize)]
struct File {
    quotes: std::collections::BTreeMap<String, Quotation>,
}

fn quotations(paper: &str) -> File {
    let path = root().join(format!("experiments/quotes/{paper}.toml"));
    fs::read_to_string(path).map_or_else(|_| File::default(), |text| toml::from_str(&text).unwrap())
}

/// Returns the records of a paper's experiments without runs. Those of the paper on TCD are judged by the thesis.
fn records(paper: &str) -> Vec<Record> {
    let known = papers::find(paper).unwrap().short;
    let of = |short: &str| short == known || (paper == "tcd-thesis" && short == papers::TCD.short);
    let all = registry().filter(|one| of(&one.source.short));
    all.flat_map(|one| one.records(&Done::default())).collect()
}

#[test]
fn every_quotation_is_used() {
    // Line breaks and blanks of the file have no meaning.
    let whole = |quote: &Quotation| [&quote.at, &quote.text, &quote.means].map(|text| without_space(text));
    let used: Vec<_> = registry()
        .flat_map(|one| one.records(&Done::default()))
        .filter_map(|record| record.quote.as_ref().map(whole))
        .collect();
    let mut count = 0;
    for (paper, _) in TEXTS {
        for (name, quote) in quotations(paper).quotes {
            assert!(
                used.contains(&whole(&quote)),
                "{paper}: no criterion quotes `{name}`"
            );
            count += 1;
        }
    }
    let files = fs::read_dir(root().join("experiments/quotes")).unwrap();
    let names = files.map(|entry| entry.unwrap().path().file_stem().unwrap().to_owned());
    let known = |name: &std::ffi::OsStr| TEXTS.iter().any(|(paper, _)| *paper == name);
    assert!(names.into_iter().all(|name| known(&name)));
    assert!(count > 25, "{count}");
}

/// A value close to a printed one needs no quotation: the number has to occur in the text.
#[test]
fn what_the_papers_claim_is_quoted() {
    for (paper, _) in TEXTS {
        for record in records(paper) {
            let claimed = record.kind == Evidence::Property && record.source == Some("paper");
            let by_words = claimed && record.tolerance != "ordering";
            assert!(
                !by_words || record.quote.is_some(),
                "{}: {}, {} is the paper's word, so it needs a `quote`",
                record.id,
                record.case,
                record.metric
            );
        }
    }
}

#[test]
fn quotations_stand_in_the_papers() {
    for (paper, _) in TEXTS {
        let Some(text) = text(paper) else { continue };
        let text = without_space(&text);
        for (name, quote) in quotations(paper).quotes {
            let words = without_space(&quote.text);
            assert!(
                text.contains(&words),
                "{paper}: `{name}` does not stand there: {}",
                quote.text
            );
        }
    }
}

/// Returns the numbers in a text. A blank may separate thousands.
fn numbers(text: &str) -> BTreeSet<u64> {
    let letters: Vec<char> = text.chars().collect();
    let is_digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    let joined: String = (0..letters.len())
        .filter(|&at| !(letters[at] == ' ' && at > 0 && is_digit(at - 1) && is_digit(at + 1)))
        .map(|at| letters[at])
        .collect();
    let of = |text: &str| {
        let parts = text.split(|letter: char| !letter.is_ascii_digit() && letter != '.');
        let values = parts.filter_map(|part| part.trim_matches('.').parse::<f64>().ok());
        values.map(f64::to_bits).collect::<Vec<u64>>()
    };
    of(text).into_iter().chain(of(&joined)).collect()
}

#[test]
fn printed_values_stand_in_the_papers() {
    let mut used = [false; ELSEWHERE.len()];
    let mut missing = Vec::new();
    for (paper, _) in TEXTS {
        let Some(text) = text(paper) else { return };
        let numbers = numbers(&text);
        for record in records(paper) {
            let printed = record.paper.as_f64().filter(|_| record.source == Some("paper"));
            let Some(value) = printed.filter(|value| !numbers.contains(&value.abs().to_bits())) else {
                continue;
            };
            let is_it = |(id, part, _): &(&str, &str, &str)| {
                *id == record.id && (format!("{}, {}", record.case, record.metric).contains(part))
            };
            match ELSEWHERE.iter().position(is_it) {
                Some(index) => used[index] = true,
                None => missing.push(format!(
                    "{}: {}, {}: {value}",
                    record.id, record.case, record.metric
                )),
            }
        }
    }
    assert!(
        missing.is_empty(),
        "not in the papers' texts:\n{}",
        missing.join("\n")
    );
    assert!(used.iter().all(|used| *used), "an exception that is none");
}

//! Tables of recorded experiments in pages of findings: the text between two marks comes from the outcome.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use paceline_congestion::papers;
use paceline_reproduce::{Done, Outcomes, Quotation, Record, find, markdown_tables, registry};
use serde_json::Value;

use super::{book, cell, keep};

const BEGIN: &str = "<!-- tables of ";
const END: &str = "<!-- end of tables -->";

/// Returns the tables of an experiment's outcome, or only those whose title contains the text after the colon.
/// Without an outcome, returns a sentence.
fn tables(mark: &str) -> String {
    let (id, part) = mark.split_once(": ").unwrap_or((mark, ""));
    let one = find(id).unwrap_or_else(|| panic!("no experiment `{id}`"));
    match done(id) {
        Some(done) => markdown_tables(one, &done, part),
        None => format!("Not recorded yet: `paceline reproduce {id}` shows its tables.\n"),
    }
}

/// Reads the recorded outcome of an experiment, if there is one.
pub(crate) fn done(id: &str) -> Option<Done> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../experiments/{id}/outcome.json"));
    let outcome: Outcomes = serde_json::from_str(&fs::read_to_string(path).ok()?).unwrap();
    Some(outcome.done(find(id)?).unwrap())
}

const CLAIMS: &str = "<!-- claims of ";
const END_CLAIMS: &str = "<!-- end of claims -->";

/// Lists all values that a publication printed, and all criteria based on its text, by experiment, with the quoted
/// words.
fn claims(paper: &str) -> String {
    let paper = papers::find(paper).unwrap_or_else(|| panic!("no paper `{paper}`"));
    let mut text = String::new();
    let mut counts = [0; 3];
    for one in registry().filter(|one| one.source.short == paper.short) {
        let done = done(&one.id).unwrap_or_default();
        let records = one.records(&done);
        let printed = |record: &&Record| {
            let of_simulator = record.source == Some("authors' simulator");
            !of_simulator && (!record.paper.is_null() || record.source == Some("paper"))
        };
        let mut rows = String::new();
        let mut quotes: Vec<&Quotation> = Vec::new();
        for record in records.iter().filter(printed) {
            let (index, held) = match record.ok {
                Some(true) => (0, "✓"),
                Some(false) => (1, "✗"),
                None => (2, ""),
            };
            counts[index] += 1;
            let unit = Some(record.unit.as_str()).filter(|unit| !unit.is_empty());
            let metric = unit.map_or(record.metric.clone(), |unit| format!("{}, {unit}", record.metric));
            let what = match record.case.contains(&record.metric) {
                true => record.case.clone(),
                false => format!("{}: {metric}", record.case),
            };
            let judged = if held.is_empty() {
                ""
            } else {
                record.tolerance.as_str()
            };
            let quoted = record.quote.as_ref().map_or_else(String::new, |quote| {
                let known = quotes.iter().position(|known| *known == quote);
                let index = known.unwrap_or_else(|| {
                    quotes.push(quote);
                    quotes.len() - 1
                });
                format!(" ({})", index + 1)
            });
            let _ = writeln!(
                rows,
                "| {} | {} | {} | {judged} {held}{quoted} |",
                cell(&what),
                cell(&short(&record.paper)),
                cell(&short(&record.ours)),
            );
        }
        if !rows.is_empty() {
            let _ = write!(
                text,
                "### `{}`: {}\n\nOf {}.\n\n| | printed | ours | judged |\n|---|---|---|---|\n{rows}\n",
                one.id,
                one.title,
                one.source.at.split_whitespace().collect::<Vec<_>>().join(" "),
            );
            for (index, quote) in quotes.iter().enumerate() {
                let _ = writeln!(text, "{}. {}: {}", index + 1, quote.at, quote.means);
            }
            if !quotes.is_empty() {
                text.push('\n');
            }
        }
    }
    let [held, missed, shown] = counts;
    format!("{held} hold, {missed} do not, {shown} are shown without a verdict.\n\n{text}")
}

/// Formats a number with at most four decimals; a dash stands for none.
fn short(value: &Value) -> String {
    match value {
        Value::Null => "–".into(),
        Value::Number(number) => {
            let value = number.as_f64().unwrap_or_default();
            let digits = if value.abs() >= 100.0 { 1 } else { 3 };
            let text = format!("{value:.digits$}");
            text.trim_end_matches('0').trim_end_matches('.').into()
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns a page with its tables and claims filled in.
fn filled(page: &str) -> String {
    let page = between(page, (BEGIN, END), &tables);
    between(&page, (CLAIMS, END_CLAIMS), &claims)
}

/// Replaces the text between marks in a page.
fn between(page: &str, (begin, end): (&str, &str), text: &dyn Fn(&str) -> String) -> String {
    let mut page_now = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once(begin) {
        let (id, after) = after.split_once(" -->").expect("a mark ends");
        let (_, after) = after.split_once(end).expect("what stands between marks ends");
        page_now += &format!("{before}{begin}{id} -->\n\n{}\n{end}", text(id));
        rest = after;
    }
    page_now + rest
}

#[cfg(feature = "parity")]
#[test]
fn tables_are_the_recorded_ones() {
    let folder = book().join("findings");
    let pages = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found = 0;
    for path in pages.filter(|path| path.extension().is_some_and(|end| end == "md")) {
        let text = fs::read_to_string(&path).unwrap();
        found += text.matches(BEGIN).count();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        keep(&format!("findings/{name}"), &filled(&text));
    }
    assert!(found > 5, "{found}");
}

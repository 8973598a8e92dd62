//! Reproductions as Markdown, for an appendix or an issue.

use std::fmt::Write as _;

use super::count::Counts;
use super::panel::{Panel, Row};
use super::text::{criteria, difference, orderings, shown};
use super::{Done, Reproduction};

/// Returns title, source, tables with verdicts, notes and choices.
pub fn markdown(one: &Reproduction, done: &Done) -> String {
    let mut text = format!(
        "## {}: {}\n\n{}\n\n{}\n",
        one.id, one.title, one.source, one.setting
    );
    // A panel without rows is a drawing, which Markdown cannot show.
    for panel in one.panels(done).iter().filter(|panel| !panel.rows.is_empty()) {
        text.push('\n');
        if !panel.title.is_empty() {
            let _ = writeln!(text, "### {}\n", panel.title);
        }
        text.push_str(&table(panel));
        let criteria = criteria(panel).join("; ");
        if !criteria.is_empty() {
            let _ = writeln!(text, "\n{criteria}");
        }
        for (sentence, ok) in orderings(panel) {
            let _ = writeln!(text, "\n{} ordering {sentence}", if ok { "✓" } else { "✗" });
        }
    }
    let notes = one.notes.iter().map(|note| format!("* {note}\n"));
    let choices = one.choices.iter();
    let choices = choices.map(|choice| {
        let (what, tried, changed) = (&choice.what, &choice.tried, &choice.changed);
        format!("* Chosen after seeing results: {what} Tried: {tried} Changed: {changed}\n")
    });
    let all: String = notes.chain(choices).collect();
    if !all.is_empty() {
        let _ = write!(text, "\n{all}");
    }
    let counts = Counts::of(&one.records(done));
    let _ = writeln!(
        text,
        "\n{} (Paceline {})",
        counts.text(),
        crate::identity::version()
    );
    text
}

/// Returns only the tables with `part` in their title, without the texts around them.
pub fn markdown_tables(one: &Reproduction, done: &Done, part: &str) -> String {
    let panels = one.panels(done);
    let shown = |panel: &&Panel| !panel.rows.is_empty() && panel.title.contains(part);
    let tables = panels.iter().filter(shown);
    let of = |panel: &Panel| match panel.title.as_str() {
        "" => table(panel),
        title => format!("{title}:\n\n{}", table(panel)),
    };
    tables.map(of).collect::<Vec<_>>().join("\n")
}

fn table(panel: &Panel) -> String {
    let mut head = vec![panel.head.clone()];
    for (index, column) in panel.columns.iter().enumerate() {
        if panel.has_published(index) {
            head.push(format!("{}, {}", column.name, column.published));
        }
        head.push(column.name.clone());
        if panel.has_differences(index) {
            head.push(String::new());
        }
    }
    let mut text = line(&head) + &line(&vec!["---".to_string(); head.len()]);
    for (row, cells) in panel.rows.iter().zip(&panel.cells) {
        let mut all = vec![Row::name(row)];
        for (index, cell) in cells.iter().enumerate() {
            if panel.has_published(index) {
                all.push(shown(cell.paper, row.decimals));
            }
            all.push(shown(cell.ours, row.decimals));
            if panel.has_differences(index) {
                let mark = match cell.verdict(row.decimals) {
                    Some(true) => " ✓",
                    Some(false) => " ✗",
                    None => "",
                };
                all.push(difference(cell) + mark);
            }
        }
        text.push_str(&line(&all));
    }
    text
}

fn line(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

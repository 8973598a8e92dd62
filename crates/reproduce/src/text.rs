//! Reproductions as text for a terminal.

use super::count::Count;
use super::criterion::{Cell, Criterion, Evidence, Tolerance, plain};
use super::panel::Panel;
use super::{Done, Reproduction};
use paceline_lab::table::{self, Column};

/// Returns a value with the digits of its paper.
pub(super) fn shown(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "–".to_string(), |value| format!("{value:.decimals$}"))
}

/// Returns the difference of our value in percent, without a sign if it rounds to zero; for a bound, returns the
/// bound.
pub(super) fn difference(cell: &Cell) -> String {
    let bound = match cell.criterion.tolerance {
        Tolerance::AtMost(most) => Some(format!("≤ {}", plain(most))),
        Tolerance::AtLeast(least) => Some(format!("≥ {}", plain(least))),
        Tolerance::Between(least, most) => Some(format!("{}…{}", plain(least), plain(most))),
        _ => None,
    };
    if let Some(bound) = bound {
        return bound;
    }
    let Some(ratio) = cell.ratio() else {
        return "–".to_string();
    };
    let text = format!("{:+.1}%", (ratio - 1.0) * 100.0);
    match text.strip_prefix(['+', '-']) {
        Some("0.0%") => "0.0%".to_string(),
        _ => text,
    }
}

/// Returns the criteria of a panel with the number of values that meet them: `as published, exact: 9 of 12`.
pub(super) fn criteria(panel: &Panel) -> Vec<String> {
    let mut kinds: Vec<(Criterion, Vec<Option<bool>>)> = Vec::new();
    for (row, cells) in panel.rows.iter().zip(&panel.cells) {
        for cell in cells.iter().filter(|cell| cell.is_compared()) {
            let verdict = cell.verdict(row.decimals);
            let is_same = |known: &Criterion| {
                *known == cell.criterion
                    || (known.kind, cell.criterion.kind) == (Evidence::Shown, Evidence::Shown)
            };
            match kinds.iter_mut().find(|(known, _)| is_same(known)) {
                Some((_, verdicts)) => verdicts.push(verdict),
                None => kinds.push((cell.criterion.clone(), vec![verdict])),
            }
        }
    }
    let text = |(criterion, verdicts): (Criterion, Vec<Option<bool>>)| match criterion.kind {
        Evidence::Shown => format!(
            "{} next to reference values: {}",
            criterion.text(),
            verdicts.len()
        ),
        _ => format!("{}: {}", criterion.text(), Count::of(verdicts).text()),
    };
    kinds.into_iter().map(text).collect()
}

/// Describes the orderings: those that hold, and ours for those that do not. Rows with the same published order share
/// a text.
pub(super) fn orderings(panel: &Panel) -> Vec<(String, bool)> {
    let all = panel.orderings();
    let mut orders: Vec<&str> = Vec::new();
    for ordering in all.iter().filter(|ordering| ordering.ok.is_some()) {
        if !orders.contains(&ordering.paper.as_str()) {
            orders.push(&ordering.paper);
        }
    }
    let sentence = |order: &str| {
        let rows = || all.iter().filter(|o| o.paper == order && o.ok.is_some());
        let names: Vec<&str> = rows().map(|o| o.row.as_str()).collect();
        let wrong: Vec<String> = rows()
            .filter(|o| o.ok == Some(false))
            .map(|o| format!("{}: {}", o.row, o.ours.as_deref().unwrap_or("–")))
            .collect();
        let span = match &names[..] {
            [first, .., last] if names.len() > 3 => {
                format!("in all {} rows with it, from {first} to {last}", names.len())
            }
            _ => format!("({})", names.join("; ")),
        };
        if wrong.is_empty() {
            (format!("{order} holds {span}"), true)
        } else if names.len() == 1 {
            (format!("{order} does not hold; ours is {}", wrong[0]), false)
        } else {
            let kept = names.len() - wrong.len();
            let others = wrong.join("; ");
            let text = format!(
                "{order} holds in {kept} of {} rows; ours otherwise: {others}",
                names.len()
            );
            (text, false)
        }
    };
    orders.into_iter().map(sentence).collect()
}

fn mark(verdict: Option<bool>) -> &'static str {
    match verdict {
        Some(true) => " ✓",
        Some(false) => " ✗",
        None => "  ",
    }
}

/// Returns a table of the columns from `first` on that fit into the width, and the index of the next column.
fn part(panel: &Panel, first: usize, width: usize) -> (String, usize) {
    let names = panel.rows.iter().map(super::panel::Row::name).collect();
    let mut columns = vec![Column::left("", &panel.head, names)];
    let mut text = table::render(&columns);
    let mut next = first;
    while next < panel.columns.len() {
        let column = |cell: &dyn Fn(&Cell, usize) -> String| {
            let cells = panel.cells.iter().zip(&panel.rows);
            cells
                .map(|(cells, row)| cell(&cells[next], row.decimals))
                .collect()
        };
        let group = &panel.columns[next].name;
        if panel.has_published(next) {
            columns.push(Column::right(
                group,
                &panel.columns[next].published,
                column(&|cell, d| shown(cell.paper, d)),
            ));
        }
        columns.push(Column::right(
            group,
            "ours",
            column(&|cell, d| shown(cell.ours, d)),
        ));
        let judged = |cell: &Cell, d: usize| difference(cell) + mark(cell.verdict(d));
        if panel.has_differences(next) {
            columns.push(Column::right(group, "diff  ", column(&judged)));
        }
        let wider = table::render(&columns);
        let fits = wider.lines().all(|line| table::width_of(line) <= width);
        // A single column is printed even if it is too wide, since otherwise no column would ever follow.
        if !fits && next > first {
            break;
        }
        text = wider;
        next += 1;
    }
    (text, next)
}

/// Returns a reproduction as text: its description, tables, verdicts and notes. `✓` and `✗` mark values within and
/// outside of their tolerance.
pub fn text(reproduction: &Reproduction, done: &Done, width: usize) -> String {
    let panels = reproduction.panels(done);
    let mut text = format!("{}: {}\n", reproduction.id, reproduction.title);
    text.push_str(&paragraph(&reproduction.source.to_string(), width, ""));
    text.push_str(&paragraph(&reproduction.setting, width, ""));
    for panel in panels.iter().filter(|panel| !panel.rows.is_empty()) {
        text.push('\n');
        if !panel.title.is_empty() {
            text.push_str(&format!("{}\n", panel.title));
        }
        let mut next = 0;
        while next < panel.columns.len() {
            if next > 0 {
                text.push('\n');
            }
            let (table, after) = part(panel, next, width);
            text.push_str(&table);
            next = after;
        }
        text.push_str(&paragraph(&criteria(panel).join("; "), width, ""));
        for (sentence, ok) in orderings(panel) {
            let mark = if ok { "✓" } else { "✗" };
            text.push_str(&paragraph(&format!("{mark} ordering {sentence}"), width, "  "));
        }
    }
    for note in &reproduction.notes {
        text.push_str(&paragraph(&format!("* {note}"), width, "  "));
    }
    for choice in &reproduction.choices {
        let short = format!("* chosen after seeing results: {}", choice.what);
        text.push_str(&paragraph(&short, width, "  "));
    }
    text
}

/// Wraps `words` to lines of `width`, indenting all but the first.
fn paragraph(words: &str, width: usize, indent: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in words.split_whitespace() {
        match lines.last_mut() {
            Some(line) if table::width_of(line) + 1 + table::width_of(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(format!("{indent}{word}")),
            None => lines.push(word.to_string()),
        }
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

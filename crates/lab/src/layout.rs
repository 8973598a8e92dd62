//! Plain text for terminals: columns, wrapped paragraphs, and suggestions for misspelt names.

pub use paceline_scenario::diagnostics::{among_many, nearest, nearest_few};

/// Maximum width of all columns but the last, unless a single word is longer.
const WIDEST: usize = 28;

/// Formats rows of cells as columns two spaces apart; cells are wrapped, so that lines fit `width`.
pub fn columns(rows: &[Vec<String>], width: usize) -> String {
    let mut widths = widths(rows, WIDEST);
    let taken: usize = widths.iter().rev().skip(1).map(|width| width + 2).sum();
    if let Some(last) = widths.last_mut() {
        // In a narrower column almost every word would be a line; rather the terminal wraps.
        *last = width.saturating_sub(taken).max(30);
    }
    let mut text = String::new();
    for row in rows {
        let cells: Vec<Vec<String>> = row
            .iter()
            .zip(&widths)
            .map(|(cell, &width)| wrap(cell, width))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        for i in 0..height {
            let part = |cell: &Vec<String>| cell.get(i).cloned().unwrap_or_default();
            let parts = cells
                .iter()
                .zip(&widths)
                .map(|(cell, &width)| format!("{:width$}", part(cell)));
            text.push_str(parts.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
    }
    text
}

/// Returns the widths of columns whose cells are wrapped at `most`.
fn widths(rows: &[Vec<String>], most: usize) -> Vec<usize> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |i: usize| {
        let cells = rows.iter().filter_map(|row| row.get(i));
        let lines = cells.flat_map(|cell| wrap(cell, most));
        lines.map(|line| line.chars().count()).max().unwrap_or(0)
    };
    (0..count).map(widest).collect()
}

/// Formats rows of cells as columns, all but the first right-aligned.
pub fn table(rows: &[Vec<String>]) -> String {
    let widths = widths(rows, usize::MAX);
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(i, (cell, &width))| match i {
            0 => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ") + "\n"
    };
    rows.iter().map(line).collect()
}

/// Splits `text` into lines of at most `width` characters, broken at spaces; returns at least one line.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_string());
        }
    }
    lines
}

/// Wraps a paragraph and ends it with a newline.
pub fn paragraph(text: &str, width: usize) -> String {
    let mut paragraph = wrap(text, width).join("\n");
    paragraph.push('\n');
    paragraph
}

/// Draws values as a line of block characters, scaled to the largest.
pub fn sparkline(values: &[f64]) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let largest = values.iter().copied().fold(0.0, f64::max);
    let block = |&value: &f64| {
        let share = if largest > 0.0 { value / largest } else { 0.0 };
        BLOCKS[((share * 8.0).ceil() as usize).clamp(1, 8) - 1]
    };
    values.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_cells_are_wrapped() {
        let row = |cells: [&str; 2]| cells.map(str::to_string).to_vec();
        let rows = [
            row(["a", "one two three four five six seven"]),
            row(["long", "x"]),
        ];
        assert_eq!(
            columns(&rows, 20),
            "a     one two three four five six\n      seven\nlong  x\n"
        );
    }

    #[test]
    fn sparklines() {
        assert_eq!(sparkline(&[1.0, 0.5, 0.25, 0.0]), "█▄▂▁");
        assert_eq!(sparkline(&[0.0, 0.0]), "▁▁");
        assert_eq!(sparkline(&[]), "");
    }

    #[test]
    fn near_names_only() {
        let names = ["hpcc", "dcqcn", "fat-tree"];
        assert_eq!(nearest("hpc", names), Some("hpcc"));
        assert_eq!(nearest("FatTree", names), Some("fat-tree"));
        assert_eq!(nearest("reno", names), None);
        assert_eq!(
            nearest_few("hpcn", ["hpcc", "pcn", "dx", "hpc"], 2),
            ["hpcc", "pcn"]
        );
    }
}

//! PFC frames that arrived at ports.

use crate::source::Source;
use crate::table::{Part, Rows, Table, int, ints, whole};

pub(super) const FRAMES: Table = Table {
    name: "pfc",
    about: "a PFC frame, in order of time; in a folder at whole ns, with null priorities",
    needs: "",
    columns: &[
        int("time_ps", "when it arrived"),
        int("node", "the node that is paused or resumed"),
        int("port", "its interface, from 1 in the order of links"),
        int("pause", "1 for a pause, 0 for a resume"),
        int("priority", "the class"),
    ],
    rows: Rows::Made(|run, first| {
        if first > 0 {
            return Ok(Part::default());
        }
        let rows = frames(run)?;
        Ok(whole(first, || {
            (0..5).map(|column| ints(&rows, |row| row[column])).collect()
        }))
    }),
};

fn frames(run: &Source) -> Result<Vec<[Option<u64>; 5]>, String> {
    if let Some(outcome) = run.outcome() {
        let row = |frame: &paceline_fabric::outcome::PfcEvent| {
            let (node, port) = (frame.node.0.into(), frame.interface.into());
            [
                frame.at.as_ps(),
                node,
                port,
                frame.pause.into(),
                frame.class.into(),
            ]
            .map(Some)
        };
        return Ok(outcome.pfc.iter().map(row).collect());
    }
    let Some(path) = run.file("pfc.txt").filter(|path| path.exists()) else {
        return Ok(Vec::new());
    };
    let text = paceline_scenario::read_text(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let row = |(number, line): (usize, &str)| {
        let fields: Option<Vec<u64>> = line.split_whitespace().map(|field| field.parse().ok()).collect();
        match fields.as_deref() {
            // The third field tells hosts from switches; the file has no class.
            Some(&[ns, node, _, port, kind]) => Ok([
                Some(ns.saturating_mul(1000)),
                Some(node),
                Some(port),
                Some(kind),
                None,
            ]),
            _ => Err(format!(
                "{}: line {number}: expected 5 numbers, found `{line}`",
                path.display()
            )),
        }
    };
    (1..).zip(text.lines()).map(row).collect()
}

//! Pauses that can never end.

use crate::table::{Part, Rows, Table, int, ints, not_in_folder, whole};

pub(super) const PAUSES: Table = Table {
    name: "deadlock",
    about: "a pause that can never end; `summary` has the same in seconds",
    needs: "an experiment: a folder does not have it",
    columns: &[
        int("node", "the node that is paused"),
        int("port", "its interface, from 1 in the order of links"),
        int("peer", "the node that paused it"),
        int("priority", "the class"),
        int("since_ps", "when it was paused"),
        int(
            "circle",
            "the number, from 0, of the circle of pauses that it is part of",
        ),
        int("found_ps", "when it was found to be endless"),
    ],
    rows: Rows::Made(|run, first| {
        let outcome = run.outcome().ok_or_else(|| not_in_folder("deadlock"))?;
        let Some(proof) = &outcome.deadlock else {
            return Ok(Part::default());
        };
        let circle = |place: usize| proof.cycles.iter().position(|cycle| cycle.contains(&place));
        let rows: Vec<_> = proof.pauses.iter().enumerate().collect();
        Ok(whole(first, || {
            vec![
                ints(&rows, |row| Some(row.1.port.node.0.into())),
                ints(&rows, |row| Some(row.1.port.interface.into())),
                ints(&rows, |row| Some(row.1.port.peer.0.into())),
                ints(&rows, |row| Some(row.1.class.into())),
                ints(&rows, |row| Some(row.1.since.as_ps())),
                ints(&rows, |row| circle(row.0).map(|circle| circle as u64)),
                ints(&rows, |_| Some(proof.found.as_ps())),
            ]
        }))
    }),
};

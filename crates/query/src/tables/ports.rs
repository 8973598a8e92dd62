//! Port statistics in bins of time.

use crate::table::{Part, Rows, Table, int, ints, not_in_folder, real, reals, whole};

pub(super) const BINS: Table = Table {
    name: "port_bins",
    about: "a port and bin of time; `series` has the same in steps",
    needs: "record.ports, and an experiment: a folder does not have it",
    columns: &[
        int("node", "the node"),
        int("port", "its interface, from 1 in the order of links"),
        int("peer", "the node at the other end"),
        int("start_ps", "when the bin starts"),
        int("width_ps", "its width"),
        real("utilisation", "bytes sent over those that the link carries"),
        real("paused", "share of the time in which the peer paused some class"),
        int("queue_max_bytes", "largest queue"),
        int("marks", "data packets marked congested here, and not before"),
    ],
    rows: Rows::Made(|run, first| {
        let outcome = run.outcome().ok_or_else(|| not_in_folder("port_bins"))?;
        let Some(series) = &outcome.ports else {
            return Ok(Part::default());
        };
        let of = |(place, port)| {
            let bins = series.of_port(place).enumerate();
            bins.map(move |(bin, cell)| (port, series.begin(bin).as_ps(), *cell))
        };
        let rows: Vec<_> = series.ports.iter().enumerate().flat_map(of).collect();
        Ok(whole(first, || {
            vec![
                ints(&rows, |row| Some(row.0.node.0.into())),
                ints(&rows, |row| Some(row.0.interface.into())),
                ints(&rows, |row| Some(row.0.peer.0.into())),
                ints(&rows, |row| Some(row.1)),
                ints(&rows, |_| Some(series.bin.as_ps())),
                reals(&rows, |row| Some(row.2.utilisation.into())),
                reals(&rows, |row| Some(row.2.paused.into())),
                ints(&rows, |row| Some(row.2.queue_max.into())),
                ints(&rows, |row| Some(row.2.marks.into())),
            ]
        }))
    }),
};

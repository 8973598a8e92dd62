//! Round-trip samples, and acknowledged bytes over time.

use paceline_lab::files::GOODPUT;

use crate::table::{Part, Rows, Table, int, ints, not_in_folder, whole};

pub(super) const SAMPLES: Table = Table {
    name: "rtt_samples",
    about: "a round trip of a flow: the first acknowledgement of what was sent after the one before",
    needs: "record.rtt-samples, and an experiment: a folder does not have it",
    columns: &[
        int("time_ps", "when it arrived"),
        int("flow_id", "the flow"),
        int("seq", "the byte up to which it acknowledges"),
        int("rtt_ps", "time since the start of the packet's transmission"),
    ],
    rows: Rows::Made(|run, first| {
        let outcome = run.outcome().ok_or_else(|| not_in_folder("rtt_samples"))?;
        let samples = &outcome.rtt_samples;
        Ok(whole(first, || {
            vec![
                ints(samples, |one| Some(one.at.as_ps())),
                ints(samples, |one| Some(one.flow.into())),
                ints(samples, |one| Some(one.seq)),
                ints(samples, |one| Some(one.rtt.as_ps())),
            ]
        }))
    }),
};

pub(super) const ACKNOWLEDGED: Table = Table {
    name: "acknowledged",
    about: "a flow and bin of time from its first to its last acknowledgement",
    needs: "record.rates",
    columns: &[
        int("flow_id", "the flow"),
        int("bin", "the bin's number: it starts at so many widths"),
        int("start_ps", "when it starts"),
        int("width_ps", "its width"),
        int("bytes", "payload acknowledged in it"),
    ],
    rows: Rows::Made(|run, first| {
        if first > 0 {
            return Ok(Part::default());
        }
        let mut rows: Vec<[u64; 5]> = Vec::new();
        if let Some(outcome) = run.outcome() {
            let width = outcome.rate_bin.as_ps();
            for record in &outcome.rates {
                let bins = (record.first_bin..).zip(&record.bytes);
                rows.extend(bins.map(|(bin, &bytes)| [record.flow.into(), bin, bin * width, width, bytes]));
            }
        } else {
            for series in run.series.iter().filter(|series| series.metric == GOODPUT) {
                let flow = series
                    .entity
                    .strip_prefix("flow ")
                    .and_then(|flow| flow.parse().ok());
                let width = series.bin_ps.max(1);
                // The recorded rate is rounded down, so this is the smallest number of bytes that gives it.
                let bytes = |bps: f64| (bps as u128 * u128::from(width)).div_ceil(8_000_000_000_000) as u64;
                let points = series.points.iter();
                rows.extend(points.filter_map(|&(at, bps)| Some([flow?, at / width, at, width, bytes(bps)])));
            }
        }
        Ok(whole(first, || {
            (0..5)
                .map(|column| ints(&rows, |row| Some(row[column])))
                .collect()
        }))
    }),
};

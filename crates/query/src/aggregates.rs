//! Aggregates that SQL lacks.
//!
//! Sums go over ascending samples or over rows in their order, so that the same run gives the same bytes.

use paceline_lab::measures::{element, step_mean};
use paceline_lab::stats::{jain, mean, percentile};
use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};

/// An aggregate: its name, its arguments and what it gives.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    /// Its name.
    pub name: &'static str,
    /// Its arguments, as a page shows them.
    pub arguments: &'static str,
    /// What it gives.
    pub meaning: &'static str,
    width: usize,
    of: fn(&Rows) -> Option<f64>,
}

/// The arguments of all rows, in their order.
#[derive(Debug, Default)]
struct Rows {
    width: usize,
    values: Vec<f64>,
}

impl Rows {
    /// An argument of each row.
    fn each(&self, argument: usize) -> impl Iterator<Item = f64> {
        self.values
            .iter()
            .copied()
            .skip(argument)
            .step_by(self.width.max(1))
    }

    /// One that is the same in every row.
    fn any(&self, argument: usize) -> Option<f64> {
        self.values.get(argument).copied()
    }

    fn ascending(&self) -> Vec<f64> {
        let mut values: Vec<f64> = self.each(0).collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    }
}

/// All of them. Rows without a number in the first argument do not count.
pub const AGGREGATES: &[Described] = &[
    Described {
        name: "percentile",
        arguments: "x, p",
        meaning: "the p-quantile of x, p from 0 to 1, interpolated between the two nearest values",
        width: 2,
        of: |rows| percentile(&rows.ascending(), rows.any(1)?),
    },
    Described {
        name: "median",
        arguments: "x",
        meaning: "the same for p = 0.5",
        width: 1,
        of: |rows| percentile(&rows.ascending(), 0.5),
    },
    Described {
        name: "element",
        arguments: "x, percent",
        meaning: "element floor(n percent / 100) of the n ascending values of x, from 0",
        width: 2,
        of: |rows| element(&rows.ascending(), rows.any(1)? as usize),
    },
    Described {
        name: "mean",
        arguments: "x",
        meaning: "the arithmetic mean, summed over ascending values",
        width: 1,
        of: |rows| mean(&rows.ascending()),
    },
    Described {
        name: "jain",
        arguments: "x",
        meaning: "Jain's index of fairness",
        width: 1,
        of: |rows| jain(&rows.each(0).collect::<Vec<_>>()),
    },
    Described {
        name: "time_average",
        arguments: "x, t, from, to",
        meaning: "the mean over the time from .. to of a value x that holds from its time t until the next; rows in order of t",
        width: 4,
        of: |rows| {
            let (from, to) = (rows.any(2)?, rows.any(3)?);
            let points: Vec<(f64, f64)> = rows.each(1).zip(rows.each(0)).collect();
            (from < to).then(|| step_mean(&points, from, to))
        },
    },
];

/// Makes them known.
pub(crate) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    for &aggregate in AGGREGATES {
        let width = aggregate.width as i32;
        connection.create_aggregate_function(aggregate.name, width, flags, Gather(aggregate))?;
    }
    Ok(())
}

/// Gathers rows until all are there.
struct Gather(Described);

impl Aggregate<Rows, Option<f64>> for Gather {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Rows> {
        Ok(Rows {
            width: self.0.width,
            values: Vec::new(),
        })
    }

    fn step(&self, context: &mut Context<'_>, rows: &mut Rows) -> rusqlite::Result<()> {
        let before = rows.values.len();
        for argument in 0..rows.width {
            match context.get::<Option<f64>>(argument)? {
                Some(value) => rows.values.push(value),
                // As SQL's own aggregates leave out what is missing.
                None => {
                    rows.values.truncate(before);
                    break;
                }
            }
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, rows: Option<Rows>) -> rusqlite::Result<Option<f64>> {
        let value = rows.and_then(|rows| (self.0.of)(&rows));
        Ok(value.filter(|value| value.is_finite()))
    }
}

//! Aggregate functions that SQL lacks.
//!
//! The order of summation is fixed (ascending samples, or rows in order), so that equal runs give equal bytes.

use paceline_lab::measures::element;
use paceline_lab::stats::{jain, mean, percentile, step_mean};
use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};

/// An aggregate function: name, arguments and meaning, as pages show them.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    /// Name of the function in SQL.
    pub name: &'static str,
    /// Argument names, as a page shows them.
    pub arguments: &'static str,
    /// Description of the result.
    pub meaning: &'static str,
    width: usize,
    of: fn(&Rows) -> Option<f64>,
}

/// Arguments of all rows, in row order.
#[derive(Debug, Default)]
struct Rows {
    width: usize,
    values: Vec<f64>,
}

impl Rows {
    /// Iterates over one argument of all rows.
    fn each(&self, argument: usize) -> impl Iterator<Item = f64> {
        self.values
            .iter()
            .copied()
            .skip(argument)
            .step_by(self.width.max(1))
    }

    /// Returns an argument that is equal in all rows, from the first one.
    fn any(&self, argument: usize) -> Option<f64> {
        self.values.get(argument).copied()
    }

    /// Returns pairs of the second and the first argument, sorted by the second, because a query may group rows in
    /// any order.
    fn points(&self) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> = self.each(1).zip(self.each(0)).collect();
        if !points.is_sorted_by(|a, b| a.0 <= b.0) {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        points
    }

    /// Returns the first argument of the row with the best second argument.
    fn best(&self, better: fn(f64, f64) -> bool) -> Option<f64> {
        let mut rows = self.each(0).zip(self.each(1));
        let first = rows.next()?;
        let best = rows.fold(first, |best, row| if better(row.1, best.1) { row } else { best });
        Some(best.0)
    }

    fn ascending(&self) -> Vec<f64> {
        let mut values: Vec<f64> = self.each(0).collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    }
}

/// All aggregate functions. Rows with a missing argument are ignored.
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
        name: "element_at",
        arguments: "x, p",
        meaning: "element floor(n p) of the n ascending values of x, p from 0 to 1; the last at 1",
        width: 2,
        of: |rows| {
            let ascending = rows.ascending();
            let place = (ascending.len() as f64 * rows.any(1)?).floor() as usize;
            ascending.get(place.min(ascending.len() - 1)).copied()
        },
    },
    Described {
        name: "counted_quantile",
        arguments: "x, n, p",
        meaning: "the least x such that a share p of all is at most x, where each x is there n times; rows ascending",
        width: 3,
        of: |rows| {
            let total: f64 = rows.each(1).sum();
            let wanted = (rows.any(2)? * total).ceil().max(1.0);
            let mut sum = 0.0;
            let mut counted = rows.each(0).zip(rows.each(1));
            counted.find_map(|(value, count)| {
                sum += count;
                (sum >= wanted).then_some(value)
            })
        },
    },
    Described {
        name: "mean",
        arguments: "x",
        meaning: "the arithmetic mean, summed over ascending values",
        width: 1,
        of: |rows| mean(&rows.ascending()),
    },
    Described {
        name: "ordered_mean",
        arguments: "x",
        meaning: "the same, summed over rows in their order",
        width: 1,
        of: |rows| mean(&rows.each(0).collect::<Vec<_>>()),
    },
    Described {
        name: "ordered_sum",
        arguments: "x",
        meaning: "the sum over rows in their order",
        width: 1,
        of: |rows| Some(rows.each(0).sum()),
    },
    Described {
        name: "first",
        arguments: "x, t",
        meaning: "the x of the least t, of several the first",
        width: 2,
        of: |rows| rows.best(|t, best| t < best),
    },
    Described {
        name: "last",
        arguments: "x, t",
        meaning: "the x of the largest t, of several the last",
        width: 2,
        of: |rows| rows.best(|t, best| t >= best),
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
        meaning: "the mean over the time from .. to of a value x that holds from its time t until the next",
        width: 4,
        of: |rows| {
            let (from, to) = (rows.any(2)?, rows.any(3)?);
            (from < to).then(|| step_mean(&rows.points(), from, to))
        },
    },
    Described {
        name: "time_percentile",
        arguments: "x, t, from, to, p",
        meaning: "the least such value that it was not larger for a share p of the time from .. to",
        width: 5,
        of: |rows| {
            let (from, to) = (rows.any(2)?, rows.any(3)?);
            time_percentile(&rows.points(), from, to, rows.any(4)?)
        },
    },
    Described {
        name: "busy",
        arguments: "start, takes, from, to",
        meaning: "the share of from .. to that rows take, each from its start for as long as it takes",
        width: 4,
        of: |rows| {
            let (from, to) = (rows.any(2)?, rows.any(3)?);
            let within = rows.each(0).zip(rows.each(1));
            let within = within.filter(|(start, takes)| start + takes > from && *start < to);
            let time: f64 = within
                .map(|(start, takes)| (start + takes).min(to) - start.max(from))
                .sum();
            (from < to).then(|| time / (to - from))
        },
    },
];

/// Returns the smallest value that was not exceeded for a share of the time. Each value holds until the next point.
fn time_percentile(points: &[(f64, f64)], from: f64, to: f64, share: f64) -> Option<f64> {
    let pairs = points.windows(2).map(|pair| {
        let (begin, end) = (pair[0].0.max(from), pair[1].0.min(to));
        (pair[0].1, end - begin)
    });
    let mut held: Vec<(f64, f64)> = pairs.filter(|(_, time)| *time > 0.0).collect();
    held.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = held.iter().map(|(_, time)| time).sum();
    let mut sum = 0.0;
    held.iter().find_map(|&(value, time)| {
        sum += time;
        (sum >= share * total).then_some(value)
    })
}

/// Registers all aggregate functions.
pub(crate) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    for &aggregate in AGGREGATES {
        let width = aggregate.width as i32;
        connection.create_aggregate_function(aggregate.name, width, flags, Gather(aggregate))?;
    }
    Ok(())
}

/// Collects the rows of a group; the function is evaluated at the end.
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
                // Missing values are ignored, as in SQL's own aggregates.
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

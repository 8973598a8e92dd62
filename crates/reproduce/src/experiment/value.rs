//! Evaluation of expressions for a set of runs.

use std::ops::Range;

use paceline_lab::stats::{CONFIDENCE, interval, jain, mean};

use super::expr::{Function, Operator};

/// Expression whose names are resolved.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    Number(f64),
    Cases(Vec<f64>),
    Measure(Leaf),
    /// Step, with the name of one of its numbers or curves.
    Step(String, String),
    /// Value that does not depend on runs.
    Known(Value),
    Negative(Box<Self>),
    Binary(Operator, Box<Self>, Box<Self>),
    Call(Function, Vec<Self>),
}

/// Measure of some runs.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub(super) measure: String,
    /// Runs of each case, one per seed, as indices into the experiment's runs. `None` for a case that is not run.
    pub(super) runs: Vec<Option<Range<usize>>>,
    /// True if several cases were asked for, even if there is only one.
    pub(super) list: bool,
    /// True if means may be over the available seeds only.
    pub(super) partial: bool,
}

/// Value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(f64),
    List(Vec<f64>),
    Curve(Vec<(f64, f64)>),
}

impl Value {
    fn numbers(self) -> Vec<f64> {
        match self {
            Self::Number(number) => vec![number],
            Self::List(list) => list,
            Self::Curve(points) => points.into_iter().map(|(_, y)| y).collect(),
        }
    }
}

/// Source of measures and of steps' values.
pub(super) trait Data {
    /// Returns a measure of a run.
    fn measure(&self, run: usize, name: &str) -> Option<Value>;

    /// Returns a number or a curve of a step.
    fn step(&self, _: &str, _: &str) -> Option<Value> {
        None
    }
}

impl Expr {
    /// Returns true if it depends on no run and no step.
    pub(super) fn is_constant(&self) -> bool {
        match self {
            Self::Number(_) | Self::Cases(_) => true,
            Self::Measure(_) | Self::Step(..) | Self::Known(_) => false,
            Self::Negative(inner) => inner.is_constant(),
            Self::Binary(_, a, b) => a.is_constant() && b.is_constant(),
            Self::Call(_, all) => all.iter().all(Self::is_constant),
        }
    }

    /// Returns its value if that needs no run.
    pub(super) fn constant(&self) -> Option<f64> {
        struct Nothing;

        impl Data for Nothing {
            fn measure(&self, _: usize, _: &str) -> Option<Value> {
                None
            }
        }
        self.number(&Nothing)
    }

    /// Calls `found` with every measure in it.
    pub(super) fn measures(&self, found: &mut dyn FnMut(&Leaf)) {
        match self {
            Self::Number(_) | Self::Cases(_) | Self::Step(..) | Self::Known(_) => {}
            Self::Measure(leaf) => found(leaf),
            Self::Negative(inner) => inner.measures(found),
            Self::Binary(_, a, b) => {
                a.measures(found);
                b.measures(found);
            }
            Self::Call(_, all) => all.iter().for_each(|one| one.measures(found)),
        }
    }

    /// Returns its value if all operands exist; not finite after a division by zero.
    pub(super) fn number(&self, data: &dyn Data) -> Option<f64> {
        match self.value(data, None)? {
            Value::Number(number) => Some(number),
            Value::List(_) | Value::Curve(_) => None,
        }
    }

    /// Returns the points of the curve; empty if it has another type or a missing operand.
    pub(super) fn curve(&self, data: &dyn Data) -> Vec<(f64, f64)> {
        match self.value(data, None) {
            Some(Value::Curve(points)) => points,
            _ => Vec::new(),
        }
    }

    fn value(&self, data: &dyn Data, seed: Option<usize>) -> Option<Value> {
        match self {
            Self::Number(number) => Some(Value::Number(*number)),
            Self::Cases(all) => Some(Value::List(all.clone())),
            Self::Measure(leaf) => leaf.value(data, seed),
            Self::Step(step, name) => data.step(step, name),
            Self::Known(value) => Some(value.clone()),
            Self::Negative(inner) => each(&[inner.value(data, seed)?], |all| -all[0]),
            Self::Binary(operator, a, b) => {
                let both = [a.value(data, seed)?, b.value(data, seed)?];
                each(&both, |all| operator.of(all[0], all[1]))
            }
            Self::Call(Function::PerSeed, inner) => {
                let mut seeds = 0;
                let mut partial = false;
                inner[0].measures(&mut |leaf| {
                    let most = leaf.runs.iter().flatten().map(ExactSizeIterator::len).max();
                    seeds = seeds.max(most.unwrap_or(0));
                    partial |= leaf.partial;
                });
                let of = |seed| match inner[0].value(data, Some(seed))? {
                    Value::Number(number) => Some(number),
                    _ => None,
                };
                // A mean of fewer seeds than asked for would pass unnoticed, unless the grid allows it.
                let found: Vec<Option<f64>> = (0..seeds).map(of).collect();
                match partial {
                    true => Some(Value::List(found.into_iter().flatten().collect())),
                    false => found.into_iter().collect::<Option<Vec<f64>>>().map(Value::List),
                }
            }
            Self::Call(Function::Each, all) => {
                let there = all.iter().filter_map(|one| one.value(data, seed));
                Some(Value::List(
                    there
                        .flat_map(Value::numbers)
                        .filter(|one| one.is_finite())
                        .collect(),
                ))
            }
            Self::Call(function, arguments) => {
                let values: Option<Vec<Value>> = arguments.iter().map(|one| one.value(data, seed)).collect();
                call(*function, values?)
            }
        }
    }
}

impl Leaf {
    fn value(&self, data: &dyn Data, seed: Option<usize>) -> Option<Value> {
        let cases: Option<Vec<Value>> = self
            .runs
            .iter()
            .map(|runs| self.case(data, runs.clone()?, seed))
            .collect();
        let mut cases = cases?;
        match self.list {
            false => cases.pop(),
            true => Some(Value::List(cases.into_iter().flat_map(Value::numbers).collect())),
        }
    }

    /// Evaluates the measure for the runs of a case.
    fn case(&self, data: &dyn Data, runs: Range<usize>, seed: Option<usize>) -> Option<Value> {
        if let Some(seed) = seed {
            let run = runs.start + seed;
            return runs.contains(&run).then(|| data.measure(run, &self.measure))?;
        }
        if runs.len() == 1 {
            return data.measure(runs.start, &self.measure);
        }
        let numbers = runs.map(|run| match data.measure(run, &self.measure)? {
            Value::Number(number) => Some(number),
            _ => None,
        });
        // As above: a missing run leaves no value, unless the grid allows it.
        let numbers: Option<Vec<f64>> = match self.partial {
            true => Some(numbers.flatten().collect()),
            false => numbers.collect(),
        };
        mean(&numbers?).map(Value::Number)
    }
}

/// Applies `of` to each element of lists, which must have the same length.
fn each(values: &[Value], of: impl Fn(&[f64]) -> f64) -> Option<Value> {
    let mut length = None;
    for value in values {
        match value {
            Value::Number(_) => {}
            Value::List(list) if length.is_none_or(|length| length == list.len()) => {
                length = Some(list.len())
            }
            Value::List(_) | Value::Curve(_) => return None,
        }
    }
    let at = |index: usize| {
        let one = |value: &Value| match value {
            Value::List(list) => list[index],
            Value::Number(number) => *number,
            Value::Curve(_) => f64::NAN,
        };
        of(&values.iter().map(one).collect::<Vec<f64>>())
    };
    match length {
        None => Some(Value::Number(at(0))),
        Some(length) => Some(Value::List((0..length).map(at).collect())),
    }
}

fn call(function: Function, values: Vec<Value>) -> Option<Value> {
    let logarithms = |all: &[f64]| -> Option<Vec<f64>> {
        let positive = all.iter().all(|one| *one > 0.0);
        positive.then(|| all.iter().map(|one| libm::log(*one)).collect())
    };
    // These functions keep the form of their arguments; those below take all numbers as one list.
    match function {
        Function::Abs => return each(&values, |all| all[0].abs()),
        Function::Sqrt => return each(&values, |all| all[0].sqrt()),
        // `libm`, since logarithms of the platforms differ in the last digit.
        Function::Log => return each(&values, |all| libm::log(all[0])),
        Function::Ceil => return each(&values, |all| all[0].ceil()),
        Function::Where => {
            let [Value::List(all), Value::List(is)] = &values[..] else {
                return None;
            };
            let both = all.iter().zip(is).filter(|(_, is)| **is != 0.0);
            return (all.len() == is.len()).then(|| Value::List(both.map(|(one, _)| *one).collect()));
        }
        Function::If => return each(&values, |all| if all[0] == 0.0 { all[2] } else { all[1] }),
        Function::Given => {
            let mut values = values.into_iter();
            let (value, condition) = (values.next()?, values.next()?);
            return Some(value).filter(|_| condition != Value::Number(0.0));
        }
        Function::At => {
            let [Value::Curve(points), Value::Number(index)] = &values[..] else {
                return None;
            };
            let found = points.iter().find(|(x, _)| x == index);
            return found.map(|(_, y)| Value::Number(*y));
        }
        Function::Same => {
            let [Value::Curve(ours), Value::Curve(theirs)] = &values[..] else {
                return None;
            };
            let same = ours.iter().filter(|point| theirs.contains(point)).count();
            return Some(Value::Number(same as f64));
        }
        Function::Between => {
            let [Value::Curve(points), Value::Number(from), Value::Number(to)] = &values[..] else {
                return None;
            };
            let within = points.iter().filter(|(x, _)| (from..=to).contains(&x));
            return Some(Value::Curve(within.copied().collect()));
        }
        _ => {}
    }
    let mut all: Vec<f64> = values.into_iter().flat_map(Value::numbers).collect();
    let number = match function {
        Function::Count => Some(all.len() as f64),
        Function::Sum => Some(all.iter().sum()),
        Function::Min => all.iter().copied().reduce(f64::min),
        Function::Max => all.iter().copied().reduce(f64::max),
        Function::Mean => mean(&all),
        Function::Jain => jain(&all),
        Function::Deviation => {
            let of = mean(&all)?;
            let squares: Vec<f64> = all.iter().map(|one| (one - of).powi(2)).collect();
            mean(&squares).map(f64::sqrt)
        }
        Function::First => all.first().copied(),
        Function::Last => all.last().copied(),
        Function::Low => interval(&all, CONFIDENCE)?.ends().map(|(lo, _)| lo),
        Function::High => interval(&all, CONFIDENCE)?.ends().map(|(_, hi)| hi),
        Function::Half => interval(&all, CONFIDENCE)?.half_width(),
        // Ratios are averaged as logarithms, so that 2 and 1/2 cancel; their intervals are symmetric there, too.
        Function::Geomean => mean(&logarithms(&all)?).map(libm::exp),
        Function::GeoLow => interval(&logarithms(&all)?, CONFIDENCE)?
            .ends()
            .map(|(lo, _)| libm::exp(lo)),
        Function::GeoHigh => interval(&logarithms(&all)?, CONFIDENCE)?
            .ends()
            .map(|(_, hi)| libm::exp(hi)),
        Function::Median => {
            all.sort_by(f64::total_cmp);
            let middle = all.len() / 2;
            match all.len() {
                0 => None,
                odd if odd % 2 == 1 => Some(all[middle]),
                _ => Some((all[middle - 1] + all[middle]) / 2.0),
            }
        }
        Function::List => return Some(Value::List(all)),
        Function::Sorted => {
            all.sort_by(f64::total_cmp);
            return Some(Value::List(all));
        }
        _ => None,
    };
    number.map(Value::Number)
}

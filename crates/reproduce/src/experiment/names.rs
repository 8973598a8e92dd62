//! Axes, grids and measures: the meaning of names in expressions.

use std::ops::Range;
use std::sync::Arc;

use paceline_kernel::sorted::SortedMap;
use paceline_lab::measures::{Measure, MeasureSet, find_summary, summary_names};
use paceline_scenario::Problem;
use paceline_scenario::diagnostics::{Location, among_many};
use paceline_scenario::sweep;

use super::expr::{Coordinate, Function, Operator, Written, read, texts};
use super::sizes::of_sizes;
use super::value::{Expr, Leaf, Value};
use crate::need::{Form, Question};

/// Axis of an experiment: names of its cases, and the schemes whose colours they have.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) name: String,
    pub(super) cases: Vec<AxisCase>,
    /// Axis that a sweep over these cases has, for figures.
    pub(super) swept: sweep::Axis,
}

#[derive(Clone, Debug, Default)]
pub(super) struct AxisCase {
    pub(super) name: String,
    pub(super) key: String,
    pub(super) scheme: Option<String>,
    /// Constants for expressions, and texts. The one with the axis's name is the value of the axis.
    pub(super) with: SortedMap<String, toml::Value>,
    pub(super) published_as: Option<String>,
}

impl Axis {
    /// Returns the index of a case.
    pub(super) fn find(&self, case: &str) -> Option<usize> {
        self.cases.iter().position(|known| known.name == case)
    }
}

/// Runs and cases that an expression is for.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    /// Index of the grid whose measures it may name.
    pub(super) grid: usize,
    pub(super) bound: &'a Bound,
}

impl<'a> Scope<'a> {
    /// Creates the scope of an expression that is evaluated before anything has run.
    fn without_runs(bound: &'a Bound) -> Self {
        Self {
            grid: usize::MAX,
            bound,
        }
    }

    /// Returns the scope with the same runs and other cases.
    pub(super) fn of(self, bound: &Bound) -> Scope<'_> {
        Scope {
            grid: self.grid,
            bound,
        }
    }
}

/// Measure in an expression, with the cases in brackets behind it.
struct NamedMeasure<'a> {
    name: String,
    cases: &'a [Coordinate],
    at: Location,
}

/// Grid of runs over some axes.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    pub(super) name: String,
    /// Indices of its axes in [`Names::axes`], the outermost first.
    pub(super) axes: Vec<usize>,
    /// Runs for each combination of cases, with the last axis varying fastest.
    pub(super) runs: Vec<Option<Range<usize>>>,
    pub(super) set: Option<&'static MeasureSet>,
    /// Measures that the experiment defines.
    pub(super) own: SortedMap<String, Own>,
    pub(super) partial: bool,
    /// Scheme of cases that name none.
    pub(super) scheme: Option<String>,
}

/// Measure that an experiment defines, and the question that returns it.
#[derive(Clone, Debug)]
pub(super) struct Own {
    pub(super) measure: Measure,
    pub(super) question: Arc<Question>,
}

/// Chosen case of each axis.
pub(super) type Bound = SortedMap<usize, usize>;

/// Meaning of names in expressions.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) axes: Vec<Axis>,
    pub(super) grids: Vec<Grid>,
}

impl Names {
    /// Returns the index of the axis with this name.
    pub(super) fn axis(&self, name: &str, location: &Location) -> Result<usize, Problem> {
        let found = self.axes.iter().position(|axis| axis.name == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = self.axes.iter().map(|axis| axis.name.as_str()).collect();
            unknown("axis", name, &known).at(location)
        })
    }

    /// Returns the index of the case with this name on an axis.
    pub(super) fn case(&self, axis: usize, name: &str, location: &Location) -> Result<usize, Problem> {
        let axis = &self.axes[axis];
        axis.find(name).ok_or_else(|| {
            let known: Vec<&str> = axis.cases.iter().map(|case| case.name.as_str()).collect();
            unknown(&format!("case of `{}`", axis.name), name, &known).at(location)
        })
    }

    /// Returns the index of the grid with this name.
    pub(super) fn grid(&self, name: &str, location: &Location) -> Result<usize, Problem> {
        let found = self.grids.iter().position(|grid| grid.name == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = self.grids.iter().map(|grid| grid.name.as_str()).collect();
            unknown("grid of runs", name, &known).at(location)
        })
    }

    /// Returns every combination of the cases of some axes, with the last one varying fastest.
    ///
    /// # Errors
    /// If there are too many.
    pub(super) fn combinations(&self, axes: &[usize]) -> Result<Vec<Bound>, Problem> {
        const MOST: usize = 1_000_000;
        // Counted before anything is built; saturating, since the product of many axes overflows.
        let counts = axes.iter().map(|&axis| self.axes[axis].cases.len());
        let count = counts.fold(1, usize::saturating_mul);
        if count > MOST {
            return Err(Problem::new(format!(
                "{} axes have {count} combinations of cases; expected at most {MOST}",
                axes.len()
            )));
        }
        let mut all = vec![Bound::new()];
        for &axis in axes {
            let with = |bound: &Bound| {
                let cases = 0..self.axes[axis].cases.len();
                let mut one = bound.clone();
                cases
                    .map(|case| {
                        one.insert(axis, case);
                        one.clone()
                    })
                    .collect::<Vec<Bound>>()
            };
            all = all.iter().flat_map(with).collect();
        }
        Ok(all)
    }

    /// Replaces placeholders in a text by values of the cases `bound`: names, `{axis}`, keys, `{axis.key}`, and
    /// further texts, `{axis.unit}`.
    pub(super) fn fill(&self, text: &str, bound: &Bound) -> String {
        self.fill_as(text, bound, str::to_string)
    }

    /// Replaces placeholders in the text of an expression, where a quote in a name is doubled.
    pub(super) fn fill_expression(&self, text: &str, bound: &Bound) -> String {
        self.fill_as(text, bound, |name| name.replace('\'', "''"))
    }

    fn fill_as(&self, text: &str, bound: &Bound, written: impl Fn(&str) -> String) -> String {
        let mut text = text.to_string();
        if !text.contains('{') {
            return text;
        }
        let mut put = |name: String, value: &str| text = text.replace(&name, &written(value));
        for (&axis, &case) in bound {
            let (axis, case) = (&self.axes[axis].name, &self.axes[axis].cases[case]);
            put(format!("{{{axis}.key}}"), &case.key);
            let texts = case
                .with
                .iter()
                .filter_map(|(name, value)| Some((name, value.as_str()?)));
            texts.for_each(|(name, value)| put(format!("{{{axis}.{name}}}"), value));
            put(format!("{{{axis}}}"), &case.name);
        }
        text
    }

    /// Resolves the names of an expression whose text is at `location`.
    pub(super) fn look_up(
        &self,
        written: &Written,
        scope: Scope<'_>,
        location: &Location,
    ) -> Result<Expr, Problem> {
        let Scope { grid, bound } = scope;
        let inner = |one: &Written| self.look_up(one, scope, location);
        Ok(match written {
            Written::Number(number) => Expr::Number(*number),
            Written::Negative(one) => Expr::Negative(Box::new(inner(one)?)),
            Written::Binary(operator, a, b) => binary(*operator, inner(a)?, inner(b)?, location)?,
            // Arguments of the functions below are names of steps and axes, so they must not be looked up as measures.
            Written::Call(Function::Step, arguments, span) => {
                let [step, name] = texts(Function::Step, arguments, &location.part(span.clone()))?;
                Expr::Step(self.fill(&step, bound), self.fill(&name, bound))
            }
            Written::Call(Function::CaseIndex, arguments, span) => {
                let (axis, case) = self.axis_in(&arguments[0], bound, &location.part(span.clone()))?;
                let case = case.ok_or_else(|| self.unbound(axis, &location.part(span.clone())))?;
                Expr::Number(case as f64)
            }
            Written::Call(function @ (Function::Each | Function::Every), arguments, span) => {
                let (axis, _) = self.axis_in(&arguments[0], bound, &location.part(span.clone()))?;
                let of = |case: usize| {
                    let mut bound = bound.clone();
                    bound.insert(axis, case);
                    self.look_up(&arguments[1], scope.of(&bound), location)
                };
                let all: Result<Vec<Expr>, Problem> = (0..self.axes[axis].cases.len()).map(of).collect();
                let list = match function {
                    // A list of the values that all of its arguments have.
                    Function::Every => Function::List,
                    each => *each,
                };
                Expr::Call(list, all?)
            }
            Written::Name { path, cases, span } if self.is_axis(path, grid) => {
                let at = location.part(span.clone());
                let (axis, case) = self.axis_in(written, bound, &at)?;
                let number = |case: usize| {
                    self.number(axis, case).ok_or_else(|| {
                        let (axis, case) = (&self.axes[axis].name, &self.axes[axis].cases[case].name);
                        let text = format!("case `{case}` of `{axis}` has no number");
                        Problem::new(text)
                            .at(&at)
                            .help(format!("with = {{ {axis} = .. }}"))
                    })
                };
                match (cases.is_empty(), case) {
                    (true, Some(case)) => Expr::Number(number(case)?),
                    (true, None) => return Err(self.unbound(axis, &at)),
                    (false, _) => {
                        let all = (0..self.axes[axis].cases.len()).map(number);
                        Expr::Cases(all.collect::<Result<_, Problem>>()?)
                    }
                }
            }
            Written::Call(
                function @ (Function::SizeMean | Function::SizeShare | Function::SizeDeciles),
                arguments,
                span,
            ) => {
                let at = location.part(span.clone());
                let name = arguments[0].text().map(|name| self.fill(name, bound));
                let bytes = match arguments.get(1) {
                    Some(bytes) => inner(bytes)?.constant(),
                    None => None,
                };
                Expr::Known(of_sizes(*function, name.as_deref(), bytes, &at)?)
            }
            Written::Curve(points) => Expr::Known(Value::Curve(points.clone())),
            Written::Call(function, arguments, _) => {
                let arguments: Result<Vec<Expr>, Problem> = arguments.iter().map(inner).collect();
                Expr::Call(*function, arguments?)
            }
            Written::Name { path, cases, span } => {
                let at = location.part(span.clone());
                if let ([name], []) = (&path[..], &cases[..])
                    && let Some(number) = self.constant(name, bound)
                {
                    return Ok(Expr::Number(number));
                }
                let named = self
                    .grids
                    .iter()
                    .position(|grid| path.len() > 1 && grid.name == path[0]);
                let (grid, path) = match named {
                    Some(grid) => (grid, &path[1..]),
                    None => (grid, &path[..]),
                };
                let Some(of) = self.grids.get(grid) else {
                    return Err(Problem::new("there are no runs whose measures these could be").at(&at));
                };
                let measure = self.fill(&path.join("."), bound);
                if of.measure(&measure).is_none() {
                    return Err(of.unknown(&measure).at(&at));
                }
                let measure = NamedMeasure {
                    name: measure,
                    cases,
                    at,
                };
                Expr::Measure(self.leaf(measure, of, bound, location)?)
            }
        })
    }

    /// Returns true if the path names an axis rather than a measure.
    fn is_axis(&self, path: &[String], grid: usize) -> bool {
        let is_measure = |grid: &Grid| grid.measure(&path[0]).is_some();
        let [name] = path else { return false };
        self.axes.iter().any(|axis| axis.name == *name) && !self.grids.get(grid).is_some_and(is_measure)
    }

    /// Returns an axis in an expression, and the case of it that the expression is for.
    fn axis_in(
        &self,
        written: &Written,
        bound: &Bound,
        at: &Location,
    ) -> Result<(usize, Option<usize>), Problem> {
        match written {
            Written::Name { path, .. } => {
                let axis = self.axis(&path.join("."), at)?;
                Ok((axis, bound.get(&axis).copied()))
            }
            _ => Err(Problem::new("expected the name of an axis").at(at)),
        }
    }

    fn unbound(&self, axis: usize, at: &Location) -> Problem {
        let name = &self.axes[axis].name;
        let problem = Problem::new(format!("this is of no case of `{name}`")).at(at);
        problem.help(format!(
            "write `each = \"{name}\"` next to it, or `each({name}, ..)`"
        ))
    }

    /// Replaces expressions in braces by their values for the cases `bound`: `{2 * rate}KB`.
    pub(super) fn compute(&self, text: &str, bound: &Bound, location: &Location) -> Result<String, Problem> {
        let Some((before, rest)) = text.split_once('{') else {
            return Ok(text.to_string());
        };
        let Some((inner, after)) = rest.split_once('}') else {
            return Err(Problem::new(format!("`{text}` has no closing brace")).at(location));
        };
        let expression = self.look_up(&read(inner, location)?, Scope::without_runs(bound), location)?;
        let number = expression.constant().ok_or_else(|| {
            Problem::new(format!("`{inner}` is not a number before anything has run")).at(location)
        })?;
        Ok(format!(
            "{before}{number}{}",
            self.compute(after, bound, location)?
        ))
    }

    /// Returns the number of a case, which is the value of the axis's name.
    pub(super) fn number(&self, axis: usize, case: usize) -> Option<f64> {
        let Axis { name, cases, .. } = &self.axes[axis];
        number(cases[case].with.get(name)?)
    }

    /// Returns a constant of one of the cases.
    pub(super) fn constant(&self, name: &str, bound: &Bound) -> Option<f64> {
        let mut cases = bound.iter().map(|(axis, case)| &self.axes[*axis].cases[*case]);
        cases.find_map(|case| number(case.with.get(name)?))
    }

    /// Returns the runs of a measure, selected by the cases in brackets, by those that are bound, and by the only
    /// case of an axis.
    fn leaf(
        &self,
        measure: NamedMeasure<'_>,
        grid: &Grid,
        bound: &Bound,
        location: &Location,
    ) -> Result<Leaf, Problem> {
        let NamedMeasure {
            name: measure,
            cases,
            at,
        } = measure;
        let mut chosen: SortedMap<usize, Vec<usize>> = SortedMap::new();
        let mut all = false;
        for coordinate in cases {
            let at = location.part(coordinate.span.clone());
            let case = coordinate.case.as_ref().map(|case| self.fill(case, bound));
            let axis = match (&coordinate.axis, &case) {
                (Some(axis), _) => {
                    let axis = self.axis(axis, &at)?;
                    if !grid.axes.contains(&axis) {
                        let name = &self.axes[axis].name;
                        return Err(Problem::new(format!("these runs have no axis `{name}`")).at(&at));
                    }
                    axis
                }
                (None, Some(case)) => self.axis_of(case, grid, &at)?,
                (None, None) => {
                    all = true;
                    continue;
                }
            };
            let cases = match &case {
                Some(case) => vec![self.case(axis, case, &at)?],
                None => (0..self.axes[axis].cases.len()).collect(),
            };
            chosen.insert(axis, cases);
        }
        let list = all || cases.iter().any(|one| one.case.is_none());
        let mut index = vec![0];
        for &axis in &grid.axes {
            let count = self.axes[axis].cases.len();
            let picked = match (chosen.get(&axis), bound.get(&axis)) {
                (Some(cases), _) => cases.clone(),
                (None, Some(case)) => vec![*case],
                (None, None) if all || count == 1 => (0..count).collect(),
                (None, None) => {
                    let name = &self.axes[axis].name;
                    let one = &self.axes[axis].cases[0].name;
                    let text = format!("`{measure}` needs a case of `{name}`");
                    return Err(Problem::new(text)
                        .at(&at)
                        .help(format!("write `{measure}['{one}']`, or `[*]` for all")));
                }
            };
            // Runs are in the order of combinations, in which the last axis varies fastest.
            index = (index.iter())
                .flat_map(|before| picked.iter().map(move |case| before * count + case))
                .collect();
        }
        // A list skips cases without runs; a single case is kept even without runs.
        let runs = index.into_iter().map(|index| grid.runs[index].clone());
        Ok(Leaf {
            measure,
            runs: runs.filter(|runs| !list || runs.is_some()).collect(),
            list,
            partial: grid.partial,
        })
    }

    /// Returns the axis of a grid that has a case with this name.
    fn axis_of(&self, case: &str, grid: &Grid, at: &Location) -> Result<usize, Problem> {
        let with: Vec<usize> = (grid.axes.iter().copied())
            .filter(|axis| self.axes[*axis].find(case).is_some())
            .collect();
        match with[..] {
            [axis] => Ok(axis),
            [] => {
                let cases = grid.axes.iter().flat_map(|axis| &self.axes[*axis].cases);
                let known: Vec<&str> = cases.map(|case| case.name.as_str()).collect();
                Err(unknown("case", case, &known).at(at))
            }
            [first, ..] => {
                let name = &self.axes[first].name;
                let text = format!("several axes have a case `{case}`");
                Err(Problem::new(text).at(at).help(format!("write `{name}='{case}'`")))
            }
        }
    }
}

/// Combines two expressions; a division by the constant zero is an error.
fn binary(operator: Operator, a: Expr, b: Expr, location: &Location) -> Result<Expr, Problem> {
    if operator == Operator::Divide && matches!(b, Expr::Number(0.0)) {
        return Err(Problem::new("divides by zero").at(location));
    }
    Ok(Expr::Binary(operator, Box::new(a), Box::new(b)))
}

impl Grid {
    /// Returns a measure of its runs if they have it, and true if it is a curve.
    pub(super) fn measure(&self, name: &str) -> Option<(Measure, bool)> {
        if let Some(own) = self.own.get(name) {
            return Some((own.measure.clone(), own.question.form == Form::Curves));
        }
        let of_set = self.set.and_then(|set| set.find(name));
        of_set
            .map(|(measure, curve)| (measure.clone(), curve))
            .or_else(|| find_summary(name).map(|measure| (measure, false)))
    }

    pub(super) fn unknown(&self, name: &str) -> Problem {
        let of_set = self
            .set
            .into_iter()
            .flat_map(|set| set.values.iter().chain(set.series));
        let mut known: Vec<&str> = of_set.map(|measure| measure.name.as_ref()).collect();
        known.extend(self.own.keys().map(String::as_str));
        summary_names().for_each(|name| known.push(name));
        unknown("measure", name, &known)
    }
}

/// Returns a number in a file.
pub(super) fn number(value: &toml::Value) -> Option<f64> {
    value
        .as_float()
        .or_else(|| value.as_integer().map(|whole| whole as f64))
}

/// Returns the problem of an unknown name, with the nearest known ones.
pub(super) fn unknown(what: &str, name: &str, known: &[&str]) -> Problem {
    let problem = Problem::new(format!("unknown {what} `{name}`"));
    match known.is_empty() {
        true => problem.help(format!("there is no {what}")),
        false => problem.help(among_many(name, known.iter().copied())),
    }
}

#[cfg(test)]
mod tests {
    use paceline_scenario::diagnostics::Source;

    use super::*;

    #[test]
    fn numbers_of_cases() {
        let case = |name: &str, number: Option<f64>| AxisCase {
            name: name.to_string(),
            key: name.to_lowercase(),
            with: number
                .map(|number| ("rate".to_string(), number.into()))
                .into_iter()
                .collect(),
            ..AxisCase::default()
        };
        let names = Names {
            axes: vec![Axis {
                name: "rate".to_string(),
                cases: vec![
                    case("Slow", Some(40.0)),
                    case("Fast", Some(100.0)),
                    case("Odd", None),
                ],
                swept: sweep::Axis::of_key("rate", Vec::new()),
            }],
            grids: Vec::new(),
        };
        let index = Source::new("here", "").end();
        let computed = |text: &str, bound: &[(usize, usize)]| {
            let bound = bound.iter().copied().collect();
            let found = names.compute(text, &bound, &index);
            found.map_err(|problem| problem.message().to_string())
        };
        let of_fast = [(0, 1)];
        assert_eq!(computed("{rate}Gbps", &of_fast).unwrap(), "100Gbps");
        assert_eq!(
            computed("{ceil(rate / 3)} of {place(rate)}", &of_fast).unwrap(),
            "34 of 1"
        );
        assert_eq!(
            computed("{sum(each(place, 1))}", &of_fast).unwrap_err(),
            "unknown axis `place`"
        );
        assert_eq!(computed("{sum(each(rate, place(rate)))}", &[]).unwrap(), "3");
        assert_eq!(
            computed("{rate}", &[]).unwrap_err(),
            "this is of no case of `rate`"
        );
        assert_eq!(
            computed("{rate}", &[(0, 2)]).unwrap_err(),
            "case `Odd` of `rate` has no number"
        );
        assert_eq!(
            computed("{rate", &of_fast).unwrap_err(),
            "`{rate` has no closing brace"
        );
    }
}

//! Expressions over measures and cases: `queue_bytes.mean['50 Mbit/s'] / queue_bytes.mean['10 Mbit/s']`.
//!
//! | written | is |
//! |---|---|
//! | `MEASURE['case', axis='case']` | a measure of the runs of these cases, the mean over their seeds |
//! | `MEASURE[*]`, `MEASURE[axis=*]` | a list, case by case |
//! | `GRID.MEASURE` | the same of another grid of runs |
//! | `'a name in quotes'` | a measure; `{axis}` in it is the key of the case that the cell is of |
//! | `AXIS`, `AXIS[*]` | the number of the case that the cell is of, those of all cases |
//! | `place(AXIS)` | which of the cases it is, from 0 |
//! | `each(AXIS, expr)` | a list, case by case of those that have it |
//! | `step('name', 'value')` | a number of a step |
//! | `file('name.csv')` | a curve of a file next to the experiment: places and values under a line of heads |
//! | `per_seed(expr)` | a list, seed by seed |
//!
//! Arithmetic (`+ - * /`), comparisons (1 or 0) and functions work on numbers and, element by element, on lists. Where
//! anything is missing, so is the result.

use std::ops::Range;

use paceline_lab::stats::{CONFIDENCE, interval, jain, mean};
use paceline_scenario::Problem;
use paceline_scenario::diagnostics::{Place, nearest};

/// An expression, its names not yet looked up.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Written {
    Number(f64),
    Name {
        path: Vec<String>,
        cases: Vec<Coordinate>,
        span: Range<usize>,
    },
    Negative(Box<Written>),
    Binary(Operator, Box<Written>, Box<Written>),
    Call(Function, Vec<Written>, Range<usize>),
    /// Of a file.
    Curve(Vec<(f64, f64)>),
}

impl Written {
    /// A text in quotes, which may be the name of something.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Name { path, cases, .. } if cases.is_empty() && path.len() == 1 => Some(&path[0]),
            _ => None,
        }
    }

    /// Puts curves in place of files.
    pub(super) fn read_files(
        &mut self,
        read: &mut dyn FnMut(&str, Range<usize>) -> Result<Vec<(f64, f64)>, Problem>,
    ) -> Result<(), Problem> {
        if let Self::Call(Function::File, arguments, span) = self
            && let Some(path) = arguments[0].text()
        {
            *self = Self::Curve(read(path, span.clone())?);
            return Ok(());
        }
        match self {
            Self::Negative(one) => one.read_files(read),
            Self::Binary(_, a, b) => {
                a.read_files(read)?;
                b.read_files(read)
            }
            Self::Call(_, all, _) => all.iter_mut().try_for_each(|one| one.read_files(read)),
            Self::Number(_) | Self::Name { .. } | Self::Curve(_) => Ok(()),
        }
    }
}

/// A case in brackets.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Coordinate {
    pub(super) axis: Option<String>,
    /// `None` for all.
    pub(super) case: Option<String>,
    pub(super) span: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Operator {
    fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            Self::Less => f64::from(a < b),
            Self::AtMost => f64::from(a <= b),
            Self::Greater => f64::from(a > b),
            Self::AtLeast => f64::from(a >= b),
        }
    }
}

macro_rules! functions {
    ($($variant:ident $name:literal $arguments:literal $about:literal,)*) => {
        /// A function, by its name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Function { $($variant,)* }

        /// Name, arguments and meaning of each.
        pub(super) const FUNCTIONS: &[(Function, &str, usize, &str)] =
            &[$((Function::$variant, $name, $arguments, $about),)*];
    };
}

functions! {
    Min "min" 0 "the smallest of its arguments, or of a list or curve",
    Max "max" 0 "the largest",
    Mean "mean" 0 "the mean",
    Sum "sum" 0 "the sum",
    Count "count" 0 "how many are there",
    Median "median" 0 "the middle one, or the mean of the two in the middle",
    Geomean "geomean" 0 "the geometric mean",
    Jain "jain" 0 "Jain's index of fairness",
    Low "low" 0 "the lower end of the mean's 95 % interval",
    High "high" 0 "the upper end of it",
    Half "half" 0 "half of the mean's 95 % interval; of a single number 0",
    GeoLow "geomean_low" 0 "the lower end of the geometric mean's 95 % interval",
    GeoHigh "geomean_high" 0 "the upper end of it",
    Deviation "deviation" 1 "the standard deviation of a list or curve that is all there is",
    Given "given" 2 "the first where the second is not 0; otherwise nothing",
    Abs "abs" 1 "without its sign",
    Sqrt "sqrt" 1 "the square root",
    Log "log" 1 "the natural logarithm",
    First "first" 1 "the first of a list or curve",
    Last "last" 1 "the last",
    At "at" 2 "the value of a curve at a place",
    Between "between" 3 "the part of a curve between two places",
    List "list" 1 "the values of a curve",
    Sorted "sorted" 1 "a list in ascending order",
    If "if" 3 "the second where the first is not 0, otherwise the third",
    Where "where" 2 "those of a list for which the second is not 0",
    Ceil "ceil" 1 "the next whole number",
    Place "place" 1 "which case of an axis it is, from 0",
    Each "each" 2 "a list, case by case of an axis, of those that have it",
    PerSeed "per_seed" 1 "a list, seed by seed",
    Same "same" 2 "how many values of a curve another has at the same places",
    File "file" 1 "a curve of a CSV file",
    Step "step" 2 "a number of a step, or a curve",
    SizeMean "size_mean" 1 "the mean of a distribution of sizes, in bytes",
    SizeShare "size_share" 2 "the share of a distribution of sizes that is not above so many bytes",
    SizeDeciles "size_deciles" 1 "the deciles of a distribution of sizes, the smallest and the largest with them",
}

impl Function {
    pub(super) fn name(self) -> &'static str {
        let found = FUNCTIONS.iter().find(|(function, ..)| *function == self);
        found.map_or("", |(_, name, ..)| name)
    }
}

/// Reads an expression; `place` is that of its text.
pub(super) fn read(text: &str, place: &Place) -> Result<Written, Problem> {
    let mut reader = Reader { text, at: 0, place };
    let expression = reader.comparison()?;
    reader.blanks();
    match reader.rest().is_empty() {
        true => Ok(expression),
        false => Err(reader.unexpected("an operator or the end")),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    place: &'a Place,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Takes `token` if it is next.
    fn takes(&mut self, token: &str) -> bool {
        self.blanks();
        let is = self.rest().starts_with(token);
        if is {
            self.at += token.len();
        }
        is
    }

    fn expects(&mut self, token: &str) -> Result<(), Problem> {
        match self.takes(token) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{token}`"))),
        }
    }

    fn unexpected(&self, expected: &str) -> Problem {
        let found = match self.rest().chars().next() {
            Some(letter) => format!("`{letter}`"),
            None => "the end".to_string(),
        };
        let end = (self.at + 1).min(self.text.len());
        Problem::new(format!("expected {expected}, found {found}")).at(&self.place.part(self.at..end))
    }

    fn comparison(&mut self) -> Result<Written, Problem> {
        const ALL: [(&str, Operator); 4] = [
            ("<=", Operator::AtMost),
            (">=", Operator::AtLeast),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        let left = self.sum()?;
        for (token, operator) in ALL {
            if self.takes(token) {
                return Ok(Written::Binary(operator, Box::new(left), Box::new(self.sum()?)));
            }
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Written, Problem> {
        let mut left = self.product()?;
        loop {
            let operator = match (self.takes("+"), self.takes("-")) {
                (true, _) => Operator::Add,
                (_, true) => Operator::Subtract,
                _ => return Ok(left),
            };
            left = Written::Binary(operator, Box::new(left), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Result<Written, Problem> {
        let mut left = self.factor()?;
        loop {
            let operator = match (self.takes("*"), self.takes("/")) {
                (true, _) => Operator::Multiply,
                (_, true) => Operator::Divide,
                _ => return Ok(left),
            };
            self.blanks();
            let from = self.at;
            let right = self.factor()?;
            if operator == Operator::Divide && right == Written::Number(0.0) {
                let place = self.place.part(from..self.at);
                return Err(Problem::new("divides by zero").at(&place));
            }
            left = Written::Binary(operator, Box::new(left), Box::new(right));
        }
    }

    fn factor(&mut self) -> Result<Written, Problem> {
        if self.takes("-") {
            return Ok(Written::Negative(Box::new(self.factor()?)));
        }
        if self.takes("(") {
            let inner = self.comparison()?;
            self.expects(")")?;
            return Ok(inner);
        }
        self.blanks();
        match self.rest().chars().next() {
            Some(letter) if letter.is_ascii_digit() || letter == '.' => self.number(),
            Some(letter) if letter.is_alphabetic() || ['_', '\''].contains(&letter) => self.name(),
            _ => Err(self.unexpected("a number, a measure or a function")),
        }
    }

    fn number(&mut self) -> Result<Written, Problem> {
        let digits = |text: &str| {
            text.find(|c: char| !c.is_ascii_digit() && c != '_')
                .unwrap_or(text.len())
        };
        let mut length = digits(self.rest());
        if self.rest()[length..].starts_with('.') {
            length += 1 + digits(&self.rest()[length + 1..]);
        }
        if self.rest()[length..].starts_with(['e', 'E']) {
            let sign = usize::from(self.rest()[length + 1..].starts_with(['+', '-']));
            length += 1 + sign + digits(&self.rest()[length + 1 + sign..]);
        }
        let number = self.rest()[..length].replace('_', "").parse();
        let number = number.map_err(|_| self.unexpected("a number"))?;
        self.at += length;
        Ok(Written::Number(number))
    }

    /// A text between single quotes, in which two stand for one.
    fn quoted(&mut self) -> Result<String, Problem> {
        self.expects("'")?;
        let mut text = String::new();
        loop {
            let Some(end) = self.rest().find('\'') else {
                self.at = self.text.len();
                return Err(self.unexpected("a closing `'`"));
            };
            text.push_str(&self.rest()[..end]);
            self.at += end + 1;
            if !self.rest().starts_with('\'') {
                return Ok(text);
            }
            text.push('\'');
            self.at += 1;
        }
    }

    fn word(&mut self) -> Result<String, Problem> {
        if self.rest().starts_with('\'') {
            return self.quoted();
        }
        let end = self.rest().find(|c: char| !c.is_alphanumeric() && c != '_');
        let word = self.rest()[..end.unwrap_or(self.rest().len())].to_string();
        if word.is_empty() {
            return Err(self.unexpected("a name"));
        }
        self.at += word.len();
        Ok(word)
    }

    fn name(&mut self) -> Result<Written, Problem> {
        let from = self.at;
        let mut path = vec![self.word()?];
        while self.rest().starts_with('.') {
            self.at += 1;
            path.push(self.word()?);
        }
        let span = from..self.at;
        if path.len() == 1 && self.takes("(") {
            return self.call(&path[0], span);
        }
        let mut cases = Vec::new();
        if self.rest().starts_with('[') {
            self.at += 1;
            loop {
                cases.push(self.coordinate()?);
                if !self.takes(",") {
                    break;
                }
            }
            self.expects("]")?;
        }
        Ok(Written::Name { path, cases, span })
    }

    fn coordinate(&mut self) -> Result<Coordinate, Problem> {
        self.blanks();
        let from = self.at;
        let mut axis = None;
        if !self.rest().starts_with(['\'', '*']) {
            axis = Some(self.axis()?);
            self.expects("=")?;
            self.blanks();
        }
        let case = match self.takes("*") {
            true => None,
            false => Some(self.quoted()?),
        };
        Ok(Coordinate {
            axis,
            case,
            span: from..self.at,
        })
    }

    /// The name of an axis, which may have hyphens.
    fn axis(&mut self) -> Result<String, Problem> {
        let end = self
            .rest()
            .find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
        let word = self.rest()[..end.unwrap_or(self.rest().len())].to_string();
        if word.is_empty() {
            return Err(self.unexpected("a case in single quotes, `axis='case'` or `*`"));
        }
        self.at += word.len();
        Ok(word)
    }

    fn call(&mut self, name: &str, span: Range<usize>) -> Result<Written, Problem> {
        let Some(&(function, _, expected, _)) = FUNCTIONS.iter().find(|(_, known, ..)| *known == name) else {
            let names = || FUNCTIONS.iter().map(|(_, name, ..)| *name);
            let help = match nearest(name, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("functions: {}", names().collect::<Vec<_>>().join(", ")),
            };
            let problem = Problem::new(format!("unknown function `{name}`"));
            return Err(problem.at(&self.place.part(span)).help(help));
        };
        let mut arguments = vec![self.comparison()?];
        while self.takes(",") {
            arguments.push(self.comparison()?);
        }
        self.expects(")")?;
        if expected != 0 && arguments.len() != expected {
            let found = arguments.len();
            let text = format!("`{name}` has {expected} arguments, found {found}");
            return Err(Problem::new(text).at(&self.place.part(span)));
        }
        Ok(Written::Call(function, arguments, span))
    }
}

/// An expression whose names are looked up.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    Number(f64),
    Cases(Vec<f64>),
    Measure(Leaf),
    /// A step and one of its numbers or curves.
    Step(String, String),
    /// What no run changes.
    Known(Value),
    Negative(Box<Expr>),
    Binary(Operator, Box<Expr>, Box<Expr>),
    Call(Function, Vec<Expr>),
}

/// A measure of some runs.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub(super) measure: String,
    /// For each case, its runs: seed by seed, by their number among the experiment's. `None` for a case that is not run.
    pub(super) runs: Vec<Option<Range<usize>>>,
    /// Whether several cases were meant, even if it is one.
    pub(super) list: bool,
    /// Whether means are of those seeds that there are.
    pub(super) partial: bool,
}

/// What an expression comes to.
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

/// Where measures and steps are.
pub(super) trait Data {
    /// A measure of a run.
    fn measure(&self, run: usize, name: &str) -> Option<Value>;

    /// A number or a curve of a step.
    fn step(&self, step: &str, name: &str) -> Option<Value>;
}

impl Expr {
    /// Whether it depends on any run or step.
    pub(super) fn is_constant(&self) -> bool {
        match self {
            Self::Number(_) | Self::Cases(_) => true,
            Self::Measure(_) | Self::Step(..) | Self::Known(_) => false,
            Self::Negative(inner) => inner.is_constant(),
            Self::Binary(_, a, b) => a.is_constant() && b.is_constant(),
            Self::Call(_, all) => all.iter().all(Self::is_constant),
        }
    }

    /// The number that it comes to without any run.
    pub(super) fn constant(&self) -> Option<f64> {
        struct Nothing;

        impl Data for Nothing {
            fn measure(&self, _: usize, _: &str) -> Option<Value> {
                None
            }

            fn step(&self, _: &str, _: &str) -> Option<Value> {
                None
            }
        }
        self.number(&Nothing)
    }

    /// Every measure in it.
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

    /// The number that it comes to, if all that it needs is there: not finite where it divides by zero.
    pub(super) fn number(&self, data: &dyn Data) -> Option<f64> {
        match self.value(data, None)? {
            Value::Number(number) => Some(number),
            Value::List(_) | Value::Curve(_) => None,
        }
    }

    /// The curve that it comes to.
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

    /// Of the runs of a case.
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
        let numbers: Option<Vec<f64>> = match self.partial {
            true => Some(numbers.flatten().collect()),
            false => numbers.collect(),
        };
        mean(&numbers?).map(Value::Number)
    }
}

/// Works element by element where there are lists, which have to be equally long.
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
    match function {
        Function::Abs => return each(&values, |all| all[0].abs()),
        Function::Sqrt => return each(&values, |all| all[0].sqrt()),
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
            let [Value::Curve(points), Value::Number(place)] = &values[..] else {
                return None;
            };
            let found = points.iter().find(|(x, _)| x == place);
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
        Function::Low => interval(&all, CONFIDENCE).map(|found| found.lo),
        Function::High => interval(&all, CONFIDENCE).map(|found| found.hi),
        Function::Half if all.is_empty() => None,
        Function::Half => Some(interval(&all, CONFIDENCE).map_or(0.0, |found| found.half_width())),
        Function::Geomean => mean(&logarithms(&all)?).map(libm::exp),
        Function::GeoLow => interval(&logarithms(&all)?, CONFIDENCE).map(|found| libm::exp(found.lo)),
        Function::GeoHigh => interval(&logarithms(&all)?, CONFIDENCE).map(|found| libm::exp(found.hi)),
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

/// What is wrong with the arguments of a function that takes texts.
pub(super) fn texts(function: Function, arguments: &[Written], at: &Place) -> Result<[String; 2], Problem> {
    let text = |one: &Written| one.text().map(str::to_string);
    let found: Option<Vec<String>> = arguments.iter().map(text).collect();
    match found.as_deref() {
        Some([a, b]) => Ok([a.clone(), b.clone()]),
        _ => {
            let text = format!(
                "the arguments of `{}` are texts in single quotes",
                function.name()
            );
            Err(Problem::new(text).at(at))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_scenario::diagnostics::Source;

    /// Two cases with three seeds each, and a curve.
    struct Fixed;

    impl Data for Fixed {
        fn measure(&self, run: usize, name: &str) -> Option<Value> {
            let points = || vec![(1.0, 4.0), (2.0, 2.0), (3.0, 9.0)];
            match name {
                "curve" => Some(Value::Curve(points())),
                "x" => [1.0, 2.0, 6.0, 2.0, 8.0, 32.0]
                    .get(run)
                    .map(|x| Value::Number(*x)),
                _ => None,
            }
        }

        fn step(&self, step: &str, name: &str) -> Option<Value> {
            (step == "train").then(|| Value::Number(name.len() as f64))
        }
    }

    /// Names are cases here: `a` and `b`, both in `all`.
    fn looked_up(written: &Written) -> Expr {
        let leaf = |measure: &str, runs: Vec<Range<usize>>, list| {
            Expr::Measure(Leaf {
                measure: measure.to_string(),
                runs: runs.into_iter().map(Some).collect(),
                list,
                partial: false,
            })
        };
        match written {
            Written::Number(number) => Expr::Number(*number),
            Written::Curve(points) => Expr::Known(Value::Curve(points.clone())),
            Written::Name { path, .. } => match path[0].as_str() {
                "a" => leaf("x", vec![0..3], false),
                "b" => leaf("x", vec![3..6], false),
                "all" => leaf("x", vec![0..3, 3..6], true),
                other => leaf(other, vec![0..1], false),
            },
            Written::Negative(one) => Expr::Negative(Box::new(looked_up(one))),
            Written::Binary(operator, a, b) => {
                Expr::Binary(*operator, Box::new(looked_up(a)), Box::new(looked_up(b)))
            }
            Written::Call(Function::Step, arguments, _) => {
                let place = Source::new("", "").end();
                let [step, name] = texts(Function::Step, arguments, &place).unwrap();
                Expr::Step(step, name)
            }
            Written::Call(function, all, _) => Expr::Call(*function, all.iter().map(looked_up).collect()),
        }
    }

    fn place(text: &str) -> Place {
        let source = Source::new("here", text);
        source.at(0..text.len())
    }

    fn number(text: &str) -> Option<f64> {
        looked_up(&read(text, &place(text)).unwrap()).number(&Fixed)
    }

    #[test]
    fn values_by_hand() {
        let all = [
            // Means over seeds are 3 and 14.
            ("b / a", 14.0 / 3.0),
            ("1 + 2 * 3 - -a", 10.0),
            ("(1 + 2) * 3", 9.0),
            ("8 / 4 / 2", 1.0),
            ("1.5e1 + 1_000", 1015.0),
            ("max(all)", 14.0),
            ("sum(all * 2)", 34.0),
            ("mean(all - a)", 5.5),
            ("a < b", 1.0),
            ("if(a > b, 5, 7)", 7.0),
            ("count(all)", 2.0),
            // Seed by seed 2, 4 and 16/3.
            ("max(per_seed(b / a))", 16.0 / 3.0),
            ("median(per_seed(b / a))", 4.0),
            ("at(curve, 2)", 2.0),
            ("min(curve)", 2.0),
            ("last(curve)", 9.0),
            ("same(curve, between(curve, 1, 2))", 2.0),
            ("max(between(curve, 1, 2))", 4.0),
            ("median(sorted(curve))", 4.0),
            ("abs(a - b)", 11.0),
            ("deviation(sorted(curve)) * deviation(sorted(curve))", 26.0 / 3.0),
            ("given(a, a < b)", 3.0),
            ("sum(where(all, all > 5))", 14.0),
            ("ceil(b / a)", 5.0),
            ("step('train', 'four')", 4.0),
        ];
        for (text, expected) in all {
            assert_eq!(number(text), Some(expected), "{text}");
        }
        let geomean = number("geomean(per_seed(b / a))").unwrap();
        assert!((geomean - (2.0 * 4.0 * 16.0 / 3.0_f64).cbrt()).abs() < 1e-12);
        assert_eq!(number("missing / a"), None);
        assert_eq!(number("given(a, a > b)"), None);
        assert_eq!(number("a / (b - b)"), Some(f64::INFINITY));
        // A list is no number.
        assert_eq!(number("all"), None);
    }

    #[test]
    fn mistakes_have_places() {
        let wrong = |text: &str| {
            let problem = read(text, &place(text)).unwrap_err();
            (
                problem.place().unwrap().line_column().1,
                problem.message().to_string(),
            )
        };
        assert_eq!(
            wrong("a +"),
            (
                4,
                "expected a number, a measure or a function, found the end".into()
            )
        );
        assert_eq!(wrong("a / 0"), (5, "divides by zero".into()));
        assert_eq!(wrong("maxi(a)"), (1, "unknown function `maxi`".into()));
        assert_eq!(wrong("a['x"), (5, "expected a closing `'`, found the end".into()));
        assert_eq!(wrong("abs(a, b)"), (1, "`abs` has 1 arguments, found 2".into()));
        assert_eq!(
            wrong("a b"),
            (3, "expected an operator or the end, found `b`".into())
        );
    }

    #[test]
    fn the_guide_has_every_function() {
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src/guide/experiments.md");
        let guide = std::fs::read_to_string(path).unwrap();
        for (_, name, ..) in FUNCTIONS {
            let is_named = [format!("`{name}`"), format!("`{name}("), format!("{name}(")];
            assert!(is_named.iter().any(|text| guide.contains(text)), "{name}");
        }
    }
}

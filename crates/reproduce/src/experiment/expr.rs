//! Expressions over measures and cases: `queue_bytes.mean['50 Mbit/s'] / queue_bytes.mean['10 Mbit/s']`.
//!
//! | written | is |
//! |---|---|
//! | `MEASURE['case', axis='case']` | measure of the runs of these cases: the mean over their seeds |
//! | `MEASURE[*]`, `MEASURE[axis=*]` | a list, case by case |
//! | `GRID.MEASURE` | measure of another grid of runs |
//! | `'a name in quotes'` | measure; `{axis}` in it is the key of the cell's case |
//! | `AXIS`, `AXIS[*]` | number of the cell's case, or of all cases |
//! | `place(AXIS)` | index of the case, from 0 |
//! | `each(AXIS, expr)`, `every(AXIS, expr)` | list over the cases with a value; or only if all have one |
//! | `step('name', 'value')` | a number of a step |
//! | `file('name.csv')` | curve from a file next to the experiment: x and y values below a header line |
//! | `per_seed(expr)` | a list, seed by seed |
//!
//! Arithmetic (`+ - * /`), comparisons (1 or 0) and functions work on numbers and, element by element, on lists. A
//! missing operand makes the result missing.

use std::ops::Range;

use paceline_scenario::Problem;
use paceline_scenario::diagnostics::{Location, nearest};

/// Parsed expression whose names are not yet resolved.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Written {
    Number(f64),
    Name {
        path: Vec<String>,
        cases: Vec<Coordinate>,
        span: Range<usize>,
    },
    Negative(Box<Self>),
    Binary(Operator, Box<Self>, Box<Self>),
    Call(Function, Vec<Self>, Range<usize>),
    /// Curve read from a file.
    Curve(Vec<(f64, f64)>),
}

/// Function that reads a curve from the file with this name, which is written at this position.
pub(super) type ReadCurve<'a> = dyn FnMut(&str, Range<usize>) -> Result<Vec<(f64, f64)>, Problem> + 'a;

impl Written {
    /// Returns a text in quotes, which may be a name.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Name { path, cases, .. } if cases.is_empty() && path.len() == 1 => Some(&path[0]),
            _ => None,
        }
    }

    /// Replaces calls of `file` by the curves that they read.
    pub(super) fn read_files(&mut self, read: &mut ReadCurve<'_>) -> Result<(), Problem> {
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

/// Case in brackets behind a name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Coordinate {
    pub(super) axis: Option<String>,
    /// Name of the case; `None` for all cases.
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
    pub(super) fn of(self, a: f64, b: f64) -> f64 {
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
        /// Function by its name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Function { $($variant,)* }

        /// Name, number of arguments and meaning of each function.
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
    Half "half" 0 "half of the mean's 95 % interval; nothing of equal numbers",
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
    CaseIndex "place" 1 "which case of an axis it is, from 0",
    Each "each" 2 "a list, case by case of an axis, of those that have it",
    Every "every" 2 "a list, case by case of an axis, if all have it",
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

/// Parses an expression; `location` is the position of its text.
pub(super) fn read(text: &str, location: &Location) -> Result<Written, Problem> {
    let mut reader = Reader {
        text,
        at: 0,
        location,
        depth: 0,
        operators: 0,
    };
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
    location: &'a Location,
    /// Number of open brackets and signs.
    depth: usize,
    operators: usize,
}

/// Limits for nested brackets and signs, and for operators in an expression.
const DEEPEST: usize = 100;
const OPERATORS: usize = 1000;

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Skips `token` if it is next; returns true if it was.
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
        Problem::new(format!("expected {expected}, found {found}")).at(&self.location.part(self.at..end))
    }

    fn comparison(&mut self) -> Result<Written, Problem> {
        // The longer tokens come first, since `<=` also starts with `<`.
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
        // A loop, since recursion would read `a / b / c` as `a / (b / c)`.
        loop {
            let operator = match (self.takes("*"), self.takes("/")) {
                (true, _) => Operator::Multiply,
                (_, true) => Operator::Divide,
                _ => return Ok(left),
            };
            self.blanks();
            let from = self.at;
            let right = self.factor()?;
            // Only a literal zero is certain to be a mistake before anything has run.
            if operator == Operator::Divide && right == Written::Number(0.0) {
                let location = self.location.part(from..self.at);
                return Err(Problem::new("divides by zero").at(&location));
            }
            left = Written::Binary(operator, Box::new(left), Box::new(right));
        }
    }

    fn factor(&mut self) -> Result<Written, Problem> {
        self.operators += 1;
        // The parser calls itself for brackets and signs: without a limit, a long row of them overflows the stack.
        let (few, flat) = (self.operators <= OPERATORS, self.depth < DEEPEST);
        if !(few && flat) {
            let message = match flat {
                false => format!("brackets and signs are more than {DEEPEST} deep"),
                true => format!("an expression has more than {OPERATORS} numbers"),
            };
            return Err(Problem::new(message).at(&self.location.part(self.at..self.text.len())));
        }
        self.depth += 1;
        let factor = self.factor_within();
        self.depth -= 1;
        factor
    }

    fn factor_within(&mut self) -> Result<Written, Problem> {
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
        // TOML allows underscores in numbers, Rust's parser does not.
        let number = self.rest()[..length].replace('_', "").parse();
        let number = number.map_err(|_| self.unexpected("a number"))?;
        self.at += length;
        Ok(Written::Number(number))
    }

    /// Parses a text between single quotes, where two quotes stand for one.
    fn quoted(&mut self) -> Result<String, Problem> {
        self.expects("'")?;
        let mut text = String::new();
        loop {
            let Some(end) = self.rest().find('\'') else {
                // The error points to the end, where the quote is missing.
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

    /// Parses the name of an axis, which may have hyphens.
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
            return Err(problem.at(&self.location.part(span)).help(help));
        };
        let mut arguments = vec![self.comparison()?];
        while self.takes(",") {
            arguments.push(self.comparison()?);
        }
        self.expects(")")?;
        if expected != 0 && arguments.len() != expected {
            let found = arguments.len();
            let text = format!("`{name}` has {expected} arguments, found {found}");
            return Err(Problem::new(text).at(&self.location.part(span)));
        }
        Ok(Written::Call(function, arguments, span))
    }
}

/// Returns the two texts that a function takes as arguments, or an error.
pub(super) fn texts(
    function: Function,
    arguments: &[Written],
    at: &Location,
) -> Result<[String; 2], Problem> {
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
mod tests;

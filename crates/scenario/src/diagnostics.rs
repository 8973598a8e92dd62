//! Errors for users: file, line and column, the offending text, and the expected value.
//!
//! [`crate::load`] returns [`Diagnostics`]. Its `Display` is one plain line per problem, `file:line:column: message`;
//! its [`Diagnostics::reports`] also show the text around each position.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use miette::{LabeledSpan, NamedSource, SourceCode};
use paceline_kernel::order::Sort as _;

use crate::visible::{masked, visible};

/// Text of an input and its name in messages. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Source(Arc<NamedSource<String>>);

impl Source {
    /// Creates a source with the name `name`.
    pub fn new(name: impl AsRef<str>, text: impl Into<String>) -> Self {
        Self(Arc::new(NamedSource::new(name, text.into())))
    }
    /// Returns the name: a path, or a command-line option.
    pub fn name(&self) -> &str {
        self.0.name()
    }
    /// Returns the full text.
    pub fn text(&self) -> &str {
        self.0.inner()
    }
    /// Returns the position of `span` in this text.
    pub fn at(&self, span: Range<usize>) -> Location {
        Location {
            source: self.clone(),
            span,
        }
    }
    /// Returns the position of the end of this text, ignoring trailing white space.
    pub fn end(&self) -> Location {
        let end = self.text().trim_end().len();
        self.at(end..end)
    }
}

/// Range of a [`Source`].
#[derive(Clone, Debug)]
pub struct Location {
    source: Source,
    span: Range<usize>,
}

impl Location {
    /// Returns the text in the range; empty if the range is outside of the source.
    pub fn text(&self) -> &str {
        self.source.text().get(self.span.clone()).unwrap_or_default()
    }
    /// Returns the part `range` of this text; in a quoted text, it counts from behind the opening quote.
    pub fn part(&self, range: Range<usize>) -> Self {
        let quotes = usize::from(self.text().starts_with(['"', '\'']));
        let start = self.span.start + quotes;
        self.source.at(start + range.start..start + range.end)
    }
    /// Returns line and column, from 1; columns count characters.
    pub fn line_column(&self) -> (usize, usize) {
        let text = self.source.text();
        let mut start = self.span.start.min(text.len());
        // A position within a character cannot split the text.
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        (
            before.matches('\n').count() + 1,
            before[line_start..].chars().count() + 1,
        )
    }
}

impl fmt::Display for Location {
    /// Writes the position as `file:line:column`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.line_column();
        write!(f, "{}:{line}:{column}", self.source.name())
    }
}

/// Error in an input, with its position, a label, help and related problems.
#[derive(Clone, Debug)]
pub struct Problem(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    message: String,
    label: Option<String>,
    location: Option<Location>,
    help: Option<String>,
    related: Vec<Problem>,
}

impl Problem {
    /// Creates a problem without a position.
    pub fn new(message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            message: message.into(),
            label: None,
            location: None,
            help: None,
            related: Vec::new(),
        }))
    }
    /// Sets the position of the problem.
    #[must_use]
    pub fn at(mut self, location: &Location) -> Self {
        self.0.location = Some(location.clone());
        self
    }
    /// Sets the label shown under the position.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.0.label = Some(label.into());
        self
    }
    /// Sets the advice on how to solve the problem.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }
    /// Adds a related position with its own message.
    #[must_use]
    pub fn see(mut self, location: &Location, message: impl Into<String>) -> Self {
        self.0.related.push(Self::new(message).at(location));
        self
    }
    /// Returns the message alone.
    pub fn message(&self) -> &str {
        &self.0.message
    }
    /// Returns the position, if there is one.
    pub fn place(&self) -> Option<&Location> {
        self.0.location.as_ref()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.0;
        match &inner.location {
            Some(location) => write!(
                f,
                "{}: {}",
                visible(&location.to_string()),
                visible(&inner.message)
            )?,
            None => f.write_str(&visible(&inner.message))?,
        }
        if let Some(help) = &inner.help {
            write!(f, " ({})", visible(help))?;
        }
        for related in &inner.related {
            write!(f, "; {related}")?;
        }
        Ok(())
    }
}

/// All errors found in an input: at least one problem.
///
/// `Display` is for logs: a plain line per problem. On a terminal, render each of [`Diagnostics::reports`] with one
/// of miette's handlers.
#[derive(Clone, Debug)]
pub struct Diagnostics(Vec<Problem>);

impl From<Problem> for Diagnostics {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl Diagnostics {
    /// Collects several problems; returns `None` if there are none.
    pub fn of(problems: impl IntoIterator<Item = Problem>) -> Option<Self> {
        let problems: Vec<_> = problems.into_iter().collect();
        (!problems.is_empty()).then_some(Self(problems))
    }
    /// Adds advice to the first problem.
    #[must_use]
    pub(crate) fn help(mut self, help: &str) -> Self {
        self.0[0] = self.0[0].clone().help(help);
        self
    }
    /// Returns the problems in the order in which they were found.
    pub fn problems(&self) -> &[Problem] {
        &self.0
    }
    /// Returns the message of the first problem.
    pub fn first(&self) -> &str {
        self.0[0].message()
    }
    /// Returns the problems as reports: message, the text around the position, help.
    pub fn reports(&self) -> impl Iterator<Item = Report> + '_ {
        self.0.iter().map(Report::of)
    }
    /// Renders the first `most` reports as text with `handler`.
    pub fn render(&self, handler: &impl miette::ReportHandler, most: usize) -> String {
        struct Rendered<'a, H>(&'a H, &'a Report);
        impl<H: miette::ReportHandler> fmt::Display for Rendered<'_, H> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.debug(self.1, f)
            }
        }
        let reports: Vec<_> = self.reports().take(most).collect();
        let texts = reports.iter().map(|report| Rendered(handler, report).to_string());
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// Problems of one input, collected so that all are reported together.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    pub(crate) fn push(&mut self, problem: Problem) {
        self.0.push(problem);
    }
    /// Returns the value, or records the problem and returns `None`.
    pub(crate) fn take<T>(&mut self, result: Result<T, Problem>) -> Option<T> {
        result.map_err(|problem| self.push(problem)).ok()
    }
    /// Returns the value, or records all its problems and returns `None`.
    pub(crate) fn take_all<T>(&mut self, result: Result<T, Diagnostics>) -> Option<T> {
        result.map_err(|all| self.0.extend(all.0)).ok()
    }
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }
    /// Returns true if a problem's message contains `word`.
    pub(crate) fn mention(&self, word: &str) -> bool {
        let mut list = self.0.iter();
        list.any(|problem| problem.message().split_whitespace().any(|other| other == word))
    }
    /// Returns each distinct problem once; there must be at least one.
    pub(crate) fn distinct(self) -> Diagnostics {
        let mut seen = paceline_kernel::sorted::SortedSet::new();
        let list = self.0.into_iter();
        Diagnostics(list.filter(|problem| seen.insert(problem.to_string())).collect())
    }
    /// Returns `value` if there are no problems, and all problems otherwise.
    pub(crate) fn or<T>(self, value: T) -> Result<T, Diagnostics> {
        match Diagnostics::of(self.0) {
            Some(diagnostics) => Err(diagnostics),
            None => Ok(value),
        }
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}
impl std::error::Error for Diagnostics {}

/// Problem as miette shows it, with the message separate from position and help.
#[derive(Clone, Debug)]
pub struct Report {
    problem: Problem,
    /// Source around the position, in a form that can be shown.
    around: Option<NamedSource<String>>,
    /// Related problems in other texts.
    elsewhere: Vec<Self>,
}

impl Report {
    fn of(problem: &Problem) -> Self {
        // A report shows one text, so problems in other files become reports of their own.
        let elsewhere = problem
            .0
            .related
            .iter()
            .filter(|other| !other.in_source_of(problem));
        Self {
            around: (problem.place()).map(|location| {
                NamedSource::new(visible(location.source.name()), masked(location.source.text()))
            }),
            problem: problem.clone(),
            elsewhere: elsewhere.map(Self::of).collect(),
        }
    }
}

impl Problem {
    fn in_source_of(&self, other: &Self) -> bool {
        match (&self.0.location, &other.0.location) {
            (Some(a), Some(b)) => Arc::ptr_eq(&a.source.0, &b.source.0),
            _ => false,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible(self.problem.message()))
    }
}
impl std::error::Error for Report {}

impl miette::Diagnostic for Report {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let help = self.problem.0.help.as_ref()?;
        Some(Box::new(visible(help)))
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.around.as_ref().map(|around| around as &dyn SourceCode)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let location = self.problem.0.location.as_ref()?;
        let label = self.problem.0.label.as_deref().unwrap_or("here");
        let main =
            LabeledSpan::new_primary_with_span(Some(visible(label).into_owned()), location.span.clone());
        let others = self
            .problem
            .0
            .related
            .iter()
            .filter(|other| other.in_source_of(&self.problem));
        let others = others.filter_map(|other| {
            let location = other.0.location.as_ref()?;
            Some(LabeledSpan::at(location.span.clone(), visible(other.message())))
        });
        Some(Box::new(std::iter::once(main).chain(others)))
    }
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        if self.elsewhere.is_empty() {
            return None;
        }
        Some(Box::new(
            self.elsewhere
                .iter()
                .map(|other| other as &dyn miette::Diagnostic),
        ))
    }
}

/// Returns the name nearest to `word`, if it is near enough to be meant.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_few(word, names, 1).pop()
}

/// Returns up to `most` names nearest to `word`, if the first of them is near enough to be meant.
pub fn nearest_few<'a>(word: &str, names: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let near = by_distance(word, names);
    // A short name may also be one letter longer or shorter, where the general limit would allow nothing.
    let longer = |a: &str, b: &str| !b.is_empty() && a.len() == b.len() + 1 && a.contains(b);
    let close = |(distance, name): &(usize, &str)| {
        distance * 5 <= name.len().max(word.len()) * 2 || longer(name, word) || longer(word, name)
    };
    match near.first().is_some_and(close) {
        true => near.into_iter().take(most).map(|(_, name)| name).collect(),
        false => Vec::new(),
    }
}

/// Returns all names with their edit distances from `word`, nearest first; ties keep their order.
fn by_distance<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<(usize, &'a str)> {
    let word = word.to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&word, &name.to_lowercase());
    let mut near: Vec<(usize, &str)> = names.into_iter().map(|name| (distance(name), name)).collect();
    near.order_by_key(|(distance, _)| *distance);
    near
}

/// Longest list of names that is shown in full.
const LISTED: usize = 12;
/// Number of names shown from a longer list.
const FEW: usize = 3;

/// Returns "did you mean `x`?", or a list of the known names; from a long list, only the nearest.
pub fn suggestion<'a>(word: &str, names: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let near = by_distance(word, names.clone());
    match nearest(word, names.clone()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if near.len() > LISTED => {
            let few: Vec<_> = near
                .iter()
                .take(FEW)
                .map(|(_, name)| format!("`{name}`"))
                .collect();
            format!("there are {}, among them {}", near.len(), few.join(", "))
        }
        None => {
            let names: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
            format!("there is {}", names.join(", "))
        }
    }
}

/// Returns "did you mean `x`, `y` or `z`?" for a name among many. If none is near, suggests names that contain it or
/// are nearest.
pub fn among_many<'a>(word: &str, names: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let lower = word.to_lowercase();
    let mut few = nearest_few(word, names.clone(), FEW);
    let meant = !few.is_empty();
    let has = |name: &&str| !lower.is_empty() && name.to_lowercase().contains(&lower);
    let others = by_distance(word, names.clone()).into_iter().map(|(_, name)| name);
    for name in names.into_iter().filter(has).chain(others) {
        if few.len() < FEW && !few.contains(&name) {
            few.push(name);
        }
    }
    let quoted: Vec<String> = few.iter().map(|name| format!("`{name}`")).collect();
    let list = match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => return "there are none".to_owned(),
    };
    match meant {
        true => format!("did you mean {list}?"),
        false => format!("the nearest are {}.", list.replace(" or ", " and ")),
    }
}

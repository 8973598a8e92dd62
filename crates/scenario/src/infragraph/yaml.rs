//! YAML and JSON as a tree of values with their positions. JSON is a part of YAML.

use std::ops::Range;
use std::rc::Rc;

use paceline_kernel::sorted::SortedMap;
use saphyr_parser::{Event, Marker, Parser};

use crate::diagnostics::{Location, Problem, Source};

/// Nested lists and tables; more would exhaust the stack when the tree is dropped.
const DEEPEST: usize = 64;

/// Value of a document, with its range in the text.
pub(super) struct Node {
    value: Value,
    span: Range<usize>,
}

/// Content of a node. Nodes are shared, because an alias stands for the whole value of its anchor.
enum Value {
    /// Text without quotes: a number, too.
    Text(String),
    List(Vec<Rc<Node>>),
    Table(Vec<(Rc<Node>, Rc<Node>)>),
}

/// List or table whose end is still to come.
struct Open {
    anchor: usize,
    start: usize,
    is_table: bool,
    items: Vec<Rc<Node>>,
}

/// Converts positions from characters to bytes; they come in nearly ascending order.
struct Offsets<'a> {
    text: &'a str,
    /// Characters and bytes of a known position.
    known: (usize, usize),
}

impl Offsets<'_> {
    fn of(&mut self, marker: &Marker) -> usize {
        let index = marker.index();
        if self.text.is_ascii() {
            return index.min(self.text.len());
        }
        if index < self.known.0 {
            self.known = (0, 0);
        }
        let rest = &self.text[self.known.1..];
        let bytes: usize = rest.chars().take(index - self.known.0).map(char::len_utf8).sum();
        self.known = (index, self.known.1 + bytes);
        self.known.1
    }
}

/// Parses the first document of a text.
pub(super) fn parse(source: &Source) -> Result<Rc<Node>, Problem> {
    let mut offsets = Offsets {
        text: source.text(),
        known: (0, 0),
    };
    let mut anchors: SortedMap<usize, Rc<Node>> = SortedMap::new();
    let mut open: Vec<Open> = Vec::new();
    for event in Parser::new_from_str(source.text()) {
        let (event, span) = event.map_err(|error| {
            let at = offsets.of(error.marker());
            Problem::new(format!("this is not YAML or JSON: {}", error.info())).at(&source.at(at..at))
        })?;
        let start = offsets.of(&span.start);
        let end = offsets.of(&span.end);
        let here = || source.at(start..end);
        let (anchor, node) = match event {
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                if open.len() >= DEEPEST {
                    let message = format!("lists and tables in more than {DEEPEST} others");
                    return Err(Problem::new(message).at(&here()));
                }
                open.push(Open {
                    anchor,
                    start,
                    is_table: matches!(event, Event::MappingStart(..)),
                    items: Vec::new(),
                });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(done) = open.pop() else { continue };
                let value = match done.is_table {
                    true => Value::Table(pairs(done.items)),
                    false => Value::List(done.items),
                };
                let span = done.start..end.max(done.start);
                (done.anchor, Rc::new(Node { value, span }))
            }
            Event::Scalar(text, _, anchor, _) => {
                let value = Value::Text(text.into_owned());
                (
                    anchor,
                    Rc::new(Node {
                        value,
                        span: start..end,
                    }),
                )
            }
            Event::Alias(id) => {
                let known = anchors.get(&id).cloned();
                let unknown = || Problem::new("the alias stands before the end of its anchor").at(&here());
                (0, known.ok_or_else(unknown)?)
            }
            Event::DocumentEnd => break,
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) => continue,
        };
        if anchor > 0 {
            anchors.insert(anchor, node.clone());
        }
        match open.last_mut() {
            Some(parent) => parent.items.push(node),
            None => return Ok(node),
        }
    }
    Err(Problem::new("the file is empty").at(&source.end()))
}

/// Returns keys and values, which alternate in `items`.
fn pairs(items: Vec<Rc<Node>>) -> Vec<(Rc<Node>, Rc<Node>)> {
    let mut items = items.into_iter();
    let mut pairs = Vec::new();
    while let (Some(key), Some(value)) = (items.next(), items.next()) {
        pairs.push((key, value));
    }
    pairs
}

/// Value of a source, with what it is called in messages.
#[derive(Clone)]
pub(super) struct View<'a> {
    pub(super) source: &'a Source,
    pub(super) node: &'a Node,
    /// Name such as `link`, which follows "the".
    pub(super) what: &'static str,
}

impl<'a> View<'a> {
    /// Returns the position of the value; of a list or table only its first line.
    pub(super) fn place(&self) -> Location {
        let span = self.node.span.clone();
        let text = self.source.text().get(span.clone()).unwrap_or_default();
        let first = text.lines().next().map_or(0, |line| line.trim_end().len());
        self.source.at(span.start..span.start + first)
    }

    fn wrong(&self, expected: &str) -> Problem {
        Problem::new(format!("the {} is no {expected}", self.what))
            .at(&self.place())
            .label(format!("expected a {expected}"))
    }

    fn child(&self, node: &'a Node, what: &'static str) -> Self {
        let source = self.source;
        Self { source, node, what }
    }

    /// Returns the value of a key, if it is there and not null.
    pub(super) fn get(&self, key: &'static str) -> Result<Option<Self>, Problem> {
        let Value::Table(pairs) = &self.node.value else {
            return Err(self.wrong("table"));
        };
        let is_key = |node: &Node| matches!(&node.value, Value::Text(text) if text == key);
        let found = pairs.iter().find(|(name, _)| is_key(name));
        let null = |node: &Node| matches!(&node.value, Value::Text(text) if ["", "null", "~"].contains(&text.as_str()));
        Ok(found
            .filter(|(_, node)| !null(node))
            .map(|(_, node)| self.child(node, key)))
    }

    /// Returns the value of a key that has to be there.
    pub(super) fn need(&self, key: &'static str) -> Result<Self, Problem> {
        let missing = || Problem::new(format!("the {} has no `{key}`", self.what)).at(&self.place());
        self.get(key)?.ok_or_else(missing)
    }

    /// Returns the values of a list; none if the key is missing.
    pub(super) fn list(&self, key: &'static str, what: &'static str) -> Result<Vec<Self>, Problem> {
        let Some(list) = self.get(key)? else {
            return Ok(Vec::new());
        };
        let Value::List(items) = &list.node.value else {
            return Err(list.wrong("list"));
        };
        Ok(items.iter().map(|item| self.child(item, what)).collect())
    }

    pub(super) fn text(&self) -> Result<&'a str, Problem> {
        match &self.node.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.wrong("text")),
        }
    }

    /// Returns a number in a range, which has a name for messages.
    pub(super) fn number(&self, low: f64, high: f64, expected: &str) -> Result<f64, Problem> {
        let text = self.text()?;
        let number = text
            .parse::<f64>()
            .ok()
            .filter(|number| (low..=high).contains(number));
        number.ok_or_else(|| {
            Problem::new(format!("`{text}` is no {expected}"))
                .at(&self.place())
                .label(format!("expected a {expected}"))
        })
    }

    pub(super) fn count(&self, most: u32) -> Result<u32, Problem> {
        let text = self.text()?;
        let count = text.parse::<u32>().ok().filter(|count| *count <= most);
        count.ok_or_else(|| {
            let expected = format!("whole number of at most {most}");
            Problem::new(format!("`{text}` is no {expected}"))
                .at(&self.place())
                .label(format!("expected a {expected}"))
        })
    }
}

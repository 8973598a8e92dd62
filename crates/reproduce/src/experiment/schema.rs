//! What stands in `experiment.toml`, key by key.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use toml::Spanned;

use crate::Choice;
use crate::criterion::Quotation;
use crate::panel::Along;

/// A text and where it stands.
pub(super) type Text = Spanned<String>;

/// `experiment.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct File {
    pub(super) title: String,
    pub(super) source: Source,
    pub(super) about: Text,
    #[serde(default)]
    pub(super) notes: Vec<Text>,
    #[serde(default)]
    pub(super) choices: Vec<Spanned<NamedOr<Choice>>>,
    /// Files with notes, choices, axes, measures, criteria and quotations that experiments share.
    pub(super) common: Option<Spanned<Many<String>>>,
    #[serde(default)]
    pub(super) steps: Vec<Text>,
    /// An axis called `case`.
    #[serde(default)]
    pub(super) case: Vec<Case>,
    /// Axes: their cases, or a CSV file of them.
    #[serde(default)]
    pub(super) axis: BTreeMap<String, NamedOr<Vec<Case>>>,
    /// Parts of expressions by name.
    #[serde(default)]
    pub(super) define: BTreeMap<String, Text>,
    /// Measures of runs by name.
    #[serde(default)]
    pub(super) measure: BTreeMap<String, OwnMeasure>,
    /// Sets of them that come from one question each, by name.
    #[serde(default)]
    pub(super) question: BTreeMap<String, OwnQuestion>,
    /// Criteria by name.
    #[serde(default)]
    pub(super) expect: BTreeMap<String, Spanned<Expect>>,
    /// Words of the publication by name.
    #[serde(default)]
    pub(super) quotes: BTreeMap<String, Quotation>,
    #[serde(default)]
    pub(super) runs: Many<Runs>,
    #[serde(default)]
    pub(super) table: Vec<Table>,
    /// The title of claims that have none of their own.
    pub(super) claims_title: Option<String>,
    #[serde(default)]
    pub(super) claim: Vec<Claim>,
    #[serde(default)]
    pub(super) chart: Vec<Chart>,
}

/// What several experiments share.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Common {
    #[serde(default)]
    pub(super) notes: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) choices: BTreeMap<String, Choice>,
    #[serde(default)]
    pub(super) axis: BTreeMap<String, NamedOr<Vec<Case>>>,
    #[serde(default)]
    pub(super) measure: BTreeMap<String, OwnMeasure>,
    #[serde(default)]
    pub(super) question: BTreeMap<String, OwnQuestion>,
    #[serde(default)]
    pub(super) expect: BTreeMap<String, Expect>,
    #[serde(default)]
    pub(super) quotes: BTreeMap<String, Quotation>,
}

impl Common {
    /// Adds those of another file.
    pub(super) fn add(&mut self, other: Self) {
        self.notes.extend(other.notes);
        self.choices.extend(other.choices);
        self.axis.extend(other.axis);
        self.measure.extend(other.measure);
        self.question.extend(other.question);
        self.expect.extend(other.expect);
        self.quotes.extend(other.quotes);
    }
}

/// A number of a run, or a curve, as a question in SQL.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct OwnMeasure {
    /// What it is, as tables call it.
    pub(super) what: String,
    #[serde(default)]
    pub(super) unit: String,
    /// Digits after the point.
    #[serde(default)]
    pub(super) digits: usize,
    /// Of a number, one row with one column; of a curve, rows of a place and a value.
    pub(super) sql: Text,
    #[serde(default)]
    pub(super) curve: bool,
}

/// A question in SQL that gives several measures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct OwnQuestion {
    /// Of numbers one row, whose columns are named as they are, or rows of `name` and `value`; of curves rows of a place and
    /// a value of each.
    pub(super) sql: Text,
    #[serde(default)]
    pub(super) curves: bool,
    /// What they are; a key may be several names with blanks between.
    pub(super) values: BTreeMap<String, Meaning>,
}

/// What a measure is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Meaning {
    /// As tables call it.
    pub(super) what: String,
    #[serde(default)]
    pub(super) unit: String,
    /// Digits after the point.
    #[serde(default)]
    pub(super) digits: usize,
}

/// A publication and where in it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Source {
    /// The name of a known publication.
    pub(super) paper: Option<Text>,
    /// Another publication: authors, title, where it was published.
    pub(super) cite: Option<String>,
    /// What lists call that one.
    pub(super) short: Option<String>,
    #[serde(rename = "where")]
    pub(super) at: String,
}

/// A case of an axis: what is different in its runs.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Case {
    pub(super) name: String,
    /// In names of folders; made of the name if left out.
    pub(super) key: Option<String>,
    /// Whether its runs' folders are kept, where that is not the grid's.
    pub(super) folders: Option<bool>,
    /// Numbers that expressions of this case may name, and texts that stand for `{axis.NAME}`. The one that is called as the
    /// axis is what the axis's name stands for, and where its row is in a chart.
    #[serde(default)]
    pub(super) with: BTreeMap<String, toml::Value>,
    pub(super) scenario: Option<Text>,
    pub(super) reference: Option<Text>,
    pub(super) scheme: Option<Text>,
    pub(super) fidelity: Option<Text>,
    /// Where they are not the grid's; of several cases with seeds of their own the innermost axis's count.
    pub(super) seeds: Option<Seeds>,
    /// By axis, cases with which it is not run.
    #[serde(default)]
    pub(super) except: BTreeMap<String, Many<String>>,
    /// What published values are called where it is a column.
    pub(super) published_as: Option<String>,
    #[serde(default)]
    pub(super) set: BTreeMap<String, toml::Value>,
}

/// A grid of runs: every combination of the cases of its axes, with every seed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Runs {
    /// Needed where there are several grids.
    pub(super) name: Option<String>,
    /// In names of folders, before the cases' keys.
    pub(super) key: Option<String>,
    /// Axes, the outermost first; `case` if there are cases.
    pub(super) axes: Option<Vec<Text>>,
    /// By axis, the cases that are run, where not all are.
    #[serde(default)]
    pub(super) only: BTreeMap<String, Many<String>>,
    /// Combinations that are not run: by axis, cases.
    #[serde(default)]
    pub(super) except: Vec<BTreeMap<String, Many<String>>>,
    #[serde(default)]
    pub(super) seeds: Seeds,
    /// Sets of measures.
    pub(super) measures: Option<Spanned<Many<String>>>,
    /// Whether runs' folders are kept.
    #[serde(default)]
    pub(super) folders: bool,
    /// Whether flows alone are wanted, and nothing is simulated.
    #[serde(default)]
    pub(super) flows_only: bool,
    /// Whether means are of those seeds that there are.
    #[serde(default)]
    pub(super) partial: bool,
    /// A built-in scenario, or a path next to the experiment.
    pub(super) scenario: Option<Text>,
    /// Reference runs of another simulator, by their name there.
    pub(super) reference: Option<Text>,
    pub(super) scheme: Option<Text>,
    pub(super) fidelity: Option<Text>,
    /// Keys of the scenario and their values; those of cases come after these.
    #[serde(default)]
    pub(super) set: BTreeMap<String, toml::Value>,
}

/// A number of seeds from 1 on, or a list.
#[derive(Clone)]
pub(super) struct Seeds(pub(super) Vec<u64>);

impl Default for Seeds {
    fn default() -> Self {
        Self(vec![1])
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Table {
    #[serde(default)]
    pub(super) title: String,
    /// The head of the column of row names.
    #[serde(default)]
    pub(super) head: String,
    /// The grid that measures are of, where there are several.
    pub(super) runs: Option<Text>,
    /// Axes: a table for each combination of their cases.
    pub(super) each: Option<Spanned<Many<String>>>,
    /// By axis, the case that all of it is of.
    #[serde(default)]
    pub(super) at: BTreeMap<String, Text>,
    pub(super) columns: Spanned<NamedOr<Vec<Column>>>,
    pub(super) rows: Vec<Spanned<NamedOr<Row>>>,
    /// What tells rows from others of the same measure, where they say nothing else.
    pub(super) label: Option<String>,
    /// CSV files next to the experiment.
    pub(super) published: Option<Spanned<Many<String>>>,
    /// What published values are called.
    pub(super) published_as: Option<String>,
    /// Whether the order of the columns in each row is part of what was published.
    #[serde(default)]
    pub(super) ordered: bool,
    #[serde(default)]
    pub(super) heat_map: bool,
    pub(super) along: Option<Along>,
    pub(super) expect: Option<Spanned<Many<NamedOr<Expect>>>>,
    pub(super) chart: Option<Drawing>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Column {
    pub(super) name: String,
    /// The scheme whose colour it has.
    pub(super) scheme: Option<String>,
    pub(super) published_as: Option<String>,
    /// What stands in it, where that is not the row's; `{value}` is what the row has.
    pub(super) value: Option<Text>,
    /// By axis, the case that it is of.
    #[serde(default)]
    pub(super) at: BTreeMap<String, Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Row {
    /// An expression.
    pub(super) value: Option<Text>,
    /// By column, an expression in place of that one.
    #[serde(default)]
    pub(super) by_column: BTreeMap<String, Text>,
    /// What it is; of a measure, what that is.
    pub(super) what: Option<String>,
    /// What tells it from rows of the same measure: `{axis}` stands for the case, `{what}` for the measure,
    /// `{quantity}` for that with its unit.
    pub(super) label: Option<String>,
    pub(super) unit: Option<String>,
    /// A number, or the name of a constant of its case.
    pub(super) digits: Option<Spanned<toml::Value>>,
    /// Its place in a chart: a number, or the name of a constant of its case.
    pub(super) x: Option<Spanned<toml::Value>>,
    #[serde(default)]
    pub(super) at: BTreeMap<String, Text>,
    /// Axes: a row for each combination of their cases.
    pub(super) each: Option<Spanned<Many<String>>>,
    /// By axis, the cases of which there is a row; all if left out.
    #[serde(default)]
    pub(super) only: BTreeMap<String, Spanned<Many<String>>>,
    /// What was printed for it, column by column; a text for none.
    #[serde(default)]
    pub(super) published: Many<toml::Value>,
    pub(super) expect: Option<Spanned<Many<NamedOr<Expect>>>>,
}

/// What ours has to be.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Expect {
    /// The name of a criterion, in place of one written here.
    #[serde(rename = "as")]
    pub(super) named: Option<String>,
    /// By axis, the cases that it is for; `row` and `column` by their names, `x` by its ends, `published` by whether there is
    /// such a value.
    #[serde(default, rename = "where")]
    pub(super) at: BTreeMap<String, Many<toml::Value>>,
    #[serde(default)]
    pub(super) exact: bool,
    /// A share: `5%`.
    pub(super) within: Option<Text>,
    pub(super) near: Option<f64>,
    pub(super) at_most: Option<f64>,
    pub(super) at_least: Option<f64>,
    pub(super) between: Option<[f64; 2]>,
    #[serde(default)]
    pub(super) shown: bool,
    /// `paper`, `authors-simulator` or `us`.
    pub(super) says: Option<Text>,
    /// The name of the words by which the paper says it.
    pub(super) quote: Option<Text>,
    /// Whether closeness to what stands there is a property, and no published value.
    #[serde(default)]
    pub(super) property: bool,
    #[serde(default)]
    pub(super) because: String,
}

/// A number of ours with a bound.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Claim {
    pub(super) what: String,
    pub(super) expr: Text,
    /// The title of its table; claims of one title that follow each other are in one.
    pub(super) title: Option<String>,
    pub(super) runs: Option<Text>,
    pub(super) each: Option<Spanned<Many<String>>>,
    pub(super) label: Option<String>,
    #[serde(default)]
    pub(super) unit: String,
    pub(super) digits: Option<usize>,
    pub(super) published: Option<f64>,
    pub(super) published_as: Option<String>,
    pub(super) expect: Option<Spanned<Many<NamedOr<Expect>>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Chart {
    #[serde(default)]
    pub(super) title: String,
    pub(super) runs: Option<Text>,
    pub(super) each: Option<Spanned<Many<String>>>,
    pub(super) x: [String; 2],
    pub(super) y: [String; 2],
    /// Whether a value holds until the next.
    #[serde(default)]
    pub(super) stepped: bool,
    pub(super) curves: Vec<Curve>,
}

/// A chart of a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Drawing {
    pub(super) x: [String; 2],
    pub(super) y: [String; 2],
    #[serde(default)]
    pub(super) stepped: bool,
    pub(super) curves: Vec<Curve>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Curve {
    /// `{axis}` stands for the case.
    pub(super) name: String,
    /// An expression that is a curve.
    pub(super) value: Option<Text>,
    /// Or a CSV file of places and values, which were published.
    pub(super) published: Option<Text>,
    pub(super) scheme: Option<String>,
    /// Whether it is drawn as what others have is.
    #[serde(default)]
    pub(super) dashed: bool,
    #[serde(default)]
    pub(super) at: BTreeMap<String, Text>,
    pub(super) each: Option<Spanned<Many<String>>>,
}

/// One or several.
#[derive(Clone)]
pub(super) struct Many<T>(pub(super) Vec<T>);

impl<T> Default for Many<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// A name, or the thing itself.
#[derive(Clone)]
pub(super) enum NamedOr<T> {
    Named(String),
    Own(T),
}

/// The ways in which a value may be written, each as a deserializer of its own.
macro_rules! written {
    ($name:ident: $one:expr; $list:expr; $expected:literal) => {
        impl<'de, T: Deserialize<'de>> Deserialize<'de> for $name<T> {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Ways<T>(PhantomData<T>);

                impl<'de, T: Deserialize<'de>> Visitor<'de> for Ways<T> {
                    type Value = $name<T>;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }

                    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                        $one(text)
                    }

                    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
                        T::deserialize(number.into_deserializer()).map($list)
                    }

                    fn visit_bool<E: Error>(self, is: bool) -> Result<Self::Value, E> {
                        T::deserialize(is.into_deserializer()).map($list)
                    }

                    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
                        T::deserialize(number.into_deserializer()).map($list)
                    }

                    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Self::Value, A::Error> {
                        T::deserialize(MapAccessDeserializer::new(table)).map($list)
                    }

                    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                        Self::Value::of_list(list)
                    }
                }
                from.deserialize_any(Ways(PhantomData))
            }
        }
    };
}

written!(Many: |text: &str| T::deserialize(text.into_deserializer()).map(|one| Many(vec![one])); |one| Many(vec![one]); "one or a list");
written!(NamedOr: |text: &str| Ok(NamedOr::Named(text.to_string())); NamedOr::Own; "a name or the thing itself");

impl<'de, T: Deserialize<'de>> Many<T> {
    fn of_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = list.next_element()? {
            all.push(one);
        }
        Ok(Self(all))
    }
}

impl<'de, T: Deserialize<'de>> NamedOr<T> {
    fn of_list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        T::deserialize(SeqAccessDeserializer::new(list)).map(Self::Own)
    }
}

impl<'de> Deserialize<'de> for Seeds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let seed = |value: &toml::Value| value.as_integer().and_then(|seed| u64::try_from(seed).ok());
        let seeds: Option<Vec<u64>> = match &toml::Value::deserialize(from)? {
            toml::Value::Array(list) => list.iter().map(seed).collect(),
            // A longer list is written down.
            one => seed(one)
                .filter(|count| *count <= 1000)
                .map(|count| (1..=count).collect()),
        };
        let seeds = seeds.filter(|seeds| !seeds.is_empty());
        let expected = || D::Error::custom("expected a number of seeds from 1 to 1000, or a list of seeds");
        seeds.map(Self).ok_or_else(expected)
    }
}

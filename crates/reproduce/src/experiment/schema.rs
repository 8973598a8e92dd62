//! Schema of `experiment.toml`, key by key.

use std::fmt;
use std::marker::PhantomData;

use paceline_kernel::sorted::SortedMap;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use toml::Spanned;

use crate::Choice;
use crate::criterion::Quotation;
use crate::experiment::figures::Recipe;
use crate::panel::Along;

/// Text with its position.
pub(super) type Text = Spanned<String>;

/// Content of the file `experiment.toml`.
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
    /// Cases of an axis called `case`.
    #[serde(default)]
    pub(super) case: Vec<Case>,
    /// Axes: their cases, or a CSV file of them.
    #[serde(default)]
    pub(super) axis: SortedMap<String, NamedOr<Vec<Case>>>,
    /// Parts of expressions by name.
    #[serde(default)]
    pub(super) define: SortedMap<String, Text>,
    /// Measures of runs by name.
    #[serde(default)]
    pub(super) measure: SortedMap<String, OwnMeasure>,
    /// Sets of measures that one question each returns, by name.
    #[serde(default)]
    pub(super) question: SortedMap<String, OwnQuestion>,
    /// Named criteria for values.
    #[serde(default)]
    pub(super) expect: SortedMap<String, Spanned<Expect>>,
    /// Quotations from the publication by name.
    #[serde(default)]
    pub(super) quotes: SortedMap<String, Quotation>,
    #[serde(default)]
    pub(super) runs: Many<Runs>,
    #[serde(default)]
    pub(super) table: Vec<Table>,
    /// Title of claims without their own.
    pub(super) claims_title: Option<String>,
    #[serde(default)]
    pub(super) claim: Vec<Claim>,
    #[serde(default)]
    pub(super) chart: Vec<Chart>,
    #[serde(default)]
    pub(super) figure: Vec<Recipe>,
}

/// Definitions that several experiments share.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Common {
    #[serde(default)]
    pub(super) notes: SortedMap<String, String>,
    #[serde(default)]
    pub(super) choices: SortedMap<String, Choice>,
    #[serde(default)]
    pub(super) axis: SortedMap<String, NamedOr<Vec<Case>>>,
    #[serde(default)]
    pub(super) measure: SortedMap<String, OwnMeasure>,
    #[serde(default)]
    pub(super) question: SortedMap<String, OwnQuestion>,
    #[serde(default)]
    pub(super) expect: SortedMap<String, Expect>,
    #[serde(default)]
    pub(super) quotes: SortedMap<String, Quotation>,
}

impl Common {
    /// Adds the definitions of another file.
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

/// Number or curve of a run, defined by a question in SQL.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct OwnMeasure {
    /// Description of the quantity in tables.
    pub(super) what: String,
    #[serde(default)]
    pub(super) unit: String,
    /// Digits after the point.
    #[serde(default)]
    pub(super) digits: usize,
    /// Query: for a number, one row with one column; for a curve, rows with x and y.
    pub(super) sql: Text,
    #[serde(default)]
    pub(super) curve: bool,
}

/// Question in SQL that returns several measures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct OwnQuestion {
    /// Query: for numbers, one row whose columns have the measures' names, or rows of `name` and `value`; for curves,
    /// rows of x with the y of each.
    pub(super) sql: Text,
    #[serde(default)]
    pub(super) curves: bool,
    /// Descriptions of the measures; a key may be several names separated by blanks.
    pub(super) values: SortedMap<String, Meaning>,
}

/// Description of a measure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Meaning {
    /// Description of the quantity in tables.
    pub(super) what: String,
    #[serde(default)]
    pub(super) unit: String,
    /// Digits after the point.
    #[serde(default)]
    pub(super) digits: usize,
}

/// Publication and a position in it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Source {
    /// Name of a known publication.
    pub(super) paper: Option<Text>,
    /// Other publication: authors, title, venue.
    pub(super) cite: Option<String>,
    /// Short name of the other publication.
    pub(super) short: Option<String>,
    #[serde(rename = "where")]
    pub(super) at: String,
}

/// Case of an axis: settings that differ in its runs.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Case {
    pub(super) name: String,
    /// Part of folder names; derived from the name if left out.
    pub(super) key: Option<String>,
    /// True if its runs' folders are kept; `None` follows the grid.
    pub(super) folders: Option<bool>,
    /// Numbers for expressions of this case, and texts for `{axis.NAME}`. The one with the axis's name is the value
    /// of the axis, and the position of its row in a chart.
    #[serde(default)]
    pub(super) with: SortedMap<String, toml::Value>,
    pub(super) scenario: Option<Text>,
    pub(super) reference: Option<Text>,
    pub(super) scheme: Option<Text>,
    pub(super) fidelity: Option<Text>,
    /// Seeds that replace the grid's; if several cases have seeds, the innermost axis counts.
    pub(super) seeds: Option<Seeds>,
    /// Cases of other axes with which it is not run.
    #[serde(default)]
    pub(super) except: SortedMap<String, Many<String>>,
    /// Heading of published values if it is a column.
    pub(super) published_as: Option<String>,
    #[serde(default)]
    pub(super) set: SortedMap<String, toml::Value>,
}

/// Grid of runs: every combination of the cases of its axes, with every seed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Runs {
    /// Name, which is required if there are several grids.
    pub(super) name: Option<String>,
    /// Part of folder names, before the cases' keys.
    pub(super) key: Option<String>,
    /// Axes, the outermost first; by default `case`, if there are cases.
    pub(super) axes: Option<Vec<Text>>,
    /// Cases that are run, by axis; by default all.
    #[serde(default)]
    pub(super) only: SortedMap<String, Many<String>>,
    /// Combinations of cases, by axis, that are not run.
    #[serde(default)]
    pub(super) except: Vec<SortedMap<String, Many<String>>>,
    #[serde(default)]
    pub(super) seeds: Seeds,
    /// Names of sets of measures.
    pub(super) measures: Option<Spanned<Many<String>>>,
    /// True if runs' folders are kept.
    #[serde(default)]
    pub(super) folders: bool,
    /// True if only flows are generated, and nothing is simulated.
    #[serde(default)]
    pub(super) flows_only: bool,
    /// True if means may be over the available seeds only.
    #[serde(default)]
    pub(super) partial: bool,
    /// Built-in scenario, or a path next to the experiment.
    pub(super) scenario: Option<Text>,
    /// Name of the reference runs of another simulator.
    pub(super) reference: Option<Text>,
    pub(super) scheme: Option<Text>,
    pub(super) fidelity: Option<Text>,
    /// Keys of the scenario with their values; those of cases override them.
    #[serde(default)]
    pub(super) set: SortedMap<String, toml::Value>,
}

/// Number of seeds, counted from 1, or a list.
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
    /// Heading of the column with row names.
    #[serde(default)]
    pub(super) head: String,
    /// Grid of the measures, if there are several.
    pub(super) runs: Option<Text>,
    /// Axes with a table for each combination of their cases.
    pub(super) each: Option<Spanned<Many<String>>>,
    /// Case of each axis that the whole table belongs to.
    #[serde(default)]
    pub(super) at: SortedMap<String, Text>,
    pub(super) columns: Spanned<NamedOr<Vec<Column>>>,
    pub(super) rows: Vec<Spanned<NamedOr<Row>>>,
    /// Label that distinguishes rows with the same measure, for rows without their own.
    pub(super) label: Option<String>,
    /// CSV files next to the experiment.
    pub(super) published: Option<Spanned<Many<String>>>,
    /// Heading of published values.
    pub(super) published_as: Option<String>,
    /// True if the order of the columns in each row was published too.
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
    /// Scheme whose colour it has.
    pub(super) scheme: Option<String>,
    pub(super) published_as: Option<String>,
    /// Expression of its cells, if it is not the row's; `{value}` stands for the row's.
    pub(super) value: Option<Text>,
    /// Case of each axis that it belongs to.
    #[serde(default)]
    pub(super) at: SortedMap<String, Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Row {
    /// Expression for its cells.
    pub(super) value: Option<Text>,
    /// Expressions by column that replace it.
    #[serde(default)]
    pub(super) by_column: SortedMap<String, Text>,
    /// Description of the quantity; by default that of the measure.
    pub(super) what: Option<String>,
    /// Label that distinguishes it from rows with the same measure: `{axis}` stands for the case, `{what}` for the
    /// measure, `{quantity}` for the measure with its unit.
    pub(super) label: Option<String>,
    pub(super) unit: Option<String>,
    /// Number of digits, or the name of a constant of its case.
    pub(super) digits: Option<Spanned<toml::Value>>,
    /// Position in a chart: a number, or the name of a constant of its case.
    pub(super) x: Option<Spanned<toml::Value>>,
    #[serde(default)]
    pub(super) at: SortedMap<String, Text>,
    /// Axes with a row for each combination of their cases.
    pub(super) each: Option<Spanned<Many<String>>>,
    /// Cases, by axis, that have a row; by default all.
    #[serde(default)]
    pub(super) only: SortedMap<String, Spanned<Many<String>>>,
    /// Published values, column by column; a text where there is none.
    #[serde(default)]
    pub(super) published: Many<toml::Value>,
    pub(super) expect: Option<Spanned<Many<NamedOr<Expect>>>>,
}

/// Requirement on our values.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Expect {
    /// Name of a criterion, instead of one written here.
    #[serde(rename = "as")]
    pub(super) named: Option<String>,
    /// Conditions: cases by axis; `row` and `column` by name, `x` by its range, `published` by the existence of such
    /// a value.
    #[serde(default, rename = "where")]
    pub(super) at: SortedMap<String, Many<toml::Value>>,
    #[serde(default)]
    pub(super) exact: bool,
    /// Relative difference, such as `5%`.
    pub(super) within: Option<Text>,
    pub(super) near: Option<f64>,
    pub(super) at_most: Option<f64>,
    pub(super) at_least: Option<f64>,
    pub(super) between: Option<[f64; 2]>,
    #[serde(default)]
    pub(super) shown: bool,
    /// Source: `paper`, `authors-simulator` or `us`.
    pub(super) says: Option<Text>,
    /// Name of the quotation that states it.
    pub(super) quote: Option<Text>,
    /// True if closeness to the reference value counts as a property, not as a published value.
    #[serde(default)]
    pub(super) property: bool,
    #[serde(default)]
    pub(super) because: String,
}

/// Value of ours with a bound.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Claim {
    pub(super) what: String,
    pub(super) expr: Text,
    /// Title of its table; consecutive claims with one title share a table.
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
    /// True if a value holds until the next.
    #[serde(default)]
    pub(super) stepped: bool,
    pub(super) curves: Vec<Curve>,
}

/// Chart of a table.
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
    /// Name of the curve; `{axis}` stands for the case.
    pub(super) name: String,
    /// Expression that returns a curve.
    pub(super) value: Option<Text>,
    /// CSV file with the points of a published curve.
    pub(super) published: Option<Text>,
    pub(super) scheme: Option<String>,
    /// True if it is drawn dashed, like published values.
    #[serde(default)]
    pub(super) dashed: bool,
    #[serde(default)]
    pub(super) at: SortedMap<String, Text>,
    pub(super) each: Option<Spanned<Many<String>>>,
}

/// One value or a list of them.
#[derive(Clone)]
pub(super) struct Many<T>(pub(super) Vec<T>);

impl<T> Default for Many<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Name of a shared definition, or the definition itself.
#[derive(Clone)]
pub(super) enum NamedOr<T> {
    Named(String),
    Own(T),
}

/// Implements deserialization for the accepted notations of a value.
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
            // A longer list has to be written out.
            one => seed(one)
                .filter(|count| *count <= 1000)
                .map(|count| (1..=count).collect()),
        };
        let seeds = seeds.filter(|seeds| !seeds.is_empty());
        let expected = || D::Error::custom("expected a number of seeds from 1 to 1000, or a list of seeds");
        seeds.map(Self).ok_or_else(expected)
    }
}

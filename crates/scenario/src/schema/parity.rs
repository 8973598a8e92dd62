//! Settings of other simulators, `[parity]`: one table for each fidelity that has one.

use std::any::Any;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::OnceLock;

use paceline_kernel::order::Sort as _;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};
use toml::Spanned;
use toml::de::DeValue;

use super::declare::{Entry, Parameter, Table, entry};
use crate::document::reader::{Error, Reader};
use crate::document::writer::{self, Node};
use crate::left_out::left_out;

const ABOUT: &str = "Settings of simulators whose networks Paceline reproduces event by event. The fidelity of that name uses a table; other fidelities ignore it, so that one scenario serves several.";

/// Table of a simulator's settings.
pub trait OwnTable: Any + Debug + Send + Sync {
    /// Returns a boxed clone, since `Clone` is not object-safe.
    fn copy(&self) -> Box<dyn OwnTable>;
    /// Returns the table's content for writing.
    #[doc(hidden)]
    fn node(&self) -> Result<Node, writer::Error>;
}

impl<T: Any + Debug + Send + Sync + Clone + Serialize> OwnTable for T {
    fn copy(&self) -> Box<dyn OwnTable> {
        Box::new(self.clone())
    }
    fn node(&self) -> Result<Node, writer::Error> {
        writer::node(self)
    }
}

/// Registration of a simulator's table in `[parity]`.
pub struct TableRow {
    name: &'static str,
    about: &'static str,
    read: fn(Reader<'_>) -> Result<Box<dyn OwnTable>, Error>,
    empty: fn() -> Box<dyn OwnTable>,
    entries: Vec<Entry>,
}

impl TableRow {
    /// Registers the table `[parity.NAME]` with the keys of `T`.
    pub fn of<T: OwnTable + Table + Default + DeserializeOwned>(
        name: &'static str,
        about: &'static str,
    ) -> Self {
        Self {
            name,
            about,
            read: |reader| Ok(Box::new(T::deserialize(reader)?)),
            empty: || Box::new(T::default()),
            entries: vec![entry::<T>(format!("parity.{name}").leak())],
        }
    }

    /// Adds the subtable `name` with the keys of `T`.
    #[must_use]
    pub fn with<T: Table>(mut self, name: &str) -> Self {
        self.entries
            .push(entry::<T>(format!("parity.{}.{name}", self.name).leak()));
        self
    }
}

static ROWS: OnceLock<Vec<TableRow>> = OnceLock::new();

/// Adds tables; returns false if they have been looked up already.
pub(crate) fn add(rows: Vec<TableRow>) -> bool {
    ROWS.set(rows).is_ok()
}

fn rows() -> &'static [TableRow] {
    ROWS.get_or_init(Vec::new)
}

/// Returns the documentation of all tables and their subtables.
pub(crate) fn table_rows() -> Vec<Entry> {
    let key = |row: &TableRow| Parameter {
        name: row.name,
        unit: "",
        default: "",
        help: row.about,
        when: &[],
        written: "",
    };
    let keys: Vec<Parameter> = rows().iter().map(key).collect();
    let all = Entry {
        name: "parity",
        summary: ABOUT,
        parameters: keys.leak(),
        when: &[],
    };
    let own = rows().iter().flat_map(|row| row.entries.iter().copied());
    std::iter::once(all).chain(own).collect()
}

/// Simulators' tables in a scenario.
#[derive(Debug, Default)]
pub struct Parity(Vec<(&'static str, Spanned<Box<dyn OwnTable>>)>);

impl Parity {
    /// Creates a set with this table only, at the position `span`.
    pub(crate) fn of(name: &'static str, span: Range<usize>, table: Box<dyn OwnTable>) -> Self {
        Self(vec![(name, Spanned::new(span, table))])
    }

    /// Returns true if the scenario has no such table.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads all tables of a scenario.
    pub(crate) fn read(written: Spanned<DeValue<'_>>) -> Result<Self, Error> {
        static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
        let names = NAMES.get_or_init(|| rows().iter().map(|row| row.name).collect());
        let mut tables = Vec::new();
        for (key, value) in Reader::from(written).entries()? {
            let Some(row) = rows().iter().find(|row| row.name == key.get_ref().as_ref()) else {
                return Err(match left_out(key.get_ref()) {
                    Some(why) => Error::at(format!("`[parity.{}]`: {why}", key.get_ref()), &key.span()),
                    None => Error::unknown_key(&key, names),
                });
            };
            let span = value.span();
            let table = (row.read)(Reader::from(value)).map_err(|error| error.placed(&span))?;
            tables.push((row.name, Spanned::new(span, table)));
        }
        // In the order of registration, so that the resolved text does not depend on the file's order.
        let index = |name: &str| rows().iter().position(|row| row.name == name);
        tables.order_by_key(|(name, _)| index(name));
        Ok(Self(tables))
    }

    /// Returns the table with this name, if the scenario has it.
    pub fn get<T: OwnTable>(&self, name: &str) -> Option<&T> {
        let (_, table) = self.0.iter().find(|(known, _)| *known == name)?;
        (&**table.get_ref() as &dyn Any).downcast_ref()
    }

    /// Returns the table with this name, adding an empty one if the scenario has none.
    ///
    /// # Panics
    /// If no such table was registered with this type.
    pub fn table<T: OwnTable>(&mut self, name: &str) -> (Range<usize>, &mut T) {
        let rows = rows();
        let index = rows.iter().position(|row| row.name == name);
        let index = index.expect("the table was added");
        // Inserted at the position that `read` would give it, so that tables stay in the order of registration.
        let behind = |known: &str| rows.iter().position(|row| row.name == known) >= Some(index);
        let at = self
            .0
            .iter()
            .position(|(known, _)| behind(known))
            .unwrap_or(self.0.len());
        if self.0.get(at).is_none_or(|(known, _)| *known != name) {
            let empty = Spanned::new(0..0, (rows[index].empty)());
            self.0.insert(at, (rows[index].name, empty));
        }
        let table = &mut self.0[at].1;
        let span = table.span();
        let table = (&mut **table.get_mut() as &mut dyn Any).downcast_mut();
        (span, table.expect("the table has its own type"))
    }
}

impl Clone for Parity {
    fn clone(&self) -> Self {
        let copy = |(name, table): &(&'static str, Spanned<Box<dyn OwnTable>>)| {
            (*name, Spanned::new(table.span(), table.get_ref().copy()))
        };
        Self(self.0.iter().map(copy).collect())
    }
}

/// Skips the value: `Parity::read` reads each table into its own type.
impl<'de> Deserialize<'de> for Parity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self::default())
    }
}

impl Serialize for Parity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, table) in &self.0 {
            let node = table.get_ref().node().map_err(serde::ser::Error::custom)?;
            map.serialize_entry(name, &node)?;
        }
        map.end()
    }
}

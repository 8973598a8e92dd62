//! Tables that recorders write.
//!
//! A table is declared once, by [`recorded!`](crate::recorded), as the struct of its rows; the comments of
//! the fields document the columns. The declaration generates its file and the reader of the file, and its
//! entries in `paceline query`, in Python, on a run's page and in the book.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

/// Declaration of a recorded table.
#[derive(Debug)]
pub struct Declared {
    /// Name in SQL and Python; the file is `NAME.csv`.
    pub name: &'static str,
    /// Description of a row.
    pub about: &'static str,
    /// Scenario setting that enables it; empty if it needs none.
    pub needs: &'static str,
    /// Columns, in the order of the file.
    pub columns: &'static [Column],
    /// Reads the table from cells, row by row, until there are none.
    pub read: Read,
}

/// Function that reads a table from the cells of its rows; an error names the wrong column of the last row.
pub type Read = fn(&mut dyn FnMut() -> Result<Option<Vec<Cell<'static>>>, String>) -> Result<Table, String>;

/// Column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name; ends in its unit if it has one (`_ps`, `_bytes`).
    pub name: &'static str,
    /// Type of its values.
    pub kind: ColumnKind,
    /// Description of its values.
    pub meaning: &'static str,
}

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Whole numbers, with sign.
    Int,
    /// Real numbers of 64 bits.
    Real,
    /// Texts of any length.
    Text,
    /// Booleans, `true` or `false`.
    Bool,
}

impl ColumnKind {
    /// Returns the name on pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int => "whole number",
            Self::Real => "number",
            Self::Text => "text",
            Self::Bool => "yes or no",
        }
    }

    /// Returns the description of expected values in error messages.
    pub const fn expected(self) -> &'static str {
        match self {
            Self::Int => "a whole number",
            Self::Real => "a number",
            Self::Text => "a text",
            Self::Bool => "true or false",
        }
    }

    /// Parses a cell of a text file; `None` if it has another type. An empty cell is a missing value, or an
    /// empty text.
    pub fn parse(self, text: &str) -> Option<Cell<'static>> {
        match self {
            Self::Text => Some(Cell::Text(Cow::Owned(text.to_string()))),
            _ if text.is_empty() => Some(Cell::Null),
            Self::Int => text.parse().map(Cell::Int).ok(),
            Self::Real => text.parse().map(Cell::Real).ok(),
            Self::Bool => text.parse().map(Cell::Bool).ok(),
        }
    }
}

/// Value in a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Missing value of any type.
    Null,
    /// Whole number, with sign.
    Int(i64),
    /// Real number of 64 bits.
    Real(f64),
    /// Text, borrowed if possible.
    Text(Cow<'a, str>),
    /// Boolean, `true` or `false`.
    Bool(bool),
}

/// Type that a column can have.
pub trait Value: Sized {
    /// Type of the column.
    const KIND: ColumnKind;
    /// Converts to a cell.
    fn cell(&self) -> Cell<'_>;
    /// Converts from a cell of the column.
    ///
    /// # Errors
    /// The cell does not fit; the text says what was expected.
    fn of(cell: Cell<'static>) -> Result<Self, String>;
}

impl Column {
    /// A column of whole numbers.
    pub const fn int(name: &'static str, meaning: &'static str) -> Self {
        let kind = ColumnKind::Int;
        Self { name, kind, meaning }
    }

    /// A column of real numbers.
    pub const fn real(name: &'static str, meaning: &'static str) -> Self {
        let kind = ColumnKind::Real;
        Self { name, kind, meaning }
    }

    /// A column of texts.
    pub const fn text(name: &'static str, meaning: &'static str) -> Self {
        let kind = ColumnKind::Text;
        Self { name, kind, meaning }
    }
}

macro_rules! whole {
    ($($type:ty),+) => {$(
        impl From<$type> for Cell<'_> {
            fn from(value: $type) -> Self {
                // Times and bytes beyond 2^63 are beyond any run.
                Cell::Int(i64::try_from(value).unwrap_or(i64::MAX))
            }
        }

        impl Value for $type {
            const KIND: ColumnKind = ColumnKind::Int;
            fn cell(&self) -> Cell<'_> {
                (*self).into()
            }
            fn of(cell: Cell<'static>) -> Result<Self, String> {
                match cell {
                    Cell::Int(value) => Self::try_from(value).map_err(|_| format!("0 to {}", Self::MAX)),
                    _ => Err(Self::KIND.expected().into()),
                }
            }
        }
    )+};
}
whole!(u8, u16, u32, u64);

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl<'a, T: Into<Self>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, T::into)
    }
}

impl Value for f64 {
    const KIND: ColumnKind = ColumnKind::Real;
    fn cell(&self) -> Cell<'_> {
        Cell::Real(*self)
    }
    fn of(cell: Cell<'static>) -> Result<Self, String> {
        match cell {
            Cell::Real(value) => Ok(value),
            _ => Err(Self::KIND.expected().into()),
        }
    }
}

impl Value for bool {
    const KIND: ColumnKind = ColumnKind::Bool;
    fn cell(&self) -> Cell<'_> {
        Cell::Bool(*self)
    }
    fn of(cell: Cell<'static>) -> Result<Self, String> {
        match cell {
            Cell::Bool(value) => Ok(value),
            _ => Err(Self::KIND.expected().into()),
        }
    }
}

impl Value for String {
    const KIND: ColumnKind = ColumnKind::Text;
    fn cell(&self) -> Cell<'_> {
        Cell::Text(Cow::Borrowed(self))
    }
    fn of(cell: Cell<'static>) -> Result<Self, String> {
        match cell {
            Cell::Text(text) => Ok(text.into_owned()),
            _ => Err(Self::KIND.expected().into()),
        }
    }
}

impl<T: Value> Value for Option<T> {
    const KIND: ColumnKind = T::KIND;
    fn cell(&self) -> Cell<'_> {
        self.as_ref().map_or(Cell::Null, T::cell)
    }
    fn of(cell: Cell<'static>) -> Result<Self, String> {
        match cell {
            Cell::Null => Ok(None),
            cell => T::of(cell).map(Some),
        }
    }
}

/// Implements [`Value`](crate::table::Value) for an enum with `ALL` and `name()`: a column of its names.
#[macro_export]
macro_rules! named_value {
    ($type:ty) => {
        impl $crate::table::Value for $type {
            const KIND: $crate::table::ColumnKind = $crate::table::ColumnKind::Text;
            fn cell(&self) -> $crate::table::Cell<'_> {
                $crate::table::Cell::Text(self.name().into())
            }
            fn of(cell: $crate::table::Cell<'static>) -> Result<Self, String> {
                let found = Self::ALL
                    .into_iter()
                    .find(|one| $crate::table::Value::cell(one) == cell);
                found.ok_or_else(|| Self::ALL.map(Self::name).join(", "))
            }
        }
    };
}

/// Row of a recorded table.
pub trait Row: Clone + PartialEq + fmt::Debug + Send + Sync + UnwindSafe + RefUnwindSafe + 'static {
    /// Declaration of the table.
    const DECLARED: &'static Declared;
    /// Returns the cell in a column, an index of the declared columns.
    fn cell(&self, column: usize) -> Cell<'_>;
    /// Creates a row from its cells.
    ///
    /// # Errors
    /// A cell does not fit; the text names the column and what was expected.
    fn of(cells: Vec<Cell<'static>>) -> Result<Self, String>;
}

/// Declares a recorded table as the struct of its rows.
///
/// ```
/// paceline_run::recorded! {
///     /// a packet that was dropped
///     pub struct Drop = "drops", needs "record.drops" {
///         /// when
///         time_ps: u64,
///         /// its flow
///         flow_id: Option<u32>,
///     }
/// }
/// ```
#[macro_export]
macro_rules! recorded {
    (
        $(#[doc = $about:literal])+
        $(#[derive($($derived:path),+)])?
        $vis:vis struct $Row:ident = $name:literal, needs $needs:literal {
            $($(#[doc = $meaning:literal])+ $column:ident: $Type:ty,)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        $(#[derive($($derived),+)])?
        $vis struct $Row {
            $($(#[doc = $meaning])+ $vis $column: $Type,)+
        }

        impl $crate::table::Row for $Row {
            const DECLARED: &'static $crate::table::Declared = &$crate::table::Declared {
                name: $name,
                about: concat!($($about),+),
                needs: $needs,
                columns: &[$($crate::table::Column {
                    name: stringify!($column),
                    kind: <$Type as $crate::table::Value>::KIND,
                    meaning: concat!($($meaning),+),
                }),+],
                read: $crate::table::read::<Self>,
            };

            fn cell(&self, column: usize) -> $crate::table::Cell<'_> {
                let cells: &[fn(&Self) -> $crate::table::Cell<'_>] =
                    &[$(|row| $crate::table::Value::cell(&row.$column)),+];
                cells[column](self)
            }

            fn of(cells: Vec<$crate::table::Cell<'static>>) -> Result<Self, String> {
                let mut cells = cells.into_iter();
                let mut next = || cells.next().unwrap_or($crate::table::Cell::Null);
                Ok(Self {
                    $($column: $crate::table::of_column(stringify!($column), next())?,)+
                })
            }
        }
    };
}

/// Converts the cell of a column.
///
/// # Errors
/// The cell does not fit; the text says what was expected and found.
pub fn of_column<T: Value>(column: &str, cell: Cell<'static>) -> Result<T, String> {
    let found = match &cell {
        Cell::Null => "nothing".to_string(),
        Cell::Int(value) => value.to_string(),
        Cell::Real(value) => value.to_string(),
        Cell::Bool(value) => value.to_string(),
        Cell::Text(text) => format!("`{text}`"),
    };
    T::of(cell).map_err(|expected| format!("column `{column}`: expected {expected}, found {found}"))
}

/// Reads a table of rows of type `R`: [`Declared::read`].
///
/// # Errors
/// `next` fails, or a cell does not fit.
pub fn read<R: Row>(
    next: &mut dyn FnMut() -> Result<Option<Vec<Cell<'static>>>, String>,
) -> Result<Table, String> {
    let mut rows: Vec<R> = Vec::new();
    while let Some(cells) = next()? {
        rows.push(R::of(cells)?);
    }
    Ok(Table::new(rows))
}

/// Table with its rows, which copies share because there may be millions.
#[derive(Clone, Debug)]
pub struct Table(Arc<dyn Rows>);

/// Rows of a type that is not known.
trait Rows: Any + fmt::Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    fn declared(&self) -> &'static Declared;
    fn len(&self) -> usize;
    fn cell(&self, row: usize, column: usize) -> Cell<'_>;
    fn equals(&self, other: &dyn Any) -> bool;
}

impl<R: Row> Rows for Vec<R> {
    fn declared(&self) -> &'static Declared {
        R::DECLARED
    }
    fn len(&self) -> usize {
        self.len()
    }
    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        self[row].cell(column)
    }
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
}

impl Table {
    /// Creates a table of these rows.
    pub fn new<R: Row>(rows: Vec<R>) -> Self {
        Self(Arc::new(rows))
    }

    /// Returns the declaration of its rows.
    pub fn declared(&self) -> &'static Declared {
        self.0.declared()
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the cell in a row and a column.
    ///
    /// # Panics
    /// If there is no such row or column.
    pub fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        self.0.cell(row, column)
    }

    /// Returns the rows if they have the type `R`.
    pub fn rows<R: Row>(&self) -> Option<&[R]> {
        (&*self.0 as &dyn Any).downcast_ref::<Vec<R>>().map(Vec::as_slice)
    }
}

impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&*other.0)
    }
}

/// Tables, sorted by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables(Vec<Table>);

impl Tables {
    /// Adds a table; replaces one of the same name.
    pub fn add(&mut self, table: Table) {
        let index = self
            .0
            .binary_search_by_key(&table.declared().name, |one| one.declared().name);
        match index {
            Ok(index) => self.0[index] = table,
            Err(index) => self.0.insert(index, table),
        }
    }

    /// Returns the table called `name`.
    pub fn get(&self, name: &str) -> Option<&Table> {
        self.iter().find(|table| table.declared().name == name)
    }

    /// Returns the rows of the table of type `R`; empty if it was not recorded.
    pub fn rows<R: Row>(&self) -> &[R] {
        self.iter().find_map(Table::rows).unwrap_or_default()
    }

    /// Returns true if the table of type `R` was recorded, even without a row.
    pub fn has<R: Row>(&self) -> bool {
        self.get(R::DECLARED.name).is_some()
    }

    /// Iterates over all tables, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Table> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::recorded! {
        /// something
        struct Thing = "things", needs "" {
            /// when
            time_ps: u64,
            /// whose
            label: String,
            /// how much
            share: Option<f64>,
            /// whether
            last: bool,
        }
    }

    fn things() -> Vec<Thing> {
        let thing = |time_ps, share, last| Thing {
            time_ps,
            label: format!("={time_ps}"),
            share,
            last,
        };
        vec![thing(7, None, false), thing(1 << 40, Some(0.1), true)]
    }

    #[test]
    fn rows_are_their_cells() {
        let table = Table::new(things());
        let columns = table.declared().columns.len();
        let cells = |row| -> Vec<Cell<'static>> {
            let own = |cell| match cell {
                Cell::Text(text) => Cell::Text(Cow::Owned(Cow::into_owned(text))),
                Cell::Null => Cell::Null,
                Cell::Int(value) => Cell::Int(value),
                Cell::Real(value) => Cell::Real(value),
                Cell::Bool(value) => Cell::Bool(value),
            };
            (0..columns).map(|column| own(table.cell(row, column))).collect()
        };
        let mut row = 0..table.len();
        let again = (table.declared().read)(&mut || Ok(row.next().map(cells))).unwrap();
        assert_eq!(again, table);
        assert_eq!(again.rows::<Thing>().unwrap(), things());
        let mut tables = Tables::default();
        tables.add(table);
        tables.add(Table::new(things()[..1].to_vec()));
        assert_eq!((tables.rows::<Thing>().len(), tables.iter().count()), (1, 1));
    }

    #[test]
    fn a_wrong_cell_is_named() {
        let cells = vec![
            Cell::Int(-1),
            Cell::Text("a".into()),
            Cell::Null,
            Cell::Bool(true),
        ];
        let error = Thing::of(cells).unwrap_err();
        assert_eq!(
            error,
            format!("column `time_ps`: expected 0 to {}, found -1", u64::MAX)
        );
        let error = Thing::of(vec![Cell::Int(1)]).unwrap_err();
        assert_eq!(error, "column `label`: expected a text, found nothing");
    }
}

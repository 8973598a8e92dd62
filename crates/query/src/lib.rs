//! SQL queries about a run.
//!
//! [`TABLES`] are the results of a run: flows, series, times and so on. SQLite reads them directly, row by row, so
//! nothing is copied and a run may have more flows than fit in memory. A query cannot write to tables or files.

mod aggregates;
mod scan;
mod source;
mod table;
mod tables;

use std::path::Path;
use std::sync::Arc;

use paceline_kernel::sorted::SortedSet;
use paceline_lab::files::{ReadError, RunData};
use paceline_scenario::guest::left_out;
use rusqlite::hooks::{AuthAction, Authorization};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

pub use aggregates::{AGGREGATES, Described};
pub use paceline_run::table::{Column, ColumnKind};
pub use source::Ended;
use source::Source;
pub use table::Table;
pub use tables::{TABLES, taken};

/// A run that can be queried.
pub struct Run {
    connection: Connection,
}

/// A cell of an answer.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// A missing value: NULL in SQL.
    Null,
    /// A whole number: INTEGER in SQL.
    Int(i64),
    /// A real number: REAL in SQL.
    Real(f64),
    /// A text, or a blob decoded as UTF-8.
    Text(String),
}

impl Cell {
    /// Returns the value of a numeric cell.
    pub fn number(&self) -> Option<f64> {
        match *self {
            Self::Int(value) => Some(value as f64),
            Self::Real(value) => Some(value),
            Self::Null | Self::Text(_) => None,
        }
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Null => Ok(()),
            Self::Int(value) => value.fmt(f),
            Self::Real(value) => value.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// The rows that a query returns.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows, with one cell per column.
    pub rows: Vec<Vec<Cell>>,
}

/// Error for a query that is invalid, refers to unknown names, or would write.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct QueryError(String);

impl QueryError {
    /// Returns true if the query refers to a table that the folder of a run does not have, so that only measures of
    /// experiments can query it.
    pub fn is_of_experiments(&self) -> bool {
        self.0.contains(table::NOT_IN_FOLDER)
    }
}

impl Run {
    /// Opens a run that has just ended for queries.
    pub fn new(ended: Arc<Ended>) -> Self {
        Self::of(Some(Source::of_run(ended)))
    }

    /// Opens the folder of a run.
    ///
    /// # Errors If it is not such a folder, or cannot be read.
    pub fn read(folder: &Path) -> Result<Self, ReadError> {
        Ok(Self::of_folder(folder, RunData::read(folder)?))
    }

    /// Opens the folder of a run whose data has been read already.
    pub fn of_folder(folder: &Path, data: RunData) -> Self {
        Self::of(Some(Source::of_folder(folder, data)))
    }

    /// Opens a run without rows, for checks of queries.
    pub fn empty() -> Self {
        Self::of(None)
    }

    fn of(source: Option<Source>) -> Self {
        let source = source.map(Arc::new);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open_in_memory_with_flags(flags)?;
            for table in TABLES.iter() {
                scan::register(&connection, table, &source)?;
            }
            aggregates::register(&connection)?;
            connection.authorizer(Some(only_reads));
            Ok(connection)
        };
        let connection = open().expect("an empty database in memory");
        Self { connection }
    }

    /// Returns the column names of a query's answer, without executing it.
    ///
    /// # Errors See [`QueryError`].
    pub fn check(&self, sql: &str) -> Result<Vec<String>, QueryError> {
        let statement = self.connection.prepare(sql);
        let statement = statement.map_err(|error| QueryError(in_words(&error)))?;
        Ok(statement.column_names().into_iter().map(str::to_string).collect())
    }

    /// Executes one query.
    ///
    /// # Errors See [`QueryError`].
    pub fn ask(&self, sql: &str) -> Result<Answer, QueryError> {
        let failed = |error: rusqlite::Error| QueryError(in_words(&error));
        let mut statement = self.connection.prepare(sql).map_err(failed)?;
        let columns: Vec<String> = statement.column_names().into_iter().map(str::to_string).collect();
        let mut rows = statement.query([]).map_err(failed)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next().map_err(failed)? {
            let cells = (0..columns.len()).map(|column| row.get_ref(column).map(cell));
            all.push(cells.collect::<rusqlite::Result<_>>().map_err(failed)?);
        }
        Ok(Answer { columns, rows: all })
    }
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(value) => Cell::Int(value),
        ValueRef::Real(value) => Cell::Real(value),
        ValueRef::Text(text) | ValueRef::Blob(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
    }
}

/// Allows statements to read only. Otherwise SQLite could write files.
fn only_reads(context: rusqlite::hooks::AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => Authorization::Allow,
        AuthAction::Function { function_name } if function_name != "load_extension" => Authorization::Allow,
        _ => Authorization::Deny,
    }
}

/// Describes an error, with similar names if a name is unknown.
fn in_words(error: &rusqlite::Error) -> String {
    let text = match error {
        rusqlite::Error::SqliteFailure(_, Some(text)) => text.clone(),
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        rusqlite::Error::MultipleStatement => "expected one statement".to_string(),
        other => other.to_string(),
    };
    // SQLite says this if its authorizer denies a statement that writes.
    if text == "not authorized" {
        return "a query only reads: expected SELECT".to_string();
    }
    let columns = TABLES
        .iter()
        .flat_map(|table| table.columns)
        .map(|column| column.name);
    let known: SortedSet<&str> = if text.starts_with("no such table: ") {
        TABLES.iter().map(|table| table.name).collect()
    } else if text.starts_with("no such column: ") {
        columns.collect()
    } else if text.starts_with("no such function: ") {
        AGGREGATES.iter().map(|aggregate| aggregate.name).collect()
    } else {
        return text;
    };
    // The name comes last, and a column may be preceded by its table.
    let name = text.rsplit([' ', '.']).next().unwrap_or_default();
    if let Some(why) = left_out(name) {
        return format!("{text}: {why}");
    }
    let help = paceline_lab::layout::among_many(name, known.iter().copied());
    format!("{text}: {help}")
}

#[cfg(test)]
mod tests;

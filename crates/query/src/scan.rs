//! A run's table as an SQLite virtual table.

use std::ffi::c_int;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use rusqlite::Connection;
use rusqlite::types::Value;
use rusqlite::vtab::{
    Context, CreateVTab, Filters, IndexInfo, VTab, VTabConnection, VTabCursor, VTabKind,
    eponymous_only_module, sqlite3_vtab, sqlite3_vtab_cursor,
};

use crate::source::Source;
use crate::table::{Part, Table};

/// Data of a virtual table's module.
#[derive(Clone)]
struct TableData {
    table: &'static Table,
    /// The run; `None` if there is none.
    source: Option<Arc<Source>>,
    /// All rows, once it is known that they come as one part. Most tables do, and a query may scan one many times.
    whole: Arc<OnceLock<Arc<Part>>>,
}

/// Registers a table under its name.
pub(crate) fn register(
    connection: &Connection,
    table: &'static Table,
    source: &Option<Arc<Source>>,
) -> rusqlite::Result<()> {
    let of = TableData {
        table,
        source: source.clone(),
        whole: Arc::default(),
    };
    connection.create_module(table.name, eponymous_only_module::<Scan>(), Some(of))
}

#[repr(C)]
struct Scan {
    base: sqlite3_vtab,
    of: TableData,
}

#[expect(unsafe_code, reason = "SQLite's interface to tables asks for it")]
// SAFETY: `Scan` starts with `sqlite3_vtab`, as the trait requires.
unsafe impl<'vtab> VTab<'vtab> for Scan {
    type Aux = TableData;
    type Cursor = Cursor<'vtab>;

    fn connect(
        _: &mut VTabConnection,
        of: Option<&TableData>,
        _: &[&[u8]],
    ) -> rusqlite::Result<(String, Self)> {
        let of = of.expect("every module has its table").clone();
        let columns: Vec<&str> = of.table.columns.iter().map(|column| column.name).collect();
        let schema = format!("CREATE TABLE x(\"{}\")", columns.join("\",\""));
        let base = sqlite3_vtab::default();
        Ok((schema, Self { base, of }))
    }

    fn best_index(&self, info: &mut IndexInfo) -> rusqlite::Result<()> {
        info.set_estimated_cost(1e6);
        Ok(())
    }

    fn open(&'vtab mut self) -> rusqlite::Result<Cursor<'vtab>> {
        Ok(Cursor {
            base: sqlite3_vtab_cursor::default(),
            of: self.of.clone(),
            part: Arc::default(),
            first: 0,
            row: 0,
            table: PhantomData,
        })
    }
}

impl CreateVTab<'_> for Scan {
    const KIND: VTabKind = VTabKind::EponymousOnly;
}

#[repr(C)]
struct Cursor<'vtab> {
    base: sqlite3_vtab_cursor,
    of: TableData,
    /// The present part, which starts at row `first` of the table.
    part: Arc<Part>,
    first: usize,
    row: usize,
    table: PhantomData<&'vtab Scan>,
}

impl Cursor<'_> {
    fn go_to(&mut self, first: usize) -> rusqlite::Result<()> {
        let Some(source) = &self.of.source else {
            return Ok(());
        };
        let part = match self.of.whole.get() {
            Some(whole) if first == 0 => Arc::clone(whole),
            Some(_) => Arc::default(),
            None => Arc::new(
                self.of
                    .table
                    .part(source, first)
                    .map_err(rusqlite::Error::ModuleError)?,
            ),
        };
        if part.rows == 0 && self.first == 0 && first > 0 {
            // Another cursor may have set it already.
            let _ = self.of.whole.set(Arc::clone(&self.part));
        }
        (self.first, self.row, self.part) = (first, 0, part);
        Ok(())
    }
}

#[expect(unsafe_code, reason = "SQLite's interface to tables asks for it")]
// SAFETY: `Cursor` starts with `sqlite3_vtab_cursor`, as the trait requires.
unsafe impl VTabCursor for Cursor<'_> {
    fn filter(&mut self, _: c_int, _: Option<&str>, _: &Filters<'_>) -> rusqlite::Result<()> {
        self.go_to(0)
    }

    fn next(&mut self) -> rusqlite::Result<()> {
        self.row += 1;
        match self.row < self.part.rows {
            true => Ok(()),
            false => self.go_to(self.first + self.row),
        }
    }

    fn eof(&self) -> bool {
        self.row >= self.part.rows
    }

    fn column(&self, context: &mut Context, column: c_int) -> rusqlite::Result<()> {
        let value: Value = self.part.value(self.row, column as usize);
        context.set_result(&value)
    }

    fn rowid(&self) -> rusqlite::Result<i64> {
        Ok((self.first + self.row) as i64)
    }
}

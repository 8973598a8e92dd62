//! Columns in memory, as they are read from a file or written to one.

use std::sync::Arc;

/// Column with a value per row.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name in the file's schema.
    pub name: String,
    /// Values in the order of rows.
    pub values: Values,
}

/// Values of a column by row; a missing one is `None`.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Texts; rows with equal texts share one allocation.
    Text(Vec<Option<Arc<str>>>),
    /// Integers of 64 bits, signed.
    Int(Vec<Option<i64>>),
    /// Floating-point numbers of 64 bits.
    Real(Vec<Option<f64>>),
}

impl Column {
    /// Creates a column with this name.
    pub fn new(name: impl Into<String>, values: Values) -> Self {
        Self {
            name: name.into(),
            values,
        }
    }
}

impl Values {
    /// Returns the number of rows.
    pub const fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Int(values) => values.len(),
            Self::Real(values) => values.len(),
        }
    }

    /// Returns true if there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

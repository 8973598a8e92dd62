//! Columns in memory.

use std::sync::Arc;

/// A column: its name and a value per row.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Values.
    pub values: Values,
}

/// The values of a column, row by row; what is missing is `None`.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Texts; many rows may share one.
    Text(Vec<Option<Arc<str>>>),
    /// Whole numbers.
    Int(Vec<Option<i64>>),
    /// Real numbers.
    Real(Vec<Option<f64>>),
}

impl Column {
    /// A column of this name.
    pub fn new(name: impl Into<String>, values: Values) -> Self {
        Self {
            name: name.into(),
            values,
        }
    }
}

impl Values {
    /// Rows.
    pub const fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Int(values) => values.len(),
            Self::Real(values) => values.len(),
        }
    }

    /// Whether there is no row.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

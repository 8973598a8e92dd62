//! Tables, as Arrow's C stream interface hands them on: pandas, polars, pyarrow, DuckDB and others take them as they
//! are, and their columns are not copied.

use std::sync::{Arc, OnceLock};

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use paceline_lab::files::columns::{Column, Values};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::failure::{Failure, detached};

/// Makes the parts of a table, each some rows.
type Make = Box<dyn Fn() -> Result<Vec<Vec<Column>>, Failure> + Send + Sync>;

/// A table, made when it is first looked at.
#[pyclass(frozen, module = "paceline")]
pub(crate) struct Table {
    make: Make,
    made: OnceLock<Made>,
}

#[derive(Clone)]
struct Made {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    pub(crate) fn new(make: impl Fn() -> Result<Vec<Vec<Column>>, Failure> + Send + Sync + 'static) -> Self {
        Self {
            make: Box::new(make),
            made: OnceLock::new(),
        }
    }

    fn made(&self, py: Python<'_>) -> PyResult<&Made> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let made = detached(py, || Made::of((self.make)()?))?;
        Ok(self.made.get_or_init(|| made))
    }

    fn column<'py>(&self, py: Python<'py>, place: usize) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for batch in &self.made(py)?.batches {
            let column = batch.column(place);
            for row in 0..column.len() {
                list.append(cell(py, column, row)?)?;
            }
        }
        Ok(list)
    }
}

#[pymethods]
impl Table {
    /// The table as a stream, as Arrow's PyCapsule interface has it.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // What is asked for may be ignored: whoever asks casts.
        drop(requested_schema);
        let Made { schema, batches } = self.made(py)?.clone();
        let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// What the columns are, as Arrow's PyCapsule interface has it.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.made(py)?.schema.as_ref());
        let schema = schema.map_err(|error| Failure::run(error).exception(py))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.made(py)?.rows())
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let fields = self.made(py)?.schema.fields();
        Ok(fields.iter().map(|field| field.name().clone()).collect())
    }

    /// A column as a list.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let columns = self.columns(py)?;
        let place = columns.iter().position(|known| known == name).ok_or_else(|| {
            PyKeyError::new_err(format!(
                "there is no column `{name}`: expected {}",
                columns.join(", ")
            ))
        })?;
        self.column(py, place)
    }

    /// Each column as a list.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (place, name) in self.columns(py)?.into_iter().enumerate() {
            dict.set_item(name, self.column(py, place)?)?;
        }
        Ok(dict)
    }

    /// As a pandas DataFrame; without copies of numbers that are all there, if pyarrow is installed.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        match py.import("pyarrow") {
            Ok(pyarrow) => pyarrow.getattr("table")?.call1((slf,))?.call_method0("to_pandas"),
            Err(_) => {
                let columns = slf.get().to_dict(py)?;
                py.import("pandas")?.getattr("DataFrame")?.call1((columns,))
            }
        }
    }

    /// As a polars DataFrame.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.getattr("DataFrame")?.call1((slf,))
    }

    /// As a pyarrow Table.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.getattr("table")?.call1((slf,))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let names = self.columns(py)?;
        Ok(format!(
            "<paceline.Table of {} rows: {}>",
            self.made(py)?.rows(),
            names.join(", ")
        ))
    }
}

impl Made {
    /// Of parts with the same columns; at least one, which may have no rows.
    fn of(parts: Vec<Vec<Column>>) -> Result<Self, Failure> {
        let batches: Result<Vec<RecordBatch>, Failure> = parts.into_iter().map(batch).collect();
        let mut batches = batches?;
        let schema = batches
            .first()
            .map_or_else(|| Arc::new(Schema::empty()), RecordBatch::schema);
        batches.retain(|batch| batch.num_rows() > 0);
        Ok(Self { schema, batches })
    }

    fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

fn batch(columns: Vec<Column>) -> Result<RecordBatch, Failure> {
    let mut fields = Vec::with_capacity(columns.len());
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(columns.len());
    for column in columns {
        let array = array(column.values).map_err(Failure::run)?;
        fields.push(Field::new(column.name, array.data_type().clone(), true));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(Failure::run)
}

/// Texts repeat: each is there once, and rows have its number.
fn array(values: Values) -> Result<ArrayRef, arrow_schema::ArrowError> {
    Ok(match values {
        Values::Int(values) => Arc::new(Int64Array::from(values)),
        Values::Real(values) => Arc::new(Float64Array::from(values)),
        Values::Text(values) => {
            let mut texts = StringDictionaryBuilder::<Int32Type>::new();
            for text in values {
                match text {
                    Some(text) => {
                        texts.append(&*text)?;
                    }
                    None => texts.append_null(),
                }
            }
            Arc::new(texts.finish())
        }
    })
}

fn cell<'py>(py: Python<'py>, column: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match column.data_type() {
        DataType::Int64 => column
            .as_primitive::<Int64Type>()
            .value(row)
            .into_pyobject(py)?
            .into_any(),
        DataType::Float64 => column
            .as_primitive::<Float64Type>()
            .value(row)
            .into_pyobject(py)?
            .into_any(),
        _ => {
            let texts = column.as_dictionary::<Int32Type>();
            let text = texts.keys().value(row) as usize;
            texts
                .values()
                .as_string::<i32>()
                .value(text)
                .into_pyobject(py)?
                .into_any()
        }
    })
}

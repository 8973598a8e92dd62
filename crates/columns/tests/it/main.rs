//! Round trips of tables, and reading of other writers' files.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use paceline_columns::{Column, GROUP_ROWS, Values, read, read_metadata, write};
use proptest::prelude::*;

fn written(columns: &[Column], metadata: &[(&str, String)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes, "a test", columns, metadata).unwrap();
    bytes
}

/// Returns a table as text, with floating-point numbers as their bits: names of columns, then a line per row.
fn text_of(columns: &[Column]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let cell = |column: &Column, row: usize| match &column.values {
        Values::Text(all) => all[row].as_ref().map(ToString::to_string),
        Values::Int(all) => all[row].map(|value| value.to_string()),
        Values::Real(all) => all[row].map(|value| format!("{:016x}", value.to_bits())),
    };
    let mut text = names.join(",") + "\n";
    for row in 0..columns.first().map_or(0, |column| column.values.len()) {
        let cells = columns
            .iter()
            .map(|column| cell(column, row).unwrap_or("-".into()));
        text += &(cells.collect::<Vec<_>>().join(",") + "\n");
    }
    text
}

#[test]
fn several_groups_are_one_table() {
    let rows = GROUP_ROWS + 3;
    let text = |i: usize| (!i.is_multiple_of(5)).then(|| Arc::from(format!("é{}", i % 7)));
    let long = |i: usize| Some(Arc::from(format!("a text of its own, {i}")));
    let columns = [
        Column::new("entity", Values::Text((0..rows).map(text).collect())),
        Column::new("own", Values::Text((0..rows).map(long).collect())),
        Column::new(
            "time_ps",
            Values::Int((0..rows).map(|i| Some(i64::MAX - i as i64)).collect()),
        ),
        Column::new(
            "value",
            Values::Real((0..rows).map(|i| (i != 1).then_some(i as f64 / 3.0)).collect()),
        ),
        Column::new("none", Values::Real(vec![None; rows])),
    ];
    let metadata = [("version", "1".to_string()), ("é", String::new())];
    let bytes = written(&columns, &metadata);
    assert_eq!(read(Cursor::new(&bytes)).unwrap(), columns);
    let found = read_metadata(Cursor::new(&bytes)).unwrap();
    assert_eq!(found, metadata.map(|(key, value)| (key.to_string(), value)));
}

#[test]
fn a_table_without_rows_has_its_columns() {
    let columns = [Column::new("a", Values::Int(Vec::new()))];
    assert_eq!(read(Cursor::new(written(&columns, &[]))).unwrap(), columns);
}

/// Columns with repeated rows, rarely changing ones, or all different ones; some values are missing.
fn numbers() -> impl Strategy<Value = Vec<Option<i64>>> {
    let number = prop_oneof![
        any::<i64>(),
        -3i64..4,
        Just(i64::MIN),
        Just(f64::NAN.to_bits() as i64)
    ];
    let part = (prop::option::weighted(0.8, number), 1usize..20, any::<bool>());
    prop::collection::vec(part, 0..30).prop_map(|parts| {
        let rows = parts.into_iter().flat_map(|(first, count, same)| {
            (0..count as i64).map(move |i| first.map(|n| if same { n } else { n.wrapping_add(i) }))
        });
        rows.collect()
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(columns in prop::collection::vec((numbers(), 0u8..3, ".{0,5}"), 1..6)) {
        let rows = columns.iter().map(|(rows, ..)| rows.len()).min().unwrap();
        let columns: Vec<Column> = (columns.into_iter())
            .map(|(mut numbers, kind, name)| {
                numbers.truncate(rows);
                let numbers = numbers.into_iter();
                let values = match kind {
                    0 => Values::Int(numbers.collect()),
                    1 => Values::Real(numbers.map(|n| n.map(|n| f64::from_bits(n as u64))).collect()),
                    _ => Values::Text(numbers.map(|n| n.map(|n| n.to_string().into())).collect()),
                };
                Column::new(name, values)
            })
            .collect();
        let bytes = written(&columns, &[]);
        prop_assert_eq!(&bytes, &written(&columns, &[]));
        prop_assert_eq!(text_of(&read(Cursor::new(&bytes)).unwrap()), text_of(&columns));
    }

    #[test]
    fn damage_is_no_panic(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let files = fixtures();
        let mut bytes = std::fs::read(which.get(&files)).unwrap();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        drop(read(Cursor::new(bytes)));
    }
}

/// Returns the files in `tests/data`, written by earlier versions and other writers.
fn fixtures() -> Vec<std::path::PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|it| it == "parquet"))
        .collect();
    files.sort();
    files
}

/// The expected content is next to each file, as read by pyarrow and written by `make.py`.
#[test]
fn files_of_others_are_read() {
    let files = fixtures();
    assert!(files.len() > 12);
    for path in files {
        let expected = std::fs::read_to_string(path.with_extension("txt")).unwrap();
        let found = read(std::fs::File::open(&path).unwrap());
        let found = found.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(text_of(&found), expected, "{}", path.display());
    }
}

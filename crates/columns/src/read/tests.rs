//! Damaged files, and limits on memory.

use std::io::Cursor;

use super::*;
use crate::code::MAGIC;
use crate::thrift::{BINARY, I32, Struct, push_text};

fn written(columns: &[Column]) -> Vec<u8> {
    let mut bytes = Vec::new();
    crate::write(&mut bytes, "a test", columns, &[]).unwrap();
    bytes
}

fn read_bytes(bytes: &[u8]) -> Result<Vec<Column>, Error> {
    read(Cursor::new(bytes))
}

fn read_in(bytes: &[u8], room: usize) -> Result<Vec<Column>, Error> {
    read_within(Cursor::new(bytes), bytes.len() as u64, room)
}

fn table() -> Vec<Column> {
    let text = |i: usize| Some(Arc::from(["a", "bc"][i % 2]));
    let some = |i: i64| (i % 3 != 1).then_some(i);
    vec![
        Column::new("n", Values::Int((0..100).map(some).collect())),
        Column::new("t", Values::Text((0..100).map(text).collect())),
        Column::new("x", Values::Real((0..100).map(|i| Some(f64::from(i))).collect())),
    ]
}

/// Each byte in turn is changed, or is made the last: the result is an error or another table, never a panic.
#[test]
fn no_damage_is_a_panic() {
    let bytes = written(&table());
    let mut errors = 0;
    for at in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            errors += usize::from(read_bytes(&damaged).is_err());
        }
        assert!(read_bytes(&bytes[..at]).is_err(), "{at}");
    }
    assert!(errors > bytes.len(), "{errors} of {}", 3 * bytes.len());
}

#[test]
fn what_does_not_fit_is_refused() {
    let bytes = written(&table());
    let room = 3 * 100 * CELL + 2 * TEXT + "abc".len();
    assert_eq!(read_in(&bytes, room).unwrap(), table());
    for room in [3 * 100 * CELL - 1, room - 1] {
        let error = read_in(&bytes, room).unwrap_err().to_string();
        assert!(error.contains("take more than 0 MiB of memory"), "{error}");
    }
}

/// A file with few bytes, in which repeated texts are stored once: so they are in memory.
#[test]
fn texts_that_come_again_take_no_room() {
    let long = |c: &str| -> Arc<str> { Arc::from(c.repeat(1 << 10)) };
    let (a, b) = (long("a"), long("b"));
    let text = |i: usize| Some(if i.is_multiple_of(2) { a.clone() } else { b.clone() });
    let table = [Column::new("t", Values::Text((0..100_000).map(text).collect()))];
    let bytes = written(&table);
    assert!(bytes.len() < 1 << 18, "{}", bytes.len());
    let room = 100_000 * CELL + 2 * (TEXT + (1 << 10));
    assert_eq!(read_in(&bytes, room).unwrap(), table);
    assert!(read_in(&bytes, room - 1).is_err());
}

/// A file of a few kilobytes that declares six million rows is rejected before any is read.
#[test]
fn a_small_file_with_many_rows_is_refused() {
    let rows = 6_000_000;
    let bytes = written(&[Column::new("n", Values::Int(vec![Some(7); rows]))]);
    assert!(bytes.len() < 1 << 18, "{}", bytes.len());
    let error = read_bytes(&bytes).unwrap_err().to_string();
    assert!(
        error.contains("which is the most for a file of its size"),
        "{error}"
    );
}

/// Returns a file with a required column `x` with one row, of this type, in this page.
fn with_page(kind: i64, describe: impl Fn(Struct) -> Struct, codec: i64, page: &[u8]) -> Vec<u8> {
    let mut path = Vec::new();
    push_text(&mut path, "x");
    let chunk = Struct::default()
        .i32(1, kind)
        .list(2, I32, std::iter::once(vec![0]))
        .list(3, BINARY, std::iter::once(path))
        .i32(4, codec)
        .i64(5, 1)
        .i64(6, 0)
        .i64(7, page.len() as i64)
        .i64(9, 4);
    let chunk = Struct::default().i64(2, 4).inner(3, chunk);
    let group = Struct::default()
        .list(1, STRUCT, std::iter::once(chunk.end()))
        .i64(2, 0)
        .i64(3, 1);
    let root = Struct::default().text(4, "table").i32(5, 1).end();
    let field = describe(Struct::default().i32(1, kind).i32(3, code::REQUIRED).text(4, "x")).end();
    let footer = Struct::default()
        .i32(1, 1)
        .list(2, STRUCT, [root, field].into_iter())
        .i64(3, 1)
        .list(4, STRUCT, std::iter::once(group.end()))
        .end();
    [
        &MAGIC[..],
        page,
        &footer,
        &(footer.len() as u32).to_le_bytes(),
        &MAGIC,
    ]
    .concat()
}

fn error_of(bytes: &[u8]) -> String {
    read_bytes(bytes).unwrap_err().to_string()
}

/// Returns a page with one value.
fn page(unpacked: i64, encoding: i64, body: &[u8]) -> Vec<u8> {
    let says = Struct::default()
        .i32(1, 1)
        .i32(2, encoding)
        .i32(3, code::RLE)
        .i32(4, code::RLE);
    let header = Struct::default()
        .i32(1, code::DATA_PAGE)
        .i32(2, unpacked)
        .i32(3, body.len() as i64);
    [&header.inner(5, says).end(), body].concat()
}

/// The memory that a page declares is not allocated if its bytes cannot expand to it.
#[test]
fn a_page_that_says_it_is_large_is_refused() {
    let mut body = Vec::new();
    crate::thrift::push_varint(&mut body, i32::MAX as u64);
    body.extend([0; 10]);
    let large = page(i32::MAX.into(), code::PLAIN, &body);
    let error = error_of(&with_page(code::INT64, |field| field, code::SNAPPY, &large));
    assert_eq!(
        error,
        "column `x`: the file is damaged: a page says that it is larger than its bytes can be"
    );
}

#[test]
fn what_is_not_known_is_named() {
    let whole = |codec, encoding| {
        let page = page(8, encoding, &7_i64.to_le_bytes());
        with_page(code::INT64, |field| field, codec, &page)
    };
    let sound = read_bytes(&whole(code::UNCOMPRESSED, code::PLAIN)).unwrap();
    assert_eq!(sound, [Column::new("x", Values::Int(vec![Some(7)]))]);
    assert_eq!(
        error_of(&whole(6, code::PLAIN)),
        "it is compressed with ZSTD: expected SNAPPY, or UNCOMPRESSED"
    );
    assert_eq!(
        error_of(&whole(code::UNCOMPRESSED, 5)),
        "column `x`: its encoding is DELTA_BINARY_PACKED: expected PLAIN or RLE_DICTIONARY"
    );
    assert_eq!(
        error_of(&whole(code::UNCOMPRESSED, 77)),
        "column `x`: its encoding is 77: expected PLAIN or RLE_DICTIONARY"
    );
    let error = error_of(&with_page(3, |field| field, code::UNCOMPRESSED, &[]));
    assert_eq!(
        error,
        "column `x` is INT96: expected texts, whole or real numbers"
    );
    let nested = |field: Struct| field.i32(5, 1);
    let error = error_of(&with_page(code::INT64, nested, code::UNCOMPRESSED, &[]));
    assert!(error.starts_with("column `x` is nested"), "{error}");
}

/// An unsigned number is stored in the bits of a signed one.
#[test]
fn unsigned_numbers_are_not_below_zero() {
    let of = |kind, body: &[u8]| {
        let unsigned = |field: Struct| field.i32(6, 13);
        read_bytes(&with_page(
            kind,
            unsigned,
            code::UNCOMPRESSED,
            &page(8, code::PLAIN, body),
        ))
    };
    let values = |table: Vec<Column>| table.into_iter().map(|column| column.values).next().unwrap();
    assert_eq!(
        values(of(code::INT32, &u32::MAX.to_le_bytes()).unwrap()),
        Values::Int(vec![Some(u32::MAX.into())])
    );
    assert_eq!(
        of(code::INT64, &u64::MAX.to_le_bytes()).unwrap_err().to_string(),
        "column `x`: 18446744073709551615 is too large: expected at most 9223372036854775807"
    );
}

#[test]
fn a_timestamp_is_not_a_number() {
    type Describe = fn(Struct) -> Struct;
    let logical: Describe = |field| field.inner(10, Struct::default().inner(8, Struct::default()));
    for (describe, meaning) in [
        (logical, "timestamps"),
        (|field: Struct| field.i32(6, 9), "timestamps"),
        (|field: Struct| field.i32(6, 6), "dates"),
        (|field: Struct| field.i32(6, 5), "decimals"),
        (|field: Struct| field.i32(6, 8), "times of day"),
    ] as [(Describe, &str); 5]
    {
        let error = error_of(&with_page(code::INT64, describe, code::UNCOMPRESSED, &[]));
        assert!(
            error.contains(&format!("column `x` has {meaning}: expected")),
            "{error}"
        );
    }
}

/// Structs nested as deep as the bytes allow, and lists that declare more elements than there are bytes.
#[test]
fn a_footer_of_depths_is_refused() {
    for part in [
        &[0x1c][..],
        &[0x19, 0x19],
        &[0x19, 0xf9, 0xff, 0xff, 0xff, 0xff, 0x0f],
    ] {
        let footer: Vec<u8> = part.repeat(1 << 16);
        let length = (footer.len() as u32).to_le_bytes();
        assert!(read_bytes(&[&MAGIC[..], &footer, &length, &MAGIC].concat()).is_err());
    }
}

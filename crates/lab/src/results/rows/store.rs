//! Rows of equal size, by number: the latest in memory, earlier ones in an unnamed file.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

const PAGE: usize = 1024;
/// Pages that stay in memory: those of the last 160,000 rows (few in tests, so that they use the file).
const PAGES: usize = if cfg!(test) { 2 } else { 160 };

/// Maximum number of rows in memory.
pub(super) const IN_MEMORY: usize = PAGES * PAGE;

/// Storage of rows. They may be written in any order, but rows far behind their neighbours are written to the file one
/// by one.
pub(super) struct Store {
    /// Size of a row in bytes.
    row: usize,
    rows: usize,
    /// Number of pages that have moved from memory to the file; these are the first ones.
    left: usize,
    pages: VecDeque<Box<[u8]>>,
    /// Maximum number of pages in memory.
    most: usize,
    folder: PathBuf,
    file: Option<Mutex<File>>,
}

impl Store {
    /// Creates storage for rows of `row` bytes; its file, if it needs one, is in `folder`.
    pub(super) fn new(row: usize, folder: &Path) -> Self {
        Self {
            row,
            rows: 0,
            left: 0,
            pages: VecDeque::new(),
            most: PAGES,
            folder: folder.to_path_buf(),
            file: None,
        }
    }

    /// Returns the number of rows: one more than the largest row number.
    pub(super) const fn len(&self) -> usize {
        self.rows
    }

    /// Writes row `number`, to memory or to the file.
    pub(super) fn put(&mut self, number: usize, bytes: &[u8]) -> io::Result<()> {
        self.rows = self.rows.max(number + 1);
        let Some(index) = (number / PAGE).checked_sub(self.left) else {
            let mut file = self.opened(number)?;
            return file.write_all(bytes);
        };
        while self.pages.len() <= index {
            if self.pages.len() == self.most {
                self.write_first()?;
                return self.put(number, bytes);
            }
            self.pages.push_back(vec![0; PAGE * self.row].into());
        }
        let at = number % PAGE * self.row;
        self.pages[index][at..at + self.row].copy_from_slice(bytes);
        Ok(())
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.put(self.rows, bytes)
    }

    /// Moves the first page in memory to the file.
    fn write_first(&mut self) -> io::Result<()> {
        if self.file.is_none() {
            // The file has no name, so nothing is left of it even if this process is killed.
            self.file = Some(Mutex::new(tempfile::tempfile_in(&self.folder)?));
        }
        if let Some(page) = self.pages.pop_front() {
            self.opened(self.left * PAGE)?.write_all(&page)?;
            self.left += 1;
        }
        Ok(())
    }

    /// Returns the file, positioned at a row.
    fn opened(&self, number: usize) -> io::Result<MutexGuard<'_, File>> {
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start((number * self.row) as u64))?;
        Ok(file)
    }
}

/// Pages that a reader caches: neighbouring rows are mostly read in order.
const HELD: usize = 8;

/// Reader of rows with a cache of pages.
pub(super) struct Reader<'a> {
    store: &'a Store,
    /// Cached pages of the file, with their numbers.
    held: [(usize, Vec<u8>); HELD],
}

impl<'a> Reader<'a> {
    pub(super) fn of(store: &'a Store) -> Self {
        Self {
            store,
            held: std::array::from_fn(|_| (usize::MAX, Vec::new())),
        }
    }

    /// Returns the bytes of an existing row.
    pub(super) fn row(&mut self, number: usize) -> io::Result<&[u8]> {
        let (store, page) = (self.store, number / PAGE);
        let at = number % PAGE * store.row;
        if let Some(index) = page.checked_sub(store.left) {
            return Ok(&store.pages[index][at..at + store.row]);
        }
        let (held, bytes) = &mut self.held[page % HELD];
        if *held != page {
            bytes.resize(PAGE * store.row, 0);
            *held = usize::MAX;
            store.opened(page * PAGE)?.read_exact(bytes)?;
            *held = page;
        }
        Ok(&bytes[at..at + store.row])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a store with three pages in memory.
    fn small(folder: &Path) -> Store {
        Store {
            most: 3,
            ..Store::new(4, folder)
        }
    }

    #[test]
    fn rows_are_found_whatever_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = small(folder.path());
        let count = 20 * PAGE as u32 + 7;
        // All but every fifth, up to two pages too early or too late; then every fifth, long after its neighbours.
        let shuffled = |i: u32| (i / 2000 * 2000 + (i % 2000) * 777 % 2000).min(count - 1);
        for number in (0..count.next_multiple_of(2000))
            .map(shuffled)
            .filter(|i| i % 5 > 0)
        {
            store.put(number as usize, &number.to_le_bytes()).unwrap();
        }
        for number in (0..count).filter(|i| i % 5 == 0) {
            store.put(number as usize, &number.to_le_bytes()).unwrap();
        }
        assert_eq!((store.len(), store.pages.len()), (count as usize, 3));
        let mut reader = Reader::of(&store);
        for number in (0..count).chain((0..count).rev()) {
            assert_eq!(reader.row(number as usize).unwrap(), number.to_le_bytes());
        }
        // The file has no name.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn few_rows_need_no_file() {
        let mut store = small(Path::new("/nowhere"));
        for number in 0..3 * PAGE as u32 {
            store.push(&number.to_le_bytes()).unwrap();
        }
        assert_eq!(Reader::of(&store).row(2000).unwrap(), 2000u32.to_le_bytes());
        assert_eq!(store.push(&[0; 4]).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}

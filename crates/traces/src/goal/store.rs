//! Storage of a program's binary form: in memory while it is small, otherwise in a file that is read by position.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Mutex;

/// Size in bytes above which a program is kept in a file.
const IN_MEMORY: usize = 64 << 20;
/// Total size in bytes of the caches of all ranks.
const CACHES: u64 = 128 << 20;
/// Number of blocks per cache.
const BLOCKS: usize = 8;

/// Writer of a program's binary form.
#[derive(Debug)]
pub(super) struct Sink {
    memory: Vec<u8>,
    file: Option<io::BufWriter<File>>,
    length: u64,
}

impl Sink {
    pub(super) fn new() -> Self {
        Self {
            memory: Vec::new(),
            file: None,
            length: 0,
        }
    }

    /// Returns the number of bytes written so far.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.length += bytes.len() as u64;
        if let Some(file) = &mut self.file {
            return file.write_all(bytes);
        }
        // Small programs never touch the disk.
        if self.memory.len() + bytes.len() <= IN_MEMORY {
            self.memory.extend_from_slice(bytes);
            return Ok(());
        }
        let mut file = io::BufWriter::with_capacity(1 << 18, tempfile::tempfile()?);
        file.write_all(&std::mem::take(&mut self.memory))?;
        file.write_all(bytes)?;
        self.file = Some(file);
        Ok(())
    }

    /// Returns a store with the written bytes for `ranks` readers.
    pub(super) fn finish(self, ranks: u32) -> io::Result<Store> {
        Ok(match self.file {
            None => Store::Memory(self.memory),
            Some(file) => Store::of_file(
                file.into_inner().map_err(io::IntoInnerError::into_error)?,
                self.length,
                ranks,
            ),
        })
    }
}

/// Binary form of a program, readable at any position.
#[derive(Debug)]
pub(super) enum Store {
    Memory(Vec<u8>),
    File {
        file: File,
        length: u64,
        caches: Vec<Mutex<Cache>>,
        block: u64,
    },
}

impl Store {
    /// Creates a store that reads from a file with `ranks` ranks.
    pub(super) fn of_file(file: File, length: u64, ranks: u32) -> Self {
        // A damaged file may claim any number of ranks, so its size limits the number of caches.
        let caches = u64::from(ranks).min(length / 8).max(1);
        // All caches together have a fixed size, so blocks shrink with the number of ranks.
        let block = (CACHES / caches / BLOCKS as u64)
            .clamp(512, 16 << 10)
            .next_power_of_two()
            .min(16 << 10);
        Self::File {
            file,
            length,
            caches: (0..caches).map(|_| Mutex::default()).collect(),
            block,
        }
    }

    pub(super) fn length(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File { length, .. } => *length,
        }
    }

    /// Fills `out` from this position, through the cache of this rank.
    pub(super) fn read(&self, rank: u32, at: u64, out: &mut [u8]) -> io::Result<()> {
        match self {
            Self::Memory(bytes) => {
                let start = usize::try_from(at).unwrap_or(usize::MAX);
                let part = start.checked_add(out.len()).and_then(|end| bytes.get(start..end));
                out.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
            Self::File {
                file,
                length,
                caches,
                block,
            } => {
                if at.checked_add(out.len() as u64).is_none_or(|end| end > *length) {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                let cache = &caches[rank as usize % caches.len()];
                let mut cache = cache.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                cache.read(file, *length, *block, at, out)
            }
        }
    }
}

/// Blocks that a rank has read recently.
#[derive(Debug, Default)]
pub(super) struct Cache {
    /// Number of each block in the file, and its content.
    blocks: Vec<(u64, Box<[u8]>)>,
    /// Index of the block that was read first.
    oldest: usize,
}

impl Cache {
    fn read(
        &mut self,
        file: &File,
        length: u64,
        block: u64,
        mut at: u64,
        mut out: &mut [u8],
    ) -> io::Result<()> {
        while !out.is_empty() {
            let number = at / block;
            let index = match self.blocks.iter().position(|b| b.0 == number) {
                Some(index) => index,
                None => self.load(file, length, block, number)?,
            };
            let held = &self.blocks[index].1;
            let start = usize::try_from(at % block).unwrap_or(usize::MAX);
            let part = held.get(start..).unwrap_or_default();
            let n = part.len().min(out.len());
            if n == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            out[..n].copy_from_slice(&part[..n]);
            out = &mut out[n..];
            at += n as u64;
        }
        Ok(())
    }

    fn load(&mut self, file: &File, length: u64, block: u64, number: u64) -> io::Result<usize> {
        let start = number * block;
        let bytes = usize::try_from(block.min(length - start)).unwrap_or(0);
        let index = if self.blocks.len() < BLOCKS {
            self.blocks.push((number, vec![0; bytes].into()));
            self.blocks.len() - 1
        } else {
            let index = self.oldest;
            self.oldest = (index + 1) % BLOCKS;
            if self.blocks[index].1.len() != bytes {
                self.blocks[index].1 = vec![0; bytes].into();
            }
            index
        };
        // The block gets its number only when it is complete: a failed read must not leave a valid entry.
        self.blocks[index].0 = u64::MAX;
        read_at(file, &mut self.blocks[index].1, start)?;
        self.blocks[index].0 = number;
        Ok(index)
    }
}

fn read_at(file: &File, mut out: &mut [u8], mut at: u64) -> io::Result<()> {
    while !out.is_empty() {
        match read_some_at(file, out, at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                out = &mut out[n..];
                at += n as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads some bytes from a position of a file.
pub(super) fn read_some_at(file: &File, out: &mut [u8], at: u64) -> io::Result<usize> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_at(file, out, at);
    #[cfg(windows)]
    return std::os::windows::fs::FileExt::seek_read(file, out, at);
}

/// Reads a small file into memory; a large one stays in its file.
pub(super) fn open(mut file: File, ranks: u32) -> io::Result<Store> {
    use io::{Read, Seek};
    let length = file.metadata()?.len();
    if length > IN_MEMORY as u64 {
        return Ok(Store::of_file(file, length, ranks));
    }
    let mut bytes = Vec::new();
    file.rewind()?;
    // The limit holds even if the file has grown since its length was read.
    file.take(IN_MEMORY as u64 + 1).read_to_end(&mut bytes)?;
    Ok(Store::Memory(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_reads_as_memory_does() {
        let bytes: Vec<u8> = (0..100_000u32)
            .flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes())
            .collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let length = bytes.len() as u64;
        let store = Store::of_file(file, length, 3);
        let memory = Store::Memory(bytes);
        let mut at = 1u64;
        for i in 0..20_000u64 {
            at = (at * 48_271 + i) % (length - 39);
            let (mut a, mut b) = ([0; 39], [1; 39]);
            store.read((i % 3) as u32, at, &mut a).unwrap();
            memory.read(0, at, &mut b).unwrap();
            assert_eq!(a, b);
        }
        assert!(store.read(0, length - 38, &mut [0; 39]).is_err());
        assert!(memory.read(0, u64::MAX, &mut [0; 39]).is_err());
    }
}

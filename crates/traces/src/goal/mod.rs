//! GOAL: computations, sends and receives of each rank of a job, with their dependencies.
//!
//! Text and binary forms are as in LogGOPSim (spcl/LogGOPSim, commit ac9608d). A text is converted to the binary form
//! while it is read; operations are then read from there by position, so a program need not fit into memory. Times
//! are in ns, sizes in bytes.

mod binary;
mod cursor;
mod expand;
mod labels;
mod places;
mod record;
mod section;
mod statement;
mod store;
mod text;
mod write;

use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::OnceLock;

use places::{Places, Text};
use record::{ANY, CALC, Highest, RECEIVE, RECORD, Record, SEND};
use section::Section;
use store::Store;

use crate::program::{self, Lanes, NO_LANE, Operation, OperationId, Order, Rank, Work};
use crate::trouble::{Caution, Trouble};

pub use expand::write_program;
pub use write::{write_binary, write_text};

/// GOAL program in its binary form, in memory or in a file.
///
/// Lanes are cpus, each first come, first served.
#[derive(Debug)]
pub struct Program {
    name: String,
    /// File name in names of operations.
    called: String,
    store: Store,
    sections: Vec<Section>,
    /// Highest cpu and NIC.
    highest: Highest,
    lanes: Lanes,
    /// Lane of cpu 255, whose own number means no lane.
    last_cpu: u8,
    /// Positions of operations, if the program was a text.
    places: Option<Places>,
    /// Error that occurred after the program was read.
    trouble: OnceLock<Trouble>,
}

/// Returns true if the beginning of a file looks like GOAL.
pub fn is_goal(begin: &[u8]) -> bool {
    let text = String::from_utf8_lossy(begin);
    let mut lines = text.lines().map(str::trim_start);
    binary::is_binary(begin) || lines.any(|line| line.starts_with("num_ranks"))
}

/// Reads a file, text or binary according to its first eight bytes.
pub fn read(path: impl AsRef<Path>) -> Result<(Program, Vec<Caution>), Trouble> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let unread = |error: std::io::Error| Trouble::at(&name, format!("cannot be read: {error}"));
    let mut file = crate::regular::open_file(path).map_err(unread)?;
    let mut start = Vec::new();
    // The magic number and the number of ranks, which the store needs for its caches.
    file.by_ref().take(12).read_to_end(&mut start).map_err(unread)?;
    if binary::is_binary(&start) {
        let length = file.metadata().map_err(unread)?.len();
        let store = store::open(file, binary::claimed_ranks(&start, length)).map_err(unread)?;
        return of_binary(name, store);
    }
    let parsed = text::parse(Cursor::new(start).chain(&file), &name)?;
    of_text(name, parsed, Some(Text::File(file)))
}

/// Reads the content of a file, text or binary according to its first eight bytes.
pub fn read_bytes(name: &str, bytes: &[u8]) -> Result<(Program, Vec<Caution>), Trouble> {
    if binary::is_binary(bytes) {
        return of_binary(name.into(), Store::Memory(bytes.to_vec()));
    }
    of_text(
        name.into(),
        text::parse(bytes, name)?,
        Some(Text::Memory(bytes.to_vec())),
    )
}

fn of_binary(name: String, store: Store) -> Result<(Program, Vec<Caution>), Trouble> {
    let head = binary::check(&store, &name)?;
    let program = Program::new(name, store, head.sections, head.highest, &head.cpus)?;
    Ok((program, Vec::new()))
}

fn of_text(
    name: String,
    parsed: text::Parsed,
    text: Option<Text>,
) -> Result<(Program, Vec<Caution>), Trouble> {
    let mut program = Program::new(name, parsed.store, parsed.sections, parsed.highest, &parsed.cpus)?;
    let checkpoints = parsed.checkpoints;
    program.places = text.map(|text| Places { text, checkpoints });
    Ok((program, Vec::new()))
}

impl Program {
    fn new(
        name: String,
        store: Store,
        sections: Vec<Section>,
        highest: Highest,
        cpus: &[bool; 256],
    ) -> Result<Self, Trouble> {
        // In a file this cpu is a valid one, but here it means no lane, so its operations take a free lane.
        let free = (0..NO_LANE).find(|cpu| !cpus[usize::from(*cpu)]);
        let last_cpu = match free {
            _ if !cpus[usize::from(NO_LANE)] => NO_LANE,
            Some(free) => free,
            None => {
                return Err(Trouble::at(
                    name,
                    "256 different cpus are used: expected at most 255",
                ));
            }
        };
        let lanes = usize::from(highest.cpu.min(NO_LANE - 1)) + 1;
        Ok(Self {
            called: name.clone(),
            name,
            store,
            sections,
            highest,
            lanes: Lanes {
                orders: vec![Order::Freed; lanes],
            },
            last_cpu,
            places: None,
            trouble: OnceLock::new(),
        })
    }

    fn section(&self, rank: Rank) -> Option<Section> {
        self.sections.get(rank as usize).copied()
    }

    /// Reads bytes of a rank; returns false after an error, which is stored.
    fn fill(&self, rank: Rank, at: u64, out: &mut [u8]) -> bool {
        match self.store.read(rank, at, out) {
            Ok(()) => true,
            Err(error) => {
                self.fail(format!("cannot be read any more at byte {at}: {error}"));
                false
            }
        }
    }

    #[cold]
    fn fail(&self, message: String) {
        self.trouble.get_or_init(|| Trouble::at(&self.name, message));
    }

    fn record(&self, rank: Rank, number: OperationId) -> Record {
        let section = self.section(rank).filter(|s| number < s.operations);
        let mut bytes = [0; RECORD];
        match section {
            Some(section)
                if self.fill(
                    rank,
                    section.records() + RECORD as u64 * u64::from(number),
                    &mut bytes,
                ) =>
            {
                Record::decode(&bytes)
            }
            _ => Record::default(),
        }
    }

    /// Reads operation numbers of a rank.
    fn numbers(&self, rank: Rank, at: u64, count: u32, out: &mut Vec<OperationId>) {
        let Some(section) = self.section(rank) else { return };
        let mut chunk = [0; 256];
        let mut left = u64::from(count) * 4;
        let mut at = at;
        while left > 0 {
            let part = &mut chunk[..left.min(256) as usize];
            if !self.fill(rank, at, part) {
                return;
            }
            at += part.len() as u64;
            left -= part.len() as u64;
            for word in part.chunks_exact(4) {
                let number = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
                // The file is read again at each call, and may have changed since it was checked.
                if number >= section.operations {
                    return self.fail(format!(
                        "has changed since it was read: rank {rank} has no operation {number}"
                    ));
                }
                out.push(number);
            }
        }
    }
}

impl program::Program for Program {
    fn ranks(&self) -> Rank {
        self.sections.len() as Rank
    }

    fn operations(&self, rank: Rank) -> u32 {
        self.section(rank).map_or(0, |s| s.operations)
    }

    fn lanes(&self) -> &Lanes {
        &self.lanes
    }

    fn roots(&self, rank: Rank, out: &mut Vec<OperationId>) {
        if let Some(section) = self.section(rank) {
            self.numbers(rank, section.at + 8, section.roots, out);
        }
    }

    fn operation(&self, rank: Rank, number: OperationId) -> Operation {
        let record = self.record(rank, number);
        let work = match record.kind {
            SEND if record.peer < self.ranks() => Work::Send {
                to: record.peer,
                bytes: record.size,
                tag: record.tag,
            },
            RECEIVE if record.peer < self.ranks() || record.peer == ANY => Work::Receive {
                from: (record.peer != ANY).then_some(record.peer),
                bytes: record.size,
                tag: (record.tag != ANY).then_some(record.tag),
            },
            CALC => Work::Compute { ns: record.size },
            _ => {
                self.fail(format!(
                    "has changed since it was read: operation {number} of rank {rank} is none"
                ));
                Work::Nothing
            }
        };
        Operation {
            work,
            lane: if record.cpu == NO_LANE {
                self.last_cpu
            } else {
                record.cpu
            },
            nic: record.nic,
            waits_for: record.waits_for,
        }
    }

    fn after_end(&self, rank: Rank, number: OperationId, out: &mut Vec<OperationId>) {
        let list = self.record(rank, number).after_end;
        if let Some(section) = self.section(rank).filter(|_| list.count > 0) {
            self.numbers(
                rank,
                section.appendix() + 4 * u64::from(list.first),
                list.count,
                out,
            );
        }
    }

    fn after_start(&self, rank: Rank, number: OperationId, out: &mut Vec<OperationId>) {
        let list = self.record(rank, number).after_start;
        if let Some(section) = self.section(rank).filter(|_| list.count > 0) {
            self.numbers(
                rank,
                section.appendix() + 4 * u64::from(list.first),
                list.count,
                out,
            );
        }
    }

    fn name(&self, rank: Rank, number: OperationId) -> String {
        let record = self.record(rank, number);
        let what = match record.kind {
            SEND => format!("send {} B to {}", record.size, record.peer),
            RECEIVE if record.peer == ANY => format!("recv {} B from any", record.size),
            RECEIVE => format!("recv {} B from {}", record.size, record.peer),
            _ => format!("calc {}", record.size),
        };
        match self.places.as_ref().and_then(|p| p.find(rank, number)) {
            Some((line, label)) if label.is_empty() => {
                format!("{}:{line} ({what} of rank {rank})", self.called)
            }
            Some((line, label)) => format!("{}:{line} ({label} of rank {rank})", self.called),
            None => format!("{}: rank {rank}, operation {number} ({what})", self.called),
        }
    }

    fn rename(&mut self, name: &dyn Fn(&str) -> String) {
        self.called = name(&self.name);
    }

    fn trouble(&self) -> Option<Trouble> {
        self.trouble.get().cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Programs above 64 MB are read from their file; here small ones are, too.
    #[test]
    fn a_program_in_a_file_is_the_one_in_memory() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/goal");
        for name in ["mixed_01.bin", "mixed_04.bin", "halo_4x4.bin"] {
            let bytes = std::fs::read(folder.join(name)).unwrap();
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            let store = Store::of_file(
                file,
                bytes.len() as u64,
                binary::claimed_ranks(&bytes, bytes.len() as u64),
            );
            let (in_file, _) = of_binary(name.into(), store).unwrap();
            let mut written = Vec::new();
            write_binary(&in_file, &mut written).unwrap();
            assert!(written == bytes, "{name}");
            let (in_memory, _) = read_bytes(name, &bytes).unwrap();
            let ends = |program: &Program| {
                let variant = crate::loggops::Variant::LogGopSim;
                crate::loggops::run(program, variant, &crate::loggops::Parameters::default()).unwrap()
            };
            assert_eq!(ends(&in_file), ends(&in_memory), "{name}");
        }
    }

    /// A file that is truncated after it was read causes an error, not a panic.
    #[test]
    fn a_file_that_shrinks_is_told() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/goal");
        let bytes = std::fs::read(folder.join("halo_4x4.bin")).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let same = file.try_clone().unwrap();
        // No cache may contain the ranks before the file is truncated.
        let head = binary::check(&Store::Memory(bytes.clone()), "x.bin").unwrap();
        let store = Store::of_file(file, bytes.len() as u64, 16);
        let program = Program::new("x.bin".into(), store, head.sections, head.highest, &head.cpus).unwrap();
        same.set_len(1000).unwrap();
        let outcome = crate::loggops::run(
            &program,
            crate::loggops::Variant::LogGopSim,
            &crate::loggops::Parameters::default(),
        );
        assert!(
            outcome
                .unwrap_err()
                .message
                .contains("cannot be read any more at byte")
        );
        assert!(!crate::check::check(&program, u64::MAX).errors.is_empty());
    }
}

//! Writers for GOAL, as text and in the binary form.

use std::io::{self, Write};

use super::Program;
use super::record::{ANY, BASE, HEAD, JUMP, List, MAGIC, RECEIVE, Record, SEND};
use crate::program::{Program as _, Rank};

/// Writes the binary form, ranks in ascending order: byte for byte the output of LogGOPSim's converter.
pub fn write_binary(program: &Program, mut out: impl Write) -> io::Result<()> {
    out.write_all(&MAGIC.to_le_bytes())?;
    out.write_all(&program.ranks().to_le_bytes())?;
    out.write_all(&[program.highest.cpu, program.highest.nic])?;
    let mut start = HEAD + JUMP * u64::from(program.ranks());
    for section in &program.sections {
        let end = start + (section.end() - section.at);
        out.write_all(&start.to_le_bytes())?;
        out.write_all(&end.to_le_bytes())?;
        start = end;
    }
    let mut chunk = vec![0; 1 << 16];
    for (rank, section) in (0..).zip(&program.sections) {
        let mut at = section.at;
        while at < section.end() {
            let part = &mut chunk[..(section.end() - at).min(1 << 16) as usize];
            program.store.read(rank, at, part)?;
            out.write_all(part)?;
            at += part.len() as u64;
        }
    }
    debug_assert_eq!(BASE as usize, MAGIC.to_le_bytes().len());
    out.flush()
}

/// Writes the text. Operations have the labels `l1`, `l2`, ... at each rank; dependencies follow the operations of
/// their rank, so that the text converts to the same binary.
pub fn write_text(program: &Program, mut out: impl Write) -> io::Result<()> {
    writeln!(out, "num_ranks {}", program.ranks())?;
    let mut list = Vec::new();
    for rank in 0..program.ranks() {
        writeln!(out, "\nrank {rank} {{")?;
        for number in 0..program.operations(rank) {
            operation(&mut out, number, &program.record(rank, number))?;
        }
        for number in 0..program.operations(rank) {
            let record = program.record(rank, number);
            for (word, part) in [("requires", record.after_end), ("irequires", record.after_start)] {
                dependents(program, rank, part, &mut list);
                for dependent in &list {
                    writeln!(
                        out,
                        "l{} {word} l{}",
                        u64::from(*dependent) + 1,
                        u64::from(number) + 1
                    )?;
                }
            }
        }
        writeln!(out, "}}")?;
    }
    // The reads above return no errors: the program keeps the first one.
    if let Some(trouble) = program.trouble() {
        return Err(io::Error::other(trouble));
    }
    out.flush()
}

fn dependents(program: &Program, rank: Rank, part: List, list: &mut Vec<u32>) {
    list.clear();
    if let Some(section) = program.section(rank).filter(|_| part.count > 0) {
        program.numbers(
            rank,
            section.appendix() + 4 * u64::from(part.first),
            part.count,
            list,
        );
    }
}

fn operation(out: &mut impl Write, number: u32, record: &Record) -> io::Result<()> {
    write!(out, "l{}: ", u64::from(number) + 1)?;
    match record.kind {
        SEND => write!(out, "send {}b to {}", record.size, record.peer)?,
        RECEIVE if record.peer == ANY => write!(out, "recv {}b from -1", record.size)?,
        RECEIVE => write!(out, "recv {}b from {}", record.size, record.peer)?,
        _ => write!(out, "calc {}", record.size)?,
    }
    if record.tag == ANY {
        write!(out, " tag -1")?;
    } else if record.tag != 0 {
        write!(out, " tag {}", record.tag)?;
    }
    if record.cpu != 0 {
        write!(out, " cpu {}", record.cpu)?;
    }
    if record.nic != 0 {
        write!(out, " nic {}", record.nic)?;
    }
    writeln!(out)
}

//! Binary form of GOAL: all claims of a file are checked before anything relies on them.

use std::fmt::Display;

use super::record::{
    ANY, BASE, CALC, HEAD, Highest, JUMP, List, MAGIC, RECEIVE, RECORD, Record, SEND, SPOILT,
};
use super::section::Section;
use super::store::Store;
use crate::trouble::Trouble;

/// Properties of a binary file.
#[derive(Debug)]
pub(super) struct Head {
    /// Sections in the order of ranks.
    pub(super) sections: Vec<Section>,
    /// Highest cpu and NIC.
    pub(super) highest: Highest,
    /// Flag for each cpu that is used.
    pub(super) cpus: [bool; 256],
}

/// Returns true if a file starts like a binary file; needs the first eight bytes.
pub(super) fn is_binary(start: &[u8]) -> bool {
    start.starts_with(&MAGIC.to_le_bytes()) || start.starts_with(&SPOILT.to_le_bytes())
}

/// Returns the number of ranks in the file's head, limited by the file's size.
pub(super) fn claimed_ranks(start: &[u8], length: u64) -> u32 {
    let claimed = start
        .get(8..12)
        .map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    claimed.min(u32::try_from(length / JUMP).unwrap_or(u32::MAX))
}

/// Checks a whole file.
pub(super) fn check(store: &Store, name: &str) -> Result<Head, Trouble> {
    let file = Checked { store, name };
    let mut start = [0; (BASE + HEAD) as usize];
    file.read(0, 0, &mut start, "the head of the file")?;
    if start.starts_with(&SPOILT.to_le_bytes()) {
        return Err(Trouble::at(
            name,
            "a binary that LogGOPSim has spoilt: it was run with --save-mem",
        )
        .help("convert the text once more, and run LogGOPSim without --save-mem"));
    }
    let ranks = u32::from_le_bytes([start[8], start[9], start[10], start[11]]);
    let highest = Highest {
        cpu: start[12],
        nic: start[13],
    };
    let table = u64::from(ranks) * JUMP;
    if ranks == 0 || ranks == ANY {
        return Err(file.at(8, format!("{ranks} ranks: expected at least one")));
    }
    // The number of ranks is only a claim so far: a short file must not cause a loop over 2^32 of them.
    if BASE + HEAD + table > store.length() {
        return Err(file.at(
            8,
            format!(
                "{ranks} ranks need a table of {table} bytes, but the file has {} bytes",
                store.length()
            ),
        ));
    }

    let mut sections = Vec::new();
    let mut cpus = [false; 256];
    let mut claimed = Vec::new();
    for rank in 0..ranks {
        let at = BASE + HEAD + u64::from(rank) * JUMP;
        let mut jump = [0; JUMP as usize];
        file.read(rank, at, &mut jump, "the table of ranks")?;
        let [from, to] = [0, 8].map(|i| u64::from_le_bytes(std::array::from_fn(|k| jump[i + k])));
        // Positions in the table count from the byte after the magic number.
        let room = BASE.checked_add(from).zip(BASE.checked_add(to));
        let within = |(start, end): &(u64, u64)| {
            BASE + HEAD + table <= *start && start <= end && *end <= store.length()
        };
        let Some((from, to)) = room.filter(within) else {
            return Err(file.at(
                at,
                format!("rank {rank} is said to go from {from} to {to} behind byte 8: not within the file's {} bytes", store.length()),
            ));
        };
        claimed.push((from, to, rank));
        let section = file.section(rank, from, to)?;
        file.operations(rank, ranks, section, highest, &mut cpus)?;
        sections.push(section);
    }
    // Sections may be in any order in the file; two that overlap would be read as operations of both ranks.
    claimed.sort_unstable();
    if let Some(pair) = claimed.windows(2).find(|p| p[0].1 > p[1].0) {
        return Err(file.at(
            pair[1].0,
            format!("ranks {} and {} lie on each other", pair[0].2, pair[1].2),
        ));
    }
    Ok(Head {
        sections,
        highest,
        cpus,
    })
}

struct Checked<'a> {
    store: &'a Store,
    name: &'a str,
}

impl Checked<'_> {
    fn at(&self, byte: u64, message: impl Display) -> Trouble {
        Trouble::at(format_args!("{}: byte {byte}", self.name), message.to_string())
    }

    fn read(&self, rank: u32, at: u64, out: &mut [u8], what: &str) -> Result<(), Trouble> {
        self.store.read(rank, at, out).map_err(|error| {
            if at.saturating_add(out.len() as u64) > self.store.length() {
                self.at(
                    at,
                    format!(
                        "the file ends within {what}: it has {} bytes",
                        self.store.length()
                    ),
                )
            } else {
                self.at(at, format!("cannot be read: {error}"))
            }
        })
    }

    fn word(&self, rank: u32, at: u64, what: &str) -> Result<u32, Trouble> {
        let mut word = [0; 4];
        self.read(rank, at, &mut word, what)?;
        Ok(u32::from_le_bytes(word))
    }

    /// Checks the counts of a rank, which must match its size in the table.
    fn section(&self, rank: u32, from: u64, to: u64) -> Result<Section, Trouble> {
        let what = format!("the head of rank {rank}");
        if to - from < 8 {
            return Err(self.at(
                from,
                format!("rank {rank} has {} bytes: expected at least 8", to - from),
            ));
        }
        let operations = self.word(rank, from, &what)?;
        let roots = self.word(rank, from + 4, &what)?;
        let fixed = 8 + 4 * u64::from(roots) + RECORD as u64 * u64::from(operations);
        let Some(rest) = (to - from).checked_sub(fixed) else {
            return Err(self.at(
                from,
                format!(
                    "rank {rank} claims {operations} operations and {roots} roots, {fixed} bytes, but has {}",
                    to - from
                ),
            ));
        };
        let words = u32::try_from(rest / 4).ok().filter(|_| rest % 4 == 0);
        let Some(words) = words.filter(|_| roots <= operations && operations < ANY) else {
            return Err(self.at(
                from,
                format!("rank {rank}: {operations} operations with {roots} roots and {rest} bytes of dependencies cannot be"),
            ));
        };
        Ok(Section {
            at: from,
            operations,
            roots,
            words,
        })
    }

    /// Checks the operations of a rank: their lists, their counts and the roots.
    fn operations(
        &self,
        rank: u32,
        ranks: u32,
        section: Section,
        highest: Highest,
        cpus: &mut [bool; 256],
    ) -> Result<(), Trouble> {
        let what = format!("the operations of rank {rank}");
        // The section is within the file, so this is less than a ninth of its size.
        let mut waits = vec![0u32; section.operations as usize];
        let mut listed = 0;
        for number in 0..section.operations {
            let at = section.records() + RECORD as u64 * u64::from(number);
            let mut bytes = [0; RECORD];
            self.read(rank, at, &mut bytes, &what)?;
            let record = Record::decode(&bytes);
            let wrong =
                |message: String| Err(self.at(at, format!("rank {rank}, operation {number}: {message}")));
            match record.kind {
                SEND if record.peer >= ranks => {
                    return wrong(format!(
                        "a send to rank {}: ranks go from 0 to {}",
                        signed(record.peer),
                        ranks - 1
                    ));
                }
                SEND if record.tag == ANY => {
                    return wrong("a send with tag -1: its message would match any receive".into());
                }
                RECEIVE if record.peer >= ranks && record.peer != ANY => {
                    return wrong(format!(
                        "a receive from rank {}: ranks go from 0 to {}",
                        record.peer,
                        ranks - 1
                    ));
                }
                SEND | RECEIVE | CALC => {}
                kind => return wrong(format!("type {kind}: expected 1 (send), 2 (recv) or 3 (calc)")),
            }
            if record.cpu > highest.cpu || record.nic > highest.nic {
                return wrong(format!(
                    "cpu {} and NIC {}, but the file's highest are {} and {}",
                    record.cpu, record.nic, highest.cpu, highest.nic
                ));
            }
            cpus[usize::from(record.cpu)] = true;
            for list in [record.after_end, record.after_start] {
                // Without the limit on the sum, lists that overlap would take quadratic time.
                listed += u64::from(list.count);
                if list.end() > u64::from(section.words) || listed > u64::from(section.words) {
                    return wrong(format!(
                        "{} entries from {} on, but its rank has {} in all",
                        list.count, list.first, section.words
                    ));
                }
                self.dependents(rank, number, section, list, &mut waits)?;
            }
        }
        self.counts(rank, section, &waits)
    }

    /// Counts the dependencies in a list.
    fn dependents(
        &self,
        rank: u32,
        number: u32,
        section: Section,
        list: List,
        waits: &mut [u32],
    ) -> Result<(), Trouble> {
        for k in 0..u64::from(list.count) {
            let at = section.appendix() + 4 * (u64::from(list.first) + k);
            let dependent = self.word(rank, at, "the dependencies")?;
            let Some(count) = waits.get_mut(dependent as usize) else {
                return Err(self.at(
                    at,
                    format!(
                        "rank {rank}: operation {dependent} is said to wait for operation {number}, but there are {} operations",
                        section.operations
                    ),
                ));
            };
            *count += 1;
        }
        Ok(())
    }

    /// Compares the dependencies of each operation in the lists with its own count, and the roots with both.
    fn counts(&self, rank: u32, section: Section, waits: &[u32]) -> Result<(), Trouble> {
        // Both lists ascend, so one pass compares them.
        let mut root = 0;
        for (number, listed) in (0u32..).zip(waits) {
            let at = section.records() + RECORD as u64 * u64::from(number);
            let says = self.word(rank, at, "the operations")?;
            if says != *listed {
                return Err(self.at(
                    at,
                    format!("rank {rank}, operation {number}: it says that it waits for {says}, the lists have {listed}"),
                ));
            }
            if *listed > 0 {
                continue;
            }
            let at = section.at + 8 + 4 * root;
            if root == u64::from(section.roots) {
                return Err(self.at(
                    section.at + 4,
                    format!(
                        "rank {rank}, operation {number} waits for nothing and is not among the {root} roots"
                    ),
                ));
            }
            let named = self.word(rank, at, "the roots")?;
            if named != number {
                return Err(self.at(
                    at,
                    format!("rank {rank}: operation {named} is named as a root, expected {number} (those that wait for nothing, ascending)"),
                ));
            }
            root += 1;
        }
        if root < u64::from(section.roots) {
            let at = section.at + 8 + 4 * root;
            let named = self.word(rank, at, "the roots")?;
            return Err(self.at(
                at,
                format!("rank {rank}: operation {named} is named as a root, but all roots came before"),
            ));
        }
        Ok(())
    }
}

/// Returns a rank as the text form has it.
fn signed(rank: u32) -> String {
    if rank == ANY {
        "-1".into()
    } else {
        rank.to_string()
    }
}

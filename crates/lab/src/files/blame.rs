//! `blame.csv`: who made whom wait, at which port, and how long.

use std::io::{self, Write};
use std::path::Path;

use paceline_fabric::blame::{Waiting, Why};
use paceline_fabric::outcome::Outcome;
use paceline_fabric::spec::{Blame, RunSpec};
use paceline_scenario::csv_cell;
use serde::{Deserialize, Serialize};

use super::lines::Lines;
use crate::text::port_name;

/// The file's name.
pub const BLAME: &str = "blame.csv";

/// A row of `blame.csv`; the fields are its columns. The `waited_ps` of a victim's rows sum to all the time that its
/// packets waited in queues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlameRow {
    /// Whose packets waited: a label, or `host N`.
    pub victim: String,
    /// Which of them: `data`, `acks`, `control`.
    pub packets: String,
    /// For whom; empty where nobody is known.
    pub cause: String,
    /// The egress port, as series name it (`port N.I->P`).
    pub port: String,
    /// Why: `own`, `in-progress`, `queue`, `paused`, `idle`.
    pub why: String,
    /// How long, summed over packets, in ps.
    pub waited_ps: u64,
}

const COLUMNS: [&str; 6] = ["victim", "packets", "cause", "port", "why", "waited_ps"];

/// The rows of a run, in the order of ports; none where nobody asked for them.
pub fn blame_rows(run: &RunSpec, outcome: &Outcome) -> Vec<BlameRow> {
    let name = |party: u32| match run.record.blame {
        Blame::Hosts => format!("host {party}"),
        Blame::Off | Blame::Labels => {
            let label = run.labels.get(party as usize);
            csv_cell(label.map_or("", String::as_str)).into_owned()
        }
    };
    let row = |of: &paceline_fabric::blame::Waited| BlameRow {
        victim: name(of.victim),
        packets: of.packets.name().to_string(),
        cause: of.cause.map_or_else(String::new, name),
        port: port_name(&of.port),
        why: of.why.name().to_string(),
        waited_ps: of.time.as_ps(),
    };
    outcome.blame.iter().map(row).collect()
}

/// Writes the rows; a header alone when there are none.
pub(super) fn write(out: &mut impl Write, rows: &[BlameRow]) -> io::Result<()> {
    let mut csv = csv::WriterBuilder::new().has_headers(false).from_writer(out);
    csv.write_record(COLUMNS).map_err(io::Error::from)?;
    for row in rows {
        csv.serialize(row).map_err(io::Error::from)?;
    }
    csv.flush()
}

/// The rows of a file that [`write()`] wrote.
pub(crate) fn read(path: &Path) -> Result<Vec<BlameRow>, String> {
    let file = paceline_scenario::open_file(path).map_err(|error| error.to_string())?;
    let mut csv = csv::Reader::from_reader(Lines::of(file));
    let mut sum = 0u64;
    let row = |row: Result<BlameRow, csv::Error>| {
        let row = row.map_err(|error| error.to_string())?;
        let known = |name: &str, all: &[&str], column: &str| match all.contains(&name) {
            true => Ok(()),
            false => Err(format!(
                "column `{column}`: expected {}, found `{name}`",
                all.join(", ")
            )),
        };
        known(&row.packets, &Waiting::ALL.map(Waiting::name), "packets")?;
        known(&row.why, &Why::ALL.map(Why::name), "why")?;
        let more = sum.checked_add(row.waited_ps);
        sum = more.ok_or_else(|| format!("the times sum to more than {} ps", u64::MAX))?;
        Ok(row)
    };
    csv.deserialize().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let row = |victim: &str, cause: &str, why: &str, waited_ps| BlameRow {
            victim: victim.into(),
            packets: "data".into(),
            cause: cause.into(),
            port: "port 0.3->2".into(),
            why: why.into(),
            waited_ps,
        };
        let rows = [row("a, b", "c", "queue", 7), row("c", "", "idle", 1)];
        let mut file = Vec::new();
        write(&mut file, &rows).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(BLAME);
        std::fs::write(&path, &file).unwrap();
        assert_eq!(read(&path).unwrap(), rows);
        let text = String::from_utf8(file).unwrap();
        std::fs::write(&path, text.replace("idle", "idel")).unwrap();
        assert_eq!(
            read(&path).unwrap_err(),
            "column `why`: expected own, in-progress, queue, paused, idle, found `idel`"
        );
        std::fs::write(&path, text.replace(",7", &format!(",{}", u64::MAX))).unwrap();
        assert!(read(&path).unwrap_err().starts_with("the times sum to more"));
    }
}

//! The file of a plan with its digest, as [`crate::files::sealed`] writes it.
//!
//! A plan of a million runs is written and read without a tree of JSON values, which takes ten times its memory.

use std::io::{self, BufReader, Write};
use std::path::Path;

use paceline_scenario::sweep::Axis;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::stored::Stored;
use super::{Plan, Point};
use crate::InputWarnings;
use crate::files::{Out, Unsealed};

/// Content of the file for writing.
#[derive(Serialize)]
struct Written<'a> {
    digest: &'a str,
    #[serde(flatten)]
    plan: &'a Plan,
}

/// Content of the file for reading. (A flattened field would be held in a tree first.)
#[derive(Deserialize)]
struct Read {
    /// `None` if a user has removed it.
    #[serde(default)]
    digest: Option<String>,
    version: String,
    scenario: String,
    description: String,
    arguments: Vec<String>,
    axes: Vec<Axis>,
    seeds: Vec<u64>,
    points: Vec<Point>,
}

/// Writes a plan with its digest.
pub(super) fn write(plan: &Plan) -> impl FnOnce(&mut Out) -> io::Result<()> {
    move |out| {
        let digest = &digest_of(plan)?;
        serde_json::to_writer_pretty(&mut *out, &Written { digest, plan })?;
        writeln!(out)
    }
}

/// Reads the plan of a sweep in its folder.
pub(super) fn read(file: &Path) -> Result<Plan, Unsealed> {
    let damaged = |error: &dyn std::fmt::Display| Unsealed::Damaged(error.to_string());
    let opened = paceline_scenario::open_file(file).map_err(|error| damaged(&error))?;
    let read: Read = serde_json::from_reader(BufReader::new(opened)).map_err(|error| damaged(&error))?;
    let plan = Plan {
        version: read.version,
        scenario: read.scenario,
        description: read.description,
        arguments: read.arguments,
        axes: read.axes,
        seeds: read.seeds,
        points: read.points,
        input_warnings: InputWarnings::default(),
        seconds: Vec::new(),
        memory: 0,
        stored: Stored::default(),
    };
    // A user who removes the digest accepts an edited plan.
    match read.digest {
        Some(digest) if digest_of(&plan).map_err(|error| damaged(&error))? != digest => Err(Unsealed::Edited),
        _ => Ok(plan),
    }
}

/// Hash that text flows through.
struct Hash(Sha256);

impl Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn digest_of(plan: &Plan) -> io::Result<String> {
    let mut hash = io::BufWriter::new(Hash(Sha256::new()));
    serde_json::to_writer(&mut hash, plan)?;
    let Hash(hash) = hash.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(hash
        .finalize()
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{sealed, write_file};

    /// The file is that of any other sealed value, and an edited one is refused.
    #[test]
    fn a_plan_has_the_bytes_of_any_sealed_value() {
        let (tmp, study) = super::super::plan::tests::study(&["network.ecn.pmax=0.1,1,1e-7"], Some(3));
        let plan = study.plan(1).unwrap();
        let [ours, theirs] = ["ours.json", "theirs.json"].map(|name| tmp.path().join(name));
        write_file(&ours, write(&plan)).unwrap();
        write_file(&theirs, sealed(&plan)).unwrap();
        let text = std::fs::read_to_string(&ours).unwrap();
        assert_eq!(text, std::fs::read_to_string(&theirs).unwrap());
        let there = read(&ours).unwrap();
        assert!(there.same_as(&plan) && there.arguments == plan.arguments);
        let edited = text.replacen(&plan.points[0].runs[0], &plan.points[0].runs[1], 1);
        std::fs::write(&ours, &edited).unwrap();
        assert_eq!(read(&ours).unwrap_err(), Unsealed::Edited);
        let digest = text.lines().find(|line| line.contains("\"digest\"")).unwrap();
        std::fs::write(&ours, edited.replace(&format!("{digest}\n"), "")).unwrap();
        assert!(read(&ours).is_ok());
        std::fs::write(&ours, &text[..text.len() / 2]).unwrap();
        assert!(matches!(read(&ours).unwrap_err(), Unsealed::Damaged(_)));
    }
}

//! Merging of a sweep's shards.

use std::fs;
use std::path::{Path, PathBuf};

use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;
use serde_json::Value;

use super::data::{check_version, plan_file, read_plan, read_row, row_file};
use super::store::{clear_killed, io_error, make, read_dir};
use super::{Plan, Row, Status, SweepData, SweepError, write_results};
use crate::files::{Folder, OutputError, check_destination, sealed, write_file};

/// Result of a merge.
#[derive(Clone, Debug, PartialEq)]
pub struct Collected {
    /// Merged plan and rows.
    pub data: SweepData,
    /// Runs of the plan that no folder has: number of the point, and seed.
    pub missing: Vec<(usize, u64)>,
}

/// Row and the folder that it was found in.
type Found<'a> = (Row, &'a Path);

/// Merges the sweeps in `folders`, parts of one plan, into `out`, which may be one of them.
///
/// # Errors
/// The folders are not those of one plan, or (unless `mix_versions`) not of one version of the
/// program; two of them have different results for the same run; `out` has something else in it
/// and is not the folder of a sweep that `force` may replace.
pub fn collect(
    folders: &[PathBuf],
    out: &Path,
    mix_versions: bool,
    force: bool,
) -> Result<Collected, SweepError> {
    let plans: Vec<(&Path, Plan)> = folders
        .iter()
        .map(|folder| Ok((folder.as_path(), read_plan(folder)?)))
        .collect::<Result<_, SweepError>>()?;
    let Some((first, plan)) = plans.first() else {
        return Err(SweepError::Refused("there is nothing to collect".into()));
    };
    for (folder, other) in &plans[1..] {
        check_same(first, plan, folder, other, mix_versions)?;
    }
    // All plans are compared before anything is written, so that a mismatch leaves the output untouched.
    let in_place = same_folder(folders, out);
    if !in_place {
        check_destination(out, force)?;
    }
    let found = find(&plans, mix_versions)?;
    let mut merged = plan.clone();
    let mut rows = SortedMap::new();
    let mut missing = Vec::new();
    for (number, point) in merged.points.iter_mut().enumerate() {
        for (repeat, id) in point.runs.iter_mut().enumerate() {
            match &found[number][repeat] {
                Some((row, _)) => {
                    // With mixed versions, the row may have the id of another version.
                    id.clone_from(&row.id);
                    rows.insert(id.clone(), row.clone());
                }
                None => missing.push((number, plan.seeds[repeat])),
            }
        }
    }
    merged.version = versions(&plans, rows.values()).join(", ");
    let data = SweepData { plan: merged, rows };
    let all = found.iter().flatten().flatten();
    if in_place {
        clear_killed(out);
        // Runs and rows come before the plan, so that an interruption leaves a valid sweep with fewer rows.
        merge_into(out, all)?;
        write_file(&plan_file(out), sealed(&data.plan))?;
        write_results(out, &data)?;
    } else {
        copy_to(out, all, &data, force)?;
    }
    Ok(Collected { data, missing })
}

fn same_folder(folders: &[PathBuf], out: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    let out = real(out);
    out.is_some() && folders.iter().any(|folder| real(folder) == out)
}

fn versions<'a>(plans: &[(&Path, Plan)], rows: impl Iterator<Item = &'a Row>) -> Vec<String> {
    let of_rows = rows.map(|row| row.version.clone());
    let mut versions: Vec<String> = plans
        .iter()
        .map(|(_, plan)| plan.version.clone())
        .chain(of_rows)
        .collect();
    versions.order();
    versions.dedup();
    versions
}

/// Checks that two folders are parts of one plan. Across versions the ids differ; axes, seeds and points must not.
fn check_same(a: &Path, first: &Plan, b: &Path, second: &Plan, mix_versions: bool) -> Result<(), SweepError> {
    let refused = |what: String| Err(SweepError::Refused(what));
    let (a, b) = (a.display(), b.display());
    if first.version != second.version && !mix_versions {
        return refused(format!(
            "{a} is by version {}, {b} by version {}: results of different versions are not mixed unless \
             --mix-versions says so",
            first.version, second.version
        ));
    }
    let differ = |what: &str| {
        refused(format!(
            "{a} and {b} are not parts of one sweep: their {what} differ"
        ))
    };
    if first.scenario != second.scenario {
        return refused(format!(
            "{a} and {b} are not parts of one sweep: one is of `{}`, the other of `{}`",
            first.scenario, second.scenario
        ));
    }
    if first.axes != second.axes {
        return differ("axes");
    }
    if first.seeds != second.seeds {
        return differ("seeds");
    }
    if first.version == second.version && first.points != second.points {
        return differ("scenarios");
    }
    Ok(())
}

/// Finds the row of each point and seed, if some folder has it. A run that failed in one folder and succeeded in
/// another counts as successful.
fn find<'a>(
    plans: &[(&'a Path, Plan)],
    mix_versions: bool,
) -> Result<Vec<Vec<Option<Found<'a>>>>, SweepError> {
    let (_, first) = &plans[0];
    let mut found: Vec<Vec<Option<Found<'_>>>> = vec![vec![None; first.seeds.len()]; first.points.len()];
    for (folder, plan) in plans {
        for (slots, point) in found.iter_mut().zip(&plan.points) {
            for (slot, id) in slots.iter_mut().zip(&point.runs) {
                let Some(row) = read_row(folder, id)? else {
                    continue;
                };
                if !mix_versions {
                    check_version(folder, plan, &row)?;
                }
                match slot {
                    Some((known, index)) if known.status == row.status => {
                        check_equal(known, index, &row, folder)?;
                        if row.keep > known.keep {
                            *slot = Some((row, folder));
                        }
                    }
                    Some((known, _)) if known.status == Status::Completed => {}
                    _ => *slot = Some((row, folder)),
                }
            }
        }
    }
    Ok(found)
}

/// Checks that two results of the same run are equal, except for measurements of the machine.
fn check_equal(a: &Row, here: &Path, b: &Row, there: &Path) -> Result<(), SweepError> {
    let numbers = |row: &Row| {
        let mut summary = serde_json::to_value(&row.summary).unwrap_or_default();
        if let Value::Object(summary) = &mut summary {
            for machine in [
                "wall_s",
                "cpu_s",
                "packet_hops_per_s",
                "peak_rss_bytes",
                "version",
            ] {
                summary.remove(machine);
            }
        }
        summary
    };
    if numbers(a) == numbers(b) {
        return Ok(());
    }
    Err(SweepError::Refused(format!(
        "{} and {} have different results for the same run {}: one of them is damaged",
        row_file(here, &a.id).display(),
        row_file(there, &b.id).display(),
        a.id
    )))
}

/// Adds missing runs, each before its row, so that an interruption leaves a smaller but valid sweep.
fn merge_into<'a>(out: &Path, all: impl Iterator<Item = &'a Found<'a>>) -> Result<(), SweepError> {
    make(&out.join("rows"))?;
    make(&out.join("runs"))?;
    for (row, from) in all.filter(|(_, from)| !same_folder(&[from.to_path_buf()], out)) {
        if row.status == Status::Completed {
            let folder = Folder::create(&out.join("runs").join(&row.id), true)?;
            copy(&from.join("runs").join(&row.id), &folder, Path::new(""))?;
            folder.commit()?;
        }
        write_file(&row_file(out, &row.id), sealed(row))?;
    }
    Ok(())
}

/// Copies to a new folder, which appears whole or not at all.
fn copy_to<'a>(
    out: &Path,
    all: impl Iterator<Item = &'a Found<'a>>,
    data: &SweepData,
    force: bool,
) -> Result<(), SweepError> {
    let folder = Folder::create(out, force)?;
    for (row, from) in all {
        if row.status == Status::Completed {
            let run = Path::new("runs").join(&row.id);
            copy(&from.join(&run), &folder, &run)?;
        }
        let name = row_file(Path::new(""), &row.id);
        folder.write(&name, sealed(row))?;
    }
    folder.write(&plan_file(Path::new("")), sealed(&data.plan))?;
    folder.commit()?;
    Ok(write_results(out, data)?)
}

/// Copies the files of `from` to `to` within a folder that is being made.
fn copy(from: &Path, folder: &Folder, to: &Path) -> Result<(), OutputError> {
    for entry in read_dir(from)? {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, folder, &to)?;
            continue;
        }
        let mut file = fs::File::open(&path).map_err(io_error("read", &path))?;
        folder.write(&to, |out| std::io::copy(&mut file, out).map(|_| ()))?;
    }
    Ok(())
}

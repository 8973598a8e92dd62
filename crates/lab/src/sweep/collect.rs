//! Merging of a sweep's shards.

use std::fs;
use std::path::{Path, PathBuf};

use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::{SortedMap, SortedSet};
use serde_json::Value;

use super::data::{check_version, plan_file, read_plan, read_row, row_file};
use super::store::{clear_killed, io_error, make, read_dir};
use super::{Keep, Plan, Row, Status, SweepError, Tables, sealed_plan, stored, write_tables};
use crate::files::{Folder, OutputError, check_destination, sealed, write_file};

/// Result of a merge.
#[derive(Clone, Debug)]
pub struct Collected {
    /// Merged sweep, whose tables are written.
    pub tables: Tables,
    /// Runs of the plan that no folder has: number of the point, and seed.
    pub missing: Vec<(usize, u64)>,
}

/// Folder in which a row was found, by its index, and what decides whether another one is better.
#[derive(Clone, Copy, Debug)]
struct Found {
    folder: u32,
    status: Status,
    keep: Keep,
}

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
        check_same((first, plan), (folder, other), mix_versions)?;
    }
    // All plans are compared before anything is written, so that a mismatch leaves the output untouched.
    let in_place = same_folder(folders, out);
    if !in_place {
        check_destination(out, force)?;
    }
    let found = find(&plans, mix_versions)?;
    let mut merged = plan.clone();
    let mut missing = Vec::new();
    let mut used: Vec<String> = plans.iter().map(|(_, plan)| plan.version.clone()).collect();
    for (number, point) in merged.points.iter_mut().enumerate() {
        for (repeat, id) in point.runs.iter_mut().enumerate() {
            let Some(one) = found[number][repeat] else {
                missing.push((number, plan.seeds[repeat]));
                continue;
            };
            // With mixed versions, the row may have the id of another version.
            let (folder, of) = &plans[one.folder as usize];
            id.clone_from(&of.points[number].runs[repeat]);
            if mix_versions && let Some(row) = read_row(folder, id)? {
                used.push(row.version);
            }
        }
    }
    used.order();
    used.dedup();
    merged.version = used.join(", ");
    // Every run once, with the folder that has it.
    let mut seen = SortedSet::new();
    let rows = merged.points.iter().zip(&found);
    let rows = rows.flat_map(|(point, found)| point.runs.iter().zip(found));
    let all = rows
        .filter_map(|(id, found)| Some((id.as_str(), plans[(*found)?.folder as usize].0)))
        .filter(|(id, _)| seen.insert(*id));
    if in_place {
        clear_killed(out);
        // Runs and rows come before the plan, so that an interruption leaves a valid sweep with fewer rows.
        merge_into(out, all)?;
        write_file(&plan_file(out), sealed_plan::write(&merged))?;
    } else {
        copy_to(out, all, &merged, plans[0].0, force)?;
    }
    drop(merged);
    let tables = write_tables(out)?;
    Ok(Collected { tables, missing })
}

fn same_folder(folders: &[PathBuf], out: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    let out = real(out);
    out.is_some() && folders.iter().any(|folder| real(folder) == out)
}

/// Checks that two folders are parts of one plan. Across versions the ids differ; axes, seeds and points must not.
fn check_same(
    (a, first): (&Path, &Plan),
    (b, second): (&Path, &Plan),
    mix_versions: bool,
) -> Result<(), SweepError> {
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
fn find(plans: &[(&Path, Plan)], mix_versions: bool) -> Result<Vec<Vec<Option<Found>>>, SweepError> {
    let (_, first) = &plans[0];
    let mut found: Vec<Vec<Option<Found>>> = vec![vec![None; first.seeds.len()]; first.points.len()];
    for (number, (folder, plan)) in plans.iter().enumerate() {
        for (index, (slots, point)) in found.iter_mut().zip(&plan.points).enumerate() {
            for (repeat, (slot, id)) in slots.iter_mut().zip(&point.runs).enumerate() {
                let Some(row) = read_row(folder, id)? else {
                    continue;
                };
                if !mix_versions {
                    check_version(folder, plan, &row)?;
                }
                let this = Found {
                    folder: number as u32,
                    status: row.status,
                    keep: row.keep,
                };
                match slot {
                    Some(known) if known.status == row.status => {
                        let (place, of) = &plans[known.folder as usize];
                        // Read again, since all rows would not fit in memory.
                        if let Some(known) = read_row(place, &of.points[index].runs[repeat])? {
                            check_equal((&known, place), (&row, folder))?;
                        }
                        if row.keep > known.keep {
                            *slot = Some(this);
                        }
                    }
                    Some(known) if known.status == Status::Completed => {}
                    _ => *slot = Some(this),
                }
            }
        }
    }
    Ok(found)
}

/// Checks that two results of the same run are equal, except for measurements of the machine.
fn check_equal((a, here): (&Row, &Path), (b, there): (&Row, &Path)) -> Result<(), SweepError> {
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
fn merge_into<'a>(out: &Path, all: impl Iterator<Item = (&'a str, &'a Path)>) -> Result<(), SweepError> {
    make(&out.join("rows"))?;
    make(&out.join("runs"))?;
    let mut known: SortedMap<&Path, bool> = SortedMap::new();
    for (id, from) in all {
        let is_out = *known
            .entry(from)
            .or_insert_with(|| same_folder(&[from.to_path_buf()], out));
        let Some(row) = (if is_out { None } else { read_row(from, id)? }) else {
            continue;
        };
        if row.status == Status::Completed {
            let folder = Folder::create(&out.join("runs").join(id), true)?;
            copy(&from.join("runs").join(id), &folder, Path::new(""))?;
            folder.commit()?;
        }
        write_file(&row_file(out, id), sealed(&row))?;
    }
    Ok(())
}

/// Copies to a new folder, which appears whole or not at all.
fn copy_to<'a>(
    out: &Path,
    all: impl Iterator<Item = (&'a str, &'a Path)>,
    plan: &Plan,
    first: &Path,
    force: bool,
) -> Result<(), SweepError> {
    let folder = Folder::create(out, force)?;
    let scenario = Path::new(stored::FOLDER);
    if first.join(scenario).is_dir() {
        copy(&first.join(scenario), &folder, scenario)?;
    }
    for (id, from) in all {
        let Some(row) = read_row(from, id)? else {
            continue;
        };
        if row.status == Status::Completed {
            let run = Path::new("runs").join(id);
            copy(&from.join(&run), &folder, &run)?;
        }
        folder.write(&row_file(Path::new(""), id), sealed(&row))?;
    }
    folder.write(&plan_file(Path::new("")), sealed_plan::write(plan))?;
    Ok(folder.commit()?)
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

//! Loading of inputs, with support for Parquet files.

use std::collections::HashSet;
use std::path::Path;

use paceline_scenario::{Diagnostics, EXTERNAL, Overrides, Problem, Resolved, Warning};
use serde::Deserialize;

use crate::files::columns::{Column, Values, read_parquet};

/// Loads an input like [`paceline_scenario::load`]. Traces may be Parquet files, and the warnings recorded in a run's
/// folder are restored.
///
/// # Errors
/// All faults of the input, with their positions.
pub fn load(input: &str, overrides: &Overrides) -> Result<Resolved, Diagnostics> {
    let mut resolved = paceline_scenario::load_with(input, overrides, Some(parquet_as_csv))?;
    if overrides.text.is_some() {
        return Ok(resolved);
    }
    let folder = folder_of(Path::new(input));
    let recorded = Recorded::in_folder(folder);
    let asks = (resolved.run.schemes.iter()).any(|scheme| scheme.config.name() == EXTERNAL);
    let is_known = resolved.decisions.is_some() || overrides.decided_outside;
    if asks && !is_known && recorded.decisions.is_some_and(|decisions| decisions.made > 0) {
        return Err(Problem::new(format!(
            "`{input}` is from a run with external decisions, and the recorded decisions are missing"
        ))
        .help("run the agent again and save that run: its folder then has decisions.csv, and its scenario refers to \
         it")
        .into());
    }
    if !recorded.warnings.is_empty() {
        let is_same = paceline_scenario::read_text(folder.join("scenario.toml"))
            .is_ok_and(|text| text == resolved.toml);
        resolved.warnings = merged(recorded.warnings, resolved.warnings, is_same);
    }
    Ok(resolved)
}

/// Returns the folder of a run for an input that names the folder or the scenario in it.
fn folder_of(input: &Path) -> &Path {
    let is_scenario = input.file_name().is_some_and(|name| name == "scenario.toml");
    match input.parent() {
        Some(folder) if is_scenario => folder,
        _ => input,
    }
}

/// Facts about the input that a run's summary records and its scenario does not.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Recorded {
    warnings: Vec<Warning>,
    decisions: Option<Made>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Made {
    made: u64,
}

impl Recorded {
    /// Reads the summary in `folder`; returns the default if it is not a run's folder or is of another version.
    fn in_folder(folder: &Path) -> Self {
        let text = paceline_scenario::read_text(folder.join("summary.json")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }
}

/// Merges the warnings for a rerun: those `found` now, and those `recorded` about parts that the written scenario no
/// longer has, such as an unused block. If the scenario has changed, recorded warnings are kept only if they concern
/// the reading of files.
fn merged(recorded: Vec<Warning>, mut found: Vec<Warning>, is_same: bool) -> Vec<Warning> {
    let mut all = Vec::new();
    for warning in recorded {
        let again = found.iter().position(|other| other.is_like(&warning));
        if let Some(again) = again {
            all.push(found.remove(again));
        } else if warning.id.is_lost_when_written() && (is_same || warning.id.is_of_files()) {
            all.push(warning);
        }
    }
    all.extend(found);
    all
}

/// Limits on the text that the rows of a Parquet file expand to, in bytes: an absolute one (millions of flows), and for
/// small files a constant plus a multiple of the size. Repeated texts are stored once in such a file, so a small file
/// can expand to a huge text.
const TABLE: usize = 1 << 29;
const SMALL: usize = 1 << 24;
const UNPACKED: usize = 32;

/// Converts a Parquet file to CSV text: a line with the column names, then a line per row. Missing values are empty.
fn parquet_as_csv(path: &Path) -> Result<String, String> {
    // A small file may unpack to gigabytes, so the text is limited by the file's size.
    let size = path.metadata().map_or(0, |file| file.len() as usize);
    let most = size.saturating_mul(UNPACKED).saturating_add(SMALL).min(TABLE);
    let columns = read_parquet(path).map_err(|error| error.to_string())?;
    check_labels(&columns)?;
    let mut out = csv::Writer::from_writer(Vec::new());
    let names = columns.iter().map(|column| column.name.as_str());
    out.write_record(names).map_err(|error| error.to_string())?;
    let rows = columns.first().map_or(0, |column| column.values.len());
    for row in 0..rows {
        let fields = columns.iter().map(|column| match &column.values {
            Values::Text(all) => all[row].as_deref().unwrap_or_default().to_string(),
            Values::Int(all) => all[row].map(|value| value.to_string()).unwrap_or_default(),
            Values::Real(all) => all[row].map(|value| value.to_string()).unwrap_or_default(),
        });
        out.write_record(fields).map_err(|error| error.to_string())?;
        if out.get_ref().len() > most {
            return Err(format!(
                "row {} of {rows} ends after {} MiB of text: expected at most {} MiB in all rows of a file of its size",
                row + 1,
                out.get_ref().len() >> 20,
                most >> 20
            ));
        }
    }
    let bytes = out.into_inner().map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

/// Rejects more labels than flows can name, before each row gets its own as text.
fn check_labels(columns: &[Column]) -> Result<(), String> {
    const MOST: usize = 1 << 16;
    let labels = columns.iter().find(|column| column.name == "label");
    let Some(Values::Text(labels)) = labels.map(|column| &column.values) else {
        return Ok(());
    };
    // Equal texts share one allocation.
    let different: HashSet<*const u8> = labels.iter().flatten().map(|label| label.as_ptr()).collect();
    match different.len() {
        0..=MOST => Ok(()),
        count => Err(format!(
            "{count} labels: expected at most {MOST}; results are grouped by label: give flows of one kind the same"
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::files::columns::write_parquet;

    fn text(values: &[&str]) -> Values {
        Values::Text(values.iter().map(|text| Some(Arc::from(*text))).collect())
    }

    const SCENARIO: &str = r#"
duration = "1ms"
[topology.star]
hosts = 3
[[workload]]
trace = { file = "flows.parquet" }
[cc]
scheme = "none"
"#;

    #[test]
    fn more_labels_than_flows_can_name_are_refused_at_once() {
        let labels = |count: usize| {
            let names = (0..count).map(|label| Some(Arc::from(format!("{label}"))));
            [Column::new("label", Values::Text(names.collect()))]
        };
        assert!(check_labels(&labels(1 << 16)).is_ok());
        let error = check_labels(&labels((1 << 16) + 1)).unwrap_err();
        assert!(
            error.starts_with("65537 labels: expected at most 65536"),
            "{error}"
        );
    }

    #[test]
    fn a_parquet_trace_is_a_csv_trace() {
        let tmp = tempfile::tempdir().unwrap();
        let columns = [
            Column::new("start_us", Values::Real(vec![Some(0.5), Some(2.0), None])),
            Column::new("dst", Values::Int(vec![Some(2), Some(3), Some(1)])),
            Column::new("src", Values::Int(vec![Some(1), Some(2), Some(3)])),
            Column::new("label", text(&["a, b", "say \"c\"", ""])),
            Column::new(
                "size_bytes",
                Values::Int(vec![Some(1000), Some(2000), Some(3000)]),
            ),
            Column::new("after", text(&["", "0", "0;1"])),
        ];
        let path = tmp.path().join("flows.parquet");
        write_parquet(&mut std::fs::File::create(&path).unwrap(), &columns, &[]).unwrap();
        assert_eq!(
            parquet_as_csv(&path).unwrap(),
            "start_us,dst,src,label,size_bytes,after\n0.5,2,1,\"a, b\",1000,\n2,3,2,\"say \"\"c\"\"\",2000,0\n,1,3,,3000,0;1\n"
        );
        let input = tmp.path().join("mine.toml");
        std::fs::write(&input, SCENARIO).unwrap();
        let resolved = load(input.to_str().unwrap(), &Overrides::default()).unwrap();
        let starts: Vec<_> = resolved.run.flows.iter().map(|flow| flow.start.as_ps()).collect();
        assert_eq!(starts, [0, 500_000, 2_000_000]);
        assert_eq!(resolved.run.labels, ["a, b", "say \"c\"", "trace"]);
        // The flow that starts last is named by its index in order of start.
        assert_eq!(resolved.run.dependencies.len(), 3);
        assert_eq!(resolved.run.dependencies[0].flow, 2);
        // The copy is CSV, so the resolved scenario needs no Parquet.
        let folder = tmp.path().join("resolved");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("scenario.toml"), &resolved.toml).unwrap();
        for (name, content) in &resolved.files {
            std::fs::write(folder.join(name), content).unwrap();
        }
        let again = paceline_scenario::load(folder.to_str().unwrap(), &Overrides::default()).unwrap();
        assert_eq!(format!("{:?}", again.run), format!("{:?}", resolved.run));
        assert_eq!(again.toml, resolved.toml);
    }

    #[test]
    fn a_damaged_one_is_an_error_at_its_name() {
        let tmp = tempfile::tempdir().unwrap();
        std::fs::write(tmp.path().join("flows.parquet"), b"PAR1 and no more").unwrap();
        let input = tmp.path().join("mine.toml");
        std::fs::write(&input, SCENARIO).unwrap();
        let error = load(input.to_str().unwrap(), &Overrides::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains("mine.toml:6:18: cannot read"), "{error}");
        let error = paceline_scenario::load(input.to_str().unwrap(), &Overrides::default());
        assert!(error.unwrap_err().to_string().contains("does not read Parquet"));
    }
}

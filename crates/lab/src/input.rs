//! Reading inputs: the scenario's own way, with Parquet files.

use std::fs;
use std::path::Path;

use paceline_scenario::{Diagnostics, EXTERNAL, Overrides, Problem, Resolved};

use crate::files::columns::{Values, read_parquet};

/// As [`paceline_scenario::load`]; traces may be Parquet files.
///
/// # Errors
/// Everything that is wrong with the input, with its place.
pub fn load(input: &str, overrides: &Overrides) -> Result<Resolved, Diagnostics> {
    let resolved = paceline_scenario::load_with(input, overrides, Some(parquet_as_csv))?;
    let asks = (resolved.run.schemes.iter()).any(|scheme| scheme.config.name() == EXTERNAL);
    let is_known = resolved.decisions.is_some() || overrides.decided_outside || overrides.text.is_some();
    if asks && !is_known && was_decided(Path::new(input)) {
        return Err(Problem::new(format!(
            "`{input}` is of a run in which flows were decided for outside, and it does not have what was decided"
        ))
        .help("run the one who decides again, and save that run: its folder has a decisions.csv, which its scenario names")
        .into());
    }
    Ok(resolved)
}

/// Whether an input is the folder of a run in which decisions were made, or the scenario in it.
fn was_decided(input: &Path) -> bool {
    let is_scenario = input.file_name().is_some_and(|name| name == "scenario.toml");
    let folder = if is_scenario {
        input.parent().unwrap_or(input)
    } else {
        input
    };
    let text = fs::read_to_string(folder.join("summary.json")).unwrap_or_default();
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    summary["decisions"]["made"].as_u64().is_some_and(|made| made > 0)
}

/// A Parquet file as CSV text: a line with the names of the columns, then a line per row. What is
/// missing is empty.
fn parquet_as_csv(path: &Path) -> Result<String, String> {
    let columns = read_parquet(path).map_err(|error| error.to_string())?;
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
    }
    let bytes = out.into_inner().map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::files::columns::{Column, write_parquet};

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
        // The flow that starts last is named by its place in order of start.
        assert_eq!(resolved.run.dependencies.len(), 3);
        assert_eq!(resolved.run.dependencies[0].flow, 2);
        // Its copy is CSV: the resolved scenario needs no Parquet.
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

//! Files of a run's folder.

mod capture;
pub mod columns;
mod data;
mod flow_time;
mod flows;
mod folder;
mod format;
mod labels;
mod limited;
mod line;
mod lines;
pub mod ns3;
pub mod ports;
mod repeats;
mod seal;
mod series;
mod staging;
mod tables;
mod timeline;
mod trace;
mod unmanaged;
mod visit;

pub(crate) use data::folder_beside;
pub use data::{ReadError, RunData, names_in};
pub use flow_time::{CREDIT, FlowTime, PAUSED, RETRIED, Stage, flow_times};
pub use flows::flow_columns;
pub(crate) use flows::{read_flows_csv, read_flows_parquet};
pub(crate) use folder::write_file_later;
pub use folder::{Folder, OutFile, OutputError, check_destination, write_file};
use format::metadata;
pub use format::{Format, LABELS, Writing};
pub use limited::{Limited, Out, Waiting};
pub use seal::{Unsealed, sealed, unsealed};
pub use series::read_series;
pub use series::{
    CREDITS, GOODPUT, QUEUE, RATE, RTT, Range, STATE, Series, WINDOW, series_columns, series_of,
};
pub use staging::{abandon, clear_leftovers, is_barely_begun};
pub(crate) use staging::{remove_if_left, sync};
pub use tables::{TABLES, file_of, table_columns};
pub(crate) use tables::{read as read_table, write as write_table};
pub use trace::trace_columns;
pub use visit::{FlowStep, collectives_in, pause_expires_after, visit_flows};

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::results::{ANALYSIS_GROUPS, Again, FlowRows, PathRow, Summary, fct_table, has_paths, path_rows};
use crate::run::Finished;
use paceline_fabric::spec::{Completion, RunSpec};
use paceline_fabric::table::{Row, Table};
use paceline_kernel::{Span, Time};
use paceline_scenario::Resolved;
use paceline_scenario::generate::topology_text;
use paceline_scenario::topology::Topology;

/// Table of completion times in the format of ns-3 scripts.
pub(crate) const FCT: &str = "fct.txt";

/// Writes `fct_table.tsv` if the runs have suitable flows.
pub fn write_fct_table(
    folder: &Folder,
    name: &Path,
    runs: &[(&str, &[FlowRows])],
) -> Result<(), OutputError> {
    let enough =
        |(_, parts): &(&str, &[FlowRows])| parts.iter().map(FlowRows::len).sum::<usize>() >= ANALYSIS_GROUPS;
    if !runs.iter().all(enough) || folder.leaves_out(name) {
        return Ok(());
    }
    fct_table(runs).map_or(Ok(()), |text| {
        folder.write(name, |out| out.write_all(text.as_bytes()))
    })
}

/// Writes `fct.txt`, the table of completion times, in the format of HPCC's simulator or of the simulator whose network
/// model the run uses.
///
/// # Errors
/// Those of the writer and of the flows.
pub fn fct(out: &mut impl std::io::Write, run: &RunSpec, flows: &FlowRows) -> std::io::Result<()> {
    let Some(line) = run.model.as_ref().and_then(|model| model.completion_line()) else {
        return ns3::fct(out, flows);
    };
    for flow in flows.completions() {
        let flow = Completion {
            src: flow.src,
            dst: flow.dst,
            size: flow.size,
            start: Time::from_ps(flow.start_ps),
            fct: Span::from_ps(flow.fct_ps.unwrap_or(0)),
        };
        writeln!(out, "{}", line(run, &flow))?;
    }
    flows.check()
}

/// Writes the network of a run, unless the scenario names a file of it.
fn write_network(folder: &Folder, sub: &Path, input: &Resolved) -> Result<(), OutputError> {
    let (name, _) = data::topology_file(&input.toml);
    if input.files.iter().any(|(file, _)| *file == name) {
        return Ok(());
    }
    let network = Topology::of(&input.run);
    folder.write_if_time(&sub.join(name), |out| {
        out.write_all(topology_text(&network).as_bytes())
    })
}

/// Writes a run's summary, scenario (with the files that it names) and flows into `sub` of a folder that is being made.
pub fn write_summary_into(
    folder: &Folder,
    sub: &Path,
    input: &Resolved,
    finished: &Finished,
) -> Result<(), OutputError> {
    let flows = &finished.flows;
    let (name, rows) = match folder.folds(flows) {
        false => (folder.format().flows(), flows.len()),
        true => {
            let repeats = Table::new(flows.repeats().all().to_vec());
            folder.write(&sub.join(file_of(Again::DECLARED)), |out| {
                tables::write(out, &repeats)
            })?;
            (folder.format().unique_flows(), flows.originals_len())
        }
    };
    let table = FlowTable {
        name,
        rows,
        write: |out: &mut Out| flows::write(out, folder.format(), folder.expand(), input, flows),
    };
    write_summary_with(folder, sub, input, &finished.summary, table)?;
    if has_several_labels(&finished.summary) {
        folder.write_if_time(&sub.join(LABELS), |out| {
            labels::write(out, &input.run, &finished.summary, &finished.flows)
        })?;
    }
    Ok(())
}

/// Writes the summary of a run that differs from another only by its seed; the flows are taken from the other's folder.
pub fn write_summary_like(
    folder: &Folder,
    input: &Resolved,
    summary: &Summary,
    other: &Path,
) -> Result<(), OutputError> {
    let format = folder.format();
    let names = [format.flows(), format.unique_flows()];
    let name = names.into_iter().find(|name| other.join(name).is_file());
    let name = name.unwrap_or(format.flows());
    let copied = |name: &str| {
        let from = other.join(name);
        move |out: &mut Out| std::io::copy(&mut File::open(from)?, out).map(|_| ())
    };
    if name == format.unique_flows() {
        let repeats = file_of(Again::DECLARED);
        folder.write(Path::new(&repeats), copied(&repeats))?;
    }
    if has_several_labels(summary) {
        folder.write_if_time(Path::new(LABELS), copied(LABELS))?;
    }
    let table = FlowTable {
        name,
        rows: 0,
        write: copied(name),
    };
    write_summary_with(folder, Path::new(""), input, summary, table)
}

/// Returns true if some scheme's flows have more than one label.
fn has_several_labels(summary: &Summary) -> bool {
    summary
        .schemes
        .values()
        .map(|group| group.labels.len())
        .sum::<usize>()
        > 1
}

/// Table of flows: its name, and how it is written.
struct FlowTable<'a, W> {
    name: &'a str,
    /// Number of rows, from which progress is computed; 0 if unknown.
    rows: usize,
    write: W,
}

fn write_summary_with(
    folder: &Folder,
    sub: &Path,
    input: &Resolved,
    summary: &Summary,
    table: FlowTable<'_, impl FnOnce(&mut Out) -> std::io::Result<()>>,
) -> Result<(), OutputError> {
    let at = |name: &str| -> PathBuf { sub.join(name) };
    folder.write(&at("summary.json"), |out| {
        serde_json::to_writer_pretty(&mut *out, summary)?;
        writeln!(out)
    })?;
    folder.write(&at("scenario.toml"), |out| out.write_all(input.toml.as_bytes()))?;
    for (name, content) in &input.files {
        folder.write(&at(name), |out| out.write_all(content))?;
    }
    folder.write_while_waiting(&at(table.name), table.rows, table.write)
}

/// Writes all files of a run except pages into `sub` of a folder that is being made, and returns the data from which
/// pages are made.
pub fn write_run_into(
    folder: &Folder,
    sub: &Path,
    input: &Resolved,
    finished: &Finished,
) -> Result<RunData, OutputError> {
    // First the files without which there is no run. The others may be left out if a user waits for an interrupted run.
    write_summary_into(folder, sub, input, finished)?;
    let outcome = &finished.outcome;
    let spec = &input.run;
    let at = |name: &str| -> PathBuf { sub.join(name) };
    write_network(folder, sub, input)?;
    // Critical paths take a pass over all flows, so they are computed only if there is time to write them.
    let mut data = RunData::without_paths(input, finished);
    if has_paths(input, outcome) && !folder.leaves_out(&at(&file_of(PathRow::DECLARED))) {
        data.add(path_rows(input, outcome, &data.flows));
    }
    // Scripts that read these know of no repeats.
    if !folder.folds(&finished.flows) {
        write_fct_table(
            folder,
            &at("fct_table.tsv"),
            &[(&input.scheme, std::slice::from_ref(&data.flows))],
        )?;
        folder.write_if_time(&at(FCT), |out| fct(out, spec, &finished.flows))?;
    }
    if let Some(repeats) = &outcome.repeats {
        folder.write(&at("repeats.json"), |out| {
            repeats::write(out, repeats, &finished.summary)
        })?;
    }
    if let (Some(model), Some(left)) = (&spec.model, &outcome.model) {
        for file in model.files(spec, left) {
            folder.write(&at(file.name), |out| (file.write)(out))?;
        }
    }
    if !spec.record.omit_pfc {
        folder.write_if_time(&at("pfc.txt"), |out| ns3::pfc(out, outcome))?;
    }
    folder.write_if_time(&at("qlen.txt"), |out| ns3::qlen(out, spec, outcome))?;
    if !data.series.is_empty() {
        folder.write_if_time(&at("series.parquet"), |out| {
            series::write(out, &data.series, &metadata(input))
        })?;
    }
    for table in data.tables.iter() {
        folder.write_if_time(&at(&file_of(table.declared())), |out| tables::write(out, table))?;
    }
    if spec.record.rtt_samples {
        folder.write_if_time(&at("rtt_samples.txt"), |out| {
            ns3::rtt_samples(out, &data.flows, outcome)
        })?;
    }
    if folder.timeline() {
        folder.write_if_time(&at("timeline.pftrace"), |out| {
            timeline::write(out, &data, spec, outcome)
        })?;
    }
    if input.pcap {
        folder.write_if_time(&at("trace.pcapng"), |out| {
            capture::write(out, spec, &input.names, outcome, capture::WHOLE)
        })?;
    }
    let traced = !(spec.record.trace_nodes.is_empty() && spec.record.trace_ports.is_empty());
    match input.fidelity.has_own_trace() {
        true if outcome.trace.is_empty() => {}
        true => folder.write_if_time(&at("trace.tr"), |out| ns3::trace(out, spec, outcome))?,
        false if traced => folder.write_if_time(&at("trace.parquet"), |out| {
            trace::write(out, &outcome.trace, &outcome.signals, &metadata(input))
        })?,
        false => {}
    }
    Ok(data)
}

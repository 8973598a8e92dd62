//! `timeline.json`: a run in the Trace Event Format, which Perfetto (ui.perfetto.dev) and Chrome's tracing display.
//!
//! Hosts that send, collectives, ports and incidents of links and hosts are processes. A flow is a slice in the first
//! free row of its sender, and so is an iteration of a collective. A pause is a slice in the row of the paused port;
//! the queue of a port is a counter. Times are microseconds, with all digits.

use std::io::{self, Write};
use std::ops::Range;

use paceline_fabric::{Outcome, RunSpec};
use paceline_kernel::order::Sort as _;
use serde_json::{Value, json};

use super::{QUEUE, RunData};
use crate::results::{CollectiveRow, FlowRow, pauses, ports_of};
use paceline_kernel::sorted::SortedMap;
use paceline_scenario::NodeNames;

/// Processes other than hosts; that of a host is its node's number after these.
const QUEUES: u64 = 1;
const PAUSES: u64 = 2;
const COLLECTIVES: u64 = 3;
const INCIDENTS: u64 = 4;
const HOSTS: u64 = 10;

/// Writes the timeline of a run.
pub(super) fn write(
    out: &mut impl Write,
    data: &RunData,
    spec: &RunSpec,
    outcome: &Outcome,
) -> io::Result<()> {
    out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut events = Events { out, first: true };
    for (process, name) in [
        (QUEUES, "queues"),
        (PAUSES, "pauses"),
        (COLLECTIVES, "collectives"),
        (INCIDENTS, "links and hosts"),
    ] {
        events.name("process_name", Track::new(process, 0), name)?;
    }
    flows(&mut events, data)?;
    collectives(&mut events, data)?;
    incidents(&mut events, data)?;
    pause_slices(&mut events, spec, outcome, &data.names)?;
    queues(&mut events, data)?;
    out.write_all(b"\n]}\n")
}

/// Row that names a process of the time line.
#[derive(Clone, Copy)]
struct Track {
    process: u64,
    row: usize,
}

impl Track {
    const fn new(process: u64, row: usize) -> Self {
        Self { process, row }
    }
}

struct Events<'a, W> {
    out: &'a mut W,
    first: bool,
}

impl<W: Write> Events<'_, W> {
    fn add(&mut self, event: &Value) -> io::Result<()> {
        let before: &[u8] = if std::mem::take(&mut self.first) {
            b"\n"
        } else {
            b",\n"
        };
        self.out.write_all(before)?;
        serde_json::to_writer(&mut *self.out, event)?;
        Ok(())
    }

    fn name(&mut self, what: &str, track: Track, name: &str) -> io::Result<()> {
        let Track { process, row } = track;
        self.add(&json!({ "ph": "M", "name": what, "pid": process, "tid": row, "args": { "name": name } }))
    }

    fn slice(&mut self, name: &str, track: Track, ps: Range<u64>, args: &Value) -> io::Result<()> {
        let Track { process, row } = track;
        let (at, duration) = (micros(ps.start), micros(ps.end.saturating_sub(ps.start)));
        self.add(&json!({
            "ph": "X", "name": name, "pid": process, "tid": row, "ts": at, "dur": duration, "args": args,
        }))
    }
}

fn micros(ps: u64) -> f64 {
    ps as f64 / 1e6
}

/// Rows of a process whose slices do not overlap, each as the end of its last slice.
#[derive(Default)]
struct Rows(Vec<u64>);

impl Rows {
    /// Returns the first row that is free at `from` and occupies it until `to`.
    fn take(&mut self, from: u64, to: u64) -> usize {
        let free = self.0.iter().position(|&busy| busy <= from);
        let row = free.unwrap_or(self.0.len());
        match free {
            Some(row) => self.0[row] = to,
            None => self.0.push(to),
        }
        row
    }
}

fn flows<W: Write>(events: &mut Events<'_, W>, data: &RunData) -> io::Result<()> {
    let end = data.end_ps();
    let started = |flow: &FlowRow<'_>| flow.start_ps <= end && flow.sent_bytes > 0;
    let mut flows: Vec<FlowRow<'_>> = data.flows.rows().filter(started).collect();
    // In the order of starts, since a row is taken when a flow starts and is free again after its end.
    flows.sort_by_key(|flow| (flow.src, flow.start_ps, flow.flow_id));
    for of_host in flows.chunk_by(|a, b| a.src == b.src) {
        let process = HOSTS + u64::from(of_host[0].src);
        events.name(
            "process_name",
            Track::new(process, 0),
            &format!("host {}", of_host[0].src),
        )?;
        let mut rows = Rows::default();
        for flow in of_host {
            let to = flow.end_ps().unwrap_or(end);
            let row = rows.take(flow.start_ps, to);
            let name = format!("flow {} to {}", flow.flow_id, flow.dst);
            let args = json!({
                "flow_id": flow.flow_id, "label": flow.label, "scheme": flow.scheme, "size_bytes": flow.size_bytes,
                "slowdown": flow.slowdown, "retransmitted_bytes": flow.retransmitted_bytes, "status": flow.status,
            });
            events.slice(&name, Track::new(process, row), flow.start_ps..to, &args)?;
        }
    }
    Ok(())
}

/// Writes iterations; those of a collective may overlap, since a host may start the next while others finish the last.
fn collectives<W: Write>(events: &mut Events<'_, W>, data: &RunData) -> io::Result<()> {
    let ps = |seconds: f64| (seconds * 1e12).round() as u64;
    let end = data.end_ps();
    // Collectives of traces are in a separate file.
    let listed = data.summary.collectives.iter().filter(|one| one.name.is_none());
    let listed = listed.filter_map(|one| {
        let args = json!({ "iteration": one.iteration, "busbw_gbps": one.busbw_gbps });
        let name = format!("{} {}", one.label, one.iteration);
        Some((ps(one.start_s?), one.end_s.map_or(end, ps), name, args))
    });
    let of_traces = data.tables.rows::<CollectiveRow>().iter().map(|one| {
        let args = json!({ "iteration": one.iteration, "group": one.group, "bytes": one.bytes });
        let name = format!("{}/{} {}", one.job, one.kind, one.name);
        (one.start_ps, one.end_ps.unwrap_or(end), name, args)
    });
    let mut all: Vec<_> = listed.chain(of_traces).collect();
    all.order_by_key(|(from, ..)| *from);
    let mut rows = Rows::default();
    for (from, to, name, args) in all {
        events.slice(
            &name,
            Track::new(COLLECTIVES, rows.take(from, to)),
            from..to,
            &args,
        )?;
    }
    Ok(())
}

/// Writes incidents of links and hosts.
fn incidents<W: Write>(events: &mut Events<'_, W>, data: &RunData) -> io::Result<()> {
    let end = data.end_ps();
    let mut rows = Rows::default();
    for one in &data.summary.incidents {
        let to = one.until_ps.unwrap_or(end).min(end);
        let name = format!("{}: {}", one.place, one.what);
        let row = rows.take(one.from_ps, to);
        events.slice(
            &name,
            Track::new(INCIDENTS, row),
            one.from_ps..to,
            &json!({ "ports": one.ports }),
        )?;
    }
    Ok(())
}

/// Writes a slice per pause, with the number of frames that requested it.
fn pause_slices<W: Write>(
    events: &mut Events<'_, W>,
    spec: &RunSpec,
    outcome: &Outcome,
    names: &NodeNames,
) -> io::Result<()> {
    let ports = ports_of(spec).into_iter();
    let ports: SortedMap<(u32, u32), u32> = ports
        .map(|(node, interface, peer, _)| ((node, interface), peer))
        .collect();
    let all = pauses(spec, &outcome.pfc, outcome.end.as_ps());
    for (row, ((node, interface, class), pauses)) in all.iter().enumerate() {
        let peer = ports.get(&(*node, *interface)).copied().unwrap_or(u32::MAX);
        let name = format!("{} class {class}", names.port(*node, *interface, peer));
        events.name("thread_name", Track::new(PAUSES, row), &name)?;
        for pause in pauses {
            let args = json!({ "frames": pause.frames });
            events.slice("paused", Track::new(PAUSES, row), pause.from..pause.until, &args)?;
        }
    }
    Ok(())
}

/// Writes a counter event wherever the value changes.
fn queues<W: Write>(events: &mut Events<'_, W>, data: &RunData) -> io::Result<()> {
    for series in data.series.iter().filter(|series| series.metric == QUEUE) {
        let mut last = None;
        for &(at, value) in &series.points {
            if last.replace(value) != Some(value) {
                events.add(&json!({
                    "ph": "C", "name": data.names.entity(&series.entity), "pid": QUEUES, "tid": 0, "ts": micros(at),
                    "args": { "bytes": value },
                }))?;
            }
        }
    }
    Ok(())
}

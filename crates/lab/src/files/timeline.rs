//! `timeline.pftrace`: a run for Perfetto (ui.perfetto.dev), as track events in its protobuf format.
//!
//! Ranks of jobs from a trace, hosts that send, collectives, ports and incidents of links and hosts are processes. A
//! flow is a slice in the first free row of its sender, an iteration of a collective in that of collectives, and an
//! operation in that of its rank. A pause is a slice in the row of the paused port. Arrows lead from a pause to the
//! flows that it stopped, and from a collective to its messages. Queues and rates are counters. Times are nanoseconds,
//! the resolution of Perfetto.
//!
//! Numbers of fields: `protos/perfetto/trace/track_event/*.proto` in Perfetto's sources.

use std::io::{self, Write};
use std::ops::Range;

use paceline_fabric::{Outcome, RunSpec};
use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;
use paceline_traces::wire::Message;

use super::flow_time::{PAUSED, Stage};
use super::series::{GOODPUT, QUEUE, RATE};
use super::{FlowTime, RunData};
use crate::results::{CollectiveRow, FlowRow, OperationRow, pauses, ports_of};

/// Processes other than hosts and ranks; that of a host is its node's number after these.
const QUEUES: u64 = 1;
const PAUSES: u64 = 2;
const COLLECTIVES: u64 = 3;
const INCIDENTS: u64 = 4;
const RATES: u64 = 5;
const HOSTS: u64 = 10;
/// Process of the first rank of the first job. Numbers of processes have 31 bits.
const RANKS: u64 = 1 << 30;

/// Kinds of track events.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// Largest number of arrows from one pause or collective; its slice says how many flows there are in all.
const ARROWS: usize = 64;

/// Writes the timeline of a run.
pub(super) fn write(
    out: &mut impl Write,
    data: &RunData,
    spec: &RunSpec,
    outcome: &Outcome,
) -> io::Result<()> {
    let mut events = Events {
        out,
        first: true,
        named: 0,
        arrows: 0,
    };
    let flows = flows_by_host(data);
    let mut targets = SortedMap::new();
    collectives(&mut events, data, &flows, &mut targets)?;
    pause_slices(&mut events, spec, outcome, &flows, &mut targets, data)?;
    flow_slices(&mut events, data, &flows, &targets)?;
    operations(&mut events, data)?;
    incidents(&mut events, data)?;
    counters(&mut events, data)
}

/// Row of a process.
#[derive(Clone, Copy)]
struct Track {
    process: u64,
    row: usize,
}

impl Track {
    const fn new(process: u64, row: usize) -> Self {
        Self { process, row }
    }

    /// Returns the identifier of the row, which no process has.
    const fn id(self) -> u64 {
        self.process << 32 | (self.row as u64 + 1)
    }
}

/// Arrow that ends at a flow: the time, the text of its end, and its identifier.
type Arrow = (u64, String, u64);

/// Ends of arrows at each flow.
type Targets = SortedMap<u32, Vec<Arrow>>;

/// Properties of a slice that a click shows.
#[derive(Default)]
struct Notes(Message);

impl Notes {
    fn number(self, name: &str, value: u64) -> Self {
        self.add(name, |note| note.number(3, value))
    }

    fn real(self, name: &str, value: Option<f64>) -> Self {
        match value {
            Some(value) => self.add(name, |note| note.fixed(5, value.to_bits())),
            None => self,
        }
    }

    fn text(self, name: &str, value: &str) -> Self {
        self.add(name, |note| note.text(6, value))
    }

    fn add(self, name: &str, value: impl Fn(Message) -> Message) -> Self {
        let note = value(Message::new().text(10, name));
        Self(self.0.message(4, &note))
    }
}

struct Events<'a, W> {
    out: &'a mut W,
    first: bool,
    /// Process that was named last; all events of a process come one after another.
    named: u64,
    /// Number of arrows so far, and so the identifier of the last.
    arrows: u64,
}

impl<W: Write> Events<'_, W> {
    fn packet(&mut self, packet: Message) -> io::Result<()> {
        // One sequence, whose first packet says that nothing came before.
        let mut packet = packet.number(10, 1);
        if std::mem::take(&mut self.first) {
            packet = packet.number(13, 1);
        }
        self.out.write_all(Message::new().message(1, &packet).bytes())
    }

    fn process(&mut self, process: u64, name: &str) -> io::Result<()> {
        if std::mem::replace(&mut self.named, process) == process {
            return Ok(());
        }
        let described = Message::new().number(1, process).text(6, name);
        self.packet(Message::new().message(60, &Message::new().number(1, process).message(3, &described)))
    }

    /// Describes a row; `counter` is the unit of one whose values are drawn as a curve.
    fn row(&mut self, track: Track, name: &str, counter: Option<&str>) -> io::Result<()> {
        let mut row = Message::new()
            .number(1, track.id())
            .text(2, name)
            .number(5, track.process);
        if let Some(unit) = counter {
            row = row.message(8, &Message::new().text(6, unit));
        }
        self.packet(Message::new().message(60, &row))
    }

    fn event(&mut self, ps: u64, kind: u64, track: Track, more: Message) -> io::Result<()> {
        let event = more.number(9, kind).number(11, track.id());
        self.packet(Message::new().number(8, nanos(ps)).message(11, &event))
    }

    fn slice(&mut self, name: &str, track: Track, ps: Range<u64>, notes: Notes) -> io::Result<()> {
        self.begin(name, track, ps.start, notes)?;
        self.end(track, ps.end)
    }

    fn begin(&mut self, name: &str, track: Track, ps: u64, notes: Notes) -> io::Result<()> {
        self.event(ps, BEGIN, track, notes.0.text(23, name))
    }

    fn end(&mut self, track: Track, ps: u64) -> io::Result<()> {
        self.event(ps, END, track, Message::new())
    }

    /// Writes a slice with arrows to flows; the arrow to a flow ends at a time within the flow.
    fn slice_to(
        &mut self,
        name: &str,
        track: Track,
        ps: Range<u64>,
        notes: Notes,
        flows: impl Iterator<Item = (u32, u64)>,
        targets: &mut Targets,
    ) -> io::Result<()> {
        let mut notes = notes;
        let mut count = 0;
        for (flow, at) in flows {
            count += 1;
            if count <= ARROWS {
                self.arrows += 1;
                notes.0 = notes.0.fixed(47, self.arrows);
                targets
                    .entry(flow)
                    .or_default()
                    .push((at, name.to_string(), self.arrows));
            }
        }
        self.slice(name, track, ps, notes.number("flows", count as u64))
    }
}

/// Returns a time of Perfetto.
fn nanos(ps: u64) -> u64 {
    (ps + 500) / 1000
}

/// Rows of a process whose slices do not overlap, each as the end of its last slice.
#[derive(Default)]
struct Rows(Vec<u64>);

impl Rows {
    /// Returns the first row that is free at `from` and occupies it until `to`; and true if it is new.
    fn take(&mut self, from: u64, to: u64) -> (usize, bool) {
        let free = self.0.iter().position(|&busy| busy <= from);
        match free {
            Some(row) => self.0[row] = to,
            None => self.0.push(to),
        }
        (free.unwrap_or(self.0.len() - 1), free.is_none())
    }
}

/// Returns the flows that have sent, by host and in the order of starts: a row is taken when a flow starts and is free
/// again after its end.
fn flows_by_host(data: &RunData) -> Vec<FlowRow<'_>> {
    let end = data.end_ps();
    let started = |flow: &FlowRow<'_>| flow.start_ps <= end && flow.sent_bytes > 0;
    let mut flows: Vec<FlowRow<'_>> = data.flows.rows().filter(started).collect();
    flows.sort_by_key(|flow| (flow.src, flow.start_ps, flow.flow_id));
    flows
}

fn flow_slices<W: Write>(
    events: &mut Events<'_, W>,
    data: &RunData,
    flows: &[FlowRow<'_>],
    targets: &Targets,
) -> io::Result<()> {
    let end = data.end_ps();
    for of_host in flows.chunk_by(|a, b| a.src == b.src) {
        let process = HOSTS + u64::from(of_host[0].src);
        events.process(process, &format!("host {}", of_host[0].src))?;
        let mut rows = Rows::default();
        for flow in of_host {
            let to = flow.end_ps().unwrap_or(end);
            let (row, is_new) = rows.take(flow.start_ps, to);
            let track = Track::new(process, row);
            if is_new {
                events.row(track, "flows", None)?;
            }
            let name = format!("flow {} to {}", flow.flow_id, flow.dst);
            let notes = Notes::default()
                .number("flow_id", flow.flow_id.into())
                .text("label", &flow.label)
                .text("scheme", &flow.scheme)
                .number("size_bytes", flow.size_bytes)
                .real("slowdown", flow.slowdown)
                .number("retransmitted_bytes", flow.retransmitted_bytes)
                .text("status", flow.status.name());
            events.begin(&name, track, flow.start_ps, notes)?;
            let mut arrows = targets.get(&flow.flow_id).cloned().unwrap_or_default();
            arrows.order_by_key(|(at, ..)| *at);
            for (at, name, arrow) in arrows {
                events.event(
                    at,
                    INSTANT,
                    track,
                    Message::new().text(23, &name).fixed(48, arrow),
                )?;
            }
            events.end(track, to)?;
        }
    }
    Ok(())
}

/// Writes iterations; those of a collective may overlap, since a host may start the next while others finish the last.
fn collectives<W: Write>(
    events: &mut Events<'_, W>,
    data: &RunData,
    flows: &[FlowRow<'_>],
    targets: &mut Targets,
) -> io::Result<()> {
    let ps = |seconds: f64| (seconds * 1e12).round() as u64;
    let end = data.end_ps();
    // Collectives of traces are in a separate file.
    let listed = data.summary.collectives.iter().filter(|one| one.name.is_none());
    let listed = listed.filter_map(|one| {
        let notes = Notes::default()
            .number("iteration", one.iteration as u64)
            .real("busbw_gbps", one.busbw_gbps);
        let name = format!("{} {}", one.label, one.iteration);
        Some((
            ps(one.start_s?),
            one.end_s.map_or(end, ps),
            name,
            notes,
            Some(one.label.as_str()),
        ))
    });
    let of_traces = data.tables.rows::<CollectiveRow>().iter().map(|one| {
        let notes = Notes::default()
            .number("iteration", one.iteration.into())
            .number("group", one.group.into())
            .number("bytes", one.bytes);
        let name = format!("{}/{} {}", one.job, one.kind, one.name);
        (one.start_ps, one.end_ps.unwrap_or(end), name, notes, None)
    });
    let mut all: Vec<_> = listed.chain(of_traces).collect();
    if all.is_empty() {
        return Ok(());
    }
    events.process(COLLECTIVES, "collectives")?;
    all.order_by_key(|(from, ..)| *from);
    let mut of_label: SortedMap<&str, Vec<&FlowRow<'_>>> = SortedMap::new();
    for flow in flows {
        of_label.entry(&flow.label).or_default().push(flow);
    }
    of_label
        .values_mut()
        .for_each(|flows| flows.order_by_key(|flow| (flow.start_ps, flow.flow_id)));
    let mut rows = Rows::default();
    for (from, to, name, notes, label) in all {
        let (row, is_new) = rows.take(from, to);
        let track = Track::new(COLLECTIVES, row);
        if is_new {
            events.row(track, "collectives", None)?;
        }
        let flows = label
            .and_then(|label| of_label.get(label))
            .map_or(&[][..], Vec::as_slice);
        let first = flows.partition_point(|flow| flow.start_ps < from);
        let within = flows[first..]
            .iter()
            .take_while(|flow| flow.start_ps < to.max(from + 1));
        events.slice_to(
            &name,
            track,
            from..to,
            notes,
            within.map(|flow| (flow.flow_id, flow.start_ps)),
            targets,
        )?;
    }
    Ok(())
}

/// Writes operations of jobs from traces, a process per rank.
fn operations<W: Write>(events: &mut Events<'_, W>, data: &RunData) -> io::Result<()> {
    let mut all: Vec<&OperationRow> = data.tables.rows::<OperationRow>().iter().collect();
    all.order_by_key(|one| (one.job.clone(), one.rank, one.start_ps, one.end_ps));
    let ranks = all.chunk_by(|a, b| (&a.job, a.rank) == (&b.job, b.rank));
    for (of_rank, process) in ranks.zip(RANKS..) {
        events.process(process, &format!("{} rank {}", of_rank[0].job, of_rank[0].rank))?;
        let mut rows = Rows::default();
        for one in of_rank {
            let (row, is_new) = rows.take(one.start_ps, one.end_ps);
            let track = Track::new(process, row);
            if is_new {
                events.row(track, "operations", None)?;
            }
            let notes = Notes::default()
                .text("kind", &one.kind)
                .number("iteration", one.iteration.into())
                .text("began_by", &one.began_by)
                .text("after", &one.after);
            events.slice(&one.name, track, one.start_ps..one.end_ps, notes)?;
        }
    }
    Ok(())
}

/// Writes incidents of links and hosts.
fn incidents<W: Write>(events: &mut Events<'_, W>, data: &RunData) -> io::Result<()> {
    let end = data.end_ps();
    let mut rows = Rows::default();
    for one in &data.summary.incidents {
        events.process(INCIDENTS, "links and hosts")?;
        let to = one.until_ps.unwrap_or(end).min(end);
        let name = format!("{}: {}", one.place, one.what);
        let (row, is_new) = rows.take(one.from_ps, to);
        let track = Track::new(INCIDENTS, row);
        if is_new {
            events.row(track, "incidents", None)?;
        }
        let notes = Notes::default().text("ports", &one.ports.join(", "));
        events.slice(&name, track, one.from_ps..to, notes)?;
    }
    Ok(())
}

/// Writes a slice per pause, with the number of frames that requested it, and arrows to the flows that it stopped:
/// those whose packets waited there for a pause, and that were active.
fn pause_slices<W: Write>(
    events: &mut Events<'_, W>,
    spec: &RunSpec,
    outcome: &Outcome,
    flows: &[FlowRow<'_>],
    targets: &mut Targets,
    data: &RunData,
) -> io::Result<()> {
    let end = data.end_ps();
    let mut known: SortedMap<u32, &FlowRow<'_>> = SortedMap::new();
    known.extend(flows.iter().map(|flow| (flow.flow_id, flow)));
    // By node, interface and class; that of a sender is its own first port.
    let mut stopped: SortedMap<(u32, u32, u8), Vec<&FlowRow<'_>>> = SortedMap::new();
    for time in data
        .tables
        .rows::<FlowTime>()
        .iter()
        .filter(|time| time.part == PAUSED)
    {
        let Some(&flow) = known.get(&time.flow_id) else {
            continue;
        };
        let port = match time.stage {
            Stage::Sender => interface_of(spec, flow.src),
            _ => port_of(&time.port),
        };
        if let Some((node, interface)) = port {
            let flows = stopped.entry((node, interface, flow.priority)).or_default();
            if flows.last().is_none_or(|last| last.flow_id != flow.flow_id) {
                flows.push(flow);
            }
        }
    }
    let ports = ports_of(spec).into_iter();
    let peers: SortedMap<(u32, u32), u32> = ports
        .map(|(node, interface, peer, _)| ((node, interface), peer))
        .collect();
    let all = pauses(spec, &outcome.pfc, outcome.end.as_ps());
    for (row, ((node, interface, class), pauses)) in all.iter().enumerate() {
        events.process(PAUSES, "pauses")?;
        let track = Track::new(PAUSES, row);
        let peer = peers.get(&(*node, *interface)).copied().unwrap_or(u32::MAX);
        let port = data.names.port(*node, *interface, peer);
        events.row(track, &format!("{port} class {class}"), None)?;
        let name = format!("paused: {port}");
        let here = stopped
            .get(&(*node, *interface, *class))
            .map_or(&[][..], Vec::as_slice);
        for pause in pauses {
            let active = here
                .iter()
                .filter(|flow| flow.start_ps < pause.until && flow.end_ps().unwrap_or(end) > pause.from);
            events.slice_to(
                &name,
                track,
                pause.from..pause.until,
                Notes::default().number("frames", pause.frames),
                active.map(|flow| (flow.flow_id, flow.start_ps.max(pause.from))),
                targets,
            )?;
        }
    }
    Ok(())
}

/// Returns the port of a host with one link; a sender's time does not say which port was paused.
fn interface_of(spec: &RunSpec, host: u32) -> Option<(u32, u32)> {
    let mut links = spec
        .links
        .iter()
        .filter(|link| link.a.0 == host || link.b.0 == host);
    (links.next().is_some() && links.next().is_none()).then_some((host, 1))
}

/// Returns the node and interface of a port: `20.3->17`.
fn port_of(name: &str) -> Option<(u32, u32)> {
    let (port, _) = name.split_once("->")?;
    let (node, interface) = port.split_once('.')?;
    Some((node.parse().ok()?, interface.parse().ok()?))
}

/// Writes a counter wherever the value of a queue or rate changes.
fn counters<W: Write>(events: &mut Events<'_, W>, data: &RunData) -> io::Result<()> {
    for (process, name, metrics) in [
        (QUEUES, "queues", &[(QUEUE, "", "bytes")][..]),
        (
            RATES,
            "rates",
            &[(RATE, " allowed", "bit/s"), (GOODPUT, " acknowledged", "bit/s")],
        ),
    ] {
        let mut row = 0;
        for &(metric, suffix, unit) in metrics {
            for series in data.series.iter().filter(|series| series.metric == metric) {
                events.process(process, name)?;
                let track = Track::new(process, row);
                row += 1;
                events.row(
                    track,
                    &format!("{}{suffix}", data.names.entity(&series.entity)),
                    Some(unit),
                )?;
                let mut last = None;
                for &(at, value) in &series.points {
                    if last.replace(value) != Some(value) {
                        events.event(at, COUNTER, track, Message::new().fixed(44, value.to_bits()))?;
                    }
                }
            }
        }
    }
    Ok(())
}

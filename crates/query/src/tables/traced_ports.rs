//! Queues and transmissions of traced ports, derived from packet events.

use paceline_kernel::sorted::SortedMap;
use paceline_lab::files::columns::Values;

use super::trace;
use crate::source::Source;
use crate::table::{Filled, Part, Rows, Table, int, ints, real, reals, text, whole, words};

pub(super) const QUEUE: Table = Table {
    name: "port_queue",
    about: "a packet that enters or leaves the queue of a traced port, in order of time",
    needs: "record.trace",
    columns: &[
        int("time_ps", "when"),
        int("node", "the port's node"),
        int("port", "its interface, from 1 in the order of links"),
        int("peer", "the node at the other end"),
        text("event", "enqueue or dequeue"),
        int(
            "queue_bytes",
            "bytes in the port's queues of all classes from then on",
        ),
    ],
    rows: Rows::Made(|run, first| {
        if first > 0 {
            return Ok(Part::default());
        }
        let ports = Ports::of(run);
        let mut classes: SortedMap<(i64, i64), [i64; CLASSES]> = SortedMap::new();
        let mut rows = Vec::new();
        each(run, &mut |event| {
            let Some((peer, _)) = ports.get(event) else { return };
            let held = classes.entry((event.node, event.port)).or_insert([0; CLASSES]);
            if let Some(class) = held.get_mut(event.class) {
                *class = event.queue;
            }
            rows.push((
                event.time,
                event.node,
                event.port,
                peer,
                event.enters,
                held.iter().sum::<i64>(),
            ));
        })?;
        let number = |value: i64| u64::try_from(value).ok();
        Ok(whole(first, || {
            vec![
                ints(&rows, |row| number(row.0)),
                ints(&rows, |row| number(row.1)),
                ints(&rows, |row| number(row.2)),
                ints(&rows, |row| Some(row.3.into())),
                words(&rows, |row| if row.4 { "enqueue" } else { "dequeue" }),
                ints(&rows, |row| number(row.5)),
            ]
        }))
    }),
};

pub(super) const SENT: Table = Table {
    name: "port_sent",
    about: "a data packet that a traced port sent, in order of time",
    needs: "record.trace",
    columns: &[
        real(
            "start_ns",
            "when its transmission started, in ns: no earlier than the end of the one before",
        ),
        real("takes_ns", "how long it took"),
        int("node", "the port's node"),
        int("port", "its interface, from 1 in the order of links"),
        int("peer", "the node at the other end"),
        int("flow_id", "the flow"),
        int("wire_bytes", "bytes on the wire"),
        int("ecn", "mark: 0 none, 2 undetermined, 3 congested"),
    ],
    rows: Rows::Made(|run, first| {
        if first > 0 {
            return Ok(Part::default());
        }
        let ports = Ports::of(run);
        let mut free: SortedMap<(i64, i64), f64> = SortedMap::new();
        let mut rows = Vec::new();
        each(run, &mut |event| {
            let Some((peer, gbps)) = ports.get(event) else {
                return;
            };
            if event.enters || !event.data {
                return;
            }
            // A packet may leave the queue while the previous one is on the wire, because a device FIFO follows the
            // queue.
            let free = free.entry((event.node, event.port)).or_insert(0.0);
            let start = f64::max(event.time as f64 / 1e3, *free);
            let takes = event.wire as f64 * 8.0 / gbps;
            *free = start + takes;
            rows.push((start, takes, *event, peer));
        })?;
        let number = |value: i64| u64::try_from(value).ok();
        Ok(whole(first, || {
            vec![
                reals(&rows, |row| Some(row.0)),
                reals(&rows, |row| Some(row.1)),
                ints(&rows, |row| number(row.2.node)),
                ints(&rows, |row| number(row.2.port)),
                ints(&rows, |row| Some(row.3.into())),
                ints(&rows, |row| row.2.flow.and_then(number)),
                ints(&rows, |row| number(row.2.wire)),
                ints(&rows, |row| number(row.2.ecn)),
            ]
        }))
    }),
};

/// Number of priority classes of a port.
const CLASSES: usize = 8;

/// A packet's arrival in a queue, or its departure.
#[derive(Clone, Copy)]
struct Event {
    time: i64,
    node: i64,
    port: i64,
    enters: bool,
    data: bool,
    flow: Option<i64>,
    wire: i64,
    class: usize,
    ecn: i64,
    queue: i64,
}

/// Peer node and rate in Gbit/s, by node and interface.
struct Ports(SortedMap<(i64, i64), (u32, f64)>);

impl Ports {
    fn of(run: &Source) -> Self {
        let mut counts: SortedMap<u32, i64> = SortedMap::new();
        let mut all = SortedMap::new();
        for link in run.topology.iter().flat_map(|topology| &topology.links) {
            for (node, peer) in [(link.a.0, link.b.0), (link.b.0, link.a.0)] {
                let count = counts.entry(node).or_default();
                *count += 1;
                all.insert((node.into(), *count), (peer, link.rate.as_gbps_f64()));
            }
        }
        Self(all)
    }

    fn get(&self, event: &Event) -> Option<(u32, f64)> {
        self.0.get(&(event.node, event.port)).copied()
    }
}

/// Calls `take` for each enqueue and dequeue event of the table `trace`.
fn each(run: &Source, take: &mut dyn FnMut(&Event)) -> Result<(), String> {
    let mut first = 0;
    loop {
        let part = trace::TRACE.part(run, first)?;
        if part.rows == 0 {
            return Ok(());
        }
        let column = |name: &str| {
            let index = trace::TRACE.columns.iter().position(|column| column.name == name);
            &part.columns[index.expect("a column of the table")]
        };
        let int = |column: &Filled, row: usize| match &column.values {
            Values::Int(values) => values[row],
            _ => None,
        };
        let word = |column: &'_ Filled, row: usize, is: &str| match &column.values {
            Values::Text(values) => values[row].as_deref() == Some(is),
            _ => false,
        };
        let [time, node, port, flow] = ["time_ps", "node", "port", "flow_id"].map(column);
        let [wire, class, ecn, queue] = ["wire_bytes", "priority", "ecn", "queue_bytes"].map(column);
        let [event, packet] = ["event", "packet"].map(column);
        for row in 0..part.rows {
            let enters = word(event, row, "enqueue");
            if enters || word(event, row, "dequeue") {
                let number = |column| int(column, row).unwrap_or_default();
                take(&Event {
                    time: number(time),
                    node: number(node),
                    port: number(port),
                    enters,
                    data: word(packet, row, "data"),
                    flow: int(flow, row),
                    wire: number(wire),
                    // A class beyond all known ones, which no port has.
                    class: usize::try_from(number(class)).unwrap_or(usize::MAX),
                    ecn: number(ecn),
                    queue: number(queue),
                });
            }
        }
        first += part.rows;
    }
}

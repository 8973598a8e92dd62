//! The run as a whole, and its links.

use paceline_fabric::spec::NodeKind;
use paceline_kernel::Bytes;
use paceline_kernel::order::Sort as _;

use paceline_lab::files::columns::Values;

use crate::source::Source;
use crate::table::{Column, Filled, Part, Rows, Table, int, ints, paths, real, text, whole, words};

pub(super) const RUN: Table = Table {
    name: "run",
    about: "the run",
    needs: "",
    columns: &[
        int("end_ps", "when it ended"),
        int("flows", "how many flows it has"),
        int("mtu_bytes", "payload of a full packet"),
        int("data_header_bytes", "plain headers of a data packet"),
        int("ack_bytes", "an acknowledgement with plain headers"),
    ],
    rows: Rows::Made(|run, first| {
        let [mtu, header, ack, least] = sizes(run);
        let ack = ack.zip(least).map(|(ack, least)| ack.max(least));
        let end = run
            .outcome()
            .map_or_else(|| run.end_ps(), |outcome| outcome.end.as_ps());
        let flows = run.flows().len() as u64;
        let values = [Some(end), Some(flows), mtu, header, ack];
        Ok(whole(first, || {
            values.iter().map(|&value| ints(&[()], |()| value)).collect()
        }))
    }),
};

/// Returns packet sizes, bytes: payload, data header, ACK header, and minimum ACK.
fn sizes(run: &Source) -> [Option<u64>; 4] {
    if let Some(ended) = run.ended() {
        let packet = &ended.input.run.packet;
        return [packet.mtu, packet.data_header, packet.ack_header, packet.ack_min]
            .map(|one| Some(one.get()));
    }
    let table: toml::Table = run.scenario.parse().unwrap_or_default();
    ["mtu", "data-header", "ack-header", "ack-min"].map(|key| {
        let written = table.get("network")?.get(key)?.as_str()?;
        Some(written.parse::<Bytes>().ok()?.get())
    })
}

pub(super) const COUNTERS: Table = Table {
    name: "counters",
    about: "all totals of the run",
    needs: "",
    columns: &[
        int("events", "events executed"),
        int("data_hops", "transmissions of data packets over a link"),
        int("ack_hops", "transmissions of ACKs and NACKs"),
        int(
            "control_hops",
            "transmissions of PFC frames, CNPs and switches' notices",
        ),
        int(
            "control_bytes",
            "bytes of all packets other than data, summed over links",
        ),
        int("data_received", "data packets that reached their receiver"),
        int("buffer_drops", "packets dropped in switches for lack of buffer"),
        int(
            "lossless_drops",
            "of these, packets of classes under flow control",
        ),
        int(
            "watchdog_drops",
            "of these, packets that the PFC watchdog dropped",
        ),
        int(
            "trimmed",
            "data packets of which switches dropped only the payload, not among the drops",
        ),
        int("link_drops", "packets lost on links or without a route"),
        int("marked", "data packets marked as congested, each counted once"),
        int(
            "undetermined",
            "data packets marked as undetermined where they had no mark",
        ),
        int("notifications", "congestion notifications that reached a sender"),
        int(
            "notices",
            "packets that switches sent to senders about congestion",
        ),
        int(
            "grants",
            "packets by which receivers granted what senders may send",
        ),
        int("nacks", "negative acknowledgements sent"),
        int("timeouts", "retransmission timeouts"),
        int("pauses", "pauses of a (port, class) that began"),
        int(
            "pause_frames",
            "PFC pause frames received: those that begin a pause and those that renew one",
        ),
        int("resume_frames", "PFC resume frames received"),
        int(
            "paused_ps",
            "picoseconds that (port, class) pairs spent paused, summed",
        ),
        int("retransmitted_bytes", "payload bytes sent more than once"),
    ],
    rows: Rows::Made(|run, first| {
        let all = serde_json::to_value(run.summary().counters).map_err(|error| error.to_string())?;
        let value = |column: &Column| Values::Int(vec![all[column.name].as_i64()]);
        let columns = COUNTERS.columns.iter();
        Ok(whole(first, || {
            columns
                .map(|column| Filled::new(column.name, value(column)))
                .collect()
        }))
    }),
};

pub(super) const SETTINGS: Table = Table {
    name: "settings",
    about: "a key of the run's scenario.toml, where every default has its value",
    needs: "",
    columns: &[
        text("name", "its path, such as network.mtu"),
        real("value", "the value, if it is a number; 1 or 0 for true or false"),
        text("text", "the value, if it is a text, such as a size or a time"),
    ],
    rows: Rows::Made(|run, first| {
        if first > 0 {
            return Ok(Part::default());
        }
        let scenario = run
            .ended()
            .map_or_else(|| &*run.scenario, |ended| &*ended.input.toml);
        let table: toml::Table = scenario
            .parse()
            .map_err(|error: toml::de::Error| error.to_string())?;
        let all = serde_json::to_value(&table).map_err(|error| error.to_string())?;
        Ok(paths(&all))
    }),
};

pub(super) const LINKS: Table = Table {
    name: "links",
    about: "a port, in the order of nodes",
    needs: "",
    columns: &[
        int("node", "the node"),
        int("port", "its interface, from 1 in the order of links"),
        int("peer", "the node at the other end"),
        int("link", "the link's place among all, from 0"),
        int("rate_bps", "rate"),
        int("delay_ps", "propagation delay"),
        text("kind", "what the node is: host or switch"),
    ],
    rows: Rows::Made(|run, first| {
        let Some(topology) = &run.topology else {
            return Ok(Part::default());
        };
        let all = topology.links.iter().enumerate();
        let ends = all.flat_map(|(place, link)| {
            [
                (link.a.0, link.b.0, place, link),
                (link.b.0, link.a.0, place, link),
            ]
        });
        let mut ports: Vec<_> = ends.collect();
        ports.order_by_key(|&(node, _, place, _)| (node, place));
        let mut numbers = Vec::new();
        for (place, port) in ports.iter().enumerate() {
            let before = place
                .checked_sub(1)
                .map(|before| (ports[before].0, numbers[before]));
            let number = before
                .filter(|(node, _)| *node == port.0)
                .map_or(1, |(_, number)| number + 1);
            numbers.push(number);
        }
        let is_host = |node: u32| topology.nodes.get(node as usize) == Some(&NodeKind::Host);
        Ok(whole(first, || {
            vec![
                ints(&ports, |port| Some(port.0.into())),
                ints(&numbers, |&number| Some(number)),
                ints(&ports, |port| Some(port.1.into())),
                ints(&ports, |port| Some(port.2 as u64)),
                ints(&ports, |port| Some(port.3.rate.as_bps())),
                ints(&ports, |port| Some(port.3.delay.as_ps())),
                words(&ports, |port| if is_host(port.0) { "host" } else { "switch" }),
            ]
        }))
    }),
};

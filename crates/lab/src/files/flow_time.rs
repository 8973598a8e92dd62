//! `flow_time.csv`: where the time of flows went, part by part.

use std::io::{self, Write};
use std::path::Path;

use paceline_fabric::account::{FlowAccount, HopTime};
use paceline_fabric::outcome::{Outcome, PortRef};
use paceline_fabric::spec::RunSpec;
use serde::{Deserialize, Serialize};

use super::lines::Lines;
use crate::text::port_name;

/// Whose time a part is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// From the start of the flow until the packet began to leave whose acknowledgement was the
    /// last; of a flow that did not complete, until the end of the run.
    Sender,
    /// That packet's way.
    Data,
    /// That packet in the receiver's host.
    Host,
    /// That acknowledgement's way back.
    Ack,
}

/// A row of `flow_time.csv`; the fields are its columns.
///
/// The `time_ps` of a completed flow's rows sum to its completion time. In rows of the way, the
/// last three fields are about all of the flow's packets that left the port (in stage `ack`, all of its
/// acknowledgements); so ports that only other packets took have rows with a `time_ps` of 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowTime {
    /// The flow.
    pub flow_id: u32,
    /// Whose time.
    pub stage: Stage,
    /// The egress port, as series name it (`port N.I->P`); empty in stages `sender` and `host`.
    pub port: String,
    /// Which part. Of the sender: `sending`, `resending`, `window`, `pacing`, `grants`, `paused`,
    /// `nic`, `recovery`, `unreachable`. Of the way: `serialisation`, `propagation`, `queueing`, `paused`. Of the
    /// receiver's host: `processing`. Under credits, `credit` instead of `paused`.
    pub part: String,
    /// How long, in ps.
    pub time_ps: u64,
    /// Packets that left the port, or that the host received.
    pub packets: Option<u64>,
    /// The part's mean over them, in ps; `None` for serialisation and propagation.
    pub mean_ps: Option<f64>,
    /// The longest, in ps.
    pub max_ps: Option<u64>,
}

const COLUMNS: [&str; 8] = [
    "flow_id", "stage", "port", "part", "time_ps", "packets", "mean_ps", "max_ps",
];

/// The rows of a run, in the order of flows, and of the way in its order. Parts that are zero in
/// all respects have none.
pub fn flow_times(run: &RunSpec, outcome: &Outcome) -> Vec<FlowTime> {
    let mut all: Vec<FlowTime> = outcome.accounts.iter().flat_map(rows).collect();
    if run.is_under_credits() {
        // Nobody pauses there: who is held back waits for credit.
        let held_back = all.iter_mut().filter(|row| row.part == PAUSED);
        held_back.for_each(|row| row.part = CREDIT.to_string());
    }
    all
}

/// What a part is called that is held back by flow control: by pauses, or for want of credits.
pub const PAUSED: &str = "paused";
/// See [`PAUSED`].
pub const CREDIT: &str = "credit";

/// The rows of one flow.
fn rows(account: &FlowAccount) -> Vec<FlowTime> {
    let mut rows: Vec<FlowTime> = account
        .sender
        .parts()
        .iter()
        .filter(|(_, span)| span.as_ps() > 0)
        .map(|&(part, span)| FlowTime {
            flow_id: account.flow,
            stage: Stage::Sender,
            port: String::new(),
            part: part.to_string(),
            time_ps: span.as_ps(),
            packets: None,
            mean_ps: None,
            max_ps: None,
        })
        .collect();
    way_rows(account, Stage::Data, &account.data, &mut rows);
    let host = &account.host;
    if host.total.as_ps() > 0 {
        rows.push(FlowTime {
            flow_id: account.flow,
            stage: Stage::Host,
            port: String::new(),
            part: "processing".to_string(),
            time_ps: host.time.as_ps(),
            packets: Some(host.packets),
            mean_ps: Some(host.total.as_ps() as f64 / host.packets as f64),
            max_ps: Some(host.max.as_ps()),
        });
    }
    way_rows(account, Stage::Ack, &account.ack, &mut rows);
    rows
}

fn way_rows(account: &FlowAccount, stage: Stage, way: &[HopTime], rows: &mut Vec<FlowTime>) {
    let back = stage == Stage::Ack;
    let mut ports: Vec<PortRef> = Vec::new();
    let others = account
        .hops
        .iter()
        .filter(|hop| hop.back == back)
        .map(|hop| hop.port);
    for port in way.iter().map(|hop| hop.port).chain(others) {
        if !ports.contains(&port) {
            ports.push(port);
        }
    }
    for port in ports {
        let name = port_name(&port);
        let all = account
            .hops
            .iter()
            .find(|hop| hop.back == back && hop.port == port);
        // A packet that turned back after a failure may have left one port twice.
        let sum = |i: usize| -> u64 {
            let hops = way.iter().filter(|hop| hop.port == port);
            hops.map(|hop| hop.parts()[i].1.as_ps()).sum()
        };
        for (i, part) in ["serialisation", "propagation", "queueing", PAUSED]
            .into_iter()
            .enumerate()
        {
            let over_all = all.and_then(|all| match part {
                "queueing" => Some((all.queueing, all.queueing_max)),
                PAUSED => Some((all.paused, all.paused_max)),
                _ => None,
            });
            let packets = all.map(|all| all.packets);
            let row = FlowTime {
                flow_id: account.flow,
                stage,
                port: name.clone(),
                part: part.to_string(),
                time_ps: sum(i),
                packets,
                mean_ps: over_all.map(|(total, _)| total.as_ps() as f64 / packets.unwrap_or(1).max(1) as f64),
                max_ps: over_all.map(|(_, max)| max.as_ps()),
            };
            if row.time_ps > 0 || row.max_ps.is_some_and(|max| max > 0) {
                rows.push(row);
            }
        }
    }
}

/// Writes the rows; a header alone when there are none.
pub(crate) fn write(out: &mut impl Write, rows: &[FlowTime]) -> io::Result<()> {
    let mut csv = csv::WriterBuilder::new().has_headers(false).from_writer(out);
    csv.write_record(COLUMNS).map_err(io::Error::from)?;
    for row in rows {
        csv.serialize(row).map_err(io::Error::from)?;
    }
    csv.flush()
}

/// The rows of a file that [`write()`] wrote.
pub(crate) fn read(path: &Path) -> Result<Vec<FlowTime>, String> {
    let file = paceline_scenario::open_file(path).map_err(|error| error.to_string())?;
    let mut csv = csv::Reader::from_reader(Lines::of(file));
    let mut sum = 0u64;
    let row = |row: Result<FlowTime, csv::Error>| {
        let row = row.map_err(|error| error.to_string())?;
        let more = sum.checked_add(row.time_ps);
        sum = more.ok_or_else(|| format!("the times sum to more than {} ps", u64::MAX))?;
        Ok(row)
    };
    csv.deserialize().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn flow_time_csv() {
        let (input, outcome) = sample::incast();
        let rows = flow_times(&input.run, &outcome);
        let mut file = Vec::new();
        write(&mut file, &rows).unwrap();
        insta::assert_snapshot!("flow_time_csv", String::from_utf8(file.clone()).unwrap());
        let sum: u64 = rows.iter().map(|row| row.time_ps).sum();
        assert_eq!(sum, outcome.flows[0].fct.as_ps());
        let tmp = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(tmp.path(), &file).unwrap();
        assert_eq!(read(tmp.path()).unwrap(), rows);
        std::fs::write(tmp.path(), "flow_id,stage\n0,sideways\n").unwrap();
        let error = read(tmp.path()).unwrap_err();
        assert!(error.contains("line: 2") && error.contains("sideways"), "{error}");
    }
}

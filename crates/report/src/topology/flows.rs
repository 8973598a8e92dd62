//! Flows that the topology view lists: the slowest ones, and a selection of the others.

use std::borrow::Cow;
use std::cmp::Ordering;

use paceline_kernel::sorted::{SortedMap, SortedSet};
use serde::Serialize;

use paceline_lab::files::RunData;
use paceline_lab::files::{FlowTime, Stage};
use paceline_lab::results::{FlowRow, FlowRows, FlowState};

/// Number of the slowest flows that are listed.
const SLOWEST: usize = 1_000;
/// Number of other flows that are listed, evenly spread from slow to fast.
const OTHERS: usize = 500;

/// Listed flows, slowest first.
#[derive(Debug, Serialize)]
pub(super) struct Listed {
    /// Total number of flows in the run.
    total: usize,
    /// Labels and schemes, to which flows refer by index.
    names: Vec<String>,
    flows: Vec<Flow>,
}

#[derive(Debug, Serialize)]
struct Flow {
    id: u32,
    label: usize,
    scheme: usize,
    src: u32,
    dst: u32,
    size: u64,
    start_ps: u64,
    fct_ps: Option<u64>,
    slowdown: Option<f64>,
    status: FlowState,
    /// Account of its time, if the run recorded it.
    time: Option<Account>,
}

/// Account of a flow's time.
#[derive(Debug, Default, PartialEq, Serialize)]
struct Account {
    /// Activities and waits of its sender, with their durations in ps.
    sender: Vec<(String, u64)>,
    /// Path of the packet that was acknowledged last, and of its acknowledgement.
    data: Vec<Hop>,
    /// Time of that packet in the receiver's host, in ps.
    #[serde(skip_serializing_if = "is_zero")]
    host: u64,
    ack: Vec<Hop>,
}

fn is_zero(ps: &u64) -> bool {
    *ps == 0
}

/// Port on a path; times in ps.
#[derive(Debug, PartialEq, Serialize)]
struct Hop {
    port: usize,
    /// Serialisation, propagation, queueing, pause, wait for a frame that the link sent again.
    ps: [u64; 5],
    /// Number of the flow's packets that left the port, and the mean and the longest of their waits.
    packets: u64,
    mean_ps: u64,
    max_ps: u64,
}

/// Parts of the time by index; flow control delays packets by pauses, or for lack of credits.
const PARTS: [&[&str]; 5] = [
    &["serialisation"],
    &["propagation"],
    &["queueing"],
    &["paused", "credit"],
    &["retried"],
];

impl Account {
    /// Creates the account from the rows of one flow.
    fn of(times: &[FlowTime], rows: &SortedMap<String, usize>) -> Self {
        let mut account = Self::default();
        for time in times {
            let way = match time.stage {
                Stage::Sender => {
                    account.sender.push((time.part.clone(), time.time_ps));
                    continue;
                }
                Stage::Host => {
                    account.host += time.time_ps;
                    continue;
                }
                Stage::Data => &mut account.data,
                Stage::Ack => &mut account.ack,
            };
            let (Some(&port), Some(part)) = (
                rows.get(&time.port),
                PARTS.iter().position(|parts| parts.contains(&time.part.as_str())),
            ) else {
                continue;
            };
            // The parts of a hop's time are separate rows.
            let at = way.iter().position(|hop| hop.port == port).unwrap_or(way.len());
            if at == way.len() {
                way.push(Hop {
                    port,
                    ps: [0; 5],
                    packets: 0,
                    mean_ps: 0,
                    max_ps: 0,
                });
            }
            let hop = &mut way[at];
            hop.ps[part] += time.time_ps;
            // The parts of a hop's time concern the same packets, so these are not added up.
            hop.packets = hop.packets.max(time.packets.unwrap_or(0));
            hop.mean_ps += time.mean_ps.unwrap_or(0.0) as u64;
            hop.max_ps = hop.max_ps.max(time.max_ps.unwrap_or(0));
        }
        account
    }
}

/// Returns the flows of a run to list; `rows` are the ports by name.
pub(super) fn listed(run: &RunData, rows: &SortedMap<String, usize>) -> Listed {
    let times: SortedMap<u32, &[FlowTime]> = (run.tables.rows::<FlowTime>())
        .chunk_by(|a, b| a.flow_id == b.flow_id)
        .map(|times| (times[0].flow_id, times))
        .collect();
    let mut names: SortedSet<Cow<'_, str>> = SortedSet::new();
    for flow in run.flows.firsts() {
        for name in [flow.label, flow.scheme] {
            if !names.contains(&name) {
                names.insert(name);
            }
        }
    }
    let names: Vec<String> = names.into_iter().map(Cow::into_owned).collect();
    let index = |name: &str| names.partition_point(|other| other.as_str() < name);
    let flow = |row: &FlowRow<'_>| Flow {
        id: row.flow_id,
        label: index(&row.label),
        scheme: index(&row.scheme),
        src: row.src,
        dst: row.dst,
        size: row.size_bytes,
        start_ps: row.start_ps,
        fct_ps: row.fct_ps,
        slowdown: row.slowdown.map(|slowdown| (slowdown * 1e3).round() / 1e3),
        status: row.status,
        time: times.get(&row.flow_id).map(|times| Account::of(times, rows)),
    };
    Listed {
        total: run.flows.len(),
        flows: chosen(&run.flows).iter().map(flow).collect(),
        names,
    }
}

/// Selects the flows to list. Unfinished flows come first, those active longest before others, then finished ones by
/// descending slowdown. The first of these are listed, and an even selection of the rest; a repeated flow counts
/// once. The selection uses 24 bytes per flow.
fn chosen(flows: &FlowRows) -> Vec<FlowRow<'_>> {
    let key = |row: FlowRow<'_>| Key {
        slowdown: row.slowdown.unwrap_or(f64::INFINITY),
        start_ps: row.start_ps,
        flow_id: row.flow_id,
    };
    let mut order: Vec<Key> = flows.firsts().map(key).collect();
    order.sort_unstable_by(|a, b| a.slower_first(b));
    if order.len() > SLOWEST + OTHERS {
        let rest = &order[SLOWEST..];
        let others: Vec<Key> = (0..OTHERS)
            .map(|k| rest[k * (rest.len() - 1) / (OTHERS - 1)])
            .collect();
        order.truncate(SLOWEST);
        order.extend(others);
    }
    order
        .iter()
        .filter_map(|key| flows.with_id(key.flow_id))
        .collect()
}

/// Sort key of a flow, for the order of [`FlowRow::slower_first`].
#[derive(Clone, Copy)]
struct Key {
    slowdown: f64,
    start_ps: u64,
    flow_id: u32,
}

impl Key {
    fn slower_first(&self, other: &Self) -> Ordering {
        (other.slowdown.total_cmp(&self.slowdown))
            .then(self.start_ps.cmp(&other.start_ps))
            .then(self.flow_id.cmp(&other.flow_id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_lab::sample;

    #[test]
    fn a_way_has_its_ports_in_order() {
        let row = |stage, port: &str, part: &str, time_ps, mean_ps, max_ps| FlowTime {
            flow_id: 3,
            stage,
            port: port.into(),
            part: part.into(),
            time_ps,
            packets: (stage != Stage::Sender).then_some(9),
            mean_ps,
            max_ps,
        };
        let times = [
            row(Stage::Sender, "", "pacing", 70, None, None),
            row(Stage::Data, "port 1.1->0", "serialisation", 8, None, None),
            row(Stage::Data, "port 0.4->4", "serialisation", 8, None, None),
            row(Stage::Data, "port 0.4->4", "queueing", 5, Some(6.5), Some(20)),
            row(Stage::Data, "port 0.4->4", "paused", 1, Some(2.0), Some(30)),
            row(Stage::Host, "", "processing", 3, Some(4.0), Some(9)),
            row(Stage::Ack, "port 4.1->0", "propagation", 10, None, None),
        ];
        let rows = ["port 0.4->4", "port 1.1->0", "port 4.1->0"];
        let rows = rows
            .iter()
            .zip(5..)
            .map(|(name, row)| (name.to_string(), row))
            .collect();
        let account = Account::of(&times, &rows);
        assert_eq!(account.sender, [("pacing".to_string(), 70)]);
        let hops: Vec<_> = account
            .data
            .iter()
            .map(|hop| (hop.port, hop.ps, hop.packets, hop.mean_ps, hop.max_ps))
            .collect();
        assert_eq!(
            hops,
            [(6, [8, 0, 0, 0, 0], 9, 0, 0), (5, [8, 0, 5, 1, 0], 9, 8, 30)]
        );
        assert_eq!(account.host, 3);
        assert_eq!((account.ack[0].port, account.ack[0].ps), (7, [0, 10, 0, 0, 0]));
    }

    #[test]
    fn the_slowest_come_first_and_the_fastest_is_there() {
        let (input, outcome) = sample::incast();
        let mut run = RunData::new(&input, &sample::finished(&input, outcome));
        let ids: Vec<u32> = listed(&run, &SortedMap::new())
            .flows
            .iter()
            .map(|flow| flow.id)
            .collect();
        // Flow 2 did not finish; slowdowns of 0 and 1 are 2 and 1.
        assert_eq!(ids, [2, 0, 1]);
        let one = run.flows.get(0).unwrap().into_owned();
        let flow = |k: u32| FlowRow {
            flow_id: k,
            slowdown: Some(1.0 + f64::from(k * 37 % 10_007)),
            ..one.clone()
        };
        run.flows = (0..10_007).map(flow).collect();
        let found = listed(&run, &SortedMap::new());
        assert_eq!((found.total, found.flows.len()), (10_007, SLOWEST + OTHERS));
        let slowdowns: Vec<f64> = found.flows.iter().filter_map(|flow| flow.slowdown).collect();
        assert_eq!(
            (slowdowns[0], slowdowns[999], slowdowns[1000]),
            (10_007.0, 9_008.0, 9_007.0)
        );
        assert_eq!(slowdowns.last(), Some(&1.0));
        assert!(slowdowns.windows(2).all(|pair| pair[0] > pair[1]));
    }
}

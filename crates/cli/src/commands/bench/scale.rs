//! `paceline bench --scale`: cost of runs by number of flows, of flows of one host, and of hosts.
//!
//! Flows: short random flows on a fat tree of 16 hosts, which arrive as a stream; with the engine alone, and with
//! everything that `paceline run` does, including default records and output files. Hosts: the first steps of an
//! all-to-all on fat trees. In each step, every host sends to the host at the step's distance, and starts the next
//! step when it has finished sending and receiving. Flows of one host: all start at the same instant with a byte
//! each, so the host's NIC has as many queue pairs, which end one after another.

use std::time::Instant;

use paceline_fabric::Simulation;
use paceline_fabric::spec::{Awaited, Dependency, FlowSpec, Nics, NodeId, NodeKind, RunSpec};
use paceline_kernel::{Bytes, Span, Time};
use paceline_lab::files::Writing;
use paceline_lab::run::{Control, Resources, account_for_slowest, execute_on};
use paceline_report::write_run;
use paceline_scenario::{Overrides, Resolved};
use serde::{Deserialize, Serialize};

use super::{BenchArgs, BenchWorkloadArgs, SLICE, cpu_s, measure_by, peak_rss_bytes};
use crate::failure::{Done, Ended, Failure};
use crate::{output, text};

/// All measured points. The quick version only has the first [`QUICK`], the smaller ones.
const POINTS: [Point; 17] = [
    Point::Flows(1_000),
    Point::Flows(10_000),
    Point::Flows(100_000),
    Point::Run(100_000),
    Point::Hosts { k: 8, steps: 4 },
    Point::Hosts { k: 16, steps: 4 },
    Point::OneHost(10_000),
    Point::OneHost(20_000),
    Point::OneHost(40_000),
    Point::OneHost(1_000_000),
    Point::Flows(1_000_000),
    Point::Flows(10_000_000),
    Point::Run(1_000_000),
    Point::Run(10_000_000),
    Point::Hosts { k: 32, steps: 4 },
    Point::Hosts { k: 64, steps: 1 },
    Point::Start { k: 64, steps: 16 },
];
const QUICK: usize = 9;

/// The network; flows are added separately.
const NETWORK: &str = r#"name = "scale"
duration = "1s"
[topology.fat-tree]
k = 4
rate = "100Gbps"
delay = "1us"
[cc]
scheme = "hpcc"
"#;

/// The network for many flows of one host.
const STAR: &str = r#"name = "scale"
duration = "1s"
[topology.star]
hosts = 2
[cc]
scheme = "dcqcn"
"#;

/// Record settings that disable all recorders.
const QUIET: &str = r#"[record]
queue = "off"
rates = "off"
ports = "off"
flows = "off"
accounts = "off"
"#;

/// Size of each flow in a stream, bytes: less than a packet.
const SHORT: u64 = 1_000;
/// Bytes from one host to another per step.
const BLOCK: u64 = 64_000;

#[derive(Clone, Copy)]
enum Point {
    /// A stream with about this number of flows, on the engine alone.
    Flows(u32),
    /// A stream with about this number of flows, as `paceline run` executes it.
    Run(u32),
    /// An all-to-all on a fat tree of switches with `k` ports.
    Hosts { k: u32, steps: u32 },
    /// This number of flows from one host.
    OneHost(u32),
    /// As `Hosts`, but only up to the first packet.
    Start { k: u32, steps: u32 },
}

/// Measurements of one process.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Measured {
    name: String,
    hosts: usize,
    flows: usize,
    packet_hops: u64,
    /// Elapsed time and processor time from the text of the scenario to the first packet on a wire, s.
    start_s: f64,
    start_cpu_s: f64,
    /// Processor time from the first packet to the end, s.
    run_cpu_s: f64,
    /// Processor time per packet hop; `None` without hops.
    ns_per_hop: Option<f64>,
    /// Resident memory at the first packet, and maximum resident memory, bytes.
    start_rss_bytes: u64,
    peak_rss_bytes: u64,
    /// Maximum number of a stream's flows in memory.
    flows_held: usize,
}

impl Point {
    fn name(self) -> String {
        match self {
            Self::Flows(flows) => format!("flows-{flows}"),
            Self::Run(flows) => format!("run-{flows}"),
            Self::OneHost(flows) => format!("one-host-{flows}"),
            Self::Hosts { k, steps } => format!("hosts-{}-steps-{steps}", k * k * k / 4),
            Self::Start { k, steps } => format!("start-{}-steps-{steps}", k * k * k / 4),
        }
    }

    fn by_name(name: &str) -> Result<Self, Failure> {
        let found = POINTS.into_iter().find(|point| point.name() == name);
        found.ok_or_else(|| Failure::arguments(format!("there is no point `{name}`")))
    }

    /// Builds the run.
    fn resolve(self) -> Result<Resolved, Failure> {
        let load = |parts: &[&str], set: &[String]| {
            let overrides = Overrides {
                set: set.to_vec(),
                streams: true,
                ..Overrides::default()
            };
            paceline_scenario::load_text("scale.toml", &parts.concat(), &overrides)
        };
        match self {
            Self::Flows(flows) | Self::Run(flows) => {
                // 16 hosts of 100 Gbit/s at a load of 0.3.
                let seconds = f64::from(flows) * SHORT as f64 * 8.0 / (0.3 * 16.0 * 100e9);
                let workload = format!(
                    "[[workload]]\npoisson = {{ load = 0.3, sizes = [{{ size = \"{SHORT}B\", share = 1.0 }}], \
                     to = \"{:.0}ns\" }}\n",
                    seconds * 1e9
                );
                let quiet = if matches!(self, Self::Flows(_)) { QUIET } else { "" };
                Ok(load(&[NETWORK, &workload, quiet], &[])?)
            }
            Self::OneHost(flows) => {
                let mut resolved = load(&[STAR, QUIET], &[])?;
                let run = resolved.run_mut();
                run.labels = vec!["flows".to_string()];
                run.flows = (0..flows).map(|_| flow(1, 2, 1)).collect();
                Ok(resolved)
            }
            Self::Hosts { k, steps } | Self::Start { k, steps } => {
                let mut resolved = load(&[NETWORK, QUIET], &[format!("topology.fat-tree.k={k}")])?;
                add_steps(resolved.run_mut(), steps);
                Ok(resolved)
            }
        }
    }
}

/// Returns a flow that starts at time 0.
fn flow(src: u32, dst: u32, bytes: u64) -> FlowSpec {
    FlowSpec {
        src: NodeId(src),
        dst: NodeId(dst),
        size: Bytes::new(bytes),
        start: Time::ZERO,
        class: 3,
        sport: 10_000,
        dport: 100,
        label: 0,
        scheme: 0,
        connection: None,
        nics: Nics::ANY,
    }
}

/// Adds the first steps of an all-to-all among all hosts.
fn add_steps(run: &mut RunSpec, steps: u32) {
    let is_host = |&(_, kind): &(u32, &NodeKind)| *kind == NodeKind::Host;
    let hosts: Vec<u32> = (0..)
        .zip(&run.nodes)
        .filter(is_host)
        .map(|(node, _)| node)
        .collect();
    let n = hosts.len() as u32;
    run.labels = vec!["steps".to_string()];
    for step in 0..steps {
        for rank in 0..n {
            let peer = hosts[((rank + step + 1) % n) as usize];
            run.flows.push(flow(hosts[rank as usize], peer, BLOCK));
            let Some(before) = step.checked_sub(1) else {
                continue;
            };
            // The rank that sent to this one in the step before.
            let sender = (rank + n - step) % n;
            let waits = [(rank, Awaited::Acknowledged), (sender, Awaited::Received)];
            run.dependencies.extend(waits.map(|(of, awaited)| Dependency {
                flow: step * n + rank,
                after: before * n + of,
                awaited,
                delay: Span::ZERO,
            }));
        }
    }
}

/// Measures all points and prints a table.
pub(super) fn bench(args: &BenchArgs) -> Ended {
    let points = if args.quick { &POINTS[..QUICK] } else { &POINTS[..] };
    let mut rows: Vec<Measured> = Vec::new();
    for point in points {
        let name = point.name();
        if !args.say.quiet {
            say!("{name}");
        }
        rows.push(measure_by(&["bench-workload", &name, "--scale"], &name)?);
    }
    if args.say.json {
        output::print_json(&rows)?;
    } else {
        output::print(&table(&rows))?;
    }
    Ok(Done::All)
}

/// Measures one point in this process, and prints JSON.
pub(super) fn measure(args: &BenchWorkloadArgs) -> Ended {
    let wall = Instant::now();
    let point = Point::by_name(&args.name)?;
    let input = point.resolve()?;
    if matches!(point, Point::Run(_)) {
        return output::print_json(&measure_run(point, &input, wall)?).map(|()| Done::All);
    }
    let run = input.run;
    let (hosts, flows) = (hosts(&run), run.flow_count());
    let mut simulation = Simulation::new(run).map_err(Failure::arguments)?;
    // One event at a time, so that the start ends with the first packet.
    while simulation.progress().packet_hops == 0 && !simulation.advance(1).done {}
    let (start_s, start_cpu_s) = (wall.elapsed().as_secs_f64(), cpu_s());
    let start_rss_bytes = peak_rss_bytes();
    if !matches!(point, Point::Start { .. }) {
        // Finished flows are dropped, as a writer of results would take them.
        while !simulation.advance(SLICE).done {
            drop(simulation.take_ended());
        }
    }
    let flows_held = simulation.most_flows_held();
    let run_cpu_s = cpu_s() - start_cpu_s;
    let packet_hops = simulation.finish().counters.packet_hops();
    output::print_json(&Measured {
        name: point.name(),
        hosts,
        flows,
        packet_hops,
        start_s,
        start_cpu_s,
        run_cpu_s,
        ns_per_hop: (packet_hops > 1).then(|| run_cpu_s * 1e9 / packet_hops as f64),
        start_rss_bytes,
        peak_rss_bytes: peak_rss_bytes(),
        flows_held,
    })?;
    Ok(Done::All)
}

fn hosts(run: &RunSpec) -> usize {
    run.nodes.iter().filter(|kind| **kind == NodeKind::Host).count()
}

/// Measures everything in `paceline run`: default records, and the folder with its page.
fn measure_run(point: Point, input: &Resolved, wall: Instant) -> Result<Measured, Failure> {
    let (start_s, start_cpu_s) = (wall.elapsed().as_secs_f64(), cpu_s());
    let start_rss_bytes = peak_rss_bytes();
    let folder = tempfile::tempdir().map_err(Failure::run)?;
    let resources = Resources {
        scratch: Some(folder.path()),
        ..Resources::ONE_THREAD
    };
    let mut finished = execute_on(input, resources, &mut |_| Control::Continue)?;
    account_for_slowest(input, &mut finished, resources, &mut |_| Control::Continue)?;
    write_run(&folder.path().join("run"), input, &finished, Writing::default())?;
    let packet_hops = finished.summary.packet_hops;
    let run_cpu_s = cpu_s() - start_cpu_s;
    Ok(Measured {
        name: point.name(),
        hosts: hosts(&input.run),
        flows: input.run.flow_count(),
        packet_hops,
        start_s,
        start_cpu_s,
        run_cpu_s,
        ns_per_hop: (packet_hops > 0).then(|| run_cpu_s * 1e9 / packet_hops as f64),
        start_rss_bytes,
        peak_rss_bytes: peak_rss_bytes(),
        flows_held: 0,
    })
}

fn table(rows: &[Measured]) -> String {
    let head = [
        "point",
        "hosts",
        "flows",
        "packet-hops",
        "start s",
        "start MB",
        "run CPU s",
        "ns per hop",
        "peak MB",
        "flows held",
    ];
    let megabytes = |bytes: u64| format!("{:.0}", bytes as f64 / 1e6);
    let cells = |row: &Measured| {
        let held = (row.flows_held > 0).then(|| row.flows_held.to_string());
        vec![
            row.name.clone(),
            row.hosts.to_string(),
            row.flows.to_string(),
            row.packet_hops.to_string(),
            format!("{:.2}", row.start_s),
            megabytes(row.start_rss_bytes),
            format!("{:.2}", row.run_cpu_s),
            row.ns_per_hop
                .map_or_else(|| "-".to_string(), |ns| format!("{ns:.0}")),
            megabytes(row.peak_rss_bytes),
            held.unwrap_or_else(|| "-".to_string()),
        ]
    };
    let head = head.map(str::to_string).to_vec();
    let rows: Vec<_> = std::iter::once(head).chain(rows.iter().map(cells)).collect();
    text::table(&rows)
}

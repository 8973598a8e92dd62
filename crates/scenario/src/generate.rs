//! Writers for topologies and flows, as files of HPCC's ns-3 simulator and as parts of a scenario.

use std::fmt::Write as _;

use paceline_fabric::spec::{Awaited, Dependency, FlowSpec, NodeKind, RunSpec};
use paceline_kernel::{BitRate, Span, Time};

use crate::topology::Topology;
use crate::visible::csv_cell;

/// Returns a rate in ns-3's notation.
fn rate(rate: BitRate) -> String {
    match rate.as_bps() {
        bps if bps.is_multiple_of(1_000_000_000) => format!("{}Gbps", bps / 1_000_000_000),
        bps => format!("{bps}bps"),
    }
}

/// Returns a delay in ns-3's notation.
fn delay(delay: Span) -> String {
    match delay.as_ps() {
        ps if ps.is_multiple_of(1000) => format!("{}ns", ps / 1000),
        ps => format!("{ps}ps"),
    }
}

/// Returns an instant in seconds, without rounding.
fn seconds(time: Time) -> String {
    let ps = time.as_ps();
    let (whole, fraction) = (ps / 1_000_000_000_000, ps % 1_000_000_000_000);
    if ps.is_multiple_of(1000) {
        return format!("{whole}.{:09}", fraction / 1000);
    }
    format!("{whole}.{fraction:012}")
}

fn switches(topology: &Topology) -> Vec<String> {
    let kinds = topology.nodes.iter().enumerate();
    let switches = kinds.filter(|(_, kind)| **kind == NodeKind::Switch);
    switches.map(|(i, _)| i.to_string()).collect()
}

/// Returns a topology file of HPCC's ns-3 simulator.
pub fn topology_text(topology: &Topology) -> String {
    let switches = switches(topology);
    let mut text = format!(
        "{} {} {}\n",
        topology.nodes.len(),
        switches.len(),
        topology.links.len()
    );
    text.push_str(&switches.join(" "));
    text.push('\n');
    for link in &topology.links {
        let (rate, delay) = (rate(link.rate), delay(link.delay));
        let _ = writeln!(
            text,
            "{} {} {rate} {delay} {}",
            link.a.0, link.b.0, link.error_rate
        );
    }
    text
}

/// Returns a flow file of HPCC's ns-3 simulator, which truncates start times to nanoseconds after a binary
/// conversion, so that about half of them become one nanosecond earlier.
pub fn flows_text(flows: &[FlowSpec]) -> String {
    let mut text = format!("{}\n", flows.len());
    for flow in flows {
        let (size, start) = (flow.size.get(), seconds(flow.start));
        let _ = writeln!(
            text,
            "{} {} {} {} {size} {start}",
            flow.src.0, flow.dst.0, flow.class, flow.dport
        );
    }
    text
}

/// Returns a trace: a table with named columns, including the dependencies of flows.
pub fn flows_csv(run: &RunSpec) -> String {
    const KINDS: [Awaited; 3] = [Awaited::Received, Awaited::Acknowledged, Awaited::Started];
    let mut text =
        "flow_id,label,src,dst,priority,size_bytes,start_ps,after,after_ack,after_start,delay_ps\n"
            .to_string();
    let mut waits: Vec<&Dependency> = run.dependencies.iter().collect();
    // Sorted by flow, so that a row finds its dependencies without a search of all.
    waits.sort_by_key(|dependency| (dependency.flow, dependency.after));
    for (id, flow) in run.flows.iter().enumerate() {
        let from = waits.partition_point(|dependency| (dependency.flow as usize) < id);
        let own = || {
            waits[from..]
                .iter()
                .take_while(|dependency| dependency.flow as usize == id)
        };
        let label = run.labels.get(usize::from(flow.label)).map_or("", String::as_str);
        let label = csv_cell(label);
        let label = if label.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", label.replace('"', "\"\""))
        } else {
            label.into_owned()
        };
        let _ = write!(
            text,
            "{id},{label},{},{},{},{},{}",
            flow.src.0,
            flow.dst.0,
            flow.class,
            flow.size.get(),
            flow.start.as_ps()
        );
        for kind in KINDS {
            let named = own().filter(|dependency| dependency.awaited == kind);
            let named: Vec<_> = named.map(|dependency| dependency.after.to_string()).collect();
            let _ = write!(text, ",{}", named.join(" "));
        }
        // A flow has one delay for all dependencies: generators and traces have no other.
        let delay = own().map(|dependency| dependency.delay.as_ps()).max();
        let _ = writeln!(text, ",{}", delay.map(|ps| ps.to_string()).unwrap_or_default());
    }
    text
}

pub use crate::infragraph::write::infrastructure as topology_infragraph;

/// Returns the `[topology.graph]` table of a scenario.
pub fn topology_toml(topology: &Topology) -> String {
    let mut text = format!(
        "[topology.graph]\nnodes = {}\nswitches = [{}]\nlinks = [\n",
        topology.nodes.len(),
        switches(topology).join(", ")
    );
    for link in &topology.links {
        let _ = write!(
            text,
            "  {{ a = {}, b = {}, rate = \"{}\", delay = \"{}\"",
            link.a.0, link.b.0, link.rate, link.delay
        );
        if link.error_rate > 0.0 {
            let _ = write!(text, ", error-rate = {:?}", link.error_rate);
        }
        text.push_str(" },\n");
    }
    text.push_str("]\n");
    text
}

/// Returns `[[workload]]` tables with every flow, one table for each label and priority class.
pub fn flows_toml(flows: &[FlowSpec], labels: &[String]) -> String {
    let mut groups: Vec<(u16, u8)> = flows.iter().map(|flow| (flow.label, flow.class)).collect();
    groups.sort_unstable();
    groups.dedup();
    let mut text = String::new();
    for (label, class) in groups {
        let name = labels.get(label as usize).map_or("flows", String::as_str);
        let separator = if text.is_empty() { "" } else { "\n" };
        let name = toml::Value::from(name);
        let _ = write!(
            text,
            "{separator}[[workload]]\nlabel = {name}\npriority = {class}\nflows = [\n"
        );
        for flow in flows
            .iter()
            .filter(|flow| (flow.label, flow.class) == (label, class))
        {
            let _ = writeln!(
                text,
                "  {{ src = {}, dst = {}, size = \"{}\", start = \"{}\" }},",
                flow.src.0, flow.dst.0, flow.size, flow.start
            );
        }
        text.push_str("]\n");
    }
    text
}

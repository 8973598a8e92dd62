//! Writer of infrastructures: a device for each kind of node and number of ports.

use std::fmt::Write as _;

use paceline_fabric::spec::{LinkSpec, NodeKind};
use paceline_kernel::sorted::SortedSet;

use crate::topology::Topology;

/// Nodes with consecutive numbers, of one kind and number of ports.
struct Run {
    name: String,
    device: String,
    first: usize,
    count: usize,
}

/// Returns a topology as InfraGraph's YAML. Nodes keep their order, so that hosts keep their numbers among hosts. Error
/// rates are left out, because InfraGraph has none.
pub fn infrastructure(topology: &Topology) -> String {
    let mut ports = vec![0_usize; topology.nodes.len()];
    // Port of each link at both ends, in the order of links.
    let mut port = |node: u32| {
        ports[node as usize] += 1;
        ports[node as usize] - 1
    };
    let used: Vec<(usize, usize)> = topology
        .links
        .iter()
        .map(|link| (port(link.a.0), port(link.b.0)))
        .collect();
    let runs = runs(topology, &ports);
    let mut text = "name: paceline\ndevices:\n".to_string();
    let devices: SortedSet<(bool, usize)> = topology
        .nodes
        .iter()
        .zip(&ports)
        .map(|(kind, ports)| (*kind == NodeKind::Switch, *ports))
        .collect();
    for &(is_switch, ports) in &devices {
        let (name, chip, choice, end) = match is_switch {
            true => ("switch", "asic", "switch", "port"),
            false => ("host", "cpu", "cpu", "nic"),
        };
        let _ = writeln!(
            text,
            "- name: {name}-{ports}
  components:
  - {{ name: {chip}, count: 1, choice: {choice} }}
  - {{ name: {end}, count: {ports}, choice: {end} }}
  links:
  - name: inside
  edges:
  - {{ ep1: {{ component: {chip} }}, ep2: {{ component: {end} }}, scheme: many2many, link: inside }}"
        );
    }
    text += "instances:\n";
    for Run {
        name, device, count, ..
    } in &runs
    {
        let _ = writeln!(text, "- {{ name: {name}, device: {device}, count: {count} }}");
    }
    let kinds: SortedSet<(u64, u64)> = topology.links.iter().map(kind).collect();
    let kinds: Vec<(u64, u64)> = kinds.into_iter().collect();
    text += "links:\n";
    for (i, (bps, ps)) in kinds.iter().enumerate() {
        let (gbps, ns) = (*bps as f64 / 1e9, *ps as f64 / 1e3);
        let _ = writeln!(
            text,
            "- name: link-{i}
  physical:
    bandwidth: {{ choice: gigabits_per_second, gigabits_per_second: {gbps} }}
    latency: {{ choice: ns, ns: {ns} }}"
        );
    }
    text += "edges:\n";
    let end = |node: u32, port: usize| {
        let run = &runs[runs.partition_point(|run| run.first <= node as usize) - 1];
        let component = if topology.is_host(paceline_fabric::spec::NodeId(node)) {
            "nic"
        } else {
            "port"
        };
        let index = node as usize - run.first;
        format!(
            "{{ instance: \"{}[{index}]\", component: \"{component}[{port}]\" }}",
            run.name
        )
    };
    for (link, (a, b)) in topology.links.iter().zip(used) {
        let of = kinds.partition_point(|known| *known < kind(link));
        let (ep1, ep2) = (end(link.a.0, a), end(link.b.0, b));
        let _ = writeln!(
            text,
            "- {{ ep1: {ep1}, ep2: {ep2}, scheme: one2one, link: link-{of} }}"
        );
    }
    text
}

/// Returns the rate of a link in bit/s, and its delay in ps.
fn kind(link: &LinkSpec) -> (u64, u64) {
    (link.rate.as_bps(), link.delay.as_ps())
}

/// Groups consecutive nodes of a kind with the same number of ports.
fn runs(topology: &Topology, ports: &[usize]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (node, (kind, ports)) in topology.nodes.iter().zip(ports).enumerate() {
        let name = if *kind == NodeKind::Host { "host" } else { "switch" };
        let device = format!("{name}-{ports}");
        match runs.last_mut() {
            Some(run) if run.device == device => run.count += 1,
            _ => runs.push(Run {
                name: format!("{name}s-{}", runs.len()),
                device,
                first: node,
                count: 1,
            }),
        }
    }
    runs
}

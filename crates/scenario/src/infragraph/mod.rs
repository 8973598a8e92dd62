//! Networks of InfraGraph (Keysight and MLCommons; Python package `infragraph`, 3.1.0), as YAML or JSON.
//!
//! An infrastructure has devices, instances of them, links and edges. An instance whose device has a NIC or an
//! accelerator is a host, with all that is inside; any other is a switch. Edges between instances are links.
//! Transceivers between two others, devices of ports alone, become part of the link.

mod edges;
mod parts;
pub(crate) mod write;
mod yaml;

use std::rc::Rc;

use paceline_fabric::spec::{LinkSpec, NodeId, NodeKind};
use paceline_kernel::sorted::{SortedMap, SortedSet};
use paceline_kernel::{BitRate, Span};

use crate::diagnostics::{Diagnostics, Problem, Problems, Source, suggestion};
use crate::ns3::topology::MOST_PROBLEMS;
use crate::topology::{Net, Topology};
use crate::warning::{Warning, WarningKind};

use edges::{Cable, Cables};
pub(crate) use parts::LinkDefaults;
use parts::{Device, Instance, Link, Part, PartKind, Role};
use yaml::{Node, View};

/// Largest number of instances; only a typing error exceeds it.
const MOST_UNITS: u32 = 1_000_000;

/// Returns true if a text is an infrastructure: a JSON object, or YAML with its lists at the left margin.
pub(crate) fn is_infrastructure(source: &Source) -> bool {
    let text = source.text();
    let list = |line: &str| line.starts_with("devices:") || line.starts_with("instances:");
    text.trim_start().starts_with('{') || text.lines().any(list)
}

/// Reads an infrastructure. Hosts are numbered first, then switches, both in the order of instances.
pub(crate) fn read(
    source: &Source,
    defaults: LinkDefaults,
    warnings: &mut Vec<Warning>,
) -> Result<Net, Diagnostics> {
    let root: Rc<Node> = yaml::parse(source)?;
    let root = View {
        source,
        node: &root,
        what: "file",
    };
    let devices = devices(&root)?;
    let roles = roles(&devices).map_err(|problem| problem.at(&root.place()))?;
    let instances = instances(&root, &devices)?;
    let links = links(&root)?;
    let mut problems = Problems::default();
    let mut cables = Cables::default();
    for edge in root.list("edges", "edge")? {
        let found = edges::cables(&edge, &devices, &instances, &links, defaults, &mut cables);
        problems.take(found);
        if problems.len() >= MOST_PROBLEMS {
            break;
        }
    }
    problems.or(())?;
    let units: Vec<Role> = instances
        .iter()
        .flat_map(|instance| std::iter::repeat_n(roles[instance.device], instance.count as usize))
        .collect();
    if !units.contains(&Role::Host) {
        let problem =
            Problem::new("no instance has a device with a NIC or an accelerator: there are no hosts");
        return Err(problem.at(&root.place()).into());
    }
    Ok(net(source, &units, cables.list, warnings))
}

fn devices(root: &View<'_>) -> Result<Vec<Device>, Problem> {
    let mut devices = Vec::new();
    let list = root.list("devices", "device")?;
    let mut names: SortedMap<&str, usize> = SortedMap::new();
    for (i, device) in list.iter().enumerate() {
        let name = device.need("name")?;
        if names.insert(name.text()?, i).is_some() {
            let message = format!("there is a second device `{}`", name.text()?);
            return Err(Problem::new(message).at(&name.place()));
        }
    }
    for device in &list {
        let mut parts = Vec::new();
        for part in device.list("components", "component")? {
            let name = part.need("name")?;
            let choice = part.need("choice")?;
            let kind = match choice.text()? {
                "nic" | "xpu" => PartKind::End,
                "port" | "custom" | "device" => PartKind::Passive,
                "cpu" | "memory" | "switch" => PartKind::Active,
                other => {
                    let known = [
                        "cpu", "xpu", "nic", "memory", "port", "switch", "device", "custom",
                    ];
                    return Err(Problem::new(format!("there is no kind of component `{other}`"))
                        .at(&choice.place())
                        .help(suggestion(other, known)));
                }
            };
            let text = name.text()?;
            let device = match choice.text()? {
                "device" => Some(*names.get(text).ok_or_else(|| {
                    Problem::new(format!("there is no device `{text}`"))
                        .at(&name.place())
                        .help(suggestion(text, names.keys().copied()))
                })?),
                _ => None,
            };
            parts.push(Part {
                name: text.to_string(),
                count: part.need("count")?.count(MOST_UNITS)?,
                device,
                kind,
            });
        }
        devices.push(Device {
            name: device.need("name")?.text()?.to_string(),
            parts,
        });
    }
    Ok(devices)
}

/// Returns the role of each device's instances, by what is in it and in the devices in it.
fn roles(devices: &[Device]) -> Result<Vec<Role>, Problem> {
    let mut roles: Vec<Option<Role>> = vec![None; devices.len()];
    // Each round settles the devices whose own devices are settled; a round that settles none has found a circle.
    loop {
        let before = roles.iter().flatten().count();
        for (i, device) in devices.iter().enumerate() {
            let inside = |part: &Part| match (part.device, part.kind) {
                (Some(own), _) => roles[own],
                (None, PartKind::End) => Some(Role::Host),
                (None, PartKind::Active) => Some(Role::Switch),
                (None, PartKind::Passive) => Some(Role::Passive),
            };
            let all: Option<Vec<Role>> = device.parts.iter().map(inside).collect();
            let Some(all) = all else { continue };
            let strongest = [Role::Host, Role::Switch]
                .into_iter()
                .find(|role| all.contains(role));
            roles[i] = Some(strongest.unwrap_or(Role::Passive));
        }
        match roles.iter().flatten().count() {
            count if count == devices.len() => return Ok(roles.into_iter().flatten().collect()),
            count if count == before => {
                let open = roles.iter().position(Option::is_none).unwrap_or_default();
                let message = format!("the device `{}` contains itself", devices[open].name);
                return Err(Problem::new(message));
            }
            _ => {}
        }
    }
}

fn instances(root: &View<'_>, devices: &[Device]) -> Result<Vec<Instance>, Problem> {
    let mut instances: Vec<Instance> = Vec::new();
    let mut first = 0;
    for instance in root.list("instances", "instance")? {
        let (name, device, count) = (
            instance.need("name")?,
            instance.need("device")?,
            instance.need("count")?,
        );
        let text = device.text()?;
        let known = devices.iter().map(|device| device.name.as_str());
        let index = known.clone().position(|known| known == text).ok_or_else(|| {
            Problem::new(format!("there is no device `{text}`"))
                .at(&device.place())
                .help(suggestion(text, known))
        })?;
        if instances
            .iter()
            .any(|other| Ok(other.name.as_str()) == name.text().map_err(drop))
        {
            let message = format!("there is a second instance `{}`", name.text()?);
            return Err(Problem::new(message).at(&name.place()));
        }
        let one = Instance {
            name: name.text()?.to_string(),
            device: index,
            count: count.count(MOST_UNITS)?,
            first,
        };
        first += one.count;
        if first > MOST_UNITS {
            let message = format!("more than {MOST_UNITS} instances of devices");
            return Err(Problem::new(message).at(&count.place()));
        }
        instances.push(one);
    }
    Ok(instances)
}

fn links<'a>(root: &View<'a>) -> Result<Vec<Link<'a>>, Problem> {
    let mut links = Vec::new();
    for link in root.list("links", "link")? {
        let mut one = Link {
            name: link.need("name")?.text()?,
            rate: None,
            delay: None,
            place: link.place(),
        };
        if let Some(physical) = link.get("physical")? {
            if let Some(bandwidth) = physical.get("bandwidth")? {
                // A transfer has as many bits as the link has lanes, which the file does not say.
                let gbps = quantity(
                    &bandwidth,
                    &[("gigabits_per_second", 1.0), ("gigabytes_per_second", 8.0)],
                )?;
                one.rate = gbps.map(|gbps| BitRate::from_bps((gbps * 1e9).round() as u64));
            }
            if let Some(latency) = physical.get("latency")? {
                let ns = quantity(&latency, &[("ms", 1e6), ("us", 1e3), ("ns", 1.0)])?;
                one.delay = ns.map(|ns| Span::from_ps((ns * 1e3).round() as u64));
            }
        }
        links.push(one);
    }
    Ok(links)
}

/// Returns a quantity in the first of these units that is there.
fn quantity(view: &View<'_>, units: &[(&'static str, f64)]) -> Result<Option<f64>, Problem> {
    for (unit, factor) in units {
        if let Some(value) = view.get(unit)? {
            return Ok(Some(factor * value.number(0.0, 1e6, "number from 0 to 1000000")?));
        }
    }
    Ok(None)
}

/// Numbers the units, hosts first, and makes links of their cables.
fn net(source: &Source, units: &[Role], cables: Vec<Cable>, warnings: &mut Vec<Warning>) -> Net {
    let (cables, gone) = contract(units, cables);
    let mut numbers = vec![NodeId(0); units.len()];
    let mut nodes = Vec::new();
    for kind in [NodeKind::Host, NodeKind::Switch] {
        for (i, role) in units.iter().enumerate() {
            if (*role == Role::Host) == (kind == NodeKind::Host) && !gone.contains(&(i as u32)) {
                numbers[i] = NodeId(nodes.len() as u32);
                nodes.push(kind);
            }
        }
    }
    let mut net = Net {
        topology: Topology {
            nodes,
            ..Topology::default()
        },
        parallel: true,
        ..Net::default()
    };
    let mut loops = 0;
    for cable in cables {
        let [a, b] = cable.ends.map(|end| numbers[end as usize]);
        if a == b {
            loops += 1;
            continue;
        }
        net.topology.links.push(LinkSpec {
            a,
            b,
            rate: cable.rate,
            delay: cable.delay,
            error_rate: 0.0,
        });
        net.locations.push(cable.place);
    }
    if loops > 0 {
        let text = format!("links from a node to itself are left out: {loops}");
        warnings.push(Warning::new(WarningKind::LeftOut, text).of_file(source));
    }
    net
}

/// Joins the two cables of each transceiver to one, with the lower rate and the sum of delays. Returns the cables and
/// the transceivers.
fn contract(units: &[Role], cables: Vec<Cable>) -> (Vec<Cable>, SortedSet<u32>) {
    let mut gone = SortedSet::new();
    let mut at: Vec<Vec<usize>> = vec![Vec::new(); units.len()];
    let mut cables: Vec<Option<Cable>> = cables.into_iter().map(Some).collect();
    for (i, cable) in cables.iter().enumerate() {
        for end in cable.iter().flat_map(|cable| cable.ends) {
            if units[end as usize] == Role::Passive {
                at[end as usize].push(i);
            }
        }
    }
    for unit in 0..units.len() {
        let [near, far] = at[unit][..] else { continue };
        if near == far {
            continue;
        }
        let (Some(one), Some(other)) = (&cables[near], &cables[far]) else {
            continue;
        };
        let beyond = |cable: &Cable| cable.ends[usize::from(cable.ends[0] == unit as u32)];
        let joined = Cable {
            ends: [beyond(one), beyond(other)],
            rate: one.rate.min(other.rate),
            delay: one.delay.saturating_add(other.delay),
            place: one.place.clone(),
        };
        // A transceiver beyond now ends the joined cable.
        for index in &mut at[joined.ends[1] as usize] {
            if *index == far {
                *index = near;
            }
        }
        (cables[near], cables[far]) = (Some(joined), None);
        gone.insert(unit as u32);
    }
    (cables.into_iter().flatten().collect(), gone)
}

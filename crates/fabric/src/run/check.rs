//! Checks of a description before anything is built from it.

mod arrivals;
mod balancing;
mod changes;
mod connections;
mod hosts;
mod programs;

use paceline_congestion::registry::ActiveScheme;
use paceline_kernel::queue::EventQueue;
use paceline_kernel::{BitRate, Bytes, Span};
use std::collections::BTreeSet;

use crate::core::event::Event;
use crate::traffic::find_cycle;
use paceline_run::spec::{
    DropPolicy, FlowControl, LinkSpec, NodeId, NodeKind, PfcMode, PfcThreshold, Recovery, RunSpec, Scheduling,
};

/// Reason why a network cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A node id beyond the nodes.
    #[error("{what}: node {node} does not exist; nodes are 0 to {last}")]
    NoSuchNode {
        /// Item that names the node.
        what: String,
        /// Node id that does not exist.
        node: u32,
        /// Largest existing node id.
        last: usize,
    },
    /// A flow from or to a switch.
    #[error("flow {flow}: node {node} is a switch; flows go from host to host")]
    NotAHost {
        /// Index of the flow.
        flow: usize,
        /// Node id of the switch.
        node: u32,
    },
    /// A host without a link that has a flow.
    #[error("flow {flow}: host {node} has no link")]
    NoLink {
        /// Index of the flow.
        flow: usize,
        /// Node id of the host.
        node: u32,
    },
    /// An invalid flow in the list.
    #[error("flow {flow}: {why}")]
    BadFlow {
        /// Index of the flow.
        flow: usize,
        /// Message for the user.
        why: String,
    },
    /// An invalid stream of flows.
    #[error("arrivals: {0}")]
    BadArrivals(String),
    /// An invalid program of flows.
    #[error("program {program}: {why}")]
    BadProgram {
        /// Index of the program.
        program: usize,
        /// Message for the user.
        why: String,
    },
    /// An invalid link of the network.
    #[error("link {link} (node {a} to node {b}): {why}")]
    BadLink {
        /// Index of the link.
        link: usize,
        /// Node at one end.
        a: u32,
        /// Node at the other end.
        b: u32,
        /// Message for the user.
        why: String,
    },
    /// Packet sizes that no packet can have.
    #[error("packet sizes: {0}")]
    BadPacket(String),
    /// An invalid marking curve.
    #[error("marking curve for {rate} ports: {why}")]
    BadCurve {
        /// Rate of the ports.
        rate: BitRate,
        /// Message for the user.
        why: String,
    },
    /// A missing marking curve for a rate that occurs.
    #[error("no marking curve for {rate} ports (link {link}); there are curves for {known}")]
    NoCurve {
        /// Rate without a curve.
        rate: BitRate,
        /// A link of that rate.
        link: usize,
        /// Rates that have curves.
        known: String,
    },
    /// Schemes that cannot share a network.
    #[error("schemes: {0}")]
    BadSchemes(String),
    /// Settings of hosts that contradict each other.
    #[error("hosts: {0}")]
    BadHost(String),
    /// Settings of flow control that contradict each other.
    #[error("flow control: {0}")]
    BadFlowControl(String),
    /// A setting that the network model does not support.
    #[error("{0}")]
    BadModel(String),
    /// An invalid static next hop.
    #[error("route {route}: {why}")]
    BadRoute {
        /// Index of the route.
        route: usize,
        /// Message for the user.
        why: String,
    },
    /// An invalid change of a link or a host.
    #[error("{0}")]
    BadChange(String),
    /// A network with more parts than the simulator can number.
    #[error("{0}")]
    TooLarge(String),
}

/// Checks a description for everything that would make the run fail, or its results wrong, later.
pub(super) fn check(spec: &RunSpec, schemes: &[ActiveScheme]) -> Result<(), BuildError> {
    let nodes = spec.nodes.len();
    let exists = |what: &dyn Fn() -> String, node: NodeId| {
        if (node.0 as usize) < nodes {
            return Ok(());
        }
        Err(BuildError::NoSuchNode {
            what: what(),
            node: node.0,
            last: nodes.saturating_sub(1),
        })
    };
    let mut degree = vec![0u32; nodes];
    for (i, link) in spec.links.iter().enumerate() {
        for end in [link.a, link.b] {
            exists(&|| format!("link {i}"), end)?;
            degree[end.0 as usize] += 1;
        }
        check_link(i, link)?;
    }
    for (i, failure) in spec.failures.iter().enumerate() {
        if failure.link >= spec.links.len() {
            let why = format!(
                "failure {i} names link {}; links are 0 to {}",
                failure.link,
                spec.links.len().saturating_sub(1)
            );
            return Err(BuildError::TooLarge(why));
        }
    }
    changes::check_changes(spec).map_err(BuildError::BadChange)?;
    check_storms_and_routes(spec)?;
    for (i, flow) in spec.flows.iter().enumerate() {
        let bad = |why: String| Err(BuildError::BadFlow { flow: i, why });
        for end in [flow.src, flow.dst] {
            exists(&|| format!("flow {i}"), end)?;
            if spec.nodes[end.0 as usize] == NodeKind::Switch {
                return Err(BuildError::NotAHost { flow: i, node: end.0 });
            }
            if degree[end.0 as usize] == 0 {
                return Err(BuildError::NoLink { flow: i, node: end.0 });
            }
        }
        let loops = spec.model.as_ref().is_some_and(|model| model.has_loopback());
        if flow.src == flow.dst && !loops {
            return bad(format!("source and destination are both node {}", flow.src.0));
        }
        if !(1..=7).contains(&flow.class) {
            return bad(format!("priority {} is not one of 1 to 7", flow.class));
        }
        if usize::from(flow.scheme) >= spec.schemes.len() {
            return bad(format!("scheme {} of {}", flow.scheme, spec.schemes.len()));
        }
        if flow.size == Bytes::ZERO {
            return bad("its size is zero".into());
        }
        hosts::check_nics(spec, flow, &degree).or_else(bad)?;
        if i > 0 && flow.start < spec.flows[i - 1].start {
            return bad("it starts before the flow in front of it: flows must be sorted by start".into());
        }
    }
    // Streams and programs are checked like listed flows, as far as their flows are known.
    if let Some(arrivals) = &spec.arrivals {
        arrivals::check_arrivals(spec, schemes, arrivals, &degree)?;
    }
    programs::check_programs(spec, schemes, &degree)?;
    connections::check_connections(spec)?;
    check_bytes(spec)?;
    check_dependencies(spec)?;
    check_flow_control(&spec.switch.flow_control)?;
    check_tiers(spec)?;
    if let Some(model) = &spec.model {
        model.check(spec).map_err(BuildError::BadModel)?;
        if spec.record.has_probes() {
            let why = "probes see the engine's own ports, and its are others";
            return Err(BuildError::BadModel(why.into()));
        }
    }
    crate::lanes::check(spec, schemes).map_err(BuildError::BadFlowControl)?;
    balancing::check(spec, schemes)?;
    let mut codes = spec.schemes.iter().filter_map(|scheme| scheme.config.pint_code());
    if let Some(first) = codes.next()
        && codes.any(|code| code != first)
    {
        let why = "switches write HPCC-PINT's digests to one base, and there are several";
        return Err(BuildError::BadSchemes(why.into()));
    }
    crate::switch::check(spec, schemes).map_err(BuildError::BadSchemes)?;
    if spec.nic.rto == Some(Span::ZERO) {
        return Err(BuildError::BadHost("the retransmission timeout is zero".into()));
    }
    check_recovery(spec)?;
    check_loss(spec)?;
    let packet = &spec.packet;
    let header = packet.data_header.get()
        + packet.int_header.get()
        + packet.timestamp_header.get()
        + packet.pint_header.get();
    if packet.mtu == Bytes::ZERO || packet.mtu.get() + header > u64::from(u16::MAX) {
        return Err(BuildError::BadPacket(format!(
            "a payload of {} and headers of {header} bytes do not fit a packet of 1 to 65535 bytes",
            packet.mtu
        )));
    }
    check_scheduling(spec)?;
    let control = [packet.ack_min, packet.ack_header, packet.pfc_frame, packet.cnp];
    if let Some(size) = control
        .into_iter()
        .find(|size| size.get() + header > u64::from(u16::MAX))
    {
        return Err(BuildError::BadPacket(format!(
            "{size} is too much for a control packet"
        )));
    }
    if spec.stop.as_ps() >= EventQueue::END_OF_TIME - 1 {
        let end = Span::from_ps(EventQueue::END_OF_TIME).as_secs_f64();
        let why = format!("the run would stop at {}; runs stop before {end:.0} s", spec.stop);
        return Err(BuildError::TooLarge(why));
    }
    // Each link has two ports, and events have 27 bits for the number of a port or a flow.
    if spec.links.len() * 2 > Event::MAX_ENTITIES || spec.flow_count() > Event::MAX_ENTITIES {
        return Err(BuildError::TooLarge(format!(
            "{} links and {} flows are more than can be numbered",
            spec.links.len(),
            spec.flow_count()
        )));
    }
    Ok(())
}

/// Checks that no message has more bytes than inputs can state, and that the sum of all can be counted.
fn check_bytes(spec: &RunSpec) -> Result<(), BuildError> {
    let sized = spec.programs.iter().map(|program| program.largest);
    if let Some((program, largest)) = sized
        .enumerate()
        .find(|(_, largest)| *largest > Bytes::LARGEST.get())
    {
        let why = format!(
            "a message or a collective of {largest} bytes: expected at most {}",
            Bytes::LARGEST
        );
        return Err(BuildError::BadProgram { program, why });
    }
    let most = |count: u64, size: u64| u128::from(count) * u128::from(size);
    let flows = spec.flows.iter().map(|flow| u128::from(flow.size.get()));
    let sources = spec.arrivals.iter().flat_map(|arrivals| {
        let largest = arrivals
            .sources
            .iter()
            .map(|source| source.pattern.largest().get());
        largest.max().map(|largest| most(arrivals.flows.into(), largest))
    });
    let programs = spec
        .programs
        .iter()
        .map(|program| most(program.flows.into(), program.largest));
    let total: u128 = flows.chain(sources).chain(programs).sum();
    match u64::try_from(total) {
        Ok(_) => Ok(()),
        Err(_) => Err(BuildError::TooLarge(format!(
            "flows of up to {total} bytes together are more than can be counted: expected at most {}",
            u64::MAX
        ))),
    }
}

/// Checks runs whose queue pairs are not served round robin.
fn check_scheduling(spec: &RunSpec) -> Result<(), BuildError> {
    let bad = |why: String| Err(BuildError::BadHost(why));
    if spec.nic.scheduling == Scheduling::RoundRobin {
        return Ok(());
    }
    let quirks = &spec.quirks;
    let others = quirks.lazy_qp_removal || quirks.wakeup_suppression;
    if others || spec.model.is_some() {
        return bad(
            "hosts of other simulators have rules of their own for which queue pair goes next".into(),
        );
    }
    if spec.switch.flow_control == FlowControl::Credits {
        return bad("under credits the queue pairs of a lane are served round robin".into());
    }
    match spec.nic.scheduling {
        Scheduling::Quantum(quantum) if quantum < spec.packet.largest() => bad(format!(
            "a quantum of {quantum} is less than a full packet ({})",
            spec.packet.largest()
        )),
        _ => Ok(()),
    }
}

/// Checks the settings of lossy classes and trimming.
fn check_loss(spec: &RunSpec) -> Result<(), BuildError> {
    let loss = &spec.switch.loss;
    let bad = |why: &str| Err(BuildError::BadFlowControl(why.into()));
    match loss.drop {
        DropPolicy::Dynamic { alpha } if !(alpha > 0.0 && alpha.is_finite()) => {
            return bad("the share of a lossy queue is not a number above zero");
        }
        DropPolicy::Tail(Bytes::ZERO) => return bad("lossy queues hold zero bytes"),
        _ => {}
    }
    let lossless =
        |class: u8| spec.switch.flow_control != FlowControl::None && loss.lossless >> class & 1 == 1;
    if loss.trim.is_some() && spec.flow_count() > 0 && spec.flow_classes().all(lossless) {
        return bad("switches are to trim packets, and every flow's class is lossless");
    }
    if let Some(storm) = spec.storms.iter().find(|storm| !lossless(storm.class)) {
        return Err(BuildError::BadFlowControl(format!(
            "a pause storm of class {}, which is lossy: pauses have no effect",
            storm.class
        )));
    }
    Ok(())
}

fn check_recovery(spec: &RunSpec) -> Result<(), BuildError> {
    let name = match &spec.nic.recovery {
        Recovery::GoBackN => return Ok(()),
        Recovery::SelectiveRepeat(_) => "IRN",
        Recovery::Rud(_) => "RUD",
    };
    let bad = |why: &str| Err(BuildError::BadHost(format!("{name}: {why}")));
    match &spec.nic.recovery {
        Recovery::SelectiveRepeat(irn) if irn.rto_low == Span::ZERO => {
            return bad("its lower timeout is zero");
        }
        Recovery::SelectiveRepeat(irn) if irn.rto_high < irn.rto_low => {
            return bad("its higher timeout is below the lower one");
        }
        Recovery::Rud(rud) if rud.rto == Span::ZERO => return bad("its timeout is zero"),
        _ => {}
    }
    if spec.nic.back_to_chunk.is_some() {
        return bad("it repeats packets, not chunks");
    }
    let most = u64::from(u32::MAX / 2) * spec.packet.mtu.get();
    if let Some(flow) = spec.flows.iter().position(|flow| flow.size.get() > most) {
        let why = "it has more packets than selective repeat can number".into();
        return Err(BuildError::BadFlow { flow, why });
    }
    let mut sources = spec.arrivals.iter().flat_map(|arrivals| &arrivals.sources);
    if sources.any(|source| source.pattern.largest().get() > most) {
        let why = "a flow may have more packets than selective repeat can number".into();
        return Err(BuildError::BadArrivals(why));
    }
    if let Some(program) = spec.programs.iter().position(|program| program.largest > most) {
        let why = "a flow may have more packets than selective repeat can number".into();
        return Err(BuildError::BadProgram { program, why });
    }
    Ok(())
}

fn check_dependencies(spec: &RunSpec) -> Result<(), BuildError> {
    let flows = spec.flows.len();
    for dependency in &spec.dependencies {
        let named = [dependency.flow, dependency.after];
        if let Some(missing) = named.into_iter().find(|&flow| flow as usize >= flows) {
            let flow = dependency.flow as usize;
            let why = format!("it has to do with flow {missing}, and there are {flows}");
            return Err(BuildError::BadFlow { flow, why });
        }
    }
    match find_cycle(flows, &spec.dependencies) {
        Some(flow) => Err(BuildError::BadFlow {
            flow: flow as usize,
            why: "it waits for itself, by way of others: it would never start".into(),
        }),
        None => Ok(()),
    }
}

fn check_storms_and_routes(spec: &RunSpec) -> Result<(), BuildError> {
    let exists = |what: String, node: NodeId| match spec.nodes.get(node.0 as usize) {
        Some(_) => Ok(()),
        None => Err(BuildError::NoSuchNode {
            what,
            node: node.0,
            last: spec.nodes.len().saturating_sub(1),
        }),
    };
    let kind = |node: NodeId| spec.nodes[node.0 as usize];
    for (i, storm) in spec.storms.iter().enumerate() {
        let bad = |why: String| Err(BuildError::BadFlowControl(format!("pause storm {i}: {why}")));
        exists(format!("pause storm {i}"), storm.node)?;
        if kind(storm.node) == NodeKind::Switch {
            return bad(format!(
                "node {} is a switch; storms come from hosts",
                storm.node.0
            ));
        }
        if !(1..=7).contains(&storm.class) {
            return bad(format!("priority {} is not one of 1 to 7", storm.class));
        }
        if !matches!(spec.switch.flow_control, FlowControl::Pfc(_)) {
            return bad("without PFC a pause has no effect".into());
        }
    }
    let ends = |a: NodeId, b: NodeId| (a.min(b), a.max(b));
    // Built only if there are routes, since a large network has many links.
    let links: BTreeSet<_> = match spec.routes[..] {
        [] => BTreeSet::new(),
        _ => spec.links.iter().map(|link| ends(link.a, link.b)).collect(),
    };
    for (i, route) in spec.routes.iter().enumerate() {
        for node in [route.node, route.to, route.via] {
            exists(format!("route {i}"), node)?;
        }
        let bad = |why: String| Err(BuildError::BadRoute { route: i, why });
        if kind(route.to) == NodeKind::Switch {
            return bad(format!("node {} is a switch; routes lead to hosts", route.to.0));
        }
        if kind(route.via) == NodeKind::Host && route.via != route.to {
            return bad(format!("node {} is a host; hosts do not forward", route.via.0));
        }
        if !links.contains(&ends(route.node, route.via)) {
            return bad(format!(
                "there is no link between nodes {} and {}",
                route.node.0, route.via.0
            ));
        }
    }
    Ok(())
}

fn check_flow_control(flow_control: &FlowControl) -> Result<(), BuildError> {
    let FlowControl::Pfc(pfc) = flow_control else {
        return Ok(());
    };
    let bad = |why: String| Err(BuildError::BadFlowControl(why));
    if let PfcThreshold::Static { xoff, xon } = pfc.threshold {
        if xon > xoff {
            return bad(format!(
                "it resumes below {xon}, above the {xoff} at which it pauses"
            ));
        }
        if xon == Bytes::ZERO {
            return bad("it resumes below zero bytes: never".into());
        }
    }
    // Half of a pause later it is renewed: at less than 2 ps at once, again and again in the same instant.
    if matches!(pfc.mode, PfcMode::Quanta { pause } if pause.as_ps() < 2) {
        return bad("a pause frame carries no time".into());
    }
    Ok(())
}

/// Checks that tiers name existing switches, and have settings that may differ between switches.
fn check_tiers(spec: &RunSpec) -> Result<(), BuildError> {
    for (i, tier) in spec.switch.tiers.iter().enumerate() {
        let bad = |why: String| Err(BuildError::BadFlowControl(format!("tier {i} of switches: {why}")));
        let mut switches = tier.switches.iter();
        if let Some(node) = switches.find(|node| spec.nodes.get(node.0 as usize) != Some(&NodeKind::Switch)) {
            return bad(format!("node {} is no switch", node.0));
        }
        let FlowControl::Pfc(pfc) = spec.switch.flow_control else {
            continue;
        };
        let Some(threshold) = tier.threshold else { continue };
        let dynamic = |threshold| matches!(threshold, PfcThreshold::Dynamic { .. });
        if !dynamic(threshold) || !dynamic(pfc.threshold) {
            return bad("only dynamic thresholds can be a tier's own".into());
        }
    }
    Ok(())
}

fn check_link(i: usize, link: &LinkSpec) -> Result<(), BuildError> {
    let bad = |why: &str| {
        Err(BuildError::BadLink {
            link: i,
            a: link.a.0,
            b: link.b.0,
            why: why.into(),
        })
    };
    if link.rate.as_bps() == 0 {
        return bad("its rate is zero");
    }
    if link.a == link.b {
        return bad("it leads from a node to itself");
    }
    if !(0.0..=1.0).contains(&link.error_rate) {
        return bad("its error rate is not a probability");
    }
    Ok(())
}

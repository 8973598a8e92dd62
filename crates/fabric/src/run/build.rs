//! Construction of a network from a description.

use crate::core::Core;
use crate::core::credits::Credits;
use crate::core::event::Event;
use crate::core::packet::{PacketSlab, WIRE_HOPS};
use crate::core::port::{LinkState, Port, Ports};
use crate::core::retry;
use crate::core::retry::state::Retry;
use crate::host::Hosts;
use crate::ids::{FlowId, LinkId, PortId, ProfileId};
use crate::model::{Site, Starts};
use crate::run::check::{BuildError, check};
use crate::run::ideals::Ideals;
use crate::run::kind::NetworkKind;
use crate::run::profiles::{Built, build_profiles};
use crate::run::simulation::Foresight;
use crate::run::simulation::Simulation;
use crate::switch::Switches;
use crate::traffic::Traffic;
use crate::watch::Watch;
use crate::world::World;
use crate::world::changes::{Change, LinkChange, Setting, Settings};
use crate::world::classes::Classes;
use crate::world::connections::Connections;
use crate::world::routing::{FirstPaths, FlowKey, LinkEnd, Routing, ScenarioSize};
use crate::world::signals::Signals;
use paceline_congestion::registry::{ActiveScheme, SchemeFactory};
use paceline_kernel::ids::{Id, List};
use paceline_kernel::queue::{EventQueue, LaneId};
use paceline_kernel::rng::{Purpose, Rng};
use paceline_kernel::{Bytes, Span, Time};
use paceline_run::spec::{NodeId, NodeKind, Recovery, RunSpec, TieOrder};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Factories of senders that replace schemes, by index in [`RunSpec::schemes`].
pub type Factories = BTreeMap<u16, SchemeFactory>;

/// Returns the schemes of a run, with the senders that replace some.
fn at_work(spec: &RunSpec, mut factories: Factories) -> Vec<ActiveScheme> {
    let senders = spec.model.as_ref().map(|model| model.senders(spec));
    let mut senders = senders.unwrap_or_default();
    let mut given = |index| factories.remove(&index).or_else(|| senders.remove(&index));
    let schemes = (0..).zip(&spec.schemes);
    schemes
        .map(|(index, scheme)| ActiveScheme::new(scheme.config.clone(), given(index)))
        .collect()
}

/// Builds the network of `spec`.
fn build(spec: Arc<RunSpec>, factories: Factories) -> Result<Simulation, BuildError> {
    let schemes = at_work(&spec, factories);
    // Everything below relies on the checks: an input that is wrong is reported, not built.
    check(&spec, &schemes)?;
    let classes = classes_of(&spec);
    let class_count = classes.count();
    let mut queue = match spec.ties {
        TieOrder::Structural => EventQueue::untied(),
        TieOrder::Drawn | TieOrder::Insertion | TieOrder::Shuffled(_) => EventQueue::new(),
    };
    let Built {
        profiles,
        of_port,
        settings,
    } = build_profiles(&spec, &schemes, &mut queue)?;
    let ports = build_ports(&spec, &of_port);
    let (mut ports, nics) = number_owners(&spec, ports);
    let routing = build_routing(&spec, &mut ports);
    // Without flows the result is not needed, and it takes time in a large network.
    let extent = if spec.flow_count() == 0 {
        ScenarioSize::default()
    } else {
        routing.extent(&profiles, spec.packet.mtu)
    };
    let int = schemes.iter().any(|scheme| scheme.needs().int);
    // Flows are not all under way at once, so that a long list does not mean as many packets.
    let packets = packets_of(&spec).min(PacketSlab::SET_ASIDE);
    let watch = Watch::of(&spec, &ports, &profiles, &classes, packets);
    // The kind of network and credits add lanes to the queue, so they come before the core, which takes it over.
    let kind = NetworkKind::of(Site {
        run: &spec,
        ports: &ports,
        profiles: &profiles,
        classes: &classes,
        routing: &routing,
        queue: &mut queue,
    });
    let foresight = match kind.is_own() {
        true => Foresight::of(&spec, &schemes, &ports, &profiles, &classes),
        false => None,
    };
    let credits = (spec.lanes.as_deref()).map(|lanes| {
        Box::new(Credits::new(
            lanes,
            &mut ports,
            &profiles,
            class_count,
            &mut queue,
        ))
    });
    let retry = Retry::of(&spec, longest_frame(&spec, &schemes));
    for &(link, _) in &spec.retries {
        for port in [2 * link, 2 * link + 1].map(PortId::new) {
            let p = &mut ports[port];
            p.needs_slow_path = true;
            if credits.is_none() {
                p.link = LinkState::Retry;
            }
        }
    }
    let tracing = watch.recorder.tracing;
    // Where links keep their frames, every departure is seen.
    let seen = tracing || retry.is_some();
    let switches = Switches::new(&spec, &schemes, &ports, &profiles, &classes, extent.rtt, seen);
    if spec.chooses_links() {
        let links = ports.iter_mut().filter(|port| port.is_host);
        links
            .filter(|port| port.link == LinkState::Open)
            .for_each(|port| port.link = LinkState::Plane);
    }
    let hosts = Hosts::new(&spec, &nics);
    let traffic = Traffic::of(&spec);
    // Built before this point, the recorders, models and foresight decide whether arrivals need checks.
    let traced = tracing || !kind.is_own() || foresight.is_some();
    ports.iter_mut().for_each(|port| port.needs_slow_path |= traced);
    let samples = if int { telemetry_samples(&spec, extent) } else { 0 };
    let has_words =
        matches!(spec.nic.recovery, Recovery::Rud(_)) || schemes.iter().any(|scheme| scheme.needs().words);
    let packets = PacketSlab::new(samples, has_words, packets);
    let mut core = Core::new(&spec, class_count, queue, ports, packets, credits, watch);
    core.set_retry(retry);
    let world = World {
        nic: spec.nic,
        quirks: spec.quirks,
        rounding: spec.quirks.rounding(),
        hosts_are_foreign: spec.model.is_some(),
        packet: spec.packet,
        first_header: spec.first_header(),
        class_count,
        changes: build_changes(&spec, &settings),
        settings,
        epoch: 0,
        routing,
        first_paths: FirstPaths::default(),
        base_rtt: extent.rtt,
        bdp: extent.bdp,
        classes,
        connections: Connections::of(&spec),
        profiles,
        signals: Signals::of(&schemes),
        schemes,
        spec,
    };
    let mut simulation = Simulation {
        world: Arc::new(world),
        core,
        switches,
        hosts,
        traffic,
        kind,
        foresight,
        parts: None,
        memory: None,
        ideals: Ideals::default(),
    };
    simulation.schedule_first_events();
    Ok(simulation)
}

/// Checks if a network under credits can be built, as far as credits are concerned.
///
/// # Errors
/// The reason, if it cannot.
pub fn check_credits(spec: &RunSpec) -> Result<(), String> {
    crate::lanes::check(spec, &at_work(spec, Factories::new()))
}

/// Round trip of an empty network on a path, as [`paceline_run::Outcome::base_rtt`] counts it, and the number of the
/// path's links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// Twice the propagation and one payload's serialisation per link.
    pub rtt: Span,
    /// Number of links on the path.
    pub links: usize,
    /// Number of flows between the same hosts.
    pub flows: usize,
}

/// Returns the longest round trip of an empty network over all pairs of hosts, as [`RoundTrip::rtt`] counts it.
///
/// # Errors
/// If the network cannot be built.
pub fn longest_round_trip(spec: &RunSpec) -> Result<Span, BuildError> {
    let schemes = at_work(spec, Factories::new());
    let Built {
        profiles, of_port, ..
    } = build_profiles(spec, &schemes, &mut EventQueue::new())?;
    let routing = build_routing(spec, &mut build_ports(spec, &of_port));
    Ok(routing.extent(&profiles, spec.packet.mtu).rtt)
}

/// Returns the round trips of an empty network for each pair of hosts between which a scheme has flows. Pairs without a
/// path before the first failure are left out.
///
/// # Errors
/// If the network cannot be built.
pub fn round_trips(spec: &RunSpec, scheme: u16) -> Result<Vec<RoundTrip>, BuildError> {
    let schemes = at_work(spec, Factories::new());
    let Built {
        profiles, of_port, ..
    } = build_profiles(spec, &schemes, &mut EventQueue::new())?;
    let routing = build_routing(spec, &mut build_ports(spec, &of_port));
    let mut found: BTreeMap<(u32, u32), Option<RoundTrip>> = BTreeMap::new();
    let listed = spec.flows.iter().copied();
    let streamed = spec
        .arrivals
        .iter()
        .flat_map(|arrivals| arrivals.flows(spec.seed));
    for flow in listed.chain(streamed).filter(|flow| flow.scheme == scheme) {
        let find = || {
            let path = routing.path(flow.src, flow.dst, FlowKey::of(&flow))?;
            let (rtt, _) = routing.path_rtt(&path.ports, &profiles, spec.packet.mtu);
            Some(RoundTrip {
                rtt,
                links: path.ports.len(),
                flows: 0,
            })
        };
        if let Some(trip) = found.entry((flow.src.0, flow.dst.0)).or_insert_with(find) {
            trip.flows += 1;
        }
    }
    Ok(found.into_values().flatten().collect())
}

impl Simulation {
    /// Builds the network.
    ///
    /// # Errors
    /// If the description cannot be built.
    pub fn new(spec: impl Into<Arc<RunSpec>>) -> Result<Self, BuildError> {
        Self::with_factories(spec, Factories::default())
    }

    /// Builds the network with other senders for some of the schemes: learning or observing ones.
    ///
    /// # Errors
    /// If the description cannot be built.
    pub fn with_factories(spec: impl Into<Arc<RunSpec>>, factories: Factories) -> Result<Self, BuildError> {
        build(spec.into(), factories)
    }

    fn schedule_first_events(&mut self) {
        let spec = &self.world.spec;
        let mut schedule = |at: Time, event| self.core.schedule(LaneId::WHEEL, at.as_ps(), event);
        match self.kind.starts(spec) {
            Starts::Own => {}
            Starts::Ahead(order) if spec.dependencies.is_empty() => {
                for flow in order {
                    schedule(spec.flows[flow.0 as usize].start, Event::FlowStart { flow });
                }
            }
            Starts::AsDue | Starts::Ahead(_) => {
                if let Some(first) = spec.first_described_start() {
                    schedule(first, Event::FlowDue { flow: FlowId(0) });
                }
            }
        }
        // After the flows, since simultaneous events may be in the order in which they were scheduled.
        for (program, number) in spec.programs.iter().zip(0..) {
            schedule(program.start, Event::Program { program: number });
        }
        for change in 0..self.world.changes.len() {
            let at = self.world.changes[change].at;
            self.core.schedule(
                LaneId::WHEEL,
                at,
                Event::Topology {
                    change: change as u32,
                },
            );
        }
        for (port, at) in retry::dark_for_too_long(&self.world.spec) {
            let what = Event::Special {
                kind: retry::DARK,
                a: port.0,
                b: 0,
            };
            self.core.schedule(LaneId::WHEEL, at, what);
        }
        self.schedule_storms();
        if let (NetworkKind::Foreign(model), mut net) = self.split() {
            model.begin(&mut net);
        }
        self.arrange_queue_samples();
    }
}

/// Returns the classes of a run: its priorities, or its lanes.
fn classes_of(spec: &RunSpec) -> Classes {
    if let Some(lanes) = &spec.lanes {
        return Classes::of_lanes(lanes.lane_of, lanes.lanes());
    }
    Classes::new(
        (spec.flow_classes())
            .chain(spec.nic.ack_class)
            .chain(spec.switch.isolation.iter().flat_map(|own| [own.from, own.to]))
            .chain(spec.storms.iter().map(|storm| storm.class)),
    )
}

/// Returns the size of the longest packet that a link may have to keep, in bytes.
fn longest_frame(spec: &RunSpec, schemes: &[ActiveScheme]) -> u16 {
    let needs = schemes.iter().map(ActiveScheme::needs);
    let data = spec
        .packet
        .longest(needs.clone(), Bytes::new(u64::from(spec.first_header())));
    let acks = needs.map(|needs| spec.packet.ack_wire(&needs)).max();
    (data.get() as u16)
        .max(acks.unwrap_or(0))
        .max(spec.packet.cnp.get() as u16)
}

/// Builds all ports: `2i` and `2i + 1` are the ends of link `i`.
fn build_ports(spec: &RunSpec, profile_of: &List<PortId, ProfileId>) -> Ports {
    let mut ports = Ports::new();
    let losing = spec
        .link_changes
        .iter()
        .filter(|change| change.error_rate.is_some());
    let failing = spec.failures.iter().map(|failure| failure.link);
    let noisy = spec.noise.iter().map(|noise| noise.link);
    // A link that can lose packets at some time takes the slow path from the start.
    let fallible: BTreeSet<usize> = failing
        .chain(noisy)
        .chain(losing.map(|change| change.link))
        .collect();
    for (i, link) in spec.links.iter().enumerate() {
        let fallible = link.error_rate > 0.0 || fallible.contains(&i);
        for (end, node) in [link.a, link.b].into_iter().enumerate() {
            ports.push(Port {
                free_at: 0,
                free_tie: 0,
                tx_bytes: 0,
                queued: 0,
                peer: PortId(2 * i as u32 + 1 - end as u32),
                node,
                owner: u32::MAX,
                ways: 0,
                index: 0,
                profile: profile_of[PortId::new(2 * i + end)],
                ready: 0,
                paused: 0,
                asked: 0,
                served: 0,
                is_host: spec.nodes[node.index()] == NodeKind::Host,
                link: LinkState::Open,
                needs_slow_path: fallible,
                done_pending: false,
                peer_part: Port::SAME_PART,
                queue_max: 0,
            });
        }
    }
    ports
}

/// Numbers switches and NICs, and writes the numbers into their ports. Returns each NIC's ports: one, or all of its
/// host's if there are planes.
fn number_owners(spec: &RunSpec, mut ports: Ports) -> (Ports, Vec<Vec<PortId>>) {
    let mut switches = 0;
    let number: List<NodeId, u32> = spec
        .nodes
        .iter()
        .map(|&kind| {
            if kind == NodeKind::Switch {
                switches += 1;
                switches - 1
            } else {
                u32::MAX
            }
        })
        .collect();
    let mut nics: Vec<Vec<PortId>> = Vec::new();
    let mut of_host: BTreeMap<NodeId, u32> = BTreeMap::new();
    for (id, port) in ports.numbered_mut() {
        port.owner = if port.is_host {
            let next = nics.len() as u32;
            let nic = match spec.nic.planes {
                1 => next,
                _ => *of_host.entry(port.node).or_insert(next),
            };
            match nics.get_mut(nic as usize) {
                Some(ports) => ports.push(id),
                None => nics.push(vec![id]),
            }
            nic
        } else {
            number[port.node]
        };
    }
    (ports, nics)
}

/// Builds the routing, and writes each port's index at its node into the port.
fn build_routing(spec: &RunSpec, ports: &mut Ports) -> Routing {
    // The reference seeds each switch's hash with its id alone.
    let seed = if spec.quirks.ns3_random {
        0
    } else {
        Rng::stream(spec.seed, Purpose::Ecmp, 0).next_u31()
    };
    let end = |port: &Port| LinkEnd {
        node: port.node,
        profile: port.profile,
        up: true,
        ways: 0,
        index: 0,
    };
    let mut routing = Routing::new(
        spec.nodes.clone(),
        ports.iter().map(end).collect(),
        (seed, spec.ecmp_hash),
        &spec.quirks,
    );
    routing.fix(&spec.routes);
    for (id, port) in ports.numbered_mut() {
        let end = routing.end(id);
        (port.ways, port.index) = (end.ways, end.index);
    }
    routing
}

/// Returns the number of data packets of all flows; unlimited for streams and programs.
fn packets_of(spec: &RunSpec) -> usize {
    if spec.arrivals.is_some() || !spec.programs.is_empty() {
        return usize::MAX;
    }
    let mtu = spec.packet.mtu.get().max(1);
    let packets = spec.flows.iter().map(|flow| flow.size.get().div_ceil(mtu));
    packets.fold(0, u64::saturating_add) as usize
}

/// Returns the number of telemetry samples that a packet needs room for: one per switch of the longest path, more if a
/// failure may lengthen it, but no more than the reference's header has.
fn telemetry_samples(spec: &RunSpec, extent: ScenarioSize) -> usize {
    if spec.quirks.int_wire_precision {
        return WIRE_HOPS;
    }
    let shortest_only = spec.failures.is_empty() && spec.routes.is_empty();
    extent.switches + if shortest_only { 0 } else { 4 }
}

/// Returns the times at which links fail, come back and change. Overlapping failures of one link are one.
fn build_changes(spec: &RunSpec, settings: &Settings) -> Vec<Change> {
    let end = |until: Option<Time>| until.map_or(u64::MAX, Time::as_ps);
    let mut failures: Vec<(LinkId, u64, u64)> = spec
        .failures
        .iter()
        .map(|failure| {
            let at = failure.at.as_ps();
            (LinkId::new(failure.link), at, end(failure.until).max(at))
        })
        .collect();
    failures.sort_unstable();
    // Merged, or the end of the first failure would bring the link up during the second.
    failures.dedup_by(|next, first| {
        let overlap = next.0 == first.0 && next.1 <= first.2;
        if overlap {
            first.2 = first.2.max(next.2);
        }
        overlap
    });
    let later = spec.reconvergence.as_ps();
    // Routes follow a failure only after the reconvergence time: until then packets run into the dead link.
    let mut changes: Vec<Change> = Vec::new();
    for (link, at, until) in failures {
        for (at, up) in [(at, false), (until, true)] {
            if at == u64::MAX {
                continue;
            }
            let change = |at, what| Change { at, link, what };
            changes.push(change(at, LinkChange::Up(up)));
            if later > 0 {
                changes.push(change(at.saturating_add(later), LinkChange::Routed(up)));
            }
        }
    }
    for (&link, settings) in settings {
        let set = |&(at, setting): &(u64, Setting)| Change {
            at,
            link,
            what: LinkChange::Set(setting),
        };
        changes.extend(settings.iter().map(set));
    }
    // The sort is stable: at one instant failures and routes come before other settings.
    changes.sort_by_key(|change| change.at);
    changes
}

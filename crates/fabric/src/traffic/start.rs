//! The start of a flow: its paths, its queue pair, its first packet.

use paceline_congestion::{PathInfo, SenderQuirks, TimerBank};
use paceline_kernel::ids::Id;
use paceline_kernel::queue::LaneId;
use paceline_kernel::rng::{Purpose, Rng};
use paceline_kernel::{Bytes, Span, Time};

use crate::core::Core;
use crate::core::event::Event;
use crate::host::sender::Qp;
use crate::ids::{FlowId, PortId};
use crate::outcome::{FlowRecord, FlowStatus};
use crate::reference::bolt_ns3::Share;
use crate::run::simulation::Simulation;
use crate::spec::{Awaited, FlowSpec, NodeId, Recovery, TieOrder};
use crate::traffic::Traffic;
use crate::world::World;
use crate::world::routing::{FlowKey, bdp, path_rtt};

/// A flow's two paths through the network.
#[derive(Clone)]
pub(crate) struct Paths {
    /// Egress ports, the host's first.
    pub(crate) forward: Vec<PortId>,
    pub(crate) back: Vec<PortId>,
}

impl Traffic {
    /// The flows of one start time enter, in order; then the next start time is arranged for.
    pub(crate) fn flow_due(&mut self, world: &World, core: &mut Core, first: FlowId) {
        if self.stream.is_some() {
            return self.draw_due(world, core);
        }
        let start = world.flow(core, first).start;
        let mut next = first;
        while let Some(flow) = world.spec.flows.get(next.index())
            && flow.start == start
        {
            if core.has(flow.src) && self.comes_due(core, next) {
                // An event of its own, so that what was already due at this instant comes first.
                core.schedule(LaneId::WHEEL, core.now, Event::FlowStart { flow: next });
            }
            next = next.plus(1);
        }
        if let Some(flow) = world.spec.flows.get(next.index()) {
            core.schedule(LaneId::WHEEL, flow.start.as_ps(), Event::FlowDue { flow: next });
        }
    }
}

impl Traffic {
    /// The same of a stream: the flows of this start time are drawn.
    fn draw_due(&mut self, world: &World, core: &mut Core) {
        let (Some(stream), Some(arrivals)) = (&mut self.stream, &world.spec.arrivals) else {
            return;
        };
        let now = Time::from_ps(core.now);
        while stream.next_start() == Some(now)
            && let Some(spec) = stream.draw(arrivals)
        {
            let flow = FlowId(self.begun);
            self.begun += 1;
            core.described.begin(flow, spec);
            self.flows.begin(flow, FlowRecord::not_started(&spec));
            core.schedule(LaneId::WHEEL, core.now, Event::FlowStart { flow });
        }
        if let Some(start) = stream.next_start() {
            let next = FlowId(self.begun);
            core.schedule(LaneId::WHEEL, start.as_ps(), Event::FlowDue { flow: next });
        }
    }
}

impl World {
    /// Finds both paths of a flow.
    pub(crate) fn find_paths(&self, core: &Core, flow: FlowId) -> Option<Paths> {
        self.find_paths_of(core, &self.flow(core, flow))
    }

    /// The same of a flow that there need not be.
    pub(crate) fn find_paths_of(&self, core: &Core, flow: &FlowSpec) -> Option<Paths> {
        let (src, dst, key) = (flow.src, flow.dst, self.key_of(flow));
        let forward = self.routing.path(&core.ports, src, dst, key)?.ports;
        let back = self.routing.path(&core.ports, dst, src, key.reversed())?.ports;
        Some(Paths { forward, back })
    }

    /// Finds the path of a flow's acknowledgements.
    pub(crate) fn find_way_back(&self, core: &Core, flow: FlowId) -> Option<Vec<PortId>> {
        let flow = self.flow(core, flow);
        let key = self.key_of(&flow).reversed();
        let back = self.routing.path(&core.ports, flow.dst, flow.src, key)?;
        Some(back.ports)
    }

    /// What ECMP hashes of a flow's data.
    fn key_of(&self, flow: &FlowSpec) -> FlowKey {
        if self.quirks.hash_hosts_only {
            return FlowKey::new(flow.src.0, flow.dst.0, 0, 0);
        }
        FlowKey::of(flow)
    }

    /// What packets on a path carry, and the generation that goes with it: an old one where they have no room for
    /// their way.
    pub(crate) fn way_of(&self, core: &Core, path: &[PortId]) -> (u64, u16) {
        match self.routing.write_way(&core.ports, path) {
            Some(way) => (way, self.epoch),
            None => (0, self.old_epoch()),
        }
    }
}

impl Simulation {
    /// The path as the scheme sees it.
    pub(crate) fn path_info(&self, forward: &[PortId], data_header: u16) -> PathInfo {
        let mtu = self.world.packet.mtu;
        let rate = |port: PortId| self.world.profiles[self.core.ports[port].profile].rate;
        let (rtt, bps) = self.round_trip_of(forward);
        let together = self.rate_of_all_ways(forward);
        let (base_rtt, product) = match together {
            _ if !self.world.nic.global_rtt => (rtt, bdp(rtt, together.unwrap_or(bps))),
            None => (self.world.base_rtt, self.world.bdp),
            Some(bps) => (
                self.world.base_rtt,
                self.world.bdp.max(bdp(self.world.base_rtt, bps)),
            ),
        };
        PathInfo {
            line_rate: rate(forward[0]),
            base_rtt,
            bdp: Bytes::new(product),
            mtu,
            full_packet: mtu + Bytes::new(u64::from(data_header)),
            hop_rates: forward[1..].iter().map(|&port| rate(port)).collect(),
            int: self.switches.telemetry.format,
            quirks: SenderQuirks {
                bolt_ns3_sender: self.world.quirks.bolt_ns3_sender,
                drain_time: self.world.quirks.src_drain_time,
                ungated_halving: self.world.quirks.ungated_halving,
                swift_beta_sign: self.world.quirks.swift_beta_sign,
                swift_double_update: self.world.quirks.swift_double_update,
            },
        }
    }

    /// Source and destination of a path.
    pub(crate) fn hosts_of(&self, forward: &[PortId]) -> (NodeId, NodeId) {
        let last = self.core.ports[forward[forward.len() - 1]].peer;
        (self.core.ports[forward[0]].node, self.core.ports[last].node)
    }

    /// Round-trip time and slowest rate (bit/s) of an empty network between a path's ends: by this path, or
    /// as the reference found them before the run.
    fn round_trip_of(&self, forward: &[PortId]) -> (Span, u64) {
        let found = self.world.first_paths.round_trip(self.hosts_of(forward));
        found.unwrap_or_else(|| {
            path_rtt(
                forward,
                &self.core.ports,
                &self.world.profiles,
                self.world.packet.mtu,
            )
        })
    }

    /// A queue pair begins to send.
    pub(crate) fn flow_start(&mut self, flow: FlowId) {
        let spec = self.world.flow(&self.core, flow);
        let record = &mut self.traffic.flows[flow];
        record.status = FlowStatus::Unfinished;
        record.start = Time::from_ps(self.core.now);
        self.traffic
            .release(&self.world, &mut self.core, flow, Awaited::Started);
        let mut share = Share::New {
            keep: false,
            found: None,
        };
        if self.bolt_ns3.on {
            share = self.share(flow);
        }
        let Share::New { keep, found } = share else {
            return;
        };
        self.find_first_path(spec.dst);
        let paths = self.world.find_paths(&self.core, flow);
        if paths.is_none() && self.world.changes.is_empty() {
            self.traffic.flows[flow].status = FlowStatus::Unreachable;
            self.traffic.end(&self.world, &mut self.core, flow, |_| false);
            return;
        }
        let reachable = paths.is_some();
        // Without a path (a link is down) the flow waits at its host's first port.
        let paths = paths.unwrap_or_else(|| Paths {
            forward: vec![self.world.routing.ports_of(spec.src)[0]],
            back: vec![self.world.routing.ports_of(spec.dst)[0]],
        });
        let (route, data_epoch) = self.data_route(&paths.forward, spec.dst);
        let scheme = &self.world.spec.schemes[usize::from(spec.scheme)];
        let needs = self.world.scheme_of(&self.core, flow).needs();
        let mut info = self.path_info(&paths.forward, self.world.packet.data_headers(&needs));
        if self.world.quirks.hpcc_divides_by_window
            && scheme.window == paceline_congestion::registry::WindowMode::Off
        {
            info.bdp = Bytes::ZERO;
        }
        let class = self.world.classes.dense(spec.class);
        let at_work = self.world.scheme_of(&self.core, flow);
        let controller = at_work.build(&info);
        let packet = &self.world.packet;
        let scheme = &self.world.spec.schemes[usize::from(spec.scheme)];
        let mut qp = Qp {
            flow,
            port: paths.forward[0],
            place: 0,
            account: self.core.watch.accounts.place_of(flow),
            size: spec.size.get(),
            snd_nxt: 0,
            snd_una: 0,
            sacked: 0,
            limit: spec.size.get(),
            repairs: false,
            next_avail: self.core.now,
            gap: 0,
            window: u64::MAX,
            bound: 0,
            rate: info.line_rate,
            asked_window: Bytes::MAX,
            last_wire: 0,
            data_header: packet.data_headers(&needs),
            class,
            window_mode: scheme.window,
            reachable,
            done: false,
            route,
            data_epoch,
            max_sent: 0,
            sent_unheard: u64::MAX,
            sample_after: 0,
            last_progress: self.core.now,
            retransmitted: 0,
            needs,
            echo_notifies: (at_work.receiver_half()).is_none_or(|half| !half.replaces_echo()),
            scheme: controller,
            timers: self.timers(),
            rng: Rng::stream(self.world.spec.seed, Purpose::Congestion, u64::from(flow.0)),
            path: Box::new(info),
        };
        qp.apply(qp.scheme.limits());
        if reachable {
            self.traffic.flows[flow].ideal = self.ideal_fct(flow, &paths.forward, &paths.back);
        }
        let bdp = if qp.path.bdp == Bytes::ZERO {
            self.world.bdp
        } else {
            qp.path.bdp.get()
        };
        let slot = self.hosts.place(&self.world, qp);
        self.hosts.note_order(&self.world, &self.core, slot);
        if let Recovery::SelectiveRepeat(irn) = self.world.nic.recovery {
            self.hosts.begin_selective_repeat(&self.world, slot, &irn, bdp);
        }
        self.core
            .watch
            .recorder
            .flows
            .started(slot, &self.hosts.qps[slot], self.core.now);
        let ways = reachable.then_some([&paths.forward[..], &paths.back]);
        self.core.open_account(&self.world, &self.hosts.qps[slot], ways);
        if self.core.watch.closeups.on() {
            self.core.look_begins(slot, &self.hosts.qps[slot]);
        }
        if self.bolt_ns3.on {
            self.hosts.receivers.begin(&self.world, &self.core, flow, slot);
            return self.start_sender(slot, keep, found);
        }
        self.hosts.join_nic(&self.world, &mut self.core, slot);
    }

    /// A new flow's timers.
    fn timers(&self) -> TimerBank {
        match self.world.spec.ties {
            TieOrder::Insertion => TimerBank::with_event_per_setting(),
            TieOrder::Structural | TieOrder::Shuffled(_) => TimerBank::default(),
        }
    }
}

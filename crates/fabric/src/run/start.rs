//! The start of a flow: its paths, its queue pair, its first packet.

use paceline_congestion::{PathInfo, SenderQuirks, TimerBank};
use paceline_kernel::rng::{Purpose, Rng};
use paceline_kernel::{Bytes, Span, Time};

use crate::core::paths::Paths;
use crate::host::qp::Qp;
use crate::ids::{FlowId, PortId, QpId};
use crate::outcome::FlowStatus;
use crate::run::simulation::Simulation;
use crate::spec::{Awaited, NodeId, Recovery, TieOrder};
use crate::world::routing::bdp;

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
            let (profiles, mtu) = (&self.world.profiles, self.world.packet.mtu);
            self.world.routing.path_rtt(forward, profiles, mtu)
        })
    }

    /// A flow starts: a queue pair begins to send.
    pub(crate) fn flow_start(&mut self, flow: FlowId) {
        let record = &mut self.traffic.flows[flow];
        record.status = FlowStatus::Unfinished;
        record.start = Time::from_ps(self.core.now);
        self.traffic
            .release(&self.world, &mut self.core, flow, Awaited::Started);
        let (kind, mut net) = self.split();
        let Some(own) = kind.share(&mut net, flow) else {
            return;
        };
        let Some(slot) = self.open(flow) else {
            return;
        };
        let (kind, mut net) = self.split();
        kind.begin(&mut net, slot, own);
    }

    /// Gives a flow its queue pair; `None` where there is no way.
    fn open(&mut self, flow: FlowId) -> Option<QpId> {
        let spec = self.world.flow(&self.core, flow);
        self.find_first_path(spec.dst);
        let paths = self.world.find_paths(&self.core, flow);
        if paths.is_none() && self.world.changes.is_empty() {
            self.traffic.flows[flow].status = FlowStatus::Unreachable;
            self.traffic.end(&self.world, &mut self.core, flow, |_| false);
            return None;
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
        Some(slot)
    }

    /// A new flow's timers.
    fn timers(&self) -> TimerBank {
        match self.world.spec.ties {
            TieOrder::Insertion => TimerBank::with_event_per_setting(),
            TieOrder::Structural | TieOrder::Shuffled(_) => TimerBank::default(),
        }
    }
}

//! Start of a flow: its paths, its queue pair, its first packet.

use paceline_congestion::PathInfo;
use paceline_kernel::{BitRate, Bytes, Span};

use crate::core::cx::Cx;
use crate::core::paths::Paths;
use crate::host::DataPath;
use crate::ids::{FlowId, PortId, QpId};
use crate::run::simulation::Simulation;
use crate::world::routing::bdp;
use paceline_run::spec::{FlowSpec, NodeId};

impl Simulation {
    /// Returns the properties of a flow's path that its scheme sees.
    pub(super) fn path_info(&self, flow: FlowId, forward: &[PortId], data_header: u16) -> PathInfo {
        let mtu = self.world.packet.mtu;
        let rate = |port: PortId| self.world.nominal(port).rate;
        let (rtt, bps) = self.round_trip_of(forward);
        let spec = self.world.flow(&self.core, flow);
        let to = (spec.dst, spec.label);
        let together = (self.switches).rate_of_all_ways(&self.world, &self.core, forward, to);
        let (base_rtt, product) = match together {
            _ if !self.world.nic.global_rtt => (rtt, bdp(rtt, together.unwrap_or(bps))),
            None => (self.world.base_rtt, self.world.bdp),
            Some(bps) => (
                self.world.base_rtt,
                self.world.bdp.max(bdp(self.world.base_rtt, bps)),
            ),
        };
        let planes = u64::from(self.planes_of(&spec));
        PathInfo {
            line_rate: BitRate::from_bps(rate(forward[0]).as_bps() * planes),
            base_rtt,
            bdp: Bytes::new(product * planes),
            mtu,
            full_packet: mtu + Bytes::new(u64::from(data_header)),
            first_message: spec.size,
            hop_rates: forward[1..].iter().map(|&port| rate(port)).collect(),
            int: self.switches.int_format(),
        }
    }

    /// Returns the number of planes that a flow's packets take.
    pub(super) fn planes_of(&self, flow: &FlowSpec) -> u8 {
        match self.world.chooses_paths(flow) {
            true => self.world.nic.planes,
            false => 1,
        }
    }

    /// Returns source and destination of a path.
    pub(super) fn hosts_of(&self, forward: &[PortId]) -> (NodeId, NodeId) {
        let last = self.core.ports[forward[forward.len() - 1]].peer;
        (self.core.ports[forward[0]].node, self.core.ports[last].node)
    }

    /// Returns the round-trip time and the slowest rate (bit/s) of an empty network between a path's ends: by this
    /// path, or as the reference found them before the run.
    fn round_trip_of(&self, forward: &[PortId]) -> (Span, u64) {
        let found = self.world.first_paths.round_trip(self.hosts_of(forward));
        found.unwrap_or_else(|| {
            let (profiles, mtu) = (&self.world.profiles, self.world.packet.mtu);
            self.world.routing.path_rtt(forward, profiles, mtu)
        })
    }

    /// Starts a flow: a queue pair starts to send, or a message is posted to an open connection.
    pub(super) fn flow_start(&mut self, flow: FlowId) {
        self.traffic
            .start(&mut Cx::new(&self.world, &mut self.core), flow);
        let (kind, mut net) = self.split();
        if !kind.start(&mut net, flow) {
            return;
        }
        let connection = self.world.connection_of(flow);
        if let Some(slot) = connection.and_then(|first| self.hosts.sender_of(first)) {
            self.post(slot, flow);
            return self.hosts.resume(&mut Cx::new(&self.world, &mut self.core), slot);
        }
        let Some(slot) = self.open(flow) else {
            return;
        };
        if connection.is_some() {
            self.post(slot, flow);
        }
        let (kind, mut net) = self.split();
        kind.begin(&mut net, slot);
    }

    /// Posts a message to its connection.
    fn post(&mut self, slot: QpId, flow: FlowId) {
        let size = self.world.flow(&self.core, flow).size;
        if self.hosts.qp(slot).is_reachable() {
            let ideal = self.hosts.ideal_of(slot, size).or_else(|| {
                let paths = self.world.find_paths(&self.core, flow)?;
                let ideal = self.ideal_fct(flow, &paths.forward, &paths.back);
                self.hosts.note_ideal(slot, size, ideal);
                Some(ideal)
            });
            self.traffic.record_mut(flow).ideal = ideal.unwrap_or_default();
        }
        self.hosts
            .post(&mut Cx::new(&self.world, &mut self.core), slot, flow);
        self.hosts.watch_post(&mut self.core, slot, flow);
    }

    /// Creates a flow's queue pair, or the connection that it is the first of; `None` if there is no path.
    fn open(&mut self, flow: FlowId) -> Option<QpId> {
        let spec = self.world.flow(&self.core, flow);
        self.find_first_path(spec.dst);
        let paths = self.world.find_paths(&self.core, flow);
        // Without later changes of topology no path can appear, and the flow would wait until the end of the run.
        if paths.is_none() && self.world.changes.is_empty() {
            self.traffic
                .give_up(&mut Cx::new(&self.world, &mut self.core), flow);
            return None;
        }
        let reachable = paths.is_some();
        // With a link down, the flow waits at its host's first port.
        let paths = paths.unwrap_or_else(|| Paths {
            forward: vec![self.world.routing.ports_of(spec.src)[0]],
            back: vec![self.world.routing.ports_of(spec.dst)[0]],
        });
        let (route, epoch) = self.data_route(&paths, &spec, reachable);
        let way = DataPath {
            port: paths.forward[0],
            last: paths.forward[paths.forward.len() - 1],
            route,
            epoch,
            reachable,
        };
        let scheme = &self.world.spec.schemes[usize::from(spec.scheme)];
        let needs = self.world.scheme_of(&self.core, flow).needs();
        let mut info = self.path_info(flow, &paths.forward, self.world.packet.data_headers(&needs));
        if self.world.quirks.hpcc_divides_by_window
            && scheme.window == paceline_congestion::registry::WindowMode::Off
        {
            info.bdp = Bytes::ZERO;
        }
        // A connection's messages get their ideal times when they are posted.
        if reachable && spec.connection.is_none() {
            self.traffic.record_mut(flow).ideal = self.ideal_fct(flow, &paths.forward, &paths.back);
        }
        let named = self.world.sending_flow(flow);
        let slot = self
            .hosts
            .open(&Cx::new(&self.world, &mut self.core), named, way, info);
        self.hosts
            .join_group(&mut Cx::new(&self.world, &mut self.core), slot);
        let ways = reachable.then_some([&paths.forward[..], &paths.back]);
        self.hosts
            .watch_begin(&mut Cx::new(&self.world, &mut self.core), slot, ways);
        Some(slot)
    }
}

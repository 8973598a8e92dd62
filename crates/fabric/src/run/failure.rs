//! Links that fail, come back or change.

use paceline_kernel::ids::Id;
use std::sync::Arc;

use paceline_kernel::Span;

use crate::core::cx::Cx;
use crate::core::lost::Lost;
use crate::host::DataPath;
use crate::ids::{LinkId, PacketId, PortId, QpId};
use crate::run::kind::NetworkKind;
use crate::run::simulation::Simulation;
use crate::world::SPREAD;
use crate::world::changes::{Change, LinkChange, Setting};
use crate::world::classes::STRICT;

impl Simulation {
    /// Applies a change of the network.
    pub(super) fn change_topology(&mut self, change: usize) {
        let Change { link, what, .. } = self.world.changes[change];
        match what {
            LinkChange::Set(setting) => self.set_link(link, setting),
            LinkChange::Routed(up) => {
                self.settle_all();
                self.route_anew(link, up);
            }
            // Queued packets and those on the link still arrive, and no flow is rerouted.
            LinkChange::Up(up) if self.world.quirks.gentle_failures => {
                for port in link.ends() {
                    self.core.set_up(port, up);
                }
                Arc::make_mut(&mut self.world).routing.set_link(link, up);
            }
            LinkChange::Up(up) => {
                // Time that has passed is accounted under the old topology.
                self.settle_all();
                // The reference finds these paths before the run, so they are found while the link is still part of the
                // routes.
                self.find_first_paths();
                self.fail_or_come_back(link, up);
                // With a reconvergence time, routes change by a later event.
                if self.world.spec.reconvergence.is_zero() {
                    self.route_anew(link, up);
                }
            }
        }
    }

    /// Fails a link, with all packets on it and in its queues, or brings it back.
    fn fail_or_come_back(&mut self, link: LinkId, up: bool) {
        for port in link.ends() {
            self.core.set_up(port, up);
            if up {
                self.resume_storms(port);
                if self.world.spec.lanes.is_some() {
                    self.core.renew_credits(&self.world, port);
                }
            } else {
                self.take_down(port);
            }
        }
        if !up {
            self.core.link_fails(link);
        }
    }

    /// Takes a link out of the routes or adds it, and recomputes every flow's path.
    fn route_anew(&mut self, link: LinkId, up: bool) {
        let world = Arc::make_mut(&mut self.world);
        world.routing.set_link(link, up);
        world.routing.forget();
        self.switches.forget_ways();
        // Packets in the network have the old generation, and are routed hop by hop.
        world.epoch = (world.epoch + 1) & !SPREAD;
        for slot in self.hosts.live_senders() {
            self.find_new_path(slot);
        }
        self.hosts.find_ways_back(&Cx::new(&self.world, &mut self.core));
        // NICs look last: a packet sent before all paths are known would take an old one.
        self.hosts.look_anew(&mut Cx::new(&self.world, &mut self.core));
    }

    /// Changes a link's rate, delay and loss.
    fn set_link(&mut self, link: LinkId, setting: Setting) {
        self.settle_all();
        self.core.set_error_rate(link, setting.error_rate);
        for (port, profile) in link.ends().into_iter().zip(setting.profiles) {
            let before = self.world.profiles[self.core.ports[port].profile].delay;
            self.core.ports[port].profile = profile;
            let shorter = before.saturating_sub(self.world.profiles[profile].delay);
            // On a shorter cable, the next packet must not arrive before those that were sent under the longer delay.
            if shorter > 0 {
                self.core.rest(port, shorter);
                self.try_send(port);
            }
        }
    }

    /// Takes a port down: its queues are lost, and pauses in both directions are void.
    fn take_down(&mut self, port: PortId) {
        if let (NetworkKind::Lanes(lanes), mut net) = self.split() {
            net.with_lanes(|net| lanes.link_down(net, port));
        }
        self.core.retry_fails(&self.world, port);
        let now = self.core.now();
        let keeps_bytes = self.world.quirks.lost_bytes_stay;
        // First, so that packets that came in here and are lost below do not send a resume through this port.
        if !keeps_bytes {
            self.core.ports[port].asked = 0;
        }
        for class in 0..self.core.class_count() as u8 {
            self.empty_queue(port, class, Lost::Link);
            let p = &mut self.core.ports[port];
            if p.paused & 1 << class != 0 {
                self.core.count_pause(port, class);
            }
        }
        self.switches.link_down(&self.core, port);
        let p = &mut self.core.ports[port];
        p.ready = 0;
        p.paused = 0;
        // A transmission is cut off now, and the port is idle when the link comes back.
        p.free_at = p.free_at.min(now);
        p.free_tie = 0;
        p.done_pending = false;
        if self.world.spec.lanes.is_some() {
            self.core.forget_credits(port);
        }
        self.core
            .watch
            .recorder
            .ports
            .paused(port, false, self.core.now());
    }

    /// Loses all packets of a port's queue. Returns their number.
    pub(super) fn empty_queue(&mut self, port: PortId, class: u8, why: Lost) -> u64 {
        let keeps_bytes = self.world.quirks.lost_bytes_stay;
        let mut lost = 0;
        while self.core.queues[(port, class)].head != PacketId::NONE {
            let (id, _) = self.core.queues[(port, class)].pop(&self.core.packets);
            let packet = *self.core.packets.get(id);
            let (wire, ingress) = (u32::from(packet.wire), packet.ingress);
            self.core.ports[port].queued -= wire;
            let cx = Cx::new(&self.world, &mut self.core);
            self.switches.left_queue(&cx, port, &packet);
            // Other ingress ports may have paused because of these packets, and nothing else would resume them.
            let account = self.world.account_class(&packet);
            if class > STRICT && ingress != PortId::NONE && !keeps_bytes {
                self.switches
                    .release_lost(&mut Cx::new(&self.world, &mut self.core), ingress, account, wire);
            }
            self.core.discard(&self.world, port, id, why);
            lost += 1;
        }
        self.core.ports[port].ready &= !(1 << class);
        lost
    }

    /// Gives a live queue pair its path in the new topology, if there is one.
    fn find_new_path(&mut self, slot: QpId) {
        let flow = self.hosts.qp(slot).flow();
        let Some(paths) = self.world.find_paths(&self.core, flow) else {
            return self.hosts.lose_path(slot);
        };
        let spec = self.world.flow(&self.core, flow);
        self.find_first_path(spec.dst);
        let (route, epoch) = self.data_route(&paths, &spec, true);
        let before = self.hosts.qp(slot);
        let mut info = self.path_info(flow, &paths.forward, before.data_header());
        let mut finds_ideal = false;
        if self.world.quirks.first_path_found {
            // The reference keeps the values of the flow's start. Only the rate in the ideal time is looked up again.
            info.base_rtt = before.path().base_rtt;
            info.bdp = before.path().bdp;
            finds_ideal = true;
        }
        // The flow may have started while there was no path.
        for flow in self.hosts.flows_of(slot) {
            if finds_ideal || self.traffic.record_mut(flow).ideal == Span::ZERO {
                self.traffic.record_mut(flow).ideal = self.ideal_fct(flow, &paths.forward, &paths.back);
            }
        }
        let way = DataPath {
            port: paths.forward[0],
            last: paths.forward[paths.forward.len() - 1],
            route,
            epoch,
            reachable: true,
        };
        self.hosts.take_path(&self.core, slot, way, info);
        self.hosts
            .join_group(&mut Cx::new(&self.world, &mut self.core), slot);
    }
}

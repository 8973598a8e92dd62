//! NICs with a link into each of several planes, and those whose senders keep a state for each path. A queue pair that
//! chooses a path for each packet sends through whichever link is free, by turns; any other keeps to one.

use paceline_kernel::ids::List;
use paceline_run::spec::RunSpec;

use crate::core::cx::Cx;
use crate::host::Hosts;
use crate::host::scheduler::Choice;
use crate::ids::{NicId, PortId, QpId};

/// Links of each NIC, in the order of the planes.
#[derive(Clone, Debug)]
pub(super) struct Planes {
    nics: List<NicId, Links>,
}

#[derive(Clone, Debug)]
struct Links {
    ports: Box<[PortId]>,
    /// Plane of the last data packet.
    last: usize,
}

impl Planes {
    /// Creates the links of NICs with these ports; `None` if a NIC is a port like any other.
    pub(super) fn of(spec: &RunSpec, nics: &[Vec<PortId>]) -> Option<Box<Self>> {
        let links = |ports: &Vec<PortId>| Links {
            ports: ports.clone().into(),
            last: ports.len() - 1,
        };
        spec.chooses_links().then(|| {
            Box::new(Self {
                nics: nics.iter().map(links).collect(),
            })
        })
    }
}

/// Queue pair that may send, with its index and the plane.
enum Turn {
    Now(usize, QpId, usize),
    Later(u64),
    None,
}

impl Hosts {
    /// Sends through all links of a NIC that are free, like [`Hosts::nic_send`] elsewhere.
    #[inline(never)]
    pub(super) fn send_over_planes(&mut self, cx: &mut Cx<'_>, nic: NicId) {
        loop {
            let free = self.free_links(cx, nic);
            if free == 0 {
                return;
            }
            match self.next_turn(cx, nic, free) {
                Turn::Now(index, slot, plane) => {
                    let Some(planes) = &mut self.planes else { return };
                    let links = &mut planes.nics[nic];
                    links.last = plane;
                    let port = links.ports[plane];
                    self.scheduler.serve(nic, index);
                    match cx.core.has_retry(port) {
                        true => self.send_data::<true>(cx, port, slot),
                        false => self.send_data::<false>(cx, port, slot),
                    }
                }
                Turn::Later(at) => return self.arm_wake(cx, nic, at),
                Turn::None => return,
            }
        }
    }

    /// Returns a bit for each link that is free for data, after the answers that wait there have been sent.
    fn free_links(&mut self, cx: &mut Cx<'_>, nic: NicId) -> u32 {
        let mut free = 0;
        for plane in 0..self.ports_of(nic).len() {
            let port = self.ports_of(nic)[plane];
            let p = &cx.core.ports[port];
            if !p.is_up() {
                continue;
            }
            let has_acks = p.ready != 0;
            if cx.core.is_busy(port) {
                if has_acks || !self.scheduler.is_empty(nic) {
                    cx.core.await_transmission(port);
                }
            } else if has_acks && let Some(class) = cx.world.next_ack(&cx.core.ports[port]) {
                match cx.core.has_retry(port) {
                    true => self.send_ack::<true>(cx, port, class),
                    false => self.send_ack::<false>(cx, port, class),
                }
            } else {
                free |= 1 << plane;
            }
        }
        free
    }

    /// Returns the queue pair that sends next through one of these links.
    fn next_turn(&mut self, cx: &Cx<'_>, nic: NicId, free: u32) -> Turn {
        let now = cx.core.now();
        let links = self.ports_of(nic).iter().enumerate();
        let open = links.filter(|&(plane, _)| free >> plane & 1 == 1);
        let paused = open.fold(u16::MAX, |all, (_, &port)| all & cx.core.ports[port].paused);
        let (index, slot) = match self.choose_qp(nic, (now, paused)) {
            Choice::Now(index, slot) => (index, slot),
            Choice::Later(at) => return Turn::Later(at),
            Choice::None => return Turn::None,
        };
        if let Some(plane) = self.plane_for(cx, (nic, slot), free) {
            return Turn::Now(index, slot, plane);
        }
        // Its links are busy or its paths bad: those of others need not be.
        let count = self.scheduler.indices(nic);
        let mut soonest = u64::MAX;
        for index in (1..count).map(|step| (index + step) % count) {
            let Some(slot) = self.scheduler.at(nic, index) else {
                continue;
            };
            let qp = &self.qps[slot];
            if qp.is_blocked(paused) {
                continue;
            }
            if qp.pacing.next_avail > now {
                soonest = soonest.min(qp.pacing.next_avail);
            } else if let Some(plane) = self.plane_for(cx, (nic, slot), free) {
                return Turn::Now(index, slot, plane);
            }
        }
        match soonest {
            u64::MAX => Turn::None,
            at => Turn::Later(at),
        }
    }

    /// Returns the plane through which a queue pair's next packet can leave: of these that are free, the first after
    /// the one of the NIC's last packet.
    fn plane_for(&mut self, cx: &Cx<'_>, (nic, slot): (NicId, QpId), free: u32) -> Option<usize> {
        let links = &self.planes.as_ref()?.nics[nic];
        let qp = &mut self.qps[slot];
        let is_open = |plane: usize| {
            let paused = cx.core.ports[links.ports[plane]].paused;
            free >> plane & 1 == 1 && paused >> qp.class & 1 == 0
        };
        let ends = [qp.data.port, qp.data.last];
        let count = links.ports.len();
        match &mut qp.ways {
            None => (0..count).find(|&plane| links.ports[plane] == ends[0] && is_open(plane)),
            Some(ways) => {
                let mut turns = (1..=count).map(|step| (links.last + step) % count);
                turns.find(|&plane| is_open(plane) && ways.can_use(cx.world, ends, plane))
            }
        }
    }

    /// Returns the plane of a port of a NIC; 0 without planes.
    #[inline]
    pub(super) fn plane_of(&self, nic: NicId, port: PortId) -> usize {
        let found = self.ports_of(nic).iter().position(|&other| other == port);
        found.unwrap_or(0)
    }

    /// Returns the ports of a NIC.
    pub(super) fn ports_of(&self, nic: NicId) -> &[PortId] {
        match &self.planes {
            Some(planes) => &planes.nics[nic].ports,
            None => std::slice::from_ref(&self.scheduler.nics[nic].port),
        }
    }
}

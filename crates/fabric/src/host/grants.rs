//! Receiver-driven transport: the only code that calls the hosts' schedulers of grants.

use paceline_congestion::Grant;
use paceline_congestion::receiver::{Arrived, GrantScheduler};
use paceline_kernel::Time;
use paceline_kernel::ids::Id;
use paceline_kernel::queue::LaneId;

use crate::core::Core;
use crate::core::event::Event;
use crate::ids::{FlowId, NicId, PortId};
use crate::world::World;

/// Schedulers of all hosts: for each NIC, one per scheme with grants.
#[derive(Clone, Debug, Default)]
pub(super) struct Grants {
    /// Index by NIC, then by scheme; a scheduler is created when its first packet arrives.
    hosts: Vec<Option<Box<GrantingHost>>>,
}

/// A host's scheduler, and the numbers by which it knows flows.
#[derive(Clone, Debug)]
struct GrantingHost {
    scheduler: Box<dyn GrantScheduler>,
    flows: Vec<FlowId>,
    free: Vec<u32>,
    /// Time of the pending event, in ps; `u64::MAX` for none.
    wakes_at: u64,
}

/// A receiver's registration with its host's scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Granted {
    /// Index in [`Grants::hosts`], by NIC and scheme.
    place: u32,
    /// Number of the flow in the scheduler; [`Self::NEW`] until the first packet arrives.
    flow: u32,
}

impl Granted {
    const NEW: u32 = u32::MAX;

    /// Registers a flow that is answered by `port`; `None` if its scheme has no grants.
    pub(super) fn of(world: &World, core: &Core, flow: FlowId, port: PortId) -> Option<Self> {
        if !world.scheme_of(core, flow).needs().grants {
            return None;
        }
        let scheme = usize::from(world.flow(core, flow).scheme);
        let place = core.ports[port].nic().index() * world.schemes.len() + scheme;
        Some(Self {
            place: place as u32,
            flow: Self::NEW,
        })
    }
}

impl Grants {
    /// Takes over the schedulers of a NIC from another part of the run.
    pub(super) fn take_over(&mut self, other: &mut Self, nic: NicId, schemes: usize) {
        for place in nic.index() * schemes..(nic.index() + 1) * schemes {
            if let Some(theirs) = other.hosts.get_mut(place) {
                let theirs = theirs.take();
                self.reach(place);
                self.hosts[place] = theirs;
            }
        }
    }

    fn reach(&mut self, place: usize) {
        if self.hosts.len() <= place {
            self.hosts.resize_with(place + 1, || None);
        }
    }

    /// Shows a data packet of a flow, which `port` answers, to the scheduler.
    pub(super) fn on_data(
        &mut self,
        world: &World,
        core: &mut Core,
        granted: &mut Granted,
        (flow, port): (FlowId, PortId),
        arrived: &Arrived,
    ) {
        let place = granted.place as usize;
        self.reach(place);
        let host = self.hosts[place].get_or_insert_with(|| {
            let link = world.profiles[core.ports[port].profile].rate;
            let scheduler = world.scheme_of(core, flow).grant_scheduler(link);
            Box::new(GrantingHost {
                scheduler: scheduler.expect("a scheme that grants has a scheduler"),
                flows: Vec::new(),
                free: Vec::new(),
                wakes_at: u64::MAX,
            })
        });
        if granted.flow == Granted::NEW {
            granted.flow = host.number(flow);
        }
        let now = Time::from_ps(core.now());
        host.scheduler.on_data(now, granted.flow, arrived);
        host.arm(core, place, world.schemes.len());
    }

    /// Removes a complete flow from its scheduler.
    pub(super) fn end(&mut self, granted: Granted) {
        if granted.flow != Granted::NEW
            && let Some(host) = &mut self.hosts[granted.place as usize]
        {
            host.scheduler.on_end(granted.flow);
            // Numbers are used again, so that the scheduler's tables grow with flows at a time, not with all.
            host.flows[granted.flow as usize] = FlowId::NONE;
            host.free.push(granted.flow);
        }
    }

    /// Returns a host's next grant, if it is due.
    pub(super) fn next(
        &mut self,
        world: &World,
        core: &mut Core,
        nic: NicId,
        scheme: u16,
    ) -> Option<(FlowId, Grant)> {
        let place = nic.index() * world.schemes.len() + usize::from(scheme);
        let host = self.hosts.get_mut(place)?.as_mut()?;
        if host.wakes_at != core.now() {
            // An event for an earlier grant has replaced this one.
            return None;
        }
        host.wakes_at = u64::MAX;
        let now = Time::from_ps(core.now());
        // Data that arrived since the event was scheduled may have moved the next grant.
        let is_due = host.scheduler.due().is_some_and(|due| due <= now);
        let granted = is_due.then(|| host.scheduler.grant(now)).flatten();
        let granted = granted.map(|(flow, grant)| (host.flows[flow as usize], grant));
        host.arm(core, place, world.schemes.len());
        granted
    }
}

impl GrantingHost {
    /// Returns the scheduler's number for a new flow.
    fn number(&mut self, flow: FlowId) -> u32 {
        let number = self.free.pop().unwrap_or(self.flows.len() as u32);
        if number as usize == self.flows.len() {
            self.flows.push(flow);
        } else {
            self.flows[number as usize] = flow;
        }
        number
    }

    /// Schedules an event for the next grant, unless an earlier one is pending.
    fn arm(&mut self, core: &mut Core, place: usize, schemes: usize) {
        let Some(due) = self.scheduler.due() else { return };
        let at = due.as_ps().max(core.now());
        if at >= self.wakes_at {
            return;
        }
        self.wakes_at = at;
        let (nic, scheme) = (NicId::new(place / schemes), (place % schemes) as u16);
        core.schedule(LaneId::WHEEL, at, Event::GrantDue { nic, scheme });
    }
}

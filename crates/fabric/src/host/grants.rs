//! Receiver-driven transport: the only code that calls the hosts' schedulers of grants.

use paceline_congestion::Grant;
use paceline_congestion::receiver::{Arrived, GrantScheduler};
use paceline_kernel::Time;
use paceline_kernel::ids::Id;
use paceline_kernel::queue::LaneId;

use crate::core::Core;
use crate::core::cx::Cx;
use crate::core::event::Event;
use crate::ids::{FlowId, NicId, PortId};

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
    index: u32,
    /// Number of the flow in the scheduler; [`Self::NEW`] until the first packet arrives.
    flow: u32,
}

impl Granted {
    const NEW: u32 = u32::MAX;

    /// Registers a flow that is answered by `port`; `None` if its scheme has no grants.
    pub(super) fn of(cx: &Cx<'_>, flow: FlowId, port: PortId) -> Option<Self> {
        if !cx.world.scheme_of(cx.core, flow).needs().grants {
            return None;
        }
        let scheme = usize::from(cx.world.flow(cx.core, flow).scheme);
        let index = cx.core.ports[port].nic().index() * cx.world.schemes.len() + scheme;
        Some(Self {
            index: index as u32,
            flow: Self::NEW,
        })
    }
}

impl Grants {
    fn reach(&mut self, index: usize) {
        if self.hosts.len() <= index {
            self.hosts.resize_with(index + 1, || None);
        }
    }

    /// Shows a data packet of a flow, which `port` answers, to the scheduler.
    pub(super) fn on_data(
        &mut self,
        cx: &mut Cx<'_>,
        granted: &mut Granted,
        (flow, port): (FlowId, PortId),
        arrived: &Arrived,
    ) {
        let index = granted.index as usize;
        self.reach(index);
        let host = self.hosts[index].get_or_insert_with(|| {
            let link = cx.world.profiles[cx.core.ports[port].profile].rate;
            let scheduler = cx.world.scheme_of(cx.core, flow).grant_scheduler(link);
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
        let now = Time::from_ps(cx.core.now());
        host.scheduler.on_data(now, granted.flow, arrived);
        host.arm(cx.core, index, cx.world.schemes.len());
    }

    /// Removes a complete flow from its scheduler.
    pub(super) fn end(&mut self, granted: Granted) {
        if granted.flow != Granted::NEW
            && let Some(host) = &mut self.hosts[granted.index as usize]
        {
            host.scheduler.on_end(granted.flow);
            // Numbers are used again, so that the scheduler's tables grow with flows at a time, not with all.
            host.flows[granted.flow as usize] = FlowId::NONE;
            host.free.push(granted.flow);
        }
    }

    /// Returns a host's next grant, if it is due.
    pub(super) fn next(&mut self, cx: &mut Cx<'_>, nic: NicId, scheme: u16) -> Option<(FlowId, Grant)> {
        let index = nic.index() * cx.world.schemes.len() + usize::from(scheme);
        let host = self.hosts.get_mut(index)?.as_mut()?;
        if host.wakes_at != cx.core.now() {
            // An event for an earlier grant has replaced this one.
            return None;
        }
        host.wakes_at = u64::MAX;
        let now = Time::from_ps(cx.core.now());
        // Data that arrived since the event was scheduled may have moved the next grant.
        let is_due = host.scheduler.due().is_some_and(|due| due <= now);
        let granted = is_due.then(|| host.scheduler.grant(now)).flatten();
        let granted = granted.map(|(flow, grant)| (host.flows[flow as usize], grant));
        host.arm(cx.core, index, cx.world.schemes.len());
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
    fn arm(&mut self, core: &mut Core, index: usize, schemes: usize) {
        let Some(due) = self.scheduler.due() else { return };
        let at = due.as_ps().max(core.now());
        if at >= self.wakes_at {
            return;
        }
        self.wakes_at = at;
        let (nic, scheme) = (NicId::new(index / schemes), (index % schemes) as u16);
        core.schedule(LaneId::WHEEL, at, Event::GrantDue { nic, scheme });
    }
}

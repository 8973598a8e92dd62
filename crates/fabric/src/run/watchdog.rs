//! What the PFC watchdog has a port do: see [`crate::switch`]'s half, which knows when.

use crate::core::event::Event;
use crate::core::lost::Lost;
use crate::ids::{PacketId, PortId};
use crate::run::simulation::Simulation;
use crate::switch::Order;
use paceline_kernel::ids::Id;
use paceline_kernel::queue::LaneId;
use paceline_run::spec::WatchdogAction;

impl Simulation {
    /// A frame pauses a port: whether it heeds it.
    #[cold]
    pub(super) fn heeds_pause(&mut self, port: PortId, class: u8) -> bool {
        let now = self.core.now();
        let Some(watchdog) = self
            .switches
            .watchdog()
            .filter(|_| !self.core.ports[port].is_host)
        else {
            return true;
        };
        let (heeds, order) = watchdog.pause(port, class, now);
        self.follow_order(port, class, order);
        heeds
    }

    /// A pause is over.
    #[cold]
    pub(super) fn pause_is_over(&mut self, port: PortId, class: u8) {
        let now = self.core.now();
        if let Some(watchdog) = self.switches.watchdog() {
            let order = watchdog.resume(port, class, now);
            self.follow_order(port, class, order);
        }
    }

    /// It is time to look at a queue.
    #[cold]
    pub(super) fn watch_queue(&mut self, port: PortId, class: u8) {
        let is_empty = self.core.queues[(port, class)].head == PacketId::NONE;
        let now = self.core.now();
        if let Some(watchdog) = self.switches.watchdog() {
            let order = watchdog.look(port, class, now, is_empty);
            self.follow_order(port, class, order);
        }
    }

    fn follow_order(&mut self, port: PortId, class: u8, order: Order) {
        match order {
            Order::Leave | Order::Storm(WatchdogAction::Alert) => {}
            Order::LookAt(at) => {
                let event = Event::Watchdog { port, class };
                self.core.schedule(LaneId::WHEEL, at, event);
            }
            Order::Storm(WatchdogAction::Forward) => self.unpause(port, class),
            Order::Storm(WatchdogAction::Drop) => {
                let dropped = self.empty_queue(port, class, Lost::Watchdog);
                if let Some(watchdog) = self.switches.watchdog() {
                    watchdog.count_dropped(port, class, dropped);
                }
                self.unpause(port, class);
            }
        }
    }
}

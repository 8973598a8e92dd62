//! Actions of the PFC watchdog at ports; [`crate::switch`] has the part that decides when.

use crate::core::event::Event;
use crate::core::lost::Lost;
use crate::ids::{PacketId, PortId};
use crate::run::simulation::Simulation;
use crate::switch::Order;
use paceline_kernel::ids::Id;
use paceline_kernel::queue::LaneId;
use paceline_run::spec::WatchdogAction;

impl Simulation {
    /// Notes a frame that pauses a port. Returns true if the port has to obey it.
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

    /// Notes the end of a pause.
    #[cold]
    pub(super) fn pause_is_over(&mut self, port: PortId, class: u8) {
        let now = self.core.now();
        if let Some(watchdog) = self.switches.watchdog() {
            let order = watchdog.resume(port, class, now);
            self.follow_order(port, class, order);
        }
    }

    /// Checks a queue for the watchdog.
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
            // The port sends again, although the other end still pauses it.
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

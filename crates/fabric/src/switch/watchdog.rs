//! The PFC watchdog, which ends pauses of switches' egress queues that last too long ([`PfcWatchdog`]).
//!
//! Pauses are followed here as frames announce them. In a storm the port itself is not paused: it drops, or sends.

use paceline_kernel::Time;
use paceline_kernel::ids::{Grid, List};
use paceline_run::outcome::{PortRef, WatchdogStorm};
use paceline_run::spec::{PfcWatchdog, RunSpec, WatchdogAction};
use serde::{Deserialize, Serialize};

use crate::core::port::Ports;
use crate::ids::PortId;

/// Watchdog state of each (egress port, class).
#[derive(Clone, Debug)]
pub(crate) struct Watchdog {
    settings: PfcWatchdog,
    queues: Grid<PortId, Watched>,
    pub(super) storms: Vec<Storm>,
}

/// A queue's pause, as frames announce it.
#[derive(Clone, Copy, Debug, Default)]
struct Watched {
    paused: bool,
    /// Start of the pause, or of the time without one, in ps.
    since: u64,
    /// Index of the storm in the list plus one; 0 without a storm.
    storm: u32,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Storm {
    port: PortId,
    class: u8,
    detected: u64,
    restored: Option<u64>,
    dropped: u64,
}

/// Action for the caller to take on a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// No action on the queue.
    Leave,
    /// Another check of the queue at this time, in ps.
    LookAt(u64),
    /// Start of a storm.
    Storm(WatchdogAction),
}

impl Watchdog {
    pub(super) fn of(spec: &RunSpec, ports: &Ports, classes: usize) -> Option<Box<Self>> {
        let settings = spec.switch.watchdog?;
        Some(Box::new(Self {
            settings,
            queues: Grid::of(ports.len(), classes, Watched::default()),
            storms: Vec::new(),
        }))
    }

    fn drops(&self, port: PortId, class: u8) -> Option<usize> {
        let storm = self.queues[(port, class)].storm;
        (storm != 0 && self.settings.action == WatchdogAction::Drop).then(|| storm as usize - 1)
    }

    /// Notes a frame that pauses a queue. Returns true if the port has to obey it, and the check to schedule if a pause
    /// begins.
    pub(crate) fn pause(&mut self, port: PortId, class: u8, now: u64) -> (bool, Order) {
        let settings = self.settings;
        let watched = &mut self.queues[(port, class)];
        // In a storm pauses are ignored, or the neighbour that caused it would stop the port again.
        let heeded = watched.storm == 0 || settings.action == WatchdogAction::Alert;
        // A repeated frame does not restart the detection time.
        if watched.paused {
            return (heeded, Order::Leave);
        }
        (watched.paused, watched.since) = (true, now);
        let order = match watched.storm {
            0 => Order::LookAt(now + settings.detection.as_ps()),
            _ => Order::Leave,
        };
        (heeded, order)
    }

    /// Notes the end of a pause, by a frame or because its time is over.
    pub(crate) fn resume(&mut self, port: PortId, class: u8, now: u64) -> Order {
        let watched = &mut self.queues[(port, class)];
        if !watched.paused {
            return Order::Leave;
        }
        (watched.paused, watched.since) = (false, now);
        match watched.storm {
            0 => Order::Leave,
            _ => Order::LookAt(now + self.settings.restoration.as_ps()),
        }
    }

    /// Checks a queue. `is_empty` is true if it holds no packets.
    pub(crate) fn look(&mut self, port: PortId, class: u8, now: u64, is_empty: bool) -> Order {
        let settings = self.settings;
        let watched = &mut self.queues[(port, class)];
        let lasts = now - watched.since;
        // Restored only after a while without pauses, so that a storm that flickers is one storm.
        if watched.storm != 0 {
            if !watched.paused && lasts >= settings.restoration.as_ps() {
                self.storms[watched.storm as usize - 1].restored = Some(now);
                watched.storm = 0;
            }
            return Order::Leave;
        }
        if !watched.paused || lasts < settings.detection.as_ps() {
            return Order::Leave;
        }
        // A pause of an empty queue holds nothing up, but the queue may fill: it is checked again.
        if is_empty {
            return Order::LookAt(now + settings.detection.as_ps());
        }
        self.storms.push(Storm {
            port,
            class,
            detected: now,
            restored: None,
            dropped: 0,
        });
        watched.storm = self.storms.len() as u32;
        Order::Storm(settings.action)
    }

    /// Counts and returns true if the watchdog drops packets of a class that are for `egress` or from `ingress`.
    #[inline]
    pub(super) fn drop_packet(&mut self, [ingress, egress]: [PortId; 2], class: u8) -> bool {
        let storm = self.drops(egress, class).or_else(|| self.drops(ingress, class));
        if let Some(storm) = storm {
            self.storms[storm].dropped += 1;
        }
        storm.is_some()
    }

    /// Counts packets that were dropped from the queue when a storm was detected.
    pub(crate) fn count_dropped(&mut self, port: PortId, class: u8, packets: u64) {
        if let Some(storm) = self.drops(port, class) {
            self.storms[storm].dropped += packets;
        }
    }

    /// Ends the pauses and storms of a port whose link has failed.
    pub(super) fn forget(&mut self, port: PortId, now: u64, classes: u8) {
        for class in 0..classes {
            let watched = std::mem::take(&mut self.queues[(port, class)]);
            if let Some(storm) = (watched.storm as usize).checked_sub(1) {
                self.storms[storm].restored = Some(now);
            }
        }
    }

    /// Returns true if the watchdog acts on long pauses, not only reports them.
    pub(crate) fn ends_storms(&self) -> bool {
        self.settings.action != WatchdogAction::Alert
    }

    /// Returns all storms, in order of time. `priority` returns a class's priority.
    pub(crate) fn close(
        &mut self,
        port_refs: &List<PortId, PortRef>,
        priority: impl Fn(u8) -> u8,
    ) -> Vec<WatchdogStorm> {
        let storms = std::mem::take(&mut self.storms);
        let storm = |storm: Storm| WatchdogStorm {
            port: port_refs[storm.port],
            priority: priority(storm.class),
            detected: Time::from_ps(storm.detected),
            restored: storm.restored.map(Time::from_ps),
            dropped: storm.dropped,
        };
        let mut storms: Vec<_> = storms.into_iter().map(storm).collect();
        storms.sort_by_key(|storm| (storm.detected, storm.port.node, storm.port.interface));
        storms
    }
}

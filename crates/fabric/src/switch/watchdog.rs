//! The PFC watchdog: what ends pauses of switches' egress queues that last too long ([`PfcWatchdog`]).
//!
//! Pauses are counted here as frames tell of them. In a storm the port itself is not paused: it drops, or sends.

use paceline_kernel::Time;
use paceline_kernel::ids::{Grid, List};
use paceline_run::outcome::{PortRef, WatchdogStorm};
use paceline_run::spec::{PfcWatchdog, RunSpec, WatchdogAction};

use crate::core::port::Ports;
use crate::ids::PortId;

/// What is known of each (egress port, class).
#[derive(Clone, Debug)]
pub(crate) struct Watchdog {
    settings: PfcWatchdog,
    queues: Grid<PortId, Watched>,
    storms: Vec<Storm>,
}

/// A queue, as frames have it.
#[derive(Clone, Copy, Debug, Default)]
struct Watched {
    paused: bool,
    /// When that began, in ps.
    since: u64,
    /// The place of its storm in the list, and one; 0 where there is none.
    storm: u32,
}

#[derive(Clone, Copy, Debug)]
struct Storm {
    port: PortId,
    class: u8,
    detected: u64,
    restored: Option<u64>,
    dropped: u64,
}

/// What is to be done about a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Nothing.
    Leave,
    /// Look at it again at this time, in ps.
    LookAt(u64),
    /// A storm has begun.
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

    /// A frame pauses a port: whether the port heeds it, and when to look at the queue if the pause begins.
    pub(crate) fn pause(&mut self, port: PortId, class: u8, now: u64) -> (bool, Order) {
        let settings = self.settings;
        let watched = &mut self.queues[(port, class)];
        let heeded = watched.storm == 0 || settings.action == WatchdogAction::Alert;
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

    /// A pause is over, by a frame or because its time is.
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

    /// It is time to look at a queue, which holds packets or not.
    pub(crate) fn look(&mut self, port: PortId, class: u8, now: u64, is_empty: bool) -> Order {
        let settings = self.settings;
        let watched = &mut self.queues[(port, class)];
        let lasts = now - watched.since;
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

    /// Whether the watchdog drops packets of a class that are for a port, or come in through one; it counts them.
    #[inline]
    pub(super) fn drop_packet(&mut self, [ingress, egress]: [PortId; 2], class: u8) -> bool {
        let storm = self.drops(egress, class).or_else(|| self.drops(ingress, class));
        if let Some(storm) = storm {
            self.storms[storm].dropped += 1;
        }
        storm.is_some()
    }

    /// So many packets were dropped as a storm was found.
    pub(crate) fn count_dropped(&mut self, port: PortId, class: u8, packets: u64) {
        if let Some(storm) = self.drops(port, class) {
            self.storms[storm].dropped += packets;
        }
    }

    /// The link of a port has failed: no pause is in force, and there is no storm.
    pub(super) fn forget(&mut self, port: PortId, now: u64, classes: u8) {
        for class in 0..classes {
            let watched = std::mem::take(&mut self.queues[(port, class)]);
            if let Some(storm) = (watched.storm as usize).checked_sub(1) {
                self.storms[storm].restored = Some(now);
            }
        }
    }

    /// Whether pauses that last are dealt with.
    pub(crate) fn ends_storms(&self) -> bool {
        self.settings.action != WatchdogAction::Alert
    }

    /// All storms so far, in order of time; `priority` gives that of a class.
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

    /// Takes over what another part has seen of its ports.
    pub(super) fn take_over(&mut self, other: &mut Self) {
        self.storms.append(&mut other.storms);
    }
}

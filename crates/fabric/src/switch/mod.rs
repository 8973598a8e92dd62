//! Switches: buffers and their part in congestion control. They know packets and ports, but no queue pairs.

mod assist;
mod audit;
mod build;
mod changed;
mod drops;
mod isolated_flows;
mod isolation;
mod notice_table;
mod notices;
mod pint;
mod pipeline;
mod shared_buffer;
mod spread;
mod telemetry;
mod ties;
mod watchdog;
mod ways;

use serde::{Deserialize, Serialize};

use paceline_congestion::IntFormat;
use paceline_kernel::rng::Purpose;

use crate::core::Core;
use crate::core::random::{PortStreams, have_moved};
use crate::ids::{PortId, SwitchId};
use crate::switch::assist::Assists;
use crate::switch::isolated_flows::Isolated;
use crate::switch::notice_table::Notices;
use crate::switch::shared_buffer::{BufferRules, SwitchBuffer};
use crate::switch::spread::Spreading;
use crate::switch::telemetry::Telemetry;
use crate::switch::ties::{TieCounts, TieWatch};
use crate::switch::watchdog::{Storm, Watchdog};
use paceline_kernel::ids::List;
use paceline_run::outcome::{PortRef, TiedArrivals};

pub(crate) use assist::check;
pub(crate) use notice_table::NOTICE;
pub(crate) use shared_buffer::doublings_begun;
pub(crate) use spread::Stage;
pub(crate) use watchdog::Order;

/// Buffers of all switches, and their part in congestion control.
#[derive(Clone)]
pub struct Switches {
    rules: BufferRules,
    buffers: List<SwitchId, SwitchBuffer>,
    spreading: Spreading,
    telemetry: Telemetry,
    /// Switch halves of schemes and detectors.
    assists: Assists,
    /// True if packets that need not wait may skip the queue when no half of a scheme looks at them: all classes are
    /// alike, and no packet is traced.
    straight: bool,
    /// True if packets may skip the queue, and nothing looks at arrivals.
    plain: bool,
    /// True if something looks at every packet that arrives.
    hears_arrivals: bool,
    /// With lossy classes: record of the losers among packets that arrive at the same instant.
    ties: Option<Box<TieWatch>>,
    /// PFC watchdog, which ends pauses that last too long; `None` if it is off.
    watchdog: Option<Box<Watchdog>>,
    /// Notifications that switches make for senders; `None` for none.
    notices: Option<Box<Notices>>,
    /// Flows that congest ports, in queues of their own; `None` if none are isolated.
    isolation: Option<Box<Isolated>>,
    /// Random streams of the ports' marking decisions.
    mark_rng: PortStreams,
}

/// Results of the switches of a part.
#[derive(Serialize, Deserialize)]
pub(crate) struct SwitchResults {
    ties: Option<TieCounts>,
    storms: Vec<Storm>,
}

impl Switches {
    /// Returns the telemetry format, which senders need to decode it.
    pub(crate) fn int_format(&self) -> IntFormat {
        self.telemetry.format
    }

    /// Forgets next hops after a change of topology; they are found again.
    pub(crate) fn forget_ways(&mut self) {
        self.spreading.forget();
    }

    /// Notes that the link of a port has failed and its queues are lost.
    pub(crate) fn link_down(&mut self, core: &Core, port: PortId) {
        self.assists.link_down(port);
        self.forget_isolated(core, port);
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.forget(port, core.now(), core.class_count() as u8);
        }
    }

    /// Returns the PFC watchdog, unless it is off.
    pub(crate) fn watchdog(&mut self) -> Option<&mut Watchdog> {
        self.watchdog.as_deref_mut()
    }

    /// Returns true if the watchdog acts on pauses that last too long.
    pub(crate) fn ends_storms(&self) -> bool {
        self.watchdog
            .as_ref()
            .is_some_and(|watchdog| watchdog.ends_storms())
    }

    /// Ends and returns the record of losers among packets that arrived at the same instant.
    pub(crate) fn close_ties(&mut self, port_refs: &List<PortId, PortRef>) -> TiedArrivals {
        let ties = self.ties.take();
        ties.map_or_else(TiedArrivals::default, |ties| ties.finish(port_refs))
    }

    /// Returns true if switches have drawn from a stream of the seed, or chose by it: see `run/chance.rs`.
    pub(crate) fn have_drawn(&self, seed: u64) -> bool {
        let pint = self.telemetry.pint.as_ref();
        self.mark_rng.have_drawn()
            || have_moved(self.assists.rngs(), seed, Purpose::Switch)
            // Draws for the hashes of flowlets, before anything happens.
            || self.spreading.is_on()
            || pint.is_some_and(|pint| have_moved(pint.rng(), seed, Purpose::Pint))
    }

    /// Returns the results of a part.
    pub(crate) fn results(self) -> SwitchResults {
        SwitchResults {
            ties: self.ties.map(|ties| ties.close()),
            storms: self.watchdog.map_or_else(Vec::new, |watchdog| watchdog.storms),
        }
    }

    /// Adds the results of another part.
    pub(crate) fn take_in(&mut self, mut other: SwitchResults) {
        if let (Some(mine), Some(theirs)) = (&mut self.ties, other.ties) {
            mine.add(theirs);
        }
        if let Some(mine) = &mut self.watchdog {
            mine.storms.append(&mut other.storms);
        }
    }
}

//! Switches: buffers, and what they do for congestion control. They know packets and ports, and no queue pair.

mod assist;
mod audit;
mod build;
mod changed;
mod drops;
mod parts;
mod pint;
mod pipeline;
mod shared_buffer;
mod spread;
mod telemetry;
mod ties;
mod watchdog;
mod ways;

use paceline_congestion::IntFormat;
use paceline_kernel::rng::Purpose;

use crate::core::Core;
use crate::core::random::{PortStreams, have_moved};
use crate::ids::{PortId, SwitchId};
use crate::switch::assist::Assists;
use crate::switch::shared_buffer::{BufferRules, SwitchBuffer};
use crate::switch::spread::Spreading;
use crate::switch::telemetry::Telemetry;
use crate::switch::ties::TieWatch;
use crate::switch::watchdog::Watchdog;
use paceline_kernel::ids::List;
use paceline_run::outcome::{PortRef, TiedArrivals};

pub(crate) use assist::check;
pub(crate) use shared_buffer::doublings_begun;
pub(crate) use spread::Stage;
pub(crate) use watchdog::Order;

/// Buffers, and what switches do for congestion control.
#[derive(Clone)]
pub struct Switches {
    rules: BufferRules,
    buffers: List<SwitchId, SwitchBuffer>,
    spreading: Spreading,
    telemetry: Telemetry,
    /// The switches' halves of schemes.
    assists: Assists,
    /// Whether packets that need not wait may pass as if they were queued and taken out again where no half of a scheme
    /// has a say: classes are alike, and nothing is told of every packet.
    straight: bool,
    /// Whether they may, and nobody looks at what arrives.
    plain: bool,
    /// Whether anybody wants to hear of each packet that arrives.
    hears_arrivals: bool,
    /// Where classes are lossy: who loses among packets that arrive at the same instant.
    ties: Option<Box<TieWatch>>,
    /// What ends pauses that last too long.
    watchdog: Option<Box<Watchdog>>,
    /// Streams of the ports' marking decisions.
    mark_rng: PortStreams,
}

impl Switches {
    /// What senders that read telemetry have to know of it.
    pub(crate) fn int_format(&self) -> IntFormat {
        self.telemetry.format
    }

    /// The topology has changed: next hops are found again.
    pub(crate) fn forget_ways(&mut self) {
        self.spreading.forget();
    }

    /// The link of a port failed: what waited in its queues is lost.
    pub(crate) fn link_down(&mut self, core: &Core, port: PortId) {
        self.assists.link_down(port);
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.forget(port, core.now(), core.class_count() as u8);
        }
    }

    /// What ends pauses that last too long, where anything does.
    pub(crate) fn watchdog(&mut self) -> Option<&mut Watchdog> {
        self.watchdog.as_deref_mut()
    }

    /// Whether pauses that last too long are dealt with.
    pub(crate) fn ends_storms(&self) -> bool {
        self.watchdog
            .as_ref()
            .is_some_and(|watchdog| watchdog.ends_storms())
    }

    /// Who lost among packets that arrived at the same instant.
    pub(crate) fn close_ties(&mut self, port_refs: &List<PortId, PortRef>) -> TiedArrivals {
        let ties = self.ties.as_mut();
        ties.map_or_else(TiedArrivals::default, |ties| ties.finish(port_refs))
    }

    /// Whether switches have drawn from a stream of the seed, or chose by it: see `run/chance.rs`.
    pub(crate) fn have_drawn(&self, seed: u64) -> bool {
        let pint = self.telemetry.pint.as_ref();
        self.mark_rng.have_drawn()
            || have_moved(self.assists.rngs(), seed, Purpose::Switch)
            // Draws before anything happens: hashes of flowlets.
            || self.spreading.is_on()
            || pint.is_some_and(|pint| have_moved(pint.rng(), seed, Purpose::Pint))
    }
}

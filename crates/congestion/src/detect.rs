//! Congestion detection at switch ports: by the marking curve alone ([`crate::switch::Red`]), or by a
//! detector that overrules it.

use paceline_kernel::rng::Rng;

use crate::switch::{EgressPort, Hooks, PerPort, SwitchHalves};

mod np_ecn;
mod state;
pub mod tcd;

pub use np_ecn::NonPausedEcn;
pub use state::PortState;
pub use tcd::Ternary;

/// Detector that overrules the marking curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detector {
    /// NP-ECN, which exempts paused packets: [`NonPausedEcn`].
    NonPaused,
    /// TCD, see [`Ternary`]; with its variant and max(Ton).
    Ternary(tcd::Settings),
}

impl Detector {
    /// Returns the events that the detector needs.
    pub const fn hooks(&self) -> Hooks {
        Hooks {
            arrivals: false,
            departures: true,
            pauses: true,
        }
    }

    /// Creates the detector's state for each port in `ports` that takes part.
    pub fn halves(&self, ports: &[Option<EgressPort>], rngs: &mut [Rng]) -> Box<dyn SwitchHalves> {
        match self {
            Self::NonPaused => PerPort::boxed(ports, rngs, |port, _| NonPausedEcn::new(port)),
            Self::Ternary(settings) => {
                PerPort::boxed(ports, rngs, |port, _| Ternary::new(settings.rule(port), port))
            }
        }
    }
}

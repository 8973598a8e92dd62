//! How the ports of a network tell that they are congested: by the curve alone ([`crate::switch::Red`]), or by a
//! detector that overrules it.

use paceline_kernel::rng::Rng;

use crate::switch::{EgressPort, Hooks, PerPort, SwitchHalves};

mod np_ecn;
mod state;
pub mod tcd;

pub use np_ecn::NonPausedEcn;
pub use state::PortState;
pub use tcd::Ternary;

/// A detector alongside the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detector {
    /// [`NonPausedEcn`].
    NonPaused,
    /// [`Ternary`]: by what variant, and its max(Ton) at a port.
    Ternary(tcd::Settings),
}

impl Detector {
    /// What it is called for.
    pub const fn hooks(&self) -> Hooks {
        Hooks {
            arrivals: false,
            departures: true,
            pauses: true,
        }
    }

    /// One for each of `ports` that takes part.
    pub fn halves(&self, ports: &[Option<EgressPort>], rngs: &mut [Rng]) -> Box<dyn SwitchHalves> {
        match self {
            Self::NonPaused => PerPort::boxed(ports, rngs, |port, _| NonPausedEcn::new(port)),
            Self::Ternary(settings) => {
                PerPort::boxed(ports, rngs, |port, _| Ternary::new(settings.rule(port), port))
            }
        }
    }
}

//! Senders, or whole schemes, of another make than a scheme's own.

use std::fmt;
use std::sync::Arc;

use paceline_kernel::rng::Rng;

use super::Definition;
use crate::api::{CongestionControl, Needs, PathInfo};
use crate::receiver::ReceiverHalf;
use crate::switch::{EgressPort, SwitchHalves, SwitchPart};

type Make = dyn Fn(&PathInfo) -> Box<dyn CongestionControl> + Send + Sync;

/// What makes senders in place of a scheme's own: training runs, where senders learn as they go; or all of a scheme
/// that is not in the list.
#[derive(Clone)]
pub struct Maker {
    pub(super) make: Arc<Make>,
    pub(super) needs: Option<Needs>,
    /// The other halves, where they are not the scheme's own.
    pub(super) halves: Option<Arc<dyn Halves>>,
}

/// The halves of a scheme beside the sender's: see [`Definition`].
pub(super) trait Halves: Send + Sync {
    fn receiver_half(&self) -> Option<Box<dyn ReceiverHalf>>;
    fn switch_part(&self) -> Option<SwitchPart>;
    fn switch_halves(&self, ports: &[Option<EgressPort>], rngs: &mut [Rng]) -> Option<Box<dyn SwitchHalves>>;
}

impl<P: Definition + Send + Sync> Halves for P {
    fn receiver_half(&self) -> Option<Box<dyn ReceiverHalf>> {
        Definition::receiver_half(self)
    }
    fn switch_part(&self) -> Option<SwitchPart> {
        Definition::switch_part(self)
    }
    fn switch_halves(&self, ports: &[Option<EgressPort>], rngs: &mut [Rng]) -> Option<Box<dyn SwitchHalves>> {
        Definition::switch_halves(self, ports, rngs)
    }
}

impl Maker {
    /// Of a function.
    pub fn new(make: impl Fn(&PathInfo) -> Box<dyn CongestionControl> + Send + Sync + 'static) -> Self {
        Self {
            make: Arc::new(make),
            needs: None,
            halves: None,
        }
    }

    /// Of all halves of a scheme, with what it needs.
    pub fn of<P: Definition + Send + Sync + 'static>(params: P) -> Self {
        let (needs, halves) = (params.needs(), Arc::new(params.clone()));
        Self {
            halves: Some(halves),
            ..Self::new(move |path| params.build(path)).needing(needs)
        }
    }

    /// The same, of senders that need something else than the scheme's own.
    pub fn needing(mut self, needs: Needs) -> Self {
        self.needs = Some(needs);
        self
    }
}

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Maker")
    }
}

impl PartialEq for Maker {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make) && self.needs == other.needs
    }
}

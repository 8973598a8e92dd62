//! Senders, or whole schemes, of another make than a scheme's own. They are given alongside a run's description, which is
//! plain data.

use std::fmt;
use std::sync::Arc;

use paceline_kernel::BitRate;
use paceline_kernel::rng::Rng;

use super::added::Plain;
use super::{Definition, SchemeConfig};
use crate::api::{CongestionControl, PathInfo, Requirements};
use crate::receiver::{GrantScheduler, ReceiverHalf};
use crate::switch::{EgressPort, SwitchHalves, SwitchSupport};

type Make = dyn Fn(&PathInfo) -> Box<dyn CongestionControl> + Send + Sync;

/// What makes senders in place of a scheme's own: training runs, where senders learn as they go; or all of a scheme
/// that is not in the list.
#[derive(Clone)]
pub struct SchemeFactory {
    make: Arc<Make>,
    needs: Option<Requirements>,
    /// The other halves, where they are not the scheme's own.
    halves: Option<Arc<dyn Plain + Send + Sync>>,
}

impl SchemeFactory {
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
        let (needs, halves) = (Definition::needs(&params), Arc::new(params.clone()));
        Self {
            halves: Some(halves),
            ..Self::new(move |path| Definition::build(&params, path)).needing(needs)
        }
    }

    /// The same, of senders that need something else than the scheme's own.
    pub fn needing(mut self, needs: Requirements) -> Self {
        self.needs = Some(needs);
        self
    }
}

impl fmt::Debug for SchemeFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Maker")
    }
}

/// A scheme at work: as a run describes it, or what was given in its place.
#[derive(Clone, Debug)]
pub struct ActiveScheme {
    config: SchemeConfig,
    factory: Option<SchemeFactory>,
}

impl ActiveScheme {
    /// Of a configuration, and of what makes senders in its place.
    pub fn new(config: SchemeConfig, factory: Option<SchemeFactory>) -> Self {
        let factory = factory.or_else(|| config.factory());
        Self { config, factory }
    }

    /// As the run describes it.
    pub fn config(&self) -> &SchemeConfig {
        &self.config
    }

    /// What the scheme needs.
    pub fn needs(&self) -> Requirements {
        let given = self.factory.as_ref().and_then(|factory| factory.needs);
        given.unwrap_or_else(|| self.config.needs())
    }

    /// The halves that are not the scheme's own.
    fn halves(&self) -> Option<&(dyn Plain + Send + Sync)> {
        self.factory.as_ref()?.halves.as_deref()
    }

    /// What the scheme asks of every switch, alongside marks and telemetry.
    pub fn switch_part(&self) -> Option<SwitchSupport> {
        match self.halves() {
            Some(halves) => halves.switch_part(),
            None => self.config.switch_part(),
        }
    }

    /// The switch's half of the scheme, for each of `ports` that takes part, with a random stream for each.
    pub fn switch_halves(
        &self,
        ports: &[Option<EgressPort>],
        rngs: &mut [Rng],
    ) -> Option<Box<dyn SwitchHalves>> {
        match self.halves() {
            Some(halves) => halves.switch_halves(ports, rngs),
            None => self.config.switch_halves(ports, rngs),
        }
    }

    /// The receiver's half for a new flow, if the scheme has one.
    pub fn receiver_half(&self) -> Option<Box<dyn ReceiverHalf>> {
        match self.halves() {
            Some(halves) => halves.receiver_half(),
            None => self.config.receiver_half(),
        }
    }

    /// The scheduler of grants of a receiving host whose link has this rate, if the scheme has one.
    pub fn grant_scheduler(&self, link: BitRate) -> Option<Box<dyn GrantScheduler>> {
        match self.halves() {
            Some(halves) => halves.grant_scheduler(link),
            None => self.config.grant_scheduler(link),
        }
    }

    /// The sender's half for a new flow.
    pub fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        match &self.factory {
            Some(factory) => (factory.make)(path),
            None => self.config.build(path),
        }
    }
}

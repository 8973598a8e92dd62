//! Factories that replace a scheme's senders, or all of its halves. They are passed alongside a run's
//! description, which is plain data.

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

/// Factory that replaces a scheme's senders, as in training, or the whole of a scheme that is not in the
/// list.
#[derive(Clone)]
pub struct SchemeFactory {
    make: Arc<Make>,
    needs: Option<Requirements>,
    /// Replacements of the other halves; `None` if the scheme's own are used.
    halves: Option<Arc<dyn Plain + Send + Sync>>,
}

impl SchemeFactory {
    /// Creates a factory from a function that makes senders.
    pub fn new(make: impl Fn(&PathInfo) -> Box<dyn CongestionControl> + Send + Sync + 'static) -> Self {
        Self {
            make: Arc::new(make),
            needs: None,
            halves: None,
        }
    }

    /// Creates a factory of all halves of a scheme, with its requirements.
    pub fn of<P: Definition + Send + Sync + 'static>(params: P) -> Self {
        let (needs, halves) = (Definition::needs(&params), Arc::new(params.clone()));
        Self {
            halves: Some(halves),
            ..Self::new(move |path| Definition::build(&params, path)).needing(needs)
        }
    }

    /// Sets requirements that differ from the scheme's own.
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

/// Scheme of a run: as configured, or replaced by a factory.
#[derive(Clone, Debug)]
pub struct ActiveScheme {
    config: SchemeConfig,
    factory: Option<SchemeFactory>,
}

impl ActiveScheme {
    /// Creates it from a configuration and a factory that replaces its senders, if any.
    pub fn new(config: SchemeConfig, factory: Option<SchemeFactory>) -> Self {
        let factory = factory.or_else(|| config.factory());
        Self { config, factory }
    }

    /// Returns the configuration in the run's description.
    pub fn config(&self) -> &SchemeConfig {
        &self.config
    }

    /// Returns the requirements of the factory or of the configuration.
    pub fn needs(&self) -> Requirements {
        let given = self.factory.as_ref().and_then(|factory| factory.needs);
        given.unwrap_or_else(|| self.config.needs())
    }

    /// Returns the replacements of the other halves, if any.
    fn halves(&self) -> Option<&(dyn Plain + Send + Sync)> {
        self.factory.as_ref()?.halves.as_deref()
    }

    /// Returns the support that the scheme needs from switches, in addition to marks and telemetry.
    pub fn switch_part(&self) -> Option<SwitchSupport> {
        match self.halves() {
            Some(halves) => halves.switch_part(),
            None => self.config.switch_part(),
        }
    }

    /// Creates the scheme's switch halves, for each port in `ports` that takes part, with a random stream for
    /// each.
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

    /// Creates the receiver half of a new flow, if the scheme has one.
    pub fn receiver_half(&self) -> Option<Box<dyn ReceiverHalf>> {
        match self.halves() {
            Some(halves) => halves.receiver_half(),
            None => self.config.receiver_half(),
        }
    }

    /// Creates the grant scheduler of a receiving host on a link of this rate, if the scheme has one.
    pub fn grant_scheduler(&self, link: BitRate) -> Option<Box<dyn GrantScheduler>> {
        match self.halves() {
            Some(halves) => halves.grant_scheduler(link),
            None => self.config.grant_scheduler(link),
        }
    }

    /// Creates the sender of a new flow.
    pub fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        match &self.factory {
            Some(factory) => (factory.make)(path),
            None => self.config.build(path),
        }
    }
}

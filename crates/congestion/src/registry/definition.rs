//! Interface that a scheme's source file implements.

use paceline_kernel::BitRate;
use paceline_kernel::rng::Rng;

use super::{
    DelayLimit, Incompatible, Marking, NetworkFacts, RateScaled, ReactionTime, Scheme, SchemeFactory,
    SendFloor,
};
use crate::api::{CongestionControl, PathInfo, Requirements};
use crate::learned::ModelRef;
use crate::params::{ParamError, Parameters};
use crate::pint;
use crate::receiver::{GrantScheduler, ReceiverHalf};
use crate::switch::{EgressPort, SwitchHalves, SwitchSupport};

/// Definition of a scheme; implemented by its parameters.
pub trait Definition: Parameters + Default + Clone {
    /// Static description: name, paper, and so on.
    const SCHEME: Scheme;

    /// Returns the parameters with automatic values filled in.
    fn explicit(&self) -> Self {
        self.clone()
    }

    /// Checks relations between parameters; called after each is in its range.
    ///
    /// # Errors
    /// The first parameter that contradicts the others.
    fn check(&self) -> Result<(), ParamError> {
        Ok(())
    }

    /// Returns the scheme's requirements with these parameters.
    fn needs(&self) -> Requirements;

    /// Returns the encoding of HPCC-PINT's digest, if the scheme reads one.
    fn pint_code(&self) -> Option<pint::Code> {
        None
    }

    /// Returns the support that the scheme needs from switches, in addition to marks and telemetry.
    fn switch_part(&self) -> Option<SwitchSupport> {
        None
    }

    /// Creates the scheme's switch halves, for each port in `ports` that takes part, with a random stream for
    /// each; only with [`Self::switch_part`].
    fn switch_halves(
        &self,
        _ports: &[Option<EgressPort>],
        _rngs: &mut [Rng],
    ) -> Option<Box<dyn SwitchHalves>> {
        None
    }

    /// Returns the round-trip time above which the scheme always slows down, on a path of `links` links, if
    /// there is one. Scenarios warn about longer paths, which are certainly a mistake.
    fn delay_limit(&self, _links: usize) -> Option<DelayLimit> {
        None
    }

    /// Returns the times that should be longer than a round trip. Scenarios warn if one is not.
    fn reaction_times(&self) -> Vec<ReactionTime> {
        Vec::new()
    }

    /// Returns the properties of the network with which the scheme does not work.
    fn incompatible(&self, _network: &NetworkFacts) -> Vec<Incompatible> {
        Vec::new()
    }

    /// Returns the parameters that name a model, with their keys, so that the reader of files can attach
    /// models to them.
    fn models(&mut self) -> Vec<(&'static str, &mut ModelRef)> {
        Vec::new()
    }

    /// Returns true if senders react to feedback.
    fn is_adaptive(&self) -> bool {
        true
    }

    /// Returns the lower bound of what a flow on a line of this rate sends; `None` without a bound.
    fn least(&self, line: BitRate) -> Option<SendFloor> {
        let (param, rate) = ("min-rate", self.min_rate(line)?);
        Some(SendFloor::Rate { param, rate })
    }

    /// Returns the parameter `min-rate` on a line of this rate; `None` if the scheme has none.
    fn min_rate(&self, _line: BitRate) -> Option<BitRate> {
        None
    }

    /// Returns the marking curve that switches use by default.
    fn marking(&self) -> Marking {
        Marking::LAUNCHER
    }

    /// Returns true if ports use ternary detection by default, which distinguishes congestion from the effect
    /// of pauses.
    fn ternary_detection(&self) -> bool {
        false
    }

    /// Returns true if senders rely on lossless delivery: a loss makes their measurements wrong.
    fn assumes_lossless(&self) -> bool {
        false
    }

    /// Returns the parameters whose values are published for lines of another rate than this, if no source
    /// says how they scale.
    fn tuned(&self, _line: BitRate) -> Vec<RateScaled> {
        Vec::new()
    }

    /// Returns the parameters as the launcher of HPCC's public code writes them, if those differ from `auto`.
    fn hpcc_script_defaults(&self) -> Self {
        self.clone()
    }

    /// Creates the receiver half of a new flow, if the scheme has one.
    fn receiver_half(&self) -> Option<Box<dyn ReceiverHalf>> {
        None
    }

    /// Creates the grant scheduler of a receiving host on a link of this rate, if the scheme has one.
    fn grant_scheduler(&self, _link: BitRate) -> Option<Box<dyn GrantScheduler>> {
        None
    }

    /// Creates the sender of a new flow.
    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl>;

    /// Returns a factory for the senders of many flows, if reading the parameters takes long. With `None` each
    /// sender comes from [`Definition::build`].
    fn factory(&self) -> Option<SchemeFactory> {
        None
    }
}

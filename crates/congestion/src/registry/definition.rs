//! What a scheme's file says of its scheme.

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

/// What a scheme's file says of the scheme; implemented by its parameters.
pub trait Definition: Parameters + Default + Clone {
    /// Name, paper, and so on.
    const SCHEME: Scheme;

    /// The same parameters, with those that were left to depend on others filled in.
    fn explicit(&self) -> Self {
        self.clone()
    }

    /// Checks what ranges of single parameters cannot say; called after those hold.
    ///
    /// # Errors
    /// The first parameter that contradicts the others.
    fn check(&self) -> Result<(), ParamError> {
        Ok(())
    }

    /// What the scheme, with these parameters, needs.
    fn needs(&self) -> Requirements;

    /// The code of HPCC-PINT's digest, if the scheme reads one.
    fn pint_code(&self) -> Option<pint::Code> {
        None
    }

    /// What the scheme asks of every switch, alongside marks and telemetry.
    fn switch_part(&self) -> Option<SwitchSupport> {
        None
    }

    /// The switch's half of the scheme, for each of `ports` that takes part, with a random stream for each; only
    /// with [`Self::switch_part`].
    fn switch_halves(
        &self,
        _ports: &[Option<EgressPort>],
        _rngs: &mut [Rng],
    ) -> Option<Box<dyn SwitchHalves>> {
        None
    }

    /// The round-trip time above which the scheme always slows down, on a path of so many links, if it
    /// knows one. A path that takes longer is certain to be a mistake, of which scenarios warn.
    fn delay_limit(&self, _links: usize) -> Option<DelayLimit> {
        None
    }

    /// Returns the times that should be longer than a round trip. Scenarios warn where one is not.
    fn reaction_times(&self) -> Vec<ReactionTime> {
        Vec::new()
    }

    /// What of such a network the scheme does not work with.
    fn incompatible(&self, _network: &NetworkFacts) -> Vec<Incompatible> {
        Vec::new()
    }

    /// Parameters that name a model, with their keys: whoever reads files attaches those.
    fn models(&mut self) -> Vec<(&'static str, &mut ModelRef)> {
        Vec::new()
    }

    /// Whether senders react to what happens to their packets.
    fn is_adaptive(&self) -> bool {
        true
    }

    /// What a flow on such a line always sends; `None` if there is no such bound.
    fn least(&self, line: BitRate) -> Option<SendFloor> {
        let (param, rate) = ("min-rate", self.min_rate(line)?);
        Some(SendFloor::Rate { param, rate })
    }

    /// The parameter `min-rate` on such a line; `None` if the scheme has none.
    fn min_rate(&self, _line: BitRate) -> Option<BitRate> {
        None
    }

    /// How switches mark unless the network says otherwise.
    fn marking(&self) -> Marking {
        Marking::LAUNCHER
    }

    /// Whether ports tell congestion from what pauses leave behind by ternary detection, unless the network says
    /// otherwise.
    fn ternary_detection(&self) -> bool {
        false
    }

    /// Whether senders take it that nothing is lost: a loss makes their measurements wrong.
    fn assumes_lossless(&self) -> bool {
        false
    }

    /// Parameters that have a value published for lines of another rate than this, where no source says how
    /// they scale.
    fn tuned(&self, _line: BitRate) -> Vec<RateScaled> {
        Vec::new()
    }

    /// The same parameters as the launcher of HPCC's public code writes them, where that is not what
    /// `auto` comes to.
    fn hpcc_script_defaults(&self) -> Self {
        self.clone()
    }

    /// The receiver's half for a new flow, if the scheme has one.
    fn receiver_half(&self) -> Option<Box<dyn ReceiverHalf>> {
        None
    }

    /// The scheduler of grants of a receiving host whose link has this rate, if the scheme has one.
    fn grant_scheduler(&self, _link: BitRate) -> Option<Box<dyn GrantScheduler>> {
        None
    }

    /// The sender's half for a new flow.
    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl>;

    /// Builds senders of many flows, for parameters that take time to read. `None`: [`Definition::build`] does.
    fn factory(&self) -> Option<SchemeFactory> {
        None
    }
}

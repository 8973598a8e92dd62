//! Schemes with their parameters.

use super::*;

/// Scheme with its parameters, ready to create senders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "super::written::Written", try_from = "super::written::Written")]
pub struct SchemeConfig {
    pub(super) params: AnyParams,
    pub(super) alias: Option<&'static Alias>,
}

impl SchemeConfig {
    /// Returns the scheme's static description.
    pub fn scheme(&self) -> &'static Scheme {
        let name = self.name();
        schemes()
            .find(|scheme| scheme.name == name)
            .expect("a configured scheme is in the list")
    }

    /// Returns the scheme's name, as in the scenario file.
    pub fn name(&self) -> &'static str {
        self.params.name()
    }

    /// Returns the name by which it was configured: the alias, or the scheme's own.
    pub fn label(&self) -> &'static str {
        self.alias.map_or_else(|| self.name(), |alias| alias.name)
    }

    /// Returns the models that its parameters name.
    pub fn models(&self) -> Vec<ModelRef> {
        let mut own = self.params.clone();
        with_params!(&mut own, params => params.models().into_iter().map(|(_, model)| model.clone()).collect())
    }

    /// Returns the scheme's requirements with these parameters.
    pub fn needs(&self) -> Requirements {
        with_params!(&self.params, params => params.needs())
    }

    /// Returns true if it reads marks that the network's curves set.
    pub fn reads_curves(&self) -> bool {
        self.needs().ecn && !self.switch_part().is_some_and(|part| part.marks)
    }

    /// Returns the window mode of the scheme's paper, or of its alias.
    pub fn default_window(&self) -> WindowMode {
        self.alias
            .and_then(|alias| alias.window)
            .unwrap_or_else(|| self.scheme().default_window)
    }

    /// Returns the encoding of HPCC-PINT's digest, if the scheme reads one; switches write with the same.
    pub fn pint_code(&self) -> Option<pint::Code> {
        with_params!(&self.params, params => params.pint_code())
    }

    /// Returns the support that the scheme needs from switches, in addition to marks and telemetry.
    pub fn switch_part(&self) -> Option<SwitchSupport> {
        with_params!(&self.params, params => params.switch_part())
    }

    /// Creates the scheme's switch halves, for each port in `ports` that takes part, with a random stream for
    /// each.
    pub fn switch_halves(
        &self,
        ports: &[Option<EgressPort>],
        rngs: &mut [Rng],
    ) -> Option<Box<dyn SwitchHalves>> {
        with_params!(&self.params, params => params.switch_halves(ports, rngs))
    }

    /// Returns true if `other`, a configuration of the same scheme, has the same effect in switches.
    pub fn same_in_switches(&self, other: &Self) -> bool {
        let settings = |config: &Self| {
            let names = config.switch_part().map_or(&[][..], |part| part.params);
            let mut values = config.values();
            values.retain(|(name, _)| names.contains(&name.as_str()));
            values
        };
        settings(self) == settings(other)
    }

    /// Returns the round-trip time above which the scheme always slows down, on a path of `links` links.
    pub fn delay_limit(&self, links: usize) -> Option<DelayLimit> {
        with_params!(&self.params, params => params.delay_limit(links))
    }

    /// Returns the times that should be longer than a round trip.
    pub fn reaction_times(&self) -> Vec<ReactionTime> {
        with_params!(&self.params, params => params.reaction_times())
    }

    /// Returns the properties of the network with which the scheme does not work.
    pub fn incompatible(&self, network: &NetworkFacts) -> Vec<Incompatible> {
        with_params!(&self.params, params => params.incompatible(network))
    }

    /// Returns true if its senders react to feedback.
    pub fn is_adaptive(&self) -> bool {
        with_params!(&self.params, params => params.is_adaptive())
    }

    /// Returns the lower bound of what a flow on a line of this rate sends; `None` without a bound.
    pub fn least(&self, line: BitRate) -> Option<SendFloor> {
        with_params!(&self.params, params => params.least(line))
    }

    /// Returns the marking curve that switches use for it by default.
    pub fn marking(&self) -> Marking {
        with_params!(&self.params, params => params.marking())
    }

    /// Returns true if ports use ternary detection for it by default.
    pub fn ternary_detection(&self) -> bool {
        with_params!(&self.params, params => params.ternary_detection())
    }

    /// Returns true if its senders rely on lossless delivery.
    pub fn assumes_lossless(&self) -> bool {
        with_params!(&self.params, params => params.assumes_lossless())
    }

    /// Returns the parameters whose values are published for lines of another rate than this.
    pub fn tuned(&self, line: BitRate) -> Vec<RateScaled> {
        with_params!(&self.params, params => params.tuned(line))
    }

    /// Returns the scheme with the values that the launcher of HPCC's public code writes instead of `auto`,
    /// if they differ.
    pub fn hpcc_script_defaults(self) -> Self {
        Self {
            params: with_params!(&self.params, params => wrap params.hpcc_script_defaults()),
            ..self
        }
    }

    /// Creates the receiver half of a new flow, if the scheme has one.
    pub fn receiver_half(&self) -> Option<Box<dyn ReceiverHalf>> {
        with_params!(&self.params, params => params.receiver_half())
    }

    /// Creates the grant scheduler of a receiving host on a link of this rate, if the scheme has one.
    pub fn grant_scheduler(&self, link: BitRate) -> Option<Box<dyn GrantScheduler>> {
        with_params!(&self.params, params => params.grant_scheduler(link))
    }

    /// Creates the sender of a new flow.
    pub fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        with_params!(&self.params, params => params.build(path))
    }

    /// Returns a factory for many flows, if that is faster than building senders one by one.
    pub(super) fn factory(&self) -> Option<SchemeFactory> {
        with_params!(&self.params, params => params.factory())
    }

    /// Returns the parameters as configured.
    pub fn params(&self) -> &AnyParams {
        &self.params
    }

    /// Returns the name and value of every parameter, in the order of [`Scheme::params`], with defaults
    /// filled in.
    pub fn values(&self) -> Vec<(String, String)> {
        with_params!(&self.params, params => params.explicit().values())
    }

    /// Sets a parameter by its key, to a value as a scenario file would write it (without quotes).
    ///
    /// # Errors
    /// If there is no such parameter, or the text is not a value of it.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ParamError> {
        with_params!(&mut self.params, params => params.set(key, value))
    }

    /// Returns the scheme's parameters as the one block of [`SchemeParams`].
    pub fn block(&self) -> SchemeParams {
        self.params.clone().into()
    }

    /// Returns the scheme's parameters, with every default filled in, as the one block of [`SchemeParams`]: a
    /// resolved scenario writes this.
    pub fn explicit_params(&self) -> SchemeParams {
        with_params!(&self.params, params => wrap params.explicit()).into()
    }

    /// Checks the parameters, singly and together.
    ///
    /// # Errors
    /// The first parameter that is not valid.
    pub fn validate(&self) -> Result<(), ParamError> {
        with_params!(&self.params, params => {
            let params = params.explicit();
            params.check_ranges()?;
            params.check()
        })
    }
}

//! A scheme with its parameters.

use super::*;

/// A scheme with its parameters, ready to make senders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "super::written::Written", try_from = "super::written::Written")]
pub struct SchemeConfig {
    pub(super) params: AnyParams,
    pub(super) alias: Option<&'static Alias>,
}

impl SchemeConfig {
    /// What is known of the scheme whatever its parameters.
    pub fn scheme(&self) -> &'static Scheme {
        let name = self.name();
        schemes()
            .find(|scheme| scheme.name == name)
            .expect("a configured scheme is in the list")
    }

    /// The scheme's name, as in the scenario file.
    pub fn name(&self) -> &'static str {
        self.params.name()
    }

    /// The name by which it was asked for: the alias, or the scheme's own.
    pub fn label(&self) -> &'static str {
        self.alias.map_or_else(|| self.name(), |alias| alias.name)
    }

    /// The models that it names.
    pub fn models(&self) -> Vec<ModelRef> {
        let mut own = self.params.clone();
        with_params!(&mut own, params => params.models().into_iter().map(|(_, model)| model.clone()).collect())
    }

    /// What the scheme, with these parameters, needs.
    pub fn needs(&self) -> Requirements {
        with_params!(&self.params, params => params.needs())
    }

    /// True if it reads marks, and the network's curves put them.
    pub fn reads_curves(&self) -> bool {
        self.needs().ecn && !self.switch_part().is_some_and(|part| part.marks)
    }

    /// The window mode that the scheme's paper uses, or that its alias asks for.
    pub fn default_window(&self) -> WindowMode {
        self.alias
            .and_then(|alias| alias.window)
            .unwrap_or_else(|| self.scheme().default_window)
    }

    /// The code of HPCC-PINT's digest, if the scheme reads one; switches write with the same.
    pub fn pint_code(&self) -> Option<pint::Code> {
        with_params!(&self.params, params => params.pint_code())
    }

    /// What the scheme asks of every switch, alongside marks and telemetry.
    pub fn switch_part(&self) -> Option<SwitchSupport> {
        with_params!(&self.params, params => params.switch_part())
    }

    /// The switch's half of the scheme, for each of `ports` that takes part, with a random stream for each.
    pub fn switch_halves(
        &self,
        ports: &[Option<EgressPort>],
        rngs: &mut [Rng],
    ) -> Option<Box<dyn SwitchHalves>> {
        with_params!(&self.params, params => params.switch_halves(ports, rngs))
    }

    /// Whether switches do the same for the other, a configuration of the same scheme.
    pub fn same_in_switches(&self, other: &Self) -> bool {
        let settings = |config: &Self| {
            let names = config.switch_part().map_or(&[][..], |part| part.params);
            let mut values = config.values();
            values.retain(|(name, _)| names.contains(&name.as_str()));
            values
        };
        settings(self) == settings(other)
    }

    /// The round-trip time above which the scheme always slows down, on a path of so many links.
    pub fn delay_limit(&self, links: usize) -> Option<DelayLimit> {
        with_params!(&self.params, params => params.delay_limit(links))
    }

    /// Returns the times that should be longer than a round trip.
    pub fn reaction_times(&self) -> Vec<ReactionTime> {
        with_params!(&self.params, params => params.reaction_times())
    }

    /// What of such a network the scheme does not work with.
    pub fn incompatible(&self, network: &NetworkFacts) -> Vec<Incompatible> {
        with_params!(&self.params, params => params.incompatible(network))
    }

    /// Whether its senders react to what happens to their packets.
    pub fn is_adaptive(&self) -> bool {
        with_params!(&self.params, params => params.is_adaptive())
    }

    /// What a flow on such a line always sends; `None` if there is no such bound.
    pub fn least(&self, line: BitRate) -> Option<SendFloor> {
        with_params!(&self.params, params => params.least(line))
    }

    /// How switches mark for it unless the network says otherwise.
    pub fn marking(&self) -> Marking {
        with_params!(&self.params, params => params.marking())
    }

    /// Whether ports detect ternarily for it unless the network says otherwise.
    pub fn ternary_detection(&self) -> bool {
        with_params!(&self.params, params => params.ternary_detection())
    }

    /// Whether its senders take it that nothing is lost.
    pub fn assumes_lossless(&self) -> bool {
        with_params!(&self.params, params => params.assumes_lossless())
    }

    /// Parameters that have a value published for lines of another rate than this.
    pub fn tuned(&self, line: BitRate) -> Vec<RateScaled> {
        with_params!(&self.params, params => params.tuned(line))
    }

    /// The same scheme with what the launcher of HPCC's public code writes in place of `auto`, where that
    /// differs.
    pub fn hpcc_script_defaults(self) -> Self {
        Self {
            params: with_params!(&self.params, params => wrap params.hpcc_script_defaults()),
            ..self
        }
    }

    /// The receiver's half for a new flow, if the scheme has one.
    pub fn receiver_half(&self) -> Option<Box<dyn ReceiverHalf>> {
        with_params!(&self.params, params => params.receiver_half())
    }

    /// The scheduler of grants of a receiving host whose link has this rate, if the scheme has one.
    pub fn grant_scheduler(&self, link: BitRate) -> Option<Box<dyn GrantScheduler>> {
        with_params!(&self.params, params => params.grant_scheduler(link))
    }

    /// The sender's half for a new flow.
    pub fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        with_params!(&self.params, params => params.build(path))
    }

    /// Builds senders of many flows, if that is faster than one by one.
    pub(super) fn factory(&self) -> Option<SchemeFactory> {
        with_params!(&self.params, params => params.factory())
    }

    /// The parameters.
    pub fn params(&self) -> &AnyParams {
        &self.params
    }

    /// Name and value of every parameter, in the order of [`Scheme::params`], defaults filled in.
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

    /// The scheme's parameters as they are, as the one block of [`SchemeParams`].
    pub fn block(&self) -> SchemeParams {
        self.params.clone().into()
    }

    /// The scheme's parameters with every default filled in, as the one block of
    /// [`SchemeParams`]: what a resolved scenario writes.
    pub fn explicit_params(&self) -> SchemeParams {
        with_params!(&self.params, params => wrap params.explicit()).into()
    }

    /// Checks that the parameters make sense.
    ///
    /// # Errors
    /// The first that does not.
    pub fn validate(&self) -> Result<(), ParamError> {
        with_params!(&self.params, params => {
            let params = params.explicit();
            params.check_ranges()?;
            params.check()
        })
    }
}

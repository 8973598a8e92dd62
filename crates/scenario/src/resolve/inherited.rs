//! Settings that a scenario leaves to its scheme. The resolved text lists them in `[cc.defaults]`, so that another
//! scheme uses its own defaults.

use crate::schema::{CcDefaults, Ecn, Network, Scenario};

/// Settings that the input left out, recorded before defaults were filled in.
pub(super) struct Unsaid {
    window: bool,
    ecn: bool,
    detection: bool,
}

impl Unsaid {
    pub(super) fn of(scenario: &Scenario) -> Self {
        let (cc, network) = (&scenario.cc, &scenario.network);
        Self {
            window: cc.window.is_none() && cc.windows.is_none(),
            ecn: network.ecn.as_ref().is_none_or(|ecn| is_empty(ecn.get_ref())),
            detection: network.detection.is_none(),
        }
    }

    /// Lists these settings, and those that a file written by a run lists already, in `[cc.defaults]`. Called after
    /// defaults were filled in.
    pub(super) fn name(self, scenario: &mut Scenario) {
        let Some(scheme) = &scenario.cc.scheme else { return };
        let of = scheme.get_ref().clone();
        // A list for another scheme is dropped, since that scheme's defaults are not wanted here.
        let before = scenario.cc.defaults.take().filter(|defaults| defaults.of == of);
        let mut keys = before.map_or_else(Vec::new, |defaults| defaults.keys);
        let Network { ecn, detection, .. } = &scenario.network;
        let window = if scenario.cc.windows.is_some() {
            "cc.windows"
        } else {
            "cc.window"
        };
        let now = [
            (window, self.window),
            ("network.detection", self.detection && detection.is_some()),
            ("network.ecn", self.ecn && ecn.is_some()),
        ];
        keys.extend(
            now.into_iter()
                .filter(|(_, is)| *is)
                .map(|(key, _)| key.to_string()),
        );
        // Sorted and without duplicates, so that resolving once more gives the same text.
        keys.sort_unstable();
        keys.dedup();
        scenario.cc.defaults = (!keys.is_empty()).then_some(CcDefaults { of, keys });
    }
}

fn is_empty(ecn: &Ecn) -> bool {
    ecn.curves.is_none()
        && ecn.kmin.is_none()
        && ecn.kmax.is_none()
        && ecn.pmax.is_none()
        && ecn.reference_rate.is_none()
}

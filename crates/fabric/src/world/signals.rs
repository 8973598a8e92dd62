//! Numbers of signals: one for each scheme with a switch half.

use paceline_congestion::registry::ActiveScheme;

/// Schemes of a run that have a switch half, and the names of their signals.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// Name of the scheme and of its signals, by number.
    names: Vec<(&'static str, &'static str)>,
    /// Number of each scheme that the run lists.
    of_scheme: Vec<u8>,
}

impl Signals {
    /// Number of schemes without signals.
    pub const NONE: u8 = u8::MAX;

    /// Collects the signals of a run's schemes.
    pub(crate) fn of(schemes: &[ActiveScheme]) -> Self {
        let mut signals = Self::default();
        for scheme in schemes {
            let name = scheme.config().name();
            if let Some(part) = scheme.switch_part()
                && signals.named(name) == Self::NONE
            {
                signals.names.push((name, part.signal.unwrap_or(name)));
            }
        }
        let names = schemes.iter().map(|scheme| scheme.config().name());
        signals.of_scheme = names.map(|name| signals.named(name)).collect();
        signals
    }

    /// Returns the number of a scheme, by its name.
    pub fn named(&self, scheme: &str) -> u8 {
        let found = self.names.iter().position(|(name, _)| *name == scheme);
        found.map_or(Self::NONE, |index| u8::try_from(index).unwrap_or(Self::NONE))
    }

    /// Returns the number of a scheme, by its index in the run's description.
    pub fn of_scheme(&self, scheme: u16) -> u8 {
        self.of_scheme[usize::from(scheme)]
    }

    /// Returns the names of signals, by number.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.names.iter().map(|(_, signal)| *signal).collect()
    }
}

//! Whose signals a run may have: each scheme's that runs something in switches.

use paceline_congestion::registry::ActiveScheme;

/// The schemes of a run that have a half in switches, and what their signals are called.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// By number: the scheme's name, and that of its signals.
    names: Vec<(&'static str, &'static str)>,
    /// The number of each scheme that the run lists.
    of_scheme: Vec<u8>,
}

impl Signals {
    /// The number of those who have none.
    pub const NONE: u8 = u8::MAX;

    /// Of a run's schemes.
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

    /// The number of a scheme, by its name.
    pub fn named(&self, scheme: &str) -> u8 {
        let found = self.names.iter().position(|(name, _)| *name == scheme);
        found.map_or(Self::NONE, |place| u8::try_from(place).unwrap_or(Self::NONE))
    }

    /// The number of a scheme, by its place in the run's description.
    pub fn of_scheme(&self, scheme: u16) -> u8 {
        self.of_scheme[usize::from(scheme)]
    }

    /// What signals are called, by number.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.names.iter().map(|(_, signal)| *signal).collect()
    }
}

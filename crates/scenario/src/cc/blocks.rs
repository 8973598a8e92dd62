//! Blocks of `[cc]`: parameters by scheme or alias.

use paceline_congestion::registry::variant::{self, Variant, VariantError};
use paceline_congestion::registry::{SchemeParams, find};
use paceline_kernel::sorted::SortedMap;
use serde::Deserialize;

/// Blocks of a scenario: one for each scheme, and one for each alias or variant with its own.
///
/// An alias without its own block uses that of its scheme.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Blocks {
    pub(crate) schemes: SchemeParams,
    /// Blocks of aliases and variants. Each holds only its scheme's parameters; those left out are as in the scheme's
    /// block.
    pub(crate) aliases: SortedMap<String, SchemeParams>,
}

impl Blocks {
    /// Returns the parameters of the scheme or alias `name`.
    pub(crate) fn of(&self, name: &str) -> &SchemeParams {
        self.aliases.get(name).unwrap_or(&self.schemes)
    }

    /// Gives the variant `name` its own block unless it has one: its scheme's block with the settings in the name.
    /// Reads the files that the parameters name.
    pub(crate) fn add_variant(&mut self, name: &str) -> Result<(), VariantError> {
        let parsed = Variant::parse(name)?;
        if !self.aliases.contains_key(name) {
            let config = parsed.configure(self.of(variant::base(name)));
            let config = config.map_err(|error| VariantError::Setting {
                name: name.to_string(),
                message: error.to_string(),
                hint: None,
            })?;
            self.aliases.insert(name.to_string(), config.block());
        }
        Ok(())
    }

    /// Returns every block with its alias; `None` marks the schemes' own blocks.
    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = (Option<&str>, &mut SchemeParams)> {
        let aliases = self.aliases.iter_mut();
        let aliases = aliases.map(|(alias, params)| (Some(alias.as_str()), params));
        std::iter::once((None, &mut self.schemes)).chain(aliases)
    }
}

/// Returns the scheme of the alias or variant `name`, or `None` for schemes and unknown names.
pub(crate) fn scheme_of_alias(name: &str) -> Option<&'static str> {
    let (scheme, alias) = find(variant::base(name)).ok()?;
    (alias.is_some() || variant::is_variant(name)).then_some(scheme.name)
}

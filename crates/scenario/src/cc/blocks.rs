//! The blocks of `[cc]`: parameters, by scheme or alias.

use std::collections::BTreeMap;

use paceline_congestion::registry::variant::{self, Variant, VariantError};
use paceline_congestion::registry::{SchemeParams, find};
use serde::Deserialize;

/// The blocks of a scenario: one for each scheme, and one for each alias or variant that has its own.
///
/// An alias without a block of its own takes that of its scheme.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Blocks {
    pub(crate) schemes: SchemeParams,
    /// Each with the one block of its scheme, in which what it leaves out is as in the scheme's own block.
    pub(crate) aliases: BTreeMap<String, SchemeParams>,
}

impl Blocks {
    /// The parameters for the scheme or alias `name`.
    pub(crate) fn of(&self, name: &str) -> &SchemeParams {
        self.aliases.get(name).unwrap_or(&self.schemes)
    }

    /// Gives the variant `name` a block of its own, unless it has one: that of its scheme with what the name sets. Files
    /// that parameters name are read for blocks.
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

    /// Every block, with the alias whose it is.
    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = (Option<&str>, &mut SchemeParams)> {
        let aliases = self.aliases.iter_mut();
        let aliases = aliases.map(|(alias, params)| (Some(alias.as_str()), params));
        std::iter::once((None, &mut self.schemes)).chain(aliases)
    }
}

/// The scheme whose alias or variant `name` is; `None` of schemes, and of names that nothing has.
pub(crate) fn scheme_of_alias(name: &str) -> Option<&'static str> {
    let (scheme, alias) = find(variant::base(name)).ok()?;
    (alias.is_some() || variant::is_variant(name)).then_some(scheme.name)
}

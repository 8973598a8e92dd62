//! Serialised form of a configured scheme.

use serde::{Deserialize, Serialize};

use super::{SchemeConfig, SchemeParams, UnknownScheme, find};

/// Name by which the scheme was configured, and its parameters as given: `auto` stays `auto`, and a model is
/// stored by name (one from a file must be attached again).
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    name: String,
    params: SchemeParams,
}

impl From<SchemeConfig> for Written {
    fn from(config: SchemeConfig) -> Self {
        Self {
            name: config.label().to_string(),
            params: config.params.into(),
        }
    }
}

impl TryFrom<Written> for SchemeConfig {
    type Error = UnknownScheme;
    fn try_from(written: Written) -> Result<Self, UnknownScheme> {
        let (scheme, alias) = find(&written.name)?;
        let params = written.params.get(scheme.name);
        // The parameters already include the alias's settings.
        Ok(Self {
            params: params.ok_or_else(|| UnknownScheme::new(&written.name))?,
            alias,
        })
    }
}

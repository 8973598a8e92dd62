//! A configured scheme as it is written and read.

use serde::{Deserialize, Serialize};

use super::{SchemeConfig, SchemeParams, UnknownScheme, find};

/// The name by which it was asked for, and its parameters as they are: `auto` stays `auto`, and a model is
/// named (one that came from a file has to be attached again).
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
        // The settings of an alias are among the parameters.
        Ok(Self {
            params: params.ok_or_else(|| UnknownScheme::new(&written.name))?,
            alias,
        })
    }
}

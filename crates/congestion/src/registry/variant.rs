//! A scheme with parameters set in its name: `dcqcn:g=0.1:increase-timer=55us`.
//!
//! Colons and equals signs need no quotes in a shell, and lists of schemes keep their commas.

use super::{Alias, Scheme, SchemeConfig, SchemeParams, UnknownScheme, find};
use crate::params::ParamError;

/// Scheme or alias, and the parameters that its name sets.
#[derive(Clone, Debug)]
pub struct Variant<'n> {
    /// Scheme that the name selects.
    pub scheme: &'static Scheme,
    /// Alias, if the name starts with one.
    pub alias: Option<&'static Alias>,
    /// Parameters with their values, in the order of the name.
    pub settings: Vec<(&'n str, &'n str)>,
}

/// Error in the name of a scheme.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VariantError {
    /// There is no such scheme.
    #[error(transparent)]
    Unknown(#[from] UnknownScheme),
    /// A setting is invalid.
    #[error("`{name}`: {message}")]
    Setting {
        /// Whole name as given.
        name: String,
        /// Description of the mistake.
        message: String,
        /// Suggestion of the nearest name, with all valid names.
        hint: Option<String>,
    },
}

impl VariantError {
    /// Returns the suggestion, if there is one.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Unknown(_) => None,
            Self::Setting { hint, .. } => hint.as_deref(),
        }
    }
}

/// Returns the scheme or alias of a name, without the settings.
pub fn base(name: &str) -> &str {
    name.split(':').next().unwrap_or(name)
}

/// Returns true if a name sets parameters.
pub fn is_variant(name: &str) -> bool {
    name.contains(':')
}

impl<'n> Variant<'n> {
    /// Parses `name` into the scheme and its settings.
    ///
    /// # Errors
    /// If there is no such scheme, or a setting is unknown, has no value, or occurs twice.
    pub fn parse(name: &'n str) -> Result<Self, VariantError> {
        let mut parts = name.split(':');
        let (scheme, alias) = find(parts.next().unwrap_or(name))?;
        let wrong = |message: String, hint: Option<String>| VariantError::Setting {
            name: name.to_string(),
            message,
            hint,
        };
        let params = (scheme.params)();
        let mut settings: Vec<(&str, &str)> = Vec::new();
        for part in parts {
            let (key, value) = part
                .split_once('=')
                .filter(|(key, value)| !key.is_empty() && !value.is_empty())
                .ok_or_else(|| {
                    let example = params.first().map_or("PARAMETER=VALUE".to_string(), |doc| {
                        format!("{}={}", doc.name, doc.default)
                    });
                    wrong(
                        format!("`{part}` sets nothing"),
                        Some(format!("write for example `{}:{example}`", base(name))),
                    )
                })?;
            if params.iter().all(|doc| doc.name != key) {
                let names: Vec<&str> = params.iter().map(|doc| doc.name.as_str()).collect();
                return Err(wrong(
                    format!("{} has no parameter `{key}`", scheme.name),
                    Some(hint(key, &names)),
                ));
            }
            // The last of two values would win silently, and the name would say something else than what runs.
            if settings.iter().any(|(known, _)| *known == key) {
                return Err(wrong(format!("`{key}` is set twice"), None));
            }
            settings.push((key, value));
        }
        Ok(Self {
            scheme,
            alias,
            settings,
        })
    }

    /// Configures the scheme: parameters of `blocks`, overridden by those of the alias, then by those of the
    /// name.
    ///
    /// # Errors
    /// A value is not valid for its parameter.
    pub fn configure(&self, blocks: &SchemeParams) -> Result<SchemeConfig, ParamError> {
        let name = self.alias.map_or(self.scheme.name, |alias| alias.name);
        let mut config = blocks
            .configure(name)
            .map_err(|error| ParamError::new(name, error.to_string()))?;
        for (key, value) in &self.settings {
            config.set(key, value)?;
        }
        Ok(config)
    }

    /// Returns the settings that have no effect given `blocks`, each with the value that the parameter
    /// already has.
    pub fn idle(&self, blocks: &SchemeParams) -> Vec<(&'n str, String)> {
        let plain = Variant {
            settings: Vec::new(),
            ..self.clone()
        };
        let values = |one: &Self| {
            one.configure(blocks)
                .map(|config| config.values())
                .unwrap_or_default()
        };
        let (before, after) = (values(&plain), values(self));
        let value = |of: &[(String, String)], key: &str| {
            let found = of.iter().find(|(name, _)| name == key);
            found.map(|(_, value)| value.clone())
        };
        let settings = self.settings.iter().filter_map(|(key, _)| {
            let known = value(&before, key)?;
            (value(&after, key)? == known).then_some((*key, known))
        });
        settings.collect()
    }
}

/// Returns the hint for an unknown parameter: the nearest name, or one that contains this word.
fn hint(key: &str, names: &[&str]) -> String {
    let word = key.replace('_', "-").to_lowercase();
    let by_distance = names
        .iter()
        .map(|name| (strsim::damerau_levenshtein(&word, name), *name))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, name)| distance * 5 <= name.len().max(word.len()) * 2);
    let with_word = || {
        let has = |name: &&&str| name.split('-').any(|part| part == word);
        names.iter().find(has).copied()
    };
    let near = by_distance.map(|(_, name)| name).or_else(with_word);
    let all = match names {
        [] => "it has no parameters".to_string(),
        names => format!("its parameters are {}", names.join(", ")),
    };
    match near {
        Some(near) => format!("did you mean `{near}`? {all}"),
        None => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str) -> String {
        let error = Variant::parse(name).unwrap_err();
        format!("{error}; {}", error.hint().unwrap_or_default())
    }

    #[test]
    fn settings_are_read_in_their_order() {
        let variant = Variant::parse("dcqcn:g=0.1:increase-timer=55us").unwrap();
        assert_eq!(variant.settings, [("g", "0.1"), ("increase-timer", "55us")]);
        let config = variant.configure(&SchemeParams::default()).unwrap();
        let values = config.values();
        for (key, value) in [("g", "0.1"), ("increase-timer", "55us")] {
            assert!(
                values.contains(&(key.to_string(), value.to_string())),
                "{values:?}"
            );
        }
        assert!(Variant::parse("hpcc").unwrap().settings.is_empty());
        assert_eq!(base("dcqcn:g=0.1"), "dcqcn");
    }

    #[test]
    fn mistakes_are_told_with_what_was_meant() {
        assert!(said("dcqn:g=0.1").starts_with("unknown scheme `dcqn` (did you mean `dcqcn`?)"));
        let unknown = said("dcqcn:timer=5us");
        assert!(unknown.starts_with(
            "`dcqcn:timer=5us`: dcqcn has no parameter `timer`; did you mean `increase-timer`?"
        ));
        assert!(said("hpcc:etta=1").contains("did you mean `eta`?"));
        assert!(said("none:a=1").ends_with("it has no parameters"));
        assert!(said("hpcc:eta").contains("`eta` sets nothing; write for example `hpcc:eta=0.95`"));
        assert!(said("hpcc:").contains("`` sets nothing"));
        assert!(said("hpcc:eta=").contains("`eta=` sets nothing"));
        assert!(said("hpcc:eta=0.9:eta=0.8").contains("`eta` is set twice"));
        let wrong = Variant::parse("hpcc:eta=much").unwrap();
        let error = wrong.configure(&SchemeParams::default()).unwrap_err();
        assert!(error.to_string().contains("`much` is not a number"), "{error}");
    }

    #[test]
    fn a_name_wins_over_its_alias_and_over_blocks() {
        let alias = Variant::parse("dcqcn-win:g=0.25").unwrap();
        let config = alias.configure(&SchemeParams::default()).unwrap();
        assert_eq!(config.label(), "dcqcn-win");
        assert!(config.values().contains(&("g".to_string(), "0.25".to_string())));
    }

    #[test]
    fn settings_that_are_so_already_are_found() {
        let blocks = SchemeParams::default();
        let eta = |name| Variant::parse(name).unwrap().idle(&blocks);
        assert_eq!(eta("hpcc:eta=0.95"), [("eta", "0.95".to_string())]);
        assert_eq!(eta("hpcc:eta=0.9"), []);
    }
}

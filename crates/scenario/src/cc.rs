//! Schemes by name, with their parameters.

mod blocks;

pub(crate) use blocks::{Blocks, scheme_of_alias};
use paceline_congestion::registry::SchemeConfig;
use paceline_congestion::registry::variant::{self, Variant, VariantError};

use crate::diagnostics::{Location, Problem, nearest};

/// Returns the configuration of the scheme `name` after checking its parameters. `parameter` finds the position of a
/// parameter in the input.
pub(crate) fn configure(
    blocks: &Blocks,
    name: &str,
    location: &Location,
    parameter: impl Fn(&str) -> Option<Location>,
) -> Result<SchemeConfig, Problem> {
    let mut variant = Variant::parse(name).map_err(|error| unusable(name, &error, location))?;
    // The model that a variant names was read when its block was added, so it is taken from there.
    let mut own = blocks.aliases.get(name).cloned().unwrap_or_default();
    let read: Vec<&str> = (own.models().into_iter())
        .filter_map(|(_, key, model)| model.model().map(|_| key))
        .collect();
    variant.settings.retain(|(key, _)| !read.contains(key));
    let configured = |blocks| variant.configure(blocks);
    let config = configured(blocks.of(name)).map_err(|error| {
        let error = format!("`{name}`: {error}");
        Problem::new(error).at(location)
    })?;
    config.validate().map_err(|error| {
        let scheme = config.name();
        let at = parameter(&error.param);
        Problem::new(format!("{scheme}: {error}"))
            .at(at.as_ref().unwrap_or(location))
            .help(format!("`paceline explain {scheme}` lists the parameters"))
    })?;
    // The resolved scenario holds every derived parameter, so the configuration has to hold them too.
    let explicit = configured(&config.explicit_params());
    Ok(explicit.unwrap_or(config))
}

/// Adds a block for each variant of a scheme that a scenario names.
pub(crate) fn add_variants<'n>(
    blocks: &mut Blocks,
    named: impl IntoIterator<Item = (&'n str, Location)>,
) -> Result<(), Problem> {
    let named = named.into_iter();
    for (name, index) in named.filter(|(name, _)| variant::is_variant(name)) {
        blocks
            .add_variant(name)
            .map_err(|error| unusable(name, &error, &index))?;
    }
    Ok(())
}

/// Returns the problem with an unusable scheme name.
fn unusable(name: &str, error: &VariantError, location: &Location) -> Problem {
    let error = match error {
        VariantError::Unknown(error) => error,
        VariantError::Setting { hint, .. } => {
            let problem = Problem::new(error.to_string()).at(location);
            let scheme = variant::base(name);
            let lists = format!("`paceline explain {scheme}` lists the parameters");
            return problem.help(hint.clone().unwrap_or(lists));
        }
    };
    let problem = Problem::new(format!("unknown scheme `{}`", error.found)).at(location);
    let all = format!("the schemes are {}", error.names.join(", "));
    // A list of names is near no single name, and is meant for another command.
    if name.contains(',') {
        return problem
            .label("one scheme")
            .help(format!("`paceline compare INPUT --schemes {name}` runs several"));
    }
    let near = error.nearest;
    match near.or_else(|| nearest(&error.found, error.names.iter().copied())) {
        Some(near) => problem
            .label(format!("did you mean `{near}`?"))
            .help(format!("did you mean `{near}`? {all}")),
        None => problem.label("no such scheme").help(all),
    }
}

/// Returns a block for each of these schemes, by the names under which they run, with a value for every parameter.
///
/// A scheme has one block if all its names run with the same parameters. Otherwise each name has its own block: a
/// parameter that an alias sets also decides the defaults of others, which would then apply to the other names. A
/// variant always has its own block, since its values in the scheme's block would apply to the scheme too.
///
/// The blocks pass through their text, so that the code for writing and for [`crate::document`]'s reading is compiled
/// once, for the scenario.
pub(crate) fn explicit(schemes: &[(&str, &SchemeConfig)]) -> Result<toml::Table, Problem> {
    let mut blocks = toml::Table::new();
    for (name, config) in schemes {
        let params = config.explicit_params();
        let text = crate::document::write(&params).map_err(|error| error.to_string());
        let table = text.and_then(|text| text.parse::<toml::Table>().map_err(|error| error.to_string()));
        let mut table = table.map_err(|error| {
            Problem::new(format!(
                "the parameters of {} cannot be written: {error}",
                config.name()
            ))
        })?;
        let mut others = schemes.iter().filter(|(_, other)| other.name() == config.name());
        let is_shared = others.all(|(_, other)| other.explicit_params() == params);
        let written = match is_shared && !variant::is_variant(name) {
            true => config.name(),
            false => name,
        };
        if let Some(block) = table.remove(config.name()) {
            blocks.insert(written.to_string(), block);
        }
    }
    Ok(blocks)
}

/// Converts a table of tables that this crate wrote into blocks.
pub(crate) fn blocks(table: &toml::Table) -> Result<Blocks, Problem> {
    let schemes = crate::document::read(&table.to_string())
        .map_err(|error| Problem::new(format!("the parameters of the scheme do not fit: {error}")))?;
    Ok(Blocks {
        schemes,
        ..Blocks::default()
    })
}

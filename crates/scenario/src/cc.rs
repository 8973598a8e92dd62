//! Schemes by name, with their parameters.

mod blocks;

pub(crate) use blocks::{Blocks, scheme_of_alias};
use paceline_congestion::registry::SchemeConfig;

use crate::diagnostics::{Place, Problem, nearest};

/// The scheme called `name` with its parameters, checked. `parameter` knows where a parameter of that name was written.
pub(crate) fn configure(
    blocks: &Blocks,
    name: &str,
    place: &Place,
    parameter: impl Fn(&str) -> Option<Place>,
) -> Result<SchemeConfig, Problem> {
    let config = blocks.of(name).configure(name).map_err(|error| {
        let problem = Problem::new(format!("unknown scheme `{name}`")).at(place);
        let all = format!("the schemes are {}", error.names.join(", "));
        if name.contains(',') {
            return problem
                .label("one scheme")
                .help(format!("`paceline compare INPUT --schemes {name}` runs several"));
        }
        match error
            .nearest
            .or_else(|| nearest(name, error.names.iter().copied()))
        {
            Some(near) => problem
                .label(format!("did you mean `{near}`?"))
                .help(format!("did you mean `{near}`? {all}")),
            None => problem.label("no such scheme").help(all),
        }
    })?;
    config.validate().map_err(|error| {
        let scheme = config.name();
        let at = parameter(&error.param);
        Problem::new(format!("{scheme}: {error}"))
            .at(at.as_ref().unwrap_or(place))
            .help(format!("`paceline explain {scheme}` lists the parameters"))
    })?;
    // With every parameter that depends on others filled in, as the resolved scenario has it.
    let explicit = config.explicit_params().configure(name);
    Ok(explicit.unwrap_or(config))
}

/// The blocks of these schemes, by the names under which they run, every parameter with its value.
///
/// A scheme has one block where all its names run with the same parameters. Otherwise each name has its own: what an
/// alias sets decides over further parameters, which would be the other name's as well.
///
/// By way of their text: writing texts and [`crate::document`]'s reading are compiled once, for the scenario.
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
        let written = if is_shared { config.name() } else { name };
        if let Some(block) = table.remove(config.name()) {
            blocks.insert(written.to_string(), block);
        }
    }
    Ok(blocks)
}

/// Blocks out of a table of tables that this crate made.
pub(crate) fn blocks(table: &toml::Table) -> Result<Blocks, Problem> {
    let schemes = crate::document::read(&table.to_string())
        .map_err(|error| Problem::new(format!("the parameters of the scheme do not fit: {error}")))?;
    Ok(Blocks {
        schemes,
        ..Blocks::default()
    })
}

//! Schemes by name, with their parameters.

use paceline_congestion::registry::{SchemeConfig, SchemeParams};

use crate::diagnostics::{Place, Problem, nearest};

/// The scheme called `name` with its parameters, checked. `parameter` knows where a scheme's
/// parameter was written.
pub(crate) fn configure(
    blocks: &SchemeParams,
    name: &str,
    place: &Place,
    parameter: impl Fn(&str, &str) -> Option<Place>,
) -> Result<SchemeConfig, Problem> {
    let config = blocks.configure(name).map_err(|error| {
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
        let at = parameter(scheme, &error.param);
        Problem::new(format!("{scheme}: {error}"))
            .at(at.as_ref().unwrap_or(place))
            .help(format!("`paceline explain {scheme}` lists the parameters"))
    })?;
    // With every parameter that depends on others filled in, as the resolved scenario has it.
    let explicit = config.explicit_params().configure(name);
    Ok(explicit.unwrap_or(config))
}

/// The blocks of these schemes, every parameter with its value.
///
/// By way of their text: writing texts and [`crate::document`]'s reading are compiled once, for the scenario.
pub(crate) fn explicit(schemes: &[&SchemeConfig]) -> Result<toml::Table, Problem> {
    let mut blocks = toml::Table::new();
    for scheme in schemes {
        let text = crate::document::write(&scheme.explicit_params());
        let block = text.map_err(|error| error.to_string()).and_then(|text| {
            let table = text.parse::<toml::Table>();
            table.map_err(|error| error.to_string())
        });
        blocks.extend(block.map_err(|error| {
            Problem::new(format!(
                "the parameters of {} cannot be written: {error}",
                scheme.name()
            ))
        })?);
    }
    Ok(blocks)
}

/// Blocks out of a table of tables that this crate made.
pub(crate) fn blocks(table: &toml::Table) -> Result<SchemeParams, Problem> {
    crate::document::read(&table.to_string())
        .map_err(|error| Problem::new(format!("the parameters of the scheme do not fit: {error}")))
}

//! Scaling of links by `[network] rate-factor`.

use paceline_kernel::sorted::SortedMap;
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::link_tiers::multiply_rates;
use crate::topology::Net;

use super::Cx;
use super::links::no_link;

/// Multiplies the rates of links by their factors.
pub(super) fn apply(
    cx: &Cx<'_>,
    written: Option<&SortedMap<String, Spanned<f64>>>,
    net: &mut Net,
) -> Result<(), Problem> {
    let Some(written) = written else {
        return Ok(());
    };
    for (name, factor) in written {
        if !(0.001..=1000.0).contains(factor.get_ref()) {
            let message = format!("the rate of `{name}` times {}", factor.get_ref());
            return Err(Problem::new(message)
                .at(&cx.texts.of_value(factor))
                .label("expected a factor from 0.001 to 1000"));
        }
    }
    let factors = written
        .iter()
        .map(|(name, factor)| (name.as_str(), *factor.get_ref()));
    multiply_rates(&mut net.topology, factors)
        .map_err(|(name, tiers)| no_link(name, &tiers).at(&cx.texts.of_value(&written[name])))?;
    net.has_rate_factors = !written.is_empty();
    Ok(())
}

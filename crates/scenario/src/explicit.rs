//! Writing a scenario in which nothing is absent.

use paceline_fabric::spec::SchemeSpec;
use toml::{Table, Value};

use crate::cc;
use crate::diagnostics::Problem;
use crate::schema::Scenario;

/// The document: the scenario, with the blocks of its schemes in `[cc]`.
pub(crate) fn document(scenario: &Scenario, schemes: &[SchemeSpec]) -> Result<Table, Problem> {
    let mut document = Table::try_from(scenario)
        .map_err(|error| Problem::new(format!("the resolved scenario cannot be written: {error}")))?;
    let configs: Vec<_> = schemes.iter().map(|scheme| &scheme.config).collect();
    let blocks = cc::explicit(&configs)?;
    if let Some(Value::Table(cc)) = document.get_mut("cc") {
        cc.extend(blocks);
    }
    Ok(document)
}

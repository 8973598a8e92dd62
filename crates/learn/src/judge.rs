//! Gain from learning relative to a law: costs of policies in runs used neither for learning nor for
//! selection.

use std::sync::Arc;

use paceline_congestion::learned::Model;

use crate::Error;
use crate::course::{EVALUATION, SELECTION};
use crate::decc::{TrainedPolicy, of_values, same};
use crate::search::{LEEWAY, Trials, cells, counted, decc_of, model_of};

/// Costs, run by run, in the networks of trials with separate seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Costs of the law.
    pub law: Vec<f64>,
    /// Costs of the kept policy; for a residual without a better trial, those of the law.
    pub kept: Vec<f64>,
    /// Costs of the policy after the last round.
    pub last: Vec<f64>,
}

impl Judged {
    /// Returns costs relative to the law's, with the leeway of trials: networks with tiny costs then do not
    /// dominate.
    pub fn over_law(&self, costs: &[f64]) -> Vec<f64> {
        let each = costs.iter().zip(&self.law);
        each.map(|(cost, law)| (LEEWAY + cost) / (LEEWAY + law)).collect()
    }
}

/// Runs the law, the kept policy and the last policy.
///
/// # Errors
/// A network fails.
pub fn judged(trained: &TrainedPolicy, threads: usize) -> Result<Judged, Error> {
    let of = |values: &[f32]| {
        model_of(&of_values(
            trained.options.by,
            "judged",
            &trained.law,
            values,
            "",
        )?)
    };
    let law = paceline_congestion::decc::law::Law::new(&trained.law).map_err(Error::Options)?;
    Ok(Judged {
        law: costs(&model_of(&same(&law, None)?)?, trained, threads)?,
        kept: costs(&of(&trained.values)?, trained, threads)?,
        last: costs(&of(&trained.last)?, trained, threads)?,
    })
}

fn costs(model: &Arc<Model>, trained: &TrainedPolicy, threads: usize) -> Result<Vec<f64>, Error> {
    // The networks of trials, with seeds that have not selected anything.
    let judges = |(network, seed)| (network, EVALUATION + (seed - SELECTION.start));
    let networks = Trials::networks_of(trained.options.networks);
    let networks = networks.into_iter().map(judges).collect();
    cells(&networks, 1, threads, &|row, _| {
        counted(row, &|_| Ok(decc_of(Arc::clone(model))))
    })
}

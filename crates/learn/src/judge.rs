//! What learning adds to a law: what policies cost in runs that neither taught nor chose.

use std::sync::Arc;

use paceline_congestion::learned::Model;

use crate::Error;
use crate::course::{EVALUATION, SELECTION};
use crate::decc::{TrainedPolicy, of_values, same};
use crate::search::{LEEWAY, Trials, cells, counted, decc_of, model_of};

/// Costs, run by run, in the networks of trials with seeds of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Of the law.
    pub law: Vec<f64>,
    /// Of what was kept: of a residual the law itself, if no trial was better.
    pub kept: Vec<f64>,
    /// Of the policy after the last round.
    pub last: Vec<f64>,
}

impl Judged {
    /// Costs over the law's, as trials take ratios: what is next to nothing in a network does not outweigh all others.
    pub fn over_law(&self, costs: &[f64]) -> Vec<f64> {
        let each = costs.iter().zip(&self.law);
        each.map(|(cost, law)| (LEEWAY + cost) / (LEEWAY + law)).collect()
    }
}

/// Runs the law, what was kept and the last policy.
///
/// # Errors
/// A network does not run.
pub fn judged(trained: &TrainedPolicy, threads: usize) -> Result<Judged, Error> {
    let of = |values: &[f32]| {
        model_of(&of_values(
            (trained.options.by, "judged"),
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
    let judges = |(network, seed)| (network, EVALUATION + (seed - SELECTION.start));
    let networks = Trials::networks_of(trained.options.networks);
    let networks = networks.into_iter().map(judges).collect();
    cells(&networks, 1, threads, &|row, _| {
        counted(row, &|_| Ok(decc_of(Arc::clone(model))))
    })
}

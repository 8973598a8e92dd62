//! Checks that judging runs differ from those used for learning.

use super::Origin;
use crate::Error;

/// Refuses runs of `test` that also occur in `training`: with the same resolved scenario, the same samples,
/// or the same scenario and order of simultaneous events, under any scheme.
///
/// # Errors
/// The first such run, and what the two have in common.
pub fn disjoint(training: &[Origin], test: &[Origin]) -> Result<(), Error> {
    for of_test in test {
        for of_training in training {
            let ordered = |one: &Origin| (one.scenario.clone(), one.order);
            let same = [
                (
                    "resolved scenario",
                    of_test.scenario_sha256 == of_training.scenario_sha256,
                ),
                ("samples", of_test.sha256 == of_training.sha256),
                (
                    "order of simultaneous events",
                    ordered(of_test) == ordered(of_training),
                ),
            ];
            if let Some((what, _)) = same.into_iter().find(|(_, same)| *same) {
                return Err(Error::NotApart {
                    test: of_test.run(),
                    training: of_training.run(),
                    what,
                });
            }
        }
    }
    Ok(())
}

/// Refuses orders of simultaneous events that a run of `training` had, before any run with them.
///
/// # Errors
/// The first such order.
pub fn apart_from_orders(training: &[Origin], orders: impl IntoIterator<Item = u64>) -> Result<(), Error> {
    for order in orders {
        if let Some(run) = training.iter().find(|run| run.order == Some(order)) {
            return Err(Error::NotApart {
                test: format!("a run in order {order}"),
                training: run.run(),
                what: "order of simultaneous events",
            });
        }
    }
    Ok(())
}

impl Origin {
    /// Returns a description of the run for messages.
    fn run(&self) -> String {
        match self.order {
            Some(order) => format!("{} in order {order}", self.course()),
            None => format!("{} in its own order", self.course()),
        }
    }
}

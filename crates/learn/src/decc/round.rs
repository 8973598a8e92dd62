//! A round of a stage.

use super::driver::{Driver, Manner};
use super::replay::{Replay, Transition};
use super::td3::Learner;
use super::{DECISIONS, Training};
use crate::Error;

impl Training<'_> {
    /// A round: flows are driven while the learner learns from what was there before.
    pub(super) fn round(
        &mut self,
        drivers: &mut [Driver],
        replay: &mut Replay,
        manner: Manner<'_>,
        learn: &mut dyn FnMut(&mut Learner, &Replay) -> f64,
    ) -> Result<f64, Error> {
        let (learner, threads) = (&mut self.learner, self.options.threads);
        let drive = |drivers: &mut [Driver]| -> Result<Vec<Vec<Transition>>, Error> {
            let each = drivers.iter_mut().map(|driver| driver.drive(manner, DECISIONS));
            each.map(|driven| driven.map(|(transitions, _)| transitions))
                .collect()
        };
        let (driven, loss) = if replay.is_empty() {
            (drive(drivers)?, None)
        } else if threads < 2 {
            (drive(drivers)?, Some(learn(learner, replay)))
        } else {
            std::thread::scope(|scope| {
                let driving = scope.spawn(|| drive(drivers));
                let loss = learn(learner, replay);
                let driven = driving
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                driven.map(|driven| (driven, Some(loss)))
            })?
        };
        for (source, transitions) in driven.into_iter().enumerate() {
            self.decisions += transitions.len() as u64;
            transitions.into_iter().for_each(|one| replay.push(source, one));
        }
        Ok(match loss {
            Some(loss) => loss,
            None => learn(&mut self.learner, replay),
        })
    }
}

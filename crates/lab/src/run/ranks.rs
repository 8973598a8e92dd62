//! Runs of one network on several ranks: all make the same steps, and the first has the results.

use std::sync::Arc;

use paceline_fabric::{Exchange, Progress, Simulation, gather};
use paceline_scenario::Resolved;

use super::{Control, RunError, RunErrorKind};

/// Next step of a run.
#[derive(Clone, Copy)]
pub(super) struct Slice {
    /// Number of events to run.
    pub(super) events: u64,
    /// True if the run is to stop before them.
    pub(super) stop: bool,
}

impl Slice {
    /// Returns the step on which all ranks agree: the first says how long it is, and any may ask to stop.
    pub(super) fn agreed(self, ranks: &dyn Exchange) -> Self {
        let all = gather(ranks, (self.events, self.stop));
        Self {
            events: all[0].0,
            stop: all.iter().any(|&(_, stop)| stop),
        }
    }
}

/// Runs the share of a rank other than the first, whose [`super::execute_on`] has the results. `progress` is called
/// after each slice.
///
/// # Errors
/// The network cannot be built or divided: the same error as the first rank's.
pub fn assist(
    input: &Resolved,
    ranks: &Arc<dyn Exchange>,
    threads: usize,
    progress: &mut dyn FnMut(&Progress) -> Control,
) -> Result<(), RunError> {
    let failed = |kind| RunError::of(input, kind);
    let built = Simulation::new(input.run.clone());
    let mut simulation = built.map_err(|error| failed(error.into()))?;
    let cut = simulation.cut_among(ranks.clone(), threads);
    cut.map_err(|why| failed(RunErrorKind::Undivided(why)))?;
    let mut slice = Slice {
        events: 0,
        stop: false,
    };
    loop {
        slice = slice.agreed(&**ranks);
        if slice.stop {
            break;
        }
        let now = simulation.advance(slice.events);
        slice.stop = progress(&now) == Control::Stop;
        if now.done {
            break;
        }
    }
    // The first rank takes the results in.
    let nothing = simulation.finish_rank();
    debug_assert!(nothing.is_none());
    Ok(())
}

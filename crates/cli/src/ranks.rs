//! The processes that `mpirun` has started, which run one network together.
//!
//! The first rank does what the command does otherwise: it chooses the folder, shows the progress and writes the results.
//! The others load the same scenario and run their share.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use paceline_fabric::{Exchange, gather};
use paceline_lab::sweep::run_id;
use paceline_mpi::{Mpi, launched};
use paceline_scenario::Resolved;

use crate::failure::{Ended, Failure};

/// Connection to the other ranks of a run.
pub(crate) struct Ranks {
    mpi: Arc<Mpi>,
    exchange: Arc<dyn Exchange>,
    stage: Cell<Stage>,
}

/// How far the ranks have come together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Apart,
    /// They have compared what they are about to run.
    Met,
    /// They cannot run it, and all know.
    Refused,
    /// They run it, or have done so.
    Running,
}

/// Connects the ranks; returns `None` if no launcher has started several.
pub(crate) fn connect() -> Result<Option<Ranks>, Failure> {
    let Some(launched) = launched() else {
        return Ok(None);
    };
    let mpi = Mpi::connect(&launched, print_late).map_err(Failure::arguments)?;
    // A launcher that does not say how many there are may have started one.
    if mpi.ranks() == 1 {
        return Ok(None);
    }
    let mpi = Arc::new(mpi);
    Ok(Some(Ranks {
        exchange: mpi.clone(),
        mpi,
        stage: Cell::new(Stage::Apart),
    }))
}

/// Returns true for a process that a launcher has started together with another, which speaks for all.
pub(crate) fn is_copy() -> bool {
    launched().is_some_and(|launched| launched.rank > 0)
}

/// Refuses a command that all processes of a launcher would do alike.
pub(crate) fn refuse_copies(command: &str) -> Result<(), Failure> {
    match launched() {
        None => Ok(()),
        Some(launched) if launched.rank == 0 => Err(Failure::arguments(format!(
            "{} has started several processes of `paceline {command}`, which would all do the same: only `paceline run` \
             divides its work among them; start `{command}` once, or a sweep with --shard (PACELINE_MPI=off lets each \
             process run alone)",
            launched.launcher
        ))),
        Some(_) => Err(Failure::Elsewhere),
    }
}

/// Names a rank that others wait for, once.
fn print_late(me: usize, late: usize, waited: Duration) {
    // One rank speaks: the first that is not late itself.
    if me == usize::from(late == 0) {
        say!("rank {late} has not answered for {} s: waiting", waited.as_secs());
    }
}

impl Ranks {
    pub(crate) fn rank(&self) -> usize {
        self.mpi.rank()
    }

    pub(crate) fn mpi(&self) -> &Mpi {
        &self.mpi
    }

    pub(crate) fn exchange(&self) -> &Arc<dyn Exchange> {
        &self.exchange
    }

    /// Compares what the ranks have loaded: all must have the same scenario, and the same version of this program.
    pub(crate) fn meet(&self, loaded: Result<Resolved, Failure>) -> Result<Resolved, Failure> {
        self.stage.set(Stage::Met);
        let own = match &loaded {
            Ok(input) => Ok((paceline_lab::version().to_owned(), run_id(input))),
            Err(failure) => Err(failure.to_string()),
        };
        let all = gather(&*self.exchange, own.clone());
        // The first error is that of the lowest rank, and the first rank prints it.
        let wrong = all.iter().enumerate().find_map(|(rank, other)| match (&own, other) {
            (_, Err(message)) => Some(format!("rank {rank}: {message}")),
            (Ok((version, _)), Ok((theirs, _))) if version != theirs => Some(format!(
                "rank {rank} runs paceline {theirs}, and this one is {version}: install the same version everywhere"
            )),
            (Ok((_, id)), Ok((_, theirs))) if id != theirs => Some(format!(
                "rank {rank} has another scenario: its files and options must be the same everywhere (PACELINE_MPI=off \
                 lets each process run alone)"
            )),
            _ => None,
        });
        if wrong.is_some() {
            self.stage.set(Stage::Refused);
        }
        match (loaded, wrong) {
            (Ok(mut input), None) => {
                // Each rank needs all flows of a stream, to find its own.
                if let Some(listed) = input.run.listed() {
                    *input.run_mut() = listed;
                }
                Ok(input)
            }
            _ if self.rank() > 0 => Err(Failure::Elsewhere),
            (Err(failure), _) => Err(failure),
            (Ok(_), Some(message)) => Err(Failure::Arguments(message)),
        }
    }

    /// Tells the other ranks to start, as the first.
    pub(crate) fn go(&self) {
        self.stage.set(Stage::Running);
        self.decide(true);
    }

    /// Waits for the first rank's decision, as another. Returns true if there is something to run.
    pub(crate) fn goes(&self) -> bool {
        self.decide(true)
    }

    /// Ends the ranks together, as the first.
    pub(crate) fn ended(&self, ended: Ended) -> Ended {
        match (self.stage.get(), &ended) {
            (Stage::Apart, Err(failure)) => {
                // The others learn it where they wait for this one.
                let own: Result<(String, String), String> = Err(failure.to_string());
                gather(&*self.exchange, own);
            }
            // It has failed before the run, or found its results.
            (Stage::Met, _) => {
                self.decide(false);
            }
            // The others may be in the middle of the run.
            (Stage::Running, Err(failure @ Failure::Run(_))) => {
                failure.print();
                self.mpi.abort(1);
            }
            // The others wait here, asleep, while this one writes: MPI's own end would keep their processors busy.
            (Stage::Running, _) => self.part(),
            _ => {}
        }
        ended
    }

    /// Waits until all ranks are done.
    pub(crate) fn part(&self) {
        gather(&*self.exchange, ());
    }

    /// Returns the decision of the first rank; that of another does not count.
    fn decide(&self, goes: bool) -> bool {
        gather(&*self.exchange, goes)[0]
    }
}

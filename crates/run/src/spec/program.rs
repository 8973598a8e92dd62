//! Programs that start flows during a run, depending on the fate of earlier ones.

use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;

use paceline_kernel::Time;
use serde::ser::Error;
use serde::{Serialize, Serializer};

use super::{Awaited, FlowSpec, NodeId};
use crate::outcome::ModelOutcome;

/// Requests of a program. All of them take effect after the call.
pub trait Asks {
    /// Returns the present time.
    fn now(&self) -> Time;
    /// Asks for a call of [`Behaviour::woken`] with this token at this time. Simultaneous calls are ordered
    /// by the upper half of the token, then by the order of requests.
    fn wake(&mut self, at: Time, token: u64);
    /// Starts a flow now, with sizes, hosts and class within those of [`Program`]; `message` is the program's
    /// own number for it.
    fn send(&mut self, message: u32, flow: FlowSpec);
}

/// Behaviour of a program: it starts flows, is notified of their progress, and starts others.
///
/// It must depend on these calls alone, because runs are repeated, and forked by copying.
pub trait Behaviour: CopyBehaviour {
    /// Starts the program at its start time.
    fn begin(&mut self, asks: &mut dyn Asks);
    /// Handles a time for which it asked.
    fn woken(&mut self, token: u64, asks: &mut dyn Asks);
    /// Handles the arrival of the last byte, or of the last acknowledgement, of one of its flows. Starts are
    /// not reported.
    fn heard(&mut self, message: u32, what: Awaited, asks: &mut dyn Asks);
    /// Handles the first complete departure of the last packet of one of its flows.
    fn left(&mut self, _message: u32, _asks: &mut dyn Asks) {}
    /// Returns true if it will start no further flows, and all that it started are complete.
    fn is_done(&self) -> bool;
    /// Returns the completed and the total iterations, if it repeats itself.
    fn iterations(&self) -> Option<(u32, u32)> {
        None
    }
    /// Returns true if it carries out operations that can be recorded.
    fn has_operations(&self) -> bool {
        false
    }
    /// Returns its results at the end of the run.
    fn close(&self) -> ModelOutcome;
}

/// Requirements on a behaviour; every plain value meets them.
pub trait CopyBehaviour: Any + fmt::Debug + Send + Sync {
    /// Returns a boxed copy.
    fn copy(&self) -> Box<dyn Behaviour>;
}

impl<T: Behaviour + Clone> CopyBehaviour for T {
    fn copy(&self) -> Box<dyn Behaviour> {
        Box::new(self.clone())
    }
}

/// State of a program; in [`Program`], the one before the run.
#[derive(Debug)]
pub struct State(AssertUnwindSafe<Box<dyn Behaviour>>);

impl State {
    /// Creates the state from a behaviour.
    pub fn new(behaviour: impl Behaviour) -> Self {
        Self(AssertUnwindSafe(Box::new(behaviour)))
    }
}

impl std::ops::Deref for State {
    type Target = dyn Behaviour;
    fn deref(&self) -> &Self::Target {
        &**self.0
    }
}

impl std::ops::DerefMut for State {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut **self.0
    }
}

impl Clone for State {
    fn clone(&self) -> Self {
        Self(AssertUnwindSafe(self.0.copy()))
    }
}

/// Program that starts flows of some hosts during the run: a job replayed from a trace.
#[derive(Clone, Debug)]
pub struct Program {
    /// Digest that identifies it: its behaviour and its settings.
    pub digest: String,
    /// Start time of the program.
    pub start: Time,
    /// Hosts that send and receive in it.
    pub hosts: Vec<NodeId>,
    /// Priority class of its flows.
    pub class: u8,
    /// Index of its scheme in [`super::RunSpec::schemes`].
    pub scheme: u16,
    /// Approximate number of flows that it starts.
    pub flows: u32,
    /// Largest flow, in bytes.
    pub largest: u64,
    /// State before the run.
    pub state: State,
}

impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        let of = |program: &Self| {
            let Self {
                start,
                class,
                scheme,
                flows,
                largest,
                ..
            } = *program;
            (start, class, scheme, flows, largest)
        };
        of(self) == of(other) && self.digest == other.digest && self.hosts == other.hosts
    }
}

impl Serialize for Program {
    /// Refuses: a program lives in its own files.
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("the program of a job has no written form"))
    }
}

//! Flows that come as a run goes on: what becomes of earlier ones decides over later ones.

use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;

use paceline_kernel::Time;
use serde::ser::Error;
use serde::{Serialize, Serializer};

use super::{Awaited, FlowSpec, NodeId};
use crate::outcome::ModelOutcome;

/// What a program can ask for. All of it happens after the call.
pub trait Asks {
    /// The time.
    fn now(&self) -> Time;
    /// A call of [`Behaviour::woken`] with this token at this time. Of several for the same time those with the
    /// lowest upper half of the token come first, and of these the first asked for.
    fn wake(&mut self, at: Time, token: u64);
    /// A flow that starts now, whose sizes, hosts and class are of [`Program`]; `message` is how the program calls it.
    fn send(&mut self, message: u32, flow: FlowSpec);
}

/// What a program does: it starts flows, hears what becomes of them, and starts others.
///
/// It must depend on nothing but what it is told: runs are repeated, and forked by copying.
pub trait Behaviour: CopyBehaviour {
    /// Its first start time has come.
    fn begin(&mut self, asks: &mut dyn Asks);
    /// A time has come that it asked for.
    fn woken(&mut self, token: u64, asks: &mut dyn Asks);
    /// Something has happened to a flow of its own: its last byte has arrived, or its last acknowledgement. (Its start is
    /// not told.)
    fn heard(&mut self, message: u32, what: Awaited, asks: &mut dyn Asks);
    /// The last packet of a flow of its own has left, whole and for the first time.
    fn left(&mut self, _message: u32, _asks: &mut dyn Asks) {}
    /// Whether it will start nothing any more, and all that it started is over.
    fn is_done(&self) -> bool;
    /// How far it is, if it repeats itself: iterations that are over, and all.
    fn iterations(&self) -> Option<(u32, u32)> {
        None
    }
    /// The run is over: what is to be known of it.
    fn close(&self) -> ModelOutcome;
}

/// What a behaviour has to be able to do; every plain value is.
pub trait CopyBehaviour: Any + fmt::Debug + Send + Sync {
    /// A copy.
    fn copy(&self) -> Box<dyn Behaviour>;
}

impl<T: Behaviour + Clone> CopyBehaviour for T {
    fn copy(&self) -> Box<dyn Behaviour> {
        Box::new(self.clone())
    }
}

/// A program as it is at some time: in [`Program`], before the run.
#[derive(Debug)]
pub struct State(AssertUnwindSafe<Box<dyn Behaviour>>);

impl State {
    /// Of something that behaves so.
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

/// Some hosts' flows that come as the run goes on: a job by a trace.
#[derive(Clone, Debug)]
pub struct Program {
    /// What tells it from others: what it does, and how it is told to.
    pub digest: String,
    /// When it begins.
    pub start: Time,
    /// Hosts that send and receive in it.
    pub hosts: Vec<NodeId>,
    /// Priority class of its flows.
    pub class: u8,
    /// Index in [`super::RunSpec::schemes`].
    pub scheme: u16,
    /// About how many flows it starts.
    pub flows: u32,
    /// Its largest flow, in bytes.
    pub largest: u64,
    /// How it is before the run.
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
    /// Refuses: a program lives in files of its own.
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("the program of a job has no written form"))
    }
}

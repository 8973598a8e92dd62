//! A network of another simulator: what it is told.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::panic::{RefUnwindSafe, UnwindSafe};

use paceline_congestion::registry::SchemeFactory;
use paceline_kernel::{Span, Time};
use serde::ser::Error;
use serde::{Serialize, Serializer};

use crate::outcome::ModelOutcome;
use crate::spec::RunSpec;

/// What a network of another simulator is told, and what the engine has to know of it before it is built.
pub trait ModelSpec: Settings {
    /// Its name, which is that of a fidelity.
    fn name(&self) -> &'static str;

    /// Refuses a run that the simulator does not have.
    ///
    /// # Errors
    /// A sentence that says why.
    fn check(&self, run: &RunSpec) -> Result<(), String>;

    /// What builds it: a `Builder` of this crate's `model`. (Descriptions name nothing that moves.)
    fn builder(&self) -> &'static dyn Any;

    /// What makes senders in place of schemes' own, by place in [`RunSpec::schemes`].
    fn senders(&self, _run: &RunSpec) -> BTreeMap<u16, SchemeFactory> {
        BTreeMap::new()
    }

    /// Virtual lanes of each port whose credits can be recorded; none where ports do not wait for credits.
    fn credit_lanes(&self) -> u8 {
        0
    }

    /// Whether a flow may go from a host to itself.
    fn has_loopback(&self) -> bool {
        false
    }

    /// Formats a line of the table of completion times, where the simulator writes its own.
    fn completion_line(&self) -> Option<CompletionLine> {
        None
    }

    /// Returns the result files that the simulator has alongside all others, made of what its network has left behind.
    fn files<'a>(&'a self, _run: &'a RunSpec, _left: &'a ModelOutcome) -> Vec<OwnFile<'a>> {
        Vec::new()
    }

    /// Returns when and why the simulator would have stopped before the end of the run.
    fn abort(&self, _left: &ModelOutcome) -> Option<(Time, String)> {
        None
    }
}

/// Formats a line of a table of completion times.
pub type CompletionLine = fn(&RunSpec, &Completion) -> String;

/// A flow that was completed.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// Its hosts.
    pub src: u32,
    /// See `src`.
    pub dst: u32,
    /// Bytes.
    pub size: u64,
    /// When it started.
    pub start: Time,
    /// How long it took.
    pub fct: Span,
}

/// A result file of a simulator's own.
pub struct OwnFile<'a> {
    /// Its name in the run's folder.
    pub name: &'static str,
    /// Writes it.
    pub write: Fill<'a>,
}

/// Writes a file.
pub type Fill<'a> = Box<dyn Fn(&mut dyn Write) -> io::Result<()> + 'a>;

impl<'a> OwnFile<'a> {
    /// A file that is written by this.
    pub fn new(name: &'static str, write: impl Fn(&mut dyn Write) -> io::Result<()> + 'a) -> Self {
        Self {
            name,
            write: Box::new(write),
        }
    }
}

/// What a description has to be able to do; every plain value is.
pub trait Settings: Any + fmt::Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// A copy.
    fn copy(&self) -> Box<dyn ModelSpec>;
    /// Whether the other one says the same.
    fn equals(&self, other: &dyn ModelSpec) -> bool;
}

impl<T: ModelSpec + Clone + PartialEq> Settings for T {
    fn copy(&self) -> Box<dyn ModelSpec> {
        Box::new(self.clone())
    }
    fn equals(&self, other: &dyn ModelSpec) -> bool {
        (other as &dyn Any).downcast_ref() == Some(self)
    }
}

/// The network of another simulator, in [`RunSpec::model`].
#[derive(Debug)]
pub struct Model(Box<dyn ModelSpec>);

impl Model {
    /// A network that is told this.
    pub fn new(settings: impl ModelSpec) -> Self {
        Self(Box::new(settings))
    }

    /// What it is told, if it is a network of this type.
    pub fn get<T: ModelSpec>(&self) -> Option<&T> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// The same, to be changed.
    pub fn get_mut<T: ModelSpec>(&mut self) -> Option<&mut T> {
        (&mut *self.0 as &mut dyn Any).downcast_mut()
    }
}

impl std::ops::Deref for Model {
    type Target = dyn ModelSpec;
    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl Clone for Model {
    fn clone(&self) -> Self {
        Self(self.0.copy())
    }
}

impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&*other.0)
    }
}

impl Serialize for Model {
    /// Refuses: who reads it back could not know which simulator's it is. What it is told can be written by itself.
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        let message = format!(
            "the description of a network of {} has no written form",
            self.name()
        );
        Err(S::Error::custom(message))
    }
}

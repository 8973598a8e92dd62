//! Network of another simulator: its description.

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

/// Description of another simulator's network, and its properties that the engine needs before it is built.
pub trait ModelSpec: Settings {
    /// Returns its name, which is that of a fidelity.
    fn name(&self) -> &'static str;

    /// Checks that the simulator supports a run.
    ///
    /// # Errors
    /// The simulator does not support it; the text says why.
    fn check(&self, run: &RunSpec) -> Result<(), String>;

    /// Returns its factory, a `Builder` of this crate's `model`. The type is erased so that descriptions do
    /// not depend on the engine.
    fn builder(&self) -> &'static dyn Any;

    /// Returns factories that replace the senders of schemes, by index in [`RunSpec::schemes`].
    fn senders(&self, _run: &RunSpec) -> BTreeMap<u16, SchemeFactory> {
        BTreeMap::new()
    }

    /// Returns the virtual lanes of each port whose credits can be recorded; 0 if ports do not use credits.
    fn credit_lanes(&self) -> u8 {
        0
    }

    /// Returns true if a flow may go from a host to itself.
    fn has_loopback(&self) -> bool {
        false
    }

    /// Returns the formatter of a line in the table of completion times, if the simulator has its own format.
    fn completion_line(&self) -> Option<CompletionLine> {
        None
    }

    /// Returns the simulator's additional result files, from the results of its network.
    fn files<'a>(&'a self, _run: &'a RunSpec, _left: &'a ModelOutcome) -> Vec<OwnFile<'a>> {
        Vec::new()
    }

    /// Returns when and why the simulator would have stopped before the end of the run.
    fn abort(&self, _left: &ModelOutcome) -> Option<(Time, String)> {
        None
    }
}

/// Formatter of a line in a table of completion times.
pub type CompletionLine = fn(&RunSpec, &Completion) -> String;

/// Completed flow, as [`CompletionLine`] formats it.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// Number of the sending host.
    pub src: u32,
    /// Number of the receiving host.
    pub dst: u32,
    /// Payload bytes of the flow.
    pub size: u64,
    /// Start time of the flow.
    pub start: Time,
    /// Completion time of the flow.
    pub fct: Span,
}

/// Result file of another simulator.
pub struct OwnFile<'a> {
    /// Name in the run's folder.
    pub name: &'static str,
    /// Function that writes the contents.
    pub write: Fill<'a>,
}

/// Function that writes a file.
pub type Fill<'a> = Box<dyn Fn(&mut dyn Write) -> io::Result<()> + 'a>;

impl<'a> OwnFile<'a> {
    /// Creates a file that `write` fills.
    pub fn new(name: &'static str, write: impl Fn(&mut dyn Write) -> io::Result<()> + 'a) -> Self {
        Self {
            name,
            write: Box::new(write),
        }
    }
}

/// Requirements on a description; every plain value meets them.
pub trait Settings: Any + fmt::Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Returns a boxed copy.
    fn copy(&self) -> Box<dyn ModelSpec>;
    /// Returns true if the other value has the same type and contents.
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

/// Network of another simulator, in [`RunSpec::model`].
#[derive(Debug)]
pub struct Model(Box<dyn ModelSpec>);

impl Model {
    /// Creates it from its description.
    pub fn new(settings: impl ModelSpec) -> Self {
        Self(Box::new(settings))
    }

    /// Returns the description if it has the type `T`.
    pub fn get<T: ModelSpec>(&self) -> Option<&T> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// Returns the description for modification if it has the type `T`.
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
    /// Refuses: a reader could not know to which simulator the text belongs. The description itself can be
    /// written.
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        let message = format!(
            "the description of a network of {} has no written form",
            self.name()
        );
        Err(S::Error::custom(message))
    }
}

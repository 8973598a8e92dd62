//! Additional results of another simulator's network, or of a program.

use std::any::Any;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// Results of any type that can be copied and compared.
pub trait ModelRecord: Any + fmt::Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Returns a boxed copy.
    fn copy(&self) -> Box<dyn ModelRecord>;
    /// Returns true if the other value has the same type and contents.
    fn equals(&self, other: &dyn ModelRecord) -> bool;
}

impl<T: Any + fmt::Debug + Send + Sync + UnwindSafe + RefUnwindSafe + Clone + PartialEq> ModelRecord for T {
    fn copy(&self) -> Box<dyn ModelRecord> {
        Box::new(self.clone())
    }
    fn equals(&self, other: &dyn ModelRecord) -> bool {
        (other as &dyn Any).downcast_ref() == Some(self)
    }
}

/// Results of another simulator's network, in [`crate::Outcome::model`], or of a program, in
/// [`crate::Outcome::programs`].
#[derive(Debug)]
pub struct ModelOutcome(Box<dyn ModelRecord>);

impl ModelOutcome {
    /// Creates it from a record.
    pub fn new(record: impl ModelRecord) -> Self {
        Self(Box::new(record))
    }

    /// Returns the record if it has the type `T`.
    pub fn get<T: ModelRecord>(&self) -> Option<&T> {
        (&*self.0 as &dyn Any).downcast_ref()
    }
}

impl Clone for ModelOutcome {
    fn clone(&self) -> Self {
        Self((*self.0).copy())
    }
}

impl PartialEq for ModelOutcome {
    fn eq(&self, other: &Self) -> bool {
        (*self.0).equals(&*other.0)
    }
}

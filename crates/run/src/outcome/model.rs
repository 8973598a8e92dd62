//! What a network of another simulator, or a program, leaves behind alongside the rest.

use std::any::Any;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// What it leaves behind.
pub trait ModelRecord: Any + fmt::Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// A copy.
    fn copy(&self) -> Box<dyn ModelRecord>;
    /// Whether the other one says the same.
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

/// What a network of another simulator leaves behind, in [`crate::Outcome::model`], or a program, in
/// [`crate::Outcome::programs`].
#[derive(Debug)]
pub struct ModelOutcome(Box<dyn ModelRecord>);

impl ModelOutcome {
    /// This.
    pub fn new(record: impl ModelRecord) -> Self {
        Self(Box::new(record))
    }

    /// What it is, if it is of this type.
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

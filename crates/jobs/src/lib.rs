//! Jobs while they run.
//!
//! [`collective`] turns collective operations into messages. [`Carrier`] carries the messages of a job by a trace over the
//! packet network, [`Priced`] asks a cost model instead; both leave a [`TraceOutcome`].

mod carrier;
pub mod collective;
mod outcome;
mod priced;

pub use carrier::{Carrier, Common};
pub use outcome::{TraceActivity, TraceCollective, TraceOperation, TraceOutcome, TracePath, TraceStep};
pub use priced::{Model, Priced};

//! Jobs during a run.
//!
//! [`collective`] converts collective operations to messages. [`Carrier`] sends the messages of a trace-driven job
//! over the packet network, with a price for those inside servers if asked, and [`Priced`] uses a cost model instead; both produce a [`TraceOutcome`].
//! [`serving`] is inference with its requests.

mod carrier;
pub mod collective;
mod local;
mod outcome;
mod ports;
mod priced;
pub mod serving;

pub use carrier::{Carrier, Common, RankNics};
pub use local::{LocalLinks, LocalMessages};
pub use outcome::{TraceActivity, TraceCollective, TraceOperation, TraceOutcome, TracePath, TraceStep};
pub use priced::{Model, Priced};

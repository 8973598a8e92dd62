//! Ultra Ethernet's transport in the simulator of its congestion control group: `htsim_uec` of uet-htsim at 40ccb05.
//!
//! The network is a fat tree of switches with two priorities each, which trim packets that do not fit; NICs serve their
//! flows round-robin. The transport has selective acknowledgements; its senders use NSCC, its receivers grant credit
//! (RCCC), or both. Each packet carries an entropy value that a load balancer (`balance`) chooses. Windows, grants and load
//! balancers are those of `paceline_congestion`, with the simulator's widths.
//!
//! The model equals the simulator event by event, so it has a separate event list (`schedule`): equal times run in the
//! order of insertion, and a packet that is handed on is processed to the end before its sender continues. All random
//! numbers come from one stream (`random`), so even their order is the same.

mod arguments;
mod backlog;
mod balance;
mod build;
mod conn;
mod counters;
mod derived;
mod feedback;
mod host_queue;
mod input;
mod keys;
mod links;
mod matrix;
mod message;
mod model;
mod network;
mod nic;
mod outcome;
mod oversubscribed;
mod packet;
mod parts;
mod random;
mod records;
pub(crate) mod resolve;
mod routing;
mod schedule;
mod sim;
mod sink;
mod sleek;
mod source;
mod spec;
mod text;
mod timer;
mod topology;
mod trigger;

pub use arguments::{Command, FLAGS};
pub use balance::Algorithm;
pub use counters::Counters;
pub use derived::{Derived, Misfit};
pub use input::InputError;
pub use model::UetModel;
pub use outcome::{FlowEnd, UetOutcome};
pub use sim::Sim;
pub use spec::{Connection, Matrix, Options, SenderControl, Start, Strategy, Tree, TriggerKind, UetSpec};

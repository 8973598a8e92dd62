//! Congestion control as pure state machines: no packets, no clock, no input or output.
//!
//! One scheme, one file, readable alongside its paper. [`api`] is all that a scheme sees of the world;
//! [`registry`] is the list that the command line, validation, help and documentation read; [`testkit`]
//! drives a scheme without a network.
//!
//! # Adding a scheme
//!
//! Write `src/my_scheme.rs` with
//! * a header with the headings of the other files, which is the scheme's page in the help;
//! * its `Params`, declared with the crate's `params!` macro: help, default, range and source of each
//!   parameter in one place;
//! * its halves, in the paper's order: the sender ([`CongestionControl`]), and if it has them the receiver
//!   ([`receiver::ReceiverHalf`]) and the switch ([`switch::SwitchHalf`]);
//! * [`registry::Definition`] for its `Params`: name, paper, needs, and how to build the halves;
//! * tests that drive the sender with [`testkit::Pair`], and call the others.
//!
//! Then add its `mod` line here and its name to the list in [`registry`]. [`mod@example`] is such a file.

pub mod papers;
#[macro_use]
mod header;
#[macro_use]
pub mod params;

pub mod agent;
pub mod api;
pub mod detect;
pub mod entropy;
pub mod misfits;
pub mod receiver;
pub mod registry;
pub mod switch;
pub mod testkit;

mod copies;
pub mod fecn;
pub mod learned;
mod mark;
pub mod median;
mod nearest;
mod observation;
pub mod pint;
mod rate;
pub mod signal;
pub mod switch_ack;
mod timers;

pub mod acc;
pub mod adpg;
pub mod aurora;
pub mod bolt;
pub mod dcqcn;
pub mod dctcp;
pub mod decc;
pub mod dx;
pub mod external;
pub mod fixed;
pub mod hpcc;
pub mod hpcc_pint;
pub mod ibcc;
pub mod lstm_pid;
pub mod none;
pub mod nscc;
pub mod pcn;
pub mod policy;
pub mod powertcp;
pub mod qcn;
pub mod rccc;
pub mod rrcc;
pub mod spine;
pub mod swift;
pub mod timely;

// The book's worked example: compiled and tested, but not in the program's list of schemes.
pub mod example;

pub use api::{
    AckInfo, Cnp, CongestedPort, CongestionControl, Counters, Ctx, Decisions, Expiry, Grant, HopSample,
    IntFormat, Observation, Outgoing, PathInfo, Requests, Requirements, SendLimits, SentInfo, Shared, Signal,
    TimerBank, TimerEvent, TimerSlot, TrimmedAt, Words,
};
pub use mark::Mark;
pub use observation::Answers;
pub use switch::Red;

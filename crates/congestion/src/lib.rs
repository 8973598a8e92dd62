//! Congestion control as pure state machines: no packets, no clock, no input or output.
//!
//! One scheme, one file, readable beside its paper. [`api`] is all the world that a scheme sees;
//! [`registry`] is the list that the command line, validation, help and documentation read.

pub mod api;
pub mod registry;

pub use api::{
    AckInfo, CongestionControl, Ctx, HopSample, IntFormat, Needs, PathInfo, SendLimits, SentInfo, TimerBank,
    TimerSlot,
};

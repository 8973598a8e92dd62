//! Everything that a scheme is made of: `use paceline::scheme::*;`.
//!
//! A scheme has parameters ([`params`]), which implement [`Definition`], and up to four state machines:
//! [`CongestionControl`] at the sender, [`ReceiverHalf`] at the receiver, [`SwitchHalf`] at each egress port, and
//! [`GrantScheduler`] at each receiving host if receivers grant credit. The book's page "Your own scheme" goes
//! through an example; [`testkit`] drives each state machine without a network.

use std::fmt::Debug;

pub use paceline_congestion::api::{
    AckInfo, Cnp, CongestedPort, CongestionControl, Ctx, Decisions, Expiry, Grant, HopSample, IntFormat,
    Mark, Outgoing, PathInfo, Requirements, SendLimits, SentInfo, Shared, Signal, TimerBank, TimerEvent,
    TimerSlot, TrimmedAt, Words,
};
pub use paceline_congestion::params::{Auto, ParamError, Parameters, Range, if_so, is, is_not};
pub use paceline_congestion::receiver::{Arrived, GrantScheduler, Reaction, ReceiverHalf};
pub use paceline_congestion::registry::{
    Alias, Definition, DelayLimit, Incompatible, NetworkFacts, Scheme, SendFloor, Setting, WindowMode,
};
pub use paceline_congestion::signal::Carrier;
pub use paceline_congestion::switch::{
    Action, Egress, EgressPort, Hooks, Marking, Notify, PacketView, PayloadKind, PerPort, Queue, Red,
    SwitchHalf, SwitchHalves, SwitchSupport, Verdict,
};
pub use paceline_congestion::testkit;
pub use paceline_congestion::{scheme_choice as choice, scheme_params as params};
pub use paceline_kernel::rng::Rng;
pub use paceline_kernel::{BitRate, Bytes, Span, Time};

/// Parameters of a scheme that a program may add, as declared with [`params`], with their [`Definition`].
pub trait OwnScheme: Definition + Debug + PartialEq + Send + Sync + 'static {}

impl<P: Definition + Debug + PartialEq + Send + Sync + 'static> OwnScheme for P {}

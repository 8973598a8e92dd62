//! Switches: buffers, and what they do for congestion control. They know packets and ports, and no queue pair.

pub(crate) mod assist;
mod changed;
mod parts;
pub(crate) mod pint;
mod pipeline;
pub(crate) mod shared_buffer;
pub(crate) mod spread;
pub(crate) mod telemetry;

use paceline_kernel::rng::Rng;

use crate::ids::{PortId, SwitchId};
use crate::switch::assist::Assists;
use crate::switch::shared_buffer::{BufferRules, SwitchBuffer};
use crate::switch::spread::Spreading;
use crate::switch::telemetry::Telemetry;
use paceline_kernel::ids::List;

/// Buffers, and what switches do for congestion control.
#[derive(Clone)]
pub(crate) struct Switches {
    pub(crate) rules: BufferRules,
    pub(crate) buffers: List<SwitchId, SwitchBuffer>,
    pub(crate) spreading: Spreading,
    pub(crate) telemetry: Telemetry,
    /// The switches' halves of schemes.
    pub(crate) assists: Assists,
    /// Whether packets that need not wait may pass as if they were queued and taken out again: classes are
    /// alike, and nothing is told of every packet.
    pub(crate) straight: bool,
    /// Whether they may, and nobody looks at what arrives.
    pub(crate) plain: bool,
    /// Streams of the ports' marking decisions.
    pub(crate) mark_rng: List<PortId, Rng>,
}

//! Link-level retry of Ethernet.

use paceline_kernel::{Bytes, Span};
use serde::{Deserialize, Serialize};

/// Link-level retry (LLR) of one link: frames carry numbers, and are sent again on the link until they have arrived.
///
/// Names and meaning as in the Switch Abstraction Interface's LLR profile (opencomputeproject/SAI, `doc/LLR`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkRetry {
    /// Frames that may be outstanding: sent, and not acknowledged.
    pub frames: u32,
    /// Bytes of frames that may be outstanding; a frame of the largest size must still fit.
    pub bytes: Bytes,
    /// Time without progress after which all outstanding frames are sent again.
    pub timer: Span,
    /// Replays without progress after which the port gives up its frames; [`Self::NO_LIMIT`] for never.
    pub count: u8,
    /// Age of an outstanding frame at which the port gives up its frames.
    pub data_age: Span,
    /// Time for which a port may receive no light before it gives up its frames.
    pub pcs_lost: Span,
    /// Least distance of an acknowledgement from the control ordered set before it, in bytes.
    pub spacing: Bytes,
    /// Least distance of a negative acknowledgement from the control ordered set before it, in bytes.
    pub min_spacing: Bytes,
    /// True to answer an expected frame that is bad with another negative acknowledgement, even if one is under way.
    pub nack_again: bool,
    /// True to begin again after frames were given up; otherwise the port stays silent.
    pub reinit: bool,
}

impl LinkRetry {
    /// Value of [`Self::count`] that stands for no limit.
    pub const NO_LIMIT: u8 = u8::MAX;
    /// Numbers of frames: those of 20 bits.
    pub const NUMBERS: u32 = 1 << 20;
    /// Size of a control ordered set, in bytes.
    pub const CONTROL: u16 = 8;
}

//! NICs of a flow at hosts with several links.

use std::num::NonZeroU8;

use serde::{Deserialize, Serialize};

/// NICs that a flow uses at its source and its destination. A NIC is a link of the host; links are numbered from 0 in
/// the order of [`super::RunSpec::links`]. An end without a number uses any link, chosen by hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nics {
    /// Number of the link at the source plus one, which leaves 0 for any link in the same byte.
    src: Option<NonZeroU8>,
    /// Number of the link at the destination plus one.
    dst: Option<NonZeroU8>,
}

impl Nics {
    /// Any link at both ends.
    pub const ANY: Self = Self { src: None, dst: None };

    /// Creates a choice of links; numbers above 254 stand for any link.
    pub fn of(src: Option<u8>, dst: Option<u8>) -> Self {
        let stored = |link: Option<u8>| NonZeroU8::new(link?.wrapping_add(1));
        Self {
            src: stored(src),
            dst: stored(dst),
        }
    }

    /// Returns the number of the link at the source, if it is named.
    pub fn src(self) -> Option<u8> {
        self.src.map(|number| number.get() - 1)
    }

    /// Returns the number of the link at the destination, if it is named.
    pub fn dst(self) -> Option<u8> {
        self.dst.map(|number| number.get() - 1)
    }

    /// Returns true if no end names its link.
    pub fn are_any(&self) -> bool {
        *self == Self::ANY
    }

    /// Returns the choice for packets in the other direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self {
            src: self.dst,
            dst: self.src,
        }
    }
}

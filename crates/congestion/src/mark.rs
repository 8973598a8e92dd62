//! Congestion marks of packets, and of acknowledgements for them.

use serde::{Deserialize, Serialize};

/// Congestion mark. The stronger one wins, along a path and among the packets that an acknowledgement covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Mark {
    /// No port marked the packet.
    #[default]
    None,
    /// A port that pauses held back, and that therefore cannot know whether it is congested.
    Undetermined,
    /// At least one port on the path is congested.
    Congested,
}

impl Mark {
    /// Returns [`Mark::Congested`] if `congested`, otherwise [`Mark::None`].
    #[inline]
    pub const fn congested_if(congested: bool) -> Self {
        if congested { Self::Congested } else { Self::None }
    }

    /// Returns true unless it is [`Mark::None`].
    #[inline]
    pub fn is_set(self) -> bool {
        self != Self::None
    }

    /// Returns the two ECN bits for files. Undetermined takes the code point ECT(0), which RFC 3168 uses for
    /// unmarked packets.
    pub const fn code_point(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Undetermined => 2,
            Self::Congested => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stronger_mark_wins() {
        assert_eq!(Mark::Undetermined.max(Mark::None), Mark::Undetermined);
        assert_eq!(Mark::Undetermined.max(Mark::Congested), Mark::Congested);
        let marks = [Mark::None, Mark::Undetermined, Mark::Congested];
        assert_eq!(marks.map(Mark::code_point), [0, 2, 3]);
    }
}

//! Congestion marks: what a packet tells of the queues that it left, and an acknowledgement of its packets.

/// A congestion mark. The stronger one wins, along a path and among the packets that an answer stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    /// No port had anything to say.
    #[default]
    None,
    /// A port that pauses held back: whether it is congested it cannot know.
    Undetermined,
    /// A congested port.
    Congested,
}

impl Mark {
    /// [`Mark::Congested`] or none.
    #[inline]
    pub const fn congested_if(congested: bool) -> Self {
        if congested { Self::Congested } else { Self::None }
    }

    /// Whether it says anything.
    #[inline]
    pub fn is_set(self) -> bool {
        self != Self::None
    }

    /// As the two bits of ECN in files: what is undetermined has the code point that RFC 3168 leaves to
    /// another mark, ECT(0).
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

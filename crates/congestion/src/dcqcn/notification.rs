//! Receiver half of DCQCN.

use paceline_kernel::{Span, Time};

use crate::api::{Cnp, Mark};
use crate::receiver::{Arrived, Reaction, ReceiverHalf};

/// The paper's notification point. Sends a CNP for a marked packet, at most one per interval; with ternary
/// marks the CNP carries the strongest mark since the last one.
#[derive(Clone, Copy, Debug)]
pub struct NotificationPoint {
    interval: Span,
    /// Earliest time of the next CNP.
    next: Time,
    /// Weakest mark that counts; `strongest` is the strongest mark since the last CNP.
    counts: Mark,
    strongest: Mark,
}

impl NotificationPoint {
    /// Creates a notification point that has sent no CNP.
    pub const fn new(interval: Span, ternary: bool) -> Self {
        Self {
            interval,
            next: Time::ZERO,
            counts: if ternary {
                Mark::Undetermined
            } else {
                Mark::Congested
            },
            strongest: Mark::None,
        }
    }
}

impl ReceiverHalf for NotificationPoint {
    fn on_data(&mut self, now: Time, data: &Arrived) -> Reaction {
        if data.mark < self.counts {
            return Reaction::NONE;
        }
        self.strongest = self.strongest.max(data.mark);
        // The mark is kept in `strongest`: a congested mark within the interval must not be lost to an
        // undetermined one.
        if now < self.next {
            return Reaction::NONE;
        }
        self.next = now.saturating_add(self.interval);
        let mark = std::mem::replace(&mut self.strongest, Mark::None);
        Reaction {
            cnp: Some(Cnp { mark, ..Cnp::MARKED }),
            ..Reaction::NONE
        }
    }

    fn replaces_echo(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use paceline_kernel::Bytes;

    use super::*;

    #[test]
    fn one_notification_per_interval() {
        let mut point = NotificationPoint::new(Span::from_us(50), false);
        let mut got = |us: u64, mark| {
            let data = Arrived {
                mark,
                wire: Bytes::new(1048),
                ..Arrived::default()
            };
            point.on_data(Time::from_ns(us * 1000), &data).cnp
        };
        assert_eq!(got(0, Mark::None), None);
        assert_eq!(got(1, Mark::Congested), Some(Cnp::MARKED));
        assert_eq!(got(50, Mark::Congested), None);
        assert_eq!(got(51, Mark::Undetermined), None);
        assert_eq!(got(51, Mark::Congested), Some(Cnp::MARKED));
    }

    /// A CNP carries the strongest mark since the last one.
    #[test]
    fn undetermined_marks_are_told_where_they_count() {
        let mut point = NotificationPoint::new(Span::from_us(50), true);
        let mut got = |us: u64, mark| {
            let data = Arrived {
                mark,
                wire: Bytes::new(1048),
                ..Arrived::default()
            };
            point
                .on_data(Time::from_ns(us * 1000), &data)
                .cnp
                .map(|cnp| cnp.mark)
        };
        assert_eq!(got(1, Mark::Undetermined), Some(Mark::Undetermined));
        assert_eq!(got(20, Mark::Congested), None);
        assert_eq!(got(51, Mark::Undetermined), Some(Mark::Congested));
        assert_eq!(got(101, Mark::Undetermined), Some(Mark::Undetermined));
        assert_eq!(got(160, Mark::None), None);
    }
}

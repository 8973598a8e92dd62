//! Announcements of the parts of a run.

/// Announcement of a part after a window, or the sums and extremes of several.
#[derive(Clone, Copy, Default)]
pub(super) struct Heard {
    /// Time of the next event, or of the first that was sent to another part; `u64::MAX` for none.
    pub(super) next: u64,
    /// Last instant before the next sample.
    pub(super) free_until: u64,
    pub(super) events: u64,
    pub(super) completed: u64,
    /// Packets in the part, and those that it has sent to others.
    pub(super) packets: u64,
    /// Packets sent to other parts.
    pub(super) crossed: u64,
    /// Clock, in ps, and packet-hops so far.
    pub(super) now: u64,
    pub(super) hops: u64,
}

impl Heard {
    pub(super) const FIELDS: usize = 8;

    /// Returns the announcements of several parts as one.
    pub(super) fn all(parts: impl Iterator<Item = Self>) -> Self {
        let none = Self {
            next: u64::MAX,
            free_until: u64::MAX,
            ..Self::default()
        };
        parts.fold(none, |all, part| Self {
            next: all.next.min(part.next),
            free_until: all.free_until.min(part.free_until),
            events: all.events + part.events,
            completed: all.completed + part.completed,
            packets: all.packets + part.packets,
            crossed: all.crossed + part.crossed,
            now: all.now.max(part.now),
            hops: all.hops + part.hops,
        })
    }

    pub(super) fn fields(&self) -> [u64; Self::FIELDS] {
        let &Self {
            next,
            free_until,
            events,
            completed,
            packets,
            crossed,
            now,
            hops,
        } = self;
        [next, free_until, events, completed, packets, crossed, now, hops]
    }

    pub(super) fn of_fields(fields: [u64; Self::FIELDS]) -> Self {
        let [next, free_until, events, completed, packets, crossed, now, hops] = fields;
        Self {
            next,
            free_until,
            events,
            completed,
            packets,
            crossed,
            now,
            hops,
        }
    }
}

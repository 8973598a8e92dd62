//! Priority classes of a run, in dense numbers.

/// Dense class of link-level frames (PFC): first in every port, never paused.
pub const LINK_CONTROL: u8 = 0;
/// Dense class of priority 0: strict, exempt from buffer accounting and flow control.
pub const STRICT: u8 = 1;

/// Priority classes that a run uses, in dense numbers, so that a port has queues for those only.
#[derive(Clone, Debug)]
pub struct Classes {
    dense: [u8; 8],
    priority: Vec<u8>,
}

impl Classes {
    /// Creates the classes: link control, priority 0, and the given others in ascending order.
    pub(crate) fn new(used: impl IntoIterator<Item = u8>) -> Self {
        let mut used: Vec<u8> = used.into_iter().filter(|&class| class != 0).collect();
        used.sort_unstable();
        used.dedup();
        let mut dense = [STRICT; 8];
        for (i, &class) in used.iter().enumerate() {
            dense[usize::from(class)] = STRICT + 1 + i as u8;
        }
        Self {
            dense,
            priority: [0, 0].into_iter().chain(used).collect(),
        }
    }
    /// Creates the classes of a network under credits: link control, priority 0, and the lanes. A lane's priority is
    /// the first that uses it, or 0 if none does.
    pub(crate) fn of_lanes(lane_of: [u8; 8], lanes: u8) -> Self {
        let dense = lane_of.map(|lane| STRICT + 1 + lane.min(lanes - 1));
        let first = |lane: u8| (1..8).find(|&priority| lane_of[usize::from(priority)] == lane);
        Self {
            dense: [&[STRICT], &dense[1..]]
                .concat()
                .try_into()
                .expect("eight priorities"),
            priority: [0, 0]
                .into_iter()
                .chain((0..lanes).map(|lane| first(lane).unwrap_or(0)))
                .collect(),
        }
    }
    /// Returns the dense class of a priority.
    pub fn dense(&self, priority: u8) -> u8 {
        self.dense[usize::from(priority)]
    }
    /// Returns the priority of a dense class.
    pub fn priority(&self, dense: u8) -> u8 {
        self.priority[usize::from(dense)]
    }
    /// Returns the dense classes of a set of priorities, a bit each. Priority 0, and priorities that are not used, have
    /// no queue.
    pub(crate) fn of(&self, priorities: u8) -> u16 {
        let named = (1..8).filter(|&priority| priorities >> priority & 1 == 1);
        let own = named
            .map(|priority| self.dense(priority))
            .filter(|&class| class > STRICT);
        own.fold(0, |mask, class| mask | 1 << class)
    }
    /// Returns the number of dense classes.
    pub fn count(&self) -> usize {
        self.priority.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_numbered_in_order() {
        let classes = Classes::new([5, 3, 3, 0]);
        assert_eq!(
            [classes.dense(0), classes.dense(3), classes.dense(5)],
            [STRICT, 2, 3]
        );
        assert_eq!(
            (classes.priority(2), classes.priority(3), classes.count()),
            (3, 5, 4)
        );
        assert_eq!([classes.of(0xff), classes.of(1 << 5 | 1 << 1)], [0b1100, 0b1000]);
    }

    /// A lane is found by any of its priorities.
    #[test]
    fn lanes_are_found_by_any_of_their_priorities() {
        let classes = Classes::of_lanes([0, 0, 1, 0, 1, 0, 1, 0], 2);
        let of = |priority: u8| classes.of(1 << priority);
        assert_eq!([of(1), of(3), of(6), of(0)], [0b0100, 0b0100, 0b1000, 0]);
    }
}

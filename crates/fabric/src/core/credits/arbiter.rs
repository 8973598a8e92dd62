//! Arbitration among the lanes of a port, with InfiniBand's two tables (InfiniBand Architecture, volume 1, 7.6.9).
//!
//! An entry names a lane and a weight, in units of 64 bytes. The lane may send that much in its turn, and the packet
//! that uses it up is sent whole. The high table is served first, until it has sent as much as its limit allows while
//! the low table had packets waiting. Then one packet of the low table is sent.

use crate::world::classes::STRICT;
use paceline_run::spec::Arbitration;

/// Unit of weights, in bytes.
const WEIGHT: u32 = 64;
/// Unit of the limit, in bytes, and the value that stands for no limit.
const LIMIT: u32 = 4096;
const ENDLESS: u8 = 255;

/// A table's entries: the lane as a class bit, and the weight in bytes.
#[derive(Clone, Debug, Default)]
struct Table {
    entries: Vec<(u16, u32)>,
    /// Bits of all classes that the table names.
    classes: u16,
}

impl Table {
    fn of(entries: &[(u8, u8)]) -> Self {
        let usable = entries.iter().filter(|&&(_, weight)| weight > 0);
        let entries: Vec<(u16, u32)> = usable
            .map(|&(lane, weight)| (1 << (STRICT + 1 + lane), u32::from(weight) * WEIGHT))
            .collect();
        Self {
            classes: entries.iter().fold(0, |all, &(class, _)| all | class),
            entries,
        }
    }
}

/// Both tables, common to all ports.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    high: Table,
    low: Table,
    /// Bytes that the high table may send while the low one waits; `None` if unlimited.
    limit: Option<u32>,
}

impl Tables {
    pub(super) fn of(arbitration: &Arbitration) -> Self {
        Self {
            high: Table::of(&arbitration.high),
            low: Table::of(&arbitration.low),
            limit: (arbitration.limit < ENDLESS).then(|| u32::from(arbitration.limit) * LIMIT),
        }
    }
}

/// A port's position in a table, and the bytes that the entry has left.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    index: u16,
    left: u32,
}

impl Turn {
    /// Returns the class to serve among `ready`, one of which must be in the table. Entries that are not ready lose
    /// their turn.
    fn choose(&mut self, table: &Table, ready: u16) -> u16 {
        loop {
            let (class, _) = table.entries[usize::from(self.index)];
            if self.left > 0 && class & ready != 0 {
                return class;
            }
            self.index = (self.index + 1) % table.entries.len() as u16;
            self.left = table.entries[usize::from(self.index)].1;
        }
    }
}

/// Arbitration state of one port.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arbiter {
    high: Turn,
    low: Turn,
    /// Bytes that the high table has sent since the low one was served, or had nothing to send.
    sent_high: u32,
    /// True if the last choice was from the low table.
    from_low: bool,
}

impl Arbiter {
    /// Returns the class to serve among `ready`, a bit each, of which at least one is set.
    pub(super) fn choose(&mut self, tables: &Tables, ready: u16) -> u8 {
        // A lane that is alone needs no turn, and keeps the one that it has.
        if ready.is_power_of_two() {
            self.from_low = tables.high.classes & ready == 0;
            return ready.trailing_zeros() as u8;
        }
        let (high, low) = (ready & tables.high.classes, ready & tables.low.classes);
        // The limit keeps a busy high table from starving the low one.
        let is_due = low != 0 && tables.limit.is_some_and(|limit| self.sent_high > limit);
        self.from_low = high == 0 || is_due;
        let class = match self.from_low {
            true => self.low.choose(&tables.low, low),
            false => self.high.choose(&tables.high, high),
        };
        class.trailing_zeros() as u8
    }

    /// Charges a packet of the class chosen last to its entry. `waits` has the other classes that could have sent.
    pub(super) fn sent(&mut self, tables: &Tables, class: u8, wire: u16, waits: u16) {
        let (bit, wire) = (1 << class, u32::from(wire));
        let (turn, table) = match self.from_low {
            true => (&mut self.low, &tables.low),
            false => (&mut self.high, &tables.high),
        };
        // A class that was alone went without a choice, so the current entry may be another's and must not pay for it.
        if (table.entries.get(usize::from(turn.index))).is_some_and(|&(class, _)| class == bit) {
            turn.left = turn.left.saturating_sub(wire);
        }
        if self.from_low || waits & tables.low.classes == 0 {
            self.sent_high = 0;
        } else {
            self.sent_high = self.sent_high.saturating_add(wire);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the packets that each lane sends of `packets`, if all lanes always have packets of `wire` bytes.
    fn shares(arbitration: &Arbitration, lanes: u8, wire: u16, packets: u32) -> Vec<u32> {
        let (tables, mut arbiter) = (Tables::of(arbitration), Arbiter::default());
        let all = ((1u16 << lanes) - 1) << (STRICT + 1);
        let mut sent = vec![0; usize::from(lanes)];
        for _ in 0..packets {
            let class = arbiter.choose(&tables, all);
            arbiter.sent(&tables, class, wire, all);
            sent[usize::from(class - STRICT - 1)] += 1;
        }
        sent
    }

    fn tables(high: &[(u8, u8)], low: &[(u8, u8)], limit: u8) -> Arbitration {
        Arbitration {
            high: high.to_vec(),
            low: low.to_vec(),
            limit,
        }
    }

    #[test]
    fn weights_are_kept_to_a_packet() {
        // 64 bytes a packet: as many packets as the weight says.
        let two = tables(&[], &[(0, 1), (1, 20)], 255);
        assert_eq!(shares(&two, 2, 64, 21 * 5000), [5000, 100_000]);
        let four = tables(&[], &[(0, 8), (1, 4), (2, 2), (3, 1)], 255);
        assert_eq!(shares(&four, 4, 64, 15 * 1000), [8000, 4000, 2000, 1000]);
    }

    /// A packet that uses up a weight is sent whole.
    #[test]
    fn a_packet_is_not_cut() {
        let two = tables(&[], &[(0, 3), (1, 1)], 255);
        // 3 x 64 bytes are two packets of 100, 64 one.
        assert_eq!(shares(&two, 2, 100, 3000), [2000, 1000]);
    }

    #[test]
    fn the_high_table_goes_first_as_far_as_its_limit() {
        let endless = tables(&[(0, 16)], &[(1, 16)], 255);
        assert_eq!(shares(&endless, 2, 1024, 1000), [1000, 0]);
        // One unit of the limit is four packets of 1024 bytes: with the one that passes it five, then one of the low.
        let one = tables(&[(0, 16)], &[(1, 16)], 1);
        assert_eq!(shares(&one, 2, 1024, 6000), [5000, 1000]);
        let none = tables(&[(0, 16)], &[(1, 16)], 0);
        assert_eq!(shares(&none, 2, 1024, 1000), [500, 500]);
    }

    #[test]
    fn a_lane_in_both_tables_is_served_by_both() {
        let both = tables(&[(0, 16)], &[(0, 16), (1, 16)], 0);
        let sent = shares(&both, 2, 1024, 4000);
        assert_eq!((sent[0], sent[1]), (3000, 1000));
    }
}

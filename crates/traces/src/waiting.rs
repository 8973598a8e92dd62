//! Posted receives and arrived messages, matched in first-come order.

use std::hash::Hash;

use crate::frontier::NumberMap;
use crate::program::Rank;

/// Wildcard for a source or a tag.
pub(crate) const ANY: u32 = u32::MAX;

/// Marker for the absence of an item.
const NONE: u32 = u32::MAX;

/// Receiver, sender and tag of a message, or those that a receive accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key<S = ()> {
    /// Rank that receives the message.
    pub(crate) rank: Rank,
    /// Sending rank, or [`ANY`].
    pub(crate) source: u32,
    pub(crate) tag: u32,
    /// Size in bytes if a receive only takes messages of its size, otherwise `()`.
    pub(crate) size: S,
}

impl Key {
    /// Creates the key of a message of any size.
    pub(crate) fn new(rank: Rank, source: u32, tag: u32) -> Self {
        let size = ();
        Self {
            rank,
            source,
            tag,
            size,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Item<T, S> {
    key: Key<S>,
    /// Order of arrival, ascending.
    number: u64,
    value: T,
    /// Next item with the same key.
    next_alike: u32,
    /// Neighbours in the list of the rank.
    previous: u32,
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
}

/// Waiting items of all ranks in order of arrival.
///
/// The item taken is always the first of its key, since all items with a key match the same counterparts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting<T, S = ()> {
    items: Vec<Item<T, S>>,
    free: Vec<u32>,
    by_key: NumberMap<Key<S>, Ends>,
    by_rank: NumberMap<Rank, Ends>,
    number: u64,
    /// True if a waiting item accepts any source or any tag.
    wild: bool,
}

impl<T: Copy, S: Copy + Eq + Hash> Waiting<T, S> {
    pub(crate) fn push(&mut self, key: Key<S>, value: T) {
        self.wild |= key.source == ANY || key.tag == ANY;
        let index = self.free.pop().unwrap_or(self.items.len() as u32);
        let mut item = Item {
            key,
            number: self.number,
            value,
            next_alike: NONE,
            previous: NONE,
            next: NONE,
        };
        self.number += 1;
        if let Some(last) = append(&mut self.by_key, key, index) {
            self.items[last as usize].next_alike = index;
        }
        if let Some(last) = append(&mut self.by_rank, key.rank, index) {
            self.items[last as usize].next = index;
            item.previous = last;
        }
        match self.items.get_mut(index as usize) {
            Some(free) => *free = item,
            None => self.items.push(item),
        }
    }

    /// Takes the first receive that matches a message.
    pub(crate) fn take_for_message(&mut self, key: Key<S>) -> Option<T> {
        let mut found = self.by_key.get(&key).map(|e| e.first);
        // Without wildcards, only receives with the message's own key match.
        if self.wild {
            for (source, tag) in [(ANY, key.tag), (key.source, ANY), (ANY, ANY)] {
                let other = self.by_key.get(&Key { source, tag, ..key }).map(|e| e.first);
                found = match (found, other) {
                    (Some(a), Some(b)) if self.items[b as usize].number > self.items[a as usize].number => {
                        Some(a)
                    }
                    (a, b) => b.or(a),
                };
            }
        }
        found.map(|index| self.take(index))
    }

    /// Takes the first message that matches a receive, which may accept any source or any tag.
    pub(crate) fn take_for_receive(&mut self, key: Key<S>) -> Option<T> {
        if key.source != ANY && key.tag != ANY {
            return self
                .by_key
                .get(&key)
                .map(|e| e.first)
                .map(|index| self.take(index));
        }
        // Messages with several keys may match, so all of the rank's are searched in order of arrival.
        let mut index = self.by_rank.get(&key.rank)?.first;
        while index != NONE {
            let item = &self.items[index as usize];
            let fits = |wanted: u32, has: u32| wanted == ANY || wanted == has;
            if fits(key.source, item.key.source) && fits(key.tag, item.key.tag) && key.size == item.key.size {
                return Some(self.take(index));
            }
            index = item.next;
        }
        None
    }

    /// Returns all waiting items in order of arrival.
    pub(crate) fn values(&self) -> Vec<T> {
        let mut waiting: Vec<&Item<T, S>> = self
            .by_rank
            .values()
            .flat_map(|ends| self.items_from(ends.first))
            .collect();
        waiting.sort_unstable_by_key(|item| item.number);
        waiting.into_iter().map(|item| item.value).collect()
    }

    /// Returns the waiting items of a rank in order of arrival.
    pub(crate) fn of_rank(&self, rank: Rank) -> impl Iterator<Item = (Key<S>, T)> {
        let first = self.by_rank.get(&rank).map_or(NONE, |ends| ends.first);
        self.items_from(first).map(|item| (item.key, item.value))
    }

    fn items_from(&self, first: u32) -> impl Iterator<Item = &Item<T, S>> {
        std::iter::successors(self.items.get(first as usize), |item| {
            self.items.get(item.next as usize)
        })
    }

    fn take(&mut self, index: u32) -> T {
        let Item {
            key,
            value,
            next_alike,
            previous,
            next,
            ..
        } = self.items[index as usize];
        remove_first(&mut self.by_key, key, next_alike);
        if previous == NONE {
            remove_first(&mut self.by_rank, key.rank, next);
        } else {
            self.items[previous as usize].next = next;
            if next == NONE
                && let Some(ends) = self.by_rank.get_mut(&key.rank)
            {
                ends.last = previous;
            }
        }
        // `NONE` is no index, so the end of the list needs no check.
        if let Some(item) = self.items.get_mut(next as usize) {
            item.previous = previous;
        }
        self.free.push(index);
        value
    }
}

/// Appends an item to a list; returns the item before it.
fn append<K: Hash + Eq>(lists: &mut NumberMap<K, Ends>, key: K, index: u32) -> Option<u32> {
    let mut last = None;
    lists
        .entry(key)
        .and_modify(|ends| {
            last = Some(ends.last);
            ends.last = index;
        })
        .or_insert(Ends {
            first: index,
            last: index,
        });
    last
}

/// Removes the first item of a list; `next` becomes the first.
fn remove_first<K: Hash + Eq>(lists: &mut NumberMap<K, Ends>, key: K, next: u32) {
    if next == NONE {
        lists.remove(&key);
    } else if let Some(ends) = lists.get_mut(&key) {
        ends.first = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the structure with a list that is searched from its front.
    #[test]
    fn the_first_that_fits_is_taken() {
        let mut seed = 7u64;
        let mut random = move |n: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((seed >> 33) % n) as u32
        };
        let fits = |wanted: u32, has: u32| wanted == ANY || has == ANY || wanted == has;
        for wild_items in [true, false] {
            let (mut waiting, mut list) = (Waiting::default(), Vec::<(Key<bool>, u32)>::new());
            for slot in 0..20_000u32 {
                let wild = |v: u32, is: bool| if is && v == 0 { ANY } else { v };
                let (rank, source, tag, size) = (random(2), random(4), random(3), random(2) == 0);
                let push = random(2) == 0;
                let wilds = push == wild_items;
                let key = Key {
                    rank,
                    source: wild(source, wilds),
                    tag: wild(tag, wilds),
                    size,
                };
                if push {
                    waiting.push(key, slot);
                    list.push((key, slot));
                    continue;
                }
                let taken = if wild_items {
                    waiting.take_for_message(key)
                } else {
                    waiting.take_for_receive(key)
                };
                let index = list.iter().position(|(k, _)| {
                    (k.rank, k.size) == (rank, size) && fits(key.source, k.source) && fits(key.tag, k.tag)
                });
                assert_eq!(taken, index.map(|p| list.remove(p).1));
            }
            assert_eq!(waiting.values(), list.iter().map(|i| i.1).collect::<Vec<_>>());
            let of_rank = list.iter().filter(|(key, _)| key.rank == 1).copied();
            assert!(waiting.of_rank(1).eq(of_rank));
        }
    }
}

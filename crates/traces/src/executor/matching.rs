//! Which message a receive takes: posted receives and messages that came before theirs, both in order of arrival.

use std::collections::BTreeMap;

use crate::program::{OperationId, Rank};

/// What a message and its receive have in common. The size is 0 where sizes do not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) from: Rank,
    pub(crate) tag: u32,
    pub(crate) size: u64,
}

/// A receive that is posted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    pub(crate) op: OperationId,
    pub(crate) from: Option<Rank>,
    pub(crate) tag: Option<u32>,
    pub(crate) size: u64,
}

impl Posted {
    fn takes(&self, key: &Key) -> bool {
        self.from.is_none_or(|f| f == key.from)
            && self.tag.is_none_or(|t| t == key.tag)
            && self.size == key.size
    }

    fn exact(&self) -> Option<Key> {
        Some(Key {
            from: self.from?,
            tag: self.tag?,
            size: self.size,
        })
    }
}

/// What has come to a rank, or the request for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) key: Key,
    /// The send, if its bytes are still there.
    pub(crate) waiting_send: Option<OperationId>,
}

/// By what messages have in common, then in the order in which they came.
type Ordered<T> = BTreeMap<(Key, u64), T>;

/// Both lists of a rank.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matching {
    number: u64,
    posted: Ordered<Posted>,
    posted_wild: Vec<(u64, Posted)>,
    arrived: Ordered<Arrival>,
}

/// The number of the first with a key.
fn first<T>(all: &Ordered<T>, key: Key) -> Option<u64> {
    all.range((key, 0)..=(key, u64::MAX))
        .next()
        .map(|((_, number), _)| *number)
}

impl Matching {
    /// A receive is posted: what it takes; nothing if it has to wait.
    pub(crate) fn post(&mut self, receive: Posted) -> Option<Arrival> {
        let found = match receive.exact() {
            Some(key) => first(&self.arrived, key).map(|number| (key, number)),
            None => self
                .arrived
                .keys()
                .filter(|(key, _)| receive.takes(key))
                .min_by_key(|(_, number)| *number)
                .copied(),
        };
        if let Some(place) = found {
            return self.arrived.remove(&place);
        }
        self.number += 1;
        match receive.exact() {
            Some(key) => {
                self.posted.insert((key, self.number), receive);
            }
            None => self.posted_wild.push((self.number, receive)),
        }
        None
    }

    /// Something arrives: the receive that takes it; nothing if it has to wait.
    pub(crate) fn arrive(&mut self, arrival: Arrival) -> Option<OperationId> {
        let key = arrival.key;
        let exact = first(&self.posted, key);
        let wild = self.posted_wild.iter().position(|(_, p)| p.takes(&key));
        let taken = match (exact, wild) {
            (exact, Some(place)) if exact.is_none_or(|e| self.posted_wild[place].0 < e) => {
                Some(self.posted_wild.remove(place).1)
            }
            (Some(number), _) => self.posted.remove(&(key, number)),
            (None, _) => None,
        };
        if taken.is_none() {
            self.number += 1;
            self.arrived.insert((key, self.number), arrival);
        }
        taken.map(|p| p.op)
    }

    /// Receives that wait, as they were posted.
    pub(crate) fn posted(&self) -> Vec<Posted> {
        let mut all: Vec<(u64, Posted)> = self.posted.iter().map(|((_, n), p)| (*n, *p)).collect();
        all.extend(&self.posted_wild);
        all.sort_unstable_by_key(|(number, _)| *number);
        all.into_iter().map(|(_, p)| p).collect()
    }

    /// What has come and is not taken, as it came.
    pub(crate) fn arrived(&self) -> Vec<Arrival> {
        let mut all: Vec<(u64, Arrival)> = self.arrived.iter().map(|((_, n), a)| (*n, *a)).collect();
        all.sort_unstable_by_key(|(number, _)| *number);
        all.into_iter().map(|(_, a)| a).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(from: Rank, tag: u32) -> Key {
        Key { from, tag, size: 0 }
    }

    fn posted(op: OperationId, from: Option<Rank>, tag: Option<u32>) -> Posted {
        Posted {
            op,
            from,
            tag,
            size: 0,
        }
    }

    fn arrival(from: Rank, tag: u32) -> Arrival {
        Arrival {
            key: key(from, tag),
            waiting_send: None,
        }
    }

    #[test]
    fn a_message_takes_the_receive_posted_first_whether_wild_or_not() {
        let mut m = Matching::default();
        assert!(m.post(posted(1, None, Some(7))).is_none());
        assert!(m.post(posted(2, Some(3), Some(7))).is_none());
        assert!(m.post(posted(3, Some(3), None)).is_none());
        assert_eq!(m.arrive(arrival(3, 7)), Some(1));
        assert_eq!(m.arrive(arrival(3, 7)), Some(2));
        assert_eq!(m.arrive(arrival(3, 8)), Some(3));
        assert_eq!(m.arrive(arrival(3, 8)), None);
    }

    #[test]
    fn a_wild_receive_takes_what_came_first() {
        let mut m = Matching::default();
        assert_eq!(m.arrive(arrival(9, 1)), None);
        assert_eq!(m.arrive(arrival(2, 1)), None);
        assert_eq!(m.post(posted(1, None, Some(1))).map(|a| a.key), Some(key(9, 1)));
        assert_eq!(m.post(posted(1, None, None)).map(|a| a.key), Some(key(2, 1)));
        assert!(m.post(posted(1, None, None)).is_none());
    }
}

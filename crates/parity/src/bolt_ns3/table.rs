//! The authors' table of a host's flows, and the settings of a new flow for a message.

use paceline_fabric::model::QpId;

/// Settings of a new flow for a message that is not appended to an existing one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OwnFlow {
    /// True if the flow stays open for further messages.
    pub(super) keep: bool,
    /// The flow that was found for sharing.
    pub(super) found: Option<QpId>,
}

/// Queue pairs by a running 16-bit key, in the order of libstdc++'s `unordered_map`: the hash is the key itself, and
/// an entry goes to the front of its bucket or, if the bucket is empty, to the front of the list.
#[derive(Clone, Debug, Default)]
pub(super) struct HashOrder {
    next_key: u16,
    buckets: usize,
    /// Keys and queue pairs in list order; entries of a bucket are adjacent.
    list: Vec<(u16, QpId)>,
}

impl HashOrder {
    /// Bucket counts through which the table grows.
    const PRIMES: [usize; 14] = [
        13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043, 85229, 172_933,
    ];

    pub(super) fn insert(&mut self, slot: QpId) -> u16 {
        // The order of flows depends on the number of buckets, which grows as in libstdc++.
        if self.list.len() + 1 > self.buckets {
            let larger = Self::PRIMES.into_iter().find(|&size| size > self.list.len());
            self.buckets = larger.unwrap_or(usize::from(u16::MAX) + 1);
            let old = std::mem::take(&mut self.list);
            for (key, slot) in old {
                self.link(key, slot);
            }
        }
        let key = self.next_key;
        self.next_key = key.wrapping_add(1);
        self.link(key, slot);
        key
    }

    fn link(&mut self, key: u16, slot: QpId) {
        let bucket = usize::from(key) % self.buckets;
        let same = |other: &(u16, QpId)| usize::from(other.0) % self.buckets == bucket;
        let index = self.list.iter().position(same).unwrap_or(0);
        self.list.insert(index, (key, slot));
    }

    pub(super) fn remove(&mut self, key: u16) {
        self.list.retain(|&(other, _)| other != key);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = QpId> + '_ {
        self.list.iter().map(|&(_, slot)| slot)
    }
}

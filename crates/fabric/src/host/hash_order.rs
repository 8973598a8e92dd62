//! The order in which the reference handles a host's queue pairs after a failure
//! ([`paceline_run::spec::Quirks::hash_ordered_qps`]): that of the C++ library's `unordered_map`.
//!
//! The map is one list. An entry goes in front of the others of its bucket (its key modulo the number of buckets); if
//! there are none, to the front of the list. When there are more entries than buckets, the number of buckets is about
//! doubled, and the entries are inserted again in their order.

use std::collections::BTreeMap;

use crate::ids::QpId;
use crate::world::routing::address;
use paceline_run::spec::{FlowSpec, RunSpec};

/// Numbers of buckets through which a table grows in libstdc++ (GCC 12).
const SIZES: [u64; 15] = [
    13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10_273, 20_753, 42_043, 85_229, 172_933, 351_061,
];

/// Queue pairs in use, by host.
#[derive(Clone, Debug, Default)]
pub(super) struct HashOrder {
    hosts: BTreeMap<u32, Table>,
}

/// Keys in the table's order, each with its queue pair.
#[derive(Clone, Debug, Default)]
struct Table {
    /// Index of the number of buckets in [`SIZES`].
    size: usize,
    entries: Vec<(u64, QpId)>,
}

impl HashOrder {
    /// Creates the tables of a run in which the order matters; `None` for others.
    pub(super) fn of(spec: &RunSpec) -> Option<Box<Self>> {
        (spec.quirks.hash_ordered_qps && !spec.failures.is_empty()).then(Box::default)
    }

    /// Inserts the queue pair of a flow.
    pub(super) fn insert(&mut self, flow: &FlowSpec, slot: QpId) {
        let table = self.hosts.entry(flow.src.0).or_default();
        table.insert(key(flow), slot);
    }

    /// Removes a flow that has completed.
    pub(super) fn remove(&mut self, flow: &FlowSpec) {
        if let Some(table) = self.hosts.get_mut(&flow.src.0) {
            let key = key(flow);
            table.entries.retain(|entry| entry.0 != key);
        }
    }

    /// Returns all queue pairs: hosts by number, and each host's in its table's order.
    pub(super) fn slots(&self) -> Vec<QpId> {
        let tables = self.hosts.values();
        tables
            .flat_map(|table| table.entries.iter().map(|entry| entry.1))
            .collect()
    }
}

/// Returns the key by which the reference finds a queue pair: destination, source port, priority.
fn key(flow: &FlowSpec) -> u64 {
    u64::from(address(flow.dst.0)) << 32 | u64::from(flow.sport) << 16 | u64::from(flow.class)
}

impl Table {
    fn insert(&mut self, key: u64, slot: QpId) {
        if self.entries.len() as u64 >= SIZES[self.size] && self.size + 1 < SIZES.len() {
            self.size += 1;
            for entry in std::mem::take(&mut self.entries) {
                self.put(entry);
            }
        }
        self.put((key, slot));
    }

    fn put(&mut self, entry: (u64, QpId)) {
        let buckets = SIZES[self.size];
        let same = |other: &(u64, QpId)| other.0 % buckets == entry.0 % buckets;
        let index = self.entries.iter().position(same).unwrap_or(0);
        self.entries.insert(index, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of a C++ program (GCC 12.2, `std::unordered_map<uint64_t, int>`) that inserts and erases keys like these
    /// at random. After some steps: the number of keys, the first of them, and a hash (FNV of 64-bit words) of all in
    /// order.
    #[test]
    fn the_order_of_the_library() {
        let printed: [(u32, usize, [u64; 2], u64); 4] = [
            (
                9,
                4,
                [792_647_833_018_761_219, 792_656_629_112_438_787],
                807_341_981_387_184_375,
            ),
            (
                40,
                15,
                [792_654_430_088_986_627, 792_644_534_484_729_859],
                2_273_171_163_624_408_162,
            ),
            (
                150,
                35,
                [792_654_430_089_248_771, 792_654_430_089_510_915],
                5_786_160_367_417_517_710,
            ),
            (
                399,
                101,
                [792_633_539_369_959_427, 792_640_136_439_726_083],
                254_472_258_481_016_380,
            ),
        ];
        let mut random = 12_345_u64;
        let mut next = move || {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            random >> 33
        };
        let (mut table, mut live, mut checked) = (Table::default(), Vec::new(), 0);
        for step in 0..400 {
            // Evaluated as `live.size() > 0 && rnd() % 3 == 0` is.
            if !live.is_empty() && next() % 3 == 0 {
                let gone = live.remove((next() % live.len() as u64) as usize);
                table.entries.retain(|entry| entry.0 != gone);
            } else {
                let host = 0x0b00_0001 + next() % 23 * 256;
                let key = host << 32 | (10_000 + next() % 40) << 16 | 3;
                if !live.contains(&key) {
                    table.insert(key, QpId(step));
                    live.push(key);
                }
            }
            for (at, count, first, hash) in &printed {
                if *at == step {
                    let keys: Vec<u64> = table.entries.iter().map(|entry| entry.0).collect();
                    assert_eq!(
                        (keys.len(), keys[..2].to_vec()),
                        (*count, first.to_vec()),
                        "{step}"
                    );
                    let fnv = |h: u64, key: &u64| (h ^ key).wrapping_mul(1_099_511_628_211);
                    assert_eq!(keys.iter().fold(1_469_598_103_934_665_603, fnv), *hash, "{step}");
                    checked += 1;
                }
            }
        }
        assert_eq!(checked, 4);
    }
}

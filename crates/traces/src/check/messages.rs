//! Unmatched messages and receives, as far as counts prove them.

use std::collections::BTreeMap;

use super::{Report, counted};
use crate::frontier::NumberMap;
use crate::program::{OperationId, Program, Rank, Work};
use crate::waiting::{ANY, Key};

/// Number of sends minus receives of a key, and the same difference of the sums of hashed sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Net {
    count: i64,
    sizes: u64,
}

/// Hashes a size so that sums over lists of sizes differ unless the lists are permutations of each other.
fn size_hash(bytes: u64) -> u64 {
    let mut x = bytes.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Returns the key and size of a send or a receive; the flag is true for sends.
fn key_of(rank: Rank, work: Work) -> Option<(Key, u64, bool)> {
    match work {
        Work::Send { to, bytes, tag } => Some((Key::new(to, rank, tag), bytes, true)),
        Work::Receive { from, bytes, tag } => {
            let key = Key::new(rank, from.unwrap_or(ANY), tag.unwrap_or(ANY));
            Some((key, bytes, false))
        }
        _ => None,
    }
}

/// Differences between sends and receives, by key.
#[derive(Debug, Default)]
pub(super) struct Nets(NumberMap<Key, Net>);

impl Nets {
    pub(super) fn add(&mut self, rank: Rank, work: Work) {
        let Some((key, bytes, send)) = key_of(rank, work) else {
            return;
        };
        let net = self.0.entry(key).or_default();
        if send {
            net.count += 1;
            net.sizes = net.sizes.wrapping_add(size_hash(bytes));
        } else {
            net.count -= 1;
            net.sizes = net.sizes.wrapping_sub(size_hash(bytes));
        }
        // Keys in balance are dropped, so memory follows the messages in progress.
        if *net == Net::default() {
            self.0.remove(&key);
        }
    }

    fn by_receiver(self) -> BTreeMap<Rank, Vec<(Key, Net)>> {
        let mut by_rank: BTreeMap<Rank, Vec<(Key, Net)>> = BTreeMap::new();
        let mut all: Vec<(Key, Net)> = self.0.into_iter().collect();
        all.sort_unstable_by_key(|(key, _)| (key.rank, key.source, key.tag));
        for (key, net) in all {
            by_rank.entry(key.rank).or_default().push((key, net));
        }
        by_rank
    }
}

/// Reports errors in messages.
pub(super) fn check(program: &dyn Program, nets: Nets, report: &mut Report) {
    for (rank, keys) in nets.by_receiver() {
        let is_wild = |key: &Key| key.source == ANY || key.tag == ANY;
        let wild: i64 = keys
            .iter()
            .filter(|(key, _)| is_wild(key))
            .map(|(_, net)| -net.count)
            .sum();
        let surplus: i64 = keys
            .iter()
            .filter(|(key, net)| !is_wild(key) && net.count > 0)
            .map(|(_, net)| net.count)
            .sum();
        for (key, net) in keys.iter().filter(|(key, _)| !is_wild(key)) {
            let takers: i64 = keys
                .iter()
                .filter(|(other, _)| is_wild(other) && fits(other, key))
                .map(|(_, n)| -n.count)
                .sum();
            // Receives with any source or any tag may take surplus messages.
            if net.count < 0 || net.count > takers {
                report.error(|| unmatched(program, *key, net.count, takers));
            } else if net.count == 0 && takers == 0 {
                report.caution(|| unequal(program, *key));
            }
        }
        for (key, net) in keys.iter().filter(|(key, _)| is_wild(key)) {
            let sent: i64 = keys
                .iter()
                .filter(|(other, n)| !is_wild(other) && n.count > 0 && fits(key, other))
                .map(|(_, n)| n.count)
                .sum();
            if -net.count > sent {
                report.error(|| {
                    let (first, _) = sides(program, *key).1.first().copied().unwrap_or((0, 0));
                    format!(
                        "rank {rank} posts {} from {} with {}, but at most {sent} are sent to it that nothing else takes: {} first",
                        counted(net.count.unsigned_abs(), "receive"),
                        source_of(key),
                        tag_of(key),
                        program.name(rank, first)
                    )
                });
            }
        }
        // Every key may be served alone while the totals differ: each such receive takes one message.
        if wild > 0 && surplus != wild {
            report.error(|| {
                let (more, than) = if surplus > wild {
                    ("messages", "receives")
                } else {
                    ("receives", "messages")
                };
                format!(
                    "rank {rank} has {} more {more} than {than}, whatever matches",
                    surplus.abs_diff(wild)
                )
            });
        }
    }
}

fn fits(wild: &Key, key: &Key) -> bool {
    (wild.source == ANY || wild.source == key.source) && (wild.tag == ANY || wild.tag == key.tag)
}

fn source_of(key: &Key) -> String {
    if key.source == ANY {
        "any rank".into()
    } else {
        format!("rank {}", key.source)
    }
}

fn tag_of(key: &Key) -> String {
    if key.tag == ANY {
        "any tag".into()
    } else {
        format!("tag {}", key.tag)
    }
}

/// Numbers and sizes of the sends and of the receives of a key.
type Sides = (Vec<(OperationId, u64)>, Vec<(OperationId, u64)>);

fn sides(program: &dyn Program, key: Key) -> Sides {
    let list = |rank: Rank, sends: bool| {
        let numbers = 0..if rank == ANY { 0 } else { program.operations(rank) };
        let found = numbers.filter_map(|number| {
            let (other, bytes, send) = key_of(rank, program.operation(rank, number).work)?;
            (other == key && send == sends).then_some((number, bytes))
        });
        found.collect::<Vec<_>>()
    };
    (list(key.source, true), list(key.rank, false))
}

/// Describes a key with more sends than receives, or fewer.
fn unmatched(program: &dyn Program, key: Key, net: i64, takers: i64) -> String {
    let (sends, receives) = sides(program, key);
    let Key {
        rank, source, tag, ..
    } = key;
    let others = if takers > 0 {
        format!(
            " and {} that may take them",
            counted(takers.unsigned_abs(), "other")
        )
    } else {
        String::new()
    };
    let counts = format!(
        "rank {source} sends {} to rank {rank} with tag {tag}, which posts {}{others}",
        counted(sends.len() as u64, "message"),
        counted(receives.len() as u64, "receive")
    );
    if net < 0 {
        let first = receives.get(sends.len()).map_or(0, |r| r.0);
        format!("{counts}: {} never gets a message", program.name(rank, first))
    } else {
        let first = sends
            .get(receives.len() + takers.unsigned_abs() as usize)
            .map_or(0, |s| s.0);
        format!("{counts}: {} is never received", program.name(source, first))
    }
}

/// Describes a key with as many sends as receives, but different sizes.
fn unequal(program: &dyn Program, key: Key) -> String {
    let (sends, receives) = sides(program, key);
    let pair = sends.iter().zip(&receives).find(|(s, r)| s.1 != r.1);
    let names = pair.map_or(String::new(), |(send, receive)| {
        format!(
            ": {} sends {} bytes, {} expects {}",
            program.name(key.source, send.0),
            send.1,
            program.name(key.rank, receive.0),
            receive.1
        )
    });
    format!(
        "sizes differ between rank {} and rank {} with tag {}{names}",
        key.source, key.rank, key.tag
    )
}

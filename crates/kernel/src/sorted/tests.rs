use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{SortedMap, SortedSet};

/// Operation on a map.
#[derive(Clone, Debug)]
enum Step {
    Insert(u8, u16),
    Remove(u8),
    Add(u8, u16),
    Change(u8, u16),
    Retain(u8),
    Extend(Vec<(u8, u16)>),
    Collect,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => any::<(u8, u16)>().prop_map(|(key, value)| Step::Insert(key, value)),
        3 => any::<u8>().prop_map(Step::Remove),
        3 => any::<(u8, u16)>().prop_map(|(key, value)| Step::Add(key, value)),
        1 => any::<(u8, u16)>().prop_map(|(key, value)| Step::Change(key, value)),
        1 => (2..6_u8).prop_map(Step::Retain),
        1 => prop::collection::vec(any::<(u8, u16)>(), 0..20).prop_map(Step::Extend),
        1 => Just(Step::Collect),
    ]
}

/// Checks the invariants of `SortedMap::lists`.
fn check<K: Ord, V>(map: &SortedMap<K, V>) {
    assert!(map.lists.iter().all(|list| !list.is_empty()));
    assert!(map.keys().is_sorted_by(|a, b| a < b));
}

proptest! {
    /// A map equals a `BTreeMap` after any sequence of operations.
    #[test]
    fn a_map_is_a_tree(start in prop::collection::vec(any::<(u8, u16)>(), 0..30), steps in prop::collection::vec(step(), 0..120)) {
        let mut map: SortedMap<u8, u16> = start.iter().copied().collect();
        let mut tree: BTreeMap<u8, u16> = start.into_iter().collect();
        for step in steps {
            match step {
                Step::Insert(key, value) => prop_assert_eq!(map.insert(key, value), tree.insert(key, value)),
                Step::Remove(key) => prop_assert_eq!(map.remove(&key), tree.remove(&key)),
                Step::Add(key, value) => {
                    *map.entry(key).or_default() ^= value;
                    *tree.entry(key).or_default() ^= value;
                }
                Step::Change(key, value) => {
                    map.entry(key).and_modify(|known| *known ^= value).or_insert(value);
                    tree.entry(key).and_modify(|known| *known ^= value).or_insert(value);
                    if let (Some(ours), Some(theirs)) = (map.get_mut(&key), tree.get_mut(&key)) {
                        (*ours, *theirs) = (*ours / 2, *theirs / 2);
                    }
                }
                Step::Retain(by) => {
                    map.retain(|key, value| { *value ^= 1; !key.is_multiple_of(by) });
                    tree.retain(|key, value| { *value ^= 1; !key.is_multiple_of(by) });
                }
                Step::Extend(entries) => {
                    map.extend(entries.iter().copied());
                    tree.extend(entries);
                }
                Step::Collect => {
                    map = map.into_iter().rev().collect();
                    map.values_mut().for_each(|value| *value ^= 2);
                    map.iter_mut().for_each(|(key, value)| *value ^= u16::from(*key));
                    tree.iter_mut().for_each(|(key, value)| *value = *value ^ 2 ^ u16::from(*key));
                }
            }
            check(&map);
            prop_assert!(map.iter().eq(tree.iter()) && map.iter().rev().eq(tree.iter().rev()));
            prop_assert_eq!((map.len(), map.is_empty()), (tree.len(), tree.is_empty()));
            prop_assert_eq!(map.first_key_value(), tree.first_key_value());
            prop_assert_eq!(map.last_key_value(), tree.last_key_value());
            prop_assert!((0..=u8::MAX).all(|key| map.get(&key) == tree.get(&key) && map.contains_key(&key) == tree.contains_key(&key)));
            prop_assert_eq!(&map, &tree.iter().map(|(key, value)| (*key, *value)).collect());
            prop_assert_eq!(format!("{map:?}"), format!("{tree:?}"));
        }
        prop_assert!(map.clone().into_keys().eq(tree.clone().into_keys()) && map.clone().into_values().eq(tree.clone().into_values()));
        prop_assert!(map.values().eq(tree.values()) && map.into_iter().eq(tree));
    }

    /// A set equals a `BTreeSet` after any sequence of operations.
    #[test]
    fn a_set_is_a_tree(a in prop::collection::vec(any::<u8>(), 0..80), b in prop::collection::vec(any::<u8>(), 0..80), bounds in any::<(u8, u8)>()) {
        let mut sets = [&a, &b].map(|items| items.iter().copied().collect::<SortedSet<u8>>());
        let mut trees = [&a, &b].map(|items| items.iter().copied().collect::<BTreeSet<u8>>());
        for &item in &b {
            prop_assert_eq!(sets[0].remove(&item), trees[0].remove(&item));
            prop_assert_eq!(sets[0].insert(item / 2), trees[0].insert(item / 2));
            check(&sets[0].0);
        }
        sets[1].extend(a.iter().copied().filter(|item| item % 3 == 0));
        trees[1].extend(a.iter().copied().filter(|item| item % 3 == 0));
        let ([one, other], [first, second]) = (&sets, &trees);
        prop_assert!(one.iter().eq(first.iter()) && other.iter().eq(second.iter()));
        prop_assert!(one.intersection(other).eq(first.intersection(second)));
        prop_assert!(one.difference(other).eq(first.difference(second)));
        prop_assert_eq!((one.first(), one.last(), one.len()), (first.first(), first.last(), first.len()));
        prop_assert!((0..=u8::MAX).all(|item| one.contains(&item) == first.contains(&item) && one.get(&item) == first.get(&item)));
        let (from, to) = (bounds.0.min(bounds.1), bounds.0.max(bounds.1));
        prop_assert!(one.range(from..to).eq(first.range(from..to)) && one.range(from..=to).eq(first.range(from..=to)));
        prop_assert!(one.range(..to).eq(first.range(..to)) && one.range(from..).eq(first.range(from..)));
        prop_assert_eq!(format!("{one:?}"), format!("{first:?}"));
    }
}

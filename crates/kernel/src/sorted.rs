//! Sorted maps and sets for code that runs rarely.
//!
//! Replacements of `BTreeMap` and `BTreeSet` made of sorted lists of limited length, with much less machine code for
//! each pair of types. A lookup takes as long as in a B-tree, and an insertion moves the entries of at most one list.

use std::borrow::Borrow;
use std::fmt;
use std::iter::{Flatten, Map};
use std::marker::PhantomData;
use std::ops::{Bound, Index, RangeBounds};
use std::{slice, vec};

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};

use crate::order::Sort as _;

/// Length of a list in entries from which an insertion splits it.
const MOST: usize = if cfg!(test) { 4 } else { 256 };

/// Map whose entries are in the order of their keys.
#[derive(Clone)]
pub struct SortedMap<K, V> {
    /// Lists of entries, none of them empty; keys ascend within and across lists.
    lists: Vec<Vec<(K, V)>>,
}

/// Index of a list, and index of an entry in it.
type Position = (usize, usize);

type Entries<'a, K, V> = Flatten<slice::Iter<'a, Vec<(K, V)>>>;
type EntriesMut<'a, K, V> = Flatten<slice::IterMut<'a, Vec<(K, V)>>>;
type Owned<K, V> = Flatten<vec::IntoIter<Vec<(K, V)>>>;
/// Iterator over the entries of a map, in order of keys.
pub type Iter<'a, K, V> = Map<Entries<'a, K, V>, fn(&'a (K, V)) -> (&'a K, &'a V)>;
/// Iterator over the entries of a map with mutable values, in order of keys.
pub type IterMut<'a, K, V> = Map<EntriesMut<'a, K, V>, fn(&'a mut (K, V)) -> (&'a K, &'a mut V)>;
/// Iterator over the keys of a map, in order.
pub type Keys<'a, K, V> = Map<Entries<'a, K, V>, fn(&'a (K, V)) -> &'a K>;
/// Iterator over the values of a map, in the order of their keys.
pub type Values<'a, K, V> = Map<Entries<'a, K, V>, fn(&'a (K, V)) -> &'a V>;

impl<K, V> SortedMap<K, V> {
    /// Creates an empty map; allocates nothing.
    pub const fn new() -> Self {
        Self { lists: Vec::new() }
    }

    /// Returns the number of entries, in time proportional to the number of lists.
    pub fn len(&self) -> usize {
        self.lists.iter().map(Vec::len).sum()
    }

    /// Returns true if there are no entries.
    pub const fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Returns the entries in order of keys.
    pub fn iter(&self) -> Iter<'_, K, V> {
        self.lists.iter().flatten().map(|(key, value)| (key, value))
    }

    /// Returns the entries in order of keys, with mutable values.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        self.lists.iter_mut().flatten().map(|(key, value)| (key, value))
    }

    /// Returns the keys in order.
    pub fn keys(&self) -> Keys<'_, K, V> {
        self.lists.iter().flatten().map(|(key, _)| key)
    }

    /// Returns the values in the order of their keys.
    pub fn values(&self) -> Values<'_, K, V> {
        self.lists.iter().flatten().map(|(_, value)| value)
    }

    /// Returns mutable values in the order of their keys.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.lists.iter_mut().flatten().map(|(_, value)| value)
    }

    /// Converts the map to its keys, in order.
    pub fn into_keys(self) -> impl DoubleEndedIterator<Item = K> {
        self.into_iter().map(|(key, _)| key)
    }

    /// Converts the map to its values, in the order of their keys.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> {
        self.into_iter().map(|(_, value)| value)
    }

    /// Returns the entry with the smallest key.
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }

    /// Returns the entry with the largest key.
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next_back()
    }

    /// Removes all entries and frees their lists.
    pub fn clear(&mut self) {
        self.lists.clear();
    }

    /// Removes all entries for which `keep` is false.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        for list in &mut self.lists {
            list.retain_mut(|(key, value)| keep(key, value));
        }
        self.lists.retain(|list| !list.is_empty());
    }

    fn insert_at(&mut self, position: Position, key: K, value: V) -> &mut V {
        let (mut list, mut at) = position;
        match self.lists.get_mut(list).map(|entries| (entries.len(), entries)) {
            None => self.lists.push(Vec::new()),
            // Splitting here would leave half-full lists behind when entries arrive in order.
            Some((len, _)) if len >= MOST && at == len => {
                (list, at) = (list + 1, 0);
                self.lists.insert(list, Vec::new());
            }
            Some((len, entries)) if len >= MOST => {
                let behind = entries.split_off(len / 2);
                self.lists.insert(list + 1, behind);
                if at > len / 2 {
                    (list, at) = (list + 1, at - len / 2);
                }
            }
            Some(_) => {}
        }
        let entries = &mut self.lists[list];
        entries.insert(at, (key, value));
        &mut entries[at].1
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// Returns the position of a key, or as an error the position at which to insert it.
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<Position, Position>
    where
        K: Borrow<Q>,
    {
        let behind = self.lists.partition_point(|list| list[0].0.borrow() <= key);
        let list = behind.saturating_sub(1);
        let entries = self.lists.get(list).map_or(&[][..], Vec::as_slice);
        let found = entries.binary_search_by(|entry| entry.0.borrow().cmp(key));
        found.map(|at| (list, at)).map_err(|at| (list, at))
    }

    /// Returns the value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let (list, at) = self.find(key).ok()?;
        Some(&self.lists[list][at].1)
    }

    /// Returns the mutable value of a key.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let (list, at) = self.find(key).ok()?;
        Some(&mut self.lists[list][at].1)
    }

    /// Returns true if the map has the key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// Sets the value of a key; returns the former value.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok((list, at)) => Some(std::mem::replace(&mut self.lists[list][at].1, value)),
            Err(position) => {
                self.insert_at(position, key, value);
                None
            }
        }
    }

    /// Removes a key; returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let (list, at) = self.find(key).ok()?;
        let (_, value) = self.lists[list].remove(at);
        if self.lists[list].is_empty() {
            self.lists.remove(list);
        }
        Some(value)
    }

    /// Returns the entry of a key, present or not, for access in place.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        let position = self.find(&key);
        Entry {
            map: self,
            key,
            position,
        }
    }
}

/// Entry of a key, present or not.
pub struct Entry<'a, K, V> {
    map: &'a mut SortedMap<K, V>,
    key: K,
    position: Result<Position, Position>,
}

impl<'a, K, V> Entry<'a, K, V> {
    /// Returns the value after inserting `value(key)` if there is none.
    pub fn or_insert_with_key(self, value: impl FnOnce(&K) -> V) -> &'a mut V {
        match self.position {
            Ok((list, at)) => &mut self.map.lists[list][at].1,
            Err(position) => {
                let value = value(&self.key);
                self.map.insert_at(position, self.key, value)
            }
        }
    }

    /// Returns the value after inserting `value()` if there is none.
    pub fn or_insert_with(self, value: impl FnOnce() -> V) -> &'a mut V {
        self.or_insert_with_key(|_| value())
    }

    /// Returns the value after inserting `value` if there is none.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// Returns the value after inserting the default if there is none.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// Changes the value, if there is one.
    #[must_use]
    pub fn and_modify(self, change: impl FnOnce(&mut V)) -> Self {
        if let Ok((list, at)) = self.position {
            change(&mut self.map.lists[list][at].1);
        }
        self
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut list: Vec<(K, V)> = entries.into_iter().collect();
        list.order_by(|a, b| a.0.cmp(&b.0));
        // The sort is stable, so the last of several entries with one key is kept, as `BTreeMap` does.
        list.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                std::mem::swap(later, kept);
            }
            same
        });
        let lists = if list.is_empty() { Vec::new() } else { vec![list] };
        Self { lists }
    }
}

impl<K: Ord, V, const LEN: usize> From<[(K, V); LEN]> for SortedMap<K, V> {
    fn from(entries: [(K, V); LEN]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<'a, K: Ord + Copy, V: Copy> Extend<(&'a K, &'a V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (&'a K, &'a V)>>(&mut self, entries: I) {
        self.extend(entries.into_iter().map(|(key, value)| (*key, *value)));
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = Owned<K, V>;
    fn into_iter(self) -> Owned<K, V> {
        self.lists.into_iter().flatten()
    }
}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;
    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}

impl<'a, K, V> IntoIterator for &'a mut SortedMap<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;
    fn into_iter(self) -> IterMut<'a, K, V> {
        self.iter_mut()
    }
}

impl<K: Borrow<Q> + Ord, Q: Ord + ?Sized, V> Index<&Q> for SortedMap<K, V> {
    type Output = V;
    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("no entry found for key")
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for SortedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<K: Eq, V: Eq> Eq for SortedMap<K, V> {}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SortedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Serialize, V: Serialize> Serialize for SortedMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Formats such as those of checkpoints write the length first, which an iterator over lists of lists does not know.
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (key, value) in self {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Deserialize<'de> for SortedMap<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read<K, V>(PhantomData<(K, V)>);

        impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Visitor<'de> for Read<K, V> {
            type Value = SortedMap<K, V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<SortedMap<K, V>, A::Error> {
                let mut map = SortedMap::new();
                while let Some((key, value)) = entries.next_entry()? {
                    map.insert(key, value);
                }
                Ok(map)
            }
        }

        deserializer.deserialize_map(Read(PhantomData))
    }
}

/// Set whose items are in order.
#[derive(Clone)]
pub struct SortedSet<T>(SortedMap<T, ()>);

impl<T> SortedSet<T> {
    /// Creates an empty set; allocates nothing.
    pub const fn new() -> Self {
        Self(SortedMap::new())
    }

    /// Returns the number of items, in time proportional to the number of lists.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there are no items.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the items in order.
    pub fn iter(&self) -> Keys<'_, T, ()> {
        self.0.keys()
    }

    /// Returns the smallest item.
    pub fn first(&self) -> Option<&T> {
        self.iter().next()
    }

    /// Returns the largest item.
    pub fn last(&self) -> Option<&T> {
        self.iter().next_back()
    }

    /// Removes all items for which `keep` is false.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.0.retain(|item, ()| keep(item));
    }
}

impl<T: Ord> SortedSet<T> {
    /// Returns true if the set has the item.
    pub fn contains<Q: Ord + ?Sized>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.contains_key(item)
    }

    /// Returns the item of the set that equals `item`.
    pub fn get<Q: Ord + ?Sized>(&self, item: &Q) -> Option<&T>
    where
        T: Borrow<Q>,
    {
        let (list, at) = self.0.find(item).ok()?;
        Some(&self.0.lists[list][at].0)
    }

    /// Adds an item; returns true if it is new.
    pub fn insert(&mut self, item: T) -> bool {
        match self.0.find(&item) {
            Ok(_) => false,
            Err(position) => {
                self.0.insert_at(position, item, ());
                true
            }
        }
    }

    /// Removes an item; returns true if it was present.
    pub fn remove<Q: Ord + ?Sized>(&mut self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.remove(item).is_some()
    }

    /// Returns the items within bounds, in order.
    pub fn range<'a>(&'a self, bounds: impl RangeBounds<T> + 'a) -> impl Iterator<Item = &'a T> {
        let first = match bounds.start_bound() {
            Bound::Included(item) | Bound::Excluded(item) => self.0.find(item).unwrap_or_else(|at| at),
            Bound::Unbounded => (0, 0),
        };
        let lists = self.0.lists.get(first.0..).unwrap_or_default();
        let items = lists.iter().flatten().skip(first.1).map(|(item, ())| item);
        items.filter(move |item| bounds.contains(item))
    }

    /// Returns the items that are also in another set.
    pub fn intersection<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> {
        self.iter().filter(|item| other.contains(*item))
    }

    /// Returns the items that are not in another set.
    pub fn difference<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> {
        self.iter().filter(|item| !other.contains(*item))
    }
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut list: Vec<(T, ())> = items.into_iter().map(|item| (item, ())).collect();
        list.order();
        list.dedup();
        let lists = if list.is_empty() { Vec::new() } else { vec![list] };
        Self(SortedMap { lists })
    }
}

impl<T: Ord, const LEN: usize> From<[T; LEN]> for SortedSet<T> {
    fn from(items: [T; LEN]) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        for item in items {
            self.insert(item);
        }
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = Map<Owned<T, ()>, fn((T, ())) -> T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(|(item, ())| item)
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = Keys<'a, T, ()>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: PartialEq> PartialEq for SortedSet<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T: Eq> Eq for SortedSet<T> {}

impl<T: fmt::Debug> fmt::Debug for SortedSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl<T: Serialize> Serialize for SortedSet<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut items = serializer.serialize_seq(Some(self.len()))?;
        for item in self {
            items.serialize_element(item)?;
        }
        items.end()
    }
}

impl<'de, T: Deserialize<'de> + Ord> Deserialize<'de> for SortedSet<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de> + Ord> Visitor<'de> for Read<T> {
            type Value = SortedSet<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<SortedSet<T>, A::Error> {
                let mut set = SortedSet::new();
                while let Some(item) = items.next_element()? {
                    set.insert(item);
                }
                Ok(set)
            }
        }

        deserializer.deserialize_seq(Read(PhantomData))
    }
}

#[cfg(test)]
mod tests;

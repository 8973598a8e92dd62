//! Typed indices and lists indexed by them: a port's index is not a packet's, and a list of ports accepts
//! only a port's.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

use crate::prefetch::{prefetch, prefetch_all};

/// Index of an item in its list.
pub trait Id: Copy + Eq {
    /// Value that is never an index.
    const NONE: Self;
    /// Returns the identifier for a list index.
    fn new(index: usize) -> Self;
    /// Returns the list index.
    fn index(self) -> usize;
    /// Returns the identifier `more` positions later.
    #[inline(always)]
    fn plus(self, more: usize) -> Self {
        Self::new(self.index() + more)
    }
}

/// Defines identifier types: `ids! { /// Index of a port. pub(crate) PortId: u32 }`.
///
/// [`Id::NONE`] is the highest value. An identifier is displayed as its number.
#[macro_export]
macro_rules! ids {
    ($($(#[$about:meta])* $visible:vis $name:ident: $number:ty;)+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[repr(transparent)]
        $visible struct $name(pub $number);

        impl $crate::ids::Id for $name {
            const NONE: Self = Self(<$number>::MAX);
            #[inline(always)]
            fn new(index: usize) -> Self {
                Self(index as $number)
            }
            #[inline(always)]
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

/// Vector indexed by an identifier type.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(
    transparent,
    bound(serialize = "T: serde::Serialize", deserialize = "T: serde::Deserialize<'de>")
)]
pub struct List<I, T> {
    items: Vec<T>,
    #[serde(skip)]
    ids: PhantomData<fn(I)>,
}

impl<I: Id, T> List<I, T> {
    /// Returns an empty list without allocation.
    pub const fn new() -> Self {
        Self {
            items: Vec::new(),
            ids: PhantomData,
        }
    }

    /// Returns a list of `count` copies of `item`.
    pub fn of(count: usize, item: T) -> Self
    where
        T: Clone,
    {
        vec![item; count].into()
    }

    /// Returns the number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns true if there are no items.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Iterates over all identifiers in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.items.len()).map(I::new)
    }

    /// Appends an item and returns its identifier.
    #[inline]
    pub fn push(&mut self, item: T) -> I {
        let id = I::new(self.items.len());
        self.items.push(item);
        id
    }

    /// Returns the item with this identifier; `None` if there is none.
    #[inline]
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }

    /// Returns the item with this identifier for modification; `None` if there is none.
    #[inline]
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.items.get_mut(id.index())
    }

    /// Iterates over all items in order.
    #[inline]
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// Iterates over all items in order, for modification.
    #[inline]
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }

    /// Iterates over all items with their identifiers, in order.
    pub fn numbered(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.items.iter().enumerate().map(|(i, item)| (I::new(i), item))
    }

    /// Iterates over all items with their identifiers in order, for modification.
    pub fn numbered_mut(&mut self) -> impl DoubleEndedIterator<Item = (I, &mut T)> + ExactSizeIterator {
        let items = self.items.iter_mut().enumerate();
        items.map(|(i, item)| (I::new(i), item))
    }

    /// Extends the list with results of `make` until `id` is valid.
    pub fn reach(&mut self, id: I, make: impl FnMut() -> T) {
        if self.items.len() <= id.index() {
            self.items.resize_with(id.index() + 1, make);
        }
    }

    /// Truncates the list to `count` items, or extends it with results of `make`.
    pub fn resize_with(&mut self, count: usize, make: impl FnMut() -> T) {
        self.items.resize_with(count, make);
    }

    /// Returns all items as a slice.
    pub fn as_slice(&self) -> &[T] {
        &self.items
    }

    /// Returns all items as a slice for modification.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.items
    }

    /// Prefetches the first cache line of an item, if it exists.
    #[inline(always)]
    pub fn prefetch(&self, id: I) {
        prefetch(&self.items, id.index());
    }

    /// Prefetches all cache lines of an item, if it exists.
    #[inline(always)]
    pub fn prefetch_all(&self, id: I) {
        if let Some(item) = self.items.get(id.index()) {
            prefetch_all(item);
        }
    }
}

impl<I: Id, T> Default for List<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I, T> From<Vec<T>> for List<I, T> {
    fn from(items: Vec<T>) -> Self {
        Self {
            items,
            ids: PhantomData,
        }
    }
}

impl<I, T> From<List<I, T>> for Vec<T> {
    fn from(list: List<I, T>) -> Self {
        list.items
    }
}

impl<I, T> FromIterator<T> for List<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(items: A) -> Self {
        Vec::from_iter(items).into()
    }
}

impl<I, T> IntoIterator for List<I, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, I, T> IntoIterator for &'a List<I, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<'a, I, T> IntoIterator for &'a mut List<I, T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.iter_mut()
    }
}

impl<I: Id, T> Index<I> for List<I, T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for List<I, T> {
    #[inline(always)]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

/// Rows of equal width, indexed by the row's identifier and a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid<I, T> {
    items: Vec<T>,
    width: usize,
    ids: PhantomData<fn(I)>,
}

impl<I: Id, T> Grid<I, T> {
    /// Returns a grid of `rows` rows with `width` copies of `item` each.
    pub fn of(rows: usize, width: usize, item: T) -> Self
    where
        T: Clone,
    {
        Self {
            items: vec![item; rows * width],
            width,
            ids: PhantomData,
        }
    }

    /// Returns the number of columns.
    #[inline]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of items in all rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns true if there are no items.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the item at a row and column for modification; `None` if the row does not exist.
    #[inline]
    pub fn get_mut(&mut self, (id, place): (I, u8)) -> Option<&mut T> {
        let index = id.index() * self.width + usize::from(place);
        self.items.get_mut(index)
    }

    /// Returns a row as a slice.
    #[inline]
    pub fn row(&self, id: I) -> &[T] {
        &self.items[id.index() * self.width..][..self.width]
    }

    /// Iterates over all items in row-major order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// Iterates over all items with row and column, in row-major order.
    pub fn numbered(&self) -> impl Iterator<Item = ((I, u8), &T)> {
        let place = |i: usize| (I::new(i / self.width), (i % self.width) as u8);
        self.items
            .iter()
            .enumerate()
            .map(move |(i, item)| (place(i), item))
    }

    /// Prefetches the first cache line of a row, if it exists.
    #[inline(always)]
    pub fn prefetch(&self, id: I) {
        prefetch(&self.items, id.index() * self.width);
    }
}

/// Grid of numbers most of which stay zero. A copy does not touch the memory of zeros, which costs nothing until then.
#[derive(Debug)]
pub struct SparseGrid<I>(Grid<I, u64>);

impl<I: Id> SparseGrid<I> {
    /// Returns a grid of zeros.
    pub fn new(rows: usize, width: usize) -> Self {
        Self(Grid::of(rows, width, 0))
    }
}

impl<I> Clone for SparseGrid<I> {
    fn clone(&self) -> Self {
        Self(Grid {
            items: crate::memory::copy_of_sparse(&self.0.items),
            width: self.0.width,
            ids: PhantomData,
        })
    }
}

impl<I> Default for SparseGrid<I> {
    fn default() -> Self {
        Self(Grid::default())
    }
}

impl<I> Deref for SparseGrid<I> {
    type Target = Grid<I, u64>;
    #[inline(always)]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<I> DerefMut for SparseGrid<I> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl<I, T> Default for Grid<I, T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            width: 0,
            ids: PhantomData,
        }
    }
}

impl<I: Id, T> Index<(I, u8)> for Grid<I, T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, (id, place): (I, u8)) -> &T {
        &self.items[id.index() * self.width + usize::from(place)]
    }
}

impl<I: Id, T> IndexMut<(I, u8)> for Grid<I, T> {
    #[inline(always)]
    fn index_mut(&mut self, (id, place): (I, u8)) -> &mut T {
        &mut self.items[id.index() * self.width + usize::from(place)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    ids! {
        /// Index of a shelf.
        ShelfId: u32;
    }

    #[test]
    fn lists_are_numbered_from_nought() {
        let mut shelves: List<ShelfId, &str> = List::new();
        let ids = ["a", "b"].map(|name| shelves.push(name));
        assert_eq!(ids, [ShelfId(0), ShelfId(1)]);
        shelves[ids[1]] = "c";
        assert_eq!(shelves.numbered().next_back(), Some((ids[1], &"c")));
        assert!(shelves.ids().eq(ids));
        assert_eq!(shelves.get(ShelfId::NONE), None);
        shelves.reach(ShelfId(3), || "new");
        shelves.reach(ShelfId(2), || "nothing more");
        assert_eq!(shelves.as_slice(), ["a", "c", "new", "new"]);
        assert_eq!(ids[1].to_string(), "1");
    }

    #[test]
    fn rows_stand_one_after_another() {
        let mut grid: Grid<ShelfId, u8> = Grid::of(3, 2, 0);
        grid[(ShelfId(1), 1)] = 7;
        assert!(grid.iter().eq(&[0, 0, 0, 7, 0, 0]));
        assert_eq!(grid.row(ShelfId(1)), [0, 7]);
        let place = grid.numbered().find(|(_, item)| **item == 7);
        assert_eq!(place, Some(((ShelfId(1), 1), &7)));
    }
}

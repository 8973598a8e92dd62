//! Fast evaluation of trees: sixty-four in parallel, one feature at a time.
//!
//! The results of all splits on a feature depend only on its *bin*, the interval between two thresholds that
//! contains it. So each feature is converted to its bin once ([`Bins`]). For each feature that sixty-four
//! trees use there is a row of bytes per bin: the bits that it sets in the trees' leaf numbers. The bitwise
//! OR of the rows gives the leaf numbers of sixty-four trees, without a comparison per tree.

use super::scale::{Scale, fixed, float, grid};
use super::{MAX_FEATURES, Parts, Tree, borders};

/// Trees evaluated in parallel.
const BLOCK: usize = 64;
/// Largest depth whose leaf numbers fit into a byte.
const DEEPEST: usize = 8;
/// Largest depth at which four trees share a table of 256 leaves.
const SHALLOW: usize = 6;
/// Largest number of thresholds of a feature: its bins, one more, fit into a byte.
const MAX_BORDERS: usize = 255;
/// Position ranges per feature for which the first bin is stored.
const BUCKETS: usize = 1024;

/// Evaluation tables of all trees.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    start: i64,
    /// Positions per unit, by feature; unused for floating-point features.
    grids: Vec<f32>,
    /// Indices of floating-point features.
    floats: Vec<usize>,
    bins: Vec<Bins>,
    /// Columns of all blocks, concatenated.
    columns: Vec<Column>,
    /// Rows of all blocks, concatenated.
    rows: Vec<Row>,
    blocks: Vec<Block>,
    leaves: Leaves,
}

/// Sizes of a block of sixty-four trees.
#[derive(Clone, Debug)]
struct Block {
    columns: usize,
    rows: usize,
}

/// Feature that a block uses.
#[derive(Clone, Debug)]
struct Column {
    feature: usize,
    /// Row of the block, by bin.
    row: Box<[u16; MAX_BORDERS + 1]>,
}

/// Bits of leaf numbers, one byte per tree.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Row([u8; BLOCK]);

/// Leaf values, in the smallest type that fits.
#[derive(Clone, Debug)]
enum Leaves {
    /// Four trees per table.
    Shallow(Vec<[i16; 256]>),
    /// One tree per table.
    Deep(Vec<[i32; 256]>),
}

impl Layout {
    /// Builds the tables, or returns `None` if depth or bins do not fit into bytes.
    pub(super) fn of(parts: &Parts) -> Option<Self> {
        let deepest = parts.trees.iter().map(|tree| tree.splits.len()).max();
        let bins: Vec<Bins> = (0..parts.features.len())
            .map(|k| Bins::of(parts, k))
            .collect::<Option<_>>()?;
        let depth = deepest.unwrap_or(0);
        if depth > DEEPEST {
            return None;
        }
        let is_float = |k: &usize| parts.features[*k].scale == Scale::Float;
        let mut layout = Self {
            start: parts.start,
            grids: parts
                .features
                .iter()
                .map(|feature| match feature.scale {
                    Scale::Fixed(fraction) => grid(fraction),
                    Scale::Float => 0.0,
                })
                .collect(),
            floats: (0..parts.features.len()).filter(is_float).collect(),
            bins,
            columns: Vec::new(),
            rows: Vec::new(),
            blocks: Vec::new(),
            leaves: Leaves::of(&parts.trees, depth),
        };
        for trees in parts.trees.chunks(BLOCK) {
            layout.add_block(trees);
        }
        Some(layout)
    }

    fn add_block(&mut self, trees: &[Tree]) {
        let (columns, rows) = (self.columns.len(), self.rows.len());
        for feature in 0..self.bins.len() {
            let own = borders(trees, feature);
            // No tree of the block uses the feature: no row, no work per decision.
            if own.is_empty() {
                continue;
            }
            let first = self.rows.len() - rows;
            self.rows.push(Row([0; BLOCK]));
            self.rows
                .extend(own.iter().map(|border| row(trees, feature, *border)));
            let mut row = Box::new([0; MAX_BORDERS + 1]);
            for (bin, row) in row.iter_mut().enumerate() {
                // A position in bin 0 is above no threshold.
                let reached = bin
                    .checked_sub(1)
                    .and_then(|below| self.bins[feature].border(below));
                let above = reached.map_or(0, |reached| own.partition_point(|border| *border <= reached));
                *row = (first + above) as u16;
            }
            self.columns.push(Column { feature, row });
        }
        self.blocks.push(Block {
            columns: self.columns.len() - columns,
            rows: self.rows.len() - rows,
        });
    }

    #[inline]
    pub(super) fn sum(&self, features: &[f32]) -> i64 {
        let mut positions = [0; MAX_FEATURES];
        for ((position, grid), feature) in positions.iter_mut().zip(&self.grids).zip(features) {
            *position = fixed(*feature, *grid);
        }
        for &k in &self.floats {
            positions[k] = features.get(k).map_or(0, |feature| float(*feature));
        }
        let mut bins = [0u8; MAX_FEATURES];
        for ((bin, of), position) in bins.iter_mut().zip(&self.bins).zip(&positions) {
            *bin = of.bin(*position);
        }
        self.start
            + match &self.leaves {
                Leaves::Shallow(leaves) => self.add_up::<_, 4>(leaves, &bins),
                Leaves::Deep(leaves) => self.add_up::<_, 1>(leaves, &bins),
            }
    }

    /// Adds up the leaves, with `PER` trees per table.
    #[inline]
    fn add_up<L: Copy + Into<i64>, const PER: usize>(
        &self,
        leaves: &[[L; 256]],
        bins: &[u8; MAX_FEATURES],
    ) -> i64 {
        let (mut columns, mut rows) = (&self.columns[..], &self.rows[..]);
        let mut sum = 0;
        for (block, leaves) in self.blocks.iter().zip(leaves.chunks_exact(BLOCK / PER)) {
            let (these, others) = columns.split_at(block.columns);
            let (own, further) = rows.split_at(block.rows);
            (columns, rows) = (others, further);
            // Start of each tree's leaves in its table.
            let mut numbers = Row(std::array::from_fn(|lane| (lane % PER * (256 / PER)) as u8));
            for column in these {
                let bin = bins[column.feature % MAX_FEATURES];
                let row = own[usize::from(column.row[usize::from(bin)])];
                for (number, bits) in numbers.0.iter_mut().zip(row.0) {
                    *number |= bits;
                }
            }
            for (table, numbers) in leaves.iter().zip(numbers.0.as_chunks::<PER>().0) {
                for number in numbers {
                    sum += table[usize::from(*number)].into();
                }
            }
        }
        sum
    }
}

/// Returns the bits that a feature sets if it is above `border` but not the next one.
fn row(trees: &[Tree], feature: usize, border: i32) -> Row {
    let mut row = Row([0; BLOCK]);
    for (bits, tree) in row.0.iter_mut().zip(trees) {
        for (k, split) in tree.splits.iter().enumerate() {
            *bits |= u8::from(split.feature == feature && split.above <= border) << k;
        }
    }
    row
}

impl Leaves {
    fn of(trees: &[Tree], depth: usize) -> Self {
        let fits = |leaf: &i32| i16::try_from(*leaf).is_ok();
        match depth <= SHALLOW && trees.iter().flat_map(|tree| &tree.leaves).all(fits) {
            true => Self::Shallow(tables::<_, 4>(trees, |leaf| leaf as i16)),
            false => Self::Deep(tables::<_, 1>(trees, |leaf| leaf)),
        }
    }
}

/// Builds tables of `PER` trees for whole blocks; missing trees have leaves of 0.
fn tables<L: Copy + Default, const PER: usize>(trees: &[Tree], of: impl Fn(i32) -> L) -> Vec<[L; 256]> {
    let count = trees.len().div_ceil(BLOCK) * (BLOCK / PER);
    let table = |k: usize| {
        let mut table = [L::default(); 256];
        for (leaves, tree) in table.chunks_exact_mut(256 / PER).zip(trees.iter().skip(k * PER)) {
            for (leaf, value) in leaves.iter_mut().zip(&tree.leaves) {
                *leaf = of(*value);
            }
        }
        table
    };
    (0..count).map(table).collect()
}

/// Search structure that maps a position to its bin.
#[derive(Clone, Debug)]
struct Bins {
    /// Lowest threshold; buckets start there.
    base: i64,
    /// A bucket has 2^shift positions; the first starts at `base`.
    shift: u32,
    /// Number of thresholds below each bucket.
    begin: Box<[u8; BUCKETS]>,
    /// Thresholds in ascending order, padded with a value that no position exceeds.
    borders: Box<[i32; MAX_BORDERS + 1]>,
    count: usize,
    /// True if a bucket has more than two thresholds.
    crowded: bool,
}

impl Bins {
    fn of(parts: &Parts, feature: usize) -> Option<Self> {
        let sorted = parts.borders(feature);
        let mut borders = Box::new([i32::MAX; MAX_BORDERS + 1]);
        // The last entry stays reserved for the padding.
        borders[..MAX_BORDERS]
            .get_mut(..sorted.len())?
            .copy_from_slice(&sorted);
        let ends = [sorted.first(), sorted.last()].map(|end| i64::from(end.copied().unwrap_or(0)));
        let [base, last] = ends;
        let mut shift = 0;
        while (last - base) >> shift >= BUCKETS as i64 - 1 {
            shift += 1;
        }
        let bucket = |border: &i32| (i64::from(*border) - base) >> shift;
        let below = |k: usize| sorted.partition_point(|border| bucket(border) < k as i64);
        let begin: Box<[u8; BUCKETS]> = Box::new(std::array::from_fn(|k| below(k) as u8));
        Some(Self {
            base,
            shift,
            begin,
            borders,
            count: sorted.len(),
            crowded: sorted
                .windows(3)
                .any(|three| bucket(&three[0]) == bucket(&three[2])),
        })
    }

    /// Returns the threshold at index `rank`, if there is one.
    fn border(&self, rank: usize) -> Option<i32> {
        self.borders[..self.count].get(rank).copied()
    }

    /// Returns the number of thresholds that a position is above.
    #[inline]
    fn bin(&self, position: i32) -> u8 {
        let bucket = ((i64::from(position) - self.base).max(0) >> self.shift).min(BUCKETS as i64 - 1);
        let mut bin = self.begin[bucket as usize % BUCKETS];
        // Two steps suffice in nearly all buckets, and a superfluous step does nothing.
        for _ in 0..2 {
            bin += u8::from(self.borders[usize::from(bin)] < position);
        }
        if self.crowded {
            while self.borders[usize::from(bin)] < position {
                bin += 1;
            }
        }
        bin
    }
}

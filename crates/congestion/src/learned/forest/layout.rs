//! Trees as they are decided by: sixty-four side by side, a feature at a time.
//!
//! What a feature answers to all questions depends on nothing but between which of its thresholds it is: its *bin*. So each
//! feature is taken to its bin once ([`Bins`]). For each feature that sixty-four trees ask for there is a row of bytes for
//! each bin: the bits that it sets in the trees' leaf numbers. The rows of all bins, or-ed, are the leaf numbers of
//! sixty-four trees, and no tree compares anything.

use super::scale::{Scale, fixed, float, grid};
use super::{MAX_FEATURES, Parts, Tree, borders};

/// Trees side by side.
const BLOCK: usize = 64;
/// Leaf numbers are bytes.
const DEEPEST: usize = 8;
/// A table of leaves has as many as a byte can name: of four trees, if none is deeper than this.
const SHALLOW: usize = 6;
/// Bins of a feature are bytes: it has one threshold less.
const MAX_BORDERS: usize = 255;
/// Ranges of positions of which a feature's first bin is known.
const BUCKETS: usize = 1024;

/// All trees.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    start: i64,
    /// By feature, positions of a unit; of a floating-point number anything.
    grids: Vec<f32>,
    /// Features that are floating-point numbers.
    floats: Vec<usize>,
    bins: Vec<Bins>,
    /// Columns of all blocks, one after another.
    columns: Vec<Column>,
    /// Rows of all blocks.
    rows: Vec<Row>,
    blocks: Vec<Block>,
    leaves: Leaves,
}

/// Sixty-four trees.
#[derive(Clone, Debug)]
struct Block {
    columns: usize,
    rows: usize,
}

/// A feature of a block.
#[derive(Clone, Debug)]
struct Column {
    feature: usize,
    /// By bin, the row among those of the block.
    row: Box<[u16; MAX_BORDERS + 1]>,
}

/// Bits of leaf numbers, a byte for each tree.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Row([u8; BLOCK]);

/// What leaf numbers name, as small as it fits.
#[derive(Clone, Debug)]
enum Leaves {
    /// Four trees a table.
    Shallow(Vec<[i16; 256]>),
    /// One tree a table.
    Deep(Vec<[i32; 256]>),
}

impl Layout {
    /// Of trees that bytes suffice for.
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
            if own.is_empty() {
                continue;
            }
            let first = self.rows.len() - rows;
            self.rows.push(Row([0; BLOCK]));
            self.rows
                .extend(own.iter().map(|border| row(trees, feature, *border)));
            let mut row = Box::new([0; MAX_BORDERS + 1]);
            for (bin, row) in row.iter_mut().enumerate() {
                // Bin 0 is above nothing.
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

    /// The leaves, of `PER` trees a table.
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
            // Where in its table a tree's leaves begin.
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

/// The bits that a feature sets that is above this border and no further.
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

/// Tables of `PER` trees, whole blocks of them: those that are not there have leaves of 0.
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

/// Between which thresholds a position is.
#[derive(Clone, Debug)]
struct Bins {
    /// The lowest threshold.
    base: i64,
    /// A bucket has two to the power of this positions, the first begins at the base.
    shift: u32,
    /// Thresholds below a bucket.
    begin: Box<[u8; BUCKETS]>,
    /// In order; behind them what nothing is above.
    borders: Box<[i32; MAX_BORDERS + 1]>,
    count: usize,
    /// Whether some bucket has more than two thresholds.
    crowded: bool,
}

impl Bins {
    fn of(parts: &Parts, feature: usize) -> Option<Self> {
        let sorted = parts.borders(feature);
        let mut borders = Box::new([i32::MAX; MAX_BORDERS + 1]);
        // The last place is for what nothing is above.
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

    /// The threshold of that rank.
    fn border(&self, rank: usize) -> Option<i32> {
        self.borders[..self.count].get(rank).copied()
    }

    /// How many thresholds a position is above.
    #[inline]
    fn bin(&self, position: i32) -> u8 {
        let bucket = ((i64::from(position) - self.base).max(0) >> self.shift).min(BUCKETS as i64 - 1);
        let mut bin = self.begin[bucket as usize % BUCKETS];
        // Two steps do in nearly all buckets, and a step too many goes nowhere.
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

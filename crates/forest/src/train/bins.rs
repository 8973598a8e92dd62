//! Features as bins, with one byte per row and feature.

use paceline_congestion::learned::forest::Feature;

/// Split in terms of bins: true if the feature's bin is above `bin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) feature: usize,
    pub(super) bin: u8,
}

/// All rows as bins.
#[derive(Debug)]
pub(super) struct Binned {
    /// Thresholds of each feature as positions: a value in bin b is above b of them.
    pub(super) borders: Vec<Vec<i32>>,
    /// Bins of each feature, row by row.
    pub(super) columns: Vec<Vec<u8>>,
}

impl Binned {
    /// Computes bins in this order of rows. Thresholds are derived from the first `learning` rows.
    pub(super) fn of(
        features: &[Feature],
        rows: &[f32],
        order: &[usize],
        learning: usize,
        bins: usize,
    ) -> Self {
        let mut binned = Self {
            borders: Vec::new(),
            columns: Vec::new(),
        };
        for (k, feature) in features.iter().enumerate() {
            let position = |row: &usize| feature.scale.position(rows[row * features.len() + k]);
            let positions: Vec<i32> = order.iter().map(position).collect();
            let borders = borders(&positions[..learning], bins);
            let bin = |position: &i32| borders.partition_point(|border| border < position) as u8;
            binned.columns.push(positions.iter().map(bin).collect());
            binned.borders.push(borders);
        }
        binned
    }

    /// Returns the leaf index of a row.
    pub(super) fn leaf(&self, asks: &[Ask], row: usize) -> usize {
        let answer = |(k, ask): (usize, &Ask)| usize::from(self.columns[ask.feature][row] > ask.bin) << k;
        asks.iter().enumerate().map(answer).sum()
    }
}

/// Returns thresholds halfway between adjacent values such that bins have similar numbers of rows.
fn borders(positions: &[i32], bins: usize) -> Vec<i32> {
    let mut sorted = positions.to_vec();
    sorted.sort_unstable();
    let halfway = |a: i32, b: i32| (i64::from(a) + i64::from(b)).div_euclid(2) as i32;
    let steps: Vec<usize> = (1..sorted.len()).filter(|k| sorted[*k] > sorted[k - 1]).collect();
    let mut borders = Vec::new();
    // Each bin should get an equal share of the remaining rows.
    let mut begun = 0;
    for (k, step) in steps.iter().enumerate() {
        let left = bins - 1 - borders.len();
        if left == 0 {
            break;
        }
        let share = (sorted.len() - begun) as f64 / (left + 1) as f64;
        // If few candidates are left, all are used; otherwise the one closest to a full bin.
        let next = steps.get(k + 1).copied().unwrap_or(sorted.len());
        let (now, then) = ((step - begun) as f64, (next - begun) as f64);
        if steps.len() - k <= left || now >= share || then - share > share - now {
            borders.push(halfway(sorted[step - 1], sorted[*step]));
            begun = *step;
        }
    }
    borders
}

#[cfg(test)]
mod tests {
    use super::borders;

    #[test]
    fn thresholds_part_rows_evenly() {
        assert_eq!(borders(&[3, 1, 1, 7], 256), [2, 5]);
        assert_eq!(borders(&[5, 5, 5], 8), [] as [i32; 0]);
        assert_eq!(borders(&[-3, -2], 8), [-3]);
        let even: Vec<i32> = (0..1000).collect();
        assert_eq!(borders(&even, 4), [249, 499, 749]);
        // Half of all rows have the same value.
        let heavy: Vec<i32> = (0..1000).map(|k| k.max(500)).collect();
        assert_eq!(borders(&heavy, 5), [500, 625, 750, 875]);
    }
}

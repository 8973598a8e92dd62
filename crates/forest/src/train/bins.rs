//! Features as bins: a byte for each row and feature.

use paceline_congestion::learned::forest::Feature;

/// A question in bins: is the feature's bin above this?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) feature: usize,
    pub(super) bin: u8,
}

/// All rows.
#[derive(Debug)]
pub(super) struct Binned {
    /// By feature, its thresholds as positions: bin b is above b of them.
    pub(super) borders: Vec<Vec<i32>>,
    /// By feature, row by row.
    pub(super) columns: Vec<Vec<u8>>,
}

impl Binned {
    /// In that order of rows, whose first `learning` say where thresholds are.
    pub(super) fn of(
        features: &[Feature],
        rows: &[f32],
        (order, learning): (&[usize], usize),
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

    /// The leaf of a row.
    pub(super) fn leaf(&self, asks: &[Ask], row: usize) -> usize {
        let answer = |(k, ask): (usize, &Ask)| usize::from(self.columns[ask.feature][row] > ask.bin) << k;
        asks.iter().enumerate().map(answer).sum()
    }
}

/// Thresholds halfway between positions that occur, so that bins have about as many rows each.
fn borders(positions: &[i32], bins: usize) -> Vec<i32> {
    let mut sorted = positions.to_vec();
    sorted.sort_unstable();
    let halfway = |a: i32, b: i32| (i64::from(a) + i64::from(b)).div_euclid(2) as i32;
    let steps: Vec<usize> = (1..sorted.len()).filter(|k| sorted[*k] > sorted[k - 1]).collect();
    let mut borders = Vec::new();
    // The next border comes where what is left would fill a bin of those that are left.
    let mut begun = 0;
    for (k, step) in steps.iter().enumerate() {
        let left = bins - 1 - borders.len();
        if left == 0 {
            break;
        }
        let share = (sorted.len() - begun) as f64 / (left + 1) as f64;
        // The last that may be chosen are all chosen; otherwise the step that is nearest to a full bin.
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
        // Half of all in one place.
        let heavy: Vec<i32> = (0..1000).map(|k| k.max(500)).collect();
        assert_eq!(borders(&heavy, 5), [500, 625, 750, 875]);
    }
}

//! Decimation of points that preserves the look of a curve.

/// Largest number of points per series on a page.
pub const POINTS_MAX: usize = 1_200;

/// Keeps the first, the last, the smallest and the largest point in each of equal parts of the x range, so that no
/// peak is lost. `points` are in order of x.
pub fn extremes(points: &[(f64, f64)], limit: usize) -> Vec<(f64, f64)> {
    if points.len() <= limit || limit < 4 {
        return points.to_vec();
    }
    let parts = limit / 4;
    let (first, last) = (points[0].0, points[points.len() - 1].0);
    // If all x are equal, the quotient is NaN, which converts to part 0.
    let part_of = |x: f64| (((x - first) / (last - first) * parts as f64) as usize).min(parts - 1);
    let mut kept = Vec::with_capacity(limit);
    for part in points.chunk_by(|a, b| part_of(a.0) == part_of(b.0)) {
        let mut chosen = [0, part.len() - 1, 0, 0];
        for (i, &(_, y)) in part.iter().enumerate() {
            if y < part[chosen[2]].1 {
                chosen[2] = i;
            }
            if y > part[chosen[3]].1 {
                chosen[3] = i;
            }
        }
        // Back into the order of x; a point may have been chosen twice.
        chosen.sort_unstable();
        let mut previous = None;
        for i in chosen {
            if previous.replace(i) != Some(i) {
                kept.push(part[i]);
            }
        }
    }
    kept
}

/// Returns at most `limit` evenly spread points, including the first and the last.
pub(super) fn evenly(points: &[(f64, f64)], limit: usize) -> Vec<(f64, f64)> {
    if points.len() <= limit || limit < 2 {
        return points.to_vec();
    }
    (0..limit)
        .map(|k| points[k * (points.len() - 1) / (limit - 1)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_stay() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|i| (f64::from(i), 1.0)).collect();
        points[77_777].1 = 9.0;
        points[33_333].1 = -9.0;
        let kept = extremes(&points, 400);
        assert!(kept.len() <= 400);
        assert!(kept.contains(&(77_777.0, 9.0)) && kept.contains(&(33_333.0, -9.0)));
        assert_eq!((kept[0].0, kept[kept.len() - 1].0), (0.0, 99_999.0));
        assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn ends_stay() {
        let points: Vec<(f64, f64)> = (0..1000).map(|i| (f64::from(i), f64::from(i))).collect();
        let kept = evenly(&points, 7);
        assert_eq!((kept.len(), kept[0].0, kept[6].0), (7, 0.0, 999.0));
    }
}

//! Step functions: values that hold until the next one.

/// Returns the mean over time of a step function, each value of which holds until the next.
pub fn step_mean(points: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let first = points.partition_point(|&(at, _)| at <= from);
    let mut value = first.checked_sub(1).map_or(0.0, |before| points[before].1);
    let (mut last, mut sum) = (from, 0.0);
    for &(at, next) in points[first..].iter().take_while(|&&(at, _)| at < to) {
        sum += value * (at - last);
        (last, value) = (at, next);
    }
    (sum + value * (to - last)) / (to - from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0, 10, 20 and 0 for 1, 2, 3 and 4.
    #[test]
    fn by_hand() {
        let points = [(0.0, 0.0), (1.0, 10.0), (3.0, 20.0), (6.0, 0.0)];
        assert_eq!(step_mean(&points, 0.0, 10.0), 8.0);
        assert_eq!(step_mean(&points, 2.0, 4.0), 15.0);
        assert_eq!(step_mean(&[], 2.0, 4.0), 0.0);
    }
}

//! Quantiles of the normal distribution and of Student's t.

use std::f64::consts::{FRAC_PI_2, SQRT_2};

/// Returns the probability that a standard normal variable is below `z`.
pub(super) fn normal_below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / SQRT_2)
}

/// Returns the `p`-quantile of the standard normal distribution, for 0 < p < 1.
pub(super) fn normal_quantile(p: f64) -> f64 {
    bisect(-40.0, 40.0, |z| normal_below(z) < p)
}

/// Returns the t for which a variable of Student's distribution with `freedom` degrees lies within -t..t with
/// probability `confidence`, for 0 < confidence < 1.
pub(super) fn student(freedom: usize, confidence: f64) -> f64 {
    let angle = bisect(0.0, FRAC_PI_2, |angle| {
        student_within(freedom, angle) < confidence
    });
    (freedom as f64).sqrt() * libm::tan(angle)
}

/// Returns the probability of -t..t with t = sqrt(freedom) tan(angle): the finite sums of Abramowitz and Stegun,
/// *Handbook of mathematical functions*, 26.7.3 and 26.7.4.
fn student_within(freedom: usize, angle: f64) -> f64 {
    let (sin, cos) = (libm::sin(angle), libm::cos(angle));
    let odd = freedom % 2 == 1;
    // Odd: cos + 2/3 cos^3 + (2 4)/(3 5) cos^5 + ...; even: 1 + 1/2 cos^2 + (1 3)/(2 4) cos^4 + ...
    let (mut term, mut sum) = (if odd { cos } else { 1.0 }, 0.0);
    let mut power = usize::from(odd);
    while power + 2 <= freedom {
        sum += term;
        term *= cos * cos * (power + 1) as f64 / (power + 2) as f64;
        power += 2;
    }
    if odd {
        (angle + sin * sum) / FRAC_PI_2
    } else {
        sin * sum
    }
}

/// Finds the point between `low` and `high` at which `below` changes from true to false.
fn bisect(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values from tables of Student's distribution, two-sided (as in any textbook).
    #[test]
    fn students_table() {
        for (freedom, confidence, expected) in [
            (1, 0.95, 12.706),
            (2, 0.95, 4.303),
            (3, 0.95, 3.182),
            (4, 0.95, 2.776),
            (9, 0.95, 2.262),
            (29, 0.95, 2.045),
            (30, 0.95, 2.042),
            (120, 0.95, 1.980),
            (1, 0.5, 1.0),
            (4, 0.99, 4.604),
            (10, 0.9, 1.812),
        ] {
            let t = student(freedom, confidence);
            assert!((t - expected).abs() < 6e-4, "{freedom}, {confidence}: {t}");
        }
    }

    #[test]
    fn normal_table() {
        for (p, expected) in [
            (0.5, 0.0),
            (0.841_344_746, 1.0),
            (0.975, 1.959_964),
            (0.995, 2.575_829),
            (0.001, -3.090_232),
        ] {
            let z = normal_quantile(p);
            assert!((z - expected).abs() < 1e-6, "{p}: {z}");
            assert!((normal_below(z) - p).abs() < 1e-12);
        }
    }

    /// Checks the coverage of bootstrap intervals of five values that the module's documentation states.
    #[test]
    fn the_bootstrap_of_five_covers_85_percent() {
        let angle = libm::atan(1.96 * 0.8f64.sqrt() / 2.0);
        assert!((student_within(4, angle) - 0.845).abs() < 2e-3);
    }

    #[test]
    fn student_becomes_normal() {
        assert!((student(100_000, 0.95) - normal_quantile(0.975)).abs() < 1e-4);
    }
}

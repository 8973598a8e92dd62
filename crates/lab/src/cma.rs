//! Covariance matrix adaptation evolution strategy (CMA-ES): a search that adapts its distribution to the
//! ranking of its candidates.
//!
//! Candidates are drawn from a normal distribution. Its mean moves to the better half of the candidates, and
//! its covariance is adapted to the steps from the old mean to them. Only the ranking matters, so the scale
//! of the cost does not.
//!
//! N. Hansen, "The CMA Evolution Strategy: A Tutorial", arXiv 1604.00772: equations and constants of its
//! appendix A.

use paceline_kernel::order::Sort as _;
use paceline_kernel::rng::Rng;
use serde::{Deserialize, Serialize};

/// Returns a nearly normal number: the sum of twelve uniform ones minus six. Only basic arithmetic is used,
/// so it is the same on all machines.
pub fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.next_f64()).sum::<f64>() - 6.0
}

/// State of a search, which can be saved and restored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cma {
    mean: Vec<f64>,
    sigma: f64,
    /// Covariance in row-major order, its eigenvectors as columns, and the square roots of its eigenvalues.
    covariance: Vec<f64>,
    vectors: Vec<f64>,
    lengths: Vec<f64>,
    path_sigma: Vec<f64>,
    path_covariance: Vec<f64>,
    generation: u32,
}

/// Weights of the better half, best first, and the constants that depend on them and on the number of
/// dimensions.
struct Constants {
    weights: Vec<f64>,
    effective: f64,
    c_sigma: f64,
    d_sigma: f64,
    c_c: f64,
    c_1: f64,
    c_mu: f64,
    /// Expected length of a standard normal vector.
    length: f64,
}

impl Constants {
    fn new(n: f64, candidates: usize) -> Self {
        let half = (candidates / 2).max(1);
        let raw = (1..=half).map(|rank| libm::log(candidates as f64 / 2.0 + 0.5) - libm::log(rank as f64));
        let raw: Vec<f64> = raw.collect();
        let sum: f64 = raw.iter().sum();
        let weights: Vec<f64> = raw.iter().map(|weight| weight / sum).collect();
        let effective = 1.0 / weights.iter().map(|weight| weight * weight).sum::<f64>();
        let c_sigma = (effective + 2.0) / (n + effective + 5.0);
        let spread = (libm::sqrt((effective - 1.0) / (n + 1.0)) - 1.0).max(0.0);
        let c_1 = 2.0 / ((n + 1.3) * (n + 1.3) + effective);
        let c_mu = 2.0 * (effective - 2.0 + 1.0 / effective) / ((n + 2.0) * (n + 2.0) + effective);
        Self {
            weights,
            effective,
            c_sigma,
            d_sigma: 1.0 + 2.0 * spread + c_sigma,
            c_c: (4.0 + effective / n) / (n + 4.0 + 2.0 * effective / n),
            c_1,
            c_mu: c_mu.min(1.0 - c_1),
            length: libm::sqrt(n) * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n)),
        }
    }
}

impl Cma {
    /// Returns true if the state is consistent with this number of dimensions.
    pub fn fits(&self, dimensions: usize) -> bool {
        let vectors = [&self.mean, &self.lengths, &self.path_sigma, &self.path_covariance];
        let matrices = [&self.covariance, &self.vectors];
        vectors.iter().all(|vector| vector.len() == dimensions)
            && matrices
                .iter()
                .all(|matrix| matrix.len() == dimensions * dimensions)
    }

    /// Returns an isotropic search around `mean`.
    pub fn new(mean: Vec<f64>, sigma: f64) -> Self {
        let n = mean.len();
        let unit: Vec<f64> = (0..n * n).map(|k| f64::from(u8::from(k / n == k % n))).collect();
        Self {
            sigma,
            covariance: unit.clone(),
            vectors: unit,
            lengths: vec![1.0; n],
            path_sigma: vec![0.0; n],
            path_covariance: vec![0.0; n],
            generation: 0,
            mean,
        }
    }

    /// Returns the mean of the distribution.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Returns the step size σ.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// Draws `count` candidates from the distribution.
    pub fn draw(&self, count: usize, rng: &mut Rng) -> Vec<Vec<f64>> {
        let n = self.mean.len();
        let one = |_| {
            let scaled: Vec<f64> = self.lengths.iter().map(|length| length * normal(rng)).collect();
            let at = |row: usize| {
                let own = &self.vectors[row * n..(row + 1) * n];
                self.mean[row] + self.sigma * own.iter().zip(&scaled).map(|(a, b)| a * b).sum::<f64>()
            };
            (0..n).map(at).collect()
        };
        (0..count).map(one).collect()
    }

    /// Updates the distribution with the costs of its candidates.
    pub fn learn(&mut self, candidates: &[Vec<f64>], costs: &[f64]) {
        let n = self.mean.len();
        let constants = Constants::new(n as f64, candidates.len());
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        order.order_by(|&a, &b| costs[a].total_cmp(&costs[b]));
        let steps: Vec<Vec<f64>> = order[..constants.weights.len()]
            .iter()
            .map(|&index| {
                let off = candidates[index].iter().zip(&self.mean);
                off.map(|(value, mean)| (value - mean) / self.sigma).collect()
            })
            .collect();
        let mut step = vec![0.0; n];
        for (weight, own) in constants.weights.iter().zip(&steps) {
            step.iter_mut()
                .zip(own)
                .for_each(|(sum, value)| *sum += weight * value);
        }
        for (mean, step) in self.mean.iter_mut().zip(&step) {
            *mean += self.sigma * step;
        }
        self.generation += 1;
        self.adapt(&constants, &step, &steps);
        self.decompose();
    }

    /// Adapts step size and covariance.
    fn adapt(&mut self, constants: &Constants, step: &[f64], steps: &[Vec<f64>]) {
        let n = step.len();
        let whitened = self.whitened(step);
        let keeps = libm::sqrt(constants.c_sigma * (2.0 - constants.c_sigma) * constants.effective);
        for (path, value) in self.path_sigma.iter_mut().zip(&whitened) {
            *path = (1.0 - constants.c_sigma) * *path + keeps * value;
        }
        let length = libm::sqrt(self.path_sigma.iter().map(|value| value * value).sum());
        // The path starts at zero and is too short in the first generations.
        let settled = 1.0 - libm::pow(1.0 - constants.c_sigma, 2.0 * f64::from(self.generation));
        let moves = length / libm::sqrt(settled) < (1.4 + 2.0 / (n as f64 + 1.0)) * constants.length;
        // A long path means that the step size is still growing. Adding to it then would stretch the
        // covariance too fast along one axis.
        let follows = if moves {
            libm::sqrt(constants.c_c * (2.0 - constants.c_c) * constants.effective)
        } else {
            0.0
        };
        for (path, value) in self.path_covariance.iter_mut().zip(step) {
            *path = (1.0 - constants.c_c) * *path + follows * value;
        }
        let kept = if moves {
            0.0
        } else {
            constants.c_c * (2.0 - constants.c_c)
        };
        // If the path does not follow the step, the covariance keeps the share that the path would have
        // added.
        let decay = 1.0 - constants.c_1 - constants.c_mu + constants.c_1 * kept;
        for row in 0..n {
            for column in 0..=row {
                let ranked = constants.weights.iter().zip(steps);
                let ranked: f64 = ranked.map(|(weight, own)| weight * own[row] * own[column]).sum();
                let along = self.path_covariance[row] * self.path_covariance[column];
                let value = decay * self.covariance[row * n + column]
                    + constants.c_1 * along
                    + constants.c_mu * ranked;
                self.covariance[row * n + column] = value;
                self.covariance[column * n + row] = value;
            }
        }
        self.sigma *= libm::exp(constants.c_sigma / constants.d_sigma * (length / constants.length - 1.0));
    }

    /// Multiplies a step by the inverse square root of the covariance.
    fn whitened(&self, step: &[f64]) -> Vec<f64> {
        let n = step.len();
        let along = |column: usize| {
            let rows = step.iter().enumerate();
            let sum: f64 = rows
                .map(|(row, value)| self.vectors[row * n + column] * value)
                .sum();
            sum / self.lengths[column]
        };
        let along: Vec<f64> = (0..n).map(along).collect();
        let back = |row: usize| {
            (0..n)
                .map(|column| self.vectors[row * n + column] * along[column])
                .sum()
        };
        (0..n).map(back).collect()
    }

    /// Computes eigenvectors and eigenvalues of the covariance by Jacobi rotations.
    fn decompose(&mut self) {
        let n = self.mean.len();
        let mut a = self.covariance.clone();
        let mut vectors: Vec<f64> = (0..n * n).map(|k| f64::from(u8::from(k / n == k % n))).collect();
        let trace: f64 = (0..n).map(|k| a[k * n + k]).sum();
        for _ in 0..SWEEPS {
            let off: f64 = (0..n * n).filter(|k| k / n != k % n).map(|k| a[k] * a[k]).sum();
            if off <= 1e-24 * trace * trace {
                break;
            }
            for p in 0..n {
                for q in p + 1..n {
                    rotate(&mut a, &mut vectors, n, p, q);
                }
            }
        }
        // Rounding may leave an eigenvalue at zero or below.
        let length = |k: usize| libm::sqrt(a[k * n + k].max(1e-14 * trace));
        self.lengths = (0..n).map(length).collect();
        self.vectors = vectors;
    }
}

/// Upper limit of Jacobi sweeps; convergence takes far fewer.
const SWEEPS: usize = 60;

/// Makes the element (p, q) of a symmetric matrix zero.
fn rotate(a: &mut [f64], vectors: &mut [f64], n: usize, p: usize, q: usize) {
    let off = a[p * n + q];
    if off == 0.0 {
        return;
    }
    let theta = (a[q * n + q] - a[p * n + p]) / (2.0 * off);
    // The smaller of the two angles, with which sweeps converge.
    let tangent = theta.signum() / (theta.abs() + libm::sqrt(theta * theta + 1.0));
    let cosine = 1.0 / libm::sqrt(tangent * tangent + 1.0);
    let sine = tangent * cosine;
    for k in 0..n {
        let (x, y) = (a[k * n + p], a[k * n + q]);
        (a[k * n + p], a[k * n + q]) = (cosine * x - sine * y, sine * x + cosine * y);
    }
    for k in 0..n {
        let (x, y) = (a[p * n + k], a[q * n + k]);
        (a[p * n + k], a[q * n + k]) = (cosine * x - sine * y, sine * x + cosine * y);
        let (x, y) = (vectors[k * n + p], vectors[k * n + q]);
        (vectors[k * n + p], vectors[k * n + q]) = (cosine * x - sine * y, sine * x + cosine * y);
    }
}

#[cfg(test)]
mod tests {
    use paceline_kernel::rng::Purpose;

    use super::*;

    /// Returns the cost of the mean after these generations.
    fn found(start: Vec<f64>, generations: u32, cost: fn(&[f64]) -> f64) -> f64 {
        let mut search = Cma::new(start, 0.3);
        let mut rng = Rng::stream(1, Purpose::Training, 0);
        for _ in 0..generations {
            let candidates = search.draw(12, &mut rng);
            let costs: Vec<f64> = candidates.iter().map(|one| cost(one)).collect();
            search.learn(&candidates, &costs);
        }
        cost(search.mean())
    }

    #[test]
    fn a_sphere_is_found() {
        let sphere = |x: &[f64]| x.iter().map(|x| x * x).sum();
        assert!(found(vec![1.0; 8], 150, sphere) < 1e-10);
    }

    /// Axes differ by a factor of a thousand, so the search must learn the covariance.
    #[test]
    fn an_ellipsoid_is_found() {
        fn ellipsoid(x: &[f64]) -> f64 {
            let scales = (0..).map(|k| libm::pow(1e6, f64::from(k) / 5.0));
            x.iter().zip(scales).map(|(x, scale)| scale * x * x).sum()
        }
        assert!(found(vec![1.0; 6], 300, ellipsoid) < 1e-8);
    }

    /// Rosenbrock's function, a curved valley.
    #[test]
    fn the_banana_of_rosenbrock_is_found() {
        fn banana(x: &[f64]) -> f64 {
            let pairs = x.windows(2);
            pairs
                .map(|x| 100.0 * (x[1] - x[0] * x[0]).powi(2) + (1.0 - x[0]).powi(2))
                .sum()
        }
        assert!(found(vec![-1.0, 1.0, 0.0, 0.5], 500, banana) < 1e-8);
    }

    #[test]
    fn eigenvectors_make_up_the_covariance() {
        let mut search = Cma::new(vec![0.0; 3], 1.0);
        search.covariance = vec![4.0, 1.0, 0.5, 1.0, 3.0, -0.2, 0.5, -0.2, 2.0];
        search.decompose();
        for row in 0..3 {
            for column in 0..3 {
                let parts = (0..3).map(|k| {
                    let length = search.lengths[k];
                    search.vectors[row * 3 + k] * search.vectors[column * 3 + k] * length * length
                });
                let sum: f64 = parts.sum();
                assert!((sum - search.covariance[row * 3 + column]).abs() < 1e-10, "{sum}");
            }
        }
    }
}
